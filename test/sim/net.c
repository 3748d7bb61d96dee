/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "net.h"

#include "clock.h"
#include "kernel.h"
#include "must.h"
#include "trace.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define SYN_TIME  (10 * CLOCK_SECOND)
#define SYN_AGAIN CLOCK_SECOND
#define LATEST    (50 * CLOCK_MS)
/* The pauses of TCP: a packet is late by up to 3 s. */
#define RESEND    (200 * CLOCK_MS)
#define RESENDS   4

/* One direction of a stream, with the bytes under way. It may outlive the sending socket. */
struct pipe {
	bool used, is_cut;
	struct pipe *back;          /* the other direction, while it is used by this stream */
	int from, to;               /* sockets */
	uint32_t from_birth, birth; /* births of both ends */
	int sender, reader;         /* processes */
	uint64_t serial;            /* pipes are used again, too */
	uint64_t last;              /* when the last packet arrives: none overtakes it */
	struct pipe *next;          /* of those that are not used */
	uint32_t fill;
	size_t room;
	uint8_t *flight;
};

/* A socket. A structure is used again, with another birth number. */
struct end {
	uint32_t birth;
	struct pipe *out; /* NULL: there is no other end */
};

struct host {
	bool dead;
	uint64_t silent_until;
	uint32_t cut; /* the stream ends after this many more bytes; 0: not */
	int refusal;
	uint32_t refusals;
};

static struct end *ends;
static size_t ends_room;
static struct pipe **pipes, *idle;
static size_t pipes_room, npipes;
static struct host *hosts;
static size_t hosts_room;
static struct net_profile profile;
static struct net_traffic traffic;
static struct random rnd;
static uint32_t births;
static void (*wake)(int process);

static struct end *end_of(int s)
{
	ends = kernel_grow(ends, &ends_room, (size_t)s + 1, sizeof(*ends));
	return &ends[s];
}

static uint64_t draw_losses(void)
{
	uint64_t ns = 0;

	for (int i = 0; profile.losses && i < RESENDS && random_one_in(&rnd, profile.losses); i++)
		ns += RESEND << i;
	return ns;
}

uint64_t net_latency(void)
{
	uint64_t ns = profile.latency + random_next(&rnd) % (profile.jitter + 1);

	if (profile.spikes && random_one_in(&rnd, profile.spikes))
		ns += random_scaled(&rnd, CLOCK_MS, LATEST);
	return ns + draw_losses();
}

uint64_t net_data_latency(void)
{
	uint64_t ns = net_latency();

	return profile.data ? ns + random_next(&rnd) % profile.data : ns;
}

static bool is_silent(int process)
{
	return hosts[process].silent_until > kernel_time;
}

uint64_t net_passes(int from, int to)
{
	uint64_t when = hosts[from].silent_until;

	if (hosts[to].silent_until > when)
		when = hosts[to].silent_until;
	return when;
}

static bool is_same(int s, uint64_t birth)
{
	return end_of(s)->birth == birth;
}

/* Packets to and from a silent host are sent again later. */
static bool is_held_up(int from, int to, void (*again)(uint64_t, uint64_t), uint64_t a, uint64_t b)
{
	uint64_t until = net_passes(from, to);

	if (until <= kernel_time)
		return false;
	if (until != UINT64_MAX)
		clock_at(until + net_latency(), again, a, b);
	return true;
}

/* The time of arrival, behind earlier packets. */
static uint64_t arrival(struct pipe *pipe)
{
	uint64_t when = kernel_time + net_latency();

	if (when < pipe->last)
		when = pipe->last;
	pipe->last = when;
	return when;
}

/* --- ends --- */

/* b: the birth of the socket, and the error. */
static void hang_up(uint64_t a, uint64_t b)
{
	int s = (int)a, err = (int)(uint32_t)b;

	if (!is_same(s, b >> 32))
		return;
	kernel_hang_up(s, err);
	trace(kernel_owner(s), "socket %d: its stream ends%s", s, err ? " with an error" : "");
	wake(kernel_owner(s));
}

static void end_later(int s, uint32_t birth, uint64_t when, int err)
{
	clock_at(when, hang_up, (uint64_t)s, (uint64_t)birth << 32 | (uint32_t)err);
}

static void cut(struct pipe *pipe)
{
	struct pipe *back = ends[pipe->to].out;

	trace(pipe->sender, "socket %d: the network cuts its stream", pipe->from);
	pipe->is_cut = true;
	end_later(pipe->from, pipe->from_birth, kernel_time + net_latency(), ECONNRESET);
	end_later(pipe->to, pipe->birth, pipe->last + net_latency(), ECONNRESET);
	if (is_same(pipe->to, pipe->birth) && back)
		back->is_cut = true;
}

/* --- bytes --- */

static void set_room(int s)
{
	const struct pipe *pipe = ends[s].out;
	uint32_t used = 0;

	if (pipe && is_same(pipe->to, pipe->birth))
		used = pipe->fill + kernel_unread(pipe->to);
	kernel_set_room(s, used < profile.window ? profile.window - used : 0);
}

