#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Runs all suites over each fabric: test/run-env sh test/matrix.sh LOGS FAULT-PROGRAMS [FABRIC...]
# Prints a line for each fabric and part, then a total and the rows for docs/test-matrix.md, which
# LOGS/table.md also has. Continues after failures; the exit status is 1 if something failed. LOGS
# has the output of each part. FAULT-PROGRAMS is one argument, a list of paths. T_PARTS chooses
# parts.
# shellcheck source=test/lib/fabrics.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/fabrics.sh"

if [ $# -lt 2 ]; then
	echo "usage: matrix.sh LOGS FAULT-PROGRAMS [FABRIC...]" >&2
	exit 2
fi
logs=$1 faults=$2
shift 2
: "${T_PARTS:=conform12 conform20 fault dapl}"
passed=0 failed=0 skipped=0
mkdir -p "$logs" || exit 2

# over LOG PROGRAM...: runs one program over $fabric and appends its TAP to LOG. A program that ends
# without TAP is a failure.
over() {
	log=$1
	shift
	CK_TAP_LOG_FILE_NAME=- sh "$top_srcdir/test/over.sh" "$fabric" "$@" \
		>"$log.one" 2>>"$log.err" || :
	grep -q '^1\.\.' "$log.one" || echo "not ok - $*: ended before its plan" >>"$log.one"
	cat "$log.one" >>"$log"
	rm "$log.one"
}

# count LOG PATTERN [PATTERN]: prints the number of lines with the first and without the second
# pattern
count() {
	grep -e "$2" "$1" | grep -c -v -e "${3-^$}"
}

# row FABRIC PART LOG [FILTER]
row() {
	ok=$(count "$3" "^ok.*${4-}" '# SKIP')
	bad=$(count "$3" "^not ok.*${4-}")
	skip=$(count "$3" "^ok.*${4-}.*# SKIP")
	printf '%-20s %-10s %5d passed %4d failed %4d skipped  %s\n' "$1" "$2" "$ok" "$bad" \
		"$skip" \
		"$(sed -n 's/^1\.\.0 # SKIP //p' "$3" | head -n 1)"
	[ "$bad" = 0 ] || sed -n "/^not ok.*${4-}/s/^not ok[ 0-9]*- /                     /p" "$3" |
		cut -c 1-160
}

add() {
	passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
}

# cell: prints the counts of a part in the form of docs/test-matrix.md
cell() {
	if [ $((ok + bad)) = 0 ]; then
		echo -
	elif [ "$skip" = 0 ]; then
		echo "$ok/$bad"
	else
		echo "$ok/$bad ($skip)"
	fi
}

# table_row FABRIC: prints a row from the cells of its parts, which are in files
table_row() {
	printf '| %s | %s | %s ' "$1" "$libfabric" "$system"
	for column in conform20 conform12 fault dapl; do
		printf '| %s ' "$(cat "$logs/$1.$column.cell" 2>/dev/null || echo -)"
	done
	echo '|'
}

# part FABRIC PART
part() {
	fabric=$1 log=$logs/$1.$2.tap
	rm -f "$log" "$log.err"
	: >"$log"
	case $2 in
	conform*) over "$log" "${2#conform}" ;;
	fault) for program in $faults; do over "$log" "$program"; done ;;
	dapl) T_FABRIC=$1 T_MORE=1 over "$log" sh "$top_srcdir/test/tools/dapl-programs.sh" ;;
	perf) over "$log" sh "$top_srcdir/test/efa/perf.sh" ;;
	esac
	row "$1" "$2" "$log"
	add
	cell >"$logs/$1.$2.cell"
	case $2 in
	conform*) row "$1" "  PRG" "$log" ':prg[-:]' ;; # counted above
	dapl)
		for program in dtest dtestcm dtestsrq dtestx dapltest; do
			row "$1" "  $program" "$log" " - $program:"
		done
		;;
	esac
}

# The release that runs: the provider may have been compiled with an older one.
libfabric=$(dat_info --version | sed -n 's/^libfabric \([0-9.]*\).*/\1/p')
# shellcheck disable=SC1091,SC2153 # not of ours
system=$(. /etc/os-release 2>/dev/null && echo "${NAME%% *} ${VERSION_ID-}")
rm -f "$logs"/*.cell
# shellcheck disable=SC2031 # as they are here
echo "$(dat_info --version | grep '^libfabric'); sham: on ${FI_SHAM_CORE-$(t_core)}; logs: $logs"
# shellcheck disable=SC2031,SC2086
[ $# -gt 0 ] || set -- $t_fabrics
for name; do
	for what in $T_PARTS; do
		part "$name" "$what"
	done
done
{
	echo '| fabric | libfabric | system | conform20 | conform12 | fault | dapl2-utils |'
	echo '|---|---|---|---|---|---|---|'
	for name; do
		table_row "$name"
	done
} >"$logs/table.md"
cat "$logs/table.md"
echo "total: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
