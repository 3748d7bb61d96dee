#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Breaks the sources in one place at a time and runs the tests: which test notices?

mutants.py --source TREE --work DIR [OPTION...]   run a sample and write DIR/table.tsv
mutants.py --source TREE --list                   the names of all mutants
mutants.py --source TREE --show NAME              what a mutant changes, as a diff

The sources are copied to DIR/tree and built in DIR/build; TREE is only read. See README.md.
"""
import argparse
import concurrent.futures
import csv
import difflib
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import changes

HERE = pathlib.Path(__file__).resolve().parent
NOT_COPIED = {".git", "build", "autom4te.cache", "config.status", "config.log", "config.h",
              "Makefile", "libtool", "stamp-h1", "__pycache__", ".libs", ".deps"}
NO_SOURCE = {".o", ".lo", ".la", ".so", ".trs", ".log", ".pyc"}
# Suites of the conformance programs that a room's mistakes show in first.
TOPICS = {
    "api": "ep ia evd handles mem srq cr sp ext errors access",
    "base": "ia registry evd cno errors",
    "cm": "ep cr eps sp events prg loose",
    "dto": "dto srq ext errors access ud mem wmark srq-ep",
    "fabric": "ia prg errors",
    "object": "handles mem ia ep",
    "progress": "evd cno queue events process prg-late",
    "transport": "ep dto eps srq ud events",
    "registry": "registry handles ia",
}
ISOLATED = ("unshare", "--net", "--ipc", "--pid", "--mount", "--fork", "--kill-child", "sh", "-c",
            "mount -t proc proc /proc && mount -t tmpfs tmpfs /dev/shm && ip link set lo up && "
            'exec "$@"', "sh")
# Seconds that no unmutated test of a few seconds comes near
LEAST_LIMIT = int(os.environ.get("MUTANTS_LIMIT", "60"))
FIELDS = ("mutant", "result", "by", "seconds", "line", "change")


def room_of(file):
    parts = pathlib.PurePath(file).parts
    return "registry" if parts[0] == "src" else parts[2]


def read_equivalent(path):
    """Name and reason of each mutant that behaves like the original."""
    with open(path, encoding="utf-8") as file:
        return dict(line.rstrip("\n").split("\t", 1) for line in file
                    if line.strip() and not line.startswith("#"))


class Test:
    """A program, or one suite of it over one fabric."""

    def __init__(self, program, suite=None, fabric=None):
        self.program, self.suite, self.fabric = program, suite, fabric
        self.script = program.endswith(".sh")
        self.name = ":".join(filter(None, (program, fabric, suite)))

    def command(self, tree):
        if self.script:
            return ["sh", "test/run-env", "sh", f"{tree}/{self.program}"]
        if self.fabric:
            return ["sh", "test/run-env", "sh", f"{tree}/test/over.sh", self.fabric, self.program]
        return ["sh", "test/run-env", f"./{self.program}"]


class Plan:
    """Which tests a mutant has to pass, nearest first."""

    def __init__(self, options, tree):
        words = {name: getattr(options, name).split()
                 for name in ("unit", "conform", "fault", "other")}
        self.unit, self.fault, self.other = words["unit"], words["fault"], words["other"]
        self.conform, self.fabrics = words["conform"], ["", *options.fabrics.split()]
        self.depth = options.depth
        self.suites = sorted({name for file in pathlib.Path(tree, "test/conform").glob("*.c")
                              for name in re.findall(r'suite_create\("([^"]+)"',
                                                     file.read_text())})

    def over(self, programs, suites):
        return [Test(program, suite, fabric) for suite in suites
                for program in programs for fabric in self.fabrics]

    def stages(self, file):
        room, stem = room_of(file), pathlib.PurePath(file).stem
        near = [program for program in self.unit if f"/{room}/" in program]
        near.sort(key=lambda program: not re.search(rf"check_{stem}[12]?$", program))
        likely = [suite for suite in TOPICS[room] .split() if suite in self.suites]
        others = [suite for suite in self.suites if suite not in likely]
        newest, older = self.conform[-1:], self.conform[:-1]
        yield "unit", list(map(Test, near))
        yield "conform", self.over(newest, likely)
        yield "conform", self.over(older, likely) + self.over(newest, others)
        yield "conform", self.over(older, others)
        yield "fault", list(map(Test, self.fault))
        yield "all", [Test(program) for program in self.unit if program not in near]
        yield "all", list(map(Test, self.other))

    def tests_of(self, file):
        """Lists of tests, as deep as was asked for."""
        depths = ("unit", "conform", "fault", "all")
        for stage, tests in self.stages(file):
            if depths.index(stage) <= depths.index(self.depth) and tests:
                yield tests


class Runner:
    """The copy of the tree, its build and its tests."""

    def __init__(self, options):
        self.source = pathlib.Path(options.source).resolve()
        self.work = pathlib.Path(options.work).resolve()
        self.tree, self.build = self.work / "tree", self.work / "build"
        self.log = self.work / "log"
        self.configure = options.configure
        self.jobs = options.jobs
        self.limits = {}
        self.broken = set()
        self.isolated = self.may_isolate()

    @staticmethod
    def may_isolate():
        try:
            return os.geteuid() == 0 and not subprocess.run(
                [*ISOLATED, "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                check=False).returncode
        except OSError:
            return False

    # --- the copy ---

    def copy(self):
        """Makes the copy like the source; only what differs is written, so builds stay small."""
        kept = set()
        for directory, folders, files in os.walk(self.source):
            here = pathlib.Path(directory)
            folders[:] = [name for name in folders
                          if name not in NOT_COPIED and (here / name).resolve() != self.work]
            for name in files:
                path = here / name
                if name in NOT_COPIED or path.suffix in NO_SOURCE:
                    continue
                relative = path.relative_to(self.source)
                kept.add(relative)
                self.copy_file(path, self.tree / relative)
        for path in self.tree.rglob("*.[ch]"):
            if path.relative_to(self.tree) not in kept:
                path.unlink()

    @staticmethod
    def copy_file(path, target):
        if path.is_symlink() and not path.exists():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        known = target.exists()
        if known and target.read_bytes() == path.read_bytes():
            return
        shutil.copy2(path, target)
        # The copy may have been built after the source was edited.
        if known and path.suffix in (".c", ".h"):
            os.utime(target)

    def prepare(self):
        self.copy()
        self.log.mkdir(parents=True, exist_ok=True)
        self.build.mkdir(exist_ok=True)
        if not (self.build / "config.status").exists():
            self.sh(f"{self.tree}/configure {self.configure}", "configure")
        self.sh(f"make -j{self.jobs}", "make")

    def sh(self, command, name):
        with open(self.log / f"{name}.log", "wb") as log:
            if subprocess.run(command, shell=True, cwd=self.build, stdout=log, stderr=log,
                              stdin=subprocess.DEVNULL, check=False).returncode:
                sys.exit(f"mutants: \"{command}\" failed in {self.build}: "
                         f"see {self.log}/{name}.log")

    def make(self, programs=()):
        """True when the products and the programs are up to date afterwards.

        "all" runs a make of its own, which must not build the libraries that the programs' build
        is building."""
        return self.make_targets(["all"]) and (not programs or self.make_targets(programs))

    def make_targets(self, targets):
        with open(self.log / "make.log", "wb") as log:
            return not subprocess.run(["make", f"-j{self.jobs}", *targets], cwd=self.build,
                                      stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                      check=False).returncode

    def write(self, file, text):
        """In place; make has to see that it is newer than what was built of it."""
        path = self.tree / file
        path.write_text(text)
        now = max(time.time(), path.stat().st_mtime)
        os.utime(path, (now, now))

    # --- one test ---

    def run(self, test):
        """None when it passed, or what failed."""
        if test.name in self.broken:
            return None
        environment = dict(os.environ, CK_DEFAULT_TIMEOUT="30")
        for name in ("CK_RUN_SUITE", "CK_RUN_CASE", "MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
            environment.pop(name, None)
        if test.suite:
            environment["CK_RUN_SUITE"] = test.suite
        command = [*(ISOLATED if self.isolated else ()), *test.command(self.tree)]
        limit = self.limits.get(test.name, 600)
        with open(self.log / "test.err", "wb") as errors, subprocess.Popen(
                command, cwd=self.build, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=errors, env=environment, start_new_session=True) as process:
            over = threading.Event()
            timer = threading.Timer(limit, lambda: (over.set(), self.kill(process)))
            timer.start()
            try:
                failed = self.read_tap(process)
            finally:
                timer.cancel()
                self.kill(process)
        return f"{test.name} hangs ({limit:.0f} s)" if over.is_set() else failed and (
            f"{test.name} {failed}")

    @staticmethod
    def read_tap(process):
        """The first case that fails; the plan and the exit status count, too."""
        cases, planned = 0, None
        for line in process.stdout:
            line = line.decode(errors="replace").rstrip()
            if line.startswith("not ok"):
                words = line[len("not ok"):].lstrip(" -0123456789")
                return re.sub(r"\S*/", "", words)[:120]
            if line.startswith("Bail out!"):
                return line
            cases += line.startswith("ok ")
            plan = re.match(r"1\.\.(\d+)", line)
            planned = int(plan[1]) if plan else planned
        status = process.wait()
        if status:
            return f"ends with {status}"
        if planned is None or planned != cases:
            return "is cut short"
        return None

    @staticmethod
    def kill(process):
        """All of the test's session; Check gives each case a process group of its own."""
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                session = int(path.read_text().rpartition(")")[2].split()[3])
                if session == process.pid:
                    os.kill(int(path.parent.name), signal.SIGKILL)
            except (OSError, ValueError):
                continue

    # --- all tests of a mutant ---

    def first_failure(self, groups):
        """The first test that fails, or None. A failure counts when it comes twice."""
        for tests in groups:
            programs = sorted({test.program for test in tests if not test.script})
            if not self.make(programs):
                return "compiler"
            with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
                for start in range(0, len(tests), self.jobs):
                    batch = tests[start:start + self.jobs]
                    for test, failed in zip(batch, pool.map(self.run, batch)):
                        if failed and (" hangs " in failed or self.run(test)):
                            return failed
        return None

    def measure(self, plan, file):
        """Runs the tests of a file once unmutated. What fails then proves nothing later."""
        path = self.work / "unmutated.tsv"
        known = {}
        if path.exists():
            with open(path, encoding="utf-8") as table:
                known = {name: (float(seconds), passed) for name, seconds, passed
                         in csv.reader(table, delimiter="\t")}
        with open(path, "a", encoding="utf-8") as table:
            for tests in plan.tests_of(file):
                self.measure_tests(tests, known, table)

    def measure_tests(self, tests, known, table):
        writer = csv.writer(table, delimiter="\t", lineterminator="\n")
        programs = sorted({test.program for test in tests if not test.script})
        if not self.make(programs):
            sys.exit(f"mutants: the unmutated tree does not compile: see {self.log}/make.log")
        for test in tests:
            if test.name not in known:
                start = time.monotonic()
                failed = self.run(test)
                known[test.name] = time.monotonic() - start, "no" if failed else "yes"
                writer.writerow((test.name, f"{known[test.name][0]:.1f}", known[test.name][1]))
                table.flush()
                if failed:
                    print(f"# fails unmutated, not used: {failed}", flush=True)
            seconds, passed = known[test.name]
            self.limits[test.name] = max(LEAST_LIMIT, 5 * seconds)
            if passed == "no":
                self.broken.add(test.name)


