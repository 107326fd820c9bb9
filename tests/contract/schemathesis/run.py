#!/usr/bin/env python3
"""Schemathesis over the whole contract, against a real railweaved that has a fabric, tenants, jobs, drains and guarantees.

Requests are made from api/openapi.yaml by another program than the service's own tests: as the contract allows them and as
it does not, one after another and in sequences. Findings: an answer 5xx, a status, header or body that is not documented, a
request that breaks the contract and is taken, and whatever else its checks say.

run.py RAILWEAVED OPENAPI_YAML [--program schemathesis] [--seconds 60] [--seed 1] [further options of schemathesis]
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "support")]
import openapi_file  # noqa: E402
from contract import Contract  # noqa: E402
from service import Service  # noqa: E402
from small_fabric import LINK, UPLINK, fabric, guid  # noqa: E402

# Where deploy/install-dependencies.sh --with-schemathesis puts it.
PROGRAM = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"), "railweave/schemathesis/bin/schemathesis")

# A stream of events has no end; tests/contract/event_cases.py reads it.
LEFT_OUT = ["streamEvents"]

# Random bodies of what has many rules between its fields are refused nearly always; some are of these simple forms instead.
TENANTS = {"enum": ["research", "vision"]}
JOB = {"type": "object", "required": ["tenant", "gpus"], "additionalProperties": False,
       "properties": {"tenant": TENANTS, "gpus": {"enum": [1, 2, 4]}, "name": {"enum": ["a", "b"]}, "queue": {"type": "boolean"},
                      "priority": {"enum": ["low", "normal", "high"]}}}
SIMPLE_BODIES = {
    "submitJob": JOB,
    "queryPlacement": {**JOB, "required": ["gpus"], "properties": {"gpus": {"enum": [1, 4, 16, 64]}}},
    "putContract": {"type": "object", "additionalProperties": False,
                    "properties": {"guaranteedGbps": {"enum": [0, 10, 1000]}, "isolated": {"type": "boolean"}}},
    "putReservation": {"type": "object", "required": ["kind", "nodes", "from", "to"], "additionalProperties": False,
                       "properties": {"kind": {"const": "maintenance"}, "nodes": {"const": ["node-2"]},
                                      "from": {"const": "2036-02-01T00:00:00Z"}, "to": {"const": "2036-02-02T00:00:00Z"}}},
    "drainLink": {"type": "object", "additionalProperties": False, "properties": {"reason": {"enum": ["", "cable"]}}},
}
KNOWN_VALUES = {"If-Match": ["*"], "from": ["node-1", "node-2"], "to": ["node-1", "leaf-1"], "tenant": TENANTS["enum"],
                "subject": ["job", "job/job-000001"], "type": [["job.placed"]]}


def prepare(service, token):
    """What is there before the first request, so that requests are about something; the names that paths may have."""
    def ask(method, path, body=None, expect=(200, 201, 204)):
        status, _, answer = service.request(method, path, body, {"Authorization": f"Bearer {token}"})
        assert status in expect, f"{method} {path}: {status} {answer}"
        return answer

    ask("PUT", "/v1/fabric/topology", fabric())
    for tenant in ("research", "vision"):
        ask("PUT", f"/v1/tenants/{tenant}", {"quotaGpus": 8})
    ask("PUT", "/v1/reservations/firmware",
        {"kind": "maintenance", "nodes": ["node-4"], "from": "2036-01-01T00:00:00Z", "to": "2036-01-02T00:00:00Z"})
    ask("PUT", "/v1/contracts/research", {"guaranteedGbps": 10})
    jobs = [ask("POST", "/v1/jobs", {"tenant": tenant, "name": name, "gpus": gpus, **more})["id"]
            for tenant, name, gpus, more in (("research", "small", 2, {}), ("vision", "large", 4, {}),
                                             ("research", "waits", 8, {"queue": True}), ("vision", "ends", 1, {}))]
    ask("POST", f"/v1/jobs/{jobs[-1]}/complete")
    ask("POST", "/v1/nodes/node-3/drain", {"reason": "schemathesis"})
    tokens = [ask("POST", "/v1/tokens", {"name": name, "role": "viewer"})["id"] for name in ("first", "second")]
    alarms = [alarm["id"] for alarm in ask("GET", "/v1/alarms")["items"]]
    return {
        "/v1/nodes/": ["node-1", "node-2"], "/v1/switches/": ["leaf-1", "spine-1", guid(2), "lid:1"],
        "/v1/links/": [LINK, UPLINK], "/v1/nvlink-domains/": ["nv-1"], "/v1/jobs/": jobs, "/v1/subnets/": ["compute"],
        "/v1/alarms/": alarms, "/v1/reservations/": ["firmware"], "/v1/tenants/": ["research", "vision", "fresh"],
        "/v1/contracts/": ["research", "vision"], "/v1/tokens/": tokens, "/v1/operations/": ["op-000001"],
    }


def allow_partial_items(contract, media):
    """With `fields`, items of a list have only some of their fields, which a schema cannot say. Without it tests/contract
    holds them to the whole schema."""
    page = json.loads(json.dumps(openapi_file.resolve(contract.document, media["schema"])))
    fields = contract.fields_of(page["properties"]["items"]["items"])
    page["properties"]["items"]["items"] = {"type": "object", "properties": fields, "additionalProperties": False}
    media["schema"] = {"anyOf": [media["schema"], page]}


def contract_for_schemathesis(text, names):
    """The contract with what it says once for all paths (`x-everywhere`) said by each operation, and with names that exist
    among the values of path parameters. Nothing that it promises is loosened."""
    contract = Contract(text)
    document = contract.document
    everywhere = document.pop("x-everywhere")["responses"]
    for path, item in list(document["paths"].items()):
        shared = item.pop("parameters", [])
        for method in [method for method in openapi_file.METHODS if method in item]:
            operation = item[method]
            if operation["operationId"] in LEFT_OUT:
                del item[method]
                continue
            for status, response in everywhere.items():
                operation["responses"].setdefault(status, response)
            parameters = [json.loads(json.dumps(openapi_file.resolve(document, one)))
                          for one in shared + operation.get("parameters", [])]
            known = next((values for start, values in names.items() if path.startswith(start + "{")), [])
            for one in parameters:
                values = known if one["in"] == "path" else KNOWN_VALUES.get(one["name"])
                if values:
                    one.pop("example", None)
                    one["schema"] = {"anyOf": [{"enum": values}, one["schema"]]}
            operation["parameters"] = parameters
            if operation["operationId"] in SIMPLE_BODIES:
                media = operation["requestBody"]["content"]["application/json"]
                media["schema"] = {"anyOf": [SIMPLE_BODIES[operation["operationId"]], media["schema"]]}
            if any(one["name"] == "fields" for one in parameters):
                allow_partial_items(contract, operation["responses"]["200"]["content"]["application/json"])
        if not any(method in item for method in openapi_file.METHODS):
            del document["paths"][path]
    return document


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("railweaved")
    parser.add_argument("openapi")
    parser.add_argument("--program", default=str(PROGRAM))
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options, more = parser.parse_known_args()  # further options are schemathesis' own
    if not Path(options.program).exists():
        print("schemathesis is not installed (deploy/install-dependencies.sh --with-schemathesis): skipped")
        return 77
    with tempfile.TemporaryDirectory(prefix="railweave-schemathesis-") as folder, \
            Service(options.railweaved, Path(folder), authentication="tokens") as service:
        service.start()
        token = next(Path(folder).glob("*admin*token*")).read_text().strip()
        own = service.request("GET", "/v1/tokens", headers={"Authorization": f"Bearer {token}"})[2]["items"][0]["id"]
        names = prepare(service, token)
        document = contract_for_schemathesis(Path(options.openapi).read_text(), names)
        written = Path(folder) / "openapi.json"
        written.write_text(json.dumps(document))
        outcome = subprocess.run(
            [options.program, "--config-file", str(HERE / "schemathesis.toml"), "run", str(written),
             "--url", f"http://127.0.0.1:{service.port}", "--header", f"Authorization: Bearer {token}",
             "--max-time", str(options.seconds), "--suppress-health-check", "all", "--seed", str(options.seed), *more],
            cwd=folder, timeout=options.seconds * 2 + 300, env={**os.environ, "NO_COLOR": "1", "SCHEMATHESIS_HOOKS": "hooks",
                              "PYTHONPATH": str(HERE), "RAILWEAVE_TOKEN_ID": own}).returncode
        if service.process.poll() is not None:
            print(f"railweaved has ended:\n{service.log_text()[-4000:]}")
            return 1
        assert service.stop() == 0, "railweaved did not stop as it should"
        return outcome


if __name__ == "__main__":
    sys.exit(main())
