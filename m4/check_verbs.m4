# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# DAT_CHECK_VERBS
# libfabric does not tell whether a device has atomic operations. The provider asks libibverbs, if
# libfabric has loaded it. The build needs only the header.
AC_DEFUN([DAT_CHECK_VERBS], [
	AC_CHECK_HEADERS([infiniband/verbs.h], [dat_verbs_summary=yes], [dat_verbs_summary="no, infiniband/verbs.h is missing"])
	dnl The software EFA device of the tests plays all calls of rdma-core 44.
	AC_CHECK_DECLS([ibv_query_qp_data_in_order], [], [], [[#include <infiniband/verbs.h>]])
	AM_CONDITIONAL([SOFT_EFA], [test "$ac_cv_have_decl_ibv_query_qp_data_in_order" = yes])
])
