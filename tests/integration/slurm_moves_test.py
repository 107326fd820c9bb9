#!/usr/bin/env python3
"""Jobs of Slurm that say that they are checkpointable move to other GPUs on a real slurmctld: requeued, and begun where Railweave held a place for
them, by the same job of Railweave.

slurm_moves_test.py BIN_FOLDER moves|killed|hooks
"""
import itertools
import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from slurm import wait_for  # noqa: E402
from slurm_cluster import BIN, PLUGIN, installed_hooks, run  # noqa: E402

WAIT = 20  # seconds that a prolog may take
RESEARCH = ("--account=research", "--mem=10")
# It has saved its state when it is told to end; a later start goes on from there.
SAVES = """#!/bin/sh
echo BEGAN $SLURM_RESTART_COUNT
while true; do sleep 0.2; done
"""


def job_of(cluster, id_):
    return cluster.service.request("GET", f"/v1/jobs/{id_}")[2]


def kinds(cluster, id_):
    return [event["type"] for event in cluster.service.request("GET", f"/v1/events?subject=job/{id_}&limit=1000")[2]["items"]]


def moves(cluster):
    return cluster.service.request("GET", "/v1/queue/moves")[2]["moves"]


IN_COMMENT = ("--comment", "railweave: checkpointable")
BY_OPTION = ("--railweave-checkpointable",) if PLUGIN.exists() else IN_COMMENT


def scattered(cluster, *options, says=IN_COMMENT):
    """Two nodes are full but for three GPUs each, twelve are full, and on the last two a job of three GPUs of each keeps one of two whole nodes from starting,
    which is none of Slurm's and waits in Railweave."""
    full = cluster.submit("-N", "12", "--gres=gpu:8", *RESEARCH)
    first = cluster.submit("-N", "2", "--gres=gpu:5", *RESEARCH)
    for one in (full, first):
        runs(cluster, one)
    beside = cluster.submit("-N", "2", "--gres=gpu:3", *RESEARCH)
    runs(cluster, beside)
    mover = cluster.submit("-N", "2", "--gres=gpu:3", "--open-mode=append", *RESEARCH, *says, *options, script=SAVES)
    id_, nodes = runs(cluster, mover)
    cluster.slurm.run("scancel", beside)
    wait_for(lambda: f"{beside}.0" not in cluster.held(), "beside is gone")
    return [full, first, mover], id_, nodes, two_nodes(cluster)


def two_nodes(cluster):
    """A job of Railweave's own that waits for two whole nodes."""
    status, _, answer = cluster.service.request("POST", "/v1/jobs", {"tenant": "physics", "gpus": 16, "gpusPerNode": 8, "expectedDuration": "PT1H", "queue": True})
    assert status == 201 and answer["state"] == "queued", answer
    return answer["id"]


def runs(cluster, job, start=0, id_=None):
    """Slurm runs it on the nodes that Railweave holds for it; (its job there, its nodes)."""
    def look():
        held = id_ or cluster.held().get(f"{job}.{start}")
        one = cluster.job(job)
        if not held or one.get("JobState") != "RUNNING":
            return None
        shown = job_of(cluster, held)
        nodes = sorted(cluster.nodes(one["NodeList"]))
        return shown["phase"] == "running" and shown["launcher"]["move"] is None and sorted(shown["nodeList"]) == nodes and (held, nodes)
    return wait_for(look, lambda: f"job {job} runs where it is held\n{cluster.job(job)['text']}\n{cluster.held()}\n{cluster.log()[-3000:]}", 60)


def offer(cluster):
    cluster.railweave("queue", "defrag", "--for", "head", "--carry-out")


def moved(cluster, mover, id_, before, waits, start=1):
    wait_for(lambda: cluster.job(mover).get("Restarts") == str(start), f"it is requeued\n{cluster.log()}", 60)
    _, nodes = runs(cluster, mover, start, id_)
    assert not set(nodes) & set(before), (before, nodes)
    wait_for(lambda: job_of(cluster, waits)["state"] == "placed", "what waited starts")
    assert sorted(job_of(cluster, waits)["nodeList"]) == before
    order = ["job.moveOffered", "job.moveAccepted", "job.releasing", "job.freed", "job.evicted", "job.placed", "job.accepted", "job.running"]
    told = [kind for kind, _ in itertools.groupby(kinds(cluster, id_))]  # an epilog frees one node after the other
    assert told[-len(order):] == order, told
    mark = cluster.job(mover)["mark"]
    assert mark.startswith(f"railweave: {id_} on ") and "order=" in mark, mark
    # It stays held by that job for as long as it runs, and no other is made for it.
    time.sleep(3)
    assert [key for key in cluster.held() if key.startswith(f"{mover}.")] == [f"{mover}.0"] and cluster.held()[f"{mover}.0"] == id_
    assert (cluster.folder / f"out.{mover}.4294967294").read_text().count("BEGAN") == start + 1
    return nodes


def over(cluster, jobs, waits):
    cluster.service.request("DELETE", f"/v1/jobs/{waits}")
    cluster.cancel(*jobs)


