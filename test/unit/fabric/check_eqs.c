/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Event queues of connected endpoints, with a fake fabric: their number, and the events read from
 * them.
 */
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <string.h>

#include "fabric/eqs.h"
#include "fabric/quirks.h"
#include "unit.h"

#define FIRST_FD 100

/* A queue of the fabric, its wait object, and the results of its next reads. */
static struct queue {
	struct fid_eq fid;
	enum fi_wait_obj wait;
	bool open;
	const ssize_t *answers; /* ends with -FI_EAGAIN */
	ssize_t readerr;
} queues[4];
static unsigned int nopened;
static int open_answer;   /* result of opening the last queue */
static unsigned int last; /* number of the last queue */
static bool has_descriptors;
static bool tells_no_fd; /* FI_GETWAIT fails */
static struct fi_ops_fabric fabric_ops;
static struct fi_ops fid_ops;
static struct fi_ops_eq eq_ops;
static struct fid_fabric fabric;
static struct dofi_eqs eqs;

static int close_it(struct fid *fid)
{
	((struct queue *)fid)->open = false;
	return 0;
}

static int control(struct fid *fid, int command, void *arg)
{
	struct queue *queue = (struct queue *)fid;

	ck_assert_int_eq(command, FI_GETWAIT);
	if (queue->wait != FI_WAIT_FD)
		return -FI_ENODATA;
	*(int *)arg = FIRST_FD + (int)(queue - queues);
	return tells_no_fd ? -FI_EIO : 0;
}

static ssize_t read_it(struct fid_eq *eq, uint32_t *event, void *buf, size_t size, uint64_t flags)
{
	struct queue *queue = (struct queue *)eq;
	ssize_t ret = queue->answers ? *queue->answers : -FI_EAGAIN;

	ck_assert_uint_eq(flags, 0);
	if (ret == -FI_EAGAIN)
		return ret;
	queue->answers++;
	ck_assert_uint_ge(size, sizeof(struct fi_eq_cm_entry));
	memset(buf, 0, sizeof(struct fi_eq_cm_entry));
	*event = FI_CONNECTED;
	return ret;
}

static ssize_t readerr(struct fid_eq *eq, struct fi_eq_err_entry *err, uint64_t flags)
{
	struct queue *queue = (struct queue *)eq;

	ck_assert_uint_eq(flags, 0);
	ck_assert_ptr_null(err->err_data); /* the fabric would store its data there */
	ck_assert_uint_eq(err->err_data_size, 0);
	if (queue->readerr > 0)
		err->err = FI_ECONNREFUSED;
	return queue->readerr;
}

static int open_it(struct fid_fabric *on, struct fi_eq_attr *attr, struct fid_eq **eq_p,
		   void *context)
{
	struct queue *queue = &queues[nopened];

	(void)on;
	(void)context;
	if (attr->wait_obj == FI_WAIT_FD && !has_descriptors)
		return -FI_ENOSYS;
	if (nopened == last && open_answer)
		return open_answer;
	*queue = (struct queue){.wait = attr->wait_obj, .open = true};
	queue->fid.fid.ops = &fid_ops;
	queue->fid.ops = &eq_ops;
	*eq_p = &queue->fid;
	nopened++;
	return 0;
}

static void setup(void)
{
	has_descriptors = true;
	fabric_ops.eq_open = open_it;
	fid_ops = (struct fi_ops){.close = close_it, .control = control};
	eq_ops = (struct fi_ops_eq){.read = read_it, .readerr = readerr};
	fabric.ops = &fabric_ops;
}

static void open_with(uint64_t quirks)
{
	ck_assert_int_eq(dofi_eqs_open(&eqs, "test", &fabric, quirks), 0);
}

