#!/usr/bin/env python3
"""Pods of every owner, on a real Kubernetes: each is placed, or left to the scheduler with an event that says why; none waits for ever, or
without a reason.

owners_test.py BIN_FOLDER waves|unknown|stateful
"""
import sys
import time

from cluster import gated, main, note
from api_test import define


def everything_free(cluster):
    cluster.until("everything is free", lambda: cluster.free_gpus() == 8 * len(cluster.names) and not cluster.held())


def make(cluster, name, completions, parallelism, mode, gpus=8):
    spec = {"parallelism": parallelism, "completionMode": mode, "backoffLimit": 6, "template": cluster.template(gpus)}
    if completions:
        spec["completions"] = completions
    cluster.api.create("/apis/batch/v1/namespaces/default/jobs", {"metadata": {"name": name}, "spec": spec})


def status(cluster, name):
    return cluster.api.get(f"/apis/batch/v1/namespaces/default/jobs/{name}")["status"]


def waves(cluster):
    """More completions than pods at a time: each pod begins as soon as there is room for it, and passes its GPUs on when it ends."""
    cluster.controller.start()
    for name, completions, parallelism, mode, gpus in (("indexed", 8, 2, "Indexed", 8), ("queue", 12, 4, "NonIndexed", 4)):
        make(cluster, name, completions, parallelism, mode, gpus)
        most = [0]

        def done(name=name, parallelism=parallelism, completions=completions, most=most, gpus=gpus):
            for pod in cluster.api.pods(f"batch.kubernetes.io/job-name={name}"):
                if pod["status"].get("phase") == "Running":
                    assert pod["spec"]["nodeName"] == note(pod, "node"), "not where Railweave placed it"
                    cluster.finish(pod)
            used = sum(job.startswith(f"default/pod/{name}-") for job in cluster.held())
            most[0] = max(most[0], used)
            assert cluster.free_gpus() >= 128 - (parallelism + 4) * gpus, "GPUs of pods that have ended stay held"
            return status(cluster, name).get("succeeded") == completions
        cluster.until(f"all of {name} have run", done, 120)
        assert most[0] > 0, "none was placed by itself"
        everything_free(cluster)
    # As many pods at a time as there are, without a number of completions: they are a group.
    make(cluster, "crew", None, 3, "NonIndexed")
    cluster.until("it is one job", lambda: cluster.job_of("default/job/crew"))
    pods = cluster.until("all run", lambda: len(found := [pod for pod in cluster.api.pods("batch.kubernetes.io/job-name=crew")
                                                        if pod["status"].get("phase") == "Running"]) == 3 and found)
    assert len({pod["spec"]["nodeName"] for pod in pods}) == 3
    cluster.end_job("crew")
    everything_free(cluster)
    # A full cluster: the waves pass on what they have, and take no more.
    cluster.job("others", 15)
    cluster.placed_job("others", 15)
    make(cluster, "narrow", 4, 2, "Indexed")
    first = cluster.until("one runs", lambda: [pod for pod in cluster.pods("narrow") if pod["status"].get("phase") == "Running"])
    cluster.until("the other says why it waits", lambda: any("GPUs" in cluster.reason(pod) for pod in cluster.pods("narrow") if gated(pod)))
    cluster.finish(first[0])
    cluster.until("the next one runs", lambda: [pod for pod in cluster.pods("narrow") if pod["status"].get("phase") == "Running"
                                               and pod["metadata"]["uid"] != first[0]["metadata"]["uid"]])


