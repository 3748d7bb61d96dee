# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# DAT_CHECK_VERBS
# Whether a device has atomic operations, libfabric does not tell; the library of devices is asked, when libfabric has loaded it.
# Only its header is needed to build.
AC_DEFUN([DAT_CHECK_VERBS], [
	AC_CHECK_HEADERS([infiniband/verbs.h], [dat_verbs_summary=yes], [dat_verbs_summary="no, infiniband/verbs.h is missing"])
	AM_CONDITIONAL([HAVE_VERBS_H], [test "$ac_cv_header_infiniband_verbs_h" = yes])
])
