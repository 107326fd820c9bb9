"""The objects that the contract describes, by name: a schema of components by its own, one that stands inside of another by its
path (`LiveSubnet.sync`, `Node.adapters.ports`: items of lists and what may be null count as what they hold), one of a body or
answer by its operation (`putSubnetMode.body`, `putSubnetMode.answer`).
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from from_contract import resolved  # noqa: E402


def held_by(schema):
    """What a list, a map or something that may be null holds, if that is one thing; else itself. References are not followed."""
    while True:
        if schema.get("type") == "array" and isinstance(schema.get("items"), dict):
            schema = schema["items"]
        elif "properties" not in schema and isinstance(schema.get("additionalProperties"), dict):
            schema = schema["additionalProperties"]
        elif "properties" not in schema and "oneOf" in schema:
            others = [one for one in schema["oneOf"] if one.get("type") != "null"]
            if len(others) != 1:
                return schema
            schema = others[0]
        else:
            return schema


def parts(document, schema):
    """The schema and all that it consists of."""
    schema = resolved(document, schema)
    yield schema
    for part in schema.get("allOf", []):
        yield from parts(document, part)


def texts_of(document, schema):
    """The values of a property that is one of several texts; none: it is not, or one of them has a space."""
    schema = resolved(document, held_by(resolved(document, schema)))
    values = [value for value in schema.get("enum", []) if value is not None]
    return values if all(isinstance(value, str) and " " not in value for value in values) else []


class Objects:
    """`rows`: by name, the properties that are always there and the others; `texts`: by the name of an object and a property."""

    def __init__(self, document):
        self.document = document
        self.rows = {}
        self.texts = {}
        for name, schema in document["components"]["schemas"].items():
            self._add(name, schema)
        for methods in document["paths"].values():
            for operation in methods.values():
                if isinstance(operation, dict) and "operationId" in operation:
                    self._add_operation(operation)

    def _add_operation(self, operation):
        answers = [answer for status, answer in operation["responses"].items() if status.startswith("2")]
        for kind, content in [("body", operation.get("requestBody", {}))] + [("answer", answer) for answer in answers]:
            schema = resolved(self.document, content).get("content", {}).get("application/json", {}).get("schema", {})
            self._add(f"{operation['operationId']}.{kind}", schema)

    def _add(self, name, schema):
        schema = held_by(schema)
        if "$ref" in schema:
            return
        properties, required = {}, set()
        for part in parts(self.document, schema):
            properties.update(part.get("properties", {}))
            required.update(part.get("required", []))
        if not properties:
            return
        self.rows[name] = (sorted(required & set(properties)), sorted(set(properties) - required))
        for field, inner in properties.items():
            if isinstance(inner, dict) and (values := texts_of(self.document, inner)):
                self.texts[f"{name}.{field}"] = sorted(value for value in values if value)
        for field, inner in schema.get("properties", {}).items():
            if isinstance(inner, dict):
                self._add(f"{name}.{field}", inner)


def schema_rows(document):
    """The rows of schemas.inc and of schema_texts.inc."""
    objects = Objects(document)
    schemas = "".join(f'{{"{name}", "{" ".join(required)}", "{" ".join(others)}"}},\n'
                      for name, (required, others) in sorted(objects.rows.items()))
    texts = "".join(f'{{"{name}", "{" ".join(values)}"}},\n' for name, values in sorted(objects.texts.items()))
    return schemas, texts