def unknown(cluster):
    """Owners that are not known, cannot be read, or are gone: their pods begin without Railweave, which says so."""
    worker = {"replicas": 2, "template": {"spec": {"containers": [{"name": "train", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}}}
    launcher = {"template": {"spec": {"containers": [{"name": "launch"}]}}}
    makers = {kind: define(cluster, group, version, kind) for kind, group, version in (
        ("MPIJob", "kubeflow.org", "v2beta1"), ("TFJob", "tensorflow.org", "v1"), ("Workflow", "argoproj.io", "v1alpha1"))}
    cluster.controller.start()

    def pod(name, labels=None, owner=None, gpus=8, **more):
        made = cluster.template(gpus, labels=labels)
        made["metadata"].update(name=name, **({"ownerReferences": [owner]} if owner else {}))
        made["spec"].update(more)
        cluster.api.create("/api/v1/namespaces/default/pods", made)
        return name

    def read(name):
        return cluster.api.get(f"/api/v1/namespaces/default/pods/{name}")

    def left(name, text, seconds=60):
        cluster.until(f"{name} runs", lambda: read(name)["status"].get("phase") == "Running", seconds)
        assert not gated(read(name)) and text in note(read(name), "left") and text in cluster.reason(read(name)), (name, read(name)["metadata"], cluster.reason(read(name)))
        cluster.until(f"{name}: an event", lambda: any("Railweave does not place it" in event and text in event for event in cluster.events(read(name))))
    training = "training.kubeflow.org/"

    def of_mpi(job, role, index):
        return {f"{training}job-name": job, f"{training}job-role": role, f"{training}replica-index": str(index), f"{training}operator-name": "mpi-operator"}
    # An MPIJob is known: its workers are a group, in order; its launcher without GPUs is not gated.
    owner = makers["MPIJob"]("mpi", {"mpiReplicaSpecs": {"Launcher": launcher, "Worker": worker}})
    for index in (1, 0):
        pod(f"mpi-worker-{index}", of_mpi("mpi", "worker", index), owner)
    cluster.placed("default/mpijob/mpi", lambda: [read(f"mpi-worker-{index}") for index in range(2)], 2)
    # One whose launcher works, too: it is the first.
    owner = makers["MPIJob"]("works", {"runLauncherAsWorker": True, "mpiReplicaSpecs": {"Launcher": {"template": worker["template"]}, "Worker": worker}})
    for index in (1, 0):  # of a release whose labels count the launcher
        pod(f"works-worker-{index}", of_mpi("works", "worker", index + 1), owner)
    pod("works-launcher", of_mpi("works", "launcher", 0))
    cluster.placed("default/mpijob/works", lambda: [read(name) for name in ("works-launcher", "works-worker-0", "works-worker-1")], 3)
    # Kubeflow's others, and owners of which nothing is known.
    owner = makers["TFJob"]("tf", {})
    left(pod("tf-worker-0", {f"{training}job-name": "tf", f"{training}operator-name": "tfjob-controller"}, owner), "a TFJob")
    owner = makers["Workflow"]("flow", {})
    left(pod("flow-1", owner=owner), "a Workflow")
    # Kinds that are not installed, and may not be read.
    left(pod("set-0", {"jobset.sigs.k8s.io/jobset-name": "set", "jobset.sigs.k8s.io/replicatedjob-name": "w", "jobset.sigs.k8s.io/job-index": "0"}), "the API server has no such kind")
    role = cluster.api.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/railweave-kubernetes")
    cluster.api.patch("/apis/rbac.authorization.k8s.io/v1/clusterroles/railweave-kubernetes", {"rules": [
        rule for rule in role["rules"] if "kubeflow.org" not in rule["apiGroups"]]})
    makers["MPIJob"]("hidden", {"mpiReplicaSpecs": {"Worker": worker}})
    time.sleep(1)
    left(pod("hidden-worker-0", of_mpi("hidden", "worker", 0)), "may not be read")
    cluster.api.patch("/apis/rbac.authorization.k8s.io/v1/clusterroles/railweave-kubernetes", {"rules": role["rules"]})
    # An owner that is gone, with pods that stay.
    cluster.until("the role is back", lambda: True)
    left(pod("orphan-0", of_mpi("gone", "worker", 0)), "its owner is gone", 90)
    # Railweave knows the GPUs that they all use.
    cluster.until("they are held", lambda: cluster.free_gpus() == 128 - 8 * (2 + 3 + 5))
    cluster.no_overlap()


def stateful(cluster):
    """Pods that their owner makes one after the other are placed one by one; more pods than a group has places for, too."""
    cluster.controller.start()
    make_ray = define(cluster, "ray.io", "v1", "RayCluster")
    template = cluster.template(labels={"app": "s"})
    template["spec"]["restartPolicy"] = "Always"
    cluster.api.create("/apis/apps/v1/namespaces/default/statefulsets", {"metadata": {"name": "s"}, "spec": {
        "replicas": 3, "serviceName": "s", "selector": {"matchLabels": {"app": "s"}}, "template": template}})
    cluster.until("all of the StatefulSet run", lambda: len([pod for pod in cluster.api.pods("app=s") if pod["status"].get("phase") == "Running"]) == 3, 120)
    assert all(note(pod, "node") == pod["spec"]["nodeName"] for pod in cluster.api.pods("app=s"))
    # A DaemonSet's pod goes where it says, also to a node that is cordoned.
    daemon = cluster.template(1, labels={"app": "d"})
    daemon["spec"].update(restartPolicy="Always", nodeSelector={"kubernetes.io/hostname": cluster.names[-1]})
    cluster.api.patch(f"/api/v1/nodes/{cluster.names[-1]}", {"spec": {"unschedulable": True}})
    cluster.api.create("/apis/apps/v1/namespaces/default/daemonsets", {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"app": "d"}}, "template": daemon}})
    found = cluster.until("the DaemonSet's pod runs", lambda: [pod for pod in cluster.api.pods("app=d") if pod["status"].get("phase") == "Running"])
    assert "its DaemonSet says" in note(found[0], "left") and "its DaemonSet says" in cluster.reason(found[0])
    # A RayCluster that grows.
    spec = {"workerGroupSpecs": [{"replicas": 2, "template": {"spec": {"containers": [{"name": "w", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}}}]}
    owner = make_ray("ray", spec)

    def worker(number):
        made = cluster.template(labels={"ray.io/cluster": "ray", "ray.io/node-type": "worker"})
        made["metadata"].update(name=f"ray-{number}", ownerReferences=[owner])
        cluster.api.create("/api/v1/namespaces/default/pods", made)
    running = lambda: [pod for pod in cluster.api.pods("ray.io/cluster=ray") if pod["status"].get("phase") == "Running"]  # noqa: E731
    worker(0)
    worker(1)
    cluster.until("both run", lambda: len(running()) == 2)
    before = {pod["metadata"]["uid"] for pod in running()}
    spec["workerGroupSpecs"][0]["replicas"] = 3
    cluster.api.patch("/apis/ray.io/v1/namespaces/default/rayclusters/ray", {"spec": spec})
    worker(2)
    cluster.until("the third runs", lambda: len(running()) == 3)
    assert before <= {pod["metadata"]["uid"] for pod in running()}, "a pod that ran was made again"
    cluster.no_overlap()


if __name__ == "__main__":
    sys.exit(main({"waves": waves, "unknown": unknown, "stateful": stateful}, *sys.argv[1:]))
