/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "world.h"

#include "fabric.h"
#include "kernel.h"
#include "peer.h"

#include "api/ep.h"
#include "api/ep_connect.h"
#include "api/lmr.h"
#include "api/pz.h"
#include "auth/crypto.h"
#include "auth/key.h"
#include "base/log.h"
#include "cm/cm.h"
#include "cm/cr.h"
#include "cm/drain.h"
#include "cm/ep_life.h"
#include "cm/linger.h"
#include "cm/listener.h"
#include "cm/service_point.h"
#include "cm/upcalls.h"
#include "cm/wire.h"
#include "dto/control.h"
#include "dto/credit.h"
#include "dto/ep_attr.h"
#include "dto/rmr.h"
#include "dto/srq.h"
#include "fabric/quirks.h"
#include "fabric/select.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/scratch.h"
#include "progress/engine.h"
#include "progress/evd_streams.h"
#include "progress/evd_wait.h"
#include "api/evd.h"
#include "progress/evd.h"

#include <netinet/in.h>
#include <rdma/fabric.h>
#include <string.h>

#define MAX_ROUNDS 32
#define QLEN       8

struct world world;
uint64_t world_memory[WORLD_WORDS];

static void must(DAT_RETURN ret)
{
	FUZZ_CHECK(ret == DAT_SUCCESS);
}

/* The library waits: time passes. */
int __wrap_sched_yield(void);

int __wrap_sched_yield(void)
{
	kernel_time += 100 * KERNEL_MS;
	return 0;
}

/* Completions come when the target says so. */
static int reap(struct dofi_ia *ia)
{
	(void)ia;
	return 0;
}

/* --- the IA, once --- */

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
}

static void init_ia(struct dofi_ia *ia)
{
	const struct sockaddr_in addr = {.sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(0x7f000001)};

	ia->obj.ia = ia;
	strcpy(ia->name, "fuzz");
	ia->up = &dofi_cm_upcalls;
	ia->engine.reap = reap;
	ia->has_data = ia->tells_last_receive = true;
	atomic_store(&ia->next_key, 1);
	memcpy(&ia->addr, &addr, sizeof(addr));
	dofi_lock_init(&ia->obj_lock);
	dofi_lock_init(&ia->mr_lock);
	for (int i = 0; i < DOFI_HANDLE_TYPES; i++) {
		dofi_list_init(&ia->objects[i]);
		dofi_list_init(&ia->doomed[i]);
	}
	dofi_list_init(&ia->agents);
	dofi_list_init(&ia->agent_calls);
	dofi_list_init(&ia->orphans);
	dofi_list_init(&ia->drains);
	set_limits(ia);
	fabric_open(ia);
}

static DAT_EVD_HANDLE make_evd(DAT_COUNT qlen, unsigned int flags)
{
	DAT_EVD_HANDLE evd;

	must(dofi_evd_create(world.ia, qlen, NULL, (DAT_EVD_FLAGS)flags, &evd));
	return evd;
}

static void make_objects(struct dofi_ia *ia)
{
	DAT_REGION_DESCRIPTION region = {.for_va = world_memory};
	struct dofi_evd *async;

	FUZZ_CHECK(!dofi_evd_new(ia, QLEN, NULL, DAT_EVD_ASYNC_FLAG, &async));
	dofi_evd_attach_other(async);
	ia->async_evd = async;
	world.conn_evd = make_evd(QLEN, DAT_EVD_CONNECTION_FLAG);
	world.cr_evd = make_evd(QLEN, DAT_EVD_CR_FLAG);
	world.dto_evd = make_evd(QLEN, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	must(dofi_pz_create(ia, &world.pz));
	must(dofi_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(world_memory), world.pz,
			     (DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_ALL_FLAG |
						  DOFI_MEM_PRIV_REMOTE_ATOMIC),
			     &world.lmr, &world.lmr_context, &world.rmr_context, NULL, NULL));
}

static void open_world(void)
{
	static const DAT_PROVIDER provider;
	struct dofi_ia *ia = dofi_obj_alloc(NULL, &provider, DAT_HANDLE_TYPE_IA, sizeof(*ia));
	const char *level = getenv("DAT_OFI_LOG");

	FUZZ_CHECK(ia);
	dofi_log_set_level(level ? level : "off");
	init_ia(ia);
	ia->trans = fabric_table(FABRIC_SLOTS);
	FUZZ_CHECK(!dofi_crypto_start());
	FUZZ_CHECK(!dofi_engine_init(ia));
	FUZZ_CHECK(!dofi_ctxtab_init(ia));
	FUZZ_CHECK(!dofi_scratch_open(ia));
	FUZZ_CHECK(!dofi_ctrl_slots_open(ia));
	FUZZ_CHECK(ia->mail.boxes);
	dofi_obj_publish(&ia->obj, DAT_HANDLE_TYPE_IA);
	world.ia = ia;
	make_objects(ia);
}

