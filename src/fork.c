/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A child of fork() can open IAs, whatever other threads of its parent do in the registry. */
#include <pthread.h>

#include "handle.h"
#include "registry.h"

static void before_fork(void)
{
	datr_registry_fork_begin();
	datr_ia_fork_begin();
}

static void after_fork_in_parent(void)
{
	datr_ia_fork_end(false);
	datr_registry_fork_end(false);
}

static void after_fork_in_child(void)
{
	datr_ia_fork_end(true);
	datr_registry_fork_end(true);
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}
