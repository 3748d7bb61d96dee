/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connection requests: what the consumer gets, and what is undone when it gets none. */
#include "../../lib/bare_ia.h"
#include "../../lib/t_hooks.h"

#include "../../../prov/ofi/api/cno.h"
#include "../../../prov/ofi/base/addr.h"
#include "../../../prov/ofi/cm/conn.h"
#include "../../../prov/ofi/cm/cr.h"
#include "../../../prov/ofi/cm/service_point.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/object/ud_ah.h"
#include "../../../prov/ofi/progress/cno.h"
#include "../../../prov/ofi/progress/evd_streams.h"

#include <errno.h>
#include <string.h>
#include <sys/un.h>

#define QUAL 1040u /* of the service point */
#define PORT 7u    /* the peer's number for its end */

static struct dofi_ia *ia;
static struct dofi_evd *evd;
static DAT_CNO_HANDLE cno;
static struct dofi_ep *ep;
static struct dofi_sp sp;
static struct dofi_conn conn;
static struct sockaddr_storage remote;

/* --- objects are allocated in chunks; the linker redirects mmap to this function --- */

static bool no_maps;

void *__real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
T_STAND_IN void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);

void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	return no_maps ? MAP_FAILED : __real_mmap(at, size, prot, flags, fd, offset);
}

/* --- */

static void setup(void)
{
	DAT_EVD_HANDLE handle;

	ia = t_bare_ia_open();
	ck_assert_uint_eq(dofi_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_evd_create(ia, 4, cno, DAT_EVD_CR_FLAG, &handle), DAT_SUCCESS);
	evd = (struct dofi_evd *)handle;
	ep = dofi_obj_alloc(ia, ia->obj.provider, DAT_HANDLE_TYPE_EP, sizeof(*ep));
	ck_assert_ptr_nonnull(ep);
	dofi_lock_init_level(&ep->lock, DOFI_LEVEL_EP);
	ep->state = DAT_EP_STATE_RESERVED;
	dofi_obj_publish(&ep->obj, DAT_HANDLE_TYPE_EP);
	sp.obj.ia = ia;
	sp.obj.provider = ia->obj.provider;
	sp.conn_qual = QUAL;
	sp.evd = evd;
	conn.ia = ia;
	conn.conn_qual = QUAL;
	conn.port_qual = PORT;
	conn.private_size = 5;
	memcpy(conn.private_data, "hello", 5);
	ck_assert(dofi_addr_parse("10.0.0.9", &remote));
	dofi_lock(&ia->engine.lock);
}

static void teardown(void)
{
	dofi_unlock(&ia->engine.lock);
	ck_assert(dofi_obj_retire(&ep->obj, true));
	dofi_obj_free(&ep->obj, DAT_HANDLE_TYPE_EP);
	ck_assert_uint_eq(dofi_evd_free(evd), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_cno_free(cno), DAT_SUCCESS);
	t_bare_ia_close(ia);
}

static void be_rsp(void)
{
	sp.rsp = true;
	sp.ep = ep;
}

static void fill(void)
{
	const struct dofi_event event = {.number = DAT_SOFTWARE_EVENT};

	while (dofi_evd_room(evd))
		ck_assert_int_eq(dofi_evd_push(evd, &event, true), 0);
}

static void free_cr(void)
{
	struct dofi_cr *cr = conn.cr;

	ck_assert(dofi_obj_retire(&cr->obj, true));
	dofi_cr_destroy(cr, false);
}

START_TEST(the_consumer_gets_a_request)
{
	const struct dofi_event *event;

	if (_i)
		be_rsp();
	ck_assert_int_eq(dofi_cr_new(&sp, &conn, (struct sockaddr *)&remote), 0);
	ck_assert_uint_eq(dofi_evd_queued(evd), 1);
	ck_assert(((struct dofi_cno *)cno)->triggered);
	event = dofi_evd_slot(evd, evd->head);
	ck_assert_int_eq(event->number, DAT_CONNECTION_REQUEST_EVENT);
	ck_assert_ptr_eq(event->handle, &sp);
	ck_assert_ptr_eq(event->cr.cr, conn.cr);
	ck_assert_uint_eq(event->cr.conn_qual, QUAL);
	ck_assert(dofi_addr_equal(&conn.cr->remote, &remote));
	ck_assert_uint_eq(conn.cr->remote_qual, PORT);
	ck_assert_uint_eq(conn.cr->private_size, 5);
	ck_assert_mem_eq(conn.cr->private_data, "hello", 5);
	ck_assert_ptr_eq(conn.cr->ep, _i ? ep : NULL);
	free_cr();
}
END_TEST

