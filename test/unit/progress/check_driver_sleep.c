/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One sleep of the driver: on which descriptors, until when, and what its end means. The linker
 * redirects the sleep and its neighbours to this file.
 */
#include "unit.h"

#include "../../../prov/ofi/progress/driver_sleep.c"

#include "../../../prov/ofi/progress/agent.h"
#include "../../../prov/ofi/progress/cno.h"

#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SEEN     3u
#define DEADLINE UINT64_C(5000)
#define QUEUES   3u                /* of an IA that has several */
#define MANY     (LEAST_FDS + 20u) /* descriptors */
#define MOST     (OURS + MANY)

static struct dofi_ia ia;
static _Atomic uint32_t wakeup;
static const struct dofi_interrupts allowed = {.cancel = PTHREAD_CANCEL_ENABLE};

/* --- the fabric: queues and their descriptors; an event queue --- */

static struct fid_fabric fabric;
static struct fid_cq queues[QUEUES];
static struct fid eq;
static uint32_t neqs;
static size_t nlisted[QUEUES]; /* descriptors of each queue */
static uint32_t bad_queue = UINT32_MAX;
static int list_answer, queue_answer, event_answer;
static unsigned int queue_looks, event_looks;

/* Numbers that no descriptor has. */
static int fd_of(uint32_t queue, size_t i)
{
	return 1000 + 100 * (int)queue + (int)i;
}

static uint32_t number_of(const struct fid *fid)
{
	for (uint32_t i = 0; i < QUEUES; i++)
		if (fid == &queues[i].fid)
			return i;
	ck_abort_msg("not a queue");
}

static int control(struct fid *fid, int command, void *arg)
{
	uint32_t queue = number_of(fid);
	struct fi_wait_pollfd *list = arg;
	size_t room;

	ck_assert_int_eq(command, FI_GETWAIT);
	if (list_answer)
		return list_answer;
	if (queue == bad_queue)
		return -FI_ENOSYS;
	if (ia.cq_wait == FI_WAIT_FD) {
		*(int *)arg = fd_of(queue, 0);
		return 0;
	}
	room = list->nfds;
	ck_assert_uint_le((size_t)(list->fd - ia.wait.fds), ia.wait.max_fds);
	ck_assert_uint_le((size_t)(list->fd - ia.wait.fds) + room, ia.wait.max_fds);
	list->nfds = nlisted[queue];
	if (room < nlisted[queue])
		return -FI_ETOOSMALL;
	for (size_t i = 0; i < nlisted[queue]; i++)
		list->fd[i] = (struct pollfd){.fd = fd_of(queue, i), .events = POLLIN};
	return 0;
}

static int trywait(struct fid_fabric *of, struct fid **fids, int n)
{
	ck_assert_ptr_eq(of, &fabric);
	if (fids[0] == &eq) {
		ck_assert_int_eq(n, 1);
		event_looks++;
		return event_answer;
	}
	ck_assert_int_eq(n, ia.cqs.shared ? 1 : (int)atomic_load(&ia.cqs.n));
	for (int i = 0; i < n; i++)
		ck_assert_ptr_eq(fids[i], &queues[i].fid);
	queue_looks++;
	return queue_answer;
}

static struct fi_ops queue_ops = {.size = sizeof(queue_ops), .control = control};
static struct fi_ops_fabric fabric_ops = {.size = sizeof(fabric_ops), .trywait = trywait};

/* --- the neighbours --- */

static bool leaves, may_be_woken, others_see, set_is_ready, no_memory;
static int marks[2], dozes[2], awakes; /* calls, by the argument */

bool __wrap_dofi_cq_watch_leave(struct dofi_ia *of, const _Atomic uint32_t *word);
void __wrap_dofi_cq_watch_awake(struct dofi_wait *w);
bool __wrap_dofi_wakeup_mark(struct dofi_ia *of, bool asleep);
bool __wrap_dofi_cq_ready_arm(struct dofi_cqs *cqs, struct fid_fabric *of);
int __wrap_dofi_eqs_put_fids(const struct dofi_eqs *eqs, struct fid **fids);
uint64_t __wrap_dofi_nap_until(struct dofi_ia *of, uint64_t deadline, bool with_cq);
uint64_t __wrap_dofi_nap_blind_until(uint64_t deadline);
void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);

bool __wrap_dofi_cq_watch_leave(struct dofi_ia *of, const _Atomic uint32_t *word)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(word, &wakeup);
	return leaves;
}

