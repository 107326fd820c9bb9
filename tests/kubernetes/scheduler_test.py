#!/usr/bin/env python3
"""The second mode: kube-scheduler built with Railweave's plugin places Kubernetes' own gangs where Railweave would, or where it says
that they cost less.

scheduler_test.py BIN_FOLDER scheduler|score
"""
import json
import os
import subprocess
import sys

from cluster import ROOT, main


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


def gang(cluster, name, pods, key):
    """A PodGroup of pods that share a value of a node's label, as a user of Kubernetes' own gangs writes it."""
    cluster.api.create("/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups", {
        "metadata": {"name": name}, "spec": {"schedulingPolicy": {"gang": {"minCount": pods}}, "schedulingConstraints": {"topology": [{"key": key}]}}})
    for number in range(pods):
        made = cluster.template(8, gate=False)
        made["metadata"].update(name=f"{name}-{number}", labels={"gang": name})
        made["spec"]["schedulingGroup"] = {"podGroupName": name}
        cluster.api.create("/api/v1/namespaces/default/pods", made)

    def bound():
        found = cluster.api.pods(f"gang={name}")
        return all("nodeName" in pod["spec"] for pod in found) and {pod["spec"]["nodeName"] for pod in found}
    return cluster.until(f"{name} is bound", bound)


def end(cluster, name):
    cluster.api.request("DELETE", f"/api/v1/namespaces/default/pods?labelSelector=gang%3D{name}")
    cluster.until("its pods are gone", lambda: not cluster.api.pods(f"gang={name}"))


def score(cluster):
    """Kubernetes' own generator has a placement for each value of a label, and Railweave says which of them is cheapest."""
    subprocess.run(["go", "test", "-vet=off", "-trimpath", "."], cwd=ROOT / "services" / "kubernetes" / "scheduler", check=True, timeout=1500,
                   env=dict(os.environ, CGO_ENABLED="0"))  # as built: in Go's cache
    cluster.controller.start("--drains=false", "--labels=false")
    fabric = json.loads((cluster.folder / "fabric.json").read_text())
    domains = {"nvl-1": cluster.names[:4], "nvl-2": cluster.names[4:8]}
    scattered = [cluster.names[8], cluster.names[10], cluster.names[12], cluster.names[14]]
    fabric["nvlinkDomains"] = [{**fabric["nvlinkDomains"][0], "name": one} for one in [*domains, *cluster.names[8:]]]
    for host in fabric["hosts"]:
        for gpu in host["gpus"]:
            gpu["domain"] = next((domain for domain, nodes in domains.items() if host["name"] in nodes), host["name"])
    assert cluster.service.request("PUT", "/v1/fabric/topology", json.dumps(fabric))[0] == 200

    def label(key, zones):
        for zone, nodes in zones.items():
            for node in nodes:
                cluster.api.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": {key: zone}}})
    # One zone shares NVLink, the other does not, whatever they are called: the first is cheaper.
    label("one", {"a": domains["nvl-1"], "b": scattered})
    label("two", {"a": scattered, "b": domains["nvl-1"]})
    for key in ("one", "two"):
        assert gang(cluster, f"cheap-{key}", 4, key) == set(domains["nvl-1"]), key
        end(cluster, f"cheap-{key}")
    # Where Railweave wants no new jobs, though Kubernetes knows nothing of it: the other one.
    label("three", {"a": domains["nvl-1"], "b": domains["nvl-2"]})
    for avoided, taken in (("nvl-1", "nvl-2"), ("nvl-2", "nvl-1")):
        assert cluster.service.request("POST", f"/v1/nodes/{domains[avoided][0]}/drain", {"reason": "avoid"})[0] in (200, 202)
        assert gang(cluster, f"not-{avoided}", 4, "three") == set(domains[taken]), avoided
        end(cluster, f"not-{avoided}")
        assert cluster.service.request("POST", f"/v1/nodes/{domains[avoided][0]}/undrain", {})[0] == 204
    # Railweave away: the scheduler goes on without it.
    cluster.controller.stop()
    cluster.service.kill()
    gang(cluster, "away", 4, "three")


if __name__ == "__main__":
    mode = {"scheduler": "generate", "score": "score"}[sys.argv[2]]
    sys.exit(main({"scheduler": scheduler, "score": score}, *sys.argv[1:], gang=True, plugin=mode))
