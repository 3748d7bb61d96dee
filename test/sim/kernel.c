/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "kernel.h"

#include "must.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define FIRST_FD  0x100000
#define NOBODY    UINT32_MAX
#define AVAILABLE UINT32_MAX

enum kind { FREE, PLAIN, FRESH, LISTENING, DIALING, STREAM };

struct sock {
	enum kind kind;
	int owner;
	uint32_t host, peer_host;
	uint16_t port, peer_port;
	uint64_t name;   /* in the abstract socket space; 0: none */
	int epfd;        /* epoll set that watches it */
	uint32_t events; /* watched */
	void *data;
	bool watched, accepted, ended;
	int err;          /* the error with which the stream or the dial ended */
	uint32_t pending; /* of a listener: number of waiting dials; of such a dial: the listener */
	uint32_t room;
	uint32_t rx_fill;
};

struct kernel_faults kernel_faults;
struct kernel_process kernel_process = {0, KERNEL_LOOPBACK, KERNEL_SOCKETS};
uint64_t kernel_time = 1000 * KERNEL_MS;
uint32_t kernel_seed;
long kernel_allocated;
void (*kernel_pause)(void);

static struct sock socks[KERNEL_SOCKETS];
static uint8_t rx[KERNEL_SOCKETS][KERNEL_RX_SIZE]; /* bytes that the process has not read */
static struct kernel_peers peers;
static bool is_on;
static int first; /* sockets before this one belong to the engine */
static int last;  /* sockets from here on are free */
static uint32_t turn;
static uint16_t next_port;

static int fd_of(const struct sock *s)
{
	return FIRST_FD + (int)(s - socks);
}

static struct sock *sock_of(int fd)
{
	return fd >= FIRST_FD && fd < FIRST_FD + KERNEL_SOCKETS ? &socks[fd - FIRST_FD] : NULL;
}

static int fail(int err)
{
	errno = err;
	return -1;
}

static int use_up(int *err)
{
	int was = *err;

	*err = 0;
	return was;
}

int kernel_count(int process)
{
	int n = 0;

	for (int i = 0; i < last; i++)
		n += socks[i].kind != FREE && socks[i].pending == NOBODY &&
		     socks[i].owner == process;
	return n;
}

static struct sock *open_sock(enum kind kind, const struct kernel_process *of)
{
	bool has_room = kernel_count(of->number) < of->most;

	for (int i = 0; has_room && i < KERNEL_SOCKETS; i++) {
		struct sock *s = &socks[i];

		if (s->kind != FREE)
			continue;
		*s = (struct sock){.kind = kind};
		s->owner = of->number;
		s->host = of->host;
		if (i >= last)
			last = i + 1;
		s->pending = NOBODY;
		s->room = AVAILABLE;
		return s;
	}
	errno = EMFILE;
	return NULL;
}

static int open_plain(void)
{
	struct sock *s = open_sock(PLAIN, &kernel_process);

	return s ? fd_of(s) : -1;
}

/* --- the target's side --- */

void kernel_begin(const struct kernel_peers *to)
{
	peers = *to;
	kernel_faults = (struct kernel_faults){0};
	kernel_time = 1000 * KERNEL_MS;
	kernel_seed = turn = 0;
	next_port = 40000;
	is_on = true;
	for (first = 0; first < KERNEL_SOCKETS && socks[first].kind != FREE; first++)
		;
}

int kernel_end(void)
{
	int n = 0;

	for (int i = first; i < last; i++) {
		n += socks[i].kind != FREE;
		socks[i].kind = FREE;
	}
	last = first;
	return n;
}

int kernel_sockets(void)
{
	return last;
}

bool kernel_is_open(int s)
{
	return socks[s].kind == STREAM;
}

bool kernel_is_dialling(int s)
{
	return socks[s].kind == DIALING;
}

uint32_t kernel_host(int s)
{
	return socks[s].host;
}

uint32_t kernel_peer_host(int s)
{
	return socks[s].peer_host;
}

uint16_t kernel_peer_port(int s)
{
	return socks[s].peer_port;
}

int kernel_owner(int s)
{
	return socks[s].owner;
}

uint16_t kernel_port(int s)
{
	return socks[s].accepted ? socks[s].port : socks[s].peer_port;
}

static int count_listeners(void)
{
	int n = 0;

	for (int i = 0; i < last; i++)
		n += socks[i].kind == LISTENING;
	return n;
}

