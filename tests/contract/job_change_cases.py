"""Jobs that are changed, held, released and reordered while they wait; adopted where they run; submitted many at once."""
import datetime
import itertools

from queue_cases import ALL, TENANT, job, later, state_of, submit
from small_fabric import GPUS, NODES

MERGE = {"Content-Type": "application/merge-patch+json"}


def change(session, name, status=200, code=None, headers=None, **body):
    return session.call("changeJob", status, code, path={"id": name}, body=body, headers={**MERGE, **(headers or {})})


def order(session, tenant="research"):
    return [item["id"] for item in session.call("listWaiting", 200, query={"tenant": tenant}).json["items"]]


def held_and_released(session):
    running = submit(session)["id"]
    waits = submit(session, name="waits")
    name = waits["id"]
    held = change(session, name, hold=True, reason="the data set is being copied")
    assert held.json["hold"]["reason"] == "the data set is being copied" and held.json["hold"]["byOperator"], held.json
    assert held.json["waits"]["code"] == "held" and "the data set" in held.json["waits"]["reason"], held.json["waits"]
    assert held.json["history"][-1]["reason"].startswith("held"), held.json["history"]
    session.call("completeJob", 200, path={"id": running})
    assert state_of(session, name) == "queued", "GPUs are free, and it is held"
    change(session, name, 412, "precondition.versionDiffers", headers={"If-Match": f'"{name}.1"'}, hold=False)
    change(session, name, 412, "precondition.exists", headers={"If-None-Match": "*"}, hold=False)
    again = change(session, name, headers={"If-Match": held.header("ETag")}, hold=True, reason="the data set is being copied")
    assert again.json["version"] == held.json["version"], "the same again is no change"
    released = change(session, name, hold=None).json
    assert released["hold"] is None and session.begun(name)["state"] == "placed", released
    kinds = [event["type"] for event in session.call("listEvents", 200, query={"subject": f"job/{name}"}).json["items"]]
    assert [kind for kind in kinds if kind in ("job.held", "job.released", "job.placed")] == ["job.held", "job.released", "job.placed"], kinds
    change(session, name, 409, "jobs.notQueued", hold=True)
    change(session, name, 409, "jobs.notQueued", priority="low")
    assert change(session, name, expectedDuration="PT3H", minRuntime="PT5M").json["spec"]["expectedDuration"] == "PT3H"
    session.call("completeJob", 200, path={"id": name})
    change(session, name, 409, "jobs.ended", expectedDuration="PT1H")
    change(session, "job-999999", 404, "jobs.notFound", hold=True)


def fields(session):
    running = submit(session)["id"]
    first = submit(session, name="first", gpus=GPUS)["id"]
    changed = change(session, first, priority="low", notBefore=later(hours=1), expectedDuration="PT30M", minRuntime="PT1M",
                     excludeNodes=["node-4"], reason="smaller").json
    assert changed["spec"]["priority"] == "low" and changed["spec"]["excludeNodes"] == ["node-4"] and changed["notBefore"], changed
    assert changed["waits"]["code"] == "notBefore", changed["waits"]
    back = change(session, first, priority=None, notBefore=None, expectedDuration=None, minRuntime=None, excludeNodes=None).json
    assert back["spec"]["priority"] == "normal" and back["notBefore"] is None, back
    assert not {"expectedDuration", "minRuntime", "excludeNodes"} & set(back["spec"]), back["spec"]
    nodes = [f"node-{n}" for n in range(1, NODES + 1)]
    before = session.call("getJob", 200, path={"id": first}).json
    small = submit(session, name="small", gpus=1)["id"]
    assert change(session, small, 422, "jobs.neverFits", excludeNodes=nodes, priority="low").json["outcome"] == "never"
    assert session.call("getJob", 200, path={"id": small}).json["spec"]["priority"] == "normal", "nothing of it was changed"
    assert change(session, first).json["version"] == before["version"], "an empty patch changes nothing"
    for body, code in (({"priority": "urgent!"}, "jobs.unknownPriority"), ({"expectedDuration": "PT0S"}, "jobs.invalid"),
                       ({"expectedDuration": "long"}, "body.invalidField"), ({"notBefore": "soon"}, "body.invalidField"),
                       ({"hold": "yes"}, "body.invalidField"), ({"before": "first"}, "body.invalidField"),
                       ({"before": small, "after": small}, "body.invalidField"), ({"reason": "r" * 501}, "body.invalidField"),
                       ({"gpus": 3}, "body.unknownField")):
        change(session, first, 400, code, **body)
    for body, code in (("{", "body.notJson"), ("[" * 1000 + "]" * 1000, "body.tooDeep"), ("[]", "body.wrongType"),
                       ('{"hold": true, "hold": false}', "body.duplicateField")):
        session.call("changeJob", 400, code, path={"id": first}, body=body)
    session.call("changeJob", 400, "query.unknownParameter", path={"id": first}, body={}, query={"force": "true"})
    session.call("changeJob", 413, "http.bodyTooLarge", path={"id": first}, body=b" " * (1 << 20) + b"{}")
    session.call("changeJob", 415, "http.contentEncoding", path={"id": first}, body="{}", headers={"Content-Encoding": "zstd"})
    session.call("changeJob", 415, "http.mediaType", path={"id": first}, body=b"{}", headers={"Content-Type": "text/plain"})
    for name in (running, first, small):
        session.call("cancelJob", 200, path={"id": name})


