"""Live subnets: who programs them, what they hold, discovery, drains, alarms. On contract_live_service, whose subnets are in
memory; `without_connections` on railweaved itself, where nothing is live.
"""
import datetime
import json

import alarm_cases
import cabling_cases
from event_cases import Stream
from fabric_cases import finished
from job_cases import job
from session import until_deadline
from small_fabric import LINK, UPLINK, fabric, guid

NVLINK = "node-1/gpu0--nv-1/1"
DRAINS = {"drainLink": LINK, "drainSwitch": "spine-1", "drainNode": "node-3"}
BODIES = {"releaseLink": LINK, "rotateSubnetKey": "compute", "putSubnetMode": "compute", "discoverFabric": None, "acceptSubnetChanges": "compute", **DRAINS, "undrainLink": LINK, "undrainSwitch": "spine-1",
          "undrainNode": "node-3"}  # every operation with a body, and a thing it is about


def path_of(thing):
    return {"id": thing} if thing else {}


def without_connections(session):
    """On files alone: everything can be asked, nothing can be done to a subnet."""
    subnets = session.call("listSubnets", 200).json["items"]
    assert subnets and all(subnet["live"] is None and subnet["mode"] == "observe" and subnet["accepted"] for subnet in subnets), subnets
    assert session.call("getSync", 200).json["subnets"] == []
    session.call("syncFabric", 409, "subnets.notLive")
    session.call("syncFabric", 409, "subnets.notLive", query={"subnet": "compute"})
    session.call("discoverFabric", 409, "subnets.notLive", body={"accept": True})
    for mode in ("direct", "opensm"):
        session.call("putSubnetMode", 409, "subnets.notLive", path={"id": "compute"}, body={"mode": mode})
    session.call("putSubnetMode", 200, path={"id": "compute"}, body={"mode": "observe", "reason": "it is"})
    table = session.call("getForwardingTable", 200, path={"id": "leaf-1"}).json["items"]
    assert len(table) >= 9 and all(entry["differs"] is None and entry["appliedPort"] is None for entry in table), table
    link = session.call("getLink", 200, path={"id": LINK}).json
    assert link["counters"] == [None, None] and link["utilisation"] is None and link["drain"] is None, link
    for operation, thing in (("getLinkHistory", LINK), ("getSwitchHistory", "leaf-1")):
        history = session.call(operation, 200, path={"id": thing}).json
        assert history == {"detail": "fine", "from": None, "slotSeconds": None, "slots": 0, "ports": []}, history
    answer = session.call("drainLink", 200, path={"id": UPLINK}, query={"dryRun": "true"}).json
    assert answer["state"] is None and answer["cutsOffCount"] == 4 and not answer["allowed"], answer


def fill(session):
    session.call("putTopology", 200, query={"source": "by hand"}, body=fabric())
    session.call("putTenant", 200, path={"name": "research"}, body={})


def subnets(session):
    items = session.call("listSubnets", 200).json["items"]
    assert [(item["id"], item["accepted"], item["live"] is not None) for item in items] == [
        ("compute", True, True), ("storage", True, False), ("edge", False, True)], items
    assert [session.call("getSubnet", 200, path={"id": item["id"]}).json for item in items] == items
    first = session.call("listSubnets", 200, query={"limit": "2"}).json
    rest = session.call("listSubnets", 200, query={"cursor": first["nextCursor"], "fields": "id,live"}).json
    assert [item["id"] for item in rest["items"]] == ["edge"] and rest["items"][0]["live"]["phase"] == "offline", rest
    session.call("getSubnet", 404, "subnets.notFound", path={"id": "nowhere"})
    session.call("getSubnet", 400, "query.unknownParameter", path={"id": "edge"}, query={"live": ""})


