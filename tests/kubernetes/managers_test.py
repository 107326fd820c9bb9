#!/usr/bin/env python3
"""Groups of other kinds, their pods made by their own released controllers (tests/kubernetes/managers), on a real Kubernetes: they are
gated, placed as wholes in the order of their ranks, and made again where one is lost.

managers_test.py BIN_FOLDER jobset|lws|mpi|ray|training|kueue
"""
import sys

from cluster import gated, main, note
from kubernetes_manager import Manager, missing
from move_test import over, railweave, scattered

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
    everything_free(cluster)
    # One moves: its Jobs fail as their pods are ended, JobSet makes them again, and their place is held meanwhile.
    railweave(cluster, "queue", "configure", "--min-runtime", "PT0S")

    def make(_):
        worker = job(1)
        worker["spec"]["template"] = template(cluster, 3, checkpointable="true", pods_per_node="1")
        manager.create(path, {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "mover"}, "spec": {
            "failurePolicy": {"maxRestarts": 3}, "replicatedJobs": [{"name": "workers", "replicas": 2, "template": worker}]}})
    moving = lambda: ordered(cluster, f"{label}jobset-name=mover", lambda labels: int(labels[f"{label}job-index"]))  # noqa: E731
    mover, nodes = scattered(cluster, make, "team/jobset/mover", moving)
    railweave(cluster, "queue", "defrag", "--for", "head", "--carry-out")
    over(cluster, mover)
    after = cluster.placed("team/jobset/mover", moving, 2, 3)
    assert cluster.job_of("team/jobset/mover") == mover and not set(after) & set(nodes), (nodes, after)
    assert sorted(cluster.placed_job("waits", 2)) == sorted(nodes)
    cluster.api.delete(f"{path}/mover")
    for name in ("full", "first", "waits"):
        cluster.end_job(name)


def lws(cluster, manager):
    path = f"/apis/leaderworkerset.x-k8s.io/v1/{DEFAULT}/leaderworkersets"
    label = "leaderworkerset.sigs.k8s.io/"
    manager.create(path, {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": "serve"}, "spec": {
        "replicas": 2, "leaderWorkerTemplate": {"size": 3, "workerTemplate": always(template(cluster))}}})

    def pods(group):
        return ordered(cluster, f"{label}name=serve,{label}group-index={group}", lambda labels: int(labels[f"{label}worker-index"]))
    for group in range(2):
        cluster.placed(f"team/lws/serve.{group}", lambda group=group: pods(group), 3)
        begun_gated(cluster, pods(group))
    # Workers that come only when their leader runs could never be placed with it.
    manager.create(path, {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": "late"}, "spec": {
        "replicas": 1, "startupPolicy": "LeaderReady", "leaderWorkerTemplate": {"size": 2, "workerTemplate": always(template(cluster))}}})
    cluster.until("what to write instead", lambda: (found := cluster.api.pods(f"{label}name=late", "team")) and "LeaderCreated" in cluster.reason(found[0]))
    for name in ("serve", "late"):
        cluster.api.delete(f"{path}/{name}")


def always(made):
    made["spec"]["restartPolicy"] = "Always"
    return made