/* The reader has closed its socket. Bytes that it sent before arrive first. */
static void reset(const struct pipe *pipe)
{
	const struct pipe *back = pipe->back;
	uint64_t when = kernel_time + net_latency();

	if (back->used && back->birth == pipe->from_birth && back->last > when)
		when = back->last;
	end_later(pipe->from, pipe->from_birth, when, ECONNRESET);
}

/* b: the number of bytes, or the end of the stream with its error; and the serial number. */
#define THE_END      UINT64_C(0x100000000)
#define SERIAL_SHIFT 33

static void free_pipe(struct pipe *pipe)
{
	pipe->used = false;
	pipe->next = idle;
	idle = pipe;
}

static void deliver(uint64_t a, uint64_t b)
{
	struct pipe *pipe = (struct pipe *)(uintptr_t)a;
	uint32_t n = (uint32_t)b;
	bool is_open = is_same(pipe->to, pipe->birth);

	if (!pipe->used || pipe->serial != b >> SERIAL_SHIFT)
		return; /* a reset came before */
	if (is_held_up(pipe->sender, pipe->reader, deliver, a, b))
		return;
	if (b & THE_END) {
		free_pipe(pipe);
		if (is_open)
			hang_up((uint64_t)pipe->to, (uint64_t)pipe->birth << 32 | n);
		return;
	}
	if (is_open)
		kernel_put(pipe->to, pipe->flight, n);
	else
		reset(pipe);
	pipe->fill -= n;
	memmove(pipe->flight, pipe->flight + n, pipe->fill);
	if (is_open)
		wake(pipe->reader);
}

static void send_packet(struct pipe *pipe, uint32_t n)
{
	clock_at(arrival(pipe), deliver, (uintptr_t)pipe, pipe->serial << SERIAL_SHIFT | n);
}

static void on_sent(int s, const uint8_t *bytes, size_t size)
{
	struct host *host = &hosts[kernel_owner(s)];
	struct pipe *pipe = ends[s].out;
	uint32_t n = (uint32_t)size;
	bool cuts = host->cut && host->cut <= n;

	if (!pipe || pipe->is_cut)
		return;
	trace_bytes(pipe->sender, pipe->reader, bytes, size);
	traffic.writes++;
	traffic.bytes += size;
	if (cuts)
		n = host->cut - 1;
	host->cut = cuts || !host->cut ? 0 : host->cut - n;
	MUST(n <= KERNEL_RX_SIZE - pipe->fill);
	pipe->flight = kernel_grow(pipe->flight, &pipe->room, pipe->fill + n, 1);
	memcpy(pipe->flight + pipe->fill, bytes, n);
	pipe->fill += n;
	if (n > 1 && profile.pieces && random_one_in(&rnd, profile.pieces)) {
		uint32_t first = 1 + random_below(&rnd, n - 1);

		send_packet(pipe, first);
		n -= first;
	}
	if (n)
		send_packet(pipe, n);
	set_room(s);
	if (cuts)
		cut(pipe);
}

/* The reader's kernel reports the room to the writer's. */
static void open_window(uint64_t a, uint64_t b)
{
	if (!is_same((int)a, b))
		return;
	set_room((int)a);
	wake(kernel_owner((int)a));
}

static void on_taken(int s)
{
	const struct pipe *pipe = ends[s].out;

	if (pipe)
		clock_at(kernel_time + net_latency(), open_window, (uint64_t)pipe->to, pipe->birth);
}

static void on_closed(int s)
{
	struct pipe *pipe = end_of(s)->out;
	bool resets = profile.resets && kernel_is_open(s) && kernel_unread(s);

	*end_of(s) = (struct end){.birth = ++births};
	if (pipe)
		clock_at(resets ? kernel_time + net_latency() : arrival(pipe), deliver,
			 (uintptr_t)pipe,
			 pipe->serial << SERIAL_SHIFT | THE_END | (resets ? ECONNRESET : 0));
}

/* --- dialling --- */

static void answer(uint64_t a, uint64_t b)
{
	int s = (int)a, err = (int)(uint32_t)b;

	if (!is_same(s, b >> 32) || !kernel_is_dialling(s))
		return;
	kernel_answer(s, err);
	if (!err)
		set_room(s);
	trace(kernel_owner(s), "socket %d: %s", s, err ? strerror(err) : "connected");
	wake(kernel_owner(s));
}

static void answer_later(int s, int err)
{
	clock_at(kernel_time + net_latency(), answer, (uint64_t)s,
		 (uint64_t)ends[s].birth << 32 | (uint32_t)err);
}

static struct pipe *new_pipe(void)
{
	struct pipe *pipe = idle;
	size_t room = 0;

