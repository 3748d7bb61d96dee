/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The steps of the repair of shared memory, one by one: what they do to our region, to that of a
 * dead process and to the list of peers. check_shm_repair.c has the same with processes that die.
 */
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/transport/shm_repair.c"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>

static struct dofi_ia ia = {.name = "test"};
static struct dofi_shm_repair *r;

/* --- what the repair calls --- */

static struct dofi_shm_map opened; /* the next region */
static int open_ret, opens, closes;
static int locked; /* tries that fail before the lock is taken; -1: all fail */
static int tries, held, take_overs, repairs, refill_calls, fills;
static uint64_t progress, progress_later; /* the second while threads are looked at */
static bool refill_ret, busy;             /* busy: the region of `busy_one` waits for an answer */
static const struct dofi_shm_map *busy_one;
static size_t nclaims, nclaim_calls, nclaimed, ndiscarded;
static bool committed_meanwhile; /* while threads are looked at */
static void *discarded[MAX_CLAIMS];
static bool settle_ret;
static int settles;
static ssize_t ncommands_found;
static size_t ngiven;
static bool give_ret;
static int command_calls;
static bool note_ret, out_ret;
static pid_t noted[MAX_WATCHED + 1];
static size_t nnoted;
static int notes, kicks, rounds, frees;
static bool no_thread, no_memory, no_eventfd, no_watch;

int __wrap_dofi_shm_map_open(struct dofi_shm_map *region, const char *address);
void __wrap_dofi_shm_map_close(struct dofi_shm_map *region);
bool __wrap_dofi_shm_trylock(const struct dofi_shm_map *region);
void __wrap_dofi_shm_take_over(const struct dofi_shm_map *region);
void __wrap_dofi_shm_unlock(const struct dofi_shm_map *region);
uint64_t __wrap_dofi_shm_progress(const struct dofi_shm_map *region);
void __wrap_dofi_shm_fill_dead(const struct dofi_shm_map *region);
void __wrap_dofi_shm_repair_own(const struct dofi_shm_map *region);
bool __wrap_dofi_shm_refill(const struct dofi_shm_map *own);
bool __wrap_dofi_shm_is_idle(const struct dofi_shm_map *region);
size_t __wrap_dofi_shm_claims(const struct dofi_shm_map *region, struct dofi_shm_claim *claims,
			      size_t max);
bool __wrap_dofi_shm_is_claimed(const struct dofi_shm_claim *claim);
void __wrap_dofi_shm_discard(const struct dofi_shm_map *region, const struct dofi_shm_claim *claim);
bool __wrap_dofi_shm_settle(const struct dofi_shm_map *own, const struct dofi_shm_map *dead);
ssize_t __wrap_dofi_shm_commands(const struct dofi_shm_map *own, const struct dofi_shm_map *dead,
				 struct dofi_shm_command *commands, size_t max);
bool __wrap_dofi_shm_give_back(const struct dofi_shm_map *own, const struct dofi_shm_map *dead,
			       const struct dofi_shm_command *commands, size_t n);
bool __wrap_dofi_live_threads_note(struct dofi_live_threads *threads, const pid_t *pids, size_t n);
bool __wrap_dofi_live_threads_are_out(const struct dofi_live_threads *threads);
void __wrap_dofi_live_threads_free(struct dofi_live_threads *threads);
void __wrap_dofi_wait_kick(struct dofi_ia *of);
int __wrap_dofi_start_thread(pthread_t *thread, void *(*run)(void *), void *arg);
T_STAND_IN void *__wrap_calloc(size_t n, size_t size);
void *__real_calloc(size_t n, size_t size);
T_STAND_IN void __wrap_free(void *block);
void __real_free(void *block);
T_STAND_IN int __wrap_eventfd(unsigned int count, int flags);
int __real_eventfd(unsigned int count, int flags);
int __wrap_dofi_process_watch_open(struct dofi_process_watch *watch, pid_t pid);

int __wrap_dofi_shm_map_open(struct dofi_shm_map *region, const char *address)
{
	(void)address;
	opens++;
	*region = opened;
	return open_ret;
}

void __wrap_dofi_shm_map_close(struct dofi_shm_map *region)
{
	closes++;
	*region = (struct dofi_shm_map){0};
}

bool __wrap_dofi_shm_trylock(const struct dofi_shm_map *region)
{
	ck_assert_ptr_eq(region, &r->own);
	ck_assert_int_eq(held, 0);
	tries++;
	held = locked >= 0 && tries > locked;
	return held;
}

void __wrap_dofi_shm_take_over(const struct dofi_shm_map *region)
{
	ck_assert_ptr_eq(region, &r->own);
	take_overs++;
	held = 1;
}

void __wrap_dofi_shm_unlock(const struct dofi_shm_map *region)
{
	ck_assert_ptr_eq(region, &r->own);
	ck_assert_int_eq(held, 1);
	held = 0;
}

uint64_t __wrap_dofi_shm_progress(const struct dofi_shm_map *region)
{
	uint64_t now = progress;

	ck_assert_ptr_eq(region, &r->own);
	progress = progress_later;
	return now;
}

void __wrap_dofi_shm_fill_dead(const struct dofi_shm_map *region)
{
	ck_assert_ptr_ne(region, &r->own);
	fills++;
}

