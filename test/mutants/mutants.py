#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Breaks the sources in one place at a time and runs the tests: which test notices?

mutants.py --source TREE --work DIR [OPTION...]   run a sample and write DIR/table.tsv
mutants.py --source TREE --list                   the names of all mutants
mutants.py --source TREE --show NAME              what a mutant changes, as a diff

Each worker has a copy of the sources and a build of it in DIR; TREE is only read. See README.md.
"""
import argparse
import concurrent.futures
import csv
import difflib
import hashlib
import itertools
import os
import pathlib
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
    "auth": "ep cr ia",
    "base": "ia registry evd cno errors",
    "cm": "ep cr eps sp events prg loose",
    "dto": "dto srq ext errors access ud mem wmark srq-ep",
    "fabric": "ia prg errors",
    "memory": "dto eps ep",
    "object": "handles mem ia ep",
    "progress": "evd cno queue events process prg-late",
    "transport": "ep dto eps srq ud events",
    "registry": "registry handles ia",
}
ISOLATED = ("unshare", "--net", "--ipc", "--pid", "--mount", "--fork", "--kill-child", "sh", "-c",
            "mount -t proc proc /proc && mount -t tmpfs tmpfs /dev/shm && ip link set lo up && "
            'exec "$@"', "sh")
# The standard input of tests. It is not /dev/null: a mutant that runs as root may change its mode.
NOTHING, _writer = os.pipe()
os.close(_writer)
# Seconds that no unmutated test of a few seconds comes near
LEAST_LIMIT = int(os.environ.get("MUTANTS_LIMIT", "60"))
# Seconds of one case, when the machine is not busy
CASE_LIMIT = "20"
SAME_CODE = "the compiler makes the same code of it"
DEPTHS = ("unit", "conform", "fault", "all")
FIELDS = ("mutant", "result", "by", "seconds", "line", "change")


def room_of(file):
    parts = pathlib.PurePath(file).parts
    return "registry" if parts[0] == "src" else parts[2]


def may_isolate():
    try:
        return os.geteuid() == 0 and not subprocess.run(
            [*ISOLATED, "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            check=False).returncode
    except OSError:
        return False


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
        self.unit, self.other = words["unit"], words["other"]
        # One generation after the other: both come from one source.
        self.fault = sorted(words["fault"], key=lambda program: program.endswith("1"))
        self.conform, self.fabrics = words["conform"], options.fabrics.split()
        self.depth = options.depth
        self.suites = sorted({name for file in pathlib.Path(tree, "test/conform").glob("*.c")
                              for name in re.findall(r'suite_create\("([^"]+)"',
                                                     file.read_text())})

    def over(self, programs, suites, fabrics):
        return [Test(program, suite, fabric) for fabric in fabrics
                for suite in suites for program in programs]

    def fabrics_of(self, file):
        """The fabrics of the tests; the one that the file is made for comes first."""
        stem = pathlib.PurePath(file).stem
        if room_of(file) == "memory" or stem.startswith("memory"):
            return ["memory", ""]
        if stem.startswith(("rdm", "shm")):
            return [*self.fabrics, ""]
        return ["", *self.fabrics]

    def stages(self, file):
        room, stem = room_of(file), pathlib.PurePath(file).stem
        near = [program for program in self.unit if f"/{room}/" in program]
        named = [program for program in near if re.search(rf"check_{stem}[12]?$", program)]
        likely = [suite for suite in TOPICS[room].split() if suite in self.suites]
        others = [suite for suite in self.suites if suite not in likely]
        generations = self.conform[:-1] if "12" in stem else self.conform[-1:]
        fabrics = self.fabrics_of(file)
        yield "unit", list(map(Test, named))
        yield "unit", [Test(program) for program in near if program not in named]
        yield "conform", self.over(generations, likely, fabrics[:1])
        yield "conform", self.over(generations, others, fabrics[:1])
        yield "unit", [Test(program) for program in self.unit if program not in near]
        yield "conform", self.over(generations, likely + others, fabrics[1:])
        yield "fault", list(map(Test, self.fault))
        yield "all", self.over([it for it in self.conform if it not in generations],
                               likely + others, fabrics)
        yield "all", list(map(Test, self.other))

    def tests_of(self, file, passed=""):
        """Lists of tests up to the wanted depth, without the depths that the mutant passed."""
        first = DEPTHS.index(passed) + 1 if passed else 0
        for stage, tests in self.stages(file):
            if first <= DEPTHS.index(stage) <= DEPTHS.index(self.depth) and tests:
                yield tests


class Copy:
    """A copy of the tree, its build and its tests."""

    def __init__(self, options, name):
        self.source = pathlib.Path(options.source).resolve()
        self.work = pathlib.Path(options.work).resolve()
        self.home = self.work / name
        self.tree, self.build, self.log = (self.home / part for part in ("tree", "build", "log"))
        self.configure, self.jobs = options.configure, options.jobs
        self.products = options.products.split()
        self.isolated = options.isolated
        # The copies share what the compiler made.
        self.environment = dict(os.environ, CCACHE_BASEDIR=str(self.home), CCACHE_NOHASHDIR="1",
                                CK_DEFAULT_TIMEOUT=CASE_LIMIT)
        for variable in ("CK_RUN_SUITE", "CK_RUN_CASE", "MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
            self.environment.pop(variable, None)
        self.running = set()
        self.stopped = threading.Event()
        self.ended = False

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
            self.sh(f"{self.tree}/configure {self.configure} "
                    f"--cache-file='{self.work}/config.cache'", "configure")
        # "all" runs a make of its own, which must not build what the other one is building.
        for targets in ("all", " ".join(self.products)):
            self.sh(f"make -j{self.jobs} {targets}", "make")

    def sh(self, command, name):
        with open(self.log / f"{name}.log", "wb") as log:
            if subprocess.run(command, shell=True, cwd=self.build, stdout=log, stderr=log,
                              stdin=NOTHING, env=self.environment,
                              check=False).returncode:
                sys.exit(f"mutants: \"{command}\" failed in {self.build}: "
                         f"see {self.log}/{name}.log")

    def make(self, tests):
        """Builds what the tests need. Returns whether that succeeded."""
        programs = sorted({test.program for test in tests if not test.script})
        alone = all("/unit/" in program for program in programs) and programs
        return (alone or self.make_targets(self.products)) and (
            not programs or self.make_targets(programs))

    def make_targets(self, targets):
        with open(self.log / "make.log", "wb") as log:
            return not subprocess.run(["make", f"-j{self.jobs}", *targets], cwd=self.build,
                                      stdout=log, stderr=log, stdin=NOTHING,
                                      env=self.environment, check=False).returncode

    def code_of(self, file):
        """The machine code that the compiler makes of the file, optimised."""
        plan = subprocess.run(["make", "-n", "V=1", "CFLAGS=-O2 -g0 -w", "-W",
                               str(self.tree / file), *self.products], cwd=self.build,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=NOTHING,
                              env=self.environment, check=False).stdout.decode()
        target = self.log / "code.o"
        code = []
        for line in plan.replace("\\\n", " ").splitlines():
            if line.endswith(file) or f"{file} " in line:
                command = re.sub(r" -M\w+( [^- ]\S*)?", "", line)
                command, n = re.subn(r" -o \S+\.o\b", f" -o '{target}'", command)
                if n and " -c " in command and "libtool" not in command:
                    target.unlink(missing_ok=True)
                    self.sh(command, "code")
                    code.append(target.read_bytes())
        return code

    def write(self, file, text):
        """Writes the file in place, newer than all that make has built from it."""
        path = self.tree / file
        path.write_text(text)
        now = max(time.time(), path.stat().st_mtime)
        os.utime(path, (now, now))

    # --- one test ---

    def run(self, test, limit):
        """Runs the test. Returns None if it passed, or what failed."""
        environment = dict(self.environment)
        if test.suite:
            environment["CK_RUN_SUITE"] = test.suite
        command = [*(ISOLATED if self.isolated else ()), *test.command(self.tree)]
        with subprocess.Popen(command, cwd=self.build, stdin=NOTHING,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment,
                              start_new_session=True) as process:
            over = threading.Event()
            timer = threading.Timer(limit, lambda: (over.set(), self.kill(process)))
            timer.start()
            self.running.add(process)
            try:
                failed = self.read_tap(process)
            finally:
                timer.cancel()
                self.running.discard(process)
                self.kill(process)
        return f"{test.name} hangs ({limit:.0f} s)" if over.is_set() else failed and (
            f"{test.name} {failed}")

    def run_unless_stopped(self, test, limit):
        failed = None if self.stopped.is_set() else self.run(test, limit)
        return None if self.stopped.is_set() else failed

    def stop(self, ended=False):
        """Ends the running tests; with `ended` no others start."""
        self.ended = self.ended or ended
        self.stopped.set()
        for process in list(self.running):
            self.kill(process)

    @staticmethod
    def read_tap(process):
        """Returns the first failure: a case, a wrong plan, or an exit status."""
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
        """Kills the test's session, because Check gives each case a process group."""
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                session = int(path.read_text().rpartition(")")[2].split()[3])
                if session == process.pid:
                    os.kill(int(path.parent.name), signal.SIGKILL)
            except (OSError, ValueError):
                continue


