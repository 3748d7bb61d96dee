/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "memory/local_socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static socklen_t address_of(const uint8_t *name, struct sockaddr_un *address)
{
	static const char prefix[] = "\0dat-ofi-";
	char *at = address->sun_path + sizeof(prefix) - 1;

	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(address->sun_path, prefix, sizeof(prefix) - 1);
	memcpy(at, name, DOFI_LOCAL_NAME);
	return (socklen_t)(at + DOFI_LOCAL_NAME - (char *)address);
}

int dofi_local_socket_open(const uint8_t name[DOFI_LOCAL_NAME])
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1, ret;
	struct sockaddr_un address;
	socklen_t size = address_of(name, &address);

	if (fd < 0)
		return -errno;
	if (!setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) &&
	    !bind(fd, (struct sockaddr *)&address, size))
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

int dofi_local_socket_send(int fd, const uint8_t name[DOFI_LOCAL_NAME], const void *text,
			   size_t size, int passed)
{
	struct iovec iov = {(void *)(uintptr_t)text, size};
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct sockaddr_un address;
	struct msghdr msg = {.msg_name = &address,
			     .msg_namelen = address_of(name, &address),
			     .msg_iov = &iov,
			     .msg_iovlen = 1};

	if (passed >= 0) {
		msg.msg_control = control.space;
		msg.msg_controllen = sizeof(control.space);
		*CMSG_FIRSTHDR(&msg) = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
							.cmsg_level = SOL_SOCKET,
							.cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&msg)), &passed, sizeof(passed));
	}
	return sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* --- receiving --- */

/*
 * The kernel has opened every descriptor of the datagram. We send one with a datagram; if there are
 * several, all are closed.
 */
static int only_descriptor(const struct cmsghdr *header)
{
	size_t n = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	int fd;

	for (size_t i = 0; i < n; i++) {
		memcpy(&fd, CMSG_DATA(header) + i * sizeof(fd), sizeof(fd));
		if (n == 1)
			return fd;
		close(fd);
	}
	return -1;
}

/* A process of a PID namespace that this process cannot see has pid 0. */
static void look_at(const struct cmsghdr *header, struct dofi_local_sender *sender)
{
	struct ucred who;

	if (header->cmsg_len < CMSG_LEN(sizeof(who)))
		return;
	memcpy(&who, CMSG_DATA(header), sizeof(who));
	sender->pid = who.pid;
	sender->is_user = who.uid == geteuid() || !who.uid;
}

static void look_beside(struct msghdr *msg, struct dofi_local_sender *sender)
{
	struct cmsghdr *header;

	*sender = (struct dofi_local_sender){.passed = -1};
	for (header = CMSG_FIRSTHDR(msg); header; header = CMSG_NXTHDR(msg, header)) {
		if (header->cmsg_level != SOL_SOCKET)
			continue;
		if (header->cmsg_type == SCM_CREDENTIALS)
			look_at(header, sender);
		else if (header->cmsg_type == SCM_RIGHTS && sender->passed < 0)
			sender->passed = only_descriptor(header);
	}
}

ssize_t dofi_local_socket_receive(int fd, void *text, size_t size,
				  struct dofi_local_sender *sender_p)
{
	struct iovec iov = {text, size};
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.space,
			     .msg_controllen = sizeof(control.space)};
	ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return -errno;
	look_beside(&msg, sender_p);
	if (n && !(msg.msg_flags & (MSG_CTRUNC | MSG_TRUNC)))
		return n;
	if (sender_p->passed >= 0)
		close(sender_p->passed);
	sender_p->passed = -1;
	return 0;
}
