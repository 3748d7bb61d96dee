/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tests of the software EFA device: two processes use libfabric's efa provider, without DAT. Each
 * case runs for each class of card, in order and shuffled.
 */
#include "../fabric/side.h"
#include "unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define WAIT_MS 60000
#define MANY    200

static const struct {
	const char *part, *seed;
} cards[] = {{"0xefa0", "0"}, {"0xefa1", "0"}, {"0xefa2", "0"},
	     {"0xefa0", "7"}, {"0xefa1", "7"}, {"0xefa2", "7"}};
enum { NCARDS = 6, FIRST_READ = 1 };

static struct t_side side; /* of this process */
static struct fid_eq *eq;
static struct fi_context2 ctx[MANY];
static int wire = -1; /* to the other process */
static pid_t child;   /* 0 in the child */
static struct {
	char name[64];
	size_t size;
	uint64_t base, key;
} peer;

/* --- begin and end of a case --- */

static int is_class(int card, unsigned int part)
{
	return strtoul(cards[card].part, NULL, 16) >= part;
}

/* Below 1.18 the provider emulates writes on every card. */
static int has_device_write(int card)
{
	return is_class(card, 0xefa2) && FI_VERSION_GE(fi_version(), FI_VERSION(1, 18));
}

static void use_card(int card)
{
	setenv("SOFTEFA_PART", cards[card].part, 1);
	setenv("SOFTEFA_SEED", cards[card].seed, 1);
	setenv("FI_EFA_ENABLE_SHM_TRANSFER", "0", 1);
	setenv("FI_EFA_USE_DEVICE_RDMA", is_class(card, 0xefa1) ? "1" : "0", 1);
}

static struct fi_info *info_of_device(void)
{
	struct fi_info *hints = t_hints("efa", NULL), *info = NULL;
	int ret;

	hints->fabric_attr->name = strdup("efa"); /* not efa-direct */
	ret = fi_getinfo(fi_version(), NULL, NULL, 0, hints, &info);
	fi_freeinfo(hints);
	return ret ? NULL : info;
}

static void open_side(void)
{
	struct fi_eq_attr attr = {.wait_obj = FI_WAIT_NONE};
	struct fi_info *info = info_of_device();

	t_need(info ? 0 : -FI_ENODATA, "fi_getinfo");
	t_side_open(&side, info, FI_WAIT_NONE, 0);
	/* For errors that belong to no operation; without this queue the provider aborts. */
	t_need(fi_eq_open(side.fabric, &attr, &eq, NULL), "fi_eq_open");
	t_need(fi_ep_bind(side.ep, &eq->fid, 0), "fi_ep_bind");
	t_side_enable(&side);
}

static void tell(const void *data, size_t size)
{
	t_need(send(wire, data, size, MSG_NOSIGNAL) == (ssize_t)size ? 0 : -FI_EOTHER, "send");
}

static void hear(void *data, size_t size)
{
	t_need(recv(wire, data, size, MSG_WAITALL) == (ssize_t)size ? 0 : -FI_EOTHER, "recv");
}

static fi_addr_t insert(const void *name)
{
	fi_addr_t addr;

	if (fi_av_insert(side.av, name, 1, &addr, 0, NULL) != 1)
		t_need(-FI_EADDRNOTAVAIL, "fi_av_insert");
	return addr;
}

static void meet(void)
{
	size_t size = sizeof(peer.name);

	t_need(fi_getname(&side.ep->fid, peer.name, &size), "fi_getname");
	peer.base = side.base;
	peer.key = fi_mr_key(side.mr);
	tell(&peer, sizeof(peer));
	hear(&peer, sizeof(peer));
	side.peer = insert(peer.name);
}

/* A barrier of both processes. A process that waits makes progress. */
static void sync_with_peer(void)
{
	struct pollfd fd = {.fd = wire, .events = POLLIN};
	char mark = 's';

	tell(&mark, 1);
	while (poll(&fd, 1, 0) == 0)
		t_side_poll(&side);
	hear(&mark, 1);
}

