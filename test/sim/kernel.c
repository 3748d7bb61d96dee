/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "kernel.h"

#include "must.h"

#include "../../prov/ofi/base/run_delay.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <malloc.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define FIRST_FD          0x100000
#define NOBODY            (-1)
#define AVAILABLE         UINT32_MAX
#define BUCKETS           4096u /* of listeners */
#define RX_LEAST          256u
#define SOMAXCONN_DEFAULT 4096

enum kind { FREE, PLAIN, FRESH, LISTENING, DIALING, STREAM };

struct sock {
	enum kind kind;
	int owner;
	uint32_t host, peer_host;
	uint16_t port, peer_port;
	uint64_t name;   /* in the abstract socket space; 0: none */
	int epfd;        /* watches it: the number of that socket */
	uint32_t events; /* watched */
	void *data;
	bool watched, accepted, ended;
	int err;       /* how the stream ended, or the dial */
	int pending;   /* of a dial that nobody has accepted: the listener */
	int next_dial; /* behind it there */
	int first_dial, last_dial, backlog, ndials; /* of a listener */
	int next_listener;                          /* of the same bucket */
	int next_ready, prev_ready;                 /* in its epoll set, if it is listed there */
	int first_ready, last_ready;                /* of an epoll set */
	bool is_listed;
	uint32_t room;
	uint32_t rx_fill, rx_size;
	uint8_t *rx; /* what its process has not read; stays with the number */
};

struct kernel_faults kernel_faults;
struct kernel_process kernel_process = {0, KERNEL_LOOPBACK, KERNEL_SOCKETS};
uint64_t kernel_time = 1000 * KERNEL_MS;
uint32_t kernel_seed;
bool kernel_is_busy;
long kernel_allocated;
size_t kernel_allocated_bytes, kernel_mapped_bytes;
void (*kernel_pause)(void);
int kernel_most = KERNEL_SOCKETS;

static struct sock *socks;
static size_t socks_room;
static int *idle; /* numbers below `last` that are free */
static size_t idle_room;
static int nidle;
static int *counts; /* descriptors of each process */
static size_t counts_room;
static int buckets[BUCKETS]; /* the first listener, and one more: 0 is none */
static struct kernel_peers peers;
static bool is_on;
static int first; /* those before are the engine's */
static int last;  /* those from here on are free */
static uint16_t next_port;

void *__real_realloc(void *memory, size_t size);

static int fd_of(const struct sock *s)
{
	return FIRST_FD + (int)(s - socks);
}

static struct sock *sock_of(int fd)
{
	return fd >= FIRST_FD && fd < FIRST_FD + last ? &socks[fd - FIRST_FD] : NULL;
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

void *kernel_grow(void *table, size_t *room, size_t n, size_t size)
{
	size_t was = *room;

	if (n <= was)
		return table;
	*room = n < 2 * was ? 2 * was : n < 16 ? 16 : n;
	table = __real_realloc(table, *room * size);
	MUST(table);
	memset((uint8_t *)table + was * size, 0, (*room - was) * size);
	return table;
}

/* --- descriptors --- */

static int *count_of(int process)
{
	counts = kernel_grow(counts, &counts_room, (size_t)process + 1, sizeof(*counts));
	return &counts[process];
}

int kernel_count(int process)
{
	return *count_of(process);
}

static int number_of(const struct sock *s)
{
	return (int)(s - socks);
}

static struct sock *new_sock(enum kind kind, const struct kernel_process *of)
{
	int n = nidle ? idle[--nidle] : last++;
	uint32_t rx_size;
	struct sock *s;
	uint8_t *rx;

