#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# dat_info: what it tells of interfaces and variables, and what each of its checks finds.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"

unset FI_PROVIDER DAT_OFI_PROVIDER DAT_OFI_LOG RDMAV_FORK_SAFE IBV_FORK_SAFE RDMAV_HUGEPAGES_SAFE
root=$t_dir/root
conf=$t_dir/dat.conf
info=${top_builddir:?}/.libs/dat_info
[ -x "$info" ] || info=$top_builddir/dat_info
cat >"$conf" <<EOF
loop u2.0 nonthreadsafe default libdatofi.so.2 ofi.2.0 "provider=tcp domain=lo" ""
EOF
export DAT_OVERRIDE="$conf"

# shellcheck disable=SC2317,SC2016,SC1003 # t_run calls the functions, sh -c takes words
{
# ends STATUS COMMAND...: so it ends, and its output is shown
ends() {
	want=$1
	shift
	"$@" >"$t_dir/o" 2>"$t_dir/e"
	got=$?
	cat "$t_dir/o" "$t_dir/e"
	[ "$got" = "$want" ]
}

# says TEXT...: each is somewhere in the output of the last command, line breaks aside
says() {
	all=$(cat "$t_dir/o" "$t_dir/e" | tr -s ' \n' '  ')
	for text; do
		case $all in
		*"$text"*) ;;
		*) echo "nobody says: $text" && return 1 ;;
		esac
	done
}

# A word that is too long, such as the path of a library, has a line of its own.
narrow() {
	! awk 'length > 80 && NF > 1' "$t_dir/o" | grep .
}

# put PATH TEXT: a file of the system that is looked at
put() {
	mkdir -p "$(dirname "$root$1")" && printf '%s\n' "$2" >"$root$1"
}

new_root() {
	rm -rf "$root"
	mkdir -p "$root/dev/shm"
	put /etc/hostname here
	put /etc/hosts '192.0.2.1 here'
	put /proc/sys/kernel/osrelease 6.1.0
}

# rdma_device NAME DRIVER: as the kernel shows it; its file is not there
rdma_device() {
	mkdir -p "$root/sys/class/infiniband/$1/device" "$root/sys/class/infiniband_verbs/uverbs0"
	ln -s "/drivers/$2" "$root/sys/class/infiniband/$1/device/driver"
}

options() {
	ends 0 "$info" --help && narrow && ends 0 "$info" --version && ends 2 "$info" --nonsense &&
		ends 2 "$info" word && ends 2 "$info" --ia && ends 1 "$info" -a "$(printf '%300s' x)"
}

interface() {
	ends 0 "$info" -a loop && narrow && says 'runs on libfabric tcp, msg endpoints, domain lo' \
		'address 127.0.0.1' 'order ORDERED:' 'too long CONNECTION:' 'libfabric.so' 'registration none' 'refused tcp' \
		'another domain is asked for'
}

all() {
	ends 0 "$info" && says 'loop runs on' 'ofi-tcp runs on' && narrow
}

json() {
	ends 0 "$info" -j -a loop && jq -e '.interfaces[0] | .opens and .domain == "lo" and
		.order == "ORDERED" and .misfit == "CONNECTION" and .mr_mode == "none" and (.libfabric_path | length > 0) and
		(.refused | length > 0) and .max_eps > 0' "$t_dir/o" && ends 1 "$info" -j -a nowhere &&
		jq -e '.interfaces[0] | (.opens | not) and (.log | length > 0)' "$t_dir/o" &&
		ends 0 "$info" -j -e && jq -e '.variables | map(select(.name == "DAT_OFI_SPIN_US"))[0] |
		.default == "20" and .from == "default" and .type == "number from 0 to 1000000"' "$t_dir/o"
}

variables() {
	ends 0 env DAT_OFI_SPIN_US=7 "$info" -e && narrow && says 'DAT_OFI_SPIN_US=7 from the environment' \
		'DAT_OFI_QUIET_MS=1 by default; number from 1 to 1000' 'DAT_OVERRIDE='
}

# What programs see when they open an IA and something is missing: the thing, the cause, what to try.
messages() {
	ends 1 env FI_PROVIDER=nonesuch "$info" -a ofi && says 'no fabric can be used (FI_PROVIDER=nonesuch)' \
		'unset FI_PROVIDER' &&
	ends 1 "$info" -a ofi-tcp-nosuch && says 'provider=tcp domain=nosuch' 'another domain is asked for' &&
	ends 0 env DAT_OVERRIDE="$t_dir/none" "$info" -a ofi-tcp &&
	ends 1 env DAT_OVERRIDE="$t_dir/none" "$info" -a loop &&
		says "cannot open $t_dir/none (named by DAT_OVERRIDE): No such file" &&
	echo 'gone u2.0 nonthreadsafe default libgone.so.2 x.2.0 "" ""' >"$t_dir/gone.conf" &&
	ends 1 env DAT_OVERRIDE="$t_dir/gone.conf" "$info" -a gone &&
		says 'cannot load its provider library: libgone.so.2' 'LD_LIBRARY_PATH and ldconfig'
}

