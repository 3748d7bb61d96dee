#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# dat_info: what it prints about interfaces and variables, and what each of its checks finds.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"

unset I_MPI_FABRICS I_MPI_DEVICE I_MPI_DAPL_PROVIDER I_MPI_DAPL_UD I_MPI_DAT_LIBRARY
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
# No line is wider than the terminal, except one that consists of a single long word, such as the
# path of a library.
narrow() {
	! awk 'length > 80 && NF > 1' "$t_dir/o" | grep .
}

# put PATH TEXT: writes a file of the made-up system that the checks examine
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

# rdma_device NAME DRIVER: makes a device in the made-up sysfs, without its file in /dev
rdma_device() {
	mkdir -p "$root/sys/class/infiniband/$1/device" "$root/sys/class/infiniband_verbs/uverbs0"
	ln -s "/drivers/$2" "$root/sys/class/infiniband/$1/device/driver"
}

options() {
	t_ends 0 "$info" --help && narrow && t_ends 0 "$info" --version &&
		t_ends 2 "$info" --nonsense &&
		t_ends 2 "$info" word && t_ends 2 "$info" --ia &&
		t_ends 1 "$info" -a "$(printf '%300s' x)"
}

# to_full WORD...: true if the program reports that nothing can be written
to_full() {
	"$info" "$@" >/dev/full 2>"$t_dir/e"
	[ $? = 1 ] && grep 'dat_info: cannot write to standard output: No' "$t_dir/e" || return
	"$info" "$@" >&- 2>"$t_dir/e"
	[ $? = 1 ] && grep 'dat_info: cannot write to standard output: Bad file' "$t_dir/e"
}

full_output() {
	new_root
	for words in --help --version -e '-a loop' '-j -a loop' "-c --root $root" \
		"-f --root $root"; do
		# shellcheck disable=SC2086 # options and their arguments
		to_full $words || return
	done
}

# An option that has no effect is an error. --root names a folder that is there.
foreign_options() {
	for words in '-p 1 -j' '-p 1 -a loop' '-e -a loop' '-c -a loop' '--root /' \
		'--root / -e' '-a loop --root /' '-f -j'; do
		# shellcheck disable=SC2086 # options and their arguments
		t_ends 2 "$info" $words && t_says 'does not apply to' || return
	done
	t_ends 2 "$info" -c -f && t_says '--check and --fingerprint exclude each other' &&
		t_ends 2 "$info" -p 1 -e && t_says 'exclude each other' &&
		t_ends 2 "$info" -c --root "$t_dir/nowhere" &&
		t_says "--root $t_dir/nowhere: No such file" &&
		t_ends 2 "$info" -f --root "$conf" && t_says 'not a directory'
}

interface() {
	t_ends 0 "$info" -a loop && narrow &&
		t_says 'runs on libfabric tcp, msg endpoints, domain lo' \
		'address 127.0.0.1' 'order ORDERED:' 'too long CONNECTION:' 'libfabric.so' \
		'registration none'
}

# An interface that opens, though the provider ignores a parameter and a variable
warnings() {
	echo 'typo u2.0 nonthreadsafe default libdatofi.so.2 ofi.2.0 "provider=tcp domian=lo" ""' \
		>"$t_dir/typo.conf"
	set -- env DAT_OVERRIDE="$t_dir/typo.conf" DAT_OFI_LGO=2
	t_ends 0 "$@" "$info" -a typo && narrow && t_says 'typo runs on' \
		'domian=lo is ignored, no such parameter; is domain meant?' \
		'DAT_OFI_LGO has no meaning' &&
		[ "$(grep -c '^  warning  ' "$t_dir/o")" = 2 ] &&
		t_ends 0 env DAT_OFI_LOG=info "$info" -a loop &&
		! grep '^  warning' "$t_dir/o"
}

warnings_json() {
	warnings && t_ends 0 env DAT_OVERRIDE="$t_dir/typo.conf" "$info" -j -a typo &&
		jq -e '.interfaces[0].warnings | length == 1' "$t_dir/o" &&
		t_ends 0 "$info" -j -a loop &&
		jq -e '.interfaces[0].warnings | length == 0' "$t_dir/o"
}

