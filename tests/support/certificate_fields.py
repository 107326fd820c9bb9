"""Every field of a certificate, found by going through it, given several other values: what is left out here is what a certificate does
not have. Of fields that are many, as those of links, a few of each kind."""
import copy
import re

PER_KIND = 2  # instances of a field that are altered


def fields(value, path=()):
    """(path, value) of every member and element, containers included, but the whole."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in members:
        yield (*path, name), member
        yield from fields(member, (*path, name))


def kind(path):
    return "/".join("*" if isinstance(step, int) else step for step in path)


def at(document, path):
    for step in path:
        document = document[step]
    return document


def others(value):
    """(name, what stands there instead)"""
    if isinstance(value, bool):
        return [("the opposite", not value), ("a number", int(value)), ("a text", str(value).lower()), ("null", None)]
    if isinstance(value, int):
        lower = [("less", value - 1)] if value > 0 else []
        return [("more", value + 1), *lower, ("twice as much", 2 * value + 2), ("negative", -value - 1), ("a fraction", value + 0.25), ("as text", str(value)),
                ("null", None), ("a list", [value])]
    if isinstance(value, str):
        return [("longer", value + "0"), ("shorter", value[:-1]) if value else ("a blank", " "), ("a number", 7), ("null", None), ("a list", [value])]
    if isinstance(value, list):
        changed = [("with one more", [*value, copy.deepcopy(value[-1])]), ("with one less", value[:-1])] if value else [("with an element", ["x"])]
        scalars = all(not isinstance(one, dict) for one in value)
        reordered = [("in another order", list(reversed(value)))] if scalars and value != list(reversed(value)) else []
        return [*changed, *reordered, ("an object", {}), ("null", None)]
    return [("with a member more", {**value, "more": 1}), ("a list", [value]), ("empty", {}), ("null", None)]


def alterations(certificate):
    """(what, certificate with that changed). `seq` is a claim about a time: callers that know the journal alter it."""
    by_kind = {}
    for path, value in fields(certificate):
        by_kind.setdefault(kind(path), []).append((path, value))
    for name, found in by_kind.items():
        if name == "seq":
            continue
        # The first, and one of another value where there is one.
        chosen = [found[0], *[one for one in found if one[1] != found[0][1]][-1:], found[-1]]
        chosen = [one for number, one in enumerate(chosen) if one[0] not in [before[0] for before in chosen[:number]]][:PER_KIND]
        for path, value in chosen:
            where = "/".join(str(step) for step in path)
            for how, other in others(value):
                changed = copy.deepcopy(certificate)
                at(changed, path[:-1])[path[-1]] = other
                yield f"{where}: {how}", changed
            changed = copy.deepcopy(certificate)
            del at(changed, path[:-1])[path[-1]]
            yield f"{where}: removed", changed
        # Values of two of a kind exchanged, of members of objects.
        pair = next(((one, other) for one in found for other in reversed(found) if one[1] != other[1]), None)
        if pair and isinstance(pair[0][0][-1], str):
            changed = copy.deepcopy(certificate)
            (one, first), (other, second) = pair
            at(changed, one[:-1])[one[-1]], at(changed, other[:-1])[other[-1]] = copy.deepcopy(second), copy.deepcopy(first)
            if changed != certificate:
                yield f"{name}: of two exchanged", changed
    changed = copy.deepcopy(certificate)
    changed["spread"] = [{"subnet": "cluster", "spread": "lmc"}]
    yield "spread: invented", changed


def kinds_in_contract(openapi):
    """The kinds of fields that the REST contract gives a certificate, by its text: the test sees that it went through all of them."""
    text = openapi[openapi.index("\n    Certificate:\n"):]
    text = text[:re.search(r"\n    [A-Z]\w+:\n", text[20:]).start() + 20]
    return set(re.findall(r"^ +(\w+):(?: \{(?:const|type|\$ref|enum)|\n +(?:type: (?:object|array)))", text, re.M)) - {"Certificate", "items"}
