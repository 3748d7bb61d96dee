/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Address handles whose peer says goodbye, and of whom it is believed. */
#include "unit.h"

#include "../../../prov/ofi/base/addr.h"
#include "../../../prov/ofi/cm/channel.h"
#include "../../../prov/ofi/cm/conn.h"
#include "../../../prov/ofi/cm/conn_event.h"
#include "../../../prov/ofi/cm/ud_ah.h"
#include "../../../prov/ofi/dto/ud.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/transport.h"
#include "../../../prov/ofi/object/ud_ah.h"

static char peer, other; /* their addresses are all that counts */
static struct dofi_chan chan;
static struct dofi_conn conn, *table[] = {NULL, &conn};
static struct dofi_ud_ah ah;
static struct sockaddr_storage from;

/* --- what ud_ah.c calls --- */

void __wrap_dofi_ud_forget(struct dofi_ia *ia, const struct dofi_ud_ah *of);
void __wrap_dofi_conn_handle(struct dofi_conn *of, enum dofi_conn_event event,
			     const struct dofi_msg *msg);

void __wrap_dofi_ud_forget(struct dofi_ia *ia, const struct dofi_ud_ah *of)
{
	(void)ia;
	ck_assert_ptr_eq(of, &ah);
}

void __wrap_dofi_conn_handle(struct dofi_conn *of, enum dofi_conn_event event,
			     const struct dofi_msg *msg)
{
	ck_assert_ptr_eq(of, &conn);
	ck_assert_int_eq(event, DOFI_ON_AH_FREED);
	ck_assert_ptr_null(msg);
}

static void disconnect(struct dofi_conn *of)
{
	ck_assert_ptr_eq(of, &conn);
}

static const struct dofi_trans_ops trans = {.disconnect = disconnect};
static struct dofi_ia ia = {
	.trans = &trans,
	.ud_pool = (void *)&peer,
	.cm = {.conns = table, .conns_size = 2},
};

/* --- */

/* A handle of the peer; the peer has freed its own, so no channel is left. */
static void setup(void)
{
	dofi_lock_init(&ia.engine.lock);
	dofi_lock(&ia.engine.lock);
	conn = (struct dofi_conn){.ia = &ia, .ud_ah = &ah, .peer = (void *)&peer};
	ah = (struct dofi_ud_ah){.obj.ia = &ia, .conn = &conn};
	dofi_list_init(&conn.ud_link);
	dofi_list_init(&ah.answer);
	ck_assert(dofi_addr_parse("10.0.0.7", &ah.addr));
	from = ah.addr;
}

/* Whether the handle is gone. */
static bool say_goodbye(void *who)
{
	dofi_ud_ia_closed(&ia, who, &from);
	ck_assert_int_eq(atomic_load(&ah.gone), !ah.conn);
	return atomic_load(&ah.gone);
}

START_TEST(the_goodbye_of_the_peer_ends_its_handles)
{
	ck_assert(!say_goodbye(&other));
	ck_assert(say_goodbye(&peer));
}
END_TEST

/* It claims uuid and endpoint of the peer. */
START_TEST(the_goodbye_of_another_host_ends_none)
{
	ck_assert(dofi_addr_parse(_i ? "fd00::7" : "10.0.0.9", &from));
	ck_assert(!say_goodbye(&peer));
}
END_TEST

/* The channel of the handle will tell. */
START_TEST(the_goodbye_of_another_channel_ends_none)
{
	conn.chan = &chan;
	ck_assert(!say_goodbye(&peer));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ud_ah");
	TCase *tc = tcase_create("ud_ah");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, the_goodbye_of_the_peer_ends_its_handles);
	tcase_add_loop_test(tc, the_goodbye_of_another_host_ends_none, 0, 2);
	tcase_add_test(tc, the_goodbye_of_another_channel_ends_none);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