void __wrap_dofi_shm_repair_own(const struct dofi_shm_map *region)
{
	ck_assert_ptr_eq(region, &r->own);
	ck_assert_int_eq(held, 1);
	repairs++;
}

bool __wrap_dofi_shm_refill(const struct dofi_shm_map *own)
{
	ck_assert_ptr_eq(own, &r->own);
	ck_assert_int_eq(held, 1);
	refill_calls++;
	return refill_ret;
}

bool __wrap_dofi_shm_is_idle(const struct dofi_shm_map *region)
{
	return !busy || region != busy_one;
}

size_t __wrap_dofi_shm_claims(const struct dofi_shm_map *region, struct dofi_shm_claim *claims,
			      size_t max)
{
	ck_assert_ptr_eq(region, &r->own);
	ck_assert_uint_eq(max, MAX_CLAIMS);
	nclaim_calls++;
	for (size_t i = 0; i < nclaims; i++)
		claims[i] = (struct dofi_shm_claim){&claims[i], (int64_t)i};
	return nclaims;
}

/* Those from `nclaimed` on are committed meanwhile, and the first one if there are two. */
bool __wrap_dofi_shm_is_claimed(const struct dofi_shm_claim *claim)
{
	return (size_t)claim->position < nclaimed && !(nclaims == 2 && !claim->position);
}

void __wrap_dofi_shm_discard(const struct dofi_shm_map *region, const struct dofi_shm_claim *claim)
{
	ck_assert_ptr_eq(region, &r->own);
	discarded[ndiscarded++] = claim->entry;
}

bool __wrap_dofi_shm_settle(const struct dofi_shm_map *own, const struct dofi_shm_map *dead)
{
	ck_assert_ptr_eq(own, &r->own);
	ck_assert_ptr_ne(dead, own);
	settles++;
	return settle_ret;
}

ssize_t __wrap_dofi_shm_commands(const struct dofi_shm_map *own, const struct dofi_shm_map *dead,
				 struct dofi_shm_command *commands, size_t max)
{
	ck_assert_ptr_eq(own, &r->own);
	ck_assert_ptr_ne(dead, own);
	ck_assert_ptr_eq(commands, r->commands);
	ck_assert_uint_eq(max, MAX_COMMANDS);
	command_calls++;
	return ncommands_found;
}

bool __wrap_dofi_shm_give_back(const struct dofi_shm_map *own, const struct dofi_shm_map *dead,
			       const struct dofi_shm_command *commands, size_t n)
{
	ck_assert_ptr_eq(own, &r->own);
	ck_assert_ptr_ne(dead, own);
	ck_assert_ptr_eq(commands, r->commands);
	ngiven += give_ret ? n : 0;
	return give_ret;
}

bool __wrap_dofi_live_threads_note(struct dofi_live_threads *threads, const pid_t *pids, size_t n)
{
	ck_assert(threads == &r->suspicion.threads || threads == &r->waiters);
	notes++;
	nnoted = n;
	memcpy(noted, pids, n * sizeof(*pids));
	return note_ret;
}

bool __wrap_dofi_live_threads_are_out(const struct dofi_live_threads *threads)
{
	ck_assert(threads == &r->suspicion.threads || threads == &r->waiters);
	if (committed_meanwhile)
		nclaimed = 0;
	return out_ret;
}

void __wrap_dofi_live_threads_free(struct dofi_live_threads *threads)
{
	(void)threads;
	frees++;
}

/* The last of `rounds` ends the thread. */
void __wrap_dofi_wait_kick(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	if (++kicks == rounds)
		r->stop = true;
}

static _Atomic bool told_to_stop, ended;

/* Sleeps as the thread does, and takes its time to end. */
static void *sleeps(void *arg)
{
	struct dofi_shm_repair *of = arg;
	struct pollfd pfd = {.fd = of->wake_fd, .events = POLLIN};

	poll(&pfd, 1, -1);
	dofi_lock(&of->lock);
	told_to_stop = of->stop;
	dofi_unlock(&of->lock);
	for (int i = 0; i < 1000; i++)
		sched_yield();
	ended = true;
	return NULL;
}

int __wrap_dofi_start_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
	ck_assert_ptr_eq(run, repair);
	ck_assert_ptr_nonnull(arg);
	return no_thread ? -EAGAIN : -pthread_create(thread, NULL, sleeps, arg);
}

static void *last; /* block of calloc */

void *__wrap_calloc(size_t n, size_t size)
{
	return last = no_memory ? NULL : __real_calloc(n, size);
}

void __wrap_free(void *block)
{
	if (block == last)
		last = NULL;
	__real_free(block);
}

int __wrap_eventfd(unsigned int count, int flags)
{
	errno = ENFILE;
	if (no_eventfd)
		return -1;
	ck_assert_uint_eq(count, 0);
	ck_assert_int_eq(flags, EFD_CLOEXEC | EFD_NONBLOCK);
	return __real_eventfd(count, flags);
}

/* A descriptor of a process is one that nothing makes readable, unless the test does. */
int __wrap_dofi_process_watch_open(struct dofi_process_watch *watch, pid_t pid)
{
	ck_assert_int_eq(pid, opened.pid);
	*watch = DOFI_NO_PROCESS;
	if (no_watch)
		return -EMFILE;
	watch->fd = __real_eventfd(0, EFD_CLOEXEC);
	return 0;
}

/* --- the fixture --- */

static int next_fd(void)
{
	int fd = dup(STDERR_FILENO);

	close(fd);
	return fd;
}