# Two lines of one name are two entries, of which one may fail.
twins() {
	cat >"$t_dir/twins.conf" <<-EOF
	a u2.0 nonthreadsafe default libdatofi.so.2 ofi.2.0 "provider=tcp domain=lo" ""
	a u2.0 threadsafe default libgone.so.2 x.2.0 "" ""
	EOF
	set -- env DAT_OVERRIDE="$t_dir/twins.conf" "$info"
	t_ends 0 "$@" -a a && t_says 'a runs on' 'a threadsafe does not open' &&
		t_ends 0 "$@" && t_says 'a runs on' 'a threadsafe does not open' &&
		t_ends 1 "$@" -f && t_says ' ia=a provider=tcp' \
		' set-domain=lo ia=a threads=safe fails=DAT_PROVIDER_NOT_FOUND'
}

# All names of a long file are listed.
many() {
	seq 300 | sed 's/.*/n& u2.0 nonthreadsafe default gone.so x.2.0 "" ""/' >"$t_dir/many.conf"
	t_ends 1 env DAT_OVERRIDE="$t_dir/many.conf" "$info" -f &&
		[ "$(grep -o ' ia=n[0-9]*' "$t_dir/o" | wc -l)" = 300 ]
}

# The test provider offers several cards in any network.
refused() {
	cards='provider=sham domain=cxi'
	echo "card u2.0 nonthreadsafe default libdatofi.so.2 ofi.2.0 \"$cards\" \"\"" \
		>"$t_dir/card.conf"
	set -- env DAT_OVERRIDE="$t_dir/card.conf" \
		FI_PROVIDER_PATH="$top_builddir/test/fabric/.libs"
	t_ends 0 "$@" "$info" -a card && narrow &&
		t_says 'refused sham (' 'another domain is asked for' &&
		t_ends 0 "$@" "$info" -j -a card &&
		jq -e '.interfaces[0].refused | length > 0' "$t_dir/o"
}

all() {
	t_ends 0 "$info" && t_says 'loop runs on' 'ofi-tcp runs on' && narrow
}

json() {
	t_ends 0 "$info" -j -a loop && jq -e '.interfaces[0] | .opens and .domain == "lo" and
		.order == "ORDERED" and .truncated_message == "CONNECTION" and
		.mr_mode == "none" and
		(.libfabric_path | length > 0) and .max_eps > 0' "$t_dir/o" &&
			t_ends 1 "$info" -j -a nowhere &&
		jq -e '.interfaces[0] | (.opens | not) and (.log | length > 0)' "$t_dir/o" &&
		t_ends 0 "$info" -j -e &&
		jq -e '.variables | map(select(.name == "DAT_OFI_SPIN_US"))[0] |
		.default == "20" and .from == "default" and .type == "number from 0 to 1000000"' \
			"$t_dir/o"
}

variables() {
	t_ends 0 env DAT_OFI_SPIN_US= "$info" -e && t_says 'DAT_OFI_SPIN_US=20 by default' &&
	t_ends 0 env DAT_OFI_SPIN_US=7 "$info" -e && narrow &&
		t_says 'DAT_OFI_SPIN_US=7 from the environment' \
		'DAT_OFI_QUIET_MS=1 by default; number from 1 to 1000' 'DAT_OVERRIDE='
}

# fingerprint COMMAND...: true when COMMAND prints one line without an address
fingerprint() {
	t_ends 0 "$@" && [ "$(wc -l <"$t_dir/o")" = 1 ] &&
		! grep -e '[0-9]\.[0-9]*\.[0-9]*\.[0-9]* ' "$t_dir/o"
}

# same COMMAND...: true when COMMAND prints the line of the last call of fingerprint
same() {
	cp "$t_dir/o" "$t_dir/first" && fingerprint "$@" && cmp "$t_dir/o" "$t_dir/first"
}

differs() {
	fingerprint "$@" && ! cmp -s "$t_dir/o" "$t_dir/first"
}

