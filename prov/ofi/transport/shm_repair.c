/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/shm_repair.h"

#include "base/eventfd.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/process_watch.h"
#include "fabric/quirks.h"
#include "object/ia.h"
#include "base/thread.h"
#include "progress/wait.h"
#include "transport/live_threads.h"
#include "transport/shm_commands.h"
#include "transport/shm_layout.h"
#include "transport/shm_queue.h"
#include "transport/shm_requests.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define LOOK_MS          10
#define LOCK_TRIES       1000
#define LOOK_FOR_ENDS_MS 500 /* on a kernel that does not tell of them */
#define MAX_CLAIMS       64
#define REFILL_TRIES     200u /* then gives up: busy peers may never be idle at the same time */
#define MAX_COMMANDS     1024
#define MAX_WATCHED      1024u

struct dofi_shm_peer {
	struct dofi_list link;
	struct dofi_shm_map region;      /* not mapped if `unknown` */
	struct dofi_process_watch watch; /* none if `unknown`, dead, or our own process */
	bool unknown;                    /* its death cannot be noticed */
	bool used, dead, settled;
	bool forgotten; /* the entry is removed when the process dies */
};

/* The state of our region when its lock or an entry was first found held. */
struct suspicion {
	bool noted;
	bool out; /* all threads had left their places at the last look */
	uint64_t progress;
	struct dofi_live_threads threads;
	struct dofi_shm_claim claims[MAX_CLAIMS];
	size_t nclaims;
};

struct dofi_shm_repair {
	struct dofi_ia *ia;
	struct dofi_shm_map own;
	pthread_t thread;
	struct dofi_lock lock; /* guards the members below */
	int wake_fd;
	bool stop;
	struct dofi_list peers;
	size_t npeers;
	bool lock_suspect, claims_suspect; /* since a peer died */
	unsigned int refills;              /* number of remaining tries */
	struct suspicion suspicion;
	/* Since 2.5: commands that wait for a dead peer, */
	const struct dofi_shm_peer *waits_for;
	struct dofi_live_threads waiters; /* and the threads that may be using them */
	struct dofi_shm_command commands[MAX_COMMANDS];
	size_t ncommands;
	struct pollfd fds[MAX_WATCHED + 1];
};

static void wake(const struct dofi_shm_repair *r)
{
	int ret = dofi_eventfd_signal(r->wake_fd);

	if (ret)
		DOFI_LOG_E("%s: can't wake the thread that repairs shared memory: %s", r->ia->name,
			   strerror(-ret));
}

/* --- peers --- */

/* Whether the process with the region's number has mapped the region. */
static bool has_mapped(pid_t pid, const struct dofi_shm_map *region)
{
	char path[32], line[512];
	bool has = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	while (maps && !has && fgets(line, sizeof(line), maps)) {
		unsigned long inode;

		has = sscanf(line, "%*x-%*x %*s %*x %*x:%*x %lu", &inode) == 1 &&
		      inode == region->inode && strstr(line, region->name);
	}
	if (maps)
		fclose(maps);
	return has;
}

static bool is_ours(const struct dofi_shm_peer *peer)
{
	return !peer->unknown && peer->region.pid == getpid();
}

static void identify(struct dofi_shm_repair *r, struct dofi_shm_peer *peer, const char *name)
{
	int ret = dofi_shm_map_open(&peer->region, name);

	peer->watch = DOFI_NO_PROCESS;
	if (!ret && !dofi_shm_agree(&peer->region, &r->own))
		ret = -EPROTO;
	if (!ret && is_ours(peer))
		return;
	if (!ret)
		ret = dofi_process_watch_open(&peer->watch, peer->region.pid);
	if (!ret && !has_mapped(peer->region.pid, &peer->region))
		ret = -ESRCH;
	if (!ret)
		return;
	dofi_process_watch_close(&peer->watch);
	peer->unknown = true;
	DOFI_LOG_I("%s: the process of the peer %s is not watched: %s. If it is killed, this one "
		   "may hang",
		   r->ia->name, name, strerror(-ret));
}

static struct dofi_shm_peer *find(struct dofi_shm_repair *r, const char *name)
{
	size_t size = strlen(name);