static void setup(void)
{
	static struct dofi_shm_repair repair_of_test;

	r = &repair_of_test;
	r->ia = &ia;
	dofi_list_init(&r->peers);
	dofi_lock_init_level(&r->lock, DOFI_LEVEL_LEAF);
	r->wake_fd = __real_eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ia.shm_repair = r;
	dofi_lock_init(&ia.engine.lock);
	dofi_lock(&ia.engine.lock);
	dofi_log_set_level("info");
	note_ret = true;
}

/* Wakes the thread: whether it was woken since the last call. */
static bool was_woken(void)
{
	uint64_t count;

	return read(r->wake_fd, &count, sizeof(count)) == sizeof(count) && count > 0;
}

/* A peer that is in use. */
static struct dofi_shm_peer *add(pid_t pid)
{
	struct dofi_shm_peer *peer = __real_calloc(1, sizeof(*peer));

	peer->region.pid = pid;
	peer->watch.fd = -1;
	peer->used = true;
	dofi_list_add_tail(&r->peers, &peer->link);
	r->npeers++;
	return peer;
}

static unsigned int listed(void)
{
	unsigned int n = 0;

	DOFI_LIST_FOR(node, &r->peers)
	n++;
	ck_assert_uint_eq(n, r->npeers);
	return n;
}

/* --- the lock of our region --- */

START_TEST(a_lock_that_is_free)
{
	static const int failures[] = {0, 1, LOCK_TRIES - 1};
	int fd = t_capture(STDERR_FILENO);

	locked = failures[_i];
	r->lock_suspect = true;
	r->suspicion.noted = true;
	look_at_lock(r);
	ck_assert_int_eq(tries, failures[_i] + 1);
	ck_assert_int_eq(repairs, 1);
	ck_assert_int_eq(held + take_overs + notes, 0);
	ck_assert(!r->lock_suspect && !r->suspicion.noted);
	ck_assert_str_eq(t_captured(fd), "");
}
END_TEST

/* Nothing goes in or out, and each thread has left the place where it was. */
START_TEST(a_lock_that_a_dead_process_holds)
{
	int fd = t_capture(STDERR_FILENO);

	locked = -1;
	progress = progress_later = 7;
	out_ret = true;
	r->lock_suspect = true;
	look_at_lock(r);
	ck_assert_int_eq(tries, LOCK_TRIES);
	ck_assert_int_eq(notes, 1);
	ck_assert(r->lock_suspect && r->suspicion.noted);
	ck_assert_uint_eq(r->suspicion.progress, 7);
	ck_assert_int_eq(take_overs + repairs, 0);
	out_ret = false;
	look_at_lock(r);
	ck_assert_int_eq(take_overs + repairs, 0);
	out_ret = true;
	look_at_lock(r);
	ck_assert_int_eq(notes, 1);
	ck_assert_int_eq(take_overs, 1);
	ck_assert_int_eq(repairs, 1);
	ck_assert_int_eq(held, 0);
	ck_assert(!r->lock_suspect && !r->suspicion.noted);
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "test: released the lock"));
}
END_TEST

START_TEST(a_lock_whose_holder_goes_on)
{
	locked = -1;
	out_ret = true;
	r->lock_suspect = true;
	for (uint64_t i = 1; i < 4; i++) {
		progress = progress_later = i;
		look_at_lock(r);
		ck_assert_int_eq(notes, (int)i);
		ck_assert_uint_eq(r->suspicion.progress, i);
	}
	progress_later = 9; /* while the threads are looked at */
	look_at_lock(r);
	ck_assert_int_eq(take_overs + repairs, 0);
	ck_assert(r->lock_suspect);
	note_ret = false; /* the threads can't be read */
	look_at_lock(r);
	ck_assert(!r->suspicion.noted);
	look_at_lock(r);
	ck_assert_int_eq(notes, 5);
	ck_assert_int_eq(take_overs + repairs, 0);
}
END_TEST

/* Of this process, and of each living peer. */
START_TEST(processes_that_may_hold_the_lock)
{
	struct dofi_shm_peer *unknown;

	add(11);
	add(12)->dead = true;
	add(13)->used = false;
	unknown = add(14);
	unknown->unknown = true;
	ck_assert(!note_threads(r, &r->suspicion.threads));
	ck_assert_int_eq(notes, 0);
	unknown->used = false;
	ck_assert(note_threads(r, &r->suspicion.threads));
	ck_assert_uint_eq(nnoted, 3);
	ck_assert_int_eq(noted[0], getpid());
	ck_assert_int_eq(noted[1], 11);
	ck_assert_int_eq(noted[2], 13);
	note_ret = false;
	ck_assert(!note_threads(r, &r->suspicion.threads));
}
END_TEST

/* --- entries that were claimed --- */

START_TEST(no_claims)
{
	int fd = t_capture(STDERR_FILENO);

	r->claims_suspect = true;
	look_at_claims(r);
	ck_assert_int_eq(notes, 0);
	ck_assert(!r->claims_suspect && !r->suspicion.noted);
	ck_assert_uint_eq(ndiscarded, 0);
	ck_assert_str_eq(t_captured(fd), "");
}
END_TEST

