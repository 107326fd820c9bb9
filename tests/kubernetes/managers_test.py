#!/usr/bin/env python3
"""Groups of other kinds, their pods made by their own released controllers (tests/kubernetes/managers), on a real Kubernetes: they are
gated, placed as wholes in the order of their ranks, and made again where one is lost.

managers_test.py BIN_FOLDER jobset|lws|training-operator|kuberay|kueue
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


def lws(cluster, manager):
    path = f"/apis/leaderworkerset.x-k8s.io/v1/{DEFAULT}/leaderworkersets"
    label = "leaderworkerset.sigs.k8s.io/"

    def made(name, replicas, size, **more):
        return {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": name}, "spec": {
            "replicas": replicas, "leaderWorkerTemplate": {"size": size, "restartPolicy": "RecreateGroupOnPodRestart", "workerTemplate": serving(cluster)}, **more}}
    manager.create(path, made("serve", 3, 3))

    def pods(group):
        return ordered(cluster, f"{label}name=serve,{label}group-index={group}", lambda labels: int(labels[f"{label}worker-index"]))
    for group in range(3):
        cluster.placed(f"team/lws/serve.{group}", lambda group=group: pods(group), 3)
        begun_gated(cluster, pods(group))
    assert len({cluster.job_of(f"team/lws/serve.{group}") for group in range(3)}) == 3, "each replica is a group of its own"
    # Scaled up and down, replica by replica.
    cluster.api.patch(f"{path}/serve", {"spec": {"replicas": 4}})
    cluster.placed("team/lws/serve.3", lambda: pods(3), 3)
    cluster.api.patch(f"{path}/serve", {"spec": {"replicas": 1}})
    cluster.until("the others' GPUs are free", lambda: set(cluster.held()) == {name for name in cluster.held() if name.startswith("team/lws/serve.0")}, 90)
    # A pod is lost: the set makes the whole replica again, which is placed again.
    before = {pod["metadata"]["uid"] for pod in pods(0)}
    cluster.api.delete(f"/api/v1/{DEFAULT}/pods/{pods(0)[1]['metadata']['name']}")
    cluster.until("all of its pods are new", lambda: len(found := pods(0)) == 3 and not before & {pod["metadata"]["uid"] for pod in found}, 120)
    cluster.placed("team/lws/serve.0", lambda: pods(0), 3)
    # Workers that are made only when the leader runs could never be placed with it: that is said.
    manager.create(path, made("late", 1, 2, startupPolicy="LeaderReady"))
    late = lambda: cluster.api.pods(f"{label}name=late", "team")  # noqa: E731
    cluster.until("what to write instead", lambda: (found := late()) and "LeaderCreated" in cluster.reason(found[0]))
    for name in ("serve", "late"):
        cluster.api.delete(f"{path}/{name}")


def serving(cluster):
    """Pods of sets that serve are started again wherever they end."""
    made = template(cluster)
    made["spec"]["restartPolicy"] = "Always"
    return made


def training_operator(cluster, manager):
    path = f"/apis/kubeflow.org/v1/{DEFAULT}/pytorchjobs"
    container = template(cluster, parallelism="tp=8 pp=2")
    container["spec"]["containers"][0]["name"] = "pytorch"
    container["spec"].pop("restartPolicy")

    def replicas(count):
        return {"replicas": count, "restartPolicy": "OnFailure", "template": container}
    manager.create(path, {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "tune"}, "spec": {
        "pytorchReplicaSpecs": {"Master": replicas(1), "Worker": replicas(3)}}})

    def pods(name="tune"):
        return ordered(cluster, f"training.kubeflow.org/job-name={name}", lambda labels: (
            labels["training.kubeflow.org/replica-type"] != "master", int(labels["training.kubeflow.org/replica-index"])))
    cluster.placed("team/pytorchjob/tune", pods, 4)
    begun_gated(cluster, before := pods())
    assert cluster.service.request("GET", f"/v1/jobs/{cluster.job_of('team/pytorchjob/tune')}")[2]["parallelism"]["pipeline"] == 2
    # A worker is lost, and comes back in its place; the others are not touched.
    cluster.api.delete(f"/api/v1/{DEFAULT}/pods/{before[2]['metadata']['name']}")
    cluster.until("a new worker", lambda: len(found := pods()) == 4 and found[2]["metadata"]["uid"] != before[2]["metadata"]["uid"], 120)
    assert cluster.placed("team/pytorchjob/tune", pods, 4) == [pod["spec"]["nodeName"] for pod in before]
    for pod in pods():
        cluster.finish(pod)
    everything_free(cluster)


def kuberay(cluster, manager):
    path = f"/apis/ray.io/v1/{DEFAULT}/rayclusters"
    head, worker = template(cluster, 0), template(cluster)
    head["spec"].pop("restartPolicy")
    worker["spec"].pop("restartPolicy")

    def workers(count):
        return [{"groupName": "gpus", "replicas": count, "minReplicas": 0, "maxReplicas": 8, "rayStartParams": {}, "template": worker}]
    manager.create(path, {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "ray"}, "spec": {
        "rayVersion": "2.46.0", "headGroupSpec": {"rayStartParams": {}, "template": head}, "workerGroupSpecs": workers(3)}})

    def pods():
        found = ordered(cluster, "ray.io/cluster=ray", lambda labels: 0)
        return sorted(found, key=lambda pod: int(note(pod, "pod-index") or 0))
    cluster.placed("team/raycluster/ray", pods, 3)
    begun_gated(cluster, before := pods())
    heads = cluster.api.pods("ray.io/cluster=ray,ray.io/node-type=head", "team")
    assert len(heads) == 1 and not gated(heads[0]) and not note(heads[0], "job"), "the head has no GPUs"
    # A worker is lost: its successor takes its place.
    cluster.api.delete(f"/api/v1/{DEFAULT}/pods/{before[1]['metadata']['name']}")
    cluster.until("a new worker", lambda: len(found := pods()) == 3 and before[1]["metadata"]["name"] not in {pod["metadata"]["name"] for pod in found}, 120)
    assert cluster.placed("team/raycluster/ray", pods, 3) == [pod["spec"]["nodeName"] for pod in before]
    cluster.api.delete(f"{path}/ray")


def kueue(cluster, manager):
    """Quota is Kueue's, the place is Railweave's: a Job is admitted when both have room, and its pods go where Railweave says."""
    api = "/apis/kueue.x-k8s.io/v1beta2"

    def make(plural, kind, name, spec, namespaced=False):
        return manager.create(f"{api}/{DEFAULT + '/' if namespaced else ''}{plural}", {
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}, "spec": spec})
    make("resourceflavors", "ResourceFlavor", "h100", {})
    make("admissionchecks", "AdmissionCheck", "railweave", {"controllerName": "railweave.dev/placement"})
    cluster.controller.stop()
    cluster.controller.start("--kueue")
    quota = {"coveredResources": ["cpu", "nvidia.com/gpu"], "flavors": [{"name": "h100", "resources": [
        {"name": "cpu", "nominalQuota": "1000"}, {"name": "nvidia.com/gpu", "nominalQuota": 200}]}]}
    make("clusterqueues", "ClusterQueue", "all", {"namespaceSelector": {}, "resourceGroups": [quota], "admissionChecksStrategy": {
        "admissionChecks": [{"name": "railweave"}]}})
    make("localqueues", "LocalQueue", "team", {"clusterQueue": "all"}, True)

    def submit(name, pods):
        manager.create(f"/apis/batch/v1/{DEFAULT}/jobs", {
            "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "team"}}, "spec": {
                "completions": pods, "parallelism": pods, "completionMode": "Indexed", "suspend": True, "template": template(cluster)}})

    def workload(name):
        found = [one for one in cluster.api.get(f"{api}/{DEFAULT}/workloads")["items"] if one["metadata"]["ownerReferences"][0]["name"] == name]
        return found[0] if found else {"status": {}}

    def check(name):
        return (workload(name).get("status", {}).get("admissionChecks") or [{"state": "", "message": ""}])[0]

    def job(name):
        return cluster.api.get(f"/apis/batch/v1/{DEFAULT}/jobs/{name}")
    submit("first", 6)
    cluster.placed_job("first", 6, namespace="team")
    begun_gated(cluster, cluster.pods("first", "team"))
    assert check("first")["state"] == "Ready" and job("first")["spec"]["suspend"] is False
    # Quota has room for it, the cluster has not: Kueue keeps it suspended, with Railweave's reason, and no pod exists.
    submit("second", 12)
    told = cluster.until("it says why", lambda: (one := check("second"))["message"] and one)
    assert told["state"] == "Pending" and "GPUs" in told["message"], told
    assert job("second")["spec"]["suspend"] is True and not cluster.pods("second", "team")
    # Nor does one that can never run.
    submit("never", 17)
    cluster.until("it is deactivated", lambda: workload("never").get("spec", {}).get("active") is False)
    assert not cluster.pods("never", "team")
    for pod in cluster.pods("first", "team"):
        cluster.finish(pod)
    cluster.placed_job("second", 12, namespace="team")
    # A workload that its user stops gives everything back.
    name = workload("second")["metadata"]["name"]
    cluster.api.patch(f"{api}/{DEFAULT}/workloads/{name}", {"spec": {"active": False}})
    everything_free(cluster)
    cluster.api.patch(f"{api}/{DEFAULT}/workloads/{name}", {"spec": {"active": True}})
    cluster.placed_job("second", 12, namespace="team")
    cluster.api.delete(f"/apis/batch/v1/{DEFAULT}/jobs/second?propagationPolicy=Background")


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


PARTS = {"jobset": jobset, "lws": lws, "training-operator": training_operator, "kuberay": kuberay, "kueue": kueue}

if __name__ == "__main__":
    if why := missing(sys.argv[2]):
        print(f"skipped: {why}")
        sys.exit(77)
    sys.exit(main({name: with_manager(name, part) for name, part in PARTS.items()}, *sys.argv[1:]))
