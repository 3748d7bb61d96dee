# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# DAT_CHECK_VERBS
# libfabric does not tell whether a device has atomic operations. The provider asks libibverbs, if
# libfabric has loaded it. The build needs only the header.
AC_DEFUN([DAT_CHECK_VERBS], [
	AC_CHECK_HEADERS([infiniband/verbs.h], [dat_verbs_summary=yes], [dat_verbs_summary="no, infiniband/verbs.h is missing"])
	AM_CONDITIONAL([HAVE_VERBS_H], [test "$ac_cv_header_infiniband_verbs_h" = yes])
])
