/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * UD EPs: their numbers and the receives that they share, what an EP is without when one of these
 * fails, and how an EP waits for its datagrams at its end.
 */
#include "../../lib/t_hooks.h"

#include "../../../prov/ofi/auth/crypto.h"
#include "../../../prov/ofi/base/clock.h"
#include "../../../prov/ofi/dto/ud_pool.h"
#include "../../../prov/ofi/dto/ud_window.h"
#include "../../../prov/ofi/object/mr.h"
#include "../../../prov/ofi/progress/engine_fds.h"
#include "../../../prov/ofi/progress/unfold.h"
#include "ud_world.h"

#include <dat2/dat_ib_extensions.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

static struct {
	int calls, closed, answer;
} registration;
static struct fid_mr region;

int __wrap_dofi_mr_register(struct dofi_ia *of, void *buf, size_t length, DAT_MEM_PRIV_FLAGS rights,
			    struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p);
int __wrap_dofi_mr_close(struct dofi_ia *of, struct fid_mr *mr);

int __wrap_dofi_mr_register(struct dofi_ia *of, void *buf, size_t length, DAT_MEM_PRIV_FLAGS rights,
			    struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_nonnull(buf);
	ck_assert_uint_eq(length, (size_t)POSTED * DOFI_UD_LONGEST);
	ck_assert_int_eq(rights, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	*key_p = *address_p = 0;
	registration.calls++;
	if (registration.answer)
		return registration.answer;
	region.mem_desc = fabric.desc = &region;
	*mr_p = &region;
	return 0;
}

int __wrap_dofi_mr_close(struct dofi_ia *of, struct fid_mr *mr)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(mr, &region);
	registration.closed++;
	return 0;
}

static bool no_memory, no_random;
static const uint32_t *random_is; /* NULL: it is random */

void *__real_calloc(size_t n, size_t size);
T_STAND_IN void *__wrap_calloc(size_t n, size_t size);
T_STAND_IN void __wrap_free(void *block);
void __real_free(void *block);
int __real_dofi_random(void *bytes, size_t size);
int __wrap_dofi_random(void *bytes, size_t size);

static const void *pool; /* the latest block that is large enough for it */

void *__wrap_calloc(size_t n, size_t size)
{
	void *block = no_memory ? NULL : __real_calloc(n, size);

	if (n * size > DOFI_UD_EPS * sizeof(void *))
		pool = block;
	return block;
}

/* Blocks that the test expects to be freed. */
static const void *watched[2];
static unsigned int nfreed;

void __wrap_free(void *block)
{
	for (int i = 0; i < 2; i++)
		if (block && block == watched[i]) {
			nfreed++;
			watched[i] = NULL;
		}
	if (block == pool)
		pool = NULL;
	__real_free(block);
}

int __wrap_dofi_random(void *bytes, size_t size)
{
	if (!random_is)
		return no_random ? -FI_EPERM : __real_dofi_random(bytes, size);
	ck_assert_uint_eq(size, sizeof(*random_is));
	memcpy(bytes, random_is, size);
	return 0;
}

/* --- numbers and buffers --- */

START_TEST(each_EP_has_a_number_and_its_datagrams)
{
	char memory[64];
	struct dofi_event event;

	open_eps();
	ck_assert_uint_ne(eps[0].ud->number, eps[1].ud->number);
	post_receive(&eps[1], memory, sizeof(memory));
	arrive(eps[1].ud->number, "hello", 0);
	event = next_event();
	ck_assert_ptr_eq(event.handle, &eps[1]);
	ck_assert_uint_eq(event.number, DOFI_EVENT_EXTENDED);
	ck_assert_uint_eq(event.ext, DOFI_UD_TYPE_RECV + 1);
	ck_assert_uint_eq(event.dto.length, DOFI_UD_HEADER + 5);
	ck_assert_mem_eq(memory + DOFI_UD_HEADER, "hello", 5);
	ck_assert_int_eq(fabric.receives, POSTED);
	ck_assert_int_eq(registration.calls, 0); /* this fabric needs none */
}
END_TEST

