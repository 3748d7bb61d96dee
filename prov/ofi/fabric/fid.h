/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Objects of libfabric. */
#ifndef DOFI_FID_H
#define DOFI_FID_H

struct fid;

/*
 * Closes an object that is not used any more. A failure is only logged: nothing else can be done.
 */
void dofi_fid_close(const char *ia_name, struct fid *fid, const char *what);

#endif
