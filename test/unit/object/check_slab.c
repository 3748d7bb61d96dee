/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The memory of objects, and what an IA knows about its objects. The linker redirects the mappings
 * of the slabs to this file.
 */
#include "t_hooks.h"
#include "unit.h"

/* What AddressSanitizer is told. */
static struct {
	const void *at;
	size_t size;
	unsigned int n;
} poisoned, unpoisoned, roots;

#define NOTE(what, from, length)        \
	do {                            \
		(what).at = (from);     \
		(what).size = (length); \
		(what).n++;             \
	} while (0)
#define POISON(from, length)   NOTE(poisoned, from, length)
#define UNPOISON(from, length) NOTE(unpoisoned, from, length)
#define ADD_ROOT(from, length) NOTE(roots, from, length)

#include "../../../prov/ofi/object/object.c"

#define HEADER  sizeof(struct dofi_obj)
#define PATTERN 0x5a

static struct dofi_ia ia;
static const DAT_PROVIDER provider;
static unsigned int mappings;
static size_t mapped;
static bool no_memory;

T_STAND_IN void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
void *__real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);

void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	ck_assert_ptr_null(at);
	ck_assert_int_eq(prot, PROT_READ | PROT_WRITE);
	ck_assert_int_eq(flags, MAP_PRIVATE | MAP_ANONYMOUS);
	ck_assert_int_eq(fd, -1);
	ck_assert_int_eq(offset, 0);
	mappings++;
	mapped = size;
	return no_memory ? MAP_FAILED : __real_mmap(at, size, prot, flags, fd, offset);
}

static void setup(void)
{
	dofi_lock_init(&ia.obj_lock);
	for (int i = 0; i < DOFI_HANDLE_TYPES; i++)
		dofi_list_init(&ia.objects[i]);
}

static struct dofi_obj *allocate(DAT_HANDLE_TYPE type, size_t size)
{
	return dofi_obj_alloc(&ia, &provider, type, size);
}

/* --- memory --- */

/* They fill a chunk of 64 KiB, and the next one comes only when it is full. */
START_TEST(small_objects_share_a_chunk)
{
	static const struct {
		size_t asked, size;
	} sizes[] = {{1024, 1024}, {1023, 1024}, {961, 1024},
		     {960, 960},   {7936, 7936}, {8192, 8192}};
	const size_t size = sizes[_i].size;
	char *first = (char *)allocate(DAT_HANDLE_TYPE_EP, sizes[_i].asked);

	ck_assert_ptr_nonnull(first);
	for (size_t i = 1; i < 65536 / size; i++)
		ck_assert_ptr_eq(allocate(DAT_HANDLE_TYPE_EP, sizes[_i].asked), first + i * size);
	ck_assert_uint_eq(mappings, 1);
	ck_assert_uint_eq(mapped, 65536);
	ck_assert_ptr_nonnull(allocate(DAT_HANDLE_TYPE_EP, sizes[_i].asked));
	ck_assert_uint_eq(mappings, 2);
}
END_TEST

START_TEST(large_objects_share_a_chunk_of_eight)
{
	char *first = (char *)allocate(DAT_HANDLE_TYPE_EP, 10000); /* 157 lines of 64 bytes */

	for (size_t i = 1; i < 8; i++)
		ck_assert_ptr_eq(allocate(DAT_HANDLE_TYPE_EP, 10000), first + i * 10048);
	ck_assert_uint_eq(mappings, 1);
	ck_assert_uint_eq(mapped, 8 * 10048u);
}
END_TEST

START_TEST(types_share_nothing)
{
	ck_assert_ptr_nonnull(allocate(DAT_HANDLE_TYPE_EP, 64));
	ck_assert_ptr_nonnull(allocate(DAT_HANDLE_TYPE_LMR, 64));
	ck_assert_uint_eq(mappings, 2);
}
END_TEST

