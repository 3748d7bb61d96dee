#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The distribution's unmodified test programs, once through our registry and once through its own.
# One script, because the programs always listen on the same ports.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"

for program in dtest dtestcm dapltest; do
	command -v $program >/dev/null || t_skip_all "there is no $program (package dapl2-utils)"
done

cat >"$t_dir/dat.conf" <<EOF
loop u2.0 nonthreadsafe default $top_builddir/prov/ofi/.libs/libdatofi.so.2 ofi.2.0 "provider=tcp" ""
EOF
export DAT_OVERRIDE="$t_dir/dat.conf"

# programs REGISTRY PREFIX
programs() {
	for options in '' '-c' '-p' '-w' '-W -D'; do
		t_run_pair "dtest $options, $1" 'waiting for client connection' \
			"$2 dtest -P loop $options" "$2 dtest -P loop $options -h 127.0.0.1"
	done
}

programs 'our registry' ''
programs "the distribution's registry" "env LD_LIBRARY_PATH=$libfabric_libdir"
t_done
