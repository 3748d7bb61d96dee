/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Credit updates that are written to the peer's credit word: how a sender uses the word, and which
 * peers a receiver writes to.
 */
#include "unit.h"

#include "../../../prov/ofi/dto/credit.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/fabric/quirks.h"
#include "../../../prov/ofi/object/transport.h"
#include "../../../prov/ofi/object/ep.h"

#include <endian.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#define SLOT 3u
#define KEY  0x1234u

static struct dofi_credit_words words[2][SLOT + 1];
static struct dofi_ia ia[2];
static struct dofi_ep ep[2]; /* a receiver, and the sender that it credits to */

/* --- the fabric --- */

static struct {
	unsigned int writes;
	ssize_t answer;
} fabric;

static ssize_t write_credit_word(struct fid_ep *fep, const void *buf, size_t len, void *desc,
				 fi_addr_t dest, uint64_t addr, uint64_t key, void *context)
{
	(void)fep, (void)dest;
	ck_assert_ptr_eq(desc, &fabric);
	ck_assert_ptr_null(context);
	ck_assert_uint_eq(key, KEY);
	ck_assert_uint_eq(len, sizeof(uint32_t));
	ck_assert_uint_eq(addr, (uintptr_t)&words[1][SLOT].in);
	if (fabric.answer)
		return fabric.answer;
	fabric.writes++;
	memcpy(&words[1][SLOT].in, buf, len);
	return 0;
}

static struct fi_ops_rma rma = {.size = sizeof(rma), .write = write_credit_word};
static struct fid_ep endpoint = {.rma = &rma};

/* --- both ends --- */

static void open_end(int i)
{
	ia[i].trans = ep[i].trans = &dofi_trans_msg;
	ia[i].credits = DOFI_CREDITS_WRITTEN;
	ia[i].sink = (struct dofi_sink){.words = words[i], .desc = &fabric};
	dofi_lock_init(&ia[i].engine.stalled_lock);
	dofi_list_init(&ia[i].engine.stalled);
	ep[i].obj.ia = &ia[i];
	ep[i].fep = &endpoint;
	ep[i].scratch = SLOT;
	dofi_lock_init(&ep[i].lock);
	dofi_lock(&ep[i].lock);
}

/* Connects both ends. The handshake tells the sender this number of receives. */
static void connect_ends(uint32_t receives)
{
	ep[0].recv.tail = ep[0].recv.issue += receives;
	for (int i = 0; i < 2; i++)
		ep[i].nsent = 0;
	dofi_credit_start(&ep[1]);
	ep[1].credit_total = dofi_credit_start(&ep[0]);
	ck_assert_uint_eq(ep[1].credit_total, receives);
	ep[1].peer.credits = true;
	ep[0].peer.has_credit_word = true;
	ep[0].peer.sink_address = (uintptr_t)&words[1][SLOT].in;
	ep[0].peer.sink_key = KEY;
	ep[0].path_up = true;
	dofi_credit_open(&ep[0]);
}

static void setup(void)
{
	open_end(0);
	open_end(1);
}

static void post_receives(uint32_t n)
{
	ep[0].recv.tail = ep[0].recv.issue += n;
	dofi_credit_announce(&ep[0]);
}

/* The sender sends as many messages as it has credits, and the receiver gets them. */
static uint32_t send_all(void)
{
	uint32_t n = 0;

	while (!dofi_credit_out(&ep[1]) || dofi_credit_look(&ep[1])) {
		ep[1].nsent++;
		n++;
	}
	ep[0].nreceived += n;
	ep[0].recv.head += n;
	return n;
}

/* --- */

START_TEST(a_sender_reads_its_credit_word)
{
	connect_ends(4);
	ck_assert_uint_eq(send_all(), 4);
	ck_assert(ep[1].stall.waits); /* the sender reads its word again later */
	ck_assert_uint_eq(send_all(), 0);
	post_receives(3);
	ck_assert_uint_eq(fabric.writes, 1);
	ck_assert_uint_eq(send_all(), 3);
	ck_assert_uint_eq(ep[1].credit_total, 7);
	post_receives(1);
	ck_assert_uint_eq(send_all(), 1);
	ck_assert_uint_eq(ep[1].credit_total, 8);
}
END_TEST

