/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A provider without a fabric. As a module it is loaded by the registry, and words in its ia_params
 * say how to misbehave. It writes down what it was called for in the record of the test program,
 * which outlives it.
 *
 * no-register    init registers nothing
 * no-remove      fini leaves the name registered
 * fail-open      ia_open fails with DAT_INTERNAL_ERROR
 * odd-attr       provider attributes name neither the version nor the thread safety it was loaded
 * for extension      the IA says that it has extensions other-name     registers the name
 * "fake-other" as well nested-open    init opens the IA "nested" threads        several threads are
 * at it: keep to the counters
 */
#ifndef T_FAKE_PROVIDER_H
#define T_FAKE_PROVIDER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "dat_version.h"

struct t_fake_record {
	atomic_int inits;
	atomic_int finis;
	atomic_int opens;
	atomic_int closes;
	atomic_int ext_ops;
	/* Of the last call; not for tests with threads. */
	DAT_RETURN register_ret;
	DAT_PROVIDER_INFO init_info;
	char init_params[512];
	char open_name[DAT_NAME_MAX_LENGTH];
	DAT_COUNT open_qlen;
	DAT_HANDLE handle;       /* as the provider got it */
	DAT_IA_HANDLE ia_number; /* what dats_get_ia_handle() makes of it */
	DAT_CLOSE_FLAGS close_flags;
	int ext_op;
	unsigned long ext_args[2];
};

/* The test program has the one instance; weak, so that the module also loads elsewhere. */
extern struct t_fake_record t_fake __attribute__((weak, visibility("default")));

/* The first word is what every handle begins with. */
struct t_fake_object {
	const DAT_PROVIDER *table;
	DAT_HANDLE_TYPE type;
	DAT_CONTEXT context;
	bool odd_attr;
	bool extension;
};

#endif
