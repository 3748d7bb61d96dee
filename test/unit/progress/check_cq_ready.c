/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Queues that many connections share: which of them a round reads, and when the driver may sleep.
 * Queues are stood for by descriptors.
 */
#include "unit.h"

#include "../../../prov/ofi/progress/cq_ready.h"

#include <errno.h>
#include <fcntl.h>
#include <rdma/fabric.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define QUEUES 4u

static struct dofi_cqs cqs;
static struct fid_cq queues[QUEUES];
static int fds[QUEUES];
static int refused;        /* fi_control fails with this */
static uint32_t not_idle;  /* fi_trywait fails for this queue */
static unsigned int armed; /* calls of fi_trywait */

static uint32_t number_of(const struct fid *fid)
{
	uint32_t i = 0;

	while (fid != &queues[i].fid)
		ck_assert_uint_lt(++i, QUEUES);
	return i;
}

static int control(struct fid *fid, int command, void *arg)
{
	ck_assert_int_eq(command, FI_GETWAIT);
	*(int *)arg = fds[number_of(fid)];
	return refused;
}

static int trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	(void)fabric;
	ck_assert_int_eq(count, 1);
	armed++;
	return number_of(fids[0]) == not_idle ? -FI_EAGAIN : 0;
}

static struct fi_ops ops = {.size = sizeof(ops), .control = control};
static struct fi_ops_fabric fabric_ops = {.size = sizeof(fabric_ops), .trywait = trywait};
static struct fid_fabric fabric = {.ops = &fabric_ops};

static void setup(void)
{
	ck_assert_int_eq(dofi_cq_ready_open(&cqs), 0);
	ck_assert(cqs.shared);
	for (uint32_t i = 0; i < QUEUES; i++) {
		fds[i] = eventfd(0, EFD_NONBLOCK);
		queues[i].fid.ops = &ops;
		cqs.list[i].fid = &queues[i];
		if (i)
			ck_assert_int_eq(dofi_cq_ready_add(&cqs, i), 0);
	}
	atomic_store(&cqs.n, QUEUES);
}

static void teardown(void)
{
	dofi_cq_ready_close(&cqs);
	ck_assert(!cqs.shared);
	ck_assert_int_lt(fcntl(cqs.ready_fd, F_GETFD), 0);
	dofi_cq_ready_close(&cqs); /* an IA that failed to open is closed without one */
	for (uint32_t i = 0; i < QUEUES; i++)
		close(fds[i]);
}

/* A bit for each queue that the next round reads. */
static unsigned int look(void)
{
	unsigned int due = 0;

	dofi_cq_ready_look(&cqs);
	for (uint32_t i = 1; i < QUEUES; i++) {
		due |= (unsigned int)cqs.list[i].due << i;
		cqs.list[i].due = false;
	}
	return due;
}

static void empty(int which)
{
	eventfd_t value;

	ck_assert_int_eq(eventfd_read(fds[which], &value), 0);
}

START_TEST(queues_with_something_are_due)
{
	ck_assert_uint_eq(look(), 0);
	ck_assert_int_eq(eventfd_write(fds[2], 1), 0);
	ck_assert_uint_eq(look(), 1 << 2);
	ck_assert_int_eq(eventfd_write(fds[3], 1), 0);
	ck_assert_int_eq(eventfd_write(fds[0], 1), 0);
	ck_assert_uint_eq(look(), 1 << 2 | 1 << 3);
}
END_TEST

START_TEST(each_queue_is_read_in_turn)
{
	unsigned int seen = 0, times = 0, due;

	for (unsigned int i = 0; i < 64 * (QUEUES - 1); i++) {
		due = look();
		ck_assert_uint_eq(seen & due, 0);
		seen |= due;
		times += due != 0;
	}
	ck_assert_uint_eq(seen, 1 << 1 | 1 << 2 | 1 << 3);
	ck_assert_uint_eq(times, QUEUES - 1);
}
END_TEST

START_TEST(a_queue_that_is_not_idle_is_read_before_the_sleep)
{
	not_idle = QUEUES;
	ck_assert(dofi_cq_ready_arm(&cqs, &fabric));
	ck_assert_uint_eq(look(), 0);
	ck_assert_int_eq(eventfd_write(fds[3], 1), 0);
	ck_assert_uint_eq(look(), 1 << 3);
	empty(3);
	not_idle = 3;
	ck_assert(!dofi_cq_ready_arm(&cqs, &fabric));
	ck_assert_uint_eq(look(), 1 << 3);
	ck_assert_uint_eq(look(), 0);
}
END_TEST

START_TEST(a_queue_that_was_not_read_is_not_armed_again)
{
	not_idle = QUEUES;
	ck_assert(dofi_cq_ready_arm(&cqs, &fabric));
	ck_assert_uint_eq(armed, QUEUES - 1);
	ck_assert(dofi_cq_ready_arm(&cqs, &fabric));
	ck_assert_uint_eq(armed, QUEUES - 1);
	ck_assert_int_eq(eventfd_write(fds[1], 1), 0);
	ck_assert_uint_eq(look(), 1 << 1);
	ck_assert(dofi_cq_ready_arm(&cqs, &fabric));
	ck_assert_uint_eq(armed, QUEUES);
}
END_TEST

START_TEST(a_queue_without_a_descriptor_is_an_error)
{
	refused = -FI_ENOSYS;
	ck_assert_int_eq(dofi_cq_ready_add(&cqs, 1), -FI_ENOSYS);
	refused = 0;
	ck_assert_int_eq(dofi_cq_ready_add(&cqs, 1), -EEXIST);
}
END_TEST

START_TEST(polls_read_the_first_queue_while_it_has_completions)
{
	unsigned int n = 0;

	for (int i = 0; i < 40; i++)
		n += dofi_cq_ready_first(&cqs);
	ck_assert_uint_eq(n, 10);
	dofi_cq_ready_first_has(&cqs);
	for (int i = 0; i < 64; i++)
		ck_assert(dofi_cq_ready_first(&cqs));
	n = 0;
	for (int i = 0; i < 40; i++)
		n += dofi_cq_ready_first(&cqs);
	ck_assert_uint_eq(n, 10);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cq_ready");
	TCase *tc = tcase_create("cq_ready");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, queues_with_something_are_due);
	tcase_add_test(tc, each_queue_is_read_in_turn);
	tcase_add_test(tc, a_queue_that_is_not_idle_is_read_before_the_sleep);
	tcase_add_test(tc, a_queue_that_was_not_read_is_not_armed_again);
	tcase_add_test(tc, a_queue_without_a_descriptor_is_an_error);
	tcase_add_test(tc, polls_read_the_first_queue_while_it_has_completions);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