/* The next call tries again. */
START_TEST(an_object_without_memory)
{
	no_memory = true;
	ck_assert_ptr_null(allocate(DAT_HANDLE_TYPE_EP, 64));
	no_memory = false;
	ck_assert_ptr_nonnull(allocate(DAT_HANDLE_TYPE_EP, 64));
	ck_assert_uint_eq(mappings, 2);
	ck_assert(dofi_trylock(&slabs[DAT_HANDLE_TYPE_EP].lock));
	dofi_unlock(&slabs[DAT_HANDLE_TYPE_EP].lock);
}
END_TEST

#define SIZE 128u
#define MANY (QUARANTINE + 2)

/* The oldest freed objects are used again, while more than so many rest. */
START_TEST(freed_objects_rest)
{
	struct dofi_obj *objs[MANY], *fresh;

	for (unsigned int i = 0; i < MANY; i++)
		objs[i] = allocate(DAT_HANDLE_TYPE_EP, SIZE);
	for (unsigned int i = 0; i < QUARANTINE; i++)
		dofi_obj_free(objs[i], DAT_HANDLE_TYPE_EP);
	ck_assert_ptr_eq(allocate(DAT_HANDLE_TYPE_EP, SIZE), (char *)objs[MANY - 1] + SIZE);
	dofi_obj_free(objs[QUARANTINE], DAT_HANDLE_TYPE_EP);
	dofi_obj_free(objs[QUARANTINE + 1], DAT_HANDLE_TYPE_EP);
	ck_assert_ptr_eq(allocate(DAT_HANDLE_TYPE_EP, SIZE), objs[0]);
	ck_assert_ptr_eq(allocate(DAT_HANDLE_TYPE_EP, SIZE), objs[1]);
	fresh = allocate(DAT_HANDLE_TYPE_EP, SIZE);
	ck_assert_ptr_eq(fresh, (char *)objs[MANY - 1] + 2 * (size_t)SIZE);
	dofi_obj_free(fresh, DAT_HANDLE_TYPE_EP);
	ck_assert_ptr_eq(allocate(DAT_HANDLE_TYPE_EP, SIZE), objs[2]);
}
END_TEST

/* Half a megabyte of a type rests at most, so many closed IAs take no more memory than some. */
START_TEST(fewer_large_objects_rest)
{
	enum { LARGE = 16384, N = 33 };
	struct dofi_obj *objs[N], *fresh;

	for (unsigned int i = 0; i < N; i++)
		objs[i] = allocate(DAT_HANDLE_TYPE_IA, LARGE);
	for (unsigned int i = 0; i < N - 1; i++)
		dofi_obj_free(objs[i], DAT_HANDLE_TYPE_IA);
	fresh = allocate(DAT_HANDLE_TYPE_IA, LARGE);
	ck_assert_ptr_eq(fresh, (char *)objs[N - 1] + LARGE);
	dofi_obj_free(objs[N - 1], DAT_HANDLE_TYPE_IA);
	ck_assert_ptr_eq(allocate(DAT_HANDLE_TYPE_IA, LARGE), objs[0]);
	ck_assert_ptr_ne(allocate(DAT_HANDLE_TYPE_IA, LARGE), objs[1]);
}
END_TEST

/* The magic number stays clear, and the neighbour is not touched. */
START_TEST(memory_that_is_used_again_is_zeroed)
{
	static const char zeroes[SIZE];
	struct dofi_obj *objs[MANY], *again;

	for (unsigned int i = 0; i < MANY; i++) {
		objs[i] = allocate(DAT_HANDLE_TYPE_EP, SIZE);
		ck_assert_mem_eq(objs[i] + 1, zeroes, SIZE - HEADER);
		ck_assert(dofi_list_empty(&objs[i]->siblings));
		memset(objs[i] + 1, PATTERN, SIZE - HEADER);
		objs[i]->users = 3;
		objs[i]->context = 4;
		objs[i]->ia = NULL;
		objs[i]->provider = NULL;
	}
	objs[1]->provider = &provider;
	dofi_obj_free(objs[0], DAT_HANDLE_TYPE_EP);
	for (unsigned int i = 2; i < MANY; i++)
		dofi_obj_free(objs[i], DAT_HANDLE_TYPE_EP);
	again = allocate(DAT_HANDLE_TYPE_EP, SIZE);
	ck_assert_ptr_eq(again, objs[0]);
	ck_assert_mem_eq(again + 1, zeroes, SIZE - HEADER);
	ck_assert_ptr_eq(again->provider, &provider);
	ck_assert_ptr_eq(again->ia, &ia);
	ck_assert_int_eq(again->users, 0);
	ck_assert_uint_eq(again->context, 0);
	ck_assert_uint_eq(again->magic, 0);
	ck_assert(dofi_list_empty(&again->siblings));
	ck_assert_int_eq(objs[1]->users, 3);
	ck_assert_uint_eq(objs[1]->context, 4);
	ck_assert_ptr_eq(objs[1]->provider, &provider);
	ck_assert_int_eq(((char *)(objs[1] + 1))[0], PATTERN);
}
END_TEST