def reordered(session):
    session.call("putTenant", 200, path={"name": TENANT}, body={"maxPriority": "high"})
    running = submit(session)["id"]
    names = [submit(session, name=f"turn-{i}")["id"] for i in range(4)]
    a, b, c, d = names
    assert order(session) == names
    change(session, d, before=a, reason="a demonstration")
    assert order(session) == [d, a, b, c]
    change(session, a, after=c)
    assert order(session) == [d, b, c, a]
    urgent = submit(session, name="urgent", priority="high")["id"]
    change(session, a, 409, "jobs.cannotGoThere", before=urgent)
    change(session, a, 409, "jobs.cannotGoThere", before=a)
    change(session, a, 409, "jobs.cannotGoThere", before=running)
    change(session, a, 404, "jobs.notFound", before="job-999999")
    assert change(session, a, priority="high", before=urgent).json["spec"]["priority"] == "high"
    assert order(session) == [a, urgent, d, b, c]
    event = session.call("listEvents", 200, query={"type": "job.reordered"}).json["items"][-1]
    assert event["data"]["beside"] == int(urgent[4:]) and event["data"]["before"] is True, event
    for name in (*names, urgent, running):
        session.call("cancelJob", 200, path={"id": name})
    session.call("putTenant", 200, path={"name": TENANT}, body={})


def adopted(session):
    halves = [0, 1]
    place = {"ranks": [{"node": "node-2", "gpus": [1, 0]}, {"node": "node-1", "gpus": halves}]}
    body = job(gpus=4, queue=False, adopt=place, parallelism={"tensor": 2, "data": 2})
    made = session.call("submitJob", 201, body=body, headers={"Idempotency-Key": "adopt-1"}).json
    assert made["state"] == "placed" and made["nodeList"] == ["node-2", "node-1"], made
    assert made["adopted"]["findings"] == [], made["adopted"]
    assert made["adopted"]["order"]["ranks"] is None and made["adopted"]["order"]["of"] == "communication", made["adopted"]
    ranks = session.call("listRanks", 200, path={"id": made["id"]}).json["items"]
    assert [(rank["node"], rank["gpu"]) for rank in ranks] == [("node-2", 1), ("node-2", 0), ("node-1", 0), ("node-1", 1)], ranks
    assert session.call("submitJob", 200, body=body, headers={"Idempotency-Key": "adopt-1"}).json["id"] == made["id"]
    held = session.call("submitJob", 409, "adopt.gpuHeld", body=job(gpus=1, queue=False, adopt={"nodes": ["node-1"], "gpus": [1]})).json
    assert made["id"] in held["detail"] and "node-1:1" in held["detail"], held
    for gpus, adopt, code in ((4, {"nodes": ["node-9"]}, "adopt.unknownGpu"), (1, {"nodes": ["node-3"], "gpus": [4]}, "adopt.unknownGpu"),
                              (2, {"ranks": [{"node": "node-3", "gpus": [0, 0]}]}, "adopt.gpuTwice"),
                              (3, {"nodes": ["node-3"]}, "adopt.wrongCount")):
        session.call("submitJob", 422, code, body=job(gpus=gpus, queue=False, adopt=adopt))
    for adopt in ({"nodes": []}, {"ranks": []}, {"ranks": [{"node": "node-3"}]}, {"nodes": ["node-3"], "gpus": [64]}, [],
                  {"ranks": [{"node": "node-3", "gpus": [0]}], "nodes": ["node-3"]}, {"nodes": ["node-3"], "gpus": []}):
        session.call("submitJob", 400, body=job(gpus=1, queue=False, adopt=adopt), valid=False)
    session.call("submitJob", 400, "body.invalidField", body=job(gpus=4, adopt={"nodes": ["node-3"]}))
    session.call("queryPlacement", 400, "body.unknownField", body=job(gpus=4, queue=False, adopt={"nodes": ["node-3"]}))
    # Two tensor groups, each torn over two nodes: exchanging two ranks repairs the order.
    torn = {"ranks": [{"node": node, "gpus": [gpu]} for gpu, node in itertools.product((2, 3), ("node-1", "node-2"))]}
    session.call("drainNode", 200, path={"id": "node-2"}, body={})
    torn_job = session.call("submitJob", 201, body=job(gpus=4, queue=False, adopt=torn, parallelism={"tensor": 2, "data": 2})).json
    findings = torn_job["adopted"]["findings"]
    assert "node node-2 is drained" in findings and any("nvlinkDomain" in one for one in findings), findings
    again = session.call("getJob", 200, path={"id": torn_job["id"]})
    cost = again.json["adopted"]["order"]
    assert cost["bestMs"] < cost["predictedMs"] * 0.99 and sorted(cost["ranks"]) == [0, 1, 2, 3], cost
    nodes = [torn["ranks"][rank]["node"] for rank in cost["ranks"]]
    assert nodes[0] == nodes[1] and nodes[2] == nodes[3], (cost, nodes)
    session.call("getJob", 304, path={"id": torn_job["id"]}, headers={"If-None-Match": again.header("ETag")})
    # Put as the answer says, the order is the best one.
    session.call("cancelJob", 200, path={"id": torn_job["id"]})
    repaired = {"ranks": [torn["ranks"][rank] for rank in cost["ranks"]]}
    right = session.call("submitJob", 201, body=job(gpus=4, queue=False, adopt=repaired, parallelism={"tensor": 2, "data": 2})).json
    assert right["adopted"]["order"]["ranks"] is None, right["adopted"]
    assert abs(right["adopted"]["order"]["predictedMs"] - cost["bestMs"]) <= cost["bestMs"] * 1e-9, (right["adopted"], cost)
    for name in (made["id"], right["id"]):
        session.call("completeJob", 200, path={"id": name})
    session.call("undrainNode", 204, path={"id": "node-2"}, body={})


