/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which of many channels that were dialled leads to an address, a host or a peer. */
#include "unit.h"

#include "../../../prov/ofi/base/addr.h"
#include "../../../prov/ofi/cm/channel.h"
#include "../../../prov/ofi/cm/channel_find.h"
#include "../../../prov/ofi/object/ia.h"

#include <arpa/inet.h>

#define PEERS 4096u

static struct dofi_ia ia;
static struct dofi_chan chans[PEERS];
static unsigned int compared;

bool __real_dofi_addr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
bool __wrap_dofi_addr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
bool __real_dofi_addr_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
bool __wrap_dofi_addr_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

bool __wrap_dofi_addr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	compared++;
	return __real_dofi_addr_equal(a, b);
}

bool __wrap_dofi_addr_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	compared++;
	return __real_dofi_addr_same_host(a, b);
}

static void setup(void)
{
	dofi_lock_init(&ia.engine.lock);
	dofi_lock(&ia.engine.lock);
	ck_assert_int_eq(dofi_chan_find_init(&ia.cm), 0);
}

/* 10.0.0.0 + host, or fd00::host */
static struct sockaddr_storage name_of(bool v6, uint32_t host, uint16_t port)
{
	struct sockaddr_in in = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(0x0a000000 + host)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_addr.s6_addr = {0xfd}};
	struct sockaddr_storage name;

	memcpy(&in6.sin6_addr.s6_addr[12], &in.sin_addr, sizeof(in.sin_addr));
	ck_assert(
		dofi_addr_set(&name, v6 ? (struct sockaddr *)&in6 : (struct sockaddr *)&in, port));
	return name;
}

static void name(struct dofi_chan *chan, uint32_t host, uint16_t port)
{
	struct sockaddr_storage addr = name_of(false, host, port);

	dofi_chan_add_name(chan, &addr);
}

/* A channel that is being dialled. */
static struct dofi_chan *dial(unsigned int n, uint32_t host, uint16_t port)
{
	struct dofi_chan *chan = &chans[n];

	chan->ia = &ia;
	chan->state = DOFI_CHAN_DIALING;
	dofi_list_init(&chan->host_link);
	dofi_list_init(&chan->peer_link);
	name(chan, host, port);
	return chan;
}

static struct dofi_chan *find(uint32_t host, uint16_t port)
{
	struct sockaddr_storage addr = name_of(false, host, port);

	return dofi_chan_find_named(&ia.cm, &addr, false);
}

static void come_up(struct dofi_chan *chan, uint32_t peer)
{
	chan->state = DOFI_CHAN_UP;
	memcpy(chan->peer.uuid, &peer, sizeof(peer));
	dofi_chan_make_known(chan);
}

START_TEST(a_name_is_an_address_and_a_port)
{
	struct dofi_chan *chan = dial(0, 1, 1000);
	struct sockaddr_storage v6 = name_of(true, 1, 1000);

	ck_assert_ptr_eq(find(1, 1000), chan);
	ck_assert_ptr_null(find(1, 1001));
	ck_assert_ptr_null(find(2, 1000));
	ck_assert_ptr_null(dofi_chan_find_named(&ia.cm, &v6, false));
	dofi_chan_add_name(chan, &v6);
	ck_assert_ptr_eq(dofi_chan_find_named(&ia.cm, &v6, false), chan);
	dofi_chan_forget_names(chan);
	ck_assert_ptr_null(find(1, 1000));
	ck_assert_ptr_null(dofi_chan_find_named(&ia.cm, &v6, false));
}
END_TEST

START_TEST(the_newest_channel_of_a_name_is_found)
{
	struct dofi_chan *old = dial(0, 1, 1000), *new = dial(1, 1, 1000);

	ck_assert_ptr_eq(find(1, 1000), new);
	/* Another address led to the peer of the old one. */
	name(old, 2, 1000);
	ck_assert_ptr_eq(find(1, 1000), old);
	ck_assert_ptr_eq(find(2, 1000), old);
	dofi_chan_forget_names(old);
	ck_assert_ptr_eq(find(1, 1000), new);
}
END_TEST

START_TEST(a_channel_that_can_not_carry_a_request_is_passed_over)
{
	struct sockaddr_storage addr = name_of(false, 1, 1000);
	struct dofi_chan *old = dial(0, 1, 1000), *new = dial(1, 1, 1000);

	new->send_err = -EPIPE;
	ck_assert_ptr_eq(find(1, 1000), old);
	come_up(old, 7);
	ck_assert_ptr_eq(find(1, 1000), old);
	/* A connection that this peer has refused wants another channel. */
	ck_assert_ptr_null(dofi_chan_find_named(&ia.cm, &addr, true));
	new->send_err = 0;
	ck_assert_ptr_eq(dofi_chan_find_named(&ia.cm, &addr, true), new);
}
END_TEST

