"""Files that follow from the contract."""
import sys
from pathlib import Path

import yaml


def contract():
    text = (Path(__file__).resolve().parent / "openapi.yaml").read_text()
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def write_or_check(path, text, by):
    """The exit code; with --check, 1 where the file is not what would be written."""
    if sys.argv[1:] != ["--check"]:
        path.write_text(text)
    elif path.read_text() != text:
        print(f"{path.name} is not what the contract makes it: {by} writes it")
        return 1
    return 0


def resolved(document, node):
    """What a reference of the document leads to; anything else itself."""
    while "$ref" in node:
        target = document
        for step in node["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        node = target
    return node
