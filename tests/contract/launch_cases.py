"""Jobs that a launcher acknowledges: offered, accepted, running, releasing, freed."""
from guarantee_cases import TERMS
from queue_cases import ALL, job, state_of, submit
from small_fabric import GPUS
from waiting import until


def launched(session, **fields):
    return submit(session, launcher={"acknowledges": True, "acceptWithin": "PT5M"}, **fields)


def acknowledged(session):
    offered = launched(session)
    name = offered["id"]
    assert offered["phase"] == "offered" and offered["launcher"]["deadline"] and offered["launcher"]["acceptWithin"] == "PT5M", offered
    assert offered["launcher"]["release"] is None and offered["launcher"]["expiredOffers"] == 0, offered["launcher"]
    session.call("freedJob", 409, "jobs.notReleasing", path={"id": name})
    accepted = session.call("acceptJob", 200, path={"id": name}).json
    assert accepted["phase"] == "accepted" and accepted["version"] > offered["version"], accepted
    assert session.call("acceptJob", 200, path={"id": name}).json["version"] == accepted["version"], "the same again"
    running = session.call("runningJob", 200, path={"id": name}).json
    assert running["phase"] == "running" and running["launcher"]["deadline"] is None, running
    waits = launched(session, name="waits")["id"]
    for operation in ("acceptJob", "runningJob"):
        session.call(operation, 409, "jobs.notOffered", path={"id": waits})
    releasing = session.call("completeJob", 200, path={"id": name}, query={"reason": "trained"}).json
    assert releasing["state"] == "placed" and releasing["phase"] == "releasing", releasing
    release = releasing["launcher"]["release"]
    assert release["becomes"] == "completed" and release["reason"] == "trained" and not release["overdue"], release
    assert state_of(session, waits) == "queued", "its GPUs are not free"
    for operation in ("acceptJob", "runningJob"):
        session.call(operation, 409, "jobs.releasing", path={"id": name})
    session.call("repairJob", 409, "jobs.releasing", path={"id": name}, body={})
    session.call("freedJob", 422, "jobs.notItsNode", path={"id": name}, body={"nodes": ["node-99"]})
    session.call("freedJob", 409, "jobs.launcherFirst", path={"id": name}, body={"by": "node"})
    part = session.call("freedJob", 200, path={"id": name}, body={"nodes": releasing["nodeList"][:1]}).json
    assert part["launcher"]["release"]["freedNodes"] == releasing["nodeList"][:1], part["launcher"]
    assert state_of(session, waits) == "queued", "one node is not enough"
    ended = session.call("freedJob", 200, path={"id": name}).json
    assert ended["state"] == "completed" and ended["phase"] is None and ended["launcher"]["release"] is None, ended
    assert session.call("freedJob", 200, path={"id": name}).json["version"] == ended["version"], "the same again"
    for operation in ("acceptJob", "runningJob"):
        session.call(operation, 409, "jobs.ended", path={"id": name})
    kinds = [event["type"] for event in session.call("listEvents", 200, query={"subject": f"job/{name}"}).json["items"]]
    assert [kind for kind in kinds if kind in ("job.accepted", "job.running", "job.releasing", "job.freed", "job.ended")] == \
        ["job.accepted", "job.running", "job.releasing", "job.freed", "job.freed", "job.ended"], kinds
    session.call("runningJob", 200, path={"id": waits})
    assert session.call("completeJob", 200, path={"id": waits}, query={"freed": "true"}).json["state"] == "completed"
    cancelled = launched(session, name="cancelled", gpus=GPUS)["id"]
    assert session.call("cancelJob", 200, path={"id": cancelled}).json["state"] == "cancelled", "nothing of an offer runs"
    plain = submit(session, name="plain", gpus=1)
    assert plain["phase"] == "running" and plain["launcher"] is None, plain
    assert session.call("runningJob", 200, path={"id": plain["id"]}).json["version"] == plain["version"]
    session.call("cancelJob", 200, path={"id": plain["id"]})


