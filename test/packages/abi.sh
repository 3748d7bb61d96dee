#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Checks the interfaces of the libraries: they have all symbols of the distribution's libdat2, and
# all released symbols (listed in the symbols files of contrib/debian). They also have no
# thread-local data, whose allocation can fail.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"

libs=${top_builddir:?}/src/.libs

distribution() {
	theirs=$(dpkg -L libdapl2 2>/dev/null | grep '/libdat2\.so\.2\.[0-9.]*$')
	if [ -z "$theirs" ] || [ ! -e "$theirs" ]; then
		t_skip "$1" "there is no package libdapl2"
	else
		t_try "$1" abidiff abidiff --no-added-syms "$theirs" "$libs/libdat2.so.2"
	fi
}

# First checks that abidiff fails if a symbol is missing. Else the test would prove nothing.
notices() {
	echo 'int dat_ia_openv(void); int dat_ia_openv(void) { return 0; }' >"$t_dir/less.c"
	echo 'DAT_2.0 { global: dat_ia_openv; local: *; };' >"$t_dir/less.map"
	cc -shared -fPIC -Wl,-soname,libdat2.so.2 -Wl,--version-script="$t_dir/less.map" \
		"$t_dir/less.c" \
		-o "$t_dir/less.so" && ! abidiff --no-added-syms "$libs/libdat2.so.2" \
		"$t_dir/less.so"
}

# sealed LIBRARY PACKAGE: it exports exactly the symbols of the symbols file, with the same versions
sealed() {
	nm -D --defined-only "$libs/$1" | sed -n 's/^.* [A-Z] \([^ ]*\)$/\1/p' | sed 's/@@*/@/' |
		sed 's/^\([A-Z][A-Z0-9_.]*\)$/\1@\1/; s/^\(DAT[A-Z0-9_.]*\)@.*/\1@\1/' |
		sort >"$t_dir/exported"
	sed -n 's/^ \([^ ]*\) .*/\1/p' "$top_srcdir/contrib/debian/$2.symbols" |
		sort >"$t_dir/record"
	diff "$t_dir/record" "$t_dir/exported"
}

# static LIBRARY...: no thread-local data, which is allocated at its first use by each thread: glibc
# ends the process when there is no memory left.
static() {
	for library; do
		readelf -lW "$library" >"$t_dir/segments" || return
		grep -q LOAD "$t_dir/segments" || { echo "$library is no library"; return 1; }
		! grep TLS "$t_dir/segments" || { echo "$library has thread-local data"; return 1; }
	done
}

distribution "libdat2.so.2 against the distribution's"
t_try 'a lost symbol would be noticed' abidiff notices
t_run 'libdat.so.1 exports what the record has' sealed libdat.so.1 libdat1
t_run 'libdat2.so.2 exports what the record has' sealed libdat2.so.2 libdat2-2
if grep -q dofi_lock_order_check "$top_builddir/prov/ofi/.libs/libdatofi.so.2"; then
	t_skip 'no library has thread-local data' 'debug builds keep the locks of each thread there'
else
	t_run 'no library has thread-local data' static "$libs/libdat.so.1" "$libs/libdat2.so.2" \
		"$top_builddir/prov/ofi/.libs/libdatofi.so.1" \
		"$top_builddir/prov/ofi/.libs/libdatofi.so.2"
fi
t_done
