"""Routes: the tables, their audit, single paths, and what failures would change."""
import json

from small_fabric import LINK, UPLINK, guid


def tables(session):
    routes = session.call("getRoutes", 200).json
    assert routes["switches"] == 4 and routes["endPorts"] == 10 and routes["engine"], routes
    assert session.call("getRoutes", 200).json == routes, "nothing changed, so nothing may differ"
    audit = session.call("auditRoutes", 200).json
    assert audit["sound"] and audit["unreachablePairs"] == 0 and audit["creditLoops"] == 0, audit
    assert audit["maxLink"]["from"] in ("leaf-1", "leaf-2", "spine-1"), audit
    for operation in ("getRoutes", "auditRoutes", "getFdbs"):
        etag = session.call(operation, 200).header("ETag")
        session.call(operation, 304, headers={"If-None-Match": etag})
    assert session.call("getFdbs", 200, query={"failLink": UPLINK}).header("ETag") != etag
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


def walked(fabric, forwarding, dead=()):
    """By directed link (from, to): ordered pairs of end ports whose packets cross it. Walks the tables as the wire would."""
    cable = {}
    names = [switch["guid"] for switch in fabric["switches"]]
    number_of = {device: guid_ for device, guid_ in enumerate(names)}
    ends = []
    device = len(names)
    for host in fabric["hosts"]:
        for adapter in host["adapters"]:
            number_of[device] = adapter["guid"]
            ends += [(adapter["guid"], index + 1, port["lid"]) for index, port in enumerate(adapter["ports"]) if "lid" in port]
            device += 1
    for adapter in fabric.get("adapters", []):
        number_of[device] = adapter["guid"]
        ends += [(adapter["guid"], index + 1, port["lid"]) for index, port in enumerate(adapter["ports"]) if "lid" in port]
        device += 1
    for a, a_port, b, b_port, _ in fabric["links"]:
        cable[number_of[a], a_port] = (number_of[b], b_port)
        cable[number_of[b], b_port] = (number_of[a], a_port)
    pairs = {}
    for guid_a, port_a, _ in ends:
        for guid_b, port_b, lid in ends:
            if (guid_a, port_a) == (guid_b, port_b) or (guid_a, port_a) not in cable:
                continue
            at, steps = (guid_a, port_a), 0
            while at in cable and steps < 20:
                into = cable[at]
                key = (f"{at[0]}/{at[1]}", f"{into[0]}/{into[1]}")
                crossing = pairs.setdefault(key, set())
                crossing.add((f"{guid_a}/{port_a}", f"{guid_b}/{port_b}"))
                if into[0] not in forwarding or lid not in forwarding[into[0]]:
                    break
                at, steps = (into[0], forwarding[into[0]][lid]), steps + 1
    return pairs


def crossing(session):
    """Which routes cross a link, held to a walk of every switch's own table over the cables of the imported file."""
    fabric = session.call("getTopology", 200).json
    forwarding = {}
    for switch in fabric["switches"]:
        entries = session.call("getForwardingTable", 200, path={"id": switch["guid"]}, query={"limit": "10000"}).json["items"]
        forwarding[switch["guid"]] = {entry["lid"]: entry["wantedPort"] for entry in entries if entry["wantedPort"]}
    pairs = walked(fabric, forwarding)
    links = [link for link in session.call("listLinks", 200, query={"limit": "1000"}).json["items"] if link["kind"] == "infiniband"]
    assert len(links) >= 9, links
    crossed = 0
    for link in links:
        answer = session.call("getLinkTraffic", 200, path={"id": link["id"]}).json
        assert answer["id"] == link["id"], answer
        for direction in answer["directions"]:
            want = pairs.get((direction["from"], direction["to"]), set())
            got = direction["routes"]
            assert got["pairs"] == len(want), (link["name"], direction["fromName"], got, sorted(want))
            assert got["sources"]["count"] == len({a for a, _ in want}), (got, sorted(want))
            assert got["destinations"]["count"] == len({b for _, b in want}), (got, sorted(want))
            assert sum(item["ports"] for item in got["destinations"]["devices"]) == got["destinations"]["count"]
            crossed += got["pairs"]
            assert direction["traffic"]["jobs"] == [] and direction["traffic"]["gbps"] == 0, direction
    assert crossed > 100, "nothing was compared"
    session.call("getLinkTraffic", 404, "links.notFound", path={"id": "a/1--b/2"})
    session.call("getLinkTraffic", 400, "query.unknownParameter", path={"id": LINK}, query={"top": "3"})


