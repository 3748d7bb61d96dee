#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Fault programs over every fabric that libfabric can do on one host, as one test: everywhere.sh [PROGRAM...]
# T_FABRICS names others. With T_FULL everything is done at length, and other programs if none is named.

quick='order2 flood2 stale2'
full='agent alloc connect cut flood fork freeze kill leaks nomem order passive quals scale signal stale threads'
fabrics='tcp shm rxm net sham-efa sham-cxi'
[ -z "${T_FULL-}" ] || fabrics="$fabrics tcp-rdm sham-cxi-client-keys"
fabrics=${T_FABRICS-$fabrics}

if [ $# = 0 ]; then
	if [ -n "${T_FULL-}" ]; then
		for name in $full; do set -- "$@" "${name}1" "${name}2"; done
	else
		# shellcheck disable=SC2086
		set -- $quick
	fi
fi

# Cases are counted through; a program that ends badly without a word is a failed one.
for fabric in $fabrics; do
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
