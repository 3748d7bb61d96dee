#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Programs after those of sites, and a storm of connections, with few processes, over several
# fabrics.
# T_FABRICS names others, T_RANKS more processes. In the lab of verbs T_OWN_NETWORK=1 keeps it in
# the machine's network.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"
# shellcheck source=test/lib/fabrics.sh
. "$top_srcdir/test/lib/fabrics.sh"

t_own_network "$0"
here=${top_builddir:?}/test/programs
ranks=${T_RANKS-6}

# over FABRIC NAME COMMAND...: the command ends well and says PASS
over() {
	fabric=$1 program=$2
	shift 2
	sh "$top_srcdir/test/over.sh" "$fabric" "$@" >"$t_dir/out" 2>&1
	status=$? t_name="$program over $fabric"
	if skip=$(grep '^1\.\.0 # SKIP' "$t_dir/out"); then
		t_skip "$t_name" "${skip#*SKIP }"
	elif [ "$status" = 0 ] && tail -n 1 "$t_dir/out" | grep -q '^PASS '; then
		t_pass "$t_name"
	else
		t_fail "$t_name" "$t_dir/out"
	fi
}

# two_adapters FABRIC: prints two interfaces on two addresses of the loopback device; of verbs on
# two devices
two_adapters() (
	for i in 1 2; do
		case $1 in
		verbs*) T_DEVICE=rxe$((i - 1)) t_fabric "$1" ;;
		*) t_fabric "$1" && t_params="$t_params addr=127.0.0.$i" ;;
		esac
		echo "adapter$i u2.0 nonthreadsafe default" \
			"$top_builddir/prov/ofi/.libs/libdatofi.so.2 dat-ofi.0.1" \
			"\"$t_params\" \"\""
	done
)

for fabric in ${T_FABRICS-tcp shm rxm net sham-efa sham-cxi}; do
	over "$fabric" impi_like1 "$here/impi_like1" -n "$ranks"
	over "$fabric" impi_like2 "$here/impi_like2" -n "$ranks"
	over "$fabric" storm "$here/storm" -n "$ranks"
	over "$fabric" 'storm of ranks that wait' "$here/storm" -n "$ranks" -w
done

if [ -n "${T_OWN_NETWORK-}" ] && ip address add 127.0.0.2/8 dev lo; then
	for fabric in ${T_FABRICS-tcp shm rxm net}; do
		two_adapters "$fabric" >"$t_dir/two.conf"
		over "$fabric" purescale_like env DAT_OVERRIDE="$t_dir/two.conf" \
			"$here/purescale_like" adapter1 adapter2
	done
else
	t_skip 'purescale_like' \
		'no network of our own is to be had, where the loopback can have two addresses'
fi

# Names of the library as Intel MPI is told them.
over tcp 'impi_like2 by the name without a version' env I_MPI_DAT_LIBRARY=libdat2.so \
	"$here/impi_like2" -n 2
over tcp 'impi_like2 by a path' env I_MPI_DAT_LIBRARY="$top_builddir/src/.libs/libdat2.so.2" \
	"$here/impi_like2" -n 2

# A program that can't fail shows nothing.
# shellcheck disable=SC2317 # t_run calls it
fails() {
	word=$1
	shift
	"$@" | grep "^FAIL .*$word"
}
t_run 'a library that is none' fails libnone.so env I_MPI_DAT_LIBRARY=libnone.so \
	"$here/impi_like2" -n 2
t_run 'an interface that is none' fails 'none opens' "$here/impi_like2" -n 2 -i none
t_done
