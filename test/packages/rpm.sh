#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# RPM packages, as far as Debian's rpm can tell: made, looked at by rpmlint, installed and removed.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by make check-packages}/test/lib/tap.sh"
# shellcheck source=test/packages/root.sh
. "$top_srcdir/test/packages/root.sh"
r_begin "$0"

version=$(sed -n 's/^version=//p' "$top_srcdir/VERSION")

# Debian's packages have other names than those that the spec asks for, hence --nodeps.
build() {
	r_new rpm && r_apt rpm update &&
		r_apt rpm install rpm rpmlint gcc libc6-dev make xz-utils pkg-config libfabric-dev libhwloc-dev iproute2 || return
	cp "${top_builddir:?}/dat-ofi-$version.tar.xz" "$top_srcdir/contrib/rpm/dat-ofi.rpmlintrc" "$t_dir/rpm.root/root"
	r_in rpm rpmbuild -ta --nodeps --define '_topdir /rpm' "/root/dat-ofi-$version.tar.xz"
}

lint() {
	r_in rpm sh -ec 'rpmlint -r /root/dat-ofi.rpmlintrc /rpm/RPMS/*/*.rpm /rpm/SRPMS/*.rpm' >"$t_dir/lint" 2>&1
	cat "$t_dir/lint"
	! grep -E ' [EW]: ' "$t_dir/lint"
}

# has PACKAGE WORD...: words that rpm tells of it
has() {
	package=$1
	shift
	r_in rpm sh -c "rpm -qp --provides --conflicts --requires -l /rpm/RPMS/*/$package-$version-*.rpm" >"$t_dir/has" 2>&1
	for word; do
		grep -q "$word" "$t_dir/has" || { cat "$t_dir/has"; echo "$package has no $word"; return 1; }
	done
}

# rpm's database in this root is empty, so it cannot know what Debian's packages provide.
install() {
	r_in rpm sh -ec 'rpm -i --nodeps --force-debian /rpm/RPMS/*/*.rpm
		export LD_LIBRARY_PATH=/usr/lib64
		rpm -V dat-ofi dat-ofi-libs dat-ofi-provider dat-ofi-devel --nodeps
		dat_info --version
		cc -I/usr/include -L/usr/lib64 /usr/share/doc/dat-ofi/examples/hello.c -ldat2 -o /root/hello'
	R_NET='unshare -n' r_in rpm sh -ec 'ip link set lo up; export LD_LIBRARY_PATH=/usr/lib64; dat_perf --loopback -i ofi-shm -t 0.05'
}

remove() {
	r_in rpm sh -ec 'rpm -e --nodeps --force-debian dat-ofi dat-ofi-libs dat-ofi-provider dat-ofi-devel
		! find /usr /etc -name "*dat_*" -o -name "libdat*" -o -name "dat-ofi*" -o -name "dat2" | grep .'
}

t_run 'the packages are made' build
[ $t_failures = 0 ] || t_done
t_run 'rpmlint finds nothing that has no reason' lint
t_run 'dat-ofi-libs conflicts with dapl and provides libdat2.so.2' has dat-ofi-libs \
	'^dapl$' '^libdat2-2$' '^libdat2.so.2()' '^libdat.so.1()'
t_run 'dat-ofi-provider has both providers' has dat-ofi-provider '/libdatofi.so.1$' '/libdatofi.so.2$'
t_run 'dat-ofi needs libdat2.so.2' has dat-ofi '^libdat2.so.2()' /usr/bin/dat_info
t_run 'installed, they work' install
t_run 'removed, nothing is left' remove
t_done
