/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/ia_choose.h"

#include "api/attr.h"
#include "base/log.h"
#include "dto/credit.h"
#include "dto/data_flag.h"
#include "dto/op_context.h"
#include "fabric/descriptors.h"
#include "fabric/env.h"
#include "fabric/error.h"
#include "fabric/mr_cache.h"
#include "fabric/nic.h"
#include "fabric/quirks.h"
#include "fabric/select.h"
#include "fabric/traits.h"
#include "object/ia.h"
#include "object/transport.h"

#include <errno.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <string.h>

/* Of the processors of this host. The peer, which stores, is taken to have the same ones. */
#if defined(__x86_64__) || defined(__i386__)
#define KEEPS_ORDER_OF_STORES true
#else
#define KEEPS_ORDER_OF_STORES false
#endif

static void find_quirks(struct dofi_ia *ia)
{
	ia->quirks = dofi_quirks_of(ia->info);
	dofi_quirks_log(ia->name, ia->info);
	/*
	 * If only FI_REMOTE_COMM is requested, efa does not use its shared memory, and peers of
	 * this host are still reachable.
	 */
	if (ia->quirks & DOFI_QUIRK_INNER_SHM && ia->info->caps & FI_REMOTE_COMM)
		ia->info->caps &= ~FI_LOCAL_COMM;
}

/* Computes what follows from the choice of the fabric, before the fabric is opened. */
static void know_fabric(struct dofi_ia *ia)
{
	const struct fi_info *info = ia->info;
	bool queues;

	ia->trans = info->ep_attr->type == FI_EP_MSG ? &dofi_trans_msg : &dofi_trans_rdm;
	find_quirks(ia);
	ia->completed = ia->quirks & DOFI_QUIRK_UNMARKED_DATA ? dofi_data_flag_completed
							      : ia->trans->completed;
	ia->host_only = ia->quirks & DOFI_QUIRK_SHARED_MEMORY;
	ia->order = dofi_order_of(info);
	ia->writes_overtake = dofi_writes_overtake(info);
	/* The last part of a write also waits for the completions of the others. */
	ia->reads_overtake = dofi_reads_overtake(info) || ia->writes_overtake;
	ia->ends_keys = dofi_ends_keys(ia->quirks);
	ia->cq_mutes = ia->quirks & DOFI_QUIRK_READER_MUTES;
	ia->has_data = dofi_has_data(info, ia->quirks);
	ia->inject_max = dofi_inject_max(info, ia->quirks);
	ia->context_gap = dofi_context_gap(info);
	ia->has_immediates = dofi_has_immediates(info, ia->quirks);
	ia->fences_reads = ia->quirks & DOFI_QUIRK_FENCES_READS;
	ia->credits = dofi_credit_choose(ia);
	queues = ia->quirks & DOFI_QUIRK_QUEUE_PAIRS;
	ia->moves_alone = queues && ia->credits == DOFI_CREDITS_NONE;
	ia->cq_want = ia->cq_few = queues ? 1 : DOFI_CQ_BATCH;
}

/*
 * Returns whether the last bytes of a write are an operation of their own: by last_byte=, else if
 * the fabric needs it.
 */
static int choose_last_byte(struct dofi_ia *ia)
{
	const char *who = ia->params.last_byte;

	if (*who && strcmp(who, "library") && strcmp(who, "fabric")) {
		DOFI_LOG_E("IA %s: last_byte=%s is not known; there are library and fabric",
			   ia->name, who);
		return -FI_EINVAL;
	}
	ia->splits_writes = *who ? !strcmp(who, "library")
				 : !dofi_stores_in_order(ia->quirks, KEEPS_ORDER_OF_STORES);
	ia->names_flags =
		!*who && !ia->splits_writes && dofi_stores_targets_in_order(ia->info, ia->quirks);
	DOFI_LOG_I("IA %s: the last bytes of an RDMA write are %s", ia->name,
		   ia->splits_writes ? "an operation of their own"
		   : ia->names_flags ? "a target of their own"
				     : "left to the fabric");
	return 0;
}

static int choose_last_receive(struct dofi_ia *ia)
{
	const char *word = ia->params.srq_ep_broken;

	ia->tells_last_receive = !strcmp(word, "yes");
	if (ia->tells_last_receive || !strcmp(word, "no"))
		return 0;
	DOFI_LOG_E("IA %s: srq_ep_broken=%s is not known; there are yes and no", ia->name, word);
	return -FI_EINVAL;
}

/* Words that other rooms compare with the known ones. */
static int check_words(const struct dofi_ia *ia)
{
	const char *wait = ia->params.cq_wait, *credits = ia->params.credits;

	if (*wait && strcmp(wait, "list") && strcmp(wait, "fd"))
		DOFI_LOG_E("IA %s: cq_wait=%s is not known; there are list and fd", ia->name, wait);
	else if (*credits && strcmp(credits, "write"))
		DOFI_LOG_E("IA %s: credits=%s is not known; there is write, or nothing", ia->name,
			   credits);
	else
		return 0;
	return -FI_EINVAL;
}

static DAT_RETURN choice_error(const struct dofi_ia *ia, int ret)
{
	if (ret == -FI_ENOMEM)
		return DOFI_NO_MEMORY;
	if (ret == -EMFILE)
		DOFI_LOG_E("IA %s: the process is out of descriptors; allow the process more "
			   "(ulimit -n)",
			   ia->name);
	else if (ret == -ENFILE)
		DOFI_LOG_E("IA %s: this host is out of descriptors; allow it more (sysctl "
			   "fs.file-max)",
			   ia->name);
	else
		return DOFI_ERR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	return dofi_error(ret, DAT_RESOURCE_DEVICE);
}

DAT_RETURN dofi_ia_choose(struct dofi_ia *ia, const char *ia_params)
{
	int ret;

	ret = dofi_params_load(&ia->params, ia->name, ia_params);
	if (!ret)
		ret = dofi_mr_cache_choose(ia->name, &ia->params);
	if (!ret)
		ret = dofi_fabric_env_prepare(ia->name, &ia->params);
	if (!ret)
		ret = dofi_select(ia->name, &ia->params, &ia->info, &ia->nic);
	if (!ret)
		know_fabric(ia);
	if (!ret)
		ret = choose_last_byte(ia);
	if (!ret)
		ret = choose_last_receive(ia);
	if (!ret)
		ret = check_words(ia);
	if (!ret)
		ret = dofi_select_addr(ia->name, &ia->params, ia->info, &ia->addr);
	if (ret)
		return choice_error(ia, dofi_descriptors_error(ret));
	dofi_nic_place_thread(&ia->params, &ia->nic);
	dofi_attr_init(ia);
	return DAT_SUCCESS;
}
