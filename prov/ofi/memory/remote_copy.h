/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Copies between the memory of this process and that of another one on this host, by the kernel
 * (process_vm_readv, process_vm_writev).
 *
 * The kernel identifies the other process by its number, and gives the number of a dead process to
 * a new one at some time. So each process has a badge: random bytes in a page at a random address,
 * which its children do not inherit. Each copy begins with that page. In another process nothing is
 * mapped there, so the copy fails before it touches anything else. A reader also compares the bytes
 * of the badge.
 *
 * A first read of the badge shows whether the kernel allows copies. Containers, user namespaces,
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

/* A process shows its badge to the processes that may copy from and to it. */
struct dofi_badge {
	uint64_t address; /* 0: there is none */
	uint8_t bytes[DOFI_BADGE];
};

/* Another process, as the target of copies. */
struct dofi_remote_process {
	pid_t pid; /* 0: nobody copies */
	struct dofi_badge badge;
};

/* Gets the badge of this process, and makes it if need be. Returns 0 or a negative errno. */
int dofi_badge_show(struct dofi_badge *badge_p);

/*
 * Checks that the process of that number has that badge. Returns 0, or a negative errno: -EPERM or
 * -ENOSYS if the kernel does not allow copies, -ESRCH if the process is another one.
 */
int dofi_remote_process_find(pid_t pid, const struct dofi_badge *badge,
			     struct dofi_remote_process *process_p);

/* Whether the process has ended. False if this is not known, as for pid 0. */
bool dofi_process_is_dead(pid_t pid);

/*
 * The end of a connection may have to wait for a copy. So callers divide longer ones, and look
 * between two pieces whether the connection has ended.
 */
#define DOFI_REMOTE_PIECE (1u << 20)

/*
 * Copies `size` bytes between `address` in the process and our segments. The first `skip` bytes of
 * the segments are passed over. A write stores the last word of the memory last. Returns 0, or a
 * negative errno: -ESRCH if the process is gone; -EFAULT if memory of either side is not mapped,
 * and then some of the bytes may have been copied; -EPERM or -ENOSYS if the kernel does not allow
 * the copy.
 */
int dofi_remote_read(const struct dofi_remote_process *process, const struct iovec *iov,
		     size_t skip, uint64_t address, size_t size);
int dofi_remote_write(const struct dofi_remote_process *process, const struct iovec *iov,
		      size_t skip, uint64_t address, size_t size);

/*
 * Reads n pieces by one system call: from[i] of the process to to[i], which have the same length.
 * The errors are those of dofi_remote_read.
 */
#define DOFI_REMOTE_PIECES 15u
int dofi_remote_read_pieces(const struct dofi_remote_process *process, const struct iovec *to,
			    const struct iovec *from, size_t n);

#endif
