#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Rules of messages and RDMA in three settings: the fabric takes one segment per operation (tcp with
# a parameter, and the test provider's cxi, which also refuses operations at times); credit updates
# are written, as on iWARP; the last bytes of a write are an operation of their own. Without this
# operation the test provider's cxi stores the last bytes too early.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"

suite=${top_builddir:?}/test/conform/conform20

# interface NAME PARAMETERS: prints a line of dat.conf
interface() {
	echo "$1 u2.0 nonthreadsafe default libdatofi.so.2 dat-ofi.0.1 \"$2\" \"\""
}

{
	interface narrow 'provider=tcp domain=lo max_segments=1'
	interface written 'provider=tcp domain=lo credits=write'
	interface split 'provider=tcp domain=lo last_byte=library'
	interface cxi 'provider=sham domain=cxi addr=127.0.0.1'
	interface efa 'provider=sham domain=efa addr=127.0.0.1'
	interface unknown 'provider=tcp domain=lo srq_ep_broken=perhaps'
	interface early 'provider=sham domain=cxi addr=127.0.0.1 last_byte=fabric'
	interface odd 'provider=tcp domain=lo last_byte=perhaps'
} >"$t_dir/dat.conf"
export DAT_OVERRIDE="$t_dir/dat.conf" FI_PROVIDER_PATH="$top_builddir/test/fabric/.libs" \
	FI_SHAM_CORE='tcp;ofi_rxm'

# expect IA CASE: true when all tests of the case pass over the IA
expect() {
	t_name="$2 over $1${FI_SHAM_EAGAIN:+ with refusals}"
	T_IA=$1 CK_RUN_CASE=$2 CK_TAP_LOG_FILE_NAME="$t_dir/tap" "$suite" >"$t_dir/out" 2>&1
	if grep -q '^ok' "$t_dir/tap" && ! grep -q '^not ok' "$t_dir/tap"; then
		t_pass "$t_name"
	else
		t_fail "$t_name" "$t_dir/tap" "$t_dir/out"
	fi
}

for case in dto-receives rdma srq_receives ext_transfers; do
	expect narrow $case
done
for case in ep-connect dto-receives; do
	expect written $case
done
for case in prg-spin rdma ext_transfers; do
	expect split $case
done
# The test provider stores the pieces of a write at such intervals that also a busy machine sees
# them apart.
comes_early() {
	FI_SHAM_LATE_US=20000 T_IA=early CK_RUN_CASE=prg-spin CK_TAP_LOG_FILE_NAME="$t_dir/tap" \
		"$suite" >"$t_dir/out" 2>&1
	grep -q '^not ok.*came before' "$t_dir/tap"
}
t_run "left to the fabric the last bytes come early" comes_early
# is_refused IA WORD: true when the parameter WORD makes dat_ia_open fail
is_refused() {
	! dat_info --ia "$1" >"$t_dir/out" 2>&1 && grep -q "$2 is not known" "$t_dir/out"
}
t_run "a word that is not known" is_refused odd last_byte=perhaps
t_run "another one" is_refused unknown srq_ep_broken=perhaps
export FI_SHAM_EAGAIN=30
for case in dto-receives prg-spin; do
	expect cxi $case
done
expect efa prg-spin
t_done
