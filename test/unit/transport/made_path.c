/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "made_path.h"

struct dofi_ia ia;
struct dofi_ep ep;
static struct dofi_conn conn;
struct dofi_memory_segment segment;
struct dofi_memory_pending pending[PENDING];
struct dofi_memory_path path;
struct dofi_ring_reader peer;
union made_request request, second;
uint8_t bytes[DOFI_MEMORY_FETCHED];
struct dofi_wr *done[PENDING];
uint32_t ndone;
int copies, copy_err;
uint64_t copy_length = LENGTH;
int over_after;
uint32_t polls;
enum dofi_box_state box_answer;
int nasked;
int kicks;

int __wrap_dofi_remote_write(const struct dofi_remote_process *process, const struct iovec *iov,
			     size_t skip, uint64_t address, size_t size);
int __wrap_dofi_remote_read(const struct dofi_remote_process *process, const struct iovec *iov,
			    size_t skip, uint64_t address, size_t size);
enum dofi_box_state __wrap_dofi_box_ask(struct dofi_memory_path *of, struct dofi_wr *wr);
void __wrap_dofi_reap_done(struct dofi_wr *wr, int err, uint64_t length, uint32_t number,
			   uint32_t update);
void __wrap_dofi_wait_kick(struct dofi_ia *of);

static int copied(const struct dofi_remote_process *process, const struct iovec *iov, size_t skip,
		  uint64_t address, size_t size)
{
	static size_t next;

	ck_assert_ptr_eq(process, &path.process);
	ck_assert_ptr_eq(iov, request.iov);
	ck_assert_uint_eq(skip, next);
	ck_assert_uint_eq(address, TARGET + skip);
	ck_assert_uint_eq(size, copy_length - skip < DOFI_REMOTE_PIECE ? copy_length - skip
								       : DOFI_REMOTE_PIECE);
	next = skip + size < copy_length ? skip + size : 0;
	segment.marks[1].polls += polls;
	ck_assert_uint_eq(segment.marks[0].copying, 1);
	if (++copies == over_after)
		segment.marks[1].over = 1;
	return copy_err;
}

int __wrap_dofi_remote_write(const struct dofi_remote_process *process, const struct iovec *iov,
			     size_t skip, uint64_t address, size_t size)
{
	ck_assert_int_ne(request.wr.op, DOFI_OP_READ);
	return copied(process, iov, skip, address, size);
}

int __wrap_dofi_remote_read(const struct dofi_remote_process *process, const struct iovec *iov,
			    size_t skip, uint64_t address, size_t size)
{
	ck_assert_int_eq(request.wr.op, DOFI_OP_READ);
	return copied(process, iov, skip, address, size);
}

enum dofi_box_state __wrap_dofi_box_ask(struct dofi_memory_path *of, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(of, &path);
	ck_assert_ptr_eq(wr, &request.wr);
	nasked++;
	return box_answer;
}

void __wrap_dofi_reap_done(struct dofi_wr *wr, int err, uint64_t length, uint32_t number,
			   uint32_t update)
{
	ck_assert_int_eq(err, 0);
	ck_assert_uint_eq(length, wr->length);
	ck_assert_uint_eq(number + update, 0);
	ck_assert_uint_lt(ndone, PENDING);
	done[ndone++] = wr;
}

void __wrap_dofi_wait_kick(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	kicks++;
}

void make_path(void)
{
	dofi_lock_init(&ia.engine.lock);
	dofi_lock(&ia.engine.lock);
	dofi_lock_init(&ep.lock);
	dofi_lock(&ep.lock);
	ep.obj.ia = &ia;
	ep.memory = &path;
	conn = (struct dofi_conn){.ia = &ia, .ep = &ep};
	path = (struct dofi_memory_path){.conn = &conn,
					 .out.ring = &segment.rings[0],
					 .ours = &segment.marks[0],
					 .theirs = &segment.marks[1],
					 .process.pid = 1,
					 .copies = true,
					 .pending = pending,
					 .pending_size = PENDING};
	peer = (struct dofi_ring_reader){.ring = &segment.rings[0]};
}

struct dofi_wr *prepare(uint8_t op, uint64_t length)
{
	request.wr = (struct dofi_wr){.ep = &ep,
				      .op = op,
				      .state = DOFI_WR_ISSUED,
				      .niov = 1,
				      .length = length,
				      .rdma = {.remote = {.address = 77, .target = TARGET},
					       .context = 5}};
	request.iov[0] = (struct iovec){bytes, length};
	return &request.wr;
}

void ring_has(uint8_t kind)
{
	struct dofi_cell cell;

	ck_assert_int_eq(dofi_ring_look(&peer, &cell), kind ? 1 : 0);
	if (!kind)
		return;
	ck_assert_int_eq(cell.kind, kind);
	dofi_ring_take(&peer, &cell);
}

void fill_ring(void)
{
	atomic_store(&segment.rings[0].taken, (uint64_t)peer.cells << 32 | peer.bytes);
	path.out.cells = peer.cells + DOFI_CELLS;
}
