"""The queue: who waits and why, its rules, quotas, reservations, priority_classes, eviction, repair, what is stranded."""
import datetime

from small_fabric import GPUS, NODES, fabric

TENANT = "research"
ALL = GPUS * NODES


def job(gpus=ALL, **fields):
    return {"name": "test", "tenant": TENANT, "gpus": gpus, "expectedDuration": "PT1H", "queue": True, **fields}


def later(**spans):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(**spans)).isoformat(timespec="seconds")


def submit(session, **fields):
    return session.call("submitJob", 201, body=job(**fields)).json


def state_of(session, name):
    return session.call("getJob", 200, path={"id": name}).json["state"]


def waiting_jobs(session):
    empty = session.call("getQueue", 200).json
    assert empty["waiting"] == 0 and empty["oldestSubmittedAt"] is None and empty["freeGpus"] == ALL, empty
    first = submit(session)
    assert first["outcome"] == "placed" and first["waits"] is None and first["history"][0]["state"] == "queued", first
    second = submit(session, name="second")
    assert second["outcome"] == "queued" and second["placement"] is None and second["startedAt"] is None, second
    assert second["waits"]["code"] == "noCapacity" and second["waits"]["job"] == first["id"], second
    third = submit(session, name="third", gpus=1, notBefore=later(hours=2))
    assert third["waits"]["code"] == "notBefore" and third["notBefore"], third
    problem = session.call("submitJob", 409, "jobs.noCapacityAtLevel", body=job(gpus=1, queue=False)).json
    assert problem["outcome"] == "notNow", problem

    queue = session.call("getQueue", 200).json
    assert (queue["waiting"], queue["gpusWaiting"], queue["running"]) == (2, ALL + 1, 1) and queue["lastCycle"]["cycles"], queue
    items = session.call("listWaiting", 200).json["items"]
    assert sorted(item["id"] for item in items) == [second["id"], third["id"]] and [item["place"] for item in items] == [1, 2]
    page = session.call("listWaiting", 200, query={"limit": "1", "tenant": TENANT}).json
    assert page["nextCursor"] == "1", page
    assert session.call("listWaiting", 200, query={"cursor": "1", "fields": "id,waits"}).json["items"][0]["id"] == items[1]["id"]
    assert session.call("listWaiting", 200, query={"tenant": "unknown"}).json["items"] == []
    assert session.call("listJobs", 200, query={"state": "queued"}).json["items"][0]["level"] is None
    share = {item["tenant"]: item for item in session.call("listShares", 200).json["items"]}[TENANT]
    assert (share["gpusHeld"], share["gpusWaiting"], share["share"]) == (ALL, ALL + 1, 1), share
    for operation in ("listWaiting", "listShares"):
        for query, code in (({"limit": "0"}, "query.invalidNumber"), ({"cursor": "x"}, "query.invalidCursor"),
                            ({"user": "me"}, "query.unknownParameter")):
            session.call(operation, 400, code, query=query)
    for operation in ("getQueue", "getQueuePolicy", "getStranded", "getDefragmentation"):
        session.call(operation, 400, "query.unknownParameter", query={"all": "true"})

    session.call("removeTenant", 409, "tenants.holdsGpus", path={"name": TENANT})
    session.call("completeJob", 409, "jobs.notRunning", path={"id": second["id"]})
    session.call("checkpointJob", 409, "jobs.notRunning", path={"id": second["id"]})
    session.call("repairJob", 409, "jobs.notRunning", path={"id": second["id"]}, body={})
    session.call("completeJob", 200, path={"id": first["id"]})
    started = session.begun(second["id"])
    assert started["state"] == "placed" and started["history"][-1]["actor"] == "railweave", started
    session.call("completeJob", 200, path={"id": second["id"]})
    session.call("removeTenant", 409, "tenants.inUse", path={"name": TENANT})
    session.call("cancelJob", 200, path={"id": third["id"]})
    for fields, pointer in (({"notBefore": later(hours=1), "queue": False}, "/notBefore"), ({"notBefore": "soon"}, "/notBefore"),
                            ({"queue": "yes"}, "/queue")):
        problem = session.call("submitJob", 400, "body.invalidField", body=job(gpus=1, **fields)).json
        assert problem["errors"][0]["pointer"] == pointer, problem
    session.call("submitJob", 422, "jobs.neverFits", body=job(gpus=ALL + 1))


