/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The ring between two processes: order, bytes, room, and what a hostile side can store in it. */
#include "unit.h"

#include "memory/ring.h"

#include <errno.h>
#include <pthread.h>

#define GUARD 4096u
#define MANY  300000u /* cells, many times around */

/* The ring between two guards, which stay as they are. */
static struct {
	uint8_t before[GUARD];
	struct dofi_memory_ring ring;
	uint8_t behind[GUARD];
} * place;
static struct dofi_ring_writer writer;
static struct dofi_ring_reader reader;
static uint8_t pattern[DOFI_CELL_MAX], taken[DOFI_CELL_MAX];

static void setup(void)
{
	place = aligned_alloc(64, sizeof(*place));
	memset(place, 0, sizeof(*place));
	memset(place->before, 0xee, GUARD);
	memset(place->behind, 0xee, GUARD);
	writer = (struct dofi_ring_writer){.ring = &place->ring};
	reader = (struct dofi_ring_reader){.ring = &place->ring};
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i * 7 + i / 256);
}

static void teardown(void)
{
	for (size_t i = 0; i < GUARD; i++) {
		ck_assert_uint_eq(place->before[i], 0xee);
		ck_assert_uint_eq(place->behind[i], 0xee);
	}
	free(place);
}

static bool put(uint64_t number, size_t size)
{
	struct iovec iov = {pattern, size};

	if (dofi_ring_has_room(&writer, size) <= 0)
		return false;
	dofi_ring_put(&writer,
		      &(struct dofi_cell){.kind = 7,
					  .flags = 9,
					  .size = (uint16_t)size,
					  .words = {number, ~number}},
		      &iov, 0);
	return true;
}

/* The next one is this. */
static void get(uint64_t number, size_t size)
{
	struct dofi_cell cell;

	ck_assert_int_eq(dofi_ring_look(&reader, &cell), 1);
	ck_assert_uint_eq(cell.kind, 7);
	ck_assert_uint_eq(cell.flags, 9);
	ck_assert_uint_eq(cell.size, size);
	ck_assert_uint_eq(cell.words[0], number);
	ck_assert_uint_eq(cell.words[1], ~number);
	memset(taken, 0, sizeof(taken));
	dofi_ring_read(&reader, &cell, 0, taken, size);
	ck_assert_int_eq(memcmp(taken, pattern, size), 0);
	dofi_ring_take(&reader, &cell);
}

static bool is_empty(void)
{
	struct dofi_cell cell;

	return !dofi_ring_look(&reader, &cell);
}

START_TEST(all_sizes_in_order)
{
	ck_assert(is_empty());
	for (size_t size = 0; size <= DOFI_CELL_MAX; size += size < 200 ? 1 : 97) {
		ck_assert(put(size, size));
		ck_assert(put(size + 1, size / 2));
		get(size, size);
		get(size + 1, size / 2);
		ck_assert(is_empty());
	}
}
END_TEST

START_TEST(a_full_ring_of_small_cells)
{
	for (uint64_t i = 0; i < DOFI_CELLS; i++)
		ck_assert(put(i, 8));
	ck_assert(!put(0, 0));
	for (uint64_t i = 0; i < DOFI_CELLS; i++)
		get(i, 8);
	ck_assert(is_empty());
	ck_assert(put(5, 0));
	get(5, 0);
}
END_TEST

/* However little the reader has told, there is room for any cell when all are taken. */
START_TEST(an_empty_ring_has_room)
{
	for (size_t i = 0; i < 5000; i++) {
		size_t size = i * 131 % (DOFI_CELL_MAX + 1);

		ck_assert(put(i, size));
		get(i, size);
		ck_assert_int_eq(dofi_ring_has_room(&writer, DOFI_CELL_MAX), 1);
	}
}
END_TEST

START_TEST(a_full_ring_of_bytes)
{
	uint64_t n = 0, first;

	while (put(n, DOFI_CELL_MAX))
		n++;
	ck_assert_uint_eq(n, DOFI_CELL_AREA / DOFI_CELL_MAX);
	ck_assert(put(n, DOFI_CELL_INLINE)); /* needs none of the area */
	first = n;
	for (uint64_t i = 0; i < n; i++)
		get(i, DOFI_CELL_MAX);
	get(first, DOFI_CELL_INLINE);
	ck_assert(put(0, DOFI_CELL_MAX));
}
END_TEST

/* The writer's cache line stays with it meanwhile: a quarter of the ring, by cells or by bytes. */
START_TEST(a_reader_reports_seldom)
{
	static const struct {
		size_t size;
		uint32_t cells, bytes; /* of a report, and of the area for a cell */
	} kinds[] = {{8, 32, 0},
		     {DOFI_CELL_INLINE, 32, 0},
		     {1000, 16, 1024},
		     {1025, 16, 1088},
		     {DOFI_CELL_MAX, 1, DOFI_CELL_MAX}};

	for (uint32_t i = 1; i <= 200; i++) {
		uint32_t told = i - i % kinds[_i].cells;

		ck_assert(put(i, kinds[_i].size));
		get(i, kinds[_i].size);
		ck_assert_uint_eq(atomic_load(&place->ring.taken),
				  (uint64_t)told << 32 | told * kinds[_i].bytes);
	}
}
END_TEST

