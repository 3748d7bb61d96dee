/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "object/mr.h"

#include "auth/crypto.h"
#include "base/log.h"
#include "fabric/quirks.h"
#include "object/ia.h"

#include <errno.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define REMOTE_FLAGS (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

/*
 * Rights that the fabric needs. Memory with read privileges only may be read-only, and a provider
 * that pins it for writing would refuse it.
 */
static uint64_t access_bits(const struct dofi_ia *ia, DAT_MEM_PRIV_FLAGS privileges)
{
	uint64_t access = FI_SEND | FI_WRITE;

	if (privileges & DAT_MEM_PRIV_WRITE_FLAG)
		access |= FI_RECV | FI_READ;
	if (ia->quirks & DOFI_QUIRK_FEW_RIGHTS)
		access &= ~(uint64_t)(FI_WRITE | FI_READ);
	if (privileges & DAT_MEM_PRIV_REMOTE_READ_FLAG)
		access |= FI_REMOTE_READ;
	if (privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
		access |= FI_REMOTE_WRITE;
	/*
	 * libfabric's remote write includes atomic operations. On other fabrics the library
	 * executes them.
	 */
	if (ia->does_atomics && (privileges & DOFI_MEM_PRIV_REMOTE_ATOMIC))
		access |= FI_RECV | FI_READ | FI_REMOTE_WRITE;
	return access;
}

/* If registrations belong to an endpoint, they belong to the shared endpoint of the IA. */
static int bind_to_endpoint(struct dofi_ia *ia, struct fid_mr *mr)
{
	int ret = fi_mr_bind(mr, &ia->shared_ep->fid, 0);

	return ret ? ret : fi_mr_enable(mr);
}

const char *dofi_mr_limit(char text[DOFI_MR_LIMIT_SIZE])
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return "";
	snprintf(text, DOFI_MR_LIMIT_SIZE,
		 "; this process may lock %llu KiB of memory, RDMA may need more (ulimit -l)",
		 (unsigned long long)limit.rlim_cur / 1024);
	return text;
}

/* A hint for the user. */
static const char *advice(int err, DAT_MEM_PRIV_FLAGS privileges, char text[DOFI_MR_LIMIT_SIZE])
{
	if (err == FI_ENOMEM)
		return dofi_mr_limit(text);
	if (err == FI_EFAULT && !(privileges & DAT_MEM_PRIV_WRITE_FLAG))
		return "; libfabric's cache of registrations asks for writing, too: "
		       "FI_MR_CACHE_MONITOR=disabled";
	return "";
}

/*
 * net of libfabric 1.17 locks its table of keys when a registration is made, but not when one is
 * closed.
 */
int dofi_mr_close(struct dofi_ia *ia, struct fid_mr *mr)
{
	int ret;

	dofi_lock(&ia->mr_lock);
	ret = fi_close(&mr->fid);
	dofi_unlock(&ia->mr_lock);
	return ret;
}

/* --- keys --- */

/* Only a key of few bits is ever taken already: 64 draws find a free one among 65536 of them. */
#define KEY_TRIES 64

static uint64_t key_mask(const struct fi_domain_attr *attr)
{
	size_t bits = 8 * attr->mr_key_size;

	return bits && bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
}

/*
 * Where the fabric lets the library choose keys, they are random: a process that reaches the
 * endpoint and was not told a key cannot guess it. Other fabrics ignore the key.
 */
static int register_by_random_key(struct dofi_ia *ia, void *buf, size_t length, uint64_t access,
				  struct fid_mr **mr_p)
{
	uint64_t key, mask = key_mask(ia->info->domain_attr);
	int ret = -FI_ENOKEY;

	for (int i = 0; ret == -FI_ENOKEY && i < KEY_TRIES; i++) {
		ret = dofi_random(&key, sizeof(key));
		if (!ret)
			ret = fi_mr_reg(ia->domain, buf, length, access, 0, key & mask, 0, mr_p,
					NULL);
	}
	return ret;
}

/* --- registrations --- */

int dofi_mr_register(struct dofi_ia *ia, void *buf, size_t length, DAT_MEM_PRIV_FLAGS privileges,
		     struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p)
{
	int mode = ia->info->domain_attr->mr_mode;
	char limit[DOFI_MR_LIMIT_SIZE];
	struct fid_mr *mr;
	uint64_t key;
	int ret;

	dofi_lock(&ia->mr_lock);
	ret = register_by_random_key(ia, buf, length, access_bits(ia, privileges), &mr);
	dofi_unlock(&ia->mr_lock);
	if (ret)
		goto err;
	if ((mode & FI_MR_ENDPOINT) && (ret = bind_to_endpoint(ia, mr)))
		goto err_close;
	key = fi_mr_key(mr);
	/*
	 * CXI, and any provider of libfabric 2.6, returns no key for memory without remote access.
	 */
	if (key == FI_KEY_NOTAVAIL && (privileges & REMOTE_FLAGS)) {
		ret = -FI_ENOKEY;
		goto err_close;
	}
	*mr_p = mr;
	*key_p = key;
	*address_p = mode & FI_MR_VIRT_ADDR ? (uint64_t)(uintptr_t)buf : 0;
	return 0;

err_close:
	dofi_mr_close(ia, mr);
err:
	dofi_lock(&ia->mr_lock);
	DOFI_LOG_LIMITED(&ia->mr_refusals, DOFI_LOG_WARN, ia->name,
			 "%s: the fabric refuses to register %zu bytes at %p: %s%s", ia->name,
			 length, buf, fi_strerror(-ret), advice(-ret, privileges, limit));
	dofi_unlock(&ia->mr_lock);
	return ret;
}

int dofi_mr_map(struct dofi_ia *ia, size_t size, size_t extra, DAT_MEM_PRIV_FLAGS privileges,
		void **memory_p, struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p)
{
	void *memory = mmap(NULL, size + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	int ret;

	if (memory == MAP_FAILED)
		return -errno;
	ret = dofi_mr_register(ia, memory, size, privileges, mr_p, key_p, address_p);
	if (ret)
		munmap(memory, size + extra);
	else
		*memory_p = memory;
	return ret;
}

void dofi_mr_abandon(struct dofi_ia *ia, struct fid_mr *mr, void *memory, size_t size)
{
	int ret = dofi_mr_close(ia, mr);

	if (ret)
		DOFI_LOG_E("%s: a registration of the library's own can't be closed and leaks: %s",
			   ia->name, fi_strerror(-ret));
	ia->left[ia->nleft++] = (struct iovec){memory, size};
}

void dofi_mr_unmap_all(struct dofi_ia *ia)
{
	while (ia->nleft) {
		ia->nleft--;
		munmap(ia->left[ia->nleft].iov_base, ia->left[ia->nleft].iov_len);
	}
}
