#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Debian packages: built in a fresh system with only their build dependencies, checked by lintian,
# then installed in another system: alone, beside the distribution's libdapl2, and in its place. At
# the end they are removed. If the release has no libdapl2, that of bookworm is used, as on a system
# that was upgraded.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by make check-packages}/test/lib/tap.sh"
# shellcheck source=test/packages/root.sh
. "$top_srcdir/test/packages/root.sh"
r_begin "$0"

version=$(sed -n 's/^version=//p' "$top_srcdir/VERSION")
archive=${top_builddir:?}/dat-ofi-$version.tar.xz

build() {
	r_new builder && r_apt builder update &&
		r_apt builder install build-essential devscripts lintian xz-utils || return
	mkdir "$t_dir/builder.root/src"
	cp "$archive" "$t_dir/builder.root/src/dat-ofi_$version.orig.tar.xz"
	r_in builder sh \
		-ec "cd /src && tar -xf *.xz && cd dat-ofi-$version && cp -R contrib/debian debian"
	r_apt builder build-dep "/src/dat-ofi-$version" &&
		r_in builder sh -c "cd /src/dat-ofi-$version && dpkg-buildpackage -us -uc"
}

# Any message above level info is a failure.
lint() {
	r_in builder sh -c 'cd /src && lintian --allow-root --fail-on error,warning *.changes'
}

# contents PACKAGE FILE...: the package contains these files
contents() {
	package=$1
	shift
	r_in builder sh -c "dpkg -c /src/${package}_*.deb" >"$t_dir/contents"
	for file; do
		grep -q "$file" "$t_dir/contents" || { echo "$package has no $file"; return 1; }
	done
}

# A module would put the folders of the system before those of other modules.
no_module() {
	contents dat-ofi-utils /usr/bin/dat_info && ! grep modulefiles "$t_dir/contents"
}

# install PACKAGE...: installs them with their dependencies
install() {
	r_apt user install "$@"
}

# Another system, which gets our packages from a local repository
user_root() {
	r_new user && mkdir "$t_dir/user.root/debs" &&
		r_in builder sh -c 'cd /src && dpkg-scanpackages . >Packages' &&
		cp "$t_dir"/builder.root/src/*.deb "$t_dir/builder.root/src/Packages" \
			"$t_dir/user.root/debs" &&
		echo 'deb [trusted=yes] file:/debs ./' \
			>"$t_dir/user.root/etc/apt/sources.list.d/ours.list" &&
		cat >"$t_dir/user.root/etc/try.conf" <<-'EOF' && r_apt user update
	loop u2.0 nonthreadsafe default libdatofi.so.2 ofi.2.0 "provider=tcp domain=lo" ""
	EOF
}

# files WHERE: lists all files in that root except the records of apt and dpkg
files() {
	(cd "$t_dir/user.root" && find . -xdev -path ./var -prune -o -path ./proc \
		-prune -o -path ./dev -prune -o \
		-path ./tmp -prune -o -print | sort) >"$t_dir/$1"
}

# dtest REGISTRY PROVIDER: the distribution's program passes at both ends, over the packages named
dtest() {
	R_CONF=/etc/try.conf r_pair user 'waiting for client connection' \
		'dtest -P loop -b 65536' 'dtest -P loop -b 65536 -h 127.0.0.1' >"$t_dir/dtest" ||
		{ cat "$t_dir/dtest"; return 1; }
	[ "$(grep -c PASSED "$t_dir/dtest")" -ge 2 ] || { cat "$t_dir/dtest"; return 1; }
	# shellcheck disable=SC2016
	r_in user sh -c 'dpkg -S $(readlink -f /usr/lib/*/libdat2.so.2) \
		$(readlink -f /usr/lib/*/libdatofi.so.2)' |
		sed 's/:.*//' | sort >"$t_dir/owners"
	printf '%s\n' "$@" | sort | cmp - "$t_dir/owners"
}

# state PACKAGE WORD: dpkg's state of the package is WORD
state() {
	# shellcheck disable=SC2016 # dpkg-query expands it
	r_in user dpkg-query -W -f '${db:Status-Status}\n' "$1" >"$t_dir/state" 2>&1 ||
		echo unknown >"$t_dir/state"
	grep -q -x "$2" "$t_dir/state" || { echo "$1 is $(cat "$t_dir/state"), not $2"; return 1; }
}

# MPI libraries load the registry at run time by its name without a version, also on systems without
# development packages.
loads() {
	cat >"$t_dir/builder.root/src/loads.c" <<-'EOF'
	#include <dlfcn.h>
	#include <stdio.h>

	int main(int argc, char **argv)
	{
		for (int i = 1; i < argc; i++) {
			void *registry = dlopen(argv[i], RTLD_NOW);

			if (!registry || !dlsym(registry, "dat_ia_openv"))
				return printf("%s: %s\n", argv[i], dlerror()), 1;
		}
		return argc < 2;
	}
	EOF
	r_in builder cc /src/loads.c -o /src/loads &&
		cp "$t_dir/builder.root/src/loads" "$t_dir/user.root/root" &&
		r_in user /root/loads libdat.so libdat2.so libdat.so.1 libdat2.so.2
}

