/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Datagrams that arrive: where their bytes lie, which of them are dropped, and receives of the
 * library that the fabric refuses.
 */
#include "../../../prov/ofi/dto/credit.h"
#include "../../../prov/ofi/dto/ring.h"
#include "../../../prov/ofi/dto/ud_pool.h"
#include "ud_world.h"

/* The first bytes of the segments are for a header, which the library leaves alone. */
START_TEST(a_datagram_lies_behind_the_header_in_the_segments)
{
	static const struct {
		size_t lengths[3], datagram;
	} cases[] = {{{DOFI_UD_HEADER, 5, 9}, 14},     {{DOFI_UD_HEADER + 3, 1, 9}, 13},
		     {{DOFI_UD_HEADER - 1, 1, 8}, 8},  {{1, DOFI_UD_HEADER, 20}, 21},
		     {{1, DOFI_UD_HEADER, 20}, 1},     {{10, 10, DOFI_UD_HEADER}, 20},
		     {{DOFI_UD_HEADER + 8, 8, 8}, 20}, {{DOFI_UD_HEADER, 5, 9}, 0}};
	static char room[512];
	struct dofi_wr *wr;
	char expected[sizeof(room)], text[] = "abcdefghijklmnopqrstuvwxyz";
	size_t at = 0, length = 0, next = 0;

	dofi_ring_fini(&eps[0].recv);
	ck_assert_int_eq(dofi_ring_init(&ia, &eps[0].recv, 4, 3), 0);
	open_eps();
	post_receive(&eps[0], NULL, 0);
	wr = dofi_ring_at(&eps[0].recv, 0);
	wr->niov = 3;
	for (int i = 0; i < 3; i++) {
		wr->iov[i] = (struct iovec){room + at, cases[_i].lengths[i]};
		length += cases[_i].lengths[i];
		at += cases[_i].lengths[i] + 32; /* they are apart */
	}
	wr->length = length;
	memset(room, '.', sizeof(room));
	memset(expected, '.', sizeof(expected));
	text[cases[_i].datagram] = '\0';
	for (int i = 0; i < 3; i++)
		for (size_t k = 0; k < cases[_i].lengths[i]; k++, next++)
			if (next >= DOFI_UD_HEADER && next - DOFI_UD_HEADER < cases[_i].datagram)
				expected[(char *)wr->iov[i].iov_base - room + (ptrdiff_t)k] =
					text[next - DOFI_UD_HEADER];
	arrive(eps[0].ud->number, text, 0);
	ck_assert_uint_eq(next_event().status, DAT_DTO_SUCCESS);
	ck_assert_mem_eq(room, expected, sizeof(room));
	ck_assert_uint_eq(eps[0].counters[DOFI_CNT_EP_RECV_UD], 1);
	ck_assert_uint_eq(eps[0].counters[DOFI_CNT_EP_RECV_UD_DATA],
			  DOFI_UD_HEADER + cases[_i].datagram);
}
END_TEST

/* The receive fails, and the EP goes on. */
START_TEST(a_datagram_that_does_not_fit)
{
	char memory[DOFI_UD_HEADER + 8] = {0};
	struct dofi_event event;

	open_eps();
	post_receive(&eps[0], memory, DOFI_UD_HEADER + 4);
	post_receive(&eps[0], memory, DOFI_UD_HEADER + 5);
	arrive(eps[0].ud->number, "hello", 0);
	event = next_event();
	ck_assert_uint_eq(event.status, DAT_DTO_ERR_LOCAL_LENGTH);
	ck_assert_uint_eq(event.dto.length, DOFI_UD_HEADER + 5);
	ck_assert_int_eq(memory[DOFI_UD_HEADER], 0);
	arrive(eps[0].ud->number, "world", 0);
	ck_assert_uint_eq(next_event().status, DAT_DTO_SUCCESS);
	ck_assert_mem_eq(memory + DOFI_UD_HEADER, "world", 5);
	ck_assert(!eps[0].faulty);
}
END_TEST

/* Its memory region has ended, for example. */
START_TEST(a_receive_that_can_only_fail_gets_no_bytes)
{
	char memory[64] = {0};

	open_eps();
	post_receive(&eps[0], memory, sizeof(memory));
	dofi_ring_at(&eps[0].recv, 0)->status = DAT_DTO_ERR_LOCAL_PROTECTION;
	arrive(eps[0].ud->number, "hello", 0);
	ck_assert_uint_eq(next_event().status, DAT_DTO_ERR_LOCAL_PROTECTION);
	ck_assert_int_eq(memory[DOFI_UD_HEADER], 0);
}
END_TEST

START_TEST(a_datagram_may_be_solicited)
{
	char memory[64];

	open_eps();
	for (uint32_t i = 0; i < 2; i++) {
		post_receive(&eps[0], memory, sizeof(memory));
		arrive(eps[0].ud->number | (i ? DOFI_UD_SOLICITED : 0), "hello", 0);
		ck_assert(dofi_ring_at(&eps[0].recv, i)->recv.solicited == (i == 1));
	}
}
END_TEST

/* The buffers are those of the endpoint, which is closed. */
START_TEST(a_receive_without_an_endpoint_is_not_posted_again)
{
	open_eps();
	ia.shared_ep = NULL;
	arrive(0, "late", FI_ECANCELED);
	ck_assert_int_eq(fabric.receives, POSTED - 1);
}
END_TEST