def modes(session):
    def put(status, code, name, body, headers=None):
        return session.call("putSubnetMode", status, code, path={"id": name}, body=body, headers=headers)

    never = session.call("getSubnet", 200, path={"id": "compute"})
    assert never.json["modeVersion"] == 0 and never.header("ETag") == '"mode.0"'
    put(412, "precondition.versionDiffers", "compute", {"mode": "direct"}, {"If-Match": '"mode.7"'})
    direct = put(200, None, "compute", {"mode": "direct", "reason": "handed over"}, {"If-Match": never.header("ETag")})
    assert direct.json["mode"] == "direct" and direct.json["reason"] == "handed over", direct.json
    shown = session.call("getSubnet", 200, path={"id": "compute"})
    assert shown.json["mode"] == "direct" and shown.json["modeReason"] == "handed over"
    assert shown.header("ETag") == direct.header("ETag") != never.header("ETag")
    same = put(200, None, "compute", {"mode": "direct"})
    assert same.header("ETag") == direct.header("ETag"), "the same again is no change"
    put(412, "precondition.versionDiffers", "compute", {"mode": "observe"}, {"If-Match": never.header("ETag")})
    put(200, None, "edge", {"mode": "opensm"})
    put(200, None, "edge", {"mode": "observe"})
    put(409, "subnets.notLive", "storage", {"mode": "direct"})
    put(200, None, "storage", {"mode": "observe"})
    put(404, "subnets.notFound", "nowhere", {"mode": "observe"})
    put(400, "body.missingField", "compute", {"reason": "none"})
    put(400, "body.invalidField", "compute", {"mode": "manual"})
    put(400, "body.invalidField", "compute", {"mode": "direct", "reason": "r" * 501})
    put(200, None, "compute", {"mode": "observe"}, {"If-Match": direct.header("ETag")})


def lanes(session):
    live = session.call("getSubnet", 200, path={"id": "compute"}).json["live"]
    old = live["lanes"].pop("oldLevels")
    assert live["lanes"] == {"used": 1, "needed": 2, "problem": "the ports have 1"}, live["lanes"]
    assert (old["outcome"], old["loopLanes"]) == ("creditLoops", 2) and "credit loops on 2 lanes" in old["text"], old
    assert old["auditedAt"].startswith("2026-"), old


def administration(session):
    live = session.call("getSubnet", 200, path={"id": "compute"}).json["live"]
    assert live["administration"] == {
        "devices": 5, "endPorts": 6, "requests": 12, "answered": 8, "refused": 3, "dropped": 1, "wrongKeys": 1,
        "asked": [{"attribute": "NodeRecord", "answered": 2, "refused": 0, "unsupported": 0},
                  {"attribute": "PathRecord", "answered": 6, "refused": 1, "unsupported": 2}],
        "subscriptions": 2, "reports": 7, "reportsConfirmed": 5, "reportsGivenUp": 1}, live["administration"]
    assert session.call("getSubnet", 200, path={"id": "edge"}).json["live"]["administration"] is None


def management_keys(session):
    def rotate(status, code, name="compute", body=None):
        return session.call("rotateSubnetKey", status, code, path={"id": name}, body={} if body is None else body)

    def keys(name="compute"):
        return session.call("getSubnet", 200, path={"id": name}).json["live"]["managementKeys"]

    assert keys() == {"generation": 1, "ports": 12, "held": 9, "locked": 1, "without": 1, "silent": 1, "seenAt": keys()["seenAt"]}
    version = session.call("getSubnet", 200, path={"id": "compute"}).header("ETag")
    assert rotate(200, None, body={"reason": "a host was broken into"}).json == {"subnet": "compute", "generation": 2}
    assert rotate(200, None).json["generation"] == 3
    assert session.call("getSubnet", 200, path={"id": "compute"}).header("ETag") == version, "the mode's, which is as it was"
    event = session.call("listEvents", 200, query={"type": "subnet.keyRotated"}).json["items"][0]
    assert event["data"] == {"subnet": "compute", "generation": 2, "reason": "a host was broken into"}, event
    assert keys("edge") is None
    rotate(409, "subnets.noKeys", "edge")
    for operation in ("proposeJobRoutes", "setJobRoutes", "removeJobRoutes"):
        session.call(operation, 409, "subnets.live", path={"id": "compute"})
    rotate(409, "subnets.notLive", "storage")
    rotate(404, "subnets.notFound", "nowhere")
    rotate(400, "body.invalidField", body={"reason": "r" * 501})
    rotate(400, "body.unknownField", body={"key": "0x1"})


