#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# RPM packages, tested by Debian's rpm: built with the macros of each distribution, checked by
# rpmlint, and installed over packages with the names and versions of OFED's packages, which they
# replace.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by make check-packages}/test/lib/tap.sh"
# shellcheck source=test/packages/root.sh
. "$top_srcdir/test/packages/root.sh"
r_begin "$0"

version=$(sed -n 's/^version=//p' "$top_srcdir/VERSION")
root=$t_dir/rpm.root/root
ours='dat-ofi dat-ofi-devel dat-ofi-libs dat-ofi-provider'
distributions='el8 el9 el10 suse'

tools() {
	r_new rpm && r_apt rpm update &&
		r_apt rpm install rpm rpmlint gcc libc6-dev make xz-utils pkg-config libfabric-dev \
			libhwloc-dev libssl-dev \
			libibverbs-dev iproute2 || return
	cp "${top_builddir:?}/dat-ofi-$version.tar.xz" "$top_srcdir/contrib/rpm/dat-ofi.rpmlintrc" \
		"$root"
}

# macros DISTRIBUTION: prints the macros and compiler flags of that distribution
macros() {
	hard='-fexceptions -fstack-protector-strong -fstack-clash-protection'
	hard="$hard -fasynchronous-unwind-tables -Werror=format-security"
	case $1 in
	suse)
		echo '%suse_version 1600'
		echo '%_defaultdocdir /usr/share/doc/packages'
		echo "%optflags -O2 -g -Wall $hard -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -flto=auto"
		echo '%build_ldflags -flto=auto -Wl,-z,relro -Wl,-z,now'
		;;
	el8)
		echo "%optflags -O2 -g -pipe -Wall $hard -Wp,-D_FORTIFY_SOURCE=2"
		echo '%build_ldflags -Wl,-z,relro -Wl,-z,now'
		;;
	*)
		echo "%optflags -O2 -g -pipe -Wall $hard" \
			'-Wp,-U_FORTIFY_SOURCE,-D_FORTIFY_SOURCE=3 -flto=auto -ffat-lto-objects'
		echo '%build_ldflags -Wl,-z,relro -Wl,--as-needed -Wl,-z,now'
		;;
	esac
	[ "$1" = suse ] || printf '%%rhel %s\n%%dist .%s\n%%%s 1\n' "${1#el}" "$1" "$1"
	echo "%_topdir /rpm/$1"
}

# --nodeps, because Debian's packages have other names than the spec's dependencies.
build() {
	macros "$1" >"$root/$1.macros"
	r_in rpm rpmbuild -ta --nodeps --load "/root/$1.macros" "/root/dat-ofi-$version.tar.xz"
}

lint() {
	r_in rpm sh -ec "cd /rpm/$1; rpmlint -r /root/dat-ofi.rpmlintrc RPMS/*/*.rpm SRPMS/*.rpm" \
		>"$t_dir/lint" 2>&1
	cat "$t_dir/lint"
	grep -q ' [1-9][0-9]* packages and ' "$t_dir/lint" && ! grep -E ' [EW]: ' "$t_dir/lint"
}

# says DISTRIBUTION PACKAGE QUERY LINE...: the output of rpm's query has these lines
says() {
	distribution=$1 package=$2 query=$3
	shift 3
	r_in rpm sh -c "rpm -qp $query /rpm/$distribution/RPMS/*/$package-$version-*.rpm" \
		>"$t_dir/says" 2>&1
	for line; do
		grep -q -x -e "$line" "$t_dir/says" ||
			{ cat "$t_dir/says"; echo "$package: $query lacks $line"; return 1; }
	done
}

# succeeds DISTRIBUTION: our packages provide and obsolete OFED's packages of that distribution
succeeds() {
	for package in dapl:libs dapl-devel:devel dapl-utils; do
		name=${package%:*}
		case $package in *:*) package=dat-ofi-${package#*:} ;; *) package=dat-ofi ;; esac
		says "$1" "$package" --provides "$name = 2\.1\.11" &&
			says "$1" "$package" --obsoletes "$name < 2\.1\.11" || return
	done
	if [ "$1" = suse ]; then
		says suse dat-ofi-libs --provides 'libdat2-2 = 2\.1\.11' 'dapl2 = 2\.1\.11' &&
			says suse dat-ofi-libs --obsoletes 'libdat2-2 < 2\.1\.11' 'dapl2 < 2\.1\.11'
	else
		says "$1" dat-ofi-libs --provides 'compat-dapl = 1:1\.2\.20' &&
			says "$1" dat-ofi-libs --obsoletes 'compat-dapl < 1:1\.2\.20' &&
			says "$1" dat-ofi-devel --obsoletes 'compat-dapl-devel < 1:1\.2\.20' \
				'dapl-static < 2\.1\.11'
	fi
}

