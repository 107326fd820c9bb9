"""A job whose ranks no links join is refused, and says between whom; models of GPUs are not mixed unless that is asked."""
import functools

from job_cases import job
from small_fabric import fabric, guid

BRIDGE = f"{guid(1)}/16--{guid(2)}/16"


def two_islands(joined, labels=("h100", "h100")):
    """Two nodes of one GPU, each on a leaf of its own; a cable joins the leaves or not."""
    hosts = [{"name": f"node-{n}", "labels": {"gpu": labels[n - 1]},
              "adapters": [{"guid": guid(0x100 + n), "device": "mlx5_0", "ports": [{"lid": 10 + n}]}],
              "gpus": [{"nics": [0]}]} for n in (1, 2)]
    return {"railweave": "fabric", "version": 1, "subnets": [{"name": "compute", "kind": "compute"}],
            "switches": [{"guid": guid(n), "name": f"leaf-{n}", "ports": 16, "subnet": "compute", "lid": n} for n in (1, 2)],
            "hosts": hosts, "linkSpecs": [{"speed": "NDR", "width": 4}],
            "links": [[0, 1, 2, 1, 0], [1, 1, 3, 1, 0]] + ([[0, 16, 1, 16, 0]] if joined else [])}


def paths(session):
    both = {"parallelism": {"data": 2}}
    session.call("putTopology", 200, body=two_islands(True))
    assert session.call("queryPlacement", 200, body=both).json["outcome"] == "placed"
    session.call("drainLink", 200, path={"id": BRIDGE}, body={"force": True})
    answer = session.call("queryPlacement", 200, body=both).json
    assert (answer["outcome"], answer["code"]) == ("notNow", "jobs.noCapacityAtLevel"), answer
    assert answer["explanation"]["excluded"] == [{"reason": "cutOff", "nodes": 1, "examples": ["node-2"]}], answer
    problem = session.call("submitJob", 409, "jobs.noCapacityAtLevel", body=job(**both)).json
    assert problem["detail"] == answer["reason"], problem
    waiting = session.call("submitJob", 201, body={**job(**both), "queue": True}).json
    assert waiting["state"] == "queued", waiting
    session.call("undrainLink", 204, path={"id": BRIDGE})
    shown = session.call("getJob", 200, path={"id": waiting["id"]}).json
    assert shown["state"] == "placed" and shown["predicted"]["reachable"], shown
    session.call("cancelJob", 200, path={"id": waiting["id"]})

    session.call("putTopology", 200, body=two_islands(False))
    assert session.call("queryPlacement", 200, body=both).json["outcome"] == "never"
    session.call("submitJob", 422, "jobs.neverFits", body=job(**both))

    session.call("putTopology", 200, body=two_islands(True, ("b200", "h100")))
    answer = session.call("queryPlacement", 200, body=both).json
    assert answer["outcome"] == "never" and "does not mix models" in answer["reason"], answer
    answer = session.call("queryPlacement", 200, body={**both, "mixedGpus": True}).json
    assert answer["outcome"] == "placed" and "H100, B200" in answer["warnings"][0], answer
    mixed = session.call("submitJob", 201, body=job(**both, mixedGpus=True)).json
    assert mixed["spec"]["mixedGpus"] is True, mixed
    session.call("cancelJob", 200, path={"id": mixed["id"]})


def experts(session):
    """Megatron counts experts inside data parallelism; the product form stays what it was."""
    product = {"parallelism": {"tensor": 2, "data": 2, "expert": 2}}
    first = session.call("queryPlacement", 200, body=product, query={"ranks": "true"}).json
    assert first["ranks"]["count"] == 8, first
    inside = {"parallelism": {"tensor": 2, "data": 4, "expert": 2, "expertsOver": "data"}}
    answer = session.call("queryPlacement", 200, body=inside, query={"ranks": "true"}).json
    assert answer["ranks"]["count"] == 8, answer
    items = answer["ranks"]["items"]
    assert [rank["dp"] for rank in items] == [0, 0, 1, 1, 2, 2, 3, 3], items
    assert [rank["ep"] for rank in items] == [0, 0, 1, 1, 0, 0, 1, 1], items
    of_product = session.call("queryPlacement", 200, body=product).json
    assert answer["predicted"] == of_product["predicted"], "the same groups, counted differently"
    stored = session.call("submitJob", 201, body=job(**inside)).json
    assert stored["spec"]["parallelism"] == {"tensor": 2, "pipeline": 1, "data": 4, "context": 1, "expert": 2,
                                             "expertsOver": "data"}, stored["spec"]
    session.call("cancelJob", 200, path={"id": stored["id"]})
    session.call("queryPlacement", 400, "body.invalidField", body={"parallelism": {**inside["parallelism"], "expert": 3}})
    session.call("queryPlacement", 400, "body.invalidField",
                 body={"parallelism": {**inside["parallelism"], "expertsOver": "pipeline"}})


