/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A neighbour on this host that connects by shared memory (same_host) and then lies: in the rings,
 * in the box, with the memory that it passes. It costs the survivor that connection at most, and
 * the survivor's memory outside of what the neighbour may write stays as it was. An honest
 * neighbour goes on all the time. T_LIES is the number of forged segments, T_SEED chooses the
 * bytes.
 */
#include "inside.h"

#include "memory/segment.h"
#include "object/ep.h"
#include "transport/memory_path.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define LENGTH 256u
#define COOKIE 5u

/* What the neighbour passes in place of an honest segment. */
enum bad_segment {
	HONEST,
	UNSEALED,
	ONLY_NO_SHRINK,
	ONLY_NO_GROW,
	TOO_SHORT,
	TOO_LONG,
	NO_MEMORY,
	READ_ONLY,
	BAD_SEGMENTS
};

int __real_dofi_segment_make(const char *label, size_t size, void **memory_p);
int __wrap_dofi_segment_make(const char *label, size_t size, void **memory_p);

static enum bad_segment bad; /* in the neighbour's process */
static int bad_fd = -1;
static struct t_ia ia;
static struct t_end end, honest_end;
static struct t_peer liar, friend;
static uint64_t seed;

/* splitmix64 */
static uint64_t next_random(void)
{
	uint64_t state = seed += 0x9e3779b97f4a7c15u;

	state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9u;
	state = (state ^ state >> 27) * 0x94d049bb133111ebu;
	return state ^ state >> 31;
}

/* --- segments that are none --- */

static size_t bad_size(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (bad == TOO_SHORT)
		return size - page;
	return bad == TOO_LONG ? size + page : size;
}

static int bad_seals(void)
{
	static const int seals[BAD_SEGMENTS] = {
		[ONLY_NO_SHRINK] = F_SEAL_SHRINK | F_SEAL_SEAL,
		[ONLY_NO_GROW] = F_SEAL_GROW | F_SEAL_SEAL,
		[TOO_SHORT] = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL,
		[TOO_LONG] = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL,
		[READ_ONLY] = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL,
	};

	return seals[bad];
}

int __wrap_dofi_segment_make(const char *label, size_t size, void **memory_p)
{
	int fd;

	if (!bad || strcmp(label, "dat-ofi-rings") != 0)
		return __real_dofi_segment_make(label, size, memory_p);
	fd = bad == NO_MEMORY ? fileno(tmpfile())
			      : memfd_create(label, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ck_assert_int_eq(ftruncate(fd, (off_t)bad_size(size)), 0);
	*memory_p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (bad != NO_MEMORY)
		ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, bad_seals()), 0);
	bad_fd = dup(fd);
	return fd;
}

/* --- the neighbours --- */

static void open_side(void)
{
	setenv("DAT_OFI_SAME_HOST", "memory", 1);
	setenv("DAT_OFI_LOG", "off", 1);
	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
}

/* Connected to the survivor; active or passive, as it says. */
static void join_survivor(struct t_peer *self)
{
	struct t_listener listener;
	uint64_t qual;

	open_side();
	for (uint64_t i = 0; i < 4; i++)
		t_ok(t_recv(&end, 0, LENGTH, i, DAT_COMPLETION_DEFAULT_FLAG));
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(self, listener.qual);
	qual = t_peer_hear(self);
	if (qual)
		t_ok(t_connect_data(end.ep, &ia, qual, T_LIMIT_US, NULL, 0));
	else
		t_ok(t_cr_accept(t_next_cr(&listener), end.ep));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
}

/* Sends back what comes. */
static void friend_role(struct t_peer *self)
{
	DAT_EVENT event;

	join_survivor(self);
	t_peer_tell(self, 1);
	for (uint64_t round = 0; t_peer_hear(self); round++) {
		event = t_wait(end.recv_evd);
		ck_assert_int_eq(event.event_number, DAT_DTO_COMPLETION_EVENT);
		t_ok(t_recv(&end, 0, LENGTH, round, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_send(&end, 0, LENGTH, round, DAT_COMPLETION_SUPPRESS_FLAG));
	}
	t_ia_close(&ia);
}

static struct dofi_memory_path *path_of(const struct t_end *of)
{
	return ((struct dofi_ep *)(void *)of->ep)->memory;
}

static void forge_bytes(void *at, size_t size)
{
	uint8_t *to = at;

	for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
		uint64_t word = next_random();

		memcpy(to + i, &word, size - i < sizeof(word) ? size - i : sizeof(word));
	}
}

