"""What a live subnet is found to be: discovery, what differs, exchanged cables. After `fill` of live_cases.py."""
import json

from fabric_cases import finished
from job_cases import job
from session import until_deadline
from small_fabric import UPLINK, fabric, guid

OTHER_UPLINK = f"{guid(2)}/16--{guid(3)}/2"


def discovery(session):
    def find(nodes):
        assert session.exchange("POST", f"/test/find/{nodes}", {}, None).status == 204

    def discover(**body):
        answer = session.call("discoverFabric", 202, body={"subnet": "compute", **body})
        operation = finished(session, answer.json["operation"])
        assert operation["kind"] == "fabric.discover", operation
        return operation

    before = session.call("getFabric", 200).json
    looked = discover()["result"]
    assert looked["accepted"] is False and looked["fabric"] is None and looked["differenceCount"] == 2, looked
    assert looked["live"]["switches"] == 3 and looked["live"]["discoveryTookUs"] == 4711, looked
    assert session.call("getFabric", 200).json["digest"] == before["digest"], "only looked"

    find(5)
    accepted = discover(accept=True)
    fabric_now = accepted["result"]["fabric"]
    assert accepted["result"]["accepted"] and fabric_now["hosts"] == 5, "node-5 came, storage-1 has no cable there: gone"
    assert fabric_now["gpus"] == 16 and fabric_now["racks"] == 2 and fabric_now["subnets"] == 2, fabric_now
    assert fabric_now["source"] == "discovery of subnet compute through mlx5_0/1", fabric_now
    node = session.call("getNode", 200, path={"id": "node-1"}).json
    assert node["rack"] == "A" and node["labels"]["zone"] == "east" and node["gpuList"][0]["cliqueId"] == 32766, node
    assert session.call("getSwitch", 200, path={"id": "spine-1"}).json["description"] == "Quantum-2 spine 1"
    assert [port["rail"] for adapter in session.call("getNode", 200, path={"id": "node-5"}).json["adapters"]
            for port in adapter["ports"]] == ["rail-0", "rail-1"]
    given = discover(accept=True, gpusPerNode=4, nvlinkDomain=4)["result"]["fabric"]
    assert given["gpus"] == 20 and given["freeGpus"] == 20, given
    assert discover(accept=True)["result"]["fabric"]["version"] == given["version"], "the same again is no change"

    find(3)
    lost = discover(accept=True)
    assert lost["state"] == "failed" and lost["error"]["code"] == "topology.losesGpus" and lost["error"]["status"] == 409, lost
    assert "node-4, node-5" in lost["error"]["detail"], lost
    ran = session.call("submitJob", 201, body=job(parallelism={"tensor": 4, "data": 5})).json["id"]
    assert discover(accept=True, gpusPerNode=4)["error"]["code"] == "topology.losesJobs"
    forced = discover(accept=True, gpusPerNode=4, force=True)["result"]["fabric"]
    assert forced["gpus"] == 12 and session.call("getJob", 200, path={"id": ran}).json["state"] == "lost", forced
    offline = session.call("discoverFabric", 202, body={"subnet": "edge"}).json["operation"]
    assert finished(session, offline)["error"]["code"] == "subnets.offline"
    find(4)
    session.call("putTopology", 200, query={"source": "by hand"}, body=fabric())

    which = session.call("discoverFabric", 400, "subnets.ambiguous", body={}).json
    assert which["errors"][0]["pointer"] == "/subnet" and "compute, edge" in which["hint"], which
    session.call("discoverFabric", 400, "subnets.ambiguous")
    session.call("discoverFabric", 404, "subnets.notFound", body={"subnet": "nowhere"})
    session.call("discoverFabric", 409, "subnets.notLive", body={"subnet": "storage"})
    session.call("discoverFabric", 400, "body.invalidField", body={"subnet": "compute", "gpusPerNode": -1})