	if (pipe) {
		idle = pipe->next;
		return pipe;
	}
	pipes = kernel_grow(pipes, &pipes_room, npipes + 1, sizeof(struct pipe *));
	pipe = kernel_grow(NULL, &room, 1, sizeof(*pipe));
	return pipes[npipes++] = pipe;
}

static struct pipe *open_pipe(int from, int to)
{
	struct pipe *pipe = new_pipe();

	pipe->used = true;
	pipe->is_cut = false;
	pipe->from = from;
	pipe->to = to;
	pipe->from_birth = ends[from].birth;
	pipe->birth = ends[to].birth;
	pipe->sender = kernel_owner(from);
	pipe->reader = kernel_owner(to);
	pipe->serial = ++births;
	pipe->last = kernel_time;
	pipe->fill = 0;
	return pipe;
}

static void join(int s, int t)
{
	end_of(t)->birth = ++births;
	ends[s].out = open_pipe(s, t);
	ends[t].out = open_pipe(t, s);
	ends[s].out->back = ends[t].out;
	ends[t].out->back = ends[s].out;
	set_room(t);
}

static void arrive(uint64_t a, uint64_t birth)
{
	int s = (int)a, at, t;

	if (!is_same(s, birth) || !kernel_is_dialling(s))
		return;
	at = kernel_listener(kernel_peer_host(s), kernel_peer_port(s));
	if (at >= 0 && hosts[kernel_owner(at)].dead)
		at = -1;
	if (at >= 0 && is_held_up(kernel_owner(s), kernel_owner(at), arrive, a, birth))
		return;
	t = at < 0 ? -1 : kernel_dial_to(at, kernel_host(s), kernel_port(s));
	if (t == KERNEL_NO_ROOM) {
		clock_at(kernel_time + SYN_AGAIN, arrive, a, birth);
		return;
	}
	if (t < 0) {
		answer_later(s, ECONNREFUSED);
		return;
	}
	join(s, t);
	wake(kernel_owner(at));
	answer_later(s, 0);
}

static void give_up(uint64_t a, uint64_t birth)
{
	answer(a, birth << 32 | ETIMEDOUT);
}

static void on_dials(int s)
{
	struct host *host = &hosts[kernel_owner(s)];

	*end_of(s) = (struct end){.birth = ++births};
	traffic.dials++;
	trace(kernel_owner(s), "socket %d dials port %u of host %u", s, kernel_peer_port(s),
	      kernel_peer_host(s) & 0xff);
	clock_at(kernel_time + SYN_TIME, give_up, (uint64_t)s, ends[s].birth);
	if (host->dead)
		return;
	if (host->refusals) {
		host->refusals--;
		answer_later(s, host->refusal);
		return;
	}
	clock_at(kernel_time + net_latency(), arrive, (uint64_t)s, ends[s].birth);
}

static void on_connected(int s, bool accepted)
{
	(void)s, (void)accepted;
}

/* --- what goes wrong --- */

/* A process that does not hear from the other end for the keep-alive time gives the stream up. */
static void expire(uint64_t process, uint64_t unused)
{
	(void)unused;
	if (!is_silent((int)process))
		return;
	for (int s = 0; s < kernel_sockets(); s++) {
		struct pipe *pipe = end_of(s)->out;

		if (!pipe || (pipe->sender != (int)process && pipe->reader != (int)process))
			continue;
		pipe->is_cut = true;
		end_later(s, ends[s].birth, kernel_time, ETIMEDOUT);
	}
}

void net_silence(int process, uint64_t until, uint64_t keepalive)
{
	if (until > hosts[process].silent_until)
		hosts[process].silent_until = until;
	clock_at(kernel_time + keepalive, expire, (uint64_t)process, 0);
}

void net_cut(int process, uint32_t bytes)
{
	hosts[process].cut = bytes + 1;
}

void net_refuse(int process, int err, uint32_t times)
{
	hosts[process].refusal = err;
	hosts[process].refusals = times;
}

void net_kill(int process)
{
	hosts[process].dead = true;
	for (int s = 0; s < kernel_sockets(); s++)
		if (kernel_is_open(s) && kernel_owner(s) == process)
			on_closed(s);
}

struct net_traffic net_traffic(void)
{
	return traffic;
}

void net_begin(const struct net_profile *of, int processes, struct random r,
	       void (*on_wake)(int process))
{
	static const struct kernel_peers peers = {.dials = on_dials,
						  .connected = on_connected,
						  .sent = on_sent,
						  .taken = on_taken,
						  .closed = on_closed};

	profile = *of;
	traffic = (struct net_traffic){0};
	rnd = r;
	wake = on_wake;
	births = 0;
	hosts = kernel_grow(hosts, &hosts_room, (size_t)processes, sizeof(*hosts));
	memset(hosts, 0, hosts_room * sizeof(*hosts));
	if (ends)
		memset(ends, 0, ends_room * sizeof(*ends));
	idle = NULL;
	for (size_t i = npipes; i-- > 0;)
		free_pipe(pipes[i]);
	kernel_most = INT_MAX;
	kernel_begin(&peers);
}
