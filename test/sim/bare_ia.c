/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "bare_ia.h"

#include "must.h"

#include "api/pz.h"
#include "auth/crypto.h"
#include "progress/evd_streams.h"
#include "cm/cm.h"
#include "cm/cr.h"
#include "cm/ep_life.h"
#include "cm/linger.h"
#include "cm/listener.h"
#include "cm/service_point.h"
#include "cm/upcalls.h"
#include "dto/control.h"
#include "dto/lmr.h"
#include "dto/rmr.h"
#include "dto/srq.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/mr.h"
#include "object/scratch.h"
#include "progress/engine.h"
#include "progress/evd.h"
#include "progress/evd_streams.h"

#include <arpa/inet.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#define ASYNC_QLEN 8

/* --- the fabric's part that all share --- */

static int mr_close(struct fid *fid)
{
	free(fid);
	return 0;
}

static int mr_reg(struct fid *fid, const void *buf, size_t length, uint64_t access, uint64_t offset,
		  uint64_t wanted_key, uint64_t flags, struct fid_mr **mr_p, void *context)
{
	static struct fi_ops ops = {.size = sizeof(ops), .close = mr_close};
	struct fid_mr *mr = calloc(1, sizeof(*mr));

	(void)fid, (void)buf, (void)length, (void)access, (void)offset, (void)flags, (void)context;
	if (!mr)
		return -FI_ENOMEM;
	mr->fid.ops = &ops;
	mr->key = wanted_key;
	mr->mem_desc = mr;
	*mr_p = mr;
	return 0;
}

struct fi_ops_mr bare_mr_ops = {.size = sizeof(bare_mr_ops), .reg = mr_reg};

struct fi_info *bare_info(void)
{
	static char provider[] = "fuzz";
	static struct fi_fabric_attr fabric_attr = {.prov_name = provider};
	static struct fi_domain_attr domain_attr = {.cq_data_size = 8};
	static struct fi_tx_attr tx_attr = {.inject_size = 128};
	static struct fi_rx_attr rx_attr;
	static struct fi_ep_attr ep_attr = {.type = FI_EP_MSG};
	static struct fi_info info = {.fabric_attr = &fabric_attr,
				      .domain_attr = &domain_attr,
				      .tx_attr = &tx_attr,
				      .rx_attr = &rx_attr,
				      .ep_attr = &ep_attr};

	return &info;
}

/* --- the beginning --- */

/* Without a queue the caller delivers completions itself. */
static int reap(struct dofi_ia *ia)
{
	(void)ia;
	return 0;
}

static void set_limits(struct dofi_ia *ia)
{
	ia->limits = (struct dofi_limits){
		.max_eps = 16,
		.max_dtos = 64,
		.max_evds = 64,
		.max_evd_qlen = 64,
		.max_iov = 2,
		.max_lmrs = 16,
		.max_rmrs = 16,
		.max_pzs = 16,
		.max_srqs = 4,
		.max_reads = 16,
		.fabric_iov = 2,
		.max_message = 1 << 20,
		.max_rdma = 1 << 20,
		.max_lmr = 1 << 20,
		.max_datagram = 2048,
		.plain = 1 << 20,
		.plain_write = 1 << 20,
	};
	ia->params.handshake_ms = 10000;
	ia->params.listen_grace_ms = 250;
	ia->params.linger_ms = 1000;
	ia->params.keepalive_s = 10;
	ia->params.max_channels = 12;
	ia->params.max_peer_channels = 8;
	ia->params.max_peer_requests = 10;
	ia->params.max_drains = 256;
	ia->params.silent_ms = 1000;
}

struct dofi_ia *bare_ia_new(const char *name, uint32_t host)
{
	static const DAT_PROVIDER provider;
	const struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(host)};
	struct dofi_ia *ia = dofi_obj_alloc(NULL, &provider, DAT_HANDLE_TYPE_IA, sizeof(*ia));

	MUST(ia);
	ia->obj.ia = ia;
	strcpy(ia->name, name);
	ia->up = &dofi_cm_upcalls;
	ia->engine.reap = reap;
	ia->has_data = ia->tells_last_receive = true;
	memcpy(&ia->addr, &addr, sizeof(addr));
	dofi_lock_init_level(&ia->obj_lock, DOFI_LEVEL_LEAF);
	dofi_lock_init_level(&ia->mr_lock, DOFI_LEVEL_LEAF);
	for (int i = 0; i < DOFI_HANDLE_TYPES; i++) {
		dofi_list_init(&ia->objects[i]);
		dofi_list_init(&ia->doomed[i]);
	}
	dofi_list_init(&ia->agents);
	dofi_list_init(&ia->agent_calls);
	dofi_list_init(&ia->orphans);
	dofi_list_init(&ia->drains);
	dofi_list_init(&ia->ud_answers);
	set_limits(ia);
	ia->info = bare_info();
	return ia;
}

