"""Advice about jobs that run where something else placed them."""
import json

from job_cases import job
from live_cases import fill
from small_fabric import NODES


def advice(session):
    fill(session)
    # Eight GPUs, two on each of four nodes, where two nodes would do.
    wide = job(parallelism={"tensor": 2, "data": 4}, gpusPerNode=2, traffic={"data": {"bytesPerStep": 100_000_000}})
    close = {**wide, "gpusPerNode": 4}
    nodes = [f"node-{n + 1}" for n in range(NODES)]

    def asked(body, at, status=200, code=None, who=session):
        return who.call("advisePlacement", status, code, body={"job": body, "nodes": at})

    def time_of(body, **more):
        answer = session.call("queryPlacement", 200, body={**body, **more}).json
        return answer["predicted"]["communicationMs"] if answer["outcome"] == "placed" else None

    # Any nodes of the same kind do: it is no faster elsewhere, and the same nodes are the same.
    same = asked(wide, nodes).json
    assert same["sameNodes"] and same["gainPermille"] == 0 and same["nodes"] == nodes, same
    assert same["advice"] == "Railweave would have chosen the same nodes", same
    assert same["runsAtMs"] == same["communicationMs"] == time_of(wide), same

    # With the freedom to take any number of each node's GPUs, two nodes are chosen, and that is faster by what two what-ifs say.
    free = {key: value for key, value in wide.items() if key != "gpusPerNode"}
    better = asked({**free, "excludeNodes": nodes[:1]}, nodes[:1] + nodes[2:]).json
    assert len(better["nodes"]) == 2 and better["outcome"] == "placed" and better["code"] is None, better
    assert better["communicationMs"] == time_of(free), better
    apart = asked({**free, "topology": {"tensor": {"required": "node"}}, "nodes": nodes[1:3]}, [nodes[0], nodes[0]]).json
    assert set(apart["nodes"]) <= set(nodes[:3]) and apart["runsAtMs"] is None and apart["gainPermille"] is None, apart
    assert apart["advice"].startswith("Railweave would have chosen node-"), apart

    # What holds its GPUs already leaves its own time unknown; what does not fit would wait.
    held = session.call("submitJob", 201, body=job(parallelism={"tensor": 4, "data": 2})).json
    taken = [node for node in held["nodeList"]]
    again = asked(close, taken).json
    assert again["runsAtMs"] is None and not set(again["nodes"]) & set(taken), again
    waits = asked(job(parallelism={"tensor": 4, "data": 4}), nodes).json
    assert waits["outcome"] == "waits" and waits["code"] == "jobs.noCapacityAtLevel" and waits["nodes"] == [], waits
    assert waits["advice"].startswith("Railweave would let it wait: "), waits
    session.call("cancelJob", 200, path={"id": held["id"]})

    asked(wide, ["nowhere"])  # a node of another name is no error: the scheduler may have more nodes than the fabric
    for status, code, body in (
            (400, "body.notJson", "{"), (400, "body.tooDeep", "[" * 1000 + "]" * 1000), (400, "body.wrongType", "[]"),
            (400, "body.missingField", {"job": wide}), (400, "body.missingField", {"nodes": nodes}),
            (400, "body.invalidField", {"job": wide, "nodes": []}), (400, "body.unknownField", {"job": wide, "nodes": nodes, "at": 1}),
            (400, "body.unknownField", {"job": {**wide, "adopt": {"nodes": nodes}}, "nodes": nodes}),
            (400, "body.duplicateField", json.dumps({"job": wide, "nodes": nodes})[:-1] + ', "nodes": []}'),
            (400, "jobs.invalid", {"job": {**wide, "parallelism": {"tensor": 0}}, "nodes": nodes}),
            (400, "jobs.unknownPriority", {"job": {**wide, "priority": "none"}, "nodes": nodes}),
            (400, "tenants.unknown", {"job": {**wide, "tenant": "unknown"}, "nodes": nodes}),
            (415, "http.mediaType", None)):
        if code == "http.mediaType":
            session.call("advisePlacement", status, code, body=json.dumps({"job": wide, "nodes": nodes}),
                         headers={"Content-Type": "text/plain"})
        else:
            session.call("advisePlacement", status, code, body=body)
    session.call("advisePlacement", 400, "query.unknownParameter", body={"job": wide, "nodes": nodes}, query={"ranks": "true"})
    session.call("advisePlacement", 413, "http.bodyTooLarge", body=b" " * (1 << 20) + b"{}")
    session.call("advisePlacement", 415, "http.contentEncoding", body="{}", headers={"Content-Encoding": "zstd"})


CASES = [advice]
