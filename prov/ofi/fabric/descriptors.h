/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The process's file descriptors: the standard ones, and how many more it may open. */
#ifndef DOFI_DESCRIPTORS_H
#define DOFI_DESCRIPTORS_H

/* The number of descriptors that an IA may need. */
#define DOFI_FDS_OF_AN_IA 64

/* Returns 0, or -EMFILE or -ENFILE if the process cannot open this many more descriptors. */
int dofi_descriptors_look(int wanted);

/*
 * The true reason of an error of the fabric, which may be a lack of descriptors: fabrics that run
 * out of them report other errors, or offer nothing.
 */
int dofi_descriptors_error(int ret);

/*
 * Occupies those of the descriptors 0 to 2 that the process has closed, until it executes another
 * program. Otherwise a connection may get such a number, and what the process prints would go into
 * its stream. Reading and writing them still fails with EBADF.
 */
void dofi_descriptors_occupy_standard(void);

#endif