static void end_side(void)
{
	t_need(fi_close(&side.mr->fid), "fi_close of the registration");
	side.mr = NULL;
	t_need(fi_close(&side.ep->fid), "fi_close of the endpoint");
	t_need(fi_close(&eq->fid), "fi_close of the event queue");
	t_need(fi_close(&side.cq->fid), "fi_close of the queue");
	t_need(fi_close(&side.av->fid), "fi_close of the vector");
	t_need(fi_close(&side.domain->fid), "fi_close of the domain");
	t_need(fi_close(&side.fabric->fid), "fi_close of the fabric");
	fi_freeinfo(side.info);
	free(side.mem);
}

/* Starts another process, which runs `other` and exits. */
static void start_peer(void (*other)(int card), int card)
{
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	close(ends[child ? 1 : 0]);
	wire = ends[child ? 0 : 1];
	if (child)
		return;
	other(card);
	_exit(EXIT_SUCCESS);
}

static void reap_peer(void)
{
	int status;

	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(WIFEXITED(status) && !WEXITSTATUS(status), "the peer ended with %#x", status);
}

/* Runs both halves of a case. Each ends when the other one has finished. */
static void both(int card, void (*mine)(int card), void (*other)(int card))
{
	use_card(card);
	start_peer(other, card);
	open_side();
	meet();
	mine(card);
	sync_with_peer();
	end_side();
	reap_peer();
}

static void as_peer(int card, void (*half)(int card))
{
	open_side();
	meet();
	half(card);
	sync_with_peer();
	end_side();
}

/* --- completions --- */

static const struct t_seen *next(void)
{
	const struct t_seen *seen = t_side_next(&side, &side, WAIT_MS);

	t_need(seen ? 0 : -FI_ETIMEDOUT, "a completion");
	return seen;
}

static void expect(int count)
{
	while (count--)
		t_need(-next()->err, "a request");
}

static void expect_error(void)
{
	const struct t_seen *seen = next();

	ck_assert_msg(seen->err, "it succeeded");
}

