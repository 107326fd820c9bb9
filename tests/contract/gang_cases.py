"""Gangs: roles of different size start together or not at all, together in a group of a level or apart."""
import itertools
import random

from small_fabric import GPUS, NODES

TENANT = "research"
RACK_OF = {f"node-{n}": "A" if n <= 2 else "B" for n in range(1, NODES + 1)}


def role(name, **fields):
    return {"name": name, "tenant": TENANT, "key": fields.pop("key", name), "expectedDuration": "PT1H", **fields}


def whole(name, nodes, **fields):
    return role(name, parallelism={"tensor": GPUS, "data": nodes}, **fields)


def ask(session, items, **gang):
    body = {"items": [{name: value for name, value in item.items() if name != "key"} for item in items], "gang": gang}
    return session.call("queryPlacements", 200, body=body, query={"ranks": "true"}).json["items"]


def submit(session, items, **gang):
    return session.call("submitJobs", 200, body={"items": items, "gang": gang}).json["items"]


def nodes_of(item):
    return {rank["node"] for rank in item["placement"]["ranks"]["items"]}


def running(session):
    return {one["id"] for one in session.call("listJobs", 200, query={"state": "placed", "limit": "1000"}).json["items"]}


def end(session, names):
    for name in names:
        session.call("cancelJob", 200, path={"id": name})


def all_or_none(session):
    before = running(session)
    fits = [whole("prefill", 1), whole("decode", 2), role("leader", gpus=1)]
    planned = ask(session, fits)
    assert [item["placement"]["outcome"] for item in planned] == ["placed"] * 3, planned
    made = submit(session, fits)
    assert [item["status"] for item in made] == [201] * 3, made
    ids = [item["job"]["id"] for item in made]
    for item, job in zip(planned, ids):
        ranks = session.call("listRanks", 200, path={"id": job}).json["items"]
        assert {rank["node"] for rank in ranks} == nodes_of(item), "what was asked is what is done"
    again = submit(session, fits)
    assert [item["status"] for item in again] == [200] * 3 and [item["job"]["id"] for item in again] == ids, again
    large = [whole("prefill", 1, key="p2"), whole("decode", 2, key="d2")]
    refused = submit(session, large)
    assert [item["status"] for item in refused] == [409, 409], refused
    codes = [item["problem"]["code"] for item in refused]
    assert codes.count("gang.notPlaced") == 1 and running(session) == before | set(ids), codes
    asked = ask(session, large)
    assert [item["problem"]["code"] for item in asked] == codes, asked
    end(session, ids)
    never = submit(session, [whole("a", 1, key="n1"), whole("b", NODES + 1, key="n2")])
    assert [item["status"] for item in never] == [422, 422], never


def rules(session):
    pair = [whole("prefill", 1), whole("decode", 1)]
    planned = ask(session, pair, together=[{"roles": ["prefill", "decode"], "level": "rack"}])
    racks = {RACK_OF[node] for item in planned for node in nodes_of(item)}
    assert len(racks) == 1, planned
    planned = ask(session, pair, apart=[{"roles": ["prefill", "decode"], "level": "rack"}])
    racks = [{RACK_OF[node] for node in nodes_of(item)} for item in planned]
    assert not racks[0] & racks[1], racks
    # The rack that the first role would rather take has no room for the second: another one is tried.
    busy = session.call("submitJob", 201, body={"name": "busy", "tenant": TENANT, "gpus": GPUS, "gpusPerNode": GPUS}).json
    taken = {rank["node"] for rank in session.call("listRanks", 200, path={"id": busy["id"]}).json["items"]}
    made = submit(session, [whole("first", 1, key="r1"), whole("second", 1, key="r2")],
                  together=[{"roles": ["first", "second"], "level": "rack"}])
    assert [item["status"] for item in made] == [201, 201], made
    ids = [item["job"]["id"] for item in made]
    nodes = [rank["node"] for job in ids for rank in session.call("listRanks", 200, path={"id": job}).json["items"]]
    assert {RACK_OF[node] for node in nodes} == {"A", "B"} - {RACK_OF[node] for node in taken}, nodes
    assert session.call("getJob", 200, path={"id": ids[1]}).json["spec"]["nodes"], "a repair keeps to the rule"
    end(session, [*ids, busy["id"]])