# Addresses, ranks and process numbers of the node do not change the fingerprint; a setting does.
fingerprints() {
	fingerprint "$info" -f && same "$info" --fingerprint &&
		same env DAT_OFI_LOCAL_RANK=3 "$info" -f &&
		same env DAT_OFI_SPIN_US=20 "$info" -f &&
		t_says "ia=loop provider=tcp transport=msg" "libfabric=" "kernel=$(uname -r)" \
			'memlock-kib=' \
			'set-provider=tcp set-domain=lo' 'eps=16384' 'order=ORDERED' &&
		differs env DAT_OFI_SPIN_US=7 "$info" -f && t_says ' DAT_OFI_SPIN_US=7 ' &&
		differs env FI_PROVIDER=tcp FI_TCP_PORT_LOW_RANGE='a "b"' "$info" -f &&
		t_says "FI_PROVIDER=tcp FI_TCP_PORT_LOW_RANGE=\"a 'b'\"" &&
		differs "$info" -f -a loop && ! grep ia=ofi "$t_dir/o" &&
		differs sh -c 'ulimit -Sn 99; exec "$1" -f' - "$info" && t_says 'nofile=99' &&
		t_ends 2 "$info" -f -j
}

# The line also names interfaces that do not open. A node without dat.conf has the default one.
fingerprint_fails() {
	echo 'gone u2.0 nonthreadsafe default libgone.so.2 x.2.0 "" ""' |
		cat - "$conf" >"$t_dir/gone.conf"
	t_ends 1 env DAT_OVERRIDE="$t_dir/gone.conf" "$info" -f &&
		t_says ' ia=gone fails=DAT_PROVIDER_NOT_FOUND ia=loop provider' &&
		t_ends 0 env DAT_OVERRIDE=/dev/null FI_PROVIDER=tcp "$info" -f &&
		t_says ' ia=ofi provider=tcp'
}

# A made-up sysfs describes a card. The interface lo is its network device.
fingerprint_card() {
	new_root
	mkdir -p "$root/sys/class/infiniband/lo/device/net/eth7"
	put /sys/class/infiniband/lo/device/vendor 0x15b3
	put /sys/class/infiniband/lo/device/device 0x101b
	put /sys/class/infiniband/lo/fw_ver 20.43.1014
	put /sys/class/infiniband/lo/device/net/eth7/mtu 4200
	put /sys/module/mlx5_core/version 24.10
	ln -s /drivers/mlx5_core "$root/sys/class/infiniband/lo/device/driver"
	rest=' link=unknown bit/s=- mtu=4200'
	fingerprint "$info" -f --root "$root" &&
		t_says "device=15b3:101b driver=mlx5_core/24.10 firmware=20.43.1014$rest"
	got=$?
	rm -r "$root/sys"
	put /sys/class/net/lo/type 772
	put /sys/class/net/lo/mtu 65536
	[ "$got" = 0 ] && fingerprint "$info" -f --root "$root" &&
		t_says 'device=loopback driver=- firmware=- link=unknown bit/s=- mtu=65536'
}

# node NAME ADDRESS: prints the fingerprint of a host with this name and address; its settings
# contain both
node() {
	unshare "$way" sh -c 'hostname "$1" && ip link set lo up &&
		ip link add eth5 type veth peer name eth6 &&
		ip address add "$2/24" dev eth5 && ip link set eth5 up && ip link set eth6 up &&
		sed "s/lo\"/eth5 addr=$2\"/" "$DAT_OVERRIDE" >"$4/node.conf" &&
		DAT_OVERRIDE=$4/node.conf DAT_OFI_ADDR=$2 FI_LOG_SUBSYS="/$1/x" \
			exec "$3" -f --root "$4/root"' - "$1" "$2" "$info" "$t_dir"
}

fingerprint_node() {
	way=$1
	new_root
	put /sys/class/net/eth5/type 1
	fingerprint node node17 192.0.2.1 && same node other 192.0.2.2 &&
		t_says 'DAT_OFI_ADDR=*' 'FI_LOG_SUBSYS=/*/x' 'provider=tcp' 'device=ethernet' \
			'set-addr=*'
}