/* Only what is claimed when all threads have left their places belongs to the dead. */
START_TEST(claims_of_the_dead)
{
	int fd = t_capture(STDERR_FILENO);

	nclaims = 5;
	nclaimed = 5;
	r->claims_suspect = true;
	look_at_claims(r);
	ck_assert(r->claims_suspect && r->suspicion.noted);
	ck_assert_int_eq(notes, 1);
	ck_assert_uint_eq(ndiscarded, 0);
	nclaimed = 3;
	look_at_claims(r);
	ck_assert_uint_eq(nclaim_calls, 1);
	ck_assert_int_eq(notes, 1);
	ck_assert_uint_eq(ndiscarded, 0);
	ck_assert_uint_eq(r->suspicion.nclaims, 3);
	out_ret = true;
	look_at_claims(r);
	ck_assert_uint_eq(ndiscarded, 0);
	out_ret = false; /* one had slept with a claim */
	look_at_claims(r);
	out_ret = true;
	look_at_claims(r);
	ck_assert_uint_eq(ndiscarded, 0);
	look_at_claims(r);
	ck_assert_uint_eq(ndiscarded, 3);
	for (size_t i = 0; i < 3; i++)
		ck_assert_ptr_eq(discarded[i], &r->suspicion.claims[i]);
	ck_assert(!r->claims_suspect && !r->suspicion.noted);
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "test: passed over 3 commands"));
}
END_TEST

/* The list is closed up when the first one is gone. */
START_TEST(claims_that_end_meanwhile)
{
	nclaims = nclaimed = 2;
	out_ret = true;
	r->claims_suspect = true;
	look_at_claims(r);
	look_at_claims(r);
	ck_assert_uint_eq(ndiscarded, 1);
	ck_assert_ptr_eq(discarded[0], &r->suspicion.claims[1]);
	nclaimed = 0;
	look_at_claims(r);
	ck_assert_uint_eq(ndiscarded, 1);
	ck_assert(!r->claims_suspect);
}
END_TEST

/* A thread finishes its command and leaves while the threads are looked at. */
START_TEST(claims_that_end_during_the_look)
{
	nclaims = nclaimed = 3;
	r->claims_suspect = true;
	look_at_claims(r);
	out_ret = true;
	look_at_claims(r);
	committed_meanwhile = true;
	look_at_claims(r);
	ck_assert_uint_eq(ndiscarded, 0);
	ck_assert(!r->claims_suspect && !r->suspicion.noted);
}
END_TEST

START_TEST(claims_while_threads_cannot_be_read)
{
	nclaims = nclaimed = 3;
	note_ret = false;
	out_ret = true;
	r->claims_suspect = true;
	for (int i = 1; i < 3; i++) {
		look_at_claims(r);
		ck_assert_int_eq(notes, i);
		ck_assert_uint_eq(nclaim_calls, (size_t)i);
		ck_assert_uint_eq(ndiscarded, 0);
		ck_assert(r->claims_suspect);
	}
}
END_TEST

/* There may be more than were looked at. */
START_TEST(as_many_claims_as_there_is_room_for)
{
	nclaims = nclaimed = MAX_CLAIMS - (size_t)_i;
	out_ret = true;
	r->claims_suspect = true;
	look_at_claims(r);
	look_at_claims(r);
	ck_assert_uint_eq(ndiscarded, nclaims);
	ck_assert_int_eq(r->claims_suspect, !_i);
}
END_TEST

/* --- lost buffers --- */

START_TEST(everybody_is_idle)
{
	struct dofi_shm_peer *peer = add(11);

	ck_assert(all_idle(r));
	busy = true;
	busy_one = &r->own;
	ck_assert(!all_idle(r));
	busy_one = &peer->region;
	ck_assert(!all_idle(r));
	peer->used = false; /* it may still wait for an answer */
	ck_assert(!all_idle(r));
	peer->dead = true;
	ck_assert(all_idle(r));
	peer->dead = false;
	peer->unknown = true;
	ck_assert(all_idle(r));
	peer->used = true;
	ck_assert(!all_idle(r));
	busy = false;
	ck_assert(!all_idle(r));
}
END_TEST

START_TEST(buffers_are_refilled_when_all_are_idle)
{
	r->refills = 5;
	locked = -1;
	try_to_refill(r);
	ck_assert_uint_eq(r->refills, 4);
	ck_assert_int_eq(refill_calls, 0);
	locked = 0;
	busy = true;
	busy_one = &r->own;
	try_to_refill(r);
	ck_assert_uint_eq(r->refills, 3);
	ck_assert_int_eq(refill_calls, 0);
	ck_assert_int_eq(held, 0);
	busy = false;
	try_to_refill(r);
	ck_assert_uint_eq(r->refills, 2);
	ck_assert_int_eq(refill_calls, 1);
	ck_assert_int_eq(held, 0);
	refill_ret = true;
	try_to_refill(r);
	ck_assert_uint_eq(r->refills, 0);
	ck_assert_int_eq(held, 0);
}
END_TEST

/* --- what waits for the dead --- */

