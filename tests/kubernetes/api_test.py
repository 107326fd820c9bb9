#!/usr/bin/env python3
"""What needs no scheduler and no nodes that run: an API server and etcd, with railweave-kubernetes beside a real railweaved.

api_test.py BIN_FOLDER labels|admission|leader|hypernodes|compute_domains
"""
import json
import sys

from cluster import expand, gated, main, note
from kubernetes import ApiError

ENVIRONMENT = {"RAILWEAVE_JOB": "job", "RAILWEAVE_POD_INDEX": "pod-index", "RAILWEAVE_RANKS": "ranks", "RAILWEAVE_NODES": "hosts",
               "NCCL_IB_HCA": "nccl-ib-hca", "RAILWEAVE_OUTSIDE_CLASS": "outside-class", "RAILWEAVE_OUTSIDE_PARTITION": "outside-partition",
               **{name: name.lower().replace("_", "-") for name in (
                   "NCCL_IB_SL", "NCCL_IB_TC", "NCCL_IB_FIFO_TC", "NCCL_IB_PKEY", "UCX_IB_SL", "UCX_IB_TRAFFIC_CLASS", "UCX_IB_PKEY", "NVSHMEM_IB_SL",
                   "NVSHMEM_IB_TRAFFIC_CLASS", "MC_IB_SL", "MC_IB_TC", "MC_PKEY_INDEX", "ROCSHMEM_GDA_TRAFFIC_CLASS")}}
# Of libraries that have no value which leaves them as they are: given to pods that ask for a class.
ASKED = ("EP_OVERRIDE_RDMA_SL", "MORI_RDMA_SL", "MORI_RDMA_TC", "MORI_IO_SL", "MORI_IO_TC", "UCCL_IB_SL", "UCCL_IB_TC")
PINNED = "requiredDuringSchedulingIgnoredDuringExecution"


def pod(cluster, name, namespace="default", labels=None, annotations=None, gpus=8, gate=True, owner=None):
    made = cluster.template(gpus, annotations, labels, gate)
    made["metadata"].update(name=name, **({"ownerReferences": [owner]} if owner else {}))
    return cluster.api.create(f"/api/v1/namespaces/{namespace}/pods", made)


def pinned_to(found):
    terms = found["spec"]["affinity"]["nodeAffinity"][PINNED]["nodeSelectorTerms"]
    assert len(terms) == 1 and len(terms[0]["matchFields"]) == 1, terms
    field = terms[0]["matchFields"][0]
    assert field["key"] == "metadata.name" and field["operator"] == "In" and len(field["values"]) == 1, field
    return field["values"][0]


def told(cluster, group, names, gpus=8):
    """The pods, in this order, are pinned to the nodes of their ranks, all of one job."""
    def read():
        found = [cluster.api.get(f"/api/v1/namespaces/default/pods/{name}") for name in names]
        return not any(gated(one) for one in found) and found
    found = cluster.until(f"{group} is placed", read)
    job = cluster.job_of(f"default/{group}")
    ranks = sorted(cluster.ranks(job), key=lambda rank: rank["rank"])
    assert len(ranks) == len(names) * gpus, (group, len(ranks))
    for place, one in enumerate(found):
        own = ranks[place * gpus:(place + 1) * gpus]
        assert {rank["node"] for rank in own} == {pinned_to(one)} == {note(one, "node")}, (group, place, own)
        assert expand(note(one, "ranks")) == [rank["rank"] for rank in own] and note(one, "pod-index") == str(place)
        assert note(one, "job") == job
    return found