# The error message of dat_ia_open when something is missing names what failed, why, and what to
# try.
messages() {
	t_ends 1 env FI_PROVIDER=nonesuch "$info" -a ofi &&
		t_says 'no fabric can be used (FI_PROVIDER=nonesuch)' \
		'unset FI_PROVIDER' &&
	t_ends 1 "$info" -a ofi-tcp-nosuch &&
	t_says 'provider=tcp domain=nosuch' 'another domain is asked for' &&
	t_ends 0 env DAT_OVERRIDE="$t_dir/none" "$info" -a ofi-tcp &&
	t_ends 1 env DAT_OVERRIDE="$t_dir/none" "$info" -a loop &&
		t_says "cannot open $t_dir/none (named by DAT_OVERRIDE): No such file" &&
	echo 'gone u2.0 nonthreadsafe default libgone.so.2 x.2.0 "" ""' >"$t_dir/gone.conf" &&
	t_ends 1 env DAT_OVERRIDE="$t_dir/gone.conf" "$info" -a gone &&
		t_says 'cannot load its provider library: libgone.so.2' \
			'LD_LIBRARY_PATH and ldconfig'
}

# No device is up, so no IA can be opened.
no_fabric() {
	t_ends 1 unshare "$1" "$info" -a ofi-shm &&
		t_says 'this host has no IP address to listen at' &&
		t_ends 1 unshare "$1" "$info" --root "$root" --check &&
		t_says 'fail addresses no device that is up' &&
		t_ends 1 unshare "$1" sh -c 'ip link set lo up; FI_PROVIDER=nonesuch exec "$@"' - \
			"$info" --root "$root" --check && t_says 'warn addresses only the loopback'
}

# Checks that pass on every machine.
healthy() {
	new_root
	"$info" --root "$root" --check >"$t_dir/o" 2>"$t_dir/e"
	cat "$t_dir/o" && narrow && t_says 'ok fork settings' 'ok devices no RDMA device' \
		'ok host name here is 192.0.2.1' "ok dat.conf $conf has nothing wrong" \
		'ok fabrics libfabric has:' \
		'ok links names with and without' 'ok names no interface' &&
		! grep -e Slingshot -e EFA -e Intel "$t_dir/o"
}

# checked OPTION...: runs the checks with these variables. The exit status also depends on the
# machine.
checked() {
	env "$@" "$info" --root "$root" --check >"$t_dir/o" 2>"$t_dir/e"
	got=$?
	cat "$t_dir/o" "$t_dir/e"
	narrow && [ "$got" = 0 ] || [ "$got" = 1 ] || [ "$got" = 3 ]
}

# Programs that load the library at run time ask for names without a version.
links() {
	new_root
	mkdir -p "$t_dir/none" "$t_dir/other"
	src=$top_builddir/src/.libs
	cp -L "$src/libdat2.so.2" "$src/libdat.so.1" "$t_dir/none"
	cp -L "$src/libdat2.so.2" "$t_dir/other"
	cp -L "$src/libdat2.so.2" "$t_dir/other/libdat2.so"
	# Without what was built; the system may have a package with the links.
	rest=$(printf %s "$LD_LIBRARY_PATH" | sed "s,$src,$t_dir,")
	checked LD_LIBRARY_PATH="$t_dir/none:$rest" && t_says 'warn links libdat2.so ' \
		'warn links libdat.so ' "libdat2.so.2 is $t_dir/none/libdat2.so.2" &&
		[ "$got" != 0 ] &&
		checked LD_LIBRARY_PATH="$t_dir/other:$LD_LIBRARY_PATH" &&
		t_says "warn links libdat2.so is $t_dir/other/libdat2.so, but libdat2.so.2 is" \
			'let the link point' &&
		[ "$got" != 0 ]
}

# Names of interfaces that contain the name of a device, which contains the device's PCI address.
names() {
	new_root
	for name in ofa-v2-enp3s0f1 rdmap0s6-u ofa-v2-cma-roe-enx5254 ofa-v2-ib0 eth0 \
		ofa-v2-mlx5_0-1u open-end; do
		echo "$name u2.0 nonthreadsafe default libdatofi.so.2 ofi.2.0 \"domain=lo\" \"\""
	done >"$t_dir/names.conf"
	checked DAT_OVERRIDE="$t_dir/names.conf" &&
		t_says 'warn names' 'names.conf:1: ofa-v2-enp3s0f1 has enp3s0f1 in it' \
		'such as ofa-v2-fabric' '"domain=enp3s0f1" on this one' \
		'names.conf:2: rdmap0s6-u has rdmap0s6' \
		'names.conf:3: ofa-v2-cma-roe-enx5254' &&
		[ "$(grep -c '^warn  names ' "$t_dir/o")" = 3 ] && [ "$got" != 0 ]
}