def sync(session):
    def synced(status, query=None, **result):
        answer = session.call("syncFabric", status, query=query or {})
        assert answer.header("Location") == "/v1/operations/" + answer.json["operation"]
        operation = finished(session, answer.json["operation"])
        assert operation["kind"] == "fabric.sync", operation
        return operation

    operation = synced(202, {"subnet": "compute"})
    assert operation["state"] == "succeeded" and operation["progress"] == {"done": 1, "total": 1, "unit": "subnets"}, operation
    result = operation["result"]["subnets"]
    assert [item["subnet"] for item in result] == ["compute"] and not result[0]["synced"] and result[0]["blocksDiffering"] == 2
    both = synced(202)
    assert both["state"] == "failed" and both["error"]["code"] == "subnets.offline" and both["error"]["status"] == 503, both
    brief = session.call("getSync", 200).json
    assert [item["subnet"] for item in brief["subnets"]] == ["compute", "edge"] and not brief["synced"], brief
    live = session.call("getSubnet", 200, path={"id": "compute"}).json["live"]
    assert live["repairsTotal"] == 2 and live["repairs"][0]["at"] > live["repairs"][1]["at"], "newest first"
    assert [repair["unreachablePairs"] for repair in live["repairs"]] == [None, 0], "null before the audit"
    assert live["qos"]["portsPending"] == 3 and live["qos"]["classes"] == 6, live["qos"]
    assert live["sync"]["wantedDigest"] != live["sync"]["appliedDigest"], live["sync"]
    assert live["walk"] == {"at": live["walk"]["at"], "seenSince": live["walk"]["seenSince"], "pairs": 56, "lostPairs": 3}, live["walk"]
    session.call("getSync", 400, "query.unknownParameter", query={"verbose": ""})
    session.call("syncFabric", 400, "query.unknownParameter", query={"force": ""})
    session.call("syncFabric", 404, "subnets.notFound", query={"subnet": "nowhere"})
    session.call("syncFabric", 409, "subnets.notLive", query={"subnet": "storage"})


def job_ports(session):
    """What a job waits for on its own ports: of two that are pending on the subnet, each job has one or none."""
    def ports(name, **more):
        return session.call("getJobPorts", 200, path={"id": name}, **more).json

    node = lambda number: {"tenant": "research", "gpus": 4, "nodes": [f"node-{number}"]}
    jobs = [session.call("submitJob", 201, body=node(number)).json["id"] for number in (1, 2, 3)]
    seen = ports(jobs[0])
    assert seen["ready"] and [(one["subnet"], one["plannedSeq"]) for one in seen["subnets"]] == [("compute", None)], seen
    session.call("putSubnetMode", 200, path={"id": "compute"}, body={"mode": "direct"})
    early = ports(jobs[0])
    assert not early["ready"] and early["subnets"][0]["plannedSeq"] < early["subnets"][0]["wantedSeq"], early
    assert early["subnets"][0]["problem"] == "its tables are not planned yet" and early["pending"] == [], early
    finished(session, session.call("syncFabric", 202, query={"subnet": "compute"}).json["operation"])
    first, second, third = (ports(name) for name in jobs)
    assert third["ready"] and third["pending"] == [] and third["subnets"][0]["ports"] == 4, third
    assert not first["ready"] and [(one["port"], one["device"], one["reason"]) for one in first["pending"]] == [
        (guid(0x110) + "/1", "node-1", "does not answer")], first
    assert not second["ready"] and [(one["port"], one["device"], one["reason"]) for one in second["pending"]] == [
        (guid(2) + "/2", "leaf-2", "is not written yet")], second
    assert first["subnets"][0]["portsPending"] == 1 and first["subnets"][0]["problem"] == "lanes do not suffice", first
    for name in jobs:
        session.call("cancelJob", 200, path={"id": name})
    assert not ports(jobs[2])["ready"] and ports(jobs[2])["subnets"] == [], "it holds no GPUs"
    session.call("putSubnetMode", 200, path={"id": "compute"}, body={"mode": "observe"})
    session.call("getJobPorts", 404, "jobs.notFound", path={"id": "job-999999"})
    session.call("getJobPorts", 400, "query.unknownParameter", path={"id": jobs[0]}, query={"all": ""})
    sent = session.call("getJobTraffic", 200, path={"id": jobs[0]}).json
    assert sent["pairs"] == [] and sent["ends"] == [], "it holds no GPUs"
    session.call("getJobTraffic", 404, "jobs.notFound", path={"id": "job-999999"})
    session.call("getJobTraffic", 400, "query.unknownParameter", path={"id": jobs[0]}, query={"all": ""})