class Reference:
    """The copy that is never changed: what fails there as well proves nothing."""

    def __init__(self, options):
        self.copy = Copy(options, "unmutated")
        self.path = self.copy.work / "unmutated.tsv"
        self.lock = threading.Lock()
        self.failures = {}

    def usable(self, test):
        return self.failures.get(test.name, 0) < 2

    def seconds(self, test):
        """Seconds that the unmutated test takes now, or None if it fails."""
        with self.lock:
            if not self.copy.make([test]):
                sys.exit(f"mutants: the unmutated tree does not compile: see {self.copy.log}")
        start = time.monotonic()
        failed = self.copy.run(test, 600)
        seconds = time.monotonic() - start
        with self.lock, open(self.path, "a", encoding="utf-8") as table:
            table.write(f"{test.name}\t{seconds:.1f}\t{'no' if failed else 'yes'}\n")
            if failed:
                self.failures[test.name] = self.failures.get(test.name, 0) + 1
                print(f"# fails unmutated: {failed}", flush=True)
        return None if failed else seconds


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
        """Adds a line, which replaces an earlier one of the same mutant."""
        self.rows[row["mutant"]] = row
        with open(self.path, "a", encoding="utf-8") as file:
            self.writer(file).writerow(row)
        print(f"{row['result']:11} {row['mutant']} {row['by']}", flush=True)

    def summary(self, chosen):
        counts = {}
        for row in self.rows.values():
            if row["mutant"] in chosen:
                counts[row["result"]] = counts.get(row["result"], 0) + 1
        tried = counts.get("killed", 0) + counts.get("survived", 0)
        words = ", ".join(f"{count} {result}" for result, count in sorted(counts.items()))
        return f"{tried} mutants ran: {words or 'none'}; {self.path}"


