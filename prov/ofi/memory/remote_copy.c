/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "memory/remote_copy.h"

#include "base/last_word.h"
#include "base/process_watch.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#define SEGMENTS 16 /* of one call */

/* The page at the address of a process's badge. */
struct page {
	uint8_t bytes[DOFI_BADGE];
	uint8_t landing[DOFI_BADGE]; /* each write begins here */
};

static pthread_mutex_t page_lock = PTHREAD_MUTEX_INITIALIZER;
static struct page *page; /* of the process that has this number */
static pid_t page_of;

/* --- the badge --- */

/* The kernel uses the address if nothing is mapped there. */
static struct page *make_page(void)
{
	uint64_t address;
	struct page *made;
	size_t size = (size_t)sysconf(_SC_PAGESIZE);

	if (getrandom(&address, sizeof(address), 0) < 0)
		return NULL;
	address &= sizeof(void *) == 8 ? 0x3fffffffffffu : 0x3fffffffu;
	made = mmap((void *)(uintptr_t)(address & ~(uint64_t)(size - 1)), size,
		    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (made == MAP_FAILED)
		return NULL;
	if (madvise(made, size, MADV_DONTFORK) ||
	    getrandom(made->bytes, sizeof(made->bytes), 0) < 0) {
		munmap(made, size);
		return NULL;
	}
	return made;
}

int dofi_badge_show(struct dofi_badge *badge_p)
{
	pid_t self = getpid();
	int ret = 0;

	pthread_mutex_lock(&page_lock);
	if (!page || page_of != self) {
		page = make_page();
		page_of = self;
	}
	if (page) {
		badge_p->address = (uintptr_t)page;
		memcpy(badge_p->bytes, page->bytes, sizeof(badge_p->bytes));
	} else {
		ret = -ENOMEM;
	}
	pthread_mutex_unlock(&page_lock);
	return ret;
}

/* --- the other process --- */

int dofi_remote_process_find(pid_t pid, const struct dofi_badge *badge,
			     struct dofi_remote_process *process_p)
{
	const struct dofi_remote_process process = {.pid = pid, .badge = *badge};
	int ret;