	socks = kernel_grow(socks, &socks_room, (size_t)last, sizeof(*socks));
	s = &socks[n];
	rx = s->rx;
	rx_size = s->rx_size;
	*s = (struct sock){.kind = kind, .owner = of->number, .host = of->host, .room = AVAILABLE};
	s->pending = s->next_dial = NOBODY;
	s->first_dial = s->last_dial = s->first_ready = s->last_ready = NOBODY;
	s->rx = rx;
	s->rx_size = rx_size;
	return s;
}

static bool has_room(void)
{
	return nidle || last < kernel_most;
}

/* NULL: the process has as many as it may. */
static struct sock *open_sock(enum kind kind, const struct kernel_process *of)
{
	if (kernel_count(of->number) >= of->most || !has_room()) {
		errno = EMFILE;
		return NULL;
	}
	++*count_of(of->number);
	return new_sock(kind, of);
}

static void free_sock(struct sock *s)
{
	if (s->pending == NOBODY)
		--*count_of(s->owner);
	s->kind = FREE;
	idle = kernel_grow(idle, &idle_room, (size_t)nidle + 1, sizeof(*idle));
	idle[nidle++] = number_of(s);
}

/* --- who is ready --- */

static void list_ready(struct sock *s)
{
	struct sock *set = &socks[s->epfd];
	int n = number_of(s);

	if (s->is_listed)
		return;
	s->is_listed = true;
	s->next_ready = NOBODY;
	s->prev_ready = set->last_ready;
	*(s->prev_ready == NOBODY ? &set->first_ready : &socks[s->prev_ready].next_ready) = n;
	set->last_ready = n;
}

static void unlist(struct sock *s)
{
	struct sock *set = &socks[s->epfd];

	if (!s->is_listed)
		return;
	s->is_listed = false;
	*(s->prev_ready == NOBODY ? &set->first_ready : &socks[s->prev_ready].next_ready) =
		s->next_ready;
	*(s->next_ready == NOBODY ? &set->last_ready : &socks[s->next_ready].prev_ready) =
		s->prev_ready;
}

/* It is asked whether it is ready at the next look at its set. */
static void changed(struct sock *s)
{
	if (s->watched)
		list_ready(s);
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
	kernel_seed = 0;
	kernel_is_busy = false;
	next_port = 40000;
	is_on = true;
	while (last && socks[last - 1].kind == FREE)
		last--;
	first = last;
	nidle = 0;
}

int kernel_end(void)
{
	int n = 0;

	for (int i = first; i < last; i++) {
		if (socks[i].kind == FREE)
			continue;
		unlist(&socks[i]);
		free_sock(&socks[i]);
		n++;
	}
	last = first;
	nidle = 0;
	memset(buckets, 0, sizeof(buckets));
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

static int *bucket(uint32_t host, uint16_t port)
{
	return &buckets[(host * 2654435761u ^ port * 40503u) % BUCKETS];
}

int kernel_listener(uint32_t host, uint16_t port)
{
	for (int n = *bucket(host, port); n; n = socks[n - 1].next_listener)
		if (socks[n - 1].port == port && socks[n - 1].host == host)
			return n - 1;
	return -1;
}

static void stop_listening(const struct sock *s)
{
	int *at = bucket(s->host, s->port);

	while (*at != number_of(s) + 1)
		at = &socks[*at - 1].next_listener;
	*at = s->next_listener;
}

/* It is in the listener's queue until accept4 takes it out. */
int kernel_dial_to(int to, uint32_t host, uint16_t port)
{
	const struct kernel_process queue = {socks[to].owner, socks[to].host, 0};
	struct sock *s, *at;
	int n;

	if (socks[to].ndials > socks[to].backlog || !has_room())
		return KERNEL_NO_ROOM;
	s = new_sock(STREAM, &queue);
	n = number_of(s);
	at = &socks[to];
	s->accepted = true;
	s->pending = to;
	s->port = at->port;
	s->peer_host = host;
	s->peer_port = port;
	*(at->last_dial == NOBODY ? &at->first_dial : &socks[at->last_dial].next_dial) = n;
	at->last_dial = n;
	at->ndials++;
	changed(at);
	peers.connected(n, true);
	return n;
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
	changed(s);
	if (!err)
		peers.connected(n, false);
}

static void make_rx_room(struct sock *s, uint32_t size)
{
	if (size <= s->rx_size)
		return;
	while (s->rx_size < size)
		s->rx_size = s->rx_size ? 2 * s->rx_size : RX_LEAST;
	s->rx = __real_realloc(s->rx, s->rx_size);
	MUST(s->rx);
}

void kernel_put(int n, const uint8_t *bytes, size_t size)
{
	struct sock *s = &socks[n];

	if (s->kind != STREAM || s->ended)
		return;
	if (size > KERNEL_RX_SIZE - s->rx_fill)
		size = KERNEL_RX_SIZE - s->rx_fill;
	make_rx_room(s, s->rx_fill + (uint32_t)size);
	if (size)
		memcpy(s->rx + s->rx_fill, bytes, size);
	s->rx_fill += (uint32_t)size;
	changed(s);
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
	changed(s);
}

void kernel_set_room(int n, uint32_t bytes)
{
	socks[n].room = bytes;
	changed(&socks[n]);
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
		kernel_answer(number_of(s), 0);
	else if (peers.dials)
		peers.dials(number_of(s));
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
	struct sock *s = sock_of(fd);
	int *at = bucket(s->host, s->port);

	s->kind = LISTENING;
	s->backlog = backlog < SOMAXCONN_DEFAULT ? backlog : SOMAXCONN_DEFAULT;
	s->next_listener = *at;
	*at = number_of(s) + 1;
	return 0;
}

static struct sock *first_dial(const struct sock *at)
{
	return at->first_dial == NOBODY ? NULL : &socks[at->first_dial];
}

static void take_dial(struct sock *at)
{
	struct sock *s = first_dial(at);

	at->first_dial = s->next_dial;
	if (at->first_dial == NOBODY)
		at->last_dial = NOBODY;
	at->ndials--;
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
	take_dial(sock_of(fd));
	s->pending = NOBODY;
	++*count_of(s->owner);
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
	peers.sent(number_of(s), bytes, size);
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
	memcpy(bytes, s->rx, size);
	s->rx_fill -= (uint32_t)size;
	memmove(s->rx, s->rx + size, s->rx_fill);
	if (peers.taken)
		peers.taken(number_of(s));
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
	unlist(s);
	while (s->kind == LISTENING && (dial = first_dial(s))) {
		take_dial(s);
		__wrap_close(fd_of(dial));
	}
	if (s->kind == LISTENING)
		stop_listening(s);
	if (s->kind == STREAM || s->kind == DIALING)
		peers.closed(number_of(s));
	free_sock(s);
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
	unlist(s);
	s->watched = op != EPOLL_CTL_DEL;
	s->epfd = number_of(sock_of(epfd));
	if (s->watched) {
		s->events = event->events | EPOLLERR | EPOLLHUP;
		s->data = event->data.ptr;
	}
	changed(s);
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

/*
 * Returns the first socket of the set that is ready. Sockets before it that are no longer ready
 * leave the list of ready ones.
 */
static struct sock *first_ready(struct sock *set, struct epoll_event *event)
{
	struct sock *s;

	while (set->first_ready != NOBODY) {
		s = &socks[set->first_ready];
		event->events = ready(s);
		event->data.ptr = s->data;
		if (event->events)
			return s;
		unlist(s);
	}
	return NULL;
}

/* Each in its turn: the others have their turn next. Two at most. */
int __wrap_epoll_wait(int epfd, struct epoll_event *events, int max, int timeout)
{
	struct sock *set, *s;

	(void)timeout;
	if (kernel_pause)
		kernel_pause();
	set = sock_of(epfd);
	s = first_ready(set, events);
	if (!s)
		return 0;
	unlist(s);
	list_ready(s);
	return max > 1 && first_ready(set, events + 1) != s ? 2 : 1;
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
struct dofi_run_delay __wrap_dofi_run_delay_recent(struct dofi_run_delay *latest);
bool __wrap_dofi_run_delay_is_high(const struct dofi_run_delay *since);
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

/* Whether the plan has busy hosts decides what the scheduler's statistics would say. */
struct dofi_run_delay __wrap_dofi_run_delay_recent(struct dofi_run_delay *latest)
{
	return *latest;
}

bool __wrap_dofi_run_delay_is_high(const struct dofi_run_delay *since)
{
	(void)since;
	return kernel_is_busy;
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
	kernel_allocated_bytes += malloc_usable_size(memory);
	return memory;
}

static void uncount(void *memory)
{
	kernel_allocated -= memory != NULL;
	kernel_allocated_bytes -= malloc_usable_size(memory);
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
	uncount(memory);
	return count(__real_realloc(memory, size));
}

void __wrap_free(void *memory)
{
	uncount(memory);
	__real_free(memory);
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
int __wrap_munmap(void *at, size_t size);
int __real_munmap(void *at, size_t size);

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	void *memory = __real_mmap(at, size, protection, flags, fd, offset);

	kernel_mapped_bytes += memory == MAP_FAILED ? 0 : size;
	return memory;
}

int __wrap_munmap(void *at, size_t size)
{
	kernel_mapped_bytes -= size;
	return __real_munmap(at, size);
}