intel_mpi() {
	new_root
	echo >"$t_dir/libempty.so"
	checked I_MPI_FABRICS=shm:dapl I_MPI_DAPL_PROVIDER=loop I_MPI_DAT_LIBRARY=libdat2.so.2 \
		I_MPI_DAPL_UD=0 &&
		t_says 'ok Intel MPI its variables' &&
		checked I_MPI_FABRICS=shm:dapl I_MPI_DAPL_PROVIDER=ofi-tcp \
			I_MPI_DAT_LIBRARY=libdat.so.1 &&
		t_says 'ok Intel MPI its variables' &&
		checked I_MPI_FABRICS=shm:tmi &&
		t_says 'warn Intel MPI I_MPI_FABRICS=shm:tmi' 'shm:dapl' &&
		checked I_MPI_DEVICE=sock && t_says 'warn Intel MPI I_MPI_DEVICE=sock' &&
		checked I_MPI_DAPL_PROVIDER=ofa-v2-ib0 &&
		t_says 'fail Intel MPI I_MPI_DAPL_PROVIDER has ofa-v2-ib0' &&
		[ "$got" = 1 ] &&
		checked I_MPI_DAPL_PROVIDER_LIST=loop,there &&
		t_says 'I_MPI_DAPL_PROVIDER_LIST has there' &&
		checked I_MPI_DAT_LIBRARY="$t_dir/libempty.so" &&
		t_says "fail Intel MPI I_MPI_DAT_LIBRARY=$t_dir/libempty.so" &&
		checked I_MPI_DAT_LIBRARY=libc.so.6 && t_says 'it is no library of DAT' &&
		cp -L "$top_builddir/src/.libs/libdat2.so.2" "$t_dir/libcopy.so" &&
		checked I_MPI_DAT_LIBRARY="$t_dir/libcopy.so" &&
		t_says 'warn Intel MPI I_MPI_DAT_LIBRARY leads to' 'unset it' &&
		ud_as_told
}

# The list of features contains UD if and only if the interface offers it.
ud_as_told() {
	checked I_MPI_DAPL_UD=1 I_MPI_DAPL_UD_PROVIDER=loop || return
	cp "$t_dir/o" "$t_dir/ud"
	"$info" -a loop >"$t_dir/o"
	if t_says 'DAT_IB_UD TRUE'; then
		cp "$t_dir/ud" "$t_dir/o"
		t_says 'ok Intel MPI'
	else
		cp "$t_dir/ud" "$t_dir/o"
		t_says 'fail Intel MPI I_MPI_DAPL_UD=1, but loop has no UD' && [ "$got" = 1 ]
	fi
}

# Words that the provider does not know, in variables and in parameters
unknown_words() {
	new_root
	cat >"$t_dir/words.conf" <<-EOF
	typo u2.0 nonthreadsafe default libdatofi.so.2 ofi.2.0 "provider=tcp domian=lo" ""
	good u2.0 nonthreadsafe default libdatofi.so.2 ofi.2.0 "Provider=tcp  spin_us=1" ""
	ofed u2.0 nonthreadsafe default libdatofi.so.2 ofi.2.0 "lo 0" ""
	else u2.0 nonthreadsafe default libdat2.so.2 other.2.0 "odd=1" ""
	EOF
	checked DAT_OVERRIDE="$t_dir/words.conf" && t_says \
		'ok variables no variable DAT_OFI_* is unknown' \
		"warn dat.conf $t_dir/words.conf:1: typo: domian=lo is ignored" &&
		[ "$(grep -c '^warn  dat.conf .*words.conf' "$t_dir/o")" = 1 ] &&
		[ "$got" != 0 ] && checked DAT_OFI_LGO=2 DAT_OFI_SPIN_US=7 &&
		t_says 'warn variables DAT_OFI_LGO is set and has no meaning' 'dat_info -e' &&
		[ "$(grep -c '^warn  variables' "$t_dir/o")" = 1 ] && [ "$got" != 0 ]
}

