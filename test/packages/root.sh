# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh disable=SC2154 # tap.sh and who calls us set top_srcdir and t_dir
# Fresh Debian systems for tests, each a directory to chroot into. Source this file after tap.sh and
# call r_begin first. Processes and mounts are in name spaces of the test, so they are gone when the
# test ends in any way.
#	DAT_OFI_DEBIAN		the release (bookworm)
#	DAT_OFI_MIRROR		where its packages come from

r_release=${DAT_OFI_DEBIAN:-bookworm}
r_mirror=${DAT_OFI_MIRROR:-http://deb.debian.org/debian}
r_cache=${top_builddir:?}/test/packages/cache
r_base=$r_cache/$r_release
r_limit=7200 # seconds for the longest command, a build with all tests on a busy machine

# r_begin SCRIPT [ARGUMENT...]: starts SCRIPT, the caller, again in name spaces of its own
r_begin() {
	if [ -z "${R_OWN_SPACES-}" ]; then
		[ "$(id -u)" = 0 ] || t_skip_all 'only root can make a Debian system to test in'
		for r_program in debootstrap unshare; do
			command -v $r_program >/dev/null || t_skip_all "there is no $r_program"
		done
		unshare -mpuif true 2>/dev/null || t_skip_all 'the system gives us no name spaces'
		export R_OWN_SPACES=1
		rm -rf "$t_dir"
		exec unshare -mpuif --kill-child --mount-proc sh "$@"
	fi
	trap r_cleanup EXIT
	r_make_base >"$t_dir/base" 2>&1 ||
		t_skip_all "no Debian system can be made: $(tail -n 1 "$t_dir/base")"
}

r_cleanup() {
	for r_root in "$t_dir"/*.root; do
		umount -R -l "$r_root" 2>/dev/null
	done
	t_cleanup
}

# The base system of all roots is made once per build directory.
r_make_base() {
	[ ! -e "$r_base.made" ] || return 0
	rm -rf --one-file-system "$r_base"
	mkdir -p "$r_cache/archives/partial" &&
		debootstrap --variant=minbase "$r_release" "$r_base" "$r_mirror" &&
		: >"$r_base.made"
}

# r_new NAME: makes a fresh root, called NAME
r_new() {
	r_root=$t_dir/$1.root
	mkdir "$r_root" "$t_dir/$1.upper" "$t_dir/$1.work"
	mount -t overlay -o "lowerdir=$r_base,upperdir=$t_dir/$1.upper,workdir=$t_dir/$1.work" \
		root "$r_root" ||
		cp -a "$r_base/." "$r_root" || return
	mount -t proc proc "$r_root/proc" && mount -t tmpfs dev "$r_root/dev" || return
	for r_device in 'null 1 3' 'zero 1 5' 'full 1 7' 'random 1 8' 'urandom 1 9' 'tty 5 0'; do
		# shellcheck disable=SC2086 # name and numbers
		r_node $r_device || return
	done
	mkdir "$r_root/dev/pts" && mount -t devpts -o ptmxmode=666 pts "$r_root/dev/pts" &&
		ln -s pts/ptmx "$r_root/dev/ptmx" || return
	mkdir -m 1777 "$r_root/dev/shm" && ln -s /proc/self/fd "$r_root/dev/fd" || return
	mount --bind "$r_cache/archives" "$r_root/var/cache/apt/archives" || return
	cp -L /etc/resolv.conf /etc/hosts "$r_root/etc" || return
	# No package starts a service here.
	printf '#!/bin/sh\nexit 101\n' >"$r_root/usr/sbin/policy-rc.d"
	chmod +x "$r_root/usr/sbin/policy-rc.d"
}

r_node() {
	mknod -m 666 "$r_root/dev/$1" c "$2" "$3"
}

# r_in NAME COMMAND...: runs the command in that root, with a clean environment. R_NET has a command
# prefix that starts it in another network.
r_in() {
	r_root=$t_dir/$1.root
	shift
	# shellcheck disable=SC2086 # R_NET holds words
	timeout "$r_limit" ${R_NET-} env \
		-i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive MAKEFLAGS="-j$(nproc)" \
		${R_CONF:+"DAT_OVERRIDE=$R_CONF"} chroot "$r_root" "$@"
}

# r_apt NAME ARGUMENT...: runs apt-get there. The roots share the downloaded packages, one at a
# time.
r_apt() {
	r_name=$1
	shift
	(flock 9 && r_in "$r_name" apt-get \
		-q -y --no-install-recommends -o Acquire::Languages=none "$@") \
		9>"$r_cache/lock"
}

# r_pair NAME TEXT SERVER CLIENT: runs two commands in that root, in a network with only the
# loopback interface. The client starts when the server has written TEXT. True if both succeed.
# Prints their output.
r_pair() {
	cp "$top_srcdir/test/lib/tap.sh" "$t_dir/$1.root/tmp"
	# shellcheck disable=SC2016 # expanded in the root
	R_NET='unshare -n' r_in "$1" sh -c '. /tmp/tap.sh
		ip link set lo up
		t_pair "$1" "$2" "$3"
		result=$?
		cat "$t_dir/server" "$t_dir/client"
		exit $result' sh "$2" "$3" "$4"
}

# r_install NAME: installs this build directory in that root, below /usr/local
r_install() {
	r_apt "$1" install libfabric1 libhwloc15 openssl &&
		make -s -C "$top_builddir" install DESTDIR="$t_dir/$1.root" && r_in "$1" ldconfig
}

# r_hosts: makes two connected hosts, n1 and n2. r_on1 and r_on2 are command prefixes that run a
# command there.
r_hosts() {
	t_start n1 unshare -nu sh -c 'hostname n1; ip link set lo up; echo up; exec sleep infinity'
	t_await up || return
	r_pid1=$(r_child "$t_pid")
	t_start n2 unshare -nu sh -c 'hostname n2; ip link set lo up; echo up; exec sleep infinity'
	t_await up || return
	r_pid2=$(r_child "$t_pid")
	r_on1="nsenter -t $r_pid1 -n -u" r_on2="nsenter -t $r_pid2 -n -u"
	$r_on1 ip link add eth0 type veth peer name eth0 netns "$r_pid2" &&
		$r_on1 ip addr add 10.77.0.1/24 dev eth0 && $r_on1 ip link set eth0 up &&
		$r_on2 ip addr add 10.77.0.2/24 dev eth0 && $r_on2 ip link set eth0 up &&
		r_carrier "$r_on1" && r_carrier "$r_on2"
}

# r_carrier ON: waits for the carrier, because libfabric ignores an interface without one and would
# use the loopback
r_carrier() {
	r_left=1000
	until $1 ip link show dev eth0 | grep -q LOWER_UP; do
		r_left=$((r_left - 1))
		[ "$r_left" -gt 0 ] || return
	done
}

# r_child PID: prints the child of `timeout`, by which t_start runs the command
r_child() {
	tr -d ' ' <"/proc/$1/task/$1/children"
}