/* Bytes of several segments, some empty, from anywhere on. */
START_TEST(segments)
{
	struct iovec iov[] = {{pattern, 10},
			      {NULL, 0},
			      {pattern + 10, 1},
			      {pattern + 11, 500},
			      {pattern + 511, 513}};

	for (size_t skip = 0; skip < 1024; skip += 3) {
		for (size_t size = 0; size <= 1024 - skip; size += size < 60 ? 5 : 61) {
			struct dofi_cell cell = {.size = (uint16_t)size};
			size_t end = (writer.bytes + size) % DOFI_CELL_AREA;

			place->ring.area[end] = 0xee;
			ck_assert_int_eq(dofi_ring_has_room(&writer, size), 1);
			dofi_ring_put(&writer, &cell, iov, skip);
			ck_assert_uint_eq(place->ring.area[end], 0xee);
			ck_assert_int_eq(dofi_ring_look(&reader, &cell), 1);
			memset(taken, 0, sizeof(taken));
			for (size_t at = 0; at < size; at += 100)
				dofi_ring_read(&reader, &cell, at, taken + at,
					       size - at < 100 ? size - at : 100);
			ck_assert_int_eq(memcmp(taken, pattern + skip, size), 0);
			dofi_ring_take(&reader, &cell);
		}
	}
}
END_TEST

/* Indices run over. */
START_TEST(numbers_start_again)
{
	uint32_t high = UINT32_MAX - DOFI_CELLS / 2;

	high -= high % DOFI_CELLS;
	writer.cells = writer.cells_taken = reader.cells = reader.cells_told = high;
	writer.bytes = writer.bytes_taken = reader.bytes = reader.bytes_told = 0xffff0000u;
	for (uint64_t i = 0; i < 4ull * DOFI_CELLS; i++) {
		ck_assert(put(i, 1000));
		get(i, 1000);
	}
}
END_TEST

static void *write_all(void *unused)
{
	for (uint32_t i = 0; i < MANY; i++)
		while (!put(i, i % 97))
			sched_yield();
	return unused;
}

START_TEST(two_threads)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, write_all, NULL), 0);
	for (uint32_t i = 0; i < MANY; i++) {
		while (is_empty())
			sched_yield();
		get(i, i % 97);
	}
	pthread_join(thread, NULL);
}
END_TEST

/* --- a hostile side --- */

START_TEST(a_forged_size)
{
	struct dofi_cell cell;

	ck_assert(put(1, 8));
	place->ring.cells[0].cell.size = DOFI_CELL_MAX + 1;
	ck_assert_int_eq(dofi_ring_look(&reader, &cell), -EPROTO);
	place->ring.cells[0].cell.size = UINT16_MAX;
	ck_assert_int_eq(dofi_ring_look(&reader, &cell), -EPROTO);
}
END_TEST

/* The size that was checked is the size that is used. */
START_TEST(a_size_that_changes)
{
	struct dofi_cell cell;

	ck_assert(put(1, 100));
	ck_assert_int_eq(dofi_ring_look(&reader, &cell), 1);
	place->ring.cells[0].cell.size = UINT16_MAX;
	ck_assert_uint_eq(cell.size, 100);
	dofi_ring_read(&reader, &cell, 0, taken, cell.size);
	dofi_ring_take(&reader, &cell);
	ck_assert_uint_eq(reader.bytes, 128);
}
END_TEST

START_TEST(forged_turns)
{
	struct dofi_cell cell;

	for (uint32_t i = 0; i < DOFI_CELLS; i++) {
		place->ring.cells[i].cell.turn = i * 0x01010101u + 2;
		place->ring.cells[i].cell.size = DOFI_CELL_MAX;
	}
	ck_assert_int_eq(dofi_ring_look(&reader, &cell), 0);
	place->ring.cells[0].cell.turn = 1; /* bytes that were never written */
	ck_assert_int_eq(dofi_ring_look(&reader, &cell), 1);
	dofi_ring_read(&reader, &cell, 0, taken, DOFI_CELL_MAX);
	dofi_ring_take(&reader, &cell);
}
END_TEST

/* The writer believes no index that cannot be. */
START_TEST(forged_indices)
{
	static const uint64_t forged[] = {
		UINT64_MAX,
		(DOFI_CELLS + 1ull) << 32,
		(uint64_t)DOFI_CELLS << 32 | (DOFI_CELL_AREA + 1),
		(uint64_t)UINT32_MAX << 32,
		100,
	};

	for (uint64_t i = 0; i < DOFI_CELLS; i++)
		ck_assert(put(i, 8));
	for (size_t i = 0; i < sizeof(forged) / sizeof(forged[0]); i++) {
		struct dofi_ring_writer copy = writer;

		atomic_store(&place->ring.taken, forged[i]);
		ck_assert_int_eq(dofi_ring_has_room(&copy, 8), -EPROTO);
	}
	/* All taken, it says, without having read any: its own loss. */
	atomic_store(&place->ring.taken, (uint64_t)DOFI_CELLS << 32);
	ck_assert(put(0, DOFI_CELL_MAX));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring");
	TCase *tcase = tcase_create("ring");

	suite_add_tcase(suite, tcase);
	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, all_sizes_in_order);
	tcase_add_test(tcase, a_full_ring_of_small_cells);
	tcase_add_test(tcase, an_empty_ring_has_room);
	tcase_add_test(tcase, a_full_ring_of_bytes);
	tcase_add_loop_test(tcase, a_reader_reports_seldom, 0, 5);
	tcase_add_test(tcase, segments);
	tcase_add_test(tcase, numbers_start_again);
	tcase_add_test(tcase, two_threads);
	tcase_add_test(tcase, a_forged_size);
	tcase_add_test(tcase, a_size_that_changes);
	tcase_add_test(tcase, forged_turns);
	tcase_add_test(tcase, forged_indices);
	return t_run(suite);
}
