/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The registry: handles of IAs, also with several threads. */
#include <pthread.h>
#include <stdatomic.h>

#include "registry_world.h"

/* IA-015, IA-021, HND-021 */
START_TEST(test_ia_handles_are_numbers_that_providers_can_translate)
{
	DAT_IA_HANDLE first, second, provider_handle, number;
	DAT_EVD_HANDLE evd;

	t_conf(LINE("ib0", "x"));
	first = must_open("ib0");
	second = must_open("ib0");
	ck_assert_ptr_ne(first, second);
	ck_assert_uint_lt((uintptr_t)first, 65536);
	ck_assert_uint_eq(dat_ia_query(second, &evd, 0, NULL, 0, NULL), DAT_SUCCESS);
	ck_assert_ptr_eq(t_fake.ia_number, second);
	ck_assert_uint_eq(dats_get_ia_handle(T_IA_ARG(second), &provider_handle), DAT_SUCCESS);
	ck_assert_ptr_eq(provider_handle, t_fake.handle);
	ck_assert_uint_eq(dats_get_ia_handle(T_IA_ARG(provider_handle), &number), DAT_SUCCESS);
	ck_assert_ptr_eq(number, second);
	must_close(first);
	must_close(second);
}
END_TEST

START_TEST(test_what_is_no_ia_is_not_translated)
{
	DAT_IA_HANDLE ia, out = &ia;

	t_conf(LINE("ib0", "x"));
	ia = must_open("ib0");
	ck_assert_uint_eq(dats_get_ia_handle(T_IA_ARG(NULL), &out), T_BAD_IA);
	ck_assert_uint_eq(dats_get_ia_handle(T_IA_ARG((char *)ia + 1), &out), T_BAD_IA);
	ck_assert_uint_eq(dats_get_ia_handle(T_IA_ARG((void *)(uintptr_t)65535), &out), T_BAD_IA);
	ck_assert_uint_eq(dats_get_ia_handle(T_IA_ARG(&ia), &out), T_BAD_IA);
	ck_assert_uint_eq(dats_get_ia_handle(T_IA_ARG(ia), NULL), BAD_ARG(2));
	ck_assert_ptr_eq(out, &ia);
	must_close(ia);
	ck_assert_uint_eq(dats_get_ia_handle(T_IA_ARG(ia), &out), T_BAD_IA);
}
END_TEST

