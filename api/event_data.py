"""What x-events of the contract says of the data of events."""


def kinds(document):
    return document["x-events"]


def schema_of(document, kind):
    """Of the data of such an event, as JSON Schema: what is not named is not there, but for kinds that say so."""
    fields = dict(kinds(document)[kind]["data"])
    is_open = fields.pop("*", None) is not None
    known = document["x-event-fields"]
    return {"type": "object",
            "properties": {name.rstrip("?"): known[means] for name, means in fields.items()},
            "required": [name for name in fields if not name.endswith("?")],
            "additionalProperties": is_open}


def faults(document):
    """In words, what is wrong in the description itself."""
    found, used = [], set()
    told = document["components"]["schemas"]["Event"]["properties"]["type"]["enum"]
    found += [f"{kind} is no type of Event" for kind in kinds(document) if kind not in told]
    found += [f"{kind} is not described in x-events" for kind in told if kind not in kinds(document)]
    for kind, rules in kinds(document).items():
        used.update(rules["data"].values())
        found += [f"{kind}: {means} is not in x-event-fields" for means in rules["data"].values() if means not in document["x-event-fields"]]
        if rules.get("secret") in (name.rstrip("?") for name in rules["data"]):
            found.append(f"{kind}: {rules['secret']} is shown to no one, and is in its data")
    found += [f"{name} of x-event-fields is not used" for name in document["x-event-fields"] if name not in used]
    return found