def refusals(session):
    two = [whole("a", 1), whole("b", 1)]
    for gang, pointer in (({"together": {}}, "/gang/together"), ({"together": [{"roles": ["a", "x"], "level": "rack"}]}, "/gang"),
                          ({"apart": [{"roles": ["a"], "level": "shelf"}]}, "/gang/apart/0/level")):
        problem = session.call("submitJobs", 400, "body.invalidField", body={"items": two, "gang": gang}).json
        assert problem["errors"][0]["pointer"] == pointer, problem
    session.call("submitJobs", 400, "body.missingField", body={"items": two, "gang": {"apart": [{"roles": ["a"]}]}})
    session.call("submitJobs", 400, "body.unknownField", body={"items": two, "gang": {"near": []}})
    session.call("submitJobs", 400, "body.invalidField", body={"items": [{**two[0], "queue": True}], "gang": {}})
    # A promise of what is sent to another role needs one to send to, and a guarantee that it is a part of.
    asks = {"bandwidth": {"betweenRolesGbpsPerPort": 1}}
    problem = session.call("submitJob", 400, "body.invalidField", body={"tenant": TENANT, "gpus": 1, **asks}).json
    assert problem["errors"][0]["pointer"] == "/bandwidth/betweenRolesGbpsPerPort", problem
    traffic = [{"from": "a", "to": "b", "bytesPerStep": 1e9}]
    session.call("submitJobs", 400, "body.invalidField", body={"items": [two[0], {**two[1], **asks}], "gang": {"traffic": traffic}})
    refused = submit(session, [{**two[0], **asks, "key": "b1"}, {**two[1], "key": "b2"}], traffic=traffic)
    assert [item["problem"]["code"] for item in refused] == ["admission.betweenRoles", "gang.notPlaced"], refused


def by_chance(session):
    """Against every way to lay whole nodes out, counted from racks alone."""
    chance = random.Random(13)
    for turn in range(10):
        busy = [session.call("submitJob", 201, body={"name": "busy", "tenant": TENANT, "gpus": GPUS, "gpusPerNode": GPUS}).json["id"]
                for _ in range(chance.randrange(3))]
        taken = {rank["node"] for job in busy for rank in session.call("listRanks", 200, path={"id": job}).json["items"]}
        free = [node for node in RACK_OF if node not in taken]
        sizes = {"a": chance.randint(1, 2), "b": chance.randint(1, 2)}
        kind = chance.choice(["together", "apart"])
        possible = any(
            not set(first) & set(second) and
            ((len({RACK_OF[n] for n in first + second}) == 1) if kind == "together" else
             not {RACK_OF[n] for n in first} & {RACK_OF[n] for n in second})
            for first in itertools.combinations(free, sizes["a"]) for second in itertools.combinations(free, sizes["b"]))
        answer = ask(session, [whole(name, count) for name, count in sizes.items()],
                     **{kind: [{"roles": ["a", "b"], "level": "rack"}]})
        placed = all("placement" in item and item["placement"]["outcome"] == "placed" for item in answer)
        if kind == "together":
            assert placed == possible, (turn, taken, sizes, kind, answer)
        elif placed:
            racks = [{RACK_OF[node] for node in nodes_of(item)} for item in answer]
            assert not racks[0] & racks[1], (turn, racks)
        end(session, busy)


def cpu_roles(session):
    """Members without GPUs: with their job, then where no whole node is broken, then near it."""
    def seats(answer):
        return {one["name"]: one["nodes"] for one in answer["placement"]["cpuRoles"]}

    pair = [whole("prefill", 1, key="c1", cpuRoles=[{"name": "router", "members": 2}]), whole("decode", 2, key="c2", cpuRoles=[{"name": "loader", "members": 4}])]
    planned = ask(session, pair)
    assert seats(planned[0]["placement"]) == {"router": sorted(nodes_of(planned[0])) * 2}, planned[0]
    loaders = seats(planned[1]["placement"])["loader"]
    assert set(loaders) == nodes_of(planned[1]) and all(loaders.count(node) == 2 for node in loaders), loaders
    made = submit(session, pair)
    assert [seats(item["job"]) for item in made] == [seats(item["placement"]) for item in planned], made
    end(session, [item["job"]["id"] for item in made])

    busy = session.call("submitJob", 201, body={"name": "busy", "tenant": TENANT, "gpus": 1, "nodes": ["node-3"]}).json["id"]
    roles = [{"name": "loader", "members": 3, "maxPerNode": 1}, {"name": "driver"}]
    body = {"name": "own", "tenant": TENANT, "gpus": 4, "gpusPerNode": 4, "topology": {"job": {"required": "node"}}, "cpuRoles": roles}
    job = session.call("submitJob", 201, body=body).json
    own = next(iter({rank["node"] for rank in session.call("listRanks", 200, path={"id": job["id"]}).json["items"]}))
    assert job["spec"]["cpuRoles"][0] == roles[0], job
    beside = {"node-1": "node-2", "node-2": "node-1", "node-4": None}[own]
    taken = seats(job)
    assert taken["driver"] == [own] and taken["loader"][:2] == [own, "node-3"], "node-3 is no longer whole"
    assert beside is None or taken["loader"][2] == beside, ("the nearest of the whole ones", taken)
    # Its third member leaves a node that is lost; the others stay.
    last = taken["loader"][2]
    repaired = session.call("repairJob", 200, path={"id": job["id"]}, body={"nodes": [last]}).json
    moved = seats(repaired)
    assert moved["loader"][:2] == taken["loader"][:2] and moved["loader"][2] not in taken["loader"], (taken, moved)
    assert seats(session.call("getJob", 200, path={"id": job["id"]}).json) == moved
    few = {**body, "nodes": [own, "node-3", last], "gpus": 1, "gpusPerNode": 1}
    session.call("submitJob", 409, "jobs.noCpuNodes", body={**few, "cpuRoles": [{"name": "a", "members": 3, "maxPerNode": 1}]})
    session.call("undrainNode", 204, path={"id": last}, body={})
    end(session, [job["id"], busy])
    many = {"name": "many", "tenant": TENANT, "gpus": 1, "cpuRoles": [{"name": "a", "members": NODES + 1, "maxPerNode": 1}]}
    asked = session.call("queryPlacement", 200, body=many).json
    assert (asked["outcome"], asked["code"]) == ("never", "jobs.noCpuNodes") and "with 2 on a node" in asked["reason"], asked
    session.call("submitJob", 422, "jobs.noCpuNodes", body=many)
    for wrong, pointer in (([{"name": "a", "members": 0}], "/cpuRoles/0/members"), ([{"name": "a"}, {"name": "a"}], "/cpuRoles/1/name")):
        problem = session.call("submitJob", 400, "jobs.invalid", body={**many, "cpuRoles": wrong}).json
        assert problem["errors"][0]["pointer"] == pointer, problem
    session.call("submitJob", 400, "body.invalidField", body={**many, "cpuRoles": [{"name": "a", "maxPerNode": 0}]})


