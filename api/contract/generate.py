#!/usr/bin/env python3
"""Writes what C++ takes from openapi.yaml: field_names.inc, the names of all fields that bodies and answers have,
schemas.inc and schema_texts.inc, the properties of each object and the texts that they may have (schemas.py), list_fields.inc,
the fields of the items of each list whose `fields` selects some, event_data.inc, event_shapes.inc and event_shape_fields.inc, what
is shown of the data of events (event_shapes.py), and event_kinds.inc of services/control/events, who is shown which event.

generate.py [--check]     --check: exit code 1 where one of them is not what this writes
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import event_data  # noqa: E402
from from_contract import contract, resolved, write_or_check  # noqa: E402

from event_shapes import shape_files  # noqa: E402
from schemas import parts, schema_rows  # noqa: E402

HERE = Path(__file__).resolve().parent
EVENT_KINDS = HERE.parents[1] / "services" / "control" / "events" / "event_kinds.inc"


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


def properties_of(document, schema):
    """Of an object, by name, those of the parts that it consists of too."""
    return {name: value for part in parts(document, schema) for name, value in part.get("properties", {}).items()}


def list_fields(document):
    """(path, name of a field of its items), of each list that takes `fields`."""
    rows = set()
    for path, methods in document["paths"].items():
        listing = methods.get("get", {})
        taken = [resolved(document, parameter)["name"] for parameter in listing.get("parameters", [])]
        if "fields" not in taken:
            continue
        answer = resolved(document, listing["responses"]["200"])["content"]["application/json"]["schema"]
        items = properties_of(document, properties_of(document, answer)["items"]["items"])
        rows.update((path, name) for name in items)
    return rows


def event_kinds(document):
    for kind, rules in event_data.kinds(document).items():
        audience = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in rules["for"])
        yield f'{{"{kind}", EventAudience::{audience}}},\n'


def main():
    made_by = "// Made by generate.py from api/openapi.yaml: not to be changed by hand.\n"
    document = contract()
    names = "".join(f'"{name}",\n' for name in sorted(names_in(document, set())))
    lists = "".join(f'{{"{path}", "{name}"}},\n' for path, name in sorted(list_fields(document)))
    schemas, schema_texts = schema_rows(document)
    faults = event_data.faults(document)
    if faults:
        print("\n".join(faults))
        return 1
    fields, shapes, data = shape_files(document)
    files = {HERE / "field_names.inc": names, HERE / "schemas.inc": schemas, HERE / "schema_texts.inc": schema_texts,
             HERE / "list_fields.inc": lists, HERE / "event_shape_fields.inc": fields, HERE / "event_shapes.inc": shapes,
             HERE / "event_data.inc": data, EVENT_KINDS: "".join(event_kinds(document))}
    return max(write_or_check(file, made_by + text, "api/contract/generate.py") for file, text in files.items())


if __name__ == "__main__":
    sys.exit(main())
