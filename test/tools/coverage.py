#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Which part of the products ran, by room: coverage.py [--files] [--missed] [--all] TREE BUILD

BUILD was compiled with --coverage, and its tests have run. A line counts if any object that was
made of it ran it: both generations of the API, and the copies that are linked into tests.
docs/coverage.md explains what --missed lists.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys

FOLDERS = ("prov/ofi", "src")
EXPLAINED = "test/tools/untaken.tsv"
LEVEL_IS_ON = "DOFI_LOG_"  # these macros ask whether anybody wants the message
BY_CHANCE = "race"  # with this reason a run may take the branch, and the next one not


class Source:
    """How often the lines of a file ran, and the branches in them were taken."""

    def __init__(self):
        self.lines, self.branches = collections.Counter(), collections.Counter()
        self.calls, self.heads = collections.Counter(), {}  # of functions
        self.functions = {}  # of lines

    def add(self, source):
        """What gcov says of one object."""
        for function in source["functions"]:
            self.calls[function["name"]] += function["execution_count"]
            self.heads[function["name"]] = function["start_line"]
        for line in source["lines"]:
            number = line["line_number"]
            self.lines[number] += line["count"]
            self.functions[number] = line.get("function_name", "-")
            for i, branch in enumerate(line["branches"]):
                self.branches[number, i] += branch["count"]

    def conditions(self, text):
        """The branches by the first line of their condition, which may go on behind && or ||."""
        conditions = collections.defaultdict(list)
        for (number, _), count in sorted(self.branches.items()):
            first = number
            while text[first - 2].endswith(("&&", "||")):
                first -= 1
            if not text[first - 1].startswith(LEVEL_IS_ON):
                conditions[first].append(count > 0)
        return conditions

    def missed(self, text):
        """The places that no test reached, as number of the line, function and mark: functions that
        never ran, and conditions that never had one of their results. What is behind such a
        condition is no place of its own. A condition of several operands had both results if more
        than half of its branches were taken and the line below it ran.
        """
        for name, number in self.heads.items():
            if not self.calls[name]:
                yield number, name, "#####"
        for number, taken in self.conditions(text).items():
            below = number + 1
            while text[below - 2].endswith(("&&", "||")) or below not in self.lines:
                below += 1
                if below > len(text):
                    break
            both = 2 < len(taken) < 2 * sum(taken) and self.lines.get(below, 1)
            if self.lines[number] and not all(taken) and not both:
                yield number, self.functions[number], f"{sum(taken)}/{len(taken)}"


def records(build):
    """What gcov says of each object that ran."""
    data = sorted(pathlib.Path(build).resolve().rglob("*.gcda"))
    for path in data:
        out = subprocess.run(["gcov", "--stdout", "--json-format", "--branch-probabilities",
                              str(path)], cwd=build, check=False, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL).stdout
        for line in out.splitlines():
            yield json.loads(line)


def collect(tree, build):
    """The files of the products by their paths."""
    files = collections.defaultdict(Source)
    for record in records(build):
        for source in record["files"]:
            path = os.path.relpath(os.path.join(record["current_working_directory"],
                                                source["file"]), tree)
            # A table (.def) has a branch of each test of a macro in each of its lines.
            if path.startswith(FOLDERS) and not path.endswith(".def"):
                files[path].add(source)
    return files


def room_of(path):
    parts = pathlib.PurePath(path).parts
    return parts[2] if parts[0] == "prov" else "src"


def percent(counter):
    return f"{100 * sum(map(bool, counter.values())) / len(counter):.1f}" if counter else "-"


def print_table(groups):
    print(f"{'':34}{'lines':>8}{'ran':>8}{'branches':>10}{'taken':>8}")
    for name, (lines, branches) in groups.items():
        print(f"{name:34}{len(lines):8}{percent(lines):>7}%{len(branches):10}"
              f"{percent(branches):>7}%")


def grouped(files, name_of):
    groups = {}
    for path, source in sorted(files.items()):
        group = groups.setdefault(name_of(path), (collections.Counter(), collections.Counter()))
        for mine, theirs in zip(group, (source.lines, source.branches)):
            for place, count in theirs.items():
                mine[path, place] += count
    return groups


def read_explained(tree):
    """The reasons by file, function and text of the line."""
    rows = (line.split("\t") for line in pathlib.Path(tree, EXPLAINED).read_text().splitlines()
            if not line.startswith("#"))
    return {tuple(row[:3]): row[3] for row in rows}


def print_missed(files, tree, explained):
    """The places that the list does not explain, then the rows of the list that explain none."""
    idle, texts = dict(explained), {}
    for path, source in sorted(files.items()):
        texts[path] = [line.strip() for line in pathlib.Path(tree, path).read_text().splitlines()]
        for number, function, mark in sorted(source.missed(texts[path])):
            text = texts[path][number - 1]
            idle.pop((path, function, text), None)
            if (path, function, text) not in explained:
                print(f"{path}:{number}: {function}: {mark:5} {text}")
    for (path, function, text), reason in idle.items():
        gone = text not in texts.get(path, ())
        if gone or not reason.startswith(BY_CHANCE):
            print(f"{EXPLAINED}: {path}: {function}: {'is gone' if gone else 'is taken'}: {text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", action="store_true", help="of each file, too")
    parser.add_argument("--missed", action="store_true",
                        help=f"what no test reached and {EXPLAINED} does not explain")
    parser.add_argument("--all", action="store_true", help="with --missed: the explained, too")
    parser.add_argument("tree")
    parser.add_argument("build")
    options = parser.parse_args()
    files = collect(os.path.realpath(options.tree), options.build)
    if not files:
        sys.exit(f"coverage: no object in {options.build} has run with --coverage")
    if options.missed:
        print_missed(files, options.tree, {} if options.all else read_explained(options.tree))
    if options.files:
        print_table(grouped(files, str))
    print_table({**grouped(files, room_of), **grouped(files, lambda path: "all")})
    return 0


if __name__ == "__main__":
    sys.exit(main())
