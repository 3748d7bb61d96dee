#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A new user of dat-ofi: in a fresh system, runs the commands of README's section on installing,
# then compiles a program by pkg-config and runs it between two hosts.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by make check-packages}/test/lib/tap.sh"
# shellcheck source=test/packages/root.sh
. "$top_srcdir/test/packages/root.sh"
r_begin "$0"

version=$(sed -n 's/^version=//p' "$top_srcdir/VERSION")

unpack() {
	r_new user && r_apt user update && r_apt user install xz-utils &&
		cp "${top_builddir:?}/dat-ofi-$version.tar.xz" "$t_dir/user.root/root" &&
		r_in user sh -ec 'cd && tar -xf *.xz && rm *.xz && mv dat-ofi-* dat-ofi'
}

# The first block of commands of that section
as_readme_says() {
	awk '/^## / { section = $0 }
		section == "## Install" && /^    / { sub("^    ", ""); print; seen = 1; next }
		seen && !/^$/ { exit }' "$top_srcdir/README.md" >"$t_dir/commands"
	grep -q -x 'make install' "$t_dir/commands" ||
		{ echo 'README has no such section'; return 1; }
	{
		echo 'set -ex; cd ~/dat-ofi'
		cat "$t_dir/commands"
	} >"$t_dir/user.root/root/commands"
	r_in user sh /root/commands
}

compile() {
	cp "$top_srcdir/examples/hello.c" "$t_dir/user.root/root"
	# shellcheck disable=SC2016
	r_in user sh -ec 'cd && cc -Wall hello.c $(pkg-config --cflags --libs dat2) -o hello'
}

# over NAME: sends the message from n2 to n1
over() {
	R_NET=$r_on1 r_in user stdbuf -oL /root/hello "$1" >"$t_dir/server" 2>&1 &
	r_server=$!
	until grep -q listening "$t_dir/server"; do
		kill -0 "$r_server" 2>/dev/null || { cat "$t_dir/server"; return 1; }
		sleep 0.05
	done
	R_NET=$r_on2 r_in user /root/hello "$1" 10.77.0.1 && wait "$r_server"
	r_result=$?
	cat "$t_dir/server"
	[ "$r_result" = 0 ] && grep -q 'received: hello over DAT' "$t_dir/server"
}

# The manual and the tools work as README says
shown() {
	R_NET=$r_on1 r_in user sh -ec 'dat_info --ia ofi-tcp; dat_perf --version
		man -w dat-ofi; man -w dat_ep_post_send'
}

# make uninstall removes all files and the libraries' names in the cache of ldconfig. Directories
# remain. The distribution's libdat2 exists, because install-deps installs it.
uninstalled() {
	r_in user sh -ec 'cd ~/dat-ofi && make -s uninstall && ldconfig
		find /usr/local -name "*dat*" ! -type d | grep . && exit 1
		! ldconfig -p | grep "/usr/local/.*libdat"'
}

t_run 'a fresh system, the archive unpacked' unpack
t_run "README's commands" as_readme_says
[ $t_failures = 0 ] || t_done
t_run 'an own program compiles' compile
t_run 'two hosts' r_hosts
t_run 'a message between them, ofi-tcp' over ofi-tcp
t_run 'a message between them, ofi' over ofi
t_run 'dat_info, the manual and dat_perf' shown
t_run 'make uninstall leaves nothing' uninstalled
t_done
