/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The memory of rings: its layout, and the move to a larger ring. */
#include "t_heap.h"
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/dto/ring.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/mem.h"

#include <errno.h>

static struct dofi_ia ia;
static bool no_memory;

void *__real_aligned_alloc(size_t alignment, size_t size);
T_STAND_IN void *__wrap_aligned_alloc(size_t alignment, size_t size);

/* The memory of a ring has an end, and is not clear before. */
void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	void *memory = no_memory ? NULL : __real_aligned_alloc(alignment, size);

	ck_assert_uint_eq(alignment, DOFI_CACHE_LINE);
	if (memory)
		memset(memory, 0xa5, size);
	return memory;
}

static struct dofi_ring new_ring(uint32_t limit, uint32_t max_iov)
{
	struct dofi_ring ring = {.head = 1, .issue = 2, .tail = 3};

	ck_assert_int_eq(dofi_ring_init(&ia, &ring, limit, max_iov), 0);
	return ring;
}

static const struct {
	uint32_t limit, slots;
} sizes[] = {{1, 1}, {2, 2}, {3, 4}, {4, 4}, {5, 8}, {1000, 1024}, {1024, 1024}, {1025, 2048}};

/* Indices count on without end, so the number of slots is a power of two. */
START_TEST(a_ring_has_a_slot_for_each_request)
{
	struct dofi_ring ring = new_ring(sizes[_i].limit, 1);

	ck_assert_uint_eq(ring.limit, sizes[_i].limit);
	ck_assert_uint_eq(ring.mask + 1, sizes[_i].slots);
	ck_assert_uint_eq(dofi_ring_count(&ring), 0);
	ck_assert_uint_eq(ring.head, 0);
	ck_assert_uint_eq(ring.issue, 0);
	dofi_ring_fini(&ring);
	ck_assert_ptr_null(ring.base);
	dofi_ring_fini(&ring);
}
END_TEST

/* Whether the memory from `from` to `to` is clear. */
static bool is_clear(const char *from, const char *to)
{
	for (; from != to; from++)
		if (*from)
			return false;
	return true;
}

/* The fabric's context comes before the slot, which is on a cache line. */
static void expect_room(const struct dofi_ring *ring, uint32_t i)
{
	const char *end = dofi_ring_memory(ring) + (i + 1) * (size_t)ring->stride;
	struct dofi_wr *wr = dofi_ring_at(ring, i);
	void **descs = dofi_wr_desc(ring, wr);
	ptrdiff_t spare = ring->stride;

	ck_assert_uint_eq((uintptr_t)wr % DOFI_CACHE_LINE, 0);
	ck_assert_uint_eq(ring->gap, ia.context_gap);
	ck_assert((void *)descs >= (void *)&wr->iov[ring->max_iov]);
	ck_assert((void *)dofi_wr_immediate(ring, wr) >= (void *)&descs[ring->max_iov]);
	for (int k = 0; k < 2; k++) {
		char *after = k ? (char *)(dofi_wr_immediate(ring, wr) + 1)
				: (char *)(dofi_wr_bind(wr) + 1);

		ck_assert(after <= end);
		spare = end - after < spare ? end - after : spare;
	}
	ck_assert_int_lt(spare, DOFI_CACHE_LINE); /* and no room beyond them */
}

/* _i: segments */
START_TEST(a_slot_has_room_for_all_its_parts)
{
	for (uint32_t gap = 0; gap <= DOFI_CONTEXT_GAP; gap += DOFI_CONTEXT_GAP) {
		struct dofi_ring ring;

		ia.context_gap = gap;
		ia.limits.fabric_iov = 3;
		ring = new_ring(3, (uint32_t)_i);
		ck_assert_uint_eq(ring.max_iov, (uint32_t)_i);
		ck_assert_uint_eq(ring.fabric_iov, 3);
		ck_assert(is_clear(dofi_ring_memory(&ring),
				   dofi_ring_memory(&ring) + dofi_ring_size(&ring)));
		for (uint32_t i = 0; i <= ring.mask; i++)
			expect_room(&ring, i);
		dofi_ring_fini(&ring);
	}
}
END_TEST

START_TEST(a_ring_gives_its_memory_back)
{
	size_t before = t_heap_and_maps();

	ia.context_gap = _i ? DOFI_CONTEXT_GAP : 0;
	for (int i = 0; i < 100; i++) {
		struct dofi_ring ring = new_ring(1024, 4);

		dofi_ring_fini(&ring);
	}
	ck_assert_uint_lt(t_heap_and_maps(), before + 1024 * sizeof(struct dofi_wr));
}
END_TEST

START_TEST(without_memory_the_ring_is_as_before)
{
	struct dofi_ring ring = {.limit = 77};

	no_memory = true;
	ck_assert_int_eq(dofi_ring_init(&ia, &ring, 8, 1), -ENOMEM);
	ck_assert_ptr_null(ring.base);
	ck_assert_uint_eq(ring.limit, 77);
}
END_TEST

/* A receive with so many segments. */
static void fill(struct dofi_ring *ring, uint16_t niov)
{
	struct dofi_wr *wr = dofi_ring_at(ring, ring->tail);

	wr->op = DOFI_OP_RECV;
	wr->cookie = ring->tail++;
	wr->length = 100u + niov;
	wr->niov = niov;
	for (uint16_t i = 0; i < niov; i++) {
		wr->iov[i] = (struct iovec){&ia, 10u * niov + i};
		dofi_wr_desc(ring, wr)[i] = (char *)&ia + 10 * niov + i;
	}
}

/* The slots of the larger ring have room for more segments. */
START_TEST(a_move_keeps_requests_and_their_segments)
{
	struct dofi_ring from = new_ring(4, 2), to = new_ring(8, 3);

	from.head = from.issue = from.tail = 3; /* they wrap */
	for (uint16_t i = 0; i < 3; i++)
		fill(&from, i);
	dofi_ring_move(&to, &from);
	ck_assert_ptr_null(from.base);
	ck_assert_uint_eq(dofi_ring_count(&to), 3);
	ck_assert_uint_eq(to.head, 0);
	ck_assert_uint_eq(to.issue, 0);
	for (uint16_t i = 0; i < 3; i++) {
		struct dofi_wr *wr = dofi_ring_at(&to, i);

		ck_assert_uint_eq(wr->cookie, 3u + i);
		ck_assert_uint_eq(wr->length, 100u + i);
		ck_assert_uint_eq(wr->niov, i);
		for (uint16_t k = 0; k < i; k++) {
			ck_assert_uint_eq(wr->iov[k].iov_len, 10u * i + k);
			ck_assert_ptr_eq(dofi_wr_desc(&to, wr)[k], (char *)&ia + 10 * i + k);
		}
	}
	dofi_ring_fini(&to);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring");
	TCase *tc = tcase_create("ring");

	tcase_add_loop_test(tc, a_ring_has_a_slot_for_each_request, 0,
			    sizeof(sizes) / sizeof(sizes[0]));
	tcase_add_loop_test(tc, a_slot_has_room_for_all_its_parts, 0, 9);
	tcase_add_loop_test(tc, a_ring_gives_its_memory_back, 0, 2);
	tcase_add_test(tc, without_memory_the_ring_is_as_before);
	tcase_add_test(tc, a_move_keeps_requests_and_their_segments);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
