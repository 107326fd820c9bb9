#!/usr/bin/env python3
"""Groups of other kinds, their pods made by their own released controllers (tests/kubernetes/managers), on a real Kubernetes: they are
gated, placed as wholes in the order of their ranks, and made again where one is lost.

managers_test.py BIN_FOLDER jobset
"""
import sys

from cluster import gated, main, note
from kubernetes_manager import Manager, missing

DEFAULT = "namespaces/team"  # an enrolled namespace: pods get their gate and environment from the webhook


def template(cluster, gpus=8, **annotations):
    """Of a pod in an enrolled namespace: without a gate of its own."""
    made = cluster.template(gpus, {f"railweave.dev/{name.replace('_', '-')}": value for name, value in annotations.items()}, gate=False)
    del made["metadata"]["finalizers"]
    return made


def ordered(cluster, selector, order):
    """The pods that live, in the order of order(labels); those without GPUs are left out."""
    found = [pod for pod in cluster.api.pods(selector, "team") if "deletionTimestamp" not in pod["metadata"] and pod["status"].get("phase") != "Failed"
             and "nvidia.com/gpu" in pod["spec"]["containers"][0]["resources"].get("limits", {})]
    return sorted(found, key=lambda pod: order(pod["metadata"]["labels"]))


def begun_gated(cluster, pods):
    """Each was made with the gate and reads what it is told: the controller's webhook has seen what the manager made."""
    for pod in pods:
        names = {one["name"] for one in pod["spec"]["containers"][0].get("env", [])}
        assert {"RAILWEAVE_RANKS", "NCCL_IB_HCA"} <= names and note(pod, "job"), pod["metadata"]["name"]


def everything_free(cluster):
    cluster.until("everything is free", lambda: cluster.free_gpus() == 8 * len(cluster.names) and not cluster.held())


def jobset(cluster, manager):
    path = f"/apis/jobset.x-k8s.io/v1alpha2/{DEFAULT}/jobsets"

    def job(pods, gpus=8):
        return {"spec": {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "backoffLimit": 0, "template": template(cluster, gpus)}}
    manager.create(path, {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "llm"}, "spec": {
        "failurePolicy": {"maxRestarts": 3},
        "replicatedJobs": [{"name": "driver", "template": job(1, 0)}, {"name": "workers", "replicas": 2, "template": job(2)},
                           {"name": "evals", "template": job(1)}]}})
    label, kinds = "jobset.sigs.k8s.io/", ["workers", "evals"]

    def pods():
        return ordered(cluster, f"{label}jobset-name=llm", lambda labels: (
            kinds.index(labels[f"{label}replicatedjob-name"]), int(labels[f"{label}job-index"]), int(labels["batch.kubernetes.io/job-completion-index"])))
    cluster.placed("team/jobset/llm", pods, 5)
    begun_gated(cluster, before := pods())
    # One fails: JobSet begins all of its Jobs again, and they are placed as a whole.
    cluster.finish(before[2], "Failed")
    old = {pod["metadata"]["uid"] for pod in before}
    cluster.until("all of its pods are new", lambda: len(found := pods()) == 5 and not old & {pod["metadata"]["uid"] for pod in found}, 120)
    cluster.placed("team/jobset/llm", pods, 5)
    # Jobs that begin one after the other could never be placed as one: that is said.
    manager.create(path, {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "late"}, "spec": {
        "startupPolicy": {"startupPolicyOrder": "InOrder"}, "replicatedJobs": [{"name": "first", "template": job(1)}, {"name": "second", "template": job(1)}]}})
    late = lambda: cluster.api.pods(f"{label}jobset-name=late", "team")  # noqa: E731
    cluster.until("what to write instead", lambda: (found := late()) and "startupPolicy InOrder" in cluster.reason(found[0]))
    cluster.api.delete(f"{path}/late")
    # A second one waits for room as a whole.
    manager.create(path, {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "large"}, "spec": {
        "replicatedJobs": [{"name": "workers", "replicas": 3, "template": job(4)}]}})
    waiting = lambda: ordered(cluster, f"{label}jobset-name=large", lambda labels: (  # noqa: E731
        int(labels[f"{label}job-index"]), int(labels["batch.kubernetes.io/job-completion-index"])))
    cluster.until("it waits", lambda: len(found := waiting()) == 12 and all("GPUs" in cluster.reason(pod) and gated(pod) for pod in found))
    cluster.api.delete(f"{path}/llm")
    cluster.placed("team/jobset/large", waiting, 12)
    cluster.api.delete(f"{path}/large")


def with_manager(name, part):
    def run(cluster):
        cluster.controller.start()
        with Manager(cluster.kubernetes, name) as manager:
            try:
                part(cluster, manager)
                everything_free(cluster)
                cluster.no_overlap()
            except BaseException:
                print(cluster.kubernetes.tail(name, 40))
                raise
    return run


PARTS = {"jobset": jobset}

if __name__ == "__main__":
    if why := missing(sys.argv[2]):
        print(f"skipped: {why}")
        sys.exit(77)
    sys.exit(main({name: with_manager(name, part) for name, part in PARTS.items()}, *sys.argv[1:]))
