/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Copies from and to the memory of another process, and processes that are not the one meant. */
#include "t_hooks.h"
#include "unit.h"

#include "base/process_watch.h"
#include "memory/remote_copy.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>

#define SIZE ((3u << 20) + 4096u) /* several calls of the kernel */

/* What both processes see; the other one's memory is among it, so that it can be looked at. */
static struct {
	struct dofi_badge badge;
	_Atomic int is_ready, stop;
	_Atomic uint64_t seen, wrong;
	_Alignas(4096) uint8_t memory[SIZE];
} * shared;

static pid_t other;
static struct dofi_remote_process process;
static uint8_t *local;

static void wait_until(_Atomic int *flag)
{
	while (!atomic_load(flag))
		sched_yield();
}

/* Nothing outlives the test. */
static pid_t start(void (*body)(void))
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	body();
	_exit(EXIT_SUCCESS);
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

static void show_badge(void)
{
	if (dofi_badge_show(&shared->badge))
		_exit(EXIT_FAILURE);
	atomic_store(&shared->is_ready, 1);
	for (;;)
		pause();
}

static void setup(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	ck_assert_ptr_ne(shared, MAP_FAILED);
	local = malloc(SIZE);
	ck_assert_ptr_nonnull(local);
	for (size_t i = 0; i < SIZE; i++)
		local[i] = (uint8_t)(i * 7 + i / 256);
	other = start(show_badge);
	wait_until(&shared->is_ready);
	if (dofi_remote_process_find(other, &shared->badge, &process) == -EPERM)
		t_skip("the kernel allows no copies between processes");
	ck_assert_int_eq(process.pid, other);
}

static void teardown(void)
{
	end(other);
	munmap(shared, sizeof(*shared));
	free(local);
}

/* --- the parts of each write behind the badge --- */

#define WRITES 4

static struct {
	struct iovec to[2];
	unsigned long nto;
} written[WRITES];
static size_t nwritten;

T_STAND_IN ssize_t process_vm_writev(pid_t pid, const struct iovec *from, unsigned long nfrom,
				     const struct iovec *to, unsigned long nto, unsigned long flags)
{
	if (nwritten < WRITES && nto - 1 <= 2) {
		written[nwritten].nto = nto - 1;
		memcpy(written[nwritten].to, to + 1, (nto - 1) * sizeof(*to));
	}
	nwritten++;
	return syscall(SYS_process_vm_writev, pid, from, nfrom, to, nto, flags);
}

/* The next reads return this and do nothing, unless it is 1. */
static ssize_t read_ret = 1;
static int nreads;

T_STAND_IN ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long nto,
				    const struct iovec *from, unsigned long nfrom,
				    unsigned long flags)
{
	nreads++;
	if (read_ret != 1)
		return read_ret;
	return syscall(SYS_process_vm_readv, pid, to, nto, from, nfrom, flags);
}

/* --- what a badge is made of --- */

static int randoms = -1; /* how many calls succeed before one fails; -1: all */
static bool no_advice;
static void *advised;

/* Two threads that make a badge: how many are at it, and at most. */
static _Atomic pid_t second;
static _Atomic int inside, most_inside;

static bool sleeps(pid_t tid)
{
	char path[64], line[256] = "";
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	stat = fopen(path, "re");
	if (!stat || !fgets(line, sizeof(line), stat))
		abort();
	fclose(stat);
	return strstr(line, ") S ");
}

/* The first one goes on when the second one waits for it, or is here as well. */
static void meet_second(void)
{
	int n = atomic_fetch_add(&inside, 1) + 1;

	if (n > atomic_load(&most_inside))
		atomic_store(&most_inside, n);
	while (n == 1 && syscall(SYS_gettid) != second && inside == 1 && !sleeps(second))
		sched_yield();
	atomic_fetch_sub(&inside, 1);
}

T_STAND_IN ssize_t getrandom(void *to, size_t size, unsigned int flags)
{
	if (flags) /* it would not wait for the kernel's first entropy */
		abort();
	if (second)
		meet_second();
	if (randoms >= 0 && !randoms--)
		return -1;
	return syscall(SYS_getrandom, to, size, flags);
}

T_STAND_IN int madvise(void *memory, size_t size, int advice)
{
	advised = memory;
	errno = EINVAL;
	return no_advice ? -1 : (int)syscall(SYS_madvise, memory, size, advice);
}

