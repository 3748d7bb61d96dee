# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Finds the places of C sources where one small change gives a mutant, and names them.

The sources are formatted by clang-format in the style of the Linux kernel: a function's braces
stand in the first column, and binary operators have blanks around them. So patterns suffice; the
compiler rejects what is no C.
"""
import collections
import hashlib
import pathlib
import re

FOLDERS = ("prov/ofi", "src")

# file: path below the tree. text replaces the characters of the file from start to end.
Mutant = collections.namedtuple("Mutant", "name file function kind line start end text")

BLANK = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
                   r"|^#(?:[^\n]*\\\n)*[^\n]*", re.S | re.M)
NAME = re.compile(r"(\w+)\s*\(")
# Calls without an effect that a test could see.
SILENT = re.compile(r"\w*(?i:log|assert|probe|valgrind|trace|tsan)\w*$|dofi_lock_fini$")
KEYWORDS = set("if for while switch return sizeof do else case default goto break continue "
               "typeof __typeof__ defined __attribute__".split())
# The kind of a dropped call, by the name of the function.
DROPS = (("count", r"COUNT|count"), ("lock", r"(?<!b)lock|held"), ("flush", r"flush"),
         ("event", r"event|evd|push|raise|report"), ("fence", r"fence"),
         ("wake", r"wake|kick|stall|signal|notify"))

OPERATORS = (
    ("compare", r"(?<= )(<=|>=|==|!=|<|>)(?= )",
     {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}),
    ("compare-swap", r"(?<= )(<=|>=|<|>)(?= )", {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}),
    ("logic", r"(?<= )(&&)(?= )|(\|\|)(?=\s)|(&&)(?=\n)", {"&&": "||", "||": "&&"}),
    ("arithmetic", r"(?<=[\w)\]] )(\+|-)(?= [\w(])", {"+": "-", "-": "+"}),
    ("arithmetic", r"(?<= )(\+=|-=)(?= )", {"+=": "-=", "-=": "+="}),
    ("arithmetic", r"(\+\+|--)", {"++": "--", "--": "++"}),
    ("bits", r"(?<=[\w)\]] )(\||&)(?= [\w(])", {"|": "&", "&": "|"}),
    ("boolean", r"\b(true|false)\b", {"true": "false", "false": "true"}),
    ("jump", r"\b(break|continue|goto \w+);", None),
    ("not", r"(?<![\w)])(!)(?=[\w(])(?!=)", {"!": ""}),
)
FLAG = re.compile(r" \| ([A-Z]\w+)\b|\b([A-Z]\w+) \| ")
NUMBER = re.compile(r"(?<![\w.])(0x[0-9a-fA-F]+|\d+)(u|U|UL|ul|ULL|ull)?(?![\w.])")
CODES = (
    # type and subtype of an error
    (r"\b(?:DOFI|DATR)_ERR\((DAT_\w+)(?=,)",
     lambda code: "DAT_INVALID_PARAMETER" if code == "DAT_INVALID_STATE" else "DAT_INVALID_STATE"),
    (r"\b(?:DOFI|DATR)_ERR\(DAT_\w+, (\w+)(?=\))", "{} + 1".format),
    (r"\b\w+_BAD_ARG\((\d+)(?=\))", lambda n: str(int(n) - 1 if int(n) > 1 else 2)),
    (r"\b(DAT_DTO_ERR_\w+)",
     lambda code: "DAT_DTO_ERR_FLUSHED" if code != "DAT_DTO_ERR_FLUSHED"
     else "DAT_DTO_ERR_LOCAL_PROTECTION"),
    (r"\b(DAT_CONNECTION_EVENT_\w+)",
     lambda code: "DAT_CONNECTION_EVENT_BROKEN" if code != "DAT_CONNECTION_EVENT_BROKEN"
     else "DAT_CONNECTION_EVENT_DISCONNECTED"),
    (r"\breturn (DAT_SUCCESS)(?=;)", lambda code: "DAT_ABORT"),
    (r"\breturn (0)(?=;)", lambda code: "1"),
    (r"\breturn (-\w+)(?=;)", lambda code: "0"),
)


def mask(text):
    """The text without comments, strings and directives, each as long as before."""
    return BLANK.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def functions(masked):
    """Name, start and end of each body."""
    start = 0
    header = ""
    name = None
    for line in masked.splitlines(keepends=True):
        stripped = line.rstrip()
        if stripped == "{":
            found = [word for word in NAME.findall(header)
                     if word not in KEYWORDS and word != "format"]
            name = found[0] if found else None
            begin = start + len(line)
        elif stripped == "}" and name:
            yield name, begin, start
            name = None
        header = "" if not stripped or stripped[-1] in ";}" else header + stripped + " "
        start += len(line)


def closing(text, start):
    """The position behind the parenthesis that closes the one at start."""
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if not depth:
            return i + 1
    return len(text)


def without_silent(body):
    """The body, the same length, without the arguments of calls that no test could see."""
    for match in NAME.finditer(body):
        if SILENT.match(match[1]):
            begin, end = match.end(), closing(body, match.end() - 1) - 1
            body = body[:begin] + re.sub(r"[^\n]", " ", body[begin:end]) + body[end:]
    return body


def chooses(body, start, end):
    """Whether this comparison chooses the smaller or larger one of its operands."""
    left = re.search(r"([\w.>\[\]()-]+) $", body[:start])
    rest = re.match(r" ([^;?&|]+?)\s\?\s([^;:]+?)\s:\s([^;,)]+)", body[end:])
    return bool(left and rest) and {left[1], rest[1]} == {rest[2], rest[3]}


def operators(body):
    for kind, pattern, others in OPERATORS:
        for match in re.finditer(pattern, body):
            group = next(i for i in range(1, len(match.groups()) + 1) if match[i])
            if kind == "compare" and chooses(body, match.start(), match.end()):
                continue
            if others is None:
                yield kind, match.start(), match.end(), ";"
            else:
                yield kind, match.start(group), match.end(group), others[match[group]]


def codes(body):
    for pattern, other in CODES:
        for match in re.finditer(pattern, body):
            yield "code", match.start(1), match.end(1), other(match[1])


def numbers(body):
    for match in NUMBER.finditer(body):
        value = int(match[1], 8 if re.match(r"0\d", match[1]) else 0)
        before = body[:match.start()].rstrip()
        if before.endswith(("return", "case", "calloc(")):
            continue
        if "_ERR(" in body[match.start() - 60:match.start()]:
            continue
        yield "constant", match.start(), match.end(), f"{value + 1}{match[2] or ''}"


def flags(body):
    for match in FLAG.finditer(body):
        if "O_RDONLY" in match[0]:  # has no bit
            continue
        yield "flag", match.start(), match.end(), ""


def conditions(body):
    """A check that never finds anything, and one that finds the opposite."""
    for match in re.finditer(r"\b(if|while) \(", body):
        begin = match.end() - 1
        end = closing(body, begin)
        if "assert" in body[begin:end]:
            continue
        yield "check", begin, end, f"(0 && {body[begin:end]})"
        # A single comparison or "!" has an operator that gives the same.
        if match[1] == "if" and (re.search(r"&&|\|\|", body[begin:end]) or
                                 not re.search(r"!| [<>=]=? ", body[begin:end])):
            yield "negate", begin, end, f"(!{body[begin:end]})"


def statements(body):
    """Calls and assignments that stand alone."""
    call = r"(?:\(void\)\s*)?(?P<callee>\w+)(?:(?:->|\.)\w+)*(?P<open>\()"
    left = r"\*?\w+(?:(?:->|\.)\w+|\[[^\]\n]*\])*"
    pattern = (rf"^\t+(?:{call}|{left} (?:[-+*/|&^]|<<|>>)?= |{left}(?:\+\+|--);"
               rf"|(?:\+\+|--){left};)")
    for match in re.finditer(pattern, body, re.M):
        begin = match.start() + len(match[0]) - len(match[0].lstrip())
        before = body[:begin].rstrip()
        if before and before[-1] not in ";{}):" and not before.endswith("else"):
            continue
        callee = match["callee"]
        if callee and (callee in KEYWORDS or SILENT.match(callee)):
            continue
        end = begin
        while end < len(body) and body[end] != ";":
            end = closing(body, end) if body[end] in "([{" else end + 1
        kind = "drop-set"
        if callee:
            kind = "drop-" + next((name for name, pattern in DROPS
                                   if re.search(pattern, body[begin:match.start("open")])), "call")
        yield kind, begin, end + 1, ";"


def mutants_of(file, text):
    masked = mask(text)
    seen = collections.Counter()
    for function, begin, end in functions(masked):
        body = without_silent(masked[begin:end])
        found = set()
        for source in (operators, codes, numbers, flags, conditions, statements):
            found.update(source(body))
        for kind, start, stop, change in sorted(found, key=lambda it: (it[1], it[2], it[0], it[3])):
            start, stop = begin + start, begin + stop
            change = restore(change, text[start:stop], masked[start:stop])
            if any(line.startswith("#") for line in text[start:stop].splitlines()):
                continue
            first = text.rfind("\n", 0, start) + 1
            line = " ".join(text[first:text.find("\n", start)].split())
            digest = hashlib.sha256(line.encode()).hexdigest()[:6]
            key = (function, kind, digest)
            seen[key] += 1
            yield Mutant(f"{file}:{function}:{kind}:{seen[key]}:{digest}", file, function, kind,
                         text.count("\n", 0, start) + 1, start, stop, change)


def restore(change, text, masked):
    """A change that repeats what was there repeats its strings, too."""
    return change.replace(masked, text) if len(masked) > 3 else change


def mutants_in(tree):
    """All mutants of a tree, in the order of the files."""
    for folder in FOLDERS:
        for path in sorted(pathlib.Path(tree, folder).rglob("*.[ch]")):
            file = str(path.relative_to(tree))
            yield from mutants_of(file, path.read_text())


def apply(mutant, text):
    return text[:mutant.start] + mutant.text + text[mutant.end:]


def describe(mutant, text):
    """The old and the new text, in one line."""
    def short(what):
        what = " ".join(what.split())
        return what if len(what) <= 60 else what[:57] + "..."
    return f"{short(text[mutant.start:mutant.end])} -> {short(mutant.text) or 'nothing'}"
