#!/usr/bin/env python3
"""Random clusters, jobs and faults on a real Kubernetes: nodes with fewer GPUs than the fabric's, of zones, cordoned, tainted, partly used
by pods that Railweave did not place; jobs with selectors, affinities, tolerations and processors. Each job is made twice on the same
state, for Kubernetes alone and for Railweave: where all pods of the one run, all pods of the other do, no later than a patience after.

random_test.py BIN_FOLDER random [TRIALS [SEED]]
"""
import random
import sys
import time

from cluster import main
from drain_test import taint
from nodes_test import cordon

ALONE, SOON, PATIENCE, GRACE = 6, 8, 40, 10  # seconds: the scheduler alone, with the controller, beside a fault; --grace
FAULTS = ["none"] * 8 + ["controller killed", "service killed", "service hung", "scheduler restarted"]


def states(cluster, drawn):
    """What the nodes are like for the whole run: zones, GPUs, of which Kubernetes may have fewer than the fabric."""
    for name in cluster.names:
        cluster.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {"zone": drawn.choice("ab"), "disk": drawn.choice(["fast", "slow"])}}})
        if drawn.random() < 0.3:
            size = {"nvidia.com/gpu": str(drawn.choice([0, 4])), "cpu": str(drawn.choice([32, 128]))}
            cluster.api.patch(f"/api/v1/nodes/{name}/status", {"status": {"capacity": size, "allocatable": size}})


def used(cluster, drawn, number):
    """Pods of others on some nodes, which the scheduler has not asked about."""
    names = []
    for node in drawn.sample(cluster.names, drawn.randint(0, 14)):
        template = cluster.template(drawn.choice([0, 1, 4, 8]), gate=False, cpu=str(drawn.choice([1, 30])))
        name = f"other-{number}-{node}"
        template["metadata"]["name"] = name
        template["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
        cluster.api.create("/api/v1/namespaces/default/pods", template)
        names.append(name)
    return names


def job_of(drawn):
    """Pods, GPUs of each, what else the pods ask for."""
    spec = {}
    if drawn.random() < 0.4:
        spec["nodeSelector"] = drawn.choice([{"zone": "a"}, {"disk": "fast"}, {"zone": "b", "disk": "slow"}])
    if drawn.random() < 0.3:
        term = drawn.choice([{"key": "zone", "operator": "NotIn", "values": ["a"]}, {"key": "disk", "operator": "In", "values": ["fast", "slow"]},
                             {"key": "zone", "operator": "Exists"}])
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}}}
    if drawn.random() < 0.4:
        spec["tolerations"] = [{"key": "example.com/reserved", "operator": "Exists", "effect": "NoSchedule"}]
    return drawn.randint(1, 8), drawn.choice([1, 2, 4, 8]), drawn.choice([None, "4", "40", "100"]), spec


def begun(cluster, name, asked, gate, limit):
    """Seconds until all pods ran; None: not within the limit. What the pods last said."""
    pods, gpus, cpu, spec = asked
    template = cluster.template(gpus, gate=gate, cpu=cpu)
    template["spec"].update(spec)
    began = time.monotonic()
    cluster.api.create("/apis/batch/v1/namespaces/default/jobs", {"metadata": {"name": name}, "spec": {
        "completions": pods, "parallelism": pods, "completionMode": "Indexed", "backoffLimit": 100, "template": template}})
    took = None
    while took is None and time.monotonic() - began < limit:
        found = cluster.pods(name)
        if len(found) == pods and all(pod["status"].get("phase") == "Running" for pod in found):
            took = time.monotonic() - began
        time.sleep(0.1)
    said = [(pod["spec"].get("nodeName"), cluster.reason(pod)[:300]) for pod in cluster.pods(name)]
    cluster.end_job(name)
    cluster.until(f"{name} is gone", lambda: not cluster.api.pods(f"batch.kubernetes.io/job-name={name}"))
    return took, said


def fail(cluster, kind):
    if kind == "controller killed":
        cluster.controller.kill()
        cluster.controller.start(f"--grace={GRACE}s")
    elif kind == "service killed":
        cluster.service.kill()
    elif kind == "service hung":
        cluster.service.process.send_signal(19)
    elif kind == "scheduler restarted":
        command = cluster.kubernetes.processes["scheduler"].args
        cluster.kubernetes.end_one("scheduler", kill=True)
        cluster.kubernetes.launch("scheduler", *command)


def repair(cluster, kind):
    if kind == "service killed":
        cluster.service.start()
    elif kind == "service hung":
        cluster.service.process.send_signal(18)


def trial(cluster, drawn, number, counts):
    cordoned = drawn.sample(cluster.names, drawn.randint(0, 3))
    tainted = drawn.sample(cluster.names, drawn.randint(0, 4))
    for name in cordoned:
        cordon(cluster, name)
    for name in tainted:
        taint(cluster, name, "NoSchedule", "example.com/reserved")
    others, asked, kind = used(cluster, drawn, number), job_of(drawn), drawn.choice(FAULTS)
    time.sleep(2)  # those that fit are bound
    alone, _ = begun(cluster, f"alone-{number}", asked, False, ALONE)
    cluster.until("nothing is held of what is over", lambda: not [name for name in cluster.held() if "alone-" in name])
    fail(cluster, kind)
    beside, said = begun(cluster, f"with-{number}", asked, True, SOON if kind == "none" else PATIENCE)
    repair(cluster, kind)
    seconds = ["never" if one is None else f"{one:.1f} s" for one in (alone, beside)]
    what = f"trial {number}: {asked}; {kind}; cordoned {cordoned}, tainted {tainted}"
    print(f"{what}: alone {seconds[0]}, with Railweave {seconds[1]}", flush=True)
    assert alone is None or beside is not None, (what, said)
    counts["both" if alone is not None and beside is not None else "neither" if beside is None else "with Railweave only"] += 1
    for name in others:
        cluster.api.delete(f"/api/v1/namespaces/default/pods/{name}?gracePeriodSeconds=0")
    for name in cordoned:
        cordon(cluster, name, False)
    for name in tainted:
        taint(cluster, name, None, "example.com/reserved")
    cluster.until("all is as before", lambda: not cluster.held() and not [pod for pod in cluster.api.pods() if pod["metadata"]["name"].startswith("other-")], 180)  # an offer that is not taken stands for two minutes


def randomly(cluster):
    trials = int(sys.argv[3]) if len(sys.argv) > 3 else 8
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    drawn, counts = random.Random(seed), {"both": 0, "neither": 0, "with Railweave only": 0}
    cluster.controller.start(f"--grace={GRACE}s")
    states(cluster, drawn)
    for number in range(trials):
        trial(cluster, drawn, number, counts)
    assert counts["both"] > trials // 4, counts
    print(f"seed {seed}: {counts}; none that Kubernetes alone ran was later than a patience after with Railweave")


if __name__ == "__main__":
    sys.exit(main({"random": randomly}, sys.argv[1], sys.argv[2]))
