#!/usr/bin/env python3
"""The contract against each earlier one: nothing that a client of then relies on is gone, and nothing more is asked of it. released/ has
the surface of each version, a line for each thing.

compatibility_test.py OPENAPI             exit code 1: names what is gone
compatibility_test.py OPENAPI --write     writes the surface of this version, which replaces one of the same version that is not released yet
"""
import copy
import sys
from pathlib import Path

import yaml

RELEASED = Path(__file__).resolve().parent / "released"
DEPTH = 2  # of objects within objects that are looked at
METHODS = ("get", "put", "post", "patch", "delete")


class Contract:
    def __init__(self, document):
        self.document = document

    def at(self, one):
        while "$ref" in one:
            target = self.document
            for word in one["$ref"].removeprefix("#/").split("/"):
                target = target[word]
            one = target
        return one

    def fields(self, schema, depth=0):
        """(path, schema) of the members of an object and of what it is made of; as deep as a client looks."""
        schema = self.at(schema) if isinstance(schema, dict) else {}
        if depth > DEPTH:
            return
        for name, member in schema.get("properties", {}).items():
            yield name, member if isinstance(member, dict) else {}
            for below, one in self.fields(member, depth + 1) if isinstance(member, dict) else ():
                yield f"{name}.{below}", one
        if isinstance(schema.get("items"), dict):
            for below, one in self.fields(schema["items"], depth + 1):
                yield f"[].{below}", one
        for part in ("allOf", "oneOf", "anyOf"):
            for one in schema.get(part, []):
                yield from self.fields(one, depth + 1)

    def required(self, schema, path="", depth=0):
        schema = self.at(schema)
        if depth > DEPTH:
            return
        for name in schema.get("required", []):
            yield path + name
        for name, member in schema.get("properties", {}).items():
            if isinstance(member, dict):
                yield from self.required(member, f"{path}{name}.", depth + 1)
        if isinstance(schema.get("items"), dict):
            yield from self.required(schema["items"], f"{path}[].", depth + 1)
        for one in schema.get("allOf", []):
            yield from self.required(one, path, depth + 1)


def surface(document):
    """(what is there, what a request has to say), a line for each."""
    contract, there, asked = Contract(document), set(), set()
    for path, item in document["paths"].items():
        for method in METHODS:
            if method not in item:
                continue
            operation, call = item[method], f"{method.upper()} {path}"
            there.add(f"{call} is {operation['operationId']}")
            for parameter in map(contract.at, [*item.get("parameters", []), *operation.get("parameters", [])]):
                there.add(f"{call} takes {parameter['in']} {parameter['name']}")
                if parameter.get("required") and parameter["in"] != "path":
                    asked.add(f"{call} needs {parameter['in']} {parameter['name']}")
            for media in contract.at(operation.get("requestBody", {})).get("content", {}).values():
                for field, _ in contract.fields(media.get("schema", {})):
                    there.add(f"{call} takes {field}")
                asked |= {f"{call} needs {field}" for field in contract.required(media.get("schema", {}))}
            for status, answer in operation["responses"].items():
                if not status.startswith("2"):
                    continue
                there.add(f"{call} answers {status}")
                for media in contract.at(answer).get("content", {}).values():
                    there |= {f"{call} answers {status} {field}" for field, _ in contract.fields(media.get("schema", {}))}
    return there, asked


def read(file):
    lines = file.read_text().splitlines()
    return {line for line in lines if " needs " not in line}, {line for line in lines if " needs " in line}


def broken(present, earlier):
    there, asked = present
    there_then, asked_then = earlier
    yield from (f"gone: {line}" for line in sorted(there_then - there))
    for line in sorted(asked - asked_then):
        call, field = line.split(" needs ")
        # What is asked for in an operation or a part that was not there then concerns no client of then.
        part = field.rpartition(".")[0].removesuffix(".[]").removesuffix("[]")
        if any(known.startswith(f"{call} is ") for known in there_then) and (not part or f"{call} takes {part}" in there_then):
            yield f"new: {line}"


def body_of(document, path):
    return Contract(document).at(next(iter(document["paths"][path]["post"]["requestBody"]["content"].values()))["schema"])


# What breaks clients, done to a contract.
BREACHES = (lambda document: document["paths"].pop("/v1/jobs/{id}"), lambda document: document["paths"]["/v1/jobs"]["get"]["parameters"].pop(),
            lambda document: document["components"]["schemas"]["Tenant"]["properties"].pop("weight"),
            lambda document: body_of(document, "/v1/tokens").update(required=["name", "role", "tenant"]))


def self_test(document):
    earlier = surface(document)
    assert not list(broken(earlier, earlier))
    for breach in BREACHES:
        changed = copy.deepcopy(document)
        breach(changed)
        assert list(broken(surface(changed), earlier)), "a change that breaks clients is not named"


def main():
    document = yaml.load(Path(sys.argv[1]).read_text(), yaml.CSafeLoader)
    present = surface(document)
    version = document["info"]["version"]
    if sys.argv[2:] == ["--write"]:
        RELEASED.mkdir(exist_ok=True)
        (RELEASED / f"{version}.txt").write_text("\n".join(sorted(present[0] | present[1])) + "\n")
        return 0
    self_test(document)
    files = sorted(RELEASED.glob("*.txt"))
    assert files, "there is no surface of an earlier version"
    problems = [f"{file.stem}: {line}" for file in files for line in broken(present, read(file))]
    print("\n".join(problems[:50]) or f"{len(present[0])} things that clients rely on; all of {', '.join(file.stem for file in files)} are still there")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