START_TEST(commands_come_back_when_no_thread_uses_them)
{
	struct dofi_shm_peer *first = add(11), *second = add(12);

	ck_assert(settle_commands(r, first)); /* there are none */
	ncommands_found = -ENOMEM;
	ck_assert(!settle_commands(r, first)); /* not known yet */
	ck_assert_int_eq(notes, 0);
	ncommands_found = 3;
	note_ret = false;
	ck_assert(!settle_commands(r, first));
	ck_assert_ptr_null(r->waits_for);
	note_ret = true;
	ck_assert(!settle_commands(r, first));
	ck_assert_ptr_eq(r->waits_for, first);
	ck_assert_uint_eq(nnoted, 1);
	ck_assert_int_eq(noted[0], getpid());
	ck_assert(!settle_commands(r, second)); /* one after the other */
	ck_assert(!settle_commands(r, first));
	ck_assert_uint_eq(ngiven, 0);
	out_ret = true;
	ck_assert(!settle_commands(r, second));
	ck_assert_int_eq(command_calls, 4);
	ck_assert(!settle_commands(r, first)); /* tries again */
	ck_assert_ptr_eq(r->waits_for, first);
	give_ret = true;
	ck_assert(settle_commands(r, first));
	ck_assert_uint_eq(ngiven, 3);
	ck_assert_ptr_null(r->waits_for);
	ck_assert(!settle_commands(r, second));
	ck_assert_ptr_eq(r->waits_for, second);
}
END_TEST

/* The program learns of what has ended so far. */
START_TEST(a_peer_is_settled_when_nothing_waits_for_it)
{
	struct dofi_shm_peer *peer = add(11);

	ck_assert(!settle(r, peer));
	ck_assert(!peer->settled);
	ck_assert_int_eq(kicks, 1);
	ck_assert_int_eq(command_calls, 0);
	settle_ret = true;
	ncommands_found = 1;
	ck_assert(!settle(r, peer));
	ck_assert(!peer->settled);
	r->waits_for = NULL;
	ncommands_found = 0;
	ck_assert(settle(r, peer));
	ck_assert(peer->settled);
	ck_assert_int_eq(kicks, 3);
}
END_TEST

/* --- steps --- */

START_TEST(a_death_starts_the_repair)
{
	struct dofi_shm_peer *peer = add(11), *other = add(12);
	int next;

	close(STDIN_FILENO); /* the first descriptor is one, too */
	next = next_fd();
	peer->watch.fd = __real_eventfd(1, EFD_CLOEXEC);
	ck_assert_int_eq(peer->watch.fd, STDIN_FILENO);
	other->watch.fd = __real_eventfd(0, EFD_CLOEXEC);
	add(13);
	r->suspicion.noted = true;
	bury_dead(r);
	ck_assert(peer->dead && !other->dead);
	ck_assert_int_eq(peer->watch.fd, -1);
	ck_assert_int_eq(next_fd(), next);
	ck_assert_int_eq(fills, 1);
	ck_assert(r->lock_suspect && r->claims_suspect && !r->suspicion.noted);
	ck_assert_uint_eq(r->refills, REFILL_TRIES);
	ck_assert(!peer->settled);
	bury_dead(r);
	ck_assert_int_eq(fills, 1);
	close(other->watch.fd);
}
END_TEST

/* The lock first, then the entries, then the buffers. */
START_TEST(the_order_of_a_repair)
{
	r->lock_suspect = r->claims_suspect = true;
	r->refills = 2;
	locked = -1;
	ck_assert(step(r));
	ck_assert_uint_eq(nclaim_calls, 0);
	ck_assert_int_eq(refill_calls, 0);
	ck_assert_int_eq(kicks, 0);
	locked = 0;
	nclaims = nclaimed = 1;
	ck_assert(step(r));
	ck_assert(!r->lock_suspect && r->claims_suspect);
	ck_assert_int_eq(refill_calls, 0);
	out_ret = true;
	tries = 0;
	ck_assert(step(r));
	ck_assert(r->claims_suspect);
	ck_assert_int_eq(refill_calls, 0);
	ck_assert(step(r));
	ck_assert(!r->claims_suspect);
	ck_assert_uint_eq(r->refills, 1);
	ck_assert_int_eq(refill_calls, 1);
	ck_assert_int_eq(kicks, 0);
	refill_ret = true;
	ck_assert(!step(r));
	ck_assert_int_eq(kicks, 1); /* calls that wait look once more */
	ck_assert(!step(r));
	ck_assert_int_eq(refill_calls, 2);
	ck_assert_int_eq(repairs, 1);
}
END_TEST

/* While one part is left, the thread looks again soon. */
START_TEST(each_part_of_a_repair)
{
	locked = -1;
	nclaims = nclaimed = 1;
	r->lock_suspect = _i == 0;
	r->claims_suspect = _i == 1;
	r->refills = _i == 2 ? 9 : 0;
	for (int i = 0; i < 3; i++)
		ck_assert(step(r));
	ck_assert_int_eq(kicks, 0);
}
END_TEST

START_TEST(what_is_left_of_the_dead)
{
	struct dofi_shm_peer *peer = add(11);

	add(12)->used = false; /* it lives */
	peer->dead = true;
	ck_assert(!step(r)); /* its connections are not over */
	ck_assert_int_eq(settles, 0);
	peer->used = false;
	ck_assert(step(r));
	ck_assert_int_eq(settles, 1);
	ck_assert_uint_eq(listed(), 2);
	settle_ret = true;
	ck_assert(!step(r));
	ck_assert(peer->settled);
	ck_assert_uint_eq(listed(), 2);
	ck_assert(!step(r));
	ck_assert_int_eq(settles, 2);
	peer->forgotten = true;
	ck_assert(!step(r));
	ck_assert_int_eq(settles, 2);
	ck_assert_uint_eq(listed(), 1);
	ck_assert_int_eq(closes, 1);
}
END_TEST

