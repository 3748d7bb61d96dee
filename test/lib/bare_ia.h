/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An IA with real objects, EVDs and locks, but without a fabric and a thread. */
#ifndef T_BARE_IA_H
#define T_BARE_IA_H

#include "unit.h"

#include "../../prov/ofi/api/evd.h"
#include "../../prov/ofi/object/ia.h"
#include "../../prov/ofi/progress/evd.h"
#include "progress/work.h"

/* Has an asynchronous EVD and room for others. The test sets other limits and the transport. */
static inline struct dofi_ia *t_bare_ia_open(void)
{
	static const DAT_PROVIDER provider;
	struct dofi_evd *async;
	struct dofi_ia *ia;

	ia = dofi_obj_alloc(NULL, &provider, DAT_HANDLE_TYPE_IA, sizeof(*ia));
	ck_assert_ptr_nonnull(ia);
	ia->obj.ia = ia;
	ia->limits.max_evds = 64;
	ia->limits.max_evd_qlen = 64;
	dofi_lock_init_level(&ia->obj_lock, DOFI_LEVEL_LEAF);
	dofi_lock_init_level(&ia->engine.lock, DOFI_LEVEL_ENGINE);
	dofi_lock_init_level(&ia->engine.stalled_lock, DOFI_LEVEL_LEAF);
	dofi_list_init(&ia->engine.stalled);
	dofi_work_init(&ia->engine);
	dofi_list_init(&ia->agents);
	dofi_list_init(&ia->agent_calls);
	for (int i = 0; i < DOFI_HANDLE_TYPES; i++)
		dofi_list_init(&ia->objects[i]);
	dofi_obj_publish(&ia->obj, DAT_HANDLE_TYPE_IA);
	ck_assert_int_eq(dofi_evd_new(ia, 4, NULL, DAT_EVD_ASYNC_FLAG, &async), 0);
	ia->async_evd = async;
	return ia;
}

static inline void t_bare_ia_close(struct dofi_ia *ia)
{
	struct dofi_evd *async = ia->async_evd;

	ia->async_evd = NULL;
	ck_assert_uint_eq(dofi_evd_free(async), DAT_SUCCESS);
	for (int i = 0; i < DOFI_HANDLE_TYPES; i++)
		ck_assert_msg(ia->counts[i] == 0, "objects of type %d are left", i);
	ck_assert(dofi_obj_retire(&ia->obj, true));
	dofi_obj_free(&ia->obj, DAT_HANDLE_TYPE_IA);
}

#endif
