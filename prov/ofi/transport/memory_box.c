/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/memory_box.h"

#include "cm/conn.h"
#include "object/ia.h"
#include "transport/memory_in.h"
#include "transport/memory_path.h"
#include "transport/memory_rdma.h"

#include <errno.h>
#include <string.h>

/*
 * How often the initiator reads the box before it takes the request back: some microseconds.
 * Between two processor sockets the cache lines of a request travel for more than one.
 */
#define LOOKS      8192u
/* How often the initiator reads the box of a target that carries the request out. */
#define MORE_LOOKS (8u * LOOKS)

/* --- the initiator of an RDMA operation --- */

static void fill(struct dofi_memory_box *box, const struct dofi_wr *wr)
{
	uint8_t *to = box->bytes;

	box->reads = dofi_memory_reads(wr);
	box->size = (uint16_t)wr->length;
	box->address = wr->remote.address;
	box->context = dofi_memory_context_of(wr);
	if (box->reads)
		return;
	for (uint16_t i = 0; i < wr->niov; i++) {
		dofi_cell_copy(to, wr->iov[i].iov_base, wr->iov[i].iov_len);
		to += wr->iov[i].iov_len;
	}
}

/* What was read. */
static void empty(const struct dofi_memory_box *box, const struct dofi_wr *wr)
{
	const uint8_t *from = box->bytes;

	if (!dofi_memory_reads(wr))
		return;
	for (uint16_t i = 0; i < wr->niov; i++) {
		dofi_cell_copy(wr->iov[i].iov_base, from, wr->iov[i].iov_len);
		from += wr->iov[i].iov_len;
	}
}

static bool await(const struct dofi_memory_box *box, uint32_t looks)
{
	while (looks--)
		if (atomic_load_explicit(&box->state, memory_order_acquire) == DOFI_BOX_DONE)
			return true;
	return false;
}

enum dofi_box_state dofi_box_ask(struct dofi_memory_path *path, struct dofi_wr *wr)
{
	struct dofi_memory_box *box = path->box;
	uint32_t asked = DOFI_BOX_ASKED;

	dofi_assert_held(&path->conn->ep->lock);
	fill(box, wr);
	atomic_store_explicit(&box->state, DOFI_BOX_ASKED, memory_order_release);
	if (DOFI_UNLIKELY(!await(box, LOOKS))) {
		if (atomic_compare_exchange_strong(&box->state, &asked, DOFI_BOX_IDLE))
			return DOFI_BOX_IDLE;
		if (!await(box, MORE_LOOKS))
			return DOFI_BOX_TAKEN;
	}
	empty(box, wr);
	return DOFI_BOX_DONE;
}

bool dofi_box_is_done(struct dofi_memory_path *path, struct dofi_wr *wr)
{
	dofi_assert_held(&path->conn->ep->lock);
	if (!await(path->box, 1))
		return false;
	empty(path->box, wr);
	return true;
}

/* --- the target --- */

/* The peer can change the box at any time. So the words are copied once, and the copies checked. */
static bool carry_out(struct dofi_memory_path *path, struct dofi_memory_box *box)
{
	uint64_t address = box->address;
	uint32_t context = box->context;
	uint16_t size = box->size;
	bool reads = box->reads;
	void *memory;

	atomic_signal_fence(memory_order_seq_cst);
	if (!size || size > DOFI_BOX_MOST)
		return false;
	memory = dofi_memory_find(path, context, address, size,
				  reads ? DAT_MEM_PRIV_REMOTE_READ_FLAG
					: DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	if (!memory)
		return false;
	if (reads)
		dofi_cell_copy(box->bytes, memory, size);
	else
		dofi_memory_store(memory, box->bytes, size);
	return true;
}

void dofi_box_serve(struct dofi_memory_path *path)
{
	struct dofi_memory_box *box = path->their_box;
	uint32_t asked = DOFI_BOX_ASKED;

	dofi_assert_held(&path->conn->ia->engine.lock);
	if (!atomic_compare_exchange_strong(&box->state, &asked, DOFI_BOX_TAKEN))
		return;
	if (carry_out(path, box))
		atomic_store_explicit(&box->state, DOFI_BOX_DONE, memory_order_release);
	else
		path->fault = -EACCES;
}