START_TEST(the_first_name_and_the_latest_others_stay)
{
	struct dofi_chan *chan = dial(0, 0, 1000);
	const uint32_t all = 3 * DOFI_CHAN_NAMES;

	for (uint32_t i = 1; i < all; i++) {
		name(chan, i, 1000);
		name(chan, i, 1000); /* known already */
	}
	ck_assert_ptr_eq(find(0, 1000), chan);
	for (uint32_t i = 1; i < all; i++)
		ck_assert_ptr_eq(find(i, 1000), i > all - DOFI_CHAN_NAMES ? chan : NULL);
	dofi_chan_forget_names(chan);
	for (uint32_t i = 0; i < all; i++)
		ck_assert_ptr_null(find(i, 1000));
}
END_TEST

START_TEST(a_host_is_known_while_another_channel_to_it_is_up)
{
	struct dofi_chan *one = dial(0, 1, 1000), *two = dial(1, 1, 2000), *far = dial(2, 2, 1000);

	ck_assert(!dofi_chan_host_is_known(two));
	come_up(one, 7);
	ck_assert(dofi_chan_host_is_known(two));
	ck_assert(!dofi_chan_host_is_known(one));
	ck_assert(!dofi_chan_host_is_known(far));
	dofi_chan_forget_names(one);
	ck_assert(!dofi_chan_host_is_known(two));
}
END_TEST

START_TEST(a_twin_is_another_channel_to_the_same_peer)
{
	struct dofi_chan *one = dial(0, 1, 1000), *two = dial(1, 2, 1000),
			 *other = dial(2, 3, 1000);

	come_up(one, 7);
	come_up(other, 7 + (7u << 16)); /* whose uuid begins with the same bytes */
	ck_assert_ptr_null(dofi_chan_find_twin(one));
	come_up(two, 7);
	ck_assert_ptr_eq(dofi_chan_find_twin(one), two);
	ck_assert_ptr_eq(dofi_chan_find_twin(two), one);
	ck_assert_ptr_null(dofi_chan_find_twin(other));
	one->send_err = -EPIPE;
	ck_assert_ptr_null(dofi_chan_find_twin(two));
	one->send_err = 0;
	one->peer.fabric_name_size = 1; /* another IA, by chance or by malice with the same uuid */
	ck_assert_ptr_null(dofi_chan_find_twin(two));
	dofi_chan_forget_names(two);
	one->peer.fabric_name_size = 0;
	ck_assert_ptr_null(dofi_chan_find_twin(one));
}
END_TEST

/* All on a host of their own, or all on one host. */
START_TEST(a_search_takes_as_long_with_thousands_of_peers)
{
	for (unsigned int i = 0; i < PEERS; i++)
		come_up(dial(i, _i ? i : 1, (uint16_t)(1000 + (_i ? 0 : i))), i);
	compared = 0;
	for (unsigned int i = 0; i < PEERS; i++)
		ck_assert_ptr_eq(find(_i ? i : 1, (uint16_t)(1000 + (_i ? 0 : i))), &chans[i]);
	ck_assert_uint_lt(compared, 2 * PEERS * (1 + PEERS / DOFI_CHAN_BUCKETS));
	compared = 0;
	for (unsigned int i = 0; i < PEERS; i++)
		ck_assert_int_eq(dofi_chan_host_is_known(&chans[i]), !_i);
	ck_assert_uint_lt(compared, 2 * PEERS * (1 + PEERS / DOFI_CHAN_BUCKETS));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("channel_find");
	TCase *tc = tcase_create("find");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, a_name_is_an_address_and_a_port);
	tcase_add_test(tc, the_newest_channel_of_a_name_is_found);
	tcase_add_test(tc, a_channel_that_can_not_carry_a_request_is_passed_over);
	tcase_add_test(tc, the_first_name_and_the_latest_others_stay);
	tcase_add_test(tc, a_host_is_known_while_another_channel_to_it_is_up);
	tcase_add_test(tc, a_twin_is_another_channel_to_the_same_peer);
	tcase_add_loop_test(tc, a_search_takes_as_long_with_thousands_of_peers, 0, 2);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