void __wrap_dofi_cq_watch_awake(struct dofi_wait *w)
{
	ck_assert_ptr_eq(w, &ia.wait);
	ck_assert(atomic_load(&w->asleep));
	awakes++;
}

bool __wrap_dofi_wakeup_mark(struct dofi_ia *of, bool asleep)
{
	ck_assert_ptr_eq(of, &ia);
	marks[asleep]++;
	ck_assert(atomic_load(&ia.wait.marked));
	return may_be_woken;
}

/* Another thread triggers a CNO between the driver's last round and its sleep. */
static struct dofi_cno *cno_in_doze;

static void trigger(struct dofi_cno *cno)
{
	dofi_lock(&cno->lock);
	dofi_agent_make_due(cno, NULL);
	dofi_unlock(&cno->lock);
}

static bool doze(struct dofi_ia *of, bool asleep)
{
	if (asleep && cno_in_doze)
		trigger(cno_in_doze);
	ck_assert_ptr_eq(of, &ia);
	dozes[asleep]++;
	ck_assert(atomic_load(&ia.wait.marked)); /* before the first peer can take a mark back */
	return others_see;
}

bool __wrap_dofi_cq_ready_arm(struct dofi_cqs *cqs, struct fid_fabric *of)
{
	ck_assert_ptr_eq(cqs, &ia.cqs);
	ck_assert_ptr_eq(of, &fabric);
	return !set_is_ready;
}

int __wrap_dofi_eqs_put_fids(const struct dofi_eqs *eqs, struct fid **fids)
{
	ck_assert_ptr_eq(eqs, &ia.eqs);
	fids[0] = &eq;
	return (int)neqs;
}

/* Other times, by which the test knows them. */
uint64_t __wrap_dofi_nap_until(struct dofi_ia *of, uint64_t deadline, bool with_cq)
{
	ck_assert_ptr_eq(of, &ia);
	return deadline + (with_cq ? 1 : 2);
}

uint64_t __wrap_dofi_nap_blind_until(uint64_t deadline)
{
	return deadline - 1000;
}

void *__wrap_realloc(void *old, size_t size)
{
	return no_memory ? NULL : __real_realloc(old, size);
}

/* --- the sleep --- */

static unsigned int sleeps;
static uint64_t until;
static int listed[MOST];
static nfds_t nlast;               /* descriptors of the last sleep */
static int ready = -1, poll_error; /* index of the ready descriptor */
static bool cancels;               /* the thread is cancelled */

int __wrap_dofi_poll_until(struct pollfd *fds, nfds_t n, uint64_t deadline,
			   const struct dofi_interrupts *allows);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout);
int __real_poll(struct pollfd *fds, nfds_t n, int timeout);

/* Whether the queue's descriptor is readable after a round; others are real. */
static bool stays_ready;

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	if (n != 1 || fds[0].fd != fd_of(0, 0))
		return __real_poll(fds, n, timeout);
	ck_assert_int_eq(timeout, 0);
	fds[0].revents = stays_ready ? POLLIN : 0;
	return stays_ready;
}

int __wrap_dofi_poll_until(struct pollfd *fds, nfds_t n, uint64_t deadline,
			   const struct dofi_interrupts *allows)
{
	ck_assert_ptr_eq(allows, &allowed);
	ck_assert_uint_le(n, MOST);
	ck_assert(atomic_load(&ia.wait.asleep));
	ck_assert_ptr_eq(atomic_load(&ia.wait.driver_wake), &wakeup);
	for (nfds_t i = 0; i < n; i++) {
		ck_assert_int_eq(fds[i].events, POLLIN);
		ck_assert_int_eq(fds[i].revents, 0);
		listed[i] = fds[i].fd;
	}
	nlast = n;
	until = deadline;
	sleeps++;
	if (cancels) {
		pthread_cancel(pthread_self());
		pthread_testcancel();
	}
	if (poll_error) {
		errno = poll_error;
		return -1;
	}
	if (ready < 0)
		return 0;
	fds[ready].revents = POLLIN;
	return 1;
}

static int sleep_once(void)
{
	int ret;

	atomic_store(&ia.wait.deep, true);
	ret = dofi_wait_on_fds(&ia, &wakeup, SEEN, DEADLINE, &allowed);
	ck_assert(!atomic_load(&ia.wait.asleep));
	return ret;
}

