/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "t_hooks.h"

#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- the library that calls --- */

struct range {
	uintptr_t low, high;
	enum t_origin origin;
};

static struct range ranges[8];
static unsigned int nranges;

static enum t_origin origin_of_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (!strncmp(name, "libdat", 6))
		return T_OURS;
	return strncmp(name, "libfabric", 9) ? T_ELSEWHERE : T_FABRIC;
}

static int add_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	enum t_origin origin = origin_of_name(info->dlpi_name);

	(void)size;
	(void)arg;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t low = info->dlpi_addr + segment->p_vaddr;

		if (origin == T_ELSEWHERE || segment->p_type != PT_LOAD ||
		    !(segment->p_flags & PF_X) || nranges == sizeof(ranges) / sizeof(ranges[0]))
			continue;
		ranges[nranges++] = (struct range){low, low + segment->p_memsz, origin};
	}
	return 0;
}

void t_hooks_find_libraries(void)
{
	nranges = 0;
	dl_iterate_phdr(add_library, NULL);
}

enum t_origin t_origin_of(const void *return_address)
{
	for (unsigned int i = 0; i < nranges; i++) {
		if ((uintptr_t)return_address >= ranges[i].low &&
		    (uintptr_t)return_address < ranges[i].high)
			return ranges[i].origin;
	}
	return T_ELSEWHERE;
}

/* --- counting --- */

static _Atomic unsigned long counts[T_ORIGINS];
static _Atomic bool counting;

void t_alloc_count(bool on)
{
	if (on) {
		for (int i = 0; i < T_ORIGINS; i++)
			counts[i] = 0;
	}
	counting = on;
}

unsigned long t_alloc_counted(enum t_origin origin)
{
	return counts[origin];
}

#if T_HOOKS

static void count_call(const void *caller)
{
	if (atomic_load_explicit(&counting, memory_order_relaxed))
		atomic_fetch_add(&counts[t_origin_of(caller)], 1);
}

#define CALLER __builtin_return_address(0)

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t number, size_t size);
void *__libc_realloc(void *ptr, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *ptr);

T_STAND_IN void *malloc(size_t size)
{
	count_call(CALLER);
	return __libc_malloc(size);
}

T_STAND_IN void *calloc(size_t number, size_t size)
{
	count_call(CALLER);
	return __libc_calloc(number, size);
}

T_STAND_IN void *realloc(void *ptr, size_t size)
{
	count_call(CALLER);
	return __libc_realloc(ptr, size);
}

T_STAND_IN void *aligned_alloc(size_t alignment, size_t size)
{
	count_call(CALLER);
	return __libc_memalign(alignment, size);
}

T_STAND_IN int posix_memalign(void **ptr_p, size_t alignment, size_t size)
{
	void *ptr = __libc_memalign(alignment, size);

	count_call(CALLER);
	if (!ptr)
		return ENOMEM;
	*ptr_p = ptr;
	return 0;
}

T_STAND_IN void free(void *ptr)
{
	count_call(CALLER);
	__libc_free(ptr);
}

/* strdup() of the C library would hide the library that calls malloc(). */
T_STAND_IN char *strdup(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = __libc_malloc(size);

	count_call(CALLER);
	return copy ? memcpy(copy, text, size) : NULL;
}

T_STAND_IN void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	count_call(CALLER);
	return (void *)syscall(SYS_mmap, at, size, prot, flags, fd, offset);
}

T_STAND_IN int munmap(void *mem, size_t size)
{
	count_call(CALLER);
	return (int)syscall(SYS_munmap, mem, size);
}

#endif
