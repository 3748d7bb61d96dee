# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only

# Static probes for bpftrace, perf and SystemTap. An unused probe is one NOP instruction.
AC_DEFUN([DAT_CHECK_SDT], [
	AC_ARG_ENABLE([probes],
		[AS_HELP_STRING([--disable-probes], [no static probes (sys/sdt.h) in the provider])],
		[], [enable_probes=auto])
	AS_IF([test "x$enable_probes" != xno], [
		AC_CHECK_HEADER([sys/sdt.h], [enable_probes=yes], [
			AS_IF([test "x$enable_probes" = xyes],
				[AC_MSG_ERROR([--enable-probes needs sys/sdt.h: install the package systemtap-sdt-dev (Debian) or systemtap-sdt-devel])])
			enable_probes=no
		])
	])
	AS_IF([test "x$enable_probes" = xyes],
		[AC_DEFINE([HAVE_SDT], [1], [the provider has static probes])])
])