static struct sock *listener(unsigned int nth)
{
	for (int i = 0; i < last; i++)
		if (socks[i].kind == LISTENING && !nth--)
			return &socks[i];
	return NULL;
}

int kernel_listener(uint32_t host, uint16_t port)
{
	for (int i = 0; i < last; i++)
		if (socks[i].kind == LISTENING && socks[i].port == port && socks[i].host == host)
			return i;
	return -1;
}

/* The dial stays in the listener's queue until accept4 takes it. */
int kernel_dial_to(int to, uint32_t host, uint16_t port)
{
	const struct sock *at = &socks[to];
	const struct kernel_process queue = {at->owner, at->host, KERNEL_SOCKETS};
	struct sock *s = open_sock(STREAM, &queue);

	if (!s)
		return -1;
	s->accepted = true;
	s->pending = (uint32_t)to;
	s->port = at->port;
	s->peer_host = host;
	s->peer_port = port;
	peers.connected((int)(s - socks), true);
	return (int)(s - socks);
}

int kernel_dial(unsigned int nth)
{
	int n = count_listeners();

	if (!n)
		return -1;
	return kernel_dial_to((int)(listener(nth % (unsigned int)n) - socks), KERNEL_LOOPBACK,
			      next_port++);
}

void kernel_answer(int n, int err)
{
	struct sock *s = &socks[n];

	if (s->kind != DIALING)
		return;
	s->kind = STREAM;
	s->err = err;
	s->ended = err;
	if (!err)
		peers.connected(n, false);
}

void kernel_put(int n, const uint8_t *bytes, size_t size)
{
	struct sock *s = &socks[n];

	if (s->kind != STREAM || s->ended)
		return;
	if (size > KERNEL_RX_SIZE - s->rx_fill)
		size = KERNEL_RX_SIZE - s->rx_fill;
	if (size)
		memcpy(rx[n] + s->rx_fill, bytes, size);
	s->rx_fill += (uint32_t)size;
}

uint32_t kernel_unread(int n)
{
	return socks[n].rx_fill;
}

void kernel_hang_up(int n, int err)
{
	struct sock *s = &socks[n];

	if (s->kind != STREAM || (s->ended && (s->err || !err)))
		return;
	s->ended = true;
	s->err = err;
}

void kernel_set_room(int n, uint32_t bytes)
{
	socks[n].room = bytes;
}

/* --- sockets --- */

int __wrap_socket(int domain, int type, int protocol);
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t size);
int __wrap_bind(int fd, const struct sockaddr *to, socklen_t size);
int __wrap_listen(int fd, int backlog);
int __wrap_accept4(int fd, struct sockaddr *from, socklen_t *size, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t size, int flags);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size);
int __wrap_getsockname(int fd, struct sockaddr *addr, socklen_t *size);
int __wrap_getpeername(int fd, struct sockaddr *addr, socklen_t *size);
int __wrap_close(int fd);
int __real_close(int fd);

int __wrap_socket(int domain, int type, int protocol)
{
	int err = use_up(&kernel_faults.socket);
	struct sock *s;

	(void)type, (void)protocol;
	if (err)
		return fail(err);
	s = open_sock(domain == AF_UNIX ? PLAIN : FRESH, &kernel_process);
	return s ? fd_of(s) : -1;
}

int __wrap_connect(int fd, const struct sockaddr *to, socklen_t size)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)to;
	int err = use_up(&kernel_faults.connect);
	struct sock *s = sock_of(fd);

	(void)size;
	if (err)
		return fail(err);
	s->kind = DIALING;
	s->port = next_port++;
	s->peer_host = ntohl(in->sin_addr.s_addr);
	s->peer_port = ntohs(in->sin_port);
	if (!kernel_faults.dials_wait)
		kernel_answer((int)(s - socks), 0);
	else if (peers.dials)
		peers.dials((int)(s - socks));
	return fail(EINPROGRESS);
}

static bool is_port_taken(const struct sock *s)
{
	return s->port && kernel_listener(s->host, s->port) >= 0;
}

/* Whether a process of the host has bound the name, by its FNV-1a hash. */
static int bind_name(struct sock *s, const struct sockaddr_un *to, socklen_t size)
{
	const uint8_t *bytes = (const uint8_t *)to->sun_path;
	uint64_t name = UINT64_C(0xcbf29ce484222325) ^ s->host;

	for (size_t i = 0; i < size - offsetof(struct sockaddr_un, sun_path); i++)
		name = (name ^ bytes[i]) * UINT64_C(0x100000001b3);
	for (int i = 0; i < last; i++)
		if (socks[i].kind == PLAIN && socks[i].name == name)
			return fail(EADDRINUSE);
	s->name = name;
	return 0;
}

