#!/usr/bin/env python3
"""1,000 jobs at once on a real Kubernetes: all run, none twice, and what Railweave adds to each one's start is printed beside the scheduler alone.

burst_test.py BIN_FOLDER burst [JOBS]
"""
import re
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from cluster import main

JOBS = int(sys.argv.pop(3)) if len(sys.argv) > 3 else 1000


def percentiles(values):
    ordered = sorted(values)
    return [ordered[min(len(ordered) - 1, int(len(ordered) * part))] for part in (0.5, 0.99, 1)]


def wave(cluster, name, gate):
    """Makes a pod for each job and waits until all are bound; seconds from each one's creation to its binding as a watch saw them."""
    pods = [cluster.template(1, gate=gate) for _ in range(JOBS)]
    for number, pod in enumerate(pods):
        pod["metadata"]["name"] = f"{name}-{number:04}"
    made, bound = {}, {}
    began = time.monotonic()

    def create(pod):
        sent = time.monotonic()
        cluster.api.create("/api/v1/namespaces/default/pods", pod)
        made[pod["metadata"]["name"]] = sent
    with cluster.watch_bound(bound), ThreadPoolExecutor(8) as pool:
        list(pool.map(create, pods))
        cluster.until(f"all of {name} are bound", lambda: all(pod["metadata"]["name"] in bound for pod in pods), 300)
    return [bound[one] - sent for one, sent in made.items()], max(bound[one] for one in made) - began


def requests(cluster):
    """How many of each route railweaved has answered."""
    text = cluster.service.request("GET", "/metrics")[2]
    counts = Counter()
    for method_and_route, count in re.findall(r'^railweave_http_requests_total\{(.*)\} ([0-9.e+]+)$', text, re.MULTILINE):
        labels = dict(re.findall(r'(\w+)="([^"]*)"', method_and_route))
        counts[f"{labels['method']} {labels['route']}"] += int(float(count))
    return counts


def burst(cluster):
    alone, whole = wave(cluster, "alone", gate=False)
    print("scheduler alone: {0:.0f} / {1:.0f} / {2:.0f} ms p50/p99/most from creation to binding, {3:.1f} s in all".format(
        *(1000 * value for value in percentiles(alone)), whole))
    cluster.api.request("DELETE", "/api/v1/namespaces/default/pods")
    cluster.until("they are gone", lambda: not cluster.api.pods(), 120)
    cluster.controller.start("--adopt-others=false", "--lease=15s")  # as elsewhere: who leads is not lost to a busy API server
    cluster.until("both sides know each other's nodes", lambda: all("railweave.dev/rails" in node["metadata"]["labels"] for node in cluster.api.get(
        "/api/v1/nodes")["items"]) and all("gpu" in node["labels"] for node in cluster.service.request("GET", "/v1/nodes?limit=1000")[2]["items"]))
    before = requests(cluster)
    placed, whole = wave(cluster, "placed", gate=True)
    sent = requests(cluster) - before
    print("asked of Railweave: " + ", ".join(f"{count} {route}" for route, count in sent.most_common(6)))
    print("with Railweave: {0:.0f} / {1:.0f} / {2:.0f} ms p50/p99/most from creation to binding, {3:.1f} s in all".format(
        *(1000 * value for value in percentiles(placed)), whole))
    added = [with_it - without for with_it, without in zip(percentiles(placed), percentiles(alone))]
    print("added: {0:.0f} / {1:.0f} / {2:.0f} ms".format(*(1000 * value for value in added)))
    assert JOBS < 100 or sent["POST /v1/jobs"] + sent["POST /v1/jobs/batch"] < JOBS / 2, "a burst is submitted in batches"
    held = cluster.held()
    assert len(held) == JOBS, len(held)
    nodes = {}
    for item in cluster.service.request("GET", "/v1/nodes?limit=1000")[2]["items"]:
        nodes[item["id"]] = item["gpus"] - item["freeGpus"]
    assert cluster.no_overlap() == {node: used for node, used in nodes.items() if used}, "nodes hold other numbers of pods than Railweave says"
    cluster.api.request("DELETE", "/api/v1/namespaces/default/pods")
    cluster.until("everything is free", lambda: cluster.free_gpus() == 8 * len(cluster.names), 120)


if __name__ == "__main__":
    sys.exit(main({"burst": burst}, *sys.argv[1:], nodes=-(-JOBS // 8)))
