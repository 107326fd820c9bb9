#!/usr/bin/env python3
"""Writes field_names.inc, the names of all fields that bodies and answers of the contract have, from openapi.yaml.

generate.py [--check]     --check: exit code 1 where the list is not what this writes
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from from_contract import contract, write_or_check  # noqa: E402

LIST = Path(__file__).resolve().parent / "field_names.inc"


def names_in(node, found):
    """The keys of every `properties` of a schema, wherever it is."""
    if isinstance(node, dict):
        properties = node.get("properties")
        if isinstance(properties, dict) and all(isinstance(value, (dict, bool)) for value in properties.values()):
            found.update(properties)
        for value in node.values():
            names_in(value, found)
    elif isinstance(node, list):
        for value in node:
            names_in(value, found)
    return found


def main():
    text = "".join(f'"{name}",\n' for name in sorted(names_in(contract(), set())))
    return write_or_check(LIST, "// Made by generate.py from api/openapi.yaml: not to be changed by hand.\n" + text, "api/contract/generate.py")


if __name__ == "__main__":
    sys.exit(main())
