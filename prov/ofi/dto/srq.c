/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/srq.h"

#include "auth/crypto.h"
#include "dto/srq_receive.h"
#include "dto/watermark.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/srq_count.h"
#include "object/transport.h"
#include "progress/agent.h"
#include "progress/cq_watch.h"
#include "progress/engine.h"

static DAT_RETURN attr_ok(const struct dofi_ia *ia, const DAT_SRQ_ATTR *attr)
{
	if (attr->max_recv_dtos <= 0 || attr->max_recv_iov <= 0 || attr->low_watermark < 0 ||
	    attr->low_watermark > attr->max_recv_dtos)
		return DOFI_BAD_ARG(3);
	if ((uint32_t)attr->max_recv_dtos > ia->limits.max_dtos ||
	    (uint32_t)attr->max_recv_iov > ia->limits.max_iov)
		return DOFI_BAD_ARG(3);
	return DAT_SUCCESS;
}

static bool number_taken(struct dofi_ia *ia, uint32_t number)
{
	DOFI_LIST_FOR(node, &ia->objects[DAT_HANDLE_TYPE_SRQ])
	if (DOFI_CONTAINER(node, struct dofi_srq, obj.siblings)->number == number)
		return true;
	return false;
}

/* There are fewer SRQs than numbers. False: no random numbers. */
static bool take_number(struct dofi_srq *srq)
{
	struct dofi_ia *ia = srq->obj.ia;
	uint32_t number;

	if (dofi_random(&number, sizeof(number)))
		return false;
	dofi_lock(&ia->obj_lock);
	do
		number = (number + 1) & DOFI_SRQ_NUMBER;
	while (!number || number_taken(ia, number));
	srq->number = number;
	dofi_unlock(&ia->obj_lock);
	return true;
}

DAT_RETURN dofi_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle, DAT_SRQ_ATTR *attr,
			   DAT_SRQ_HANDLE *handle_p)
{
	struct dofi_ia *ia = DOFI_IA(ia_handle);
	struct dofi_pz *pz = DOFI_OBJ(pz_handle, PZ);
	struct dofi_srq *srq;
	DAT_RETURN ret;

	if (!ia)
		return DOFI_BAD_HANDLE(IA);
	if (!pz || pz->obj.ia != ia)
		return DOFI_BAD_HANDLE(PZ);
	if (!attr)
		return DOFI_BAD_ARG(3);
	if (!handle_p)
		return DOFI_BAD_ARG(4);
	if (!ia->limits.max_srqs)
		return DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	ret = attr_ok(ia, attr);
	if (ret != DAT_SUCCESS)
		return ret;
	if (!dofi_obj_room(ia, DAT_HANDLE_TYPE_SRQ, ia->limits.max_srqs))
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	srq = dofi_obj_alloc(ia, ia->obj.provider, DAT_HANDLE_TYPE_SRQ, sizeof(*srq));
	if (!srq)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	dofi_lock_init_level(&srq->lock, DOFI_LEVEL_SRQ);
	srq->stall.retry = dofi_srq_retry;
	srq->pz = pz;
	srq->max_dtos = (uint32_t)attr->max_recv_dtos;
	srq->max_iov = (uint16_t)attr->max_recv_iov;
	srq->low_watermark = (uint32_t)attr->low_watermark;
	srq->armed = srq->low_watermark > 0;
	if (!take_number(srq) || dofi_srq_add_slots(srq, srq->max_dtos) ||
	    ia->trans->srq_open(srq)) {
		dofi_srq_free_slots(srq);
		dofi_lock_fini(&srq->lock);
		dofi_obj_free(&srq->obj, DAT_HANDLE_TYPE_SRQ);
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	}
	dofi_obj_use(pz);
	/* more messages may come for its buffers than the completion queue has room for */
	dofi_wait_watch(ia);
	dofi_obj_publish(&srq->obj, DAT_HANDLE_TYPE_SRQ);
	*handle_p = (DAT_SRQ_HANDLE)srq;
	if (srq->armed) {
		srq->armed = false;
		dofi_srq_raise_watermark(srq); /* empty, so below the mark (SRQ-005) */
		dofi_cno_run_agents(ia);
	}
	return DAT_SUCCESS;
}

