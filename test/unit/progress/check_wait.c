/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Descriptors of sleeping threads: that of a thread beside the driver, and the one of a queue that
 * is readable from the start.
 */
#include "unit.h"

#include "../../../prov/ofi/progress/wait.c"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#define HOUR  (UINT64_C(3600) * 1000000000)
#define MOST  3 /* descriptors of the queue */
#define TURNS 4

static struct dofi_ia ia;

static bool is_readable(int fd)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};

	return poll(&pfd, 1, 0) == 1;
}

static int next_descriptor(void)
{
	int fd = eventfd(0, EFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	close(fd);
	return fd;
}

/* --- beside the driver; the linker redirects the sleep to this function --- */

/* Ends of a sleep. */
enum ending { WOKEN, SPURIOUS, INTERRUPTED, WOKEN_AND_INTERRUPTED, FAILED, CANCELLED };

static _Atomic uint32_t wakeup;
static enum ending endings[TURNS];
static unsigned int sleeps;
static uint64_t deadline, until; /* until: that of the last sleep */
static bool no_descriptor;
static bool driver_leaves;
static bool driver_is_thread; /* the progress thread, which has to let this one drive */
/* After this number of sleeps, the progress thread begins to drive; it stops at another activity.
 */
static unsigned int thread_drives_after;
static uint32_t activity_of_thread;

int __wrap_dofi_poll_until(struct pollfd *fds, nfds_t n, uint64_t end,
			   const struct dofi_interrupts *allowed);

int __wrap_dofi_poll_until(struct pollfd *fds, nfds_t n, uint64_t end,
			   const struct dofi_interrupts *allowed)
{
	enum ending ending = endings[sleeps++];
	bool wakes = ending == WOKEN || ending == WOKEN_AND_INTERRUPTED;

	ck_assert_uint_le(sleeps, TURNS);
	ck_assert_ptr_nonnull(allowed);
	ck_assert_uint_eq(n, 1);
	ck_assert_int_eq(fds->events, POLLIN);
	ck_assert((fds->fd < 0) == no_descriptor);
	ck_assert(is_readable(ia.engine.wake_fd) == driver_is_thread);
	until = end;
	if (!no_descriptor) {
		ck_assert(!is_readable(fds->fd));
		ck_assert_int_eq(fcntl(fds->fd, F_GETFD), FD_CLOEXEC);
		ck_assert(fcntl(fds->fd, F_GETFL) & O_NONBLOCK);
	}
	if (wakes)
		dofi_wait_wake(&ia, &wakeup);
	if (driver_leaves)
		atomic_store(&ia.wait.driven, false);
	if (sleeps == thread_drives_after) {
		driver_is_thread = true;
		activity_of_thread = atomic_load(&ia.engine.activity);
		atomic_store(&ia.wait.driver_wake, &ia.engine.activity);
		atomic_store(&ia.wait.asleep, true);
	}
	if (!no_descriptor)
		ck_assert(is_readable(fds->fd) == wakes);
	if (ending == CANCELLED) {
		pthread_cancel(pthread_self());
		pthread_setcancelstate(allowed->cancel, NULL);
		pthread_testcancel();
	}
	errno = ending == FAILED ? ENOMEM : EINTR;
	return ending <= SPURIOUS ? ending == WOKEN : -1;
}

static void begin_sleep(void)
{
	dofi_wait_init(&ia);
	ia.engine.wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	ck_assert_int_ge(ia.engine.wake_fd, 0);
	atomic_store(&ia.wait.driven, true); /* another thread drives */
	deadline = DOFI_FOREVER;
}

static void end_sleep(void)
{
	ck_assert_uint_eq(atomic_load(&ia.wait.count), 0);
	ck_assert(dofi_list_empty(&ia.wait.sleepers));
	close(ia.engine.wake_fd);
	dofi_wait_fini(&ia);
}

static int sleep_beside(void)
{
	return dofi_wait_sleep(&ia, &wakeup, 0, deadline);
}

/* Without standard input, the descriptor is 0. */
START_TEST(a_sleep_leaves_no_descriptor)
{
	int next;

	if (_i)
		close(STDIN_FILENO);
	next = next_descriptor();
	ck_assert_int_eq(sleep_beside(), 0);
	ck_assert_uint_eq(sleeps, 1);
	ck_assert_uint_eq(until, DOFI_FOREVER);
	ck_assert_int_eq(next_descriptor(), next);
}
END_TEST

START_TEST(a_sleep_ends_by_its_wakeup_a_signal_or_the_time)
{
	static const struct {
		bool late;
		enum ending endings[TURNS];
		unsigned int sleeps;
		int ret;
	} cases[] = {
		{false, {WOKEN}, 1, 0},
		{false, {SPURIOUS, FAILED, WOKEN}, 3, 0},
		{false, {INTERRUPTED}, 1, -EINTR},
		{false, {SPURIOUS, INTERRUPTED}, 2, -EINTR},
		{false, {WOKEN_AND_INTERRUPTED}, 1, 0},
		{true, {SPURIOUS}, 1, -ETIMEDOUT},
		{true, {FAILED}, 1, -ETIMEDOUT},
		{true, {INTERRUPTED}, 1, -EINTR},
		{true, {WOKEN}, 1, 0},
	};

	memcpy(endings, cases[_i].endings, sizeof(endings));
	deadline = cases[_i].late ? dofi_now() : dofi_now() + HOUR;
	ck_assert_int_eq(sleep_beside(), cases[_i].ret);
	ck_assert_uint_eq(sleeps, cases[_i].sleeps);
	ck_assert_uint_eq(until, deadline);
}
END_TEST

START_TEST(a_sleep_without_a_time_has_no_end)
{
	endings[0] = SPURIOUS;
	ck_assert_int_eq(sleep_beside(), 0);
	ck_assert_uint_eq(sleeps, 2);
	ck_assert_uint_eq(until, DOFI_FOREVER);
}
END_TEST

/* Nothing can wake it, so it looks at intervals. */
START_TEST(a_sleep_without_a_descriptor_is_short)
{
	struct rlimit limit, none;

	no_descriptor = true;
	endings[0] = SPURIOUS;
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ck_assert_int_eq(sleep_beside(), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0); /* LeakSanitizer opens files */
	ck_assert_uint_eq(sleeps, 2);
	ck_assert_uint_lt(until, dofi_now() + HOUR);
}
END_TEST

START_TEST(the_progress_thread_stops_driving)
{
	driver_is_thread = _i;
	atomic_store(&ia.wait.driver_wake, _i ? &ia.engine.activity : &wakeup);
	atomic_store(&ia.wait.asleep, true);
	endings[0] = INTERRUPTED;
	ck_assert_int_eq(sleep_beside(), -EINTR);
	ck_assert_uint_eq(sleeps, 1);
}
END_TEST

/*
 * The driver leaves, and the progress thread drives before this thread does. It must not go on: on
 * some devices it leaves the queue alone for long.
 */
START_TEST(the_progress_thread_that_was_faster_stops_driving)
{
	endings[0] = SPURIOUS;
	thread_drives_after = 1;
	ck_assert_int_eq(sleep_beside(), 0);
	ck_assert_uint_eq(sleeps, 2);
	ck_assert_uint_ne(atomic_load(&ia.engine.activity), activity_of_thread);
}
END_TEST

static void *sleep_until_cancelled(void *arg)
{
	(void)arg;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	dofi_wait_sleep_cancellable(&ia, &wakeup, 0, deadline, PTHREAD_CANCEL_ENABLE);
	return NULL;
}

/* If it was woken to become the driver (_i), it wakes another one. */
START_TEST(a_cancelled_sleep_leaves_nothing)
{
	struct sleeper other = {.ia = &ia, .wakeup = &wakeup};
	pthread_t thread;
	void *result;
	int next;

	enlist(&other);
	next = next_descriptor();
	endings[0] = CANCELLED;
	driver_leaves = _i;
	ck_assert_int_eq(pthread_create(&thread, NULL, sleep_until_cancelled, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, &result), 0);
	ck_assert_ptr_eq(result, PTHREAD_CANCELED);
	ck_assert_uint_eq(sleeps, 1);
	ck_assert_uint_eq(atomic_load(&ia.wait.count), 1);
	ck_assert_int_eq(next_descriptor(), next);
	ck_assert(is_readable(other.fd) == _i);
	strike_off(&other);
}
END_TEST

/*
 * The wakeup (_i & 1), or the end of the driver (_i & 2), came before this thread was in the list,
 * so nobody calls it.
 */
START_TEST(what_came_before_prevents_the_sleep)
{
	struct sleeper self = {.ia = &ia, .wakeup = &wakeup};
	const struct dofi_interrupts allowed = {.cancel = PTHREAD_CANCEL_DISABLE};

	enlist(&self);
	atomic_store(&wakeup, _i & 1);
	atomic_store(&ia.wait.driven, !(_i & 2));
	ck_assert_int_eq(sleep_enlisted(&self, 0, DOFI_FOREVER, &allowed), 0);
	ck_assert_uint_eq(sleeps, _i == 0);
	strike_off(&self);
}
END_TEST

/* --- a queue that is readable from the start --- */

static struct fid_cq queue;
static struct fid_fabric fabric;
static int listed[MOST], nlisted, list_answer, not_idle;
static unsigned int lists;

static int trywait(struct fid_fabric *of, struct fid **fids, int n)
{
	ck_assert_ptr_eq(of, &fabric);
	ck_assert_int_eq(n, 1);
	ck_assert_ptr_eq(fids[0], &queue.fid);
	return not_idle;
}

static int control(struct fid *fid, int command, void *arg)
{
	struct fi_wait_pollfd *list = arg;

	ck_assert_ptr_eq(fid, &queue.fid);
	ck_assert_int_eq(command, FI_GETWAIT);
	lists++;
	if (list_answer)
		return list_answer;
	if (list->nfds < (size_t)nlisted) {
		list->nfds = (size_t)nlisted;
		return -FI_ETOOSMALL;
	}
	list->nfds = (size_t)nlisted;
	for (int i = 0; i < nlisted; i++)
		list->fd[i] = (struct pollfd){.fd = listed[i], .events = POLLIN};
	return 0;
}

static struct fi_ops queue_ops = {.size = sizeof(queue_ops), .control = control};
static struct fi_ops_fabric fabric_ops = {.size = sizeof(fabric_ops), .trywait = trywait};

static void begin_queue(void)
{
	queue.fid.ops = &queue_ops;
	fabric.ops = &fabric_ops;
	ia.fabric = &fabric;
	ia.cq = &queue;
	ia.cq_wait = FI_WAIT_POLLFD;
	atomic_store(&ia.cqs.n, 1);
	dofi_wait_init(&ia);
}

static void end_queue(void)
{
	for (int i = 0; i < nlisted; i++)
		close(listed[i]);
	dofi_wait_fini(&ia);
}

/* `readable` is the index of the readable one; others are not. */
static void list_descriptors(int n, int readable)
{
	nlisted = n;
	for (int i = 0; i < n; i++)
		listed[i] = eventfd(i == readable, EFD_CLOEXEC);
}

START_TEST(the_readable_descriptor_of_a_fresh_queue_is_muted)
{
	static const struct {
		int n, readable;
	} cases[] = {{1, 0}, {2, 0}, {2, 1}, {3, 0}, {3, 1}, {3, 2}};

	list_descriptors(cases[_i].n, cases[_i].readable);
	dofi_wait_probe(&ia);
	ck_assert_int_eq(ia.wait.mute_fd, listed[cases[_i].readable]);
}
END_TEST

START_TEST(a_silent_queue_has_no_mute_descriptor)
{
	list_descriptors(_i, -1);
	dofi_wait_probe(&ia);
	ck_assert_int_eq(ia.wait.mute_fd, -1);
}
END_TEST

/* Something has happened in it, or it has no list. */
START_TEST(a_queue_that_can_not_be_probed_has_no_mute_descriptor)
{
	static const struct {
		enum fi_wait_obj wait;
		int not_idle, answer;
		unsigned int lists;
	} cases[] = {{FI_WAIT_NONE, 0, 0, 0},
		     {FI_WAIT_FD, 0, 0, 0},
		     {FI_WAIT_POLLFD, -FI_EAGAIN, 0, 0},
		     {FI_WAIT_POLLFD, 0, -FI_ENOSYS, 1}};

	list_descriptors(2, 1);
	ia.cq_wait = cases[_i].wait;
	not_idle = cases[_i].not_idle;
	list_answer = cases[_i].answer;
	dofi_wait_probe(&ia);
	ck_assert_uint_eq(lists, cases[_i].lists);
	ck_assert_int_eq(ia.wait.mute_fd, -1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("wait");
	TCase *tc = tcase_create("beside the driver");

	tcase_add_checked_fixture(tc, begin_sleep, end_sleep);
	tcase_add_loop_test(tc, a_sleep_leaves_no_descriptor, 0, 2);
	tcase_add_loop_test(tc, a_sleep_ends_by_its_wakeup_a_signal_or_the_time, 0, 9);
	tcase_add_test(tc, a_sleep_without_a_time_has_no_end);
	tcase_add_test(tc, a_sleep_without_a_descriptor_is_short);
	tcase_add_loop_test(tc, the_progress_thread_stops_driving, 0, 2);
	tcase_add_test(tc, the_progress_thread_that_was_faster_stops_driving);
	tcase_add_loop_test(tc, a_cancelled_sleep_leaves_nothing, 0, 2);
	tcase_add_loop_test(tc, what_came_before_prevents_the_sleep, 0, 4);
	suite_add_tcase(suite, tc);
	tc = tcase_create("probe");
	tcase_add_checked_fixture(tc, begin_queue, end_queue);
	tcase_add_loop_test(tc, the_readable_descriptor_of_a_fresh_queue_is_muted, 0, 6);
	tcase_add_loop_test(tc, a_silent_queue_has_no_mute_descriptor, 0, MOST + 1);
	tcase_add_loop_test(tc, a_queue_that_can_not_be_probed_has_no_mute_descriptor, 0, 4);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