/* --- one input --- */

static void set_kind(struct dofi_ia *ia, unsigned int kind)
{
	static const struct dofi_key key = {.source = DOFI_KEY_FILE,
					    .bytes = "a key of thirty-two bytes",
					    .id = {1}};
	static struct dofi_ctrl_slots *slots;

	if (!slots)
		slots = ia->mail.boxes;
	ia->trans = fabric_table(kind);
	ia->mail.boxes = kind & WORLD_SLOTS ? slots : NULL;
	ia->uses_ctrl_msgs = !ia->mail.boxes;
	ia->order = kind & WORLD_FENCE ? DOFI_FENCE : DOFI_ORDERED;
	ia->reads_overtake = ia->writes_overtake = kind & WORLD_FENCE;
	ia->credits = kind & WORLD_CREDITS ? DOFI_CREDITS_CARRIED : DOFI_CREDITS_NONE;
	ia->quirks = kind & WORLD_CLOSED_KEYS ? DOFI_QUIRK_CLOSED_KEYS : 0;
	ia->has_atomics = ia->does_atomics = kind & WORLD_NATIVE;
	ia->key = kind & WORLD_NO_KEY ? (struct dofi_key){0} : key;
	kernel_faults.dials_wait = kind & WORLD_DELAY;
}

void world_begin(unsigned int kind)
{
	struct dofi_ia *ia;

	if (!world.ia)
		open_world();
	ia = world.ia;
	kernel_begin(&peer_events);
	fabric_begin();
	memset(world_memory, 0, sizeof(world_memory));
	memset(&ia->cm, 0, sizeof(ia->cm));
	FUZZ_CHECK(!dofi_cm_init(ia));
	if (kind & WORLD_FEW_STRANGERS)
		ia->cm.max_strangers = 1;
	set_kind(ia, kind);
	peer_begin(ia);
}

void world_round(void)
{
	struct dofi_ia *ia = world.ia;
	int n = 0;

	dofi_engine_begin(ia);
	while (dofi_engine_round(ia, true) && n++ < MAX_ROUNDS)
		;
	dofi_engine_end(ia);
}

static DAT_EP_ATTR attr_of(enum world_ep kind)
{
	return (DAT_EP_ATTR){
		.service_type = kind == WORLD_EP_UD ? (DAT_SERVICE_TYPE)DOFI_SERVICE_TYPE_UD
						    : DAT_SERVICE_TYPE_RC,
		.qos = DAT_QOS_BEST_EFFORT,
		.recv_completion_flags = kind == WORLD_EP_SRQ ? DAT_COMPLETION_UNSIGNALLED_FLAG
							      : DAT_COMPLETION_DEFAULT_FLAG,
		.max_recv_dtos = 4,
		.max_request_dtos = 4,
		.max_rdma_read_in = 2,
		.max_rdma_read_out = 2,
		.srq_soft_hw = DAT_HW_DEFAULT,
	};
}

static bool make_srq(void)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1, .low_watermark = 1};

	if (!world.srq && dofi_srq_create(world.ia, world.pz, &attr, &world.srq) != DAT_SUCCESS)
		world.srq = NULL;
	return world.srq;
}

void world_make_ep(uint32_t place, enum world_ep kind)
{
	DAT_EP_HANDLE *ep = &world.eps[place % WORLD_EPS];
	DAT_EP_ATTR attr = attr_of(kind);

	if (*ep || (kind == WORLD_EP_SRQ && !make_srq()))
		return;
	if (kind == WORLD_EP_SRQ)
		dofi_ep_create_with_srq(world.ia, world.pz, world.dto_evd, world.dto_evd,
					world.conn_evd, world.srq, &attr, ep);
	else
		dofi_ep_create(world.ia, world.pz, world.dto_evd, world.dto_evd, world.conn_evd,
			       &attr, ep);
}

static int newest_socket(void)
{
	int s = KERNEL_SOCKETS;

	while (s-- && !kernel_is_open(s))
		;
	return s;
}

/* The peer's control slots are our own, so that there are some. */
static void say_accept(int s, const struct dofi_ep *ep)
{
	const uint32_t context = ep->ctrl_context;
	const uint8_t message[] = {DOFI_MSG_ACCEPT,
				   0,
				   (uint8_t)(7 + s),
				   DOFI_MSG_F_CTRL_MSGS | DOFI_MSG_F_ATOMICS,
				   16,
				   0xff,
				   (uint8_t)context,
				   (uint8_t)(context >> 8),
				   (uint8_t)(context >> 16),
				   (uint8_t)(context >> 24)};
	struct fuzz_input in = fuzz_input(message, sizeof(message));

	peer_message(s, &in);
}

