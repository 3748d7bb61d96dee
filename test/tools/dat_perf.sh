#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# dat_perf: a short run of each test, the files that it writes, and the options that it refuses.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"
# shellcheck source=test/lib/fabrics.sh
. "$top_srcdir/test/lib/fabrics.sh"

t_own_network "$0"
ia=${T_IA-ofi-tcp-lo}
# The program itself, because libtool's wrapper takes as long as a short run.
[ ! -x "${top_builddir:?}/.libs/dat_perf" ] || PATH=$top_builddir/.libs:$PATH

# shellcheck disable=SC2317 # t_run calls them
{
# perf OPTION...: runs a client with few messages against the running server, or alone
perf() {
	# shellcheck disable=SC2086 # options, or nothing
	timeout "$t_limit" dat_perf $where --ia "$ia" --iterations 20 --warmup 2 "$@"
}

# serve OPTION...: starts a server in the background. It does not use t_start, whose stdbuf does not
# work with ASan.
serve() {
	timeout 1800 dat_perf --server "$@" >"$t_dir/server" 2>&1 &
	t_pid=$!
	t_pids="$t_pids $t_pid"
}

# measured TEST OPTION...: true when the output has a line for each size with a value above zero
measured() {
	measured_test=$1
	shift
	perf --csv --test "$measured_test" "$@" >"$t_dir/csv" || return
	cat "$t_dir/csv"
	awk -F, -v test="$measured_test" '
		NR == 1 { columns = NF; next }
		NF != columns || $1 != test || $11 <= 0 || $12 > $11 || $13 < $11 { exit bad = 1 }
		END { exit bad || NR < 2 }' "$t_dir/csv"
}

# over_rdm TEST OPTION...: as measured, without the server, which uses another fabric
over_rdm() {
	(
		where=--loopback
		export DAT_OFI_TRANSPORT=rdm
		measured "$@"
	)
}

# on_one_host OPTION...: runs both sides on this host by default means, with the log in a file
on_one_host() {
	(
		where=--loopback
		DAT_OFI_LOG=info
		export DAT_OFI_LOG
		unset DAT_OFI_SAME_HOST
		perf "$@"
	) >"$t_dir/same-host" 2>&1
	got=$?
	cat "$t_dir/same-host"
	return "$got"
}

by_memory() {
	on_one_host "$@" && grep -q 'uses shared memory' "$t_dir/same-host"
}

by_fabric() {
	on_one_host "$@" && ! grep -q 'uses shared memory' "$t_dir/same-host"
}

# Each endpoint of an SRQ reports its last buffer, so the queue of such events must have room.
no_event_is_lost() {
	(
		where=--loopback
		perf -m rate --srq -e 64 -R 3
	) >"$t_dir/srq" 2>&1
	got=$?
	cat "$t_dir/srq"
	[ "$got" = 0 ] && ! grep 'errors are lost' "$t_dir/srq"
}

# status CODE WORD OPTION...: true when dat_perf exits with CODE and prints WORD
status() {
	wanted=$1 word=$2
	shift 2
	timeout "$t_limit" dat_perf "$@" >"$t_dir/said" 2>&1
	got=$?
	cat "$t_dir/said"
	[ "$got" = "$wanted" ] && grep -q -e "$word" "$t_dir/said"
}

wrong() {
	status 2 "$@"
}

json() {
	perf --json --compare --rounds 3 --size 8,64 --stat p99.9 >"$t_dir/json" || return
	cat "$t_dir/json"
	jq -e '.program == "dat_perf" and .unit == "us" and (.results | length) == 2 and
		(.results[0].dat | .min <= .p50 and .p50 <= .p99 and .p99 <= .["p99.9"] and
			.["p99.9"] <= .max and .min > 0 and .avg <= .max) and
		.results[0].excess.median != null and
		(.results[1] | .ratio.min <= .ratio.median and .ratio.median <= .ratio.max and
			(.dat.rounds | length) == 3 and .raw.iterations == 20)' "$t_dir/json"
}

# Closing and memory of both, and what an idle process uses.
costs() {
	perf --json --compare --rounds 1 --size 8 --eps 40 --cost >"$t_dir/json" || return
	cat "$t_dir/json"
	jq -e '.cost | .dat.memory > 0 and .raw.memory > 0 and .dat.open_s > 0 and
		.dat.close_s > 0 and .raw.close_s > 0 and .idle_cpu >= 0 and .idle_cpu < 100' \
		"$t_dir/json" || return
	perf --size 8 --eps 2 --cost >"$t_dir/said" && cat "$t_dir/said" &&
		grep -q '^cost of 2 endpoints, dat: [0-9.]* KiB each, opened in ' "$t_dir/said" &&
		grep -q '^while idle: [0-9.]* % of a processor' "$t_dir/said"
}

ratio_is_limited() {
	status 1 'above --max-ratio' --loopback --ia "$ia" -n 5 --compare --rounds 1 -S 8 \
		--max-ratio 0.000001 &&
		status 1 'below --min-ratio' --loopback --ia "$ia" -n 5 --compare --rounds 1 -S 8 \
			--min-ratio 1e6 \
			--max-excess 1e9
}

# The plot has a curve, three points and a label for each size.
drawn() {
	perf --size 8:32 --plot "$t_dir/plot.svg" || return
	python3 - "$t_dir/plot.svg" <<-'EOF'
		import sys
		import xml.etree.ElementTree as tree
		svg = "{http://www.w3.org/2000/svg}"
		root = tree.parse(sys.argv[1]).getroot()
		line = root.find(svg + "polyline")
		points = [point.split(",") for point in line.get("points").split()]
		assert root.tag == svg + "svg" and len(points) == 3, points
		assert all(0 <= float(x) <= 760 and 0 <= float(y) <= 460 for x, y in points), points
		assert [float(x) for x, _ in points] == sorted(float(x) for x, _ in points), points
		texts = [text.text for text in root.iter(svg + "text")]
		assert {"8", "16", "32", "us", "bytes"} <= set(texts), texts
	EOF
}

progress_is_told() {
	script -q -e -c "dat_perf --loopback --ia $ia -n 20 -S 8" "$t_dir/typescript" \
		>/dev/null </dev/null || return
	grep -q 'send 8 bytes, dat, round 1 of 1' "$t_dir/typescript" || return
	script -q -e -c "dat_perf --loopback --ia $ia -n 20 -S 8 --quiet" "$t_dir/typescript" \
		>/dev/null </dev/null &&
		! grep -q 'round 1' "$t_dir/typescript"
}

# The check between two machines: one command on each.
remote() {
	serve --once --bind 127.0.0.1 --port "$1" --ia "$ia"
	timeout "$t_limit" dat_perf --await 60 --port "$1" --ia "$ia" -n 10 -S 8 -T 2 127.0.0.1 ||
		return
	wait "$t_pid"
}

# The port may have the name of a service, if this system knows any above the privileged ones.
remote_by_name() {
	name=$(getent services 5432/tcp | awk '{ print $1 }')
	[ -z "$name" ] || remote "$name"
}

# A server continues when a client ends in the middle of a test.
refused_by_server() {
	serve --once --bind 127.0.0.1 --port "$1" --ia nonsense
	status 1 'nonsense' --await 60 --port "$1" --ia "$ia" -n 10 -S 8 127.0.0.1
	ret=$?
	! wait "$t_pid" && return "$ret"
}

# go OPTION...: true when all steps pass and the verdict is printed, also on a busy machine
go() {
	status 0 '^GO     .* us, .* MB/s, checked in' --check --time 100 --max-latency 1e9 \
		--min-bandwidth 1e-9 "$@" &&
		[ "$(grep -c '^ok     ' "$t_dir/said")" = 6 ] &&
		[ "$(tail -n 1 "$t_dir/said" | cut -c 1-2)" = GO ]
}

# On a fabric that refuses RDMA the check passes the steps before it and fails there.
check_refused() (
	t_fabric sham-cxi
	export DAT_OFI_PROVIDER=sham DAT_OFI_DOMAIN=cxi
	go --loopback --ia ofi || return
	FI_SHAM_REFUSE=100
	export FI_SHAM_REFUSE
	status 1 'NO-GO  data of writes: ' --check --time 100 --loopback --ia ofi &&
		grep 'ok     data of sends' "$t_dir/said"
)

check_remote() {
	serve --once --bind 127.0.0.1 --port "$1"
	go --ia "$ia" --await 60 --port "$1" 127.0.0.1 && wait "$t_pid"
}

# The server is stopped. The client reports the failure within its time limit.
check_late() {
	serve --bind 127.0.0.1 --port "$1"
	status 0 send --await 60 --port "$1" --ia "$ia" -n 1 -S 8 127.0.0.1 || return
	server=$(ps -o pid= --ppid "$t_pid" | tr -d ' ')
	kill -STOP "$server"
	before=$(date +%s)
	status 1 "NO-GO  dat_perf --server on 127.0.0.1, port $1 has not answered within 2 sec" \
		--check --time 2 --port "$1" --ia "$ia" 127.0.0.1
	ret=$?
	kill -CONT "$server"
	kill "$server"
	[ "$ret" = 0 ] && [ $(($(date +%s) - before)) -lt 60 ]
}

# connect_silently PORT: connects to the server and says nothing until it is killed
connect_silently() {
	python3 - "$1" >"$t_dir/silent" <<-'EOF' &
		import socket
		import sys
		import time
		until = time.monotonic() + 60
		while True:
		    try:
		        peer = socket.create_connection(("127.0.0.1", sys.argv[1]))
		        break
		    except ConnectionRefusedError:
		        assert time.monotonic() < until, "no server"
		        time.sleep(0.1)
		print("connected", flush=True)
		time.sleep(600)
	EOF
	silent=$!
	t_pids="$t_pids $silent"
	until grep -q connected "$t_dir/silent"; do
		kill -0 "$silent" || return
		sleep 0.05
	done
}

# A connection that says nothing delays other clients for some seconds. They say why they wait.
silent_client() {
	serve --bind 127.0.0.1 --port "$1"
	connect_silently "$1" || return
	status 1 'NO-GO  dat_perf --server .* may be busy with another client' --check --time 1 \
		--port "$1" --ia "$ia" 127.0.0.1 &&
		status 0 "waiting for dat_perf --server on 127.0.0.1, port $1, which may be busy" \
			--port "$1" --ia "$ia" -n 1 -S 8 127.0.0.1 &&
		cat "$t_dir/server" &&
		grep -q 'client at 127.0.0.1 has not said within 10 seconds what' "$t_dir/server"
	ret=$?
	kill "$silent" "$t_pid"
	return "$ret"
}

# The server asks the kernel to notice that the host of a client has gone.
connection_is_watched() {
	serve --once --bind 127.0.0.1 --port "$1"
	connect_silently "$1" || return
	ret=0 until=$(($(date +%s) + t_limit))
	until ss -Htno state established "sport = :$1" | tee "$t_dir/ss" | grep -q keepalive; do
		[ "$(date +%s)" -lt "$until" ] || { ret=1; break; }
		sleep 0.05
	done
	cat "$t_dir/ss"
	kill "$silent"
	return "$ret"
}

help_lists_tests() {
	dat_perf --test nonsense 2>&1 | grep -o 'one of [a-z, -]*' | sed 's/one of //; s/; .*//' |
		tr -d , |
		tr ' ' '\n' | grep . >"$t_dir/tests"
	dat_perf --help >"$t_dir/help"
	[ "$(wc -l <"$t_dir/tests")" = 10 ] && while read -r test; do
		grep -q -e "^  .*\<$test\>" "$t_dir/help" &&
			grep -q -e "$test" "$top_srcdir/contrib/completion/dat_info" || return
	done <"$t_dir/tests"
}
}