/* IA-026, HND-007, HND-020 */
START_TEST(test_closed_handle_is_invalid_and_not_reused_soon)
{
	DAT_IA_HANDLE stale, next;
	DAT_CONTEXT context;
	DAT_HANDLE_TYPE type;

	t_conf(LINE("ib0", "x"));
	stale = must_open("ib0");
	must_close(stale);
	for (int i = 0; i < 40; i++) {
		next = must_open("ib0");
		ck_assert_ptr_ne(next, stale);
		ck_assert_uint_eq(dat_ia_close(stale, DAT_CLOSE_ABRUPT_FLAG), T_BAD_IA);
		must_close(next);
	}
	ck_assert_uint_eq(dat_ia_query(stale, NULL, 0, NULL, 0, NULL), T_BAD_IA);
	ck_assert_uint_eq(dat_get_handle_type(stale, &type),
			  T_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
	ck_assert_uint_eq(dat_get_consumer_context(stale, &context),
			  T_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
	ck_assert_uint_eq(dat_ia_close(DAT_HANDLE_NULL, DAT_CLOSE_ABRUPT_FLAG), T_BAD_IA);
	ck_assert_uint_eq(dat_ia_close(&stale, DAT_CLOSE_ABRUPT_FLAG), T_BAD_IA);
}
END_TEST

/* IA-025, and the registry's part of IA-023: an IA that refuses to close remains usable */
START_TEST(test_ia_that_refuses_to_close_stays_usable)
{
	DAT_PZ_HANDLE pz;
	DAT_IA_HANDLE ia;

	t_conf(LINE("ib0", "x"));
	ia = must_open("ib0");
	ck_assert_uint_eq(dat_ia_close(ia, (DAT_CLOSE_FLAGS)77), BAD_ARG(2));
	ck_assert_uint_eq(dat_pz_create(ia, &pz), DAT_SUCCESS);
	ck_assert_uint_eq(dat_pz_free(pz), DAT_SUCCESS);
	ck_assert_uint_eq(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	assert_loads(1, 1);
}
END_TEST

/* HND-001 to HND-005 and HND-011 for the IA, which the reference library of 1.2 refuses */
START_TEST(test_context_and_type_work_on_ia_and_object)
{
	DAT_CONTEXT context = {.as_64 = 0x123456789abcdef0};
	DAT_CONTEXT back = {.as_64 = 1};
	DAT_HANDLE handles[2];
	DAT_HANDLE_TYPE type;

	t_conf(LINE("ib0", "x"));
	handles[0] = must_open("ib0");
	ck_assert_uint_eq(dat_pz_create(handles[0], &handles[1]), DAT_SUCCESS);
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(dat_get_consumer_context(handles[i], &back), DAT_SUCCESS);
		ck_assert_uint_eq(back.as_64, 0);
		ck_assert_uint_eq(dat_set_consumer_context(handles[i], context), DAT_SUCCESS);
		ck_assert_uint_eq(dat_get_consumer_context(handles[i], &back), DAT_SUCCESS);
		ck_assert_uint_eq(back.as_64, context.as_64);
		ck_assert_uint_eq(dat_get_handle_type(handles[i], &type), DAT_SUCCESS);
		ck_assert_int_eq(type, i ? DAT_HANDLE_TYPE_PZ : DAT_HANDLE_TYPE_IA);
	}
	ck_assert_uint_eq(dat_pz_free(handles[1]), DAT_SUCCESS);
	must_close(handles[0]);
}
END_TEST

/* The table of numbers grows in steps of 64, and freed numbers are used again when it is full. */
START_TEST(test_many_ias_at_once)
{
	static DAT_IA_HANDLE ias[300];

	t_conf(LINE("ib0", "x"));
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 300; i++) {
			ias[i] = must_open("ib0");
			ck_assert_uint_lt((uintptr_t)ias[i], 320);
		}
		for (int i = 0; i < 300; i++) {
			ck_assert_uint_eq(dat_ia_query(ias[i], NULL, 0, NULL, 0, NULL),
					  DAT_SUCCESS);
			must_close(ias[i]);
		}
	}
	ck_assert_int_eq(t_fake.closes, 600);
	assert_loads(2, 2);
}
END_TEST

/* IA handles are numbers below the addresses of objects. */
START_TEST(test_more_ias_than_numbers)
{
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL, more;
	DAT_RETURN ret = DAT_SUCCESS;
	unsigned int n = 0;

	must_add("own", MAJOR, MINOR, DAT_FALSE);
	while ((ret = open_stock("own", &more)) == DAT_SUCCESS) {
		ia = more;
		n++;
	}
	ck_assert_uint_eq(ret, T_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY));
	ck_assert_uint_eq(n, 65535);
	must_close(ia);
	ck_assert_ptr_eq(must_open("own"), ia);
}
END_TEST

static DAT_IA_HANDLE new_ia, number_meanwhile; /* while the former one is closed */

static DAT_RETURN open_anew(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	(void)ia, (void)flags;
	if (new_ia)
		return DAT_SUCCESS;
	new_ia = must_open("own");
	return dats_get_ia_handle(T_IA_ARG(&own_object), &number_meanwhile);
}

/* The provider gives the same address to a new IA before the close of the old one is complete. */
START_TEST(test_ia_at_the_address_of_one_that_is_being_closed)
{
	static DAT_PROVIDER table = {.ia_open_func = own_open, .ia_close_func = open_anew};
	DAT_PROVIDER_INFO info = make_info("own", MAJOR, MINOR, DAT_FALSE);
	DAT_IA_HANDLE ia;

	own_object.table = &table;
	ck_assert_uint_eq(dat_registry_add_provider(&table, &info), DAT_SUCCESS);
	/* The new number is the higher one, or the lower one when the numbers start anew. */
	for (uintptr_t n = 1; _i && n < 63; n++) {
		own_object.table = &own_table;
		must_close(must_open("own"));
		own_object.table = &table;
	}
	ia = must_open("own");
	must_close(ia);
	ck_assert_int_eq(new_ia < ia, _i);
	ck_assert_ptr_nonnull(new_ia);
	ck_assert_ptr_ne(new_ia, ia);
	ck_assert_ptr_eq(number_meanwhile, new_ia);
	must_close(new_ia);
}
END_TEST

