#!/usr/bin/env python3
"""What roles of a gang send each other is promised where they ask for it: refused where only that does not fit, told by REST and the command
line, in the certificate, and held by railweave-verify to the journal and the tables. After kill -9 it is the same.

role_guarantees_test.py BIN_FOLDER
"""
import copy
import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from service import Service  # noqa: E402

BIN = Path(sys.argv[1])
RATE = 30  # Gb/s of each port
SENDER, RECEIVER = ["node-01", "node-02", "node-03", "node-04"], ["node-06", "node-07", "node-08", "node-09"]


def railweave(service, *arguments, code=0):
    environment = dict(os.environ, RAILWEAVE_URL=f"http://127.0.0.1:{service.port}" if service else "", NO_COLOR="1")
    done = subprocess.run([BIN / "railweave", *arguments], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, f"railweave {' '.join(arguments)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def ask(service, method, target, body=None):
    request = urllib.request.Request(f"http://127.0.0.1:{service.port}{target}", method=method,
                                     data=None if body is None else json.dumps(body).encode(), headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as refused:
        return refused.code, json.loads(refused.read())


def gang(service, between, receiver=None, key="a"):
    bandwidth = {} if between is None else {"betweenRolesGbpsPerPort": between}
    items = [{"key": f"{key}-prefill", "name": "prefill", "tenant": "research", "parallelism": {"tensor": 8, "data": 4}, "nodes": SENDER,
              "bandwidth": bandwidth},
             {"key": f"{key}-decode", "name": "decode", "tenant": "research", "parallelism": {"tensor": 8, "data": 4}, "nodes": RECEIVER,
              "bandwidth": receiver or {}}]
    traffic = [{"from": "prefill", "to": "decode", "bytesPerStep": 1e9}]
    status, answer = ask(service, "POST", "/v1/jobs/batch", {"items": items, "gang": {"traffic": traffic}})
    return answer["items"] if status == 200 else answer


def end(service, *jobs):
    for job in jobs:
        assert ask(service, "DELETE", f"/v1/jobs/{job}")[0] == 200


def refusals(service):
    """What cannot be kept at all, and what has no room between the roles alone."""
    alone = {"tenant": "research", "gpus": 8, "bandwidth": {"betweenRolesGbpsPerPort": 1}}
    status, problem = ask(service, "POST", "/v1/jobs", alone)
    assert status == 400 and problem["errors"][0]["pointer"] == "/bandwidth/betweenRolesGbpsPerPort", problem
    problem = gang(service, 1, {"betweenRolesGbpsPerPort": 1})  # decode sends nothing
    assert problem["errors"][0]["pointer"] == "/items/1/bandwidth/betweenRolesGbpsPerPort", problem
    first = gang(service, RATE + 1)[0]
    assert first["status"] == 422 and first["problem"]["code"] == "admission.betweenRoles", first
    for receiver in (None, {"guaranteedGbpsPerPort": 0}):
        items = gang(service, RATE, receiver, key="full")
        if receiver:  # what decode has not reserved is free for what comes from prefill
            assert [item["status"] for item in items] == [201, 201], items
            end(service, *(item["job"]["id"] for item in items))
            continue
        assert [item["status"] for item in items] == [409, 409], items
        codes = [item["problem"]["code"] for item in items]
        assert codes == ["gang.notPlaced", "admission.linksFull"], items
        link = items[1]["problem"]["links"][0]
        assert link["wantedGbps"] == link["reservedGbps"] == 4 * RATE and len(link["holders"]) == 1, ("of prefill alone, to decode's leaf", link)
    items = gang(service, None, key="without")
    assert [item["status"] for item in items] == [201, 201], items
    shown = railweave(service, "jobs", "show", items[0]["job"]["id"])
    assert "nothing of what it sends to other roles" in shown, shown
    guarantee = ask(service, "GET", "/v1/guarantees")[1]["items"][0]
    assert guarantee["betweenRolesGbpsPerPort"] == 0 and guarantee["receivers"] == [], guarantee
    end(service, *(item["job"]["id"] for item in items))


def tampered(certificate, sender, receiver):
    def change(name, how):
        copied = copy.deepcopy(certificate)
        how(copied, next(job for job in copied["jobs"] if job["job"] == sender), next(job for job in copied["jobs"] if job["job"] == receiver))
        return name, copied

    def receivers(job):
        return [port for port in job["ports"] if port["sendMbps"] == 0]

    assert len(receivers(next(job for job in certificate["jobs"] if job["job"] == sender))) == 32
    yield change("a receiver left out", lambda c, a, b: a["ports"].remove(receivers(a)[0]))
    yield change("all receivers left out", lambda c, a, b: [a["ports"].remove(port) for port in receivers(a)])
    yield change("a receiver of less", lambda c, a, b: receivers(a)[0].update(receiveMbps=1))
    yield change("a receiver that sends", lambda c, a, b: receivers(a)[0].update(sendMbps=1))
    yield change("a promise back", lambda c, a, b: b["ports"].append({**a["ports"][0], "sendMbps": 0, "receiveMbps": 1000}))
    yield change("less reserved at a receiver", lambda c, a, b: next(
        link for link in c["links"] if link["to"] == receivers(a)[0]["port"])["reservedMbps"].__setitem__(2, RATE * 1000))


def verify(folder, store, certificate):
    (folder / "changed.json").write_text(json.dumps(certificate))
    railweave(None, "admin", "export", str(store), "-O", str(folder / "journal.jsonl"))
    done = subprocess.run([BIN / "railweave-verify", folder / "fabric.json", folder / "opensm.fdbs", folder / "changed.json", "--journal",
                           folder / "journal.jsonl"], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def main():
    with tempfile.TemporaryDirectory(prefix="railweave-roles-") as name, Service(BIN / "railweaved") as service:
        folder = Path(name)
        made = folder / "made.json"
        railweave(None, "lab", "generate", "rail-optimized", "--hosts", "10", "--hosts-per-unit", "5", "--uplinks", "1", "--down-ports", "5",
                  "-O", str(made))
        service.start()
        railweave(service, "fabric", "import", str(made))
        railweave(service, "tenants", "put", "research")
        railweave(service, "contracts", "set", "research", "--guaranteed", str(RATE), "--class", "all-reduce")
        refusals(service)
        items = gang(service, 3, key="kept")
        assert [item["status"] for item in items] == [201, 201], items
        sender, receiver = (item["job"]["id"] for item in items)
        shown = railweave(service, "jobs", "show", sender)
        assert "3 Gb/s to each port of roles that it sends to" in shown, shown
        promised = {one["job"]: one for one in ask(service, "GET", "/v1/guarantees")[1]["items"]}
        assert promised[sender]["receivers"] == [{"job": receiver, "role": "decode", "ports": 32}], promised[sender]
        assert promised[receiver]["receivers"] == [], promised[receiver]
        said = railweave(service, "guarantees", "verify", "--keep", str(folder))
        assert "HOLDS" in said and "2 jobs" in said, said
        certificate = json.loads((folder / "certificate.json").read_text())
        store = service.folder / "store.db"
        code, text = verify(folder, store, certificate)
        assert code == 0 and "HOLDS" in text, text
        caught = 0
        for what, changed in tampered(certificate, sender, receiver):
            code, text = verify(folder, store, changed)
            assert code == 1 and "FAULT" in text, f"{what}: {code}\n{text}"
            caught += 1
        before = railweave(service, "guarantees", "certificate")
        service.kill()
        service.start()
        assert railweave(service, "guarantees", "certificate") == before, "not the same after kill -9"
        # Without decode there is nothing between roles, and prefill keeps its own.
        end(service, receiver)
        alone = ask(service, "GET", "/v1/guarantees")[1]["items"]
        assert [one["receivers"] for one in alone] == [[{"job": receiver, "role": "decode", "ports": 0}]] and alone[0]["state"] == "planned", alone
        assert "HOLDS" in railweave(service, "guarantees", "verify")
    print(f"promised between roles and held by railweave-verify, {caught} changed certificates refused, the same after kill -9")
    return 0


if __name__ == "__main__":
    sys.exit(main())
