#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What fabrics differ in most, over each of them, as one test: everywhere.sh [PROGRAM...]
# T_FABRICS names others. "make check-faults" does all of it, at length.

[ $# -gt 0 ] || set -- order2 flood2 stale2

# Cases are counted through; a program that ends badly without a word is a failed one.
# shellcheck disable=SC2086
for fabric in ${T_FABRICS-tcp shm rxm net sham-efa sham-cxi}; do
	for program in "$@"; do
		echo "begin $fabric $program"
		sh "$top_srcdir/test/over.sh" "$fabric" "$top_builddir/test/fault/$program"
		echo "end $?"
	done
done | awk '
	$1 == "begin" { place = $2; program = $3; bad = 0; next }
	$1 == "end" {
		if ($2 && !bad) { print "not ok " ++n " - " place ": " program " ends with status " $2; failed = 1 }
		next
	}
	/^1\.\.0/ { sub(/^1\.\.0 */, ""); print "ok " ++n " - " place ": " program " " $0; next }
	/^1\.\./ { next }
	/^not ok/ { bad = failed = 1; sub(/^not ok [0-9]+ - /, ""); print "not ok " ++n " - " place ": " $0; next }
	/^ok/ { sub(/^ok [0-9]+ - /, ""); print "ok " ++n " - " place ": " $0; next }
	{ print }
	{ fflush() }
	END { print "1.." n + 0; exit failed }'