class Worker:
    """Tries one mutant after the other in a copy of its own."""

    def __init__(self, options, plan, reference, number):
        self.copy = Copy(options, f"copy{number}")
        self.plan, self.reference = plan, reference
        self.at_a_time = options.at_a_time

    def confirmed(self, test, failed):
        """A failure counts if the unmutated test passes then, and the mutant fails once more.

        The three runs see the same load, and the second one shows how long the test takes now."""
        seconds = self.reference.seconds(test)
        if seconds is None:
            return None
        return self.copy.run(test, max(LEAST_LIMIT, 5 * seconds)) and failed

    def first_failure(self, groups):
        """The first test that fails, or None."""
        for tests in groups:
            tests = list(filter(self.reference.usable, tests))
            if not self.copy.make(tests):
                return "compiler"
            if self.copy.ended:
                return None
            self.copy.stopped.clear()
            with concurrent.futures.ThreadPoolExecutor(self.at_a_time) as pool:
                under_way = {pool.submit(self.copy.run_unless_stopped, test, 3 * LEAST_LIMIT): test
                             for test in tests}
                for future in concurrent.futures.as_completed(under_way):
                    failed = future.result()
                    failed = failed and self.confirmed(under_way[future], failed)
                    if failed:
                        self.copy.stop()
                        return failed
        return None

    def is_same_code(self, mutant, original, changed):
        """Whether the compiler makes the same code of both. The copy has the changed file."""
        code = self.copy.code_of(mutant.file)
        self.copy.write(mutant.file, original)
        same = code and code == self.copy.code_of(mutant.file)
        self.copy.write(mutant.file, changed)
        return same

    def try_mutant(self, mutant, passed):
        """Returns the result and the test that gave it, and restores the copy."""
        original = (self.copy.tree / mutant.file).read_text()
        changed = changes.apply(mutant, original)
        groups = self.plan.tests_of(mutant.file, passed)
        self.copy.write(mutant.file, changed)
        try:
            failed = self.first_failure(itertools.islice(groups, 2))
            if not failed and self.is_same_code(mutant, original, changed):
                return "equivalent", SAME_CODE
            failed = failed or self.first_failure(groups)
        finally:
            self.copy.write(mutant.file, original)
        if failed == "compiler":
            return "uncompiled", ""
        return ("killed", failed) if failed else ("survived", self.plan.depth)


