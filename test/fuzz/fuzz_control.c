/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Control records, as writes and as messages, and the control slots that peers write to. Two EPs
 * are connected before the first step. The first two bytes of the input are the kind of the IA
 * (world.h). The rest is a list of steps as in fuzz_channel.c.
 */
#include "fabric.h"
#include "fuzz.h"
#include "peer.h"
#include "world.h"

#include "../sim/kernel.h"

#include "api/ep_connect.h"
#include "api/rmr.h"
#include "dto/control.h"
#include "dto/control_message.h"
#include "dto/credit.h"
#include "dto/post.h"
#include "dto/post_special.h"
#include "dto/srq_receive.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/mem.h"
#include "progress/engine.h"
#include "progress/evd_wait.h"
#include "progress/evd.h"

#include <rdma/fi_errno.h>
#include <string.h>

#define MAX_STEPS 100
#define NO_ROUND  0x80u
#define NEPS      2u

static struct dofi_ep *choose_ep(struct fuzz_input *in)
{
	return world.eps[fuzz_u8(in) % NEPS];
}

/* The number of a connection here, or any. */
static uint32_t choose_number(struct fuzz_input *in)
{
	uint8_t n = fuzz_u8(in);
	const struct dofi_ep *ep = world.eps[n % NEPS];

	return n == 0xff ? fuzz_u32(in) : ep->conn_id;
}

/* A byte, or after 0xff a value of four bytes. */
static uint32_t choose_value(struct fuzz_input *in)
{
	uint8_t n = fuzz_u8(in);

	return n == 0xff ? fuzz_u32(in) : n;
}

/* The context of an RMR, of the LMR, of control slots, or any number. */
static uint32_t choose_context(struct fuzz_input *in)
{
	const struct dofi_list *rmrs = &world.ia->objects[DAT_HANDLE_TYPE_RMR];
	uint8_t n = fuzz_u8(in);

	if (n == 0xff)
		return fuzz_u32(in);
	if (n & 1 && !dofi_list_empty(rmrs))
		return DOFI_CONTAINER(rmrs->next, struct dofi_rmr, obj.siblings)->context;
	if (n & 2)
		return ((const struct dofi_ep *)world.eps[0])->ctrl_context;
	return world.rmr_context + (n >> 2);
}

static struct dofi_atomic_request choose_request(struct fuzz_input *in)
{
	struct dofi_atomic_request request = {0};

	request.op = fuzz_u8(in) & 1 ? DOFI_OP_CMP_SWAP : DOFI_OP_FETCH_ADD;
	request.context = choose_context(in);
	request.address = (uintptr_t)world_memory + choose_value(in);
	request.operand = fuzz_u8(in);
	request.compare = fuzz_u8(in);
	return request;
}

/* --- the peer --- */

static void step_record(struct fuzz_input *in)
{
	uint64_t kind = fuzz_u8(in) & 7, number = choose_number(in) & DOFI_CONN_ID_MASK;
	uint32_t value = kind == DOFI_CTRL_INVALIDATE ? choose_context(in) : choose_value(in);

	dofi_engine_begin(world.ia);
	dofi_ctrl_arrived(world.ia, kind << 61 | number << 32 | value);
	dofi_engine_end(world.ia);
}

/* The buffer has exactly this size, so AddressSanitizer notices reads beyond it. */
static void deliver(const struct dofi_ctrl_msg *message, size_t size)
{
	struct dofi_ctrl_msg *exact = malloc(size ? size : 1);

	FUZZ_CHECK(exact);
	memcpy(exact, message, size);
	dofi_engine_begin(world.ia);
	dofi_ctrl_msg_arrived(world.ia, exact, size);
	dofi_engine_end(world.ia);
	free(exact);
}