static void setup(void)
{
	queue_looks = event_looks = 0;
	for (uint32_t i = 0; i < QUEUES; i++) {
		queues[i].fid.ops = &queue_ops;
		ia.cqs.list[i].fid = &queues[i];
		nlisted[i] = 1;
	}
	fabric.ops = &fabric_ops;
	ia.fabric = &fabric;
	ia.cq = &queues[0];
	dofi_lock_init_level(&ia.obj_lock, DOFI_LEVEL_LEAF);
	dofi_list_init(&ia.agents);
	dofi_list_init(&ia.agent_calls);
	ia.cq_wait = FI_WAIT_FD;
	ia.cqs.ready_fd = 900;
	atomic_store(&ia.cqs.n, 1);
	ia.wait.mute_fd = -1;
	ia.engine.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ia.engine.quiet_epfd = 901;
	atomic_store(&wakeup, SEEN);
	neqs = 1;
}

static void teardown(void)
{
	close(ia.engine.wake_fd);
	free(ia.wait.fds);
}

static void expect_list(nfds_t n, const int *fds)
{
	ck_assert_uint_eq(nlast, OURS + n);
	ck_assert_int_eq(listed[0], ia.engine.wake_fd);
	ck_assert_int_eq(listed[1], ia.engine.quiet_epfd);
	for (nfds_t i = 0; i < n; i++)
		ck_assert_int_eq(listed[OURS + i], fds[i]);
}

/* --- descriptors --- */

START_TEST(the_sleep_watches_a_descriptor_of_each_queue)
{
	const int fds[] = {fd_of(0, 0), fd_of(1, 0), fd_of(2, 0)};

	atomic_store(&ia.cqs.n, (uint32_t)_i);
	ck_assert_int_eq(sleep_once(), 1);
	expect_list((nfds_t)_i, fds);
	ck_assert_uint_eq(queue_looks, 1);
	ck_assert_uint_eq(event_looks, 1);
}
END_TEST

START_TEST(the_sleep_watches_all_descriptors_of_each_queue)
{
	const int fds[] = {fd_of(0, 0), fd_of(0, 1), fd_of(1, 0), fd_of(1, 1), fd_of(1, 2)};

	ia.cq_wait = FI_WAIT_POLLFD;
	atomic_store(&ia.cqs.n, 2);
	nlisted[0] = 2;
	nlisted[1] = 3;
	ck_assert_int_eq(sleep_once(), 1);
	expect_list(5, fds);
}
END_TEST

START_TEST(a_queue_may_list_no_descriptor)
{
	const int fds[] = {fd_of(1, 0), fd_of(0, 0), 900};

	ia.cq_wait = FI_WAIT_POLLFD;
	ia.cqs.shared = _i == 2;
	atomic_store(&ia.cqs.n, 2);
	nlisted[_i % 2] = 0;
	ck_assert_int_eq(sleep_once(), 1);
	expect_list(1, &fds[_i]);
	ck_assert_uint_eq(until, DEADLINE + 1);
}
END_TEST

/* One that is always readable would end each sleep at once. */
START_TEST(the_mute_descriptor_is_passed_over)
{
	const int fds[] = {fd_of(0, 0), -1, fd_of(0, 2)};

	ia.cq_wait = FI_WAIT_POLLFD;
	nlisted[0] = 3;
	ia.wait.mute_fd = fd_of(0, 1);
	sleep_once();
	expect_list(3, fds);
}
END_TEST

START_TEST(queues_behind_a_set_are_watched_by_the_set)
{
	const int fds[] = {900, fd_of(0, 0), fd_of(0, 1)};

	ia.cqs.shared = true;
	atomic_store(&ia.cqs.n, QUEUES);
	ia.cq_wait = _i ? FI_WAIT_POLLFD : FI_WAIT_FD;
	nlisted[0] = 2;
	sleep_once();
	expect_list(_i ? 3 : 2, fds);
}
END_TEST

START_TEST(a_queue_without_a_descriptor_is_not_watched)
{
	ia.cq_wait = FI_WAIT_NONE;
	ck_assert_int_eq(sleep_once(), 1);
	expect_list(0, NULL);
	ck_assert_uint_eq(queue_looks, 0);
	ck_assert_uint_eq(until, DEADLINE + 1);
}
END_TEST

/* With more descriptors than there was room for. */
START_TEST(the_list_grows)
{
	int fds[MANY];

	ia.cq_wait = FI_WAIT_POLLFD;
	atomic_store(&ia.cqs.n, 2);
	nlisted[0] = LEAST_FDS - (size_t)_i;
	nlisted[1] = MANY - nlisted[0];
	for (size_t i = 0; i < MANY; i++)
		fds[i] = i < nlisted[0] ? fd_of(0, i) : fd_of(1, i - nlisted[0]);
	sleep_once();
	expect_list(MANY, fds);
}
END_TEST

