/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "side.h"

#include "kernel.h"
#include "must.h"

#include <rdma/fi_errno.h>
#include <string.h>

static struct side *sides;
static size_t sides_room;
static int nsides;
static void (*wake)(int process);

struct side *side_of(int process)
{
	MUST(process < nsides);
	return &sides[process];
}

void side_wake(int process)
{
	wake(process);
}

bool side_use_up(uint32_t *n)
{
	if (!*n)
		return false;
	--*n;
	return true;
}

/* --- queues --- */

/* The table with room for one more; what lies in it stays at its place modulo the new size. */
static void *make_room(struct side_queue *queue, void *table, size_t size)
{
	size_t room = queue->room;
	uint8_t *bytes;

	if (queue->tail - queue->head < room)
		return table;
	bytes = kernel_grow(table, &queue->room, room ? 2 * room : 16, size);
	for (uint32_t i = queue->head; i != queue->tail; i++) {
		size_t from = i % room, to = i % queue->room;

		if (from != to)
			memcpy(bytes + to * size, bytes + from * size, size);
	}
	return bytes;
}

/* Of an operation that goes to a peer. */
static bool is_failure(const struct side_entry *entry)
{
	return entry->err && entry->data.flags & (FI_SEND | FI_READ);
}

void side_complete(int process, const struct side_entry *entry)
{
	struct side *side = side_of(process);
	struct side_queue *queue = &side->entries_queue;

	side->entries = make_room(queue, side->entries, sizeof(*side->entries));
	side->entries[queue->tail++ % queue->room] = *entry;
	side->unread_errors += is_failure(entry);
	wake(process);
}

void side_tell(int process, const struct side_event *event)
{
	struct side *side = side_of(process);
	struct side_queue *queue = &side->events_queue;

	side->events = make_room(queue, side->events, sizeof(*side->events));
	side->events[queue->tail++ % queue->room] = *event;
	wake(process);
}

static struct side_event *first_event(const struct side *side)
{
	const struct side_queue *queue = &side->events_queue;

	return queue->head == queue->tail ? NULL : &side->events[queue->head % queue->room];
}

struct side_event *side_pop_event(struct side *side)
{
	struct side_event *event = first_event(side);

	side->events_queue.head += event != NULL;
	return event;
}

void side_forget_events(struct side *side, const struct fid *fid)
{
	struct side_queue *queue = &side->events_queue;
	uint32_t out = queue->head;

	for (uint32_t in = queue->head; in != queue->tail; in++)
		if (side->events[in % queue->room].fid != fid)
			side->events[out++ % queue->room] = side->events[in % queue->room];
	queue->tail = out;
}

static const struct side_entry *first_entry(const struct side *side)
{
	const struct side_queue *queue = &side->entries_queue;

	return queue->head == queue->tail ? NULL : &side->entries[queue->head % queue->room];
}

/* The format for connected endpoints is the beginning of that with tags. */
static ssize_t cq_read(struct fid_cq *cq, void *buf, size_t count)
{
	struct side *side = cq->fid.context;
	size_t size = side->is_tagged ? sizeof(struct fi_cq_tagged_entry)
				      : sizeof(struct fi_cq_data_entry);
	const struct side_entry *entry;
	uint8_t *out = buf;
	size_t n = 0;

	while (n < count && (entry = first_entry(side))) {
		if (entry->err)
			return n ? (ssize_t)n : -FI_EAVAIL;
		memcpy(out + n++ * size, &entry->data, size);
		side->entries_queue.head++;
	}
	return n ? (ssize_t)n : -FI_EAGAIN;
}

static ssize_t cq_readerr(struct fid_cq *cq, struct fi_cq_err_entry *out, uint64_t flags)
{
	struct side *side = cq->fid.context;
	const struct side_entry *entry = first_entry(side);

	(void)flags;
	if (!entry || !entry->err)
		return -FI_EAGAIN;
	*out = (struct fi_cq_err_entry){.op_context = entry->data.op_context,
					.flags = entry->data.flags,
					.len = entry->data.len,
					.data = entry->data.data,
					.tag = entry->data.tag,
					.err = entry->err};
	side->entries_queue.head++;
	side->unread_errors -= is_failure(entry);
	return 1;
}

static ssize_t eq_read(struct fid_eq *eq, uint32_t *number, void *buf, size_t size, uint64_t flags)
{
	struct side *side = eq->fid.context;
	const struct side_event *event = first_event(side);
	struct fi_eq_cm_entry *entry = buf;

	(void)flags;
	if (!event)
		return -FI_EAGAIN;
	if (event->err)
		return -FI_EAVAIL;
	side_pop_event(side);
	MUST(size >= sizeof(*entry) + DOFI_TOKEN_SIZE);
	*number = event->number;
	entry->fid = event->fid;
	entry->info = event->info;
	if (event->is_read)
		event->is_read(event->fid);
	if (event->number != FI_CONNREQ)
		return sizeof(*entry);
	memcpy(entry->data, event->token, DOFI_TOKEN_SIZE);
	return sizeof(*entry) + DOFI_TOKEN_SIZE;
}

static ssize_t eq_readerr(struct fid_eq *eq, struct fi_eq_err_entry *out, uint64_t flags)
{
	const struct side_event *event = side_pop_event(eq->fid.context);

	(void)flags;
	*out = (struct fi_eq_err_entry){.fid = event->fid, .err = event->err};
	return sizeof(*out);
}

/* --- objects --- */

int side_no_bind(struct fid *fid, struct fid *with, uint64_t flags)
{
	(void)fid, (void)with, (void)flags;
	return 0;
}

int side_no_control(struct fid *fid, int command, void *arg)
{
	(void)fid, (void)command, (void)arg;
	return 0;
}

static int no_close(struct fid *fid)
{
	(void)fid;
	return 0;
}

struct fi_ops side_plain_ops = {.size = sizeof(side_plain_ops),
				.close = no_close,
				.bind = side_no_bind,
				.control = side_no_control};

int side_open_eq(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq_p,
		 void *context)
{
	static struct fi_ops_eq ops = {.size = sizeof(ops), .read = eq_read, .readerr = eq_readerr};
	struct side *side = fabric->fid.context;

	(void)context;
	if (attr->wait_obj != FI_WAIT_NONE)
		return -FI_ENOSYS;
	side->eq = (struct fid_eq){.fid = {.context = side, .ops = &side_plain_ops}, .ops = &ops};
	*eq_p = &side->eq;
	return 0;
}

int side_open_cq(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq_p,
		 void *context)
{
	static struct fi_ops_cq ops = {.size = sizeof(ops), .read = cq_read, .readerr = cq_readerr};
	struct side *side = domain->fid.context;

	(void)context;
	if (attr->wait_obj != FI_WAIT_NONE)
		return -FI_ENOSYS;
	side->is_tagged = attr->format == FI_CQ_FORMAT_TAGGED;
	side->cq = (struct fid_cq){.fid = {.context = side, .ops = &side_plain_ops}, .ops = &ops};
	*cq_p = &side->cq;
	return 0;
}

void side_begin(int processes, void (*on_wake)(int process))
{
	wake = on_wake;
	nsides = processes;
	sides = kernel_grow(sides, &sides_room, (size_t)processes, sizeof(*sides));
	for (int i = 0; i < processes; i++) {
		const struct side was = sides[i];

		sides[i] = (struct side){.process = i,
					 .entries = was.entries,
					 .events = was.events,
					 .entries_queue.room = was.entries_queue.room,
					 .events_queue.room = was.events_queue.room};
	}
}
