/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hooks.h"

#include "ranks.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#define MAX_REGIONS 64

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

static struct {
	void *block;
	struct hooks_region region;
} cache[MAX_REGIONS];

/* Not held during calls of DAT, see hooks.h. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool begun; /* atomic */
static unsigned int ended;
static DAT_IA_HANDLE the_ia;
static DAT_PZ_HANDLE the_pz;

/* Set inside a hook or the cache. Allocations of the libraries then bypass the hooks. */
static _Thread_local bool inside;

void hooks_begin(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz)
{
	the_ia = ia;
	the_pz = pz;
	__atomic_store_n(&begun, true, __ATOMIC_RELEASE);
}

static bool enter(void)
{
	if (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE) || inside)
		return false;
	inside = true;
	pthread_mutex_lock(&lock);
	return true;
}

static void leave(void)
{
	pthread_mutex_unlock(&lock);
	inside = false;
}

/* Returns the index of the block, or a free index; MAX_REGIONS if all are used. */
static size_t find_place(const void *block)
{
	size_t place = MAX_REGIONS;

	for (size_t i = 0; i < MAX_REGIONS; i++) {
		if (cache[i].block == block)
			return i;
		if (!cache[i].block && place == MAX_REGIONS)
			place = i;
	}
	return place;
}

struct hooks_region hooks_find(void *block, size_t size)
{
	struct hooks_region region;
	size_t at;

	enter();
	at = find_place(block);
	if (at == MAX_REGIONS)
		rank_fail("the cache of registrations is full");
	region = cache[at].region;
	if (cache[at].block) {
		leave();
		return region;
	}
	/* Other threads only search for blocks that they free. */
	pthread_mutex_unlock(&lock);
	late_register(the_ia, the_pz, block, size, &region.lmr, &region.local, &region.remote);
	pthread_mutex_lock(&lock);
	cache[at].block = block;
	cache[at].region = region;
	leave();
	return region;
}

unsigned int hooks_ended(void)
{
	return __atomic_load_n(&ended, __ATOMIC_RELAXED);
}

static void forget(const void *block)
{
	DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
	size_t at;

	if (!block || !enter())
		return;
	at = find_place(block);
	if (at < MAX_REGIONS && cache[at].block) {
		lmr = cache[at].region.lmr;
		cache[at].block = NULL;
	}
	pthread_mutex_unlock(&lock);
	/* Allocations of this thread still bypass the hooks. */
	if (lmr != DAT_HANDLE_NULL) {
		ok(dat.lmr_free(lmr));
		__atomic_add_fetch(&ended, 1, __ATOMIC_RELAXED);
	}
	inside = false;
}

#ifdef SANITIZED

/* Sanitizers replace free() themselves. */
void hooks_free(void *block)
{
	forget(block);
	free(block);
}

#else

void hooks_free(void *block)
{
	free(block);
}

/* Libraries call the hooks, so they are visible. */
#define HOOK __attribute__((visibility("default")))

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

HOOK void *malloc(size_t size)
{
	if (enter())
		leave();
	return __libc_malloc(size);
}

HOOK void *calloc(size_t count, size_t size)
{
	if (enter())
		leave();
	return __libc_calloc(count, size);
}

HOOK void *realloc(void *block, size_t size)
{
	forget(block);
	return __libc_realloc(block, size);
}

HOOK void *memalign(size_t alignment, size_t size)
{
	if (enter())
		leave();
	return __libc_memalign(alignment, size);
}

HOOK void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

HOOK int posix_memalign(void **block_p, size_t alignment, size_t size)
{
	*block_p = memalign(alignment, size);
	return *block_p ? 0 : ENOMEM;
}

HOOK void free(void *block)
{
	forget(block);
	__libc_free(block);
}

#endif
