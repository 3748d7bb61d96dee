#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The distribution's unmodified test programs, once through our registry and once through its own.
# One script, because the programs always listen on the same ports. T_FABRIC names a fabric of
# test/lib/fabrics.sh; tcp is the default. T_MORE=1 runs every mode of dapltest. In the lab of verbs
# T_PARAMS tells what the IA is and T_HOST its address.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"
# shellcheck source=test/lib/fabrics.sh
. "$top_srcdir/test/lib/fabrics.sh"

for program in dtest dtestcm dtestsrq dtestx dapltest; do
	command -v $program >/dev/null || t_skip_all "there is no $program (package dapl2-utils)"
done
[ -n "${T_HOST-}" ] || t_own_network "$0"
# limit_ia opens 100 IAs, which have 12 descriptors each over verbs.
# shellcheck disable=SC3045 # all of Debian's shells know both
ulimit -S -n "$(ulimit -H -n)"
host=${T_HOST:-127.0.0.1}

# As a host has it: an interface beside the loopback.
[ -z "${T_OWN_NETWORK-}" ] || { ip link add eth0 type veth peer name eth9 &&
	ip addr add 192.0.2.2/24 dev eth0 &&
	ip link set eth0 up && ip link set eth9 up; } 2>/dev/null

t_fabric_conf "${T_FABRIC:=tcp}" loop >"$t_dir/dat.conf"
export DAT_OVERRIDE="$t_dir/dat.conf"
why=$(dat_info --ia loop 2>&1) || t_skip_all "$T_FABRIC can't be opened: $(echo "$why" | head -n 1)"

# The programs end with status 0 also after an error, so their output decides.
# says TEXT: true when server and client have both printed TEXT and neither has printed an error
says() {
	grep -q -e "$1" "$t_dir/server" && grep -q -e "$1" "$t_dir/client" &&
		! grep -q -e 'FAILED' -e 'Test Failed' -e 'Error' "$t_dir/server" "$t_dir/client"
}

# expect NAME PROGRAM OPTIONS READY TEXT: starts PROGRAM as server, and as client when the server
# has printed READY; both must print TEXT
expect() {
	t_name="$1, $registry"
	if t_pair "$4" "$with $2 $3" "$with $2 $3 -h $host" && says "$5"; then
		t_pass "$t_name"
	else
		t_fail "$t_name" "$t_dir/server" "$t_dir/client"
	fi
}

# verdicts: prints for how many tests the server of dapltest has printed a result
verdicts() {
	grep -c -e 'performance test.  Exiting' -e 'Transaction Test Finished' \
		-e 'Server: Test Failed' -e 'Test Error' \
		-e '): *Exiting' "$t_dir/server"
}

# await_verdict BEFORE: waits until the server has printed more than BEFORE results. It prints the
# result of a test after the client has ended.
await_verdict() {
	until [ "$(verdicts)" -gt "$1" ]; do
		if ! kill -0 "$t_pid" 2>/dev/null; then
			# It may have printed the result since, and then ended.
			[ "$(verdicts)" -gt "$1" ]
			return
		fi
		sleep 0.05
	done
}

# ask NAME TEXT TEST OPTIONS...: runs a client of dapltest. The last lines of both sides decide,
# because the client prints its figures even after a failed assertion.
ask() {
	t_name="dapltest: $1, $registry"
	text=$2 test=$3
	shift 3
	before=$(verdicts)
	# shellcheck disable=SC2086 # $with holds words
	if timeout "$t_limit" $with dapltest -T "$test" -s $host -D loop "$@" \
		>"$t_dir/client" 2>&1 &&
		grep -q -e "$text" "$t_dir/client" && await_verdict "$before" &&
		! grep -i -q -e 'failed' -e 'error' "$t_dir/client" "$t_dir/server"; then
		t_pass "$t_name"
	else
		t_fail "$t_name" "$t_dir/client" "$t_dir/server"
	fi
}

# listens PORT: true when a process in this network namespace listens on PORT
listens() {
	grep -q "^ *[0-9]*: [0-9A-F]*:$(printf %04X "$1") .* 0A " /proc/net/tcp
}