def mpi(cluster, manager):
    path = f"/apis/kubeflow.org/v2beta1/{DEFAULT}/mpijobs"
    label = "training.kubeflow.org/"
    for name, works in (("train", False), ("works", True)):
        worker, launcher = template(cluster), template(cluster, 8 if works else 0)
        manager.create(path, {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": {"name": name}, "spec": {
            "slotsPerWorker": 8, "runLauncherAsWorker": works, "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "restartPolicy": "Never", "template": launcher}, "Worker": {"replicas": 2, "restartPolicy": "Never", "template": worker}}}})

        def pods(name=name):
            return ordered(cluster, f"{label}job-name={name}", lambda labels: (labels[f"{label}job-role"] != "launcher", int(labels.get(f"{label}replica-index", 0))))
        cluster.placed(f"team/mpijob/{name}", pods, 3 if works else 2)
        begun_gated(cluster, pods())
    for name in ("train", "works"):
        cluster.api.delete(f"{path}/{name}")


def ray(cluster, manager):
    path = f"/apis/ray.io/v1/{DEFAULT}/rayclusters"
    head, worker = template(cluster, 0), template(cluster)
    for made in (head, worker):
        made["spec"].pop("restartPolicy")
    spec = {"headGroupSpec": {"rayStartParams": {}, "template": head}, "workerGroupSpecs": [
        {"groupName": "gpus", "replicas": 2, "minReplicas": 0, "maxReplicas": 8, "rayStartParams": {}, "template": worker}]}
    manager.create(path, {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "ray"}, "spec": spec})

    def pods():
        found = [pod for pod in cluster.api.pods("ray.io/cluster=ray,ray.io/node-type=worker", "team") if "deletionTimestamp" not in pod["metadata"]]
        return sorted(found, key=lambda pod: int(note(pod, "pod-index") or 0))
    cluster.placed("team/raycluster/ray", pods, 2)
    before = {pod["metadata"]["uid"] for pod in pods()}
    # It grows: the new one is placed beside the others, which stay.
    spec["workerGroupSpecs"][0]["replicas"] = 3
    cluster.api.patch(f"{path}/ray", {"spec": spec})
    cluster.until("three run", lambda: len(found := pods()) == 3 and all(pod["status"].get("phase") == "Running" for pod in found))
    assert before <= {pod["metadata"]["uid"] for pod in pods()}
    cluster.api.delete(f"{path}/ray")


def training(cluster, manager):
    label = "training.kubeflow.org/"

    def make(kind, name, field, **replicas):
        path = f"/apis/kubeflow.org/v1/{DEFAULT}/{kind.lower()}s"
        container = {"PyTorchJob": "pytorch", "TFJob": "tensorflow"}[kind]
        specs = {}
        for role, count in replicas.items():
            made = template(cluster)
            made["spec"]["containers"][0]["name"] = container
            specs[role] = {"replicas": count, "restartPolicy": "OnFailure", "template": made}
        manager.create(path, {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": name}, "spec": {field: specs}})
        return f"{path}/{name}"

    def pods():
        return ordered(cluster, f"{label}job-name=tune", lambda labels: (labels[f"{label}replica-type"] != "master", int(labels[f"{label}replica-index"])))
    made = [make("PyTorchJob", "tune", "pytorchReplicaSpecs", Master=1, Worker=2)]
    cluster.placed("team/pytorchjob/tune", pods, 3)
    begun_gated(cluster, pods())
    # Kubeflow's other kinds are not known here: they begin without Railweave, which says so.
    made.append(make("TFJob", "flow", "tfReplicaSpecs", Worker=2))
    left = lambda: cluster.api.pods(f"{label}job-name=flow", "team")  # noqa: E731
    cluster.until("both run", lambda: len(found := left()) == 2 and all(pod["status"].get("phase") == "Running" for pod in found))
    assert all("a TFJob" in cluster.reason(pod) and "a TFJob" in note(pod, "left") for pod in left())
    for path in made:
        cluster.api.delete(path)


def kueue(cluster, manager):
    """Kueue admits what Railweave can place, and Railweave chooses nodes and ranks of what Kueue has admitted."""
    api, version = "/apis/kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta2"
    gpu = "nvidia.com/gpu"
    for kind, name, spec in (("ResourceFlavor", "plain", {}), ("AdmissionCheck", "railweave", {"controllerName": "railweave.dev/placement"}),
                             ("ClusterQueue", "all", {
                                 "namespaceSelector": {}, "admissionChecksStrategy": {"admissionChecks": [{"name": "railweave"}]}, "resourceGroups": [
                                     {"coveredResources": [gpu], "flavors": [{"name": "plain", "resources": [{"name": gpu, "nominalQuota": 256}]}]}]})):
        manager.create(f"{api}/{kind.lower()}s", {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}, 120)
    manager.create(f"{api}/{DEFAULT}/localqueues", {"apiVersion": version, "kind": "LocalQueue", "metadata": {"name": "q"}, "spec": {"clusterQueue": "all"}})
    cluster.controller.start("--kueue")

    def submit(name, pods):
        manager.create(f"/apis/batch/v1/{DEFAULT}/jobs", {"metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "q"}}, "spec": {
            "completions": pods, "parallelism": pods, "completionMode": "Indexed", "template": template(cluster)}})
    submit("first", 10)
    cluster.placed_job("first", 10, namespace="team")
    begun_gated(cluster, cluster.pods("first", "team"))
    # Within Kueue's quota, but not what the cluster has room for now: it is not admitted, and says why.
    submit("second", 12)

    def check():
        found = [one for one in cluster.api.get(f"{api}/{DEFAULT}/workloads")["items"] if one["metadata"]["name"].startswith("job-second-")]
        return found and found[0].get("status", {}).get("admissionChecks", [{}])[0]
    cluster.until("the check says why", lambda: (one := check()) and one["state"] == "Pending" and "GPUs" in one["message"])
    assert not cluster.pods("second", "team") and cluster.api.get(f"/apis/batch/v1/{DEFAULT}/jobs/second")["spec"]["suspend"]
    for pod in cluster.pods("first", "team"):
        cluster.finish(pod)
    cluster.placed_job("second", 12, namespace="team")
    for name in ("first", "second"):
        cluster.end_job(name, "team")


def with_manager(name, part):
    def run(cluster):
        if name != "kueue":  # whose kinds are looked for at the start
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


PARTS = {"jobset": jobset, "lws": lws, "mpi": mpi, "ray": ray, "training": training, "kueue": kueue}

if __name__ == "__main__":
    if why := missing(sys.argv[2]):
        print(f"skipped: {why}")
        sys.exit(77)
    sys.exit(main({name: with_manager(name, part) for name, part in PARTS.items()}, *sys.argv[1:]))