# No device is up: nothing is left for an IA.
no_fabric() {
	ends 1 unshare "$1" "$info" -a ofi-shm && says 'this host has no IP address to listen at' &&
		ends 1 unshare "$1" "$info" --root "$root" --check && says 'fail addresses no device that is up' &&
		ends 1 unshare "$1" sh -c 'ip link set lo up; FI_PROVIDER=nonesuch exec "$@"' - \
			"$info" --root "$root" --check && says 'warn addresses only the loopback'
}

# Whatever else the machine has, these are well.
healthy() {
	new_root
	"$info" --root "$root" --check >"$t_dir/o" 2>"$t_dir/e"
	cat "$t_dir/o" && narrow && says 'ok fork settings' 'ok devices no RDMA device' \
		'ok host name here is 192.0.2.1' "ok dat.conf $conf has nothing wrong" 'ok fabrics libfabric has:' &&
		! grep -e Slingshot -e EFA "$t_dir/o"
}

# An old kernel, a card whose file is hidden, too little memory, no service, nothing agrees.
broken() {
	new_root
	put /proc/sys/kernel/osrelease 4.18.0
	put /etc/hosts '127.0.1.1 here.example here # as Debian writes it'
	rdma_device rdmap0s6 efa
	mkdir -p "$root/sys/class/cxi/cxi0"
	put /etc/dat.conf ''
	ends 1 sh -c 'ulimit -l 64; root=$1; shift; env "$@" --root "$root" --check' - "$root" \
		FI_PROVIDER=nonesuch FI_EFA_USE_DEVICE_RDMA=0 DAT_OVERRIDE="$t_dir/none" "$info" && narrow &&
		says 'fail memory locked memory is limited to 64 KiB' 'memlock unlimited' \
		'warn fork this kernel is older' 'RDMAV_FORK_SAFE=1' \
		'fail devices the kernel has uverbs0, but /dev/infiniband/uverbs0 is not there' \
		'fail devices the kernel has cxi0, but /dev/cxi0' '--device=/dev/infiniband' \
		'warn Slingshot SLINGSHOT_VNIS is not set' 'warn EFA FI_EFA_USE_DEVICE_RDMA=0' \
		'warn host name the name of this host, here, stands for 127.0.1.1' \
		'fail fabrics FI_PROVIDER=nonesuch excludes all' 'tcp lo' 'unset it, or choose' \
		"fail dat.conf DAT_OVERRIDE names $t_dir/none, which is not there" \
		'warn dat.conf /etc/dat.conf is there but not read'
}

other_breaks() {
	new_root
	put /etc/hosts '192.0.2.1 there'
	put /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages 8
	put /proc/sys/kernel/yama/ptrace_scope 1
	put /sys/bus/pci/devices/0000:01:00.0/class 0x020700
	mkdir -p "$root/sys/class/cxi/cxi0"
	rdma_device rdmap0s6 efa
	cat >"$t_dir/bad.conf" <<-EOF
	loop u2.0 nonthreadsafe default libdatofi.so.2 ofi.2.0 "domain=lo" ""
	loop u2.0 nonthreadsafe default libdatofi.so.2 ofi.2.0 "domain=lo" ""
	a u2.0 nonthreadsafe default libdaplnone.so.2 dapl.2.0 "ib0 0" ""
	b u2.0 nonthreadsafe default libdaplnone.so.2 dapl.2.0 "ib1 0" ""
	mixed u1.2 nonthreadsafe default libdatofi.so.2 ofi.1.2 "" ""
	short u2.0
	EOF
	mkdir -p "$root/usr/local/lib"
	echo >"$root/usr/local/lib/libfabric.so.1"
	ends 1 env RDMAV_FORK_SAFE=1 SLINGSHOT_VNIS=1,99999 SLINGSHOT_SVC_IDS=1 SLINGSHOT_DEVICES=cxi0 \
		DAT_OVERRIDE="$t_dir/bad.conf" "$info" --root "$root" --check && narrow &&
		says 'warn fork fork support of rdma-core is on and the system has huge pages' \
		'fail Slingshot SLINGSHOT_VNIS=1,99999 is no list' 'warn EFA ptrace_scope is 1' \
		'warn devices 1 InfiniBand card is on the bus without' 'warn host name' 'has no IPv4 address' \
		"warn libraries libfabric.so.1 is used from" "$root/usr/local/lib/libfabric.so.1" \
		"bad.conf:2: loop is tried only when line 1" '2 lines from 3 to 4: libdaplnone.so.2 cannot be' \
		'dat_conf convert' 'bad.conf:5: mixed is a line for DAT 1' 'bad.conf:6: the line has 2 of 8 fields'
}

