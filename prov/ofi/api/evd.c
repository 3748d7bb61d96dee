/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/evd.h"

#include "object/ia.h"
#include "progress/agent.h"
#include "progress/cno.h"
#include "progress/evd.h"
#include "progress/evd_streams.h"

/* Extended completions use the same EVD as plain ones, so their flag has no effect. */
#define ALL_FLAGS (DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DEFAULT_FLAG | DOFI_EVD_EXTENSION_FLAG)

/*
 * Finds the CNO of a handle, NULL for DAT_HANDLE_NULL. False if the handle is not a CNO of this IA.
 */
static bool find_cno(const struct dofi_ia *ia, DAT_CNO_HANDLE handle, struct dofi_cno **cno_p)
{
	struct dofi_cno *cno = NULL;

	if (handle != DAT_HANDLE_NULL) {
		cno = DOFI_OBJ(handle, CNO);
		if (!cno || cno->obj.ia != ia)
			return false;
	}
	*cno_p = cno;
	return true;
}

DAT_RETURN dofi_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT min_qlen, DAT_CNO_HANDLE cno_handle,
			   DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd_handle)
{
	struct dofi_ia *ia = DOFI_IA(ia_handle);
	struct dofi_evd *evd;
	struct dofi_cno *cno;

	if (!ia)
		return DOFI_BAD_HANDLE(IA);
	if (min_qlen < 1)
		return DOFI_BAD_ARG(2);
	if (!find_cno(ia, cno_handle, &cno))
		return DOFI_BAD_HANDLE(CNO);
	if (!flags || ((unsigned int)flags & ~(unsigned int)ALL_FLAGS))
		return DOFI_BAD_ARG(4);
	if (!evd_handle)
		return DOFI_BAD_ARG(5);
	if ((uint32_t)min_qlen > ia->limits.max_evd_qlen)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	if (!dofi_obj_room(ia, DAT_HANDLE_TYPE_EVD, ia->limits.max_evds))
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	if (dofi_evd_new(ia, (uint32_t)min_qlen, cno, flags, &evd))
		return DOFI_NO_MEMORY;
	*evd_handle = evd;
	return DAT_SUCCESS;
}

