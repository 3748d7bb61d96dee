/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Bounce buffers: what they hold, how many share a registration, which are kept, and what happens
 * without memory.
 */
#include "t_blocks.h"

#include "../../../prov/ofi/dto/bounce.h"
#include "../../../prov/ofi/dto/ring.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/mr.h"

#include <errno.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>

#define NIOV     3u
#define IN_SLAB  16u /* buffers of 4 KiB in a slab of 64 KiB */
#define TOO_LONG (UINT64_C(1) << 40)

static struct dofi_ia ia;
static struct dofi_ring ring;
static struct fi_domain_attr domain = {.mr_mode = FI_MR_LOCAL};
static struct fi_info info = {.domain_attr = &domain};
static char descriptor;
static struct fid_mr registration = {.mem_desc = &descriptor};
static char memory[NIOV][4096];

/* --- memory and its registration --- */

enum { NOTHING, CALLOC, MMAP, REGISTER, KINDS };

static int fails;
static unsigned int registered, closed;
static unsigned int before; /* blocks that do not belong to the bounce buffers */
static size_t mapped;       /* bytes mapped and not unmapped */

void *__real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
T_STAND_IN void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *at, size_t size);
T_STAND_IN int __wrap_munmap(void *at, size_t size);
int __wrap_dofi_mr_register(struct dofi_ia *of, void *buf, size_t length, DAT_MEM_PRIV_FLAGS rights,
			    struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p);
int __wrap_dofi_mr_close(struct dofi_ia *of, struct fid_mr *mr);

void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	ck_assert_int_eq(prot, PROT_READ | PROT_WRITE);
	if (fails == MMAP)
		return MAP_FAILED;
	mapped += size;
	return __real_mmap(at, size, prot, flags | MAP_NORESERVE, fd, offset);
}

int __wrap_munmap(void *at, size_t size)
{
	ck_assert_uint_ge(mapped, size);
	mapped -= size;
	return __real_munmap(at, size);
}

int __wrap_dofi_mr_register(struct dofi_ia *of, void *buf, size_t length, DAT_MEM_PRIV_FLAGS rights,
			    struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_nonnull(buf);
	ck_assert_uint_ge(length, 65536);
	ck_assert_int_eq(rights, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	*key_p = *address_p = 0;
	if (fails == REGISTER)
		return -FI_ENOMEM;
	*mr_p = &registration;
	registered++;
	return 0;
}

int __wrap_dofi_mr_close(struct dofi_ia *of, struct fid_mr *mr)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(mr, &registration);
	closed++;
	return 0;
}

/* --- */

static void setup(void)
{
	ia.info = &info;
	ia.limits.fabric_iov = 1;
	ck_assert_int_eq(dofi_bounces_init(&ia), 0);
	ck_assert_int_eq(dofi_ring_init(&ia, &ring, 2 * IN_SLAB, NIOV), 0);
	before = t_nblocks;
}

static void teardown(void)
{
	dofi_bounces_fini(&ia);
	ck_assert_uint_eq(closed, registered);
	ck_assert_uint_eq(t_nblocks, before);
	ck_assert_uint_eq(mapped, 0);
	dofi_ring_fini(&ring);
}

/* A request with segments of these lengths. */
static struct dofi_wr *request(uint32_t i, enum dofi_op op, size_t first, size_t second,
			       size_t third)
{
	const size_t lengths[] = {first, second, third};
	struct dofi_wr *wr = dofi_ring_at(&ring, i);

	wr->op = op;
	wr->niov = NIOV;
	for (unsigned int n = 0; n < NIOV; n++)
		wr->iov[n] = (struct iovec){memory[n], lengths[n]};
	return wr;
}

