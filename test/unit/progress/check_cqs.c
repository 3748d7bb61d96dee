/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The number of completion queues of an IA: endpoints reserve entries, and if a queue has too few
 * free ones, another queue is opened.
 */
#include "unit.h"

#include "../../../prov/ofi/base/log.h"
#include "../../../prov/ofi/progress/cqs.h"
#include "../../../prov/ofi/fabric/quirks.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/transport.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#define FIRST 16384u

static struct dofi_ia ia;
static struct fid_domain domain;
static struct fi_ops_domain domain_ops;
static struct fi_ep_attr ep_attr;
static struct fi_info info = {.ep_attr = &ep_attr};
static const struct dofi_trans_ops trans = {.cq_format = FI_CQ_FORMAT_DATA, .cq_has_list = true};

/* --- the device: the longest queue, and the number of queues --- */

/* the longest queue; the length to which the device rounds shorter ones up */
static size_t longest, takes;
static unsigned int most, opened, closed;
static bool no_fds; /* the fabric does not tell the descriptors of queues */
static enum fi_wait_obj waits[DOFI_MAX_CQS + 1];
static struct fid_cq queues[DOFI_MAX_CQS + 1];
static struct fi_ops queue_ops;
static bool has_lists; /* the fabric can poll a list of descriptors */
static bool has_fds = true;
static int shortage; /* what the fabric answers to each try */
static unsigned int tries;
static int some_fds[DOFI_MAX_CQS + 1];

static int queue_fd(struct fid *fid, int command, void *arg)
{
	unsigned int i = 0;

	ck_assert_int_eq(command, FI_GETWAIT);
	while (fid != &queues[i].fid)
		i++;
	some_fds[i] = eventfd(0, 0);
	*(int *)arg = some_fds[i];
	return no_fds ? -FI_ENOSYS : 0;
}

static int queue_close(struct fid *fid)
{
	ck_assert_ptr_eq(fid, &queues[opened - 1 - closed].fid);
	if (no_fds || !has_fds)
		opened--; /* at once, and its place is used again */
	else
		closed++;
	return 0;
}

static int queue_open(struct fid_domain *of, struct fi_cq_attr *attr, struct fid_cq **cq,
		      void *context)
{
	(void)context;
	ck_assert_ptr_eq(of, &domain);
	ck_assert_int_eq(attr->format, FI_CQ_FORMAT_DATA);
	tries++;
	if (shortage)
		return shortage;
	if (attr->wait_obj == FI_WAIT_POLLFD && !has_lists)
		return -FI_ENOSYS;
	if (attr->wait_obj == FI_WAIT_FD && !has_fds)
		return -FI_ENOSYS;
	if (attr->size < takes)
		attr->size = takes;
	if (attr->size > longest || opened == most)
		return -FI_EINVAL;
	queues[opened].fid.ops = &queue_ops;
	waits[opened] = attr->wait_obj;
	*cq = &queues[opened++];
	return 0;
}

static void setup(void)
{
	longest = 1u << 22;
	most = DOFI_MAX_CQS + 1;
	queue_ops.close = queue_close;
	queue_ops.control = queue_fd;
	domain_ops.cq_open = queue_open;
	domain.ops = &domain_ops;
	ia.domain = &domain;
	ia.trans = &trans;
	ia.info = &info;
	dofi_lock_init(&ia.engine.lock);
	dofi_lock(&ia.engine.lock);
}

static void open_first(void)
{
	ck_assert_int_eq(dofi_cqs_open(&ia), 0);
	ck_assert_ptr_eq(ia.cq, &queues[0]);
	ck_assert_int_eq(ia.cq_wait, FI_WAIT_FD);
}