static uint64_t there(size_t at)
{
	return (uintptr_t)(shared->memory + at);
}

static void is_part(size_t write, size_t part, size_t at, size_t size)
{
	ck_assert_uint_eq((uintptr_t)written[write].to[part].iov_base, there(at));
	ck_assert_uint_eq(written[write].to[part].iov_len, size);
}

static const size_t sizes[] = {1, 7, 8, 9, 15, 16, 4096, 65537, 1u << 20, (1u << 20) + 8, SIZE - 3};

#define SIZES (int)(sizeof(sizes) / sizeof(sizes[0]))

START_TEST(writes_and_reads)
{
	size_t size = sizes[_i];
	struct iovec iov = {local, size};
	uint8_t *back = calloc(1, size);

	ck_assert_ptr_nonnull(back);
	ck_assert_int_eq(dofi_remote_write(&process, &iov, 0, there(1), size), 0);
	ck_assert_int_eq(memcmp(shared->memory + 1, local, size), 0);
	ck_assert_uint_eq(shared->memory[0], 0);
	ck_assert_uint_eq(shared->memory[1 + size], 0);
	iov.iov_base = back;
	ck_assert_int_eq(dofi_remote_read(&process, &iov, 0, there(1), size), 0);
	ck_assert_int_eq(memcmp(back, local, size), 0);
	free(back);
}
END_TEST

/* More of them than one call takes, some empty, and only what lies behind the first bytes. */
START_TEST(segments)
{
	struct iovec iov[40];
	size_t size = 0, skip = 5;

	for (size_t i = 0; i < 40; i++) {
		iov[i] = (struct iovec){local + size, i % 5 ? 3 * i : 0};
		size += iov[i].iov_len;
	}
	ck_assert_int_eq(dofi_remote_write(&process, iov, skip, there(0), size - skip), 0);
	ck_assert_int_eq(memcmp(shared->memory, local + skip, size - skip), 0);
	ck_assert_uint_eq(shared->memory[size - skip], 0);
	memset(local, 0, skip + 1);
	ck_assert_int_eq(dofi_remote_read(&process, iov, skip, there(0), size - skip), 0);
	ck_assert_int_eq(memcmp(shared->memory, local + skip, size - skip), 0);
	for (size_t i = 0; i < skip; i++)
		ck_assert_uint_eq(local[i], 0);
}
END_TEST

static const struct {
	size_t first, second, skip, size;
} ends[] = {{4, 100, 0, 10},
	    {4, 100, 3, 10},
	    {4, 100, 50, 10},
	    {4, 100, 0, 4},
	    {1u << 19, 1u << 21, 0, (1u << 20) + 100},
	    {1u << 19, 1u << 21, 100, (1u << 21) + 1}};

/* Within a segment that is longer than what is left. */
START_TEST(a_copy_ends_where_it_should)
{
	size_t first = ends[_i].first, skip = ends[_i].skip, size = ends[_i].size;
	struct iovec iov[2] = {{local, first}, {local + first, ends[_i].second}};

	memset(shared->memory, 1, SIZE);
	ck_assert_int_eq(dofi_remote_write(&process, iov, skip, there(8), size), 0);
	ck_assert_int_eq(memcmp(shared->memory + 8, local + skip, size), 0);
	for (size_t i = 0; i < 8; i++) {
		ck_assert_uint_eq(shared->memory[i], 1);
		ck_assert_uint_eq(shared->memory[8 + size + i], 1);
	}
	memset(local, 2, SIZE);
	ck_assert_int_eq(dofi_remote_read(&process, iov, skip, there(8), size), 0);
	ck_assert_int_eq(memcmp(shared->memory + 8, local + skip, size), 0);
	for (size_t i = 0; i < 8; i++)
		ck_assert_uint_eq(local[skip + size + i], 2);
	for (size_t i = 0; i < skip; i++)
		ck_assert_uint_eq(local[i], 2);
}
END_TEST