def beside_the_queue(session):
    """A job that does not queue starts only where that delays no waiting job."""
    running = submit(session, gpus=ALL - GPUS)["id"]
    waits = submit(session)["id"]
    problem = session.call("submitJob", 409, "jobs.mustWait", body=job(gpus=1, queue=False, expectedDuration="PT9H")).json
    assert waits in problem["detail"], problem
    short = session.call("submitJob", 201, body=job(gpus=1, queue=False, expectedDuration="PT10M")).json
    assert short["outcome"] == "placed", short
    for name in (short["id"], running):
        session.call("completeJob", 200, path={"id": name})
    assert session.begun(waits)["state"] == "placed"
    session.call("cancelJob", 200, path={"id": waits})


def policy(session):
    first = session.call("getQueuePolicy", 200)
    assert [one["name"] for one in first.json["priorityClasses"]] == ["low", "normal", "high"] and first.json["version"] == 0
    session.call("getQueuePolicy", 304, headers={"If-None-Match": first.header("ETag")})
    wanted = {"priorityClasses": [{"name": "low", "value": -1, "preemptible": True}, {"name": "normal"},
                                  {"name": "high", "value": 9, "mayPreempt": True}],
              "backfill": "conservative", "fairShare": "decayed", "halfLife": "P2D", "minRuntime": "PT0S"}
    changed = session.call("putQueuePolicy", 200, body=wanted, headers={"If-Match": first.header("ETag")})
    assert changed.json["halfLife"] == "PT48H" and changed.json["overrun"] == "PT5M", changed.json
    session.call("putQueuePolicy", 412, "precondition.versionDiffers", body=wanted, headers={"If-Match": first.header("ETag")})
    same = session.call("putQueuePolicy", 200, body=wanted)
    assert same.header("ETag") == changed.header("ETag"), "the same again is no change"
    session.call("putQueuePolicy", 400, "query.unknownParameter", body=wanted, query={"force": "true"})
    for body, code in (("{", "body.notJson"), ("[" * 1000 + "]" * 1000, "body.tooDeep"), ("[]", "body.wrongType"),
                       ('{"backfill": "easy", "backfill": "none"}', "body.duplicateField"), ({"backFill": "easy"}, "body.unknownField"),
                       ({"backfill": "greedy"}, "body.invalidField"), ({"fairShare": 1}, "body.invalidField"),
                       ({"minRuntime": "a minute"}, "body.invalidField"), ({"priorityClasses": {}}, "body.invalidField"),
                       ({"priorityClasses": [{"value": 1}]}, "body.missingField"),
                       ({"priorityClasses": [{"name": "a", "value": 1.5}]}, "body.invalidField"),
                       ({"priorityClasses": [{"name": "a"}, {"name": "a"}]}, "queue.invalidPolicy")):
        session.call("putQueuePolicy", 400, code, body=body)
    session.call("putQueuePolicy", 413, "http.bodyTooLarge", body=b" " * (1 << 20) + b"{}")
    session.call("putQueuePolicy", 415, "http.contentEncoding", body="{}", headers={"Content-Encoding": "zstd"})
    session.call("putQueuePolicy", 415, "http.mediaType", body=b"{}", headers={"Content-Type": "text/plain"})


