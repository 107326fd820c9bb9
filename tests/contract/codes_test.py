#!/usr/bin/env python3
"""Every code with which the sources of what answers refuse something is in the contract under the status that its kind is answered with,
or in a list of those that no answer has; and every code of the contract is in the sources. What is read is text: `fail(ErrorKind::kind, "code"`, `Error{ErrorKind::kind, "code"`,
`problem_response(status, "code"`, and `status = N` beside `code = "code"`.

codes_test.py OPENAPI_YAML SOURCE_FOLDER
"""
import re
import sys
from pathlib import Path

import openapi_file
from contract import matches

# Whose errors become answers. Files' and stores' own errors come as one code each.
FOLDERS = ["api/http", "services/rest", "services/json", "services/control/decide", "services/control/guarantees", "services/control/agents",
           "services/control/views", "services/control/state", "services/control/events", "services/control/live", "scheduler"]
# What no answer has, and why. Each must be in the sources, so that this list holds no more than it has to.
START = "of the start, to whoever starts the service"
REPLACED = "the caller gives it another code, or asks only for what cannot fail so"
NO_ANSWERS = {
    "http.badAddress": START, "http.notLoopback": START, "http.tlsFile": START, "http.cannotStart": START, "http.cannotListen": START,
    "key.notEd25519": START, "console.noFolder": START, "console.notBuilt": START, "console.tooLarge": START, "console.unreadable": START,
    "oidc.keys": "in the log: keys of a provider that cannot be read", "http.peerUnknown": "ends the connection",
    "console.noSuchFile": "of the console's files, which are not of the contract",
    "tokens.noRandomness": "of a machine without randomness", "drains.kind": REPLACED, "jobs.batch": REPLACED, "ranks.format": REPLACED,
    "contracts.invalid": REPLACED, "queue.invalidReservation": REPLACED, "admission.alreadyAdmitted": REPLACED,
    "admission.noRerouting": REPLACED, "nvlink.taken": REPLACED, "collectives.noPath": REPLACED, "collectives.unsupported": REPLACED,
    ("admission.nothingPromised", 400): REPLACED, ("admission.unknownClass", 404): REPLACED, ("admission.classNotAllowed", 409): REPLACED,
}
OF_KIND = re.compile(r'ErrorKind::(\w+),\s*"([a-z][A-Za-z0-9]*\.[A-Za-z0-9.]+)"')
OF_STATUS = re.compile(r'\b(\d{3}),\s*"([a-z][A-Za-z0-9]*\.[A-Za-z0-9.]+)"')
SET = re.compile(r'status = (\d{3});\s*\w+\.code = "([^"]+)"')
STATUS_OF = re.compile(r"case ErrorKind::(\w+):\s*return (\d{3});")


def statuses_of_kinds(root):
    """{kind: status}, as api/http maps them in one place."""
    text = (root / "api/http/message/problem.cc").read_text(encoding="utf-8")
    found, waiting = {}, []
    for line in text.splitlines():
        if kind := re.search(r"case ErrorKind::(\w+):", line):
            waiting.append(kind[1])
        if waiting and (status := re.search(r"return (\d{3});", line)):
            found.update(dict.fromkeys(waiting, int(status[1])))
            waiting.clear()
    return found


def in_sources(root):
    """{(status, code): a file that has it}"""
    statuses, found = statuses_of_kinds(root), {}
    assert len(statuses) >= 8, statuses
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*.cc")) + sorted((root / folder).rglob("*.h")):
            text = file.read_text(encoding="utf-8")
            for kind, code in OF_KIND.findall(text):
                found[statuses[kind], code] = file.relative_to(root)
            for status, code in OF_STATUS.findall(text) + SET.findall(text):
                found[int(status), code] = file.relative_to(root)
    return found


def in_contract(document):
    """{(status, code as listed): the operations that list it}"""
    listed = {}
    holders = [("everywhere", document["x-everywhere"]["x-codes"])]
    for path, item in document["paths"].items():
        holders += [(f"{method} {path}", item[method].get("x-codes", {})) for method in openapi_file.METHODS if method in item]
    holders.append(("items of a gang", document["components"]["schemas"]["Gang"]["x-codes"]))
    for holder, codes in holders:
        for status, names in codes.items():
            for name in names:
                listed.setdefault((int(status), name), []).append(holder)
    for name in document["components"]["schemas"]["Operation"]["properties"]["error"]["x-codes"]:
        for status in (409, 429, 503):
            listed.setdefault((status, name), []).append("what operations end with")
    return listed


def main():
    document = openapi_file.load(Path(sys.argv[1]).read_text(encoding="utf-8"))
    root = Path(sys.argv[2])
    thrown, listed = in_sources(root), in_contract(document)
    wrong = 0
    for (status, code), file in sorted(thrown.items(), key=str):
        is_listed = any(status == of and matches(code, name) for of, name in listed)
        is_no_answer = code in NO_ANSWERS or (code, status) in NO_ANSWERS
        if is_listed == is_no_answer:
            print(f"{status} {code} of {file} is " + ("an answer after all" if is_listed else "in no operation's x-codes"))
            wrong += 1
    texts = "".join(file.read_text(encoding="utf-8") for folder in ["api", "services", "scheduler", "fabric", "db"]
                    for suffix in ("*.cc", "*.h") for file in (root / folder).rglob(suffix))
    for (status, name), holders in sorted(listed.items()):
        # Some are made of a beginning and a word: "links" + ".drainRefused".
        if f'"{name}"' not in texts and not name.endswith("*") and f'".{name.split(".")[1]}"' not in texts:
            print(f"{status} {name} of {holders[0]} is in no source")
            wrong += 1
    print(f"{len(thrown)} codes of the sources, {len(listed)} of the contract, {wrong} are wrong")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
