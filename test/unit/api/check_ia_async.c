/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The EVD for the asynchronous events of an IA, and EVDs that IAs share. */
#include "../../lib/ep_ia.h"

#include "../../../prov/ofi/api/ep.h"
#include "../../../prov/ofi/api/ia_async.h"
#include "../../../prov/ofi/api/ia_list.h"
#include "../../../prov/ofi/fabric/error.h"

#include <errno.h>

#define EPS 3

static struct t_ep_ia here, there; /* `there` is another IA of the process */
static struct dofi_evd *saved[2];  /* what bare_ia.h made */

/* --- the linker redirects these calls --- */

static bool without_memory;

int __wrap_dofi_evd_new(struct dofi_ia *ia, uint32_t qlen, struct dofi_cno *cno,
			DAT_EVD_FLAGS flags, struct dofi_evd **evd_p);
int __real_dofi_evd_new(struct dofi_ia *ia, uint32_t qlen, struct dofi_cno *cno,
			DAT_EVD_FLAGS flags, struct dofi_evd **evd_p);
void __wrap_dofi_ia_list_visit(void (*visit)(struct dofi_ia *ia, void *arg), void *arg);

int __wrap_dofi_evd_new(struct dofi_ia *ia, uint32_t qlen, struct dofi_cno *cno,
			DAT_EVD_FLAGS flags, struct dofi_evd **evd_p)
{
	return without_memory ? -ENOMEM : __real_dofi_evd_new(ia, qlen, cno, flags, evd_p);
}

/* The IA that closes is not in the list any more. */
void __wrap_dofi_ia_list_visit(void (*visit)(struct dofi_ia *ia, void *arg), void *arg)
{
	visit(there.ia, arg);
}

/* --- */

static void setup(void)
{
	t_ep_ia_open(&here);
	t_ep_ia_open(&there);
	saved[0] = atomic_exchange(&here.ia->async_evd, NULL);
	saved[1] = atomic_exchange(&there.ia->async_evd, NULL);
}

static void teardown(void)
{
	atomic_store(&here.ia->async_evd, saved[0]);
	atomic_store(&there.ia->async_evd, saved[1]);
	t_ep_ia_close(&there);
	t_ep_ia_close(&here);
}

static int users_of(const void *evd)
{
	return ((const struct dofi_obj *)evd)->users;
}

START_TEST(the_handle_is_null_or_takes_asynchronous_events)
{
	struct dofi_evd *plain = here.conn_evd, *found = plain;
	DAT_EVD_HANDLE async;

	ck_assert_uint_eq(dofi_ia_async_check(1, NULL, &found), DOFI_BAD_ARG(3));
	ck_assert_ptr_null(found);
	async = DAT_HANDLE_NULL; /* the IA makes one of this length */
	ck_assert_uint_eq(dofi_ia_async_check(-1, &async, &found), DOFI_BAD_ARG(2));
	ck_assert_uint_eq(dofi_ia_async_check(0, &async, &found), DOFI_BAD_ARG(2));
	found = plain;
	ck_assert_uint_eq(dofi_ia_async_check(1, &async, &found), DAT_SUCCESS);
	ck_assert_ptr_null(found);
	async = DAT_EVD_ASYNC_EXISTS; /* somebody else takes them */
	found = plain;
	ck_assert_uint_eq(dofi_ia_async_check(0, &async, &found), DAT_SUCCESS);
	ck_assert_ptr_null(found);
	async = here.pz;
	ck_assert_uint_eq(dofi_ia_async_check(1, &async, &found), DOFI_BAD_HANDLE(EVD_ASYNC));
	async = plain;
	ck_assert_uint_eq(dofi_ia_async_check(1, &async, &found), DOFI_BAD_HANDLE(EVD_ASYNC));
	ck_assert_ptr_null(found);
	async = saved[0];
	ck_assert_uint_eq(dofi_ia_async_check(0, &async, &found), DAT_SUCCESS);
	ck_assert_ptr_eq(found, saved[0]);
}
END_TEST

