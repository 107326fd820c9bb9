#!/usr/bin/env python3
"""Writes field_names.inc, the names of all fields that bodies and answers of the contract have, from openapi.yaml.

generate.py [--check]     --check: exit code 1 where the list is not what this writes
"""
import sys
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
LIST = HERE / "field_names.inc"


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
    document = yaml.load((HERE.parent / "openapi.yaml").read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    text = "".join(f'"{name}",\n' for name in sorted(names_in(document, set())))
    text = "// Made by generate.py from api/openapi.yaml: not to be changed by hand.\n" + text
    if sys.argv[1:] == ["--check"]:
        if LIST.read_text() != text:
            print(f"{LIST.name} is not what the contract makes it: api/contract/generate.py writes it")
            return 1
        return 0
    LIST.write_text(text)
    return 0


sys.exit(main())
