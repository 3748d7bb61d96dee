/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parameter that asks for reports: its words, and the signal before and after a fork. */
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/api/stats.c"

#include <fcntl.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

static struct dofi_ia ia;
static sem_t reported; /* counts reports about all IAs */

/* --- reports are not of interest here --- */

static size_t more_lines;

void dofi_ia_report(struct dofi_ia *of, FILE *out)
{
	ck_assert_ptr_eq(of, &ia);
	fputs("one IA\n", out);
}

void dofi_ia_report_all(FILE *out)
{
	fputs("all IAs\n", out);
	for (size_t i = 0; i < more_lines; i++)
		fputs("more\n", out);
	sem_post(&reported);
}

/* --- the thread that reports; the linker redirects this call --- */

static int threads, thread_error;
static bool acts_as_child; /* the test acts as a child, in which the thread does not exist */

static void *nothing(void *arg)
{
	return arg;
}

int __real_dofi_start_thread(pthread_t *thread, void *(*run)(void *), void *arg);
int __wrap_dofi_start_thread(pthread_t *thread, void *(*run)(void *), void *arg);

int __wrap_dofi_start_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
	if (thread_error)
		return thread_error;
	threads++;
	return __real_dofi_start_thread(thread, acts_as_child ? nothing : run, arg);
}

/* --- a thread that is interrupted; the linker redirects this call --- */

static const int *poll_errors; /* what the next calls fail with; NULL: they do not fail */
static int polls;
static sem_t paused; /* counts sleeps without a descriptor */

T_STAND_IN int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout);
int __real_poll(struct pollfd *fds, nfds_t n, int timeout);

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	if (!n)
		sem_post(&paused);
	if (!poll_errors)
		return __real_poll(fds, n, timeout);
	errno = poll_errors[polls++];
	return -1;
}

/* --- the users of the client and of the server; the linker redirects these calls --- */

static struct {
	bool set;
	int ret;
	uid_t peer, own;
} asks;

int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
T_STAND_IN int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
uid_t __real_geteuid(void);
T_STAND_IN uid_t __wrap_geteuid(void);

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
	if (!asks.set)
		return __real_getsockopt(fd, level, name, value, size);
	ck_assert_int_eq(name, SO_PEERCRED);
	((struct ucred *)value)->uid = asks.peer;
	return asks.ret;
}

uid_t __wrap_geteuid(void)
{
	return asks.set ? asks.own : __real_geteuid();
}

/* --- memory for the text; the linker redirects these calls --- */

/* If there is no other thread, it is watched whether the text is freed. */
static bool no_stream, no_text, watched, freed;
static char **text_at; /* of the latest stream */
static const char *whole;

T_STAND_IN FILE *__wrap_open_memstream(char **text_p, size_t *size_p);
FILE *__real_open_memstream(char **text_p, size_t *size_p);
T_STAND_IN int __wrap_fclose(FILE *file);
int __real_fclose(FILE *file);
T_STAND_IN void __wrap_free(void *block);
void __real_free(void *block);

FILE *__wrap_open_memstream(char **text_p, size_t *size_p)
{
	if (watched)
		text_at = text_p;
	return no_stream ? NULL : __real_open_memstream(text_p, size_p);
}

int __wrap_fclose(FILE *file)
{
	int ret = __real_fclose(file);

	if (watched && text_at)
		whole = *text_at;
	return no_text ? EOF : ret;
}

void __wrap_free(void *block)
{
	if (watched && block && block == whole)
		freed = true;
	__real_free(block);
}

/* --- */

static void begin(const char *words)
{
	strcpy(ia.params.stats, words);
	dofi_stats_start(&ia);
}

static bool is_ours(int number)
{
	struct sigaction now;

	ck_assert_int_eq(sigaction(number, NULL, &now), 0);
	return now.sa_handler == on_signal;
}

START_TEST(signals_have_names_and_numbers)
{
	static const struct {
		const char *word;
		int number;
	} cases[] = {{"USR1", SIGUSR1}, {"SIGUSR1", SIGUSR1},
		     {"SIGIO", SIGIO},  {"IO", SIGIO},
		     {"10", 10},        {"1", 1},
		     {"0", 0},          {"-1", 0},
		     {"64", 64},        {"65", 0},
		     {"10x", 0},        {"", 0},
		     {"SIG", 0},        {"usr1", 0},
		     {"SIGSIGIO", 0},   {"USR", 0}};

	ck_assert_int_eq(signal_number(cases[_i].word), cases[_i].number);
}
END_TEST

