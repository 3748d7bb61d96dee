/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each allocation of the provider, and each request for random bytes, fails in turn. The call
 * returns an error and leaks nothing, which LeakSanitizer checks. The next call succeeds.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "inside.h"

/* --- the allocator; --wrap redirects the provider's calls to these functions --- */

static _Atomic long until_failure; /* 0: never */
static _Atomic bool failed, was_random;

static bool refused(void)
{
	if (atomic_load(&until_failure) <= 0 || atomic_fetch_sub(&until_failure, 1) != 1)
		return false;
	failed = true;
	errno = ENOMEM;
	return true;
}

/* The nth allocation from now on (1: the next) fails. */
static void fail_at(long nth)
{
	failed = was_random = false;
	until_failure = nth;
}

/* Stops failing. Returns whether an allocation has failed since fail_at(). */
static bool fail_no_more(void)
{
	until_failure = 0;
	return failed;
}

/* Visible, because shared libraries also call these functions. */
#define STAND_IN(type, name, is_refused, params, args, refusal)           \
	type __real_##name params;                                        \
	__attribute__((visibility("default"))) type __wrap_##name params; \
	type __wrap_##name params                                         \
	{                                                                 \
		return is_refused() ? refusal : __real_##name args;       \
	}

STAND_IN(void *, malloc, refused, (size_t size), (size), NULL)
STAND_IN(void *, calloc, refused, (size_t number, size_t size), (number, size), NULL)
STAND_IN(void *, realloc, refused, (void *ptr, size_t size), (ptr, size), NULL)
STAND_IN(void *, aligned_alloc, refused, (size_t alignment, size_t size), (alignment, size), NULL)
STAND_IN(char *, strdup, refused, (const char *text), (text), NULL)
STAND_IN(FILE *, open_memstream, refused, (char **text, size_t *size), (text, size), NULL)
/* Random bytes fail where a filter of system calls forbids them. */
static bool refused_random(void)
{
	bool now = refused();

	if (now) {
		was_random = true;
		errno = EPERM;
	}
	return now;
}

STAND_IN(int, dofi_random, refused_random, (void *bytes, size_t size), (bytes, size), -EPERM)
STAND_IN(ssize_t, getrandom, refused_random, (void *bytes, size_t size, unsigned int flags),
	 (bytes, size, flags), -1)
/* Chunks of objects are allocated by mmap. */
static _Atomic bool no_chunks;

static void fail_chunks(bool on)
{
	no_chunks = on;
}

static bool refused_map(void)
{
	return no_chunks || refused();
}

STAND_IN(void *, mmap, refused_map,
	 (void *at, size_t size, int prot, int flags, int fd, off_t offset),
	 (at, size, prot, flags, fd, offset), MAP_FAILED)

/* --- the calls that may fail --- */

static struct t_ia ia;
static DAT_EVD_HANDLE evd; /* of every kind */
static DAT_CONN_QUAL qual;
static DAT_SRQ_HANDLE srq; /* DAT_HANDLE_NULL if the fabric has no SRQs */
static unsigned char mem[4096];
static DAT_EP_ATTR attr;
static DAT_SRQ_ATTR srq_attr = {.max_recv_dtos = 64, .max_recv_iov = 2};

static void setup(void)
{
	setenv("DAT_OFI_LOG", "off", 1);
	fault_use_linked_provider();
	t_ia_open(&ia);
	evd = t_evd(&ia, 256,
		    DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG |
			    DAT_EVD_RMR_BIND_FLAG);
	if (ia.provider.srq_supported)
		t_ok(dat_srq_create(ia.ia, ia.pz, &srq_attr, &srq));
	attr = t_default_attr(&ia);
	attr.max_recv_iov = srq_attr.max_recv_iov;
}

static void teardown(void)
{
	if (srq != DAT_HANDLE_NULL)
		t_ok(dat_srq_free(srq));
	t_ok(dat_evd_free(evd));
	t_ia_close_empty(&ia);
}

static DAT_RETURN make_ia(DAT_HANDLE *handle)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	return dat_ia_open(t_ia_name(), 8, &async, handle);
}

static DAT_RETURN close_ia(DAT_HANDLE handle)
{
	return dat_ia_close(handle, DAT_CLOSE_GRACEFUL_FLAG);
}