# Each check fails on a machine with an old kernel, a card without its file in /dev, a small limit
# of locked memory and no service.
broken() {
	new_root
	put /proc/sys/kernel/osrelease 4.18.0
	put /etc/hosts '127.0.1.1 here.example here # as Debian writes it'
	rdma_device rdmap0s6 efa
	mkdir -p "$root/sys/class/cxi/cxi0"
	put /etc/dat.conf ''
	put /etc/rdma/dat.conf ''
	t_ends 1 sh -c 'ulimit -l 64; root=$1; shift; env "$@" --root "$root" --check' - "$root" \
		FI_PROVIDER=nonesuch FI_EFA_USE_DEVICE_RDMA=0 DAT_OVERRIDE="$t_dir/none" "$info" &&
		narrow &&
		t_says 'fail memory locked memory is limited to 64 KiB' 'memlock unlimited' \
		'warn fork this kernel is older' 'RDMAV_FORK_SAFE=1' \
		'fail devices the kernel has uverbs0, but /dev/infiniband/uverbs0 is not there' \
		'fail devices the kernel has cxi0, but /dev/cxi0' '--device=/dev/infiniband' \
		'warn Slingshot SLINGSHOT_VNIS is not set' 'warn EFA FI_EFA_USE_DEVICE_RDMA=0' \
		'warn host name the name of this host, here, stands for 127.0.1.1' \
		'fail fabrics FI_PROVIDER=nonesuch excludes all' 'tcp lo' 'unset it, or choose' \
		"fail dat.conf DAT_OVERRIDE names $t_dir/none, which is not there" \
		'warn dat.conf /etc/dat.conf is there but not read' \
		'warn dat.conf /etc/rdma/dat.conf is there but not read'
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
	t_ends 1 env RDMAV_FORK_SAFE=1 SLINGSHOT_VNIS=1,99999 SLINGSHOT_SVC_IDS=1 \
		SLINGSHOT_DEVICES=cxi0 \
		DAT_OVERRIDE="$t_dir/bad.conf" "$info" --root "$root" --check && narrow &&
		t_says 'warn fork fork support of rdma-core is on and the system has huge pages' \
		'fail Slingshot SLINGSHOT_VNIS=1,99999 is no list' 'warn EFA ptrace_scope is 1' \
		'warn devices 1 InfiniBand card is on the bus without' 'warn host name' \
		'has no IPv4 address' \
		"warn libraries libfabric.so.1 is used from" "$root/usr/local/lib/libfabric.so.1" \
		"bad.conf:2: loop is tried only when line 1" \
		'2 lines from 3 to 4: libdaplnone.so.2 cannot be' \
		'dat_conf convert' 'bad.conf:5: mixed is a line for DAT 1' \
		'bad.conf:6: the line has 2 of 8 fields'
}

rest() {
	new_root
	mkdir -p "$root/sys/class/cxi/cxi0" "$root/dev"
	: >"$root/dev/cxi0"
	t_ends 1 env FI_EFA_FORK_SAFE=1 FI_EFA_USE_HUGE_PAGE=1 SLINGSHOT_VNIS=1 \
		SLINGSHOT_SVC_IDS=1,2 \
		SLINGSHOT_DEVICES=cxi0 "$info" --root "$root" --check &&
		t_says 'fail fork FI_EFA_FORK_SAFE and' \
		'fail Slingshot SLINGSHOT_SVC_IDS has 2 services for the 1 devices' \
		'ok devices 1 RDMA device' &&
		t_ends 1 env SLINGSHOT_VNIS=1 SLINGSHOT_SVC_IDS=1 SLINGSHOT_DEVICES=cxi7 "$info" \
			--root "$root" --check &&
		t_says 'fail Slingshot SLINGSHOT_DEVICES has cxi7'
	rm -r "$root/dev/shm"
	env SLINGSHOT_VNIS=1 SLINGSHOT_SVC_IDS=1 SLINGSHOT_DEVICES=cxi0 "$info" --root "$root" \
		--check \
		>"$t_dir/o"
	t_says 'ok Slingshot VNIs 1' "warn shared memory /dev/shm can't be used"
}

