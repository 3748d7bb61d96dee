/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each file is one suite. The name of a test begins with the rules that it tests: EVD_059_060_...
 * The comment below START_TEST names rules of other objects: EVS-001. report.py reads both.
 */
#ifndef CONFORM_H
#define CONFORM_H

#include "../lib/t.h"
#include "../lib/unit.h"

Suite *conform_ia(void);
Suite *conform_handles(void);
Suite *conform_evd(void);
Suite *conform_queue(void);
Suite *conform_cno(void);
Suite *conform_mem(void);
Suite *conform_access(void);
Suite *conform_sp(void);
Suite *conform_cr(void);
Suite *conform_registry(void);
Suite *conform_errors(void);
Suite *conform_ep(void);
Suite *conform_eps(void);
Suite *conform_dto(void);
Suite *conform_events(void);
Suite *conform_prg(void);
Suite *conform_late(void);
Suite *conform_gone(void);
Suite *conform_process(void);
Suite *conform_loose(void);
Suite *conform_srq(void);
Suite *conform_ext(void);
Suite *conform_wmark(void);
Suite *conform_srq_ep(void);
Suite *conform_ud(void);
Suite *conform_records(void);

/* The IA that is open at the beginning and the end of each test of a conform_case(). */
extern struct t_ia t_tia;

/*
 * A case whose tests all have t_tia. A test frees its objects, or a comment says that it does not.
 */
TCase *conform_case(Suite *suite, const char *name);

/* The pointer of the i-th software event is &marks[i]. */
extern int marks[64];
DAT_EVD_HANDLE soft_evd(DAT_COUNT qlen);
void post_marks(DAT_EVD_HANDLE evd, int from, int to);

/*
 * The number of entries of a directory, such as /proc/self/task, or /proc/self/fd, where the open
 * directory itself counts as well.
 */
int entries_of(const char *path);

#endif