/* Pieces in any order of their addresses. One that is not mapped there is an error. */
START_TEST(pieces)
{
	struct iovec to[DOFI_REMOTE_PIECES], from[DOFI_REMOTE_PIECES];
	uint8_t *back = calloc(DOFI_REMOTE_PIECES, 5000);
	size_t size = 0;

	ck_assert_ptr_nonnull(back);
	memcpy(shared->memory, local, SIZE);
	for (size_t i = 0; i < DOFI_REMOTE_PIECES; i++) {
		to[i] = (struct iovec){back + size, 1 + 300 * i};
		from[i] = (struct iovec){shared->memory + 7000 * (DOFI_REMOTE_PIECES - i),
					 to[i].iov_len};
		size += to[i].iov_len;
	}
	ck_assert_int_eq(dofi_remote_read_pieces(&process, to, from, DOFI_REMOTE_PIECES), 0);
	for (size_t i = 0; i < DOFI_REMOTE_PIECES; i++)
		ck_assert_int_eq(memcmp(to[i].iov_base, from[i].iov_base, to[i].iov_len), 0);
	ck_assert_uint_eq(back[size], 0);
	from[3].iov_base = (void *)(uintptr_t)4096;
	ck_assert_int_eq(dofi_remote_read_pieces(&process, to, from, DOFI_REMOTE_PIECES), -EFAULT);
	free(back);
}
END_TEST

/* --- a flag at the end --- */

#define FLAGGED 3000u /* bytes before it */
#define ROUNDS  2000u

/* Whoever sees the flag sees all that was written before it. */
static void poll_flag(void)
{
	volatile uint64_t *flag = (volatile uint64_t *)(shared->memory + FLAGGED);

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		while (*flag != round)
			sched_yield();
		atomic_thread_fence(memory_order_acquire);
		for (size_t i = 0; i < FLAGGED; i++)
			if (shared->memory[i] != (uint8_t)round)
				atomic_fetch_add(&shared->wrong, 1);
		atomic_store(&shared->seen, round);
	}
}

START_TEST(the_last_word_lands_last)
{
	pid_t poller = start(poll_flag);
	struct iovec iov = {local, FLAGGED + sizeof(uint64_t)};

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		memset(local, (int)(uint8_t)round, FLAGGED);
		memcpy(local + FLAGGED, &round, sizeof(round));
		ck_assert_int_eq(dofi_remote_write(&process, &iov, 0, there(0), iov.iov_len), 0);
		while (atomic_load(&shared->seen) != round)
			sched_yield();
	}
	ck_assert_int_eq(waitpid(poller, NULL, 0), poller);
	ck_assert_uint_eq(atomic_load(&shared->wrong), 0);
}
END_TEST

/*
 * The last word is aligned and comes from one segment: processors and the kernel store no other
 * word as a whole.
 */
START_TEST(the_last_word_is_whole)
{
	static const struct {
		size_t at, size, length; /* of the write and of its last segment */
		size_t word;             /* 0: the write is one */
	} cases[] = {
		{16, 1, 1, 0},  {16, 2, 2, 0},   {16, 4, 4, 0},   {16, 8, 8, 0},
		{17, 1, 1, 0},  {16, 3, 3, 1},   {16, 6, 6, 2},   {17, 2, 2, 1},
		{20, 8, 8, 4},  {16, 12, 12, 4}, {16, 13, 13, 1}, {16, 24, 24, 8},
		{16, 24, 4, 4}, {16, 24, 5, 4},  {16, 24, 1, 1},  {20, 12, 12, 8},
	};
	const size_t at = cases[_i].at, size = cases[_i].size, length = cases[_i].length,
		     word = cases[_i].word;
	struct iovec iov[] = {{local, size - length}, {local + size - length, length}};

	ck_assert_int_eq(dofi_remote_write(&process, iov, 0, there(at), size), 0);
	ck_assert_uint_eq(nwritten, 1);
	ck_assert_uint_eq(written[0].nto, word ? 2 : 1);
	is_part(0, 0, at, size - word);
	if (word)
		is_part(0, 1, at + size - word, word);
	ck_assert_mem_eq(shared->memory + at, local, size);
}
END_TEST

/* Only the last call stores the last word of the memory. */
START_TEST(one_call_stores_the_last_word)
{
	struct iovec many[17];

	for (size_t i = 0; i < 17; i++)
		many[i] = (struct iovec){local + 9 * i, 9};
	nwritten = 0;
	ck_assert_int_eq(dofi_remote_write(&process, many, 0, there(0), (size_t)17 * 9), 0);
	ck_assert_uint_eq(nwritten, 2);
	ck_assert_uint_eq(written[0].nto, 1);
	is_part(0, 0, 0, (size_t)16 * 9);
	ck_assert_uint_eq(written[1].nto, 2);
	is_part(1, 0, (size_t)16 * 9, 8);
	is_part(1, 1, (size_t)16 * 9 + 8, 1);
}
END_TEST