START_TEST(a_send_is_gathered)
{
	struct dofi_wr *wr = request(0, DOFI_OP_SEND, 3, 0, 4);

	memcpy(memory[0], "abc", 3);
	memcpy(memory[2], "defg", 4);
	ck_assert_int_eq(dofi_bounce_take(&ia, &ring, wr), 0);
	ck_assert_uint_eq(wr->niov, 1);
	ck_assert_uint_eq(wr->split, 1);
	ck_assert_uint_eq(wr->iov[0].iov_len, 7);
	ck_assert_mem_eq(wr->iov[0].iov_base, "abcdefg", 7);
	ck_assert_ptr_eq(dofi_wr_desc(&ring, wr)[0], &descriptor);
	memset(memory, '.', sizeof(memory));
	dofi_bounce_give(wr, 7);
	ck_assert_uint_eq(wr->split, 0);
	ck_assert_int_eq(memory[0][0], '.'); /* a Send changes nothing */
}
END_TEST

/* A message may be shorter than the segments, and end within one. */
START_TEST(a_receive_is_scattered)
{
	struct dofi_wr *wr = request(0, DOFI_OP_RECV, 3, 2, 4);

	memset(memory, '.', sizeof(memory));
	ck_assert_int_eq(dofi_bounce_take(&ia, &ring, wr), 0);
	ck_assert_uint_eq(wr->iov[0].iov_len, 9);
	memcpy(wr->iov[0].iov_base, "abcdefghi", 9);
	dofi_bounce_give(wr, 7);
	ck_assert_mem_eq(memory[0], "abc.", 4);
	ck_assert_mem_eq(memory[1], "de.", 3);
	ck_assert_mem_eq(memory[2], "fg...", 5);
}
END_TEST

START_TEST(small_buffers_share_a_registration_and_are_kept)
{
	struct dofi_wr *wr;

	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i <= IN_SLAB; i++) {
			wr = request(i, DOFI_OP_SEND, 4096, 0, 0);
			ck_assert_int_eq(dofi_bounce_take(&ia, &ring, wr), 0);
			ck_assert_uint_eq(registered, i < IN_SLAB && !round ? 1 : 2);
		}
		for (uint32_t i = 0; i <= IN_SLAB; i++)
			dofi_bounce_give(dofi_ring_at(&ring, i), 0);
	}
	ck_assert_uint_eq(closed, 0);
}
END_TEST

/* _i: a buffer of 1 MiB, and one of 2 MiB */
START_TEST(large_buffers_are_not_kept)
{
	struct dofi_wr *wr = request(0, DOFI_OP_RECV, (size_t)1 << 20, (size_t)_i, 0);

	ck_assert_int_eq(dofi_bounce_take(&ia, &ring, wr), 0);
	dofi_bounce_give(wr, 0);
	ck_assert_uint_eq(closed, (unsigned int)_i);
	ck_assert_uint_eq(t_nblocks, before + !_i);
	ck_assert_uint_eq(mapped, _i ? 0 : 1u << 20);
}
END_TEST

/* _i: what fails */
START_TEST(without_memory_the_request_waits)
{
	struct dofi_wr *wr = request(0, DOFI_OP_SEND, 1, 2, 3);

	fails = _i;
	t_blocks_left = _i == CALLOC ? 0 : -1;
	ck_assert_int_eq(dofi_bounce_take(&ia, &ring, wr), -FI_EAGAIN);
	fails = NOTHING;
	ck_assert_uint_eq(wr->niov, NIOV);
	ck_assert_uint_eq(wr->split, 0);
	ck_assert_ptr_eq(wr->iov[0].iov_base, memory[0]);
	ck_assert_uint_eq(registered, 0);
	ck_assert_uint_eq(t_nblocks, before);
	ck_assert_uint_eq(mapped, 0);
	ck_assert_int_eq(dofi_bounce_take(&ia, &ring, wr), 0);
	dofi_bounce_give(wr, 0);
}
END_TEST

/* It may be taken with the lock of an EP held. */
START_TEST(the_lock_is_below_that_of_eps)
{
	ck_assert(dofi_trylock(&ia.bounces.lock));
	dofi_unlock(&ia.bounces.lock);
#ifndef NDEBUG
	ck_assert_int_eq(ia.bounces.lock.level, DOFI_LEVEL_MEMORY);
#endif
}
END_TEST