START_TEST(datagrams_without_a_receive_are_dropped)
{
	char memory[64];

	open_eps();
	arrive(eps[0].ud->number, "old", 0);
	ck_assert_uint_eq(eps[0].counters[DOFI_CNT_EP_UD_DROPPED], 1);
	post_receive(&eps[0], memory, sizeof(memory));
	ck_assert_uint_eq(dofi_evd_queued(&evd), 0);
	arrive(eps[0].ud->number, "new", 0);
	ck_assert_uint_eq(next_event().status, DAT_DTO_SUCCESS);
	ck_assert_mem_eq(memory + DOFI_UD_HEADER, "new", 3);
	ck_assert_int_eq(fabric.receives, POSTED);
}
END_TEST

/* For an unknown EP, a freed EP, or a failed receive: dropped, and the buffer is posted again. */
START_TEST(datagrams_for_unknown_endpoints_are_dropped)
{
	char memory[64];

	open_eps();
	post_receive(&eps[0], memory, sizeof(memory));
	arrive(eps[0].ud->number ^ 1u << 20, "late", 0); /* the same place, another number */
	arrive(eps[0].ud->number ^ 3u << 20, "late", 0);
	arrive(eps[0].ud->number, "cut", FI_ETRUNC);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 0);
	ck_assert_uint_eq(eps[0].counters[DOFI_CNT_EP_UD_DROPPED], 0);
	ck_assert_uint_eq(ia.counters[DOFI_CNT_IA_DATA_STRAY], 2);
	ck_assert_int_eq(fabric.receives, POSTED);
}
END_TEST

START_TEST(receives_refused_by_eagain_are_posted_later)
{
	fabric.room = 3;
	open_eps();
	ck_assert_int_eq(fabric.receives, 3);
	ck_assert_uint_eq(atomic_load(&ia.engine.restless),
			  1); /* no event tells when there is room */
	fabric.room = 2;
	dofi_ud_pool_retry(&ia);
	ck_assert_int_eq(fabric.receives, 5);
	ck_assert_uint_eq(atomic_load(&ia.engine.restless), 1);
	fabric.room = POSTED;
	dofi_ud_pool_retry(&ia);
	ck_assert_int_eq(fabric.receives, POSTED);
	ck_assert_uint_eq(atomic_load(&ia.engine.restless), 0);
	/* each of them once, in order, with its own buffer */
	for (int i = 1; i < POSTED; i++) {
		ck_assert_ptr_eq(fabric.wr[i],
				 (char *)fabric.wr[0] + (size_t)i * sizeof(struct dofi_own_wr));
		ck_assert_ptr_eq(fabric.buffer[i],
				 (char *)fabric.buffer[0] + (size_t)i * DOFI_UD_LONGEST);
	}
}
END_TEST

/* It is lost, as datagrams may be: the EP goes on. */
START_TEST(a_datagram_without_room_on_the_evd)
{
	char memory[64];

	open_eps();
	evd.tail = evd.head + evd.qlen;
	dofi_evd_publish_count(&evd);
	post_receive(&eps[1], memory, sizeof(memory));
	arrive(eps[1].ud->number, "hello", 0);
	ck_assert(!eps[1].faulty);
	ck_assert_uint_eq(dofi_evd_queued(&evd), evd.qlen);
}
END_TEST

START_TEST(receives_that_the_fabric_refuses_are_reported)
{
	int fd = t_capture(STDERR_FILENO);

	fabric.receive_answer = -FI_EIO;
	open_eps();
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "some will be lost"));
	ck_assert_uint_eq(ia.engine.restless, 1);
	fabric.receive_answer = 0;
	dofi_ud_pool_retry(&ia);
	ck_assert_int_eq(fabric.receives, POSTED);
	ck_assert_uint_eq(ia.engine.restless, 0);
}
END_TEST

static void mark_arrives(uint32_t number, uint32_t secret, size_t size)
{
	struct dofi_ctrl_credit credit = {number, secret, 42};
	struct dofi_wr *wr = fabric.wr[--fabric.receives];

	memcpy(fabric.buffer[fabric.receives], &credit, sizeof(credit));
	fabric.room++;
	dofi_ud_pool_done(&ia, wr, 0, size, 0);
}

START_TEST(a_mark_is_for_a_connection)
{
	open_eps();
	mark_arrives(5, 6, sizeof(struct dofi_ctrl_credit));
	ck_assert_uint_eq(fabric.arrived, 42);
	ck_assert_uint_eq(ia.counters[DOFI_CNT_IA_DATA_STRAY], 0);
	fabric.arrived = 0;
	mark_arrives(5, 7, sizeof(struct dofi_ctrl_credit));
	mark_arrives(5, 6, sizeof(struct dofi_ctrl_credit) - 1);
	mark_arrives(5, 6, sizeof(struct dofi_ctrl_credit) + 1);
	ck_assert_uint_eq(fabric.arrived, 0);
	ck_assert_uint_eq(ia.counters[DOFI_CNT_IA_DATA_STRAY], 3);
	ck_assert_int_eq(fabric.receives, POSTED);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ud_receive");
	TCase *tc = add_case(suite);

	tcase_add_loop_test(tc, a_datagram_lies_behind_the_header_in_the_segments, 0, 8);
	tcase_add_test(tc, a_datagram_that_does_not_fit);
	tcase_add_test(tc, a_receive_that_can_only_fail_gets_no_bytes);
	tcase_add_test(tc, a_datagram_may_be_solicited);
	tcase_add_test(tc, a_receive_without_an_endpoint_is_not_posted_again);
	tcase_add_test(tc, datagrams_without_a_receive_are_dropped);
	tcase_add_test(tc, datagrams_for_unknown_endpoints_are_dropped);
	tcase_add_test(tc, receives_refused_by_eagain_are_posted_later);
	tcase_add_test(tc, a_mark_is_for_a_connection);
	tcase_add_test(tc, a_datagram_without_room_on_the_evd);
	tcase_add_test(tc, receives_that_the_fabric_refuses_are_reported);
	return t_run(suite);
}
