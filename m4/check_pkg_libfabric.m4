# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only

# libfabric is required. With --with-libfabric=DIR, pkg-config looks at DIR first for it alone, and
# LIBFABRIC_LIBDIR tells the tests where the library is.
AC_DEFUN([DAT_CHECK_PKG_LIBFABRIC], [
	AC_ARG_WITH([libfabric],
		[AS_HELP_STRING([--with-libfabric=DIR], [libfabric (1.17 or later) installed below DIR])],
		[], [with_libfabric=yes])
	LIBFABRIC_LIBDIR=
	AS_CASE([$with_libfabric],
		[no], [AC_MSG_ERROR([--without-libfabric: the provider needs libfabric])],
		[yes], [],
		[DAT_PKG_CONFIG_DIR([$with_libfabric], [libfabric])])
	PKG_CHECK_MODULES([LIBFABRIC], [libfabric >= 1.17], [], [
		dat_found=`$PKG_CONFIG --modversion libfabric 2>/dev/null`
		AC_MSG_ERROR([libfabric 1.17 or later is needed; found: ${dat_found:-none}.
Install the package libfabric-dev (Debian) or libfabric-devel (Fedora, SUSE), or name the place of
another installation with --with-libfabric=DIR. pkg-config says: $LIBFABRIC_PKG_ERRORS])
	])
	dat_libfabric_summary="`$PKG_CONFIG --modversion libfabric` in `$PKG_CONFIG --variable=libdir libfabric`"
	AS_CASE([$with_libfabric], [yes], [],
		[LIBFABRIC_LIBDIR=`$PKG_CONFIG --variable=libdir libfabric`])
	AC_SUBST([LIBFABRIC_LIBDIR])
	DAT_PKG_CONFIG_END
])

# DAT_PKG_CONFIG_DIR(DIR, PACKAGE): let pkg-config find PACKAGE below DIR first, until
# DAT_PKG_CONFIG_END. DIR may be /usr, whose other packages must not hide those of PKG_CONFIG_PATH.
AC_DEFUN([DAT_PKG_CONFIG_DIR], [
	dat_pc_dir=
	for dat_dir in "$1/lib64/pkgconfig" "$1/lib/pkgconfig" "$1"/lib/*/pkgconfig; do
		AS_IF([test -f "$dat_dir/$2.pc"], [dat_pc_dir=$dat_dir; break])
	done
	AS_IF([test -z "$dat_pc_dir"],
		[AC_MSG_ERROR([--with-$2=$1: there is no $2.pc in lib/pkgconfig or lib64/pkgconfig below it])])
	dat_pc_path=$PKG_CONFIG_PATH
	PKG_CONFIG_PATH=$dat_pc_dir${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
	export PKG_CONFIG_PATH
])

AC_DEFUN([DAT_PKG_CONFIG_END], [
	AS_IF([test -n "$dat_pc_dir"], [PKG_CONFIG_PATH=$dat_pc_path])
	dat_pc_dir=
])
