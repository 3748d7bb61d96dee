#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Rules, the tests that prove them, and how these ended.

report.py [--api12 TAP]... [--api20 TAP]... SOURCE...

A TAP file is what conform12 or conform20 (or any other test) wrote; give as many as there are
runs. A source is a file or directory with tests. The name of a test begins with its rules, as in
EVD_059_060_wait_takes_the_oldest; further ones stand in the comment right below START_TEST, as in
EVS-001. Any other test names its rules in the description that it writes: ok 1 - PRG-14 ...

The lists beside this script: rules.tsv has every rule, untested.tsv why there is no test of some,
rules/ the texts, which are printed with the ids of rules that failed or did not run. Ends with 1
if a test has failed, if a rule that must be kept has neither test nor reason, or if no test of it
ran for a generation that it is about and whose TAP was given.
"""
import argparse
import collections
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
RULE = re.compile(r"\b([A-Z]+)-(\d{2,3})\b")
TEST = re.compile(r"START_TEST\((\w+)\)\s*\{\s*(?:/\*(.*?)\*/)?", re.S)
TEXT = re.compile(r"[-|] \*\*([A-Z]+-\d+)\*\*[ |]*(.*?)[ |]*$", re.M)
TAP = re.compile(r"(not )?ok\b\s*\d*\s*-?\s*(.*)")

Rule = collections.namedtuple("Rule", "level api shown_by")


def table(name):
    for line in (HERE / name).read_text().splitlines():
        if line and not line.startswith("#"):
            yield line.split("\t")


def read_rules():
    rules = {}
    for rule, level, api, *shown_by in table("rules.tsv"):
        rules[rule] = Rule(level, api, shown_by[0].split() if shown_by else [])
    return rules


def read_texts():
    """What each rule says."""
    texts = {}
    for file in sorted((HERE / "rules").glob("*.md")):
        texts.update(TEXT.findall(file.read_text()))
    return texts


def rules_of_name(name):
    """EVD_059_060_wait -> EVD-059 EVD-060; a name may go through several families."""
    found = []
    family = None
    for part in name.split("_"):
        if part.isdigit() and family and len(part) in (2, 3):
            found.append(f"{family}-{part}")
        elif part.isalpha() and part.isupper():
            family = part
        else:
            break
    return found


def rules_of_text(text):
    return [f"{family}-{number}" for family, number in RULE.findall(text or "")]


def read_sources(paths):
    """Tests by name, each with its rules."""
    tests = {}
    for path in map(pathlib.Path, paths):
        files = sorted(path.rglob("*.c")) if path.is_dir() else [path]
        for file in files:
            for name, comment in TEST.findall(file.read_text()):
                found = rules_of_name(name) + rules_of_text(comment)
                tests.setdefault(name, set()).update(found)
    return tests


def check_plan(path):
    """A run that is cut short proves nothing about the tests that are missing."""
    text = pathlib.Path(path).read_text(errors="replace")
    plans = re.findall(r"^1\.\.(\d+)", text, re.M)
    results = len(re.findall(r"^(?:not )?ok\b", text, re.M))
    if len(plans) != 1 or int(plans[0]) != results:
        sys.exit(f"{path}: {results} tests of {plans[0] if plans else 'an unknown number'} ran; "
                 "the run was cut short")


def read_tap(paths, tests):
    """For each rule the names of the tests that ran, and of those that failed."""
    ran = collections.defaultdict(set)
    failed = collections.defaultdict(set)
    for path in paths:
        check_plan(path)
        for line in pathlib.Path(path).read_text(errors="replace").splitlines():
            match = TAP.match(line)
            if not match or "# SKIP" in line.upper():
                continue
            text = match[2]
            fields = text.split(":")
            names = [field for field in fields if field in tests] or [text[:60]]
            rules = tests.get(names[0]) or set(rules_of_text(text))
            for rule in rules:
                ran[rule].add(names[0])
                if match[1]:
                    failed[rule].add(names[0])
    return ran, failed


class Report:
    def __init__(self, options):
        self.rules = read_rules()
        self.untested = dict(table("untested.tsv"))
        self.texts = read_texts()
        self.tests = read_sources(options.source)
        self.written = {rule for found in self.tests.values() for rule in found}
        self.results = {"1.2": read_tap(options.api12, self.tests),
                        "2.0": read_tap(options.api20, self.tests)}
        for api in ("1.2", "2.0"):
            self.written.update(self.results[api][0])

    def print_texts(self, rules):
        for rule in rules:
            print(f"    {rule}: {self.texts.get(rule, 'it has no text')}")

    def has_test(self, rule):
        return rule in self.written or any(by in self.written for by in self.rules[rule].shown_by)

    def state(self, rule, api):
        """ "passed", "failed", or "" when nothing of that generation ran."""
        ran, failed = self.results[api]
        rules = [rule] + self.rules[rule].shown_by
        if any(r in failed for r in rules):
            return "failed"
        return "passed" if any(r in ran for r in rules) else ""

    def concerns(self, rule, api):
        return self.rules[rule].api in (api, "both")

    def ran(self, api):
        return bool(self.results[api][0])

    def families(self):
        families = {}
        for rule, what in self.rules.items():
            if what.level == "MUST":
                families.setdefault(rule.split("-")[0], []).append(rule)
        return families

    def print_table(self):
        print(f"{'':8}{'MUST':>6}{'tested':>8}{'1.2 ok':>8}{'failed':>8}{'2.0 ok':>8}{'failed':>8}"
              f"{'no test':>9}")
        total = collections.Counter()
        for family, rules in self.families().items():
            row = collections.Counter(must=len(rules))
            for rule in rules:
                row["tested"] += self.has_test(rule)
                for api in ("1.2", "2.0"):
                    row[api, self.state(rule, api)] += 1
            self.print_row(family, row)
            total += row
        self.print_row("all", total)

    @staticmethod
    def print_row(name, row):
        print(f"{name:8}{row['must']:6}{row['tested']:8}"
              f"{row['1.2', 'passed']:8}{row['1.2', 'failed']:8}"
              f"{row['2.0', 'passed']:8}{row['2.0', 'failed']:8}{row['must'] - row['tested']:9}")

    def print_failures(self):
        for api in ("1.2", "2.0"):
            for rule, names in sorted(self.results[api][1].items()):
                print(f"failed ({api}): {rule} in {', '.join(sorted(names))}")
                self.print_texts([rule])
        return any(failed for _, failed in self.results.values())

    def must(self):
        return [rule for rule, what in self.rules.items() if what.level == "MUST"]

    def print_untested(self):
        """True when a rule that must be kept is among those without a reason."""
        reasons = collections.defaultdict(list)
        missing = collections.defaultdict(list)
        for rule, what in self.rules.items():
            if self.has_test(rule):
                continue
            if rule in self.untested:
                reasons[self.untested[rule]].append(rule)
            else:
                missing[what.level].append(rule)
        for reason, rules in reasons.items():
            print(f"no test: {reason}: {', '.join(rules)}")
        for level, rules in missing.items():
            print(f"no test and no reason ({level}): {', '.join(rules)}")
            self.print_texts(rules)
        return "MUST" in missing

    def print_one_sided(self):
        """Rules of a generation that has run, whose tests did not run there."""
        found = False
        for api in filter(self.ran, self.results):
            rules = [rule for rule in self.must() if self.has_test(rule) and
                     self.concerns(rule, api) and not self.state(rule, api)]
            if rules:
                found = True
                print(f"not run ({api}): {', '.join(rules)}")
                self.print_texts(rules)
        return found

    def print_oddities(self):
        """What is wrong with the lists and the tests themselves."""
        for rule in sorted(self.written - set(self.rules)):
            print(f"a test names a rule that there is not: {rule}")
        for rule in self.untested:
            if rule not in self.rules:
                print(f"untested.tsv names a rule that there is not: {rule}")
            elif rule in self.written:
                print(f"untested.tsv names a rule that has a test: {rule}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--api12", action="append", default=[], metavar="TAP")
    parser.add_argument("--api20", action="append", default=[], metavar="TAP")
    parser.add_argument("source", nargs="+")
    report = Report(parser.parse_args())
    report.print_table()
    report.print_oddities()
    failed = report.print_failures()
    missing = report.print_untested()
    one_sided = report.print_one_sided()
    return 1 if failed or missing or one_sided else 0


if __name__ == "__main__":
    sys.exit(main())