	if (pid <= 0 || !badge->address)
		return -ESRCH;
	ret = dofi_remote_read(&process, NULL, 0, badge->address, 0);
	if (!ret)
		*process_p = process;
	return ret;
}

/* If the number is in use again, the process counts as alive. */
bool dofi_process_is_dead(pid_t pid)
{
	struct dofi_process_watch watch;
	bool dead;

	if (pid <= 0)
		return false;
	if (dofi_process_watch_open(&watch, pid))
		return kill(pid, 0) && errno == ESRCH;
	dead = dofi_process_watch_ended(&watch);
	dofi_process_watch_close(&watch);
	return dead;
}

/* --- copies --- */

/* The part of the segments that begins behind `skip`: at most SEGMENTS parts. */
static size_t cut(const struct iovec *iov, size_t skip, size_t size, struct iovec *parts, int *n_p)
{
	size_t done = 0;
	int n = 0;

	for (; done < size && n < SEGMENTS; iov++) {
		size_t left = iov->iov_len - (skip < iov->iov_len ? skip : iov->iov_len);

		if (left > size - done)
			left = size - done;
		if (left)
			parts[n++] = (struct iovec){(char *)iov->iov_base + skip, left};
		skip -= skip < iov->iov_len ? skip : iov->iov_len;
		done += left;
	}
	*n_p = n;
	return done;
}

/*
 * Splits the target into two parts, because the kernel copies in their order: the last word of the
 * memory is stored last. Between two parts the kernel releases the page by an atomic operation, so
 * processors that reorder stores keep that order.
 */
static int split_off(size_t word, struct iovec *to, uint64_t address, size_t size)
{
	if (word == size)
		word = 0;
	to[0] = (struct iovec){(void *)(uintptr_t)address, size - word};
	to[1] = (struct iovec){(void *)(uintptr_t)(address + size - word), word};
	return word ? 2 : 1;
}

/*
 * The result of a copy of `size` bytes, badge included. A short count means that the next byte is
 * not mapped.
 */
static int result(ssize_t n, size_t size)
{
	if (n == (ssize_t)size)
		return 0;
	if (n >= (ssize_t)DOFI_BADGE)
		return -EFAULT;
	/* Not even the badge was copied: the page is not mapped. */
	return n < 0 && errno != EFAULT ? -errno : -ESRCH;
}

/* Reads the badge and `size` bytes. Entry 0 of both lists is for the badge. */
static int read_behind_badge(const struct dofi_remote_process *process, struct iovec *to,
			     size_t nto, struct iovec *from, size_t nfrom, size_t size)
{
	uint8_t bytes[DOFI_BADGE];
	int ret;

	to[0] = (struct iovec){bytes, sizeof(bytes)};
	from[0] = (struct iovec){(void *)(uintptr_t)process->badge.address, DOFI_BADGE};
	ret = result(process_vm_readv(process->pid, to, nto + 1, from, nfrom + 1, 0),
		     size + DOFI_BADGE);
	if (!ret && memcmp(bytes, process->badge.bytes, DOFI_BADGE) != 0)
		ret = -ESRCH;
	return ret;
}

static int read_chunk(const struct dofi_remote_process *process, struct iovec *parts, int n,
		      uint64_t address, size_t size)
{
	struct iovec from[2] = {[1] = {(void *)(uintptr_t)address, size}};

	return read_behind_badge(process, parts, (size_t)n, from, 1, size);
}

static int write_chunk(const struct dofi_remote_process *process, struct iovec *parts, int n,
		       uint64_t address, size_t size, bool last)
{
	uint8_t bytes[DOFI_BADGE] = {0};
	struct iovec to[3] = {
		{(void *)(uintptr_t)(process->badge.address + offsetof(struct page, landing)),
		 DOFI_BADGE}};
	/* The kernel stores it by one instruction, if it comes from one segment. */
	size_t word = last ? dofi_last_word(address + size, parts[n].iov_len) : 0;
	int nto = 1 + split_off(word, to + 1, address, size);

	parts[0] = (struct iovec){bytes, sizeof(bytes)};
	return result(process_vm_writev(process->pid, parts, (unsigned long)n + 1, to,
					(unsigned long)nto, 0),
		      size + DOFI_BADGE);
}

int dofi_remote_read(const struct dofi_remote_process *process, const struct iovec *iov,
		     size_t skip, uint64_t address, size_t size)
{
	struct iovec parts[SEGMENTS + 1];
	size_t done = 0, step;
	int n, ret;

	do {
		step = cut(iov, skip + done, size - done, parts + 1, &n);
		ret = read_chunk(process, parts, n, address + done, step);
		done += step;
	} while (!ret && done < size);
	return ret;
}

int dofi_remote_read_pieces(const struct dofi_remote_process *process, const struct iovec *to,
			    const struct iovec *from, size_t n)
{
	struct iovec ours[DOFI_REMOTE_PIECES + 1], theirs[DOFI_REMOTE_PIECES + 1];
	size_t size = 0;

	assert(n <= DOFI_REMOTE_PIECES);
	for (size_t i = 0; i < n; i++) {
		ours[i + 1] = to[i];
		theirs[i + 1] = from[i];
		size += from[i].iov_len;
	}
	return read_behind_badge(process, ours, n, theirs, n, size);
}

int dofi_remote_write(const struct dofi_remote_process *process, const struct iovec *iov,
		      size_t skip, uint64_t address, size_t size)
{
	struct iovec parts[SEGMENTS + 1];
	size_t done = 0, step;
	int n, ret = 0;

	while (!ret && done < size) {
		step = cut(iov, skip + done, size - done, parts + 1, &n);
		ret = write_chunk(process, parts, n, address + done, step, done + step == size);
		done += step;
	}
	return ret;
}
