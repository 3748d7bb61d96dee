/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two threads free one object at once, and this one comes second. */
#include "../../lib/bare_ia.h"

#include "../../../prov/ofi/api/cno.h"
#include "../../../prov/ofi/api/lmr.h"
#include "../../../prov/ofi/api/pz.h"
#include "../../../prov/ofi/dto/srq.h"
#include "../../../prov/ofi/object/mem.h"
#include "../../../prov/ofi/object/srq_count.h"
#include "../../../prov/ofi/progress/cno.h"

static bool late;

/* The linker redirects the call. */
bool __wrap_dofi_obj_retire(struct dofi_obj *obj, bool only_unused);
bool __real_dofi_obj_retire(struct dofi_obj *obj, bool only_unused);

bool __wrap_dofi_obj_retire(struct dofi_obj *obj, bool only_unused)
{
	if (late)
		ck_assert(__real_dofi_obj_retire(obj, only_unused));
	return __real_dofi_obj_retire(obj, only_unused);
}

static const struct {
	DAT_HANDLE_TYPE type;
	size_t size;
	DAT_RETURN (*free)(DAT_HANDLE handle);
	DAT_RETURN in_use, invalid;
} rows[] = {
	{DAT_HANDLE_TYPE_CNO, sizeof(struct dofi_cno), dofi_cno_free, DOFI_BAD_STATE(CNO_IN_USE),
	 DOFI_BAD_HANDLE(CNO)},
	{DAT_HANDLE_TYPE_EVD, sizeof(struct dofi_evd), dofi_evd_free, DOFI_BAD_STATE(EVD_IN_USE),
	 DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1)},
	{DAT_HANDLE_TYPE_LMR, sizeof(struct dofi_lmr), dofi_lmr_free, DOFI_BAD_STATE(LMR_IN_USE),
	 DOFI_BAD_HANDLE(LMR)},
	{DAT_HANDLE_TYPE_PZ, sizeof(struct dofi_pz), dofi_pz_free, DOFI_BAD_STATE(PZ_IN_USE),
	 DOFI_BAD_HANDLE(PZ)},
	{DAT_HANDLE_TYPE_SRQ, sizeof(struct dofi_srq), dofi_srq_free, DOFI_BAD_STATE(SRQ_IN_USE),
	 DOFI_BAD_HANDLE(SRQ)},
};

#define ROWS (int)(sizeof(rows) / sizeof(rows[0]))

START_TEST(the_second_of_two_threads_finds_no_object)
{
	static const DAT_PROVIDER provider;
	struct dofi_ia *ia = t_bare_ia_open();
	struct dofi_obj *obj;

	obj = dofi_obj_alloc(ia, &provider, rows[_i].type, rows[_i].size);
	ck_assert_ptr_nonnull(obj);
	dofi_obj_publish(obj, rows[_i].type);
	dofi_obj_use(obj);
	ck_assert_uint_eq(rows[_i].free(obj), rows[_i].in_use);
	dofi_obj_unuse(obj);
	late = true;
	ck_assert_uint_eq(rows[_i].free(obj), rows[_i].invalid);
	late = false;
	dofi_obj_free(obj, rows[_i].type);
	t_bare_ia_close(ia);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("free");
	TCase *tcase = tcase_create("free");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, the_second_of_two_threads_finds_no_object, 0, ROWS);
	return t_run(suite);
}
