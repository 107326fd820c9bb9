"""Budgets of nodes, what agents report of them, and the grade that follows: nothing here limits anything."""
from guarantee_cases import TERMS, job

TENANT = "limited"


def read_back(budgets, **changed):
    """A report as an agent makes that applied all of it."""
    ports = [{"job": one["job"], "port": one["port"], "sendMbps": one["sendMbps"], "receiveMbps": one["receiveMbps"],
              **({"flows": [{"port": flow["port"], "sendMbps": flow["sendMbps"]} for flow in one["flows"]]} if one["flows"] else {})}
             for one in budgets["items"]]
    return {"term": budgets["term"], "version": budgets["version"], "ports": ports, **changed}


def agents(session):
    budgets = lambda node: session.call("getNodeBudgets", 200, path={"id": node}).json
    report = lambda node, body: session.call("reportNodeBudgets", 200, path={"id": node}, body=body).json
    grade = lambda name: next(one for one in session.call("listGuarantees", 200).json["items"] if one["job"] == name)["inForce"]
    session.call("putTenant", 200, path={"name": TENANT}, body={})
    session.call("putContract", 200, path={"tenant": TENANT}, body={**TERMS, "guaranteedGbps": 10, "maxGbps": 40, "isolation": "class"})
    first = session.call("submitJob", 201, body=job(tenant=TENANT)).json
    assert first["earlierServiceLevels"] == [], first
    nodes = first["nodeList"]
    assert len(nodes) == 2, nodes
    # Nothing drops the class from hosts without a job here: their agents have to keep them out as well.
    strangers = grade(first["id"])
    others = [node["id"] for node in session.call("listNodes", 200, query={"limit": "1000"}).json["items"] if node["id"] not in nodes]
    assert others and strangers["unreportedNodes"][:2] == nodes and set(strangers["unreportedNodes"]) > set(nodes), strangers
    for node in others:
        assert report(node, read_back(budgets(node)))["enforced"] is True
    planned = grade(first["id"])
    assert planned["isolation"] == "planned" and planned["unreportedNodes"] == nodes, planned

    answer = session.call("getNodeBudgets", 200, path={"id": nodes[0]})
    one = answer.json
    session.call("getNodeBudgets", 304, path={"id": nodes[0]}, headers={"If-None-Match": answer.header("ETag")})
    assert {item["sendMbps"] for item in one["items"]} == {10_000} == {item["receiveMbps"] for item in one["items"]}, one
    assert {item["maxMbps"] for item in one["items"]} == {40_000} and {item["dscp"] for item in one["items"]} == {26}, one
    assert {item["serviceLevel"] for item in one["items"]} == {3} and one["bestEffort"]["serviceLevel"] == 0, one
    assert [peer["node"] for peer in one["jobs"][0]["peers"]] == nodes[1:], one
    session.call("getNodeBudgets", 404, "nodes.notFound", path={"id": "nowhere"})
    session.call("getNodeBudgets", 400, "query.unknownParameter", path={"id": nodes[0]}, query={"a": "1"})

    status = session.call("getNodeBudgetReport", 200, path={"id": nodes[0]}).json
    assert status["version"] is None and status["enforced"] is False and status["wantedVersion"] == one["version"], status
    session.call("getNodeBudgetReport", 404, "nodes.notFound", path={"id": "nowhere"})
    session.call("getNodeBudgetReport", 400, "query.unknownParameter", path={"id": nodes[0]}, query={"a": "1"})
    assert report(nodes[0], read_back(one))["enforced"] is True
    half = grade(first["id"])
    assert half["isolation"] == "planned" and half["unreportedNodes"] == nodes[1:] and nodes[1] in half["statement"], half
    other = read_back(budgets(nodes[1]))
    assert report(nodes[1], other)["enforced"] is True
    full = grade(first["id"])
    assert full["isolation"] == "class" and full["unreportedNodes"] == [] and full["level"] == "planned", full
    certified = session.call("getCertificate", 200)
    assert session.call("getNodeBudgetReport", 200, path={"id": nodes[1]}).json["agoSeconds"] < 15

    # What was read back is above a budget, or lacks a port.
    more = read_back(one)
    more["ports"][0]["receiveMbps"] += 1
    differs = report(nodes[0], more)
    assert differs["enforced"] is False and "receive 10001 Mb/s in its class, of 10000" in differs["differs"][0], differs
    assert grade(first["id"])["isolation"] == "planned"
    # What agents say of themselves is no part of the certificate, which nothing could prove.
    session.call("getCertificate", 304, headers={"If-None-Match": certified.header("ETag")})
    assert report(nodes[0], read_back(one, ports=more["ports"][1:]))["enforced"] is False
    assert report(nodes[0], read_back(one))["enforced"] is True and grade(first["id"])["isolation"] == "class"

    refusals(session, nodes[0], one)

    # A neighbour in its class on its links, also of another tenant, is limited too, or nothing is isolated.
    session.call("putTenant", 200, path={"name": "beside"}, body={})
    session.call("putContract", 200, path={"tenant": "beside"}, body={**TERMS, "guaranteedGbps": 1})
    second = session.call("submitJob", 201, body=job(tenant="beside")).json
    lost = grade(first["id"])
    assert lost["isolation"] == "planned" and second["id"] in lost["statement"], lost
    for node in {*second["nodeList"], *nodes}:
        assert report(node, read_back(budgets(node)))["enforced"] is True
    assert grade(first["id"])["isolation"] == "class" and grade(second["id"])["unreportedNodes"] == []
    assert grade(second["id"])["isolation"] == "planned", "its contract asks for nothing"
    session.call("cancelJob", 200, path={"id": second["id"]})
    session.call("cancelJob", 200, path={"id": first["id"]})
    after = budgets(nodes[0])
    assert after["items"] == [] and after["version"] > one["version"], after

    # A pattern is held to its flows.
    ring = session.call("submitJob", 201, body=job(tenant=TENANT, bandwidth={"model": "pattern"})).json
    flows = budgets(ring["nodeList"][0])
    assert all(sum(flow["sendMbps"] for flow in item["flows"]) == item["sendMbps"] > 0 for item in flows["items"]), flows
    assert {flow["node"] for item in flows["items"] for flow in item["flows"]} == set(ring["nodeList"][1:]), flows
    above = read_back(flows)
    above["ports"][0]["flows"][0]["sendMbps"] += 1
    assert report(ring["nodeList"][0], above)["enforced"] is False
    session.call("cancelJob", 200, path={"id": ring["id"]})
    for name in (TENANT, "beside"):
        session.call("removeContract", 204, path={"tenant": name})
        session.call("removeTenant", 204, path={"name": name})


