#!/usr/bin/env python3
"""The second mode: kube-scheduler built with Railweave's plugin places Kubernetes' own gangs where Railweave would.

scheduler_test.py BIN_FOLDER scheduler
"""
import sys

from cluster import main


def running(cluster, name, count):
    pods = cluster.pods(name)
    return len(pods) == count and all(pod["status"].get("phase") == "Running" for pod in pods) and [pod["spec"]["nodeName"] for pod in pods]


def scheduler(cluster):
    # Railweave knows of the pods that run by the controller, which adopts them; it gates none.
    cluster.controller.start()
    # Where Railweave does not want new jobs, but Kubernetes knows nothing against it (drains are not carried over here).
    cluster.controller.stop()
    cluster.controller.start("--drains=false")
    avoided = cluster.names[:3]
    for name in avoided:
        assert cluster.service.request("POST", f"/v1/nodes/{name}/drain", {"reason": "avoid"})[0] in (200, 202)
    cluster.job("gang", 4, gate=False)
    nodes = cluster.until("the gang runs", lambda: running(cluster, "gang", 4))
    assert cluster.pods("gang")[0]["spec"]["schedulingGroup"]["podGroupName"] and not set(nodes) & set(avoided), nodes
    cluster.until("Railweave holds its GPUs", lambda: len(cluster.held()) == 4)
    # It does not fit by Railweave's view, though nodes are free: none is bound, and the reason is Railweave's.
    cluster.job("large", 10, gate=False)

    def told():
        return any("railweave: " in condition.get("message", "") and "GPUs" in condition["message"] for pod in cluster.pods("large")
                   for condition in pod["status"].get("conditions", []) if condition["type"] == "PodScheduled")
    cluster.until("the scheduler says why", told)
    assert not any("nodeName" in pod["spec"] for pod in cluster.pods("large"))
    assert cluster.service.request("POST", f"/v1/nodes/{avoided[0]}/undrain", {})[0] == 204
    cluster.end_job("gang")
    cluster.until("it runs", lambda: running(cluster, "large", 10), 120)
    cluster.end_job("large")
    cluster.until("everything is free", lambda: not cluster.held())
    # Railweave away: the scheduler goes on without it.
    cluster.controller.stop()
    cluster.service.kill()
    cluster.job("alone", 2, gate=False)
    cluster.until("it runs", lambda: running(cluster, "alone", 2))


if __name__ == "__main__":
    sys.exit(main({"scheduler": scheduler}, *sys.argv[1:], gang=True, plugin=True))