def refused(session):
    name = launched(session)["id"]
    for body in ({"acceptWithin": "PT0S"}, {"runWithin": "soon"}, {"releaseWithin": "P8D"}):
        session.call("submitJob", 400, "body.invalidField", body=job(ALL, launcher=body))
    session.call("submitJob", 400, "body.unknownField", body=job(ALL, launcher={"deadline": "PT1M"}))
    for operation in ("acceptJob", "runningJob", "freedJob"):
        session.call(operation, 404, "jobs.notFound", path={"id": "job-999999"})
        session.call(operation, 400, "query.unknownParameter", path={"id": name}, query={"force": "true"})
    for body, code in (("{", "body.notJson"), ("[" * 1000 + "]" * 1000, "body.tooDeep"), ("[]", "body.wrongType"),
                       ('{"by": "node", "by": "node"}', "body.duplicateField"), ({"nodes": []}, "body.invalidField"),
                       ({"by": "rank"}, "body.invalidField"), ({"all": True}, "body.unknownField")):
        session.call("freedJob", 400, code, path={"id": name}, body=body)
    session.call("freedJob", 413, "http.bodyTooLarge", path={"id": name}, body=b" " * (9 << 20) + b"{}")
    session.call("freedJob", 415, "http.contentEncoding", path={"id": name}, body="{}", headers={"Content-Encoding": "zstd"})
    session.call("freedJob", 415, "http.mediaType", path={"id": name}, body=b"{}", headers={"Content-Type": "text/plain"})
    session.call("cancelJob", 200, path={"id": name})


def job_when(session, name, condition):
    def found():
        seen = session.call("getJob", 200, path={"id": name}).json
        return seen if condition(seen) else None

    return until(f"a condition of {name}", found)


def deadlines(session):
    offered = submit(session, launcher={"acceptWithin": "PT1S", "releaseWithin": "PT1S"})["id"]
    back = job_when(session, offered, lambda found: found["state"] == "queued")
    assert back["launcher"]["expiredOffers"] == 1 and back["phase"] is None and back["waits"]["code"] == "notBefore", back
    session.call("cancelJob", 200, path={"id": offered})
    name = submit(session, launcher={"releaseWithin": "PT1S"})["id"]
    session.call("runningJob", 200, path={"id": name})
    session.call("completeJob", 200, path={"id": name})
    late = job_when(session, name, lambda found: found["launcher"]["release"]["overdue"])
    assert late["state"] == "placed" and late["launcher"]["deadline"] is None, late
    assert session.call("getAlarm", 200, path={"id": f"job.notFreed:{name}"}).json["jobs"] == [name]
    session.call("freedJob", 200, path={"id": name}, body={"by": "node"})
    assert state_of(session, name) == "completed"
    session.call("getAlarm", 404, "alarms.notFound", path={"id": f"job.notFreed:{name}"})


