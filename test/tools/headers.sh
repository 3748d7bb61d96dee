#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Every public header compiles alone and without a warning, in each language that programs use.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"

# compiles COMPILER...: compiles t_dir/some.c
compiles() {
	"$@" -fsyntax-only -Wall -Wextra -pedantic -Werror -I"$top_srcdir/include" "$t_dir/some.c"
}

# alone COMPILER...: true when each header compiles alone
alone() {
	for header in "$top_srcdir"/include/*/*.h; do
		echo "#include <${header#"$top_srcdir/include/"}>" >"$t_dir/some.c"
		compiles "$@" || return
	done
}

# together COMPILER...: true when the headers of each generation compile in one file. One compiler
# and standard is enough to show that no header needs another before it.
together() {
	for generation in dat dat2; do
		(cd "$top_srcdir/include" && ls "$generation"/*.h) |
			sed 's/.*/#include <&>/' >"$t_dir/some.c"
		compiles "$@" || return
	done
}

# uninitialized COMPILER...: true when a program may declare attributes without an initial value
uninitialized() {
	for generation in dat dat2; do
		printf '#include <%s/udat.h>\nvoid f(void) { DAT_%s; }\n' "$generation" \
			'PROVIDER_ATTR p; DAT_IA_ATTR i; DAT_EP_ATTR e; (void)p; (void)i; (void)e' \
			>"$t_dir/some.c"
		compiles "$@" || return
	done
}

# c23 COMPILER: prints the compiler's name of C23, the default of newer compilers. In C23 () means
# no arguments, and bool is a keyword.
c23() {
	if echo | "$1" -std=c23 -fsyntax-only -x c - 2>/dev/null; then
		echo c23
	else
		echo c2x
	fi
}

t_try 'each alone, gcc' gcc alone gcc -std=c99
t_try 'each alone, g++' g++ alone g++ -x c++ -std=c++11
for cc in gcc clang; do
	for std in c99 c11 "$(c23 $cc)"; do
		t_try "$cc -std=$std" "$cc" together "$cc" "-std=$std"
	done
done
for cxx in g++ clang++; do
	t_try "attributes without an initial value, $cxx" "$cxx" \
		uninitialized "$cxx" -x c++ -std=c++11
	for std in c++11 c++17; do
		t_try "$cxx -std=$std" "$cxx" together "$cxx" -x c++ "-std=$std"
	done
done
t_done