START_TEST(a_queue_that_can_not_be_watched_is_read_at_intervals)
{
	ia.cq_wait = _i & 1 ? FI_WAIT_POLLFD : FI_WAIT_FD;
	ia.cqs.shared = _i & 2;
	list_answer = -FI_ENOSYS;
	ck_assert_int_eq(sleep_once(), 1);
	expect_list(0, NULL);
	ck_assert_uint_eq(until, DEADLINE - 1000 + 1);
}
END_TEST

/* None of them is watched then, since the round reads all of them. */
START_TEST(one_queue_that_can_not_be_watched_is_enough)
{
	ia.cq_wait = FI_WAIT_FD;
	atomic_store(&ia.cqs.n, 3);
	bad_queue = (uint32_t)_i;
	ck_assert_int_eq(sleep_once(), 1);
	expect_list(0, NULL);
	ck_assert_uint_eq(until, DEADLINE - 1000 + 1);
}
END_TEST

START_TEST(a_sleep_without_memory_does_not_happen)
{
	no_memory = true;
	ck_assert_int_eq(sleep_once(), 1);
	ck_assert_uint_eq(sleeps, 0);
	no_memory = false;
	ck_assert_int_eq(sleep_once(), 1);
	ck_assert_uint_eq(sleeps, 1);
}
END_TEST

/* --- what keeps the driver from the sleep --- */

START_TEST(a_wakeup_before_the_sleep_counts)
{
	atomic_store(&wakeup, SEEN + 1);
	ck_assert_int_eq(sleep_once(), 1);
	ck_assert_uint_eq(sleeps, 0);
	ck_assert_uint_eq(queue_looks, 0);
}
END_TEST

static int calls;

static void agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	ck_assert_ptr_eq(data, &calls);
	ck_assert_ptr_null(evd);
	calls++;
}

/* Its caller was a post, which runs no agents, and found no driver asleep. */
START_TEST(an_agent_that_becomes_due_before_the_sleep_prevents_it)
{
	struct dofi_agent_call call = {0};
	struct dofi_cno cno = {
		.obj.ia = &ia,
		.agent = {&calls, agent},
		.call = _i ? &call : NULL, /* the thread that makes this call makes the next one */
	};

	dofi_lock_init_level(&cno.lock, DOFI_LEVEL_CNO);
	dofi_list_init(&cno.agent_link);
	cno_in_doze = &cno;
	ia.engine.doze = doze;
	ck_assert_int_eq(sleep_once(), 1);
	ck_assert_uint_eq(sleeps, (unsigned int)_i);
	cno_in_doze = NULL;
	dofi_cno_run_agents(&ia);
	ck_assert_int_eq(calls, 1 - _i);
	ck_assert_int_eq(sleep_once(), 1);
	ck_assert_uint_eq(sleeps, 1 + (unsigned int)_i);
}
END_TEST

START_TEST(events_of_connections_make_the_round_full)
{
	event_answer = -FI_EAGAIN;
	ck_assert(!dofi_wait_arm_events(&ia));
	ck_assert_int_eq(sleep_once(), 1);
	ck_assert_uint_eq(sleeps, 0);
	neqs = 0;
	ck_assert(dofi_wait_arm_events(&ia));
	ck_assert_int_eq(sleep_once(), 1);
	ck_assert_uint_eq(sleeps, 1);
}
END_TEST

/* In the first queue, or in those behind a set. */
START_TEST(a_queue_that_is_not_empty_is_read_first)
{
	ia.cqs.shared = true;
	queue_answer = _i ? 0 : -FI_EAGAIN;
	set_is_ready = _i;
	ck_assert_int_eq(sleep_once(), 0);
	ck_assert_uint_eq(sleeps, 0);
}
END_TEST

/* Consumers read the queue themselves. */
START_TEST(a_driver_that_leaves_the_queue_alone)
{
	leaves = true;
	queue_answer = -FI_EAGAIN;
	ck_assert_int_eq(sleep_once(), 1);
	expect_list(0, NULL);
	ck_assert_uint_eq(queue_looks, 0);
	ck_assert_uint_eq(until, DEADLINE + 2);
	ck_assert_int_eq(awakes, 1);
	leaves = false;
	queue_answer = 0;
	sleep_once();
	ck_assert_int_eq(awakes, 1);
	ck_assert_uint_eq(until, DEADLINE + 1);
}
END_TEST

