/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Objects of libfabric. */
#ifndef DOFI_FID_H
#define DOFI_FID_H

struct fid;

/* Closes one that is not used any more; the log tells if that fails, as nothing else can be done.
 */
void dofi_fid_close(const char *ia_name, struct fid *fid, const char *what);

#endif
