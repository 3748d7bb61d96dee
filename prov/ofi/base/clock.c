/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/clock.h"

#include "base/dat_api.h"

#include <pthread.h>
#include <time.h>

static uint64_t read_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t dofi_now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t dofi_thread_time(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t dofi_process_time(void)
{
	return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t dofi_deadline(uint32_t timeout_us)
{
	return timeout_us == DAT_TIMEOUT_INFINITE ? DOFI_FOREVER
						  : dofi_now() + (uint64_t)timeout_us * 1000u;
}

int dofi_poll_until(struct pollfd *fds, nfds_t n, uint64_t deadline,
		    const struct dofi_interrupts *allowed)
{
	uint64_t now = dofi_now(), ns = deadline > now ? deadline - now : 0;
	struct timespec left = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	const struct timespec *timeout = deadline == DOFI_FOREVER ? NULL : &left;
	int ret, before;

	if (!allowed)
		return ppoll(fds, n, timeout, NULL);
	pthread_setcancelstate(allowed->cancel, &before);
	ret = ppoll(fds, n, timeout, &allowed->blocked);
	pthread_setcancelstate(before, NULL);
	return ret;
}