def batch(session):
    items = [{"key": f"batch-{i}", **job(gpus=GPUS, name=f"item-{i}")} for i in range(NODES + 1)]
    items.insert(1, {"key": "batch-bad", **job(gpus=GPUS, topology={"job": {"required": "galaxy"}})})
    items.insert(3, {"key": "batch-large", **job(gpus=ALL * 2)})
    items.append({"key": "batch-0", **job(gpus=GPUS, name="item-0")})
    items.append({"key": "batch-1", **job(gpus=1)})
    items.append(dict(job(gpus=1)))
    before = session.call("getQueue", 200).json["seq"]
    answer = session.call("submitJobs", 200, body={"items": items}, valid="either").json
    got = [(item["key"], item["status"], item["problem"]["code"] if "problem" in item else item["job"]["outcome"]) for item in answer["items"]]
    placed = [("batch-0", 201, "placed"), ("batch-bad", 400, "body.invalidField"), ("batch-1", 201, "placed"),
              ("batch-large", 422, "jobs.neverFits"), ("batch-2", 201, "placed"), ("batch-3", 201, "placed"), ("batch-4", 201, "queued"),
              ("batch-0", 200, "placed"), ("batch-1", 422, "idempotency.keyReused"), (None, 400, "body.missingField")]
    assert got == placed, got
    assert answer["items"][1]["problem"]["errors"][0]["pointer"].startswith("/items/1/"), answer["items"][1]
    assert answer["items"][8]["problem"]["instance"] == "/v1/jobs/batch", answer["items"][8]
    assert answer["items"][0]["job"]["id"] == answer["items"][7]["job"]["id"]
    assert answer["seq"] > before
    again = session.call("submitJobs", 200, body={"items": items[:1]}).json["items"][0]
    assert again["status"] == 200 and again["job"]["id"] == answer["items"][0]["job"]["id"], again
    names = {item["job"]["id"] for item in answer["items"] if "job" in item}
    for body, code in (("{", "body.notJson"), ("[" * 1000 + "]" * 1000, "body.tooDeep"), ("[]", "body.wrongType"), ("{}", "body.missingField"),
                       ('{"items": [], "items": []}', "body.duplicateField"), ({"items": []}, "body.invalidField"),
                       ({"items": [], "all": True}, "body.unknownField"), ({"items": [{"key": "k"}] * 1001}, "body.invalidField")):
        session.call("submitJobs", 400, code, body=body)
        session.call("queryPlacements", 400, code, body=body)
    for operation in ("submitJobs", "queryPlacements"):
        session.call(operation, 400, "query.unknownParameter", body={"items": [items[0]]}, query={"all": "1"})
        session.call(operation, 413, "http.bodyTooLarge", body=b" " * (17 << 20))
        session.call(operation, 415, "http.contentEncoding", body="{}", headers={"Content-Encoding": "zstd"})
        session.call(operation, 415, "http.mediaType", body=b"{}", headers={"Content-Type": "text/plain"})
    for name in sorted(names, reverse=True):
        session.call("cancelJob", 200, path={"id": name})