class Table:
    """One line for each mutant that was tried."""

    def __init__(self, path, resume):
        self.path = path
        self.rows = {}
        if resume and path.exists():
            with open(path, encoding="utf-8") as file:
                self.rows = {row["mutant"]: row for row in csv.DictReader(file, delimiter="\t")
                             if row["change"]}
        with open(path, "w", encoding="utf-8") as file:
            self.writer(file).writeheader()
            self.writer(file).writerows(self.rows.values())

    @staticmethod
    def writer(file):
        return csv.DictWriter(file, FIELDS, delimiter="\t", lineterminator="\n",
                              quoting=csv.QUOTE_NONE, escapechar="\\", quotechar=None)

    def add(self, **row):
        self.rows[row["mutant"]] = row
        with open(self.path, "a", encoding="utf-8") as file:
            self.writer(file).writerow(row)
        print(f"{row['result']:11} {row['mutant']} {row['by']}", flush=True)

    def summary(self):
        counts = {}
        for row in self.rows.values():
            counts[row["result"]] = counts.get(row["result"], 0) + 1
        tried = counts.get("killed", 0) + counts.get("survived", 0)
        words = ", ".join(f"{count} {result}" for result, count in sorted(counts.items()))
        return f"{tried} mutants ran: {words or 'none'}; {self.path}"


