#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Each library and program that is installed was built as configure says: relocations are read-only
# before the program starts, stacks and string functions are checked.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"

config=${top_builddir:?}/config.h

command -v readelf >/dev/null || t_skip_all 'there is no readelf'
grep -q '^#define HARDENED_LINK 1' "$config" || t_skip_all 'configured with --disable-hardening'

# file NAME: prints the path of the file that libtool would install
file() {
	for path in "$top_builddir/.libs/$1" "$top_builddir/src/.libs/$1" \
		"$top_builddir/prov/ofi/.libs/$1" "$top_builddir/$1"; do
		[ -f "$path" ] && echo "$path" && return
	done
	return 1
}

# shellcheck disable=SC2317
is_read_only() {
	readelf -lW "$1" | grep GNU_RELRO && readelf -dW "$1" | grep -E 'BIND_NOW|FLAGS.*NOW'
}

# calls FILE FUNCTION: true when FILE refers to a function that matches the regular expression
# shellcheck disable=SC2317
calls() {
	readelf -sW "$1" | grep -E "UND $2(@|\$| )"
}

# The linker marks a file only if the distribution's start files are marked, too.
# shellcheck disable=SC2317
has_shadow_stacks() {
	# shellcheck disable=SC2046 # names without spaces
	set -- $(find "$top_builddir/src" "$top_builddir/prov" -name '*.o')
	[ $# -gt 100 ] && [ "$(readelf -nW "$@" | grep -c 'x86 feature:.*SHSTK')" = $# ]
}

for name in libdat.so.1 libdat2.so.2 libdatofi.so.1 libdatofi.so.2 dat_info dat_conf dat_perf; do
	path=$(file "$name")
	t_run "$name: relocations" is_read_only "$path"
	if ! grep -q '^#define HARDENED_CODE 1' "$config"; then
		t_skip "$name: code" 'sanitizers check it'
		continue
	fi
	t_run "$name: stacks" calls "$path" '__stack_chk_fail'
	if grep -q '^#define HARDENED_STRINGS 1' "$config"; then
		t_run "$name: string functions" calls "$path" '__[a-z]*printf_chk'
	else
		t_skip "$name: string functions" 'the code is not optimised'
	fi
done
if grep -q '^HARDEN_CFLAGS = .*-fcf-protection' "$top_builddir/Makefile"; then
	t_run 'objects: shadow stacks' has_shadow_stacks
else
	t_skip 'objects: shadow stacks' 'the compiler has none, or sanitizers are used'
fi
t_done