def priority_classes(session):
    """Which classes a tenant's jobs may have is the tenant's record; normal and lower where it says nothing."""
    def refused(operation, pointer="/priority", **rest):
        problem = session.call(operation, 422, "jobs.priorityTooHigh", **rest).json
        assert "may have priority normal at most, not high" in problem["detail"], problem
        assert problem["hint"] == f"an administrator may raise the tenant's maxPriority: PUT /v1/tenants/{TENANT}", problem
        assert problem["errors"][0]["pointer"] == pointer, problem

    assert session.call("getTenant", 200, path={"name": TENANT}).json["maxPriority"] == "normal"
    low = submit(session, priority="low")["id"]
    refused("submitJob", body=job(gpus=1, priority="high"))
    refused("submitJob", body=job(gpus=1, priority="high", queue=False))
    refused("queryPlacement", body={"tenant": TENANT, "gpus": 1, "priority": "high"})
    refused("advisePlacement", pointer="/job/priority", body={"job": {"tenant": TENANT, "gpus": 1, "priority": "high"}, "nodes": ["node-1"]})
    waits = submit(session, name="waits", gpus=1)["id"]
    refused("changeJob", path={"id": waits}, body={"priority": "high"})
    item, = session.call("submitJobs", 200, body={"items": [{"key": "a", **job(gpus=1, priority="high")}]}).json["items"]
    assert item["status"] == 422 and item["problem"]["code"] == "jobs.priorityTooHigh", item
    item, = session.call("queryPlacements", 200, body={"items": [{"tenant": TENANT, "gpus": 1, "priority": "high"}]}).json["items"]
    assert item["problem"]["code"] == "jobs.priorityTooHigh", item
    assert session.call("getJob", 200, path={"id": low}).json["state"] == "placed", "no one was evicted"
    problem = session.call("putTenant", 400, "jobs.unknownPriority", path={"name": TENANT}, body={"maxPriority": "highest"}).json
    assert problem["errors"][0]["pointer"] == "/maxPriority", problem
    session.call("putTenant", 400, "body.invalidField", path={"name": TENANT}, body={"maxPriority": 1})
    allowed = session.call("putTenant", 200, path={"name": TENANT}, body={"maxPriority": "high"}).json
    assert allowed["maxPriority"] == "high", allowed
    assert session.call("changeJob", 200, path={"id": waits}, body={"priority": "high"}).json["spec"]["priority"] == "high"
    session.call("putTenant", 200, path={"name": TENANT}, body={})
    assert session.begun(waits)["state"] == "placed" and state_of(session, low) == "queued", "now it evicts"
    assert session.call("getJob", 200, path={"id": waits}).json["priority"] == "high", "it keeps what it was given"
    for name in (low, waits):
        session.call("cancelJob", 200, path={"id": name})