small_shm() {
	new_root
	t_ends 3 unshare "$1" sh \
		-c 'mount -t tmpfs -o size=1m tmpfs "$1/dev/shm" && exec "$2" --root "$1" --check' \
		- "$root" "$info" || [ "$got" = 1 ] || return
	t_says 'warn shared memory /dev/shm has 1 MiB left' || return
	unshare "$1" sh \
		-c 'mount -t tmpfs -o ro tmpfs "$1/dev/shm" && exec "$2" --root "$1" --check' \
		- "$root" "$info" >"$t_dir/o"
	t_says "warn shared memory /dev/shm can't be used (Read-only file system)"
}

# What forbids copies between processes matters to those who ask for them.
copies() {
	new_root
	for scope in 0 1 2; do
		put /proc/sys/kernel/yama/ptrace_scope "$scope"
		checked -u DAT_OFI_SAME_HOST || return
		case $scope in
		0) t_says 'ok copies processes of one user may copy' ;;
		*) t_says "ok copies ptrace_scope is $scope" ;;
		esac || return
	done
	checked DAT_OFI_SAME_HOST=rings && t_says 'ok copies ptrace_scope is 2' &&
		checked DAT_OFI_SAME_HOST=auto &&
		t_says 'warn copies ptrace_scope is 2' && checked DAT_OFI_SAME_HOST=ptracer &&
		t_says 'warn copies ptrace_scope is 2' || return
	put /proc/sys/kernel/yama/ptrace_scope 1
	checked DAT_OFI_SAME_HOST=ptracer && t_says 'ok copies ptrace_scope is 1, and' &&
		checked DAT_OFI_SAME_HOST=memory && t_says 'warn copies ptrace_scope is 1:'
}

# A program may run with the distribution's registry, which does not know the default names.
other_registry() {
	where=${1%/*}${libfabric_libdir:+:$libfabric_libdir}
	t_ends 1 env LD_LIBRARY_PATH="$where" "$info" -a ofi-tcp &&
		t_says "dat_info: $1 is not that of dat-ofi: it opens only names" &&
		t_ends 0 env LD_LIBRARY_PATH="$where" "$info" -V &&
		t_says "DAT registry $1, not that of dat-ofi" || return
	env LD_LIBRARY_PATH="$where" "$info" -c >"$t_dir/o"
	t_says "warn libraries $1 is not that of dat-ofi: it opens only names that have a line" \
		'lead to that of dat-ofi' || return
	t_ends 0 "$info" -V && t_says 'DAT registry' && ! t_says 'not that of dat-ofi'
}

json_check() {
	new_root
	put /etc/hosts '127.0.1.1 here'
	"$info" -j --root "$root" --check >"$t_dir/o"
	jq -e '(.worst == "warn" or .worst == "fail") and
		(.checks | map(select(.topic == "host name"))[0] |
		.verdict == "warn" and (.remedy | length > 0))' "$t_dir/o"
}

# key_check WORD=VALUE...: runs the check of the key with a home directory of its own
key_check() {
	mkdir -p "$t_dir/home"
	checked HOME="$t_dir/home" DAT_OFI_KEY_FILE= "$@" && narrow
}

# The check prints the key id and the source of the key, and never the key itself.
keys() {
	new_root
	secret='nobody may read this in a report of a check'
	(umask 077 && echo "$secret" >"$t_dir/one.key" && cp "$t_dir/one.key" "$t_dir/copy.key")
	key_check && t_says "ok key peers need the user's key " "of $t_dir/home/.dat-ofi/key" \
		'the same user with the same home directory' || return
	id=$(key_id "user's key")
	key_check && [ "$(key_id "user's key")" = "$id" ] || return
	key_check DAT_OFI_KEY_FILE="$t_dir/one.key" && t_says "of $t_dir/one.key" || return
	id=$(key_id 'the key')
	! grep -F "$secret" "$t_dir/o" "$t_dir/e" &&
		key_check DAT_OFI_AUTH=key DAT_OFI_KEY_FILE="$t_dir/copy.key" &&
		t_says "ok key peers need the key $id of $t_dir/copy.key" &&
		key_check DAT_OFI_AUTH=job SLURM_JOB_ID=7 && t_says 'for SLURM_JOB_ID=7' &&
		key_check DAT_OFI_AUTH=none && t_says 'warn key auth=none: every process' \
		'unset DAT_OFI_AUTH'
}

# key_id TEXT: prints the key id that follows TEXT
key_id() {
	tr -s ' \n' '  ' <"$t_dir/o" | sed -n "s/.*peers need .*$1 \([0-9a-f]\{8\}\) .*/\1/p"
}

# The check tells why a key is not used, and what to do.
bad_keys() {
	new_root
	echo 'others may read this, so it is no secret' >"$t_dir/open.key"
	chmod 644 "$t_dir/open.key"
	key_check DAT_OFI_KEY_FILE="$t_dir/open.key" && [ "$got" = 1 ] &&
		t_says 'fail key no interface opens' 'others may read or write it (mode 644)' \
			"chmod 600 $t_dir/open.key" 'see AUTHENTICATION' &&
		key_check DAT_OFI_KEY_FILE="$t_dir/missing.key" && [ "$got" = 1 ] &&
		t_says "there is no key $t_dir/missing.key" 'openssl rand -hex 32' &&
		key_check DAT_OFI_AUTH=key && t_says 'auth=key needs a file' &&
		checked -u PALS_APID -u PMIX_NAMESPACE -u SLURM_JOB_ID -u PBS_JOBID -u LSB_JOBID \
			-u FLUX_JOB_ID -u JOB_ID DAT_OFI_AUTH=job &&
		t_says 'auth=job needs a job' &&
		key_check DAT_OFI_AUTH=munge && t_says 'fail key' 'no support for munge'
}

# A user without rights cannot open the files of devices, nor dat.conf.
no_rights() {
	new_root
	mkdir -p "$root/sys/class/cxi/cxi0"
	: >"$root/dev/cxi0"
	chmod 600 "$root/dev/cxi0" "$conf"
	chmod 755 "$t_dir"
	t_ends 1 setpriv --reuid=65534 --regid=65534 --clear-groups "$info" --root "$root" --check
	got=$?
	chmod 644 "$conf"
	[ "$got" = 0 ] && t_says \
		"fail devices /dev/cxi0 can't be opened to read and write: Permission denied" \
		'a udev rule has to' "fail dat.conf cannot open $conf: Permission denied" \
		'chmod a+r'
}
}