has_files() {
	says "$1" dat-ofi-libs -l /usr/lib64/libdat.so /usr/lib64/libdat.so.1 \
		/usr/lib64/libdat2.so /usr/lib64/libdat2.so.2 &&
		says "$1" dat-ofi-libs --provides 'libdat.so.1().*' 'libdat2.so.2().*' &&
		says "$1" dat-ofi-libs --requires 'dat-ofi-provider.*' &&
		says "$1" dat-ofi-provider -l /usr/lib64/libdatofi.so.1 /usr/lib64/libdatofi.so.2 &&
		says "$1" dat-ofi --requires 'libdat2.so.2().*' &&
		says "$1" dat-ofi -l /usr/bin/dat_info && ! grep modulefiles "$t_dir/says"
}

# package NAME VERSION LINE...: prints a spec for a package without anything to build
package() {
	echo "%package -n $1"
	echo 'Summary: A package of that name'
	echo "Version: ${2#*:}"
	case $2 in *:*) echo "Epoch: ${2%:*}" ;; esac
	name=$1
	shift 2
	printf '%s\n' "$@" '%description -n '"$name" 'It is there.' "%files -n $name"
}

# theirs DISTRIBUTION: makes packages with the names and files of OFED's, a package of a program
# that depends on them, and one that provides the dependencies of ours
theirs() {
	printf '%s\n' 'Name: theirs' 'Version: 1' 'Release: 1' 'Summary: All of it' 'License: BSD' \
		'AutoReqProv: no' '%description' 'Specs.'
	if [ "$1" = suse ]; then
		package dapl 2.1.10
		echo '%config(noreplace) /etc/dat.conf'
		package libdat2-2 2.1.10 'Provides: dapl2 = 2.1.10' 'Requires: dapl'
	else
		package dapl 2.1.9
		echo '%config(noreplace) /etc/rdma/dat.conf'
		package dapl-static 2.1.9 'Requires: dapl-devel = 2.1.9-1'
		package compat-dapl 1:1.2.19
		echo '%config(noreplace) /etc/dat.conf'
		package compat-dapl-devel 1:1.2.19 'Requires: compat-dapl = 1:1.2.19-1'
		package compat-dapl-utils 1:1.2.19 'Requires: compat-dapl = 1:1.2.19-1'
		echo '/usr/lib64/libdat.so.1'
	fi
	package dapl-devel 2.1.9 'Requires: dapl'
	printf '/usr/%s\n' include/dat2/udat.h lib64/libdat2.so
	package dapl-utils 2.1.9 'Requires: dapl'
	echo /usr/lib64/libdat2.so.2
	package program 1 'Requires: dapl >= 2.1' 'Requires: dapl-devel >= 2.1' \
		'Requires: dapl-utils'
	r_in rpm sh -c "rpm -qp --requires /rpm/$1/RPMS/*/*.rpm" | sort -u |
		grep -v -e '^rpmlib(' -e dat-ofi -e '^libdat' |
		sed 's/ [<=>].*//; s/^/Provides: /' >"$t_dir/needs"
	package system 1 "$(cat "$t_dir/needs")"
	cat <<-'EOF'
	%install
	mkdir -p %{buildroot}/usr/include/dat2 %{buildroot}/usr/lib64 %{buildroot}/etc/rdma
	cd %{buildroot}/etc
	for name in dat.conf rdma/dat.conf; do echo '# theirs' >$name; done
	cd ../usr
	echo >include/dat2/udat.h
	for name in libdat.so.1 libdat2.so libdat2.so.2; do echo >lib64/$name; done
	EOF
	[ "$1" != suse ] || echo 'rm lib64/libdat.so.1 ../etc/rdma/dat.conf'
}

