/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Listening sockets: choice of the port for a conn_qual, and exclusive use of hashed ones. */
#include "cm/listener.h"

#include "cm/service_point.h"

#include "base/addr.h"
#include "object/ia.h"
#include "base/log.h"
#include "cm/channel.h"
#include "cm/stranger.h"
#include "cm/wire.h"
#include "base/clock.h"
#include "fabric/netdev.h"
#include "progress/timer.h"
#include "progress/engine_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/un.h>
#include <unistd.h>

#define ACCEPTS_PER_TURN 64
#define BACKLOG          4096 /* the kernel limits it to net.core.somaxconn */
#define PAUSE_NS         100000000u

/* --- accepting --- */

static void pause_fired(struct dofi_timer *timer)
{
	struct dofi_sp *sp = DOFI_CONTAINER(timer, struct dofi_sp, pause);
	struct dofi_cm *cm = &sp->obj.ia->cm;

	if (cm->spare_fd < 0)
		cm->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	dofi_engine_rewatch(sp->obj.ia, &sp->fd, EPOLLIN);
}

static void pause_accepting(struct dofi_sp *sp)
{
	dofi_engine_rewatch(sp->obj.ia, &sp->fd, 0);
	dofi_timer_set(sp->obj.ia, &sp->pause, dofi_now() + PAUSE_NS);
}

/* No descriptor is left: uses the spare one to accept the next connection and close it. */
static bool turn_away(struct dofi_sp *sp)
{
	struct dofi_cm *cm = &sp->obj.ia->cm;
	int fd = -1;

	if (!cm->told_no_fds)
		DOFI_LOG_W("%s: refusing connections, no more files can be open; raise the limit "
			   "(ulimit -n)",
			   sp->obj.ia->name);
	cm->told_no_fds = true;
	if (cm->spare_fd >= 0) {
		close(cm->spare_fd);
		fd = accept4(sp->fd.fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			close(fd);
		cm->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
	return fd >= 0;
}

/* After a failure of accept(): whether it may succeed if it is tried again at once. */
static bool recover(struct dofi_sp *sp, int err)
{
	if (err == EMFILE || err == ENFILE)
		return dofi_stranger_evict(sp->obj.ia) || turn_away(sp);
	return err != ENOBUFS && err != ENOMEM;
}

/* The next connection; -1 with errno. */
static int accept_next(const struct dofi_sp *sp)
{
	struct sockaddr_storage raw, source;
	socklen_t size = sizeof(raw);
	int fd = accept4(sp->fd.fd, (struct sockaddr *)&raw, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0 || !sp->checks_source ||
	    (dofi_addr_set(&source, (const struct sockaddr *)&raw, 0) &&
	     dofi_netdev_is_ours(&source)))
		return fd;
	close(fd);
	errno = ECONNABORTED; /* the next one may be from this host */
	return -1;
}

static void listener_ready(struct dofi_fd *watched, uint32_t events)
{
	struct dofi_sp *sp = DOFI_CONTAINER(watched, struct dofi_sp, fd);
	int fd;

	(void)events;
	for (int i = 0; i < ACCEPTS_PER_TURN && sp->fd.fd >= 0; i++) {
		fd = accept_next(sp);
		if (fd >= 0) {
			if (!dofi_stranger_adopt(sp->obj.ia, fd))
				close(fd);
		} else if (errno == EAGAIN) {
			return;
		} else if (!recover(sp, errno)) {
			pause_accepting(sp);
			return;
		}
	}
}

/* --- listening: after a failure dofi_sp_unlisten closes what was opened --- */

/*
 * Other hosts cannot use the fabric, so the socket should not answer them. What a host sends to its
 * own addresses comes by the loopback device; the filter drops packets from other devices. Some
 * kernels take no filter of a user. Then the listener closes what comes from other hosts.
 */
static bool confine_to_host(const struct dofi_ia *ia, int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_HATYPE)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARPHRD_LOOPBACK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog filter = {.len = sizeof(code) / sizeof(*code), .filter = code};

	if (!setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)))
		return true;
	DOFI_LOG_I("%s: the kernel takes no socket filter: %s. Connections of other hosts are "
		   "accepted and closed",
		   ia->name, strerror(errno));
	return false;
}

