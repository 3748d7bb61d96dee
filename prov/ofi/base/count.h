/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The counters of IAs, EPs and EVDs, which are always on. */
#ifndef DOFI_COUNT_H
#define DOFI_COUNT_H

#include "base/dat_api.h"
#include "base/hint.h"

#include <stdio.h>

struct dofi_ep;
struct dofi_ia;

#define DOFI_IA_COUNTER(name) DOFI_CNT_IA_##name,
enum {
#include "base/count.def"
	DOFI_CNT_IA_END
};
#define DOFI_EP_COUNTER(name) DOFI_CNT_EP_##name,
enum {
#include "base/count.def"
	DOFI_CNT_EP_END
};
#define DOFI_EVD_COUNTER(name) DOFI_CNT_EVD_##name,
enum {
#include "base/count.def"
	DOFI_CNT_EVD_END
};

#define DOFI_COUNTERS(kind) _Atomic uint64_t counters[DOFI_CNT_##kind##_END];

/* Not atomic, to be cheap: if two threads count at once, one count may be lost. */
DOFI_INLINE void dofi_count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

#define DOFI_COUNT(object, counter, n) dofi_count(&(object)->counters[DOFI_CNT_##counter], n)
#define DOFI_COUNT_SHARED(object, counter)                                           \
	((void)atomic_fetch_add_explicit(&(object)->counters[DOFI_CNT_##counter], 1, \
					 memory_order_relaxed))

#endif
