/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ranks.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Shared by all ranks. Members that several ranks write are atomic. */
static struct meeting {
	unsigned int arrived, count, failed, said;
	char why[512];
	const char *doing[RANKS_MAX]; /* constant texts, at the same address in all processes */
} * meeting;

static unsigned int my_rank;

/* ---- a rank ---- */

void rank_fail(const char *fmt, ...)
{
	char text[480];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (!__atomic_exchange_n(&meeting->said, 1, __ATOMIC_ACQ_REL))
		snprintf(meeting->why, sizeof(meeting->why), "rank %u, %s: %s", my_rank,
			 meeting->doing[my_rank], text);
	__atomic_store_n(&meeting->failed, 1, __ATOMIC_RELEASE);
	_exit(1);
}

void rank_does(const char *what)
{
	meeting->doing[my_rank] = what;
}

void rank_yield(void)
{
	if (__atomic_load_n(&meeting->failed, __ATOMIC_ACQUIRE))
		_exit(1);
	sched_yield();
}

void rank_barrier(void)
{
	unsigned int mine = __atomic_fetch_add(&meeting->arrived, 1, __ATOMIC_ACQ_REL);
	unsigned int full = mine - mine % meeting->count + meeting->count;

	while (__atomic_load_n(&meeting->arrived, __ATOMIC_ACQUIRE) < full)
		rank_yield();
}

/* ---- the launcher ---- */

static volatile sig_atomic_t late;

static void on_alarm(int signal_)
{
	late = signal_;
}

/* Repeated each second, because the first alarm may come just before the wait begins. */
static void set_alarm(unsigned int seconds)
{
	const struct itimerval timer = {
		.it_value.tv_sec = seconds,
		.it_interval.tv_sec = 1,
	};
	/* Without SA_RESTART, so that the alarm ends a wait. */
	const struct sigaction action = {.sa_handler = on_alarm};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

static void end_all(const pid_t *pids, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		if (pids[i] > 0)
			kill(pids[i], SIGKILL);
	}
}

static void *share(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED) {
		perror("memory for the ranks");
		exit(2);
	}
	return memory;
}

static void note_end(unsigned int rank, int status)
{
	if (WIFSIGNALED(status) && !late && !meeting->said) {
		meeting->said = 1;
		snprintf(meeting->why, sizeof(meeting->why), "rank %u, %s: signal %d", rank,
			 meeting->doing[rank], WTERMSIG(status));
	}
	if (status)
		__atomic_store_n(&meeting->failed, 1, __ATOMIC_RELEASE);
}

/* Waits for all processes. If the time is over or one has crashed, all are killed. */
static void await_all(pid_t *pids, unsigned int count)
{
	unsigned int left = count;
	int status;

	while (left) {
		pid_t pid = waitpid(-1, &status, 0);

		if (pid < 0 && errno == EINTR && late)
			end_all(pids, count);
		for (unsigned int i = 0; pid > 0 && i < count; i++) {
			if (pids[i] != pid)
				continue;
			pids[i] = 0;
			left--;
			note_end(i, status);
			if (WIFSIGNALED(status))
				end_all(pids, count);
		}
	}
}

static int verdict(const char *title, unsigned int seconds)
{
	if (!meeting->failed) {
		printf("PASS %s, %u processes\n", title, meeting->count);
		return 0;
	}
	if (!late || meeting->said) {
		printf("FAIL %s, %u processes: %s\n", title, meeting->count, meeting->why);
		return 1;
	}
	printf("FAIL %s, %u processes: not through within %u seconds:", title, meeting->count,
	       seconds);
	for (unsigned int i = 0; i < meeting->count; i++)
		printf("%s %u %s", i ? "," : "", i, meeting->doing[i]);
	printf("\n");
	return 1;
}

int ranks_run(const char *title, unsigned int count, unsigned int seconds, size_t shared_size,
	      rank_main main_)
{
	pid_t pids[RANKS_MAX] = {0};
	void *shared = share(shared_size);

	meeting = share(sizeof(*meeting));
	meeting->count = count;
	fflush(stdout);
	for (my_rank = 0; my_rank < count; my_rank++) {
		rank_does("starting");
		pids[my_rank] = fork();
		if (!pids[my_rank]) {
			main_(my_rank, count, shared);
			rank_does("ended");
			exit(0);
		}
	}
	set_alarm(seconds);
	await_all(pids, count);
	return verdict(title, seconds);
}