def traffic(session):
    """What roles send each other: kept by both jobs, predicted of the later one, asked for as it is then done."""
    pair = [whole("prefill", 1, key="t1"), whole("decode", 2, key="t2")]
    flow = {"from": "prefill", "to": "decode", "bytesPerStep": 4e9}
    alone = ask(session, pair)
    planned = ask(session, pair, traffic=[flow])
    times = [item["placement"]["predicted"]["byGroup"].get("roles") for item in planned]
    assert times[0] is None and times[1] > 0, planned
    assert all("roles" not in item["placement"]["predicted"]["byGroup"] for item in alone), alone
    assert planned[1]["placement"]["predicted"]["algorithms"]["roles"] == "pointToPoint", planned
    twice = ask(session, pair, traffic=[{**flow, "bytesPerStep": 8e9}])
    assert twice[1]["placement"]["predicted"]["byGroup"]["roles"] > times[1] * 1.5, (twice, times)
    made = submit(session, pair, traffic=[{**flow, "spread": "byRank"}])
    first, second = (session.call("getJob", 200, path={"id": item["job"]["id"]}).json for item in made)
    assert first["spec"]["peers"] == [{"job": second["id"], "role": "decode", "sends": True, "bytesPerStep": 4e9,
                                       "spread": "byRank", "counted": False}], first
    assert second["spec"]["peers"] == [{"job": first["id"], "role": "prefill", "sends": False, "bytesPerStep": 4e9,
                                        "spread": "byRank", "counted": True}], second
    assert second["withContention"]["byGroup"]["roles"] > 0 and "roles" not in first["withContention"]["byGroup"], second
    assert [item["status"] for item in submit(session, pair, traffic=[{**flow, "spread": "byRank"}])] == [200, 200]
    for job, peer, sends in ((first, second, True), (second, first, False)):
        exchanged = session.call("getJobTraffic", 200, path={"id": job["id"]}).json["roles"]
        assert [(one["job"], one["role"], one["sends"], one["bytes"]) for one in exchanged] == [
            (peer["id"], peer["spec"]["name"], sends, 4e9)], exchanged
        assert exchanged[0]["over"] == "leaf", f"rank by rank, on one rail: {exchanged}"
        assert exchanged[0]["gbps"] is None or exchanged[0]["gbps"] > 0, exchanged
    # Its peer gone, nothing is sent to it any more.
    end(session, [first["id"]])
    assert session.call("getJobTraffic", 200, path={"id": second["id"]}).json["roles"] == []
    left = session.call("getJob", 200, path={"id": second["id"]}).json
    assert "roles" not in left["withContention"]["byGroup"] and left["spec"]["peers"], left
    end(session, [second["id"]])
    together = ask(session, pair[:1] + [whole("decode", 1)], traffic=[flow], apart=[{"roles": ["prefill", "decode"], "level": "rack"}])
    assert {RACK_OF[node] for item in together for node in nodes_of(item)} == {"A", "B"}, together
    for wrong, pointer in (({**flow, "to": "router"}, "/gang/traffic/0/to"), ({**flow, "to": "prefill"}, "/gang/traffic/0/to"),
                           ({**flow, "spread": "some"}, "/gang/traffic/0/spread"), ({**flow, "bytesPerStep": -1}, "/gang/traffic/0/bytesPerStep")):
        problem = session.call("submitJobs", 400, "body.invalidField", body={"items": pair, "gang": {"traffic": [wrong]}}).json
        assert problem["errors"][0]["pointer"] == pointer, problem
    asked = {"name": "own", "tenant": TENANT, "gpus": 1, "peers": first["spec"]["peers"]}
    session.call("submitJob", 400, "body.unknownField", body=asked)
    session.call("queryPlacement", 400, "body.unknownField", body=asked)
    session.call("putReservation", 400, "body.unknownField", path={"name": "room"},
                 body={"kind": "reservation", "from": "2099-01-01T00:00:00Z", "to": "2099-01-02T00:00:00Z", "job": asked})


CASES = [all_or_none, rules, refusals, by_chance, cpu_roles, traffic]