/* --- processes that are not meant --- */

/* Neither side's memory is touched. */
static void is_untouched(const struct dofi_remote_process *wrong)
{
	struct iovec iov = {local, 64};
	uint8_t before[64];

	memcpy(before, local, sizeof(before));
	ck_assert_int_eq(dofi_remote_write(wrong, &iov, 0, there(0), 64), -ESRCH);
	for (size_t i = 0; i < 64; i++)
		ck_assert_uint_eq(shared->memory[i], 0);
	memset(shared->memory, 0xa5, 64);
	ck_assert_int_eq(dofi_remote_read(wrong, &iov, 0, there(0), 64), -ESRCH);
	ck_assert_int_eq(dofi_remote_read_pieces(wrong, &iov,
						 &(struct iovec){shared->memory, iov.iov_len}, 1),
			 -ESRCH);
	ck_assert_int_eq(memcmp(before, local, sizeof(before)), 0);
}

static void wait_for_stop(void)
{
	wait_until(&shared->stop);
}

/* As if the number of the dead process had been given to one that has memory at that address. */
START_TEST(a_number_that_is_used_again)
{
	pid_t stranger = start(wait_for_stop);
	struct dofi_remote_process wrong = process, found = {0};

	wrong.pid = stranger;
	is_untouched(&wrong);
	ck_assert_int_eq(dofi_remote_process_find(stranger, &process.badge, &found), -ESRCH);
	ck_assert_int_eq(found.pid, 0);
	end(stranger);
}
END_TEST

static void fork_and_wait(void)
{
	struct dofi_badge badge;

	if (dofi_badge_show(&badge))
		_exit(EXIT_FAILURE);
	shared->badge = badge;
	atomic_store(&shared->seen, (uint64_t)start(wait_for_stop));
	wait_for_stop();
}

/* A child of the process has the same addresses. */
START_TEST(a_child_of_the_process)
{
	pid_t parent = start(fork_and_wait);
	struct dofi_remote_process found, wrong;

	while (!atomic_load(&shared->seen))
		sched_yield();
	ck_assert_int_eq(dofi_remote_process_find(parent, &shared->badge, &found), 0);
	wrong = found;
	wrong.pid = (pid_t)atomic_load(&shared->seen);
	is_untouched(&wrong);
	kill(wrong.pid, SIGKILL);
	end(parent);
}
END_TEST

START_TEST(another_badge)
{
	struct dofi_badge forged = process.badge;
	struct dofi_remote_process found;

	forged.bytes[3] ^= 1;
	ck_assert_int_eq(dofi_remote_process_find(other, &forged, &found), -ESRCH);
	forged = process.badge;
	forged.address += 1u << 20;
	ck_assert_int_eq(dofi_remote_process_find(other, &forged, &found), -ESRCH);
	forged.address = 0;
	ck_assert_int_eq(dofi_remote_process_find(other, &forged, &found), -ESRCH);
	ck_assert_int_eq(dofi_remote_process_find(0, &process.badge, &found), -ESRCH);
	ck_assert_int_eq(dofi_remote_process_find(-1, &process.badge, &found), -ESRCH);
}
END_TEST

START_TEST(each_process_has_its_own_badge)
{
	struct dofi_badge ours, again;

	ck_assert_int_eq(dofi_badge_show(&ours), 0);
	ck_assert_int_eq(dofi_badge_show(&again), 0);
	ck_assert_int_eq(memcmp(&ours, &again, sizeof(ours)), 0);
	/* Thread Sanitizer chooses all addresses itself. */
	ck_assert_int_ne(memcmp(ours.bytes, process.badge.bytes, DOFI_BADGE), 0);
}
END_TEST

static void show_badge_in_child(void)
{
	if (dofi_badge_show(&shared->badge))
		_exit(EXIT_FAILURE);
	_exit(EXIT_SUCCESS);
}