void bare_ia_open(struct dofi_ia *ia)
{
	struct dofi_evd *async;

	MUST(!dofi_crypto_start());
	MUST(!dofi_engine_init(ia));
	MUST(!dofi_ctxtab_init(ia));
	MUST(!dofi_scratch_open(ia));
	MUST(!dofi_ctrl_slots_open(ia));
	dofi_obj_publish(&ia->obj, DAT_HANDLE_TYPE_IA);
	MUST(!dofi_evd_new(ia, ASYNC_QLEN, NULL, DAT_EVD_ASYNC_FLAG, &async));
	dofi_evd_attach_other(async);
	ia->async_evd = async;
}

/* --- the end --- */

static void *retire_first(struct dofi_ia *ia, DAT_HANDLE_TYPE type)
{
	struct dofi_list *list = &ia->objects[type];
	struct dofi_obj *obj;

	if (dofi_list_empty(list))
		return NULL;
	obj = DOFI_CONTAINER(list->next, struct dofi_obj, siblings);
	MUST(dofi_obj_retire(obj, false));
	return obj;
}

void bare_ia_end_connections(struct dofi_ia *ia)
{
	void *obj;

	dofi_engine_begin(ia);
	while (!dofi_list_empty(&ia->cm.listeners))
		dofi_sp_unlisten(DOFI_CONTAINER(ia->cm.listeners.next, struct dofi_sp, link));
	while ((obj = retire_first(ia, DAT_HANDLE_TYPE_CR)))
		dofi_cr_destroy(obj, true);
	dofi_linger_begin_all(ia);
	while ((obj = retire_first(ia, DAT_HANDLE_TYPE_EP)))
		dofi_ep_destroy(obj);
	while ((obj = retire_first(ia, DAT_HANDLE_TYPE_SRQ)))
		dofi_srq_destroy(obj);
	while ((obj = retire_first(ia, DAT_HANDLE_TYPE_PSP)) ||
	       (obj = retire_first(ia, DAT_HANDLE_TYPE_RSP)))
		dofi_sp_destroy(obj);
	dofi_engine_end(ia);
	while ((obj = retire_first(ia, DAT_HANDLE_TYPE_RMR)))
		dofi_rmr_destroy(obj);
}

void bare_ia_check_rest(const struct dofi_ia *ia)
{
	const struct dofi_engine *e = &ia->engine;

	MUST(!e->timers);
	MUST(dofi_list_empty(&e->work));
	MUST(dofi_list_empty(&e->last_work));
	MUST(dofi_list_empty(&e->stalled));
	MUST(e->nstalled == 0);
	MUST(ia->wait.watchers == 0);
	MUST(ia->cm.nconns == 0);
	MUST(ia->cm.nlinking == 0);
	MUST(ia->cm.nrepeated == 0);
	MUST(ia->cm.nstrangers == 0);
	MUST(ia->cm.naccepted == 0);
	MUST(dofi_list_empty(&ia->cm.dead));
	MUST(dofi_list_empty(&ia->cm.binds));
	MUST(ia->ndrains == 0);
	/* Orphans have the places of their EPs until the endpoint is closed. */
	MUST(ia->scratch.nfree == ia->limits.max_eps || !dofi_list_empty(&ia->orphans));
	MUST(ia->counts[DAT_HANDLE_TYPE_EP] == 0);
}

void bare_ia_close(struct dofi_ia *ia)
{
	struct dofi_evd *async = ia->async_evd;
	void *obj;

	while ((obj = retire_first(ia, DAT_HANDLE_TYPE_LMR)))
		dofi_lmr_destroy(obj);
	ia->async_evd = NULL;
	dofi_evd_detach_other(async);
	while ((obj = retire_first(ia, DAT_HANDLE_TYPE_EVD)))
		dofi_evd_destroy(obj);
	while ((obj = retire_first(ia, DAT_HANDLE_TYPE_PZ)))
		dofi_pz_destroy(obj);
	MUST(atomic_load(&ia->obj.users) == 0);
	dofi_ctrl_slots_close(ia);
	MUST(ia->scratch.nfree == ia->limits.max_eps);
	dofi_scratch_close(ia);
	MUST(ia->ctxtab.used == 0);
	dofi_ctxtab_fini(ia);
	dofi_mr_unmap_all(ia);
	dofi_engine_fini(ia);
	dofi_obj_free(&ia->obj, DAT_HANDLE_TYPE_IA);
}
