/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/fid.h"

#include "base/log.h"

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

void dofi_fid_close(const char *ia_name, struct fid *fid, const char *what)
{
	int ret = fi_close(fid);

	if (ret)
		DOFI_LOG_W("IA %s: closing the %s failed, its memory leaks: %s", ia_name, what,
			   fi_strerror(-ret));
}