/* Where the fabric needs it, and once for all EPs. */
START_TEST(the_buffers_are_registered)
{
	domain_attr.mr_mode = FI_MR_LOCAL;
	registration.answer = -FI_ENOMEM;
	ck_assert_int_eq(open_ep(&eps[0]), -FI_ENOMEM);
	ck_assert_ptr_null(eps[0].ud);
	ck_assert_ptr_null(ia.ud_pool);
	ck_assert_ptr_null(pool);
	ck_assert_int_eq(fabric.receives, 0);
	registration.answer = 0;
	open_eps();
	ck_assert_int_eq(registration.calls, 2);
	ck_assert_int_eq(fabric.receives, POSTED);
	for (int i = 0; i < POSTED; i++)
		for (int k = 0; k < i; k++)
			ck_assert_int_ge(labs((char *)fabric.buffer[i] - (char *)fabric.buffer[k]),
					 DOFI_UD_LONGEST);
	watched[0] = ia.ud_pool;
	watched[1] = fabric.buffer[0];
	dofi_ud_pool_close(&ia);
	ck_assert_uint_eq(nfreed, 2);
	ck_assert_int_eq(registration.closed, 1);
	dofi_ud_pool_close(&ia);
	ck_assert_int_eq(registration.closed, 1);
}
END_TEST

/* The table has a place for each EP. */
START_TEST(an_EP_without_a_number_is_no_UD_EP)
{
	enum { PLACE = 100 };
	static struct dofi_ep third = {.obj.ia = &ia};
	struct dofi_ep **places;

	open_eps();
	places = dofi_ud_pool_eps(&ia);
	for (uint32_t i = 0; i < DOFI_UD_EPS; i++)
		places[i] = places[i] ? places[i] : &eps[0];
	ck_assert_int_eq(open_ep(&third), -FI_ENOSPC);
	ck_assert_ptr_null(third.ud);
	ck_assert_ptr_null(third.fep);
	ck_assert(!third.path_up);
	places[PLACE] = NULL;
	ck_assert_int_eq(open_ep(&third), 0);
	ck_assert_ptr_eq(places[PLACE], &third);
	ck_assert_uint_eq(third.ud->number % DOFI_UD_EPS, PLACE);
	ck_assert_uint_le(third.ud->number, DOFI_UD_NUMBER);
	ck_assert(third.path_up);
	ck_assert_ptr_eq(third.fep, &endpoint);
	ck_assert(dofi_list_empty(&third.ud->conns));
	ck_assert(dofi_list_empty(&third.ud->ahs));
}
END_TEST

START_TEST(an_IA_has_datagrams_if_its_fabric_has)
{
	const struct dofi_trans_ops streams = {.name = "streams"};

	ck_assert(dofi_ud_possible(&ia));
	ia.has_data = false; /* nothing would name the EP */
	ck_assert(!dofi_ud_possible(&ia));
	ia.has_data = true;
	ia.trans = &streams;
	ck_assert(!dofi_ud_possible(&ia));
}
END_TEST

static struct dofi_ep **table(void)
{
	return dofi_ud_pool_eps(&ia);
}

START_TEST(the_last_number_is_found)
{
	static struct dofi_ep third = {.obj.ia = &ia};
	uint32_t place = 17;

	ck_assert_int_eq(open_ep(&eps[0]), 0);
	for (uint32_t i = 0; i < DOFI_UD_EPS; i++)
		table()[i] = i == place ? NULL : &eps[0];
	ck_assert_int_eq(open_ep(&eps[1]), 0);
	ck_assert_ptr_eq(table()[place], &eps[1]);
	ck_assert_uint_ne(eps[1].ud->number, 0);
	dofi_lock_init(&third.lock);
	ck_assert_int_eq(open_ep(&third), -FI_ENOSPC);
	ck_assert_ptr_null(third.ud);
}
END_TEST

START_TEST(without_memory_there_is_no_UD_EP)
{
	int ret;

	no_memory = true;
	ret = open_ep(&eps[0]);
	no_memory = false;
	ck_assert_int_eq(ret, -FI_ENOMEM);
	ck_assert_ptr_null(eps[0].ud);
	ck_assert_ptr_null(ia.ud_pool);
	ck_assert_ptr_null(eps[0].fep);
	ck_assert(!eps[0].path_up);
}
END_TEST