void world_connect(uint32_t place, enum world_ep kind)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000002)};
	const uint8_t who = (uint8_t)place;
	struct fuzz_input hello = fuzz_input(&who, 1);
	DAT_EP_HANDLE ep;

	world_make_ep(place, kind);
	ep = world.eps[place];
	must(dofi_ep_connect(ep, (DAT_IA_ADDRESS_PTR)(void *)&to, 1000 + place,
			     DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
			     DAT_CONNECT_DEFAULT_FLAG));
	world_round();
	peer_hello(newest_socket(), &hello);
	world_round();
	say_accept(newest_socket(), ep);
	world_round();
	dofi_engine_begin(world.ia);
	fabric_path_up(place);
	dofi_engine_end(world.ia);
	FUZZ_CHECK(((struct dofi_ep *)ep)->state == DAT_EP_STATE_CONNECTED);
}

DAT_LMR_TRIPLET world_segment(uint32_t offset, uint32_t length)
{
	return (DAT_LMR_TRIPLET){.lmr_context = world.lmr_context,
				 .virtual_address = (uintptr_t)world_memory + offset,
				 .segment_length = length};
}

/* --- its end --- */

static void *retire_first(DAT_HANDLE_TYPE type)
{
	struct dofi_list *list = &world.ia->objects[type];
	struct dofi_obj *obj;

	if (dofi_list_empty(list))
		return NULL;
	obj = DOFI_CONTAINER(list->next, struct dofi_obj, siblings);
	FUZZ_CHECK(dofi_obj_retire(obj, false));
	return obj;
}

/* In the order of dat_ia_close. */
static void close_connections(struct dofi_ia *ia)
{
	void *obj;

	dofi_engine_begin(ia);
	while (!dofi_list_empty(&ia->cm.listeners))
		dofi_sp_unlisten(DOFI_CONTAINER(ia->cm.listeners.next, struct dofi_sp, link));
	while ((obj = retire_first(DAT_HANDLE_TYPE_CR)))
		dofi_cr_destroy(obj, true);
	dofi_linger_begin_all(ia);
	while ((obj = retire_first(DAT_HANDLE_TYPE_EP)))
		dofi_ep_destroy(obj);
	while ((obj = retire_first(DAT_HANDLE_TYPE_SRQ)))
		dofi_srq_destroy(obj);
	while ((obj = retire_first(DAT_HANDLE_TYPE_PSP)) ||
	       (obj = retire_first(DAT_HANDLE_TYPE_RSP)))
		dofi_sp_destroy(obj);
	dofi_engine_end(ia);
	while ((obj = retire_first(DAT_HANDLE_TYPE_RMR)))
		dofi_rmr_destroy(obj);
	dofi_cm_fini(ia);
	fabric_end();
	FUZZ_CHECK(fabric_is_idle());
	dofi_drain_free_all(ia);
}

static void empty_evd(struct dofi_evd *evd)
{
	DAT_EVENT event;

	while (atomic_load(&evd->count))
		must(dofi_evd_dequeue(evd, &event));
}

static void check_empty(const struct dofi_ia *ia)
{
	const struct dofi_engine *e = &ia->engine;

	FUZZ_CHECK(kernel_end() == 0);
	FUZZ_CHECK(dofi_list_empty(&e->timers));
	FUZZ_CHECK(dofi_list_empty(&e->work));
	FUZZ_CHECK(dofi_list_empty(&e->stalled));
	FUZZ_CHECK(e->nstalled == 0);
	FUZZ_CHECK(ia->wait.watchers == 0);
	FUZZ_CHECK(ia->cm.nconns == 0);
	FUZZ_CHECK(ia->cm.nlinking == 0);
	FUZZ_CHECK(ia->cm.nstrangers == 0);
	FUZZ_CHECK(dofi_list_empty(&ia->cm.dead));
	FUZZ_CHECK(dofi_list_empty(&ia->cm.binds));
	FUZZ_CHECK(ia->ndrains == 0);
	FUZZ_CHECK(ia->scratch.nfree == ia->limits.max_eps);
	FUZZ_CHECK(ia->ctxtab.used == 1);
	FUZZ_CHECK(ia->counts[DAT_HANDLE_TYPE_EP] == 0);
	FUZZ_CHECK(ia->counts[DAT_HANDLE_TYPE_EVD] == 4);
}

void world_end(void)
{
	struct dofi_ia *ia = world.ia;

	kernel_faults = (struct kernel_faults){0};
	fabric.post = fabric.connect = fabric.expect = 0;
	close_connections(ia);
	empty_evd(ia->async_evd);
	empty_evd(world.conn_evd);
	empty_evd(world.cr_evd);
	empty_evd(world.dto_evd);
	check_empty(ia);
	world.srq = NULL;
	memset(world.eps, 0, sizeof(world.eps));
}