def eviction(session):
    """The jobs of a higher class take the GPUs of lower ones; who has just saved loses least."""
    session.call("putTenant", 200, path={"name": TENANT}, body={"maxPriority": "high"})
    low = [submit(session, gpus=ALL // 2, priority="low", name=f"low{i}")["id"] for i in range(2)]
    saved = session.call("checkpointJob", 200, path={"id": low[1]}).json
    assert saved["checkpointedAt"], saved
    session.call("checkpointJob", 200, path={"id": low[1]}, query={"at": saved["startedAt"]})
    session.call("checkpointJob", 422, "jobs.badCheckpoint", path={"id": low[1]}, query={"at": "2020-01-01T00:00:00Z"})
    session.call("checkpointJob", 400, "query.invalidTime", path={"id": low[1]}, query={"at": "now"})
    session.call("checkpointJob", 400, "query.unknownParameter", path={"id": low[1]}, query={"when": "now"})
    session.call("checkpointJob", 404, "jobs.notFound", path={"id": "job-999999"})
    urgent = submit(session, gpus=ALL // 2, priority="high")
    assert session.begun(urgent["id"])["state"] == "placed", urgent
    evicted = session.call("getJob", 200, path={"id": low[1]}).json
    assert evicted["state"] == "queued" and evicted["nodeList"] == [] and evicted["startedAt"] is None, evicted
    assert any(urgent["id"] in change["reason"] for change in evicted["history"]), evicted["history"]
    assert state_of(session, low[0]) == "placed"
    event = session.call("listEvents", 200, query={"type": "job.evicted"}).json["items"][-1]
    assert event["data"]["number"] == int(low[1][4:]), event
    for name in (urgent["id"], *low):
        session.call("cancelJob", 200, path={"id": name})
    session.call("putTenant", 200, path={"name": TENANT}, body={})
    session.call("putQueuePolicy", 200, body={})


def quotas(session):
    for name in ("lender", "borrower"):
        session.call("putTenant", 200, path={"name": name}, body={"quotaGpus": ALL // 2, "cohort": "all", "borrowGpus": None, "weight": 2})
    mine = submit(session, tenant="borrower", gpus=ALL // 2)["id"]
    more = submit(session, tenant="borrower", gpus=ALL // 2)["id"]
    share = {item["tenant"]: item for item in session.call("listShares", 200).json["items"]}["borrower"]
    assert share["borrowedGpus"] == ALL // 2 and share["cohort"] == "all", share
    session.call("putTenant", 200, path={"name": "lender"}, body={"maxGpus": 4, "repair": "apply"})
    waits = submit(session, tenant="lender", gpus=4)
    assert waits["outcome"] == "queued", waits
    for body, pointer in (({"quotaGpus": 9, "maxGpus": 8}, "/quotaGpus"), ({"cohort": "all"}, "/quotaGpus"), ({"weight": 0}, "/weight"), ({"weight": 5e-324}, "/weight"),
                          ({"repair": "guess"}, "/repair"), ({"quotaGpus": 1, "cohort": "c" * 64}, "/cohort"),
                          ({"quotaGpus": 10**12}, "/quotaGpus")):
        problem = session.call("putTenant", 400, "body.invalidField", path={"name": "x"}, body=body).json
        assert problem["errors"][0]["pointer"] == pointer, problem
    for name in (mine, more, waits["id"]):
        session.call("cancelJob", 200, path={"id": name})
    for name in ("lender", "borrower"):
        session.call("removeTenant", 204, path={"name": name})


def reservations(session):
    window = {"from": later(minutes=30), "to": later(hours=3)}
    upkeep = session.call("putReservation", 200, path={"name": "firmware"},
                          body={**window, "kind": "maintenance", "nodes": ["node-1"], "reason": "new firmware"})
    assert upkeep.json["gpus"] == GPUS and upkeep.json["nodes"] == [["node-1", list(range(GPUS))]], upkeep.json
    shown = session.call("getReservation", 200, path={"name": "firmware"})
    assert shown.json == upkeep.json and shown.header("ETag") == upkeep.header("ETag")
    session.call("getReservation", 304, path={"name": "firmware"}, headers={"If-None-Match": shown.header("ETag")})
    long = submit(session)
    assert long["outcome"] == "queued" and long["waits"]["code"] in ("window", "noCapacity", "noKnownTime"), long
    short = submit(session, expectedDuration="PT5M")
    assert short["outcome"] == "placed", short
    session.call("cancelJob", 200, path={"id": short["id"]})
    session.call("cancelJob", 200, path={"id": long["id"]})

    demo = session.call("putReservation", 200, path={"name": "demo"}, body={**window, "job": {"tenant": TENANT, "gpus": GPUS}})
    assert demo.json["tenant"] == TENANT and demo.json["kind"] == "reservation", demo.json
    assert [item["id"] for item in session.call("listReservations", 200).json["items"]] == ["demo", "firmware"]
    page = session.call("listReservations", 200, query={"limit": "1", "fields": "id"}).json
    assert page["nextCursor"] == "demo" and page["items"] == [{"id": "demo"}], page
    session.call("removeTenant", 409, "tenants.inUse", path={"name": TENANT})
    session.call("putReservation", 409, "queue.noRoomForReservation", path={"name": "more"}, body={**window, "job": {"tenant": TENANT, "gpus": ALL}})

    def refuse(status, code, body, name="x", **more):
        session.call("putReservation", status, code, path={"name": name}, body=body, **more)

    nodes = {**window, "kind": "maintenance", "nodes": ["node-1"]}
    refuse(400, "reservations.badName", nodes, name="a b")
    refuse(400, "reservations.invalid", {**nodes, "to": window["from"], "from": window["to"]})
    refuse(400, "reservations.invalid", {**nodes, "nodes": []})
    refuse(400, "reservations.invalid", {**nodes, "from": "2020-01-01T00:00:00Z", "to": "2020-01-02T00:00:00Z"})
    refuse(404, "nodes.notFound", {**nodes, "nodes": ["node-77"]})
    refuse(400, "tenants.unknown", {**window, "job": {"tenant": "unknown", "gpus": 1}})
    refuse(400, "jobs.invalid", {**window, "job": {"tenant": TENANT, "gpus": 1, "gpusPerNode": 99}})
    refuse(400, "body.invalidField", {**window, "kind": "party"})
    refuse(400, "body.invalidField", {**nodes, "from": "tomorrow"})
    refuse(400, "body.missingField", {"kind": "maintenance", "nodes": ["node-1"]})
    refuse(400, "body.unknownField", {**nodes, "job": {"gpus": 1}})
    refuse(400, "body.invalidField", window)
    refuse(400, "body.notJson", "{")
    refuse(400, "body.tooDeep", "[" * 1000 + "]" * 1000)
    refuse(400, "body.wrongType", "[]")
    refuse(400, "body.duplicateField", '{"to": "a", "to": "b"}')
    refuse(400, "query.unknownParameter", nodes, query={"a": ""})
    refuse(412, "precondition.versionDiffers", nodes, headers={"If-Match": '"x.1"'})
    refuse(413, "http.bodyTooLarge", b" " * (1 << 20) + b"{}")
    refuse(415, "http.contentEncoding", "{}", headers={"Content-Encoding": "zstd"})
    refuse(415, "http.mediaType", b"{}", headers={"Content-Type": "text/plain"})
    for i in range(62):
        session.call("putReservation", 200, path={"name": f"r{i}"}, body=nodes)
    refuse(409, "reservations.tooMany", nodes)
    for i in range(62):
        session.call("removeReservation", 204, path={"name": f"r{i}"})
    session.call("removeReservation", 412, "precondition.versionDiffers", path={"name": "demo"}, headers={"If-Match": '"demo.1"'})
    session.call("removeReservation", 400, "query.unknownParameter", path={"name": "demo"}, query={"a": ""})
    session.call("removeReservation", 204, path={"name": "demo"}, headers={"If-Match": demo.header("ETag")})
    session.call("removeReservation", 204, path={"name": "firmware"})
    session.call("removeReservation", 404, "reservations.notFound", path={"name": "firmware"})
    session.call("getReservation", 404, "reservations.notFound", path={"name": "firmware"})
    session.call("getReservation", 400, "query.unknownParameter", path={"name": "firmware"}, query={"a": ""})
    for query, code in (({"limit": "0"}, "query.invalidNumber"), ({"user": "me"}, "query.unknownParameter")):
        session.call("listReservations", 400, code, query=query)


def repair(session):
    """Named losses move as few ranks as can be, and the nodes take nothing new."""
    made = submit(session, gpus=2, parallelism={"tensor": 2}, queue=False)
    name, node = made["id"], made["nodeList"][0]
    session.call("repairJob", 409, "jobs.notDamaged", path={"id": name}, body={})
    plan = session.call("repairJob", 200, path={"id": name}, query={"dryRun": "true"}, body={"gpus": [{"node": node, "gpu": 0}]}).json
    assert plan["within"] == "node" and len(plan["moves"]) == 1 and plan["drains"] == [f"{node}:0"], plan
    assert plan["lostGpuSeconds"] >= 0 and plan["predictedBefore"] is not None and plan["predictedAfter"] is not None, plan
    assert state_of(session, name) == "placed" and session.call("listDrains", 200).json["items"] == []
    moved = session.call("repairJob", 200, path={"id": name}, body={"nodes": [node], "reason": "burnt"},
                         headers={"If-Match": session.call("getJob", 200, path={"id": name}).header("ETag")}).json
    assert moved["predicted"]["communicationMs"] >= 0 and moved["withContention"]["basis"] == "routes", moved
    assert moved["nodeList"] != [node] and "burnt" in moved["history"][-1]["reason"], moved
    assert [drain["target"]["id"] if "target" in drain else drain["id"] for drain in session.call("listDrains", 200).json["items"]], "drained"
    session.call("repairJob", 409, "repair.noSpare", path={"id": name}, body={"nodes": [f"node-{n}" for n in range(1, NODES + 1)]})
    session.call("repairJob", 404, "nodes.notFound", path={"id": name}, body={"nodes": ["node-77"]})
    session.call("repairJob", 404, "nodes.notFound", path={"id": name}, body={"gpus": [{"node": "node-1", "gpu": 99}]})
    session.call("repairJob", 404, "jobs.notFound", path={"id": "job-999999"}, body={})
    session.call("repairJob", 412, "precondition.versionDiffers", path={"id": name}, body={}, headers={"If-Match": '"x.1"'})
    session.call("repairJob", 400, "query.invalidFlag", path={"id": name}, body={}, query={"dryRun": "maybe"})
    session.call("repairJob", 400, "query.unknownParameter", path={"id": name}, body={}, query={"dry": "true"})
    for body, code in (("{", "body.notJson"), ("[" * 1000 + "]" * 1000, "body.tooDeep"), ("[]", "body.wrongType"),
                       ('{"nodes": [], "nodes": []}', "body.duplicateField"), ({"node": "a"}, "body.unknownField"),
                       ({"gpus": 1}, "body.invalidField"), ({"gpus": [{"gpu": 1}]}, "body.missingField"),
                       ({"reason": "r" * 501}, "body.invalidField")):
        session.call("repairJob", 400, code, path={"id": name}, body=body)
    session.call("repairJob", 413, "http.bodyTooLarge", path={"id": name}, body=b" " * (1 << 20) + b"{}")
    session.call("repairJob", 415, "http.contentEncoding", path={"id": name}, body="{}", headers={"Content-Encoding": "zstd"})
    session.call("repairJob", 415, "http.mediaType", path={"id": name}, body=b"{}", headers={"Content-Type": "text/plain"})
    drains = {drain["id"] for drain in session.call("listDrains", 200).json["items"]}
    assert drains == {f"node-{n}" for n in range(1, NODES + 1)}, "lost nodes are kept, spares or not"
    for drained in drains:
        session.call("undrainNode", 204, path={"id": drained}, body={})
    drain = session.call("drainNode", 200, path={"id": node}, body={"gpu": 1}).json
    assert drain["kind"] == "gpu" and drain["id"] == f"{node}:1" and drain["state"] == "drained", drain
    session.call("drainNode", 404, "nodes.notFound", path={"id": node}, body={"gpu": 63})
    assert [one["id"] for one in session.call("listDrains", 200, query={"kind": "gpu"}).json["items"]] == [f"{node}:1"]
    session.call("undrainNode", 204, path={"id": node}, body={"gpu": 1})
    session.call("cancelJob", 200, path={"id": name})


def fragments(session):
    """Two jobs of half a node each, on nodes of their own, strand what a whole node needs; moving one frees it."""
    halves = [session.call("submitJob", 201, body=job(gpus=2, queue=False, nodes=[f"node-{n}"], parallelism={"tensor": 2})).json["id"]
              for n in (1, 2)]
    wide = submit(session, gpus=GPUS * 3, parallelism={"tensor": 4, "data": 3})
    assert wide["outcome"] == "queued", wide
    stranded = session.call("getStranded", 200).json
    assert stranded["freeGpus"] == ALL - 4 and stranded["jobsAskedAbout"] == 1 and stranded["strandedGpus"] >= 4, stranded
    assert {one["job"] for one in stranded["beside"]} <= set(halves), stranded
    steps = session.call("getDefragmentation", 200, query={"steps": "4", "restart": "PT2M"}).json["steps"]
    assert isinstance(steps, list), steps
    for query, code in (({"steps": "many"}, "query.invalidNumber"), ({"restart": "soon"}, "query.invalidDuration")):
        session.call("getDefragmentation", 400, code, query=query)
    for name in (*halves, wide["id"]):
        session.call("cancelJob", 200, path={"id": name})
    assert session.call("getStranded", 200).json["freeGpus"] == ALL
    session.call("putTopology", 200, body=fabric(), query={"source": "by hand"})


def yielded_places(session, ring):
    """With the place yielded another job starts on it, and the one that waits says from when on it takes any."""
    put = session.call("putQueuePolicy", 200, body={"placeWait": "PT6H", "placeWaitShare": 1.5, "placeWaitPlace": "yielded"}).json
    assert (put["placeWaitPlace"], put["placeWaitShare"]) == ("yielded", 1.5), put
    before = datetime.datetime.now(datetime.timezone.utc)
    yields = session.call("submitJob", 201, body=ring()).json
    assert yields["outcome"] == "queued" and yields["waits"]["code"] == "betterPlace", yields["waits"]
    assert yields["waits"]["startsBy"] is None, yields["waits"]
    until = datetime.datetime.fromisoformat(yields["waits"]["anyPlaceFrom"])
    assert abs((until - before).total_seconds() - 6 * 3600) < 30, (yields["waits"], "1.5 times 4 h, at most 6 h")
    assert yields["waits"]["predictedMs"] > 1.1 * yields["waits"]["bestMs"] > 0, yields["waits"]
    assert "leaves places where it would be at least" in yields["waits"]["reason"], yields["waits"]
    takes = submit(session, gpus=GPUS, name="takes", expectedDuration="PT1H")
    assert takes["outcome"] == "placed", takes["waits"]
    again = session.call("getJob", 200, path={"id": yields["id"]}).json
    assert again["history"][-1]["message"]["code"] == "waits.betterPlace", again["history"]
    session.call("completeJob", 200, path={"id": takes["id"]})
    session.call("cancelJob", 200, path={"id": yields["id"]})


def better_places(session):
    """A job that could start, but slowly, waits for a better place: it keeps its GPUs, others pass, and it says until when."""
    def small(node, **fields):
        return submit(session, gpus=2, nodes=[f"node-{node}"], expectedDuration="PT9H", **fields)["id"]

    def ring(**fields):
        return job(gpus=GPUS, name="ring", traffic={"data": {"bytesPerStep": 8e9, "callsPerStep": 1}},
                   **{"expectedDuration": "PT4H", **fields})

    rules = session.call("getQueuePolicy", 200).json
    assert (rules["placeWait"], rules["placeWaitShare"], rules["placeWaitGain"]) == ("PT30M", 0.05, 0.1), rules
    for field, value in (("placeWait", "soon"), ("placeWaitShare", "x"), ("placeWaitPlace", "shared")):
        session.call("putQueuePolicy", 400, "body.invalidField", body={field: value})
    for field, value in (("placeWaitShare", 100.5), ("placeWaitGain", -1)):
        session.call("putQueuePolicy", 400, "queue.invalidPolicy", body={field: value})
    running = {node: small(node) for node in (1, 2, 3)}
    filler = submit(session, gpus=GPUS, nodes=["node-4"])["id"]

    before = datetime.datetime.now(datetime.timezone.utc)
    waits = session.call("submitJob", 201, body=ring()).json
    assert waits["outcome"] == "queued" and waits["waits"]["code"] == "betterPlace", waits["waits"]
    by = datetime.datetime.fromisoformat(waits["waits"]["startsBy"])
    assert abs((by - before).total_seconds() - 12 * 60) < 30, (waits["waits"], "5% of 4 h")
    assert waits["waits"]["predictedMs"] > 1.1 * waits["waits"]["bestMs"] > 0, waits["waits"]
    assert "% slower than at its best" in waits["waits"]["reason"], waits["waits"]
    assert waits["history"][-1]["message"]["code"] == "waits.betterPlace", waits["history"]
    event = [one for one in session.call("listEvents", 200, query={"type": "job.waits"}).json["items"]][-1]
    assert event["data"]["code"] == "betterPlace" and event["data"]["placeUntilUs"] > 0, event
    assert waits["waits"]["anyPlaceFrom"] is None, waits["waits"]
    session.call("submitJob", 409, body=job(gpus=GPUS, queue=False))  # four GPUs are kept
    passes = submit(session, gpus=2, name="passes")
    assert passes["outcome"] == "placed", passes["waits"]

    session.call("completeJob", 200, path={"id": filler})
    started = session.begun(waits["id"])
    assert started["state"] == "placed" and started["nodeList"] == ["node-4"], started["nodeList"]
    assert started["history"][-1]["message"]["code"] == "queue.betterPlace", started["history"]
    session.call("completeJob", 200, path={"id": started["id"]})
    session.call("completeJob", 200, path={"id": passes["id"]})

    blocks = submit(session, gpus=GPUS, nodes=["node-4"])["id"]
    for change in ({"expectedDuration": None}, {"traffic": None}):
        fields = {name: value for name, value in {**ring(), **change}.items() if value is not None}
        at_once = session.call("submitJob", 201, body=fields).json
        waits_too = at_once["waits"] and at_once["waits"]["code"] == "betterPlace"
        assert not (waits_too and "expectedDuration" in change), "it says no duration"
        session.call("cancelJob", 200, path={"id": at_once["id"]})
    yielded_places(session, ring)
    session.call("putQueuePolicy", 200, body={"placeWait": "PT0S"})
    at_once = session.call("submitJob", 201, body=ring()).json
    assert at_once["outcome"] == "placed", at_once["waits"]
    for name in (at_once["id"], blocks, *running.values()):
        session.call("completeJob", 200, path={"id": name})
    session.call("putQueuePolicy", 200, body={})


CASES = [waiting_jobs, beside_the_queue, policy, priority_classes, eviction, quotas, reservations, repair, fragments, better_places]