START_TEST(messages_carry_no_credits_beside_a_credit_word)
{
	connect_ends(4);
	send_all();
	ep[0].recv.tail = ep[0].recv.issue += 8;
	ck_assert(dofi_credit_urgent(&ep[0]));
	ck_assert(!dofi_credit_due(&ep[0]));
}
END_TEST

/* A peer with many credits need not learn of one more. */
START_TEST(credits_are_written_rarely)
{
	connect_ends(100);
	for (int i = 0; i < 40; i++) {
		ep[1].nsent++;
		ep[0].nreceived++;
		ep[0].recv.head++;
		post_receives(1);
	}
	ck_assert_uint_eq(fabric.writes, 0);
	for (int i = 0; i < 40; i++) {
		ep[1].nsent++;
		ep[0].nreceived++;
		ep[0].recv.head++;
		post_receives(1);
	}
	ck_assert_uint_eq(fabric.writes, 1);
}
END_TEST

START_TEST(a_write_is_repeated_after_eagain)
{
	connect_ends(1);
	send_all();
	fabric.answer = -FI_EAGAIN;
	post_receives(2);
	ck_assert(ep[0].stall.waits);
	ck_assert_uint_eq(send_all(), 0);
	fabric.answer = 0;
	dofi_credit_announce(&ep[0]);
	ck_assert_uint_eq(send_all(), 2);
	dofi_credit_announce(&ep[0]);
	ck_assert_uint_eq(fabric.writes, 1);
}
END_TEST

START_TEST(a_new_connection_resets_the_counts)
{
	connect_ends(1);
	send_all();
	post_receives(50);
	ck_assert_uint_eq(send_all(), 50);
	ep[0].recv.head = ep[0].recv.tail;
	connect_ends(2);
	ck_assert_uint_eq(send_all(), 2);
	ck_assert_uint_eq(ep[1].credit_total, 2);
}
END_TEST

/* After very many messages. */
START_TEST(counts_wrap)
{
	connect_ends(1);
	ep[0].recv_base -= UINT32_MAX;
	ep[0].nreceived = ep[0].announced = ep[1].credit_total = ep[1].nsent = UINT32_MAX;
	atomic_store(&words[1][SLOT].in, UINT32_MAX);
	ck_assert_uint_eq(send_all(), 0);
	post_receives(3);
	ck_assert_uint_eq(be32toh(atomic_load(&words[1][SLOT].in)), 3);
	ck_assert_uint_eq(send_all(), 4);
	ck_assert_uint_eq(ep[1].credit_total, 3);
}
END_TEST

/* They were posted too late for the handshake, and no later post announces them. */
START_TEST(receives_posted_since_the_handshake_are_announced)
{
	connect_ends(0);
	ck_assert(!ep[0].stall.waits);
	ep[0].recv.tail = ep[0].recv.issue += 4;
	dofi_credit_open(&ep[0]);
	ck_assert(ep[0].stall.waits); /* the engine announces it */
	dofi_credit_announce(&ep[0]);
	ck_assert_uint_eq(send_all(), 4);
}
END_TEST

/* A peer that uses other credit updates has no credit word at that address. */
START_TEST(only_peers_with_a_credit_word_get_writes)
{
	connect_ends(1);
	ep[0].peer.has_credit_word = false;
	dofi_credit_open(&ep[0]);
	send_all();
	post_receives(5);
	ck_assert_uint_eq(fabric.writes, 0);
	ck_assert(!dofi_credit_urgent(&ep[0]));
}
END_TEST

static enum dofi_credit_mode way_of(uint64_t quirks, const struct dofi_trans_ops *trans,
				    const char *asked)
{
	struct dofi_ia of = {.quirks = quirks, .trans = trans};

	strcpy(of.params.credits, asked);
	return dofi_credit_choose(&of);
}

