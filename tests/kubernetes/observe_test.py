#!/usr/bin/env python3
"""The steps `observe` and `order` on a real Kubernetes, taken before `place` and taken back while groups run: pods are the scheduler's alone, Railweave
holds their GPUs and says where it would have placed them.

observe_test.py BIN_FOLDER observe
"""
import sys

from cluster import gated, main


def running(cluster, name, pods, namespace="default"):
    return cluster.until(f"{name} runs", lambda: (found := cluster.pods(name, namespace)) and len(found) == pods and all(
        pod["status"].get("phase") == "Running" for pod in found) and found)


def told(cluster, name, pods, namespace="default", step="observe"):
    """Its pods run, Railweave holds their nodes, and an event of the first has the advice that the job has."""
    found = running(cluster, name, pods, namespace)
    job = cluster.until("it is adopted", lambda: cluster.job_of(f"{namespace}/job/{name}"))
    shown = cluster.service.request("GET", f"/v1/jobs/{job}")[2]
    assert set(shown["nodeList"]) == {pod["spec"]["nodeName"] for pod in found}, shown["nodeList"]
    external = shown["spec"]["external"]
    assert external["step"] == step and external["part"] == namespace and external["advice"].startswith("Railweave would "), external
    assert ("gainPermille" in external) == ("let it wait" not in external["advice"]), external
    cluster.until(lambda: f"an event says {external['advice']!r}: {[text for pod in found for text in cluster.events(pod)]}",
                  lambda: any(external["advice"] in text for pod in found for text in cluster.events(pod)))
    assert not any(gated(pod) or "railweave.dev/ranks" in pod["metadata"]["annotations"] for pod in found)
    return found


def told_again(cluster, name):
    """Adopted a second time, where the nodes that it should have had are out of use meanwhile, it has another advice, and the event says that one."""
    cluster.until("the one before is gone", lambda: not cluster.job_of("default/job/ranked"))
    asked = {"tenant": "research", "parallelism": {"data": 16}, "gpusPerNode": 8}
    better = sorted({rank["node"] for rank in cluster.service.request("POST", "/v1/placements/query?ranks=true", asked)[2]["ranks"]["items"]})
    for node in better:  # the scheduler rather has nodes without it
        cluster.api.create("/api/v1/namespaces/default/pods", {"metadata": {"name": f"busy-{node}"}, "spec": {
            "nodeName": node, "containers": [{"name": "busy", "image": "busy", "resources": {"requests": {"cpu": "100", "memory": "500Gi"}}}]}})
    cluster.job(name, 2)
    told(cluster, name, 2)
    first = cluster.job_of(f"default/job/{name}")
    assert f"Railweave would have chosen {better[0]}, {better[1]}" in advice(cluster, first), advice(cluster, first)
    for node in better:
        assert cluster.service.request("POST", f"/v1/nodes/{node}/drain", '{"reason": "a look"}')[0] in (200, 202)
    assert cluster.service.request("POST", f"/v1/jobs/{first}/complete?freed=true")[0] == 200
    second = cluster.until("it is adopted again", lambda: (job := cluster.job_of(f"default/job/{name}")) != first and job)
    assert advice(cluster, second) != advice(cluster, first)
    told(cluster, name, 2)
    for node in better:
        assert cluster.service.request("POST", f"/v1/nodes/{node}/undrain", {})[0] == 204


def advice(cluster, job):
    return cluster.service.request("GET", f"/v1/jobs/{job}")[2]["spec"]["external"]["advice"]


def observe(cluster):
    cluster.controller.start("--step=observe")
    cluster.job("plain", 2, gate=False)
    plain = told(cluster, "plain", 2)
    # In a namespace that is enrolled the webhook is there, and changes nothing; what its author has gated waits for nothing.
    cluster.job("enrolled", 2, namespace="team", gate=False)
    told(cluster, "enrolled", 2, "team")
    cluster.job("gated", 2)
    told(cluster, "gated", 2)
    # A node out of use in Railweave is Kubernetes' as before.
    assert cluster.service.request("POST", "/v1/nodes/node-16/drain", '{"reason": "a look", "force": true}')[0] == 200
    assert not cluster.api.get("/api/v1/nodes/node-16")["spec"].get("unschedulable")

    cluster.controller.stop()
    cluster.controller.start()
    cluster.job("placed", 3)
    nodes = cluster.placed_job("placed", 3)
    cluster.until("the step `place` passes drains on", lambda: cluster.api.get("/api/v1/nodes/node-16")["spec"].get("unschedulable"))

    # One namespace is observed while the pods of the others are placed.
    cluster.controller.stop()
    cluster.controller.start("--namespace-step=team=observe")
    cluster.job("watched", 2, namespace="team", gate=False)
    told(cluster, "watched", 2, "team")
    cluster.job("beside", 2)
    cluster.placed_job("beside", 2)
    for name, namespace in (("watched", "team"), ("beside", "default")):
        cluster.end_job(name, namespace)

    # The order of ranks, told to pods that run where the scheduler has put them.
    cluster.controller.stop()
    cluster.controller.start("--step=order")
    cluster.job("ranked", 2)
    told(cluster, "ranked", 2, step="order")
    orders = sorted(pod["metadata"]["annotations"].get("railweave.dev/order", "") for pod in cluster.pods("ranked"))
    assert orders == ["0", "1"], orders
    assert any("slots=8" in pod["metadata"]["annotations"].get("railweave.dev/hostfile", "") for pod in cluster.pods("ranked"))
    cluster.end_job("ranked")

    cluster.controller.stop()
    cluster.controller.start("--step=observe")
    told_again(cluster, "last")
    assert [pod["spec"]["nodeName"] for pod in cluster.pods("placed")] == nodes
    assert [pod["metadata"]["uid"] for pod in cluster.pods("plain")] == [pod["metadata"]["uid"] for pod in plain], "what runs goes on"
    for name, namespace in (("plain", "default"), ("enrolled", "team"), ("gated", "default"), ("placed", "default"), ("last", "default")):
        cluster.end_job(name, namespace)
    cluster.until("everything is free", lambda: cluster.free_gpus() == 128)


if __name__ == "__main__":
    sys.exit(main({"observe": observe}, *sys.argv[1:3]))