/* No EP has the number 0, but another one has its place. */
START_TEST(the_place_of_the_number_0_is_used)
{
	static const uint32_t randoms[] = {0, 1, 5, DOFI_UD_EPS - 1};

	ck_assert_int_eq(open_ep(&eps[0]), 0);
	for (uint32_t i = 0; i < DOFI_UD_EPS; i++)
		table()[i] = i ? &eps[0] : NULL;
	random_is = &randoms[_i];
	ck_assert_int_eq(open_ep(&eps[1]), 0);
	ck_assert_ptr_eq(table()[0], &eps[1]);
	ck_assert_uint_ne(eps[1].ud->number, 0);
}
END_TEST

START_TEST(without_random_numbers_there_is_no_UD_EP)
{
	no_random = true;
	ck_assert_int_eq(open_ep(&eps[0]), -FI_EPERM);
	ck_assert_ptr_null(eps[0].ud);
	ck_assert(!eps[0].path_up);
	no_random = false;
	ck_assert_int_eq(open_ep(&eps[0]), 0);
}
END_TEST

/* --- the end --- */

static struct dofi_ud_ah peer = {.number = 7};

/* The first EP, whose datagrams go to this handle, may end. */
static void open_to_end(struct dofi_ud_ah *ah, const struct dofi_upcalls *up,
			int (*reap)(struct dofi_ia *of))
{
	open_window(ah);
	ia.up = up;
	ia.engine.reap = reap;
	ia.engine.sock_epfd = epoll_create1(EPOLL_CLOEXEC);
	dofi_lock_init(&ia.engine.stalled_lock);
	dofi_list_init(&ia.engine.stalled);
	dofi_list_init(&ia.orphans);
	eps[0].trans = &trans;
}

/* Ends it: its lock is free afterwards. */
static void end_ep(void)
{
	dofi_ud_close(&eps[0]);
	ck_assert(dofi_trylock(&eps[0].lock));
	dofi_unlock(&eps[0].lock);
	close(ia.engine.sock_epfd);
}

static int reap_nothing(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	return 0;
}

static uint64_t linger_until(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	return dofi_now() + UINT64_C(3600000000000);
}

static void drop_datagrams(struct dofi_ep *ep)
{
	ck_assert_ptr_eq(ep, &eps[0]);
}

/* As the connection manager does when the peer's BYE has come. */
static void lose_peer(struct dofi_fd *fd, uint32_t epoll_events)
{
	ck_assert_uint_eq(epoll_events, EPOLLIN);
	atomic_store(&peer.gone, true);
	dofi_ud_forget(&ia, &peer);
	dofi_engine_unwatch(&ia, fd);
}

/* The peer frees its EP, too, and answers no marks. */
START_TEST(a_wait_for_marks_ends_with_the_peer)
{
	const struct dofi_upcalls with_an_end = {
		.ud_mark = ud_mark,
		.linger_until = linger_until,
		.drop_datagrams = drop_datagrams,
	};
	struct dofi_fd bye = {.fd = eventfd(1, EFD_CLOEXEC), .ready = lose_peer};

	open_to_end(&peer, &with_an_end, reap_nothing);
	ck_assert_int_eq(dofi_engine_watch(&ia, &bye, EPOLLIN), 0);
	send_many(&eps[0], &peer, DOFI_UD_WINDOW);
	post_send(&eps[0], &peer);
	end_ep();
	ck_assert_int_eq(fabric.sends, DOFI_UD_WINDOW);
	ck_assert_ptr_null(eps[0].ud);
	close(bye.fd);
}
END_TEST

static unsigned int rounds;

/* The fabric has room again at the third look, and the datagram has left at the fifth. */
static int reap_until_room(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	rounds++;
	if (rounds == 3)
		fabric.send_answer = 0;
	if (rounds == 5)
		dofi_ring_at(&eps[0].req, 0)->state = DOFI_WR_DONE;
	return 0;
}

static uint64_t linger_is_over(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	return 0;
}

static unsigned int dropped;

static void count_dropped(struct dofi_ep *ep)
{
	ck_assert_ptr_eq(ep, &eps[0]);
	dropped++;
}