# gone PACKAGE: the package is not installed
gone() {
	state "$1" 'not-installed\|unknown'
}

# Our registry depends on the provider, so recommended packages are not needed. The distribution's
# registry is not needed either.
alone() {
	install iproute2 && files before && install libdat2-2 libdat1 &&
		state libdatofi installed && loads
}

all_of_it() {
	install libdatofi dat-ofi-utils libdat-ofi-dev && rm "$t_dir/user.root/root/loads"
}

# has_dapl: the release has packages of the distribution's DAT
has_dapl() {
	r_in user apt-cache madison libdapl2 | grep .
}

# If the release has no packages of its own DAT, our packages satisfy dependencies on them.
asked_for() {
	install libdapl2 libdapl-dev && state libdat2-2 installed && state libdat-ofi-dev installed
}

# with_dapl: from bookworm, if the release has none
with_dapl() {
	has_dapl && return
	echo "deb $r_mirror bookworm main" >"$t_dir/user.root/etc/apt/sources.list.d/bookworm.list"
	r_apt user update && has_dapl
}

beside() {
	with_dapl && install libdapl2 dapl2-utils libdapl-dev && files before &&
		install libdatofi && state libdapl2 installed && state libdapl-dev installed
}

# libdapl-dev, which depends on exactly that library, is removed with it. Our package provides it.
in_its_place() {
	install libdat2-2 && state libdat2-2 installed && state dapl2-utils installed &&
		state libdapl2 config-files &&
		gone libdapl-dev && install libdat1 libdatofi dat-ofi-utils libdat-ofi-dev &&
		state libdat-ofi-dev installed && gone libdapl-dev
}

tools() {
	R_NET='unshare -n' r_in user sh \
		-ec 'ip link set lo up; dat_info --ia ofi-tcp; dat_perf --version
		dat_perf --loopback -i ofi-tcp -t 0.05; test -s /usr/share/man/man7/dat-ofi.7.gz'
}

# The distribution's libdapl2 is installed again, and our package is removed.
back() {
	install libdapl2 libdapl-dev && gone libdat2-2 && gone libdat-ofi-dev &&
		state libdapl2 installed &&
		state libdapl-dev installed && state dapl2-utils installed
}

# new_files: lists files that did not exist before our packages and belong to no package, except
# files of other packages' maintainer scripts.
# shellcheck disable=SC2016 # expanded in the root
new_files() {
	comm -13 "$t_dir/before" "$t_dir/after" | grep -v -e '^\./run/' -e '^\./etc/[^/]*-$' |
		cut -c 2- |
		r_in user sh -c 'while read -r file; do
			dpkg -S "$file" >/dev/null 2>&1 || echo "$file"
		done'
}

# After the removal the system has only the files that it had before, and packages that it keeps.
clean() {
	# shellcheck disable=SC2016
	r_in user sh -c 'dpkg --purge $(dpkg-query -W -f "\${Package}\n" \
		"libdatofi*" libdat1 "libdat2*" "dat-ofi*" "libdat-ofi*")' &&
		r_apt user autoremove --purge -o APT::AutoRemove::RecommendsImportant=false &&
		files after &&
		new_files >"$t_dir/new" && ! grep . "$t_dir/new"
}

t_run 'the packages are made in a fresh system' build
[ $t_failures = 0 ] || t_done
t_run 'lintian finds nothing' lint
t_run 'libdatofi has the provider' contents libdatofi '/libdatofi.so.1$' '/libdatofi.so.2$'
t_run 'libdat-ofi-dev has headers and pkg-config files' contents libdat-ofi-dev \
	/dat/udat.h /dat2/udat.h '/dat.pc$' '/dat2.pc$'
t_run 'dat-ofi-utils has tools and no module' no_module
t_run 'another fresh system' user_root
t_run 'without libdapl2 the registries are loaded by their names' alone
t_run 'the other packages are installed' all_of_it
t_run 'the tools run' tools
t_run 'purged, nothing of ours is left' clean
if has_dapl >/dev/null; then
	t_skip 'who asks for libdapl2 gets libdat2-2' "$r_release has libdapl2"
else
	t_run 'who asks for libdapl2 gets libdat2-2' asked_for
	t_run 'purged, nothing of ours is left' clean
fi
t_run 'libdatofi is installed beside libdapl2' beside
t_run 'dtest passes, their registry and our provider' dtest libdapl2 libdatofi
t_run 'libdat2-2 takes the place of libdapl2, dapl2-utils stays' in_its_place
t_run 'dtest passes, our registry and our provider' dtest libdat2-2 libdatofi
t_run 'the tools run' tools
t_run 'libdapl2 takes its place again' back
t_run 'dtest passes as before' dtest libdapl2 libdatofi
t_run 'purged, nothing of ours is left' clean
t_done