def lab(session):
    """Planning: a generated, an uploaded and the present fabric; jobs, a failure, and nothing of it here."""
    seq = session.call("getFabric", 200).json["seq"]

    def ask(status, body, code=None, **more):
        return session.call("planInLab", status, code, body=body, **more).json

    generate = {"kind": "rail-optimized", "parameters": {"hosts": "8", "rails": "2", "radix": "16", "down-ports": "8", "uplinks": "4", "spines": "2"}}
    jobs = [{"key": "fits", "parallelism": {"tensor": 8, "data": 4}}, {"key": "too large", "parallelism": {"tensor": 8, "data": 9}},
            {"key": "wrong", "parallelism": {"tensor": 0}}]
    plan = ask(200, {"fabric": {"generate": generate}, "jobs": jobs}, query={"ranks": "true"}, valid="either")
    assert plan["fabric"]["gpus"] == 64 and plan["fabric"]["freeGpus"] == 32 and plan["routes"]["sound"], plan["fabric"]
    fits, large, wrong = plan["placements"]
    assert fits["placement"]["outcome"] == "placed" and len(fits["placement"]["ranks"]["items"]) == 32, fits
    assert large["placement"]["outcome"] == "never" and wrong["status"] == 400, (large, wrong)
    assert plan["map"]["groups"] and plan["after"] is None and plan["routesProblem"] is None
    spine = next(group["name"] for group in plan["map"]["groups"] if group["kind"] == "switch" and group["tier"] == 1)
    leaf = next(group["name"] for group in plan["map"]["groups"] if group["kind"] == "switch" and group["tier"] == 0)
    after = ask(200, {"fabric": {"generate": generate}, "jobs": jobs, "change": {"failSwitches": [spine]}}, valid="either")["after"]
    assert after["routes"]["changedEntries"] > 0 and after["placements"][0]["placement"]["outcome"] == "placed", after["routes"]
    cut = ask(200, {"fabric": {"generate": generate}, "jobs": jobs, "change": {"failSwitches": [leaf], "drainSwitches": [spine]}}, valid="either")["after"]
    assert cut["routes"]["cutsOffCount"] > 0 and cut["placements"][0]["placement"]["outcome"] != "placed", cut["placements"]
    assert ask(200, {"fabric": {"generate": generate}})["placements"] == []

    present = session.call("getTopology", 200).json
    uploaded = ask(200, {"fabric": {"file": {"text": json.dumps(present)}}, "change": {"failLinks": [UPLINK]}})
    assert uploaded["fabric"]["gpus"] == session.call("getFabric", 200).json["gpus"], uploaded["fabric"]
    here = ask(200, {"change": {"failLinks": [UPLINK]}})
    diff = session.call("diffRoutes", 200, body={"failLinks": [UPLINK]}).json
    assert here["after"]["routes"]["changedEntries"] == diff["changedEntries"] == uploaded["after"]["routes"]["changedEntries"]
    assert session.call("getFabric", 200).json["seq"] == seq, "planning changed something"
    assert session.call("listJobs", 200).json["items"] == []

    def refuse(status, code, body, **more):
        ask(status, body, code, **more)

    refuse(400, "body.missingField", {"fabric": {"generate": {}}})
    refuse(400, "body.unknownField", {"fabrics": {}})
    refuse(400, "body.notJson", "{")
    refuse(400, "body.tooDeep", "[" * 100 + "]" * 100)
    refuse(400, "body.duplicateField", '{"jobs": [], "jobs": []}')
    refuse(400, "body.wrongType", "[]")
    refuse(400, "body.invalidField", {"fabric": {"generate": {"kind": "clos"}, "file": {"text": ""}}})
    refuse(400, "body.invalidField", {"jobs": []})
    refuse(400, "body.invalidField", {"fabric": {"file": {"text": "{}", "format": "pdf"}}})
    refuse(400, "query.unknownParameter", {}, query={"force": "1"})
    refuse(400, "query.invalidFlag", {}, query={"ranks": "perhaps"})
    for bad in ({"generate": {"kind": "nonesuch"}}, {"generate": {"kind": "rail-optimized", "parameters": {"hosts": "many"}}},
                {"file": {"text": "nothing that anything writes"}}, {"file": {"text": '{"railweave": "fabric"}'}}):
        refuse(400, "lab.badFabric", {"fabric": bad})
    refuse(404, "links.notFound", {"change": {"drainLinks": ["a/1--b/2"]}})
    refuse(404, "switches.notFound", {"fabric": {"generate": generate}, "change": {"failSwitches": ["leaf-1-of-another"]}})
    for large in ({"hosts": "99999"}, {"hosts": "2560", "tiers": "3"}, {"hosts": "99999999999999999999"}):
        refuse(422, "lab.tooLarge", {"fabric": {"generate": {"kind": "fat-tree", "parameters": large}}})
    refuse(413, "http.bodyTooLarge", b'{}' + b" " * (33 << 20), valid=True)
    refuse(415, "http.mediaType", {}, headers={"Content-Type": "text/plain"})
    refuse(415, "http.contentEncoding", {}, headers={"Content-Encoding": "deflate"})


CASES = [tables, paths, changes, crossing, lab]
