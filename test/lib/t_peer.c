/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "t_peer.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- messages for Check --- */

/*
 * Check writes a message to an unnamed file at each assertion, and its children write to the same
 * file. A process that is killed then may leave half a message, after which Check can't read on. So
 * a peer gets a file of its own.
 */
static int check_fd(void)
{
	char link[64], name[256];

	for (int fd = 3; fd < 256; fd++) {
		ssize_t n;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, name, sizeof(name) - 1);
		if (n < 0)
			continue;
		name[n] = '\0';
		if (strstr(name, "/check_") && strstr(name, " (deleted)"))
			return fd;
	}
	return -1;
}

static void use_own_file(const struct t_peer *self)
{
	int fd = check_fd();

	if (fd >= 0 && dup2(self->messages, fd) != fd)
		_exit(EXIT_FAILURE);
}

/* The assertion that failed, with what came before it. */
static void pass_on(const struct t_peer *peer)
{
	char bytes[4096];
	int fd = check_fd();
	off_t at = 0;
	ssize_t n;

	while (fd >= 0 && (n = pread(peer->messages, bytes, sizeof(bytes), at)) > 0 &&
	       write(fd, bytes, (size_t)n) == n)
		at += n;
}

/* --- */

void t_peer_start(struct t_peer *peer, void (*role)(struct t_peer *self))
{
	pid_t parent = getpid();
	int sock[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock), 0);
	peer->messages = memfd_create("messages of a peer", MFD_CLOEXEC);
	ck_assert_int_ge(peer->messages, 0);
	fflush(NULL);
	peer->pid = fork();
	ck_assert_int_ge(peer->pid, 0);
	peer->sock = sock[peer->pid ? 0 : 1];
	close(sock[peer->pid ? 1 : 0]);
	if (peer->pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	use_own_file(peer);
	if (getppid() == parent)
		role(peer);
	exit(EXIT_SUCCESS);
}

/* Check reports the first failure, which is the one of the peer. */
static void there(const struct t_peer *peer, bool yes)
{
	if (!yes && peer->pid)
		pass_on(peer);
	ck_assert_msg(yes, "the process at the other end has gone");
}

void t_peer_tell(const struct t_peer *peer, uint64_t word)
{
	ssize_t sent = send(peer->sock, &word, sizeof(word), MSG_NOSIGNAL);

	there(peer, sent == (ssize_t)sizeof(word));
}

uint64_t t_peer_hear(const struct t_peer *peer)
{
	struct pollfd ready = {.fd = peer->sock, .events = POLLIN};
	uint64_t word = 0;

	ck_assert_msg(poll(&ready, 1, 6 * (int)(T_LIMIT_US / 1000)) == 1,
		      "the process at the other end says nothing");
	there(peer, recv(peer->sock, &word, sizeof(word), 0) == (ssize_t)sizeof(word));
	return word;
}

void t_peer_freeze(const struct t_peer *peer)
{
	int status;

	ck_assert_int_eq(kill(peer->pid, SIGSTOP), 0);
	ck_assert_int_eq(waitpid(peer->pid, &status, WUNTRACED), peer->pid);
	ck_assert(WIFSTOPPED(status));
}

void t_peer_thaw(const struct t_peer *peer)
{
	ck_assert_int_eq(kill(peer->pid, SIGCONT), 0);
}

void t_peer_kill(struct t_peer *peer)
{
	int status;

	ck_assert_int_eq(kill(peer->pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(peer->pid, &status, 0), peer->pid);
	ck_assert(WIFSIGNALED(status));
	close(peer->sock);
	close(peer->messages);
}

void t_peer_join(struct t_peer *peer)
{
	int status = 0;

	t_until(waitpid(peer->pid, &status, WNOHANG) == peer->pid);
	if (WIFEXITED(status) && WEXITSTATUS(status))
		pass_on(peer);
	ck_assert_msg(WIFEXITED(status) && !WEXITSTATUS(status),
		      "the process at the other end failed, wait status 0x%x",
		      (unsigned int)status);
	close(peer->sock);
	close(peer->messages);
}
