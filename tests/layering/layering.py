#!/usr/bin/env python3
"""Reads every #include of the tree and says which break the rules of ARCHITECTURE.md, and which names are defined twice:
two types of one name in one namespace are undefined behaviour that no linker reports. Exit code 1 if any does.

layering.py ROOT            checks a tree
layering.py --self-test     breaks each rule once in a copy of nothing and expects to see it
"""
import re
import sys
import tempfile
from pathlib import Path

# Folder -> the folders whose headers it may include (itself always). The longest prefix of a file's path counts.
MAY_INCLUDE = {
    "fabric/base": [],
    "fabric/topology": ["fabric/base"],
    "fabric/health": ["fabric/base", "fabric/topology"],
    "fabric/generate": ["fabric/base", "fabric/topology"],
    "fabric/formats": ["fabric/base", "fabric/topology"],
    "fabric/routing": ["fabric/base", "fabric/topology"],
    "fabric/flow": ["fabric/base", "fabric/topology", "fabric/routing"],
    "fabric/capacity": ["fabric/base", "fabric/topology", "fabric/routing", "fabric/flow"],
    # A plan is what drivers write: their values, none of their code.
    "fabric/qos": ["fabric/base", "fabric/topology", "fabric/routing", "fabric/flow", "fabric/capacity", "fabric/drivers"],
    "fabric/drivers": ["fabric/base", "fabric/topology", "fabric/routing"],
    # What a node's description says of its host is read as the file formats read it.
    "fabric/drivers/infiniband": ["fabric/base", "fabric/topology", "fabric/formats", "fabric/routing", "fabric/drivers"],
    "fabric/drivers/infiniband/mad": ["fabric/base", "fabric/topology"],
    # OpenSM's picture of the subnet is raw attributes, and becomes a Topology as dumps do.
    "fabric/drivers/opensm": ["fabric/base", "fabric/topology", "fabric/formats", "fabric/routing", "fabric/drivers"],
    "fabric/drivers/simulated": ["fabric/base", "fabric/topology", "fabric/routing", "fabric/drivers"],
    # Placement scores candidates by what their collectives would take on what links have left.
    "scheduler": ["fabric/base", "fabric/topology", "fabric/flow", "scheduler/collective"],
    # What a collective takes depends on the routes its flows follow and on who else is on their links.
    "scheduler/collective": ["fabric/base", "fabric/topology", "fabric/routing", "fabric/flow", "scheduler/job"],
    "scheduler/admission": ["fabric/base", "fabric/topology", "fabric/routing", "fabric/flow", "fabric/capacity", "fabric/qos"],
    "db": ["fabric/base"],
    "services/control": ["fabric/base", "fabric/topology", "fabric/routing", "fabric/flow", "fabric/capacity", "fabric/qos", "scheduler", "db"],
    "services/control/live": ["fabric/base", "fabric/topology", "fabric/routing", "fabric/flow", "fabric/capacity", "fabric/qos",
                              "fabric/drivers", "fabric/health", "scheduler", "db", "services/control"],
    "api/http": ["fabric/base"],
    "api/client": ["fabric/base", "api/http"],
    "api/operations": ["fabric/base"],
    "api/dto": ["fabric", "scheduler", "db", "services/control", "api/operations"],
    "api/handlers": ["fabric", "scheduler", "db", "services/control", "api"],
    "api": ["fabric/base", "db", "services/control"],
    "services/railweaved": ["fabric", "scheduler", "db", "services/control", "api"],
    # Checks certificates and must not believe in our code: it has none of it.
    "services/verify": [],
    # The CLI knows the REST contract only; `railweave lab` works offline on the libraries.
    "services/railweave": ["fabric/base", "api/client", "api/http"],
    "services/railweave/lab": ["fabric", "scheduler", "api/dto", "api/client", "services/railweave"],
}

# Third-party header -> where it may be included.
ONLY_IN = [
    (re.compile(r"^nlohmann/"), ["api/dto", "fabric/formats", "services/railweave", "services/verify"]),
    (re.compile(r"^pqxx/"), ["db/postgres"]),
    (re.compile(r"^sqlite3\.h$"), ["db/sqlite"]),
    (re.compile(r"^boost/"), ["api/http", "api/client"]),
    (re.compile(r"^infiniband/"), ["fabric/drivers/infiniband", "fabric/drivers/opensm"]),
    (re.compile(r"^pugixml"), ["fabric/formats"]),
    (re.compile(r"^spdlog/"), ["services/railweaved"]),
    (re.compile(r"^CLI/"), ["services/railweaved", "services/railweave"]),
    (re.compile(r"^toml\+\+/"), ["services/railweaved"]),
    (re.compile(r"^yaml-cpp/"), ["services/railweave", "fabric/formats"]),
    (re.compile(r"^openssl/"), ["api/dto", "api/auth", "db", "services/railweaved"]),
]

# fabric and scheduler are pure: no clock, thread, randomness of the machine, console or file, except below drivers.
PURE = ["fabric", "scheduler"]
IMPURE = {"chrono", "thread", "mutex", "condition_variable", "future", "iostream", "fstream", "filesystem", "random", "ctime"}
# Parallel computation inside the pure core, results identical on any number of threads.
PURE_EXCEPTIONS = {("fabric/routing", "thread"), ("fabric/routing", "mutex"), ("fabric/routing", "future")}