rest() {
	new_root
	mkdir -p "$root/sys/class/cxi/cxi0" "$root/dev"
	: >"$root/dev/cxi0"
	ends 1 env FI_EFA_FORK_SAFE=1 FI_EFA_USE_HUGE_PAGE=1 SLINGSHOT_VNIS=1 SLINGSHOT_SVC_IDS=1,2 \
		SLINGSHOT_DEVICES=cxi0 "$info" --root "$root" --check && says 'fail fork FI_EFA_FORK_SAFE and' \
		'fail Slingshot SLINGSHOT_SVC_IDS has 2 services for the 1 devices' 'ok devices 1 RDMA device' &&
		ends 1 env SLINGSHOT_VNIS=1 SLINGSHOT_SVC_IDS=1 SLINGSHOT_DEVICES=cxi7 "$info" --root "$root" --check &&
		says 'fail Slingshot SLINGSHOT_DEVICES has cxi7'
	rm -r "$root/dev/shm"
	env SLINGSHOT_VNIS=1 SLINGSHOT_SVC_IDS=1 SLINGSHOT_DEVICES=cxi0 "$info" --root "$root" --check \
		>"$t_dir/o"
	says 'ok Slingshot VNIs 1' "warn shared memory /dev/shm can't be used"
}

small_shm() {
	new_root
	ends 3 unshare "$1" sh -c 'mount -t tmpfs -o size=1m tmpfs "$1/dev/shm" && exec "$2" --root "$1" --check' \
		- "$root" "$info" || [ "$got" = 1 ] || return
	says 'warn shared memory /dev/shm has 1 MiB left'
}

json_check() {
	new_root
	put /etc/hosts '127.0.1.1 here'
	"$info" -j --root "$root" --check >"$t_dir/o"
	jq -e '(.worst == "warn" or .worst == "fail") and (.checks | map(select(.topic == "host name"))[0] |
		.verdict == "warn" and (.remedy | length > 0))' "$t_dir/o"
}

# Somebody without rights: files of devices, and dat.conf itself.
no_rights() {
	new_root
	mkdir -p "$root/sys/class/cxi/cxi0"
	: >"$root/dev/cxi0"
	chmod 600 "$root/dev/cxi0" "$conf"
	chmod 755 "$t_dir"
	ends 1 setpriv --reuid=65534 --regid=65534 --clear-groups "$info" --root "$root" --check
	got=$?
	chmod 644 "$conf"
	[ "$got" = 0 ] && says "fail devices /dev/cxi0 can't be opened to read and write: Permission denied" \
		'a udev rule has to' "fail dat.conf cannot open $conf: Permission denied" 'chmod a+r'
}
}

# May nobody run what was built here?
nobody_can() {
	[ "$(id -u)" = 0 ] && chmod 755 "$t_dir" &&
		setpriv --reuid=65534 --regid=65534 --clear-groups "$info" --version >/dev/null 2>&1
}

t_run 'options and exit status' options
t_run 'one interface' interface
t_run 'all interfaces' all
t_try 'JSON' jq json
t_run 'variables' variables
t_run 'what is said when something is missing' messages
t_run 'checks: all is well' healthy
t_run 'checks: nothing is well' broken
t_run 'checks: other faults' other_breaks
t_run 'checks: the rest' rest
t_try 'checks: JSON' jq json_check
if unshare -rn true 2>/dev/null; then
	t_run 'checks: no network' no_fabric -rn
else
	t_skip 'checks: no network' 'no network of our own is to be had'
fi
if unshare -rm mount -t tmpfs none "$t_dir" 2>/dev/null; then
	t_run 'checks: small shared memory' small_shm -rm
else
	t_skip 'checks: small shared memory' 'nothing can be mounted'
fi
if nobody_can; then
	t_run 'checks: no rights' no_rights
else
	t_skip 'checks: no rights' 'only root can become somebody else, who has to reach the program'
fi
t_done
