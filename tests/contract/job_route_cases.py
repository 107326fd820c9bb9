"""Next hops for the jobs that run in an Ethernet subnet: proposed, set, and given up."""
from reroute_cases import leaves_and_spines
from small_fabric import fabric

TENANT = "followed"


def job_routes(session):
    def ask(operation, status, code=None, name="compute", **more):
        return session.call(operation, status, code, path={"id": name}, **more)

    before = session.call("getFabric", 200).json
    operations = ("proposeJobRoutes", "setJobRoutes", "removeJobRoutes")
    for operation in operations:
        ask(operation, 409, "subnets.notEthernet")
        ask(operation, 404, "subnets.notFound", name="nowhere")
        ask(operation, 400, "query.unknownParameter", query={"dryRun": "true"})
    topology, _ = leaves_and_spines()
    topology["linkSpecs"] = [{"kind": "ethernet", "rateMbps": 100000}]
    session.call("putTopology", 200, body=topology)
    session.call("putTenant", 200, path={"name": TENANT}, body={})
    nothing = ask("setJobRoutes", 200).json
    assert not nothing["applied"] and nothing["keptBecause"] and nothing["jobs"] == 0 and nothing["hops"] == [], nothing
    nodes = [host["name"] for host in topology["hosts"]]
    jobs = []
    for own in ((0, 4), (1, 8), (2, 12), (3, 5)):
        others = sorted(set(nodes) - {nodes[at] for at in own})
        body = {"name": "f", "tenant": TENANT, "parallelism": {"data": len(own)}, "gpusPerNode": 1, "excludeNodes": others}
        jobs.append(session.call("submitJob", 201, body=body).json["id"])
    proposed = ask("proposeJobRoutes", 200).json
    assert proposed["jobs"] == 4 and not proposed["applied"] and proposed["keptBecause"] is None, proposed
    assert proposed["askedPermille"] < proposed["askedPermilleEven"] == proposed["askedPermilleBefore"], proposed
    tables = session.call("getFdbs", 200).body
    done = ask("setJobRoutes", 200).json
    assert done["applied"] and done["hops"] == proposed["hops"] and done["version"] > proposed["version"], done
    digests = {one["switch"]: one["digest"] for one in proposed["tables"]}
    changed = {one["switch"] for one in done["tables"] if one["digest"] != digests[one["switch"]]}
    assert len(digests) == len(topology["switches"]) and changed == {hop["switch"] for hop in done["hops"]}, (changed, done)
    assert session.call("getFdbs", 200).body != tables and session.call("auditRoutes", 200).json["sound"]
    for hop in done["hops"]:
        entries = session.call("getForwardingTable", 200, path={"id": hop["switch"]}, query={"limit": "10000"}).json["items"]
        assert [one["wantedPort"] for one in entries if one["destination"].get("port") == hop["to"]] == [hop["port"]], hop
    basis = session.call("getSubnet", 200, path={"id": "compute"}).json["routeBasis"]
    assert basis["hops"] == len(done["hops"]) and basis["linksLeftOut"] == 0, basis
    again = ask("setJobRoutes", 200).json
    assert not again["applied"] and again["hops"] == done["hops"] and again["version"] == done["version"], again
    event = session.call("listEvents", 200, query={"type": "route.rebalanced"}).json["items"][-1]
    assert event["data"]["jobs"] == 4 and len(event["data"]["hops"]) == len(done["hops"]), event
    for _ in range(2):
        ask("removeJobRoutes", 204)
        assert session.call("getFdbs", 200).body == tables
    assert session.call("getSubnet", 200, path={"id": "compute"}).json["routeBasis"] is None
    for name in jobs:
        session.call("cancelJob", 200, path={"id": name})
    session.call("removeTenant", 204, path={"name": TENANT})
    session.call("putTopology", 200, body=fabric(), query={"source": before["source"]})


CASES = [job_routes]