def moves(session):
    """A job of three GPUs on each of the four nodes; one that wants two of one node waits until one of them moves."""
    names = [submit(session, name="trains", gpus=3, minRuntime="PT0S", launcher={"checkpointable": True})["id"] for _ in range(4)]
    assert session.call("getJob", 200, path={"id": names[0]}).json["launcher"]["checkpointable"]
    for name in names:
        for operation in ("acceptMove", "declineMove"):
            session.call(operation, 409, "jobs.noMove", path={"id": name})
    session.call("offerMoves", 409, "moves.nothingWaits", body={})
    session.call("getDefragmentation", 409, "moves.nothingWaits", query={"for": "head"})
    waits = submit(session, name="waits", gpus=None, parallelism={"tensor": 2})["id"]
    session.call("putTenant", 200, path={"name": "promised"}, body={})
    session.call("putContract", 200, path={"tenant": "promised"}, body=TERMS)
    promised = submit(session, name="promised", tenant="promised", gpus=None, parallelism={"tensor": 2})["id"]
    session.call("offerMoves", 409, "moves.guaranteed", body={"for": promised})
    session.call("getDefragmentation", 409, "moves.guaranteed", query={"for": promised})
    session.call("cancelJob", 200, path={"id": promised})
    session.call("removeContract", 204, path={"tenant": "promised"})
    session.call("removeTenant", 204, path={"name": "promised"})
    session.call("offerMoves", 409, "moves.none", body={"for": waits})  # none of them runs yet
    session.call("getDefragmentation", 409, "moves.none", query={"for": waits})
    for name in names:
        session.call("runningJob", 200, path={"id": name})
    plan = session.call("getDefragmentation", 200, query={"for": "head"}).json
    assert plan["inFavourOf"] == waits and len(plan["steps"][0]["moves"]) == 1, plan
    assert session.call("listMoves", 200).json["moves"] == []
    [offer] = session.call("offerMoves", 200, body={"for": "head"}).json["moves"]
    assert offer["state"] == "offered" and offer["inFavourOf"] == waits and len(offer["ranks"]) == 3, offer
    session.call("declineMove", 200, path={"id": offer["job"]})
    assert session.call("listMoves", 200).json["moves"] == []
    [offer] = session.call("offerMoves", 200, body={"for": waits}).json["moves"]
    accepted = session.call("acceptMove", 200, path={"id": offer["job"]}).json
    assert accepted["phase"] == "releasing" and accepted["launcher"]["move"]["state"] == "moving", accepted["launcher"]
    assert session.call("acceptMove", 200, path={"id": offer["job"]}).json["version"] == accepted["version"], "the same again"
    session.call("declineMove", 409, "jobs.moves", path={"id": offer["job"]})
    moved = session.call("freedJob", 200, path={"id": offer["job"]}).json
    assert moved["state"] == "placed" and moved["phase"] == "offered" and moved["launcher"]["move"] is None, moved
    assert state_of(session, waits) == "placed"
    session.call("offerMoves", 409, "jobs.notQueued", body={"for": waits})
    session.call("getDefragmentation", 409, "jobs.notQueued", query={"for": waits})
    later = submit(session, name="later", gpus=1, notBefore="2100-01-01T00:00:00Z")["id"]
    session.call("offerMoves", 409, "moves.notNeeded", body={"for": later})
    session.call("getDefragmentation", 409, "moves.notNeeded", query={"for": later})
    session.call("cancelJob", 200, path={"id": later})
    for operation, inputs in (("offerMoves", {"body": {"for": "job-999999"}}), ("getDefragmentation", {"query": {"for": "job-999999"}}),
                              ("acceptMove", {"path": {"id": "job-999999"}}), ("declineMove", {"path": {"id": "job-999999"}})):
        session.call(operation, 404, "jobs.notFound", **inputs)
    for operation in ("listMoves", "acceptMove", "declineMove"):
        session.call(operation, 400, "query.unknownParameter", query={"force": "true"},
                     **({} if operation == "listMoves" else {"path": {"id": waits}}))
    session.call("offerMoves", 400, "query.unknownParameter", query={"force": "true"}, body={})
    session.call("offerMoves", 400, "moves.invalidTarget", body={"for": "all"})
    session.call("getDefragmentation", 400, "moves.invalidTarget", query={"for": "all"})
    for body, code in (("{", "body.notJson"), ("[]", "body.wrongType"), ({"steps": 999}, "body.invalidField"),
                       ({"all": True}, "body.unknownField")):
        session.call("offerMoves", 400, code, body=body)
    for name in (*names, waits):
        session.call("completeJob", 200, path={"id": name}, query={"freed": "true"})


def left(session):
    """Ranks of a job on one of the four nodes are moved off it: its GPUs pass on when its launcher has freed them."""
    name = submit(session, name="trains", gpus=None, parallelism={"tensor": GPUS}, launcher={})["id"]
    offered = session.call("runningJob", 200, path={"id": name}).json
    [node] = offered["nodeList"]
    assert offered["launcher"]["left"] == [] and not offered["launcher"]["leftOverdue"], offered["launcher"]
    moved = session.call("repairJob", 200, path={"id": name}, body={"nodes": [node]}).json
    assert moved["launcher"]["left"] == [f"{node}:{gpu}" for gpu in range(GPUS)] and moved["launcher"]["deadline"], moved["launcher"]
    session.call("undrainNode", 204, path={"id": node}, body={})
    everywhere = submit(session, name="everywhere", gpus=GPUS * 3)["id"]
    assert state_of(session, everywhere) == "queued", "its processes may still run there"
    session.call("freedJob", 422, "jobs.notItsNode", path={"id": name}, body={"nodes": moved["nodeList"]})
    session.call("freedJob", 409, "jobs.launcherFirst", path={"id": name}, body={"nodes": [node], "by": "node"})
    before = {"If-Match": f'"{name}.{offered["version"]}"'}
    session.call("freedJob", 412, "precondition.versionDiffers", path={"id": name}, body={"nodes": [node]}, headers=before)
    now = {"If-Match": session.call("getJob", 200, path={"id": name}).header("ETag")}
    freed = session.call("freedJob", 200, path={"id": name}, body={"nodes": [node]}, headers=now).json
    assert freed["phase"] == "running" and freed["launcher"]["left"] == [] and freed["launcher"]["deadline"] is None, freed["launcher"]
    assert state_of(session, everywhere) == "placed"
    session.call("cancelJob", 200, path={"id": everywhere})
    session.call("completeJob", 200, path={"id": name}, query={"freed": "true"})


CASES = [acknowledged, refused, deadlines, moves, left]