	DOFI_LIST_FOR(node, &r->peers)
	{
		struct dofi_shm_peer *peer = DOFI_CONTAINER(node, struct dofi_shm_peer, link);
		size_t length = peer->region.name ? strlen(peer->region.name) : 0;

		if (peer->forgotten && length && length < size && !peer->dead &&
		    !strcmp(name + size - length, peer->region.name) &&
		    name[size - length - 1] == '/')
			return peer;
	}
	return NULL;
}

static void free_peer(struct dofi_shm_repair *r, struct dofi_shm_peer *peer)
{
	dofi_list_del(&peer->link);
	r->npeers--;
	if (r->waits_for == peer)
		r->waits_for = NULL;
	dofi_process_watch_close(&peer->watch);
	dofi_shm_map_close(&peer->region);
	free(peer);
}

static struct dofi_shm_peer *add_peer(struct dofi_shm_repair *r, const char *name)
{
	struct dofi_shm_peer *peer;

	if (r->npeers == MAX_WATCHED)
		return NULL;
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return NULL;
	identify(r, peer, name);
	dofi_list_add_tail(&r->peers, &peer->link);
	r->npeers++;
	return peer;
}

struct dofi_shm_peer *dofi_shm_repair_watch(struct dofi_ia *ia, const uint8_t *name)
{
	struct dofi_shm_repair *r = ia->shm_repair;
	struct dofi_shm_peer *peer;

	dofi_assert_held(&ia->engine.lock);
	if (!r)
		return NULL;
	dofi_lock(&r->lock);
	peer = find(r, (const char *)name);
	if (!peer)
		peer = add_peer(r, (const char *)name);
	if (peer) {
		peer->forgotten = false;
		peer->used = true;
	}
	dofi_unlock(&r->lock);
	wake(r);
	return peer;
}

void dofi_shm_repair_use(struct dofi_ia *ia, struct dofi_shm_peer *peer, bool used)
{
	struct dofi_shm_repair *r = ia->shm_repair;

	dofi_assert_held(&ia->engine.lock);
	if (!r || !peer)
		return;
	dofi_lock(&r->lock);
	peer->used = used;
	dofi_unlock(&r->lock);
	if (!used)
		wake(r);
}

void dofi_shm_repair_forget(struct dofi_ia *ia, struct dofi_shm_peer *peer, bool closed)
{
	struct dofi_shm_repair *r = ia->shm_repair;

	dofi_assert_held(&ia->engine.lock);
	if (!r || !peer)
		return;
	dofi_lock(&r->lock);
	peer->used = false;
	peer->forgotten = true;
	if (closed || peer->unknown || is_ours(peer))
		free_peer(r, peer);
	dofi_unlock(&r->lock);
	wake(r);
}

/* --- our region --- */

/* Collects the processes that may be using our region. False if some are not known. */
static bool note_threads(struct dofi_shm_repair *r, struct dofi_live_threads *threads)
{
	pid_t pids[MAX_WATCHED + 1];
	size_t n = 0;

	pids[n++] = getpid();
	DOFI_LIST_FOR(node, &r->peers)
	{
		const struct dofi_shm_peer *peer = DOFI_CONTAINER(node, struct dofi_shm_peer, link);

		if (peer->unknown && peer->used)
			return false;
		if (!peer->unknown && !peer->dead)
			pids[n++] = peer->region.pid;
	}
	return dofi_live_threads_note(threads, pids, n);
}

static bool take_lock(const struct dofi_shm_map *own)
{
	for (int i = 0; i < LOCK_TRIES; i++)
		if (dofi_shm_trylock(own))
			return true;
	return false;
}

/* True if no living process holds the lock. */
static bool is_abandoned(struct dofi_shm_repair *r)
{
	struct suspicion *s = &r->suspicion;
	uint64_t progress = dofi_shm_progress(&r->own);

	if (!s->noted || progress != s->progress) {
		s->progress = progress;
		s->noted = note_threads(r, &s->threads);
		return false;
	}
	return dofi_live_threads_are_out(&s->threads) && dofi_shm_progress(&r->own) == progress;
}

static void look_at_lock(struct dofi_shm_repair *r)
{
	bool abandoned = false;

	if (!take_lock(&r->own)) {
		abandoned = is_abandoned(r);
		if (!abandoned)
			return;
		dofi_shm_take_over(&r->own);
	}
	dofi_shm_repair_own(&r->own);
	dofi_shm_unlock(&r->own);
	r->lock_suspect = false;
	r->suspicion.noted = false;
	if (abandoned)
		DOFI_LOG_W(
			"%s: released the lock of our shared memory, which a killed process held",
			r->ia->name);
}