/* The EP shows the connector while the consumer has not decided. */
START_TEST(an_RSP_gives_its_EP_to_the_request)
{
	be_rsp();
	ck_assert_int_eq(dofi_cr_new(&sp, &conn, (struct sockaddr *)&remote), 0);
	ck_assert_ptr_null(sp.ep);
	ck_assert_int_eq(ep->state, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	ck_assert(dofi_addr_equal(&ep->remote_addr, &remote));
	ck_assert_uint_eq(ep->remote_qual, PORT);
	ck_assert_uint_eq(ep->local_qual, QUAL);
	dofi_cr_return_ep(conn.cr, DAT_EP_STATE_UNCONNECTED);
	ck_assert_int_eq(ep->state, DAT_EP_STATE_UNCONNECTED);
	free_cr();
}
END_TEST

/* Another thread may have filled the EVD meanwhile. The next request finds the EP reserved. */
START_TEST(without_room_for_the_event_there_is_no_request)
{
	if (_i)
		be_rsp();
	fill();
	ck_assert_int_ne(dofi_cr_new(&sp, &conn, (struct sockaddr *)&remote), 0);
	ck_assert_ptr_null(conn.cr);
	ck_assert_uint_eq(ia->counts[DAT_HANDLE_TYPE_CR], 0);
	ck_assert_int_eq(ep->state, DAT_EP_STATE_RESERVED);
	ck_assert_ptr_eq(sp.ep, _i ? ep : NULL);
}
END_TEST

START_TEST(without_memory_there_is_no_request)
{
	be_rsp();
	no_maps = true;
	ck_assert_int_eq(dofi_cr_new(&sp, &conn, (struct sockaddr *)&remote), -ENOMEM);
	no_maps = false;
	ck_assert_ptr_null(conn.cr);
	ck_assert_uint_eq(dofi_evd_queued(evd), 0);
	ck_assert_int_eq(ep->state, DAT_EP_STATE_RESERVED);
	ck_assert_ptr_eq(sp.ep, ep);
}
END_TEST

START_TEST(a_request_for_datagrams_has_an_event_of_its_own)
{
	const struct dofi_event *event;

	conn.ud = true;
	ck_assert_int_eq(dofi_cr_new(&sp, &conn, (struct sockaddr *)&remote), 0);
	event = dofi_evd_slot(evd, evd->head);
	ck_assert_int_eq(event->number, DOFI_UD_EVENT_REQUEST);
	ck_assert_int_eq(event->ext, DOFI_UD_TYPE_REQUEST + 1);
	ck_assert_ptr_eq(event->cr.cr, conn.cr);
	free_cr();
}
END_TEST

START_TEST(a_connector_has_an_internet_address)
{
	static const struct sockaddr_un local = {.sun_family = AF_UNIX};

	be_rsp();
	ck_assert_int_eq(dofi_cr_new(&sp, &conn, (const struct sockaddr *)&local), -EAFNOSUPPORT);
	ck_assert_ptr_null(conn.cr);
	ck_assert_uint_eq(dofi_evd_queued(evd), 0);
	ck_assert_int_eq(ep->state, DAT_EP_STATE_RESERVED);
	ck_assert_ptr_eq(sp.ep, ep);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cr");
	TCase *tcase = tcase_create("cr");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, the_consumer_gets_a_request, 0, 2);
	tcase_add_test(tcase, an_RSP_gives_its_EP_to_the_request);
	tcase_add_loop_test(tcase, without_room_for_the_event_there_is_no_request, 0, 2);
	tcase_add_test(tcase, without_memory_there_is_no_request);
	tcase_add_test(tcase, a_request_for_datagrams_has_an_event_of_its_own);
	tcase_add_test(tcase, a_connector_has_an_internet_address);
	return t_run(suite);
}
