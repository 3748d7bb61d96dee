#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Runs the fault programs in which fabrics differ most over each fabric, as one test: everywhere.sh
# [PROGRAM[:CASE]...] T_FABRICS names the fabrics. Over tcp each program is a test of its own. "make
# check-faults" runs the long form of all programs. The programs wait most of the time, so the
# fabrics run in parallel.

[ $# -gt 0 ] || set -- order2 flood2 sever2 invalidate2 connect2:many outlive2 datagrams2 random2 \
	lies intruder

dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT

# over FABRIC PROGRAM...: runs the programs and prints their output between marks
over() (
	fabric=$1
	shift
	for program; do
		echo "begin $fabric $program"
		case $program in *:*) CK_RUN_CASE=${program#*:} && export CK_RUN_CASE ;; esac
		sh "${top_srcdir:?run me by test/run-env}/test/over.sh" "$fabric" \
			"${top_builddir:?}/test/fault/${program%:*}"
		echo "end $?"
		unset CK_RUN_CASE
	done
)

fabrics=${T_FABRICS-shm rxm net sham-efa sham-cxi}
for fabric in $fabrics; do
	over "$fabric" "$@" >"$dir/$fabric" &
done
wait

# Numbers all cases. A program that ends with an error and without output is a failure.
for fabric in $fabrics; do
	cat "$dir/$fabric"
done | awk '
	$1 == "begin" { place = $2; program = $3; bad = 0; next }
	$1 == "end" {
		if ($2 && !bad) {
			print "not ok " ++n " - " place ": " program " ends with status " $2
			failed = 1
		}
		next
	}
	/^1\.\.0/ { sub(/^1\.\.0 */, ""); print "ok " ++n " - " place ": " program " " $0; next }
	/^1\.\./ { next }
	/^not ok/ {
		bad = failed = 1
		sub(/^not ok [0-9]+ - /, "")
		print "not ok " ++n " - " place ": " $0
		next
	}
	/^ok/ { sub(/^ok [0-9]+ - /, ""); print "ok " ++n " - " place ": " $0; next }
	{ print }
	{ fflush() }
	END { print "1.." n + 0; exit failed }'