static bool all_claimed(struct suspicion *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->nclaims; i++)
		if (dofi_shm_is_claimed(&s->claims[i]))
			s->claims[n++] = s->claims[i];
	s->nclaims = n;
	return n;
}

/*
 * Only threads that ran when the peer died matter, so they are recorded once. Before 2.5 a thread
 * claims an entry and then waits for the lock of its endpoint, perhaps asleep. The thread that has
 * the lock is not out, but it may leave during a look. So two looks have to agree.
 */
static bool may_be_claimed_by_living(struct dofi_shm_repair *r)
{
	struct suspicion *s = &r->suspicion;
	bool were_out = s->out;

	s->out = s->noted && dofi_live_threads_are_out(&s->threads);
	return all_claimed(s) && !(were_out && s->out);
}

static void look_at_claims(struct dofi_shm_repair *r)
{
	struct suspicion *s = &r->suspicion;

	if (!s->noted) {
		s->nclaims = dofi_shm_claims(&r->own, s->claims, MAX_CLAIMS);
		s->noted = !s->nclaims || note_threads(r, &s->threads);
		s->out = false;
	}
	if (may_be_claimed_by_living(r))
		return;
	for (size_t i = 0; i < s->nclaims; i++)
		dofi_shm_discard(&r->own, &s->claims[i]);
	r->claims_suspect = s->nclaims == MAX_CLAIMS;
	s->noted = false;
	if (s->nclaims)
		DOFI_LOG_W(
			"%s: passed over %zu commands in our shared memory that killed processes "
			"had not finished",
			r->ia->name, s->nclaims);
}

static bool all_idle(struct dofi_shm_repair *r)
{
	DOFI_LIST_FOR(node, &r->peers)
	{
		const struct dofi_shm_peer *peer = DOFI_CONTAINER(node, struct dofi_shm_peer, link);

		if ((peer->unknown && peer->used) ||
		    (!peer->unknown && !peer->dead && !dofi_shm_is_idle(&peer->region)))
			return false;
	}
	return dofi_shm_is_idle(&r->own);
}

static void try_to_refill(struct dofi_shm_repair *r)
{
	r->refills--;
	if (!take_lock(&r->own))
		return;
	if (all_idle(r) && dofi_shm_refill(&r->own))
		r->refills = 0;
	dofi_shm_unlock(&r->own);
}

/* --- commands that wait for dead processes --- */

static bool settle_commands(struct dofi_shm_repair *r, const struct dofi_shm_peer *peer)
{
	ssize_t n;

	if (r->waits_for && r->waits_for != peer)
		return false;
	if (!r->waits_for) {
		n = dofi_shm_commands(&r->own, &peer->region, r->commands, MAX_COMMANDS);
		if (n <= 0)
			return !n;
		r->ncommands = (size_t)n;
		if (dofi_live_threads_note(&r->waiters, &(pid_t){getpid()}, 1))
			r->waits_for = peer;
		return false;
	}
	if (!dofi_live_threads_are_out(&r->waiters))
		return false;
	if (!dofi_shm_give_back(&r->own, &peer->region, r->commands, r->ncommands))
		return false;
	r->waits_for = NULL;
	return true;
}

static bool settle(struct dofi_shm_repair *r, struct dofi_shm_peer *peer)
{
	peer->settled = dofi_shm_settle(&r->own, &peer->region) && settle_commands(r, peer);
	dofi_wait_kick(r->ia);
	return peer->settled;
}

/* --- the thread --- */

static void died(struct dofi_shm_repair *r, struct dofi_shm_peer *peer)
{
	peer->dead = true;
	dofi_process_watch_close(&peer->watch);
	dofi_shm_fill_dead(&peer->region);
	r->lock_suspect = r->claims_suspect = true;
	r->refills = REFILL_TRIES;
	r->suspicion.noted = false;
}

