/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/pz.h"

#include "object/ia.h"
#include "object/mem.h"

static bool is_taken(const struct dofi_ia *ia, uint16_t number)
{
	dofi_assert_held(&ia->obj_lock);
	DOFI_LIST_FOR(node, &ia->objects[DAT_HANDLE_TYPE_PZ])
	{
		if (DOFI_CONTAINER(node, struct dofi_pz, obj.siblings)->number == number)
			return true;
	}
	return false;
}

/* While the counter has 16 bits, no number was given out before: it does not return there. */
static void count_up(struct dofi_ia *ia)
{
	dofi_assert_held(&ia->obj_lock);
	if (!++ia->next_pz)
		ia->next_pz = UINT16_MAX + 1u;
}

/* Counts up, so that a freed number is not used again soon, and skips numbers in use. */
static bool take_number(struct dofi_ia *ia, uint16_t *number_p)
{
	bool ok;

	dofi_lock(&ia->obj_lock);
	ok = ia->counts[DAT_HANDLE_TYPE_PZ] <= UINT16_MAX;
	while (ok && ia->next_pz > UINT16_MAX && is_taken(ia, (uint16_t)ia->next_pz))
		count_up(ia);
	*number_p = (uint16_t)ia->next_pz;
	count_up(ia);
	dofi_unlock(&ia->obj_lock);
	return ok;
}

DAT_RETURN dofi_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle)
{
	struct dofi_ia *ia = DOFI_IA(ia_handle);
	struct dofi_pz *pz;

	if (!ia)
		return DOFI_BAD_HANDLE(IA);
	if (!pz_handle)
		return DOFI_BAD_ARG(2);
	pz = dofi_obj_alloc(ia, ia->obj.provider, DAT_HANDLE_TYPE_PZ, sizeof(*pz));
	if (!pz)
		return DOFI_NO_MEMORY;
	if (!take_number(ia, &pz->number)) {
		dofi_pz_destroy(pz);
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_PROTECTION_DOMAIN);
	}
	dofi_obj_publish(&pz->obj, DAT_HANDLE_TYPE_PZ);
	*pz_handle = pz;
	return DAT_SUCCESS;
}

DAT_RETURN dofi_pz_query(DAT_PZ_HANDLE handle, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param)
{
	struct dofi_pz *pz = DOFI_OBJ(handle, PZ);

	if (!pz)
		return DOFI_BAD_HANDLE(PZ);
	if (!param)
		return dofi_query_nothing(mask);
	param->ia_handle = dofi_obj_ia_handle(&pz->obj);
	return DAT_SUCCESS;
}

void dofi_pz_destroy(struct dofi_pz *pz)
{
	dofi_obj_free(&pz->obj, DAT_HANDLE_TYPE_PZ);
}

DAT_RETURN dofi_pz_free(DAT_PZ_HANDLE handle)
{
	struct dofi_pz *pz = DOFI_OBJ(handle, PZ);

	if (!pz)
		return DOFI_BAD_HANDLE(PZ);
	if (!dofi_obj_retire(&pz->obj, true))
		return DOFI_NOT_RETIRED(pz, PZ, DOFI_BAD_HANDLE(PZ));
	dofi_pz_destroy(pz);
	return DAT_SUCCESS;
}
