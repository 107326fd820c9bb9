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


CASES = [all_or_none, rules, refusals, by_chance]