static DAT_RETURN make_pz(DAT_HANDLE *handle)
{
	return dat_pz_create(ia.ia, handle);
}

static DAT_RETURN free_pz(DAT_HANDLE handle)
{
	return dat_pz_free(handle);
}

static DAT_RETURN make_cno(DAT_HANDLE *handle)
{
	return dat_cno_create(ia.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, handle);
}

static DAT_RETURN free_cno(DAT_HANDLE handle)
{
	return dat_cno_free(handle);
}

static DAT_RETURN make_evd(DAT_HANDLE *handle)
{
	return dat_evd_create(ia.ia, 16, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, handle);
}

static DAT_RETURN free_evd(DAT_HANDLE handle)
{
	return dat_evd_free(handle);
}

static DAT_RETURN make_lmr(DAT_HANDLE *handle)
{
	return t_lmr_of(ia.ia, mem, sizeof(mem), ia.pz, DAT_MEM_PRIV_ALL_FLAG, handle);
}

static DAT_RETURN free_lmr(DAT_HANDLE handle)
{
	return dat_lmr_free(handle);
}

static DAT_RETURN make_rmr(DAT_HANDLE *handle)
{
	return dat_rmr_create(ia.pz, handle);
}

static DAT_RETURN free_rmr(DAT_HANDLE handle)
{
	return dat_rmr_free(handle);
}

static DAT_RETURN make_srq(DAT_HANDLE *handle)
{
	return dat_srq_create(ia.ia, ia.pz, &srq_attr, handle);
}

static DAT_RETURN free_srq(DAT_HANDLE handle)
{
	return dat_srq_free(handle);
}

static DAT_RETURN make_ep(DAT_HANDLE *handle)
{
	return dat_ep_create(ia.ia, ia.pz, evd, evd, evd, NULL, handle);
}

static DAT_RETURN make_ep_with_srq(DAT_HANDLE *handle)
{
	return dat_ep_create_with_srq(ia.ia, ia.pz, evd, evd, evd, srq, &attr, handle);
}

static DAT_RETURN free_ep(DAT_HANDLE handle)
{
	return dat_ep_free(handle);
}

static DAT_RETURN make_psp(DAT_HANDLE *handle)
{
	return dat_psp_create_any(ia.ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, handle);
}

static DAT_RETURN free_psp(DAT_HANDLE handle)
{
	return dat_psp_free(handle);
}

/* An RSP needs an EP of its own and a free qualifier: that of a freed PSP. */
static DAT_EP_HANDLE reserved;

static DAT_RETURN make_rsp(DAT_HANDLE *handle)
{
	return dat_rsp_create(ia.ia, qual, reserved, evd, handle);
}

static DAT_RETURN free_rsp(DAT_HANDLE handle)
{
	return dat_rsp_free(handle);
}

static DAT_RETURN resize_evd(DAT_HANDLE *handle)
{
	*handle = DAT_HANDLE_NULL;
	return dat_evd_resize(evd, 512);
}

static DAT_RETURN resize_evd_back(DAT_HANDLE handle)
{
	(void)handle;
	return dat_evd_resize(evd, 256);
}

static DAT_RETURN resize_srq(DAT_HANDLE *handle)
{
	*handle = srq;
	return dat_srq_resize(srq, 256);
}

static DAT_RETURN renew_srq(DAT_HANDLE handle)
{
	t_ok(dat_srq_free(handle));
	return dat_srq_create(ia.ia, ia.pz, &srq_attr, &srq);
}

struct call {
	const char *name;
	DAT_RETURN (*make)(DAT_HANDLE *handle);
	DAT_RETURN (*undo)(DAT_HANDLE handle);
};

static bool needs_srqs(const struct call *call)
{
	return call->make == make_srq || call->make == make_ep_with_srq || call->make == resize_srq;
}

/* Calls that allocate memory each time. */
static const struct call calls[] = {
	{"dat_ia_open", make_ia, close_ia},
	{"dat_evd_create", make_evd, free_evd},
	{"dat_srq_create", make_srq, free_srq},
	{"dat_ep_create", make_ep, free_ep},
	{"dat_ep_create_with_srq", make_ep_with_srq, free_ep},
	{"dat_evd_resize", resize_evd, resize_evd_back},
	{"dat_srq_resize", resize_srq, renew_srq},
};

