/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The event queue of the shared endpoint: which fabrics get one, and the handling of errors that
 * belong to no operation.
 */
#include "unit.h"

#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/base/log.h"
#include "../../../prov/ofi/fabric/quirks.h"
#include "../../../prov/ofi/transport/async_errors.h"

#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <string.h>

static struct dofi_ia ia;
static struct dofi_async_errors events;

/* --- the fabric --- */

#define MOST 40

static struct {
	int open_answer, bind_answer, opened, closed;
	/* result of fi_eq_write; error of the first read of the completion queue */
	int write_answer, first_read_err;
	int errs[MOST]; /* entries of the queue: an error, or 0 for another event */
	int prov_errs[MOST];
	int first, last;
	bool nameless; /* errors have no number */
	bool no_entry; /* there is an error, and no entry of it */
	ssize_t no_entry_answer;
} fabric;

static struct fid_eq queue;
static struct fi_ops_eq eq_ops;

static int close_eq(struct fid *fid)
{
	ck_assert_ptr_eq(fid, &queue.fid);
	ck_assert_ptr_eq(queue.ops, &eq_ops); /* its own functions again */
	fabric.closed++;
	return 0;
}

static ssize_t read_eq(struct fid_eq *eq, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	(void)buf;
	ck_assert_ptr_eq(eq, events.eq);
	ck_assert_uint_eq(flags, 0);
	ck_assert_uint_ge(len, sizeof(struct fi_eq_entry));
	if (fabric.first == fabric.last)
		return -FI_EAGAIN;
	if (fabric.errs[fabric.first])
		return -FI_EAVAIL;
	fabric.first++;
	*event = FI_NOTIFY;
	return sizeof(struct fi_eq_entry);
}

static ssize_t read_error(struct fid_eq *eq, struct fi_eq_err_entry *entry, uint64_t flags)
{
	ck_assert_ptr_eq(eq, events.eq);
	ck_assert_uint_eq(flags, 0);
	if (fabric.no_entry)
		return fabric.no_entry_answer;
	if (fabric.nameless) {
		fabric.first++;
		return 1; /* any positive number is a success */
	}
	if (fabric.first == fabric.last)
		return -FI_EAGAIN;
	entry->err = fabric.errs[fabric.first];
	entry->prov_errno = fabric.prov_errs[fabric.first];
	fabric.first++;
	return sizeof(*entry);
}

static ssize_t write_eq(struct fid_eq *eq, uint32_t event, const void *buf, size_t len,
			uint64_t flags)
{
	const struct fi_eq_err_entry *err = buf;

	ck_assert_ptr_eq(eq, events.eq);
	ck_assert_uint_eq(flags, 0);
	ck_assert_uint_eq(event, FI_NOTIFY);
	if (fabric.write_answer)
		return fabric.write_answer;
	fabric.errs[fabric.last] = err->err;
	fabric.prov_errs[fabric.last++] = err->prov_errno;
	return (ssize_t)len;
}

static struct fi_ops eq_fid_ops = {.size = sizeof(eq_fid_ops), .close = close_eq};
static struct fi_ops_eq eq_ops = {.size = sizeof(eq_ops),
				  .read = read_eq,
				  .readerr = read_error,
				  .write = write_eq};
static struct fid_eq queue = {.fid.ops = &eq_fid_ops, .ops = &eq_ops};

static int open_eq(struct fid_fabric *of, struct fi_eq_attr *attr, struct fid_eq **eq_p,
		   void *context)
{
	ck_assert_ptr_eq(of, ia.fabric);
	ck_assert_ptr_eq(context, &events);
	queue.fid.context = context;
	ck_assert_int_eq(attr->wait_obj, FI_WAIT_NONE); /* no thread sleeps on it */
	if (fabric.open_answer)
		return fabric.open_answer;
	fabric.opened++;
	*eq_p = &queue;
	return 0;
}

static int bind_it(struct fid *fid, struct fid *to, uint64_t flags)
{
	ck_assert_ptr_eq(fid, &ia.shared_ep->fid);
	ck_assert_uint_eq(flags, 0);
	ck_assert_ptr_eq(to, &queue.fid);
	return fabric.bind_answer;
}

static struct fi_ops_fabric fabric_ops = {.size = sizeof(fabric_ops), .eq_open = open_eq};
static struct fid_fabric the_fabric = {.ops = &fabric_ops};
static struct fi_ops ep_fid_ops = {.size = sizeof(ep_fid_ops), .bind = bind_it};
static struct fid_ep endpoint = {.fid.ops = &ep_fid_ops};

