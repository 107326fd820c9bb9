#!/usr/bin/env python3
"""Nodes are drained, cordoned and tainted under groups that run, on a real Kubernetes: the pods of that node move, and no other is touched.

drain_test.py BIN_FOLDER drained|no_spare
"""
import sys
import time

from cluster import gated, main
from nodes_test import cordon, drains


def taint(cluster, name, effect, key="example.com/gpu-fault"):
    held = cluster.api.get(f"/api/v1/nodes/{name}")["spec"].get("taints", [])
    own = [one for one in held if one["key"] != key] + ([{"key": key, "value": "x", "effect": effect}] if effect else [])
    cluster.api.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": own or None}})


def evict(cluster, pod):
    """As kubectl drain does."""
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    cluster.api.create(f"/api/v1/namespaces/{namespace}/pods/{name}/eviction",
                       {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}})


def index_of(pod):
    return int(pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"])


def uids(pods):
    return {index_of(pod): pod["metadata"]["uid"] for pod in pods}


def untouched(cluster, job, before, moved):
    """All other pods are those of before, and the Job was never suspended."""
    after = uids(cluster.pods(job))
    for index, uid in uids(before).items():
        assert index == moved or after.get(index) == uid, f"healthy pod {index} was ended"
    held = cluster.api.get(f"/apis/batch/v1/namespaces/default/jobs/{job}")
    assert not held["spec"].get("suspend") and not any("PlacedAgain" == one["reason"] for one in cluster.api.get(
        "/apis/events.k8s.io/v1/namespaces/default/events")["items"]), "its Job was suspended"


def replaced(cluster, job, before, index, not_on):
    """The pod of that index is a new one that runs on another node."""
    def look():
        new = [pod for pod in cluster.pods(job) if index_of(pod) == index and pod["metadata"]["uid"] != uids(before)[index]]
        assert all(pod["spec"].get("nodeName") not in not_on for pod in new), "it was sent to a node that is being emptied"
        return new and new[0]["status"].get("phase") == "Running"
    cluster.until(f"pod {index} of {job} runs elsewhere", look, 90)
    untouched(cluster, job, before, index)


def freed(cluster, job, node):
    """Its ranks left the node's GPUs, which are said to be free once its pod is gone, and the drain is over then."""
    assert cluster.until("what its ranks left is free", lambda: not cluster.service.request("GET", f"/v1/jobs/{job}")[2]["launcher"]["left"] or None)
    events = cluster.service.request("GET", f"/v1/events?subject=job/{job}&limit=1000")[2]["items"]
    left = [one["seq"] for one in events if one["type"] == "job.moved" and any(gpu.startswith(node + ":") for gpu in one["data"].get("left", []))]
    free = [one["seq"] for one in events if one["type"] == "job.freed" and node in one["data"]["nodes"]]
    assert len(left) == len(free) == 1 and left[0] < free[0], (left, free)


def drained(cluster):
    """kubectl drain of one node after the other, with nodes to spare."""
    cluster.controller.start()
    cluster.job("train", 4)
    cluster.placed_job("train", 4)
    cluster.until("it is said to run", lambda: cluster.service.request("GET", f"/v1/jobs/{cluster.job_of('default/job/train')}")[2]["phase"] == "running")
    job = cluster.job_of("default/job/train")
    for index in (1, 3):
        before = cluster.pods("train")
        node = before[index]["spec"]["nodeName"]
        cordon(cluster, node)
        evict(cluster, before[index])
        replaced(cluster, "train", before, index, {node})
        assert cluster.job_of("default/job/train") == job, "it was placed again as a whole"
        cluster.placed_job("train", 4)
        freed(cluster, job, node)
    # Tainted, in the way of a health check: the pods go by themselves, and nothing new is sent to such nodes, or to those that are not for them.
    before = cluster.pods("train")
    free = [name for name in cluster.names if name not in {pod["spec"]["nodeName"] for pod in before} and name not in drains(cluster)]
    for name in free[:-2]:
        taint(cluster, name, "NoSchedule", "example.com/reserved")
    node = before[0]["spec"]["nodeName"]
    taint(cluster, node, "NoExecute")
    replaced(cluster, "train", before, 0, {node, *free[:-2]})
    assert cluster.placed_job("train", 4)[0] in free[-2:]
    # A group that is new.
    cluster.job("next", 2)
    pods = cluster.until("it says why it waits", lambda: len(found := cluster.pods("next")) == 2 and all(cluster.reason(pod) for pod in found) and found)
    assert all(gated(pod) for pod in pods), "tainted nodes are targets"
    for name in free[:-2]:
        taint(cluster, name, None, "example.com/reserved")
    assert node not in cluster.placed_job("next", 2)
    cluster.no_overlap()


def no_spare(cluster):
    """No node is left for the pods that have to go: they wait, and the others run on."""
    cluster.controller.start()
    cluster.job("all", 16)
    cluster.placed_job("all", 16)
    cluster.until("it is said to run", lambda: cluster.service.request("GET", f"/v1/jobs/{cluster.job_of('default/job/all')}")[2]["phase"] == "running")
    before = cluster.pods("all")
    made = set()

    def waits(index, text):
        pods = cluster.pods("all")
        made.update(uids(pods).values())
        untouched(cluster, "all", before, index)
        return len(pods) == 16 and gated(pods[index]) and text in cluster.reason(pods[index])
    node = before[4]["spec"]["nodeName"]
    taint(cluster, node, "NoExecute")
    cluster.until("it says what it waits for", lambda: waits(4, f"node {node}, where its ranks are, is of no use now"))
    until = time.monotonic() + 15
    while time.monotonic() < until:
        assert waits(4, "the group's other pods run on")
        time.sleep(0.5)
    assert len(made) <= 18, f"{len(made)} pods were made"
    taint(cluster, node, None)
    cluster.placed_job("all", 16)
    untouched(cluster, "all", before, 4)
    # Drained: the same, until another node is free.
    before = cluster.pods("all")
    node = before[7]["spec"]["nodeName"]
    cordon(cluster, node)
    evict(cluster, before[7])
    cluster.until("it says what it waits for", lambda: waits(7, "it is cordoned"))
    cordon(cluster, node, False)
    cluster.placed_job("all", 16)
    untouched(cluster, "all", before, 7)


if __name__ == "__main__":
    sys.exit(main({"drained": drained, "no_spare": no_spare}, *sys.argv[1:]))
