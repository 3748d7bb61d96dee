/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "common/child.h"

#include "common/common.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* So much longer than the parent does a child live. */
#define GRACE_SECONDS 5

static int read_some(int fd, char **text, size_t *len)
{
	char part[4096];
	ssize_t got = read(fd, part, sizeof(part));
	char *longer;

	if (got < 0 && errno == EINTR)
		return 1;
	if (got <= 0)
		return 0;
	longer = realloc(*text, *len + (size_t)got + 1);
	if (!longer)
		return 0;
	memcpy(longer + *len, part, (size_t)got);
	*len += (size_t)got;
	longer[*len] = '\0';
	*text = longer;
	return 1;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* Reads both pipes until the child has closed them. False when that takes too long. */
static bool collect(int out, int err, struct util_answer *answer)
{
	int64_t until = now_ms() + UTIL_ANSWER_SECONDS * INT64_C(1000), left;
	struct pollfd fds[] = {{.fd = out, .events = POLLIN}, {.fd = err, .events = POLLIN}};

	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		left = until - now_ms();
		if (left <= 0)
			return false;
		if (poll(fds, 2, (int)left) < 0 && errno != EINTR)
			return false;
		if (fds[0].revents && !read_some(out, &answer->text, &answer->text_len))
			fds[0].fd = -1;
		if (fds[1].revents && !read_some(err, &answer->log, &answer->log_len))
			fds[1].fd = -1;
	}
	return true;
}

/*
 * A child that hangs must not outlive its parent. If the parent died before prctl() took effect,
 * nobody sends the signal. The alarm serves where the parent lives and is stopped.
 */
static void die_with(pid_t parent)
{
	sigset_t alarms;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &alarms, NULL);
	signal(SIGALRM, SIG_DFL);
	alarm(UTIL_ANSWER_SECONDS + GRACE_SECONDS);
}

/* Libraries print to either stream; both are their log. */
static void run_child(util_child_work work, const void *arg, int out, int err)
{
	FILE *file = fdopen(out, "w");
	bool ok;

	dup2(err, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	ok = file && work(file, arg);
	if (file)
		fflush(file);
	fflush(stdout);
	_exit(ok ? 0 : 1);
}

/* The prefixes of the provider and of the registries. */
static bool is_of_dat(const char *line)
{
	static const char *const prefixes[] = {"dat-ofi: ", "libdat2: ", "libdat: "};

	for (size_t i = 0; i < UTIL_ARRAY_LEN(prefixes); i++) {
		if (!strncmp(line, prefixes[i], strlen(prefixes[i])))
			return true;
	}
	return false;
}

static void find_warnings(struct util_answer *answer)
{
	char *end = answer->log ? malloc(answer->log_len + 1) : NULL;

	answer->warnings = end;
	for (const char *line = answer->log; end && *line;) {
		size_t len = strcspn(line, "\n");

		len += line[len] == '\n';
		if (is_of_dat(line))
			end = mempcpy(end, line, len);
		line += len;
	}
	if (end)
		*end = '\0';
	if (end == answer->warnings) {
		free(answer->warnings);
		answer->warnings = NULL;
	}
}

int util_ask_child(util_child_work work, const void *arg, struct util_answer *answer)
{
	int out[2], err[2], status = 1;
	pid_t parent = getpid(), child;

	memset(answer, 0, sizeof(*answer));
	if (pipe(out))
		return util_fail("cannot make a pipe to a process that tries it: %s",
				 strerror(errno));
	if (pipe(err)) {
		close(out[0]);
		close(out[1]);
		return util_fail("cannot make a pipe to a process that tries it: %s",
				 strerror(errno));
	}
	fflush(stdout);
	child = fork();
	if (!child) {
		die_with(parent);
		run_child(work, arg, out[1], err[1]);
	}
	close(out[1]);
	close(err[1]);
	if (child > 0) {
		answer->late = !collect(out[0], err[0], answer);
		if (answer->late)
			kill(child, SIGKILL);
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
	}
	close(out[0]);
	close(err[0]);
	find_warnings(answer);
	if (child < 0)
		return util_fail("cannot start a process that tries it: %s", strerror(errno));
	answer->ok = WIFEXITED(status) && !WEXITSTATUS(status);
	if (WIFSIGNALED(status) && !answer->late)
		return util_fail("it ended with signal %d, %s", WTERMSIG(status),
				 strsignal(WTERMSIG(status)));
	return 0;
}

int util_ask_child_at(const char *level, util_child_work work, const void *arg,
		      struct util_answer *answer)
{
	const char *set = getenv("DAT_OFI_LOG");
	char *before = set ? strdup(set) : NULL;
	int ret;

	setenv("DAT_OFI_LOG", level, 1);
	ret = util_ask_child(work, arg, answer);
	if (before)
		setenv("DAT_OFI_LOG", before, 1);
	else
		unsetenv("DAT_OFI_LOG");
	free(before);
	return ret;
}

void util_answer_free(struct util_answer *answer)
{
	free(answer->warnings);
	free(answer->text);
	free(answer->log);
}

const char *util_answer_failure(const struct util_answer *answer)
{
	if (answer->late)
		util_fail("no answer within %d seconds", UTIL_ANSWER_SECONDS);
	else if (answer->text)
		util_fail("%s", answer->text);
	else
		util_fail("it ended the process without a word");
	return util_error();
}

void util_write_log(FILE *out, const char *log)
{
	char line[4096];

	while (log && *log) {
		size_t len = strcspn(log, "\n");

		if (len) {
			snprintf(line, sizeof(line), "%.*s", (int)len, log);
			fprintf(out, "    ");
			util_write_wrapped(out, 4, 6, line);
		}
		log += len + (log[len] == '\n');
	}
}
