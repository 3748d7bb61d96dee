/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the transports need from a fabric, one attribute at a time. */
#include "simulated_offers.h"

#include "fabric/requirements.h"

#include <rdma/fi_domain.h>

START_TEST(test_what_a_candidate_lacks_is_named)
{
	static const struct candidate no_rma = {
		"tcp", "eth0", "192.0.2.2", FI_EP_MSG, FI_MSG | FI_REMOTE_COMM, 0, SAW, 0};

	MACHINE(&no_rma);
	ck_has(none_for("ofi", ""),
	       "tcp (eth0): does not offer what the msg transport needs: it lacks FI_RMA");
}
END_TEST

static void spoil_threads(struct fi_info *info)
{
	info->domain_attr->threading = FI_THREAD_DOMAIN;
}

static void spoil_no_threads(struct fi_info *info)
{
	info->domain_attr->threading = FI_THREAD_UNSPEC;
}

static void spoil_control(struct fi_info *info)
{
	/* FI_PROGRESS_CONTROL_UNIFIED */
	*(int *)(void *)&info->domain_attr->control_progress = FI_PROGRESS_MANUAL + 1;
}

static void spoil_mode(struct fi_info *info)
{
	info->mode = FI_MSG_PREFIX;
}

static void spoil_rx_mode(struct fi_info *info)
{
	info->rx_attr->mode = FI_MSG_PREFIX;
}

static void spoil_mr_mode(struct fi_info *info)
{
	info->domain_attr->mr_mode |= FI_MR_RAW;
}

static void spoil_hmem(struct fi_info *info)
{
	info->domain_attr->mr_mode |= FI_MR_HMEM;
}

static void spoil_queues(struct fi_info *info)
{
	info->domain_attr->resource_mgmt = FI_RM_DISABLED;
}

static void spoil_order(struct fi_info *info)
{
	info->rx_attr->msg_order = 0;
}

static void spoil_data(struct fi_info *info)
{
	info->domain_attr->cq_data_size = 2;
}

static void spoil_caps(struct fi_info *info)
{
	info->caps &= ~FI_RMA;
}

static const struct {
	void (*spoil)(struct fi_info *info);
	const char *reason;
	bool msg_lives; /* whether the msg transport can be used with it */
} spoilers[] = {
	{spoil_threads, "not safe for threads (FI_THREAD_DOMAIN)", false},
	{spoil_no_threads, "not safe for threads", false},
	{spoil_control, "FI_PROGRESS_CONTROL_UNIFIED", false},
	{spoil_mode, "insists on FI_MSG_PREFIX", false},
	{spoil_rx_mode, "insists on FI_MSG_PREFIX", false},
	{spoil_mr_mode, "insists on FI_MR_RAW", false},
	{spoil_queues, "FI_RM_DISABLED", true},
	{spoil_order, "no FI_ORDER_SAS", false},
	{spoil_data, "2 bytes of completion data", true},
	{spoil_caps, "lacks FI_RMA", false},
};

START_TEST(test_unusable_attributes_are_refused)
{
	spoil = spoilers[_i].spoil;
	MACHINE(&rxm_eth0);
	ck_has(none_for("ofi", ""), spoilers[_i].reason);
	MACHINE(&tcp_eth0);
	if (spoilers[_i].msg_lives)
		ck_choice("ofi", "", "eth0", "192.0.2.2");
	else
		ck_has(none_for("ofi", ""), spoilers[_i].reason);
}
END_TEST

static void spoil_contexts(struct fi_info *info)
{
	info->mode = FI_CONTEXT;
	info->tx_attr->mode = FI_CONTEXT2;
	info->rx_attr->mode = FI_ASYNC_IOV;
}

/* The rdm transport has memory for them. */
START_TEST(test_operation_contexts)
{
	spoil = spoil_contexts;
	MACHINE(&rxm_eth0);
	ck_choice("ofi", "", "eth0", "192.0.2.2");
	MACHINE(&tcp_eth0);
	ck_has(none_for("ofi", ""), "the msg transport needs: it insists on ");
}
END_TEST

static void spoil_as_opx(struct fi_info *info)
{
	spoil_order(info);
	info->ep_attr->protocol = FI_PROTO_OPX;
}

START_TEST(test_memory_of_accelerators_is_not_registered)
{
	spoil = spoil_hmem;
	MACHINE(&rxm_eth0);
	ck_choice("ofi", "", "eth0", "192.0.2.2");
}
END_TEST

START_TEST(test_order_that_is_not_stated)
{
	spoil = spoil_as_opx;
	MACHINE(&rxm_eth0);
	ck_choice("ofi", "", "eth0", "192.0.2.2");
}
END_TEST

/* Attributes that libfabric leaves out state nothing. */
START_TEST(test_attributes_that_are_left_out)
{
	const struct dofi_requirements *row = dofi_requirements_of_type(FI_EP_RDM);
	struct fi_info *whole = make_info(&rxm_eth0, NULL), part = *whole;
	char why[96];

	ck_assert(!dofi_requirements_lack(row, &part, why, sizeof(why)));
	part.tx_attr = NULL;
	part.rx_attr = _i ? NULL : whole->rx_attr;
	ck_assert(dofi_requirements_lack(row, &part, why, sizeof(why)));
	ck_has(why, "no FI_ORDER_SAS");
	fi_freeinfo(whole);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("requirements");
	TCase *tc = tcase_create("requirements");

	tcase_add_test(tc, test_what_a_candidate_lacks_is_named);
	tcase_add_loop_test(tc, test_unusable_attributes_are_refused, 0,
			    sizeof(spoilers) / sizeof(spoilers[0]));
	tcase_add_test(tc, test_operation_contexts);
	tcase_add_test(tc, test_order_that_is_not_stated);
	tcase_add_test(tc, test_memory_of_accelerators_is_not_registered);
	tcase_add_loop_test(tc, test_attributes_that_are_left_out, 0, 2);
	return run_choices(suite, tc);
}
