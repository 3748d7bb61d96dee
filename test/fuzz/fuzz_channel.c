/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Control channels, connections, service points and the engine. The first two bytes of the input
 * are the kind of the IA (world.h). The rest is a list of steps: a byte that selects the step, and
 * the step's arguments. If the highest bit of the byte is set, the engine does not run after the
 * step.
 */
#include "fabric.h"
#include "fuzz.h"
#include "peer.h"
#include "world.h"

#include "../sim/kernel.h"

#include "api/cr.h"
#include "api/ep.h"
#include "api/ep_connect.h"
#include "api/psp.h"
#include "api/rmr.h"
#include "api/rsp.h"
#include "cm/cm.h"
#include "cm/conn.h"
#include "cm/ud_ah.h"
#include "cm/wire.h"
#include "dto/post.h"
#include "dto/post_special.h"
#include "dto/srq_receive.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/ud_ah.h"
#include "progress/engine.h"
#include "progress/evd_wait.h"
#include "progress/evd.h"

#include <errno.h>
#include <netinet/in.h>
#include <rdma/fi_errno.h>

#define MAX_STEPS 200
#define NO_ROUND  0x80u

static DAT_EP_HANDLE *choose_ep(struct fuzz_input *in)
{
	return &world.eps[fuzz_u8(in) % WORLD_EPS];
}

static int choose_socket(struct fuzz_input *in)
{
	int nth = fuzz_u8(in) % WORLD_SOCKETS;

	for (int s = 0; s < kernel_sockets(); s++)
		if (kernel_is_open(s) && !nth--)
			return s;
	return 0;
}

/* The nth object of a type, or NULL if there are fewer. */
static void *choose(struct fuzz_input *in, DAT_HANDLE_TYPE type)
{
	uint8_t nth = fuzz_u8(in);

	DOFI_LIST_FOR(node, &world.ia->objects[type])
	{
		if (!nth--)
			return DOFI_CONTAINER(node, struct dofi_obj, siblings);
	}
	return NULL;
}

/* --- peers --- */

static void step_dial(struct fuzz_input *in)
{
	kernel_dial(fuzz_u8(in));
}

static void step_hello(struct fuzz_input *in)
{
	int s = choose_socket(in);

	peer_hello(s, in);
}

static void step_message(struct fuzz_input *in)
{
	int s = choose_socket(in);

	peer_message(s, in);
}

static void step_frame(struct fuzz_input *in)
{
	int s = choose_socket(in);

	peer_frame(s, in);
}

static void step_bytes(struct fuzz_input *in)
{
	int s = choose_socket(in);

	peer_bytes(s, in);
}

static void step_hang_up(struct fuzz_input *in)
{
	int s = choose_socket(in);

	kernel_hang_up(s, fuzz_u8(in) & 1 ? ECONNRESET : 0);
}

static void step_room(struct fuzz_input *in)
{
	int s = choose_socket(in);
	uint8_t room = fuzz_u8(in);

	kernel_set_room(s, room == 0xff ? UINT32_MAX : room);
}

/* --- the kernel --- */

static void step_answer(struct fuzz_input *in)
{
	static const int errors[] = {0, ECONNREFUSED, EHOSTUNREACH, ETIMEDOUT, EIO};
	uint8_t how = fuzz_u8(in);

	for (int s = 0; s < kernel_sockets(); s++)
		kernel_answer(s, errors[how % 5]);
}

static void step_fault(struct fuzz_input *in)
{
	static const int errors[] = {0,           EMFILE,     ENOBUFS, ECONNREFUSED,
				     ENETUNREACH, EADDRINUSE, EACCES,  ECONNABORTED};
	uint8_t how = fuzz_u8(in);
	int err = errors[how % 8];

	switch (how >> 4) {
	case 0:
		kernel_faults.socket = err;
		break;
	case 1:
		kernel_faults.connect = err;
		break;
	case 2:
		kernel_faults.accept = err;
		break;
	case 3:
		kernel_faults.bind = err;
		break;
	case 4:
		kernel_faults.forget = 1;
		break;
	default:
		kernel_faults.dials_wait = how & 1;
	}
}

static void step_time(struct fuzz_input *in)
{
	static const uint32_t ms[] = {1, 5, 50, 250, 1000, 5000, 10000, 60000};

	kernel_time += ms[fuzz_u8(in) % 8] * KERNEL_MS;
}

/* --- the consumer --- */

/* A port, or a long qualifier, which has several ports. */
static DAT_CONN_QUAL choose_qual(struct fuzz_input *in)
{
	uint8_t n = fuzz_u8(in);

	return n & 0x80 ? UINT64_C(0x100000000) + (n & 3) : 1000u + (n & 3);
}

static void step_listen(struct fuzz_input *in)
{
	DAT_CONN_QUAL qual = choose_qual(in);
	uint8_t how = fuzz_u8(in);
	DAT_PSP_HANDLE psp;

	if (how & 2)
		dofi_psp_create_any(world.ia, &qual, world.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp);
	else
		dofi_psp_create(world.ia, qual, world.cr_evd,
				how & 1 ? DAT_PSP_PROVIDER_FLAG : DAT_PSP_CONSUMER_FLAG, &psp);
}