/* --- the mark of a sleeper, which peers see --- */

START_TEST(a_driver_looks_once_more_after_it_has_set_its_mark)
{
	const bool by_queue = _i & 1, by_memory = _i & 2;

	ia.cq_wait = FI_WAIT_NONE;
	may_be_woken = by_queue;
	others_see = by_memory;
	ia.engine.doze = _i & 4 ? NULL : doze;
	if (by_queue || (by_memory && ia.engine.doze)) {
		atomic_store(&ia.wait.asleep, false);
		ck_assert_int_eq(dofi_wait_on_fds(&ia, &wakeup, SEEN, DEADLINE, &allowed), 0);
		ck_assert_uint_eq(sleeps, 0);
		ck_assert(ia.wait.marked);
		ck_assert_int_eq(marks[0] + dozes[0], 0);
		ck_assert_int_eq(sleep_once(), 1);
		ck_assert_int_eq(marks[0], 1);
	} else {
		ck_assert_int_eq(sleep_once(), 1);
		ck_assert_int_eq(marks[0], 0);
	}
	ck_assert_int_eq(marks[1], 1);
	ck_assert_int_eq(dozes[1], ia.engine.doze != NULL);
	ck_assert_uint_eq(sleeps, 1);
	ck_assert(!ia.wait.marked);
	ck_assert(!atomic_load(&ia.wait.deep));
}
END_TEST

START_TEST(the_queue_wakes_a_driver_that_has_its_descriptor)
{
	may_be_woken = true;
	ck_assert_int_eq(sleep_once(), 1);
	ck_assert_int_eq(marks[0] + marks[1], 0);
}
END_TEST

/* --- the end of the sleep --- */

enum { WAKE_FD, QUIET_FD, QUEUE_FD };

START_TEST(the_queue_alone_needs_no_full_round)
{
	ready = QUEUE_FD;
	ck_assert_int_eq(sleep_once(), 0);
	ready = QUIET_FD;
	ck_assert_int_eq(sleep_once(), 1);
	ready = -1;
	ck_assert_int_eq(sleep_once(), 1);
}
END_TEST

START_TEST(a_wakeup_is_cleared)
{
	uint64_t count = 1;

	ready = WAKE_FD;
	ck_assert_int_eq(write(ia.engine.wake_fd, &count, sizeof(count)), sizeof(count));
	ck_assert_int_eq(sleep_once(), 1);
	ck_assert_int_eq(read(ia.engine.wake_fd, &count, sizeof(count)), -1);
	ready = QUEUE_FD;
	ck_assert_int_eq(write(ia.engine.wake_fd, &count, sizeof(count)), sizeof(count));
	ck_assert_int_eq(sleep_once(), 0);
	ck_assert_int_eq(read(ia.engine.wake_fd, &count, sizeof(count)), sizeof(count));
}
END_TEST

START_TEST(a_signal_ends_the_sleep)
{
	poll_error = EINTR;
	ck_assert_int_eq(sleep_once(), -EINTR);
	poll_error = ENOMEM;
	ck_assert_int_eq(sleep_once(), 1);
	ck_assert_uint_eq(ia.wait.fruitless, 0);
}
END_TEST

static void be_fruitless(uint32_t times)
{
	ready = QUEUE_FD;
	while (times--) {
		sleep_once();
		ck_assert_uint_eq(nlast, OURS + 1);
	}
}

/* A message without a receive keeps the queue's socket readable. */
static void *sleep_until_cancelled(void *arg)
{
	dofi_wait_on_fds(&ia, &wakeup, SEEN, DEADLINE, &allowed);
	return arg;
}

START_TEST(a_cancelled_driver_is_not_asleep)
{
	pthread_t thread;
	void *result;

	ia.engine.doze = doze;
	cancels = true;
	atomic_store(&ia.wait.marked, true);
	atomic_store(&ia.wait.deep, true);
	ck_assert_int_eq(pthread_create(&thread, NULL, sleep_until_cancelled, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, &result), 0);
	ck_assert_ptr_eq(result, PTHREAD_CANCELED);
	ck_assert_uint_eq(sleeps, 1);
	ck_assert(!atomic_load(&ia.wait.asleep));
	ck_assert(!atomic_load(&ia.wait.deep));
	ck_assert(!atomic_load(&ia.wait.marked));
	ck_assert_int_eq(dozes[false], 1);
}
END_TEST

