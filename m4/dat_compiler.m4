# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only

# DAT_CC_FLAGS(VARIABLE, FLAGS): append to VARIABLE those FLAGS that the compiler knows.
AC_DEFUN([DAT_CC_FLAGS], [
	for dat_flag in $2; do
		AS_VAR_PUSHDEF([dat_known], [dat_cv_cc_$dat_flag])
		AC_CACHE_CHECK([whether $CC accepts $dat_flag], [dat_known], [
			dat_saved_cflags=$CFLAGS
			CFLAGS="$CFLAGS -Werror $dat_flag"
			AC_COMPILE_IFELSE([AC_LANG_PROGRAM()],
				[AS_VAR_SET([dat_known], [yes])], [AS_VAR_SET([dat_known], [no])])
			CFLAGS=$dat_saved_cflags
		])
		AS_VAR_IF([dat_known], [yes], [AS_VAR_APPEND([$1], [" $dat_flag"])])
		AS_VAR_POPDEF([dat_known])
	done
])

AC_DEFUN([DAT_C11], [
	AC_CACHE_CHECK([whether $CC has C11 with atomics], [dat_cv_c11], [
		AC_LINK_IFELSE([AC_LANG_PROGRAM([[
			#include <stdatomic.h>
			_Static_assert(sizeof(void *) == 8, "64-bit pointers");
			static _Atomic unsigned long long n;]],
			[[return (int)atomic_fetch_add(&n, 1);]])],
			[dat_cv_c11=yes], [dat_cv_c11=no])
	])
	AS_IF([test "x$dat_cv_c11" = xno],
		[AC_MSG_ERROR([$CC does not compile C11 with <stdatomic.h> for a 64-bit system; try CC=gcc or CC=clang])])
])

AC_DEFUN([DAT_ENABLE_DEBUG], [
	AC_ARG_ENABLE([debug],
		[AS_HELP_STRING([--enable-debug], [keep assertions, optimise little, warn about more])],
		[], [enable_debug=no])
	AS_IF([test "x$enable_debug" != xno && test "x$dat_user_cflags" != xset], [CFLAGS="-g3 -Og"])
	AM_CONDITIONAL([DEBUG], [test "x$enable_debug" != xno])
])

AC_DEFUN([DAT_WARNINGS], [
	WARN_CFLAGS=
	DAT_CC_FLAGS([WARN_CFLAGS], [-Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes \
		-Wold-style-definition -Wpointer-arith -Wformat=2 -Wundef -Wvla])
	AS_IF([test "x$enable_debug" != xno],
		[DAT_CC_FLAGS([WARN_CFLAGS], [-Wshadow -Wlogical-op -Wduplicated-cond -Wduplicated-branches])])
	AC_ARG_ENABLE([werror],
		[AS_HELP_STRING([--enable-werror], [make every compiler warning an error])],
		[], [enable_werror=no])
	AS_IF([test "x$enable_werror" != xno], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
	AC_SUBST([WARN_CFLAGS])
])

# One option for each sanitizer. Compiler and linker get the same flags.
AC_DEFUN([DAT_SANITIZERS], [
	AC_ARG_ENABLE([asan], [AS_HELP_STRING([--enable-asan], [build with AddressSanitizer])],
		[], [enable_asan=no])
	AC_ARG_ENABLE([ubsan], [AS_HELP_STRING([--enable-ubsan], [build with UndefinedBehaviorSanitizer])],
		[], [enable_ubsan=no])
	AC_ARG_ENABLE([tsan], [AS_HELP_STRING([--enable-tsan], [build with ThreadSanitizer])],
		[], [enable_tsan=no])
	AC_ARG_ENABLE([fuzzer], [AS_HELP_STRING([--enable-fuzzer], [build test/fuzz for libFuzzer, by clang])],
		[], [enable_fuzzer=no])
	AS_IF([test "x$enable_asan" != xno && test "x$enable_tsan" != xno],
		[AC_MSG_ERROR([--enable-asan and --enable-tsan exclude each other: use two build directories])])
	dat_sanitizers=
	AS_IF([test "x$enable_asan" != xno], [dat_sanitizers=address])
	AS_IF([test "x$enable_ubsan" != xno], [dat_sanitizers="$dat_sanitizers undefined"])
	AS_IF([test "x$enable_tsan" != xno], [dat_sanitizers="$dat_sanitizers thread"])
	SAN_CFLAGS=
	for dat_sanitizer in $dat_sanitizers; do
		DAT_CC_FLAGS([SAN_CFLAGS], [-fsanitize=$dat_sanitizer])
		AS_CASE(["$SAN_CFLAGS "], [*"=$dat_sanitizer "*], [],
			[AC_MSG_ERROR([$CC has no -fsanitize=$dat_sanitizer])])
	done
	AS_IF([test -n "$dat_sanitizers"],
		[DAT_CC_FLAGS([SAN_CFLAGS], [-fno-sanitize-recover=all -fno-omit-frame-pointer])])
	AS_IF([test "x$enable_fuzzer" != xno], [
		dat_before=$SAN_CFLAGS
		DAT_CC_FLAGS([SAN_CFLAGS], [-fsanitize=fuzzer-no-link])
		AS_IF([test "$SAN_CFLAGS" = "$dat_before"],
			[AC_MSG_ERROR([$CC has no libFuzzer; try CC=clang])])
	])
	AM_CONDITIONAL([FUZZER], [test "x$enable_fuzzer" != xno])
	AC_SUBST([SAN_CFLAGS])
	AC_SUBST([dat_sanitizers])
	AM_CONDITIONAL([SANITIZE], [test -n "$SAN_CFLAGS"])
])
