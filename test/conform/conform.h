/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One suite per file. The name of a test begins with the rules that it proves, EVD_059_060_...;
 * rules of other objects stand in the comment right below START_TEST, as EVS-001. report.py reads
 * both.
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

/* The IA of a test, for files whose cases begin and end with an open IA. */
extern struct t_ia t_tia;

/* A case of the suite in which every test has t_tia. Tests free what they make, or say so. */
TCase *conform_case(Suite *suite, const char *name);

/* Software events point here: marks[i] is the i-th. */
extern int marks[64];
DAT_EVD_HANDLE soft_evd(DAT_COUNT qlen);
void post_marks(DAT_EVD_HANDLE evd, int from, int to);

/*
 * How many entries a directory has, as /proc/self/fd (where it is one of them) or /proc/self/task.
 */
int entries_of(const char *path);

#endif