# One server for many clients, in a network namespace where its port is free.
where=--loopback
if [ -n "${T_OWN_NETWORK-}" ]; then
	serve --bind 127.0.0.1
	where='--await 60 127.0.0.1'
	t_run 'a server' measured send --size 8
	[ $t_failures = 0 ] || t_done
	where=127.0.0.1
fi

for test in send write read; do
	t_run "$test: latency" measured $test --size 1,4k
	t_run "$test: both ways and threads, checked, compared" measured $test -CBV -R 1 \
		-m bandwidth -S 5000 -T 2 -e 2
done
t_run 'immediate: latency' measured immediate --size 1,4k
t_run 'immediate: both ways and threads, checked' measured immediate -BV -m bandwidth -S 8,5000 \
	-T 2 -e 2
for test in fetch-add compare-swap bind connect wakeup; do
	t_run "$test: latency" measured $test
done
# UD is refused on an IA of the msg transport, and works on the rdm transport of the same device.
if dat_info --ia "$ia" 2>/dev/null | grep -q 'DAT_IB_UD *TRUE'; then
	t_run 'datagram: latency' measured datagram -V
else
	t_run 'datagram: what has none says so' status 3 'has no datagram' -o datagram \
		--loopback --ia "$ia" -n 1
fi
t_run 'datagram: over a connectionless fabric, checked' over_rdm datagram -V -e 2 -T 2 -g 2 -w
t_run 'fetch-add: rate, checked' measured fetch-add -m rate -V -e 2 -T 2
t_run 'compare-swap: rate, checked' measured compare-swap -m rate -V -e 2
t_run 'bind: rate' measured bind -m rate -W 4
t_run 'connect: rate' measured connect -m rate -e 4 -T 2
t_run 'connect: rate, compared, with new endpoints' measured connect -m rate -e 4 --fresh -C -R 1
t_run 'connect: latency, over libfabric' measured connect --raw
t_run 'connect: a connectionless fabric' status 1 'no connections' -o connect --raw -n 1 \
	--provider shm --ep-type rdm --loopback --ia "$ia"