# dtestx_pair OPTIONS: runs server and client. The server publishes its address by a socket of its
# own, for which the client does not wait, and listens for DAT connections only after that.
dtestx_pair() {
	# shellcheck disable=SC2086
	t_start server $with dtestx -P loop $1
	until listens 15828 || ! kill -0 "$t_pid" 2>/dev/null; do
		sleep 0.05
	done
	# shellcheck disable=SC2086
	timeout "$t_limit" $with dtestx -P loop $1 -h $host >"$t_dir/client" 2>&1
	wait "$t_pid" && says 'immed/atomic test PASSED'
}

# True when the attributes of the IA offer immediate data. Otherwise $t_name is skipped.
has_immediate() {
	# shellcheck disable=SC2086
	$with dtestx -P loop -q 2>&1 | grep -q 'DAT_IB_IMMED_DATA=TRUE' ||
		! t_skip "$t_name" "$T_FABRIC carries no immediate data, and says so"
}

# extensions NAME OPTIONS: runs dtestx over connected EPs
extensions() {
	t_name="dtestx: $1, $registry"
	has_immediate || return 0
	if dtestx_pair "$2"; then
		t_pass "$t_name"
	else
		t_fail "$t_name" "$t_dir/server" "$t_dir/client"
	fi
}

# dtestx_datagrams OPTIONS: runs two programs that connect to each other
dtestx_datagrams() {
	# shellcheck disable=SC2086
	t_start server timeout "$t_limit" $with dtestx -P loop $1
	until listens 15828 || ! kill -0 "$t_pid" 2>/dev/null; do
		sleep 0.05
	done
	# shellcheck disable=SC2086
	timeout "$t_limit" $with dtestx -P loop -c $1 -h $host >"$t_dir/client" 2>&1
	wait "$t_pid" && says 'UD test PASSED'
}

# datagrams NAME OPTIONS: runs dtestx over UD EPs
datagrams() {
	t_name="dtestx: $1, $registry"
	# shellcheck disable=SC2086
	if ! $with dtestx -P loop -q 2>&1 | grep -q 'DAT_IB_UD=TRUE'; then
		t_skip "$t_name" "$T_FABRIC has no datagrams, and says so"
	elif dtestx_datagrams "$2"; then
		t_pass "$t_name"
	else
		t_fail "$t_name" "$t_dir/server" "$t_dir/client"
	fi
}

# shared OPTIONS: runs dtestsrq. At its end it waits without limit for the asynchronous event that
# follows the last receive of each EP.
shared() {
	t_name="dtestsrq: messages over a shared receive queue, $registry"
	if dat_info --ia loop 2>/dev/null | grep -q ' srq_supported *no'; then
		t_skip "$t_name" 'this fabric has no shared receive queues, and says so'
		return
	fi
	if t_pair 'server ready on port' "$with dtestsrq -P loop -v $1" \
		"$with dtestsrq -P loop -v $1 -h $host" &&
		says 'Async event 0x8003 received' && says 'SRQ Test Complete' &&
		! grep -q -e 'Invalid' "$t_dir/server" "$t_dir/client"; then
		t_pass "$t_name"
	else
		t_fail "$t_name" "$t_dir/server" "$t_dir/client"
	fi
}

dapltest_suite() {
	# shellcheck disable=SC2086
	t_start server $with dapltest -T S -D loop
	t_await 'Service Point Ready' || :
	ask 'sends, writes and reads' 'Total RDMA Read' T -i 100 -t 1 -w 1 \
		client SR 256 server SR 256 client RR 4096 server RW 4096
	ask 'the same in 4 threads, 8 endpoints, verified' 'Total RDMA Read' T -i 50 -t 4 -w 8 -V \
		client SR 1024 2 server SR 1024 2 client RW 4096 2 server RR 4096 1
	if [ -n "${T_MORE-}" ]; then
		for op in SR RW RR; do
			ask "$op both ways, verified" 'Total ' T -i 50 -t 2 -w 2 -V client SR 256 \
				server SR 256 \
				client $op 4096 server $op 4096
			ask "$op both ways in 4 segments, verified" 'Total ' T -i 50 -t 1 -w 1 -V \
				client SR 256 server SR 256 client $op 512 4 server $op 512 4
		done
		ask 'SR both ways, polling' 'Total Send' T -i 50 -t 1 -w 2 -P client SR 1024 \
			server SR 1024
		ask 'large transfers' 'Total RDMA Read' T -i 5 -t 1 -w 1 -V client SR 1048576 \
			server SR 1048576 \
			client RW 1048576 server RR 1048576
	fi
	ask 'RDMA writes, polling' 'Operation Throughput' P -i 1000 -p 16 -m p RW 4096 1
	ask 'RDMA writes, waiting' 'Operation Throughput' P -i 1000 -p 16 -m b RW 4096 1
	ask 'RDMA reads, polling' 'Operation Throughput' P -i 1000 -p 16 -m p RR 4096 1
	ask 'RDMA reads, waiting' 'Operation Throughput' P -i 1000 -p 16 -m b RR 4096 1
	ask 'RDMA writes by default, in two segments' 'Operation Throughput' P -d -i 1024 RW 4096 2
	ask 'RDMA writes of 64 KiB' 'Operation Throughput' P -i 1024 RW 65536
	ask 'quit' 'End of Work' Q
	wait "$t_pid"
	t_run "dapltest: the server ends by itself, $registry" test $? = 0
}