/* The header of a freed object may be read, and late calls may reach an EVD and its IA. */
START_TEST(what_may_not_be_touched)
{
	static const struct {
		DAT_HANDLE_TYPE type;
		unsigned int poisoned;
	} cases[] = {{DAT_HANDLE_TYPE_EP, 1},
		     {DAT_HANDLE_TYPE_LMR, 1},
		     {DAT_HANDLE_TYPE_EVD, 0},
		     {DAT_HANDLE_TYPE_IA, 0}};
	struct dofi_obj *obj = allocate(cases[_i].type, SIZE - 1);

	ck_assert_uint_eq(roots.n, 1);
	ck_assert_uint_eq(roots.size, CHUNK_MIN);
	ck_assert_ptr_eq(roots.at, obj);
	ck_assert_ptr_eq(unpoisoned.at, obj);
	ck_assert_uint_eq(unpoisoned.size, SIZE);
	dofi_obj_free(obj, cases[_i].type);
	ck_assert_uint_eq(poisoned.n, cases[_i].poisoned);
	if (poisoned.n) {
		ck_assert_ptr_eq(poisoned.at, obj + 1);
		ck_assert_uint_eq(poisoned.size, SIZE - HEADER);
	}
}
END_TEST

/* --- the objects of an IA --- */

static struct dofi_obj *make(DAT_HANDLE_TYPE type)
{
	struct dofi_obj *obj = allocate(type, SIZE);

	ck_assert_ptr_nonnull(obj);
	dofi_obj_publish(obj, type);
	return obj;
}

#define NOT_COUNTED DOFI_CNT_IA_END

/* Of the IA's counters, those of created and freed objects. */
static const struct {
	DAT_HANDLE_TYPE type;
	int create, free;
} types[] = {
	{DAT_HANDLE_TYPE_EP, DOFI_CNT_IA_EP_CREATE, DOFI_CNT_IA_EP_FREE},
	{DAT_HANDLE_TYPE_EVD, DOFI_CNT_IA_EVD_CREATE, DOFI_CNT_IA_EVD_FREE},
	{DAT_HANDLE_TYPE_LMR, DOFI_CNT_IA_LMR_CREATE, DOFI_CNT_IA_LMR_FREE},
	{DAT_HANDLE_TYPE_PZ, DOFI_CNT_IA_PZ_CREATE, DOFI_CNT_IA_PZ_FREE},
	{DAT_HANDLE_TYPE_RMR, DOFI_CNT_IA_RMR_CREATE, DOFI_CNT_IA_RMR_FREE},
	{DAT_HANDLE_TYPE_RSP, DOFI_CNT_IA_RSP_CREATE, DOFI_CNT_IA_RSP_FREE},
	{DAT_HANDLE_TYPE_SRQ, DOFI_CNT_IA_SRQ_CREATE, DOFI_CNT_IA_SRQ_FREE},
	{DAT_HANDLE_TYPE_PSP, NOT_COUNTED, DOFI_CNT_IA_PSP_FREE},
	{DAT_HANDLE_TYPE_CNO, NOT_COUNTED, NOT_COUNTED},
	{DAT_HANDLE_TYPE_CR, NOT_COUNTED, NOT_COUNTED},
};