/* Not: a consumer that drives, and a thread without marks, which no peer tries to wake. */
START_TEST(a_progress_thread_with_marks_is_relieved)
{
	struct pollfd pfd = {.fd = ia.engine.wake_fd, .events = POLLIN};
	const bool expected = _i == 3;

	ia.cq_wait = FI_WAIT_NONE;
	ia.engine.doze = doze;
	atomic_store(&ia.wait.driver_wake, _i & 1 ? &ia.engine.activity : &wakeup);
	atomic_store(&ia.wait.marked, _i & 2);
	dofi_wait_relieve(&ia);
	ck_assert_int_eq(marks[false], expected);
	ck_assert_int_eq(dozes[false], expected);
	ck_assert_int_eq(__real_poll(&pfd, 1, 0), expected);
	ck_assert(atomic_load(&ia.wait.marked) == !!(_i & 2)); /* the thread takes its own back */
}
END_TEST

START_TEST(a_queue_that_is_always_ready_is_read_at_intervals)
{
	stays_ready = true;
	be_fruitless(FRUITLESS_LIMIT + 1);
	ready = -1;
	sleep_once();
	expect_list(0, NULL);
	ck_assert_uint_eq(until, DEADLINE - 1000 + 1);
	atomic_fetch_add(&ia.engine.handled, 1); /* there was an event after all */
	be_fruitless(FRUITLESS_LIMIT + 1);
	ready = -1;
	sleep_once();
	expect_list(0, NULL);
}
END_TEST

/* Writes of peers end a sleep and raise no event, but a round reads them. */
START_TEST(a_queue_that_a_round_empties_is_watched)
{
	be_fruitless(2 * FRUITLESS_LIMIT + 1);
	stays_ready = true;
	be_fruitless(1);
	ready = -1;
	sleep_once();
	expect_list(0, NULL);
}
END_TEST

/* Sleeps that something else ended say nothing about the queue. */
START_TEST(other_ends_of_a_sleep_are_not_fruitless)
{
	stays_ready = true;
	be_fruitless(FRUITLESS_LIMIT);
	for (ready = -1; ready <= QUIET_FD; ready++)
		sleep_once();
	be_fruitless(1);
	ready = -1;
	sleep_once();
	expect_list(0, NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("driver_sleep");
	TCase *tc = tcase_create("driver_sleep");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, the_sleep_watches_a_descriptor_of_each_queue, 1, QUEUES + 1);
	tcase_add_test(tc, the_sleep_watches_all_descriptors_of_each_queue);
	tcase_add_loop_test(tc, a_queue_may_list_no_descriptor, 0, 3);
	tcase_add_test(tc, the_mute_descriptor_is_passed_over);
	tcase_add_loop_test(tc, queues_behind_a_set_are_watched_by_the_set, 0, 2);
	tcase_add_test(tc, a_queue_without_a_descriptor_is_not_watched);
	tcase_add_loop_test(tc, the_list_grows, -1, 2);
	tcase_add_loop_test(tc, a_queue_that_can_not_be_watched_is_read_at_intervals, 0, 4);
	tcase_add_loop_test(tc, one_queue_that_can_not_be_watched_is_enough, 0, 3);
	tcase_add_test(tc, a_sleep_without_memory_does_not_happen);
	tcase_add_test(tc, a_wakeup_before_the_sleep_counts);
	tcase_add_loop_test(tc, an_agent_that_becomes_due_before_the_sleep_prevents_it, 0, 2);
	tcase_add_test(tc, events_of_connections_make_the_round_full);
	tcase_add_loop_test(tc, a_queue_that_is_not_empty_is_read_first, 0, 2);
	tcase_add_test(tc, a_driver_that_leaves_the_queue_alone);
	tcase_add_loop_test(tc, a_driver_looks_once_more_after_it_has_set_its_mark, 0, 8);
	tcase_add_test(tc, the_queue_wakes_a_driver_that_has_its_descriptor);
	tcase_add_test(tc, the_queue_alone_needs_no_full_round);
	tcase_add_test(tc, a_wakeup_is_cleared);
	tcase_add_test(tc, a_signal_ends_the_sleep);
	tcase_add_test(tc, a_cancelled_driver_is_not_asleep);
	tcase_add_loop_test(tc, a_progress_thread_with_marks_is_relieved, 0, 4);
	tcase_add_test(tc, a_queue_that_is_always_ready_is_read_at_intervals);
	tcase_add_test(tc, a_queue_that_a_round_empties_is_watched);
	tcase_add_test(tc, other_ends_of_a_sleep_are_not_fruitless);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