START_TEST(a_forgotten_peer_stays_until_it_is_settled)
{
	struct dofi_shm_peer *peer = add(11);

	peer->dead = peer->forgotten = true;
	peer->used = false;
	ck_assert(step(r));
	ck_assert_uint_eq(listed(), 1);
	settle_ret = true;
	ck_assert(!step(r));
	ck_assert_uint_eq(listed(), 0);
}
END_TEST

START_TEST(descriptors_that_are_watched)
{
	struct dofi_shm_peer *silent;
	int wait_ms;

	r->wake_fd = 40;
	add(11)->watch.fd = 41;
	add(12);
	add(13)->watch.fd = 0;
	ck_assert_uint_eq(watch_all(r, &wait_ms), 3);
	ck_assert_int_eq(wait_ms, -1);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(r->fds[i].events, POLLIN);
	ck_assert_int_eq(r->fds[0].fd, 40);
	ck_assert_int_eq(r->fds[1].fd, 41);
	ck_assert_int_eq(r->fds[2].fd, 0);
	/* poll would find a folder of /proc readable at any time */
	silent = add(14);
	silent->watch = (struct dofi_process_watch){.fd = 42, .needs_look = true};
	ck_assert_uint_eq(watch_all(r, &wait_ms), 3);
	ck_assert_int_eq(wait_ms, LOOK_FOR_ENDS_MS);
}
END_TEST

/* It looks again soon while there is something to do. */
START_TEST(the_thread_goes_on_until_nothing_is_left)
{
	wake(r);
	r->refills = 3;
	rounds = 1;
	ck_assert_ptr_null(repair(r));
	ck_assert_uint_eq(r->refills, 0);
	ck_assert_int_eq(refill_calls, 3);
	ck_assert(!was_woken());
	ck_assert(dofi_trylock(&r->lock)); /* nobody holds it */
	dofi_unlock(&r->lock);
	ck_assert_ptr_null(repair(r)); /* it was told to stop */
	ck_assert_int_eq(refill_calls, 3);
}
END_TEST

/* --- the list of peers --- */

static char region_name[32], no_path[] = "/x";

START_TEST(peers_that_are_found_again)
{
	static const struct {
		const char *region, *name;
		bool forgotten, dead, same;
	} names[] = {
		{"1:0:2", "fi_shm://1:0:2", true, false, true},
		{"1:0:2", "fi_shm:///1:0:2", true, false, true},
		{"1:0:2", "/1:0:2", true, false, true},
		{"1:0:2", "1:0:2", true, false, false},
		{"1:0:2", ":0:2", true, false, false},
		{"1:0:2", "fi_shm://11:0:2", true, false, false},
		{"1:0:2", "fi_shm://1:0:3", true, false, false},
		{"1:0:2", "fi_shm://1:0:2", false, false, false},
		{"1:0:2", "fi_shm://1:0:2", true, true, false},
		{"", "fi_shm://", true, false, false},
		{NULL, "fi_shm://", true, false, false},
	};
	struct dofi_shm_peer *peer = add(11);

	peer->forgotten = names[_i].forgotten;
	peer->dead = names[_i].dead;
	if (names[_i].region)
		peer->region.name = strcpy(region_name, names[_i].region);
	ck_assert_ptr_eq(find(r, names[_i].name), names[_i].same ? peer : NULL);
}
END_TEST

START_TEST(a_peer_that_is_watched_again)
{
	struct dofi_shm_peer *peer = add(11);

	add(12);
	peer->region.name = strcpy(region_name, "1:0:2");
	peer->forgotten = true;
	peer->used = false;
	ck_assert_ptr_eq(dofi_shm_repair_watch(&ia, (const uint8_t *)"fi_shm://1:0:2"), peer);
	ck_assert(peer->used && !peer->forgotten);
	ck_assert(was_woken());
	ck_assert_int_eq(opens, 0);
	ck_assert_uint_eq(listed(), 2);
	dofi_shm_repair_use(&ia, peer, false);
	ck_assert(!peer->used);
	ck_assert(was_woken());
	dofi_shm_repair_use(&ia, peer, true);
	ck_assert(peer->used);
	ck_assert(!was_woken());
	dofi_shm_repair_forget(&ia, peer, false);
	ck_assert(!peer->used && peer->forgotten);
	ck_assert(was_woken());
	ck_assert_uint_eq(listed(), 2);
	ck_assert(dofi_trylock(&r->lock));
	dofi_unlock(&r->lock);
}
END_TEST

/* Its death is not noticed, or it has closed its endpoint. */
START_TEST(peers_that_are_forgotten_at_once)
{
	struct dofi_shm_peer *peer = add(_i == 2 ? getpid() : 11);
	int next = next_fd();

	add(12);
	peer->unknown = _i == 1;
	peer->watch.fd = __real_eventfd(0, EFD_CLOEXEC);
	r->waits_for = peer;
	dofi_shm_repair_forget(&ia, peer, _i == 0);
	ck_assert_uint_eq(listed(), 1);
	ck_assert_int_eq(closes, 1);
	ck_assert_int_eq(next_fd(), next);
	ck_assert_ptr_null(r->waits_for);
	ck_assert(was_woken());
}
END_TEST

