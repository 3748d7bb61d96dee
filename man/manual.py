#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Keeps the manual true to what it describes.

manual.py CHECK     looks at one thing, prints what is wrong with it, and ends with 1 if anything is
manual.py options PROGRAM    the same for the options that PROGRAM --help lists
manual.py examples DIR       writes the programs of the EXAMPLES sections to DIR
manual.py table     prints FUNCTIONS.md, the table of all calls
manual.py list      prints the names of all checks
"""
import pathlib
import re
import subprocess
import sys

MAN = pathlib.Path(__file__).resolve().parent
TOP = MAN.parent
PAGE = re.compile(r"man\d/[\w.-]+\.(?:[157]|3dat)")

# Pages of others that ours refer to.
FOREIGN = {
    "exit(3)", "fabric(7)", "fi_getinfo(3)", "fi_info(1)", "fi_verbs(7)", "fork(2)", "getenv(3)",
    "ibv_devices(1)", "ibv_fork_init(3)", "pkg-config(1)", "poll(2)", "prctl(2)",
    "process_vm_writev(2)", "pthread_cancel(3)", "pthread_setcancelstate(3)", "rdma_cm(7)",
}
# Words in constant style that are no constants of a header of ours.
LIBFABRIC = {"FI_EP_MSG", "FI_EP_RDM"}
VARIABLES = {
    "DAT_OVERRIDE", "DAT_DBG_TYPE", "DAT_DBG_DEST", "FI_PROVIDER", "FI_LOG_LEVEL",
    "DAPL_DBG_DEST", "PALS_APID", "PMIX_NAMESPACE", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID",
    "FLUX_JOB_ID", "JOB_ID",
    "FI_EFA_USE_HUGE_PAGE", "FI_EFA_FORK_SAFE", "FI_EFA_INTER_MIN_READ_WRITE_SIZE",
    "FI_MR_CACHE_MONITOR", "FI_CXI_PROV_KEY_CACHE",
    "FI_OFI_RXM_SAR_LIMIT", "SLINGSHOT_VNIS", "SLINGSHOT_DEVICES", "SLINGSHOT_SVC_IDS",
    "DAPL_DBG_LEVEL", "DAPL_DBG_TYPE", "DAPL_MAX_CM_RESPONSE_TIME", "I_MPI_DAPL_PROVIDER",
    "I_MPI_DAPL_UD", "I_MPI_DAT_LIBRARY", "I_MPI_FABRICS",
    "DAPL_MAX_INLINE", "DAPL_ACK_RETRY", "DAPL_ACK_TIMER", "DAPL_RNR_RETRY", "DAPL_RNR_TIMER",
    "DAPL_IB_MTU", "DAPL_IB_SL", "DAPL_IB_PKEY", "DAPL_GLOBAL_ROUTING", "DAPL_CM_ROUTE_TIMEOUT_MS",
    "DAPL_CM_ARP_TIMEOUT_MS", "DAPL_UCM_TIMER", "DAPL_SCM_NETDEV", "DAPL_WR_MAX",
    "FI_VERBS_INLINE_SIZE", "FI_VERBS_MIN_RNR_TIMER", "PSM3_HAL", "PSM3_RCVTHREAD",
}

TESTS = 4  # column of FUNCTIONS.md

CHECKS = {}


def check(function):
    CHECKS[function.__name__] = function
    return function


# --- pages ---


class Page:
    def __init__(self, path):
        self.path = path
        self.name = path.name.rsplit(".", 1)[0]
        self.section = path.parent.name[3:]
        self.lines = path.read_text().splitlines()
        self.link = next((line[4:] for line in self.lines if line.startswith(".so ")), None)

    def __str__(self):
        return str(self.path.relative_to(MAN))

    def part(self, heading):
        """The lines of a section."""
        lines = []
        inside = False
        for line in self.lines:
            if line.startswith(".Sh "):
                inside = line[4:] == heading
            elif inside:
                lines.append(line)
        return lines

    def names(self):
        return [line.split()[1] for line in self.part("NAME") if line.startswith(".Nm ")]

    def macros(self, *wanted):
        """Each use of a macro, with the words behind it."""
        for line in self.lines:
            words = line[1:].split() if line.startswith(".") else []
            for index, word in enumerate(words):
                if word in wanted:
                    rest = [other.strip('"()') for other in words[index + 1:]]
                    yield word, [other for other in rest if other]

    def prototypes(self):
        """Generation, result, name and parameters of each call in the synopsis."""
        found = []
        generations = {1, 2}
        for line in self.part("SYNOPSIS"):
            if line.startswith(".Ss "):
                generations = {int(n[0]) for n in re.findall(r"[12]\.\d", line)}
            elif line.startswith(".Ft "):
                result = line[4:]
            elif line.startswith(".Fo "):
                name, arguments = line[4:], []
            elif line.startswith(".Fa "):
                arguments.append(line[4:].strip('"'))
            elif line == ".Fc":
                found += [(generation, result, name, arguments) for generation in generations]
        return found


def pages():
    return [Page(path) for path in sorted(MAN.glob("man?/*.*"))]


def real_pages():
    return [page for page in pages() if not page.link]


# --- what is described ---


def headers(generation):
    folder = TOP / "include" / ("dat" if generation == 1 else "dat2")
    text = "".join(path.read_text() for path in sorted(folder.glob("*.h")))
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S).replace("\\\n", " ")


def calls(generation):
    """Result and parameters of each call that a header declares."""
    found = {}
    declaration = r"DAT_EXPORT\s+(\w+)\s+DAT_API\s+(\w+)\((.*?)\);"
    for result, name, arguments in re.findall(declaration, headers(generation), re.S):
        arguments = re.sub(r"\b(?:IN|OUT|INOUT) ", "", " ".join(arguments.split()))
        found[name] = (result, arguments.split(", "))
    return found


def exported(generation):
    name = "libdat.map" if generation == 1 else "libdat2.map"
    return re.findall(r"^\t(\w+);$", (TOP / "src" / name).read_text(), re.M)


def parameters():
    """Name, default and, of numbers, range of each variable of the provider."""
    text = (TOP / "prov/ofi/base/param.def").read_text()
    for kind, rest in re.findall(r"^DOFI_PARAM_(STR|NUM)\((.*)$", text, re.M):
        name, default, *more = [word.strip(' "') for word in rest.split(",")]
        yield "DAT_OFI_" + name.upper(), default, more[:2] if kind == "NUM" else []


# --- checks: each yields what is wrong ---


@check
def links():
    """Each name of a page has a file, and each file is a page or leads to one."""
    every = pages()
    by_path = {str(page): page for page in every}
    for page in every:
        if page.link:
            target = by_path.get(page.link)
            if not target or target.link:
                yield f"{page}: there is no page {page.link}"
            elif page.name not in target.names():
                yield f"{page}: {page.link} does not name {page.name}"
            continue
        if page.name not in page.names():
            yield f"{page}: its NAME section does not have it"
        for name in page.names():
            if f"man{page.section}/{name}{page.path.suffix}" not in by_path:
                yield f"{page}: {name} has no file"


@check
def installed():
    """local.mk lists all files, and no others."""
    listed = set(PAGE.findall((MAN / "local.mk").read_text()))
    there = {str(page) for page in pages()}
    for name in sorted(there - listed):
        yield f"local.mk does not list {name}"
    for name in sorted(listed - there):
        yield f"local.mk lists {name}, which is not there"


@check
def complete():
    """Each call that a header declares or a library exports has a page."""
    have = {page.name for page in pages() if page.section == "3"}
    for generation in 1, 2:
        for name in sorted(set(exported(generation)) | set(calls(generation))):
            if name not in have:
                yield f"DAT {generation}: no page for {name}"
    macros = re.findall(r"#define (dat_\w+)\(", headers(2))
    for name in sorted(set(macros) - have):
        yield f"no page for the macro {name}"


@check
def synopses():
    """Calls look in the synopsis as in the headers, and in each generation that has them."""
    declared = {generation: calls(generation) for generation in (1, 2)}
    macros = dict(re.findall(r"#define (dat_\w+)\(([^)]*)\)", headers(2)))
    shown = {1: set(), 2: set()}
    for page in real_pages():
        for generation, result, name, arguments in page.prototypes():
            shown[generation].add(name)
            if name in declared[generation]:
                if (result, arguments) != declared[generation][name]:
                    yield f"{page}: {name} is declared otherwise in DAT {generation}"
            elif name not in macros:
                yield f"{page}: {name} is not in the headers of DAT {generation}"
            elif len(macros[name].split(",")) != len(arguments):
                yield f"{page}: the macro {name} has other arguments"
    for generation in 1, 2:
        for name in sorted(set(declared[generation]) - shown[generation]):
            yield f"no synopsis of {name} for DAT {generation}"


@check
def constants():
    """Each constant and type that a page names is in a header, each variable is one of ours."""
    text = headers(1) + headers(2)
    known = set(re.findall(r"\b[A-Z]\w+\b", text)) | LIBFABRIC
    variables = VARIABLES | {name for name, _, _ in parameters()}
    for page in real_pages():
        for macro, (word, *_) in page.macros("Dv", "Vt", "Ev"):
            if macro == "Ev" and word not in variables:
                yield f"{page}: no variable {word}"
            elif macro != "Ev" and word not in known:
                yield f"{page}: {word} is in no header"


@check
def members():
    """Arguments and members that a page of a call names are in a header."""
    known = set(re.findall(r"\b\w+\b", headers(1) + headers(2)))
    for page in real_pages():
        if page.section == "1":
            continue
        for _, words in page.macros("Fa", "Va"):
            for part in re.findall(r"\w+", words[0]):
                if part not in known:
                    yield f"{page}: no argument or member {part}"


@check
def references():
    """Pages that others refer to exist."""
    have = {f"{page.name}({page.section})" for page in pages()}
    for page in real_pages():
        for _, (name, section, *_) in page.macros("Xr"):
            reference = f"{name}({section})"
            if reference not in have | FOREIGN:
                yield f"{page}: there is no {reference}"


@check
def variables():
    """Each page has its variables: the provider's with defaults and ranges, the registry's."""
    page = Page(MAN / "man7/dat-ofi-provider.7")
    text = "\n".join(page.part("ENVIRONMENT"))
    items = dict(re.findall(r"^\.It Ev (\w+)\n(.*?)(?=^\.It|^\.El)", text, re.M | re.S))
    for name, default, limits in parameters():
        item = items.pop(name, None)
        if item is None:
            yield f"{page}: {name} is missing"
            continue
        item = " ".join(item.split())
        range_and_default = default
        if limits:
            range_and_default = "{} to {}, {} by default".format(*limits, default)
        if range_and_default not in item:
            yield f"{page}: {name}: it should say {range_and_default}"
    for name in items:
        yield f"{page}: {name} has no meaning"
    page = Page(MAN / "man5/dat.conf.5")
    described = set(re.findall(r"^\.It Ev (\w+)$", "\n".join(page.part("ENVIRONMENT")), re.M))
    text = (TOP / "src/variables.def").read_text()
    for name in set(re.findall(r"^DATR_VARIABLE\((\w+)", text, re.M)) ^ described:
        yield f"{page}: {name} is not both here and in variables.def"


@check
def calls_in_table():
    """FUNCTIONS.md is what this script prints; only tests that are new may be missing."""
    now = [line.split(" | ") for line in table()]
    then = [line.split(" | ") for line in (MAN / "FUNCTIONS.md").read_text().splitlines()]
    outdated = len(now) != len(then)
    for new, old in zip(now, then):
        if len(new) == len(old) == 6:
            outdated |= bool(set(old[TESTS].split()) - set(new[TESTS].split()))
            new[TESTS] = old[TESTS] = ""
        outdated |= new != old
    if outdated:
        yield "FUNCTIONS.md is out of date: run  man/manual.py table >man/FUNCTIONS.md"


def options(program):
    """The page of a program has the options that its help lists, and no others."""
    name = pathlib.Path(program).name
    page = Page(MAN / f"man1/{name}.1")
    text = subprocess.run([program, "--help"], check=True, capture_output=True, text=True).stdout
    lines = re.findall(r"^  (?:-(\w),|   ) --([\w-]+)", text, re.M)
    listed = {word for line in lines for word in line if word}
    described = set()
    for line in page.lines:
        if line.startswith(".It Fl "):
            described |= {word.replace("\\-", "") for word in re.findall(r"Fl (\S+)", line)}
    for word in sorted(listed - described):
        yield f"{page}: the option {word} is missing"
    for word in sorted(described - listed):
        yield f"{page}: there is no option {word}"
    if not lines:
        yield f"{program} lists no options"


# --- examples ---

ESCAPES = {
    r"\(aq": "'", r"\(ga": "`", r"\(ha": "^", r"\(ti": "~", r"\-": "-", r"\&": "", r"\e": "\\",
}


def examples():
    """
    File name and text of each program; a block that includes a header is one. It is for DAT 2.0,
    and for 1.2, too, where the calls of the page are the same.
    """
    for page in real_pages():
        both = {generation: [] for generation in (1, 2)}
        for generation, *call in page.prototypes():
            both[generation].append(call)
        blocks = re.findall(r"^\.Bd -literal$\n(.*?)^\.Ed$", "\n".join(page.part("EXAMPLES")),
                            re.M | re.S)
        for number, text in enumerate(block for block in blocks if "#include" in block):
            for escape, char in ESCAPES.items():
                text = text.replace(escape, char)
            yield f"{page.name}-{number}.c", text
            if both[1] == both[2]:
                yield f"{page.name}-{number}-12.c", text.replace("<dat2/", "<dat/")


# --- the table of all calls ---


def plain(lines):
    """Text of mdoc, good enough for a sentence."""
    words = []
    glue = False
    for line in lines:
        if re.match(r"\.(Pp|Bl|El|Bd|Ed|It)\b", line):
            continue
        parts = line.split()
        if parts[0][0] == ".":
            macro, *parts = parts
            parts = [part for part in parts if part != "Ns"]
            if macro == ".Xr":
                parts[0:2] = [f"{parts[0]}({parts[1]})"]
            if macro == ".Fn":
                parts[0] += "()"
        for part in parts:
            part = part.replace("\\-", "-").replace("\\&", "").strip('"')
            glue = bool(words) and bool(re.fullmatch(r"[.,;:)]+", part))
            if glue:
                words[-1] += part
            else:
                words.append(part)
    return " ".join(words)


def rule_list():
    for line in (MAN / "rules.tsv").read_text().splitlines():
        if line and line[0] != "#":
            yield line.split("\t")


def rules_in(ranges):
    """EVD-059..061 -> EVD-059 EVD-060 EVD-061"""
    for family, first, last in re.findall(r"([A-Z]+)-(\d+)(?:\.\.(\d+))?", ranges):
        for number in range(int(first), int(last or first) + 1):
            yield f"{family}-{number:03}"


def test_sources():
    """The rules that the tests of each file are named for, as the report of the suite has it."""
    sys.path.insert(0, str(TOP / "test/conform"))
    sys.dont_write_bytecode = True
    from report import read_sources
    for path in sorted((TOP / "test").rglob("*.c")):
        yield path.stem, set().union(*read_sources([path]).values())


def table():
    generations = {g: set(exported(g)) | set(calls(g)) for g in (1, 2)}
    by_name = {page.name: page for page in pages() if page.section == "3"}
    rules = dict(rule_list())
    sources = list(test_sources())
    yield "<!-- SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only -->"
    yield "# All calls"
    yield ""
    yield ("Made by `man/manual.py table`; a test compares. *DAT* is the generation that has the "
           "call, *page*")
    yield "its manual page in `man/man3`, *rules* the rules of the call, by their ids in"
    yield ("`test/conform/rules.tsv`, and *tests* the files in `test/` that prove some of them. "
           "`make conform`")
    yield ("tells which rules are proved and which are not. *Fabrics* has the first sentence of "
           "the page about")
    yield "differences between fabrics; where it is empty, a program sees no difference."
    yield ""
    yield "| call | DAT | page | rules | tests | fabrics |"
    yield "|---|---|---|---|---|---|"
    for name in sorted(generations[1] | generations[2]):
        page = by_name[name]
        page = by_name[pathlib.Path(page.link).name.rsplit(".", 1)[0]] if page.link else page
        api = " ".join(v for g, v in ((1, "1.2"), (2, "2.0")) if name in generations[g])
        key = "dat_ia_open" if name == "dat_ia_openv" else name
        wanted = set(rules_in(rules.get(key, "")))
        tests = " ".join(f"`{file}`" for file, proved in sources if proved & wanted)
        remark = re.match(r".*?\.(?= |$)", plain(page.part("FABRICS")) or "")
        yield "| `{}` | {} | {} | {} | {} | {} |".format(
            name, api, page.name, rules.get(key, ""), tests, remark[0] if remark else "")


# --- command line ---


def main():
    command, *arguments = sys.argv[1:] or ["help"]
    if command in CHECKS and not arguments:
        wrong = list(CHECKS[command]())
    elif command == "options" and len(arguments) == 1:
        wrong = list(options(arguments[0]))
    elif command == "examples" and len(arguments) == 1:
        for name, text in examples():
            (pathlib.Path(arguments[0]) / name).write_text(text)
        return 0
    elif command in ("table", "list") and not arguments:
        print("\n".join(table() if command == "table" else CHECKS))
        return 0
    else:
        print(__doc__)
        return 2
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
