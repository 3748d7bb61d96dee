#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Puts bugs of the project's history back, one at a time, and lets the simulation look for them.

bugs.py --source . --work DIR [--seeds N] [NAME...]

The sources are copied to DIR and built there; they themselves are only read. For each bug it says
the first seed that fails, and why. The exit status is 1 when a bug is not found.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

CM = "prov/ofi/cm/"
LEFT_OUT = shutil.ignore_patterns(".git", "build", "autom4te.cache", "*.o", "*.lo")

LOST = "\t\t\tON(PATH_DOWN, AWAIT_GOODBYE, PATH_LOST),\n"
REFUSED = "\t\t\tEND(PATH_DOWN, UNACCEPTED),\n"

# Name, the commit that fixed it or "simulation", and what brings it back: a file, what stands there
# now, and what stood there.
BUGS = [
    ("complete-and-lost", "295403b", [
        (CM + "conn_end.c", "bool lingers = !dofi_conn_is_ending(conn);",
         "bool lingers = false;")]),
    ("post-at-closed-path", "0d5a79f", [
        (CM + "conn_end.c", "\tdofi_lock(&ep->lock);\n\tep->path_up = false;\n",
         "\tdofi_lock(&ep->lock);\n")]),
    ("ends-before-established", "731ce24", [
        (CM + "conn_state.c",
         LOST + "\t\t\tIGNORE(PATH_UP, READY_PENDING),",
         REFUSED + "\t\t\tIGNORE(PATH_UP, READY_PENDING),")]),
    ("lost-before-path-up", "31ef42b", [
        (CM + "conn_state.c",
         LOST + "\t\t\tEND(UD_PATH_DOWN, UNACCEPTED),",
         REFUSED + "\t\t\tEND(UD_PATH_DOWN, UNACCEPTED),")]),
    ("lost-for-ever", "41df3c2", [
        (CM + "path.c", "\tif (conn->state == DOFI_CONN_ESTABLISHED)\n\t\tdofi_timer_cancel",
         "\tif (conn)\n\t\tdofi_timer_cancel")]),
    ("refused-for-ever", "38bf562", [
        (CM + "conn_end.c", "ep->faulty = ep->refused = false;", "ep->faulty = false;")]),
    ("blamed-twice", "74d963c", [
        (CM + "conn_end.c",
         "\tif (ep->faulty)\n\t\tconn->end_status = DAT_DTO_ERR_FLUSHED;\n", "")]),
    ("final-sync-refused", "9f6f925", [
        ("prov/ofi/dto/issue.c",
         "\tdofi_issue_put_off(ep, ret);\n\treturn false;\n}\n\n",
         "\tif (ret != -FI_EAGAIN)\n\t\tep->faulty = true;\n\tdofi_ep_stall(ep);\n"
         "\treturn false;\n}\n\n"),
        (CM + "linger.c", "return !ep->faulty && !ep->refused;", "return !ep->faulty;")]),
    ("fails-while-leaving", "61100dc", [
        (CM + "disconnect.c", " ||\n\t    ep->faulty)\n\t\treturn;", ")\n\t\treturn;")]),
    ("short-last-word", "simulation", [
        (CM + "disconnect.c", "\tif (!conn->chan || conn->prolonged) {\n", "\tif (conn) {\n")]),
    ("waits-for-given-up", "6ca0399", [
        (CM + "conn_message.c",
         "\tif (msg->type == DOFI_MSG_ACCEPT || msg->type == DOFI_MSG_COUNT)\n",
         "\tif ((msg->type == DOFI_MSG_ACCEPT || msg->type == DOFI_MSG_COUNT) && !chan)\n"),
        (CM + "conn_message.c", "\tif (msg->type != DOFI_MSG_CANCEL || msg->dst)\n",
         "\tif (msg->type)\n")]),
    ("requested-twice", "simulation", [
        (CM + "accept.c", "\tif (!conn)\n\t\treturn false;\n\tif (!again)",
         "\tif (again || !conn)\n\t\treturn false;\n\tif (!again)")]),
    ("goodbye-behind-path", "simulation", [
        (CM + "conn_end.c", "\tsend_last_message(conn);\n}\n\nvoid dofi_act_stop",
         "\tif (!conn->trans->cancel)\n\t\tconn->trans->disconnect(conn);\n"
         "\tsend_last_message(conn);\n}\n\nvoid dofi_act_stop")]),
    ("table-behind-end", "simulation", [
        (CM + "cm.c", "\tcm->conns_size = 0;\n", "")]),
    ("count-untold", "simulation", [
        (CM + "conn_end.c", "\t\t stage == DOFI_STAGE_LINKING)\n", "\t\t false)\n")]),
    ("cancel-uncounted", "simulation", [
        (CM + "conn_message.c", "\telse if (tells_count(msg))\n", "\telse if (false)\n")]),
    ("count-of-another", "49b9832", [
        (CM + "conn.c", "\tif (!conn->path_made)\n\t\treturn 0;\n\tdofi_lock",
         "\tif (!conn->ep)\n\t\treturn 0;\n\tdofi_lock")]),
    ("overtaken-request", "simulation", [
        (CM + "accept.c", "\t\treturn conn->repeated;", "\t\treturn false;")]),
    ("end-without-place", "b4b38d9", [
        ("prov/ofi/progress/evd.c",
         "(must_not_be_lost || (report && holds_requests(evd))) && grow(evd)",
         "!must_not_be_lost && report && holds_requests(evd) && grow(evd)")]),
    ("overtaken-readiness", "simulation", [
        (CM + "conn_message.c", "\tif (dofi_conn_implies_ready(conn))\n",
         "\tif (dofi_conn_implies_ready(conn) && msg->type != DOFI_MSG_BYE)\n")]),
]

