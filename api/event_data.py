"""What the contract says of each kind of event: who is shown it, what happened (x-events), and what its data is (the schema Event)."""
from from_contract import resolved


def kinds(document):
    return document["x-events"]


def types_of(condition):
    """Types that a condition of Event is about."""
    asked = condition["properties"]["type"]
    return asked["enum"] if "enum" in asked else [asked["const"]]


def schema_of(document, kind):
    """Of the data of such an event; none: nothing is said of it."""
    for rule in document["components"]["schemas"]["Event"]["allOf"]:
        if "if" in rule and kind in types_of(rule["if"]):
            return rule["then"]["properties"].get("data")
    return None


def fields_of(document, kind):
    """(name, whether it is in all, description or "") of its data."""
    schema = resolved(document, schema_of(document, kind) or {})
    for name, one in schema.get("properties", {}).items():
        yield name, name in schema.get("required", []), one.get("description") or resolved(document, one).get("description", "")


def faults(document):
    """In words, what is wrong in the description itself."""
    told = document["components"]["schemas"]["Event"]["properties"]["type"]["enum"]
    found = [f"{kind} is no type of Event" for kind in kinds(document) if kind not in told]
    found += [f"{kind} is not described in x-events" for kind in told if kind not in kinds(document)]
    # Which stands in the place of another and has no data of its own.
    found += [f"Event says nothing of the data of {kind}" for kind in kinds(document) if schema_of(document, kind) is None and kind != "event.damaged"]
    found += [f"{kind}: {rules['secret']} is shown to no one, and is in its data" for kind, rules in kinds(document).items()
              if "secret" in rules and rules["secret"] in (name for name, _, _ in fields_of(document, kind))]
    return found
