/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/thread.h"

#include <signal.h>

int dofi_start_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t all, old;
	int ret;

	/* Signals are the consumer's business: its threads take them, never ours. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!ret)
		pthread_setname_np(*thread, "dat-ofi");
	return -ret;
}