DAT_RETURN dofi_evd_free(DAT_EVD_HANDLE handle)
{
	struct dofi_evd *evd = DOFI_OBJ(handle, EVD);
	struct dofi_ia *ia;

	if (!evd)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	ia = evd->obj.ia;
	if (!dofi_obj_retire(&evd->obj, true))
		return DOFI_NOT_RETIRED(evd, EVD,
					DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
	dofi_cno_stay(ia);
	dofi_evd_destroy(evd);
	dofi_cno_go(ia);
	return DAT_SUCCESS;
}

static DAT_EVD_STATE state_of(const struct dofi_evd *evd)
{
	static const unsigned int config_bits[] = {
		[DOFI_CONFIG_NONE] = 0,
		[DOFI_CONFIG_THRESHOLD] = DAT_EVD_STATE_CONFIG_THRESHOLD,
		[DOFI_CONFIG_UNSIGNALLED] = DAT_EVD_STATE_CONFIG_NOTIFY,
		[DOFI_CONFIG_SOLICITED] = DAT_EVD_STATE_CONFIG_SOLICITED,
	};
	unsigned int enabled = evd->disabled ? DAT_EVD_STATE_DISABLED : DAT_EVD_STATE_ENABLED;
	unsigned int waitable = evd->unwaitable ? DAT_EVD_STATE_UNWAITABLE : DAT_EVD_STATE_WAITABLE;

	dofi_assert_held(&evd->lock);
	return (DAT_EVD_STATE)(enabled | waitable | config_bits[dofi_evd_config(evd)]);
}

DAT_RETURN dofi_evd_query(DAT_EVD_HANDLE handle, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param)
{
	struct dofi_evd *evd = DOFI_OBJ(handle, EVD);

	if (!evd)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (!param)
		return dofi_query_nothing(mask);
	param->ia_handle = dofi_obj_ia_handle(&evd->obj);
	param->evd_flags = evd->flags;
	dofi_lock(&evd->lock);
	param->evd_qlen = (DAT_COUNT)evd->qlen;
	param->evd_state = state_of(evd);
	param->cno_handle = evd->cno;
	dofi_unlock(&evd->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_evd_modify_cno(DAT_EVD_HANDLE handle, DAT_CNO_HANDLE cno_handle)
{
	struct dofi_evd *evd = DOFI_OBJ(handle, EVD);
	struct dofi_cno *cno, *before;

	if (!evd)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (!find_cno(evd->obj.ia, cno_handle, &cno))
		return DOFI_BAD_HANDLE(CNO);
	dofi_lock(&evd->lock);
	before = evd->cno;
	if (before != cno && !evd->dying) {
		dofi_obj_use(cno);
		evd->cno = cno;
		if (before)
			dofi_cno_detach(before, evd, false);
	}
	dofi_unlock(&evd->lock);
	return DAT_SUCCESS;
}

static DAT_RETURN set_disabled(DAT_EVD_HANDLE handle, bool disabled)
{
	struct dofi_evd *evd = DOFI_OBJ(handle, EVD);

	if (!evd)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	dofi_lock(&evd->lock);
	evd->disabled = disabled;
	dofi_unlock(&evd->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_evd_enable(DAT_EVD_HANDLE evd)
{
	return set_disabled(evd, false);
}

DAT_RETURN dofi_evd_disable(DAT_EVD_HANDLE evd)
{
	return set_disabled(evd, true);
}

static DAT_RETURN set_unwaitable(DAT_EVD_HANDLE handle, bool unwaitable)
{
	struct dofi_evd *evd = DOFI_OBJ(handle, EVD);

	if (!evd)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	dofi_lock(&evd->lock);
	evd->unwaitable = unwaitable;
	if (unwaitable)
		dofi_evd_wake(evd, DOFI_WAKE_UNWAITABLE);
	dofi_unlock(&evd->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_evd_set_unwaitable(DAT_EVD_HANDLE evd)
{
	return set_unwaitable(evd, true);
}

DAT_RETURN dofi_evd_clear_unwaitable(DAT_EVD_HANDLE evd)
{
	return set_unwaitable(evd, false);
}

DAT_RETURN dofi_evd_resize(DAT_EVD_HANDLE handle, DAT_COUNT min_qlen)
{
	struct dofi_evd *evd = DOFI_OBJ(handle, EVD);

	if (!evd)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (min_qlen < 1 || (uint32_t)min_qlen > evd->obj.ia->limits.max_evd_qlen)
		return DOFI_BAD_ARG(2);
	return dofi_evd_set_length(evd, (uint32_t)min_qlen);
}

DAT_RETURN dofi_evd_post_se(DAT_EVD_HANDLE handle, const DAT_EVENT *event)
{
	struct dofi_evd *evd = DOFI_OBJ(handle, EVD);
	struct dofi_event ours, *place;
	bool ok;

	if (!evd)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (!(evd->flags & DAT_EVD_SOFTWARE_FLAG))
		return DOFI_BAD_ARG(1);
	if (!event || event->event_number != DAT_SOFTWARE_EVENT)
		return DOFI_BAD_ARG(2);
	ours = (struct dofi_event){
		.number = DAT_SOFTWARE_EVENT,
		.software = event->event_data.software_event_data.pointer,
	};
	dofi_lock(&evd->lock);
	ok = dofi_evd_queued(evd) < evd->qlen;
	if (ok) {
		place = dofi_evd_slot(evd, evd->tail);
		*place = ours;
		dofi_evd_count_event(evd, ours.number, false, NULL);
		dofi_evd_append(evd, true);
	}
	dofi_unlock(&evd->lock);
	dofi_cno_run_agents(evd->obj.ia);
	return ok ? DAT_SUCCESS : DOFI_ERR(DAT_QUEUE_FULL, 0);
}
