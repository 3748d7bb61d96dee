#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Runs a test program over a fabric: test/run-env test/over.sh FABRIC PROGRAM [ARGUMENT...]
# FABRIC: tcp, tcp-rdm, shm, rxm, net, sham-PROFILE of test/fabric (on FI_SHAM_CORE), or another
# provider's name as libfabric has it. The program finds its IA by T_IA. What it answers in TAP is the answer.

if [ $# -lt 2 ]; then
	echo "Bail out! usage: over.sh FABRIC PROGRAM [ARGUMENT...]"
	exit 2
fi
fabric=$1
shift

case $fabric in
tcp) params='provider=tcp domain=lo' ;;
tcp-rdm) params='provider=tcp transport=rdm domain=lo' ;;
rxm) params='provider=tcp;ofi_rxm transport=rdm domain=lo' ;;
net) params='provider=net transport=rdm domain=lo' ;;
sham-*)
	params="provider=sham domain=${fabric#sham-}"
	export FI_PROVIDER_PATH="$top_builddir/test/fabric/.libs"
	;;
*) params="provider=$fabric" ;;
esac
# By the variable, so that a program may choose another one.
[ "$fabric" = tcp ] || export DAT_OFI_ADDR="${DAT_OFI_ADDR-127.0.0.1}"

conf=$(mktemp) || exit 2
trap 'rm -f "$conf"' EXIT
for line in 'u1.2 nonthreadsafe default libdatofi.so.1' 'u2.0 nonthreadsafe default libdatofi.so.2'; do
	echo "$fabric $line dat-ofi.0.1 \"$params\" \"\""
done >"$conf"
# T_PARAMS is for programs that bring the provider along.
export DAT_OVERRIDE="$conf" T_IA="$fabric" T_PARAMS="$params"

if ! why=$(dat_info --ia "$fabric" 2>&1); then
	echo "1..0 # SKIP $fabric can't be opened: $(echo "$why" | head -n 1)"
	exit 0
fi
"$@"