MAX_LINES = 500
BANNED_NAMES = re.compile(r"(^|[_/])(utils?|common|helpers?|misc|manager)([_./]|$)")
SOURCES = ("fabric", "scheduler", "db", "api", "services")
NAMESPACE = re.compile(r"^namespace(?: ([\w:]+))? \{")
TYPE = re.compile(r"^(?:template <.*> )?(?:struct|class|enum class|enum|union) (\w+)(?: final)?(?: :[^:].*)? \{")  # as clang-format writes
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def within(path, folder):
    return path == folder or path.startswith(folder + "/")


def owner(path):
    folders = [folder for folder in MAY_INCLUDE if within(path, folder)]
    return max(folders, key=len) if folders else None


def check(root):
    problems = []
    for top in SOURCES:
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in (".h", ".cc") or not file.is_file():
                continue
            path = file.relative_to(root).as_posix()
            lines = file.read_text(encoding="utf-8").splitlines()
            if len(lines) > MAX_LINES:
                problems.append(f"{path}: {len(lines)} lines; split it by noun well before {MAX_LINES}")
            if BANNED_NAMES.search(path):
                problems.append(f"{path}: name it after the noun it is about")
            folder = owner(path)
            if folder is None:
                problems.append(f"{path}: its folder has no rule; add one to tests/layering/layering.py")
                continue
            for number, line in enumerate(lines, 1):
                match = INCLUDE.match(line)
                if match:
                    problems += [f"{path}:{number}: {text}" for text in check_include(path, folder, *match.groups())]
    return problems


def check_definitions(root):
    """Types outside of unnamed namespaces, by their whole name."""
    places = {}
    for file in sorted(file for top in SOURCES + ("tests",) for file in (root / top).rglob("*") if file.suffix in (".h", ".cc")):
        inside = []
        for line in file.read_text(encoding="utf-8").splitlines():
            if opened := NAMESPACE.match(line):
                inside.append(opened[1])
            elif line.startswith("}  // namespace") and inside:
                inside.pop()
            elif (named := TYPE.match(line)) and None not in inside:
                places.setdefault("::".join([*inside, named[1]]), []).append(file.relative_to(root).as_posix())
    return [f"{name} is defined in {' and in '.join(files)}: give one another name" for name, files in places.items() if len(files) > 1]


def check_include(path, folder, quote, header):
    if quote == '"':
        target = owner(header)
        allowed = MAY_INCLUDE[folder]
        if target is None:
            yield f'"{header}" is in no folder of the project'
        elif target != folder and not any(within(header, prefix) for prefix in allowed):
            yield f"{folder} must not include {target} (\"{header}\"); it may include {', '.join(allowed) or 'nothing'}"
        return
    for pattern, places in ONLY_IN:
        if pattern.match(header) and not any(within(path, place) for place in places):
            yield f"<{header}> belongs in {', '.join(places)} only"
    pure = any(within(path, top) for top in PURE) and not within(path, "fabric/drivers")
    if pure and header in IMPURE and not any(within(path, at) and header == h for at, h in PURE_EXCEPTIONS):
        yield f"<{header}>: fabric and scheduler are pure (no clock, thread, console or file)"


BREACHES = [
    ("fabric/topology/a.h", '#include "scheduler/job/job_spec.h"', "must not include scheduler"),
    ("scheduler/job/a.h", '#include "services/control/state/job.h"', "must not include services/control"),
    ("services/control/a.h", '#include "services/rest/control_plane.h"', "must not include api"),
    ("db/a.h", '#include "services/control/state/job.h"', "must not include services/control"),
    ("fabric/base/a.h", '#include "fabric/topology/topology.h"', "must not include fabric/topology"),
    ("services/railweave/a.cc", '#include "services/control/state/job.h"', "must not include services/control"),
    ("services/control/a.cc", "#include <nlohmann/json.hpp>", "belongs in api/dto"),
    ("api/handlers/a.cc", "#include <boost/beast/core.hpp>", "belongs in api/http"),
    ("db/a.cc", "#include <sqlite3.h>", "belongs in db/sqlite"),
    ("fabric/topology/a.cc", "#include <chrono>", "are pure"),
    ("scheduler/placement/a.cc", "#include <thread>", "are pure"),
    ("api/dto/a.cc", "\n" * 600, "600 lines"),
    ("api/dto/json_utils.h", "", "noun"),
    ("fabric/novel/a.h", "", "has no rule"),
    ("fabric/drivers/a.h", '#include "fabric/drivers/infiniband/mad/mad.h"', "must not include fabric/drivers/infiniband"),
    ("fabric/routing/a.cc", "#include <infiniband/umad.h>", "belongs in fabric/drivers/infiniband"),
    ("scheduler/job/a.h", "namespace railweave {\nstruct A {\n};\nnamespace b {\nclass A : X {\n};\n}  // namespace b\nenum class A {\n};",
     "railweave::A is defined in scheduler/job/a.h and in scheduler/job/a.h"),
]


def self_test():
    failures = 0
    for path, text, expected in BREACHES:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / path
            file.parent.mkdir(parents=True)
            file.write_text(text + "\n" if not text.endswith("\n") else text, encoding="utf-8")
            found = check(Path(folder)) + check_definitions(Path(folder))
            if not any(expected in problem for problem in found):
                failures += 1
                print(f"not seen: {path} with {text.strip()!r}; found {found}")
    print(f"{len(BREACHES) - failures} of {len(BREACHES)} planted breaches seen")
    return failures == 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return 0 if self_test() else 1
    problems = check(Path(sys.argv[1])) + check_definitions(Path(sys.argv[1]))
    print("\n".join(problems) if problems else "every include keeps the rules, and every type has a name of its own")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
