#!/usr/bin/env python3
"""Railweave's own taints (`railweave nodes set --taint`), which Kubernetes does not know, on a real API server: room on nodes that have one is
none for pods that do not tolerate it.

taints_test.py BIN_FOLDER taints
"""
import os
import subprocess
import sys
import time

from api_test import pinned_to
from cluster import gated, main

PATIENCE = 2


def group(cluster, name, pods, gpus, cpu=None, **spec):
    """Pods of one group; a node is chosen for them by their pins alone, as no scheduler runs."""
    for number in range(pods):
        made = cluster.template(gpus, {"railweave.dev/group": name, "railweave.dev/group-size": str(pods), "railweave.dev/pod-index": str(number)}, cpu=cpu)
        made["metadata"]["name"] = f"{name}-{number}"
        made["spec"].update(spec)
        cluster.api.create("/api/v1/namespaces/default/pods", made)
    return lambda: [cluster.api.get(f"/api/v1/namespaces/default/pods/{name}-{number}") for number in range(pods)]


def placed_on(cluster, read):
    found = cluster.until("the group is placed", lambda: (pods := read()) and not any(gated(one) for one in pods) and pods)
    return sorted(pinned_to(one) for one in found)


def waits(cluster, read, text):
    """All of its pods say why, and none is left to the scheduler, which would send it to nodes that are not for it."""
    cluster.until(f"it waits: {text}", lambda: all(text in cluster.reason(one) for one in read()))
    for _ in range(4 * PATIENCE):
        time.sleep(1)
        assert all(gated(one) for one in read()), [event for one in read() for event in cluster.events(one)]


def taints(cluster):
    environment = dict(os.environ, RAILWEAVE_URL=f"http://127.0.0.1:{cluster.service.port}", NO_COLOR="1")
    for name in cluster.names[:14]:
        subprocess.run([cluster.bin / "railweave", "nodes", "set", name, "--taint", "dedicated=inference"], env=environment, check=True, capture_output=True)
    open_nodes = cluster.names[14:]
    for name in cluster.names:  # as the node controller does, which does not run here
        cluster.api.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": None}})
    cluster.controller.start(f"--patience={PATIENCE}s")
    for name in open_nodes:  # processors that others use: one pod of 60 has room on each, and two have on nodes that repel
        cluster.api.create("/api/v1/namespaces/default/pods", {"metadata": {"name": f"busy-{name}"}, "spec": {
            "nodeName": name, "containers": [{"name": "busy", "image": "busy", "resources": {"requests": {"cpu": "60"}}}]}})

    # The number of pods that share a node is what nodes that it may have hold.
    assert placed_on(cluster, group(cluster, "pair", 2, 4, cpu="60")) == open_nodes
    # All pods of a group fit on nodes now, and not on those that are for it.
    more = group(cluster, "three", 3, 8)
    waits(cluster, more, "dedicated=inference")
    # Pods of a lower priority run there: that the scheduler would end them for it is no reason to leave it to the scheduler.
    for name, value in (("low", 10), ("urgent", 1000)):
        cluster.api.create("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": value})
    lower = cluster.template(8, gate=False)
    lower["metadata"]["name"] = "lower"
    lower["spec"].update(nodeName=cluster.names[0], priorityClassName="low")
    cluster.api.create("/api/v1/namespaces/default/pods", lower)
    waits(cluster, group(cluster, "urgent", 2, 8, priorityClassName="urgent"), "dedicated=inference")
    # Those that tolerate the taint have that room.
    tolerant = [{"key": "dedicated", "operator": "Equal", "value": "inference", "effect": "NoSchedule"}]
    nodes = placed_on(cluster, group(cluster, "tolerant", 4, 4, cpu="60", tolerations=tolerant))
    assert len(set(nodes)) == 2 and not set(nodes) & set(open_nodes), nodes
    # Taken off, the taint keeps off no more.
    for name in cluster.names[:14]:
        subprocess.run([cluster.bin / "railweave", "nodes", "set", name, "--taint", "dedicated-"], env=environment, check=True, capture_output=True)
    placed_on(cluster, more)


if __name__ == "__main__":
    sys.exit(main({"taints": taints}, *sys.argv[1:], scheduling=False))