START_TEST(another_peer_that_is_forgotten)
{
	struct dofi_shm_peer *peer = add(11), *other = add(12);

	r->waits_for = other;
	close(STDIN_FILENO);
	peer->watch.fd = dup(STDERR_FILENO);
	ck_assert_int_eq(peer->watch.fd, STDIN_FILENO);
	dofi_shm_repair_forget(&ia, peer, true);
	ck_assert_ptr_eq(r->waits_for, other);
	ck_assert_int_eq(fcntl(STDIN_FILENO, F_GETFD), -1);
}
END_TEST

/* Without a repair, and for a peer that is not watched. */
START_TEST(nothing_to_watch)
{
	struct dofi_shm_peer *peer = add(11);

	dofi_shm_repair_use(&ia, NULL, false);
	dofi_shm_repair_forget(&ia, NULL, true);
	ia.shm_repair = NULL;
	ck_assert_ptr_null(dofi_shm_repair_watch(&ia, (const uint8_t *)"fi_shm://1:0:2"));
	dofi_shm_repair_use(&ia, peer, false);
	dofi_shm_repair_forget(&ia, peer, true);
	dofi_shm_repair_close(&ia);
	ck_assert(peer->used && !peer->forgotten);
	ck_assert(!was_woken());
	ck_assert_uint_eq(listed(), 1);
}
END_TEST

START_TEST(as_many_peers_as_can_be_watched)
{
	const uint8_t *name = (const uint8_t *)"fi_shm://1:0:2";

	open_ret = -ENOENT;
	r->npeers = MAX_WATCHED - 1;
	no_memory = true;
	ck_assert_ptr_null(dofi_shm_repair_watch(&ia, name));
	no_memory = false;
	ck_assert_uint_eq(r->npeers, MAX_WATCHED - 1);
	ck_assert_ptr_nonnull(dofi_shm_repair_watch(&ia, name));
	ck_assert_uint_eq(r->npeers, MAX_WATCHED);
	ck_assert_ptr_null(dofi_shm_repair_watch(&ia, name));
	ck_assert_int_eq(opens, 1);
}
END_TEST

/* --- who a peer is --- */

enum { NO_REGION, OTHER_LAYOUT, OURS, NO_WATCH, NOT_MAPPED, WATCHED, KINDS };

/* A file of shared memory that this process has mapped. */
static void *map_own_file(void)
{
	struct stat st;
	char path[64];
	void *memory;
	int fd;

	snprintf(region_name, sizeof(region_name), "dat-ofi-steps-%d", (int)getpid());
	snprintf(path, sizeof(path), "/dev/shm/%s", region_name);
	fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(memory, MAP_FAILED);
	close(fd);
	ck_assert_int_eq(unlink(path), 0);
	opened.inode = st.st_ino;
	opened.name = region_name;
	return memory;
}

static pid_t start_child(void)
{
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	return pid;
}