def found_changes(session):
    """Another adapter in node-1's place is offered as one change; accepted, the fabric has it and else stays as it is."""
    def changes(status=200, code=None, name="compute", **more):
        return session.call("getSubnetChanges", status, code, path={"id": name}, **more).json

    def accept(status=200, code=None, name="compute", body=None):
        return session.call("acceptSubnetChanges", status, code, path={"id": name}, body=body).json

    finished(session, session.call("discoverFabric", 202, body={"subnet": "compute"}).json["operation"])
    one, = changes()["items"]
    assert (one["kind"], one["subject"], one["describedAlike"]) == ("exchangedAdapter", "node-1", True), one
    assert session.call("getSubnet", 200, path={"id": "compute"}).json["live"]["changes"] == 1
    changes(404, "subnets.notFound", "nowhere")
    changes(409, "subnets.notLive", "storage")
    changes(400, "query.unknownParameter", query={"all": "1"})
    accept(404, "subnets.notFound", "nowhere", {})
    accept(409, "subnets.notLive", "storage", {})
    accept(404, "subnets.changeNotFound", body={"changes": ["exchangedAdapter:0"]})
    before = session.call("getNode", 200, path={"id": "node-1"}).json
    accepted = accept(body={"changes": [one["id"]]})
    assert [change["id"] for change in accepted["accepted"]] == [one["id"]] and accepted["version"] > changes()["version"] - 1, accepted
    assert changes()["items"] == [], "what was found is about the fabric before"
    accept(409, "subnets.noChanges")
    after = session.call("getNode", 200, path={"id": "node-1"}).json
    assert guid(0x110) in json.dumps(before["adapters"]) and guid(0x990) in json.dumps(after["adapters"]), after
    assert guid(0x110) not in json.dumps(after["adapters"]) and after["labels"] == before["labels"] and after["rack"] == before["rack"], after
    told = session.call("listEvents", 200, query={"type": "topology.differs", "subject": "node/node-1"}).json["items"]
    assert "is exchanged" in told[-1]["summary"], told
    session.call("putTopology", 200, query={"source": "by hand"}, body=fabric())


def exchanged_cables(session):
    """Two cables whose ends at the spine were exchanged are in force as they are, and stay differences from what was accepted."""
    before = session.call("getFabric", 200).json

    def exchange(one, other):
        version = session.call("getFabric", 200).json["version"]
        assert session.exchange("POST", "/test/exchange", {}, f"{one} {other}".encode()).status == 204
        for _ in until_deadline():
            after = session.call("getFabric", 200).json
            if after["version"] != version:
                return after

    def differences():
        finished(session, session.call("discoverFabric", 202, body={"subnet": "compute"}).json["operation"])
        found = session.call("getSubnet", 200, path={"id": "compute"}).json["live"]["differences"]
        return [(one["subject"], one["text"]) for one in found if one["kind"] == "exchangedLink"]

    assert differences() == []
    crossed = [f"{guid(1)}/16--{guid(3)}/2", f"{guid(2)}/16--{guid(3)}/1"]
    session.call("drainLink", 200, path={"id": UPLINK}, body={"reason": "bad optics", "force": True})
    after = exchange(UPLINK, OTHER_UPLINK)
    assert after["digest"] != before["digest"] and after["source"] == before["source"] + ", cables as found", after
    assert [subject for subject, _ in differences()] == crossed, differences()
    session.call("acceptSubnetChanges", 409, "subnets.cablesExchanged", path={"id": "compute"}, body={})
    assert "leaf-1 port 16 leads to spine-1 port 2, accepted is spine-1 port 1" in differences()[0][1], differences()
    assert [session.call("getLink", 200, path={"id": link}).json["drained"] for link in crossed] == [True, True]
    session.call("getLink", 404, path={"id": UPLINK})
    drained = session.call("listDrains", 200, query={"kind": "link"}).json["items"]
    assert {item["id"] for item in drained} == {UPLINK, *crossed}, drained
    told = session.call("listEvents", 200, query={"type": "topology.accepted"}).json["items"][-1]
    assert told["data"]["asCabled"] == "compute" and told["data"]["exchanged"] == 2 and told["severity"] == "warning", told
    followed = session.call("listEvents", 200, query={"type": "drain.requested"}).json["items"][-1]
    assert followed["data"]["follows"] == UPLINK and followed["actor"] == "fabric", followed
    named = session.call("listEvents", 200, query={"type": "topology.differs", "subject": f"link/{crossed[0]}"}).json["items"]
    assert len(named) == 1 and UPLINK in named[0]["summary"], named

    back = exchange(*crossed)
    assert back["digest"] == before["digest"] and back["source"] == before["source"] and differences() == [], back
    told = session.call("listEvents", 200, query={"type": "topology.accepted"}).json["items"][-1]
    assert told["data"]["exchanged"] == 0 and told["severity"] == "info", told
    drained = session.call("listDrains", 200, query={"kind": "link"}).json["items"]
    assert [item["id"] for item in drained] == [UPLINK], drained
    session.call("undrainLink", 204, path={"id": UPLINK}, body={})


CASES = [discovery, found_changes, exchanged_cables]