def tables(session):
    def table(status=200, code=None, name="leaf-1", **query):
        return session.call("getForwardingTable", status, code, path={"id": name}, query=query).json

    finished(session, session.call("syncFabric", 202, query={"subnet": "compute"}).json["operation"])
    whole = table(limit="1000")["items"]
    lids = [entry["lid"] for entry in whole]
    assert lids == sorted(set(lids)) and len(lids) >= 9, lids
    by_lid = {entry["lid"]: entry for entry in whole}
    assert by_lid[102]["destination"] == {"kind": "host", "node": "node-1", "device": "node-1/mlx5_0", "port": guid(0x110) + "/1"}
    assert by_lid[102]["wantedPort"] == 1 and by_lid[102]["wantedTo"] == "node-1/mlx5_0", by_lid[102]
    assert by_lid[103]["wantedTo"] == "spine-1", "the other rail is across the spine"
    every = [entry for name in ("leaf-1", "leaf-2", "spine-1") for entry in table(name=name, limit="1000")["items"]]
    assert {entry["differs"] for entry in every} == {True, False}, "a link was down when they were written"
    assert every and all(entry["differs"] == (entry["wantedPort"] != entry["appliedPort"]) for entry in every)
    items, cursor = [], {}
    while True:
        page = table(limit="2", **cursor)
        items += page["items"]
        if page["nextCursor"] is None:
            break
        cursor = {"cursor": page["nextCursor"]}
    assert items == whole
    assert table(lid="102")["items"] == [by_lid[102]] and table(lid="77")["items"] == []
    assert table(name=guid(1))["items"] == table(name="lid:1")["items"] == table()["items"]
    table(fields="lid,differs")
    table(404, "switches.notFound", name="leaf-9")
    table(400, "query.invalidNumber", lid="first")
    table(400, "query.invalidCursor", cursor="soon")
    table(400, "query.unknownParameter", port="1")
    table(409, "query.cursorExpired", cursor="v0.1")


