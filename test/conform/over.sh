#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Runs the conformance suite of one generation over a fabric: test/run-env test/conform/over.sh FABRIC 12|20
# FABRIC: tcp, shm, rxm, net or another provider's name as libfabric has it; or sham-PROFILE, hardware that is played (test/fabric)
# on FI_SHAM_CORE. What the suite answers in TAP is the answer.

fabric=$1 generation=$2
addr='addr=127.0.0.1'

case $fabric in
tcp) params='provider=tcp domain=lo' ;;
tcp-rdm) params="provider=tcp transport=rdm domain=lo $addr" ;;
rxm) params="provider=tcp;ofi_rxm transport=rdm domain=lo $addr" ;;
net) params="provider=net transport=rdm domain=lo $addr" ;;
sham-*)
	params="provider=sham domain=${fabric#sham-} $addr"
	export FI_PROVIDER_PATH="$top_builddir/test/fabric/.libs"
	;;
*) params="provider=$fabric $addr" ;;
esac
case $generation in
12 | 20) ;;
*)
	echo "Bail out! usage: over.sh FABRIC 12|20"
	exit 2
	;;
esac

conf=$(mktemp) || exit 2
trap 'rm -f "$conf"' EXIT
for line in 'u1.2 nonthreadsafe default libdatofi.so.1' 'u2.0 nonthreadsafe default libdatofi.so.2'; do
	echo "$fabric $line dat-ofi.0.1 \"$params\" \"\""
done >"$conf"
export DAT_OVERRIDE="$conf" T_IA="$fabric"

if ! why=$(dat_info --ia "$fabric" 2>&1); then
	echo "1..0 # SKIP $fabric can't be opened: $(echo "$why" | head -n 1)"
	exit 0
fi
"$top_builddir/test/conform/conform$generation"