START_TEST(an_ia_makes_an_evd_of_its_own)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	struct dofi_evd *evd;

	ck_assert_uint_eq(dofi_ia_async_begin(here.ia, 65, &async, NULL),
			  DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD));
	without_memory = true;
	ck_assert_uint_eq(dofi_ia_async_begin(here.ia, 64, &async, NULL),
			  dofi_error(-ENOMEM, DAT_RESOURCE_TEVD));
	without_memory = false;
	ck_assert_ptr_eq(async, DAT_HANDLE_NULL);
	ck_assert(!here.ia->async_evd_ours);
	ck_assert_uint_eq(dofi_ia_async_begin(here.ia, 64, &async, NULL), DAT_SUCCESS);
	ck_assert(here.ia->async_evd_ours);
	evd = async;
	ck_assert_ptr_eq(atomic_load(&here.ia->async_evd), evd);
	ck_assert_int_eq(evd->flags, DAT_EVD_ASYNC_FLAG);
	ck_assert_uint_ge(evd->qlen, 64);
	ck_assert_uint_eq(dofi_evd_free(evd), DOFI_BAD_STATE(EVD_IN_USE));
	dofi_ia_async_end(here.ia);
	ck_assert_ptr_null(atomic_load(&here.ia->async_evd));
	dofi_ia_async_end(here.ia);
	ck_assert_uint_eq(dofi_evd_free(evd), DAT_SUCCESS);
}
END_TEST

START_TEST(an_ia_uses_the_evd_of_another_one)
{
	DAT_EVD_HANDLE async = saved[1];

	ck_assert_uint_eq(dofi_ia_async_begin(here.ia, 0, &async, saved[1]), DAT_SUCCESS);
	ck_assert_ptr_eq(async, saved[1]);
	ck_assert_ptr_eq(atomic_load(&here.ia->async_evd), saved[1]);
	ck_assert(!here.ia->async_evd_ours);
	ck_assert_int_eq(users_of(saved[1]), 1);
	dofi_ia_async_end(here.ia);
	ck_assert_int_eq(users_of(saved[1]), 0);
}
END_TEST

START_TEST(an_ia_may_have_no_evd_for_them)
{
	DAT_EVD_HANDLE async = DAT_EVD_ASYNC_EXISTS;

	ck_assert_uint_eq(dofi_ia_async_begin(here.ia, 4, &async, NULL), DAT_SUCCESS);
	ck_assert_ptr_eq(async, DAT_EVD_ASYNC_EXISTS);
	ck_assert_ptr_null(atomic_load(&here.ia->async_evd));
	ck_assert(!here.ia->async_evd_ours);
}
END_TEST

static struct dofi_ep *new_ep(DAT_EVD_HANDLE conn_evd)
{
	DAT_EP_HANDLE handle;

	ck_assert_uint_eq(dofi_ep_create(there.ia, there.pz, there.recv_evd, there.req_evd,
					 conn_evd, NULL, &handle),
			  DAT_SUCCESS);
	return handle;
}

/* EVDs of `here` are about to end. What belongs to another IA stays as it is. */
START_TEST(other_ias_leave_the_evds_of_an_ia_that_closes)
{
	struct dofi_ep *eps[EPS] = {new_ep(here.conn_evd), new_ep(there.conn_evd),
				    new_ep(here.conn_evd)};
	struct dofi_ep *without = new_ep(DAT_HANDLE_NULL);
	DAT_EVD_HANDLE async = saved[!_i];
	bool own = !_i;

	ck_assert_uint_eq(dofi_ia_async_begin(there.ia, 0, &async, saved[!_i]), DAT_SUCCESS);
	dofi_ia_async_detach_others(here.ia);
	ck_assert_int_eq(atomic_load(&there.ia->async_evd) != NULL, own);
	ck_assert_int_eq(users_of(async), own);
	ck_assert_ptr_null(eps[0]->conn_evd);
	ck_assert_ptr_eq(eps[1]->conn_evd, there.conn_evd);
	ck_assert_ptr_null(eps[2]->conn_evd);
	ck_assert_int_eq(users_of(here.conn_evd), 0);
	ck_assert_int_eq(users_of(there.conn_evd), 1);
	for (int i = 0; i < EPS; i++)
		ck_assert_uint_eq(dofi_ep_free(eps[i]), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_ep_free(without), DAT_SUCCESS);
	dofi_ia_async_end(there.ia);
}
END_TEST

/* An IA without an EVD for asynchronous events and without EPs is left alone. */
START_TEST(an_ia_without_evds_is_left_alone)
{
	dofi_ia_async_detach_others(here.ia);
	ck_assert_ptr_null(atomic_load(&there.ia->async_evd));
	dofi_assert_none_held();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ia_async");
	TCase *tcase = tcase_create("ia_async");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, the_handle_is_null_or_takes_asynchronous_events);
	tcase_add_test(tcase, an_ia_makes_an_evd_of_its_own);
	tcase_add_test(tcase, an_ia_uses_the_evd_of_another_one);
	tcase_add_test(tcase, an_ia_may_have_no_evd_for_them);
	tcase_add_loop_test(tcase, other_ias_leave_the_evds_of_an_ia_that_closes, 0, 2);
	tcase_add_test(tcase, an_ia_without_evds_is_left_alone);
	return t_run(suite);
}