# alone NAME OPTIONS...: runs dapltest without a peer
alone() {
	t_name="dapltest: $1, $registry"
	shift
	# shellcheck disable=SC2086
	if timeout "$t_limit" $with dapltest "$@" >"$t_dir/client" 2>&1 &&
		! grep -i -q -e 'result: fail' -e 'failed in file' -e 'fails:' "$t_dir/client"; then
		t_pass "$t_name"
	else
		t_fail "$t_name" "$t_dir/client"
	fi
}

# One limit in each run: with several, the program uses an EVD that it has freed. The case of memory
# of length 0 (mem, case 2) has no base in the standard.
dapltest_alone() {
	for limit in ia pz cno evd ep rsp psp lmr rpost size_lmr; do
		alone "limit_$limit" -T L -D loop -m 100 limit_$limit
	done
	for feature in hwconn endpoint pz; do
		alone "feature $feature" -T F -D loop -s 127.0.0.1 -f $feature
	done
	# Some versions of the distribution's registry follow an invalid handle of a CNO (case 13).
	[ -n "$with" ] || alone 'feature queryinfo' -T F -D loop -s 127.0.0.1 -f queryinfo
	alone 'feature mem' -T F -D loop -s 127.0.0.1 -f mem case0 case1 case3 case4
}

# programs REGISTRY COMMAND: runs all programs; COMMAND starts each
programs() {
	registry=$1 with=$2
	ready='waiting for client connection'
	expect 'dtest: send, write, read' dtest '-P loop -b 65536' "$ready" PASSED
	expect 'dtest: messages of 1 MiB' dtest '-P loop -b 1048576 -B 20' "$ready" PASSED
	expect 'dtest: with a CNO' dtest '-P loop -b 65536 -c' "$ready" PASSED
	expect 'dtest: polling' dtest '-P loop -b 65536 -p' "$ready" PASSED
	t_name="dtest: a stream of 50 writes, $registry" # with immediate data
	has_immediate && expect 'dtest: a stream of 50 writes' dtest '-P loop -b 65536 -w -B 50' \
		"$ready" PASSED
	expect 'dtest: write ping-pong' dtest '-P loop -b 64 -W -B 100' "$ready" PASSED
	expect 'dtestcm: 50 connections' dtestcm '-P loop -c 50 -w' 'Conn server waiting' \
		'ALL 50 CONN'
	if dat_info --ia loop 2>/dev/null | grep -q 'FETCH_AND_ADD *TRUE'; then
		extensions 'immediate data, atomic operations' ''
		extensions 'the same with 4 server endpoints and counters' '-m 4 -p'
	else
		t_skip "dtestx, $registry" 'no atomic operations on this fabric'
	fi
	datagrams 'datagrams, one endpoint' '-u'
	datagrams 'datagrams, four endpoints each' '-u -m'
	datagrams 'datagrams, 50 endpoints each, counters' '-U 50 -m -p'
	# shellcheck disable=SC2086
	t_run "dtestx: attributes by a query, $registry" sh \
		-c "$with dtestx -P loop -q | grep 'DAT_COUNTERS=TRUE'"
	expect 'dtestsrq: messages without a shared queue' dtestsrq '-P loop -S 0 -c 4 -B 3' \
		'server ready on port' 'SRQ Test Complete'
	shared '-c 4 -B 3'
	dapltest_suite
	[ -z "${T_MORE-}" ] || dapltest_alone
}

programs 'our registry' ''
programs "the distribution's registry" "env LD_LIBRARY_PATH=${libfabric_libdir-}"
t_done
