"""Contracts, classes of traffic, guarantees of jobs, what they take of links and what enforces them.

All jobs here send over one cable each way between a leaf and the spine: a job on n nodes at R Gb/s takes n x R of it, and
"all-reduce" has 400 x 0.95 x 0.35 = 133.
"""
from small_fabric import guid

TENANT = "bound"
TERMS = {"guaranteedGbps": 50, "classes": ["all-reduce", "all-to-all"]}


def job(**fields):
    return {"name": "g", "tenant": TENANT, "parallelism": {"tensor": 4, "data": 2}, **fields}


def contracts(session):
    def refuse(code, body, status=400, name=TENANT, **more):
        session.call("putContract", status, code, path={"tenant": name}, body=body, **more)

    session.call("getTenantContract", 404, "contracts.notFound", path={"tenant": TENANT})
    refuse("tenants.notFound", TERMS, 404)
    session.call("putTenant", 200, path={"name": TENANT}, body={})
    made = session.call("putContract", 200, path={"tenant": TENANT}, body=TERMS)
    assert made.json["pkey"] == "0x0001" and made.json["guaranteedGbps"] == 50 and made.json["maxGbps"] is None, made.json
    same = session.call("putContract", 200, path={"tenant": TENANT}, body=TERMS)
    assert same.header("ETag") == made.header("ETag"), "the same again is no change"
    shown = session.call("getTenantContract", 200, path={"tenant": TENANT})
    assert shown.json == made.json
    session.call("getTenantContract", 304, path={"tenant": TENANT}, headers={"If-None-Match": shown.header("ETag")})
    session.call("getTenantContract", 400, "query.unknownParameter", path={"tenant": TENANT}, query={"a": ""})
    refuse("precondition.versionDiffers", TERMS, 412, headers={"If-Match": '"bound.0"'})
    every = {**TERMS, "maxGbps": 100.5, "basis": "perPort", "model": "hose", "surviveLinkFailure": False, "isolated": True,
             "isolation": "class", "reservedPermille": 1000, "maxGpus": 16, "maxNvlinkDomains": 4}
    changed = session.call("putContract", 200, path={"tenant": TENANT}, body=every, headers={"If-Match": shown.header("ETag")})
    assert changed.json["isolation"] == "class" and made.json["isolation"] == "planned", changed.json
    assert changed.json["isolated"] is True and made.json["isolated"] is False, changed.json
    assert changed.json["maxGbps"] == 100.5 and changed.json["pkey"] == "0x0001", changed.json
    session.call("putContract", 200, path={"tenant": TENANT}, body=TERMS)

    refuse("body.notJson", "{")
    refuse("body.tooDeep", "[" * 1000 + "]" * 1000)
    refuse("body.duplicateField", '{"maxGpus": 1, "maxGpus": 2}')
    refuse("body.wrongType", "[]")
    refuse("body.unknownField", {"guaranteedMbps": 1})
    for wrong in ({"guaranteedGbps": -1}, {"guaranteedGbps": "1"}, {"maxGbps": 0}, {"guaranteedGbps": 10, "maxGbps": 9},
                  {"basis": "perNode"}, {"model": "star"}, {"isolation": "wall"}, {"reservedPermille": 0}, {"classes": "all"}, {"guaranteedGbps": 1e7}):
        refuse("body.invalidField", wrong)
    refuse("tenants.badName", {}, name="a b")
    refuse("query.unknownParameter", {}, query={"force": "true"})
    refuse("contracts.unknownClass", {"classes": ["gold"]}, 422)
    refuse("http.bodyTooLarge", b" " * (1 << 20) + b"{}", 413)
    refuse("http.contentEncoding", "{}", 415, headers={"Content-Encoding": "zstd"})

    session.call("putTenant", 200, path={"name": "bound-2"}, body={})
    session.call("putContract", 200, path={"tenant": "bound-2"}, body=b"")
    assert [one["id"] for one in session.call("listContracts", 200).json["items"]] == [TENANT, "bound-2"]
    page = session.call("listContracts", 200, query={"limit": "1", "fields": "id,pkey"}).json
    assert page["items"] == [{"id": TENANT, "pkey": "0x0001"}], page
    page = session.call("listContracts", 200, query={"cursor": page["nextCursor"]}).json
    assert [one["pkey"] for one in page["items"]] == ["0x0002"], page
    session.call("listContracts", 400, "query.invalidNumber", query={"limit": "0"})
    session.call("listContracts", 400, "query.unknownParameter", query={"tenant": TENANT})
    session.call("removeTenant", 409, "tenants.hasContract", path={"name": "bound-2"})
    session.call("removeContract", 412, "precondition.versionDiffers", path={"tenant": "bound-2"}, headers={"If-Match": '"x.1"'})
    session.call("removeContract", 400, "query.unknownParameter", path={"tenant": "bound-2"}, query={"force": "true"})
    session.call("removeContract", 204, path={"tenant": "bound-2"})
    session.call("removeContract", 404, "contracts.notFound", path={"tenant": "bound-2"})
    session.call("removeTenant", 204, path={"name": "bound-2"})


