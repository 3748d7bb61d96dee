/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reports of counters: by a socket, by a signal, when an IA is closed, and at exit.
 */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault.h"

static struct t_ia ia;
static struct t_loop loop;

#define MESSAGES 3

/* Opens an IA and sends 8 bytes to itself. */
static void open_and_send(const char *when)
{
	setenv("DAT_OFI_STATS", when, 1);
	t_ia_open(&ia);
	t_loop_open(&loop, &ia, NULL);
	for (int i = 0; i < MESSAGES; i++) {
		t_ok(t_recv(&loop.end[1], 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_send(&loop.end[0], 0, 8, 2, DAT_COMPLETION_DEFAULT_FLAG));
		t_wait_dto(loop.end[0].request_evd, loop.end[0].ep, 2, DAT_DTO_SUCCESS, 8);
		t_wait_dto(loop.end[1].recv_evd, loop.end[1].ep, 1, DAT_DTO_SUCCESS, 8);
	}
}

static void close_all(void)
{
	t_loop_close(&loop);
	t_ia_close(&ia);
}

static void ck_has(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "\"%s\" is not in: %s", part, text);
}

/* Runs dat_info and reads its output. Returns its exit status. */
static int ask(pid_t pid, char *text, size_t size)
{
	char command[64];
	FILE *out;
	size_t n;

	snprintf(command, sizeof(command), "dat_info -p %d 2>&1", (int)pid);
	out = popen(command, "r");
	ck_assert_ptr_nonnull(out);
	n = fread(text, 1, size - 1, out);
	text[n] = '\0';
	return WEXITSTATUS(pclose(out));
}

static void ck_counters(const char *text)
{
	char word[64];

	snprintf(word, sizeof(word), "process %d", (int)getpid());
	ck_has(text, word);
	ck_has(text, (const char *)t_ia_name());
	ck_has(text, "connected");
	ck_has(text, " POST_SEND=3 POST_SEND_DATA=24");
	ck_has(text, " RECV=3 RECV_DATA=24");
	ck_has(text, " COMPLETED=3");
	ck_has(text, " DTO_CALLBACK=");
	ck_has(text, " EP_CREATE=2");
}

static char answer[65536];

static void *wait_for_event(void *evd)
{
	DAT_EVENT event;
	DAT_COUNT left;

	t_ok(dat_evd_wait(evd, T_LIMIT_US, 1, &event, &left));
	return NULL;
}

START_TEST(no_socket_or_thread_unless_configured)
{
	open_and_send("");
	ck_assert_int_eq(ask(getpid(), answer, sizeof(answer)), 1);
	ck_has(answer, "DAT_OFI_STATS=socket");
	close_all();
}
END_TEST

START_TEST(socket_answers_with_a_report)
{
	open_and_send("socket");
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(ask(getpid(), answer, sizeof(answer)), 0);
		ck_counters(answer);
	}
	close_all();
	ck_assert_int_eq(ask(getpid(), answer, sizeof(answer)), 0);
	ck_assert_ptr_null(strstr(answer, "IA "));
}
END_TEST

