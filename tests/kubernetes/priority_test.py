#!/usr/bin/env python3
"""Jobs of a high PriorityClass on a full cluster, on a real Kubernetes: Railweave makes room for a whole group where the operator's table
says so, and leaves it to the scheduler's own preemption elsewhere.

priority_test.py BIN_FOLDER mapped|unmapped
"""
import sys
import time

from cluster import gated, main, note
from kubernetes import ANYTHING


def classes(cluster):
    for name, value in (("urgent", 100000), ("usual", 100)):
        cluster.api.create("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": value})


def job(cluster, name, pods, priority_class, **template):
    made = cluster.template(**template)
    made["spec"]["priorityClassName"] = priority_class
    cluster.api.create("/apis/batch/v1/namespaces/default/jobs", {"metadata": {"name": name}, "spec": {
        "completions": pods, "parallelism": pods, "completionMode": "Indexed", "backoffLimit": 100, "template": made}})


def fill(cluster):
    """Two jobs of a usual priority on all nodes."""
    policy = cluster.service.request("GET", "/v1/queue/policy")[2]
    del policy["version"]
    assert cluster.service.request("PUT", "/v1/queue/policy", {**policy, "minRuntime": "PT1S"})[0] == 200
    for name in ("left", "right"):
        job(cluster, name, 8, "usual")
        cluster.placed_job(name, 8)


def running(cluster, name):
    return [pod for pod in cluster.pods(name) if pod["status"].get("phase") == "Running"]


def mapped(cluster):
    """The operator's table: PriorityClass urgent stands for priority high, and one gang gives way to another."""
    classes(cluster)
    cluster.controller.set_policy(ANYTHING + "priorityClasses:\n  urgent: high\n")
    cluster.controller.start()
    fill(cluster)
    job(cluster, "urgent", 4, "urgent")
    began = time.monotonic()
    cluster.placed_job("urgent", 4)
    print(f"an urgent gang runs after {time.monotonic() - began:.1f} s")
    assert cluster.service.request("GET", f"/v1/jobs/{cluster.job_of('default/job/urgent')}")[2]["priority"] == "high"
    # One of the two gave way as a whole, and the other was not touched.
    whole = sorted(len(running(cluster, name)) for name in ("left", "right"))
    assert whole == [0, 8], whole
    cluster.no_overlap()
    cluster.end_job("urgent")
    for name in ("left", "right"):
        cluster.placed_job(name, 8)


def unmapped(cluster):
    """No table: what Kubernetes would do is done by Kubernetes."""
    classes(cluster)
    cluster.controller.start()
    # What waits without a higher priority stays in the queue.
    fill(cluster)
    job(cluster, "patient", 2, "usual")
    pods = cluster.until("it waits", lambda: len(found := cluster.pods("patient")) == 2 and all(cluster.reason(pod) for pod in found) and found)
    began = time.monotonic()
    job(cluster, "urgent", 4, "urgent")
    pods = cluster.until("the scheduler makes room", lambda: len(found := running(cluster, "urgent")) == 4 and found)
    print(f"an urgent job of a PriorityClass that Railweave does not know runs after {time.monotonic() - began:.1f} s")
    assert all(note(pod, "lifted") and not gated(pod) for pod in pods)
    cluster.until("an event says so", lambda: any("PriorityClass urgent" in text for pod in pods for text in cluster.events(pod)))
    assert all(gated(pod) for pod in cluster.pods("patient"))
    cluster.no_overlap()
    # Railweave comes to hold what they use, and those that gave way wait as a whole.
    cluster.until("it is held", lambda: cluster.job_of("default/job/urgent"), 180)
    for name in ("urgent", "patient"):
        cluster.end_job(name)
    cluster.until("all run again", lambda: all(len(running(cluster, name)) == 8 for name in ("left", "right")), 180)
    cluster.no_overlap()


if __name__ == "__main__":
    sys.exit(main({"mapped": mapped, "unmapped": unmapped}, *sys.argv[1:]))
