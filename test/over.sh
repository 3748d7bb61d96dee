#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Runs a test over a fabric: test/run-env sh test/over.sh FABRIC 12|20|PROGRAM [ARGUMENT...]
# FABRIC: a name of test/lib/fabrics.sh or of a provider. 12 and 20 are the conformance suites. T_IA
# tells the test the name of the IA. The output is the TAP of the test.
# shellcheck source=test/lib/fabrics.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/fabrics.sh"

if [ $# -lt 2 ]; then
	echo "Bail out! usage: over.sh FABRIC 12|20|PROGRAM [ARGUMENT...]"
	exit 2
fi
fabric=$1 program=$2
shift 2
case $program in
12 | 20) program=$top_builddir/test/conform/conform$program ;;
esac

conf=$(mktemp) || exit 2
trap 'rm -f "$conf"' EXIT
t_fabric_conf "$fabric" "$fabric" >"$conf"
# T_PARAMS is for programs that contain the provider.
export DAT_OVERRIDE="$conf" T_IA="$fabric" T_PARAMS="$t_params"

# shellcheck disable=SC2016
t_with_device "$fabric" sh -c 'fabric=$1; shift
	if ! why=$(dat_info --ia "$fabric" 2>&1); then
		case $why in
		*"ended with signal"*)
			echo "Bail out! $why" | tr "\n" " "
			exit 1
			;;
		esac
		echo "1..0 # SKIP it can'\''t be opened: $(echo "$why" | tr "\n" " ")"
		exit 0
	fi
	"$@"' sh "$fabric" "$program" "$@"
