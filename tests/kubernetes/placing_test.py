#!/usr/bin/env python3
"""Groups of pods on a real Kubernetes are placed exactly where Railweave says, or wait with a reason.

placing_test.py BIN_FOLDER placing|kinds|preferred
"""
import sys

from cluster import gated, main, note


def placing(cluster):
    cluster.controller.start()
    # Several groups of two tenants at a time, each on the nodes of its ranks, in order.
    jobs = {"llama": (4, {"railweave.dev/parallelism": "tp=8 pp=2"}), "small": (2, {"railweave.dev/tenant": "physics"}), "wide": (5, {})}
    for name, (pods, annotations) in jobs.items():
        cluster.job(name, pods, annotations=annotations)
    nodes = [node for name, (pods, _) in jobs.items() for node in cluster.placed_job(name, pods)]
    assert len(set(nodes)) == len(nodes) == 11, nodes
    assert cluster.service.request("GET", f"/v1/jobs/{cluster.job_of('default/job/small')}")[2]["tenant"] == "physics"
    assert cluster.free_gpus() == 5 * 8
    # What does not fit waits with its reason and holds nothing, and begins when there is room.
    cluster.job("large", 8, annotations={"railweave.dev/parallelism": "tp=8 pp=8"})
    def told():
        pods = cluster.pods("large")
        return len(pods) == 8 and all("GPUs" in cluster.reason(pod) for pod in pods) and pods
    pods = cluster.until("a reason on every pod", told)
    assert all(gated(pod) and "nodeName" not in pod["spec"] for pod in pods)
    cluster.until("an event says why", lambda: any("GPUs" in text for pod in pods for text in cluster.events(pod)))
    assert cluster.free_gpus() == 5 * 8, "who waits holds nothing"
    for pod in cluster.pods("wide"):
        cluster.finish(pod)
    cluster.placed_job("large", 8)
    cluster.until("the finished job's GPUs are free", lambda: cluster.job_of("default/job/wide") is None)
    # A pod that fails comes back in its place, and no other pod of the group is touched.
    before = cluster.pods("llama")
    cluster.finish(before[2], "Failed")
    cluster.until("a new pod", lambda: len(found := cluster.pods("llama")) == 4 and found[2]["metadata"]["uid"] != before[2]["metadata"]["uid"])
    again = cluster.placed_job("llama", 4)
    assert again == [pod["spec"]["nodeName"] for pod in before]
    assert [pod["metadata"]["uid"] for i, pod in enumerate(cluster.pods("llama")) if i != 2] == [
        pod["metadata"]["uid"] for i, pod in enumerate(before) if i != 2]
    # What makes no sense is said.
    cluster.job("nonsense", 2, annotations={"railweave.dev/parallelism": "tp=3"})
    cluster.until("a reason", lambda: (pods := cluster.pods("nonsense")) and "2 pods of 8 GPUs are 16 ranks" in cluster.reason(pods[0]))
    cluster.job("stranger", 1, annotations={"railweave.dev/tenant": "unknown-tenant"})
    cluster.until("a reason", lambda: (pods := cluster.pods("stranger")) and "PUT /v1/tenants" in cluster.reason(pods[0]))
    for name in ("llama", "small", "large", "nonsense", "stranger"):
        cluster.end_job(name)
    cluster.until("everything is free", lambda: cluster.free_gpus() == 128)


