/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A provider without a fabric, built as a module that the registry loads. Words in its ia_params
 * make it misbehave. It records the calls in a variable of the test program, because the program
 * outlives the module.
 *
 * no-register    init registers nothing, as for the name "ofi-no-register"
 * no-remove      fini leaves the name registered
 * fail-open      ia_open fails with DAT_INTERNAL_ERROR
 * odd-attr       the provider attributes have another version and thread safety
 * extension      the IA has extensions
 * other-name     init also registers the name "fake-other"
 * nested-open    init opens the IA "nested"
 * threads        several threads call: only counters are recorded
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
	atomic_int failures;                  /* so many of the next opens fail */
	void (*in_init)(const char *ia_name); /* init calls it; NULL: nothing */
	/* The arguments of the last call; not recorded in tests with threads. */
	DAT_RETURN register_ret;
	DAT_PROVIDER_INFO init_info;
	char init_params[512];
	char open_name[DAT_NAME_MAX_LENGTH];
	DAT_COUNT open_qlen;
	DAT_HANDLE handle;       /* the handle that the provider received */
	DAT_IA_HANDLE ia_number; /* the result of dats_get_ia_handle() */
	int ext_op;
	unsigned long ext_args[2];
};

/* The test program defines it. The symbol is weak, so that other programs can load the module. */
extern struct t_fake_record t_fake __attribute__((weak, visibility("default")));

/* Each handle points to an object that begins with the table. */
struct t_fake_object {
	const DAT_PROVIDER *table;
	DAT_HANDLE_TYPE type;
	DAT_CONTEXT context;
	bool odd_attr;
	bool extension;
};

#endif