#define TYPES ((int)(sizeof(types) / sizeof(types[0])))

static void expect_counters(int one, int other)
{
	for (int i = 0; i < NOT_COUNTED; i++)
		ck_assert_uint_eq(atomic_load(&ia.counters[i]), i == one || i == other);
}

START_TEST(an_object_is_listed_and_counted_while_it_is_valid)
{
	const DAT_HANDLE_TYPE type = types[_i].type;
	struct dofi_obj *obj = make(type), *other;
	DAT_HANDLE_TYPE found;

	expect_counters(types[_i].create, NOT_COUNTED);
	ck_assert_uint_eq(ia.counts[type], 1);
	ck_assert(dofi_obj_type(obj, &found));
	ck_assert_int_eq(found, type);
	ck_assert_ptr_eq(ia.objects[type].next, &obj->siblings);
	for (uint32_t limit = 0; limit < 4; limit++)
		ck_assert(dofi_obj_room(&ia, type, limit) == (limit > 1));
	ck_assert(dofi_obj_retire(obj, true));
	expect_counters(types[_i].create, types[_i].free);
	ck_assert_uint_eq(ia.counts[type], 0);
	ck_assert(dofi_list_empty(&ia.objects[type]));
	ck_assert(!dofi_obj_type(obj, &found));
	ck_assert(!dofi_obj_retire(obj, false)); /* once */
	ck_assert_uint_eq(ia.counts[type], 0);
	dofi_obj_free(obj, type);
	other = make(type);
	ck_assert_ptr_eq(ia.objects[type].prev, &other->siblings);
	ck_assert(dofi_trylock(&ia.obj_lock));
	dofi_unlock(&ia.obj_lock);
}
END_TEST

/* In the order in which they were created. */
START_TEST(objects_are_listed_in_order)
{
	struct dofi_obj *first = make(DAT_HANDLE_TYPE_EP), *second = make(DAT_HANDLE_TYPE_EP);

	ck_assert_ptr_eq(ia.objects[DAT_HANDLE_TYPE_EP].next, &first->siblings);
	ck_assert_ptr_eq(first->siblings.next, &second->siblings);
	ck_assert_uint_eq(ia.counts[DAT_HANDLE_TYPE_EP], 2);
}
END_TEST

START_TEST(an_ia_is_not_one_of_its_objects)
{
	struct dofi_obj *obj = make(DAT_HANDLE_TYPE_IA);

	ck_assert(dofi_list_empty(&ia.objects[DAT_HANDLE_TYPE_IA]));
	ck_assert_uint_eq(ia.counts[DAT_HANDLE_TYPE_IA], 0);
	ck_assert(dofi_obj_retire(obj, true));
	ck_assert_uint_eq(ia.counts[DAT_HANDLE_TYPE_IA], 0);
	expect_counters(NOT_COUNTED, NOT_COUNTED);
}
END_TEST

/* dat_ia_close retires it all the same. */
START_TEST(an_object_with_users)
{
	struct dofi_obj *obj = make(DAT_HANDLE_TYPE_PZ);
	DAT_HANDLE_TYPE type;

	dofi_obj_use(obj);
	ck_assert(!dofi_obj_retire(obj, true));
	ck_assert(dofi_obj_type(obj, &type));
	ck_assert_uint_eq(ia.counts[DAT_HANDLE_TYPE_PZ], 1);
	ck_assert(dofi_obj_retire(obj, false));
	ck_assert(!dofi_obj_type(obj, &type));
}
END_TEST

/* --- handles --- */

static union {
	struct dofi_obj obj;
	char room[2 * sizeof(struct dofi_obj)];
} place;

