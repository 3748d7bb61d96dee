#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Which part of the products ran, by room: coverage.py [--files] [--missed] TREE BUILD

BUILD was compiled with --coverage, and its tests have run. A line counts if any object that was
made of it ran it: both generations of the API, and the copies that are linked into tests.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys

FOLDERS = ("prov/ofi", "src")


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
    """Of each file of the products, how often its lines and the branches in them were taken."""
    files = collections.defaultdict(lambda: (collections.Counter(), collections.Counter()))
    for record in records(build):
        for source in record["files"]:
            path = os.path.relpath(os.path.join(record["current_working_directory"],
                                                source["file"]), tree)
            # A table (.def) has a branch of each test of a macro in each of its lines.
            if not path.startswith(FOLDERS) or path.endswith(".def"):
                continue
            lines, branches = files[path]
            for line in source["lines"]:
                lines[line["line_number"]] += line["count"]
                for i, branch in enumerate(line["branches"]):
                    branches[line["line_number"], i] += branch["count"]
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
    for path, counters in sorted(files.items()):
        group = groups.setdefault(name_of(path), (collections.Counter(), collections.Counter()))
        for mine, theirs in zip(group, counters):
            for place, count in theirs.items():
                mine[path, place] += count
    return groups


def print_missed(files, tree):
    """The lines that did not run (#####) or did not take each of their branches (taken/all)."""
    for path, (lines, branches) in sorted(files.items()):
        text = pathlib.Path(tree, path).read_text().splitlines()
        for number in sorted(lines):
            taken = [bool(n) for place, n in branches.items() if place[0] == number]
            if not lines[number]:
                mark = "#####"
            elif not all(taken):
                mark = f"{sum(taken)}/{len(taken)}"
            else:
                continue
            print(f"{path}:{number}: {mark:5} {text[number - 1].strip()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", action="store_true", help="of each file, too")
    parser.add_argument("--missed", action="store_true", help="what did not run, line by line")
    parser.add_argument("tree")
    parser.add_argument("build")
    options = parser.parse_args()
    files = collect(os.path.realpath(options.tree), options.build)
    if not files:
        sys.exit(f"coverage: no object in {options.build} has run with --coverage")
    if options.missed:
        print_missed(files, options.tree)
    if options.files:
        print_table(grouped(files, str))
    print_table({**grouped(files, room_of), **grouped(files, lambda path: "all")})
    return 0


if __name__ == "__main__":
    sys.exit(main())