t_run 'one host: shared memory' by_memory --size 8
t_run 'one host, compared with libfabric: the fabric' by_fabric --size 8 --compare -R 1
t_run 'new endpoints for sends' wrong 'no --fresh' --fresh --loopback
t_run 'many endpoints and an SRQ, asleep' measured send -m rate -e 32 --srq -V -W 4 -n 200 -w
t_run 'an SRQ of many endpoints loses no event' no_event_is_lost
t_run 'one completion in four' measured write -m rate -c 4 -W 8
t_run 'tagged messages over libfabric' measured send --raw --provider shm --ep-type rdm -V
t_run 'the same with a descriptor asked for' measured send --raw --provider 'tcp;ofi_rxm' -E rdm \
	--cq-wait fd -T 2
t_run 'the last word of each write by itself' measured write --raw --provider shm --ep-type rdm \
	--last-word -m rate -W 4 -V
t_run 'the same with one completion in four' measured write --raw --provider shm -E rdm \
	--last-word -m rate -c 4 -W 8
t_try 'percentiles and comparison in JSON' jq json
t_run 'writes awaited without a call of DAT' measured write --spin --size 8,64 -V
t_run 'the same over libfabric' wrong 'no progress' -o write --spin --raw --loopback
t_run 'sends awaited without a call of DAT' wrong 'latency of writes' --spin --loopback
t_try 'what endpoints cost' jq costs
t_run 'costs as CSV' wrong 'goes with a table' --cost --csv --loopback
t_run 'endpoints beyond the limit' wrong 'too large' -e 65537 --loopback
t_run 'limits of the ratio' ratio_is_limited
t_try 'a drawing' python3 drawn
t_run 'a drawing where nobody may write' status 1 'cannot write' --loopback --ia "$ia" -n 1 \
	--plot /dev/null/x