START_TEST(nothing_starts_unless_asked_for)
{
	begin("");
	ck_assert(!stats.started);
	begin("exit");
	ck_assert(stats.on_exit);
	ck_assert(!stats.on_close);
	ck_assert_int_eq(stats.socket, -1);
	ck_assert_int_eq(stats.event, -1);
	begin("close"); /* the first IA decides */
	ck_assert(!stats.on_close);
}
END_TEST

START_TEST(a_report_goes_to_the_log_when_asked_for)
{
	int said = t_capture(STDERR_FILENO);

	dofi_stats_exit();
	dofi_stats_closing(&ia);
	ck_assert_str_eq(t_captured(said), "");
	begin("exit");
	dofi_stats_closing(&ia);
	ck_assert_str_eq(t_captured(said), "");
	dofi_stats_exit();
	ck_assert_ptr_null(strstr(t_captured(said), "one IA\n"));
	ck_assert_ptr_nonnull(strstr(t_captured(said), "all IAs\n"));
	ck_assert_ptr_nonnull(strstr(t_captured(said), "process"));
}
END_TEST

START_TEST(an_ia_that_closes_is_reported_alone)
{
	int said = t_capture(STDERR_FILENO);

	begin("close");
	dofi_stats_closing(&ia);
	ck_assert_ptr_nonnull(strstr(t_captured(said), "one IA\n"));
	dofi_stats_exit();
	ck_assert_ptr_null(strstr(t_captured(said), "all IAs\n"));
}
END_TEST

START_TEST(a_report_begins_with_the_process)
{
	int said = t_capture(STDERR_FILENO);
	char head[128];

	snprintf(head, sizeof(head), "dat-ofi %s, process %d (%s), DAT 2\nall IAs\n",
		 PACKAGE_VERSION, (int)getpid(), program_invocation_short_name);
	begin("exit");
	watched = true;
	dofi_stats_exit();
	watched = false;
	ck_assert_ptr_nonnull(strstr(t_captured(said), head));
	ck_assert(freed);
}
END_TEST

START_TEST(without_memory_there_is_no_report)
{
	int said = t_capture(STDERR_FILENO);

	begin("exit");
	no_stream = !_i;
	no_text = _i;
	watched = true;
	dofi_stats_exit();
	no_stream = no_text = watched = false;
	ck_assert_str_eq(t_captured(said), "");
	ck_assert_int_eq(freed, _i);
}
END_TEST

/* Otherwise the signal would no longer end the child, and would write nothing. */
START_TEST(a_forked_child_has_the_default_handler)
{
	int status;
	pid_t child;

	begin("signal=USR2");
	ck_assert(is_ours(SIGUSR2));
	child = fork();
	ck_assert_int_ge(child, 0);
	if (!child) {
		dofi_stats_fork_child();
		raise(SIGUSR2);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGUSR2);
	ck_assert(is_ours(SIGUSR2));
}
END_TEST

START_TEST(a_forked_child_starts_anew)
{
	begin("close,exit");
	ck_assert(stats.on_close && stats.on_exit);
	dofi_stats_fork_child();
	ck_assert(!stats.on_close && !stats.on_exit);
	begin("close,signal=USR1");
	ck_assert(stats.on_close && !stats.on_exit);
	ck_assert(is_ours(SIGUSR1));
	ck_assert_int_ge(stats.event, 0);
}
END_TEST

START_TEST(the_programs_handler_remains)
{
	int said = t_capture(STDERR_FILENO);
	struct sigaction now;

	signal(SIGUSR2, SIG_IGN);
	begin("signal=USR2,nonsense");
	ck_assert_int_eq(sigaction(SIGUSR2, NULL, &now), 0);
	ck_assert(now.sa_handler == SIG_IGN);
	ck_assert_int_eq(stats.event, -1);
	ck_assert_ptr_nonnull(strstr(t_captured(said), "handles that signal itself"));
	ck_assert_ptr_nonnull(strstr(t_captured(said), "stats=nonsense has no meaning"));
}
END_TEST

/* --- the thread --- */

START_TEST(a_thread_starts_only_for_those_who_ask_later)
{
	static const struct {
		const char *words;
		int threads;
	} cases[] = {{"exit,close", 0}, {"socket", 1},      {"signal=USR1", 1},
		     {"nonsense", 0},   {"signal=KILL", 0}, {"socket,signal=USR1,exit", 1}};

	t_capture(STDERR_FILENO);
	begin(cases[_i].words);
	ck_assert_int_eq(threads, cases[_i].threads);
	begin(cases[_i].words);
	ck_assert_int_eq(threads, cases[_i].threads);
}
END_TEST

static void await(sem_t *sem)
{
	struct timespec limit;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += 15;
	ck_assert_int_eq(sem_timedwait(sem, &limit), 0);
}

