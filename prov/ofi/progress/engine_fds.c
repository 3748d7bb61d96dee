/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "progress/engine_fds.h"

#include "object/ia.h"
#include "progress/work.h"

#include <errno.h>
#include <sys/epoll.h>

static int add(int epfd, int fd, uint32_t epoll_events, void *ptr)
{
	struct epoll_event ev = {.events = epoll_events, .data.ptr = ptr};

	return epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

int dofi_engine_watch(struct dofi_ia *ia, struct dofi_fd *fd, uint32_t epoll_events)
{
	return add(ia->engine.sock_epfd, fd->fd, epoll_events, fd);
}

void dofi_engine_rewatch(struct dofi_ia *ia, struct dofi_fd *fd, uint32_t epoll_events)
{
	struct epoll_event ev = {.events = epoll_events, .data.ptr = fd};

	epoll_ctl(ia->engine.sock_epfd, EPOLL_CTL_MOD, fd->fd, &ev);
}

void dofi_engine_unwatch(struct dofi_ia *ia, struct dofi_fd *fd)
{
	epoll_ctl(ia->engine.sock_epfd, EPOLL_CTL_DEL, fd->fd, NULL);
}

int dofi_engine_wake_on(struct dofi_ia *ia, int fd)
{
	return add(ia->engine.quiet_epfd, fd, EPOLLIN, NULL);
}

int dofi_engine_hear(struct dofi_ia *ia)
{
	/* One at a time: a handler may close the owner of another descriptor that is ready, too. */
	struct epoll_event event;
	int n = 0;

	dofi_assert_held(&ia->engine.lock);
	/* A call that waits for a peer listens in a loop: the peer needs what is queued for it. */
	dofi_work_run_last(ia);
	while (n < 64 && epoll_wait(ia->engine.sock_epfd, &event, 1, 0) == 1) {
		struct dofi_fd *fd = event.data.ptr;

		fd->ready(fd, event.events);
		n++;
	}
	return n;
}
