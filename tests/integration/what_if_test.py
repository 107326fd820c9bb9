#!/usr/bin/env python3
"""What a what-if says is what a submission does, on random states by seed, through the front door: POST /v1/placements/query,
then POST /v1/jobs. Each change that is offered is made, asked again and submitted. A waiting job has one expected start.

what_if_test.py BIN_FOLDER [SEEDS [FIRST]]
"""
import itertools
import json
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from service import Service  # noqa: E402

BIN = Path(sys.argv[1])
SEEDS = int(sys.argv[2]) if len(sys.argv) > 2 else 24
FIRST = int(sys.argv[3]) if len(sys.argv) > 3 else 1
OUTCOME_OF = {201: "placed", 409: "notNow", 422: "never", 400: "invalid"}


def fabric(r):
    """Leaves and spines of 400 Gb/s; hosts of 8 GPUs with two NVLink domains or one, those of two racks of another model."""
    leaves, spines, hosts_per_leaf = r.choice([2, 3, 4]), r.choice([1, 2]), r.choice([2, 3])
    guid = itertools.count(1)
    switches = [{"guid": f"{next(guid):016x}", "name": f"leaf-{i}", "ports": 64, "subnet": "c"} for i in range(leaves)]
    switches += [{"guid": f"{next(guid):016x}", "name": f"spine-{i}", "ports": 64, "subnet": "c"} for i in range(spines)]
    hosts, links, domains = [], [], []
    used = Counter()

    def port(at):
        used[at] += 1
        return used[at]

    guid = itertools.count(0x1000)
    device = len(switches)
    for leaf in range(leaves):
        halves = r.random() < 0.4
        model = "gb200" if leaf == leaves - 1 and r.random() < 0.5 else "h100"
        for _ in range(hosts_per_leaf):
            name = f"node-{len(hosts)}"
            adapters = []
            for rail in range(2):
                own = f"{next(guid):016x}"
                adapters.append({"guid": own, "device": f"mlx5_{rail}", "ports": [{"guid": own}]})
                links.append([leaf, port(leaf), device, 1, 0])
                device += 1
            parts = [f"{name}-{part}" for part in range(2 if halves else 1)]
            domains += [{"name": part, "rateMbps": 3600000} for part in parts]
            gpus = [{"domain": parts[gpu * len(parts) // 8], "nics": [gpu // 4]} for gpu in range(8)]
            hosts.append({"name": name, "rack": f"rack-{leaf}", "labels": {"gpu": model}, "adapters": adapters, "gpus": gpus})
    for leaf in range(leaves):
        for spine in range(spines):
            links.append([leaf, port(leaf), leaves + spine, port(leaves + spine), 0])
    return {"railweave": "fabric", "version": 1, "subnets": [{"name": "c", "kind": "compute"}], "racks": [f"rack-{i}" for i in range(leaves)],
            "nvlinkDomains": domains, "switches": switches, "hosts": hosts, "linkSpecs": [{"speed": "NDR", "width": 4}], "links": links}


def ask(service, method, path, body=None, expect=None):
    status, _, answer = service.request(method, path, body)
    assert expect is None or status in expect, (method, path, body, status, answer)
    return status, answer


def random_job(r, tenants, nodes):
    job = {"name": "asked", "tenant": r.choice(tenants),
           "parallelism": {"tensor": r.choice([1, 2, 4, 8]), "pipeline": r.choice([1, 1, 2, 3, 4]), "data": r.choice([1, 1, 2, 3, 4, 6, 8])}}
    topology = {}
    if r.random() < 0.3:
        topology["job"] = {"required": r.choice(["node", "rack", "leafGroup"])}
    if r.random() < 0.2:
        topology["pipeline"] = {"required": r.choice(["node", "nvlinkDomain", "rack"])}
    if r.random() < 0.15:
        topology["pipeline"] = {"spread": r.choice(["node", "rack"])}
    if r.random() < 0.1:
        topology["exclusive"] = r.choice(["node", "rack"])
    if r.random() < 0.1:
        topology["spread"] = {"level": "rack", "maxGpusPerGroup": r.choice([4, 8, 16])}
    if topology:
        job["topology"] = topology
    if r.random() < 0.15:
        job["gpusPerNode"] = 8
    if r.random() < 0.15:
        job["excludeNodes"] = r.sample(nodes, r.randrange(1, len(nodes)))
    if r.random() < 0.1:
        job["sparesPerDomain"] = r.choice([1, 4])
    return job


def random_state(service, r):
    document = fabric(r)
    ask(service, "PUT", "/v1/fabric/topology?format=native&force=true", json.dumps(document), (200, 201))
    nodes = [host["name"] for host in document["hosts"]]
    total = 8 * len(nodes)
    tenants = ["plain", "limited", "quoted", "promised", "counted"]
    ask(service, "PUT", "/v1/tenants/plain", {})
    ask(service, "PUT", "/v1/tenants/limited", {"maxGpus": r.choice([8, 16, total // 2])})
    ask(service, "PUT", "/v1/tenants/quoted", {"quotaGpus": r.choice([8, 24, total])} if r.random() < 0.6 else {})
    ask(service, "PUT", "/v1/tenants/promised", {})
    ask(service, "PUT", "/v1/contracts/promised", {"guaranteedGbps": r.choice([20, 45, 60, 90, 133]), "classes": ["all-reduce"],
                                                   "surviveLinkFailure": r.random() < 0.3})
    ask(service, "PUT", "/v1/tenants/counted", {})
    ask(service, "PUT", "/v1/contracts/counted", {"guaranteedGbps": 0, "maxGpus": r.choice([8, 16, total])})
    for node in r.sample(nodes, r.choice([0, 0, 1, 2])):
        ask(service, "POST", f"/v1/nodes/{node}/drain", {"reason": "test"})
    for _ in range(r.randrange(6)):
        tenant = r.choice(["plain", "promised", "counted", "limited"])
        ask(service, "POST", "/v1/jobs", {"name": "runs", "tenant": tenant, "gpus": r.choice([2, 4, 6, 8, 16]), "expectedDuration": "PT1H"})
    if r.random() < 0.2:
        ask(service, "POST", "/v1/jobs", {"name": "waits", "tenant": "plain", "gpus": total, "queue": True})
    return tenants, nodes


def changed(job, change):
    """The request with that change; none: it is no change of the request."""
    new = json.loads(json.dumps(job))
    if match := re.fullmatch(r"(pipeline|data) (\d+) -> (\d+)", change):
        assert new["parallelism"][match[1]] == int(match[2]), (job, change)
        new["parallelism"][match[1]] = int(match[3])
    elif match := re.fullmatch(r"(\w+) within one (\w+) instead of one (\w+)", change):
        assert new["topology"][match[1]]["required"] == match[3], (job, change)
        new["topology"][match[1]]["required"] = match[2]
    elif re.fullmatch(r"job within one (\w+) -> anywhere", change):
        del new["topology"]["job"]
    elif change == "without gpusPerNode":
        del new["gpusPerNode"]
    elif change == "GPUs of several models (mixedGpus)":
        new["mixedGpus"] = True
    elif re.fullmatch(r"without exclusive \w+", change):
        del new["topology"]["exclusive"]
    elif match := re.fullmatch(r"sparesPerDomain (\d+) -> (\d+)", change):
        new["sparesPerDomain"] = int(match[2])
    elif change == "without spread":
        del new["topology"]["spread"]
    elif change == "without excludeNodes":
        del new["excludeNodes"]
    elif match := re.fullmatch(r"guaranteed .* -> ([\d.]+) (Gb|Mb)/s", change):
        new.setdefault("bandwidth", {})["guaranteedGbpsPerPort"] = float(match[1]) / (1 if match[2] == "Gb" else 1000)
    elif change == "model hose -> pattern":
        new.setdefault("bandwidth", {})["model"] = "pattern"
    elif change == "survive a link failure -> not":
        new.setdefault("bandwidth", {})["surviveLinkFailure"] = False
    else:
        assert re.fullmatch(r"with \d+ drained nodes? back", change), change
        return None
    return new


def what_if(service, job):
    status, answer = ask(service, "POST", "/v1/placements/query", job)
    assert status in (200, 400), (status, answer, job)
    return answer["outcome"] if status == 200 else OUTCOME_OF[status], answer


def submitted(service, job):
    """Its outcome; nothing stays of the job."""
    status, answer = ask(service, "POST", "/v1/jobs", job)
    assert status in OUTCOME_OF, (status, answer, job)
    if status == 201:
        ask(service, "DELETE", f"/v1/jobs/{answer['id']}", None, (200, 202, 204))
    return OUTCOME_OF[status], answer


def with_drains_cleared(service, run):
    drained = [one["id"] for one in ask(service, "GET", "/v1/drains?kind=node&limit=100")[1]["items"]]
    for node in drained:
        ask(service, "POST", f"/v1/nodes/{node}/undrain", {}, (200, 204))
    try:
        return run()
    finally:
        for node in drained:
            ask(service, "POST", f"/v1/nodes/{node}/drain", {"reason": "test"})


def random_questions(service, seed, seen):
    r = random.Random(seed)
    tenants, nodes = random_state(service, r)
    for _ in range(14):
        job = random_job(r, tenants, nodes)
        said, answer = what_if(service, job)
        done, told = submitted(service, job)
        assert said == done, ("what-if and submission differ", seed, job, said, answer.get("reason"), done, told)
        seen[said] += 1
        if said == "invalid":
            continue
        for one in answer.get("explanation", {}).get("counterfactuals", []) if said != "placed" else []:
            other = changed(job, one["change"])
            if other is None:
                again, really = with_drains_cleared(service, lambda: (what_if(service, job)[0], submitted(service, job)[0]))
            else:
                again, really = what_if(service, other)[0], submitted(service, other)[0]
            assert again == really == one["outcome"], ("a change that is offered does not do what it says", seed, job, one, again, really)
            seen["changes"] += 1
            seen["change: " + re.sub(r"\d+", "N", one["change"].split(" -> ")[0])] += 1


def the_readmes_own_example(service):
    """A tenant of 512 GPUs asks for 2,048: no change is offered that its limit refuses."""
    environment = dict(os.environ, RAILWEAVE_URL=f"http://127.0.0.1:{service.port}", NO_COLOR="1")

    def railweave(*words, codes=(0,)):
        done = subprocess.run([BIN / "railweave", *words], env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode in codes, (words, done.returncode, done.stdout, done.stderr)
        return done.stdout

    demo = Path(service.folder) / "demo.json"
    railweave("lab", "generate", "demo", "-O", demo)
    railweave("fabric", "import", demo)
    railweave("tenants", "set", "research", "--max-gpus", "512")
    railweave("jobs", "submit", "--tenant", "research", "--name", "llama-70b", "--tp", "8", "--pp", "4", "--dp", "3")
    job = {"tenant": "research", "parallelism": {"tensor": 8, "pipeline": 8, "data": 32}}
    said, answer = what_if(service, job)
    assert said == "never" and answer["code"] == "tenants.gpuLimit", answer
    changes = answer["explanation"]["counterfactuals"]
    assert {one["change"].split(" ")[0] for one in changes} == {"pipeline", "data"}, changes
    for one in changes:
        assert submitted(service, {"name": "x", **changed(job, one["change"])})[0] == one["outcome"] == "placed", one
    text = railweave("place", "--tenant", "research", "--tp", "8", "--pp", "8", "--dp", "32", codes=(4, 5, 6, 7, 8, 9, 10))
    for one in changes:
        assert one["change"] in text, text


def one_expected_start(service):
    """A job that may evict another in a while: one number everywhere, and it is right."""
    hosts = {"node-0": 0, "node-1": 1}
    ask(service, "PUT", "/v1/fabric/topology?format=native&force=true", json.dumps(fabric(random.Random(3))), (200, 201))
    total = ask(service, "GET", "/v1/fabric")[1]["gpus"]
    assert total >= 8 * len(hosts)
    ask(service, "PUT", "/v1/queue/policy", {"priorityClasses": [{"name": "high", "value": 100, "mayPreempt": True},
                                                                 {"name": "low", "value": 1, "preemptible": True}], "minRuntime": "PT6S"}, (200,))
    ask(service, "PUT", "/v1/tenants/plain", {"maxPriority": "high"})
    low = ask(service, "POST", "/v1/jobs", {"name": "low", "tenant": "plain", "priority": "low", "queue": True, "gpus": total,
                                            "mixedGpus": True, "expectedDuration": "PT10H"}, (201, 202))[1]
    wait_for(lambda: ask(service, "GET", f"/v1/jobs/{low['id']}")[1]["state"] == "placed")
    started = time.time()
    high = ask(service, "POST", "/v1/jobs", {"name": "high", "tenant": "plain", "priority": "high", "queue": True, "gpus": 8}, (201, 202))[1]
    wait_for(lambda: ask(service, "GET", f"/v1/jobs/{high['id']}")[1]["waits"])
    job = ask(service, "GET", f"/v1/jobs/{high['id']}")[1]
    listed = ask(service, "GET", "/v1/queue/jobs")[1]["items"][0]
    assert job["expectedStart"]["at"] and job["expectedStart"]["at"] == job["waits"]["expectedAt"] == listed["waits"]["expectedAt"], (job, listed)
    assert "expected at" not in json.dumps(job["waits"]), job["waits"]
    wait_for(lambda: ask(service, "GET", f"/v1/jobs/{high['id']}")[1]["state"] == "placed")
    took = time.time() - started
    assert 4 < took < 12, took


def held_now_not_then(service):
    """A job that waits for its tenant's quota: what the tenant holds is what it holds now."""
    ask(service, "PUT", "/v1/fabric/topology?format=native&force=true", json.dumps(fabric(random.Random(5))), (200, 201))
    ask(service, "PUT", "/v1/tenants/owner", {"quotaGpus": 16})
    for _ in range(2):
        ask(service, "POST", "/v1/jobs", {"name": "runs", "tenant": "owner", "gpus": 8, "expectedDuration": "PT1H"}, (201,))
    _, answer = what_if(service, {"tenant": "owner", "gpus": 24})
    assert answer["outcome"] == "never", answer
    assert "holds 0" not in json.dumps(answer), answer


def wait_for(condition, seconds=15):
    end = time.time() + seconds
    while time.time() < end:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come true in time")


def main():
    seen = Counter()
    for seed in range(FIRST, FIRST + SEEDS):
        with Service(BIN / "railweaved") as service:
            service.start()
            random_questions(service, seed, seen)
    print(dict(sorted(seen.items())))
    if FIRST == 1 and SEEDS >= 24:
        for outcome in ("placed", "notNow", "never"):
            assert seen[outcome] >= 20, seen
        assert seen["changes"] >= 100, seen
    for story in (the_readmes_own_example, one_expected_start, held_now_not_then):
        with Service(BIN / "railweaved") as service:
            service.start()
            story(service)
            print(story.__name__)


if __name__ == "__main__":
    main()