START_TEST(report_tells_why_requests_are_held)
{
	open_and_send("socket");
	t_ok(t_send(&loop.end[0], 0, 8, 2, DAT_COMPLETION_DEFAULT_FLAG));
	ck_assert_int_eq(ask(getpid(), answer, sizeof(answer)), 0);
	/* If the fabric uses no credits, it has accepted the message. */
	if (strstr(answer, "credits")) {
		ck_has(answer, "requests 0 and 1 held");
		ck_has(answer, "credits 0, waits for a receive of the peer");
		ck_has(answer, " HELD=");
	}
	t_ok(t_recv(&loop.end[1], 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(loop.end[1].recv_evd, loop.end[1].ep, 1, DAT_DTO_SUCCESS, 8);
	close_all();
}
END_TEST

START_TEST(report_of_idle_eps_and_waiting_threads)
{
	struct t_ia other;
	struct t_end idle;
	DAT_EVD_HANDLE evd;
	pthread_t waiter;
	char word[64];
	uint64_t limit = t_now_us() + T_LIMIT_US;

	open_and_send("socket,socket");
	t_ia_open(&other); /* the process has its socket already */
	t_end_new(&idle, &other, NULL);
	evd = t_evd(&ia, 4, DAT_EVD_SOFTWARE_FLAG);
	ck_assert_int_eq(pthread_create(&waiter, NULL, wait_for_event, evd), 0);
	snprintf(word, sizeof(word), "EVD %p: events 0, a thread waits", evd);
	do
		ck_assert_int_eq(ask(getpid(), answer, sizeof(answer)), 0);
	while (!strstr(answer, word) && t_now_us() < limit);
	ck_has(answer, word);
	snprintf(word, sizeof(word), "EP %p: unconnected, requests 0 and 0 held", idle.ep);
	ck_has(answer, word);
	t_ok(t_post_se(evd, NULL));
	ck_assert_int_eq(pthread_join(waiter, NULL), 0);
	t_ia_close(&other);
	close_all();
}
END_TEST

/* --- others who ask --- */

static socklen_t name_of(pid_t pid, struct sockaddr_un *name)
{
	int n;

	*name = (struct sockaddr_un){.sun_family = AF_UNIX};
	n = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "dat-ofi/%d/%d", (int)pid,
		     T_DAT_MAJOR);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* Returns how many bytes the process answers. */
static ssize_t ask_as(uid_t user, pid_t pid)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un name;
	socklen_t size = name_of(pid, &name);

	if (setuid(user) || fd < 0 || connect(fd, (struct sockaddr *)&name, size))
		return -1;
	return recv(fd, answer, sizeof(answer), MSG_WAITALL);
}

START_TEST(other_users_get_no_report)
{
	pid_t child, pid = getpid();
	int status;

	if (geteuid())
		t_skip("only root can become another user");
	open_and_send("socket");
	child = fork();
	ck_assert_int_ge(child, 0);
	if (!child)
		_exit(ask_as(65534, pid) ? 1 : 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status) && !WEXITSTATUS(status));
	ck_assert_int_eq(ask(pid, answer, sizeof(answer)), 0); /* it still serves */
	close_all();
}
END_TEST

START_TEST(address_of_the_socket_is_taken)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), log = t_capture(STDERR_FILENO);
	struct sockaddr_un name;
	socklen_t size = name_of(getpid(), &name);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&name, size), 0);
	open_and_send("socket");
	ck_has(t_captured(log), "stats=socket: can't listen at");
	close_all();
	close(fd);
}
END_TEST

/* An EP counts the receives that it took from its SRQ. */
START_TEST(receives_of_an_srq_are_counted)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = MESSAGES, .max_recv_iov = 1};
	DAT_EP_ATTR ep_attr;
	struct t_listener listener;
	struct t_end from, to;
	DAT_LMR_TRIPLET segment;
	DAT_SRQ_HANDLE srq;

	setenv("DAT_OFI_STATS", "socket", 1);
	t_ia_open(&ia);
	if (!ia.provider.srq_supported)
		t_skip("this fabric has no SRQs");
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_end_new(&from, &ia, NULL);
	t_end_new(&to, &ia, NULL);
	t_ok(dat_ep_free(to.ep));
	t_ok(dat_srq_create(ia.ia, ia.pz, &attr, &srq));
	ep_attr = t_default_attr(&ia);
	t_ok(dat_ep_create_with_srq(ia.ia, ia.pz, to.recv_evd, to.request_evd, to.connect_evd, srq,
				    &ep_attr, &to.ep));
	t_establish(&listener, &from, &to);
	segment = t_seg(&to.buf, 0, 8);
	for (int i = 0; i < MESSAGES; i++) {
		t_ok(dat_srq_post_recv(srq, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 1}));
		t_ok(t_send(&from, 0, 8, 2, DAT_COMPLETION_DEFAULT_FLAG));
		t_wait_dto(to.recv_evd, to.ep, 1, DAT_DTO_SUCCESS, 8);
	}
	ck_assert_int_eq(ask(getpid(), answer, sizeof(answer)), 0);
	ck_has(answer, " RECV=3 RECV_DATA=24 COMPLETED=3");
	t_ia_close(&ia);
}
END_TEST