/* Cells with a right turn, and the rest by chance, half of it near what is right. */
static void forge_cells(struct dofi_memory_path *path)
{
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t number = path->out.cells + i;
		struct dofi_cell_line *line = &path->out.ring->cells[number % DOFI_CELLS];

		forge_bytes(line, sizeof(*line));
		line->cell.kind = (uint8_t)(next_random() % (DOFI_CELL_PLACES + 2));
		line->cell.flags &= 3;
		if (next_random() % 2)
			line->cell.size %= 64;
		if (next_random() % 2)
			line->cell.words[0] %= 2 * T_BUF_SIZE;
		if (next_random() % 2)
			line->cell.words[0] = line->cell.size;
		__atomic_store_n(&line->cell.turn, number + 1, __ATOMIC_RELEASE);
	}
}

static void forge_index(struct dofi_memory_path *path)
{
	forge_bytes(&path->in.ring->taken, sizeof(uint64_t));
}

static void forge_box(struct dofi_memory_path *path)
{
	forge_bytes(path->box, 64);
	path->box->state = DOFI_BOX_ASKED;
}

static void forge_marks(struct dofi_memory_path *path)
{
	forge_bytes(path->segment->marks, sizeof(path->segment->marks));
}

static void forge_all(struct dofi_memory_path *path)
{
	forge_bytes(path->segment, sizeof(*path->segment));
}

static void (*const forgers[])(struct dofi_memory_path *path) = {
	forge_cells, forge_cells, forge_cells, forge_index,
	forge_box,   forge_box,   forge_marks, forge_all,
};
static int forger;

static void liar_role(struct t_peer *self)
{
	struct dofi_memory_path *path;

	join_survivor(self);
	path = path_of(&end);
	t_peer_tell(self, path ? 1 : 2);
	t_peer_hear(self);
	if (path)
		forgers[forger](path);
	t_peer_tell(self, 1);
	t_peer_hear(self);
	_exit(EXIT_SUCCESS);
}