/* Repeats the post until the provider accepts it. The completion is counted later. */
#define POST(call)                                    \
	do {                                          \
		ssize_t ret_;                         \
		while ((ret_ = (call)) == -FI_EAGAIN) \
			t_side_poll(&side);           \
		t_need(ret_, #call);                  \
	} while (0)

static void post_send(size_t length)
{
	POST(fi_send(side.ep, side.mem, length, fi_mr_desc(side.mr), side.peer, &ctx[0]));
}

static void post_recv(size_t at, size_t length, int i)
{
	POST(fi_recv(side.ep, side.mem + at, length, fi_mr_desc(side.mr), FI_ADDR_UNSPEC, &ctx[i]));
}

static void post_write(size_t length, uint64_t key)
{
	POST(fi_write(side.ep, side.mem, length, fi_mr_desc(side.mr), side.peer, peer.base, key,
		      &ctx[0]));
}

static void post_read(size_t length, uint64_t key)
{
	POST(fi_read(side.ep, side.mem, length, fi_mr_desc(side.mr), side.peer, peer.base, key,
		     &ctx[0]));
}

static void fill(char first, size_t length)
{
	for (size_t i = 0; i < length; i++)
		side.mem[i] = (char)(first + i * 7 + (i >> 8));
}

static void compare(char first, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (side.mem[i] != (char)(first + i * 7 + (i >> 8))) {
			fprintf(stderr, "byte %zu of %zu differs\n", i, length);
			t_need(-FI_EIO, "the data");
		}
}

/* Below the eager limit, in several packets, and as long messages. */
static const size_t sizes[] = {1, 8, 4096, 20000, 200000, 1000000};
enum { NSIZES = 6 };

/* --- messages --- */

static void send_all(int card)
{
	(void)card;
	for (int i = 0; i < NSIZES; i++) {
		sync_with_peer();
		fill((char)i, sizes[i]);
		post_send(sizes[i]);
		expect(1);
		sync_with_peer();
	}
}

static void receive_all(int card)
{
	(void)card;
	for (int i = 0; i < NSIZES; i++) {
		const struct t_seen *seen;

		memset(side.mem, 0, SIDE_MEM);
		post_recv(0, SIDE_MEM, 0);
		sync_with_peer();
		seen = next();
		t_need(-seen->err, "the receive");
		t_need(seen->len == sizes[i] ? 0 : -FI_EMSGSIZE, "the length");
		compare((char)i, sizes[i]);
		sync_with_peer();
	}
}

static void peer_receives(int card)
{
	as_peer(card, receive_all);
}

START_TEST(messages)
{
	both(_i, send_all, peer_receives);
}
END_TEST

static void send_tagged(int card)
{
	(void)card;
	for (uint64_t i = 0; i < MANY; i++)
		t_side_send(&side, &side, i * 64, 64, i, 0, &ctx[i]);
	expect(MANY);
}

/*
 * Posts receives in reverse order of the tags. Each message must arrive in the buffer of its tag.
 */
static void receive_tagged(int card)
{
	(void)card;
	for (uint64_t i = MANY; i-- > 0;)
		t_side_recv(&side, &side, i * 64, 64, i, &ctx[i]);
	expect(MANY);
	compare(3, (size_t)MANY * 64);
}

static void peer_receives_tagged(int card)
{
	as_peer(card, receive_tagged);
}

static void fill_and_send_tagged(int card)
{
	fill(3, (size_t)MANY * 64);
	send_tagged(card);
}

START_TEST(tagged)
{
	both(_i, fill_and_send_tagged, peer_receives_tagged);
}
END_TEST

/* A card that is not shuffled keeps the order of one pair; the provider restores it with a seed. */
static void receive_in_order(int card)
{
	(void)card;
	for (int i = 0; i < MANY; i++)
		post_recv((size_t)i * 64, 64, i);
	sync_with_peer();
	for (int i = 0; i < MANY; i++) {
		const struct t_seen *seen = next();

		t_need(-seen->err, "the receive");
		t_need(seen->context == &ctx[i] ? 0 : -FI_EOTHER, "the order of the queue");
	}
	for (int i = 0; i < MANY; i++)
		t_need(side.mem[i * 64] == (char)i ? 0 : -FI_EOTHER, "the order of the messages");
}

static void send_in_order(int card)
{
	(void)card;
	sync_with_peer();
	for (int i = 0; i < MANY; i++) {
		char byte = (char)i;

		POST(fi_inject(side.ep, &byte, 1, side.peer));
	}
}

static void peer_receives_in_order(int card)
{
	as_peer(card, receive_in_order);
}

START_TEST(order)
{
	both(_i, send_in_order, peer_receives_in_order);
}
END_TEST

/* --- RMA --- */

static void write_and_read(int card)
{
	(void)card;
	for (int i = 0; i < NSIZES; i++) {
		fill((char)(i + 50), sizes[i]);
		post_write(sizes[i], peer.key);
		expect(1);
		sync_with_peer();
		sync_with_peer();
		memset(side.mem, 0, SIDE_MEM);
		post_read(sizes[i], peer.key);
		expect(1);
		compare((char)(i + 90), sizes[i]);
		sync_with_peer();
	}
}

/* With emulated writes, the writer's completion may come before the last piece is in memory. */
static void be_written(int card)
{
	(void)card;
	for (int i = 0; i < NSIZES; i++) {
		sync_with_peer();
		for (volatile char *last = side.mem + sizes[i] - 1;
		     *last != (char)(i + 50 + (sizes[i] - 1) * 7 + ((sizes[i] - 1) >> 8));)
			t_side_poll(&side);
		compare((char)(i + 50), sizes[i]);
		fill((char)(i + 90), sizes[i]);
		sync_with_peer();
		sync_with_peer();
	}
}

static void peer_is_written(int card)
{
	as_peer(card, be_written);
}

START_TEST(rma)
{
	both(_i, write_and_read, peer_is_written);
}
END_TEST

static void write_data(int card)
{
	(void)card;
	for (uint64_t i = 0; i < MANY; i++) {
		POST(fi_writedata(side.ep, side.mem, 8, fi_mr_desc(side.mr), i, side.peer,
				  peer.base, peer.key, &ctx[i]));
	}
	expect(MANY);
}

static void receive_data(int card)
{
	uint64_t sum = 0;

	(void)card;
	for (int i = 0; i < MANY; i++) {
		const struct t_seen *seen = next();

		t_need(-seen->err, "a write with data");
		t_need(seen->flags & FI_REMOTE_CQ_DATA ? 0 : -FI_EOTHER, "its flags");
		sum += seen->data;
	}
	t_need(sum == (uint64_t)MANY * (MANY - 1) / 2 ? 0 : -FI_EOTHER, "the sum of the data");
}

static void peer_receives_data(int card)
{
	as_peer(card, receive_data);
}

START_TEST(immediate_data)
{
	both(_i, write_data, peer_receives_data);
}
END_TEST

static void wait_for_peer(int card)
{
	(void)card;
}

static void peer_waits(int card)
{
	as_peer(card, wait_for_peer);
}

/* --- faults --- */

/* Sends more messages than the receiver has buffers, while the receiver reads none. */
static void flood(int card)
{
	(void)card;
	for (int i = 0; i < MANY; i++)
		POST(fi_inject(side.ep, side.mem, 8, side.peer));
	tell("!", 1);
}

static void be_flooded(int card)
{
	char mark;

	(void)card;
	t_side_poll(&side); /* posts the provider's buffers */
	hear(&mark, 1);
	for (int i = 0; i < MANY; i++)
		post_recv(0, 64, i);
	expect(MANY);
}

static void peer_is_flooded(int card)
{
	as_peer(card, be_flooded);
}

START_TEST(receiver_not_ready)
{
	setenv("SOFTEFA_MAX_RQ_WR", "96", 1);
	both(_i, flood, peer_is_flooded);
}
END_TEST

/*
 * After these messages each side knows the capabilities of the other, and the provider uses RDMA of
 * the card.
 */
static void greet(int card)
{
	(void)card;
	post_recv(SIDE_MEM - 64, 64, 1);
	if (!child)
		expect(1);
	post_send(8);
	expect(child ? 2 : 1);
}

static void peer_greets(int card)
{
	as_peer(card, greet);
}

/* Only with RDMA of the card. The provider itself checks keys of emulated RMA. */
static void use_bad_key(int card)
{
	greet(card);
	fill(1, 4096);
	post_read(4096, peer.key ^ 0x10000);
	expect_error();
	compare(1, 4096);
	if (!has_device_write(card))
		return;
	post_write(4096, peer.key ^ 0x10000);
	expect_error();
}

START_TEST(bad_key)
{
	if (!is_class(_i, 0xefa1))
		return;
	both(_i, use_bad_key, peer_greets);
}
END_TEST

/* A queue pair and a host that do not exist. In an address the QP number follows the GID. */
static void use_bad_address(int card)
{
	char name[sizeof(peer.name)];
	fi_addr_t addr;

	(void)card;
	memcpy(name, peer.name, sizeof(name));
	name[16] = (char)(name[16] ^ 0x20);
	addr = insert(name);
	POST(fi_send(side.ep, side.mem, 8, fi_mr_desc(side.mr), addr, &ctx[0]));
	expect_error();
	memcpy(name, peer.name, sizeof(name));
	name[15] = 5;
	addr = insert(name);
	POST(fi_send(side.ep, side.mem, 8, fi_mr_desc(side.mr), addr, &ctx[0]));
	expect_error();
}

START_TEST(bad_address)
{
	both(_i, use_bad_address, peer_waits);
}
END_TEST

static void peer_waits_to_be_killed(int card)
{
	open_side();
	fill(1, 100000);
	meet();
	greet(card);
	for (;;)
		t_side_poll(&side);
}

START_TEST(death_of_the_peer)
{
	use_card(_i);
	start_peer(peer_waits_to_be_killed, _i);
	open_side();
	meet();
	greet(_i);
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	post_send(8);
	expect_error();
	end_side();
}
END_TEST

START_TEST(silence_of_the_peer)
{
	int (*set_silent)(pid_t, int);

	*(void **)&set_silent = dlsym(RTLD_DEFAULT, "softefa_set_silent");
	ck_assert_ptr_nonnull(set_silent);
	setenv("SOFTEFA_UNRESPONSIVE_MS", "100", 1);
	use_card(_i);
	start_peer(peer_waits_to_be_killed, _i);
	open_side();
	meet();
	greet(_i);
	ck_assert_int_eq(set_silent(child, 1), 0);
	post_send(8);
	expect_error();
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	end_side();
}
END_TEST

/* The card reads and writes memory of a process that does not run. */
START_TEST(stopped_peer_is_reached)
{
	int status;

	use_card(_i);
	start_peer(peer_waits_to_be_killed, _i);
	open_side();
	meet();
	greet(_i);
	kill(child, SIGSTOP);
	ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
	ck_assert(WIFSTOPPED(status));
	fill(9, 100000);
	if (has_device_write(_i)) {
		post_write(100000, peer.key);
		expect(1);
		fill(0, 100000);
	}
	post_read(100000, peer.key);
	expect(1);
	compare(has_device_write(_i) ? 9 : 1, 100000);
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	end_side();
}
END_TEST

static void write_without_end(int card)
{
	open_side();
	meet();
	(void)card;
	for (int i = 0;; i++) {
		if (i % 3)
			post_write(3000, peer.key);
		else
			POST(fi_inject(side.ep, side.mem, 8, side.peer));
		t_side_poll(&side);
	}
}

/* A process dies at any point, and the device still works for the others. */
START_TEST(killed_at_any_point)
{
	if (!is_class(_i, 0xefa2))
		return;
	use_card(_i);
	for (unsigned int i = 0; i < 25; i++) {
		start_peer(write_without_end, _i);
		if (i == 0)
			open_side();
		meet();
		for (unsigned int n = 0; n < 20 + i * 13; n++)
			t_side_poll(&side);
		kill(child, SIGKILL);
		ck_assert_int_eq(waitpid(child, NULL, 0), child);
		close(wire);
	}
	end_side();
	both(_i, send_all, peer_receives);
}
END_TEST

/* Another host: its address differs, and the provider does not take the peer for local. */
static void check_host(int card)
{
	char name[64];
	size_t size = sizeof(name);

	send_all(card);
	t_need(fi_getname(&side.ep->fid, name, &size), "fi_getname");
	ck_assert_int_ne(memcmp(name, peer.name, 16), 0);
}

static void peer_on_second_host(int card)
{
	setenv("SOFTEFA_HOST", "1", 1);
	as_peer(card, receive_all);
}

START_TEST(two_hosts)
{
	both(_i, check_host, peer_on_second_host);
}
END_TEST

/* --- effects of a seed --- */

#define BLOCKS 512
#define BLOCK  128

/* How many blocks have arrived while the block before is missing. */
static unsigned int gaps(char value)
{
	unsigned int count = 0;
	int is_missing = 0;

	for (size_t i = 0; i < BLOCKS; i++) {
		atomic_signal_fence(memory_order_seq_cst);
		if (((volatile char *)side.mem)[i * BLOCK] != value)
			is_missing = 1;
		else
			count += (unsigned int)is_missing;
	}
	return count;
}

static void watch_writes(int card)
{
	unsigned int seen = 0;

	for (char round = 1; round <= 40; round++) {
		tell(&round, 1);
		while (((volatile char *)side.mem)[BLOCKS * BLOCK - 1] != round ||
		       ((volatile char *)side.mem)[0] != round) {
			seen += gaps(round);
			t_side_poll(&side);
		}
	}
	t_need(seen ? 0 : -FI_EOTHER, "pieces out of order");
	(void)card;
}

static void write_rounds(int card)
{
	char round;

	(void)card;
	for (int i = 1; i <= 40; i++) {
		hear(&round, 1);
		memset(side.mem, round, (size_t)BLOCKS * BLOCK);
		post_write((size_t)BLOCKS * BLOCK, peer.key);
		expect(1);
	}
}

static void peer_watches(int card)
{
	as_peer(card, watch_writes);
}

START_TEST(pieces_come_in_any_order)
{
	setenv("SOFTEFA_PIECE_MAX", "512", 1);
	both(NCARDS - 1, write_rounds, peer_watches);
}
END_TEST

/* --- limits --- */

START_TEST(limit_of_regions)
{
	struct fid_mr *regions[64];
	int n = 0, ret = 0;

	setenv("SOFTEFA_MAX_MR", "20", 1);
	setenv("FI_EFA_MR_CACHE_ENABLE", "0", 1); /* all of it is in a region that is there */
	use_card(2);
	open_side();
	while (n < 64 && !ret) {
		ret = fi_mr_reg(side.domain, side.mem + n * 4096, 4096, FI_REMOTE_WRITE, 0, 0, 0,
				&regions[n], NULL);
		n += !ret;
	}
	ck_assert_int_lt(n, 20);
	ck_assert_int_eq(ret, -FI_ENOMEM);
	while (n)
		t_need(fi_close(&regions[--n]->fid), "fi_close");
	end_side();
}
END_TEST

START_TEST(limit_of_queue_pairs)
{
	struct fi_info *info;

	setenv("SOFTEFA_MAX_QP", "2", 1); /* numbers from 1 up to 1 */
	use_card(2);
	open_side();
	info = info_of_device();
	ck_assert_ptr_nonnull(info);
	if (!fi_endpoint(side.domain, info, &side.ep, NULL)) {
		ck_assert_int_eq(fi_ep_bind(side.ep, &side.cq->fid, FI_TRANSMIT | FI_RECV), 0);
		ck_assert_int_ne(fi_enable(side.ep), 0);
	}
}
END_TEST

/* --- */

static void add(Suite *suite, const char *name, const TTest *test, int from, int to)
{
	TCase *tc = tcase_create(name);

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, test, from, to);
	suite_add_tcase(suite, tc);
}

