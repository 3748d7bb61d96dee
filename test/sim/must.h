/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Conditions that must hold in a simulated world. Assertions of the library are checked, too. */
#ifndef T_SIM_MUST_H
#define T_SIM_MUST_H

#include <stdio.h>
#include <stdlib.h>

#define MUST(condition)                                                                         \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                \
		}                                                                               \
	} while (0)

#endif