START_TEST(a_child_has_a_badge_of_its_own)
{
	struct dofi_badge ours;
	int status;

	ck_assert_int_eq(dofi_badge_show(&ours), 0);
	ck_assert_int_gt(waitpid(start(show_badge_in_child), &status, 0), 0);
	ck_assert_int_eq(status, 0);
	ck_assert_int_ne(memcmp(ours.bytes, shared->badge.bytes, DOFI_BADGE), 0);
}
END_TEST

#ifndef __SANITIZE_THREAD__ /* it chooses all addresses itself */

#define CHILDREN 16

static void show_badge_and_end(void)
{
	struct dofi_badge badge;

	if (!dofi_badge_show(&badge))
		atomic_store(&shared->seen, badge.address);
	_exit(EXIT_SUCCESS);
}

/* The kernel would give the same address to processes that have the same memory. */
START_TEST(the_address_of_a_badge_is_random)
{
	uint64_t addresses[CHILDREN], page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t highest = 0;
	int same = 0;

	for (int i = 0; i < CHILDREN; i++) {
		atomic_store(&shared->seen, 0);
		ck_assert_int_gt(waitpid(start(show_badge_and_end), NULL, 0), 0);
		addresses[i] = atomic_load(&shared->seen);
		ck_assert_uint_ne(addresses[i], 0);
		ck_assert_uint_eq(addresses[i] % page, 0);
		if (addresses[i] > highest)
			highest = addresses[i];
		for (int j = 0; j < i; j++)
			if (addresses[j] == addresses[i]) {
				same++;
				break;
			}
	}
	/* Where memory is mapped already, as a sanitizer's, the kernel chooses. */
	ck_assert_int_lt(same, CHILDREN * 3 / 4);
	if (sizeof(void *) == 8)
		ck_assert_uint_gt(highest, UINT32_MAX);
}
END_TEST

#endif

START_TEST(a_process_without_memory_for_a_badge)
{
	struct dofi_badge badge = {.address = 1};
	struct rlimit before, none;
	int ret;

	ck_assert_int_eq(getrlimit(RLIMIT_AS, &before), 0);
	none = before;
	none.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &none), 0);
	ret = dofi_badge_show(&badge);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &before), 0);
	ck_assert_int_eq(ret, -ENOMEM);
	ck_assert_uint_eq(badge.address, 1);
	ck_assert_int_eq(dofi_badge_show(&badge), 0); /* it tries again */
	ck_assert_uint_gt(badge.address, 1);
}
END_TEST

/* A page without random bytes, or that children inherit, is no badge. It is unmapped. */
START_TEST(a_page_that_is_no_badge)
{
	struct dofi_badge badge = {.address = 1};
	unsigned char there_it_is;

	randoms = _i < 2 ? _i : -1;
	no_advice = _i == 2;
	ck_assert_int_eq(dofi_badge_show(&badge), -ENOMEM);
	ck_assert_uint_eq(badge.address, 1);
	ck_assert_int_eq(advised != NULL, _i > 0);
	if (advised) {
		ck_assert_int_eq(mincore(advised, 1, &there_it_is), -1);
		ck_assert_int_eq(errno, ENOMEM);
	}
	no_advice = false;
	ck_assert_int_eq(dofi_badge_show(&badge), 0);
	ck_assert_uint_gt(badge.address, 1);
}
END_TEST

static void *show_second(void *badge)
{
	atomic_store(&second, (pid_t)syscall(SYS_gettid));
	while (!atomic_load(&most_inside))
		sched_yield();
	return dofi_badge_show(badge) ? badge : NULL;
}

/* A process has one badge, whichever of its threads is the first that needs it. */
START_TEST(two_threads_show_one_badge)
{
	struct dofi_badge badges[2];
	pthread_t thread;
	void *failed;

	ck_assert_int_eq(pthread_create(&thread, NULL, show_second, &badges[1]), 0);
	while (!atomic_load(&second))
		sched_yield();
	ck_assert_int_eq(dofi_badge_show(&badges[0]), 0);
	ck_assert_int_eq(pthread_join(thread, &failed), 0);
	ck_assert_ptr_null(failed);
	ck_assert_int_eq(most_inside, 1);
	ck_assert_uint_eq(badges[0].address, badges[1].address);
}
END_TEST