static void await_report(void)
{
	await(&reported);
}

START_TEST(each_signal_asks_for_a_report)
{
	t_capture(STDERR_FILENO);
	ck_assert_int_eq(sem_init(&reported, 0, 0), 0);
	begin("signal=USR1");
	for (int i = 0; i < 3; i++) {
		errno = 0;
		raise(SIGUSR1);
		ck_assert_int_eq(errno, 0);
		await_report();
	}
}
END_TEST

/* A call of the program goes on, and the programs that it starts get no descriptor. */
START_TEST(the_program_does_not_notice_the_signal)
{
	struct pollfd pollfd = {.events = POLLIN};
	struct sigaction now;

	acts_as_child = true;
	begin("signal=USR1");
	pollfd.fd = stats.event;
	ck_assert_int_eq(poll(&pollfd, 1, 0), 0); /* nobody has asked yet */
	raise(SIGUSR1);
	ck_assert_int_eq(poll(&pollfd, 1, 0), 1);
	ck_assert_int_eq(sigaction(SIGUSR1, NULL, &now), 0);
	ck_assert_int_eq(now.sa_flags & SA_RESTART, SA_RESTART);
	ck_assert_int_eq(fcntl(stats.event, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(fcntl(stats.event, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
}
END_TEST

static void handle_it(int number, siginfo_t *info, void *context)
{
	(void)number, (void)info, (void)context;
}

START_TEST(a_handler_with_information_remains)
{
	struct sigaction now = {.sa_sigaction = handle_it, .sa_flags = SA_SIGINFO};

	t_capture(STDERR_FILENO);
	ck_assert_int_eq(sigaction(SIGUSR2, &now, NULL), 0);
	begin("signal=USR2");
	ck_assert_int_eq(sigaction(SIGUSR2, NULL, &now), 0);
	ck_assert(now.sa_sigaction == handle_it);
}
END_TEST

START_TEST(a_signal_leaves_errno_alone)
{
	const uint64_t full = UINT64_MAX - 1;

	stats.event = eventfd(0, EFD_NONBLOCK);
	ck_assert_int_eq(write(stats.event, &full, sizeof(full)), sizeof(full));
	errno = EBADMSG;
	on_signal(SIGUSR1);
	ck_assert_int_eq(errno, EBADMSG);
}
END_TEST

/* Only an error that comes again and again ends the thread. */
START_TEST(an_interrupted_thread_goes_on)
{
	static const int errors[] = {EINTR, EINTR, ENOMEM};

	poll_errors = errors;
	ck_assert_ptr_null(stats_main(NULL));
	ck_assert_int_eq(polls, 3);
}
END_TEST

/* Connects to the socket. Its name is no path, so it needs no file. */
static void connect_by(int fd)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int size = sprintf(name.sun_path + 1, "dat-ofi/%d/%d", (int)getpid(), DOFI_DAT_MAJOR);

	ck_assert_int_eq(connect(fd, (struct sockaddr *)&name,
				 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size)),
			 0);
}

static int connect_to_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	ck_assert_int_ge(fd, 0);
	connect_by(fd);
	return fd;
}

START_TEST(each_connection_receives_a_report_and_its_end)
{
	char text[4096];

	begin("socket");
	ck_assert_int_eq(fcntl(stats.socket, F_GETFD), FD_CLOEXEC);
	for (int i = 0; i < 3; i++) {
		size_t size = 0;
		int fd = connect_to_socket();
		ssize_t n;

		while ((n = read(fd, text + size, sizeof(text) - 1 - size)) > 0)
			size += (size_t)n;
		ck_assert_int_eq(n, 0);
		text[size] = '\0';
		ck_assert_int_eq(strncmp(text, "dat-ofi ", 8), 0);
		ck_assert_ptr_nonnull(strstr(text, "DAT 2\nall IAs\n"));
		ck_assert_uint_eq(strlen(text), size);
		close(fd);
	}
}
END_TEST

/* The connection waits and keeps the socket readable, so the thread would use a processor. */
START_TEST(without_a_descriptor_the_thread_pauses)
{
	struct rlimit limit;
	rlim_t before;
	char text[64];
	int fd;

	ck_assert_int_eq(sem_init(&paused, 0, 0), 0);
	begin("socket");
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	before = limit.rlim_cur;
	limit.rlim_cur = (rlim_t)fd + 1; /* its number was the lowest one that was free */
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	connect_by(fd);
	await(&paused);
	limit.rlim_cur = before;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_gt(read(fd, text, sizeof(text)), 0);
	close(fd);
}
END_TEST

/* It is longer than what the socket holds, so it takes several parts. */
START_TEST(a_long_report_arrives_whole)
{
	const char *lines, *end;
	size_t room, size = 0;
	char *text;
	ssize_t n;
	int fd;

	more_lines = 400000;
	begin("socket");
	fd = connect_to_socket();
	room = 2 * strlen("more\n") * more_lines;
	text = malloc(room);
	ck_assert_ptr_nonnull(text);
	while ((n = read(fd, text + size, room - 1 - size)) > 0)
		size += (size_t)n;
	text[size] = '\0';
	lines = strstr(text, "all IAs\n");
	ck_assert_ptr_nonnull(lines);
	lines += strlen("all IAs\n");
	end = text + size;
	ck_assert_uint_eq((size_t)(end - lines), strlen("more\n") * more_lines);
	for (; lines < end; lines += strlen("more\n"))
		if (memcmp(lines, "more\n", strlen("more\n")) != 0)
			ck_abort_msg("the parts do not fit");
	free(text);
	close(fd);
}
END_TEST

/* The user and root see counters, others do not. */
START_TEST(the_user_and_root_are_answered)
{
	static const struct {
		uid_t peer, own;
		int ret;
		bool answered;
	} cases[] = {{1000, 1000, 0, true}, {0, 1000, 0, true},     {1001, 1000, 0, false},
		     {1, 1000, 0, false},   {1000, 0, 0, false},    {0, 0, 0, true},
		     {0, 0, -1, false},     {1000, 1000, -1, false}};
	int listener = open_socket(), fd = connect_to_socket();
	char letter;

	asks.peer = cases[_i].peer;
	asks.own = cases[_i].own;
	asks.ret = cases[_i].ret;
	asks.set = true;
	answer(listener);
	ck_assert_int_eq(read(fd, &letter, 1), cases[_i].answered);
	close(listener);
}
END_TEST

/* A program that has closed its standard input gets descriptor 0. */
START_TEST(descriptor_0_is_answered_and_closed)
{
	int listener = open_socket(), fd = connect_to_socket();
	char letter;

	close(STDIN_FILENO);
	answer(listener);
	ck_assert_int_eq(read(fd, &letter, 1), 1);
	ck_assert_int_eq(fcntl(STDIN_FILENO, F_GETFD), -1);
}
END_TEST

/* A client that is stopped must not stop all reports. This takes SEND_SECONDS. */
START_TEST(a_client_that_does_not_read_is_given_up)
{
	int listener = open_socket(), stopped = connect_to_socket(), fd;
	char letter;

	more_lines = 1000000;
	answer(listener);
	more_lines = 0;
	fd = connect_to_socket();
	answer(listener);
	ck_assert_int_eq(read(fd, &letter, 1), 1);
	close(stopped);
}
END_TEST

static int lowest_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY);

	ck_assert_int_ge(fd, 0);
	close(fd);
	return fd;
}