static void step_listen_once(struct fuzz_input *in)
{
	DAT_CONN_QUAL qual = choose_qual(in);
	DAT_RSP_HANDLE rsp;

	dofi_rsp_create(world.ia, qual, *choose_ep(in), world.cr_evd, &rsp);
}

static void step_stop_listening(struct fuzz_input *in)
{
	if (fuzz_u8(in) & 1)
		dofi_rsp_free(choose(in, DAT_HANDLE_TYPE_RSP));
	else
		dofi_psp_free(choose(in, DAT_HANDLE_TYPE_PSP));
}

static void step_make_ep(struct fuzz_input *in)
{
	uint8_t place = fuzz_u8(in);

	world_make_ep(place, fuzz_u8(in) % WORLD_EP_KINDS);
}

static void step_free_ep(struct fuzz_input *in)
{
	DAT_EP_HANDLE *ep = choose_ep(in);

	if (dofi_ep_free(*ep) == DAT_SUCCESS)
		*ep = NULL;
}

static void step_reset_ep(struct fuzz_input *in)
{
	dofi_ep_reset(*choose_ep(in));
}

static void step_connect(struct fuzz_input *in)
{
	static uint8_t private_data[DOFI_MAX_PRIVATE] = "the consumer's";
	struct sockaddr_in to = {.sin_family = AF_INET};
	DAT_EP_HANDLE ep = *choose_ep(in);
	uint8_t how = fuzz_u8(in);
	DAT_CONN_QUAL qual = choose_qual(in);

	to.sin_addr.s_addr = htonl(0x7f000002u + (how & 1));
	if (how & 2)
		dofi_ep_dup_connect(ep, *choose_ep(in), DAT_TIMEOUT_INFINITE, 0, NULL,
				    DAT_QOS_BEST_EFFORT);
	else
		dofi_ep_connect(ep, (DAT_IA_ADDRESS_PTR)(void *)&to, qual,
				how & 4 ? 1000000 : DAT_TIMEOUT_INFINITE, how & 8 ? 256 : 0,
				private_data, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static void step_accept(struct fuzz_input *in)
{
	DAT_CR_HANDLE cr = choose(in, DAT_HANDLE_TYPE_CR);
	uint8_t how = fuzz_u8(in);
	DAT_CR_PARAM param;

	if (!cr || dofi_cr_query(cr, DAT_CR_FIELD_ALL, &param) != DAT_SUCCESS)
		return;
	dofi_cr_accept(cr, param.local_ep_handle ? NULL : world.eps[how % WORLD_EPS],
		       how & 0x10 ? param.private_data_size : 0, param.private_data);
}

static void step_reject(struct fuzz_input *in)
{
	dofi_cr_reject(choose(in, DAT_HANDLE_TYPE_CR), 0, NULL);
}

static void step_handoff(struct fuzz_input *in)
{
	DAT_CR_HANDLE cr = choose(in, DAT_HANDLE_TYPE_CR);

	dofi_cr_handoff(cr, choose_qual(in));
}

static void step_disconnect(struct fuzz_input *in)
{
	DAT_EP_HANDLE ep = *choose_ep(in);

	dofi_ep_disconnect(ep, fuzz_u8(in) & 1 ? DAT_CLOSE_ABRUPT_FLAG : DAT_CLOSE_GRACEFUL_FLAG);
}

static void step_dequeue(struct fuzz_input *in)
{
	DAT_EVD_HANDLE evds[] = {world.conn_evd, world.cr_evd, world.dto_evd, world.ia->async_evd};
	DAT_EVENT event;

	dofi_evd_dequeue(evds[fuzz_u8(in) % 4], &event);
}

static void step_free_ah(struct fuzz_input *in)
{
	DAT_EP_HANDLE ep = *choose_ep(in);
	uint8_t which = fuzz_u8(in);
	void *ah = choose(in, DOFI_HANDLE_TYPE_AH);

	if (which & 1)
		dofi_ud_ah_free(ep, ah);
	else
		dofi_ud_cm_free(ep, ah);
}

/* --- work requests --- */

static void step_receive(struct fuzz_input *in)
{
	DAT_EP_HANDLE ep = *choose_ep(in);
	DAT_LMR_TRIPLET segment = world_segment(0, 64);
	DAT_DTO_COOKIE cookie = {.as_64 = 1};

	if (fuzz_u8(in) & 1)
		dofi_srq_post_recv(world.srq, 1, &segment, cookie);
	else
		dofi_ep_post_recv(ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG);
}

static void step_request(struct fuzz_input *in)
{
	DAT_EP_HANDLE ep = *choose_ep(in);
	uint8_t how = fuzz_u8(in);
	DAT_LMR_TRIPLET segment = world_segment(64, 8);
	DAT_RMR_TRIPLET remote = {.rmr_context = world.rmr_context + (how >> 6),
				  .virtual_address = (uintptr_t)world_memory,
				  .segment_length = 8};
	DAT_DTO_COOKIE cookie = {.as_64 = 2};
	unsigned int flags = how & 0x20 ? DAT_COMPLETION_SUPPRESS_FLAG : 0;

	switch (how & 3) {
	case 0:
		dofi_ep_post_send(ep, 1, &segment, cookie, (DAT_COMPLETION_FLAGS)flags);
		break;
	case 1:
		dofi_ep_post_rdma_read(ep, 1, &segment, cookie, &remote,
				       (DAT_COMPLETION_FLAGS)flags);
		break;
	case 2:
		dofi_ep_post_rdma_write(ep, 1, &segment, cookie, &remote,
					(DAT_COMPLETION_FLAGS)flags);
		break;
	default:
		dofi_ep_post_send_ud(ep, 1, &segment, choose(in, DOFI_HANDLE_TYPE_AH), cookie,
				     (DAT_COMPLETION_FLAGS)flags);
	}
}

static void step_bind(struct fuzz_input *in)
{
	DAT_EP_HANDLE ep = *choose_ep(in);
	DAT_RMR_HANDLE rmr = choose(in, DAT_HANDLE_TYPE_RMR);
	DAT_LMR_TRIPLET segment = world_segment(0, 64);
	DAT_RMR_COOKIE cookie = {.as_64 = 3};
	DAT_RMR_CONTEXT context;

	if (!rmr && dofi_rmr_create(world.pz, &rmr) != DAT_SUCCESS)
		return;
	dofi_rmr_bind(rmr, &segment, DAT_MEM_PRIV_ALL_FLAG, ep, cookie, DAT_COMPLETION_DEFAULT_FLAG,
		      &context);
}

static void step_invalidate(struct fuzz_input *in)
{
	uint32_t context = fuzz_u8(in);
	uint8_t how = fuzz_u8(in);
	uint64_t number;

	dofi_engine_begin(world.ia);
	number = dofi_chan_ask(world.ia, context, !(how & 2));
	if (how & 1)
		dofi_chan_give_up(world.ia, number);
	dofi_engine_end(world.ia);
}

/* --- the fabric --- */

static void step_path(struct fuzz_input *in)
{
	uint8_t nth = fuzz_u8(in), how = fuzz_u8(in);

	dofi_engine_begin(world.ia);
	if (how & 1)
		fabric_path_down(nth, how & 2 ? FI_ECONNREFUSED : 0);
	else
		fabric_path_up(nth);
	dofi_engine_end(world.ia);
}

/* The number of the nth existing connection; 0: there is none. */
static uint32_t number_of(uint8_t nth)
{
	const struct dofi_cm *cm = &world.ia->cm;
	uint32_t left = cm->nconns ? nth % cm->nconns : 0;

	for (uint32_t i = 0; i < cm->conns_size; i++) {
		if (cm->conns[i] && !left--)
			return cm->conns[i]->id;
	}
	return 0;
}

static void step_complete(struct fuzz_input *in)
{
	static const int errors[] = {0, 0, 0, 0, FI_ETRUNC, FI_ECANCELED, FI_EIO, FI_ECONNRESET};
	uint8_t nth = fuzz_u8(in), how = fuzz_u8(in);
	uint32_t number = how & 0x20 ? (uint32_t)fuzz_u8(in) : number_of(nth);
	uint32_t update = how & 0x10 ? fuzz_u32(in) : 0;

	dofi_engine_begin(world.ia);
	fabric_complete(nth, errors[how % 8], how & 0x40 ? 100 : 8, number & DOFI_CONN_ID_MASK,
			update);
	dofi_engine_end(world.ia);
}

static void step_fabric(struct fuzz_input *in)
{
	uint8_t how = fuzz_u8(in);

	fabric_now.makes_path = how & 1;
	fabric_now.busy = how & 2;
	fabric_now.connect = how & 4 ? -FI_ENOMEM : 0;
	fabric_now.expect = how & 8 ? -FI_ENOMEM : 0;
	fabric_now.post = how & 16 ? -FI_EAGAIN : how & 32 ? -FI_EIO : 0;
}

/* --- */

static void step_nothing(struct fuzz_input *in)
{
	(void)in;
}

/* Files of the corpus contain the index of a step, so new steps go to the end. */
static void (*const steps[])(struct fuzz_input *in) = {
	step_nothing, step_dial,       step_hello,       step_message,        step_frame,
	step_bytes,   step_hang_up,    step_room,        step_answer,         step_fault,
	step_time,    step_listen,     step_listen_once, step_stop_listening, step_make_ep,
	step_free_ep, step_reset_ep,   step_connect,     step_accept,         step_reject,
	step_handoff, step_disconnect, step_dequeue,     step_free_ah,        step_receive,
	step_request, step_bind,       step_invalidate,  step_path,           step_complete,
	step_fabric,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = fuzz_input(data, size);

	world_begin((unsigned int)fuzz_value(&in, 2));
	for (int n = 0; n < MAX_STEPS && fuzz_left(&in); n++) {
		uint8_t step = fuzz_u8(&in);

		steps[(step & ~NO_ROUND) % (sizeof(steps) / sizeof(*steps))](&in);
		if (!(step & NO_ROUND))
			world_round();
	}
	world_end();
	return 0;
}