/* Writes an error to the event queue as efa does. */
static ssize_t tell_on_eq(int err, int prov_err)
{
	const struct fi_eq_err_entry entry = {.err = err, .prov_errno = prov_err};

	return fi_eq_write(&queue, FI_NOTIFY, &entry, sizeof(entry), 0);
}

static ssize_t read_cq(struct fid_cq *cq, void *buf, size_t count)
{
	ck_assert_ptr_eq(cq, ia.cq);
	ck_assert_ptr_null(buf);
	ck_assert_uint_eq(count, 0);
	if (fabric.first_read_err)
		ck_assert_int_eq(tell_on_eq(fabric.first_read_err, 4112),
				 sizeof(struct fi_eq_err_entry));
	return -FI_EAGAIN;
}

static struct fi_ops_cq cq_ops = {.size = sizeof(cq_ops), .read = read_cq};
static struct fid_cq completions = {.ops = &cq_ops};

/* --- functions that async_errors.c calls --- */

static int told;

void __wrap_dofi_evd_async(struct dofi_ia *of, DAT_EVENT_NUMBER number, void *handle,
			   uint32_t reason);
DAT_IA_HANDLE __wrap_dofi_obj_ia_handle(const struct dofi_obj *obj);

void __wrap_dofi_evd_async(struct dofi_ia *of, DAT_EVENT_NUMBER number, void *handle,
			   uint32_t reason)
{
	ck_assert_uint_eq(reason, 0);
	ck_assert_ptr_eq(of, &ia);
	ck_assert_int_eq(number, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	ck_assert_ptr_eq(handle, &ia);
	told++;
}

DAT_IA_HANDLE __wrap_dofi_obj_ia_handle(const struct dofi_obj *obj)
{
	ck_assert_ptr_eq(obj, &ia.obj);
	return &ia;
}

/* --- */

static void setup(void)
{
	strcpy(ia.name, "ofa0");
	ia.fabric = &the_fabric;
	ia.shared_ep = &endpoint;
	ia.cq = &completions;
	dofi_lock(&ia.engine.lock);
}

static void have(int err, int prov_err)
{
	ck_assert_int_lt(fabric.last, MOST);
	fabric.errs[fabric.last] = err;
	fabric.prov_errs[fabric.last++] = prov_err;
}

static void open_it(void)
{
	ck_assert_int_eq(dofi_async_errors_open(&ia, &events), 0);
	ck_assert_ptr_eq(events.eq, &queue);
}

static void ck_none(int closed)
{
	ck_assert_int_eq(dofi_async_errors_open(&ia, &events), 0);
	ck_assert_ptr_null(events.eq);
	ck_assert_int_eq(fabric.closed, closed);
	ck_assert_int_eq(dofi_async_errors_poll(&ia, &events), 0);
	dofi_async_errors_close(&ia, &events);
	ck_assert_int_eq(fabric.closed, closed);
}

static const int refusals[] = {-FI_ENOSYS, -FI_EOPNOTSUPP, -FI_EINVAL};

START_TEST(a_fabric_without_event_queues)
{
	fabric.open_answer = refusals[_i];
	ck_none(0);
}
END_TEST

START_TEST(an_endpoint_that_refuses_an_event_queue)
{
	fabric.bind_answer = refusals[_i];
	ck_none(1);
}
END_TEST

START_TEST(no_event_queue_if_it_costs_time_and_reports_nothing)
{
	ia.quirks = DOFI_QUIRK_IDLE_EQ;
	ck_none(0);
	ck_assert_int_eq(fabric.opened, 0);
}
END_TEST

START_TEST(lack_of_memory_is_an_asynchronous_event)
{
	fabric.open_answer = -FI_ENOMEM;
	ck_assert_int_eq(dofi_async_errors_open(&ia, &events), -FI_ENOMEM);
	fabric.open_answer = 0;
	fabric.bind_answer = -FI_ENOMEM;
	ck_assert_int_eq(dofi_async_errors_open(&ia, &events), -FI_ENOMEM);
	ck_assert_int_eq(fabric.closed, 1);
	ck_assert_ptr_null(events.eq);
}
END_TEST

START_TEST(only_the_first_error_of_a_kind_is_reported)
{
	int fd = t_capture(STDERR_FILENO);
	const char *text;

	open_it();
	for (int i = 0; i < 3; i++)
		have(-FI_EINVAL, 4107); /* some providers report the negative number */
	have(FI_ENOBUFS, 4108);
	ck_assert_int_eq(dofi_async_errors_poll(&ia, &events), 4);
	dofi_async_errors_close(&ia, &events);
	text = t_captured(fd);
	ck_assert_int_eq(told, 2);
	ck_assert_ptr_nonnull(strstr(text, "ofa0"));
	ck_assert_ptr_nonnull(strstr(text, "4107"));
	ck_assert_ptr_null(strstr(strstr(text, "4107") + 1, "4107")); /* once */
	ck_assert_ptr_nonnull(strstr(text, "4108"));
	ck_assert_int_eq(fabric.closed, 1);
}
END_TEST

START_TEST(an_error_without_a_number)
{
	open_it();
	have(FI_EIO, 1);
	fabric.nameless = true;
	ck_assert_int_eq(dofi_async_errors_poll(&ia, &events), 1);
	ck_assert_int_eq(told, 1);
	ck_assert_int_eq(events.told_err, FI_EOTHER);
	dofi_async_errors_close(&ia, &events);
}
END_TEST

START_TEST(an_error_that_cannot_be_read)
{
	open_it();
	have(FI_EIO, 1);
	fabric.no_entry = true;
	fabric.no_entry_answer = _i ? 0 : -FI_EAGAIN;
	ck_assert_int_eq(dofi_async_errors_poll(&ia, &events), 0);
	ck_assert_int_eq(told, 0);
	dofi_async_errors_close(&ia, &events);
}
END_TEST

/* The control channel ends the connections of the peer. */
START_TEST(a_peer_that_died_is_no_error_of_the_provider)
{
	open_it();
	have(FI_ECONNABORTED, 4126);
	have(FI_EHOSTUNREACH, 4);
	ck_assert_int_eq(dofi_async_errors_poll(&ia, &events), 2);
	ck_assert_int_eq(told, 0);
	dofi_async_errors_close(&ia, &events);
}
END_TEST

START_TEST(other_events_are_skipped)
{
	open_it();
	have(0, 0);
	have(FI_EIO, 1);
	have(0, 0);
	ck_assert_int_eq(dofi_async_errors_poll(&ia, &events), 3);
	ck_assert_int_eq(told, 1);
	dofi_async_errors_close(&ia, &events);
}
END_TEST

START_TEST(one_round_reads_a_limited_number_of_events)
{
	int n;

	open_it();
	for (int i = 0; i < MOST; i++)
		have(FI_EIO, 1);
	n = dofi_async_errors_poll(&ia, &events);
	ck_assert_int_gt(n, 0);
	ck_assert_int_lt(n, MOST);
	while (dofi_async_errors_poll(&ia, &events))
		;
	ck_assert_int_eq(fabric.first, fabric.last);
	ck_assert_int_eq(told, 1);
	dofi_async_errors_close(&ia, &events);
}
END_TEST

/* The first one was told. */
START_TEST(the_errors_of_an_endpoint_are_counted)
{
	char text[64];
	int fd = t_capture(STDERR_FILENO);

	dofi_log_set_level("info");
	open_it();
	for (int i = 0; i < _i; i++)
		have(FI_EIO, 1);
	dofi_async_errors_poll(&ia, &events);
	dofi_async_errors_close(&ia, &events);
	snprintf(text, sizeof(text), "the fabric reported %d errors that belong", _i);
	ck_assert_int_eq(strstr(t_captured(fd), text) != NULL, _i > 1);
}
END_TEST

/* --- a provider that ends the process when it can't write --- */

/* It is known, and the rounds do not report it again. */
START_TEST(an_error_of_the_first_read_that_cannot_be_written)
{
	ia.quirks = DOFI_QUIRK_FATAL_EVENT;
	open_it();
	fabric.first_read_err = FI_ENOMEM;
	fabric.write_answer = -FI_ENOMEM;
	fabric.no_entry = true;
	fabric.no_entry_answer = _i ? 0 : -FI_EAGAIN;
	ck_assert_int_eq(dofi_async_errors_begin(&ia, &events), -FI_ENOMEM);
	ck_assert_int_eq(dofi_async_errors_poll(&ia, &events), 0);
	ck_assert_int_eq(told, 0);
	dofi_async_errors_close(&ia, &events);
}
END_TEST

/* Its table of functions is shorter, and what lies behind it is none of them. */
START_TEST(the_event_queue_of_another_release)
{
	struct fi_ops_eq shorter = eq_ops;

	shorter.size = offsetof(struct fi_ops_eq, strerror);
	shorter.strerror = (__typeof__(shorter.strerror))(void *)exit; /* not a function of it */
	queue.ops = &shorter;
	ia.quirks = DOFI_QUIRK_FATAL_EVENT;
	open_it();
	ck_assert_ptr_eq(queue.ops, &events.ops);
	ck_assert_ptr_eq((void *)events.ops.read, (void *)eq_ops.read);
	ck_assert_ptr_eq((void *)events.ops.readerr, (void *)eq_ops.readerr);
	ck_assert_ptr_null((void *)events.ops.strerror);
	queue.ops = &eq_ops;
}
END_TEST

START_TEST(a_failed_event_write_is_reported_and_succeeds)
{
	ia.quirks = DOFI_QUIRK_FATAL_EVENT;
	open_it();
	fabric.write_answer = -FI_ENOMEM;
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(tell_on_eq(-FI_ENOMEM, 4112), sizeof(struct fi_eq_err_entry));
	ck_assert_int_eq(dofi_async_errors_poll(&ia, &events), 1);
	ck_assert_int_eq(told, 1);
	ck_assert_int_eq(events.told_err, FI_ENOMEM);
	ck_assert_int_eq(events.told_prov_err, 4112);
	ck_assert_int_eq(dofi_async_errors_poll(&ia, &events), 0);
	fabric.write_answer = 0;
	ck_assert_int_eq(tell_on_eq(FI_EIO, 1), sizeof(struct fi_eq_err_entry));
	ck_assert_int_eq(dofi_async_errors_poll(&ia, &events), 1);
	ck_assert_int_eq(told, 2);
	dofi_async_errors_close(&ia, &events);
	ck_assert_ptr_eq(queue.ops, &eq_ops);
}
END_TEST

START_TEST(other_results_of_the_event_write_remain)
{
	ia.quirks = DOFI_QUIRK_FATAL_EVENT;
	open_it();
	fabric.write_answer = -FI_ENOSYS;
	ck_assert_int_eq(tell_on_eq(FI_EIO, 1), -FI_ENOSYS);
	dofi_async_errors_close(&ia, &events);
	fabric.write_answer = -FI_ENOMEM;
	ia.quirks = 0;
	open_it();
	ck_assert_int_eq(tell_on_eq(FI_EIO, 1), -FI_ENOMEM);
	ck_assert_int_eq(dofi_async_errors_begin(&ia, &events), 0);
	dofi_async_errors_close(&ia, &events);
}
END_TEST

/* With and without memory for the event itself. */
START_TEST(the_first_read_reports_what_is_missing)
{
	ia.quirks = DOFI_QUIRK_FATAL_EVENT;
	open_it();
	ck_assert_int_eq(dofi_async_errors_begin(&ia, &events), 0);
	fabric.first_read_err = -FI_ENOMEM;
	fabric.write_answer = _i ? -FI_ENOMEM : 0;
	ck_assert_int_eq(dofi_async_errors_begin(&ia, &events), -FI_ENOMEM);
	ck_assert_int_eq(told, 0); /* dat_ia_open returns the error */
	dofi_async_errors_close(&ia, &events);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("async_errors");
	TCase *tc = tcase_create("async_errors");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, a_fabric_without_event_queues, 0, 3);
	tcase_add_loop_test(tc, an_endpoint_that_refuses_an_event_queue, 0, 3);
	tcase_add_test(tc, no_event_queue_if_it_costs_time_and_reports_nothing);
	tcase_add_test(tc, lack_of_memory_is_an_asynchronous_event);
	tcase_add_test(tc, only_the_first_error_of_a_kind_is_reported);
	tcase_add_test(tc, a_peer_that_died_is_no_error_of_the_provider);
	tcase_add_test(tc, other_events_are_skipped);
	tcase_add_test(tc, an_error_without_a_number);
	tcase_add_loop_test(tc, an_error_that_cannot_be_read, 0, 2);
	tcase_add_loop_test(tc, the_errors_of_an_endpoint_are_counted, 0, 4);
	tcase_add_loop_test(tc, an_error_of_the_first_read_that_cannot_be_written, 0, 2);
	tcase_add_test(tc, the_event_queue_of_another_release);
	tcase_add_test(tc, one_round_reads_a_limited_number_of_events);
	tcase_add_test(tc, a_failed_event_write_is_reported_and_succeeds);
	tcase_add_test(tc, other_results_of_the_event_write_remain);
	tcase_add_loop_test(tc, the_first_read_reports_what_is_missing, 0, 2);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
