#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The provider has the probes that its manual page lists, and no others; bpftrace sees them fire.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"

page=$top_srcdir/man/man7/dat-ofi-provider.7

grep -q '^#define HAVE_SDT 1' "${top_builddir:?}/config.h" ||
	t_skip_all 'it was configured without probes (sys/sdt.h)'
command -v readelf >/dev/null || t_skip_all 'there is no readelf'

sed -n '/^\.Sh PROBES/,/^\.Sh ENV/s/^\.It Fn \([a-z]*\).*/\1/p' "$page" | sort >"$t_dir/described"

# shellcheck disable=SC2317
compare() {
	readelf -n "$1" >"$t_dir/notes" || return
	grep -A1 'Provider: dat_ofi$' "$t_dir/notes" | sed -n 's/ *Name: //p' |
		sort -u >"$t_dir/there"
	[ -s "$t_dir/there" ] && diff "$t_dir/described" "$t_dir/there"
}

# bpftrace attaches to the file and not by -c, because a new process has not loaded the library yet.
# shellcheck disable=SC2317
fire() {
	t_start trace bpftrace -e "BEGIN { printf(\"ready\n\"); }
		usdt:$1:dat_ofi:post { @posts = count(); }
		usdt:$1:dat_ofi:state { @states = count(); }"
	t_await '^ready' && dat_perf --loopback --iterations 100 --ia ofi-tcp-lo &&
		kill -INT "$t_pid" && wait "$t_pid"
	cat "$t_dir/trace"
	grep -q '@posts: [1-9]' "$t_dir/trace" && grep -q '@states: [1-9]' "$t_dir/trace"
}

for generation in 1 2; do
	library=$top_builddir/prov/ofi/.libs/libdatofi.so.$generation
	t_run "probes of libdatofi.so.$generation" compare "$library"
done
if command -v bpftrace >/dev/null && bpftrace -e 'BEGIN { exit(); }' >/dev/null 2>&1; then
	t_run 'bpftrace sees them' fire "$top_builddir/prov/ofi/.libs/libdatofi.so.2"
else
	t_skip 'bpftrace sees them' 'there is no bpftrace that may run'
fi
t_done