/* Calls that take objects from chunks: they allocate memory once for many calls. */
static const struct call chunked[] = {
	{"dat_pz_create", make_pz, free_pz},    {"dat_cno_create", make_cno, free_cno},
	{"dat_evd_create", make_evd, free_evd}, {"dat_lmr_create", make_lmr, free_lmr},
	{"dat_rmr_create", make_rmr, free_rmr}, {"dat_psp_create_any", make_psp, free_psp},
};

#define NUMBER(array) ((int)(sizeof(array) / sizeof((array)[0])))

static void expect_refusal(const struct call *call, long nth, DAT_RETURN ret)
{
	ck_assert_msg(DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES ||
			      (was_random && DAT_GET_TYPE(ret) == DAT_PRIVILEGES_VIOLATION),
		      "%s without its allocation %ld answers %s", call->name, nth, t_words(ret));
}

/* Fails each allocation of the call in turn. The call may succeed without an optional one. */
static long fail_each(const struct call *call)
{
	long nth = 0;
	bool was_refused;

	do {
		DAT_HANDLE handle = DAT_HANDLE_NULL;
		DAT_RETURN ret;

		fail_at(++nth);
		ret = call->make(&handle);
		was_refused = fail_no_more();
		if (ret != DAT_SUCCESS) {
			ck_assert_msg(was_refused, "%s answers %s", call->name, t_words(ret));
			expect_refusal(call, nth, ret);
			ck_assert_msg(handle == DAT_HANDLE_NULL || call->make == resize_srq,
				      "%s fails and hands out a handle", call->name);
			continue;
		}
		t_ok(call->undo(handle));
	} while (was_refused);
	return nth - 1;
}

START_TEST(each_allocation_of_a_call)
{
	const struct call *call = &calls[_i];

	if (needs_srqs(call) && srq == DAT_HANDLE_NULL)
		t_skip("this fabric has no SRQs");
	ck_assert_msg(fail_each(call) > 0, "%s asks for no memory", call->name);
}
END_TEST

#define MANY 4096

/* Creates objects until the provider needs another chunk, which fails. */
START_TEST(no_chunk_for_more_objects)
{
	static DAT_HANDLE handles[MANY];
	const struct call *call = &chunked[_i];
	DAT_RETURN ret = DAT_SUCCESS;
	int made = 0;

	while (made < MANY - 1 && ret == DAT_SUCCESS) {
		fail_chunks(true);
		ret = call->make(&handles[made]);
		fail_chunks(false);
		made += ret == DAT_SUCCESS;
	}
	ck_assert_msg(ret != DAT_SUCCESS, "%s asks for no memory, %d times", call->name, made);
	expect_refusal(call, 1, ret);
	t_ok(call->make(&handles[made]));
	for (int i = 0; i <= made; i++)
		t_ok(call->undo(handles[i]));
}
END_TEST