def preferred(cluster):
    """Preferred node affinity and advisory taints lead pods, and keep none of them from a place."""
    cluster.controller.start()
    nodes = sorted(node["metadata"]["name"] for node in cluster.api.get("/api/v1/nodes")["items"])
    liked, warned = nodes[5], nodes[:4]
    cluster.api.patch(f"/api/v1/nodes/{liked}", {"metadata": {"labels": {"tier": "gold"}}})
    for name in warned:
        cluster.api.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": [{"key": "old", "effect": "PreferNoSchedule"}]}})

    def job(name, pods, tolerations=()):
        made = {"metadata": {"name": name}, "spec": {"completions": pods, "parallelism": pods, "completionMode": "Indexed",
                                                    "template": cluster.template(8)}}
        made["spec"]["template"]["spec"].update(tolerations=list(tolerations), affinity={"nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 30, "preference": {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["gold"]}]}}]}})
        cluster.api.create("/apis/batch/v1/namespaces/default/jobs", made)
        return cluster.placed_job(name, pods)

    assert job("one", 1) == [liked]
    stored = cluster.service.request("GET", f"/v1/jobs/{cluster.job_of('default/job/one')}")[2]["spec"]["preferNodes"]
    assert stored == [{"nodes": [liked], "weight": 30}, {"nodes": warned, "weight": 50, "avoid": True}], stored
    # The others are taken before those that are to be avoided, and these where there are no others.
    second = job("second", 1)
    assert not {liked, *warned} & set(second), second
    many = job("many", len(nodes) - 2)
    assert set(warned) < set(many), many
    pod = cluster.pods("many")[0]
    assert "PreferNoSchedule" not in cluster.reason(pod), cluster.reason(pod)
    for name in ("one", "second", "many"):
        cluster.end_job(name)
    cluster.until("everything is free", lambda: cluster.free_gpus() == 8 * len(nodes))


def begin_kinds(cluster):
    cluster.controller.start()
    kinds(cluster)


def kinds(cluster):
    """Groups by annotation, of LeaderWorkerSet's labels, several pods on a node, and pods that the scheduler placed by itself."""
    api = cluster.api
    owner = api.create("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "owner"}})
    reference = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}]

    def pod(name, gpus=8, annotations=None, labels=None, gate=True):
        made = cluster.template(gpus, annotations, labels, gate)
        made["metadata"].update(name=name, ownerReferences=reference)
        return api.create("/api/v1/namespaces/default/pods", made)

    def read(*names):
        return lambda: [api.get(f"/api/v1/namespaces/default/pods/{name}") for name in names]

    # By annotation: nothing begins until all are there.
    own = {"railweave.dev/group": "crew", "railweave.dev/group-size": "3"}
    pod("crew-a", annotations={**own, "railweave.dev/pod-index": "2"})
    pod("crew-b", annotations={**own, "railweave.dev/pod-index": "0"})
    cluster.until("a reason", lambda: "waits for 1 of its 3 pods" in cluster.reason(read("crew-a")()[0]))
    assert cluster.free_gpus() == 128
    pod("crew-c", annotations={**own, "railweave.dev/pod-index": "1"})
    cluster.placed("default/group/crew", read("crew-b", "crew-c", "crew-a"), 3)
    # LeaderWorkerSet: the leader first.
    for worker in ("2", "1", "0"):
        pod(f"lws-{worker}", annotations={"leaderworkerset.sigs.k8s.io/size": "3"}, labels={
            "leaderworkerset.sigs.k8s.io/name": "serve", "leaderworkerset.sigs.k8s.io/group-index": "4",
            "leaderworkerset.sigs.k8s.io/worker-index": worker})
    cluster.placed("default/lws/serve.4", read("lws-0", "lws-1", "lws-2"), 3)
    # Pods of 2 GPUs share nodes, four to each.
    cluster.job("tiny", 8, gpus=2)
    nodes = cluster.placed_job("tiny", 8, gpus=2)
    assert len(set(nodes)) == 2, nodes
    # What the scheduler placed itself is known to Railweave, which therefore places no one there.
    loose = pod("loose", gate=False)
    bound = cluster.until("bound", lambda: read("loose")()[0]["spec"].get("nodeName"))
    job = cluster.until("adopted", lambda: cluster.job_of("default/pod/loose"))
    assert {rank["node"] for rank in cluster.ranks(job)} == {bound}
    assert note(loose, "job") == ""
    free = cluster.free_gpus()
    assert free == 128 - 3 * 8 - 3 * 8 - 16 - 8, free
    api.delete("/api/v1/namespaces/default/pods/loose")
    cluster.until("free again", lambda: cluster.free_gpus() == free + 8)
    cluster.no_overlap()


if __name__ == "__main__":
    sys.exit(main({"placing": placing, "kinds": begin_kinds, "preferred": preferred}, *sys.argv[1:]))