/* With and without time for what waits; without bounce buffers. */
START_TEST(the_end_of_an_EP_waits_for_room)
{
	const bool has_time = _i == 1, is_split = _i < 2;
	const struct dofi_upcalls with_an_end = {.linger_until =
							 has_time ? linger_until : linger_is_over,
						 .drop_datagrams = count_dropped};
	struct dofi_ud_ah ah = {.number = 7};
	uint32_t number;

	open_to_end(&ah, &with_an_end, reap_until_room);
	number = eps[0].ud->number;
	watched[0] = eps[0].ud;
	fabric.send_answer = -FI_EAGAIN;
	post_send(&eps[0], &ah)->split = is_split;
	eps[0].holds = true;
	atomic_store(&ia.wait.watchers, 1);
	end_ep();
	ck_assert_int_eq(fabric.sends, has_time);
	/* that of the request that the fabric did not take */
	ck_assert_uint_eq(ngiven, is_split && !has_time);
	ck_assert(!eps[0].path_up);
	ck_assert_uint_eq(rounds, has_time ? 5 : 0);
	ck_assert_uint_eq(eps[0].req.tail, eps[0].req.issue); /* nothing waits any more */
	ck_assert_uint_eq(atomic_load(&ia.wait.watchers), 0);
	ck_assert_uint_eq(dropped, 1);
	ck_assert_uint_eq(nfreed, 1);
	ck_assert_ptr_null(eps[0].ud);
	ck_assert_ptr_null(dofi_ud_pool_eps(&ia)[number % DOFI_UD_EPS]);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 0);
}
END_TEST

/* The fabric still has the datagram, and there is no memory for a copy of the ring. */
START_TEST(the_end_of_an_EP_without_memory_waits_for_the_fabric)
{
	const struct dofi_upcalls with_an_end = {.linger_until = linger_is_over,
						 .drop_datagrams = count_dropped};
	struct dofi_ud_ah ah = {.number = 7};

	open_to_end(&ah, &with_an_end, reap_until_room);
	ck_assert_int_eq(start(&eps[0], post_send(&eps[0], &ah)), 0);
	eps[0].req.issue = eps[0].req.tail;
	no_memory = true;
	end_ep();
	no_memory = false;
	ck_assert_uint_eq(rounds, 5);
	ck_assert(dofi_list_empty(&ia.orphans));
}
END_TEST

/* The EP was freed before the event was read, and with it the address handle. */
START_TEST(an_event_whose_address_handle_is_freed)
{
	static struct dofi_ud_ah freed;
	const struct dofi_event event = {.number = DOFI_UD_EVENT_ESTABLISHED,
					 .ext = DOFI_UD_TYPE_REMOTE_AH + 1,
					 .conn = {.private_data = &freed, .private_size = 8}};
	DAT_IB_EXTENSION_EVENT_DATA ext;
	DAT_EVENT out;

	dofi_event_unfold(&event, &evd, &out);
	memcpy(&ext, out.event_extension_data, sizeof(ext));
	ck_assert_int_eq(ext.type, DOFI_UD_TYPE_REMOTE_AH);
	ck_assert_ptr_null(ext.remote_ah.ah);
	ck_assert_ptr_null(out.event_data.connect_event_data.private_data);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ud_ep");
	TCase *tc = add_case(suite);

	tcase_add_test(tc, each_EP_has_a_number_and_its_datagrams);
	tcase_add_test(tc, the_buffers_are_registered);
	tcase_add_test(tc, an_EP_without_a_number_is_no_UD_EP);
	tcase_add_test(tc, an_IA_has_datagrams_if_its_fabric_has);
	tcase_add_test(tc, the_end_of_an_EP_without_memory_waits_for_the_fabric);
	tcase_add_loop_test(tc, the_place_of_the_number_0_is_used, 0, 4);
	tcase_add_test(tc, without_random_numbers_there_is_no_UD_EP);
	tcase_add_test(tc, without_memory_there_is_no_UD_EP);
	tcase_add_test(tc, an_event_whose_address_handle_is_freed);
	tcase_add_test(tc, the_last_number_is_found);
	tcase_add_test(tc, a_wait_for_marks_ends_with_the_peer);
	tcase_add_loop_test(tc, the_end_of_an_EP_waits_for_room, 0, 3);
	return t_run(suite);
}
