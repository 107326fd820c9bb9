#!/usr/bin/env python3
"""A gang that runs moves to other GPUs so that another one starts, on a real Kubernetes: its pods say that they are checkpointable, Railweave offers,
the controller accepts, and the same job begins where its place was held.

move_test.py BIN_FOLDER move
"""
import datetime
import os
import subprocess
import sys
import time

from cluster import gated, main, note

CHECKPOINTABLE = {"railweave.dev/checkpointable": "true", "railweave.dev/pods-per-node": "1"}


def railweave(cluster, *arguments, code=0):
    environment = dict(os.environ, RAILWEAVE_URL=f"http://127.0.0.1:{cluster.service.port}", NO_COLOR="1")
    done = subprocess.run([cluster.bin / "railweave", *arguments], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def shown(cluster, job):
    return cluster.service.request("GET", f"/v1/jobs/{job}")[2]


def uids(pods):
    return [pod["metadata"]["uid"] for pod in pods]


def texts(cluster, pods):
    return [text for pod in pods for text in cluster.events(pod)]


def moves(cluster):
    return cluster.service.request("GET", "/v1/queue/moves")[2]["moves"]


def stateful(cluster):
    """Pods of a StatefulSet that are one group: they come back by themselves when they are deleted, and nothing is suspended."""
    template = cluster.template(3, {**CHECKPOINTABLE, "railweave.dev/group": "mover", "railweave.dev/group-size": "2"}, {"app": "mover"})
    template["spec"]["restartPolicy"] = "Always"
    cluster.api.create("/apis/apps/v1/namespaces/default/statefulsets", {"metadata": {"name": "mover"}, "spec": {
        "replicas": 2, "serviceName": "mover", "podManagementPolicy": "Parallel", "selector": {"matchLabels": {"app": "mover"}}, "template": template}})


def of_set(cluster):
    pods = [pod for pod in cluster.api.pods("app=mover") if "deletionTimestamp" not in pod["metadata"]]
    return sorted(pods, key=lambda pod: note(pod, "pod-index"))


def scattered(cluster, make=lambda cluster: cluster.job("mover", 2, gpus=3, annotations=CHECKPOINTABLE), group="default/job/mover", read=None):
    """Jobs of five GPUs on two nodes, and one of three on each of the two others that keeps a job of two whole nodes from starting."""
    full = len(cluster.names) - 4
    cluster.job("full", full)
    cluster.placed_job("full", full)
    for name, pods, gpus in (("first", 2, 5), ("beside", 2, 3)):
        cluster.job(name, pods, gpus=gpus, annotations={"railweave.dev/pods-per-node": "1"})
        cluster.placed_job(name, pods, gpus)
    make(cluster)
    nodes = cluster.placed(group, read or (lambda: cluster.pods("mover")), 2, 3)
    mover = cluster.job_of(group)
    cluster.until("it is said to run", lambda: shown(cluster, mover)["phase"] == "running")
    cluster.end_job("beside")
    cluster.until("beside is gone", lambda: not cluster.job_of("default/job/beside"))
    cluster.job("waits", 2)
    cluster.until("it waits", lambda: (pods := cluster.pods("waits")) and len(pods) == 2 and all("GPUs" in cluster.reason(pod) for pod in pods))
    return mover, nodes


def end(cluster, *names):
    for name in names:
        cluster.end_job(name)
    cluster.until("everything is free", lambda: cluster.free_gpus() == 8 * len(cluster.names))


def over(cluster, mover):
    cluster.until("it has moved", lambda: (job := shown(cluster, mover))["launcher"]["move"] is None and job["phase"] == "running")


def moved(cluster, mover, before, pods):
    """The same job runs on other nodes, by other pods, and what waited has its nodes."""
    over(cluster, mover)
    nodes = cluster.placed_job("mover", 2, 3)
    assert cluster.job_of("default/job/mover") == mover, "it was submitted again"
    assert not set(nodes) & set(before), (before, nodes)
    assert not set(uids(cluster.pods("mover"))) & set(uids(pods))
    assert sorted(cluster.placed_job("waits", 2)) == sorted(before)
    cluster.until("both run", lambda: all(shown(cluster, cluster.job_of(f"default/job/{name}"))["phase"] == "running" for name in ("mover", "waits")))
    kinds = [event["type"] for event in cluster.service.request("GET", "/v1/events?limit=1000")[2]["items"] if event["subject"]["id"] == mover]
    order = ["job.moveOffered", "job.moveAccepted", "job.releasing", "job.freed", "job.evicted", "job.placed", "job.accepted", "job.running"]
    assert kinds[-len(order):] == order, kinds
    owner = cluster.api.get("/apis/batch/v1/namespaces/default/jobs/mover")
    assert not owner["status"].get("failed") and not owner["spec"].get("suspend"), owner["status"]
    assert "railweave.dev/suspended" not in owner["metadata"].get("annotations", {})
    cluster.until("an event says it", lambda: any("moves to other GPUs" in text for text in texts(cluster, pods)))
    cluster.no_overlap()


def saves(cluster, mover, pods):
    """What pods say that they have saved counts: without it more would be lost than the queue's policy lets moves lose."""
    def say(pod, text):
        cluster.api.patch(f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}", {"metadata": {"annotations": {"railweave.dev/checkpointed": text}}})
    railweave(cluster, "queue", "configure", "--move-budget", "60")  # six GPUs for ten seconds
    time.sleep(11)
    assert "moves.none" in str(cluster.service.request("POST", "/v1/queue/moves", {"for": "head"})[2]) and not moves(cluster)
    say(pods[0], "noon")
    cluster.until("what to write is said", lambda: any("write a time like" in text for text in texts(cluster, pods)))
    say(pods[1], "2020-01-01T00:00:00Z")
    cluster.until("why it does not count is said", lambda: any("does not count" in text for text in texts(cluster, pods)))
    assert shown(cluster, mover)["checkpointedAt"] is None
    now = datetime.datetime.now(datetime.timezone.utc)
    say(pods[0], now.isoformat())
    kept = cluster.until("it counts", lambda: shown(cluster, mover)["checkpointedAt"])
    assert datetime.datetime.fromisoformat(kept) == now, (kept, now)


def move(cluster):
    cluster.controller.start()
    railweave(cluster, "queue", "configure", "--min-runtime", "PT0S")
    mover, nodes = scattered(cluster)
    pods = cluster.pods("mover")
    assert shown(cluster, mover)["launcher"]["checkpointable"] and not shown(cluster, cluster.job_of("default/job/first"))["launcher"]["checkpointable"]
    saves(cluster, mover, pods)
    railweave(cluster, "queue", "defrag", "--for", "head", "--carry-out")
    railweave(cluster, "queue", "configure", "--move-budget", "360000")
    moved(cluster, mover, nodes, pods)
    end(cluster, "full", "first", "mover", "waits")

    # The controller and Railweave are killed in between, wherever the move is.
    mover, nodes = scattered(cluster)
    pods = cluster.pods("mover")
    cluster.controller.kill()
    railweave(cluster, "queue", "defrag", "--for", "head", "--carry-out")
    cluster.service.kill()
    cluster.service.start()
    assert [one["job"] for one in moves(cluster)] == [mover]
    cluster.controller.start()
    cluster.until("it makes way", lambda: shown(cluster, mover)["launcher"]["move"]["state"] == "moving")
    cluster.controller.kill()
    cluster.service.kill()
    cluster.service.start()
    cluster.controller.start()
    moved(cluster, mover, nodes, pods)
    end(cluster, "full", "first", "mover", "waits")

    # Pods that say meanwhile that they are not: it stays, at once, and nothing is held for it any more.
    mover, nodes = scattered(cluster)
    pods = cluster.pods("mover")
    for pod in pods:
        cluster.api.patch(f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}", {"metadata": {"annotations": {"railweave.dev/checkpointable": "false"}}})
    railweave(cluster, "queue", "defrag", "--for", "head", "--carry-out")
    cluster.until("it declines", lambda: not moves(cluster))
    cluster.until("an event says it", lambda: any("stays" in text for text in texts(cluster, pods)))
    assert uids(cluster.pods("mover")) == uids(pods) and all(gated(pod) for pod in cluster.pods("waits"))
    assert shown(cluster, mover)["phase"] == "running"
    end(cluster, "full", "first", "mover", "waits")
    cluster.job("words", 2, namespace="team", gate=False, annotations={"railweave.dev/checkpointable": "yes"})
    cluster.until("what to write is said", lambda: any('write "true"' in one.get("note", "") for one in cluster.api.get(
        "/apis/events.k8s.io/v1/namespaces/team/events")["items"]))
    cluster.end_job("words", "team")

    # Of another owner, which makes pods again that are deleted.
    mover, nodes = scattered(cluster, stateful, "default/group/mover", lambda: of_set(cluster))
    pods = of_set(cluster)
    railweave(cluster, "queue", "defrag", "--for", "head", "--carry-out")
    over(cluster, mover)
    after = cluster.placed("default/group/mover", lambda: of_set(cluster), 2, 3)
    assert cluster.job_of("default/group/mover") == mover and not set(after) & set(nodes), (nodes, after)
    assert not set(uids(of_set(cluster))) & set(uids(pods))
    assert sorted(cluster.placed_job("waits", 2)) == sorted(nodes)
    cluster.no_overlap()


if __name__ == "__main__":
    sys.exit(main({"move": move}, *sys.argv[1:3], nodes=10))
