#!/usr/bin/env python3
"""Writes railweave/operations.py, the table of operations that the client is driven by, from the contract.

generate.py [--check]     --check: exit code 1 where the table is not what this writes
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from from_contract import contract, resolved, write_or_check  # noqa: E402

TABLE = Path(__file__).resolve().parent / "railweave/operations.py"
METHODS = ("get", "put", "post", "patch", "delete")
HEAD = '''"""Made by generate.py from api/openapi.yaml: not to be changed by hand."""
from typing import NamedTuple


class Operation(NamedTuple):
    name: str              # of the method of the client
    method: str
    path: str              # with {names} of its parameters
    query: tuple[str, ...]
    headers: tuple[str, ...]
    body: str              # media type; "": it has none
    summary: str


VERSION = "{version}"
OPERATIONS = (
{lines}
)
'''


def snake(name):
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def lines(document):
    def at(one):
        return resolved(document, one)
    for path, item in document["paths"].items():
        for method in METHODS:
            if method not in item:
                continue
            operation = item[method]
            parameters = [at(one) for one in [*item.get("parameters", []), *operation.get("parameters", [])]]
            named = {where: tuple(one["name"] for one in parameters if one["in"] == where) for where in ("query", "header")}
            media = sorted(at(operation.get("requestBody", {})).get("content", {}))
            body = next((one for one in media if one == "application/json"), media[0] if media else "")
            yield (snake(operation["operationId"]), method.upper(), path, named["query"], named["header"], body, operation["summary"])


def main():
    document = contract()
    text = HEAD.replace("{version}", document["info"]["version"]).replace(
        "{lines}", "\n".join(f"    Operation{one!r}," for one in sorted(lines(document))))
    return write_or_check(TABLE, text, "api/python/generate.py")


if __name__ == "__main__":
    sys.exit(main())