def classes(session):
    present = session.call("getQosClasses", 200)
    assert present.json["version"] == 0 and len(present.json["items"]) == 6, present.json
    session.call("getQosClasses", 304, headers={"If-None-Match": present.header("ETag")})
    session.call("getQosClasses", 400, "query.unknownParameter", query={"a": "1"})
    items = present.json["items"]
    wanted = [dict(one, sharePermille=40) if one["name"] == "best-effort" else one for one in items]
    changed = session.call("putQosClasses", 200, body={"items": wanted}, headers={"If-Match": present.header("ETag")})
    assert changed.json["version"] > 0
    session.call("putQosClasses", 412, "precondition.versionDiffers", body={"items": items}, headers={"If-Match": present.header("ETag")})

    def refuse(status, code, body, **more):
        session.call("putQosClasses", status, code, body=body, **more)

    refuse(409, "qosClasses.inUse", {"items": [one for one in items if one["name"] != "all-to-all"]})
    refuse(400, "qos.invalid", {"items": [dict(one, sharePermille=500) for one in items]}, valid=True)
    refuse(400, "body.missingField", {})
    refuse(400, "body.missingField", {"items": [{"name": "a", "dscp": 1}]})
    refuse(400, "body.unknownField", {"items": items, "force": True})
    refuse(400, "body.invalidField", {"items": [dict(items[0], bound="both")]})
    refuse(400, "body.wrongType", "[]")
    refuse(400, "body.notJson", "{")
    refuse(400, "body.tooDeep", "[" * 100 + "]" * 100)
    refuse(400, "body.duplicateField", '{"items": [], "items": []}')
    refuse(400, "query.unknownParameter", {"items": items}, query={"a": "1"})
    refuse(413, "http.bodyTooLarge", b" " * (1 << 20) + b"{}")
    refuse(415, "http.mediaType", {"items": items}, headers={"Content-Type": "text/plain"})
    refuse(415, "http.contentEncoding", {"items": items}, headers={"Content-Encoding": "deflate"})
    session.call("putQosClasses", 200, body={"items": items})


