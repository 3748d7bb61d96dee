# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only

# If hwloc is installed, the provider uses it to prefer the network device nearest to the CPUs.
AC_DEFUN([DAT_CHECK_PKG_HWLOC], [
	AC_ARG_WITH([hwloc],
		[AS_HELP_STRING([--with-hwloc=DIR|no], [hwloc (2.1 or later) installed below DIR; "no" builds without hwloc])],
		[], [with_hwloc=auto])
	dat_hwloc_summary=no
	AS_CASE([$with_hwloc], [no|yes|auto], [], [DAT_PKG_CONFIG_DIR([$with_hwloc], [hwloc])])
	AS_IF([test "x$with_hwloc" != xno], [
		PKG_CHECK_MODULES([HWLOC], [hwloc >= 2.1], [
			dat_hwloc_summary=`$PKG_CONFIG --modversion hwloc`
			AC_DEFINE([HAVE_HWLOC], [1], [hwloc tells which network interface is near])
		], [
			AS_IF([test "x$with_hwloc" != xauto],
				[AC_MSG_ERROR([--with-hwloc=$with_hwloc: hwloc 2.1 or later not found: $HWLOC_PKG_ERRORS])])
		])
	])
	DAT_PKG_CONFIG_END
	AM_CONDITIONAL([HWLOC], [test "x$dat_hwloc_summary" != xno])
])