/* Honest but for the segment that it passes. */
static void forger_role(struct t_peer *self)
{
	DAT_EVENT event;

	join_survivor(self);
	t_peer_tell(self, 1);
	event = t_wait(end.recv_evd);
	ck_assert_int_eq(event.event_number, DAT_DTO_COMPLETION_EVENT);
	if (bad_fd >= 0 && !ftruncate(bad_fd, 0))
		t_ok(t_send(&end, 0, LENGTH, 1, DAT_COMPLETION_SUPPRESS_FLAG));
	else
		t_ok(t_send(&end, 0, LENGTH, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, end.ep);
	_exit(EXIT_SUCCESS);
}

/* --- the survivor --- */

/* The survivor connects, or its neighbour does. */
static void meet(struct t_end *with, struct t_peer *peer, bool active)
{
	struct t_listener listener;
	DAT_CONN_QUAL qual = t_peer_hear(peer);

	for (uint64_t i = 0; i < 4; i++)
		t_ok(t_recv(with, 0, LENGTH, i, DAT_COMPLETION_DEFAULT_FLAG));
	if (active) {
		t_peer_tell(peer, 0);
		t_ok(t_connect_data(with->ep, &ia, qual, T_LIMIT_US, NULL, 0));
	} else {
		t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
		t_peer_tell(peer, listener.qual);
		t_ok(t_cr_accept(t_next_cr(&listener), with->ep));
	}
	t_wait_conn(with->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, with->ep);
	if (!active)
		t_listener_free(&listener);
}

static void exchange(uint64_t round)
{
	DAT_EVENT event;

	t_peer_tell(&friend, 1);
	t_fill(honest_end.buf.mem + LENGTH, LENGTH, (unsigned int)round);
	t_ok(t_send(&honest_end, LENGTH, LENGTH, COOKIE, DAT_COMPLETION_SUPPRESS_FLAG));
	event = t_wait(honest_end.recv_evd);
	ck_assert_int_eq(event.event_number, DAT_DTO_COMPLETION_EVENT);
	ck_assert(t_is_filled(honest_end.buf.mem, LENGTH, (unsigned int)round));
	t_ok(t_recv(&honest_end, 0, LENGTH, 0, DAT_COMPLETION_DEFAULT_FLAG));
}

static void setup_survivor(void)
{
	t_peer_start(&friend, friend_role);
	open_side();
	t_end_new(&honest_end, &ia, NULL);
	meet(&honest_end, &friend, true);
	t_peer_hear(&friend);
	exchange(0);
}

static void end_survivor(void)
{
	exchange(99);
	t_peer_tell(&friend, 0);
	t_peer_join(&friend);
	t_ia_close(&ia);
}

/* What the liar can't have: all of the buffer but the receives. */
static bool is_untouched(void)
{
	return t_is_filled(end.buf.mem + LENGTH, T_BUF_SIZE - LENGTH, 1);
}

/* Whatever comes: some sends and polls, until the connection is over or nothing has happened. */
static void endure(void)
{
	uint64_t until = t_now_us() + T_QUIET_US;
	DAT_EVENT event;

	t_send(&end, LENGTH, 64, 1, DAT_COMPLETION_DEFAULT_FLAG);
	while (t_now_us() < until) {
		if (dat_evd_dequeue(end.connect_evd, &event) == DAT_SUCCESS)
			break;
		while (dat_evd_dequeue(end.recv_evd, &event) == DAT_SUCCESS)
			t_recv(&end, 0, LENGTH, 0, DAT_COMPLETION_DEFAULT_FLAG);
		while (dat_evd_dequeue(end.request_evd, &event) == DAT_SUCCESS)
			;
	}
}

static uint64_t seed_of(int i)
{
	const char *text = getenv("T_SEED");

	return ((text ? strtoul(text, NULL, 10) : 1) << 32) + (uint64_t)i;
}

START_TEST(lies_in_shared_memory)
{
	bool by_memory;

	seed = seed_of(_i);
	forger = _i % (int)(sizeof(forgers) / sizeof(forgers[0]));
	t_peer_start(&liar, liar_role);
	setup_survivor();
	meet(&end, &liar, _i / 8 % 2);
	t_fill(end.buf.mem + LENGTH, T_BUF_SIZE - LENGTH, 1);
	by_memory = t_peer_hear(&liar) == 1;
	t_peer_tell(&liar, 1);
	t_peer_hear(&liar);
	endure();
	exchange(1);
	ck_assert(is_untouched());
	t_peer_kill(&liar);
	t_end_free(&end);
	end_survivor();
	if (!by_memory)
		t_skip("connections do not use shared memory");
}
END_TEST

/* The connection uses the fabric, and what becomes of the segment concerns nobody. */
START_TEST(segments_that_are_none)
{
	bad = (enum bad_segment)_i;
	t_peer_start(&liar, forger_role);
	bad = HONEST;
	setup_survivor();
	meet(&end, &liar, true);
	t_peer_hear(&liar);
	ck_assert(_i == HONEST || !path_of(&end));
	t_ok(t_send(&end, LENGTH, LENGTH, COOKIE, DAT_COMPLETION_SUPPRESS_FLAG));
	t_wait_dto(end.recv_evd, end.ep, 0, DAT_DTO_SUCCESS, LENGTH);
	exchange(1);
	t_ok(dat_ep_disconnect(end.ep, DAT_CLOSE_GRACEFUL_FLAG));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, end.ep);
	t_peer_join(&liar);
	end_survivor();
}
END_TEST

int main(void)
{
	const char *lies = getenv("T_LIES");
	long number = lies ? strtol(lies, NULL, 10) : (long)fault_amount(16, 200);
	Suite *suite = suite_create("neighbour");
	TCase *tcase = tcase_create("neighbour");

	fault_use_linked_provider();
	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, lies_in_shared_memory, 0, (int)number);
	tcase_add_loop_test(tcase, segments_that_are_none, 0, BAD_SEGMENTS);
	return t_run(suite);
}