START_TEST(each_kind_of_fabric_announces_credits)
{
	const uint64_t infiniband = DOFI_QUIRK_QUEUE_PAIRS,
		       iwarp = DOFI_QUIRK_QUEUE_PAIRS | DOFI_QUIRK_NO_RETRY;

	ck_assert_int_eq(way_of(iwarp, &dofi_trans_msg, ""), DOFI_CREDITS_WRITTEN);
	ck_assert_int_eq(way_of(infiniband, &dofi_trans_msg, ""), DOFI_CREDITS_NONE);
	ck_assert_int_eq(way_of(0, &dofi_trans_msg, ""), DOFI_CREDITS_CARRIED);
	ck_assert_int_eq(way_of(0, &dofi_trans_rdm, ""), DOFI_CREDITS_CARRIED);
	ck_assert_int_eq(way_of(0, &dofi_trans_msg, "write"), DOFI_CREDITS_WRITTEN);
	ck_assert_int_eq(way_of(infiniband, &dofi_trans_msg, "write"), DOFI_CREDITS_WRITTEN);
	ck_assert_int_eq(way_of(0, &dofi_trans_rdm, "write"), DOFI_CREDITS_CARRIED);
}
END_TEST

/* --- other ways --- */

/* The peer of an EP with an SRQ may always send so many messages more. */
START_TEST(an_srq_gives_each_peer_a_share)
{
	ep[0].srq = (struct dofi_srq *)&fabric; /* never dereferenced */
	ep[0].nreceived = 7;                    /* of the former connection */
	ck_assert_uint_eq(dofi_credit_start(&ep[0]), DOFI_CREDIT_SHARE);
	ck_assert_uint_eq(ep[0].announced, DOFI_CREDIT_SHARE);
	ck_assert_uint_eq(ep[0].nreceived, 0);
	ep[0].nreceived = 5;
	ck_assert_uint_eq(dofi_credit_total(&ep[0]), DOFI_CREDIT_SHARE + 5);
}
END_TEST

/* Receives that were posted before count from the head of the ring. */
START_TEST(a_handshake_counts_all_receives_that_are_posted)
{
	ep[0].credit_mode = DOFI_CREDITS_CARRIED;
	ep[0].recv.head = 10;
	ep[0].recv.issue = 11;
	ep[0].recv.tail = 14;
	ck_assert_uint_eq(dofi_credit_start(&ep[0]), 4);
	ck_assert_uint_eq(ep[0].recv_base, 10);
	ck_assert_int_eq(ep[0].credit_mode, DOFI_CREDITS_NONE); /* none before it is established */
	ck_assert_uint_eq(dofi_credit_total(&ep[0]), 4);
}
END_TEST

/* Where credits are not written, the memory has no word for each EP. */
START_TEST(only_a_credit_word_is_cleared)
{
	ia[0].credits = _i ? DOFI_CREDITS_WRITTEN : DOFI_CREDITS_CARRIED;
	for (uint32_t i = 0; i <= SLOT; i++)
		atomic_store(&words[0][i].in, 7);
	dofi_credit_start(&ep[0]);
	for (uint32_t i = 0; i <= SLOT; i++)
		ck_assert_uint_eq(atomic_load(&words[0][i].in), _i && i == SLOT ? 0 : 7);
}
END_TEST

/* In shared memory messages carry the updates, and nothing is read from the credit word. */
START_TEST(a_stream_carries_credits)
{
	connect_ends(1);
	send_all();
	atomic_store(&words[1][SLOT].in, htobe32(5));
	ep[1].streams = ep[0].streams = true;
	ep[1].stall.waits = false;
	dofi_credit_open(&ep[0]);
	ck_assert_int_eq(ep[0].credit_mode, DOFI_CREDITS_CARRIED);
	ck_assert_uint_eq(send_all(), 0);
	ck_assert(!ep[1].stall.waits);
	ep[1].streams = false;
	ia[1].credits = DOFI_CREDITS_CARRIED;
	ck_assert_uint_eq(send_all(), 0);
	ck_assert(!ep[1].stall.waits);
}
END_TEST