def between_sites(session):
    """Links between sites are known beside others, and to contracts."""
    value = two_islands(False)
    value["sites"] = ["east", "west"]
    value["siteLinks"] = [{"a": "east", "b": "west", "links": 1, "rateMbps": 100000, "latencyUs": 500}]
    for site, host, switch in zip(value["sites"], value["hosts"], value["switches"]):
        host["site"] = switch["site"] = site
    session.call("putTopology", 200, body=value)
    across = {"parallelism": {"data": 2}, "topology": {"acrossSites": True},
              "traffic": {"data": {"bytesPerStep": 8e9}}}
    answer = session.call("queryPlacement", 200, body=across).json
    assert answer["outcome"] == "placed" and answer["placement"]["sites"] == ["east", "west"], answer
    shared = answer["withContention"]
    assert shared["reachable"] and shared["slowdown"] == 1 and shared["basis"] == "routes", shared
    near(shared["alone"]["communicationMs"], answer["predicted"]["communicationMs"])
    # Half of 8 GB to the other site and half back, at 100 Gb/s, twice: 640 ms and what the protocol takes.
    assert 640 < shared["communicationMs"] < 900, shared
    session.call("putTenant", 200, path={"name": "spanning"}, body={})
    for model in ("hose", "pattern"):
        session.call("putContract", 200, path={"tenant": "spanning"}, body={"guaranteedGbps": 10, "model": model})
        wanted = {**job(**across), "tenant": "spanning"}
        asked = session.call("queryPlacement", 200, body=wanted).json
        assert any("inside each site" in warning for warning in asked["warnings"]), asked
        name = session.call("submitJob", 201, body=wanted).json["id"]
        session.call("cancelJob", 200, path={"id": name})
    losing(session, across)
    session.call("removeContract", 204, path={"tenant": "spanning"})
    session.call("removeTenant", 204, path={"name": "spanning"})


def losing(session, across):
    """A link between sites fails, is drained and returns."""
    wan = {"id": "east--west"}
    shown = session.call("getLink", 200, path={"id": "west--east"}).json
    assert (shown["id"], shown["kind"], shown["rateGbps"], shown["links"]) == ("east--west", "wan", 100, 1), shown
    assert [end["site"] for end in shown["ends"]] == ["east", "west"], shown
    listed = session.call("listLinks", 200, query={"kind": "wan"}).json["items"]
    assert [link["id"] for link in listed] == ["east--west"], listed
    assert listed[0] == session.call("listLinks", 200, query={"limit": "1000"}).json["items"][-1]
    assert not session.call("listLinks", 200, query={"kind": "wan", "node": "node-1"}).json["items"]
    cable = session.call("listLinks", 200).json["items"][0]["id"]
    session.call("reportLink", 400, "links.notReportable", path={"id": cable}, body={"state": "down"})
    session.call("reportLink", 404, "links.notFound", path={"id": "east--north"}, body={"state": "down"})
    session.call("reportLink", 400, "body.missingField", path=wan, body={})
    session.call("reportLink", 400, "body.invalidField", path=wan, body={"state": "broken"})
    session.call("reportLink", 400, "body.invalidField", path=wan, body={"state": "degraded", "linksUp": 1})
    session.call("reportLink", 400, "body.invalidField", path=wan, body={"state": "up", "reason": "x" * 501})

    wanted = {**job(**across), "tenant": "spanning"}
    for code, body, status, headers in (
            ("body.notJson", "{", 400, {}), ("body.tooDeep", "[" * 1000 + "]" * 1000, 400, {}),
            ("body.duplicateField", '{"state": "up", "state": "up"}', 400, {}), ("body.wrongType", "[]", 400, {}),
            ("body.unknownField", {"state": "up", "when": "now"}, 400, {}),
            ("http.bodyTooLarge", b" " * (1 << 20) + b"{}", 413, {}),
            ("http.contentEncoding", "{}", 415, {"Content-Encoding": "zstd"})):
        session.call("reportLink", status, code, path=wan, body=body, headers=headers)
    session.call("reportLink", 400, "query.unknownParameter", path=wan, query={"verbose": ""}, body={"state": "up"})

    whole = session.call("submitJob", 201, body=wanted).json
    name = whole["id"]
    preview = session.call("drainLink", 200, path=wan, query={"dryRun": "true"}).json
    assert (preview["kind"], preview["allowed"]) == ("siteLink", False), preview
    assert preview["jobsAffected"][0] == {"job": name, "name": wanted.get("name", ""), "tenant": "spanning",
                                          "effect": "cutOff"}, preview
    assert [lost["job"] for lost in preview["guaranteesAtRisk"]] == [name], preview
    session.call("drainLink", 409, "links.drainRefused", path=wan)

    down = session.call("reportLink", 200, path=wan, body={"state": "down", "reason": "cut by a digger"}).json
    assert (down["state"], down["linksInUse"]) == ("down", 0) and len(down["alarms"]) == 1, down
    alarm = session.call("getAlarm", 200, path={"id": "link.down:east--west"}).json
    assert alarm["jobs"] == [name] and "between the sites east and west is down" in alarm["text"], alarm
    damaged = session.call("getJob", 200, path={"id": name}).json
    assert "link east--west is down" in damaged["damage"], damaged
    assert damaged["groups"] == whole["groups"], "what joins its ranks is called as before"
    assert damaged["guarantee"]["atRiskSince"] and damaged["guarantee"]["links"] == ["east--west"], damaged
    session.call("cancelJob", 200, path={"id": name})
    refused = session.call("queryPlacement", 200, body=across).json
    assert (refused["outcome"], refused["code"]) == ("notNow", "jobs.unreachable"), refused
    assert "out of use meanwhile: east--west" in refused["reason"], refused
    session.call("submitJob", 409, "jobs.unreachable", body=wanted)
    waiting = session.call("submitJob", 201, body={**wanted, "queue": True}).json
    assert waiting["state"] == "queued", waiting
    queue = session.call("listWaiting", 200).json["items"]
    assert any("out of use meanwhile: east--west" in one["waits"]["reason"] for one in queue), queue
    up = session.call("reportLink", 200, path=wan, body={"state": "up"}).json
    assert (up["state"], up["linksInUse"], up["alarms"]) == ("up", 1, []), up
    assert session.begun(waiting["id"])["state"] == "placed"

    drained = session.call("drainLink", 200, path=wan, body={"force": True, "reason": "splicing"}).json
    assert drained["state"] == "requested" and waiting["id"] in drained["waitsFor"], drained
    assert session.call("getLink", 200, path=wan).json["drained"]
    session.call("cancelJob", 200, path={"id": waiting["id"]})
    left = session.call("listDrains", 200, query={"kind": "siteLink"}).json["items"]
    assert [(one["id"], one["state"], one["waitsFor"]) for one in left] == [("east--west", "drained", None)], left
    assert session.call("queryPlacement", 200, body=across).json["outcome"] == "notNow"
    session.call("undrainLink", 204, path=wan)
    assert session.call("queryPlacement", 200, body=across).json["outcome"] == "placed"