START_TEST(one_queue_is_enough_for_a_few_endpoints)
{
	open_first();
	for (int i = 0; i < 64; i++)
		ck_assert_uint_eq(dofi_cqs_take(&ia, FIRST / 64), 0);
	for (int i = 0; i < 64; i++)
		dofi_cqs_give(&ia, 0, FIRST / 64);
	ck_assert_uint_eq(dofi_cqs_take(&ia, FIRST), 0);
	ck_assert_uint_eq(opened, 1);
	dofi_cqs_close(&ia);
	ck_assert_uint_eq(closed, 1);
	ck_assert_uint_eq(ia.cqs.n, 0);
}
END_TEST

START_TEST(fabrics_without_device_queues_need_one_queue)
{
	open_first();
	for (int i = 0; i < 100000; i++)
		ck_assert_uint_eq(dofi_cqs_take(&ia, 0), 0);
	ck_assert_uint_eq(opened, 1);
}
END_TEST

/* The list is best for few connections, unless it is incomplete or the user prefers the other. */
START_TEST(the_best_wait_object_of_the_fabric)
{
	static const struct dofi_trans_ops no_list = {.cq_format = FI_CQ_FORMAT_DATA};
	static const struct {
		bool lists, fds, connectionless;
		uint64_t quirks;
		const char *param;
		enum fi_wait_obj wait;
	} cases[] = {
		{true, true, false, 0, "", FI_WAIT_POLLFD},
		{true, true, false, 0, "fd", FI_WAIT_FD},
		{true, true, false, DOFI_QUIRK_SHORT_LIST, "", FI_WAIT_FD},
		{true, true, true, 0, "", FI_WAIT_FD},
		{true, false, true, 0, "", FI_WAIT_POLLFD},
		{false, true, false, 0, "", FI_WAIT_FD},
		{false, false, false, 0, "", FI_WAIT_NONE},
		{false, false, true, 0, "", FI_WAIT_NONE},
		{true, true, false, DOFI_QUIRK_MUTE_QUEUE, "", FI_WAIT_NONE},
		{true, true, false, DOFI_QUIRK_UNARMED_QUEUE, "", FI_WAIT_NONE},
	};

	has_lists = cases[_i].lists;
	has_fds = cases[_i].fds;
	ia.trans = cases[_i].connectionless ? &no_list : &trans;
	ia.quirks = cases[_i].quirks;
	strcpy(ia.params.cq_wait, cases[_i].param);
	ck_assert_int_eq(dofi_cqs_open(&ia), 0);
	ck_assert_int_eq(ia.cq_wait, cases[_i].wait);
	ck_assert_int_eq(waits[0], cases[_i].wait);
	ck_assert_int_eq(ia.cqs.shared, cases[_i].wait == FI_WAIT_POLLFD);
	dofi_cqs_close(&ia);
}
END_TEST

/* A shorter queue may be possible then; another wait object is not what the fabric lacks. */
START_TEST(a_fabric_without_memory_is_asked_for_shorter_queues)
{
	shortage = -FI_ENOMEM;
	ck_assert_int_eq(dofi_cqs_open(&ia), -FI_ENOMEM);
	ck_assert_uint_eq(tries, 7); /* 16384, 8192, ... 256 */
	ck_assert_uint_eq(ia.cqs.n, 0);
}
END_TEST

/* Three, and not one of which the library knows nothing. */
START_TEST(a_fabric_is_asked_for_each_wait_object)
{
	shortage = _i ? -FI_EINVAL : -FI_ENOSYS;
	ck_assert_int_eq(dofi_cqs_open(&ia), shortage);
	ck_assert_uint_eq(tries, 3 * 7);
}
END_TEST

START_TEST(the_shortest_queue_that_is_used)
{
	longest = 256;
	open_first();
	ck_assert_uint_eq(ia.cqs.list[0].size, 256);
	dofi_cqs_close(&ia);
	longest = 255;
	ck_assert_int_eq(dofi_cqs_open(&ia), -FI_EINVAL);
}
END_TEST

START_TEST(a_queue_that_takes_a_whole_mebibyte)
{
	ia.quirks = DOFI_QUIRK_QUEUE_MAPPING;
	open_first();
	ck_assert_uint_eq(ia.cqs.list[0].size, 2 * FIRST);
}
END_TEST