/* What the peer knew, how many messages it has sent since, and the receives by now. */
static const struct {
	uint32_t announced, nreceived, issued, total;
	bool due, urgent;
} updates[] = {
	{4, 0, 4, 4, false, false},
	{4, 4, 4, 4, false, false},
	{4, 4, 3, 4, false, false},
	{4, 0, 7, 7, false, false},
	{4, 0, 8, 8, true, false},
	{4, 1, 8, 8, true, false},
	{4, 2, 8, 8, true, true},
	{4, 3, 5, 5, true, false},
	{4, 4, 5, 5, true, true},
	{0, 0, 1, 1, true, true},
	{UINT32_MAX, UINT32_MAX, 1, 1, true, true}, /* they wrap */
	{UINT32_MAX - 2, UINT32_MAX - 4, 0, 0, true, false},
};

/*
 * A message carries an update when the peer has no more credits than the update adds; a separate
 * one is sent at half of that.
 */
START_TEST(when_a_credit_update_is_due)
{
	static const enum dofi_credit_mode modes[] = {DOFI_CREDITS_CARRIED, DOFI_CREDITS_WRITTEN,
						      DOFI_CREDITS_NONE};

	ep[0].announced = updates[_i].announced;
	ep[0].nreceived = updates[_i].nreceived;
	ep[0].recv.issue = updates[_i].issued;
	ck_assert_uint_eq(dofi_credit_total(&ep[0]), updates[_i].total);
	for (int i = 0; i < 3; i++) {
		ep[0].credit_mode = (uint8_t)modes[i];
		ck_assert(dofi_credit_due(&ep[0]) ==
			  (modes[i] == DOFI_CREDITS_CARRIED && updates[_i].due));
		ck_assert(dofi_credit_urgent(&ep[0]) ==
			  (modes[i] != DOFI_CREDITS_NONE && updates[_i].urgent));
	}
}
END_TEST

START_TEST(an_update_has_the_total_and_the_flag)
{
	ep[0].recv.issue = 5;
	for (uint32_t solicited = 0; solicited < 2; solicited++) {
		ep[0].credit_mode = DOFI_CREDITS_NONE;
		ck_assert_uint_eq(dofi_credit_update(&ep[0], solicited), solicited);
		ep[0].credit_mode = DOFI_CREDITS_CARRIED;
		ck_assert_uint_eq(dofi_credit_update(&ep[0], solicited),
				  solicited | DOFI_UPDATE_CREDIT | 5u << DOFI_UPDATE_CREDIT_SHIFT);
	}
}
END_TEST

START_TEST(only_a_peer_with_credits_makes_a_sender_wait)
{
	ep[1].nsent = ep[1].credit_total = 3;
	ck_assert(!dofi_credit_out(&ep[1]));
	ep[1].peer.credits = true;
	ck_assert(dofi_credit_out(&ep[1]));
	ep[1].credit_total = 4;
	ck_assert(!dofi_credit_out(&ep[1]));
}
END_TEST

/* An update that was overtaken by a newer one, and counts that wrap. */
START_TEST(an_update_only_adds)
{
	static const struct {
		uint32_t before, update, after;
	} cases[] = {{5, 7, 7},
		     {7, 5, 7},
		     {7, 7, 7},
		     {0x3ffff, 0x40001, 0x40001},
		     {0x40000, 3, 0x40003},
		     {0x3fffe, 0, 0x40000}};

	ep[1].credit_total = cases[_i].before;
	dofi_credit_take(&ep[1], cases[_i].update << DOFI_UPDATE_CREDIT_SHIFT); /* there is none */
	ck_assert_uint_eq(ep[1].credit_total, cases[_i].before);
	dofi_credit_take(&ep[1], DOFI_UPDATE_CREDIT | cases[_i].update << DOFI_UPDATE_CREDIT_SHIFT);
	ck_assert_uint_eq(ep[1].credit_total, cases[_i].after);
}
END_TEST

/* --- memory that peers write to --- */

static struct fi_domain_attr domain_attr;
static struct fi_info info = {.domain_attr = &domain_attr};
static char memory, descriptor;
static struct fid_mr region = {.mem_desc = &descriptor};
static size_t mapped, abandoned;
static int map_answer;