/* Nothing is asked about what is no process, or has no badge. */
START_TEST(processes_that_cannot_be_found)
{
	struct dofi_badge none = {0};
	struct dofi_remote_process found = {0};

	nreads = 0;
	ck_assert_int_eq(dofi_remote_process_find(other, &none, &found), -ESRCH);
	ck_assert_int_eq(dofi_remote_process_find(0, &process.badge, &found), -ESRCH);
	ck_assert_int_eq(dofi_remote_process_find(-1, &process.badge, &found), -ESRCH);
	ck_assert_int_eq(nreads, 0);
	ck_assert_int_ne(dofi_remote_process_find(1, &process.badge, &found), 0);
	ck_assert_int_eq(nreads, 1); /* the first process of a container may be a peer */
	ck_assert_int_eq(found.pid, 0);
}
END_TEST

/* What the kernel's count tells. The error of an earlier call has no meaning. */
START_TEST(counts_of_the_kernel)
{
	static const struct {
		ssize_t n;
		int err, ret;
	} counts[] = {{-1, EPERM, -EPERM},  {-1, ENOSYS, -ENOSYS}, {-1, ESRCH, -ESRCH},
		      {-1, EFAULT, -ESRCH}, {0, EPERM, -ESRCH},    {15, EPERM, -ESRCH},
		      {16, EPERM, -EFAULT}, {79, EPERM, -EFAULT}};
	struct iovec iov = {local, 64};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		read_ret = counts[i].n;
		errno = counts[i].err;
		ck_assert_int_eq(dofi_remote_read(&process, &iov, 0, there(0), 64), counts[i].ret);
	}
	read_ret = 1;
	ck_assert_int_eq(dofi_remote_read(&process, &iov, 0, there(0), 64), 0);
}
END_TEST

/* The list of segments ends with the bytes: what is behind it is not read. */
START_TEST(segments_at_the_end_of_memory)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec *iov = (struct iovec *)(void *)(pages + page) - 2;

	ck_assert_ptr_ne(pages, MAP_FAILED);
	ck_assert_int_eq(mprotect(pages + page, page, PROT_NONE), 0);
	iov[0] = (struct iovec){local, 10};
	iov[1] = (struct iovec){local + 20, 30};
	ck_assert_int_eq(dofi_remote_write(&process, iov, 0, there(0), 40), 0);
	ck_assert_mem_eq(shared->memory, local, 10);
	ck_assert_mem_eq(shared->memory + 10, local + 20, 30);
	ck_assert_int_eq(dofi_remote_read(&process, iov, 5, there(0), 35), 0);
	munmap(pages, 2 * page);
}
END_TEST

/* --- memory that is not there, and processes that are gone --- */

START_TEST(memory_that_is_not_there)
{
	struct iovec iov = {local, 64};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *hole = mmap(NULL, 2 * page, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(hole, MAP_FAILED);
	munmap(hole, 2 * page);
	ck_assert_int_eq(dofi_remote_read(&process, &iov, 0, 4096, 64), -EFAULT);
	ck_assert_int_eq(dofi_remote_write(&process, &iov, 0, 4096, 64), -EFAULT);
	iov.iov_base = hole;
	ck_assert_int_eq(dofi_remote_read(&process, &iov, 0, there(0), 64), -EFAULT);
	ck_assert_int_eq(dofi_remote_write(&process, &iov, 0, there(0), 64), -EFAULT);
}
END_TEST

START_TEST(a_dead_process)
{
	pid_t stranger = start(wait_for_stop);
	int next = dup(STDERR_FILENO);
	siginfo_t info;

	close(next);
	ck_assert(!dofi_process_is_dead(other));
	ck_assert(!dofi_process_is_dead(getpid()));
	ck_assert(!dofi_process_is_dead(0));
	ck_assert(!dofi_process_is_dead(-99999999)); /* no group of processes has this number */
	ck_assert(!dofi_process_is_dead(stranger));
	kill(stranger, SIGKILL);
	ck_assert_int_eq(waitid(P_PID, (id_t)stranger, &info, WEXITED | WNOWAIT), 0);
	ck_assert(dofi_process_is_dead(stranger)); /* its parent does not know yet */
	ck_assert_int_eq(waitpid(stranger, NULL, 0), stranger);
	ck_assert(dofi_process_is_dead(stranger));
	ck_assert_int_eq(dup(STDERR_FILENO), next); /* no descriptor is left */
	close(STDIN_FILENO);                        /* the first descriptor is one, too */
	errno = ESRCH;
	ck_assert(!dofi_process_is_dead(other));
	ck_assert_int_eq(dup(STDERR_FILENO), STDIN_FILENO);
	kill(other, SIGKILL);
	ck_assert_int_eq(waitid(P_PID, (id_t)other, &info, WEXITED | WNOWAIT), 0);
	is_untouched(&process);
}
END_TEST

/* --- a kernel that forbids it --- */

/* Whether that call of the kernel is answered by EPERM from here on. */
static bool forbid(long number)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 4, .filter = filter};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* Before Linux 5.3, or in a container. */
START_TEST(a_dead_process_where_there_are_no_descriptors_of_processes)
{
	pid_t stranger = start(wait_for_stop);
	int status;

	if (!forbid(SYS_pidfd_open))
		t_skip("no seccomp filters");
	ck_assert(!dofi_process_is_dead(stranger));
	kill(stranger, SIGKILL);
	ck_assert_int_eq(waitpid(stranger, &status, 0), stranger);
	ck_assert_int_eq(WTERMSIG(status), SIGKILL); /* the question was no signal */
	ck_assert(dofi_process_is_dead(stranger));
}
END_TEST

