#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Processes of one host in PID namespaces of their own, as containers have them: they share the
# network and /dev/shm, and their processes have the same numbers.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"
# shellcheck source=test/lib/fabrics.sh
. "$top_srcdir/test/lib/fabrics.sh"
t_own_network "$0"

[ -n "${T_OWN_NETWORK-}" ] || t_skip_all 'this user cannot make a network where ports are free'
contained='unshare --pid --fork --kill-child'
if $contained --mount-proc true 2>/dev/null; then
	contained="$contained --mount-proc"
else
	$contained true 2>/dev/null || t_skip_all 'this user cannot make PID namespaces'
fi

export DAT_OVERRIDE="$t_dir/dat.conf"
for fabric in tcp shm; do
	t_fabric_conf "$fabric" "$fabric"
done >"$DAT_OVERRIDE"
port=20650

# start COMMAND...: starts a container in the background. unshare and the first process of a
# namespace ignore SIGTERM.
start() {
	t_out=$t_dir/background
	$contained "$@" >"$t_out" 2>&1 &
	t_pid=$!
}
trap 'kill -9 $t_pid 2>/dev/null; t_cleanup' EXIT

# end: kills the container. When unshare has ended, all its processes are gone.
end() {
	kill -9 "$(pgrep -P "$t_pid")"
	wait "$t_pid"
}

# contained COMMAND...: runs a container to its end
contained() {
	# shellcheck disable=SC2086 # several words
	timeout -s KILL "$t_limit" $contained "$@"
}

# between SAME_HOST FABRIC TEST: a server and a client, each the first process of its namespace
between() {
	port=$((port + 1))
	export DAT_OFI_SAME_HOST="$1"
	start dat_perf --server --once --bind 127.0.0.1 --port "$port"
	contained dat_perf --port "$port" --await 60 -i "$2" -o "$3" -S 8,128k -n 100 -R 1 \
		--verify 127.0.0.1 || kill -9 "$(pgrep -P "$t_pid")"
	wait "$t_pid"
	status=$?
	cat "$t_out"
	return "$status"
}

# libfabric's shm would copy from the process that has the number of the peer.
# shellcheck disable=SC2317
refused() {
	! between fabric shm send && grep 'in another PID namespace' "$t_out"
}

# open_over_shm: a container whose first process has an IA over shm
# shellcheck disable=SC2317
open_over_shm() {
	start dat_perf --loopback -i shm -S 8 -t 60 -R 1
	until grep /dev/shm/1: "/proc/$(pgrep -P "$t_pid")/maps"; do
		kill -0 "$t_pid" && sleep 0.05 || return
	done 2>/dev/null
}

# A killed process leaves its region. The next one in a new namespace has the same number.
# shellcheck disable=SC2317
again() {
	open_over_shm || return
	end
	contained dat_perf --loopback -i shm -S 8 -n 10 -R 1
}

# shellcheck disable=SC2317
report_of_a_container() {
	DAT_OFI_STATS=socket open_over_shm || return
	dat_info -p "$(pgrep -P "$t_pid")" | grep 'process 1 '
	status=$?
	end
	return "$status"
}

for test in send write read; do
	t_run "tcp: $test by shared memory" between auto tcp $test
	t_run "shm: $test by shared memory" between auto shm $test
	t_run "tcp: $test by the fabric" between fabric tcp $test
done
t_run 'shm: the fabric does not connect PID namespaces' refused
t_run 'dat_info -p with a process of another PID namespace' report_of_a_container
# The last one, because its second process removes what all killed ones have left in /dev/shm.
t_run 'shm: a process with the number of a killed one' again
t_done
