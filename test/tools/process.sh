#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# dat_info -p with a process that answers in a harmful way.
# shellcheck source=test/lib/tap.sh
. "${top_srcdir:?run me by test/run-env}/test/lib/tap.sh"

command -v python3 >/dev/null || t_skip_all 'there is no python3'

# hostile HOW: starts a process with a socket like that of a provider; HOW names its wrong answer
cat >"$t_dir/hostile.py" <<'END'
import os, socket, sys

listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
listener.bind("\0dat-ofi/%d/2" % os.getpid())
listener.listen(8)
print("ready", os.getpid(), flush=True)
while True:
    peer, _ = listener.accept()
    try:
        if sys.argv[1] == "escapes":
            peer.sendall(b"\033]0;title\007one\r\x9b31m\x00\ntwo\tthree\n")
        while sys.argv[1] == "endless":
            peer.sendall(b"x" * 65535 + b"\n")
    except OSError:
        pass
    peer.close()
END

# as_nobody PROGRAM...: runs PROGRAM as another user if this user may do so
cat >"$t_dir/nobody.py" <<'END'
import os, sys

os.setgid(65534)
os.setuid(65534)
os.execvp(sys.argv[1], sys.argv[1:])
END

hostile() {
	t_start "$1" python3 "$t_dir/hostile.py" "$1"
	t_await '^ready' && pid=$(sed -n 's/^ready //p' "$t_dir/$1")
}

# shellcheck disable=SC2317
escapes() {
	hostile escapes && timeout 60 dat_info -p "$pid" >"$t_dir/text" || return
	cat -v "$t_dir/text"
	grep -q '^two	three$' "$t_dir/text" && grep -q 'title' "$t_dir/text" &&
		! LC_ALL=C grep -q '[^	 -~]' "$t_dir/text"
}

# shellcheck disable=SC2317
endless() {
	hostile endless || return
	timeout 60 dat_info -p "$pid" 2>"$t_dir/err" | head -c 200000000 | wc -c >"$t_dir/size"
	cat "$t_dir/size" "$t_dir/err"
	[ "$(cat "$t_dir/size")" -lt 100000000 ] && grep -q 'come to an end' "$t_dir/err"
}

# shellcheck disable=SC2317
foreign() {
	hostile escapes || return
	timeout 60 python3 "$t_dir/nobody.py" dat_info -p "$pid" >"$t_dir/text" 2>"$t_dir/err"
	cat "$t_dir/text" "$t_dir/err"
	grep -q 'does not answer' "$t_dir/err" && ! grep -q two "$t_dir/text"
}

t_run 'no escapes of another process reach the terminal' escapes
t_run 'a report without end is given up' endless
if [ "$(id -u)" = 0 ] && python3 "$t_dir/nobody.py" dat_info --version >/dev/null 2>&1; then
	t_run 'what another user says is not shown' foreign
else
	t_skip 'what another user says is not shown' 'only root can act as another user here'
fi
t_done
