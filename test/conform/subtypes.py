#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Rules that name a subtype, and whether a test of theirs compares it.

subtypes.py SOURCE...

A rule names it as INVALID_HANDLE/EP. A test compares it if its body, or a function of the same file
that it calls, directly or through others, has the name of the subtype in one of the comparisons
below. An outcome that stands beside another one that conforms need not be compared, nor one of a
rule in untested.tsv. Prints the rules without such a test and ends with 1 if there are any.
"""
import pathlib
import re
import sys

import report

PAIR = re.compile(r"\b(INVALID_STATE|INVALID_HANDLE|INVALID_PARAMETER|INSUFFICIENT_RESOURCES"
                  r"|PROVIDER_NOT_FOUND|PRIVILEGES_VIOLATION|PROTECTION_VIOLATION)/([A-Z]\w+)")
# What a comparison of the subtype looks like, by type; see test/lib/t.h.
FORMS = {
    "INVALID_STATE": r"t_bad_state_of\(.*?\b{0}\)|\bDAT_INVALID_STATE_{0}\b",
    "INVALID_HANDLE": r"t_bad_handle_of\(.*?\b{0}\)|\bDAT_INVALID_HANDLE_{0}\b",
    "INVALID_PARAMETER": r"t_bad_arg_of\(.*?\b{1}\)|\bDAT_INVALID_{0}\b",
    "INSUFFICIENT_RESOURCES": r"t_out_of\(.*?\b{0}\)|\bDAT_RESOURCE_{0}\b",
    "PROVIDER_NOT_FOUND": r"\bDAT_(?:NAME|MAJOR|MINOR|THREAD)\w*(?:NOT_FOUND|NOT_REGISTERED)\b",
    "PRIVILEGES_VIOLATION": r"\bDAT_PRIVILEGES_{0}\b",
    "PROTECTION_VIOLATION": r"\bDAT_PROTECTION_{0}\b",
}
# Words of an outcome that is one of several: "INVALID_HANDLE/LMR or INVALID_PARAMETER".
CHOICE = re.compile(r"\bor\b|\btolerated\b|\baccept both\b|/[A-Z_]+/")
TEST = re.compile(r"^START_TEST\((\w+)\)\n\{\n(.*?)^\}", re.S | re.M)
BODY = re.compile(r"^(?!START_TEST)\w[^\n;{}()]*?\b(\w+)\([^;{}]*?\)\n\{\n(.*?)^\}", re.S | re.M)


def reach(body, functions, seen):
    """A body and those of the functions that it calls or hands on."""
    yield body
    for name in set(re.findall(r"\b[a-z]\w+\b", body)) & functions.keys() - seen:
        seen.add(name)
        yield from reach(functions[name], functions, seen)


def bodies_by_rule(paths):
    """What the tests of each rule run, file by file."""
    found = {}
    for path in paths:
        text = path.read_text()
        functions = dict(BODY.findall(text))
        for name, body in TEST.findall(text):
            comment = re.match(r"\s*/\*(.*?)\*/", body, re.S)
            rules = report.rules_of_name(name)
            rules += report.rules_of_text(comment[1] if comment else "")
            for rule in rules:
                found.setdefault(rule, []).append("\n".join(reach(body, functions, set())))
    return found


def demanded(text):
    """Type and subtype of each outcome that has no other beside it."""
    for clause in re.split(r"; (?![^(]*\))|\{", text.split("->", 1)[-1]):
        if not CHOICE.search(clause):
            yield from PAIR.findall(clause)


def compares(bodies, kind, subtype):
    form = FORMS[kind].format(subtype, subtype.removeprefix("ARG"))
    return any(re.search(form, body, re.S) for body in bodies)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.strip())
    sources = [file for path in map(pathlib.Path, sys.argv[1:])
               for file in (sorted(path.rglob("*.c")) if path.is_dir() else [path])]
    bodies, rules = bodies_by_rule(sources), report.read_rules()
    untested = {rule for rule, *_ in report.table("untested.tsv")}
    missing = 0
    for rule, text in report.read_texts().items():
        of_rule = [body for it in (rule, *rules[rule].shown_by) for body in bodies.get(it, [])]
        for kind, subtype in demanded(text):
            if rule in untested or compares(of_rule, kind, subtype):
                continue
            missing += 1
            print(f"{rule}: no test compares {kind}/{subtype}"
                  f"{'' if of_rule else ' (no test)'}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
