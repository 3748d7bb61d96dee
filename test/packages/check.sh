#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Runs the two commands of README in a fresh Debian system, with the libfabric and the compilers of
# that release: contrib/demo, then contrib/check. check.sh COMMAND runs this shell command instead,
# in a configured build directory there. DAT_OFI_DEBIAN names the release.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by make check-debian13}/test/lib/tap.sh"
# shellcheck source=test/packages/root.sh
. "$top_srcdir/test/packages/root.sh"
r_begin "$0" "$@"

version=$(sed -n 's/^version=//p' "$top_srcdir/VERSION")
kept=$top_builddir/test/packages/$r_release-log
r_limit=28800 # all tests, with sanitizers too, on a slow machine

# Further compilers, which contrib/check uses if they are installed
fresh() {
	r_new host && r_apt host update && r_apt host install xz-utils clang &&
		cp "${top_builddir:?}/dat-ofi-$version.tar.xz" "$t_dir/host.root/root" &&
		r_in host sh -ec 'cd && tar -xf *.xz && rm *.xz && mv dat-ofi-* dat-ofi'
}

packages() {
	(flock 9 && r_in host /root/dat-ofi/contrib/install-deps) 9>"$r_cache/lock"
}

# inside FOLDER COMMAND...: runs it there, in a network that has only lo and eth0
inside() {
	# shellcheck disable=SC2016 # expanded in the root
	R_NET='unshare -nm' r_in host sh -ec 'mount -t sysfs sys /sys
		ip link set lo up
		ip link add eth0 type veth peer name eth1
		ip link set eth1 up
		ip link set eth0 up
		ip addr add 192.0.2.2/24 dev eth0
		cd "/root/dat-ofi/$1"
		shift
		exec "$@"' sh "$@"
}

# Without the distribution's programs the demo runs ours and reports that.
demo_shows() {
	inside . contrib/demo >"$t_dir/demo" 2>&1
	demo_status=$?
	cat "$t_dir/demo"
	[ "$demo_status" = 0 ] || return
	if r_in host sh -c 'command -v dtest' >/dev/null; then
		grep -q 'dtest passed at both ends' "$t_dir/demo"
	else
		grep -q 'our own programs instead' "$t_dir/demo" &&
			grep -q 'the message arrived' "$t_dir/demo"
	fi
}

# aloud NAME COMMAND...: a test that takes long. Its output is shown while it runs.
aloud() {
	t_name=$1
	shift
	{
		"$@" 2>&1
		echo $? >"$t_dir/status"
	} | sed -u 's/^/# /'
	if [ "$(cat "$t_dir/status")" = 0 ]; then
		t_pass "$t_name"
	else
		t_fail "$t_name"
	fi
}

built() {
	# shellcheck disable=SC2016 # expanded in the root
	inside . sh -ec 'autoreconf -fi && mkdir -p build/work && cd build/work &&
		../../configure --enable-debug --enable-werror && make -j"$(nproc)"'
}

# The logs are kept when the system is removed.
keep() {
	rm -rf "$kept"
	mkdir -p "$kept"
	(cd "$t_dir/host.root/root/dat-ofi/build" &&
		find . -path '*/log/*' -o -name test-suite.log) |
		while read -r log; do
			cp "$t_dir/host.root/root/dat-ofi/build/$log" \
				"$kept/$(echo "${log#./}" | tr / -)"
		done
	echo "# logs: $kept"
}

t_run "a fresh $r_release, the archive unpacked" fresh
t_run 'contrib/install-deps' packages
[ $t_failures = 0 ] || t_done
if [ -n "${1-}" ]; then
	t_run 'a build' built
	[ $t_failures = 0 ] || t_done
	aloud "$1" inside build/work sh -c "$1"
else
	t_run 'contrib/demo' demo_shows
	aloud 'contrib/check' inside . contrib/check
fi
keep
t_done
