# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only

# Tells valgrind about memory that hardware or another process writes. This costs a few instructions
# on the hot path, so it is off by default.
AC_DEFUN([DAT_CHECK_VALGRIND], [
	AC_ARG_ENABLE([valgrind],
		[AS_HELP_STRING([--enable-valgrind], [tell valgrind what the fabric reads and writes])],
		[], [enable_valgrind=no])
	AS_IF([test "x$enable_valgrind" != xno], [
		AC_CHECK_HEADER([valgrind/memcheck.h], [],
			[AC_MSG_ERROR([--enable-valgrind needs valgrind/memcheck.h: install the package valgrind (Debian) or valgrind-devel])])
		AC_DEFINE([HAVE_MEMCHECK], [1], [valgrind is told what the fabric reads and writes])
	])
])