def batch_of_what_ifs(session):
    one = job(gpus=GPUS * 3, queue=False)
    items = [{"key": "a", **one}, dict(one), {"key": "c", **job(gpus=GPUS, queue=False)}, {"key": "d", "gpus": 0},
             {"key": "e", **job(gpus=1, queue=False, tenant="not-there")}, {"key": "f", **job(gpus=1, adopt={"nodes": ["node-1"]}, queue=False)}]
    answer = session.call("queryPlacements", 200, body={"items": items}, query={"ranks": "true"}, valid="either").json["items"]
    assert [item["status"] for item in answer] == [200, 200, 200, 400, 400, 400], answer
    assert [item["placement"]["outcome"] for item in answer[:3]] == ["placed", "notNow", "placed"], answer
    assert answer[4]["problem"]["errors"][0]["pointer"] == "/items/4/tenant", answer[4]
    used = [{(rank["node"], rank["gpu"]) for rank in answer[i]["placement"]["ranks"]["items"]} for i in (0, 2)]
    assert len(used[0] | used[1]) == GPUS * 4, "the second that is placed gets what the first leaves"
    assert session.call("getQueue", 200).json["freeGpus"] == ALL, "nothing was changed"
    session.call("queryPlacements", 400, "query.invalidFlag", body={"items": items[:1]}, query={"ranks": "maybe"})
    alone = session.call("queryPlacement", 200, body=one, query={"ranks": "true"}).json
    assert alone["ranks"] == answer[0]["placement"]["ranks"], "as asked alone"


def expected_starts(session):
    """What is expected of a job that waits, and of one that would; then time is not needed: the ends come early."""
    first = submit(session, gpus=ALL, expectedDuration="PT2H")
    waits = submit(session, gpus=ALL, name="waits", expectedDuration="PT1H")
    assert waits["expectedStart"] is None, "the answer to a change does not wait for a forecast"
    start = session.call("getJob", 200, path={"id": waits["id"]}).json["expectedStart"]
    begun = datetime.datetime.fromisoformat(first["startedAt"])
    assert abs(datetime.datetime.fromisoformat(start["at"]) - begun - datetime.timedelta(hours=2)) < datetime.timedelta(seconds=1), start
    assert [(end["job"], end["assumed"]) for end in start["ends"]] == [(first["id"], False)] and start["otherEnds"] == 0, start
    what_if = session.call("queryPlacement", 200, body=job(gpus=GPUS, queue=False)).json
    assert what_if["outcome"] == "notNow" and what_if["expectedStart"]["ends"][0]["job"] == waits["id"], what_if
    assert abs(datetime.datetime.fromisoformat(what_if["expectedStart"]["at"]) - begun
               - datetime.timedelta(hours=3)) < datetime.timedelta(seconds=1), what_if
    change(session, waits["id"], hold=True)
    held = session.call("getJob", 200, path={"id": waits["id"]}).json["expectedStart"]
    assert held["at"] is None and held["unknown"].startswith("held by"), held
    change(session, first["id"], expectedDuration=None)
    change(session, waits["id"], hold=False)
    assumed = session.call("getJob", 200, path={"id": waits["id"]}).json["expectedStart"]
    assert assumed["ends"][0]["assumed"] and assumed["assumedEnds"] == 1, assumed
    placed = session.call("getJob", 200, path={"id": first["id"]}).json
    assert placed["expectedStart"] is None
    assert "expectedStart" not in session.call("queryPlacement", 200, body=job(gpus=ALL * 2, queue=False)).json, "never"
    for name in (waits["id"], first["id"]):
        session.call("cancelJob", 200, path={"id": name})


CASES = [held_and_released, fields, reordered, adopted, batch, batch_of_what_ifs,
         expected_starts]
