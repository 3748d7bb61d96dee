# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=sh
# Functions for shell tests, which write TAP. A test sources this file by
# . "$top_srcdir/test/lib/tap.sh"  and ends with t_done.

t_count=0
t_failures=0
t_pids=
t_dir=$(mktemp -d "${TMPDIR:-/tmp}/dat-ofi-test.XXXXXX")
t_limit=120 # seconds that nothing here should ever need

t_cleanup() {
	for t_pid in $t_pids; do
		kill "$t_pid" 2>/dev/null
	done
	wait
	rm -rf "$t_dir"
}
trap t_cleanup EXIT
trap 'exit 1' HUP INT TERM

# t_own_network SCRIPT: starts SCRIPT, the caller, again in a network namespace of its own, if the
# system allows that. Other programs may listen on the ports that the test needs.
t_own_network() {
	[ -z "${T_OWN_NETWORK-}" ] || return 0
	export T_OWN_NETWORK=1
	for t_way in -n -rn; do
		unshare $t_way ip link set lo up 2>/dev/null || continue
		rm -rf "$t_dir"
		# shellcheck disable=SC2016,SC2093 # for the shell in there
		exec unshare $t_way sh -c 'ip link set lo up && exec sh "$0"' "$1"
	done
}

t_pass() {
	t_count=$((t_count + 1))
	echo "ok $t_count - $1"
}

# t_fail NAME [FILE...]: reports a failure, with the content of the files
t_fail() {
	t_count=$((t_count + 1))
	t_failures=$((t_failures + 1))
	echo "not ok $t_count - $1"
	shift
	[ $# = 0 ] || sed 's/^/# /' "$@"
}

# t_skip NAME WHY: reports a skip
t_skip() {
	t_count=$((t_count + 1))
	echo "ok $t_count - $1 # SKIP $2"
}

# t_skip_all WHY: ends a script that cannot run here
t_skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

# t_run NAME COMMAND...: passes if the command, which may be a function, succeeds
t_run() {
	t_name=$1
	shift
	if "$@" >"$t_dir/out" 2>&1; then
		t_pass "$t_name"
	else
		echo "exit status $? of: $*" >>"$t_dir/out"
		t_fail "$t_name" "$t_dir/out"
	fi
}

# t_try NAME PROGRAM COMMAND...: the same, but skips if PROGRAM is not installed
t_try() {
	if command -v "$2" >/dev/null; then
		t_name=$1
		shift 2
		t_run "$t_name" "$@"
	else
		t_skip "$1" "there is no $2"
	fi
}

# t_ends STATUS COMMAND...: true when COMMAND exits with STATUS; prints its output, which remains in
# $t_dir/o and $t_dir/e
t_ends() {
	t_want=$1
	shift
	"$@" >"$t_dir/o" 2>"$t_dir/e"
	t_got=$?
	cat "$t_dir/o" "$t_dir/e"
	[ "$t_got" = "$t_want" ]
}

# t_says TEXT...: true when the output of the last t_ends contains each TEXT; line breaks count as
# blanks
t_says() {
	t_all=$(cat "$t_dir/o" "$t_dir/e" | tr -s ' \n' '  ')
	for t_text; do
		case $t_all in
		*"$t_text"*) ;;
		*) echo "nobody says: $t_text" && return 1 ;;
		esac
	done
}

# t_start FILE COMMAND...: runs the command in the background, with line-buffered output in
# $t_dir/FILE
t_start() {
	t_out=$t_dir/$1
	: >"$t_out" # or t_await could read what an earlier one wrote there
	shift
	timeout "$t_limit" stdbuf -oL "$@" >"$t_out" 2>&1 &
	t_pid=$!
	t_pids="$t_pids $t_pid"
}

# t_await TEXT: waits until the last started process has written TEXT; false if it ends before
t_await() {
	until grep -q -e "$1" "$t_out"; do
		# The process may have written and ended since the first check.
		kill -0 "$t_pid" 2>/dev/null || { grep -q -e "$1" "$t_out"; return; }
		sleep 0.05
	done
}

# t_pair TEXT SERVER CLIENT: runs two commands, each in one string. The client starts when the
# server has written TEXT. True if both succeed. Their output is in $t_dir/server and $t_dir/client.
t_pair() {
	: >"$t_dir/client"
	t_start server sh -c "exec $2"
	if t_await "$1" && timeout "$t_limit" sh -c "exec $3" >"$t_dir/client" 2>&1; then
		wait "$t_pid"
	else
		kill "$t_pid" 2>/dev/null
		wait "$t_pid"
		return 1
	fi
}

# t_run_pair NAME TEXT SERVER CLIENT: the same as a test
t_run_pair() {
	t_name=$1
	shift
	if t_pair "$@"; then
		t_pass "$t_name"
	else
		t_fail "$t_name" "$t_dir/server" "$t_dir/client"
	fi
}

t_done() {
	echo "1..$t_count"
	[ "$t_failures" = 0 ]
	exit
}
