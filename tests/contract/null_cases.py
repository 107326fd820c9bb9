"""A null is refused where the contract knows none, at every field of every body: it is not the same as a field left out."""
import openapi_file
from contract import ContractBroken
from job_cases import TENANT
from session import Unexpected

# A valid body to put nulls into, and what else the request has. Requests that none of the nulls refuses change nothing.
BODIES = [
    ("queryPlacement", {}, {}, {"gpus": 1, "parallelism": {}, "topology": {"tensor": {"required": "node"}}, "traffic": {"data": {"bytesPerStep": 1}},
                                "model": {"parameters": 1e9, "layers": 8, "hiddenSize": 1024, "sequenceLength": 512, "globalBatchSize": 8}}),
    ("drainNode", {"id": "node-1"}, {"dryRun": "true"}, {}), ("drainLink", {"id": "leaf-1/16--spine-1/1"}, {"dryRun": "true"}, {}),
    ("undrainNode", {"id": "node-1"}, {}, {}), ("putTenant", {"name": "nothing"}, {}, {}),
    ("putContract", {"tenant": TENANT}, {}, {}), ("putQueuePolicy", {}, {}, {"priorityClasses": [{"name": "normal", "value": 0}]}),
    ("putQosClasses", {}, {}, {"items": [{"name": "a", "sharePermille": 500, "priority": 1, "dscp": 1}]}),
    ("putReservation", {"name": "nothing"}, {}, {"kind": "maintenance", "nodes": ["node-1"], "from": "2036-01-01T00:00:00Z", "to": "2036-01-02T00:00:00Z"}),
    ("issueToken", {}, {}, {"name": "nothing", "role": "viewer"}), ("setReroute", {}, {}, {}), ("diffRoutes", {}, {}, {"failLinks": ["leaf-1/16--spine-1/1"]}),
    ("repairJob", {"id": "JOB"}, {"dryRun": "true"}, {"nodes": ["node-4"]}), ("putSubnetMode", {"id": "compute"}, {}, {"mode": "observe"}),
    ("discoverFabric", {}, {}, {}), ("patchNode", {"id": "node-1"}, {}, {}),
]


def bodies_with_null(contract, schema, body):
    """Every field, at any depth that the body has, as null."""
    for name, field in contract.fields_of(schema).items():
        yield {**body, name: None}
        field = openapi_file.resolve(contract.document, field)
        field = next((one for one in map(lambda part: openapi_file.resolve(contract.document, part), field.get("oneOf", [field]))
                      if one.get("type") == "object" or "allOf" in one), field)
        if isinstance(body.get(name), dict):
            for inner in bodies_with_null(contract, field, body[name]):
                yield {**body, name: inner}
        elif isinstance(body.get(name), list) and body[name] and isinstance(body[name][0], dict):
            for inner in bodies_with_null(contract, field["items"], body[name][0]):
                yield {**body, name: [inner]}


def nulls(session):
    contract, tried, taken = session.contract, 0, []
    job = session.call("submitJob", 201, body={"tenant": TENANT, "gpus": 1}).json["id"]
    for operation_id, path, query, body in BODIES:
        path = {name: value.replace("JOB", job) for name, value in path.items()}
        schema = contract.operations[operation_id].body["content"]["application/json"]["schema"]
        errors = contract.errors_of(schema, body)
        assert not errors, f"{operation_id}: the body without nulls is not valid itself: {errors}"
        for with_null in bodies_with_null(contract, schema, body):
            if contract.errors_of(schema, with_null):
                tried += 1
                try:
                    session.call(operation_id, (400, 404), path=path, query=query, body=with_null)
                except (ContractBroken, Unexpected) as wrong:
                    taken.append(str(wrong)[:300])
    session.call("cancelJob", 200, path={"id": job})
    assert not taken, "\n".join(taken)
    assert tried > 100, f"only {tried} nulls were tried"


CASES = [nulls]