def drains(session):
    def drain(thing, status=200, code=None, operation="drainLink", body=None, **query):
        return session.call(operation, status, code, path={"id": thing}, body=body, query=query).json

    # What it would do. The uplink is all that joins leaf-1 to the rest.
    looked = drain(UPLINK, dryRun="true")
    assert not looked["safe"] and not looked["allowed"] and looked["state"] is None and looked["waitsFor"] is None, looked
    assert looked["cutsOffCount"] == 4 == len(looked["cutsOff"]) and "cuts off 4 end ports" in looked["objections"][0], looked
    assert looked["changedEntries"] > 0 and looked["residualCapacity"] == 0.5, looked
    assert looked["maxLinkLoadBefore"] > looked["maxLinkLoadAfter"], looked
    assert drain(UPLINK, body={"force": True}, dryRun="true")["allowed"], "it would be, by force"
    drain(UPLINK, 409, "links.drainRefused", body={"reason": "replace it"})
    drain("spine-1", 409, "switches.drainRefused", operation="drainSwitch")
    assert session.call("listDrains", 200).json["items"] == []

    # A node's own cable may go while nothing runs there.
    own = drain(LINK, dryRun="true")
    assert own["safe"] and [port["node"] for port in own["cutsOff"]] == ["node-1"] and own["changedEntries"] == 0, own
    running = session.call("submitJob", 201, body=job(parallelism={"tensor": 4, "data": 4})).json["id"]
    busy = drain(LINK, dryRun="true")
    assert busy["objections"] == ["jobs run on node-1, which the cable connects"], busy
    assert [(item["job"], item["effect"]) for item in busy["jobsAffected"]] == [(running, "cutOff")], busy
    drain(LINK, 409, "links.drainRefused", body={})
    session.call("putSubnetMode", 200, path={"id": "compute"}, body={"mode": "direct"})
    forced = drain(LINK, body={"reason": "ticket 8841", "force": True})
    assert forced["state"] == "requested" and forced["waitsFor"] == "new tables are being written", forced
    assert drain(LINK)["state"] == "requested", "twice is once"
    shown = session.call("getLink", 200, path={"id": LINK}).json
    assert shown["drained"] and shown["drain"]["forced"] and shown["drain"]["reason"] == "ticket 8841", shown
    session.call("putSubnetMode", 200, path={"id": "compute"}, body={"mode": "observe"})
    assert "observe mode" in session.call("getLink", 200, path={"id": LINK}).json["drain"]["waitsFor"]

    # Nodes wait for their jobs.
    node = drain("node-2", operation="drainNode", body={"reason": "fan"})
    assert node["state"] == "requested" and running in node["waitsFor"], node
    assert [item["effect"] for item in node["jobsAffected"]] == ["onNode"] and node["residualCapacity"] is None, node
    session.call("cancelJob", 200, path={"id": running})
    assert session.call("getNode", 200, path={"id": "node-2"}).json["drain"]["state"] == "drained"
    alone = drain("lid:3", operation="drainSwitch", body={"force": True})
    assert alone["id"] == guid(3) and session.call("getSwitch", 200, path={"id": "spine-1"}).json["drain"]["forced"], alone

    items = session.call("listDrains", 200).json["items"]
    assert [(item["kind"], item["id"], item["state"]) for item in items] == [
        ("link", LINK, "requested"), ("switch", guid(3), "requested"), ("node", "node-2", "drained")], items
    paged, cursor = [], {}
    while True:
        page = session.call("listDrains", 200, query={"limit": "1", **cursor}).json
        paged += page["items"]
        if page["nextCursor"] is None:
            break
        cursor = {"cursor": page["nextCursor"]}
    assert paged == items
    assert len(session.call("listDrains", 200, query={"kind": "node"}).json["items"]) == 1
    assert len(session.call("listDrains", 200, query={"state": "requested", "fields": "id"}).json["items"]) == 2
    for query, code in (({"kind": "rack"}, "query.invalidKind"), ({"state": "done"}, "query.invalidState"),
                        ({"cursor": "x"}, "query.invalidCursor"), ({"limit": "0"}, "query.invalidNumber"),
                        ({"reason": "x"}, "query.unknownParameter")):
        session.call("listDrains", 400, code, query=query)

    drain(NVLINK, 400, "links.notDrainable")
    for operation, thing in (("drainLink", "a/1--b/2"), ("drainSwitch", "leaf-9"), ("drainNode", "node-9")):
        code = {"drainLink": "links", "drainSwitch": "switches", "drainNode": "nodes"}[operation] + ".notFound"
        for name in (operation, "un" + operation):
            session.call(name, 404, code, path={"id": thing})
        session.call(operation, 400, "query.invalidFlag", path={"id": thing}, query={"dryRun": "perhaps"})


