/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/lmr.h"

#include "object/mem.h"
#include "base/cookie.h"
#include "fabric/error.h"
#include "object/ia.h"
#include "base/log.h"
#include "object/ctxtab.h"
#include "object/mr.h"

#include <errno.h>
#include <linux/futex.h>
#include <rdma/fi_domain.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t page_of(uint64_t address)
{
	return address & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
}

/* msync with MS_ASYNC only checks the mappings and writes nothing. */
static bool is_mapped(uint64_t base, uint64_t length)
{
	uint64_t first = page_of(base);

	return !msync((void *)(uintptr_t)first, base + length - first, MS_ASYNC);
}

/*
 * Lets the kernel add 0 to a word of the page. That changes nothing, but fails if a write would
 * fail. No thread is woken, unless the word is a futex in use with the odd value that the operation
 * compares with.
 */
static bool is_page_writable(uint64_t page)
{
	static uint32_t nobody_waits_here;

	return syscall(SYS_futex, &nobody_waits_here, FUTEX_WAKE_OP_PRIVATE, 0, NULL,
		       (void *)(uintptr_t)page,
		       FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, -2039)) >= 0;
}

static DAT_RETURN check_region(const struct dofi_lmr *lmr)
{
	uint64_t first = lmr->start, last = lmr->start + lmr->length - 1;

	if (!lmr->length)
		return DOFI_ERR(DAT_LENGTH_ERROR, 0); /* what programs expect (PRG-11) */
	if (lmr->length > lmr->obj.ia->limits.max_lmr)
		return DOFI_BAD_ARG(4);
	if (last < first || !is_mapped(first, lmr->length))
		return DOFI_BAD_ARG(3);
	if (((unsigned int)lmr->privileges &
	     (DAT_MEM_PRIV_WRITE_FLAG | DOFI_MEM_PRIV_REMOTE_ATOMIC)) &&
	    !(is_page_writable(page_of(first)) && is_page_writable(page_of(last))))
		return DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0);
	return DAT_SUCCESS;
}

/* Finds the memory that the region description names. */
static DAT_RETURN find_region(struct dofi_lmr *lmr)
{
	const struct dofi_lmr *source;

	lmr->length = lmr->asked_length;
	switch ((unsigned int)lmr->mem_type) {
	case DAT_MEM_TYPE_VIRTUAL:
		lmr->start = (uintptr_t)lmr->region.for_va;
		return DAT_SUCCESS;
	case DAT_MEM_TYPE_LMR:
		source = DOFI_OBJ(lmr->region.for_lmr_handle, LMR);
		if (!source || source->obj.ia != lmr->obj.ia)
			return DOFI_BAD_HANDLE(LMR);
		lmr->start = source->start;
		lmr->length = source->length;
		return DAT_SUCCESS;
	case DAT_MEM_TYPE_SHARED_VIRTUAL:
		if (!lmr->region.for_shared_memory.shared_memory_id)
			return DOFI_BAD_ARG(3);
		lmr->start = (uintptr_t)lmr->region.for_shared_memory.virtual_address;
		return DAT_SUCCESS;
	default:
		return DOFI_BAD_ARG(2);
	}
}

DAT_RETURN dofi_lmr_error(int err)
{
	return err == -FI_ENOMEM ? DOFI_NO_REGION : dofi_error(err, DAT_RESOURCE_MEMORY_REGION);
}

static DAT_RETURN take_cookie(struct dofi_lmr *lmr)
{
	lmr->cookie_share = -1;
	if (lmr->mem_type != DAT_MEM_TYPE_SHARED_VIRTUAL)
		return DAT_SUCCESS;
	lmr->cookie_share = dofi_cookie_share(*lmr->region.for_shared_memory.shared_memory_id,
					      lmr->start, lmr->length);
	if (lmr->cookie_share == -EINVAL || lmr->cookie_share == -EEXIST)
		return DOFI_ERR(DAT_INVALID_STATE, 0);
	return lmr->cookie_share < 0 ? dofi_lmr_error(lmr->cookie_share) : DAT_SUCCESS;
}

static void give_cookie(struct dofi_lmr *lmr)
{
	if (lmr->cookie_share >= 0)
		dofi_cookie_unshare(lmr->cookie_share);
}

static int register_with(struct dofi_lmr *lmr, DAT_MEM_PRIV_FLAGS privileges, struct dofi_mr *mr_p)
{
	return dofi_mr_register(lmr->obj.ia, (void *)(uintptr_t)lmr->start, lmr->length, privileges,
				&mr_p->fid, &mr_p->key, &mr_p->address);
}

