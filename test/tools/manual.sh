#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The manual is well formed, and agrees with headers, libraries, programs and parameters.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"

manual=$top_srcdir/man/manual.py

# pages: prints the pages that have text of their own
# shellcheck disable=SC2317
pages() {
	grep -L '^\.so ' "$top_srcdir"/man/man?/*
}

# manual.py checks references between pages. mandoc would look among the pages installed here.
# shellcheck disable=SC2317,SC2046 # t_try calls it; names are words
lint() {
	mandoc -T lint -W style $(pages) >"$t_dir/lint" 2>/dev/null
	! grep -v 'referenced manual not found' "$t_dir/lint"
}

# shellcheck disable=SC2317
# Newer versions of groff warn that they cannot adjust lines with long prototypes.
format() {
	for page in $(pages); do
		groff -mdoc -dAD=l -T utf8 -ww -z "$page" 2>&1
	done >"$t_dir/groff"
	! grep . "$t_dir/groff"
}

# man finds each page by its name. A name that shares a page leads to the page that has the text.
# shellcheck disable=SC2317,SC2046
find_pages() {
	for section in 1 3 5 7; do
		set -- $(cd "$top_srcdir/man/man$section" && ls)
		MANPATH=$top_srcdir/man man -w "$section" \
			$(printf '%s\n' "$@" | sed 's/\.[^.]*$//') >"$t_dir/found" || return
		[ "$(wc -l <"$t_dir/found")" = $# ] || return
	done
}

# shellcheck disable=SC2317
compile_examples() {
	python3 "$manual" examples "$t_dir" || return
	"$1" -std=c11 -D_DEFAULT_SOURCE -fsyntax-only -Wall -Wextra -Werror \
		-I"$top_srcdir/include" "$t_dir"/*.c
}

# The page lists the counters beyond those of the InfiniBand extensions.
# shellcheck disable=SC2317
counters_are_listed() {
	sed -n 's/^DOFI_\(IA\|EP\|EVD\)_OWN_COUNTER(\(\w*\)).*/\2/p' \
		"$top_srcdir/prov/ofi/base/count.def" | sort >"$t_dir/counters"
	sed -n '/^\.Sh COUNTERS/,/^\.El/s/^\.It //p' "$top_srcdir/man/man7/dat-ofi-provider.7" |
		tr -s ' ,' '\n' | grep '^[A-Z_]*$' | sort >"$t_dir/listed"
	diff "$t_dir/counters" "$t_dir/listed"
}

# shellcheck disable=SC2317
table_is_current() {
	python3 "$manual" table | diff "$top_srcdir/man/FUNCTIONS.md" -
}

t_try 'mandoc has nothing to complain of' mandoc lint
t_try 'groff formats all pages' groff format
# On some images man is a script that only tells how to install pages.
if man --version 2>/dev/null | grep -q '^man [0-9]'; then
	t_run 'man finds all names' find_pages
else
	t_skip 'man finds all names' 'there is no man-db'
fi
if ! command -v python3 >/dev/null; then
	t_skip 'pages and what they describe' 'there is no python3'
	t_done
fi
for check in $(python3 "$manual" list); do
	t_run "manual: $check" python3 "$manual" "$check"
done
t_run 'the table of calls is current' table_is_current
t_run 'all counters are listed' counters_are_listed
for program in dat_conf dat_info dat_perf; do
	t_run "manual: options of $program" python3 "$manual" options "${top_builddir:?}/$program"
done
for cc in gcc clang; do
	t_try "examples compile, $cc" $cc compile_examples $cc
done
t_done
