#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Make rules.tsv from the texts of the rules.

catalogue.py [--check] [FILE.md | DIRECTORY]...

Without a file or directory it reads those in rules/.

A rule is a line "- **IA-001** MUST [both] ...", one about programs just "- **PRG-01** ..." (or
"- **PRG-15** 2.0 programs ..."), one in a table a row "| **EPS-001** | ...", with the API in a cell
where it matters. Which rules show another one, the last column, the catalogue does not say: that is
kept as it stands in rules.tsv. --check writes nothing and fails when the two differ.
"""
import argparse
import difflib
import pathlib
import re
import sys

TSV = pathlib.Path(__file__).resolve().parent / "rules.tsv"
HEAD = """\
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# rule\tlevel\tAPI versions\trules that show this one
"""
RULE = re.compile(r"[-|] \*\*([A-Z]+-\d+)\*\*"
                  r"(?: (?P<level>MUST|MAY|UNDEFINED) \[(?P<api>1\.2|2\.0|both)\]"
                  r"| (?P<programs>1\.2|2\.0) programs)?")
CELL = re.compile(r"\| (1\.2|2\.0|both) \|")


def markdown(paths):
    for path in paths:
        yield from sorted(path.rglob("*.md")) if path.is_dir() else [path]


def catalogue(paths):
    """The families in the order in which files and lines name them."""
    families = {}
    for path in markdown(paths):
        for line in path.read_text().splitlines():
            match = RULE.match(line)
            if not match:
                continue
            cell = CELL.search(line)
            api = match["api"] or match["programs"] or (cell[1] if cell else "both")
            family = families.setdefault(match[1].split("-")[0], [])
            family.append((match[1], match["level"] or "MUST", api))
    return families


def listed():
    """What rules.tsv has: the order of its families, and the last column by rule."""
    order, shown_by = [], {}
    for line in TSV.read_text().splitlines():
        if line.startswith("#"):
            continue
        rule, _, _, *by = line.split("\t")
        shown_by[rule] = by
        family = rule.split("-")[0]
        if family not in order:
            order.append(family)
    return order, shown_by


def render(families):
    order, shown_by = listed()
    order += [family for family in families if family not in order]
    lines = []
    for family in order:
        for rule, *what in sorted(families.get(family, [])):
            lines.append("\t".join([rule, *what, *shown_by.get(rule, [])]) + "\n")
    return HEAD + "".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("path", nargs="*", type=pathlib.Path,
                        default=[TSV.with_name("rules")])
    options = parser.parse_args()
    old, new = TSV.read_text(), render(catalogue(options.path))
    if not options.check:
        TSV.write_text(new)
        return 0
    sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True),
                                               "rules.tsv", "catalogue"))
    return old != new


if __name__ == "__main__":
    sys.exit(main())
