/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For threads whose calls of DAT have to return: ok(call) and must(call) make one, and oversee()
 * fails the test with the call that does not return. Threads cannot assert, so the first one that
 * fails leaves a text, too.
 */
#ifndef FAULT_WATCHED_H
#define FAULT_WATCHED_H

#include <stdatomic.h>

#include "fault.h"

struct call {
	_Atomic(const char *) what;
	_Atomic uint64_t since; /* 0: free */
	struct call *outer;     /* the call during which an agent makes this one */
};

static struct call calls[64];
static _Thread_local struct call *current;
static char failure[512]; /* of the first thread that fails */
static _Atomic bool failing, failed;

static inline void begin_call(const char *what)
{
	for (size_t i = 0;; i = (i + 1) % 64) {
		uint64_t none = 0;

		if (calls[i].since ||
		    !atomic_compare_exchange_strong(&calls[i].since, &none, t_now_us()))
			continue;
		calls[i].what = what;
		calls[i].outer = current;
		current = &calls[i];
		return;
	}
}

static inline DAT_RETURN end_call(DAT_RETURN ret)
{
	struct call *call = current;

	current = call->outer;
	call->since = 0;
	return ret;
}

static inline void tell_failure(const char *what, const char *how)
{
	if (atomic_exchange(&failing, true))
		return;
	snprintf(failure, sizeof(failure), "%s %s", what, how);
	failed = true;
}

static inline void expect(const char *what, DAT_RETURN ret)
{
	if (ret != DAT_SUCCESS)
		tell_failure(what, t_words(ret));
}

#define call(c) (begin_call(#c), end_call(c))
#define ok(c)   (call(c) == DAT_SUCCESS)
#define must(c) expect(#c, call(c))
#define LATE_US (2 * (uint64_t)T_LIMIT_US)

/* Waits for a thread, and fails the test if a call of any thread does not return. */
static inline void oversee(pthread_t thread)
{
	while (pthread_tryjoin_np(thread, NULL)) {
		uint64_t now = t_now_us();

		for (int i = 0; i < 64; i++) {
			uint64_t since = calls[i].since;

			ck_assert_msg(!since || now < since + LATE_US, "does not return: %s",
				      calls[i].what);
		}
		t_pause();
	}
	ck_assert_msg(!failed, "%s", failure);
}

static inline pthread_t start(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, run, arg), 0);
	return thread;
}

#endif