static void deregister(struct dofi_lmr *lmr, struct dofi_mr *mr)
{
	struct dofi_engine *e = &lmr->obj.ia->engine;
	int ret;

	if (!mr->fid)
		return;
	/* No round may look up a peer's key meanwhile: see dofi_mr_close. */
	dofi_lock(&e->lock);
	ret = dofi_mr_close(lmr->obj.ia, mr->fid);
	dofi_unlock(&e->lock);
	if (ret)
		DOFI_LOG_E("%s: the registration of %llu bytes at 0x%llx can't be closed, so peers "
			   "may still reach it: %s",
			   lmr->obj.ia->name, (unsigned long long)lmr->length,
			   (unsigned long long)lmr->start, fi_strerror(-ret));
	mr->fid = NULL;
}

static void expose(struct dofi_lmr *lmr)
{
	struct dofi_ia *ia = lmr->obj.ia;
	const struct dofi_ctx ctx = {
		.key = lmr->mr.key,
		.address = lmr->mr.address,
		.base = lmr->base,
		.length = lmr->length,
		.context = lmr->context,
		.privileges = (uint16_t)(((unsigned int)lmr->privileges & DOFI_MEM_PRIV_REMOTE) |
					 (ia->ends_keys ? 0 : DOFI_CTX_ANNOUNCED)),
		.pz = (uint16_t)lmr->pz->number,
	};

	dofi_ctxtab_expose(&ia->ctxtab, &ctx);
}

DAT_RMR_CONTEXT dofi_lmr_rmr_context(const struct dofi_lmr *lmr)
{
	return (unsigned int)lmr->privileges & DOFI_MEM_PRIV_REMOTE ? lmr->context : 0;
}

DAT_RETURN dofi_lmr_open(struct dofi_lmr *lmr)
{
	struct dofi_ia *ia = lmr->obj.ia;
	DAT_RETURN ret;
	int err;

	lmr->privileges = lmr->asked_privileges | DAT_MEM_PRIV_LOCAL_READ_FLAG;
	ret = find_region(lmr);
	lmr->base = lmr->zero_based ? 0 : lmr->start;
	if (ret == DAT_SUCCESS)
		ret = check_region(lmr);
	if (ret == DAT_SUCCESS)
		ret = take_cookie(lmr);
	if (ret != DAT_SUCCESS)
		return ret;
	err = register_with(lmr, lmr->privileges, &lmr->mr);
	if (err)
		goto err_cookie;
	if (ia->info->domain_attr->mr_mode & FI_MR_LOCAL)
		lmr->desc = fi_mr_desc(lmr->mr.fid);
	err = dofi_ctxtab_reserve(&ia->ctxtab, lmr, &lmr->context);
	if (err)
		goto err_deregister;
	if (dofi_lmr_rmr_context(lmr))
		expose(lmr);
	dofi_lock_init_level(&lmr->lock, DOFI_LEVEL_MEMORY);
	dofi_obj_use(lmr->pz);
	dofi_obj_publish(&lmr->obj, DAT_HANDLE_TYPE_LMR);
	return DAT_SUCCESS;

err_deregister:
	deregister(lmr, &lmr->mr);
err_cookie:
	give_cookie(lmr);
	return dofi_lmr_error(err);
}

bool dofi_lmr_release_context(struct dofi_lmr *lmr)
{
	struct dofi_ia *ia = lmr->obj.ia;
	bool announced = !ia->ends_keys;

	if (lmr->context && dofi_ctxtab_release(&ia->ctxtab, lmr->context))
		announced = true;
	lmr->context = 0;
	return announced;
}

void dofi_lmr_destroy(struct dofi_lmr *lmr)
{
	dofi_lmr_release_context(lmr);
	deregister(lmr, &lmr->window);
	deregister(lmr, &lmr->mr);
	give_cookie(lmr);
	dofi_obj_unuse(lmr->pz);
	dofi_lock_fini(&lmr->lock);
	dofi_obj_free(&lmr->obj, DAT_HANDLE_TYPE_LMR);
}

int dofi_lmr_window(struct dofi_lmr *lmr, DAT_MEM_PRIV_FLAGS privileges, struct dofi_mr *mr_p)
{
	DAT_MEM_PRIV_FLAGS most = DAT_MEM_PRIV_READ_FLAG;
	int ret = 0;

	if (!((unsigned int)privileges & DOFI_MEM_PRIV_REMOTE & ~(unsigned int)lmr->privileges)) {
		*mr_p = lmr->mr;
		return 0;
	}
	if (lmr->privileges & DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
		most |= DAT_MEM_PRIV_WRITE_FLAG;
	dofi_lock(&lmr->lock);
	if (!lmr->window.fid)
		ret = register_with(lmr, most, &lmr->window);
	*mr_p = lmr->window;
	dofi_unlock(&lmr->lock);
	return ret;
}