def what_happens(session):
    """All that those who watch a fabric report, as events and alarms."""
    present = session.call("listEvents", 200).json["seq"]
    link = session.call("listLinks", 200, query={"switch": "leaf-1"}).json["items"][0]["id"]
    assert session.exchange("POST", "/test/happen", {}, link.encode()).status == 204
    with Stream(session, {"after": str(present)}) as live:
        told = live.read(1)
        while told[-1]["type"] != "route.programmed":  # the last one reported
            told += live.read(1)
    types = [event["type"] for event in told]
    assert {"link.down", "link.up", "link.changed", "alarm.raised", "alarm.cleared", "drain.advanced",
            "qos.limits", "qos.programmed", "qos.offered", "route.programmed"} <= set(types), types
    assert session.exchange("POST", "/test/happen", {}, link.encode()).status == 204
    for _ in until_deadline():
        every = session.call("listEvents", 200, query={"limit": "10000"}).json["items"]
        if "drain.completed" in {event["type"] for event in every}:
            break
    for kind in ("subnet.modeSet", "drain.requested", "drain.completed", "route.programmed", "qos.programmed", "qos.offered", "link.changed"):
        some = session.call("listEvents", 200, query={"type": kind}).json["items"]
        assert some and {event["type"] for event in some} == {kind}
    assert session.call("listEvents", 200, query={"subject": f"link/{link}", "type": "link.down"}).json["items"]
    states = {item["state"] for item in session.call("listDrains", 200).json["items"]}
    assert states == {"drained"}, states

    def alarms(**query):
        return [item["id"] for item in session.call("listAlarms", 200, query=query).json["items"]]

    every = alarms()
    cut_off, ids = every[:1], every[1:]  # the leaf's hosts are joined to nothing that is in use
    assert every == ["hosts.cutOff:leaf-2", f"link.down:{link}", "switch.silent:leaf-2"], every
    assert alarms(severity="critical") == cut_off + ids[1:] and alarms(kind="switch.silent") == ids[1:]
    assert alarms(subject="switch/leaf-2") == cut_off + ids[1:], alarms(subject="switch/leaf-2")
    assert alarms(subject=f"link/{link}") == ids[:1] and alarms(subnet="compute") == every and alarms(subnet="storage") == []
    first = session.call("listAlarms", 200, query={"limit": "1", "fields": "id,text"}).json
    assert alarms(cursor=first["nextCursor"]) == ids
    one = session.call("getAlarm", 200, path={"id": ids[0]}).json
    assert one["jobs"] == ["job-000001"] and one["subject"] == {"kind": "link", "id": link, "name": "leaf-1/1--node-1/mlx5_0/1"}, one
    assert session.exchange("GET", "/v1/alarms/" + ids[0], {}, None).status == 200, "the / may be sent as it is"
    shown = session.call("getLink", 200, path={"id": link}).json
    assert [alarm["id"] for alarm in shown["alarms"]] == ids[:1] and shown["utilisation"] == 0.25, shown
    assert shown["counters"][0]["sentGbps"] == 100 and shown["counters"][1]["utilisation"] is None, shown["counters"]
    for query, code in (({"severity": "info"}, "query.invalidSeverity"), ({"limit": "0"}, "query.invalidNumber"),
                        ({"acknowledged": "perhaps"}, "query.invalidFlag"), ({"text": "x"}, "query.unknownParameter")):
        session.call("listAlarms", 400, code, query=query)
    alarm_cases.acknowledged_alarms(session, ids)
    alarm_cases.muted_alarms(session, ids)
    session.call("getAlarm", 404, "alarms.notFound", path={"id": "link.down:a/1--b/2"})
    session.call("getAlarm", 400, "query.unknownParameter", path={"id": ids[0]}, query={"jobs": ""})


def metrics(session):
    text = session.call("getMetrics", 200).body.decode()
    for line in ('railweave_subnet_phase{subnet="edge",phase="offline"} 1', 'railweave_subnet_repairs_total{subnet="compute"} 3',
                 'railweave_subnet_blocks_differing{subnet="compute"} 2', 'railweave_alarms{severity="critical"} 2',
                 'railweave_drains{state="drained"} 3', 'railweave_subnet_links{subnet="compute",state="down"} 1',
                 'railweave_subnet_administration_asked_total{subnet="compute",attribute="PathRecord",answer="unsupported"} 2',
                 'railweave_subnet_administration_subscriptions{subnet="compute"} 2',
                 'railweave_subnet_administration_reports_total{subnet="compute",result="given_up"} 1',
                 'railweave_subnet_old_levels_loop_lanes{subnet="compute"} 2',
                 'railweave_subnet_old_levels_audited_timestamp_seconds{subnet="compute"} 1790000000',
                 'railweave_subnet_last_repair_seconds{subnet="compute"} 0.0009',
                 'railweave_alarms_by_kind{kind="switch.silent",severity="critical",quiet="false"} 1', 'railweave_jobs{state="queued"} 0'):
        assert line + "\n" in text, line
    assert "railweave_port_" not in text, "ports only when asked for"
    links = session.call("getMetrics", 200, query={"links": "true"}).body.decode()
    assert "railweave_links_left_out 0\n" in links and links.count("railweave_port_sent_bytes_total{") > 10
    assert links.count("railweave_port_utilisation_ratio{") < links.count("railweave_port_sent_bytes_total{"), "read once: no share yet"
    session.call("getMetrics", 400, "query.unknownParameter", query={"ports": ""})
    session.call("getMetrics", 400, "query.invalidFlag", query={"links": "all"})