t_try 'progress on a terminal' script progress_is_told
t_run 'pinned to a CPU' measured send --pin 0 -T 2

t_run 'check: both on this host' go --loopback --ia "$ia"
t_run 'check: too slow' status 1 'NO-GO  latency: .* above 1e-06' --check --loopback --ia "$ia" \
	--max-latency 1e-6 -t 100
t_run 'check: too little' status 1 'NO-GO  bandwidth: .* below' --check --loopback --ia "$ia" \
	--max-latency 1e9 --min-bandwidth 1e9 -t 100
t_run 'check: a fabric that refuses writes' check_refused
t_run 'check: no such interface' status 1 'NO-GO  connect and disconnect: .*cannot open' \
	--check --loopback --ia nonsense
t_run 'check: of another test' wrong 'check chooses' --check --test read --loopback
t_run 'check: limits without it' wrong 'need --check' --max-latency 5 --loopback
t_run 'no such interface' status 1 'cannot open' --loopback --ia nonsense -n 1
t_run 'no such test' wrong 'must be one of' --test nonsense --loopback
t_run 'no such metric' wrong 'must be one of' -m nonsense --loopback
t_run 'neither server nor client' wrong 'say --server' -n 1
t_run 'two hosts' wrong 'say --server' a b
t_run 'JSON and CSV' wrong exclude --json --csv --loopback
t_run 'iterations and time' wrong exclude -n 1 -t 1 --loopback
t_run 'a limit without a comparison' wrong 'need --compare' --max-excess 60 --loopback
t_run 'excess of a rate' wrong latencies --compare -m rate --max-excess 60 --loopback
t_run 'bandwidth of binds' wrong 'has no bandwidth' -o bind -m bandwidth --loopback
t_run 'rate of wake-ups' wrong 'has no rate' -o wakeup -m rate --loopback
t_run 'size of connections' wrong 'no size' -o connect -S 8 --loopback
t_run 'binds over libfabric' wrong 'DAT alone' -o bind --compare --loopback
t_run 'atomic operations both ways' wrong 'one way' -o fetch-add -m rate -B --loopback
t_run 'bandwidth of datagrams' wrong 'has no bandwidth' -o datagram -m bandwidth --loopback
t_run 'datagrams to an SRQ' wrong 'no --srq' -o datagram --srq --loopback
t_run 'latency both ways' wrong 'no --bidirectional' -B --loopback
t_run 'bytes of binds' wrong 'no bytes' -o bind -V --loopback
t_run 'a window of connections' wrong 'no --window' -o connect -m rate -W 8 --loopback
t_run 'threads of wake-ups' wrong 'two threads' -o wakeup -T 2 --loopback
t_run 'segments of an atomic operation' wrong 'one segment' -o fetch-add -g 2 --loopback
t_run 'a size of nothing' wrong 'one byte' -S 0 --loopback
t_run 'sizes downwards' wrong upwards -S 8:4 --loopback
t_run 'more silence than window' wrong 'fills the window' -m rate -W 4 -c 8 --loopback
t_run 'too many threads' wrong '\-\-threads' -T 1000 --loopback
t_run 'memory beyond all limits' status 1 'make --window' --loopback --ia "$ia" -m rate -W 4096 \
	-e 64 -S 1m