def admission(session):
    session.call("putContract", 200, path={"tenant": TENANT}, body={**TERMS, "maxGpus": 15})
    session.call("submitJob", 422, "contracts.gpuLimit", body=job(parallelism={"tensor": 4, "data": 4}))
    session.call("putContract", 200, path={"tenant": TENANT}, body=TERMS)
    asked = session.call("queryPlacement", 200, body=job()).json
    assert asked["guarantee"]["guaranteedGbpsPerPort"] == 50 and asked["guarantee"]["state"] == "planned", asked
    assert asked["qos"] == {"class": "all-reduce", "serviceLevel": 3, "trafficClass": 104, "pkey": "0x8001"}, asked
    assert asked["reservation"]["links"] > 4 and asked["reservation"]["mostGbpsOnALink"] == 100, asked
    first = session.call("submitJob", 201, body=job()).json
    assert first["guarantee"]["class"] == "all-reduce", first
    problem = session.call("submitJob", 409, "admission.linksFull", body=job()).json
    assert problem["outcome"] == "notNow" and problem["links"][0]["holders"] == [{"job": first["id"], "gbps": 100.0}], problem
    assert problem["links"][0]["limitGbps"] == 133.0 and first["id"] in problem["detail"], problem
    what_if = session.call("queryPlacement", 200, body=job()).json
    assert what_if["outcome"] == "notNow" and what_if["code"] == "admission.linksFull", what_if
    assert what_if["links"][0]["holders"] == [{"job": first["id"], "gbps": 100.0}], what_if
    session.call("repairJob", 409, "jobs.guaranteeHolds", path={"id": first["id"]}, body={"guarantee": True})
    session.call("repairJob", 400, "body.invalidField", path={"id": first["id"]}, body={"guarantee": True, "nodes": ["a"]})
    beside = session.call("submitJob", 201, body=job(bandwidth={"qosClass": "all-to-all", "guaranteedGbpsPerPort": 30})).json
    session.call("cancelJob", 200, path={"id": beside["id"]})
    best = session.call("submitJob", 201, body=job(bandwidth={"guaranteedGbpsPerPort": 0})).json
    assert best["guarantee"] is None, best
    session.call("getJobCaps", 409, "guarantees.none", path={"id": best["id"]})
    session.call("cancelJob", 200, path={"id": best["id"]})

    def never(code, bandwidth, **fields):
        problem = session.call("submitJob", 422, code, body=job(bandwidth=bandwidth, **fields)).json
        assert problem["outcome"] == "never", problem
        return problem

    never("admission.overContract", {"guaranteedGbpsPerPort": 51})
    never("admission.classNotAllowed", {"qosClass": "storage"})
    never("admission.noContract", {"guaranteedGbpsPerPort": 1}, tenant="research")
    assert session.call("queryPlacement", 200, body=job(bandwidth={"qosClass": "storage"})).json["outcome"] == "never"
    for wrong in ({"model": "ring"}, {"guaranteedGbpsPerPort": -1}, {"surviveLinkFailure": "yes"}):
        session.call("submitJob", 400, "body.invalidField", body=job(bandwidth=wrong))
    session.call("submitJob", 400, "body.unknownField", body=job(bandwidth={"gbps": 1}))

    limited = {**TERMS, "maxGpus": 15}
    session.call("putContract", 200, path={"tenant": TENANT}, body=limited)
    session.call("submitJob", 409, "contracts.gpuLimit", body=job(bandwidth={"guaranteedGbpsPerPort": 0}))
    session.call("putContract", 200, path={"tenant": TENANT}, body={**TERMS, "maxNvlinkDomains": 3})
    session.call("submitJob", 409, "nvlink.overQuota", body=job(bandwidth={"guaranteedGbpsPerPort": 0}))
    problem = session.call("putContract", 409, "contracts.jobsDoNotFit", path={"tenant": TENANT}, body={"guaranteedGbps": 100}).json
    assert first["id"] in problem["detail"] and problem["links"][0]["wantedBy"] == first["id"], problem
    session.call("removeContract", 409, "contracts.inUse", path={"tenant": TENANT})
    items = session.call("getQosClasses", 200).json["items"]
    small = [dict(one, sharePermille=200) if one["name"] == "all-reduce" else one for one in items]
    problem = session.call("putQosClasses", 409, "qosClasses.jobsDoNotFit", body={"items": small}).json
    assert problem["links"][0]["wantedBy"] == first["id"], problem
    nothing = {**TERMS, "guaranteedGbps": 0}
    for less in (nothing, {**TERMS, "guaranteedGbps": 20}, {**TERMS, "model": "pattern"}):
        problem = session.call("putContract", 409, "contracts.weakensGuarantees", path={"tenant": TENANT}, body=less).json
        assert first["id"] in problem["detail"] and "withdraw" in problem["hint"], problem
    assert session.call("getJob", 200, path={"id": first["id"]}).json["guarantee"]["guaranteedGbpsPerPort"] == 50
    session.call("putContract", 400, "query.invalidFlag", path={"tenant": TENANT}, body=nothing, query={"withdraw": "perhaps"})
    session.call("putContract", 200, path={"tenant": TENANT}, body=nothing, query={"withdraw": "true"})
    assert session.call("getJob", 200, path={"id": first["id"]}).json["guarantee"] is None
    session.call("cancelJob", 200, path={"id": first["id"]})

    session.call("putContract", 200, path={"tenant": TENANT}, body={"guaranteedGbps": 100})
    full = session.call("submitJob", 409, "admission.linksFull", body=job()).json
    assert any(one["change"].startswith("guaranteed ") for one in full["explanation"]["counterfactuals"]), full
    session.call("putContract", 200, path={"tenant": TENANT}, body={"guaranteedGbps": 400})
    never("admission.neverFits", {})
    never("admission.unknownClass", {"qosClass": "gold"})
    session.call("putContract", 200, path={"tenant": TENANT}, body={"guaranteedGbps": 0.001, "basis": "perJob"})
    never("admission.nothingPromised", {})
    session.call("putContract", 200, path={"tenant": TENANT}, body=TERMS)