/* One step of the repair. True if there will be more work soon. */
static bool step(struct dofi_shm_repair *r)
{
	bool more = false;

	if (r->lock_suspect)
		look_at_lock(r);
	if (!r->lock_suspect && r->claims_suspect)
		look_at_claims(r);
	if (!r->lock_suspect && !r->claims_suspect && r->refills)
		try_to_refill(r);
	more = r->lock_suspect || r->claims_suspect || r->refills;
	DOFI_LIST_FOR_SAFE(node, &r->peers)
	{
		struct dofi_shm_peer *peer = DOFI_CONTAINER(node, struct dofi_shm_peer, link);

		if (!peer->dead)
			continue;
		if (!peer->used && !peer->settled)
			more |= !settle(r, peer);
		if (peer->forgotten && peer->settled)
			free_peer(r, peer);
	}
	if (!more)
		dofi_wait_kick(r->ia);
	return more;
}

/* Fills in the list of descriptors for poll, and how long to wait for them. */
static nfds_t watch_all(struct dofi_shm_repair *r, int *wait_ms_p)
{
	nfds_t n = 0;

	*wait_ms_p = -1;
	r->fds[n++] = (struct pollfd){.fd = r->wake_fd, .events = POLLIN};
	DOFI_LIST_FOR(node, &r->peers)
	{
		const struct dofi_shm_peer *peer = DOFI_CONTAINER(node, struct dofi_shm_peer, link);

		if (peer->watch.fd < 0)
			continue;
		if (peer->watch.needs_look)
			*wait_ms_p = LOOK_FOR_ENDS_MS;
		else
			r->fds[n++] = (struct pollfd){.fd = peer->watch.fd, .events = POLLIN};
	}
	return n;
}

static void bury_dead(struct dofi_shm_repair *r)
{
	DOFI_LIST_FOR(node, &r->peers)
	{
		struct dofi_shm_peer *peer = DOFI_CONTAINER(node, struct dofi_shm_peer, link);

		if (dofi_process_watch_ended(&peer->watch))
			died(r, peer);
	}
}

static void *repair(void *arg)
{
	struct dofi_shm_repair *r = arg;
	bool more = false;

	dofi_lock(&r->lock);
	while (!r->stop) {
		int wait_ms;
		nfds_t n = watch_all(r, &wait_ms);

		dofi_unlock(&r->lock);
		poll(r->fds, n, more ? LOOK_MS : wait_ms);
		dofi_eventfd_clear(r->wake_fd);
		dofi_lock(&r->lock);
		bury_dead(r);
		more = step(r);
	}
	dofi_unlock(&r->lock);
	return NULL;
}

/* --- life --- */

static int start(struct dofi_shm_repair *r, const char *name)
{
	int ret = dofi_shm_map_open(&r->own, name);

	if (ret)
		return ret;
	if (r->own.pid != getpid())
		return -ESRCH;
	r->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->wake_fd < 0)
		return -errno;
	ret = dofi_start_thread(&r->thread, repair, r);
	if (ret)
		close(r->wake_fd);
	return ret;
}

void dofi_shm_repair_open(struct dofi_ia *ia, const uint8_t *name)
{
	struct dofi_shm_repair *r;
	int ret = -ENOMEM;

	if (!(ia->quirks & DOFI_QUIRK_DEAD_LOCKS))
		return;
	r = calloc(1, sizeof(*r));
	if (r) {
		r->ia = ia;
		dofi_list_init(&r->peers);
		dofi_lock_init_level(&r->lock, DOFI_LEVEL_LEAF);
		ret = start(r, (const char *)name);
	}
	if (!ret) {
		ia->shm_repair = r;
		return;
	}
	DOFI_LOG_I("%s: the shared memory can't be watched, this process may hang when a peer is "
		   "killed: %s",
		   ia->name, ret == -EPROTO ? "its layout is not known" : strerror(-ret));
	if (r) {
		dofi_shm_map_close(&r->own);
		free(r);
	}
}

void dofi_shm_repair_close(struct dofi_ia *ia)
{
	struct dofi_shm_repair *r = ia->shm_repair;

	if (!r)
		return;
	dofi_lock(&r->lock);
	r->stop = true;
	dofi_unlock(&r->lock);
	wake(r);
	pthread_join(r->thread, NULL);
	ia->shm_repair = NULL;
	DOFI_LIST_FOR_SAFE(node, &r->peers)
	free_peer(r, DOFI_CONTAINER(node, struct dofi_shm_peer, link));
	dofi_live_threads_free(&r->suspicion.threads);
	dofi_live_threads_free(&r->waiters);
	dofi_shm_map_close(&r->own);
	close(r->wake_fd);
	dofi_lock_fini(&r->lock);
	free(r);
}