def try_mutant(runner, plan, mutant):
    """Result, and which test gave it. The copy is as before afterwards."""
    original = (runner.tree / mutant.file).read_text()
    runner.write(mutant.file, changes.apply(mutant, original))
    try:
        if not runner.make():
            return "uncompiled", ""
        failed = runner.first_failure(plan.tests_of(mutant.file))
        if failed == "compiler":
            return "uncompiled", ""
        return ("killed", failed) if failed else ("survived", "")
    finally:
        runner.write(mutant.file, original)


def choose(options, tree):
    """The sample, in the order of the seed: a longer sample begins with the shorter one."""
    mutants = list(changes.mutants_in(tree))
    random.Random(options.seed).shuffle(mutants)
    if options.only:
        mutants = [mutant for mutant in mutants if re.search(options.only, mutant.name)]
    return mutants


def run(options):
    runner = Runner(options)
    equivalent = read_equivalent(options.equivalent)
    runner.prepare()
    chosen = choose(options, runner.tree)
    table = Table(runner.work / "table.tsv", options.resume)
    if not options.resume:
        (runner.work / "unmutated.tsv").unlink(missing_ok=True)
    plan = Plan(options, runner.tree)
    print(f"# {len(chosen)} mutants to choose from, seed {options.seed}; "
          f"{'isolated' if runner.isolated else 'not isolated (needs root)'}", flush=True)
    ran = 0
    measured = set()
    for mutant in chosen:
        if options.n and ran >= options.n:
            break
        before = table.rows.get(mutant.name)
        if before:
            ran += before["result"] in ("killed", "survived")
            continue
        text = (runner.tree / mutant.file).read_text()
        row = {"mutant": mutant.name, "line": f"{mutant.file}:{mutant.line}",
               "change": changes.describe(mutant, text), "seconds": "0"}
        if mutant.name in equivalent:
            table.add(result="equivalent", by=equivalent[mutant.name], **row)
            continue
        if room_of(mutant.file) not in measured:
            runner.measure(plan, mutant.file)
            measured.add(room_of(mutant.file))
        start = time.monotonic()
        result, by = try_mutant(runner, plan, mutant)
        row["seconds"] = f"{time.monotonic() - start:.0f}"
        table.add(result=result, by=by, **row)
        ran += result in ("killed", "survived")
    print(f"# {table.summary()}")
    return 0