START_TEST(one_queue_for_all_endpoints)
{
	struct fid *fids[DOFI_MAX_EQS];

	open_with(0);
	ck_assert_uint_eq(nopened, 1);
	ck_assert_ptr_eq(dofi_eqs_of_endpoints(&eqs), dofi_eqs_of_listener(&eqs));
	ck_assert_int_eq(dofi_eqs_fd(&eqs), FIRST_FD);
	ck_assert_int_eq(dofi_eqs_put_fids(&eqs, fids), 1);
	ck_assert(!eqs.silent);
	dofi_eqs_close(&eqs);
	ck_assert(!queues[0].open);
}
END_TEST

START_TEST(the_listener_has_a_queue_of_its_own)
{
	struct fid *fids[DOFI_MAX_EQS];

	open_with(DOFI_QUIRK_DATA_ON_EQ);
	ck_assert_uint_eq(nopened, 2);
	ck_assert_ptr_eq(dofi_eqs_of_endpoints(&eqs), &queues[0].fid);
	ck_assert_int_eq(queues[0].wait, FI_WAIT_NONE);
	ck_assert_ptr_eq(dofi_eqs_of_listener(&eqs), &queues[1].fid);
	ck_assert_int_eq(dofi_eqs_fd(&eqs), FIRST_FD + 1);
	ck_assert_int_eq(dofi_eqs_put_fids(&eqs, fids), 1);
	ck_assert_ptr_eq(fids[0], &queues[1].fid.fid);
	ck_assert(eqs.silent);
	dofi_eqs_close(&eqs);
	ck_assert(!queues[0].open && !queues[1].open);
}
END_TEST

/* No descriptor, because fi_trywait does not work or the fabric has none. */
START_TEST(queues_without_a_descriptor_are_polled)
{
	struct fid *fids[DOFI_MAX_EQS];

	memset(&eqs, 0xff, sizeof(eqs));
	has_descriptors = _i;
	open_with(_i ? DOFI_QUIRK_MUTE_QUEUE : 0);
	ck_assert_uint_eq(nopened, 1);
	ck_assert_int_eq(queues[0].wait, FI_WAIT_NONE);
	ck_assert_int_eq(dofi_eqs_fd(&eqs), -1);
	ck_assert_int_eq(dofi_eqs_put_fids(&eqs, fids), 0);
}
END_TEST

START_TEST(a_queue_that_does_not_tell_its_descriptor_is_polled)
{
	tells_no_fd = true;
	open_with(0);
	ck_assert_int_eq(dofi_eqs_fd(&eqs), -1);
}
END_TEST

/* A program may have closed its standard input. */
START_TEST(descriptor_0_is_one_like_others)
{
	struct fid *fids[DOFI_MAX_EQS];

	open_with(0);
	eqs.fd = 0;
	ck_assert_int_eq(dofi_eqs_put_fids(&eqs, fids), 1);
}
END_TEST

/* In an IA whose transport has no connected endpoints. */
START_TEST(no_queue_without_connections)
{
	struct fid *fids[DOFI_MAX_EQS];
	struct dofi_eq_event event;

	ck_assert_int_eq(dofi_eqs_fd(&eqs), -1);
	ck_assert_int_eq(dofi_eqs_put_fids(&eqs, fids), 0);
	ck_assert(!dofi_eqs_read(&eqs, &event));
	dofi_eqs_close(&eqs);
}
END_TEST

START_TEST(a_failure_leaves_nothing)
{
	last = (unsigned int)_i;
	open_answer = -FI_ENOMEM;
	ck_assert_int_eq(dofi_eqs_open(&eqs, "test", &fabric, DOFI_QUIRK_DATA_ON_EQ), -FI_ENOMEM);
	ck_assert(!queues[0].open && !queues[1].open);
	ck_assert_int_eq(dofi_eqs_fd(&eqs), -1);
}
END_TEST

