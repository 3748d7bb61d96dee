/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How the end of another process is noticed: by its descriptor, or by a look at /proc. */
#include "t_hooks.h"
#include "t_pidfd.h"
#include "unit.h"

#include "../../../prov/ofi/base/process_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BY_DESCRIPTOR, BY_LOOK, WAYS };

/* --- /proc; the linker redirects these calls --- */

static int open_errno, read_errno; /* 0: the call is made */
static const char *stat_text;

int __real_openat(int folder, const char *file, int flags, ...);
T_STAND_IN int __wrap_openat(int folder, const char *file, int flags, ...);
ssize_t __real_read(int fd, void *buf, size_t size);
T_STAND_IN ssize_t __wrap_read(int fd, void *buf, size_t size);

int __wrap_openat(int folder, const char *file, int flags, ...)
{
	ck_assert_str_eq(file, "stat");
	ck_assert_int_eq(flags, O_RDONLY | O_CLOEXEC);
	errno = open_errno;
	return open_errno ? -1 : __real_openat(folder, file, flags);
}

ssize_t __wrap_read(int fd, void *buf, size_t size)
{
	if (read_errno) {
		errno = read_errno;
		return -1;
	}
	if (!stat_text)
		return __real_read(fd, buf, size);
	ck_assert_uint_lt(strlen(stat_text), size);
	memset(buf, '1', size);
	memcpy(buf, stat_text, strlen(stat_text));
	return (ssize_t)strlen(stat_text);
}

static void choose(int way)
{
	t_no_pidfd = way == BY_LOOK ? ENOSYS : 0;
}

/* --- processes, which end with the test --- */

static pid_t start(void (*run)(void))
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run();
		for (;;)
			pause();
	}
	return pid;
}

static void nothing(void)
{
}

static int next_fd(void)
{
	int fd = eventfd(0, EFD_CLOEXEC);

	close(fd);
	return fd;
}

static struct dofi_process_watch watch_process(pid_t pid)
{
	struct dofi_process_watch watch;

	ck_assert_int_eq(dofi_process_watch_open(&watch, pid), 0);
	ck_assert_int_ge(watch.fd, 0);
	ck_assert(fcntl(watch.fd, F_GETFD) & FD_CLOEXEC);
	return watch;
}

/* Waits for the end without telling the parent, so that the process is a zombie. */
static void kill_only(pid_t pid)
{
	siginfo_t info;

	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

/* --- tests --- */

START_TEST(the_end_of_a_process)
{
	pid_t pid = start(nothing);
	struct dofi_process_watch watch;
	int next;

	close(STDIN_FILENO); /* so the first descriptor is one of a process */
	next = next_fd();
	choose(_i);
	watch = watch_process(pid);
	ck_assert_int_eq(watch.fd, STDIN_FILENO);
	ck_assert_int_eq(watch.needs_look, _i == BY_LOOK);
	ck_assert(!dofi_process_watch_ended(&watch));
	kill_only(pid);
	ck_assert(dofi_process_watch_ended(&watch)); /* its parent does not know yet */
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert(dofi_process_watch_ended(&watch));
	dofi_process_watch_close(&watch);
	ck_assert_int_eq(watch.fd, -1);
	ck_assert(!dofi_process_watch_ended(&watch));
	dofi_process_watch_close(&watch);
	ck_assert_int_eq(next_fd(), next);
}
END_TEST

START_TEST(no_such_process)
{
	pid_t pid = start(nothing);
	struct dofi_process_watch watch = {.fd = 77};

	kill_only(pid);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_eq(dofi_process_watch_open(&watch, pid), -ESRCH);
	ck_assert_int_eq(watch.fd, -1);
	/* /proc may hide processes of others, so its word is not enough */
	choose(BY_LOOK);
	ck_assert_int_eq(dofi_process_watch_open(&watch, pid), -ENOENT);
	ck_assert_int_eq(watch.fd, -1);
}
END_TEST

/* A filter of system calls may forbid descriptors, and a limit may be reached. */
START_TEST(descriptors_that_are_refused)
{
	static const int errs[] = {EPERM, EINVAL, EMFILE};
	struct dofi_process_watch watch;

	t_no_pidfd = errs[_i];
	watch = watch_process(getpid());
	ck_assert(watch.needs_look);
	ck_assert(!dofi_process_watch_ended(&watch));
	dofi_process_watch_close(&watch);
}
END_TEST

static void *stay(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

static void leave_to_a_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, stay, NULL))
		_exit(1);
	pthread_exit(NULL);
}