def moved_back(cluster, jobs, id_, nodes, there, waits):
    """It moves again, for another job, which is the answer."""
    cluster.service.request("DELETE", f"/v1/jobs/{waits}")
    jobs.append(cluster.submit("-N", "2", "-w", ",".join(nodes), "--gres=gpu:5", *RESEARCH))
    wait_for(lambda: f"{jobs[3]}.0" in cluster.held(), f"it is held where Slurm began it\n{cluster.log()}")
    cluster.slurm.run("scancel", jobs[1])
    wait_for(lambda: f"{jobs[1]}.0" not in cluster.held(), "its GPUs are free")
    waits = two_nodes(cluster)
    offer(cluster)
    assert moved(cluster, jobs[2], id_, there, waits, 2) == nodes
    return waits


def test_moves(cluster):
    cluster.railweave("queue", "configure", "--min-runtime", "PT0S")
    jobs, id_, nodes, waits = scattered(cluster, says=BY_OPTION)
    assert job_of(cluster, id_)["launcher"]["checkpointable"]
    offer(cluster)
    there = moved(cluster, jobs[2], id_, nodes, waits)
    waits = moved_back(cluster, jobs, id_, nodes, there, waits)
    # Requeued by hand it is placed again, as a job of its own.
    cluster.slurm.run("scontrol", "requeue", jobs[2])
    wait_for(lambda: f"{jobs[2]}.3" in cluster.held() and job_of(cluster, id_)["state"] != "placed", f"another placement\n{cluster.log()}", 60)
    runs(cluster, jobs[2], 3)
    over(cluster, jobs, waits)
    # What cannot be requeued stays.
    jobs, id_, nodes, waits = scattered(cluster, "--no-requeue")
    offer(cluster)
    wait_for(lambda: not moves(cluster), f"it declines\n{cluster.log()}")
    assert cluster.state(jobs[2]) == "RUNNING" and job_of(cluster, id_)["phase"] == "running" and job_of(cluster, waits)["state"] == "queued"
    assert "job.moveEnded" in kinds(cluster, id_)
    over(cluster, jobs, waits)
    # What does not say so is offered nothing.
    jobs, id_, nodes, waits = scattered(cluster, says=())
    assert cluster.service.request("POST", "/v1/queue/moves", {"for": "head"})[2]["code"] == "moves.none"
    over(cluster, jobs, waits)


def test_killed(cluster):
    """railweave-slurm and railweaved are killed wherever a move is."""
    cluster.railweave("queue", "configure", "--min-runtime", "PT0S")
    port = cluster.service.port
    options = ("--notice", "1")
    for at in ("offered", "releasing", "requeued", "offered again", "accepted"):
        jobs, id_, nodes, waits = scattered(cluster)
        if at == "offered":
            cluster.end(signal.SIGKILL)
        offer(cluster)
        if at == "releasing":
            wait_for(lambda: job_of(cluster, id_)["phase"] == "releasing", "it makes way")
        elif at == "requeued":
            wait_for(lambda: cluster.job(jobs[2]).get("Restarts") == "1", "it is requeued")
        elif at in ("offered again", "accepted"):
            kind = "job.placed" if at == "offered again" else "job.accepted"
            wait_for(lambda: kind in kinds(cluster, id_)[-1:] and "job.freed" in kinds(cluster, id_), f"{at}\n{cluster.log()}", every=0.01)
        if at != "offered":
            cluster.end(signal.SIGKILL)
        cluster.service.kill()
        cluster.service.start(port=port)
        cluster.start(*options)
        moved(cluster, jobs[2], id_, nodes, waits)
        print(f"killed when {at}: it has moved", flush=True)
        over(cluster, jobs, waits)


def hooks(folder, service):
    path = f"{BIN}:{os.environ['PATH']}"
    return installed_hooks(folder, f"export RAILWEAVE_URL=http://127.0.0.1:{service.port} SLURM_CONF={folder}/slurm.conf RAILWEAVE_PROLOG_WAIT={WAIT}\nPATH={path}\n")


def test_hooks(cluster):
    """The epilog says that nodes are free, which ends no job that moves; the prolog of its next start knows its place."""
    cluster.railweave("queue", "configure", "--min-runtime", "PT0S")
    jobs, id_, nodes, waits = scattered(cluster)
    offer(cluster)
    wait_for(lambda: cluster.job(jobs[2]).get("Restarts") == "1", f"it is requeued\n{cluster.log()}", 60)
    wait_for(lambda: kinds(cluster, id_).count("job.accepted") == 2, f"its new place is accepted\n{cluster.log()}", 60)
    began = time.monotonic()
    there = moved(cluster, jobs[2], id_, nodes, waits)
    assert time.monotonic() - began < WAIT, "its prolog waited for a placement by another name"
    # Two starts later the epilog still finds it, with nothing else there that would say that it has ended.
    waits = moved_back(cluster, jobs, id_, nodes, there, waits)
    cluster.end(signal.SIGKILL)
    cluster.slurm.run("scancel", jobs[2])
    wait_for(lambda: job_of(cluster, id_)["state"] == "completed", f"its epilog says that it has ended\n{job_of(cluster, id_)}", 30)
    cluster.start("--notice", "1")
    over(cluster, jobs, waits)


if __name__ == "__main__":
    part = sys.argv[2]
    sys.exit(run(part, {"moves": test_moves, "killed": test_killed, "hooks": test_hooks}[part], options=("--notice", "1"), settings=hooks if part == "hooks" else (),
                 judged=("acceptMove", "declineMove", "listMoves", "freedJob") if part == "moves" else ()))
