# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only

# The tests need Check. Without it only "make check" fails, because nothing that is installed needs
# it.
AC_DEFUN([DAT_CHECK_PKG_CHECK], [
	PKG_CHECK_MODULES([CHECK], [check >= 0.11], [
		dat_have_check=yes
		dat_check_summary="with Check `$PKG_CONFIG --modversion check`"
	], [
		dat_have_check=no
		dat_check_summary='none: Check is missing, "make check" will fail'
	])
	AM_CONDITIONAL([HAVE_CHECK], [test "x$dat_have_check" = xyes])
])
