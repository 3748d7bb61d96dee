/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Static probes for bpftrace, perf and SystemTap: "usdt:libdatofi.so.2:dat_ofi:post". Each is a NOP
 * until a tool attaches, and empty if sys/sdt.h was missing. The manual page dat-ofi-provider(7)
 * lists them.
 */
#ifndef DOFI_PROBE_H
#define DOFI_PROBE_H

#ifdef HAVE_SDT
#include <sys/sdt.h>
#define DOFI_PROBE1(name, a)          DTRACE_PROBE1(dat_ofi, name, a)
#define DOFI_PROBE2(name, a, b)       DTRACE_PROBE2(dat_ofi, name, a, b)
#define DOFI_PROBE3(name, a, b, c)    DTRACE_PROBE3(dat_ofi, name, a, b, c)
#define DOFI_PROBE4(name, a, b, c, d) DTRACE_PROBE4(dat_ofi, name, a, b, c, d)
#else
/* The arguments count as used, and are not evaluated. */
#define DOFI_PROBE1(name, a)          ((void)sizeof(a))
#define DOFI_PROBE2(name, a, b)       ((void)sizeof(a), (void)sizeof(b))
#define DOFI_PROBE3(name, a, b, c)    (DOFI_PROBE2(name, a, b), (void)sizeof(c))
#define DOFI_PROBE4(name, a, b, c, d) (DOFI_PROBE3(name, a, b, c), (void)sizeof(d))
#endif

#endif
