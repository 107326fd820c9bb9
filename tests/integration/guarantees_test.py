#!/usr/bin/env python3
"""Guarantees by the command line, on a real railweaved: contracts, jobs, the certificate checked by railweave-verify against
what was promised outside it, and refused once anything in it is changed. After kill -9 everything is as it was, to the byte. A
node whose cables are gone from the fabric is damage that the book, the alarms, the node and the verifier agree on.

guarantees_test.py BIN_FOLDER
"""
import copy
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from service import Service  # noqa: E402

BIN = Path(sys.argv[1])


def railweave(service, *arguments, code=0):
    environment = dict(os.environ, RAILWEAVE_URL=f"http://127.0.0.1:{service.port}" if service else "", NO_COLOR="1")
    done = subprocess.run([BIN / "railweave", *arguments], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode in (code if isinstance(code, tuple) else (code,)), f"railweave {' '.join(arguments)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout if done.returncode in (0, 10) else done.stderr


def tampered(certificate):
    """Name of what was changed, and the certificate with it."""
    def change(name, how):
        copied = copy.deepcopy(certificate)
        how(copied)
        return name, copied

    # Of the job that promises its pattern what is reserved is what is needed; for the others failures are kept for.
    names = [one["name"] for one in certificate["classes"]]
    at, kept = names.index("all-to-all"), names.index("all-reduce")
    fullest = max(range(len(certificate["links"])), key=lambda i: certificate["links"][i]["reservedMbps"][at])

    def hose(c):
        return next(job for job in c["jobs"] if job["promise"] == "hose")

    def pattern(c):
        return next(job for job in c["jobs"] if job["promise"] == "pattern")

    def halve(c, job, column):
        for port in job.get("ports", []):
            port.update(sendMbps=port["sendMbps"] // 2, receiveMbps=port["receiveMbps"] // 2)
        for flow in job.get("flows", []):
            flow["mbps"] //= 2
        for link in c["links"]:
            link["reservedMbps"][column] = (link["reservedMbps"][column] + 1) // 2

    def empty(c):
        c["jobs"], c["links"] = [], []

    def shift_shares(c):
        c["classes"][kept]["sharePermille"] += 10
        c["classes"][names.index("latency")]["sharePermille"] -= 10

    def served_by_weights(c):
        del c["links"][fullest]["turns"]
        c["links"][fullest]["weights"] = [one["sharePermille"] for one in c["classes"]]

    def share_lane(c):
        turns = c["links"][fullest]["turns"]
        turns.append([(turns[0][0] + 1) % len(names), turns[0][1], 1])

    def as_pattern(c):
        job = hose(c)
        del job["ports"]
        job.update(promise="pattern", flows=[])

    def swap_receivers(c):
        """Two flows of one leaf, of equal rates: what ports and links carry is the same."""
        flows, leaf = pattern(c)["flows"], {link["from"]: link["to"].split("/")[0] for link in c["links"]}
        one, other = next((a, b) for a in flows for b in flows if a["mbps"] == b["mbps"] and len({
            a["from"], a["to"], b["from"], b["to"]}) == 4 and len({leaf[end] for end in (
                a["from"], a["to"], b["from"], b["to"])}) == 1)
        for name in ("to", "toLid"):
            one[name], other[name] = other[name], one[name]

    def swap_port(c):
        one, other = [job for job in c["jobs"] if job["promise"] == "hose"][:2]
        one["ports"][0] = copy.deepcopy(other["ports"][0])

    yield change("1 Mb/s less on a link", lambda c: c["links"][fullest]["reservedMbps"].__setitem__(at, c["links"][fullest]["reservedMbps"][at] - 1))
    yield change("1 Mb/s more on a link", lambda c: c["links"][fullest]["reservedMbps"].__setitem__(at, c["links"][fullest]["reservedMbps"][at] + 1))
    yield change("a link left out", lambda c: c["links"].pop(fullest))
    yield change("half of what is kept for failures", lambda c: [
        link["reservedMbps"].__setitem__(kept, link["reservedMbps"][kept] // 2) for link in c["links"]])
    yield change("more promised to a port", lambda c: hose(c)["ports"][0].update(sendMbps=10**6, receiveMbps=10**6))
    yield change("another LID", lambda c: hose(c)["ports"][0].update(portLid=9999))
    yield change("more capacity than there is", lambda c: c["links"][fullest].update(capacityMbps=10**7))
    yield change("less capacity than there is", lambda c: c["links"][fullest].update(capacityMbps=c["links"][fullest]["capacityMbps"] - 1))
    yield change("other routes", lambda c: c["routes"].update(fnv1a64="0" * 16))
    yield change("a class of a smaller share", lambda c: c["classes"][at].update(sharePermille=1))
    yield change("a class of a larger share", shift_shares)
    yield change("no headroom", lambda c: c.update(usablePermille=1000))
    yield change("a job removed", lambda c: c["jobs"].remove(hose(c)))
    yield change("the pattern's job removed", lambda c: c["jobs"].remove(pattern(c)))
    yield change("all jobs removed", lambda c: c["jobs"].clear())
    yield change("all jobs and links removed", empty)
    yield change("a job twice", lambda c: c["jobs"].append(copy.deepcopy(hose(c))))
    yield change("a job of another name", lambda c: hose(c).update(job="job-000099"))
    yield change("a rate halved", lambda c: hose(c)["ports"][0].update(sendMbps=hose(c)["ports"][0]["sendMbps"] // 2))
    yield change("all rates of a job halved, and what is reserved", lambda c: halve(c, hose(c), kept))
    yield change("all flows halved, and what is reserved", lambda c: halve(c, pattern(c), at))
    yield change("a flow removed", lambda c: pattern(c)["flows"].pop())
    yield change("a flow to another port", lambda c: pattern(c)["flows"][0].update(to=hose(c)["ports"][0]["port"], toLid=hose(c)["ports"][0]["portLid"]))
    yield change("the receivers of two flows swapped", swap_receivers)
    yield change("survives no failure", lambda c: hose(c).update(survivesLinkFailure=False))
    yield change("no job survives a failure", lambda c: [job.update(survivesLinkFailure=False) for job in c["jobs"]])
    yield change("survives failures without a contract for it", lambda c: pattern(c).update(survivesLinkFailure=True))
    yield change("weights of 10^9", lambda c: [link.update(weights=[10**9] * len(names)) for link in c["links"]])
    yield change("weights in place of an arbitration table", served_by_weights)
    yield change("a negative weight", lambda c: c["links"][fullest]["turns"][0].__setitem__(2, -1))
    yield change("a lane of two classes", share_lane)
    yield change("turns of fewer bytes", lambda c: [turn.__setitem__(2, 1) for turn in c["links"][fullest]["turns"] if turn[0] == at])
    yield change("a port left out", lambda c: hose(c)["ports"].pop())
    yield change("a port of another job", swap_port)
    yield change("another tenant", lambda c: hose(c).update(tenant="silver"))
    yield change("another class", lambda c: hose(c).update({"class": "storage"}))
    yield change("another model", as_pattern)
    yield change("a thousandth reserved", lambda c: hose(c).update(reservedPermille=1))
    yield change("a link called down", lambda c: c["linksDown"].append(
        f"{c['links'][fullest]['from']}--{c['links'][fullest]['to']}"))


def verify(folder, certificate, outside=True, failures=True):
    (folder / "changed.json").write_text(json.dumps(certificate))
    words = [BIN / "railweave-verify", folder / "fabric.json", folder / "opensm.fdbs", folder / "changed.json"]
    if outside:
        for option, name in (("--contracts", "contracts"), ("--classes", "classes"), ("--jobs", "jobs"), ("--links-down", "links-down")):
            words += [option, folder / f"{name}.json"]
    if failures:
        words += ["--after-list", folder / "after.txt"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout


def without_cables(fabric, node):
    """The same fabric, and none of the node's adapters has a cable."""
    torn, device = copy.deepcopy(fabric), len(fabric["switches"])
    own = set()
    for host in fabric["hosts"]:
        for _ in host.get("adapters", []):
            if host["name"] == node:
                own.add(device)
            device += 1
    torn["links"] = [link for link in fabric["links"] if link[0] not in own and link[2] not in own]
    assert own and len(torn["links"]) < len(fabric["links"])
    return torn


def lost_cables(service, folder, node, job):
    """Import of the fabric without a node's cables: at risk, damaged, alarmed, in the same event; the verifier agrees."""
    fabric = json.loads((folder / "fabric.json").read_text())
    good = json.loads((folder / "certificate.json").read_text())
    (folder / "torn.json").write_text(json.dumps(without_cables(fabric, node)))
    railweave(service, "fabric", "import", str(folder / "torn.json"))
    listed = {one["job"]: one for one in json.loads(railweave(service, "guarantees", "list", "-o", "json"))["items"]}
    assert listed[job]["state"] == "atRisk" and node in listed[job]["reason"], listed[job]
    assert node in json.loads(railweave(service, "jobs", "show", job, "-o", "json"))["damage"]
    alarms = json.loads(railweave(service, "alarms", "-o", "json"))["items"]
    assert any(one["kind"] == "guarantee.atRisk" and one["subject"]["id"] == job for one in alarms), alarms
    states = {one["id"]: one["state"] == "linkDown" for one in json.loads(railweave(service, "nodes", "list", "-o", "json"))["items"]}
    assert states[node] and sum(states.values()) == 1, states
    torn = folder / "torn"
    railweave(service, "guarantees", "verify", "--keep", str(torn), code=(0, 10))  # 10: reservations for failures are used up
    assert job not in {one["job"] for one in json.loads((torn / "certificate.json").read_text())["jobs"]}
    code, text = verify(torn, good)
    assert code == 1 and "has no cable" in text, text
    railweave(service, "fabric", "import", str(folder / "fabric.json"))
    back = {one["job"]: one["state"] for one in json.loads(railweave(service, "guarantees", "list", "-o", "json"))["items"]}
    assert back[job] == "planned", back  # of a fabric that is not live, nothing is seen in force


def lost_without_guarantee(service, folder):
    """A job that no contract promises anything is named by an alarm as well, until its node has its cables again."""
    railweave(service, "tenants", "put", "bronze")
    railweave(service, "jobs", "submit", "--tenant", "bronze", "--tp", "8", "--dp", "2")
    job = "job-000005"
    node = json.loads(railweave(service, "jobs", "ranks", job, "-o", "json"))["items"][0]["node"]
    (folder / "torn.json").write_text(json.dumps(without_cables(json.loads((folder / "fabric.json").read_text()), node)))
    railweave(service, "fabric", "import", str(folder / "torn.json"))
    alarms = {one["id"]: one for one in json.loads(railweave(service, "alarms", "-o", "json"))["items"]}
    assert f"guarantee.atRisk:{job}" not in alarms, alarms
    alarm = alarms[f"job.damaged:{job}"]
    assert alarm["jobs"] == [job] and alarm["severity"] == "critical" and node in alarm["text"], alarm
    railweave(service, "fabric", "import", str(folder / "fabric.json"))
    back = [one["id"] for one in json.loads(railweave(service, "alarms", "-o", "json"))["items"]]
    assert f"job.damaged:{job}" not in back, back


def main():
    with tempfile.TemporaryDirectory(prefix="railweave-guarantees-") as name, Service(BIN / "railweaved") as service:
        folder = Path(name)
        fabric = folder / "fabric.json"
        railweave(None, "lab", "generate", "rail-optimized", "--hosts", "32", "-O", str(fabric))
        service.start()
        railweave(service, "fabric", "import", str(fabric))
        for tenant, terms in (("gold", ["--guaranteed", "8", "--class", "all-reduce", "--survive"]),
                              ("silver", ["--guaranteed", "5", "--class", "all-to-all", "--model", "pattern"])):
            railweave(service, "tenants", "put", tenant)
            assert "PKey" in railweave(service, "contracts", "set", tenant, *terms)
        for tenant, shape in (("gold", ["--tp", "8", "--dp", "6"]), ("silver", ["--tp", "8", "--pp", "2", "--dp", "4"]),
                              ("gold", ["--tp", "4", "--dp", "8"]), ("silver", ["--tp", "8"])):  # the last needs no network
            railweave(service, "jobs", "submit", "--tenant", tenant, *shape)
        listed = railweave(service, "guarantees", "list")
        assert "at risk" not in listed, listed
        standings = [one["state"] for one in json.loads(railweave(service, "guarantees", "list", "-o", "json"))["items"]]
        assert standings == ["planned"] * 4, standings  # nothing is seen in force, as no subnet is live
        assert "job-000001" in railweave(service, "guarantees", "links", "--top", "5")
        said = railweave(service, "guarantees", "verify", "--keep", str(folder))
        assert "HOLDS" in said and "4 jobs" in said, said
        certificate = json.loads((folder / "certificate.json").read_text())
        assert {job["promise"] for job in certificate["jobs"]} == {"hose", "pattern"}
        assert "0 failures checked" not in said, said
        code, text = verify(folder, certificate)
        assert code == 0 and "HOLDS" in text, text
        for given in ({"failures": False}, {"outside": False}):  # what was not checked is never said to hold
            code, text = verify(folder, certificate, **given)
            assert code == 3 and "INCOMPLETE" in text and "HOLDS" not in text, text
        railweave(service, "guarantees", "verify", "--failures", "0", code=10)
        caught = 0
        for what, changed in tampered(certificate):
            # Walking the tables after 256 failures takes seconds; one alteration is seen there alone.
            code, text = verify(folder, changed, failures=what.startswith("half of what"))
            assert code == 1 and "FAULT" in text, f"{what}: {code}\n{text}"
            caught += 1
        assert caught >= 25, caught
        node = json.loads(railweave(service, "guarantees", "caps", "job-000001", "-o", "json"))["items"][0]["node"]
        assert f"{node}" in railweave(service, "guarantees", "caps", "job-000001")
        caps = railweave(service, "guarantees", "caps", "job-000001", "--node", node)
        assert "mlx5_0: 8 Gb/s guaranteed, maximum none" in caps and "nothing to set" in caps, caps
        assert "max_tx_rate" not in caps and "tc class" not in caps, f"these adapters are InfiniBand: {caps}"
        assert "partition" in railweave(service, "guarantees", "partition", "job-000001")
        assert "NCCL_IB_SL=3" in railweave(service, "jobs", "ranks", "job-000001", "--format", "nccl")

        before = (railweave(service, "guarantees", "list", "-o", "json"), railweave(service, "guarantees", "certificate"))
        service.kill()
        service.start()
        assert (railweave(service, "guarantees", "list", "-o", "json"), railweave(service, "guarantees", "certificate")) == before, \
            "not the same after kill -9"
        assert "HOLDS" in railweave(service, "guarantees", "verify")
        lost_cables(service, folder, node, "job-000001")
        lost_without_guarantee(service, folder)
    print(f"4 guarantees held by railweave-verify, {caught} changed certificates refused, the same after kill -9")
    return 0


if __name__ == "__main__":
    sys.exit(main())
