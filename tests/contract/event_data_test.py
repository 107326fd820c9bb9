#!/usr/bin/env python3
"""The data of events as the journal keeps it, kind by kind, beside what the contract says of it: a field that is new in the one and not in the
other is shown to clients that no one told of it.

event_data_test.py OPENAPI EVENTS     EVENTS: a line each, the kind and the data (tests/unit/codec/golden/events.txt)
"""
import json
import sys
from pathlib import Path

import openapi_file

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "api"))
import event_data  # noqa: E402


def shown(value):
    """Messages are texts where they are shown."""
    if isinstance(value, dict):
        if "parts" in value and value.keys() <= {"parts", "code"}:
            return "".join(part if isinstance(part, str) else str(next(iter(part.values()))) for part in value["parts"])
        return {name: shown(member) for name, member in value.items()}
    return [shown(member) for member in value] if isinstance(value, list) else value


def faults_of(document, lines):
    found, seen, validators = event_data.faults(document), set(), {}
    for number, line in enumerate(lines, 1):
        kind, _, data = line.partition(" ")
        if kind not in event_data.kinds(document):
            found.append(f"line {number}: {kind} is not described")
            continue
        seen.add(kind)
        value = shown(json.loads(data))
        if value.get("digest") == "d1":
            value["digest"] = "0" * 64  # the journal does not mind
        value.pop(event_data.kinds(document)[kind].get("secret"), None)
        if kind not in validators:
            validators[kind] = openapi_file.validator(document, event_data.schema_of(document, kind))
        for error in validators[kind].iter_errors(value):
            found.append(f"line {number}: {kind}: {error.message[:200]} at {error.json_path}")
    found += [f"{kind} is in no line" for kind in event_data.kinds(document) if kind not in seen | {"event.damaged"}]
    return found


def main():
    document = openapi_file.load(Path(sys.argv[1]).read_text())
    lines = Path(sys.argv[2]).read_text().splitlines()
    found = faults_of(document, lines)
    print("\n".join(found))
    # It sees a field that is new, and one that is gone.
    kind, _, data = next(line for line in lines if line.startswith("job.freed ")).partition(" ")
    for changed in ({**json.loads(data), "new": 1}, {"number": 6}):
        assert faults_of(document, [*lines, f"{kind} {json.dumps(changed)}"]) != found, changed
    print(f"{len(lines)} events of {len(event_data.kinds(document))} kinds")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
