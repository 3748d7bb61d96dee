#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Runs dat_perf beside raw libfabric over the fabric of T_IA, and verifies each byte:
# test/run-env sh test/over.sh efa sh test/efa/perf.sh
# More EFA_ROUNDS and EFA_TIME make the figures in the output better. The test fails only if data is
# wrong.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"

# measure TEST METRIC SIZES [OPTION...]
measure() {
	test=$1 metric=$2 sizes=$3
	shift 3
	t_name="$test, $metric of $sizes${*:+, $*}"
	t_name=$t_name${DAT_OFI_LAST_BYTE:+, last_byte=$DAT_OFI_LAST_BYTE}
	if timeout 600 dat_perf --loopback --ia "${T_IA:?run me by test/over.sh}" \
		--compare --verify --test "$test" \
		--metric "$metric" --size "$sizes" "$@" \
		--rounds "${EFA_ROUNDS-3}" --time "${EFA_TIME-0.2}" \
		>"$t_dir/out" 2>&1; then
		sed 's/^/# /' "$t_dir/out"
		t_pass "$t_name"
	else
		t_fail "$t_name" "$t_dir/out"
	fi
}

for each in send write read; do
	measure $each latency 8,4k
	measure $each bandwidth 64k,1m
done
# libfabric with the promise that the DAT provider keeps:
measure write latency 8,4k --last-word
measure write bandwidth 64k,1m --last-word
# The last word of a write is an operation of its own, unless:
export DAT_OFI_LAST_BYTE=fabric
measure write latency 8,4k
measure write bandwidth 64k,1m
t_done
