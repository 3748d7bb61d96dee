/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads that block in DAT. */
#include "t.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A line of a file of the thread; false: the file can't be read. */
static bool read_task_file(pid_t tid, const char *name, char *line, size_t size)
{
	char path[64];
	FILE *file;
	bool ok;

	snprintf(path, sizeof(path), "/proc/self/task/%d/%s", (int)tid, name);
	file = fopen(path, "r");
	if (!file)
		return false;
	ok = fgets(line, (int)size, file);
	fclose(file);
	return ok;
}

static bool is_ppoll(int number)
{
#ifdef SYS_ppoll_time64
	if (number == SYS_ppoll_time64)
		return true;
#endif
	return number == SYS_ppoll;
}

/*
 * The kernel gives the number of the system call that a thread sleeps in, and the library waits for
 * events in ppoll. Without that file the state of the thread has to do, which is the same for a
 * thread that waits for a lock.
 */
bool t_sleeps(pid_t tid)
{
	char line[256];
	const char *after_name;

	if (read_task_file(tid, "syscall", line, sizeof(line)))
		return is_ppoll(atoi(line)); /* "running" has no number */
	if (!read_task_file(tid, "stat", line, sizeof(line)))
		return false;
	after_name = strrchr(line, ')');
	return after_name && after_name[1] == ' ' && after_name[2] == 'S';
}

static void *waiter_main(void *arg)
{
	struct t_waiter *waiter = arg;

	waiter->tid = gettid();
	if (waiter->cno)
		waiter->ret = dat_cno_wait(waiter->cno, waiter->timeout, &waiter->evd);
	else
		waiter->ret = dat_evd_wait(waiter->evd, waiter->timeout, waiter->threshold,
					   &waiter->event, &waiter->nmore);
	return NULL;
}

/* The question takes an event from an EVD without a waiter, so the EVD must be empty. */
static bool evd_has_waiter(DAT_EVD_HANDLE evd)
{
	DAT_RETURN ret;
	DAT_EVENT event;

	ret = dat_evd_dequeue(evd, &event);
	ck_assert_msg(ret != DAT_SUCCESS, "the EVD has an event before the thread waits on it");
	return DAT_GET_TYPE(ret) == DAT_INVALID_STATE;
}

static void waiter_start(struct t_waiter *waiter)
{
	waiter->tid = 0;
	waiter->timeout = DAT_TIMEOUT_INFINITE;
	ck_assert_int_eq(pthread_create(&waiter->thread, NULL, waiter_main, waiter), 0);
	t_until(waiter->tid != 0);
}

void t_evd_waiter_start(struct t_waiter *waiter, DAT_EVD_HANDLE evd, DAT_COUNT threshold)
{
	memset(waiter, 0, sizeof(*waiter));
	waiter->evd = evd;
	waiter->threshold = threshold;
	waiter_start(waiter);
	/*
	 * DAT tells that a thread waits on the EVD, the kernel that the thread sleeps. Before it
	 * sleeps, the thread looks for events of the time before the call, and may wait for a lock.
	 */
	t_until(evd_has_waiter(evd) && t_sleeps(waiter->tid));
}

void t_cno_waiter_start(struct t_waiter *waiter, DAT_CNO_HANDLE cno)
{
	memset(waiter, 0, sizeof(*waiter));
	waiter->cno = cno;
	waiter_start(waiter);
	t_until(t_sleeps(waiter->tid));
}

void *t_join(pthread_t thread)
{
	struct timespec limit;
	void *result;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += T_LIMIT_US / 1000000;
	ck_assert_msg(pthread_timedjoin_np(thread, &result, &limit) == 0,
		      "a thread does not return from the call it blocks in");
	return result;
}

DAT_RETURN t_waiter_join(struct t_waiter *waiter)
{
	t_join(waiter->thread);
	return waiter->ret;
}

DAT_RETURN t_waiter_signal(struct t_waiter *waiter, int signal)
{
	t_until((pthread_kill(waiter->thread, signal), t_waiter_done(waiter)));
	return waiter->ret;
}

bool t_waiter_done(struct t_waiter *waiter)
{
	return pthread_tryjoin_np(waiter->thread, NULL) == 0;
}