def define(cluster, group, version, kind, namespaced=True):
    """A kind of which only the objects are there, not its controller."""
    plural = kind.lower() + "s"
    cluster.api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
        "metadata": {"name": f"{plural}.{group}"}, "spec": {"group": group, "scope": "Namespaced" if namespaced else "Cluster", "names": {"kind": kind, "plural": plural}, "versions": [
            {"name": version, "served": True, "storage": True,
             "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}})
    path = f"/apis/{group}/{version}/{'namespaces/default/' if namespaced else ''}{plural}"
    cluster.until(f"{kind} is served", lambda: cluster.api.find(path))

    def make(name, spec):
        made = cluster.api.create(path, {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": {"name": name}, "spec": spec})
        return {"apiVersion": f"{group}/{version}", "kind": kind, "name": name, "uid": made["metadata"]["uid"], "controller": True}
    return make


def labels(cluster):
    """Pods as the controllers of each kind make them: sizes come from the owner, the order from labels, and nothing begins in part."""
    template = {"spec": {"containers": [{"name": "train", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}}
    plain = {"spec": {"containers": [{"name": "other"}]}}
    make = {"JobSet": define(cluster, "jobset.x-k8s.io", "v1alpha2", "JobSet"), "PyTorchJob": define(cluster, "kubeflow.org", "v1", "PyTorchJob"),
            "RayCluster": define(cluster, "ray.io", "v1", "RayCluster"), "PodGroup": define(cluster, "scheduling.x-k8s.io", "v1alpha1", "PodGroup"),
            "LeaderWorkerSet": define(cluster, "leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet")}
    cluster.controller.start()
    # JobSet: two kinds of replicas with GPUs and one without, which is not counted.
    owner = make["JobSet"]("llm", {"replicatedJobs": [
        {"name": "driver", "template": {"spec": {"template": plain}}},
        {"name": "workers", "replicas": 2, "template": {"spec": {"parallelism": 2, "completions": 2, "template": template}}},
        {"name": "evals", "replicas": 1, "template": {"spec": {"template": template}}}]})
    order = [("workers", job, index) for job in range(2) for index in range(2)] + [("evals", 0, 0)]
    def of_jobset(replica, job, index):
        pod(cluster, f"llm-{replica}-{job}-{index}", labels={
            "jobset.sigs.k8s.io/jobset-name": "llm", "jobset.sigs.k8s.io/jobset-uid": owner["uid"], "jobset.sigs.k8s.io/replicatedjob-name": replica,
            "jobset.sigs.k8s.io/job-index": str(job), "batch.kubernetes.io/job-completion-index": str(index),
            "batch.kubernetes.io/job-name": f"llm-{replica}-{job}"})
    for one in reversed(order[1:]):
        of_jobset(*one)
    cluster.until("four of five wait", lambda: "waits for 1 of its 5 pods" in cluster.reason(cluster.api.get("/api/v1/namespaces/default/pods/llm-evals-0-0")))
    assert cluster.free_gpus() == 128
    of_jobset(*order[0])
    told(cluster, "jobset/llm", [f"llm-{replica}-{job}-{index}" for replica, job, index in order])
    # LeaderWorkerSet: one group for each replica.
    for group in ("0", "1"):
        for worker in ("1", "0"):
            pod(cluster, f"serve-{group}-{worker}", annotations={"leaderworkerset.sigs.k8s.io/size": "2"}, labels={
                "leaderworkerset.sigs.k8s.io/name": "serve", "leaderworkerset.sigs.k8s.io/group-index": group,
                "leaderworkerset.sigs.k8s.io/worker-index": worker})
    for group in ("0", "1"):
        told(cluster, f"lws/serve.{group}", [f"serve-{group}-0", f"serve-{group}-1"])
    assert cluster.job_of("default/lws/serve.0") != cluster.job_of("default/lws/serve.1")
    # PyTorchJob: the master first.
    owner = make["PyTorchJob"]("tune", {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": template}, "Worker": {"replicas": 2, "template": template}}})
    for replica, index in (("worker", 1), ("worker", 0), ("master", 0)):
        pod(cluster, f"tune-{replica}-{index}", owner=owner, labels={"training.kubeflow.org/job-name": "tune", "training.kubeflow.org/replica-type": replica,
                                                                     "training.kubeflow.org/replica-index": str(index)})
    told(cluster, "pytorchjob/tune", ["tune-master-0", "tune-worker-0", "tune-worker-1"])
    # RayCluster: a head without GPUs, and workers that have no order of their own.
    owner = make["RayCluster"]("ray", {"headGroupSpec": {"template": plain}, "workerGroupSpecs": [{"replicas": 2, "template": template}]})
    for number in range(2):
        pod(cluster, f"ray-worker-{number}", owner=owner, labels={"ray.io/cluster": "ray", "ray.io/node-type": "worker"})
    cluster.until("both are placed", lambda: not any(gated(cluster.api.get(f"/api/v1/namespaces/default/pods/ray-worker-{n}")) for n in range(2)))
    told(cluster, "raycluster/ray", sorted((f"ray-worker-{n}" for n in range(2)), key=lambda name: int(note(
        cluster.api.get(f"/api/v1/namespaces/default/pods/{name}"), "pod-index"))))
    # A PodGroup of the coscheduling plugin.
    make["PodGroup"]("pair", {"minMember": 2})
    for number in range(2):
        pod(cluster, f"pair-{number}", gpus=4, labels={"scheduling.x-k8s.io/pod-group": "pair"}, annotations={"railweave.dev/pod-index": str(1 - number)})
    told(cluster, "podgroup/pair", ["pair-1", "pair-0"], gpus=4)
    one_by_one(cluster, make, template)
    # A guarantee that is refused: the pods say why, and what to do.
    pod(cluster, "fast", annotations={"railweave.dev/guarantee": "9000"})
    cluster.until("the reason", lambda: "tenant research has no contract, so no bandwidth can be guaranteed" in cluster.reason(cluster.api.get("/api/v1/namespaces/default/pods/fast")))
    # A pod of its own.
    pod(cluster, "alone", gpus=4)
    told(cluster, "pod/alone", ["alone"], gpus=4)


def one_by_one(cluster, make, template):
    """Pods that are made only when others of their group run could never be placed with them: that is said."""
    def waits(name, text):
        cluster.until(f"{name} says what to write", lambda: text in cluster.reason(cluster.api.get(f"/api/v1/namespaces/default/pods/{name}")))
    make["LeaderWorkerSet"]("late", {"replicas": 1, "startupPolicy": "LeaderReady"})
    pod(cluster, "late-0", annotations={"leaderworkerset.sigs.k8s.io/size": "2"}, labels={
        "leaderworkerset.sigs.k8s.io/name": "late", "leaderworkerset.sigs.k8s.io/group-index": "0", "leaderworkerset.sigs.k8s.io/worker-index": "0"})
    waits("late-0", "LeaderCreated")
    jobs = [{"name": name, "template": {"spec": {"template": template}}} for name in ("first", "second")]
    for name, text, spec in (("ordered", "startupPolicy InOrder", {"startupPolicy": {"startupPolicyOrder": "InOrder"}, "replicatedJobs": jobs}),
                             ("dependent", "dependsOn", {"replicatedJobs": [jobs[0], {**jobs[1], "dependsOn": [{"name": "first", "status": "Ready"}]}]})):
        owner = make["JobSet"](name, spec)
        pod(cluster, f"{name}-first-0-0", labels={
            "jobset.sigs.k8s.io/jobset-name": name, "jobset.sigs.k8s.io/jobset-uid": owner["uid"], "jobset.sigs.k8s.io/replicatedjob-name": "first",
            "jobset.sigs.k8s.io/job-index": "0", "batch.kubernetes.io/job-completion-index": "0"})
        waits(f"{name}-first-0-0", text)


def admission(cluster):
    """What is written wrongly is refused with what to write; pods of enrolled namespaces get the gate and their environment."""
    cluster.controller.start()
    refused = {
        "parallelism": ({"railweave.dev/parallelism": "tp=8 xx=2"}, 'has "xx", which is none of tp, pp, dp, cp and ep'),
        "number": ({"railweave.dev/parallelism": "tp=many"}, "no number from 1 on"),
        "level": ({"railweave.dev/level": "moon"}, "one of nvlinkDomain, node, rack"),
        "guarantee": ({"railweave.dev/guarantee": "fast"}, "write Gb/s of each port"),
        "duration": ({"railweave.dev/duration": "2 hours"}, "ISO 8601"),
        "size": ({"railweave.dev/group": "g"}, "say it in annotation railweave.dev/group-size"),
        "size-number": ({"railweave.dev/group": "g", "railweave.dev/group-size": "few"}, "no number from 1 on"),
        "product": ({"railweave.dev/group": "g", "railweave.dev/group-size": "3", "railweave.dev/parallelism": "tp=5"}, "3 pods of 8 GPUs are 24 ranks"),
        "shared": ({"railweave.dev/pods-per-node": "99"}, "how many pods of 8 GPUs share a node")}

    def refusal(name, annotations, **more):
        try:
            made = pod(cluster, name, annotations=annotations, **more)
        except ApiError as error:
            assert error.status == 403, error
            return error.message
        cluster.api.delete(f"/api/v1/namespaces/default/pods/{made['metadata']['name']}")
        return ""
    cluster.until("the webhooks answer", lambda: refusal("first", {"railweave.dev/level": "moon"}))
    for name, (annotations, text) in refused.items():
        message = refusal(name, annotations)
        assert text in message and f"railweave: pod default/{name}:" in message, (name, message)
    try:
        pod(cluster, "none", gpus=0)
        raise AssertionError("a gated pod without GPUs was taken")
    except ApiError as error:
        assert "no container asks for nvidia.com/gpu" in error.message, error
    # What is not gated is not looked at.
    pod(cluster, "free", annotations={"railweave.dev/level": "moon"}, gate=False)
    # An enrolled namespace.
    made = pod(cluster, "enrolled", namespace="team", gate=False)
    assert [one["name"] for one in made["spec"]["schedulingGates"]] == ["railweave.dev/placement"], made["spec"]
    env = {one["name"]: one["valueFrom"]["fieldRef"]["fieldPath"] for one in made["spec"]["containers"][0]["env"]}
    assert env == {name: f"metadata.annotations['railweave.dev/{value}']" for name, value in ENVIRONMENT.items()}, env
    # A variable that is read from no annotation is "", which UCX, for one, refuses: until it is placed a pod has the libraries' own defaults.
    assert note(made, "ucx-ib-sl") == note(made, "ucx-ib-pkey") == "auto" and note(made, "mc-ib-sl") == "-1", made["metadata"]
    asks = pod(cluster, "asks", namespace="team", gate=False, annotations={"railweave.dev/class": "all-reduce"})
    assert {one["name"] for one in asks["spec"]["containers"][0]["env"]} == {*ENVIRONMENT, *ASKED}, asks["spec"]["containers"][0]["env"]
    left = pod(cluster, "skipped", namespace="team", gate=False, annotations={"railweave.dev/skip": "true"})
    assert not gated(left) and "env" not in left["spec"]["containers"][0]
    without = pod(cluster, "without", namespace="team", gate=False, gpus=0)
    assert not gated(without)
    own = cluster.template(gate=False)
    own["metadata"]["name"] = "own"
    own["spec"]["containers"][0]["env"] = [{"name": "NCCL_IB_HCA", "value": "mlx5_9"}]
    own["spec"]["containers"].append({"name": "log", "image": "log"})
    own = cluster.api.create("/api/v1/namespaces/team/pods", own)
    env = {one["name"]: one for one in own["spec"]["containers"][0]["env"]}
    assert env["NCCL_IB_HCA"] == {"name": "NCCL_IB_HCA", "value": "mlx5_9"} and len(env) == len(ENVIRONMENT), "a user's own value stays"
    assert "env" not in own["spec"]["containers"][1]
    cluster.until("it is placed", lambda: not gated(cluster.api.get("/api/v1/namespaces/team/pods/enrolled")))
    # Without the controller, pods are made as they are written: Railweave stops no one else's work.
    cluster.controller.kill()
    assert not gated(pod(cluster, "later", namespace="team", gate=False))


def compute_domains(cluster):
    """A ComputeDomain for the nodes of a group, from whose template its pods claim a channel."""
    cluster.controller.start()
    job = {"railweave.dev/group": "Nvl_72", "railweave.dev/group-size": "2", "railweave.dev/compute-domain": "true"}
    cluster.until("the webhooks answer", lambda: cluster.api.get("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/railweave-webhook")[
        "webhooks"][0]["clientConfig"].get("caBundle"))
    made = [pod(cluster, f"rank-{n}", namespace="team", annotations={**job, "railweave.dev/pod-index": str(n)}, gate=False) for n in range(2)]
    templates = {one["resourceClaimTemplateName"] for two in made for one in two["spec"]["resourceClaims"]}
    assert len(templates) == 1 and all(one["spec"]["containers"][0]["resources"]["claims"] == [{"name": "railweave-compute-domain"}] for one in made)
    read = lambda: [cluster.api.get(f"/api/v1/namespaces/team/pods/rank-{n}") for n in range(2)]  # noqa: E731
    cluster.until("what is missing is said", lambda: all("install NVIDIA's DRA driver" in cluster.reason(one) for one in read()))
    assert all(gated(one) for one in read())
    define(cluster, "resource.nvidia.com", "v1beta1", "ComputeDomain")
    cluster.until("both begin", lambda: not any(gated(one) for one in read()), 90)
    domains = cluster.api.get("/apis/resource.nvidia.com/v1beta1/namespaces/team/computedomains")["items"]
    assert len(domains) == 1 and domains[0]["spec"] == {"numNodes": 2, "channel": {"resourceClaimTemplate": {"name": templates.pop()}}}, domains
    assert domains[0]["metadata"]["ownerReferences"][0]["name"] == "rank-0"
    plain = pod(cluster, "plain", namespace="team", gate=False)
    assert "resourceClaims" not in plain["spec"]


def hypernodes(cluster):
    """Volcano's groups of nodes follow the fabric and the cluster's nodes; those of its users stay."""
    make = define(cluster, "topology.volcano.sh", "v1alpha1", "HyperNode", namespaced=False)
    make("by-hand", {"tier": 1, "members": []})
    cluster.controller.start("--hypernodes")
    path = "/apis/topology.volcano.sh/v1alpha1/hypernodes"
    fabric = json.loads((cluster.folder / "fabric.json").read_text())
    adapters = [host["name"] for host in fabric["hosts"] for _ in host["adapters"]]
    first = len(fabric["switches"])
    group = {name: name for name in cluster.names}  # the oracle: nodes that share a leaf, joined until nothing changes
    leaves = {}
    for a, _, b, _, *_ in fabric["links"]:
        a, b = min(a, b), max(a, b)
        if a < first <= b:
            leaves.setdefault(a, set()).add(adapters[b - first])
    for _ in cluster.names:
        for nodes in leaves.values():
            lowest = min(group[node] for node in nodes)
            for node in nodes:
                group[node] = lowest

    def expected(present):
        return sorted(sorted(node for node in present if group[node] == one) for one in {group[node] for node in present})

    def written(tier):
        return [one for one in cluster.api.get(path)["items"] if one["metadata"]["name"] != "by-hand" and one["spec"]["tier"] == tier]

    def members(one, kind):
        assert all(member["type"] == kind for member in one["spec"]["members"])
        return sorted(member["selector"]["exactMatch"]["name"] for member in one["spec"]["members"])
    cluster.until("groups of nodes", lambda: sorted(members(one, "Node") for one in written(1)) == expected(cluster.names))
    if len(written(1)) > 1:
        cluster.until("one above them", lambda: [members(one, "HyperNode") for one in written(2)] == [sorted(one["metadata"]["name"] for one in written(1))])
    cluster.api.delete(f"/api/v1/nodes/{cluster.names[0]}")
    cluster.until("without the node that is gone", lambda: sorted(members(one, "Node") for one in written(1)) == expected(cluster.names[1:]))
    assert cluster.api.find(f"{path}/by-hand")["spec"] == {"tier": 1, "members": []}


def leader(cluster):
    """Two replicas: one acts, and the other goes on when it is killed."""
    first = cluster.controller
    first.start()
    second = cluster.second_controller()
    second.start()
    pod(cluster, "one")
    told(cluster, "pod/one", ["one"])
    lease = cluster.api.get("/apis/coordination.k8s.io/v1/namespaces/railweave/leases/railweave-kubernetes")["spec"]
    active, other = (first, second) if '"reached Railweave"' in first.log() else (second, first)
    assert '"reached Railweave"' not in other.log(), "both act"
    active.kill()
    pod(cluster, "two", annotations={"railweave.dev/group": "g", "railweave.dev/group-size": "1"})
    told(cluster, "group/g", ["two"])
    after = cluster.api.get("/apis/coordination.k8s.io/v1/namespaces/railweave/leases/railweave-kubernetes")["spec"]
    assert after["holderIdentity"] != lease["holderIdentity"] and after["leaseTransitions"] == lease["leaseTransitions"] + 1
    assert len(cluster.held()) == 2


if __name__ == "__main__":
    sys.exit(main({"labels": labels, "admission": admission, "leader": leader, "hypernodes": hypernodes, "compute_domains": compute_domains}, *sys.argv[1:], scheduling=False))
