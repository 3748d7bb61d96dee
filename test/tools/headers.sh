#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Every public header compiles alone and without a warning, in each language that programs use.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"

# shellcheck disable=SC2317 # t_try calls it
# alone COMPILER...: true when each header does
alone() {
	for header in "$top_srcdir"/include/*/*.h; do
		echo "#include <${header#"$top_srcdir/include/"}>" >"$t_dir/alone.c"
		"$@" -fsyntax-only -Wall -Wextra -pedantic -Werror -I"$top_srcdir/include" \
			"$t_dir/alone.c" || return
	done
}

# c23 COMPILER: what it calls the language that newer compilers speak when they are not told, in which () has no arguments
# and bool is a word
c23() {
	if echo | "$1" -std=c23 -fsyntax-only -x c - 2>/dev/null; then
		echo c23
	else
		echo c2x
	fi
}

for cc in gcc clang; do
	for std in c99 c11 "$(c23 $cc)"; do
		t_try "$cc -std=$std" "$cc" alone $cc -std=$std
	done
done
for cxx in g++ clang++; do
	for std in c++11 c++17; do
		t_try "$cxx -std=$std" "$cxx" alone $cxx -x c++ -std=$std
	done
done
t_done