static char state_of(pid_t pid)
{
	char path[32], text[512] = "", state = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_gt(__real_read(fd, text, sizeof(text) - 1), 0);
	close(fd);
	ck_assert_int_eq(sscanf(strrchr(text, ')'), ") %c", &state), 1);
	return state;
}

/* The first thread of a process may end before the others. */
START_TEST(a_process_without_its_first_thread)
{
	pid_t pid = start(leave_to_a_thread);
	struct dofi_process_watch watch;

	choose(_i);
	watch = watch_process(pid);
	while (state_of(pid) != 'Z')
		;
	ck_assert(!dofi_process_watch_ended(&watch));
	kill_only(pid);
	ck_assert(dofi_process_watch_ended(&watch));
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	dofi_process_watch_close(&watch);
}
END_TEST

#define ZEROS(state, threads) state " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 " threads " 0 0"

START_TEST(what_the_kernel_tells)
{
	static const struct {
		const char *text;
		bool ended;
	} cases[] = {
		{"12 (name) Z 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1", true},
		{"12 (name) " ZEROS("S", "1"), false},
		{"12 (name) " ZEROS("Z", "1"), true},
		{"12 (name) " ZEROS("X", "0"), true},
		{"12 (name) " ZEROS("Z", "2"), false},
		{"12 (name) " ZEROS("R", "0"), false},
		{"12 (a ) Z name) " ZEROS("S", "1"), false},
		{"12 (a ) S name) " ZEROS("Z", "1"), true},
		{"12 (name) Z 0 0", false},
		{"12 (name)", false},
		{"12", false},
		{"", false},
	};
	struct dofi_process_watch watch;

	choose(BY_LOOK);
	watch = watch_process(getpid());
	stat_text = cases[_i].text;
	close(STDIN_FILENO); /* the first descriptor may be that of the file */
	ck_assert_int_eq(dofi_process_watch_ended(&watch), cases[_i].ended);
	dofi_process_watch_close(&watch);
}
END_TEST

START_TEST(looks_that_fail)
{
	static const struct {
		int open, read;
		bool ended;
	} cases[] = {
		{ENOENT, 0, true}, {ESRCH, 0, true}, {EMFILE, 0, false},
		{0, ESRCH, true},  {0, EIO, false},
	};
	struct dofi_process_watch watch;
	int next;

	choose(BY_LOOK);
	watch = watch_process(getpid());
	next = next_fd();
	open_errno = cases[_i].open;
	read_errno = cases[_i].read;
	ck_assert_int_eq(dofi_process_watch_ended(&watch), cases[_i].ended);
	open_errno = read_errno = 0;
	ck_assert_int_eq(next_fd(), next);
	dofi_process_watch_close(&watch);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("process_watch");
	TCase *tcase = tcase_create("process_watch");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, the_end_of_a_process, 0, WAYS);
	tcase_add_test(tcase, no_such_process);
	tcase_add_loop_test(tcase, descriptors_that_are_refused, 0, 3);
	tcase_add_loop_test(tcase, a_process_without_its_first_thread, 0, WAYS);
	tcase_add_loop_test(tcase, what_the_kernel_tells, 0, 12);
	tcase_add_loop_test(tcase, looks_that_fail, 0, 5);
	return t_run(suite);
}