/* The queue would have no room for the endpoint either. */
START_TEST(a_queue_shorter_than_the_endpoint_needs_is_not_opened)
{
	longest = FIRST / 4;
	open_first();
	ck_assert_uint_eq(dofi_cqs_take(&ia, FIRST / 4 + 1), 0);
	ck_assert_uint_eq(opened, 1);
}
END_TEST

/* efa does this if there is no descriptor for the queue. */
START_TEST(a_failed_open_that_changes_the_attributes)
{
	takes = 2 * FIRST;
	longest = FIRST;
	ck_assert_int_eq(dofi_cqs_open(&ia), -FI_EINVAL);
	ck_assert_uint_eq(opened, 0);
}
END_TEST

START_TEST(each_queue_is_twice_as_long_as_the_one_before)
{
	open_first();
	for (uint32_t i = 0; i < 4; i++) {
		ck_assert_uint_eq(dofi_cqs_take(&ia, FIRST << i), i);
		ck_assert_uint_eq(ia.cqs.list[i].size, FIRST << i);
	}
	/* Returned entries are used again. */
	dofi_cqs_give(&ia, 2, FIRST << 2);
	ck_assert_uint_eq(dofi_cqs_take(&ia, 300), 2);
	ck_assert_uint_eq(opened, 4);
	dofi_cqs_close(&ia);
	ck_assert_uint_eq(closed, 4);
}
END_TEST

START_TEST(a_device_with_short_queues_has_more_of_them)
{
	longest = FIRST - 1;
	open_first();
	ck_assert_uint_eq(ia.cqs.list[0].size, FIRST / 2);
	ck_assert_uint_eq(dofi_cqs_take(&ia, FIRST / 2), 0);
	ck_assert_uint_eq(dofi_cqs_take(&ia, 300), 1);
	ck_assert_uint_eq(ia.cqs.list[1].size, FIRST / 2);
}
END_TEST

START_TEST(a_large_endpoint_gets_a_queue_of_its_size)
{
	open_first();
	ck_assert_uint_eq(dofi_cqs_take(&ia, 10 * FIRST), 1);
	ck_assert_uint_eq(ia.cqs.list[1].size, 10 * FIRST);
}
END_TEST

START_TEST(without_another_queue_the_longest_is_used)
{
	unsigned int there = _i ? DOFI_MAX_DEVICE_CQS : 2;
	int fd = t_capture(STDERR_FILENO);
	const char *said;

	longest = FIRST;
	most = _i ? DOFI_MAX_DEVICE_CQS + 1 : 2;
	open_first();
	for (uint32_t i = 0; i < there; i++)
		ck_assert_uint_eq(dofi_cqs_take(&ia, FIRST - (i == 1)), i);
	ck_assert_uint_eq(ia.wait.watchers, 0);
	/*
	 * The endpoint gets the queue that lacks the fewest entries. One message is logged, and
	 * from now on completions are read as soon as they come.
	 */
	ck_assert_uint_eq(dofi_cqs_take(&ia, 300), 1);
	for (uint32_t i = 0; i < 2 * there; i++)
		ck_assert_uint_lt(dofi_cqs_take(&ia, 300), there);
	ck_assert_uint_eq(opened, there);
	ck_assert_uint_eq(ia.wait.watchers, 1);
	said = t_captured(fd);
	ck_assert_ptr_nonnull(strstr(said, "completion queues are full"));
	ck_assert_ptr_null(strchr(strchr(said, '\n') + 1, '\n'));
}
END_TEST

