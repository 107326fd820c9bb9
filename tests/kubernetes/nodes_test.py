#!/usr/bin/env python3
"""Nodes of a real Kubernetes and of Railweave are kept in step: lost ones, drains and cordons in both directions, and labels.

nodes_test.py BIN_FOLDER lost|drains|node_labels
"""
import json
import sys

from cluster import main, until


def node(cluster, name):
    return cluster.api.get(f"/api/v1/nodes/{name}")


def cordoned(cluster, name):
    return node(cluster, name)["spec"].get("unschedulable", False)


def drains(cluster):
    """Node -> the reason of its drain."""
    return {drain["id"]: drain["reason"] for drain in cluster.service.request("GET", "/v1/drains?kind=node&limit=1000")[2]["items"]}


def cordon(cluster, name, on=True):
    cluster.api.patch(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": on or None}})


def lost(cluster):
    """A node is lost: its ranks move to a spare one, or the group is placed again as a whole; no pod is lost for good."""
    cluster.controller.start()
    cluster.job("spared", 4)
    before = cluster.placed_job("spared", 4)
    uids = [pod["metadata"]["uid"] for pod in cluster.pods("spared")]
    gone = before[2]
    cluster.kubernetes.lose_node(gone)
    def moved():
        pods = cluster.pods("spared")
        return len(pods) == 4 and pods[2]["metadata"]["uid"] != uids[2] and pods[2]["spec"].get("nodeName")
    cluster.until("a pod in the place of the lost one", moved)
    after = cluster.placed_job("spared", 4)
    assert gone not in after and [a for i, a in enumerate(after) if i != 2] == [b for i, b in enumerate(before) if i != 2], (before, after)
    assert [pod["metadata"]["uid"] for i, pod in enumerate(cluster.pods("spared")) if i != 2] == [uid for i, uid in enumerate(uids) if i != 2]
    cluster.until("it is drained", lambda: drains(cluster).get(gone, "").startswith("kubernetes: "))
    assert "Kubelet stopped" in drains(cluster)[gone], drains(cluster)
    # No spare node is left: the rest waits for one as a whole, and holds nothing.
    cluster.job("full", 11)
    cluster.placed_job("full", 11)
    assert cluster.free_gpus() == 8, "those of the lost node"
    victim = cluster.pods("full")[3]["spec"]["nodeName"]
    cluster.api.delete(f"/api/v1/nodes/{victim}")
    pods = cluster.until("the whole group waits", lambda: len(pods := cluster.pods("full")) == 11 and all(
        "GPUs" in cluster.reason(pod) and "nodeName" not in pod["spec"] for pod in pods) and pods, 120)
    assert pods
    cluster.until("it holds nothing", lambda: cluster.free_gpus() in (11 * 8, 12 * 8))  # the lost nodes' among them
    # The node comes back.
    cluster.kubernetes.add_node(victim)
    cluster.placed_job("full", 11)
    cluster.until("it is in use again", lambda: victim not in drains(cluster))
    cluster.no_overlap()


def carried(cluster):
    """Drains and cordons are carried over in both directions, and undone by who made them, once that has held for a while."""
    cluster.controller.start()
    one, two, three = cluster.names[:3]
    cluster.until("both sides are compared", lambda: "nvidia.com/gpu.product" in str(node(cluster, one)["metadata"]["labels"]))
    # Cordoned by a person: no group is placed there.
    cordon(cluster, one)
    cluster.until("it is drained", lambda: drains(cluster).get(one) == "kubernetes: cordoned")
    # Drained in Railweave: nothing else of Kubernetes is scheduled there either.
    assert cluster.service.request("POST", f"/v1/nodes/{two}/drain", {"reason": "replace the fan"})[0] in (200, 202)
    cluster.until("it is cordoned", lambda: cordoned(cluster, two))
    assert node(cluster, two)["metadata"]["annotations"]["railweave.dev/cordoned"] == "replace the fan"
    cluster.job("all", 14)
    nodes = cluster.placed_job("all", 14)
    assert not {one, two} & set(nodes), nodes
    # Both by hand: neither undoes the other's.
    cordon(cluster, three)
    assert cluster.service.request("POST", f"/v1/nodes/{three}/drain", {"reason": "by hand"})[0] in (200, 202)
    cluster.until("drained by hand", lambda: drains(cluster).get(three) == "by hand" or drains(cluster).get(three) == "kubernetes: cordoned")
    # Back in use, first for less than the calm time.
    cordon(cluster, one, False)
    cluster.until("the uncordon is seen", lambda: not cordoned(cluster, one))
    assert one in drains(cluster), "at once, without waiting for it to hold"
    cordon(cluster, one)
    cluster.job("more", 1)
    pod = cluster.until("it waits", lambda: (pods := cluster.pods("more")) and cluster.reason(pods[0]) and pods[0])
    assert "nodeName" not in pod["spec"] and drains(cluster)[one] == "kubernetes: cordoned"
    cordon(cluster, one, False)
    assert cluster.placed_job("more", 1) == [one]
    assert one not in drains(cluster)
    assert cluster.service.request("POST", f"/v1/nodes/{two}/undrain", {})[0] == 204
    cluster.until("the cordon is undone", lambda: not cordoned(cluster, two))
    assert "railweave.dev/cordoned" not in node(cluster, two)["metadata"].get("annotations", {})
    assert cordoned(cluster, three), "a person's cordon was undone"


def labels(cluster):
    """Topology labels are written from the accepted fabric; those of others are told to Railweave and never touched."""
    cluster.controller.start()
    fabric = json.loads((cluster.folder / "fabric.json").read_text())
    adapters = [host["name"] for host in fabric["hosts"] for _ in host["adapters"]]
    first = len(fabric["switches"])
    leaves = {}  # the oracle: which switches a host's cables go to
    for link in fabric["links"]:
        a, b = link[0], link[2]
        if b < first <= a:
            a, b = b, a
        if a < first <= b:
            leaves.setdefault(adapters[b - first], set()).add(a)
    tier = "fabric.topograph.run/tier-0"
    def labelled():
        found = {name: node(cluster, name)["metadata"]["labels"] for name in cluster.names}
        return all(tier in own and "railweave.dev/rails" in own for own in found.values()) and found
    found = cluster.until("all nodes are labelled", labelled)
    for one in cluster.names:
        for other in cluster.names:
            joined = set(leaves[one]) & set(leaves[other])
            assert (found[one][tier] == found[other][tier]) == bool(joined), (one, other, found[one][tier], found[other][tier])
    assert {own["railweave.dev/rails"] for own in found.values()} == {"0-7"}, found
    # Another program's labels are known to Railweave, new ones and old ones; its own are not among them.
    name = cluster.names[0]
    cluster.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {
        "nvidia.com/gpu.clique": "cluster-7.3", "network.topology.nvidia.com/leaf": "leaf-9", "accelerator.topograph.run/domain": "theirs"}}})
    def told():
        own = cluster.service.request("GET", f"/v1/nodes/{name}")[2]["labels"]
        return own.get("nvidia.com/gpu.clique") == "cluster-7.3" and own
    own = cluster.until("Railweave knows them", told)
    assert own["network.topology.nvidia.com/leaf"] == "leaf-9" and own["accelerator.topograph.run/domain"] == "theirs", own
    assert own["gpu"] == "NVIDIA-H100-80GB-HBM3" and not any(label.startswith("fabric.topograph.run") for label in own), own
    assert node(cluster, name)["metadata"]["labels"]["accelerator.topograph.run/domain"] == "theirs"
    cluster.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {"nvidia.com/gpu.clique": None}}})
    cluster.until("what is gone is gone there, too", lambda: "nvidia.com/gpu.clique" not in cluster.service.request("GET", f"/v1/nodes/{name}")[2]["labels"])
    # A label of another program in our name stays as it is; one of ours that was changed is written again.
    cluster.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {tier: "changed"}}})
    cluster.until("it is written again", lambda: node(cluster, name)["metadata"]["labels"][tier] == found[name][tier])
    # The fabric changes, and the labels with it.
    fabric["nvlinkDomains"] = [{**fabric["nvlinkDomains"][0], "name": one} for one in ("nvl-1", "nvl-2")]
    for host in fabric["hosts"]:
        for gpu in host["gpus"]:
            gpu["domain"] = "nvl-1" if host["name"] in cluster.names[:4] else "nvl-2"
    status, _, answer = cluster.service.request("PUT", "/v1/fabric/topology", json.dumps(fabric))
    assert status == 200, answer
    domain = "accelerator.topograph.run/domain"
    cluster.until("domains are labelled", lambda: {one: node(cluster, one)["metadata"]["labels"].get(domain) for one in cluster.names[1:]} == {
        one: "nvl-1" if one in cluster.names[:4] else "nvl-2" for one in cluster.names[1:]})
    assert node(cluster, name)["metadata"]["labels"][domain] == "theirs"


__all__ = ["until"]

if __name__ == "__main__":
    sys.exit(main({"lost": lost, "drains": carried, "node_labels": labels}, *sys.argv[1:]))
