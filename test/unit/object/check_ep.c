/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The states of EPs, their counters after their end, and the counts of SRQs. */
#include "unit.h"

#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/srq_count.h"

static struct dofi_ia ia;
static struct dofi_ep ep = {.obj.ia = &ia};
static struct dofi_srq srq;

static const struct {
	DAT_EP_STATE state;
	DAT_RETURN says;
} states[] = {
	{DAT_EP_STATE_UNCONNECTED, DOFI_BAD_STATE(EP_UNCONNECTED)},
	{DAT_EP_STATE_RESERVED, DOFI_BAD_STATE(EP_RESERVED)},
	{DAT_EP_STATE_PASSIVE_CONNECTION_PENDING, DOFI_BAD_STATE(EP_PASSCONNPENDING)},
	{DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, DOFI_BAD_STATE(EP_ACTCONNPENDING)},
	{DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, DOFI_BAD_STATE(EP_TENTCONNPENDING)},
	{DAT_EP_STATE_COMPLETION_PENDING, DOFI_BAD_STATE(EP_COMPLPENDING)},
	{DAT_EP_STATE_CONNECTED, DOFI_BAD_STATE(EP_CONNECTED)},
	{DAT_EP_STATE_DISCONNECT_PENDING, DOFI_BAD_STATE(EP_DISCPENDING)},
	{DAT_EP_STATE_DISCONNECTED, DOFI_BAD_STATE(EP_DISCONNECTED)},
};

#define STATES ((int)(sizeof(states) / sizeof(states[0])))

static void setup(void)
{
	dofi_lock_init(&ep.lock);
	dofi_lock_init(&srq.lock);
}

START_TEST(a_state_has_its_error)
{
	ck_assert_uint_eq(dofi_ep_bad_state(states[_i].state), states[_i].says);
	for (int i = 0; i < _i; i++)
		ck_assert_uint_ne(states[i].says, states[_i].says);
}
END_TEST

START_TEST(a_state_is_set_under_the_lock)
{
	dofi_ep_set_state(&ep, states[_i].state);
	ck_assert_int_eq(ep.state, states[_i].state);
	ck_assert(dofi_trylock(&ep.lock));
	dofi_unlock(&ep.lock);
}
END_TEST

START_TEST(the_counters_of_an_ep_that_ends_are_added)
{
	static const struct dofi_ia untouched;
	const size_t end = offsetof(struct dofi_ia, closed_eps) + sizeof(ia.closed_eps);

	for (int i = 0; i < DOFI_CNT_EP_END; i++)
		ep.counters[i] = (uint64_t)i + 1;
	memset(ep.counters + DOFI_CNT_EP_END, 1, 8); /* what follows them is no counter */
	dofi_ep_keep_counters(&ep);
	dofi_ep_keep_counters(&ep); /* another EP with the same counts */
	for (int i = 0; i < DOFI_CNT_EP_END; i++)
		ck_assert_uint_eq(atomic_load(&ia.closed_eps.counters[i]), 2 * ((uint64_t)i + 1));
	ck_assert_mem_eq((char *)&ia + end, (const char *)&untouched + end, sizeof(ia) - end);
}
END_TEST

/* The event of a receive that the EP flushed after the count was 0 changes nothing. */
START_TEST(a_dequeued_event_is_counted)
{
	srq.obj.magic = DOFI_MAGIC | DAT_HANDLE_TYPE_SRQ;
	srq.outstanding = 2;
	dofi_srq_dequeued(&srq);
	ck_assert_uint_eq(srq.outstanding, 1);
	dofi_srq_dequeued(&srq);
	dofi_srq_dequeued(&srq);
	ck_assert_uint_eq(srq.outstanding, 0);
	ck_assert(dofi_trylock(&srq.lock));
	dofi_unlock(&srq.lock);
}
END_TEST

START_TEST(an_event_may_outlive_its_srq)
{
	srq.obj.magic = _i ? DOFI_MAGIC | DAT_HANDLE_TYPE_EP : 0;
	srq.outstanding = 2;
	dofi_srq_dequeued(&srq);
	ck_assert_uint_eq(srq.outstanding, 2);
	dofi_srq_dequeued(NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ep");
	TCase *tc = tcase_create("ep");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, a_state_has_its_error, 0, STATES);
	tcase_add_loop_test(tc, a_state_is_set_under_the_lock, 0, STATES);
	tcase_add_test(tc, the_counters_of_an_ep_that_ends_are_added);
	tcase_add_test(tc, a_dequeued_event_is_counted);
	tcase_add_loop_test(tc, an_event_may_outlive_its_srq, 0, 2);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