def lanes(session):
    """Lanes of jobs' own: what is left of 15 behind the classes. Nothing here is programmed, so all of it is planned."""
    session.call("putContract", 200, path={"tenant": TENANT}, body={**TERMS, "guaranteedGbps": 10, "isolation": "lane"})
    items = session.call("getQosClasses", 200).json["items"]
    more = [{"name": f"more-{number}", "sharePermille": 1, "priority": 0, "dscp": 50 + number} for number in range(8)]
    session.call("putQosClasses", 200, body={"items": more + items})
    first = session.call("submitJob", 201, body=job()).json
    assert first["guarantee"]["isolation"] == "lane" and first["guarantee"]["lane"] == 0, first
    refused = session.call("submitJob", 409, "admission.lanesTaken", body=job()).json
    assert refused["outcome"] == "notNow" and refused["links"][0]["holders"][0]["job"] == first["id"], refused
    listed = session.call("listGuarantees", 200).json["items"][0]
    assert listed["isolation"] == "lane" and listed["lane"] == 0 and listed["inForce"]["isolation"] == "planned", listed
    assert "planned only" in listed["inForce"]["statement"], listed
    session.call("putQosClasses", 409, "qosClasses.jobsDoNotFit", body={"items": [dict(more[0], name="more", dscp=60)] + more + items})
    # Its ranks were started with a level that would be another's: refused with its name, or said from then on.
    moved = {"items": more[1:] + items}
    problem = session.call("putQosClasses", 409, "qosClasses.jobsRemarked", body=moved).json
    assert first["id"] in problem["detail"], problem
    session.call("putQosClasses", 400, "query.invalidFlag", body=moved, query={"force": "perhaps"})
    session.call("putQosClasses", 200, body=moved, query={"force": "true"})
    told = session.call("listGuarantees", 200).json["items"][0]["inForce"]
    assert told["level"] == "planned" and told["isolation"] == "planned", told
    assert [one["subject"]["id"] for one in session.call("listAlarms", 200).json["items"] if one["kind"] == "guarantee.remarked"] == [first["id"]]
    session.call("cancelJob", 200, path={"id": first["id"]})
    session.call("putQosClasses", 200, body={"items": [dict(more[0], name="more", dscp=60)] + more + items})
    session.call("getSwitchQueues", 404, "switches.notFound", path={"id": "leaf-9"})
    session.call("getSwitchQueues", 400, "query.unknownParameter", path={"id": "leaf-1"}, query={"a": "1"})
    queues = session.call("getSwitchQueues", 200, path={"id": "leaf-1"}).json
    assert queues["switch"] == "leaf-1" and queues["ports"] == [] and queues["laneDscps"] == [], queues
    problem = session.call("submitJob", 422, "admission.noLanes", body=job()).json
    assert problem["outcome"] == "never", problem
    session.call("putQosClasses", 200, body={"items": items})
    session.call("putContract", 200, path={"tenant": TENANT}, body=TERMS)