def odd_names(session):
    """Names that read as other devices' ids, or hold what separates ports, never lead to another link."""
    value = fabric()
    value["switches"][2]["name"] = guid(1)  # the spine is called as the first leaf's GUID
    value["switches"][1]["name"] = "leaf-1/16--x"
    value["hosts"][0]["name"] = "leaf-1"  # as a switch
    session.call("putTopology", 200, body=value)
    links = session.call("listLinks", 200, query={"limit": "1000"}).json["items"]
    assert len({link["name"] for link in links}) == len(links) > 10, "names are the links' own"
    for link in links:
        assert session.call("getLink", 200, path={"id": link["name"]}).json["id"] == link["id"], link


def near(a, b, share=0.02):
    assert abs(a - b) <= share * max(a, b), (a, b)


def one_definition(session):
    """What is predicted is what it comes to alone: both mean the same adapters, however many a GPU lists."""
    for body in ({"parallelism": {"tensor": 4, "data": 3}, "nodes": ["node-1", "node-2", "node-3"]},
                 {"parallelism": {"data": 2}, "gpusPerNode": 1, "nodes": ["node-1", "node-2"]}):
        body["traffic"] = {"data": {"bytesPerStep": 8e9}}
        answer = session.call("queryPlacement", 200, body=body, query={"ranks": "true"}).json
        near(answer["predicted"]["communicationMs"], answer["withContention"]["alone"]["communicationMs"])
        assert all(len(rank["nics"]) == 1 for rank in answer["ranks"]["items"]), answer["ranks"]
        for other in answer["alternatives"]:
            assert other["withContention"]["basis"] == answer["withContention"]["basis"], answer


def restoring(case):
    """The case, after which the fabric is what it was and no job of its own runs: also when it fails."""
    @functools.wraps(case)
    def whole(session):
        before = session.call("getFabric", 200).json
        jobs = jobs_left(session)
        try:
            case(session)
        finally:
            for name in jobs_left(session) - jobs:
                session.call("cancelJob", 200, path={"id": name})
            for drain in session.call("listDrains", 200, query={"kind": "link"}).json["items"]:
                session.call("undrainLink", 204, path={"id": drain["id"]})
            restored = session.call("putTopology", 200, body=fabric(), query={"source": before["source"]})
        assert restored.json["digest"] == before["digest"]
    return whole


def jobs_left(session):
    """Ids of the jobs that run or wait."""
    return {one["id"] for state in ("placed", "queued")
            for one in session.call("listJobs", 200, query={"state": state, "limit": "1000"}).json["items"]}


CASES = [restoring(paths), experts, restoring(between_sites), restoring(odd_names), one_definition]