def history(session):
    """Ten minutes that every switch port has behind it: a quarter of its rate, then half of it, at last with errors."""
    answer = session.call("getLinkHistory", 200, path={"id": UPLINK}).json
    assert answer["slots"] == 60 and answer["slotSeconds"] == 60 and len(answer["ports"]) == 2, answer
    start = answer["from"]
    for port in answer["ports"]:
        assert port["link"] == UPLINK and [item["kind"] for item in port["errors"]] == ["symbolErrors"], port
        known = [load for load in port["load"] if load is not None]
        assert len(port["load"]) == 60 and 10 <= len(known) <= 11 and port["load"][0] is None, port["load"]
        assert all(abs(load - 0.25) < 0.004 for load in known[:5]) and abs(known[-1] - 0.5) < 0.004, known
        counts = [count for count in port["errors"][0]["counts"] if count]
        assert len(counts) == 1 and abs(counts[0] - 200) <= 6, counts
    coarse = session.call("getLinkHistory", 200, path={"id": UPLINK}, query={"detail": "coarse"}).json
    assert coarse["slots"] == 96 and coarse["slotSeconds"] == 900 and coarse["from"] < start, coarse
    switch = session.call("getSwitchHistory", 200, path={"id": "leaf-1"}).json
    cabled = session.call("getSwitch", 200, path={"id": "leaf-1"}).json["cabledPorts"]
    assert len(switch["ports"]) == cabled and len({port["port"] for port in switch["ports"]}) == cabled, switch["ports"]
    assert len(session.call("getLinkHistory", 200, path={"id": LINK}).json["ports"]) == 1, "adapters have none here"
    for operation, thing, missing, code in (("getLinkHistory", UPLINK, "a/1--b/2", "links.notFound"),
                                            ("getSwitchHistory", "leaf-1", "leaf-99", "switches.notFound")):
        session.call(operation, 400, "query.invalidDetail", path={"id": thing}, query={"detail": "best"})
        session.call(operation, 400, "query.unknownParameter", path={"id": thing}, query={"span": "hour"})
        session.call(operation, 404, code, path={"id": missing})

    def loads(**query):
        return {(bundle["utilisation"], (bundle["errors"] or {}).get("grade")) for bundle in
                session.call("getFabricMap", 200, query=query).json["bundles"]}

    assert loads() <= {(0.25, None), (None, None)} and (0.25, None) in loads(), loads()
    last = datetime.datetime.fromisoformat(start.replace("Z", "+00:00")) + datetime.timedelta(minutes=59)
    early = last - datetime.timedelta(minutes=8)
    then = loads(at=f"{early:%Y-%m-%dT%H:%M:%SZ}")
    assert any(use is not None and abs(use - 0.25) < 0.004 for use, _ in then), then
    now = loads(at=f"{last:%Y-%m-%dT%H:%M:%SZ}")
    assert any(use is not None and abs(use - 0.5) < 0.004 and grade == "warning" for use, grade in now), now
    assert loads(at="2020-01-01T00:00:00Z") == {(None, None)}


