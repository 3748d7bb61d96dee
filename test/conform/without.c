/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A fabric without completion data, such as iWARP, has no SRQs. The provider is linked into the
 * program, and the test removes completion data from the attributes of the fabric below.
 */
#include "../fault/inside.h"
#include "fabric/quirks.h"

static struct t_ia ia;

uint64_t __real_dofi_quirks_of(const struct fi_info *info);
uint64_t __wrap_dofi_quirks_of(const struct fi_info *info);
uint64_t __wrap_dofi_quirks_of(const struct fi_info *info)
{
	return __real_dofi_quirks_of(info) | DOFI_QUIRK_NO_DATA;
}

static void open_ia(void)
{
	fault_use_linked_provider();
	t_ia_open(&ia);
	if (ia.provider.srq_supported)
		t_skip("this fabric needs no completion data for SRQs");
}

static void close_ia(void)
{
	t_ia_close(&ia);
}

START_TEST(SRQ_012_create_fails_without_srq_support)
{
	/* IA-048 */
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1};
	DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;

	ck_assert_int_eq(ia.attr.max_srqs, 0);
	ck_assert_int_eq(ia.attr.max_ep_per_srq, 0);
	ck_assert_int_eq(ia.attr.max_recv_per_srq, 0);
	t_unsupported(dat_srq_create(ia.ia, ia.pz, &attr, &srq));
	ck_assert_ptr_null(srq);
}
END_TEST

START_TEST(EP_037_endpoint_with_srq_fails_without_srq_support)
{
	DAT_EVD_HANDLE evd = t_evd(&ia, 8, DAT_EVD_DEFAULT_FLAG);
	DAT_EP_ATTR attr = t_default_attr(&ia);
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

	/* No handle can be an SRQ here, so the call does not check the handle. */
	t_unsupported(dat_ep_create_with_srq(ia.ia, ia.pz, evd, evd, evd, ia.pz, &attr, &ep));
	t_unsupported(
		dat_ep_create_with_srq(ia.ia, ia.pz, evd, evd, evd, DAT_HANDLE_NULL, &attr, &ep));
	ck_assert_ptr_null(ep);
	t_ok(dat_ep_create(ia.ia, ia.pz, evd, evd, evd, &attr, &ep));
	t_ok(dat_ep_free(ep));
}
END_TEST

/* No handle can be one, whatever it is a handle of; and the call changes nothing of what it names.
 */
START_TEST(SRQ_044_resize_where_there_are_none)
{
	DAT_EVD_HANDLE evd = t_evd(&ia, 8, DAT_EVD_DEFAULT_FLAG);
	DAT_EP_HANDLE ep;
	DAT_SRQ_PARAM param;

	t_ok(dat_ep_create(ia.ia, ia.pz, evd, evd, evd, NULL, &ep));
	const DAT_HANDLE handles[] = {DAT_HANDLE_NULL, ia.pz, evd, ep};

	for (size_t i = 0; i < sizeof(handles) / sizeof(handles[0]); i++) {
		t_bad_handle_of(dat_srq_resize(handles[i], 8), SRQ);
		t_bad_handle_of(dat_srq_set_lw(handles[i], 1), SRQ);
		t_bad_handle_of(dat_srq_query(handles[i], DAT_SRQ_FIELD_ALL, &param), SRQ);
		t_bad_handle_of(dat_srq_free(handles[i]), SRQ);
	}
	t_ok(dat_ep_free(ep));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("without");
	TCase *tcase = tcase_create("without-srqs");

	tcase_add_checked_fixture(tcase, open_ia, close_ia);
	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, SRQ_012_create_fails_without_srq_support);
	tcase_add_test(tcase, EP_037_endpoint_with_srq_fails_without_srq_support);
	tcase_add_test(tcase, SRQ_044_resize_where_there_are_none);
	return t_run(suite);
}