START_TEST(events_of_both_are_read)
{
	static const ssize_t of_endpoints[] = {sizeof(struct fi_eq_cm_entry), -FI_EAVAIL,
					       -FI_EAGAIN};
	static const ssize_t of_listener[] = {sizeof(struct fi_eq_cm_entry) + 8, -FI_EAGAIN};
	struct dofi_eq_event event;

	open_with(DOFI_QUIRK_DATA_ON_EQ);
	queues[0].answers = of_endpoints;
	queues[0].readerr = 1;
	queues[1].answers = of_listener;
	memset(&event, 0xff, sizeof(event));
	ck_assert(dofi_eqs_read(&eqs, &event));
	ck_assert(!event.is_error && event.number == FI_CONNECTED && !event.data_size);
	ck_assert(dofi_eqs_read(&eqs, &event));
	ck_assert(event.is_error && event.error.err == FI_ECONNREFUSED);
	ck_assert(dofi_eqs_read(&eqs, &event));
	ck_assert(!event.is_error);
	ck_assert_uint_eq(event.data_size, 8);
	ck_assert(!dofi_eqs_read(&eqs, &event));
}
END_TEST

/* If one queue fails, or its error has gone, events of the other queue are still read. */
START_TEST(a_queue_that_fails)
{
	static const ssize_t fails[] = {-FI_EIO, -FI_EAVAIL, -FI_EAGAIN};
	static const ssize_t of_listener[] = {sizeof(struct fi_eq_cm_entry),
					      sizeof(struct fi_eq_cm_entry), -FI_EAGAIN};
	struct dofi_eq_event event;

	open_with(DOFI_QUIRK_DATA_ON_EQ);
	queues[0].answers = fails;
	queues[0].readerr = -FI_EAGAIN;
	queues[1].answers = of_listener;
	ck_assert(dofi_eqs_read(&eqs, &event));
	ck_assert(eqs.fails[0] && !eqs.fails[1]);
	ck_assert(dofi_eqs_read(&eqs, &event));
	ck_assert(!dofi_eqs_read(&eqs, &event));
	ck_assert(!eqs.fails[0]);
}
END_TEST

/* A connection may hang then, so the user is told; once as long as it goes on. */
START_TEST(a_failure_is_reported_once)
{
	static const ssize_t fails[] = {-FI_EIO, -FI_EIO, -FI_EAGAIN};
	static const ssize_t no_event[] = {4, -FI_EAGAIN};
	int fd = t_capture(STDERR_FILENO);
	struct dofi_eq_event event;
	const char *said;

	open_with(0);
	queues[0].answers = no_event;
	ck_assert(!dofi_eqs_read(&eqs, &event));
	ck_assert(!dofi_eqs_read(&eqs, &event));
	ck_assert_str_eq(t_captured(fd), "");
	queues[0].answers = fails;
	ck_assert(!dofi_eqs_read(&eqs, &event));
	ck_assert(!dofi_eqs_read(&eqs, &event));
	said = t_captured(fd);
	ck_assert_ptr_nonnull(strstr(said, "the fabric can't connect"));
	ck_assert_ptr_null(strchr(strchr(said, '\n') + 1, '\n'));
	ck_assert(!dofi_eqs_read(&eqs, &event));
	queues[0].answers = fails;
	ck_assert(!dofi_eqs_read(&eqs, &event));
	ck_assert_ptr_nonnull(strchr(strchr(t_captured(fd), '\n') + 1, '\n'));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("eqs");
	TCase *tc = tcase_create("eqs");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, one_queue_for_all_endpoints);
	tcase_add_test(tc, the_listener_has_a_queue_of_its_own);
	tcase_add_loop_test(tc, queues_without_a_descriptor_are_polled, 0, 2);
	tcase_add_test(tc, a_queue_that_does_not_tell_its_descriptor_is_polled);
	tcase_add_test(tc, descriptor_0_is_one_like_others);
	tcase_add_test(tc, no_queue_without_connections);
	tcase_add_loop_test(tc, a_failure_leaves_nothing, 0, 2);
	tcase_add_test(tc, events_of_both_are_read);
	tcase_add_test(tc, a_queue_that_fails);
	tcase_add_test(tc, a_failure_is_reported_once);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
