/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The socket has a name in the abstract name space ("@dat-ofi/PID/GENERATION" in ss(8)), so it
 * leaves no file and needs no protected directory. The kernel reports the user at the other end:
 * the library answers its own user and root. dat_info checks that the answer comes from the right
 * process.
 */
#include "api/stats.h"

#include "object/ia.h"
#include "base/log.h"
#include "base/thread.h"
#include "api/ia_list.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* Limit for a client that does not read its answer. */
#define SEND_SECONDS 2
/* Pause after a connection could not be accepted: it waits, and the socket stays readable. */
#define PAUSE_MS     100

static struct {
	pthread_mutex_t lock; /* guards the members that are not atomic */
	bool started;
	_Atomic bool on_close, on_exit;
	int socket; /* -1: none */
	int event;  /* -1: no signal; written by the handler */
	int signal;
} stats = {.lock = PTHREAD_MUTEX_INITIALIZER, .socket = -1, .event = -1};

/* --- reports --- */

static char *report_text(struct dofi_ia *ia, size_t *size_p)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size_p);

	if (!out)
		return NULL;
	fprintf(out, "dat-ofi %s, process %d (%s), DAT %d\n", PACKAGE_VERSION, (int)getpid(),
		program_invocation_short_name, DOFI_DAT_MAJOR);
	if (ia)
		dofi_ia_report(ia, out);
	else
		dofi_ia_report_all(out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static void report_to_log(struct dofi_ia *ia)
{
	size_t size;
	char *text = report_text(ia, &size);

	if (text)
		dofi_log_text(text, size);
	free(text);
}

/* --- the socket --- */

static bool is_friend(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

static void answer(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	const struct timeval limit = {.tv_sec = SEND_SECONDS};
	char *text;
	size_t size, sent = 0;
	ssize_t n;

	if (fd < 0) {
		poll(NULL, 0, PAUSE_MS);
		return;
	}
	if (is_friend(fd)) {
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
		text = report_text(NULL, &size);
		while (text && sent < size &&
		       (n = send(fd, text + sent, size - sent, MSG_NOSIGNAL)) > 0)
			sent += (size_t)n;
		free(text);
	}
	close(fd);
}

static int open_socket(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int size = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "dat-ofi/%d/%d",
			    (int)getpid(), DOFI_DAT_MAJOR);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 &&
	    !bind(fd, (struct sockaddr *)&name,
		  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size)) &&
	    !listen(fd, 8))
		return fd;
	DOFI_LOG_W("stats=socket: can't listen at @dat-ofi/%d/%d: %s; dat_info -p will not reach "
		   "this process",
		   (int)getpid(), DOFI_DAT_MAJOR, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* --- the signal --- */

static void on_signal(int number)
{
	const uint64_t one = 1;
	int saved_errno = errno;

	(void)number;
	if (write(stats.event, &one, sizeof(one)) < 0)
		errno = saved_errno; /* the eventfd is full: a report is pending in any case */
}

/* "USR2", "SIGUSR2" or a number; 0 if it is none. */
static int signal_number(const char *word)
{
	static const struct {
		const char *name;
		int number;
	} names[] = {
		{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP},     {"QUIT", SIGQUIT},
		{"URG", SIGURG},   {"PROF", SIGPROF}, {"WINCH", SIGWINCH}, {"IO", SIGIO},
	};
	char *end;
	long number = strtol(word, &end, 10);

	if (end != word)
		return !*end && number > 0 && number < NSIG ? (int)number : 0;
	if (!strncmp(word, "SIG", 3))
		word += 3;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i].name, word))
			return names[i].number;
	return 0;
}

static void open_signal(const char *word)
{
	struct sigaction old, action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	int number = signal_number(word);

	if (!number || sigaction(number, NULL, &old)) {
		DOFI_LOG_W("stats=signal=%s: there is no such signal; USR1 and USR2 are free in "
			   "most programs",
			   word);
		return;
	}
	if (old.sa_handler != SIG_DFL) { /* or its sa_sigaction, which is in the same place */
		DOFI_LOG_W(
			"stats=signal=%s: the program handles that signal itself; name another one",
			word);
		return;
	}
	stats.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (stats.event >= 0 && !sigaction(number, &action, NULL)) {
		stats.signal = number;
		return;
	}
	DOFI_LOG_W("stats=signal=%s: can't handle it: %s", word, strerror(errno));
	if (stats.event >= 0)
		close(stats.event);
	stats.event = -1;
}

/* --- start and end --- */

static void *stats_main(void *arg)
{
	struct pollfd fds[] = {{.fd = stats.socket, .events = POLLIN},
			       {.fd = stats.event, .events = POLLIN}};
	uint64_t count;

	(void)arg;
	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return NULL;
		if (fds[0].revents)
			answer(fds[0].fd);
		if (fds[1].revents && read(fds[1].fd, &count, sizeof(count)) == sizeof(count))
			report_to_log(NULL);
	}
}

static void apply_word(const char *word)
{
	if (!strcmp(word, "exit"))
		atomic_store(&stats.on_exit, true);
	else if (!strcmp(word, "close"))
		atomic_store(&stats.on_close, true);
	else if (!strcmp(word, "socket"))
		stats.socket = stats.socket < 0 ? open_socket() : stats.socket;
	else if (!strncmp(word, "signal=", 7) && stats.event < 0)
		open_signal(word + 7);
	else
		DOFI_LOG_W("stats=%s has no meaning; there are exit, close, socket and signal=NAME",
			   word);
}

static void start_thread(void)
{
	pthread_t thread;
	int err = dofi_start_thread(&thread, stats_main, NULL);

	if (err)
		DOFI_LOG_W("stats: can't start the thread that reports counters: %s; allow more "
			   "threads "
			   "(ulimit -u)",
			   strerror(-err));
	else
		pthread_detach(thread);
}

void dofi_stats_start(struct dofi_ia *ia)
{
	char words[sizeof(ia->params.stats)], *rest = NULL;

	if (!*ia->params.stats)
		return;
	pthread_mutex_lock(&stats.lock);
	if (!stats.started) {
		stats.started = true;
		strcpy(words, ia->params.stats);
		for (char *word = strtok_r(words, ",", &rest); word;
		     word = strtok_r(NULL, ",", &rest))
			apply_word(word);
		if (stats.socket >= 0 || stats.event >= 0)
			start_thread();
	}
	pthread_mutex_unlock(&stats.lock);
}

void dofi_stats_closing(struct dofi_ia *ia)
{
	if (atomic_load(&stats.on_close))
		report_to_log(ia);
}

void dofi_stats_exit(void)
{
	if (atomic_load(&stats.on_exit))
		report_to_log(NULL);
}

/* The child has no thread for reports. It starts one when it opens an IA. */
void dofi_stats_fork_child(void)
{
	if (stats.signal)
		signal(stats.signal, SIG_DFL);
	if (stats.socket >= 0)
		close(stats.socket);
	if (stats.event >= 0)
		close(stats.event);
	stats.socket = stats.event = -1;
	stats.signal = 0;
	stats.started = false;
	atomic_store(&stats.on_close, false);
	atomic_store(&stats.on_exit, false);
	pthread_mutex_init(&stats.lock, NULL);
}
