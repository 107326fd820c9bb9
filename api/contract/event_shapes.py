"""What the data of each kind of event may hold, as a table for C++ (event_shape.h): the properties of its objects, what its lists and
maps hold, where a single value stands. What the contract does not describe is in no shape.
"""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import event_data  # noqa: E402
from from_contract import resolved  # noqa: E402


def alternatives(document, schema):
    """All plain schemas that a value of this one may follow, or consists of."""
    if not isinstance(schema, dict):
        return [{}] if schema else []
    schema = resolved(document, schema)
    found = [schema]
    for word in ("allOf", "oneOf", "anyOf"):
        for part in schema.get(word, []):
            found += alternatives(document, part)
    return found


def is_single(plain):
    """Whether a text, a number or a truth value may follow it."""
    if "type" not in plain:
        return not {"properties", "items", "prefixItems", "additionalProperties", "allOf", "oneOf", "anyOf"} & set(plain)
    types = plain["type"] if isinstance(plain["type"], list) else [plain["type"]]
    return bool(set(types) - {"object", "array", "null"})


class Shapes:
    """`rows`: of each shape, its fields (name, shape), the shapes of what its lists and maps hold, or None, and whether it may be a
    single value.
    """

    def __init__(self, document):
        self.document = document
        self.rows = []
        self._known = {}
        self.add([])

    def add(self, schemas):
        """The number of the shape of what may follow any of these; 0: nothing is."""
        fields, items, values, single = {}, [], [], False
        for plain in [one for schema in schemas for one in alternatives(self.document, schema)]:
            single = single or is_single(plain)
            for name, inner in plain.get("properties", {}).items():
                fields.setdefault(name, []).append(inner)
            items += [*plain.get("prefixItems", []), *([plain["items"]] if isinstance(plain.get("items"), dict) else [])]
            values += [plain["additionalProperties"]] if isinstance(plain.get("additionalProperties"), dict) else []
        key = json.dumps([fields, items, values, single], sort_keys=True)
        if key not in self._known:
            self._known[key] = number = len(self.rows)
            self.rows.append(None)  # shapes may hold themselves
            self.rows[number] = (sorted((name, self.add(inner)) for name, inner in fields.items()),
                                 self.add(items) if items else None, self.add(values) if values else None, single)
        return self._known[key]


def shape_files(document):
    """The rows of event_shape_fields.inc, event_shapes.inc and event_data.inc."""
    shapes = Shapes(document)
    of_kind = {kind: shapes.add([schema] if (schema := event_data.schema_of(document, kind)) else []) for kind in event_data.kinds(document)}
    fields, rows = [], []
    for own, items, values, single in shapes.rows:
        held = ", ".join("kNoShape" if one is None else str(one) for one in (items, values))
        rows.append(f"{{{len(fields)}, {len(own)}, {held}, {str(single).lower()}}},\n")
        fields += [f'{{"{name}", {shape}}},\n' for name, shape in own]
    kinds = [f'{{"{kind}", {shape}}},\n' for kind, shape in sorted(of_kind.items())]
    return "".join(fields), "".join(rows), "".join(kinds)
