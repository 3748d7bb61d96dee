/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counters of another process: its provider answers by a socket in the abstract name space. */
#include "info/process.h"

#include "common/common.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* The provider waits a second for each engine that is busy. */
#define ANSWER_SECONDS 20
/* A report of ten thousand endpoints has some megabytes, which come at once. */
#define REPORT_SECONDS 40
#define REPORT_MAX     (64u << 20)

/*
 * Any process can take the name, so the kernel is asked for its owner. Only root reads reports of
 * other users' processes, and their contents are not trusted.
 */
static bool is_process(int fd, uint32_t pid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) &&
	       (uint32_t)peer.pid == pid && (peer.uid == geteuid() || !geteuid());
}

/*
 * The number of the process in its own PID namespace, as a container may have one. The name of its
 * socket contains it.
 */
static uint32_t own_number(uint32_t pid)
{
	char path[32], line[512];
	const char *last = NULL;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	status = fopen(path, "re");
	while (status && !last && fgets(line, sizeof(line), status))
		if (!strncmp(line, "NSpid:", strlen("NSpid:")))
			last = strrchr(line, '\t');
	if (last)
		pid = (uint32_t)strtoul(last + 1, NULL, 10);
	if (status)
		fclose(status);
	return pid;
}

/* Connects and requests the report. Returns the socket, or -1 with errno set. */
static int ask(uint32_t pid, int generation)
{
	const struct timeval limit = {.tv_sec = ANSWER_SECONDS};
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int size = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "dat-ofi/%u/%d",
			    own_number(pid), generation);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	/* also the limit of connect() */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (!connect(fd, (struct sockaddr *)&name,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)size)) &&
	    is_process(fd, pid))
		return fd;
	close(fd);
	return -1;
}

/* Prints the text without control characters. */
static void print(const char *part, size_t size)
{
	for (size_t i = 0; i < size; i++)
		putchar(isprint((unsigned char)part[i]) || part[i] == '\n' || part[i] == '\t'
				? part[i]
				: '?');
}

static bool copy(int fd)
{
	time_t limit = time(NULL) + REPORT_SECONDS;
	size_t total = 0;
	char part[4096];
	ssize_t n;

	while ((n = read(fd, part, sizeof(part))) > 0) {
		print(part, (size_t)n);
		total += (size_t)n;
		if (total > REPORT_MAX || time(NULL) > limit)
			return false;
	}
	return total && !n;
}

int util_process_report(uint32_t pid)
{
	bool asked = false, answered = true;

	/* A process may have loaded the providers of both generations. */
	for (int generation = 1; generation <= 2; generation++) {
		int fd = ask(pid, generation);

		if (fd < 0)
			continue;
		asked = true;
		answered &= copy(fd);
		close(fd);
	}
	if (!asked)
		return util_fail(
			"process %u does not answer: it tells its counters if it was started with "
			"DAT_OFI_STATS=socket, has an interface open and is in this network "
			"namespace",
			pid);
	return answered ? 0
			: util_fail("process %u does not tell its counters, or not all: it runs "
				    "for another user, hangs, or does not come to an end",
				    pid);
}
