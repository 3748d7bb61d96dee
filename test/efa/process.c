/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * This process on the device: its slot in the shared file, fork, and addresses of hosts.
 */
#include "softefa.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

struct segment *efa_seg;
struct seg_proc *efa_me;
uint32_t efa_slot;
pthread_mutex_t efa_lock;

static void make_lock(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&efa_lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

static void before_fork(void)
{
	pthread_mutex_lock(&efa_lock);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&efa_lock);
}

/* Slot and objects belong to the parent; see slot_gen in softefa.h. */
static void in_child(void)
{
	make_lock();
	efa_me = NULL;
	efa_engine_forked();
}

__attribute__((constructor)) static void begin(void)
{
	make_lock();
	pthread_atfork(before_fork, in_parent, in_child);
}

int efa_attach(void)
{
	int slot, ret = -1;

	pthread_mutex_lock(&efa_lock);
	if (efa_me) {
		ret = 0;
		goto out;
	}
	if (!efa_seg && !(efa_seg = seg_open(efa_set.file, efa_set.universe))) {
		fprintf(stderr, "softefa: %s: %s\n", efa_set.file, strerror(errno));
		goto out;
	}
	slot = seg_take_slot(efa_seg, efa_set.host);
	if (slot < 0) {
		errno = ENOMEM;
		goto out;
	}
	/* Allows other processes to write into this one, which Yama may forbid otherwise. */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	efa_slot = (uint32_t)slot;
	efa_me = &efa_seg->proc[slot];
	ret = 0;
out:
	pthread_mutex_unlock(&efa_lock);
	return ret;
}

/* fe80::UUUU:UUUU:0:HHHH; the universe U distinguishes devices that share a /dev/shm. */
void efa_gid_of(uint32_t host, union ibv_gid *gid)
{
	uint32_t universe = htonl(efa_seg->universe);
	uint16_t number = htons((uint16_t)(host + 1));

	memset(gid, 0, sizeof(*gid));
	gid->raw[0] = 0xfe;
	gid->raw[1] = 0x80;
	memcpy(&gid->raw[8], &universe, sizeof(universe));
	memcpy(&gid->raw[14], &number, sizeof(number));
}

int efa_host_of(const union ibv_gid *gid)
{
	uint32_t host = (uint32_t)(gid->raw[14] << 8 | gid->raw[15]) - 1;
	union ibv_gid whole;

	efa_gid_of(host, &whole);
	return host <= UINT16_MAX && !memcmp(gid, &whole, sizeof(whole)) ? (int)host : -1;
}

/*
 * For tests, which find it by dlsym: sets whether the card of process `pid` is silent, so that it
 * neither sends nor answers.
 */
int softefa_set_silent(pid_t pid, int silent);
int softefa_set_silent(pid_t pid, int silent)
{
	if (efa_attach())
		return -1;
	for (uint32_t i = 0; i < atomic_load(&efa_seg->procs_used); i++)
		if (atomic_load(&efa_seg->proc[i].state) && efa_seg->proc[i].pid == pid) {
			atomic_store(&efa_seg->proc[i].silent, (uint32_t)silent);
			return 0;
		}
	return -1;
}
