"""Routes: the tables, their audit, single paths, and what failures would change."""
from small_fabric import LINK, UPLINK, guid


def tables(session):
    routes = session.call("getRoutes", 200).json
    assert routes["switches"] == 4 and routes["endPorts"] == 10 and routes["engine"], routes
    assert session.call("getRoutes", 200).json == routes, "nothing changed, so nothing may differ"
    audit = session.call("auditRoutes", 200).json
    assert audit["sound"] and audit["unreachablePairs"] == 0 and audit["creditLoops"] == 0, audit
    assert audit["maxLink"]["from"] in ("leaf-1", "leaf-2", "spine-1"), audit
    for operation in ("getRoutes", "auditRoutes"):
        session.call(operation, 400, "query.unknownParameter", query={"verbose": "1"})


def paths(session):
    def path(a, b):
        return session.call("getPath", 200, query={"from": a, "to": b}).json["paths"]

    both = path("node-1", "node-2")
    assert [(way["rail"], way["outcome"], len(way["hops"])) for way in both] == [("rail-0", "arrived", 2), ("rail-1", "arrived", 2)], both
    across = path("node-1/mlx5_0", "node-3/mlx5_1")
    assert [[hop["from"] for hop in way["hops"]] for way in across] == [["node-1/mlx5_0", "leaf-1", "spine-1", "leaf-2"]], across
    assert across[0]["rail"] is None and across[0]["hops"][-1]["to"] == "node-3/mlx5_1"
    assert path("lid:102", guid(0x131) + "/1") == path("node-1/mlx5_0", "node-3/mlx5_1")
    assert len(path("storage-1", "node-1")) == 2, "storage is on no rail: every adapter is shown"

    def refuse(status, code, **query):
        session.call("getPath", status, code, query=[(name.rstrip("_"), value) for name, value in query.items()])

    refuse(400, "query.missingParameter", from_="node-1")
    refuse(400, "query.unknownParameter", from_="node-1", to="node-2", via="spine-1")
    for unknown in ("node-99", "leaf-1", "node-1/mlx5_9", "lid:0", "lid:9999", "/", guid(1) + "/1"):
        refuse(404, "endPorts.notFound", from_=unknown, to="node-1")
        refuse(404, "endPorts.notFound", from_="node-1", to=unknown)
    refuse(404, "endPorts.noCable", from_=guid(0x900) + "/2", to="node-1")
    refuse(404, "routes.notJoined", from_="node-1/mlx5_0", to="node-1/mlx5_0")


def changes(session):
    seq = session.call("getFabric", 200).json["seq"]
    end = session.call("diffRoutes", 200, body={"failLinks": [LINK]}).json
    # Switches are destinations, too: those of the same subnet.
    all_switches = session.call("listSwitches", 200).json["items"]
    subnet = next(item["subnet"] for item in all_switches if item["guid"] in LINK)
    switches = sum(item["subnet"] == subnet for item in all_switches)
    assert end["changedEntries"] == 0 and end["after"]["cutOffPairs"] == 18 + switches, f"{end}; one end port's cable changes no switch's table"
    cut = session.call("diffRoutes", 200, body={"failLinks": [UPLINK]}).json
    assert cut["changedEntries"] > 0 and cut["changedBlocks"] >= 1 and cut["switches"], cut
    assert cut["before"]["cutOffPairs"] == 0 and cut["after"]["cutOffPairs"] > 0 and cut["after"]["sound"], cut
    assert cut["after"]["unreached"][0]["reason"]
    assert cut["cutsOffCount"] == 4 == len(cut["cutsOff"]), cut
    assert [port["node"] for port in end["cutsOff"]] == ["node-1"], end
    gone = session.call("diffRoutes", 200, body={"failSwitches": ["spine-1"]}).json
    assert gone["after"]["cutOffPairs"] > cut["after"]["cutOffPairs"] / 2, gone
    drained = session.call("diffRoutes", 200, body={"drainSwitches": ["lid:3"], "drainLinks": [LINK]}).json
    assert drained["after"]["unreachablePairs"] + drained["after"]["drainedEntries"] > 0, drained
    assert session.call("getFabric", 200).json["seq"] == seq, "a question changed something"
    assert session.call("auditRoutes", 200).json["cutOffPairs"] == 0

    def refuse(status, code, body, **more):
        session.call("diffRoutes", status, code, body=body, **more)

    refuse(400, "body.missingField", {})
    refuse(400, "body.unknownField", {"failNodes": ["node-1"]})
    refuse(400, "body.notJson", "{")
    refuse(400, "body.tooDeep", "[" * 100 + "]" * 100)
    refuse(400, "body.duplicateField", '{"failLinks": ["a"], "failLinks": ["b"]}')
    refuse(400, "body.wrongType", "[]")
    refuse(400, "body.invalidField", {"failLinks": "a"})
    refuse(400, "body.invalidField", {"failLinks": ["a"] * 10001})
    refuse(400, "query.unknownParameter", {"failLinks": [LINK]}, query={"force": "1"})
    refuse(404, "links.notFound", {"drainLinks": ["a/1--b/2"]})
    refuse(404, "switches.notFound", {"failSwitches": ["node-1"]})
    refuse(413, "http.bodyTooLarge", b'{"failLinks": ["a"]' + b" " * (5 << 20) + b"}", valid=True)
    refuse(415, "http.mediaType", {"failLinks": [LINK]}, headers={"Content-Type": "text/plain"})
    refuse(415, "http.contentEncoding", {"failLinks": [LINK]}, headers={"Content-Encoding": "deflate"})


CASES = [tables, paths, changes]