static void step_message(struct fuzz_input *in)
{
	static const size_t sizes[] = {DOFI_CTRL_MSG_MAX, offsetof(struct dofi_ctrl_msg, request),
				       offsetof(struct dofi_ctrl_msg, request) +
					       sizeof(struct dofi_atomic_answer),
				       sizeof(struct dofi_ctrl_msg)};
	struct dofi_ctrl_msg message = {.kind = fuzz_u8(in)};
	uint8_t size = fuzz_u8(in);

	message.number = choose_number(in);
	message.value =
		message.kind == DOFI_CTRL_INVALIDATE ? choose_context(in) : choose_value(in);
	message.message = choose_value(in);
	message.length = choose_value(in);
	if (message.kind == DOFI_CTRL_ATOMIC && message.value & DOFI_CTRL_ANSWER)
		message.answer = (struct dofi_atomic_answer){7, fuzz_u8(in)};
	else if (message.kind == DOFI_CTRL_ATOMIC)
		message.request = choose_request(in);
	deliver(&message, size & 0x80 ? (size & 0x7f) % sizeof(message) : sizes[size % 4]);
}

/* The peer writes to a slot by RDMA, at any time. */
static void step_slot(struct fuzz_input *in)
{
	const struct dofi_ep *ep = choose_ep(in);
	uint8_t slot = fuzz_u8(in);
	struct dofi_ctrl_slots *slots;

	if (!world.ia->ctrl_memory.slots)
		return;
	slots = &world.ia->ctrl_memory.slots[ep->scratch];
	if (slot & 0x80)
		slots->answers[slot % DOFI_CTRL_SLOTS] =
			(struct dofi_atomic_answer){fuzz_u8(in), fuzz_value(in, 2)};
	else
		slots->requests[slot % DOFI_CTRL_SLOTS] = choose_request(in);
}

static void step_credit(struct fuzz_input *in)
{
	uint32_t number = choose_number(in);

	dofi_engine_begin(world.ia);
	dofi_credit_arrived(world.ia, number, fuzz_u32(in));
	dofi_engine_end(world.ia);
}

static void step_channel(struct fuzz_input *in)
{
	for (int s = 0; s < kernel_sockets(); s++) {
		if (!kernel_is_open(s))
			continue;
		peer_message(s, in);
		return;
	}
}

/* --- the consumer --- */

static void step_request(struct fuzz_input *in)
{
	struct dofi_ep *ep = choose_ep(in);
	uint8_t how = fuzz_u8(in);
	DAT_LMR_TRIPLET segment = world_segment(64, 8);
	DAT_RMR_TRIPLET remote = {.virtual_address = (uintptr_t)world_memory, .segment_length = 8};
	DAT_DTO_COOKIE cookie = {.as_64 = how};
	DAT_COMPLETION_FLAGS flags =
		(DAT_COMPLETION_FLAGS)(how & 0x10   ? DAT_COMPLETION_BARRIER_FENCE_FLAG
				       : how & 0x20 ? DAT_COMPLETION_SUPPRESS_FLAG
						    : DAT_COMPLETION_DEFAULT_FLAG);

	remote.rmr_context = choose_context(in);
	switch (how & 7) {
	case 0:
		dofi_ep_post_write_immediate(ep, 1, &segment, cookie, &remote, 5, flags);
		break;
	case 1:
		dofi_ep_post_send_invalidate(ep, 1, &segment, cookie, flags, remote.rmr_context);
		break;
	case 2:
		dofi_ep_post_atomic(ep, DOFI_OP_FETCH_ADD, 1, 0, &segment, cookie, &remote, flags);
		break;
	case 3:
		dofi_ep_post_atomic(ep, DOFI_OP_CMP_SWAP, 1, 0, &segment, cookie, &remote, flags);
		break;
	case 4:
		dofi_ep_post_rdma_read(ep, 1, &segment, cookie, &remote, flags);
		break;
	case 5:
		dofi_ep_post_rdma_write(ep, 1, &segment, cookie, &remote, flags);
		break;
	default:
		dofi_ep_post_send(ep, 1, &segment, cookie, flags);
	}
}