/* A reserved service point, whose EP must not stay reserved. */
START_TEST(no_memory_for_a_reserved_service_point)
{
	const struct call call = {"dat_rsp_create", make_rsp, free_rsp};
	DAT_PSP_HANDLE psp;

	t_ok(dat_psp_create_any(ia.ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	t_ok(dat_psp_free(psp));
	t_ok(make_ep(&reserved));
	ck_assert_int_gt(fail_each(&call), 0);
	ck_assert_int_eq(t_ep_state(reserved), DAT_EP_STATE_UNCONNECTED);
	t_ok(dat_ep_free(reserved));
}
END_TEST

/* --- a connection with both ends in this process --- */

static DAT_EP_HANDLE eps[2]; /* the active one, the passive one */

struct ends {
	DAT_EVENT_NUMBER active, passive; /* the last events; 0: none */
	bool accepted;
};

/*
 * Handles an event as a consumer does. An assertion of Check would need memory, so there is none.
 */
static const char *handle_event(const DAT_EVENT *event, struct ends *ends)
{
	DAT_CR_HANDLE cr = event->event_data.cr_arrival_event_data.cr_handle;
	DAT_RETURN ret;

	if (event->event_number == DAT_CONNECTION_REQUEST_EVENT) {
		ret = dat_cr_accept(cr, eps[1], 0, NULL);
		ends->accepted = ret == DAT_SUCCESS;
		if (ends->accepted)
			return NULL;
		if (DAT_GET_TYPE(ret) != DAT_INSUFFICIENT_RESOURCES)
			return "dat_cr_accept failed otherwise";
		return t_cr_reject(cr) == DAT_SUCCESS ? NULL : "a CR can't be rejected";
	}
	if (event->event_data.connect_event_data.ep_handle == eps[0])
		ends->active = event->event_number;
	else
		ends->passive = event->event_number;
	return NULL;
}

static bool decided(const struct ends *ends)
{
	return ends->active && (ends->passive || !ends->accepted);
}

static const char *await_decision(struct ends *ends)
{
	const char *why = NULL;
	DAT_COUNT nmore;
	DAT_EVENT event;

	while (!why && !decided(ends)) {
		if (dat_evd_wait(evd, T_LIMIT_US, 1, &event, &nmore) != DAT_SUCCESS)
			return ends->active ? "the passive end waits for ever"
					    : "the active end waits for ever";
		why = handle_event(&event, ends);
	}
	return why;
}

static const char *connect_once(DAT_RETURN *ret_p, struct ends *ends)
{
	*ret_p = t_connect_data(eps[0], &ia, qual, T_LIMIT_US / 2, NULL, 0);
	return *ret_p == DAT_SUCCESS ? await_decision(ends) : NULL;
}

static void back_to_unconnected(const struct ends *ends)
{
	if (ends->active == DAT_CONNECTION_EVENT_ESTABLISHED) {
		dat_ep_disconnect(eps[0], DAT_CLOSE_ABRUPT_FLAG);
		t_wait_conn(evd, DAT_CONNECTION_EVENT_DISCONNECTED, eps[0]);
		if (ends->passive == DAT_CONNECTION_EVENT_ESTABLISHED)
			t_wait_conn(evd, DAT_CONNECTION_EVENT_DISCONNECTED, eps[1]);
	}
	for (int i = 0; i < 2; i++)
		if (t_ep_state(eps[i]) != DAT_EP_STATE_UNCONNECTED)
			t_ok(dat_ep_reset(eps[i]));
}

static void expect_end_of_both(const struct ends *ends, long nth)
{
	if (ends->active == DAT_CONNECTION_EVENT_ESTABLISHED)
		ck_assert_int_eq(ends->passive, DAT_CONNECTION_EVENT_ESTABLISHED);
	else
		ck_assert_msg(ends->passive != DAT_CONNECTION_EVENT_ESTABLISHED,
			      "allocation %ld: %s here, ESTABLISHED there", nth,
			      t_event_name(ends->active));
}

START_TEST(each_allocation_of_a_connection)
{
	DAT_PSP_HANDLE psp;
	bool was_refused;
	long nth = 0;

	t_ok(dat_psp_create_any(ia.ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	t_ok(make_ep(&eps[0]));
	t_ok(make_ep(&eps[1]));
	do {
		struct ends ends = {0};
		const char *why;
		DAT_RETURN ret;

		fail_at(++nth);
		why = connect_once(&ret, &ends);
		was_refused = fail_no_more();
		ck_assert_msg(!why, "allocation %ld: %s", nth, why);
		if (ret != DAT_SUCCESS)
			t_error(ret, DAT_INSUFFICIENT_RESOURCES);
		expect_end_of_both(&ends, nth);
		ck_assert(was_refused || ends.active == DAT_CONNECTION_EVENT_ESTABLISHED);
		back_to_unconnected(&ends);
	} while (was_refused);
	ck_assert_int_gt(nth, 3);
	t_ok(dat_psp_free(psp));
	t_ok(dat_ep_free(eps[0]));
	t_ok(dat_ep_free(eps[1]));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nomem");
	TCase *tcase = tcase_create("nomem");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, each_allocation_of_a_call, 0, NUMBER(calls));
	tcase_add_loop_test(tcase, no_chunk_for_more_objects, 0, NUMBER(chunked));
	tcase_add_test(tcase, no_memory_for_a_reserved_service_point);
	tcase_add_test(tcase, each_allocation_of_a_connection);
	return t_run(suite);
}