START_TEST(peers_that_can_be_watched)
{
	static const int errs[] = {ENOENT, EPROTO, 0, EMFILE, ESRCH, 0};
	struct dofi_shm_peer peer = {.watch = {.fd = 77}};
	int fd = t_capture(STDERR_FILENO), next;
	char want[128];
	pid_t child;

	map_own_file();
	child = start_child();
	opened.pid = _i == OURS ? getpid() : child;
	close(STDIN_FILENO); /* the first descriptor is one, too */
	next = next_fd();
	open_ret = _i == NO_REGION ? -ENOENT : 0;
	if (_i == OTHER_LAYOUT)
		opened.layout = (const void *)no_path;
	no_watch = _i == NO_WATCH;
	opened.inode += _i == NOT_MAPPED;
	identify(r, &peer, "fi_shm://x");
	ck_assert_int_eq(peer.unknown, errs[_i] != 0);
	if (_i == WATCHED) {
		ck_assert_int_eq(peer.watch.fd, next);
		close(next);
	} else {
		ck_assert_int_eq(peer.watch.fd, -1);
		ck_assert_int_eq(next_fd(), next);
	}
	ck_assert_int_eq(is_ours(&peer), _i == OURS);
	snprintf(want, sizeof(want), "test: the process of the peer fi_shm://x is not watched: %s",
		 strerror(errs[_i]));
	ck_assert_int_eq(strstr(t_captured(fd), want) != NULL, errs[_i] != 0);
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

START_TEST(mappings_of_a_process)
{
	struct dofi_shm_map other;
	char longer[40];
	int next;

	map_own_file();
	next = next_fd();
	ck_assert(has_mapped(getpid(), &opened));
	other = opened;
	other.inode++;
	ck_assert(!has_mapped(getpid(), &other));
	other = opened;
	snprintf(longer, sizeof(longer), "%s0", region_name);
	other.name = longer;
	ck_assert(!has_mapped(getpid(), &other));
	ck_assert(!has_mapped(99999999, &opened));
	ck_assert_int_eq(next_fd(), next);
}
END_TEST

START_TEST(a_thread_that_cannot_be_woken)
{
	int fd = t_capture(STDERR_FILENO);
	char want[128];

	wake(r);
	r->wake_fd = -1;
	wake(r);
	snprintf(want, sizeof(want), "test: can't wake the thread that repairs shared memory: %s",
		 strerror(EBADF));
	ck_assert_ptr_nonnull(strstr(t_captured(fd), want));
}
END_TEST

/* --- begin and end --- */

enum { WITHOUT_MEMORY, UNKNOWN_LAYOUT, OF_ANOTHER, WITHOUT_EVENTFD, WITHOUT_THREAD, WITHOUT_ALL };

START_TEST(a_repair_that_cannot_start)
{
	static const char *const why[] = {"Cannot allocate memory", "its layout is not known",
					  "No such process", "Too many open files in system",
					  "Resource temporarily unavailable"};
	int fd = t_capture(STDERR_FILENO), next = next_fd();
	const char *text;

	ia.shm_repair = NULL;
	ia.quirks = DOFI_QUIRK_DEAD_LOCKS;
	opened.pid = _i == OF_ANOTHER ? getppid() : getpid();
	open_ret = _i == UNKNOWN_LAYOUT ? -EPROTO : 0;
	no_eventfd = _i == WITHOUT_EVENTFD;
	no_thread = _i == WITHOUT_THREAD;
	no_memory = _i == WITHOUT_MEMORY;
	dofi_shm_repair_open(&ia, (const uint8_t *)"fi_shm://1:0:2");
	no_memory = false;
	ck_assert_ptr_null(ia.shm_repair);
	ck_assert_ptr_null(last); /* it is freed */
	ck_assert_int_eq(closes, _i != WITHOUT_MEMORY);
	ck_assert_int_eq(next_fd(), next);
	text = t_captured(fd);
	ck_assert_ptr_nonnull(strstr(text, "test: the shared memory can't be watched"));
	ck_assert_ptr_nonnull(strstr(text, why[_i]));
}
END_TEST

START_TEST(a_repair_that_starts_and_ends)
{
	int fd = t_capture(STDERR_FILENO);

	close(STDIN_FILENO); /* the first descriptor is one, too */
	ia.shm_repair = NULL;
	dofi_shm_repair_open(&ia, (const uint8_t *)"fi_shm://1:0:2");
	ck_assert_ptr_null(ia.shm_repair); /* the fabric needs none */
	ck_assert_int_eq(opens, 0);
	ia.quirks = ~UINT64_C(0);
	opened.pid = getpid();
	dofi_shm_repair_open(&ia, (const uint8_t *)"fi_shm://1:0:2");
	r = ia.shm_repair;
	ck_assert_ptr_nonnull(r);
	ck_assert_ptr_eq(r->ia, &ia);
	ck_assert_int_eq(r->wake_fd, STDIN_FILENO);
	add(11);
	add(12)->watch.fd = dup(STDERR_FILENO);
	dofi_shm_repair_close(&ia);
	ck_assert(told_to_stop && ended);
	ck_assert_ptr_null(ia.shm_repair);
	ck_assert_ptr_null(last);
	ck_assert_int_eq(closes, 3);
	ck_assert_int_eq(frees, 2);
	ck_assert_int_eq(next_fd(), STDIN_FILENO);
	ck_assert_str_eq(t_captured(fd), "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shm_steps");
	TCase *tcase = tcase_create("shm_steps");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_loop_test(tcase, a_lock_that_is_free, 0, 3);
	tcase_add_test(tcase, a_lock_that_a_dead_process_holds);
	tcase_add_test(tcase, a_lock_whose_holder_goes_on);
	tcase_add_test(tcase, processes_that_may_hold_the_lock);
	tcase_add_test(tcase, no_claims);
	tcase_add_test(tcase, claims_of_the_dead);
	tcase_add_test(tcase, claims_that_end_meanwhile);
	tcase_add_test(tcase, claims_that_end_during_the_look);
	tcase_add_test(tcase, claims_while_threads_cannot_be_read);
	tcase_add_loop_test(tcase, as_many_claims_as_there_is_room_for, 0, 2);
	tcase_add_test(tcase, everybody_is_idle);
	tcase_add_test(tcase, buffers_are_refilled_when_all_are_idle);
	tcase_add_test(tcase, commands_come_back_when_no_thread_uses_them);
	tcase_add_test(tcase, a_peer_is_settled_when_nothing_waits_for_it);
	tcase_add_test(tcase, a_death_starts_the_repair);
	tcase_add_test(tcase, the_order_of_a_repair);
	tcase_add_loop_test(tcase, each_part_of_a_repair, 0, 3);
	tcase_add_test(tcase, what_is_left_of_the_dead);
	tcase_add_test(tcase, a_forgotten_peer_stays_until_it_is_settled);
	tcase_add_test(tcase, descriptors_that_are_watched);
	tcase_add_test(tcase, the_thread_goes_on_until_nothing_is_left);
	tcase_add_loop_test(tcase, peers_that_are_found_again, 0, 11);
	tcase_add_test(tcase, a_peer_that_is_watched_again);
	tcase_add_loop_test(tcase, peers_that_are_forgotten_at_once, 0, 3);
	tcase_add_test(tcase, another_peer_that_is_forgotten);
	tcase_add_test(tcase, nothing_to_watch);
	tcase_add_test(tcase, as_many_peers_as_can_be_watched);
	tcase_add_loop_test(tcase, peers_that_can_be_watched, 0, KINDS);
	tcase_add_test(tcase, mappings_of_a_process);
	tcase_add_test(tcase, a_thread_that_cannot_be_woken);
	tcase_add_loop_test(tcase, a_repair_that_cannot_start, 0, WITHOUT_ALL);
	tcase_add_test(tcase, a_repair_that_starts_and_ends);
	return t_run(suite);
}