int __wrap_bind(int fd, const struct sockaddr *to, socklen_t size)
{
	struct sock *s = sock_of(fd);
	int err = use_up(&kernel_faults.bind);

	if (err)
		return fail(err);
	if (s->kind == PLAIN)
		return bind_name(s, (const struct sockaddr_un *)(const void *)to, size);
	s->port = ntohs(((const struct sockaddr_in *)(const void *)to)->sin_port);
	if (!s->port)
		s->port = next_port++;
	return is_port_taken(s) ? fail(EADDRINUSE) : 0;
}

int __wrap_listen(int fd, int backlog)
{
	(void)backlog;
	sock_of(fd)->kind = LISTENING;
	return 0;
}

static struct sock *first_dial(const struct sock *at)
{
	for (int i = 0; i < last; i++)
		if (socks[i].kind == STREAM && socks[i].pending == (uint32_t)(at - socks))
			return &socks[i];
	return NULL;
}

int __wrap_accept4(int fd, struct sockaddr *from, socklen_t *size, int flags)
{
	struct sock *s = first_dial(sock_of(fd));
	int err = s ? use_up(&kernel_faults.accept) : EAGAIN;

	(void)from, (void)size, (void)flags;
	if (!err && kernel_count(kernel_process.number) >= kernel_process.most)
		err = EMFILE;
	if (err)
		return fail(err);
	s->pending = NOBODY;
	return fd_of(s);
}

ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags)
{
	struct sock *s = sock_of(fd);

	(void)flags;
	MUST(s->kind == STREAM);
	if (s->ended && s->err)
		return fail(EPIPE);
	if (!s->room)
		return fail(EAGAIN);
	if (size > s->room)
		size = s->room;
	if (s->room != AVAILABLE)
		s->room -= (uint32_t)size;
	peers.sent((int)(s - socks), bytes, size);
	return (ssize_t)size;
}

ssize_t __wrap_recv(int fd, void *bytes, size_t size, int flags)
{
	struct sock *s = sock_of(fd);

	(void)flags;
	MUST(s->kind == STREAM);
	if (!s->rx_fill) {
		if (!s->ended)
			return fail(EAGAIN);
		return s->err ? fail(s->err) : 0;
	}
	if (size > s->rx_fill)
		size = s->rx_fill;
	if (kernel_faults.most_read && size > kernel_faults.most_read)
		size = kernel_faults.most_read;
	memcpy(bytes, rx[s - socks], size);
	s->rx_fill -= (uint32_t)size;
	memmove(rx[s - socks], rx[s - socks] + size, s->rx_fill);
	if (peers.taken)
		peers.taken((int)(s - socks));
	return (ssize_t)size;
}

/* The library only asks for SO_ERROR. */
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
	struct sock *s = sock_of(fd);

	(void)level, (void)name, (void)size;
	*(int *)value = s->err;
	return 0;
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
	(void)level, (void)name, (void)value, (void)size;
	return sock_of(fd) ? 0 : fail(EBADF);
}

static int give_name(struct sockaddr *addr, socklen_t *size, uint32_t host, uint16_t port)
{
	const struct sockaddr_in in = {.sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(host),
				       .sin_port = htons(port)};

	memcpy(addr, &in, sizeof(in));
	*size = sizeof(in);
	return 0;
}

int __wrap_getsockname(int fd, struct sockaddr *addr, socklen_t *size)
{
	const struct sock *s = sock_of(fd);

	return give_name(addr, size, s->host, s->port);
}

int __wrap_getpeername(int fd, struct sockaddr *addr, socklen_t *size)
{
	const struct sock *s = sock_of(fd);

	return s && s->kind == STREAM ? give_name(addr, size, s->peer_host, s->peer_port)
				      : fail(ENOTCONN);
}

/* Closing a listener ends the waiting dials. */
int __wrap_close(int fd)
{
	struct sock *s = sock_of(fd), *dial;

	if (!s)
		return __real_close(fd);
	MUST(s->kind != FREE);
	while (s->kind == LISTENING && (dial = first_dial(s)))
		__wrap_close(fd_of(dial));
	if (s->kind == STREAM || s->kind == DIALING)
		peers.closed((int)(s - socks));
	s->kind = FREE;
	return 0;
}

/* --- epoll --- */

