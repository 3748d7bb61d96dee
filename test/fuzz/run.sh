#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# make fuzz: builds the fuzz targets by clang, with libFuzzer, ASan and UBSan, in test/fuzz/tree of
# the build directory, and runs each for some time. test/fuzz/found keeps the inputs that they find
# beyond the corpus of the source tree, so the next run continues there. test/fuzz/failed keeps
# inputs on which a target fails.
#
# run.sh [SECONDS [TARGET...]]: a target by its name without fuzz_, such as channel or conf1

set -u
: "${top_srcdir:?}" "${top_builddir:?}"
seconds=${1:-60}
[ $# = 0 ] || shift
tree=$top_builddir/test/fuzz/tree
found=$top_builddir/test/fuzz/found
failed=$top_builddir/test/fuzz/failed
: "${FUZZ_CC=clang}" "${LIBFABRIC=}"

# corpus_of TARGET: prints the corpus; both generations of conf share one
corpus_of() {
	echo "${1%[12]}"
}

build() {
	mkdir -p "$tree" && cd "$tree" || return 1
	[ -f Makefile ] ||
		"$top_srcdir/configure" --enable-debug --enable-asan --enable-ubsan \
			--enable-fuzzer --disable-probes \
			${LIBFABRIC:+--with-libfabric="$LIBFABRIC"} CC="$FUZZ_CC" \
			CFLAGS='-O1 -g1' >configure.log 2>&1 || {
		tail -n 5 configure.log >&2
		return 1
	}
	all=$(make -s fuzz-list)
	for program in $all; do
		known="${known-} ${program##*/fuzz_}"
	done
	# shellcheck disable=SC2086
	make -s -j"$(nproc)" $all >make.log 2>&1 || {
		tail -n 25 make.log >&2
		return 1
	}
}

# fuzz TARGET: runs a target; false if it fails on an input
fuzz() {
	corpus=$(corpus_of "$1")
	dict=$top_srcdir/test/fuzz/dict/$corpus
	mkdir -p "$found/$corpus" "$failed"
	echo "# $1: $seconds s"
	asan=detect_stack_use_after_return=1:allocator_may_return_null=1
	lsan=suppressions=$top_srcdir/contrib/suppressions/lsan.supp
	ASAN_OPTIONS=$asan:${ASAN_OPTIONS-} LSAN_OPTIONS=$lsan:print_suppressions=0 \
		"$tree/test/run-env" "$tree/test/fuzz/fuzz_$1" \
		-max_total_time="$seconds" -max_len=2048 -timeout=20 \
		-rss_limit_mb=4096 -print_final_stats=1 -verbosity=1 \
		-artifact_prefix="$failed/$1-" ${dict:+-dict="$dict"} \
		"$found/$corpus" "$top_srcdir/test/fuzz/corpus/$corpus" \
		>"$found/$1.log" 2>&1
	status=$?
	grep -E '^stat::(number_of_executed_units|average_exec_per_sec)|^Done' "$found/$1.log"
	[ $status = 0 ] && return 0
	grep -E -A 25 'ERROR: |runtime error: |not so: |Assertion|SUMMARY: ' "$found/$1.log" |
		head -n 60 >&2
	for input in "$failed/$1"-*; do
		echo "$1 fails on $input; to replay it:" \
			"$tree/test/run-env $tree/test/fuzz/fuzz_$1 $input" >&2
	done
	return 1
}

build || {
	echo "fuzz: the targets cannot be built; see $tree/configure.log and make.log" >&2
	exit 1
}
status=0
# shellcheck disable=SC2086
[ $# != 0 ] || set -- $known
for target; do
	fuzz "$target" || status=1
done
exit $status
