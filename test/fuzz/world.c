/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "world.h"

#include "fabric.h"
#include "peer.h"

#include "../sim/bare_ia.h"
#include "../sim/kernel.h"

#include "api/ep.h"
#include "api/ep_connect.h"
#include "api/lmr.h"
#include "api/pz.h"
#include "auth/key.h"
#include "base/log.h"
#include "cm/cm.h"
#include "cm/drain.h"
#include "cm/wire.h"
#include "dto/control.h"
#include "dto/credit.h"
#include "dto/ep_attr.h"
#include "dto/srq.h"
#include "fabric/quirks.h"
#include "fabric/select.h"
#include "object/ep.h"
#include "object/ia.h"
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

/* The library waits: advances the time. */
int __wrap_sched_yield(void);

int __wrap_sched_yield(void)
{
	kernel_time += 100 * KERNEL_MS;
	return 0;
}

/* --- the IA, once --- */

static DAT_EVD_HANDLE make_evd(DAT_COUNT qlen, unsigned int flags)
{
	DAT_EVD_HANDLE evd;

	must(dofi_evd_create(world.ia, qlen, NULL, (DAT_EVD_FLAGS)flags, &evd));
	return evd;
}

static void make_objects(struct dofi_ia *ia)
{
	DAT_REGION_DESCRIPTION region = {.for_va = world_memory};

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
	struct dofi_ia *ia = bare_ia_new("fuzz", KERNEL_LOOPBACK);
	const char *level = getenv("DAT_OFI_LOG");

	dofi_log_set_level(level ? level : "off");
	kernel_process.most = WORLD_SOCKETS;
	fabric_open(ia);
	ia->trans = fabric_table(FABRIC_SLOTS);
	bare_ia_open(ia);
	FUZZ_CHECK(ia->ctrl_memory.slots);
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
		slots = ia->ctrl_memory.slots;
	ia->trans = fabric_table(kind);
	ia->ctrl_memory.slots = kind & WORLD_SLOTS ? slots : NULL;
	ia->uses_ctrl_msgs = !ia->ctrl_memory.slots;
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
	int s = kernel_sockets();

	while (s-- && !kernel_is_open(s))
		;
	return s;
}

/* The peer uses our own control slots, so that valid ones exist. */
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

static void empty_evd(struct dofi_evd *evd)
{
	DAT_EVENT event;

	while (atomic_load(&evd->count))
		must(dofi_evd_dequeue(evd, &event));
}

void world_end(void)
{
	struct dofi_ia *ia = world.ia;

	kernel_faults = (struct kernel_faults){0};
	fabric_now.post = fabric_now.connect = fabric_now.expect = 0;
	bare_ia_end_connections(ia);
	dofi_cm_fini(ia);
	fabric_end();
	FUZZ_CHECK(fabric_is_idle());
	dofi_drain_free_all(ia);
	empty_evd(ia->async_evd);
	empty_evd(world.conn_evd);
	empty_evd(world.cr_evd);
	empty_evd(world.dto_evd);
	FUZZ_CHECK(kernel_end() == 0);
	bare_ia_check_rest(ia);
	FUZZ_CHECK(ia->ctxtab.used == 1);
	FUZZ_CHECK(ia->counts[DAT_HANDLE_TYPE_EVD] == 4);
	world.srq = NULL;
	memset(world.eps, 0, sizeof(world.eps));
}