START_TEST(no_buffer_is_so_long)
{
	struct dofi_wr *wr = request(0, DOFI_OP_RECV, TOO_LONG, 0, 0);

	ck_assert_int_eq(dofi_bounce_take(&ia, &ring, wr), -FI_EAGAIN);
	ck_assert_uint_eq(registered, 0);
}
END_TEST

/* The longest of all buffers, 4 KiB shifted by the classes; one byte more has none. */
START_TEST(the_longest_buffer)
{
	const size_t longest = (size_t)4096 << (DOFI_BOUNCE_CLASSES - 1);
	struct dofi_wr *wr = request(0, DOFI_OP_RECV, longest - 1, 1, 1);

	ck_assert_int_eq(dofi_bounce_take(&ia, &ring, wr), -FI_EAGAIN);
	ck_assert_uint_eq(mapped, 0);
	wr = request(0, DOFI_OP_RECV, longest - 1, 1, 0);
	ck_assert_int_eq(dofi_bounce_take(&ia, &ring, wr), 0);
	ck_assert_uint_eq(mapped, longest);
	dofi_bounce_give(wr, 0);
	ck_assert_uint_eq(mapped, 0);
}
END_TEST

/* A buffer of each class is used again for the same class. */
START_TEST(buffers_of_each_class_are_kept_apart)
{
	size_t all = 0;

	for (size_t length = 4096; length <= 1u << 20; length *= 2) {
		struct dofi_wr *wr = request(0, DOFI_OP_RECV, length, 0, 0);

		all += length < 65536 ? 65536 : length;
		for (int round = 0; round < 2; round++) {
			wr = request(0, DOFI_OP_RECV, length, 0, 0);
			ck_assert_int_eq(dofi_bounce_take(&ia, &ring, wr), 0);
			memset(wr->iov[0].iov_base, 1, length);
			dofi_bounce_give(wr, 0);
			ck_assert_uint_eq(mapped, all);
		}
	}
}
END_TEST

START_TEST(fabrics_that_need_no_registration)
{
	struct dofi_wr *wr = request(0, DOFI_OP_SEND, 1, 2, 3);

	domain.mr_mode = 0;
	ck_assert_int_eq(dofi_bounce_take(&ia, &ring, wr), 0);
	ck_assert_ptr_null(dofi_wr_desc(&ring, wr)[0]);
	ck_assert_uint_eq(registered, 0);
	dofi_bounce_give(wr, 0);
}
END_TEST

/* Until the endpoint is closed, the fabric may still write into the memory. */
START_TEST(registrations_end_before_the_memory)
{
	struct dofi_wr *wr = request(0, DOFI_OP_RECV, 4, 4, 4);

	ck_assert_int_eq(dofi_bounce_take(&ia, &ring, wr), 0);
	dofi_bounces_abandon(&ia);
	ck_assert_uint_eq(closed, 1);
	memset(wr->iov[0].iov_base, 'x', 12);
	dofi_bounce_give(wr, 12);
	ck_assert_int_eq(memory[2][3], 'x');
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bounce");
	TCase *tc = tcase_create("bounce");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_send_is_gathered);
	tcase_add_test(tc, a_receive_is_scattered);
	tcase_add_test(tc, small_buffers_share_a_registration_and_are_kept);
	tcase_add_loop_test(tc, large_buffers_are_not_kept, 0, 2);
	tcase_add_loop_test(tc, without_memory_the_request_waits, CALLOC, KINDS);
	tcase_add_test(tc, the_lock_is_below_that_of_eps);
	tcase_add_test(tc, no_buffer_is_so_long);
	tcase_add_test(tc, the_longest_buffer);
	tcase_add_test(tc, buffers_of_each_class_are_kept_apart);
	tcase_add_test(tc, fabrics_that_need_no_registration);
	tcase_add_test(tc, registrations_end_before_the_memory);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
