#!/usr/bin/env python3
"""GPUs however pods ask for them, on a real API server: init containers, sidecars, other resources, and claims (DRA).

gpus_test.py BIN_FOLDER gpus
"""
import sys

from cluster import gated, main, note
from api_test import pinned_to

DRA = "/apis/resource.k8s.io/v1"


def container(name, gpus=0, resource="nvidia.com/gpu", **more):
    return {"name": name, "image": "i", "resources": {"limits": {resource: str(gpus)}} if gpus else {}, **more}


def pod(cluster, name, namespace="team", spec=None, gate=False, annotations=None):
    made = cluster.template(0, annotations, gate=gate)
    made["metadata"]["name"] = name
    made["spec"].update(spec or {})
    return cluster.api.create(f"/api/v1/namespaces/{namespace}/pods", made)


def read(cluster, name, namespace="team"):
    return cluster.api.get(f"/api/v1/namespaces/{namespace}/pods/{name}")


def placed(cluster, name, gpus, namespace="team"):
    """The pod is pinned, and Railweave holds as many GPUs for it."""
    found = cluster.until(f"{name} is placed", lambda: not gated(one := read(cluster, name, namespace)) and note(one, "job") and one)
    job = cluster.job_of(f"{namespace}/pod/{name}")
    assert len(cluster.ranks(job)) == gpus, (name, len(cluster.ranks(job)))
    assert {rank["node"] for rank in cluster.ranks(job)} == {pinned_to(found)}
    return found


def left(cluster, name, text, namespace="team"):
    found = cluster.until(f"{name} is told", lambda: text in cluster.reason(one := read(cluster, name, namespace)) and one)
    assert not gated(found) and text in note(found, "left"), found["metadata"]
    cluster.until("an event", lambda: any(text in event for event in cluster.events(found)))


def template(cluster, name, requests, namespace="team"):
    cluster.api.create(f"{DRA}/namespaces/{namespace}/resourceclaimtemplates", {"metadata": {"name": name}, "spec": {"spec": {"devices": {"requests": requests}}}})


def claiming(name, **claim):
    return {"containers": [{"name": "train", "image": "i", "resources": {"claims": [{"name": name}]}}], "resourceClaims": [{"name": name, **claim}]}


def gpus(cluster):
    cluster.controller.start("--gpu-resource=nvidia.com/gpu,amd.com/gpu")
    cluster.until("the webhooks answer", lambda: cluster.api.get("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/railweave-webhook")[
        "webhooks"][0]["clientConfig"].get("caBundle"))
    # What the scheduler counts: the most of what runs at a time.
    pod(cluster, "init", spec={"initContainers": [container("load", 8)], "containers": [container("train", 2)]})
    placed(cluster, "init", 8)
    pod(cluster, "only-init", spec={"initContainers": [container("load", 4)], "containers": [container("serve")]})
    placed(cluster, "only-init", 4)
    pod(cluster, "sidecar", spec={"initContainers": [container("watch", 1, restartPolicy="Always"), container("load", 2)], "containers": [container("train", 3)]})
    placed(cluster, "sidecar", 4)
    # A resource that the operator names, and those that are none or not named: the pod is not gated, and told why.
    node = cluster.names[-1]
    cluster.api.patch(f"/api/v1/nodes/{node}/status", {"status": {"capacity": {"amd.com/gpu": "8", "nvidia.com/gpu": "0"},
                                                                 "allocatable": {"amd.com/gpu": "8", "nvidia.com/gpu": "0"}}})
    found = pod(cluster, "amd", spec={"nodeSelector": {"kubernetes.io/hostname": node}, "containers": [container("train", 8, "amd.com/gpu")]})
    assert gated(found) and any(one["name"] == "RAILWEAVE_RANKS" for one in found["spec"]["containers"][0]["env"])
    assert pinned_to(placed(cluster, "amd", 8)) == node
    pod(cluster, "mig", spec={"containers": [container("train", 1, "nvidia.com/mig-1g.10gb")]})
    left(cluster, "mig", "nvidia.com/mig-1g.10gb")
    claims(cluster)


def claims(cluster):
    """DRA: claims of which each pod has its own count as GPUs; others are left to the scheduler, which is said."""
    for name in ("gpu.nvidia.com", "nic.example.com"):
        cluster.api.create(f"{DRA}/deviceclasses", {"metadata": {"name": name}, "spec": {}})
    template(cluster, "eight", [{"name": "gpus", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 8}},
                                {"name": "nic", "exactly": {"deviceClassName": "nic.example.com"}}])
    found = pod(cluster, "claims", spec=claiming("gpus", resourceClaimTemplateName="eight"), annotations={"railweave.dev/claimed-gpus": "1"})
    assert gated(found) and note(found, "claimed-gpus") == "8", "a pod says itself how many it claims"
    assert any(one["name"] == "RAILWEAVE_RANKS" for one in found["spec"]["containers"][0]["env"])
    placed(cluster, "claims", 8)
    # By its own gate, without the webhook.
    template(cluster, "two", [{"name": "gpus", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}}], "default")
    pod(cluster, "plain", "default", claiming("gpus", resourceClaimTemplateName="two"), gate=True)
    placed(cluster, "plain", 2, "default")
    # What runs already is held.
    free = cluster.free_gpus()
    pod(cluster, "runs", "default", {"nodeName": node_free(cluster), **claiming("gpus", resourceClaimTemplateName="two")}, annotations={"railweave.dev/claimed-gpus": "0"})
    cluster.until("it is held", lambda: cluster.free_gpus() == free - 2)
    # Those that are not counted.
    cluster.api.create(f"{DRA}/namespaces/team/resourceclaims", {"metadata": {"name": "shared"}, "spec": {"devices": {"requests": [
        {"name": "gpus", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}}})
    pod(cluster, "shares", spec=claiming("gpus", resourceClaimName="shared"))
    left(cluster, "shares", "other pods may share")
    template(cluster, "any", [{"name": "gpus", "firstAvailable": [{"name": "many", "deviceClassName": "gpu.nvidia.com", "count": 8},
                                                                 {"name": "few", "deviceClassName": "gpu.nvidia.com", "count": 4}]}], "default")
    pod(cluster, "either", "default", claiming("gpus", resourceClaimTemplateName="any"), gate=True)
    left(cluster, "either", "several alternatives", "default")
    # No GPUs at all.
    template(cluster, "nic", [{"name": "nic", "exactly": {"deviceClassName": "nic.example.com"}}])
    assert not gated(pod(cluster, "nic", spec=claiming("nic", resourceClaimTemplateName="nic")))


def node_free(cluster):
    return next(item["id"] for item in cluster.service.request("GET", "/v1/nodes?limit=100")[2]["items"] if item["freeGpus"] == 8 and item["id"] != cluster.names[-1])


if __name__ == "__main__":
    sys.exit(main({"gpus": gpus}, *sys.argv[1:], scheduling=False))
