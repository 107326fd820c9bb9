#!/usr/bin/env python3
"""Is openapi.yaml OpenAPI 3.1 that hangs together? And would we see it if it were not: each rule is broken once in a copy.

structure_test.py OPENAPI_YAML
"""
import copy
import sys
from pathlib import Path

import openapi_file


def main():
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    document = openapi_file.load(text)
    problems = openapi_file.problems_of(document)
    for problem in problems:
        print(problem)

    missed = 0
    for name, breach, expected in BREACHES:
        broken = copy.deepcopy(document)
        breach(broken)
        found = openapi_file.problems_of(broken)
        if not any(expected in problem for problem in found):
            print(f"not seen: {name} (found: {found[:3]})")
            missed += 1
    for name, breach in (("a key given twice", "a: 1\nb: 2\na: 3\n"), ("a key that is no string", "a: {404: 1}\n")):
        try:
            openapi_file.load(breach)
        except ValueError:
            continue
        print(f"not seen: {name}")
        missed += 1
    operations = sum(method in item for item in document["paths"].values() for method in openapi_file.METHODS)
    print(f"{Path(sys.argv[1]).name}: {operations} operations, {len(document['components']['schemas'])} schemas, "
          f"{len(problems)} problems; {len(BREACHES) + 2 - missed} of {len(BREACHES) + 2} kinds of breach are seen")
    return 1 if problems or missed else 0


def job_get(document):
    return document["paths"]["/v1/jobs/{id}"]["get"]


BREACHES = [
    ("a $ref that leads nowhere",
     lambda d: job_get(d)["responses"].update({"304": {"$ref": "#/components/responses/Nowhere"}}), "leads nowhere"),
    ("a status that any operation is answered with", lambda d: job_get(d)["responses"].pop("412"), "lack ['412']"),
    ("a path parameter that is not declared", lambda d: d["paths"]["/v1/jobs/{id}"].pop("parameters"), "path parameters"),
    ("an operationId used twice", lambda d: job_get(d).update(operationId="listJobs"), "used twice"),
    ("a misspelt key", lambda d: job_get(d).update(sumary="x"), "is no key"),
    ("an undeclared tag", lambda d: job_get(d).update(tags=["work"]), "is not declared"),
    ("an object open to anything", lambda d: d["components"]["schemas"]["Rail"].pop("additionalProperties"), "further fields"),
    ("a schema that is none", lambda d: d["components"]["schemas"]["Rail"].update(type="thing"), "is no JSON Schema"),
    ("an example against its schema",
     lambda d: d["components"]["schemas"]["Rank"]["example"].update(gpu=-1), "breaks its own schema"),
    ("a component that nothing uses", lambda d: d["components"]["schemas"].update(Lost={"type": "string"}), "used nowhere"),
    ("a field that is not camelCase",
     lambda d: d["components"]["schemas"]["Rack"]["properties"].update(host_count={"type": "integer"}), "camelCase"),
    ("an operation that says not who may call it", lambda d: job_get(d).pop("x-roles"), "x-roles"),
    ("an operation for a role that is none", lambda d: job_get(d).update({"x-roles": ["king"]}), "x-roles"),
    ("a problem without its codes", lambda d: job_get(d)["x-codes"].pop("404"), "x-codes"),
    ("a status that is none", lambda d: job_get(d)["responses"].update({"20": {"description": "x"}}), "is no status"),
    ("an event that no one describes", lambda d: d["x-events"].pop("job.moved"), "is not described in x-events"),
    ("another version of OpenAPI", lambda d: d.update(openapi="3.0.3"), "3.1"),
]

if __name__ == "__main__":
    sys.exit(main())
