# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only

# DAT_FORTIFY: chooses the highest level of checked string functions that compiler and C library
# have, unless the user or the distribution has chosen one.
AC_DEFUN([DAT_FORTIFY], [
	AC_CACHE_CHECK([for the level of _FORTIFY_SOURCE], [dat_cv_fortify], [
		dat_cv_fortify=none
		dat_saved_cppflags=$CPPFLAGS
		dat_saved_cflags=$CFLAGS
		CFLAGS="$CFLAGS -Werror"
		AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
			#ifdef _FORTIFY_SOURCE
			#error chosen
			#endif]])], [], [dat_cv_fortify=given])
		for dat_level in 3 2; do
			AS_IF([test "$dat_cv_fortify" != none], [break])
			CPPFLAGS="$dat_saved_cppflags -D_FORTIFY_SOURCE=$dat_level"
			AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
				#include <stdio.h>
				#ifndef __OPTIMIZE__
				#error it needs optimisation
				#endif]])], [dat_cv_fortify=$dat_level])
		done
		CPPFLAGS=$dat_saved_cppflags
		CFLAGS=$dat_saved_cflags
	])
	AS_CASE([$dat_cv_fortify], [[[0-9]]],
		[HARDEN_CPPFLAGS="-D_FORTIFY_SOURCE=$dat_cv_fortify"])
])

# DAT_LD_FLAGS(VARIABLE, FLAGS): append to VARIABLE those FLAGS that the linker knows.
AC_DEFUN([DAT_LD_FLAGS], [
	for dat_flag in $2; do
		AS_VAR_PUSHDEF([dat_known], [dat_cv_ld_$dat_flag])
		AC_CACHE_CHECK([whether the linker accepts $dat_flag], [dat_known], [
			dat_saved_ldflags=$LDFLAGS
			LDFLAGS="$LDFLAGS $dat_flag"
			AC_LINK_IFELSE([AC_LANG_PROGRAM()],
				[AS_VAR_SET([dat_known], [yes])], [AS_VAR_SET([dat_known], [no])])
			LDFLAGS=$dat_saved_ldflags
		])
		AS_VAR_IF([dat_known], [yes], [AS_VAR_APPEND([$1], [" $dat_flag"])])
		AS_VAR_POPDEF([dat_known])
	done
])

# Read-only relocations, stack protector and checked string functions. With sanitizers only the
# first are used, because sanitizers check more and replace the same functions. Of control-flow
# protection only shadow stacks are used: Linux has no indirect branch tracking for programs, and
# its instructions would cost time.
AC_DEFUN([DAT_HARDENING], [
	AC_ARG_ENABLE([hardening],
		[AS_HELP_STRING([--disable-hardening], [no stack protector, checked string functions or read-only relocations])],
		[], [enable_hardening=yes])
	HARDEN_CPPFLAGS=
	HARDEN_CFLAGS=
	HARDEN_LDFLAGS=
	AS_IF([test "x$enable_hardening" != xno], [
		DAT_LD_FLAGS([HARDEN_LDFLAGS], [-Wl,-z,relro -Wl,-z,now])
		AC_DEFINE([HARDENED_LINK], [1], [The linker was asked for -z relro -z now.])
	])
	AS_IF([test "x$enable_hardening" != xno && test -z "$dat_sanitizers"], [
		DAT_CC_FLAGS([HARDEN_CFLAGS], [-fstack-protector-strong -fcf-protection=return])
		DAT_FORTIFY
		AC_DEFINE([HARDENED_CODE], [1], [The compiler was asked to check stacks.])
		AS_IF([test "$dat_cv_fortify" != none],
			[AC_DEFINE([HARDENED_STRINGS], [1], [String functions are checked.])])
	])
	AC_SUBST([HARDEN_CPPFLAGS])
	AC_SUBST([HARDEN_CFLAGS])
	AC_SUBST([HARDEN_LDFLAGS])
])
