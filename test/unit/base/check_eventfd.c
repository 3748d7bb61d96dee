/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Event descriptors: signals, and the start of a thread that waits for them. */
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/base/eventfd.h"
#include "../../../prov/ofi/base/thread.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static bool is_readable(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	return poll(&poll_fd, 1, 0) == 1 && poll_fd.revents & POLLIN;
}

static int new_eventfd(void)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	ck_assert_int_ge(fd, 0);
	return fd;
}

START_TEST(signals_add_up_until_one_clears_them)
{
	int fd = new_eventfd();

	ck_assert_int_eq(dofi_eventfd_clear(fd), 0);
	ck_assert_int_eq(dofi_eventfd_signal(fd), 0);
	ck_assert_int_eq(dofi_eventfd_signal(fd), 0);
	ck_assert(is_readable(fd));
	ck_assert_int_eq(dofi_eventfd_clear(fd), 0);
	ck_assert(!is_readable(fd));
	close(fd);
}
END_TEST

START_TEST(a_full_count_is_a_signal_already)
{
	const uint64_t most = UINT64_MAX - 1;
	int fd = new_eventfd();

	ck_assert_int_eq(write(fd, &most, sizeof(most)), sizeof(most));
	ck_assert_int_eq(dofi_eventfd_signal(fd), 0);
	ck_assert(is_readable(fd));
	close(fd);
}
END_TEST

START_TEST(a_closed_descriptor_is_an_error)
{
	int fd = new_eventfd();

	close(fd);
	ck_assert_int_eq(dofi_eventfd_signal(fd), -EBADF);
	ck_assert_int_eq(dofi_eventfd_clear(fd), -EBADF);
}
END_TEST

/* --- threads --- */

static int pthread_error;

T_STAND_IN int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
				     void *(*run)(void *), void *arg);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg)
{
	return pthread_error ? pthread_error : __real_pthread_create(thread, attr, run, arg);
}

/* Returns the set in *mask_p. */
static void *look_at_signals(void *mask_p)
{
	pthread_sigmask(SIG_SETMASK, NULL, mask_p);
	return NULL;
}

static void expect_own_signals(void)
{
	sigset_t now;

	ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
	ck_assert(!sigismember(&now, SIGUSR1));
}

START_TEST(threads_leave_signals_to_the_program)
{
	pthread_t thread;
	sigset_t of_thread;

	ck_assert_int_eq(dofi_start_thread(&thread, look_at_signals, &of_thread), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert(sigismember(&of_thread, SIGUSR1) && sigismember(&of_thread, SIGTERM));
	expect_own_signals();
}
END_TEST

START_TEST(a_thread_that_cannot_start_leaves_the_signals_as_they_were)
{
	pthread_t thread;

	pthread_error = EAGAIN;
	ck_assert_int_eq(dofi_start_thread(&thread, look_at_signals, NULL), -EAGAIN);
	expect_own_signals();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("eventfd");
	TCase *tcase = tcase_create("eventfd");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, signals_add_up_until_one_clears_them);
	tcase_add_test(tcase, a_full_count_is_a_signal_already);
	tcase_add_test(tcase, a_closed_descriptor_is_an_error);
	tcase_add_test(tcase, threads_leave_signals_to_the_program);
	tcase_add_test(tcase, a_thread_that_cannot_start_leaves_the_signals_as_they_were);
	return t_run(suite);
}
