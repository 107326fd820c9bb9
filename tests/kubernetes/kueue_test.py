#!/usr/bin/env python3
"""Kueue's AdmissionCheck with Kueue's own definitions on a real API server: workloads are admitted when Railweave can place them, and
narrowed to where. The test reserves quota in the manager's place, and checks what is written; managers_test.py has the manager.

kueue_test.py BIN_FOLDER admission_checks
"""
import json
import subprocess
import sys
import time
from pathlib import Path

import yaml

from cluster import ROOT, main

VERSION = "sigs.k8s.io/kueue@v0.19.2"
API = "/apis/kueue.x-k8s.io/v1beta2"


def definitions():
    """Kueue's, from its module."""
    done = subprocess.run(["go", "mod", "download", "-json", VERSION], cwd=ROOT / "tests" / "kubernetes" / "binaries", capture_output=True, text=True, timeout=120)
    if done.returncode:
        return []
    bases = Path(json.loads(done.stdout)["Dir"]) / "config" / "components" / "crd" / "bases"
    return [yaml.safe_load(file.read_text()) for file in sorted(bases.glob("kueue.x-k8s.io_*.yaml"))]


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def workload(cluster, name, count, annotations=None, gpus=8, check="railweave"):
    template = cluster.template(gpus, annotations)
    path = f"{API}/namespaces/default/workloads"
    cluster.api.create(path, {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": name},
                              "spec": {"active": True, "queueName": "q", "podSets": [{"name": "main", "count": count, "template": template}]}})
    cluster.api.patch(f"{path}/{name}/status", {"status": {
        "conditions": [{"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved", "message": "", "lastTransitionTime": now()}],
        "admissionChecks": [{"name": check, "state": "Pending", "message": "", "lastTransitionTime": now()}]}})

    def state():
        return cluster.api.get(f"{path}/{name}")["status"]["admissionChecks"][0]
    return state


def kueue(cluster):
    found = definitions()
    if not found:
        print(f"skipped: {VERSION} cannot be downloaded")
        return 77
    for definition in found:
        cluster.api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    cluster.until("Kueue's kinds", lambda: cluster.api.find(f"{API}/namespaces/default/workloads") and cluster.api.find(f"{API}/admissionchecks"))
    fabric = json.loads((cluster.folder / "fabric.json").read_text())
    fabric["nvlinkDomains"] = [{**fabric["nvlinkDomains"][0], "name": one} for one in ("nvl-1", "nvl-2")]
    for host in fabric["hosts"]:
        for gpu in host["gpus"]:
            gpu["domain"] = "nvl-1" if host["name"] in cluster.names[:8] else "nvl-2"
    assert cluster.service.request("PUT", "/v1/fabric/topology", json.dumps(fabric))[0] == 200
    for name, of in (("railweave", "railweave.dev/placement"), ("other", "example.com/other")):
        cluster.api.create(f"{API}/admissionchecks", {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "AdmissionCheck", "metadata": {"name": name},
                                                      "spec": {"controllerName": of}})
    cluster.controller.start("--kueue")
    def active(name):
        return [one["status"] for one in cluster.api.get(f"{API}/admissionchecks/{name}").get("status", {}).get("conditions", []) if one["type"] == "Active"]
    cluster.until("the check is active", lambda: active("railweave") == ["True"])
    domain = "accelerator.topograph.run/domain"
    cluster.until("nodes are labelled", lambda: all(domain in node["metadata"]["labels"] for node in cluster.api.get("/api/v1/nodes")["items"]))
    # Admitted, and narrowed to the one domain that has all of it.
    state = workload(cluster, "fits", 8, {"railweave.dev/level": "nvlinkDomain"})
    ready = cluster.until("it is answered", lambda: (one := state())["state"] == "Ready" and one)
    assert ready["podSetUpdates"][0]["name"] == "main" and ready["podSetUpdates"][0]["nodeSelector"][domain] in ("nvl-1", "nvl-2"), ready
    assert cluster.free_gpus() == 128, "nothing is held before the pods exist"
    # Over both domains: the nearest tier of switches that has both, or none.
    state = workload(cluster, "wide", 16)
    ready = cluster.until("it is answered", lambda: (one := state())["state"] == "Ready" and one)
    assert domain not in ready.get("podSetUpdates", [{}])[0].get("nodeSelector", {}), ready
    # Not now: it waits with the reason, and is admitted when there is room.
    status, _, job = cluster.service.request("POST", "/v1/jobs", {"name": "busy", "tenant": "physics", "parallelism": {"data": 64}, "gpusPerNode": 8})
    assert status == 201, job
    state = workload(cluster, "later", 12)
    waits = cluster.until("it says why", lambda: (one := state())["message"] and one)
    assert waits["state"] == "Pending" and "GPUs" in waits["message"], waits
    assert cluster.service.request("DELETE", f"/v1/jobs/{job['id']}")[0] == 200
    cluster.until("it is admitted", lambda: state()["state"] == "Ready")
    # Never, and what makes no sense.
    state = workload(cluster, "never", 17)
    never = cluster.until("it is refused", lambda: (one := state())["state"] == "Rejected" and one)
    assert "136 GPUs" in never["message"], never
    state = workload(cluster, "nonsense", 2, {"railweave.dev/parallelism": "tp=3"})
    assert "2 pods of 8 GPUs are 16 ranks" in cluster.until("it is refused", lambda: (one := state())["state"] == "Rejected" and one)["message"]
    # Those of others are left to them.
    other = workload(cluster, "others", 1, check="other")
    assert other()["state"] == "Pending" and other()["message"] == "" and active("other") == []
    return 0


if __name__ == "__main__":
    sys.exit(main({"admission_checks": kueue}, *sys.argv[1:], scheduling=False))