/* Another thread writes the report, by one call. */
static void await_report(int fd)
{
	uint64_t limit = t_now_us() + T_LIMIT_US;

	while (!strstr(t_captured(fd), "EVD ") && t_now_us() < limit)
		t_pause();
}

START_TEST(signal_writes_a_report)
{
	int fd = t_capture(STDERR_FILENO);

	open_and_send(_i ? "signal=SIGUSR2" : "exit,signal=USR2");
	ck_assert_int_eq(kill(getpid(), SIGUSR2), 0);
	await_report(fd);
	ck_counters(t_captured(fd));
	close_all();
}
END_TEST

static void ignore(int number)
{
	(void)number;
}

START_TEST(signal_handler_of_the_program_remains)
{
	int fd = t_capture(STDERR_FILENO);
	struct sigaction now;

	signal(SIGUSR2, ignore);
	open_and_send("signal=USR2");
	ck_has(t_captured(fd), "the program handles that signal itself");
	ck_assert_int_eq(sigaction(SIGUSR2, NULL, &now), 0);
	ck_assert(now.sa_handler == ignore);
	close_all();
}
END_TEST

START_TEST(invalid_value_is_named)
{
	int fd = t_capture(STDERR_FILENO);

	open_and_send("exti,signal=NOSUCH,signal=0,signal=9");
	ck_has(t_captured(fd), "stats=exti has no meaning");
	ck_has(t_captured(fd), "signal=NOSUCH: there is no such signal");
	ck_has(t_captured(fd), "signal=0: there is no such signal");
	ck_has(t_captured(fd), "signal=9: can't handle it");
	close_all();
}
END_TEST

/* Runs in a child, whose report at exit() or at the close is complete when the child has ended. */
static const char *told_by_child(const char *when, bool in_order)
{
	int fd = t_memfile("stderr"), status;
	pid_t child;

	fflush(NULL);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (!child) {
		dup2(fd, STDERR_FILENO);
		open_and_send(when);
		if (in_order)
			close_all();
		exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status) && !WEXITSTATUS(status));
	return t_captured(fd);
}

START_TEST(exit_writes_a_report)
{
	ck_has(told_by_child("exit", false), " POST_SEND=3");
	ck_assert_ptr_null(strstr(told_by_child("socket", false), "POST_SEND"));
}
END_TEST

START_TEST(close_reports_eps_freed_before)
{
	const char *text = told_by_child("close", true);

	ck_has(text, "EPs that were freed:");
	ck_has(text, " POST_SEND=3");
}
END_TEST

#ifndef __SANITIZE_THREAD__ /* which does not support threads in a forked child */
START_TEST(child_has_its_own_report)
{
	int status;
	pid_t child;

	open_and_send("socket,signal=USR2");
	fflush(NULL);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (!child) {
		if (ask(getpid(), answer, sizeof(answer)) != 1)
			exit(1);
		if (signal(SIGUSR2, SIG_DFL) != SIG_DFL)
			exit(2);
		memset(&ia, 0, sizeof(ia));
		t_ia_open(&ia);
		exit(ask(getpid(), answer, sizeof(answer)) ? 3 : 0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
	ck_assert_int_eq(ask(getpid(), answer, sizeof(answer)), 0);
	ck_counters(answer);
	close_all();
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("stats");
	TCase *tc = tcase_create("stats");

	tcase_add_test(tc, no_socket_or_thread_unless_configured);
	tcase_add_test(tc, socket_answers_with_a_report);
	tcase_add_test(tc, report_tells_why_requests_are_held);
	tcase_add_test(tc, report_of_idle_eps_and_waiting_threads);
	tcase_add_test(tc, other_users_get_no_report);
	tcase_add_test(tc, address_of_the_socket_is_taken);
	tcase_add_test(tc, receives_of_an_srq_are_counted);
	tcase_add_loop_test(tc, signal_writes_a_report, 0, 2);
	tcase_add_test(tc, signal_handler_of_the_program_remains);
	tcase_add_test(tc, invalid_value_is_named);
	tcase_add_test(tc, exit_writes_a_report);
	tcase_add_test(tc, close_reports_eps_freed_before);
#ifndef __SANITIZE_THREAD__
	tcase_add_test(tc, child_has_its_own_report);
#endif
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