def releases(session):
    """A link that flaps: what it did is said, and forgotten on request."""
    session.call("discoverFabric", 202, body={"subnet": "compute"})
    for _ in until_deadline():
        live = session.call("getSubnet", 200, path={"id": "compute"}).json["live"]
        if live["flapping"]:
            break
    flapping = live["flapping"][0]
    assert flapping["usedFor"] == "lastPath" and not flapping["held"] and flapping["flaps"] == 5 and not live["unseen"], live
    shown = session.call("getLink", 200, path={"id": flapping["link"]}).json
    assert shown["flapping"]["usedFor"] == "lastPath" and shown["state"] != "held", shown
    session.call("releaseLink", 204, path={"id": flapping["link"]}, body={"reason": "a new cable"})
    told = session.call("listEvents", 200, query={"type": "link.released"}).json["items"][-1]
    assert told["subject"]["id"] == flapping["link"] and told["data"]["reason"] == "a new cable", told
    session.call("releaseLink", 409, "links.notFlapping", path={"id": LINK})
    session.call("releaseLink", 404, "links.notFound", path={"id": "a/1--b/2"})


def undrains(session):
    for operation, thing in (("undrainLink", LINK), ("undrainSwitch", "spine-1"), ("undrainNode", "node-2")):
        session.call(operation, 204, path={"id": thing}, body={"reason": "repaired"})
        session.call(operation, 404, "drains.notFound", path={"id": thing})
    assert session.call("listDrains", 200).json["items"] == []
    assert session.call("getNode", 200, path={"id": "node-2"}).json["drain"] is None

    # What has left the topology can still be taken off the list, under its own name.
    session.call("drainNode", 200, path={"id": "node-4"})
    session.call("putTopology", 200, body=fabric(3))
    assert session.call("listDrains", 200).json["items"][0]["id"] == "node-4"
    session.call("undrainNode", 204, path={"id": "node-4"})
    session.call("putTopology", 200, body=fabric())


def bad_requests(session):
    for operation, thing in BODIES.items():
        def refuse(code, body, status=400, **headers):
            session.call(operation, status, code, path=path_of(thing), body=body, headers=headers)

        refuse("body.notJson", "{")
        refuse("body.tooDeep", "[" * 1000 + "]" * 1000)
        refuse("body.duplicateField", '{"reason": "a", "reason": "b"}')
        refuse("body.wrongType", "[]")
        refuse("body.unknownField", {"mode": "observe", "when": "now"})
        invalid = {"discoverFabric": {"accept": "yes"}, "acceptSubnetChanges": {"changes": "all"}}
        refuse("body.invalidField", invalid.get(operation, {"reason": 7} if operation == "rotateSubnetKey" else {"mode": "observe", "reason": 7}))
        refuse("http.bodyTooLarge", b" " * (1 << 20) + b"{}", 413)
        refuse("http.contentEncoding", "{}", 415, **{"Content-Encoding": "zstd"})
        session.call(operation, 400, "query.unknownParameter", path=path_of(thing), query={"verbose": ""},
                     body=json.dumps({"mode": "observe"}) if operation == "putSubnetMode" else None)
    for operation, thing in DRAINS.items():
        session.call(operation, 400, "body.invalidField", path={"id": thing}, body={"reason": "r" * 501})
    session.call("undrainLink", 400, "links.notDrainable", path={"id": NVLINK})
    assert session.call("listDrains", 200).json["items"] == []


def after_a_restart(session):
    """Modes, drains and alarms are durable."""
    session.call("putSubnetMode", 200, path={"id": "compute"}, body={"mode": "opensm", "reason": "beside it"})
    session.call("drainNode", 200, path={"id": "node-3"}, body={"reason": "memory"})
    reads = [("listDrains", {}), ("listAlarms", {}), ("getNode", {"id": "node-3"}), ("listLinks", {})]
    before = [session.call(operation, 200, path=path).body for operation, path in reads]
    session.close()
    assert session.service.stop() == 0
    session.service.start()
    assert before == [session.call(operation, 200, path=path).body for operation, path in reads]
    subnet = session.call("getSubnet", 200, path={"id": "compute"}).json
    assert subnet["mode"] == "opensm" and subnet["modeReason"] == "beside it", subnet


CASES = [fill, subnets, modes, sync, lanes, administration, management_keys, *cabling_cases.CASES, tables, drains, what_happens, metrics, history, releases, undrains, bad_requests, after_a_restart]