def show(options):
    for mutant in changes.mutants_in(options.source):
        if mutant.name == options.show:
            text = (pathlib.Path(options.source) / mutant.file).read_text()
            sys.stdout.writelines(difflib.unified_diff(
                text.splitlines(keepends=True),
                changes.apply(mutant, text).splitlines(keepends=True),
                f"a/{mutant.file}", f"b/{mutant.file}"))
            return 0
    print(f"mutants: no place in {options.source} has the name {options.show}; "
          "--list prints all names", file=sys.stderr)
    return 1


def list_names(options):
    chosen = choose(options, options.source) if options.seed else changes.mutants_in(options.source)
    for mutant in chosen:
        if not options.only or re.search(options.only, mutant.name):
            print(mutant.name)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", required=True, help="the tree; it is only read")
    parser.add_argument("--work", help="directory of the copy, its build and the table")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--show", metavar="NAME")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--n", type=int, default=0, help="how many mutants run; 0: all")
    parser.add_argument("--only", metavar="REGEX", help="of names")
    parser.add_argument("--resume", action="store_true", help="go on with the table that is there")
    parser.add_argument("--depth", choices=("unit", "conform", "fault", "all"), default="all")
    parser.add_argument("--jobs", type=int, default=2, help="of make, and tests at a time")
    parser.add_argument("--configure", default="--enable-debug", metavar="ARGUMENTS")
    parser.add_argument("--equivalent", default=HERE / "equivalent.tsv", metavar="TSV")
    parser.add_argument("--fabrics", default="shm", help="besides the IA of the tests, tcp")
    for name in ("unit", "conform", "fault", "other"):
        parser.add_argument(f"--{name}", default="", metavar="PROGRAMS")
    options = parser.parse_args()
    if options.show:
        return show(options)
    if options.list:
        return list_names(options)
    if not options.work:
        parser.error("--work is needed to run mutants")
    # A signal ends it as Ctrl-C does: the copy is put right, and the table is whole.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return run(options)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