class Sample:
    """Hands mutants to the workers in the order of the seed, until enough have run."""

    def __init__(self, options, tree, chosen, table):
        self.options, self.tree, self.table = options, tree, table
        self.equivalent = read_equivalent(options.equivalent)
        self.waiting = iter(chosen)
        self.names = []
        self.ran = self.under_way = 0
        self.changed = threading.Condition()

    def passed(self, before):
        """The depth that a survivor need not repeat, or None if the mutant is done."""
        if not before:
            return ""
        if before["result"] != "survived":
            return None
        if self.options.again:
            return ""
        done, depth = before["by"] or "all", self.options.depth
        return done if DEPTHS.index(done) < DEPTHS.index(depth) else None

    def take(self):
        """The next mutant, its row so far and the depth that it passed, or None at the end."""
        with self.changed:
            while True:
                while self.options.n and self.ran + self.under_way >= self.options.n:
                    if not self.under_way:
                        return None
                    self.changed.wait()
                mutant = next(self.waiting, None)
                if not mutant:
                    return None
                self.names.append(mutant.name)
                before = self.table.rows.get(mutant.name)
                row = self.row_of(mutant)
                if mutant.name in self.equivalent:
                    self.table.add(result="equivalent", by=self.equivalent[mutant.name], **row)
                    continue
                passed = self.passed(before)
                if passed is None:
                    self.ran += before["result"] in ("killed", "survived")
                    continue
                self.under_way += 1
                return mutant, row, passed

    def row_of(self, mutant):
        text = (self.tree / mutant.file).read_text()
        return {"mutant": mutant.name, "line": f"{mutant.file}:{mutant.line}",
                "change": changes.describe(mutant, text), "seconds": "0"}

    def give(self, result, by, row):
        with self.changed:
            self.table.add(result=result, by=by, **row)
            self.ran += result in ("killed", "survived")
            self.under_way -= 1
            self.changed.notify_all()


def choose(options, tree):
    """The sample, in the order of the seed.

    A longer sample begins with the shorter one, and an edit of the sources changes only the mutants
    of the lines that it touches."""
    mutants = sorted(changes.mutants_in(tree), key=lambda mutant: hashlib.sha256(
        f"{options.seed}:{mutant.name}".encode()).digest())
    if options.only:
        mutants = [mutant for mutant in mutants if re.search(options.only, mutant.name)]
    return mutants


def work(worker, sample):
    worker.copy.prepare()
    while not worker.copy.ended:
        taken = sample.take()
        if not taken:
            return
        mutant, row, passed = taken
        start = time.monotonic()
        result, by = worker.try_mutant(mutant, passed)
        if worker.copy.ended:
            return
        row["seconds"] = f"{time.monotonic() - start:.0f}"
        sample.give(result, by, row)


def run(options):
    options.isolated = may_isolate()
    reference = Reference(options)
    reference.copy.prepare()
    if not options.resume:
        reference.path.unlink(missing_ok=True)
    chosen = choose(options, reference.copy.tree)
    table = Table(reference.copy.work / "table.tsv", options.resume)
    plan = Plan(options, reference.copy.tree)
    sample = Sample(options, reference.copy.tree, chosen, table)
    print(f"# {len(chosen)} mutants to choose from, seed {options.seed}; "
          f"{'isolated' if options.isolated else 'not isolated (needs root)'}", flush=True)
    workers = [Worker(options, plan, reference, number) for number in range(options.workers)]
    with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
        try:
            for done in [pool.submit(work, worker, sample) for worker in workers]:
                done.result()
        except BaseException:
            for worker in workers:
                worker.copy.stop(ended=True)
            raise
    print(f"# {table.summary(set(sample.names))}")
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
    parser.add_argument("--depth", choices=DEPTHS, default="all")
    parser.add_argument("--again", action="store_true", help="what survived runs again")
    parser.add_argument("--workers", type=int, default=1, help="copies that run mutants")
    parser.add_argument("--jobs", type=int, default=2, help="of make, in each copy")
    parser.add_argument("--at-a-time", type=int, default=2, help="tests, in each copy")
    parser.add_argument("--products", default="all", help="what make builds for the tests")
    parser.add_argument("--configure", default="--enable-debug", metavar="ARGUMENTS")
    parser.add_argument("--equivalent", default=HERE / "equivalent.tsv", metavar="TSV")
    parser.add_argument("--fabrics", default="shm", help="besides that of the tests, tcp")
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
