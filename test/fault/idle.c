/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Threads that wake without need: the progress thread while a program polls, and any thread while
 * nothing happens. A thread that wakes goes to sleep again, and the kernel counts that.
 */
#include <signal.h>

#include "process.h"

#define MESSAGES    2000u
#define QUIET_US    1000000u
/* In QUIET_US. After some time without events each sleep with a timeout lasts at least 32 ms. */
#define MOST_SLEEPS 200u

static struct t_pair pair;

/* Polls both sides, because either may have to do something first. */
static void poll_for(DAT_EVD_HANDLE evd)
{
	uint64_t limit = t_now_us() + T_LIMIT_US;
	DAT_EVENT event;

	while (dat_evd_dequeue(evd, &event) != DAT_SUCCESS) {
		t_no_event(pair.end[0].connect_evd);
		t_no_event(pair.end[1].connect_evd);
		ck_assert_msg(t_now_us() < limit, "an event never came");
	}
}

/* One message there and one back; no thread sleeps in a call. */
static void bounce(uint64_t cookie)
{
	for (int from = 0; from < 2; from++) {
		t_ok(t_recv(&pair.end[!from], 0, 8, cookie, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_send(&pair.end[from], 64, 8, cookie, DAT_COMPLETION_DEFAULT_FLAG));
		poll_for(pair.end[!from].recv_evd);
		poll_for(pair.end[from].request_evd);
	}
}

/*
 * On a busy host a polling program may not run for so long that the progress thread takes over, as
 * it should. So it takes over late in this test. Until then it checks the clock once a second at
 * most.
 */
START_TEST(messages_to_a_program_that_polls_wake_no_thread)
{
	unsigned long before, after;

	setenv("DAT_OFI_QUIET_MS", "1000", 1);
	t_pair_open(&pair, NULL);
	for (uint64_t i = 0; i < 100; i++)
		bounce(i);
	before = fault_sleeps("dat-ofi");
	for (uint64_t i = 0; i < MESSAGES / 2; i++)
		bounce(i);
	after = fault_sleeps("dat-ofi");
	printf("# %u messages: the progress threads slept %lu times\n", MESSAGES, after - before);
	ck_assert_uint_le(after - before, MESSAGES / 16);
	t_pair_close(&pair);
}
END_TEST

/*
 * The program waits for an event that does not come. Earlier traffic has left wake-ups that a
 * thread must consume.
 */
START_TEST(a_program_that_waits_for_nothing_sleeps)
{
	unsigned long before, after;
	DAT_EVENT event;
	DAT_COUNT nmore;

	t_pair_open(&pair, NULL);
	for (uint64_t i = 0; i < 100; i++)
		bounce(i);
	for (uint64_t i = 0; i < 2; i++) {
		t_ok(t_recv(&pair.end[1], 0, 8, i, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_send(&pair.end[0], 64, 8, i, DAT_COMPLETION_DEFAULT_FLAG));
		t_wait_dto(pair.end[1].recv_evd, pair.end[1].ep, i, DAT_DTO_SUCCESS, 8);
		t_wait_dto(pair.end[0].request_evd, pair.end[0].ep, i, DAT_DTO_SUCCESS, 8);
	}
	t_error(dat_evd_wait(pair.end[1].recv_evd, QUIET_US / 4, 1, &event, &nmore),
		DAT_TIMEOUT_EXPIRED);
	before = fault_sleeps(NULL);
	t_error(dat_evd_wait(pair.end[1].recv_evd, QUIET_US, 1, &event, &nmore),
		DAT_TIMEOUT_EXPIRED);
	after = fault_sleeps(NULL);
	printf("# in %u ms all threads slept %lu times\n", QUIET_US / 1000, after - before);
	ck_assert_uint_le(after - before, MOST_SLEEPS);
	t_pair_close(&pair);
}
END_TEST

static void add(Suite *suite, const char *name, const TTest *test)
{
	TCase *tc = tcase_create(name);

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test);
	suite_add_tcase(suite, tc);
}

int main(void)
{
	Suite *suite = suite_create("idle");

	add(suite, "polling", messages_to_a_program_that_polls_wake_no_thread);
	add(suite, "waiting", a_program_that_waits_for_nothing_sleeps);
	return t_run(suite);
}
