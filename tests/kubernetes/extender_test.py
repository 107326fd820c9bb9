#!/usr/bin/env python3
"""Clusters that cannot gate pods: a real kube-scheduler with railweave-kubernetes as its extender; and the list of ports as UFM has it.

extender_test.py BIN_FOLDER extender
"""
import http.client
import json
import sys

from cluster import main
from ports import free_ports

PORT = free_ports(1)[0]


def extender(cluster):
    cluster.controller.start(f"--serve-address=127.0.0.1:{PORT}")
    held = {"railweave.dev/extender": "true"}
    cluster.job("first", 4, annotations=held, gate=False)
    cluster.placed_job("first", 4)
    pod = cluster.pods("first")[0]
    assert "affinity" not in pod["spec"] or "nodeAffinity" not in pod["spec"]["affinity"], "it is the extender that keeps pods where they are"
    # What does not fit waits as a whole, and the scheduler says Railweave's reason.
    cluster.job("large", 14, annotations=held, gate=False)
    def told():
        pods = cluster.pods("large")
        return len(pods) == 14 and all("nodeName" not in one["spec"] and any(
            "railweave: " in condition.get("message", "") and "GPUs" in condition["message"]
            for condition in one["status"].get("conditions", []) if condition["type"] == "PodScheduled") for one in pods) and pods
    cluster.until("the scheduler says why", lambda: any("GPUs" in cluster.reason(one) for one in cluster.pods("large")))
    assert all("nodeName" not in one["spec"] for one in cluster.pods("large"))
    cluster.until("the scheduler's own reason", told, 90)
    cluster.end_job("first")
    cluster.placed_job("large", 14)
    # Pods of others are left alone.
    cluster.job("other", 1, gate=False)
    cluster.until("it runs", lambda: (pods := cluster.pods("other")) and pods[0]["status"].get("phase") == "Running")
    cluster.no_overlap()
    ports(cluster)


def ports(cluster):
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
    connection.request("GET", "/ufmRest/resources/ports")
    answer = connection.getresponse()
    listed = json.loads(answer.read())
    fabric = json.loads((cluster.folder / "fabric.json").read_text())
    adapters = [host["name"] for host in fabric["hosts"] for _ in host["adapters"]]
    first = len(fabric["switches"])
    wanted = []
    for a, _, b, _, *_ in fabric["links"]:
        a, b = min(a, b), max(a, b)
        if a < first <= b:
            wanted.append((adapters[b - first], fabric["switches"][a]["name"]))
    assert wanted and sorted(wanted) == sorted((one["system_name"], one["peer_node_name"]) for one in listed), listed[:3]
    assert all("Computer" in one["description"] for one in listed), "what Volcano's discoverer looks for"


if __name__ == "__main__":
    sys.exit(main({"extender": extender}, *sys.argv[1:], extender=f"http://127.0.0.1:{PORT}"))
