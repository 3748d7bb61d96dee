/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The provider allocates nothing between a post and its completion (DTO-004), and makes no system
 * call in a post. The return address tells whether a call comes from the provider, the fabric or
 * the test.
 */
#include <dlfcn.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fault.h"
#include "../lib/t_hooks.h"

#define OPERATIONS 100000u
#define BATCH      25u

/* --- system calls that our library imports, counted while a thread posts --- */

static _Thread_local bool posting;
static _Atomic unsigned long calls;

#if T_HOOKS
#define STAND_BEFORE(type, name, params, args)                                     \
	T_STAND_IN type name params                                                \
	{                                                                          \
		static type(*next) params;                                         \
                                                                                   \
		if (!next)                                                         \
			next = (type(*) params)dlsym(RTLD_NEXT, #name);            \
		if (posting && t_origin_of(__builtin_return_address(0)) == T_OURS) \
			calls++;                                                   \
		return next args;                                                  \
	}

STAND_BEFORE(ssize_t, read, (int fd, void *buf, size_t size), (fd, buf, size))
STAND_BEFORE(ssize_t, write, (int fd, const void *buf, size_t size), (fd, buf, size))
STAND_BEFORE(ssize_t, recv, (int fd, void *buf, size_t size, int flags), (fd, buf, size, flags))
STAND_BEFORE(ssize_t, send, (int fd, const void *buf, size_t size, int flags),
	     (fd, buf, size, flags))
STAND_BEFORE(int, poll, (struct pollfd * fds, nfds_t n, int ms), (fds, n, ms))
STAND_BEFORE(int, ppoll,
	     (struct pollfd * fds, nfds_t n, const struct timespec *time, const sigset_t *mask),
	     (fds, n, time, mask))
STAND_BEFORE(int, epoll_wait, (int epfd, struct epoll_event *events, int n, int ms),
	     (epfd, events, n, ms))
STAND_BEFORE(int, epoll_ctl, (int epfd, int op, int fd, struct epoll_event *event),
	     (epfd, op, fd, event))
STAND_BEFORE(int, sched_yield, (void), ())
STAND_BEFORE(int, msync, (void *mem, size_t size, int flags), (mem, size, flags))
STAND_BEFORE(int, close, (int fd), (fd))
/*
 * System calls have at most six arguments. Waiting for a lock that another thread holds does not
 * count.
 */
T_STAND_IN long syscall(long number, ...)
{
	static long (*next)(long number, ...);
	va_list list;
	long args[6];

	if (!next)
		next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	if (posting && number != SYS_futex && t_origin_of(__builtin_return_address(0)) == T_OURS)
		calls++;
	return next(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}
#endif

/* --- traffic --- */

static struct t_pair pair;

static void post(DAT_RETURN (*call)(size_t), size_t i)
{
	DAT_RETURN ret;

	posting = true;
	ret = call(i);
	posting = false;
	t_ok(ret);
}

static DAT_RETURN post_recv(size_t i)
{
	return t_recv(&pair.end[1], 64 * i, 64, i, DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN post_send(size_t i)
{
	return t_send(&pair.end[0], 64 * i, 64, i, DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN post_write(size_t i)
{
	return t_write(&pair.end[0], 64 * i, 64, i, t_remote_seg(&pair.end[1].buf, 64 * i, 64),
		       DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN post_read(size_t i)
{
	return t_read(&pair.end[0], 64 * i, 64, i, t_remote_seg(&pair.end[1].buf, 64 * i, 64),
		      DAT_COMPLETION_DEFAULT_FLAG);
}

static void take(const struct t_end *end, DAT_EVD_HANDLE evd, size_t i)
{
	t_wait_dto(evd, end->ep, i, DAT_DTO_SUCCESS, 64);
}

/* Four operations of each kind, under way at the same time. */
static void batch(void)
{
	for (size_t i = 0; i < BATCH; i++)
		post(post_recv, i);
	for (size_t i = 0; i < BATCH; i++) {
		post(post_send, i);
		post(post_write, i);
		post(post_read, i);
	}
	for (size_t i = 0; i < BATCH; i++) {
		take(&pair.end[1], pair.end[1].recv_evd, i);
		for (int n = 0; n < 3; n++)
			take(&pair.end[0], pair.end[0].request_evd, i);
	}
}

START_TEST(no_allocation_and_no_system_call_per_operation)
{
	/* The fabric of test/fabric delays each RDMA operation and all that follow it. */
	const unsigned int operations = fault_fabric_is_sham() ? OPERATIONS / 10 : OPERATIONS,
			   batches = operations / (4 * BATCH);
	unsigned long ours, fabric;
	unsigned int calling = 0;

	if (!T_HOOKS)
		t_skip("this build has an allocator of its own");
	t_pair_open(&pair, NULL);
	t_hooks_find_libraries();
	batch(); /* the first batch reads the remote context and does what the fabric does once */
	calls = 0;
	t_alloc_count(true);
	for (unsigned int i = 0; i < batches; i++) {
		unsigned long before = calls;

		batch();
		calling += calls != before;
	}
	t_alloc_count(false);
	ours = t_alloc_counted(T_OURS);
	fabric = t_alloc_counted(T_FABRIC);
	printf("# %u operations: the fabric called the allocator %lu times\n", operations, fabric);
	ck_assert_msg(ours == 0, "%lu calls of the allocator for %u operations", ours, operations);
	/*
	 * A post wakes a thread that is about to sleep. On a busy host several posts do, until the
	 * thread runs. A system call that belongs to posting would come in each batch.
	 */
	ck_assert_msg(calling <= batches / 2, "system calls in %u of %u batches", calling, batches);
	t_pair_close(&pair);
}
END_TEST

/* Opening an IA allocates memory, and closing it closes descriptors: both are counted. */
START_TEST(counters_see_allocations_and_system_calls)
{
	struct t_ia ia;

	if (!T_HOOKS)
		t_skip("this build has an allocator of its own");
	t_ia_open(&ia);
	t_hooks_find_libraries();
	t_alloc_count(true);
	calls = 0;
	t_evd(&ia, 16, DAT_EVD_DTO_FLAG);
	posting = true;
	t_ia_close(&ia);
	posting = false;
	t_alloc_count(false);
	ck_assert_uint_gt(t_alloc_counted(T_OURS), 0);
	ck_assert_uint_gt(t_alloc_counted(T_FABRIC), 0);
	ck_assert_uint_gt(calls, 0);
}
END_TEST

/* The thread that reports the end of a connection frees memory afterwards. Waits for that. */
static void let_it_finish(const struct t_ia *ia)
{
	struct t_listener listener;

	t_listen(&listener, ia, DAT_PSP_CONSUMER_FLAG);
	t_listener_free(&listener);
}

/*
 * The peer's last message about the old connection also frees memory. The answer to a new request
 * comes behind it.
 */
static void hear_last_word(void)
{
	const struct t_end *end = &pair.end[0];

	t_ok(dat_ep_reset(end->ep));
	t_ok(t_connect(end->ep, &pair.listener));
	t_ok(t_cr_reject(t_next_cr(&pair.listener)));
	t_wait_conn(end->connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED, end->ep);
	let_it_finish(end->on);
}

/* Posts that never reach the fabric: receives before the connection, all posts after its end. */
START_TEST(no_allocation_without_a_connection)
{
	DAT_COUNT room;

	if (!T_HOOKS)
		t_skip("this build has an allocator of its own");
	t_pair_prepare(&pair, NULL);
	t_hooks_find_libraries();
	room = t_ep_attr(pair.end[1].ep).max_recv_dtos;
	t_alloc_count(true);
	calls = 0;
	for (DAT_COUNT i = 0; i < room; i++)
		post(post_recv, (size_t)i);
	t_alloc_count(false);
	ck_assert_uint_eq(t_alloc_counted(T_OURS), 0);
	ck_assert_uint_eq(calls, 0);
	t_establish(&pair.listener, &pair.end[0], &pair.end[1]);
	t_ok(dat_ep_disconnect(pair.end[0].ep, DAT_CLOSE_ABRUPT_FLAG));
	for (int i = 0; i < 2; i++) {
		t_wait_conn(pair.end[i].connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED,
			    pair.end[i].ep);
		let_it_finish(&pair.ia[i]);
	}
	hear_last_word();
	t_alloc_count(true);
	for (size_t i = 0; i < 100; i++) {
		post(post_send, i);
		t_wait_dto(pair.end[0].request_evd, pair.end[0].ep, i, DAT_DTO_ERR_FLUSHED, 0);
	}
	t_alloc_count(false);
	ck_assert_uint_eq(t_alloc_counted(T_OURS), 0);
	ck_assert_uint_eq(calls, 0);
}
END_TEST

/* --- shared receives --- */

static DAT_SRQ_HANDLE srq;

static DAT_RETURN post_shared(size_t i)
{
	DAT_LMR_TRIPLET segment = t_seg(&pair.end[1].buf, 64 * i, 64);

	return dat_srq_post_recv(srq, 1, &segment, (DAT_DTO_COOKIE){.as_64 = i});
}

/* The second end receives from an SRQ of BATCH buffers. False if the fabric has no SRQs. */
static bool open_shared_pair(void)
{
	DAT_SRQ_ATTR srq_attr = {.max_recv_dtos = BATCH, .max_recv_iov = 1};
	DAT_EP_ATTR attr;
	struct t_end *to = &pair.end[1];

	t_pair_prepare(&pair, NULL);
	if (!to->on->provider.srq_supported)
		return false;
	attr = t_default_attr(to->on);
	attr.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	t_ok(dat_srq_create(to->on->ia, to->on->pz, &srq_attr, &srq));
	t_ok(dat_ep_free(to->ep));
	t_ok(dat_ep_create_with_srq(to->on->ia, to->on->pz, to->recv_evd, to->request_evd,
				    to->connect_evd, srq, &attr, &to->ep));
	t_establish(&pair.listener, &pair.end[0], to);
	return true;
}

static void shared_batch(void)
{
	for (size_t i = 0; i < BATCH; i++)
		post(post_shared, i);
	for (size_t i = 0; i < BATCH; i++)
		post(post_send, i);
	for (size_t i = 0; i < BATCH; i++) {
		t_wait_for(pair.end[1].recv_evd, DAT_DTO_COMPLETION_EVENT);
		take(&pair.end[0], pair.end[0].request_evd, i);
	}
}

/* DTO-156 */
START_TEST(no_allocation_and_no_system_call_per_shared_receive)
{
	if (!T_HOOKS)
		t_skip("this build has an allocator of its own");
	if (!open_shared_pair())
		t_skip("this fabric has no SRQs");
	t_hooks_find_libraries();
	shared_batch();
	calls = 0;
	t_alloc_count(true);
	for (unsigned int done = 0; done < OPERATIONS / 10; done += 2 * BATCH)
		shared_batch();
	t_alloc_count(false);
	ck_assert_uint_eq(t_alloc_counted(T_OURS), 0);
	ck_assert_uint_le(calls, OPERATIONS / 1000);
	for (int i = 0; i < 2; i++)
		t_ia_close(&pair.ia[i]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("alloc");
	TCase *tcase = tcase_create("alloc");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, counters_see_allocations_and_system_calls);
	tcase_add_test(tcase, no_allocation_and_no_system_call_per_operation);
	tcase_add_test(tcase, no_allocation_without_a_connection);
	tcase_add_test(tcase, no_allocation_and_no_system_call_per_shared_receive);
	return t_run(suite);
}