/* A program that has closed its standard input gets descriptor 0. */
START_TEST(a_socket_without_its_name_is_closed)
{
	int said = t_capture(STDERR_FILENO), free_fd;

	ck_assert_int_ge(open_socket(), 0);
	if (_i)
		close(STDIN_FILENO);
	free_fd = lowest_descriptor();
	ck_assert_int_eq(open_socket(), -1);
	ck_assert_int_eq(lowest_descriptor(), free_fd);
	ck_assert_ptr_nonnull(strstr(t_captured(said), "stats=socket: can't listen at @dat-ofi/"));
	ck_assert_ptr_nonnull(strstr(t_captured(said), "Address already in use"));
}
END_TEST

START_TEST(descriptor_0_serves_reports)
{
	int said = t_capture(STDERR_FILENO);

	acts_as_child = true;
	close(STDIN_FILENO);
	begin(_i ? "signal=USR1,signal=USR2" : "socket,socket");
	ck_assert_int_eq(_i ? stats.event : stats.socket, 0);
	ck_assert_int_eq(threads, 1);
	ck_assert_int_eq(strstr(t_captured(said), "stats=signal=USR2 has no meaning") != NULL, _i);
	ck_assert_ptr_null(strstr(t_captured(said), "can't listen"));
	dofi_stats_fork_child();
	ck_assert_int_eq(lowest_descriptor(), 0);
}
END_TEST

START_TEST(one_socket_and_one_signal_are_enough)
{
	int said = t_capture(STDERR_FILENO);
	struct sigaction now;

	begin("socket,signal=USR1,socket,signal=USR2");
	ck_assert(is_ours(SIGUSR1));
	ck_assert_int_eq(sigaction(SIGUSR2, NULL, &now), 0);
	ck_assert(now.sa_handler == SIG_DFL);
	ck_assert_ptr_null(strstr(t_captured(said), "can't listen"));
	ck_assert_ptr_nonnull(strstr(t_captured(said), "stats=signal=USR2"));
}
END_TEST