START_TEST(handles_that_are_none)
{
	DAT_HANDLE_TYPE type = DAT_HANDLE_TYPE_SRQ;

	ck_assert(!dofi_obj_type(NULL, &type));
	for (unsigned int i = 1; i < 16; i++) /* not aligned: must not be read */
		ck_assert(!dofi_obj_type((char *)(uintptr_t)32 + i, &type));
	place.obj.magic = DOFI_MAGIC + DOFI_HANDLE_TYPES;
	ck_assert(!dofi_obj_type(&place, &type));
	place.obj.magic = DOFI_MAGIC - 1;
	ck_assert(!dofi_obj_type(&place, &type));
	ck_assert_int_eq(type, DAT_HANDLE_TYPE_SRQ);
	place.obj.magic = DOFI_MAGIC + DOFI_HANDLE_TYPES - 1;
	ck_assert(dofi_obj_type(&place, &type));
	ck_assert_int_eq(type, DOFI_HANDLE_TYPES - 1);
}
END_TEST

static DAT_RETURN number_answer;

static DAT_RETURN number_it(DAT_IA_HANDLE provider_handle, DAT_IA_HANDLE *handle_p)
{
	ck_assert_ptr_eq(provider_handle, DOFI_IA_TO_REGISTRY(&ia));
	*handle_p = (DAT_IA_HANDLE)(uintptr_t)77;
	return number_answer;
}

/* A registry that numbers IAs may not know this one. */
START_TEST(the_ia_in_results_of_queries)
{
	place.obj.ia = &ia;
	ck_assert_ptr_eq(dofi_obj_ia_handle(&place.obj), &ia);
	dofi_obj_set_ia_numbers(number_it);
	ck_assert_ptr_eq(dofi_obj_ia_handle(&place.obj), (void *)(uintptr_t)77);
	number_answer = DAT_INVALID_HANDLE;
	ck_assert_ptr_eq(dofi_obj_ia_handle(&place.obj), &ia);
	dofi_obj_set_ia_numbers(NULL);
}
END_TEST

#define HOLD_NS 1000000u

/* The child of a fork would wait for ever for a thread that it does not have. */
START_TEST(nobody_allocates_during_a_fork)
{
	dofi_obj_fork_begin(HOLD_NS);
	for (int i = 0; i < DOFI_HANDLE_TYPES; i++)
		ck_assert_msg(!dofi_trylock(&slabs[i].lock), "type %d", i);
	dofi_obj_fork_end();
	for (int i = 0; i < DOFI_HANDLE_TYPES; i++)
		ck_assert_ptr_nonnull(allocate((DAT_HANDLE_TYPE)i, HEADER));
}
END_TEST

/* By a signal handler that interrupts an allocation. */
START_TEST(the_thread_that_allocates_forks)
{
	struct slab *busy = &slabs[DAT_HANDLE_TYPE_EVD];

	dofi_lock(&busy->lock);
	dofi_obj_fork_begin(HOLD_NS);
	dofi_obj_fork_end();
	ck_assert(!dofi_trylock(&busy->lock));
	dofi_unlock(&busy->lock);
	for (int i = 0; i < DOFI_HANDLE_TYPES; i++)
		ck_assert_ptr_nonnull(allocate((DAT_HANDLE_TYPE)i, HEADER));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("slab");
	TCase *tc = tcase_create("memory");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, small_objects_share_a_chunk, 0, 6);
	tcase_add_test(tc, large_objects_share_a_chunk_of_eight);
	tcase_add_test(tc, types_share_nothing);
	tcase_add_test(tc, an_object_without_memory);
	tcase_add_test(tc, freed_objects_rest);
	tcase_add_test(tc, fewer_large_objects_rest);
	tcase_add_test(tc, memory_that_is_used_again_is_zeroed);
	tcase_add_loop_test(tc, what_may_not_be_touched, 0, 4);
	tcase_add_test(tc, nobody_allocates_during_a_fork);
	tcase_add_test(tc, the_thread_that_allocates_forks);
	suite_add_tcase(suite, tc);
	tc = tcase_create("objects");
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, an_object_is_listed_and_counted_while_it_is_valid, 0, TYPES);
	tcase_add_test(tc, objects_are_listed_in_order);
	tcase_add_test(tc, an_ia_is_not_one_of_its_objects);
	tcase_add_test(tc, an_object_with_users);
	tcase_add_test(tc, handles_that_are_none);
	tcase_add_test(tc, the_ia_in_results_of_queries);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