int __wrap_dofi_mr_map(struct dofi_ia *of, size_t size, size_t extra, DAT_MEM_PRIV_FLAGS privileges,
		       void **memory_p, struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p);
void __wrap_dofi_mr_abandon(struct dofi_ia *of, struct fid_mr *mr, void *mem, size_t size);

int __wrap_dofi_mr_map(struct dofi_ia *of, size_t size, size_t extra, DAT_MEM_PRIV_FLAGS privileges,
		       void **memory_p, struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p)
{
	ck_assert_ptr_eq(of, &ia[0]);
	ck_assert_uint_eq(extra, 0);
	ck_assert_int_eq(privileges,
			 DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	if (map_answer)
		return map_answer;
	mapped = size;
	*memory_p = &memory;
	*mr_p = &region;
	*key_p = KEY;
	*address_p = 0x5000;
	return 0;
}

void __wrap_dofi_mr_abandon(struct dofi_ia *of, struct fid_mr *mr, void *mem, size_t size)
{
	ck_assert_ptr_eq(of, &ia[0]);
	ck_assert_ptr_eq(mr, &region);
	ck_assert_ptr_eq(mem, &memory);
	abandoned = size;
}

/* A word for each EP, or a place that nobody reads. */
START_TEST(an_IA_has_a_target_for_updates)
{
	struct dofi_sink *sink = &ia[0].sink;

	*sink = (struct dofi_sink){0};
	ia[0].info = &info;
	ia[0].limits.max_eps = 1000;
	ia[0].credits = _i & 1 ? DOFI_CREDITS_WRITTEN : DOFI_CREDITS_CARRIED;
	domain_attr.mr_mode = _i & 2 ? FI_MR_LOCAL : 0;
	map_answer = -FI_ENOMEM;
	ck_assert_int_eq(dofi_credit_init(&ia[0]), -FI_ENOMEM);
	ck_assert_ptr_null(sink->words);
	map_answer = 0;
	ck_assert_int_eq(dofi_credit_init(&ia[0]), 0);
	ck_assert_uint_eq(mapped, _i & 1 ? 1000 * sizeof(struct dofi_credit_words) : 4096);
	ck_assert_ptr_eq(sink->words, &memory);
	ck_assert_uint_eq(sink->key, KEY);
	ck_assert_uint_eq(sink->address, 0x5000);
	ck_assert_ptr_eq(sink->desc, _i & 2 ? &descriptor : NULL);
	dofi_credit_fini(&ia[0]);
	ck_assert_uint_eq(abandoned, mapped);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("credit");
	TCase *tcase = tcase_create("credit");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, a_sender_reads_its_credit_word);
	tcase_add_test(tcase, messages_carry_no_credits_beside_a_credit_word);
	tcase_add_test(tcase, credits_are_written_rarely);
	tcase_add_test(tcase, a_write_is_repeated_after_eagain);
	tcase_add_test(tcase, a_new_connection_resets_the_counts);
	tcase_add_test(tcase, counts_wrap);
	tcase_add_test(tcase, receives_posted_since_the_handshake_are_announced);
	tcase_add_test(tcase, only_peers_with_a_credit_word_get_writes);
	tcase_add_test(tcase, each_kind_of_fabric_announces_credits);
	tcase_add_test(tcase, an_srq_gives_each_peer_a_share);
	tcase_add_test(tcase, a_handshake_counts_all_receives_that_are_posted);
	tcase_add_loop_test(tcase, only_a_credit_word_is_cleared, 0, 2);
	tcase_add_test(tcase, a_stream_carries_credits);
	tcase_add_loop_test(tcase, when_a_credit_update_is_due, 0,
			    sizeof(updates) / sizeof(updates[0]));
	tcase_add_test(tcase, an_update_has_the_total_and_the_flag);
	tcase_add_test(tcase, only_a_peer_with_credits_makes_a_sender_wait);
	tcase_add_loop_test(tcase, an_update_only_adds, 0, 6);
	tcase_add_loop_test(tcase, an_IA_has_a_target_for_updates, 0, 4);
	return t_run(suite);
}