int __wrap_epoll_create1(int flags);
int __wrap_eventfd(unsigned int count, int flags);
int __wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int __wrap_epoll_wait(int epfd, struct epoll_event *events, int max, int timeout);

int __wrap_epoll_create1(int flags)
{
	(void)flags;
	return open_plain();
}

int __wrap_eventfd(unsigned int count, int flags)
{
	(void)count, (void)flags;
	return open_plain();
}

int __wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	struct sock *s = sock_of(fd);

	MUST(s->kind != FREE);
	MUST(s->watched == (op != EPOLL_CTL_ADD));
	s->watched = op != EPOLL_CTL_DEL;
	s->epfd = epfd;
	if (s->watched) {
		s->events = event->events | EPOLLERR | EPOLLHUP;
		s->data = event->data.ptr;
	}
	return 0;
}

static uint32_t ready(const struct sock *s)
{
	uint32_t events = 0;

	if (s->kind == LISTENING)
		events = first_dial(s) ? EPOLLIN : 0;
	else if (s->kind == STREAM)
		events = (s->rx_fill || s->ended ? EPOLLIN : 0) | (s->room ? EPOLLOUT : 0) |
			 (s->ended && s->err ? EPOLLERR | EPOLLHUP : 0);
	return s->watched ? events & s->events : 0;
}

/* Reports ready sockets in turn. */
int __wrap_epoll_wait(int epfd, struct epoll_event *events, int max, int timeout)
{
	(void)timeout;
	MUST(max == 1);
	if (kernel_pause)
		kernel_pause();
	for (int i = 0; i < last; i++) {
		struct sock *s = &socks[turn++ % (uint32_t)last];

		events->events = s->epfd == epfd ? ready(s) : 0;
		events->data.ptr = s->data;
		if (events->events)
			return 1;
	}
	return 0;
}

/* --- time, randomness, memory, files --- */

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
int __real_clock_gettime(clockid_t clock, struct timespec *ts);
ssize_t __wrap_getrandom(void *bytes, size_t size, unsigned int flags);
int __wrap_open(const char *path, int flags, ...);
int __real_open(const char *path, int flags, ...);
void *__wrap_calloc(size_t n, size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t size);
void *__real_malloc(size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__real_realloc(void *memory, size_t size);
void __wrap_free(void *memory);
void __real_free(void *memory);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (!is_on)
		return __real_clock_gettime(clock, ts);
	ts->tv_sec = (time_t)(kernel_time / 1000000000u);
	ts->tv_nsec = (long)(kernel_time % 1000000000u);
	return 0;
}

int __wrap_dofi_random(void *bytes, size_t size);
int __wrap_getifaddrs(struct ifaddrs **all);

/* Deterministic numbers. */
ssize_t __wrap_getrandom(void *bytes, size_t size, unsigned int flags)
{
	uint8_t *at = bytes;

	(void)flags;
	for (size_t i = 0; i < size; i++) {
		kernel_seed = kernel_seed * 1103515245u + 12345u;
		at[i] = (uint8_t)(kernel_seed >> 16);
	}
	return (ssize_t)size;
}

int __wrap_dofi_random(void *bytes, size_t size)
{
	__wrap_getrandom(bytes, size, 0);
	return 0;
}

/* There is only the loopback device, which the library does not look up. */
int __wrap_getifaddrs(struct ifaddrs **all)
{
	(void)all;
	return fail(ENOMEM);
}

int __wrap_open(const char *path, int flags, ...)
{
	va_list args;
	int mode;

	if (is_on && !strcmp(path, "/dev/null"))
		return open_plain();
	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, int) : 0;
	va_end(args);
	return __real_open(path, flags, mode);
}

/* --- memory --- */

static bool is_forgotten(void)
{
	if (!kernel_faults.forget || --kernel_faults.forget)
		return false;
	errno = ENOMEM;
	return true;
}

static void *count(void *memory)
{
	kernel_allocated += memory != NULL;
	return memory;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return is_forgotten() ? NULL : count(__real_calloc(n, size));
}

void *__wrap_malloc(size_t size)
{
	return is_forgotten() ? NULL : count(__real_malloc(size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return is_forgotten() ? NULL : count(__real_aligned_alloc(alignment, size));
}

void *__wrap_realloc(void *memory, size_t size)
{
	if (is_forgotten())
		return NULL;
	return memory ? __real_realloc(memory, size) : count(__real_realloc(memory, size));
}

void __wrap_free(void *memory)
{
	kernel_allocated -= memory != NULL;
	__real_free(memory);
}
