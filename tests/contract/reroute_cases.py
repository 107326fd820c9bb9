"""Other routes for guarantees at risk: costs of links, proposed, set, and taken back."""
import itertools

from small_fabric import fabric, guid

LEAVES, SPINES, HOSTS = 4, 2, 4  # hosts of a leaf; two cables from each leaf to each spine
TENANT = "rerouted"


def leaves_and_spines():
    """With one GPU and one adapter a host."""
    switches = [{"guid": guid(0x10 + leaf), "name": f"leaf-{leaf}", "ports": 8, "subnet": "compute", "lid": 1 + leaf}
                for leaf in range(LEAVES)]
    switches += [{"guid": guid(0x20 + spine), "name": f"spine-{spine}", "ports": 8, "subnet": "compute", "lid": 10 + spine}
                 for spine in range(SPINES)]
    hosts, links, trunks = [], [], []
    for number in range(LEAVES * HOSTS):
        hosts.append({"name": f"node-{number:02}", "gpus": [{"nics": [0]}],
                      "adapters": [{"guid": guid(0x100 + number), "device": "mlx5_0", "ports": [{"lid": 100 + number}]}]})
        links.append([number // HOSTS, number % HOSTS + 1, len(switches) + number, 1, 0])
    for leaf, spine, cable in itertools.product(range(LEAVES), range(SPINES), range(2)):
        ends = (HOSTS + 1 + spine * 2 + cable, leaf * 2 + 1 + cable)
        links.append([leaf, ends[0], LEAVES + spine, ends[1], 0])
        trunks.append(f"{guid(0x10 + leaf)}/{ends[0]}--{guid(0x20 + spine)}/{ends[1]}")
    return {"railweave": "fabric", "version": 1, "subnets": [{"name": "compute", "kind": "compute"}], "switches": switches,
            "hosts": hosts, "linkSpecs": [{"speed": "EDR", "width": 4}], "links": links}, trunks


def reroute(session):
    before = session.call("getFabric", 200).json
    topology, trunks = leaves_and_spines()
    session.call("putTopology", 200, body=topology)
    session.call("putTenant", 200, path={"name": TENANT}, body={})
    session.call("putContract", 200, path={"tenant": TENANT}, body={"guaranteedGbps": 12, "classes": ["all-reduce"]})
    # Where they run decides whether two cables are enough: a leaf and a half, and what is left of that one with one more.
    nodes = [host["name"] for host in topology["hosts"]]
    jobs = []
    for own in (nodes[:6], nodes[6:11]):
        body = {"name": "r", "tenant": TENANT, "parallelism": {"data": len(own)}, "excludeNodes": sorted(set(nodes) - set(own))}
        jobs.append(session.call("submitJob", 201, body=body).json["id"])
    session.call("resetReroute", 204)
    session.call("setReroute", 409, "guarantees.noOtherRoutes", body={})
    for wrong, code in (("{", "body.notJson"), ("[" * 1000 + "]" * 1000, "body.tooDeep"), ("[]", "body.wrongType"),
                        ('{"reason": "a", "reason": "b"}', "body.duplicateField"), ({"force": True}, "body.unknownField"),
                        ({"reason": 1}, "body.invalidField")):
        session.call("setReroute", 400, code, body=wrong)
    session.call("setReroute", 400, "query.unknownParameter", body={}, query={"dryRun": "true"})
    session.call("setReroute", 413, "http.bodyTooLarge", body=b" " * (1 << 20) + b"{}")
    session.call("setReroute", 415, "http.contentEncoding", body="{}", headers={"Content-Encoding": "zstd"})
    session.call("resetReroute", 400, "query.invalidFlag", query={"force": "2"})
    session.call("resetReroute", 400, "query.unknownParameter", query={"dryRun": "true"})

    # Two cables out of use, such that a guarantee is at risk and would hold on other routes.
    for pair in itertools.combinations(trunks, 2):
        for link in pair:
            session.call("drainLink", 200, path={"id": link}, body={"force": True})
        proposed = session.call("proposeReroute", 200).json
        if proposed["costs"] and not proposed["stillAtRisk"]:
            break
        for link in pair:
            session.call("undrainLink", 204, path={"id": link})
    assert proposed["holdAgain"] and not proposed["applied"] and proposed["inForce"]["since"] is None, proposed
    states = {one["job"]: one["state"] for one in session.call("listGuarantees", 200).json["items"]}
    assert [job for job in jobs if states[job] == "atRisk"] == proposed["holdAgain"], (states, proposed)
    tables = session.call("getFdbs", 200).body

    done = session.call("setReroute", 200, body={"reason": "INC-42"}).json
    assert done["applied"] and done["costs"] == proposed["costs"] == done["inForce"]["costs"], done
    assert done["inForce"]["reason"] == "INC-42" and done["inForce"]["since"], done
    assert {one["state"] for one in session.call("listGuarantees", 200).json["items"]} == {"planned"}
    assert session.call("getFdbs", 200).body != tables
    assert session.call("auditRoutes", 200).json["sound"]
    assert "routes.linkCosts:costs" in {one["id"] for one in session.call("listAlarms", 200).json["items"]}
    session.call("setReroute", 409, "guarantees.noOtherRoutes", body={})
    refused = session.call("resetReroute", 409, "guarantees.wouldLapse").json
    assert proposed["holdAgain"] and all(job in refused["detail"] for job in proposed["holdAgain"]), refused
    session.call("resetReroute", 204, query={"force": "true"})
    assert session.call("getFdbs", 200).body == tables, "routes follow from the fabric and the costs alone"
    assert len(session.call("listGuarantees", 200, query={"state": "atRisk"}).json["items"]) == len(proposed["holdAgain"])
    assert session.call("setReroute", 200).json["inForce"]["reason"] == ""

    # With the cables back no guarantee needs them.
    for link in pair:
        session.call("undrainLink", 204, path={"id": link})
    session.call("resetReroute", 204)
    assert session.call("proposeReroute", 200).json["inForce"]["costs"] == []
    assert not [one for one in session.call("listAlarms", 200).json["items"] if one["kind"] == "routes.linkCosts"]
    for job in jobs:
        session.call("cancelJob", 200, path={"id": job})
    session.call("removeContract", 204, path={"tenant": TENANT})
    session.call("removeTenant", 204, path={"name": TENANT})
    session.call("putTopology", 200, body=fabric(), query={"source": before["source"]})
    events = session.call("listEvents", 200, query={"limit": "10000"}).json["items"]
    set_ = [event for event in events if event["type"] == "route.costsSet"]
    assert [len(event["data"]["costs"]) > 0 for event in set_] == [True, False, True, False], set_
    assert set_[0]["data"]["reason"] == "INC-42", set_[0]


CASES = [reroute]
