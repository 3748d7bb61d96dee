/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "paired.h"

#include <string.h>

struct t_pair paired;
struct t_end *const us = &paired.end[0], *const peer = &paired.end[1];

static void open_pair(void)
{
	t_pair_open(&paired, NULL);
}

static void close_pair(void)
{
	t_ia_close(&paired.ia[0]);
	t_ia_close(&paired.ia[1]);
}

TCase *paired_case(Suite *suite, const char *name)
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, open_pair, close_pair);
	suite_add_tcase(suite, tcase);
	return tcase;
}

bool paired_has_records(void)
{
	return !strcmp(t_named(&us->on->provider, "DAT_IB_FETCH_AND_ADD"), "TRUE") &&
	       strcmp(t_named(&us->on->provider, "DAT_OFI_PROVIDER"), "verbs");
}

#define COOKIE 0x70616972u

void paired_send(const struct t_end *from, const struct t_end *to, size_t length)
{
	t_ok(t_recv(to, T_BUF_SIZE - length, length, COOKIE, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(from, 0, length, COOKIE, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(from->request_evd, from->ep, COOKIE, DAT_DTO_SUCCESS, length);
	t_wait_dto(to->recv_evd, to->ep, COOKIE, DAT_DTO_SUCCESS, length);
}

void paired_ends(DAT_EVENT_NUMBER number)
{
	t_wait_conn(us->connect_evd, number, us->ep);
	t_wait_conn(peer->connect_evd, number, peer->ep);
}

void paired_again(void)
{
	t_ok(dat_ep_disconnect(us->ep, DAT_CLOSE_ABRUPT_FLAG));
	paired_ends(DAT_CONNECTION_EVENT_DISCONNECTED);
	for (int i = 0; i < 2; i++) {
		t_drain(paired.end[i].recv_evd);
		t_drain(paired.end[i].request_evd);
		t_ok(dat_ep_reset(paired.end[i].ep));
	}
	t_establish(&paired.listener, us, peer);
}