/* For the administrator: that there are several, and what to do when there are no more. */
START_TEST(further_queues_are_told)
{
	int fd = t_capture(STDERR_FILENO);
	const char *said;

	dofi_log_set_level("info");
	strcpy(ia.name, "ofa0");
	most = 2;
	open_first();
	ck_assert_uint_eq(dofi_cqs_take(&ia, FIRST), 0);
	ck_assert_uint_eq(dofi_cqs_take(&ia, 300), 1);
	said = t_captured(fd);
	ck_assert_ptr_nonnull(strstr(said, "IA ofa0: completion queue 2, of 32768 entries"));
	ck_assert_ptr_null(strstr(said, "full"));
	ck_assert_uint_eq(dofi_cqs_take(&ia, 2 * FIRST), 1);
	said = t_captured(fd);
	ck_assert_ptr_nonnull(strstr(said, "IA ofa0: its 2 completion queues are full"));
	ck_assert_ptr_null(strstr(said, "completion queue 3"));
}
END_TEST

/* verbs has a list of descriptors, too, but libfabric reserves entries of its queues. */
START_TEST(a_queue_of_a_device_is_not_shared_without_room)
{
	has_lists = true;
	ia.quirks = DOFI_QUIRK_QUEUE_PAIRS;
	ck_assert_int_eq(dofi_cqs_open(&ia), 0);
	ck_assert_int_eq(ia.cq_wait, FI_WAIT_POLLFD);
	ck_assert(!ia.cqs.shared);
	for (int i = 0; i < 64; i++)
		ck_assert_uint_eq(dofi_cqs_take(&ia, FIRST / 64), 0);
	ck_assert_uint_eq(dofi_cqs_take(&ia, FIRST / 64), 1);
	ck_assert_uint_eq(ia.cqs.list[1].size, 2 * FIRST);
	ck_assert_int_eq(waits[1], FI_WAIT_POLLFD);
}
END_TEST

/* --- a fabric over sockets --- */

#define FEW   8u   /* connections of the list */
#define ALONE 384u /* of the second queue while it is the only shared one */
#define EACH  64u  /* of every other */

static void open_list(void)
{
	has_lists = true;
	ck_assert_int_eq(dofi_cqs_open(&ia), 0);
	ck_assert_int_eq(ia.cq_wait, FI_WAIT_POLLFD);
	ck_assert(ia.cqs.shared);
}

static void take(unsigned int number, uint32_t expected)
{
	for (unsigned int i = 0; i < number; i++)
		ck_assert_uint_eq(dofi_cqs_take(&ia, 0), expected);
}

START_TEST(few_connections_share_the_list_and_later_ones_other_queues)
{
	open_list();
	take(FEW, 0);
	ck_assert_uint_eq(opened, 1);
	take(ALONE, 1);
	ia.cqs.list[1].due = false; /* it was read, and was not watched */
	take(EACH, 2);
	ck_assert(ia.cqs.list[1].due);
	take(EACH, 3);
	ck_assert_uint_eq(opened, 4);
	for (unsigned int i = 1; i < opened; i++)
		ck_assert_int_eq(waits[i], FI_WAIT_FD);
	/* What connections gave back is used first. */
	dofi_cqs_give(&ia, 2, 0);
	dofi_cqs_give(&ia, 0, 0);
	take(1, 0);
	take(1, 2);
	take(1, 4);
	dofi_cqs_close(&ia);
	ck_assert_uint_eq(closed, 5);
	ck_assert(!ia.cqs.shared);
}
END_TEST

START_TEST(there_are_not_more_queues_than_can_be_watched)
{
	open_list();
	take(FEW, 0);
	take(ALONE, 1);
	for (uint32_t i = 2; i < DOFI_MAX_CQS; i++)
		take(EACH, i);
	for (unsigned int i = 0; i < 2 * DOFI_MAX_CQS; i++)
		ck_assert_uint_gt(dofi_cqs_take(&ia, 0), 1);
	ck_assert_uint_eq(opened, DOFI_MAX_CQS);
}
END_TEST

START_TEST(without_a_shared_queue_the_list_serves_all)
{
	open_list();
	most = _i == 0 ? 1 : most;
	no_fds = _i == 1;
	has_fds = _i != 2;
	take(2 * FEW, 0);
	ck_assert_uint_eq(ia.cqs.n, 1);
	ck_assert_uint_eq(opened, 1);
}
END_TEST