static void step_receive(struct fuzz_input *in)
{
	DAT_LMR_TRIPLET segment = world_segment(128, 64);
	DAT_DTO_COOKIE cookie = {.as_64 = 1};
	uint8_t how = fuzz_u8(in);
	struct dofi_ep *ep = world.eps[how % NEPS];

	if (ep->srq)
		dofi_srq_post_recv(world.srq, 1, &segment, cookie);
	else
		dofi_ep_post_recv(ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG);
}

static void step_bind(struct fuzz_input *in)
{
	DAT_LMR_TRIPLET segment = world_segment(0, 256);
	DAT_RMR_COOKIE cookie = {.as_64 = 3};
	struct dofi_ep *ep = choose_ep(in);
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	if (dofi_rmr_create(world.pz, &rmr) == DAT_SUCCESS)
		dofi_rmr_bind(rmr, &segment, DAT_MEM_PRIV_ALL_FLAG, ep, cookie,
			      DAT_COMPLETION_DEFAULT_FLAG, &context);
}

static void step_dequeue(struct fuzz_input *in)
{
	DAT_EVENT event;

	for (int n = fuzz_u8(in) % 4; n >= 0; n--)
		dofi_evd_dequeue(world.dto_evd, &event);
}

static void step_disconnect(struct fuzz_input *in)
{
	struct dofi_ep *ep = choose_ep(in);

	dofi_ep_disconnect(ep, fuzz_u8(in) & 1 ? DAT_CLOSE_ABRUPT_FLAG : DAT_CLOSE_GRACEFUL_FLAG);
}

/* --- the fabric --- */

static void step_complete(struct fuzz_input *in)
{
	static const int errors[] = {0, 0, 0, 0, FI_ETRUNC, FI_ECANCELED, FI_EIO, FI_ECONNRESET};
	uint8_t nth = fuzz_u8(in), how = fuzz_u8(in);
	uint32_t number = choose_number(in), update = how & 0x10 ? fuzz_u32(in) : how >> 5;

	dofi_engine_begin(world.ia);
	fabric_complete(nth, errors[how % 8], 8, number & DOFI_CONN_ID_MASK, update);
	dofi_engine_end(world.ia);
}

static void step_fabric(struct fuzz_input *in)
{
	uint8_t how = fuzz_u8(in);

	fabric_now.post = how & 1 ? -FI_EAGAIN : how & 2 ? -FI_EIO : 0;
	fabric_now.busy = how & 4;
	if (how & 8)
		kernel_time += KERNEL_MS << (how >> 4);
}

static void step_path_down(struct fuzz_input *in)
{
	dofi_engine_begin(world.ia);
	fabric_path_down(fuzz_u8(in), 0);
	dofi_engine_end(world.ia);
}

static void step_nothing(struct fuzz_input *in)
{
	(void)in;
}

/* Files of the corpus contain the index of a step, so new steps go to the end. */
static void (*const steps[])(struct fuzz_input *in) = {
	step_nothing,  step_record,  step_message,   step_slot,       step_credit,
	step_channel,  step_request, step_receive,   step_bind,       step_dequeue,
	step_complete, step_fabric,  step_path_down, step_disconnect,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = fuzz_input(data, size);
	unsigned int kind = (unsigned int)fuzz_value(&in, 2);

	world_begin(kind & ~(unsigned int)(WORLD_DELAY | WORLD_FEW_STRANGERS));
	world_connect(0, WORLD_EP_RC);
	world_connect(1, kind & WORLD_SRQ ? WORLD_EP_SRQ : WORLD_EP_RC);
	for (int n = 0; n < MAX_STEPS && fuzz_left(&in); n++) {
		uint8_t step = fuzz_u8(&in);

		steps[(step & ~NO_ROUND) % (sizeof(steps) / sizeof(*steps))](&in);
		if (!(step & NO_ROUND))
			world_round();
	}
	world_end();
	return 0;
}
