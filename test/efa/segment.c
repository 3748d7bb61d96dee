/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The shared file: creation and mapping, slots of processes, and cleaning up after dead processes.
 */
#include "segment.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#define SEG_VERSION 1
/* The locked bytes are behind the contents. */
#define LOCK_BASE   ((off_t)1 << 40)
#define LOCK_MAKE   (LOCK_BASE - 1)
#define LOCK_BURY   (LOCK_BASE - 2)

static int seg_fd = -1;

static int seg_lock(off_t byte, short type, int command)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
	int ret;

	do
		ret = fcntl(seg_fd, command, &lock);
	while (ret && errno == EINTR);
	return command == F_GETLK ? (ret ? -1 : lock.l_type) : ret;
}

/* The first process initialises the file. The lock makes others wait, or take over if it dies. */
static int seg_fill(struct segment *seg, uint32_t universe)
{
	int ret = -1;

	if (seg_lock(LOCK_MAKE, F_WRLCK, F_SETLKW))
		return -1;
	if (atomic_load(&seg->ready) == SEG_VERSION) {
		ret = 0;
	} else if (universe || getrandom(&universe, sizeof(universe), 0) > 0) {
		seg->universe = universe;
		atomic_store(&seg->ready, SEG_VERSION);
		ret = 0;
	}
	seg_lock(LOCK_MAKE, F_UNLCK, F_SETLK);
	return ret;
}

struct segment *seg_open(const char *path, uint32_t universe)
{
	struct segment *seg;

	seg_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (seg_fd < 0)
		return NULL;
	if (ftruncate(seg_fd, sizeof(*seg)))
		return NULL;
	seg = mmap(NULL, sizeof(*seg), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, seg_fd,
		   0);
	if (seg == MAP_FAILED)
		return NULL;
	return seg_fill(seg, universe) ? NULL : seg;
}

/* Only for other processes: a process does not see its own record lock. */
int seg_is_dead(struct segment *seg, uint32_t proc)
{
	return atomic_load(&seg->proc[proc].state) &&
	       seg_lock(LOCK_BASE + proc, F_WRLCK, F_GETLK) == F_UNLCK;
}

/*
 * Returns the memory of a destroyed queue pair to the system. The counters of its rings continue.
 */
void seg_free_queue(struct segment *seg, uint32_t qp)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = ((uintptr_t)seg->queue[qp].node + page - 1) & ~(page - 1);
	uintptr_t to = (uintptr_t)(seg->queue[qp].node + SEG_NODES) & ~(page - 1);

	madvise((void *)from, to - from, MADV_REMOVE);
}

void seg_forget_process(struct segment *seg, uint32_t proc)
{
	struct seg_proc *p = &seg->proc[proc];
	uint32_t owner = proc + 1;

	for (uint32_t i = 0; i < SEG_MRS; i++)
		if (atomic_load(&seg->mr[i].owner) == owner) {
			atomic_store(&seg->mr[i].key, 0);
			atomic_store(&seg->mr[i].owner, 0);
		}
	for (uint32_t i = 0; i < SEG_QPS; i++)
		if (atomic_load(&seg->qp[i].owner) == owner) {
			atomic_store(&seg->qp[i].ready, 0);
			atomic_store(&seg->qp[i].qpn, 0);
			seg_await_qp(seg, i, proc);
			seg_free_queue(seg, i);
			atomic_store(&seg->qp[i].owner, 0);
		}
	for (uint32_t i = 0; i < SEG_CQS; i++)
		if (atomic_load(&seg->cq[i].owner) == owner)
			atomic_store(&seg->cq[i].owner, 0);
	atomic_store(&p->hazard_qp, 0);
	atomic_store(&p->hazard_mr, 0);
	atomic_fetch_add(&seg->deaths, 1);
	atomic_store(&p->state, 0);
}

/*
 * A process that finds another one at this work leaves it to that process. If that one is killed,
 * doing the work again is harmless.
 */
void seg_bury_dead(struct segment *seg)
{
	uint32_t used = atomic_load(&seg->procs_used);

	if (seg_lock(LOCK_BURY, F_WRLCK, F_SETLK))
		return;
	for (uint32_t i = 0; i < used; i++)
		if (seg->proc[i].pid != getpid() && seg_is_dead(seg, i))
			seg_forget_process(seg, i);
	seg_lock(LOCK_BURY, F_UNLCK, F_SETLK);
}

static void seg_start_slot(struct segment *seg, uint32_t i, uint32_t host)
{
	struct seg_proc *p = &seg->proc[i];
	uint32_t used = atomic_load(&seg->procs_used);

	p->gen++;
	p->pid = getpid();
	p->host = host;
	atomic_store(&p->silent, 0);
	atomic_store(&p->hazard_qp, 0);
	atomic_store(&p->hazard_mr, 0);
	atomic_store(&p->ah_hosts, 0);
	while (used <= i && !atomic_compare_exchange_weak(&seg->procs_used, &used, i + 1))
		;
	atomic_store(&p->state, 1);
}

int seg_take_slot(struct segment *seg, uint32_t host)
{
	seg_bury_dead(seg);
	for (uint32_t i = 0; i < SEG_PROCS; i++) {
		if (atomic_load(&seg->proc[i].state) || seg_lock(LOCK_BASE + i, F_WRLCK, F_SETLK))
			continue;
		/*
		 * A process killed between taking the lock and setting the state leaves the slot
		 * free.
		 */
		if (!atomic_load(&seg->proc[i].state)) {
			seg_start_slot(seg, i, host);
			return (int)i;
		}
		seg_lock(LOCK_BASE + i, F_UNLCK, F_SETLK);
	}
	return -1;
}

static int is_stopped(pid_t pid)
{
	char path[32], text[256], *end;
	int fd, len;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	len = (int)read(fd, text, sizeof(text) - 1);
	close(fd);
	text[len > 0 ? len : 0] = '\0';
	end = strrchr(text, ')');
	return end && (end[2] == 'T' || end[2] == 't');
}

/*
 * A process that is stopped while it uses an object would block the owner for ever, which no card
 * does. So the owner revokes the hazard. When the stopped process continues, it notices that and
 * starts again.
 */
static void await_one(struct segment *seg, uint32_t proc, _Atomic uint32_t *hazard, uint32_t name)
{
	uint32_t seen = name;

	for (unsigned int n = 1; atomic_load(hazard) == name; n++) {
		sched_yield();
		if (n % 1000)
			continue;
		if (seg_is_dead(seg, proc) || is_stopped(seg->proc[proc].pid))
			atomic_compare_exchange_strong(hazard, &seen, SEG_REVOKED);
		seen = name;
	}
}

void seg_await_qp(struct segment *seg, uint32_t index, uint32_t self)
{
	for (uint32_t i = 0; i < atomic_load(&seg->procs_used); i++)
		if (i != self)
			await_one(seg, i, &seg->proc[i].hazard_qp, index + 1);
}

void seg_await_mr(struct segment *seg, uint32_t index, uint32_t self)
{
	for (uint32_t i = 0; i < atomic_load(&seg->procs_used); i++)
		if (i != self)
			await_one(seg, i, &seg->proc[i].hazard_mr, index + 1);
}