static int open_listener(struct dofi_sp *sp, const struct sockaddr_storage *addr)
{
	int fd = socket(addr->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int ret = 0, on = 1;

	if (fd < 0)
		return -errno;
	/*
	 * Old connections to the port do not prevent listening; two listeners still exclude each
	 * other.
	 */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	sp->checks_source = sp->obj.ia->host_only && !confine_to_host(sp->obj.ia, fd);
	if (bind(fd, (const struct sockaddr *)addr, dofi_addr_len(addr)) || listen(fd, BACKLOG))
		ret = -errno;
	if (ret)
		close(fd);
	else
		sp->fd.fd = fd;
	return ret;
}

/*
 * Opens the listening socket of an IA. If the fabric has no addresses, as shm, the socket listens
 * at all addresses of the host, unless addr= names one. If another IA has the port at one of them,
 * it listens at the IA's own address.
 */
static int open_for_ia(struct dofi_sp *sp, uint16_t port)
{
	struct dofi_ia *ia = sp->obj.ia;
	struct sockaddr_storage addr;

	if (ia->host_only && !*ia->params.addr) {
		const struct sockaddr_storage any = {.ss_family = ia->addr.ss_family};

		dofi_addr_set(&addr, (const struct sockaddr *)&any, port);
		if (!open_listener(sp, &addr))
			return 0;
	}
	if (!dofi_addr_set(&addr, (struct sockaddr *)&ia->addr, port))
		return -EAFNOSUPPORT;
	return open_listener(sp, &addr);
}

static int listen_at(struct dofi_sp *sp, uint16_t port)
{
	int ret = open_for_ia(sp, port);

	return ret ? ret : dofi_engine_watch(sp->obj.ia, &sp->fd, EPOLLIN);
}

static int listen_anywhere(struct dofi_sp *sp)
{
	struct sockaddr_storage addr;
	socklen_t size = sizeof(addr);
	int ret = -EADDRINUSE;

	/* Between the kernel's choice and listen() another process may take the same port. */
	for (uint32_t n = 0; n < DOFI_PORT_TRIES && ret == -EADDRINUSE; n++)
		ret = listen_at(sp, 0);
	if (ret)
		return ret;
	if (getsockname(sp->fd.fd, (struct sockaddr *)&addr, &size))
		return -errno;
	sp->conn_qual = dofi_addr_port(&addr);
	return 0;
}

/*
 * Two processes with the same hashed conn_qual would each find a free port. So the listener takes a
 * name in the abstract socket space: it is exclusive in the network namespace, as ports are, and
 * disappears with its process.
 */
static int claim(struct dofi_sp *sp)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	char addr[DOFI_ADDR_TEXT];
	int n;

	n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "dat-ofi/%s/%" PRIx64,
		     dofi_addr_text(&sp->obj.ia->addr, addr), sp->conn_qual);
	sp->claim_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sp->claim_fd < 0 ||
	    bind(sp->claim_fd, (struct sockaddr *)&name,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)))
		return -errno;
	return 0;
}

static int listen_hashed(struct dofi_sp *sp)
{
	uint16_t port;
	int ret = claim(sp);

	if (ret)
		return ret;
	for (uint32_t n = 0; dofi_port_candidate(sp->conn_qual, n, &port); n++) {
		ret = listen_at(sp, port);
		if (ret != -EADDRINUSE)
			return ret;
	}
	return -ENOSPC;
}

int dofi_sp_listen(struct dofi_sp *sp)
{
	int ret;

	dofi_assert_held(&sp->obj.ia->engine.lock);
	sp->fd = (struct dofi_fd){.fd = -1, .ready = listener_ready};
	sp->pause.fire = pause_fired;
	sp->claim_fd = -1;
	dofi_list_init(&sp->link);
	if (!sp->conn_qual)
		ret = listen_anywhere(sp);
	else if (dofi_port_is_own(sp->conn_qual))
		ret = listen_at(sp, (uint16_t)sp->conn_qual);
	else
		ret = listen_hashed(sp);
	if (ret)
		dofi_sp_unlisten(sp);
	else
		dofi_list_add_tail(&sp->obj.ia->cm.listeners, &sp->link);
	return ret;
}

void dofi_sp_unlisten(struct dofi_sp *sp)
{
	dofi_assert_held(&sp->obj.ia->engine.lock);
	dofi_list_del(&sp->link);
	dofi_timer_cancel(sp->obj.ia, &sp->pause);
	if (sp->fd.fd >= 0) {
		dofi_engine_unwatch(sp->obj.ia, &sp->fd);
		close(sp->fd.fd);
	}
	if (sp->claim_fd >= 0)
		close(sp->claim_fd);
	sp->fd.fd = sp->claim_fd = -1;
}