static Suite *efa_suite(void)
{
	Suite *suite = suite_create("efa");

	add(suite, "messages", messages, 0, NCARDS);
	add(suite, "tagged", tagged, 0, NCARDS);
	add(suite, "order", order, 0, NCARDS);
	add(suite, "rma", rma, 0, NCARDS);
	add(suite, "immediate", immediate_data, 0, NCARDS);
	add(suite, "rnr", receiver_not_ready, 1, NCARDS);
	add(suite, "bad_key", bad_key, FIRST_READ, 3);
	add(suite, "bad_address", bad_address, 0, NCARDS);
	add(suite, "death", death_of_the_peer, 0, NCARDS);
	add(suite, "silence", silence_of_the_peer, 1, 3);
	add(suite, "stopped", stopped_peer_is_reached, FIRST_READ, 3);
	add(suite, "killed", killed_at_any_point, 2, 3);
	add(suite, "hosts", two_hosts, 0, NCARDS);
	add(suite, "pieces", pieces_come_in_any_order, 0, 1);
	add(suite, "regions", limit_of_regions, 0, 1);
	add(suite, "queue_pairs", limit_of_queue_pairs, 0, 1);
	return suite;
}

/* Starts the program again with the device preloaded. */
static void find_device(char *program)
{
	const char *top = getenv("top_srcdir");
	char script[4096];

	if (getenv("SOFTEFA_FILE"))
		return;
	snprintf(script, sizeof(script), "%s/test/efa/run", top ? top : ".");
	execl(script, script, "-n", "2", program, (char *)NULL);
	printf("1..0 # SKIP %s: %s\n", script, strerror(errno));
	exit(EXIT_SUCCESS);
}

/* Runs in a process of its own, so that libfabric is not initialised before each case. */
static int has_provider(void)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(info_of_device() ? 0 : 1);
	return waitpid(pid, &status, 0) == pid && !status;
}

int main(int argc, char **argv)
{
	(void)argc;
	find_device(argv[0]);
	if (!has_provider()) {
		printf("1..0 # SKIP this libfabric has no efa provider\n");
		return EXIT_SUCCESS;
	}
	return t_run(efa_suite());
}
