/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Copies between the memory of this process and that of another one on this host, by the kernel
 * (process_vm_readv, process_vm_writev).
 *
 * The kernel knows the other process by its number, and the number of a dead process is given to
 * another one some time. So each process has a badge: random bytes in a page at a random address,
 * which its children do not get. Each copy begins with that page. In another process nothing is
 * mapped there, so the copy ends before it has touched anything else; and what is read of the badge
 * is compared.
 *
 * Whether the kernel allows copies is found out by reading the badge. Containers, user namespaces,
 * seccomp, Yama and processes that cannot be traced forbid them.
 */
#ifndef DOFI_MEMORY_REMOTE_COPY_H
#define DOFI_MEMORY_REMOTE_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#define DOFI_BADGE 16u

/* Of a process, for those that copy. */
struct dofi_badge {
	uint64_t address; /* 0: there is none */
	uint8_t bytes[DOFI_BADGE];
};

/* Another process, for those who copy. */
struct dofi_remote_process {
	pid_t pid; /* 0: nobody copies */
	struct dofi_badge badge;
};

/* The badge of this process. 0 or a negative errno. */
int dofi_badge_show(struct dofi_badge *badge_p);

/*
 * The process of that number, if it has that badge and the kernel lets us copy. 0, or a negative
 * errno: -EPERM or -ENOSYS if it does not, -ESRCH if it is another process.
 */
int dofi_remote_process_find(pid_t pid, const struct dofi_badge *badge,
			     struct dofi_remote_process *process_p);

/* Whether no thread of the process runs any more. False, too, if nobody can tell, as for 0. */
bool dofi_process_is_dead(pid_t pid);

/*
 * Between `address` in the process and the bytes that the segments have behind the first `skip`,
 * which are at least `size`. What is written to the last word of the memory lands last. 0, or a
 * negative errno: -ESRCH if the process is gone; -EFAULT if either side's memory is not there, and
 * some of the bytes may have been copied; -EPERM or -ENOSYS if the kernel does not allow it.
 */
int dofi_remote_read(const struct dofi_remote_process *process, const struct iovec *iov,
		     size_t skip, uint64_t address, size_t size);
int dofi_remote_write(const struct dofi_remote_process *process, const struct iovec *iov,
		      size_t skip, uint64_t address, size_t size);

#endif
