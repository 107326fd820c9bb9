"""Sites: a job stays in one unless it may span them."""
from job_cases import MODEL, job
from small_fabric import fabric


def two_sites():
    """The small fabric with its racks in two towns."""
    value = fabric()
    value["sites"] = ["east", "west"]
    value["siteLinks"] = [{"a": "east", "b": "west", "links": 2, "rateMbps": 100000, "lengthKm": 80, "latencyUs": 500.5}]
    for host in value["hosts"]:
        host["site"] = "west" if host["name"] in ("node-3", "node-4") else "east"
    return value


def spanning(session):
    before = session.call("getFabric", 200).json
    session.call("putTopology", 200, body=two_sites())
    assert session.call("getFabric", 200).json["sites"] == 2
    back = session.call("getTopology", 200).json
    assert back["siteLinks"] == two_sites()["siteLinks"] and back["sites"] == ["east", "west"], back
    assert session.call("getNode", 200, path={"id": "node-3"}).json["site"] == "west"
    sites = {node["id"]: node["site"] for node in session.call("listNodes", 200).json["items"]}
    assert sites["node-1"] == "east" and sites["node-4"] == "west", sites

    whole = {"parallelism": {"tensor": 4, "data": 4}}
    answer = session.call("queryPlacement", 200, body=whole).json
    assert answer["outcome"] == "never" and "must share one site" in answer["reason"], answer
    assert {"change": "across sites east and west (acrossSites)", "outcome": "placed"} in \
        answer["explanation"]["counterfactuals"], answer
    assert answer["explanation"]["levels"][-1]["level"] == "wan", answer
    session.call("submitJob", 422, "jobs.neverFits", body=job(**whole))

    across = {**whole, "topology": {"acrossSites": True}, "model": MODEL}
    answer = session.call("queryPlacement", 200, body=across, query={"ranks": "true"}).json
    assert answer["outcome"] == "placed" and answer["placement"]["level"] == "wan", answer
    assert answer["placement"]["sites"] == ["east", "west"] and answer["placement"]["groupsAtLevel"] == 2, answer
    rare = {**across, "model": {**MODEL, "synchroniseEvery": 32}}
    rare = session.call("queryPlacement", 200, body=rare).json["predicted"]
    assert rare["stepMs"] < answer["predicted"]["stepMs"], "local SGD is worth something over a WAN"
    near = {**across, "parallelism": {"tensor": 4, "data": 2}}
    answer = session.call("queryPlacement", 200, body=near).json
    assert len(answer["placement"]["sites"]) == 1, "one site has room"
    spread = {**near, "topology": {"acrossSites": True, "spread": {"level": "site", "maxGpusPerGroup": 4}}}
    assert session.call("queryPlacement", 200, body=spread).json["placement"]["sites"] == ["east", "west"]
    del spread["topology"]["acrossSites"]
    assert session.call("queryPlacement", 200, body=spread).json["outcome"] == "never"
    for level in ("required", "preferred"):
        session.call("queryPlacement", 400, "jobs.invalid", body={**whole, "topology": {"job": {level: "wan"}}})

    one = session.call("submitJob", 201, body=job(**across)).json
    assert one["spec"]["topology"] == {"acrossSites": True} and one["placement"]["sites"] == ["east", "west"], one
    session.call("cancelJob", 200, path={"id": one["id"]})
    restored = session.call("putTopology", 200, body=fabric(), query={"source": before["source"]})
    assert restored.json["digest"] == before["digest"]
    answer = session.call("queryPlacement", 200, body=across).json
    assert "acrossSites changes nothing" in answer["warnings"][0] and "sites" not in answer["placement"], answer


CASES = [spanning]