/* Exits with the answer about the test's process. */
static void ask_without_rights(void)
{
	if (!forbid(SYS_pidfd_open) || !forbid(SYS_kill))
		_exit(2);
	_exit(dofi_process_is_dead(getppid()));
}

/* Of another user: the process is there, and the kernel says no more. */
START_TEST(a_process_that_may_not_be_asked_counts_as_alive)
{
	int status;

	ck_assert_int_gt(waitpid(start(ask_without_rights), &status, 0), 0);
	ck_assert(WIFEXITED(status));
	if (WEXITSTATUS(status) == 2)
		t_skip("no seccomp filters");
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

START_TEST(a_kernel_that_forbids_it)
{
	struct iovec iov = {local, 8};
	struct dofi_remote_process found = {0};

	if (!forbid(SYS_process_vm_readv) || !forbid(SYS_process_vm_writev))
		t_skip("no seccomp filters");
	ck_assert_int_eq(dofi_remote_process_find(other, &process.badge, &found), -EPERM);
	ck_assert_int_eq(found.pid, 0);
	ck_assert_int_eq(dofi_remote_write(&process, &iov, 0, there(0), 8), -EPERM);
	ck_assert_uint_eq(shared->memory[1], 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("remote_copy");
	TCase *tcase = tcase_create("remote_copy");

	suite_add_tcase(suite, tcase);
	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, writes_and_reads, 0, SIZES);
	tcase_add_test(tcase, segments);
	tcase_add_loop_test(tcase, a_copy_ends_where_it_should, 0, sizeof(ends) / sizeof(ends[0]));
	tcase_add_test(tcase, pieces);
	tcase_add_test(tcase, the_last_word_lands_last);
	tcase_add_loop_test(tcase, the_last_word_is_whole, 0, 16);
	tcase_add_test(tcase, one_call_stores_the_last_word);
	tcase_add_test(tcase, a_number_that_is_used_again);
	tcase_add_test(tcase, a_child_of_the_process);
	tcase_add_test(tcase, another_badge);
	tcase_add_test(tcase, each_process_has_its_own_badge);
	tcase_add_test(tcase, a_child_has_a_badge_of_its_own);
	tcase_add_test(tcase, a_process_without_memory_for_a_badge);
	tcase_add_loop_test(tcase, a_page_that_is_no_badge, 0, 3);
	tcase_add_test(tcase, two_threads_show_one_badge);
	tcase_add_test(tcase, processes_that_cannot_be_found);
	tcase_add_test(tcase, counts_of_the_kernel);
	tcase_add_test(tcase, segments_at_the_end_of_memory);
#ifndef __SANITIZE_THREAD__
	tcase_add_test(tcase, the_address_of_a_badge_is_random);
#endif
	tcase_add_test(tcase, memory_that_is_not_there);
	tcase_add_test(tcase, a_dead_process);
	tcase_add_test(tcase, a_dead_process_where_there_are_no_descriptors_of_processes);
	tcase_add_test(tcase, a_process_that_may_not_be_asked_counts_as_alive);
	tcase_add_test(tcase, a_kernel_that_forbids_it);
	return t_run(suite);
}