# Whether the user nobody can run the programs of this build.
nobody_can() {
	[ "$(id -u)" = 0 ] && chmod 755 "$t_dir" &&
		setpriv --reuid=65534 --regid=65534 --clear-groups "$info" --version >/dev/null 2>&1
}

t_run 'options and exit status' options
t_run 'options that do not apply' foreign_options
t_run 'output that cannot be written' full_output
t_run 'one interface' interface
t_run 'warnings of an interface that opens' warnings
t_try 'warnings as JSON' jq warnings_json
t_run 'candidates that are refused' refused
t_run 'all interfaces' all
t_run 'entries of one name' twins
t_run 'many names' many
t_try 'JSON' jq json
t_run 'variables' variables
t_run 'fingerprint: equal on equal nodes' fingerprints
t_run 'fingerprint: what does not open' fingerprint_fails
t_run 'fingerprint: a card' fingerprint_card
if unshare -run sh -c 'hostname other && ip link add eth5 type veth peer name eth6' \
	2>/dev/null; then
	t_run 'fingerprint: nodes of other names and addresses' fingerprint_node -run
else
	t_skip 'fingerprint: nodes of other names and addresses' \
		'no host name and network of our own are to be had'
fi
t_run 'what is said when something is missing' messages
t_run 'checks: all is well' healthy
t_run 'checks: nothing is well' broken
t_run 'checks: other faults' other_breaks
t_run 'checks: the rest' rest
t_run 'checks: links of libraries' links
t_run 'checks: names of interfaces' names
t_run 'checks: variables of Intel MPI' intel_mpi
t_run 'checks: words that are unknown' unknown_words
t_run 'checks: copies between processes' copies
other=$(grep -L DAT_OFI_1.0 /usr/lib/*/libdat2.so.2 /usr/lib64/libdat2.so.2 2>/dev/null | head -n 1)
if [ -n "$other" ]; then
	t_run "the distribution's registry" other_registry "$other"
else
	t_skip "the distribution's registry" 'there is none'
fi
t_run 'checks: key' keys
t_run 'checks: a key that is not used' bad_keys
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
	t_skip 'checks: no rights' \
		'only root can become somebody else, who has to reach the program'
fi
t_done
