"""The contract as a file: read strictly, and checked to be OpenAPI 3.1 that hangs together, before anything is held to it.

Only what this project uses of OpenAPI is known here; anything else is a finding, so that a misspelt key is seen.
"""
import functools
import json
import re
import sys
from pathlib import Path

import jsonschema
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "api"))
import event_data  # noqa: E402

ROLES = {"viewer", "member", "operator", "administrator", "agent"}
METHODS = ("get", "put", "post", "delete", "patch")

# Keys an object of the document may have, and those it must have (marked *).
KEYS = {
    "document": "openapi* info* servers tags security* paths* components x-everywhere* x-events*",
    "info": "title* version* summary description",
    "path": "summary description parameters get put post delete patch",
    "operation": "operationId* tags* summary* description parameters requestBody responses* x-codes x-roles security",
    "parameter": "name* in* description* required schema* example allowEmptyValue explode",
    "header": "description* required schema*",
    "requestBody": "description required content*",
    "response": "description* headers content",
    "media": "schema* example",
}


class StrictLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """YAML as JSON has it: no key twice, no merge keys, no dates, and only strings as keys."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            where = f"line {key_node.start_mark.line + 1}"
            if not isinstance(key, str):
                raise ValueError(f"{where}: the key {key!r} is no string")
            if key in seen or key == "<<":
                raise ValueError(f"{where}: the key '{key}' is given twice, or merges")
            seen.add(key)
        return super().construct_mapping(node, deep)


StrictLoader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if not tag.endswith((":timestamp", ":merge"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def load(text):
    return yaml.load(text, Loader=StrictLoader)


def resolve(document, value):
    """Follows a $ref to its end. Siblings of the $ref, which 3.1 allows beside schemas, are not merged here."""
    seen = []
    while isinstance(value, dict) and "$ref" in value:
        ref = value["$ref"]
        if not ref.startswith("#/") or ref in seen:
            raise ValueError(f"$ref '{ref}' does not stay in this document, or goes in a circle")
        seen.append(ref)
        value = document
        for token in ref[2:].split("/"):
            token = token.replace("~1", "/").replace("~0", "~")
            if not isinstance(value, dict) or token not in value:
                raise ValueError(f"$ref '{ref}' leads nowhere")
            value = value[token]
    return value


def validator(document, schema):
    """For values, by a schema of the document. What its $refs lead to is in it already: looking them up is most of what a check costs."""
    expanded = expand(document, schema, {})
    root = {"allOf": [expanded], "components": document["components"]}  # a schema that has itself as a part keeps that one $ref
    return jsonschema.Draft202012Validator(root)


def expand(document, value, known):
    """`known`: $ref -> what it leads to, shared by all that name it; None while that is being expanded."""
    if isinstance(value, list):
        return [expand(document, member, known) for member in value]
    if not isinstance(value, dict):
        return value
    members = {key: expand(document, member, known) for key, member in value.items() if key != "$ref"}
    if "$ref" not in value:
        return members
    ref = value["$ref"]
    if ref not in known:
        known[ref] = None
        known[ref] = expand(document, resolve(document, value), known)
    if known[ref] is None:
        return value
    return {**members, "allOf": [known[ref], *members.get("allOf", [])]} if members else known[ref]


@functools.cache
def schema_fault(text):
    """Of a schema as JSON; a document has each of them several times, and its broken copies nearly all of them."""
    try:
        jsonschema.Draft202012Validator.check_schema(json.loads(text))
    except jsonschema.SchemaError as error:
        return error.message
    return ""


# What x-everywhere has for requests that are no operation: other paths and methods, another HTTP.
NO_OPERATION = {"404", "405", "501", "505"}


def common_statuses(document, method, operation):
    """The statuses of x-everywhere that this operation is answered with: each operation lists them."""
    common = set(document["x-everywhere"]["responses"]) - NO_OPERATION
    if method != "get":
        common.discard("412")  # minSeq is of reading
    if operation.get("security") == []:
        common.discard("401")
    return common


def problems_of(document):
    """What is wrong with the document, in words; [] when nothing is."""
    return Inspection(document).run()


class Inspection:
    def __init__(self, document):
        self.document = document
        self.problems = []
        self.used = set()
        self.operation_ids = set()
        self.tags = {tag["name"] for tag in document.get("tags", [])}

    def run(self):
        document = self.document
        self.keys("document", document, "#")
        if not re.fullmatch(r"3\.1\.\d+", str(document.get("openapi"))):
            self.say("#/openapi", "is not 3.1.x")
        self.references(document, "#")
        if self.problems:  # nothing below makes sense with these
            return self.problems
        self.keys("info", document["info"], "#/info")
        for status, response in document["x-everywhere"]["responses"].items():
            self.response(status, response, f"#/x-everywhere/responses/{status}")
        self.codes(document["x-everywhere"], "#/x-everywhere", set())
        for fault in event_data.faults(document):
            self.say("#/x-events", fault)
        for path, item in document["paths"].items():
            self.path(path, item)
        for name, schema in document["components"]["schemas"].items():
            self.schema(schema, f"#/components/schemas/{name}")
        self.unused()
        return self.problems

    def say(self, where, what):
        self.problems.append(f"{where}: {what}")

    def keys(self, kind, value, where):
        allowed = {key.rstrip("*"): key.endswith("*") for key in KEYS[kind].split()}
        for key in value:
            if key not in allowed:
                self.say(where, f"'{key}' is no key of a {kind}")
        for key, needed in allowed.items():
            if needed and key not in value:
                self.say(where, f"a {kind} needs '{key}'")

    def references(self, value, where):
        if isinstance(value, dict):
            if "$ref" in value:
                self.used.add(value["$ref"])
                try:
                    resolve(self.document, value)
                except ValueError as error:
                    self.say(where, str(error))
            for key, member in value.items():
                self.references(member, f"{where}/{key}")
        elif isinstance(value, list):
            for index, member in enumerate(value):
                self.references(member, f"{where}/{index}")

    def path(self, path, item):
        where = f"#/paths/{path}"
        self.keys("path", item, where)
        if not re.fullmatch(r"(/[a-z0-9.-]+|/\{[a-z]+\})+", path):
            self.say(where, "is no path as they are written here")
        for method in METHODS:
            if method in item:
                self.operation(path, item, item[method], f"{where}/{method}")
                self.common(method, item[method], f"{where}/{method}")

    def operation(self, path, item, operation, where):
        self.keys("operation", operation, where)
        if operation.get("operationId") in self.operation_ids:
            self.say(where, f"the operationId '{operation['operationId']}' is used twice")
        self.operation_ids.add(operation.get("operationId"))
        for tag in operation.get("tags", []):
            if tag not in self.tags:
                self.say(where, f"the tag '{tag}' is not declared")
        roles = operation.get("x-roles")
        open_to_all = operation.get("security") == []
        if open_to_all == bool(roles) or set(roles or []) - ROLES or "security" in operation and not open_to_all:
            self.say(where, f"names neither x-roles of {sorted(ROLES)} nor security: []")
        declared, names = set(), set()
        for parameter in item.get("parameters", []) + operation.get("parameters", []):
            parameter = resolve(self.document, parameter)
            self.parameter(parameter, where)
            key = (parameter["in"], parameter["name"].lower())
            if key in names:
                self.say(where, f"the parameter '{parameter['name']}' is declared twice")
            names.add(key)
            if parameter["in"] == "path":
                declared.add(parameter["name"])
        if declared != set(re.findall(r"\{([a-z]+)\}", path)):
            self.say(where, f"declares the path parameters {sorted(declared)}, the path has others")
        if "requestBody" in operation:
            self.keys("requestBody", operation["requestBody"], f"{where}/requestBody")
            self.content(operation["requestBody"]["content"], f"{where}/requestBody")
        if not any(status.startswith("2") for status in operation.get("responses", {})):
            self.say(where, "has no answer for success")
        for status, response in operation.get("responses", {}).items():
            self.response(status, response, f"{where}/responses/{status}")
        self.codes(operation, where, set(self.document["x-everywhere"]["responses"]) - NO_OPERATION)

    def common(self, method, operation, where):
        common = common_statuses(self.document, method, operation)
        missing = common - set(operation.get("responses", {}))
        if missing:
            self.say(where, f"its responses lack {sorted(missing)}, which any operation is answered with")

    def codes(self, holder, where, elsewhere):
        """Every status that is a problem lists its codes, and no other does; elsewhere: those with codes in x-everywhere."""
        errors = set()
        for status, response in holder.get("responses", {}).items():
            content = resolve(self.document, response).get("content", {})
            if "application/problem+json" in content:
                errors.add(status)
        listed = set(holder.get("x-codes", {}))
        if listed - errors or errors - listed - elsewhere:
            self.say(where, f"x-codes are listed for {sorted(listed)}, problems are answered with {sorted(errors)}")
        for status, codes in holder.get("x-codes", {}).items():
            for code in codes:
                if not re.fullmatch(r"[a-z][A-Za-z0-9]*\.([A-Za-z0-9]+|\*)", code):
                    self.say(where, f"'{code}' is no code")
            if len(set(codes)) != len(codes):
                self.say(where, f"a code is listed twice for {status}")

    def parameter(self, parameter, where):
        where = f"{where}/parameters/{parameter.get('name')}"
        self.keys("parameter", parameter, where)
        if parameter.get("in") not in ("path", "query", "header"):
            self.say(where, "is neither in path, query nor header")
        if parameter.get("in") == "path" and parameter.get("required") is not True:
            self.say(where, "path parameters are required")
        self.schema(parameter["schema"], f"{where}/schema")
        if "example" in parameter:
            self.example(parameter["schema"], parameter["example"], where)

    def response(self, status, response, where):
        if not re.fullmatch(r"[2-5]\d\d", status):
            self.say(where, "is no status")
        response = resolve(self.document, response)
        self.keys("response", response, where)
        for name, header in response.get("headers", {}).items():
            header = resolve(self.document, header)
            self.keys("header", header, f"{where}/headers/{name}")
            self.schema(header["schema"], f"{where}/headers/{name}/schema")
        self.content(response.get("content", {}), where)
        if int(status) >= 400 and not response.get("content"):
            self.say(where, "an error has a body")

    def content(self, content, where):
        for media, holder in content.items():
            here = f"{where}/content/{media}"
            if not re.fullmatch(r"[a-z]+/[a-z+-]+", media):
                self.say(here, "is no media type")
            self.keys("media", holder, here)
            self.schema(holder["schema"], f"{here}/schema")
            if "example" in holder:
                self.example(holder["schema"], holder["example"], here)

    def example(self, schema, example, where):
        for error in validator(self.document, schema).iter_errors(example):
            self.say(where, f"the example breaks its own schema: {error.message} at {error.json_path}")

    def schema(self, schema, where):
        if set(schema) == {"$ref"}:
            return
        fault = schema_fault(json.dumps(schema))
        if fault:
            self.say(where, f"is no JSON Schema: {fault}")
            return
        self.subschema(schema, where)

    def subschema(self, schema, where, part=False):
        """`part`: it only adds to the schema around it, which says what fields there are."""
        if isinstance(schema, bool):
            return
        name = where.split("/")[-1]
        unknown = set(schema) - SCHEMA_KEYS
        if unknown:
            self.say(where, f"no keyword of a schema: {sorted(unknown)}")
        declares = "properties" in schema and schema.get("type") == "object"
        open_base = name.endswith("Fields")  # closed by those that are made of it
        closed = "additionalProperties" in schema or "unevaluatedProperties" in schema
        if declares and not part and not open_base and not closed:
            self.say(where, "says nothing about further fields (additionalProperties: false)")
        for field in schema.get("required", []):
            if declares and field not in schema["properties"] and "allOf" not in schema:
                self.say(where, f"requires '{field}', which it does not describe")
        for key, member in schema.items():
            here = f"{where}/{key}"
            if key in ("properties", "$defs"):
                for field, sub in member.items():
                    if key == "properties" and not re.fullmatch(r"[a-z][A-Za-z0-9]*", field):
                        self.say(here, f"'{field}' is not camelCase")
                    self.subschema(sub, f"{here}/{field}", part)
            elif key in ("items", "additionalProperties", "unevaluatedProperties"):
                self.subschema(member, here)
            elif key in ("if", "then", "else", "not"):
                self.subschema(member, here, True)
            elif key in ("oneOf", "anyOf", "allOf", "prefixItems"):
                for index, sub in enumerate(member):
                    self.subschema(sub, f"{here}/{index}", key in ("anyOf", "allOf") or "type" not in sub)
        for key in ("example", "default"):
            if key in schema:
                self.example({k: v for k, v in schema.items() if k not in ("example", "default")}, schema[key], where)

    def unused(self):
        for kind, members in self.document["components"].items():
            for name in members:
                by_name = kind == "securitySchemes" and any(name in entry for entry in self.document["security"])
                if not by_name and f"#/components/{kind}/{name}" not in self.used:
                    self.say(f"#/components/{kind}/{name}", "is used nowhere")


SCHEMA_KEYS = set(
    "$ref type const enum required properties additionalProperties unevaluatedProperties dependentRequired minProperties "
    "maxProperties items prefixItems minItems maxItems minLength maxLength pattern format minimum maximum exclusiveMinimum "
    "oneOf anyOf allOf if then else description default example x-codes".split())