def refusals(session, node, budgets):
    good = read_back(budgets)

    def refuse(status, code, body, where=node, **more):
        session.call("reportNodeBudgets", status, code, path={"id": where}, body=body, **more)

    refuse(409, "agents.oldTerm", {**good, "term": good["term"] + 1})
    refuse(409, "agents.oldVersion", {**good, "version": good["version"] - 1})
    refuse(404, "nodes.notFound", good, "nowhere")
    refuse(400, "query.unknownParameter", good, query={"a": "1"})
    refuse(400, "body.notJson", "{")
    refuse(400, "body.tooDeep", "[" * 40 + "]" * 40)
    refuse(400, "body.duplicateField", '{"term": 1, "term": 1}')
    refuse(400, "body.wrongType", [])
    refuse(400, "body.unknownField", {**good, "jobs": []})
    refuse(400, "body.invalidField", {**good, "ports": 1})
    refuse(400, "body.missingField", {"term": 0, "version": 1})
    refuse(400, "body.missingField", {**good, "ports": [{"job": "job-000001"}]})
    refuse(413, "http.bodyTooLarge", b" " * (9 << 20) + b"{}")
    refuse(415, "http.mediaType", good, headers={"Content-Type": "text/plain"})
    refuse(415, "http.contentEncoding", good, headers={"Content-Encoding": "br"})


CASES = [agents]