START_TEST(without_another_shared_queue_the_emptiest_serves_all)
{
	open_list();
	take(FEW, 0);
	take(ALONE, 1);
	take(1, 2);
	if (_i == 0)
		most = 3;
	no_fds = _i == 1;
	has_fds = _i != 2;
	take(ALONE - 1, 2);
	take(1, 1);
	take(1, 2);
	ck_assert_uint_eq(opened, 3);
}
END_TEST

/* The process has no descriptor left: it works, and polls all connections by the list. */
START_TEST(without_an_epoll_set_the_list_serves_all)
{
	struct rlimit limit, low;
	int fd = t_capture(STDERR_FILENO), next = dup(STDERR_FILENO);

	close(next);
	dofi_log_set_level("info");
	has_lists = true;
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = (rlim_t)next;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
	ck_assert_int_eq(dofi_cqs_open(&ia), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert(!ia.cqs.shared);
	take(2 * FEW, 0);
	ck_assert_uint_eq(opened, 1);
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "no epoll set"));
	dofi_cqs_close(&ia);
	ck_assert_uint_eq(closed, 1);
}
END_TEST

/* The counts of a queue that was closed do not belong to the next one in its place. */
START_TEST(an_opened_queue_has_no_users)
{
	ia.cqs.list[0] = (struct dofi_cq){.used = 7, .users = 7, .due = true};
	open_first();
	ck_assert_uint_eq(ia.cqs.list[0].used, 0);
	ck_assert_uint_eq(ia.cqs.list[0].users, 0);
	ck_assert(!ia.cqs.list[0].due);
	ck_assert_ptr_eq(ia.cqs.list[0].fid, &queues[0]);
	ck_assert_uint_eq(ia.cqs.list[0].size, FIRST);
}
END_TEST

START_TEST(no_queue_at_all_is_an_error)
{
	most = 0;
	ck_assert_int_eq(dofi_cqs_open(&ia), -FI_EINVAL);
	dofi_cqs_close(&ia);
	ck_assert_uint_eq(closed, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cqs");
	TCase *tc = tcase_create("cqs");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, one_queue_is_enough_for_a_few_endpoints);
	tcase_add_test(tc, fabrics_without_device_queues_need_one_queue);
	tcase_add_loop_test(tc, the_best_wait_object_of_the_fabric, 0, 10);
	tcase_add_test(tc, a_fabric_without_memory_is_asked_for_shorter_queues);
	tcase_add_loop_test(tc, a_fabric_is_asked_for_each_wait_object, 0, 2);
	tcase_add_test(tc, the_shortest_queue_that_is_used);
	tcase_add_test(tc, a_queue_that_takes_a_whole_mebibyte);
	tcase_add_test(tc, a_queue_shorter_than_the_endpoint_needs_is_not_opened);
	tcase_add_test(tc, a_failed_open_that_changes_the_attributes);
	tcase_add_test(tc, each_queue_is_twice_as_long_as_the_one_before);
	tcase_add_test(tc, a_device_with_short_queues_has_more_of_them);
	tcase_add_test(tc, a_large_endpoint_gets_a_queue_of_its_size);
	tcase_add_loop_test(tc, without_another_queue_the_longest_is_used, 0, 2);
	tcase_add_test(tc, further_queues_are_told);
	tcase_add_test(tc, a_queue_of_a_device_is_not_shared_without_room);
	tcase_add_test(tc, few_connections_share_the_list_and_later_ones_other_queues);
	tcase_add_test(tc, there_are_not_more_queues_than_can_be_watched);
	tcase_add_loop_test(tc, without_a_shared_queue_the_list_serves_all, 0, 3);
	tcase_add_loop_test(tc, without_another_shared_queue_the_emptiest_serves_all, 0, 3);
	tcase_add_test(tc, without_an_epoll_set_the_list_serves_all);
	tcase_add_test(tc, an_opened_queue_has_no_users);
	tcase_add_test(tc, no_queue_at_all_is_an_error);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
