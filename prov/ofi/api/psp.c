/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/psp.h"

#include "cm/service_point.h"

#include "progress/evd.h"
#include "object/ia.h"
#include "progress/engine.h"

/* *qual_p: the qualifier to use, or 0 for any. */
static DAT_RETURN psp_create(struct dofi_ia *ia, DAT_CONN_QUAL *qual_p, DAT_EVD_HANDLE evd_handle,
			     DAT_PSP_FLAGS flags, struct dofi_sp **sp_p)
{
	struct dofi_evd *evd = dofi_sp_evd(ia, evd_handle);
	struct dofi_sp *sp;
	DAT_RETURN ret;

	if (!evd)
		return DOFI_BAD_HANDLE(EVD_CR);
	if (flags != DAT_PSP_CONSUMER_FLAG && flags != DAT_PSP_PROVIDER_FLAG)
		return DOFI_BAD_ARG(4);
	dofi_engine_begin(ia);
	ret = dofi_sp_new(ia, evd, *qual_p, false, &sp);
	if (ret == DAT_SUCCESS) {
		*qual_p = sp->conn_qual; /* read before agents run, which may free the PSP */
		sp->psp_flags = flags;
		dofi_obj_publish(&sp->obj, DAT_HANDLE_TYPE_PSP);
		*sp_p = sp;
	}
	dofi_engine_end(ia);
	return ret;
}

DAT_RETURN dofi_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
			   DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	struct dofi_ia *ia = DOFI_IA(ia_handle);
	struct dofi_sp *sp;
	DAT_RETURN ret;

	if (!ia)
		return DOFI_BAD_HANDLE(IA);
	if (!psp)
		return DOFI_BAD_ARG(5);
	if (!qual)
		return DOFI_BAD_ARG(2);
	ret = psp_create(ia, &qual, evd, flags, &sp);
	if (ret == DAT_SUCCESS) {
		DOFI_COUNT_SHARED(ia, IA_PSP_CREATE);
		*psp = sp;
	}
	return ret;
}

DAT_RETURN dofi_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *qual, DAT_EVD_HANDLE evd,
			       DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	struct dofi_ia *ia = DOFI_IA(ia_handle);
	DAT_CONN_QUAL chosen = 0;
	struct dofi_sp *sp;
	DAT_RETURN ret;

	if (!ia)
		return DOFI_BAD_HANDLE(IA);
	if (!qual)
		return DOFI_BAD_ARG(2);
	if (!psp)
		return DOFI_BAD_ARG(5);
	ret = psp_create(ia, &chosen, evd, flags, &sp);
	if (ret == DAT_SUCCESS) {
		DOFI_COUNT_SHARED(ia, IA_PSP_CREATE_ANY);
		*qual = chosen;
		*psp = sp;
	}
	return ret;
}

DAT_RETURN dofi_psp_query(DAT_PSP_HANDLE psp, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param)
{
	const struct dofi_sp *sp = DOFI_OBJ(psp, PSP);

	if (!sp)
		return DOFI_BAD_HANDLE(PSP);
	(void)mask;
	if (!param)
		return DOFI_BAD_ARG(3);
	param->ia_handle = dofi_obj_ia_handle(&sp->obj);
	param->conn_qual = sp->conn_qual;
	param->evd_handle = sp->evd;
	param->psp_flags = sp->psp_flags;
	return DAT_SUCCESS;
}

DAT_RETURN dofi_psp_free(DAT_PSP_HANDLE psp)
{
	struct dofi_sp *sp = DOFI_OBJ(psp, PSP);

	return sp && dofi_sp_free(sp) ? DAT_SUCCESS : DOFI_BAD_HANDLE(PSP);
}