for cpus in 3-1 abc '' 0- -1 0--1 0,1,2 1x; do
	t_run "CPUs that are none: '$cpus'" wrong 'not a CPU' --loopback --pin "$cpus"
done
t_run 'CPUs that are none, of a server' wrong 'not a CPU' --server --pin abc
for port in 0 70000 ' 70000' -1 '' abc 1x; do
	t_run "a port that is none: '$port'" wrong 'neither a number from 1 to 65535' --server \
		--port "$port"
done
t_run 'a CPU that is not there' status 1 'cannot run on' --loopback --ia "$ia" --pin 1000
t_run 'all tests are in --help and the completion' help_lists_tests

if [ -n "${T_OWN_NETWORK-}" ]; then
	t_run 'a server and a client' remote 20650
	t_run 'a server and a client, by the name of a service' remote_by_name
	t_run 'a server that cannot' refused_by_server 20651
	t_run 'check: a server and a client' check_remote 20652
	t_run 'check: nobody there' status 1 'NO-GO  cannot reach' --check --port 20653 --ia "$ia" \
		127.0.0.1
	t_run 'check: a server that does nothing' check_late 20654
	t_try 'a client that does nothing' python3 silent_client 20655
	t_try 'a client whose host may go' ss connection_is_watched 20656
else
	t_skip 'a server and a client' 'no network of our own, where ports are free'
	t_skip 'a server that cannot' 'the same'
	t_skip 'check: a server and a client' 'the same'
fi
t_done