void dofi_srq_destroy(struct dofi_srq *srq)
{
	dofi_assert_held(&srq->obj.ia->engine.lock);
	dofi_srq_drop_waiting(srq);
	srq->obj.ia->trans->srq_close(srq);
	dofi_wait_unwatch(srq->obj.ia);
	dofi_obj_unuse(srq->pz);
	dofi_srq_free_slots(srq);
	dofi_lock_fini(&srq->lock);
	dofi_obj_free(&srq->obj, DAT_HANDLE_TYPE_SRQ);
}

DAT_RETURN dofi_srq_free(DAT_SRQ_HANDLE handle)
{
	struct dofi_srq *srq = DOFI_OBJ(handle, SRQ);
	DAT_RETURN ret = DAT_SUCCESS;
	struct dofi_ia *ia;

	if (!srq)
		return DOFI_BAD_HANDLE(SRQ);
	ia = srq->obj.ia;
	dofi_engine_begin(ia);
	if (dofi_obj_retire(&srq->obj, true))
		dofi_srq_destroy(srq);
	else
		ret = DOFI_NOT_RETIRED(srq, SRQ, DOFI_BAD_HANDLE(SRQ));
	dofi_engine_end(ia);
	return ret;
}

DAT_RETURN dofi_srq_query(DAT_SRQ_HANDLE handle, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param)
{
	struct dofi_srq *srq = DOFI_OBJ(handle, SRQ);

	if (!srq)
		return DOFI_BAD_HANDLE(SRQ);
	if (!param)
		return dofi_query_nothing((unsigned int)mask);
	param->ia_handle = dofi_obj_ia_handle(&srq->obj);
	param->srq_state = DAT_SRQ_STATE_OPERATIONAL;
	param->pz_handle = (DAT_PZ_HANDLE)srq->pz;
	dofi_lock(&srq->lock);
	param->max_recv_dtos = (DAT_COUNT)srq->max_dtos;
	param->max_recv_iov = srq->max_iov;
	param->low_watermark = (DAT_COUNT)srq->low_watermark;
	param->available_dto_count = (DAT_COUNT)srq->available;
	param->outstanding_dto_count = (DAT_COUNT)srq->outstanding;
	dofi_unlock(&srq->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_srq_resize(DAT_SRQ_HANDLE handle, DAT_COUNT max_dtos)
{
	struct dofi_srq *srq = DOFI_OBJ(handle, SRQ);
	DAT_RETURN ret = DAT_SUCCESS;

	if (!srq)
		return DOFI_BAD_HANDLE(SRQ);
	if (max_dtos <= 0 || (uint32_t)max_dtos > srq->obj.ia->limits.max_dtos)
		return DOFI_BAD_ARG(2);
	dofi_lock(&srq->lock);
	if ((uint32_t)max_dtos < srq->outstanding || (uint32_t)max_dtos < srq->low_watermark)
		ret = DOFI_BAD_STATE(SRQ_IN_USE);
	else if ((uint32_t)max_dtos > srq->slots &&
		 dofi_srq_add_slots(srq, (uint32_t)max_dtos - srq->slots))
		ret = DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	else
		srq->max_dtos = (uint32_t)max_dtos;
	dofi_unlock(&srq->lock);
	return ret;
}

DAT_RETURN dofi_srq_set_lw(DAT_SRQ_HANDLE handle, DAT_COUNT low_watermark)
{
	struct dofi_srq *srq = DOFI_OBJ(handle, SRQ);
	bool raise;

	if (!srq)
		return DOFI_BAD_HANDLE(SRQ);
	dofi_lock(&srq->lock);
	if (low_watermark < 0 || (uint32_t)low_watermark > srq->max_dtos) {
		dofi_unlock(&srq->lock);
		return DOFI_BAD_ARG(2);
	}
	srq->low_watermark = (uint32_t)low_watermark;
	srq->armed = low_watermark > 0;
	raise = dofi_srq_below_mark(srq);
	dofi_unlock(&srq->lock);
	if (raise) {
		dofi_srq_raise_watermark(srq);
		dofi_cno_run_agents(srq->obj.ia);
	}
	return DAT_SUCCESS;
}