START_TEST(a_signal_that_can_not_be_handled_leaves_nothing)
{
	int said = t_capture(STDERR_FILENO), free_fd;

	if (_i)
		close(STDIN_FILENO);
	free_fd = lowest_descriptor();
	begin("signal=9");
	ck_assert_ptr_nonnull(strstr(t_captured(said), "stats=signal=9: can't handle it: "));
	ck_assert_ptr_nonnull(strstr(t_captured(said), strerror(EINVAL)));
	ck_assert_int_eq(lowest_descriptor(), free_fd);
	ck_assert_int_eq(threads, 0);
	dofi_stats_fork_child();
	begin("signal=9,signal=USR1");
	ck_assert(is_ours(SIGUSR1));
	ck_assert_int_eq(threads, 1);
}
END_TEST

/* The second fork finds a program that handles the signal itself. */
START_TEST(a_handler_of_the_child_remains)
{
	static const int numbers[] = {SIGUSR2, SIGHUP};
	struct sigaction now;

	acts_as_child = true;
	begin("signal=USR2");
	dofi_stats_fork_child();
	signal(numbers[_i], SIG_IGN);
	dofi_stats_fork_child();
	ck_assert_int_eq(sigaction(numbers[_i], NULL, &now), 0);
	ck_assert(now.sa_handler == SIG_IGN);
}
END_TEST

/* Another thread opens an IA when the process forks. */
START_TEST(a_child_does_not_wait_for_threads_of_its_parent)
{
	pthread_mutex_lock(&stats.lock);
	dofi_stats_fork_child();
	begin("exit");
	ck_assert(stats.on_exit);
}
END_TEST

START_TEST(without_a_thread_there_is_a_warning)
{
	int said = t_capture(STDERR_FILENO);

	thread_error = -EAGAIN;
	begin("socket");
	ck_assert_ptr_nonnull(strstr(t_captured(said), strerror(EAGAIN)));
	ck_assert_ptr_nonnull(strstr(t_captured(said), "ulimit -u"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stats");
	TCase *tcase = tcase_create("stats");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, signals_have_names_and_numbers, 0, 16);
	tcase_add_test(tcase, nothing_starts_unless_asked_for);
	tcase_add_test(tcase, a_report_goes_to_the_log_when_asked_for);
	tcase_add_test(tcase, a_forked_child_has_the_default_handler);
	tcase_add_test(tcase, a_forked_child_starts_anew);
	tcase_add_test(tcase, the_programs_handler_remains);
	tcase_add_loop_test(tcase, a_thread_starts_only_for_those_who_ask_later, 0, 6);
	tcase_add_test(tcase, each_signal_asks_for_a_report);
	tcase_add_test(tcase, a_report_begins_with_the_process);
	tcase_add_loop_test(tcase, without_memory_there_is_no_report, 0, 2);
	tcase_add_test(tcase, the_program_does_not_notice_the_signal);
	tcase_add_test(tcase, a_handler_with_information_remains);
	tcase_add_test(tcase, a_signal_leaves_errno_alone);
	tcase_add_test(tcase, an_interrupted_thread_goes_on);
	tcase_add_test(tcase, each_connection_receives_a_report_and_its_end);
	tcase_add_loop_test(tcase, a_socket_without_its_name_is_closed, 0, 2);
	tcase_add_loop_test(tcase, descriptor_0_serves_reports, 0, 2);
	tcase_add_test(tcase, one_socket_and_one_signal_are_enough);
	tcase_add_test(tcase, without_a_thread_there_is_a_warning);
	tcase_add_test(tcase, an_ia_that_closes_is_reported_alone);
	tcase_add_loop_test(tcase, the_user_and_root_are_answered, 0, 8);
	tcase_add_test(tcase, without_a_descriptor_the_thread_pauses);
	tcase_add_test(tcase, a_long_report_arrives_whole);
	tcase_add_test(tcase, descriptor_0_is_answered_and_closed);
	tcase_add_test(tcase, a_client_that_does_not_read_is_given_up);
	tcase_add_loop_test(tcase, a_signal_that_can_not_be_handled_leaves_nothing, 0, 2);
	tcase_add_loop_test(tcase, a_handler_of_the_child_remains, 0, 2);
	tcase_add_test(tcase, a_child_does_not_wait_for_threads_of_its_parent);
	return t_run(suite);
}
