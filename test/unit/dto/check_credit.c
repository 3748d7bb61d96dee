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
	return t_run(suite);
}