def guarantees(session):
    hose = session.call("submitJob", 201, body=job()).json["id"]
    pattern = {"model": "pattern", "guaranteedGbpsPerPort": 10, "qosClass": "all-to-all"}
    ring = session.call("submitJob", 201, body=job(bandwidth=pattern)).json["id"]
    items = session.call("listGuarantees", 200).json["items"]
    assert [one["job"] for one in items] == [hose, ring], items
    assert items[0]["tightestLink"]["reservedGbps"] == 100 and items[0]["tightestLink"]["limitGbps"] == 133, items[0]
    assert {means["strength"] for means in items[0]["enforcement"]} == {"planned"}, "no subnet is live"
    assert items[0]["inForce"]["level"] == "planned" and items[0]["inForce"]["statement"], items[0]
    page = session.call("listGuarantees", 200, query={"limit": "1"}).json
    assert session.call("listGuarantees", 200, query={"cursor": page["nextCursor"]}).json["items"][0]["job"] == ring
    assert session.call("listGuarantees", 200, query={"tenant": "research"}).json["items"] == []
    assert session.call("listGuarantees", 200, query={"state": "atRisk"}).json["items"] == []
    session.call("listGuarantees", 200, query={"fields": "job,state"})
    for query, code in (({"state": "lost"}, "query.invalidState"), ({"cursor": "x"}, "query.invalidCursor"),
                        ({"limit": "0"}, "query.invalidNumber"), ({"job": hose}, "query.unknownParameter")):
        session.call("listGuarantees", 400, code, query=query)

    links = session.call("listGuaranteedLinks", 200, query={"top": "2"}).json
    assert len(links["items"]) == 2 and links["links"] > 2, links
    assert {one["class"] for one in links["items"][0]["classes"]} >= {"all-reduce"}, links
    assert links["items"][0]["classes"][0]["holders"][0] == {"job": hose, "gbps": 100.0}, links
    session.call("listGuaranteedLinks", 400, "query.invalidNumber", query={"top": "-1"})
    session.call("listGuaranteedLinks", 400, "query.unknownParameter", query={"limit": "1"})
    assert session.call("proposeReroute", 200).json["holdAgain"] == []
    session.call("proposeReroute", 400, "query.unknownParameter", query={"limit": "1"})
    answer = session.call("getCertificate", 200)
    session.call("getCertificate", 304, headers={"If-None-Match": answer.header("ETag")})
    certificate = answer.json
    assert {one["job"] for one in certificate["jobs"]} == {hose, ring} and certificate["linksDown"] == [], certificate
    session.call("getCertificate", 400, "query.unknownParameter", query={"format": "json"})
    key = session.call("getCertificateKey", 200).json
    assert certificate["signature"]["key"] == key["key"] and "BEGIN PUBLIC KEY" in key["publicKey"], key
    session.call("getCertificateKey", 400, "query.unknownParameter", query={"format": "json"})
    assert "dump_ucast_routes: Switch 0x" + guid(1) in session.call("getFdbs", 200).body.decode()
    session.call("getFdbs", 404, "links.notFound", query={"failLink": "leaf-1/1"})
    session.call("getFdbs", 400, "query.unknownParameter", query={"switch": "leaf-1"})

    caps = session.call("getJobCaps", 200, path={"id": hose}).json
    ports = [port for node in caps["items"] for port in node["ports"]]
    assert len(caps["items"]) == 2 and len(ports) == 4, caps
    assert ports[0]["maxGbps"] is None and ports[0]["queuePair"] is None, ("the contract has no maximum", ports[0])
    assert ports[0]["virtualFunction"] == [] == ports[0]["tc"], ("InfiniBand adapters have neither", ports[0])
    session.call("getJobPorts", 400, "query.unknownParameter", path={"id": hose}, query={"a": "1"})
    session.call("getJobCaps", 404, "jobs.notFound", path={"id": "job-999999"})
    session.call("getJobCaps", 400, "query.unknownParameter", path={"id": hose}, query={"a": "1"})
    one, other = (session.call("getJobPartition", 200, path={"id": name}).json for name in (hose, ring))
    assert one["pkey"] == "0x8001" and len(one["items"]) == 2 and one["items"][0]["owner"] == TENANT, one
    owned = [(item["domain"], gpu["node"], gpu["gpu"]) for part in (one, other) for item in part["items"] for gpu in item["gpus"]]
    assert len(owned) == len(set(owned)) == 16, "a GPU has one owner"
    assert [(node["pkeyIndex"], node["isolated"]) for node in one["nodes"]] == [(1, False)] * 2, one["nodes"]
    shared = session.call("getJobPartition", 200, path={"id": hose}, query={"allowShared": "true"}).json
    assert all(item["sharedWith"] == [] for item in shared["items"]), shared
    session.call("getJobPartition", 400, "query.invalidFlag", path={"id": hose}, query={"allowShared": "maybe"})
    session.call("getJobPartition", 404, "jobs.notFound", path={"id": "x"})
    session.call("getJobPartition", 400, "query.unknownParameter", path={"id": hose}, query={"a": "1"})
    nccl = session.call("listRanks", 200, path={"id": hose}, query={"format": "nccl"}).body.decode()
    assert " NCCL_IB_SL=3 " in nccl and " UCX_IB_TRAFFIC_CLASS=104 " in nccl, nccl[:300]

    assert session.call("listRanks", 200, path={"id": hose}).json["items"][0]["env"].items() >= {"NCCL_IB_SL": "3", "NCCL_IB_TC": "104", "UCX_IB_SL": "3"}.items()

    # Without its spine the leaves are apart: at risk at once, restored with it.
    told = session.call("drainSwitch", 200, path={"id": "spine-1"}, query={"dryRun": "true"}, body={"force": True}).json
    assert [one["job"] for one in told["guaranteesAtRisk"]] == [hose] and told["guaranteesAtRisk"][0]["reason"], told
    refused = session.call("drainSwitch", 409, "switches.drainRefused", path={"id": "spine-1"}, body={"reason": "maintenance"}).json
    assert f"it breaks 1 guarantee: {hose}" in refused["detail"], refused
    session.call("drainSwitch", 200, path={"id": "spine-1"}, body={"force": True, "reason": "maintenance"})
    raised = {one["id"]: one for one in session.call("listAlarms", 200).json["items"]}
    assert f"guarantee.atRisk:{hose}" in raised and raised[f"guarantee.atRisk:{hose}"]["jobs"] == [hose], raised
    lost = session.call("listGuarantees", 200, query={"state": "atRisk"}).json["items"]
    assert [one["job"] for one in lost][:1] == [hose] and lost[0]["reason"] and lost[0]["atRiskSince"], lost
    assert hose not in {one["job"] for one in session.call("getCertificate", 200).json["jobs"]}
    session.call("cancelJob", 200, path={"id": ring})
    # What has most end ports is the rest; a rail of every node is not joined to it.
    assert {one["id"] for one in session.call("listNodes", 200).json["items"] if one["state"] == "cutOff"} == {
        f"node-{number}" for number in range(1, 5)}
    assert [one["kind"] for one in raised.values() if one["kind"] == "hosts.cutOff"] == ["hosts.cutOff"], raised
    nowhere = session.call("submitJob", 409, "jobs.noCapacityAtLevel", body=job(bandwidth={"guaranteedGbpsPerPort": 1})).json
    assert [(one["reason"], one["nodes"]) for one in nowhere["explanation"]["excluded"]] == [("cutOff", 4)], nowhere
    session.call("undrainSwitch", 204, path={"id": "spine-1"})
    back = session.call("listGuarantees", 200).json["items"]
    assert [(one["job"], one["state"]) for one in back] == [(hose, "planned")] and back[0]["atRiskTotalMs"] > 0, back
    assert not [one for one in session.call("listAlarms", 200).json["items"] if one["kind"] == "guarantee.atRisk"]
    history = [line["reason"] for line in session.call("getJob", 200, path={"id": hose}).json["history"]]
    assert any("guarantee at risk" in line for line in history) and any("holds again" in line for line in history), history
    session.call("putContract", 200, path={"tenant": TENANT}, body={"guaranteedGbps": 40, "classes": TERMS["classes"]}, query={"withdraw": "true"})
    assert session.call("getJob", 200, path={"id": hose}).json["guarantee"]["guaranteedGbpsPerPort"] == 40
    session.call("cancelJob", 200, path={"id": hose})
    assert session.call("getJobPartition", 200, path={"id": hose}).json["items"] == []

    session.call("removeContract", 204, path={"tenant": TENANT})
    session.call("removeTenant", 204, path={"name": TENANT})
    kinds = {event["type"] for event in session.call("listEvents", 200, query={"limit": "10000"}).json["items"]}
    assert {"contract.put", "contract.removed", "qosClasses.put", "guarantee.atRisk", "guarantee.restored", "guarantee.amended"} <= kinds, kinds


CASES = [contracts, classes, admission, lanes, guarantees]