# into ARGUMENT...: runs rpm on a system below /target, which has all dependencies
into() {
	r_in rpm rpm --force-debian --root /target --dbpath /var/lib/rpm "$@"
}

# Installs their packages. Scripts of our packages run ldconfig there.
before() {
	theirs "$1" >"$root/theirs.spec"
	r_in rpm sh -ec "rm -rf /target /rpm/theirs
		mkdir -p /target/sbin /target/var/lib/rpm /target/etc
		cp /sbin/ldconfig /target/sbin
		rpmbuild -bb --load /root/$1.macros --define '_topdir /rpm/theirs' /root/theirs.spec
		rpm --force-debian --root /target --dbpath /var/lib/rpm -i /rpm/theirs/RPMS/*/*.rpm"
}

# The site's dat.conf, one of which the site has changed, is as before, without a copy beside it.
conf_stays() {
	grep -q site "$t_dir/rpm.root/target/etc/dat.conf" &&
		{ [ "$1" = suse ] || grep -q theirs "$t_dir/rpm.root/target/etc/rdma/dat.conf"; } &&
		! find "$t_dir/rpm.root/target/etc" -name 'dat.conf?*' | grep .
}

# Our packages install without --force, replace theirs, and the program's dependencies are
# satisfied.
upgrade() {
	before "$1" && echo '# site' >"$t_dir/rpm.root/target/etc/dat.conf" || return
	r_in rpm sh -c "rpm --force-debian --root /target --dbpath /var/lib/rpm \
		-U /rpm/$1/RPMS/*/*.rpm" || return
	into -qa --qf '%{NAME}\n' | grep -v -e debug | sort >"$t_dir/names"
	# shellcheck disable=SC2086 # names
	printf '%s\n' $ours program system | sort | diff - "$t_dir/names" && into -V $ours
}

# told FILE WORD...: readelf and nm print these words for the file below /target
told() {
	{ readelf -dlW "$t_dir/rpm.root/target$1"; nm -D "$t_dir/rpm.root/target$1"; } >"$t_dir/elf"
	file=$1
	shift
	for word; do
		grep -q "$word" "$t_dir/elf" || { echo "$file has no $word"; return 1; }
	done
}

# The binaries are built with the distribution's flags: bound at load time, with stack protector and
# checked string functions.
hard() {
	for file in /usr/lib64/libdat2.so.2 /usr/lib64/libdatofi.so.2 /usr/bin/dat_info; do
		told "$file" BIND_NOW GNU_RELRO __stack_chk_fail 'printf_chk' || return
	done
}

works() {
	hard && example=/target$(into -ql dat-ofi-devel | grep '/hello\.c$') || return
	R_NET='unshare -n' r_in rpm sh -ec "ip link set lo up
		export LD_LIBRARY_PATH=/target/usr/lib64
		/target/usr/bin/dat_info --version
		cc -I/target/usr/include -L/target/usr/lib64 $example -ldat2 -o /root/hello
		/target/usr/bin/dat_perf --loopback -i ofi-shm -t 0.05"
}

# After the removal only the site's files, the loader's cache and rpm's database are there.
remove() {
	# shellcheck disable=SC2046,SC2086 # names
	into -e program $(into -qa --qf '%{NAME}\n' 'dat-ofi*') || return
	! find "$t_dir/rpm.root/target" -path '*/var' -prune -o ! -type d ! -name ld.so.cache ! \
		-name ldconfig ! -name dat.conf -print | grep .
}

t_run "rpm's tools" tools
for distribution in $distributions; do
	t_run "$distribution: the packages are made" build "$distribution"
	t_run "$distribution: rpmlint finds nothing that has no reason" lint "$distribution"
	t_run "$distribution: registries, with and without version, provider, tools" has_files \
		"$distribution"
	t_run "$distribution: they have the names of OFED's packages, and end those" succeeds \
		"$distribution"
	t_run "$distribution: installed over OFED's packages" upgrade "$distribution"
	t_run "$distribution: dat.conf stays" conf_stays "$distribution"
	t_run "$distribution: installed, they work" works
	t_run "$distribution: removed, nothing is left" remove
done
t_done