def sh(command, where, log):
    with open(log, "ab") as out:
        return subprocess.run(command, cwd=where, stdout=out, stderr=out, check=False).returncode


def put_back(top, edits):
    """The files of a bug: path, its text as it is, and its text with the bug."""
    texts = {}
    for file, now, then in edits:
        path = top / file
        text, changed = texts.setdefault(path, (path.read_text(),) * 2)
        if changed.count(now) != 1:
            sys.exit(f"bugs.py: {file} has changed: {now!r} is there {changed.count(now)} times")
        texts[path] = text, changed.replace(now, then)
    return texts


class Tree:
    """A copy of the sources, and a build of it."""

    def __init__(self, source, work):
        self.top = work / "tree"
        self.build = work / "build"
        self.log = work / "log"
        shutil.rmtree(self.top, ignore_errors=True)
        shutil.copytree(source, self.top, ignore=LEFT_OUT, symlinks=True)
        self.build.mkdir(exist_ok=True)
        cc = "ccache gcc" if shutil.which("ccache") else "cc"
        if sh([str(self.top / "configure"), "CC=" + cc, "CFLAGS=-O2", "--enable-debug"], self.build,
              self.log):
            sys.exit(f"bugs.py: cannot configure; {self.log}")

    def first(self, seeds):
        """The first seed that fails, or None, and the last line that it said."""
        if sh(["make", "-j2", "test/sim/sim"], self.build, self.log):
            sys.exit(f"bugs.py: cannot build; {self.log}")
        key = self.build / "key"
        key.write_text("0" * 64)
        key.chmod(0o600)
        run = subprocess.run(["test/sim/sim", "--first", str(seeds)], cwd=self.build, check=False,
                             env=dict(os.environ, DAT_OFI_KEY_FILE=str(key)),
                             capture_output=True, text=True)
        said = [line for line in run.stderr.splitlines() if "Assertion" in line or "not so" in line
                or "not right" in line]
        return (None if run.returncode else int(run.stdout.split()[-1])), (said or [""])[-1]


def look_for(tree, bug, seeds):
    name, fix, edits = bug
    texts = put_back(tree.top, edits)
    for path, (_, changed) in texts.items():
        path.write_text(changed)
    try:
        seed, said = tree.first(seeds)
    finally:
        for path, (text, _) in texts.items():
            path.write_text(text)
    print(f"{name}\t{fix}\t{seed or 'not found'}\t{said}", flush=True)
    return seed is not None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--check", action="store_true",
                        help="only find the places in the sources")
    parser.add_argument("--seeds", type=int, default=100000)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.check:
        for _, _, edits in BUGS:
            put_back(options.source, edits)
        return 0
    if not options.work:
        parser.error("--work is missing")
    options.work.mkdir(parents=True, exist_ok=True)
    tree = Tree(options.source.resolve(), options.work.resolve())
    chosen = [bug for bug in BUGS if not options.names or bug[0] in options.names]
    found = [look_for(tree, bug, options.seeds) for bug in chosen]
    print(f"{sum(found)} of {len(found)}")
    return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main())