#define NUM_THREADS 4
#define NUM_ROUNDS  200

static const char *const thread_names[] = {"ib0", "ib1", "ofi", "ofi-tcp"};
static pthread_barrier_t barrier;
static atomic_int thread_failures;

static void *open_and_close(void *arg)
{
	DAT_PROVIDER_INFO info, *list[1] = {&info};
	DAT_IA_HANDLE ia;
	DAT_COUNT count;

	pthread_barrier_wait(&barrier);
	for (int round = 0; round < NUM_ROUNDS; round++) {
		const char *name = thread_names[((uintptr_t)arg + (unsigned int)round / 16) % 4];
		bool ok = open_stock(name, &ia) == DAT_SUCCESS &&
			  dat_ia_query(ia, NULL, 0, NULL, 0, NULL) == DAT_SUCCESS &&
			  dat_registry_list_providers(1, &count, list) == DAT_SUCCESS &&
			  dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS;

		if (!ok)
			atomic_fetch_add(&thread_failures, 1);
	}
	return NULL;
}

static void run_threads(void *(*function)(void *))
{
	pthread_t threads[NUM_THREADS];

	pthread_barrier_init(&barrier, NULL, NUM_THREADS);
	for (uintptr_t i = 0; i < NUM_THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, function, (void *)i), 0);
	for (int i = 0; i < NUM_THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
	ck_assert_int_eq(thread_failures, 0);
}

START_TEST(test_threads_open_and_close_the_same_names)
{
	t_conf(LINE("ib0", "threads") LINE("ib1", "threads") LINE("ofi", "threads")
		       LINE("ofi-tcp", "threads"));
	run_threads(open_and_close);
	ck_assert_int_eq(t_fake.opens, NUM_THREADS * NUM_ROUNDS);
	ck_assert_int_eq(t_fake.closes, NUM_THREADS * NUM_ROUNDS);
	ck_assert_int_eq(t_fake.inits, t_fake.finis);
	ck_assert(!module_is_loaded());
}
END_TEST

/* All threads close the same IA: one succeeds. */
static DAT_IA_HANDLE contested;
static atomic_int closed;

static void *close_contested(void *arg)
{
	DAT_RETURN ret;

	(void)arg;
	pthread_barrier_wait(&barrier);
	ret = dat_ia_close(contested, DAT_CLOSE_ABRUPT_FLAG);
	if (ret == DAT_SUCCESS)
		atomic_fetch_add(&closed, 1);
	else if (ret != T_BAD_IA)
		atomic_fetch_add(&thread_failures, 1);
	return NULL;
}

START_TEST(test_only_one_thread_closes_an_ia)
{
	t_conf(LINE("ib0", "x"));
	for (int round = 0; round < 50; round++) {
		contested = must_open("ib0");
		closed = 0;
		run_threads(close_contested);
		ck_assert_int_eq(closed, 1);
	}
	ck_assert_int_eq(t_fake.closes, 50);
}
END_TEST

static void add_tests(Suite *suite)
{
	TCase *tc = add_case(suite, "handle");

	tcase_add_test(tc, test_ia_handles_are_numbers_that_providers_can_translate);
	tcase_add_test(tc, test_what_is_no_ia_is_not_translated);
	tcase_add_test(tc, test_closed_handle_is_invalid_and_not_reused_soon);
	tcase_add_test(tc, test_ia_that_refuses_to_close_stays_usable);
	tcase_add_test(tc, test_context_and_type_work_on_ia_and_object);
	tcase_add_test(tc, test_many_ias_at_once);
	tcase_add_test(tc, test_more_ias_than_numbers);
	tcase_add_loop_test(tc, test_ia_at_the_address_of_one_that_is_being_closed, 0, 2);
	tcase_add_test(tc, test_threads_open_and_close_the_same_names);
	tcase_add_test(tc, test_only_one_thread_closes_an_ia);
}

int main(int argc, char **argv)
{
	(void)argc;
	return world_run(argv, "handle", add_tests);
}
