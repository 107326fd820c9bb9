#!/usr/bin/env python3
"""The steps of control on a real slurmctld: observe, order and place, taken and taken back while jobs run. Before the last one Railweave
changes no job's nodes or time and no node; it says where it would have placed what Slurm began.

slurm_steps_test.py BIN_FOLDER          exit code 77: Slurm is not installed
"""
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from slurm import wait_for  # noqa: E402
from slurm_cluster import GRACE, ROOT, agrees, run  # noqa: E402

FAR = ["-N2", "-w", "node-01,node-16", "--gres=gpu:8", "--account=research"]  # in two NVLink domains
NEAR = ["-N2", "--gres=gpu:8", "--account=research"]


def began_at_once(cluster, job):
    before = time.monotonic()
    one = cluster.wait(job, "RUNNING", GRACE - 4)
    return one, time.monotonic() - before


def mark(cluster, job, words):
    return wait_for(lambda: (text := cluster.job(job)["mark"]) and words in text and text, lambda: f"{words}: {cluster.job(job)}\n{cluster.log()}", 30)


def external(cluster, key):
    return cluster.service.request("GET", f"/v1/jobs/{cluster.held()[key]}")[2]["spec"]["external"]


def observed(cluster):
    with cluster.marking_nothing():
        far = cluster.submit(*FAR)
        one, _ = began_at_once(cluster, far)
    advice = mark(cluster, far, "Railweave would have chosen node-")
    assert " ms of communication predicted for a step instead of " in advice and "order=" not in advice, advice
    told = external(cluster, f"{far}.0")
    assert told["step"] == "observe" and told["advice"] in advice, (told, advice)
    shown = cluster.railweave("jobs", "show", cluster.held()[f"{far}.0"])
    assert f"slurm {far}, step observe" in shown and "would have chosen" in shown, shown
    # What the words say is a number too, and the status sums it up.
    spared, instead = (float(number) for number in re.search(r": ([0-9.e+]+) ms of communication .* instead of ([0-9.e+]+)", advice).groups())
    assert abs(told["gainPermille"] - 1000 * (1 - spared / instead)) <= 10, told
    said = cluster.railweave("status")
    assert re.search(r"Slurm: +step observe \(all\), 1 job placed; elsewhere 1 of 1 would have been faster", said), said
    assert f"slurm {far}, step observe" in cluster.railweave("jobs", "list", "-o", "wide"), said
    assert sorted(cluster.placement(f"{far}.0")) == ["node-01", "node-16"]

    # Also where the mark is on it already: nothing waits for Railweave.
    near = cluster.submit(*NEAR)
    one, took = began_at_once(cluster, near)
    assert one["ReqNodeList"] == "(null)" and took < GRACE / 2, (took, one)
    assert sorted(cluster.nodes(one["NodeList"])) == sorted(wait_for(
        lambda: f"{near}.0" in cluster.held() and cluster.placement(f"{near}.0"), lambda: f"adopted\n{cluster.log()}"))
    # A node out of use in Railweave is Slurm's as before.
    cluster.railweave("nodes", "drain", "node-10", "--reason", "a look")
    time.sleep(3)
    assert "DRAIN" not in cluster.slurm.run("sinfo", "-h", "-n", "node-10", "-o", "%T").upper(), "observe drains nothing"
    return far, near


def steps(cluster):
    far, near = observed(cluster)
    cluster.end()
    cluster.start("--step", "order")
    ordered = cluster.submit(*NEAR)
    one, took = began_at_once(cluster, ordered)
    assert one["ReqNodeList"] == "(null)" and took < GRACE / 2, (took, one)
    assert "order=" in mark(cluster, ordered, "order="), "ranks have an order"
    assert external(cluster, f"{ordered}.0")["step"] == "order"

    cluster.end()
    cluster.start("--trouble", "0")
    placed = cluster.submit(*NEAR)
    nodes = agrees(cluster, placed)
    assert cluster.job(placed)["ReqNodeList"] != "(null)" and len(nodes) == 2
    assert external(cluster, f"{placed}.0") == {"scheduler": "slurm", "id": placed, "part": "all", "step": "place"}
    wait_for(lambda: "DRAIN" in cluster.slurm.run("sinfo", "-h", "-n", "node-10", "-o", "%T").upper(), "the step `place` passes drains on")

    # And back, beside everything that runs.
    cluster.end()
    cluster.start("--step", "observe")
    last = cluster.submit(*NEAR)
    one, took = began_at_once(cluster, last)
    assert one["ReqNodeList"] == "(null)" and took < GRACE / 2, (took, one)
    wait_for(lambda: f"{last}.0" in cluster.held(), lambda: f"adopted\n{cluster.log()}")
    for job in (far, near, ordered, placed):
        one = cluster.job(job)
        assert one["JobState"] == "RUNNING" and one["Restarts"] == "0", one
    assert {f"{job}.0" for job in (far, near, ordered, placed, last)} == set(cluster.held()), cluster.held()
    cluster.cancel(far, near, ordered, placed, last)


def partitions(cluster):
    """One partition is observed while Railweave places the jobs of the others; of two partitions that which decides least counts."""
    cluster.slurm.run("scontrol", "create", "PartitionName=debug", "Nodes=node-[01-16]", "State=UP")
    cluster.end()
    cluster.start("--partition-step", "debug=observe")
    placed = cluster.submit(*NEAR)
    agrees(cluster, placed)
    assert cluster.job(placed)["ReqNodeList"] != "(null)"
    watched = {cluster.submit(*NEAR, "-p", "debug"), cluster.submit(*NEAR, "-p", "debug,all")}
    for job in watched:
        one, took = began_at_once(cluster, job)
        assert one["ReqNodeList"] == "(null)" and took < GRACE / 2, (took, one)
        wait_for(lambda job=job: f"{job}.0" in cluster.held(), lambda: f"adopted\n{cluster.log()}")
        assert external(cluster, f"{job}.0")["step"] == "observe"
    assert external(cluster, f"{placed}.0")["step"] == "place"
    said = cluster.railweave("status")
    assert re.search(r"Slurm: +step place \(all\), 1 job placed", said) and re.search(r"Slurm: +step observe \([a-z, ]*debug[a-z, ]*\), 2 jobs placed", said), said
    cluster.cancel(placed, *watched)


TRAINING = f"""#!{sys.executable}
import os, sys, time
sys.path.insert(0, {str(ROOT / "api/python")!r})
from railweave import StepReporter
if "SLURM_STEP_ID" in os.environ:
    assert os.environ["RAILWEAVE_JOB"].startswith("job-"), "the plugin's"
    del os.environ["SLURM_JOB_ID"]
far = os.environ["SLURM_JOB_NODELIST"] in ("node-[01,16]", "node-[02,15]")
with StepReporter(interval=2, warm_up=1) as steps:
    while True:
        time.sleep(0.09 if far else 0.06)
        steps.step()
"""


def reported(cluster, job, least=20):
    """What the job itself has told, as `jobs show` has it."""
    def told():
        key = f"{job}.0"
        found = cluster.held().get(key) and cluster.service.request("GET", f"/v1/jobs/{cluster.held()[key]}")[2]["steps"]
        return found if found and found["periods"][-1]["steps"] >= least else None
    return wait_for(told, lambda: f"{job} reports its steps\n{(cluster.folder / f'out.{job}.4294967294').exists()}\n{cluster.log()}", 60)


def measured(cluster):
    """Jobs of one workload report how long their steps take, by the client that their script uses: two where Slurm puts them, in two
    domains, and two where Railweave does. The status says what the step has gained; one job alone says nothing."""
    cluster.end()
    cluster.start("--step", "observe")
    with cluster.marking_nothing():
        far = [cluster.submit("-J", "llama", "-N2", "-w", nodes, "--gres=gpu:8", "--account=research", script=TRAINING) for nodes in ("node-01,node-16", "node-02,node-15")]
        for job in far:
            cluster.wait(job, "RUNNING", GRACE - 4)
    for job in far:
        told = reported(cluster, job)
        period, = told["periods"]
        assert told["workload"] == "llama" and period["placing"] == "observe" and 90 <= period["stepMs"] < 150, told
    assert "Gain:" not in cluster.railweave("status"), "nothing to compare with"
    cluster.end()
    cluster.start()
    # By srun too: the plugin tells its tasks which job of Railweave they are.
    (cluster.folder / "train.py").write_text(TRAINING)
    by_srun = f"#!/bin/sh\nexec srun -N1 -n1 {sys.executable} {cluster.folder}/train.py\n"
    near = [cluster.submit("-J", "llama", *NEAR, script=script) for script in (TRAINING, by_srun)]
    for job in near:
        agrees(cluster, job)
        told = reported(cluster, job)
        assert told["periods"][-1]["placing"] == "place" and 60 <= told["periods"][-1]["stepMs"] < 89, told
    said = cluster.railweave("status")
    found = re.search(r"Gain: +place \(slurm: all\): steps take ([0-9.]+)% less time \(95%: (-?[0-9.]+)% to ([0-9.]+)%\), measured: 2 jobs with it, 2 without", said)
    assert found and float(found[2]) <= float(found[1]) <= float(found[3]) and 20 < float(found[1]) < 45, said
    shown = cluster.railweave("jobs", "show", f"slurm/{near[0]}")
    assert re.search(r"Steps: +[0-9.]+ ms \(mean of [0-9]+ steps, at place\), reported", shown), shown
    cluster.cancel(*far, *near)


def all_steps(cluster):
    steps(cluster)
    partitions(cluster)
    measured(cluster)


if __name__ == "__main__":
    sys.exit(run("steps of control", all_steps, generator=("rail-optimized", "--nvlink-domain", "64", "--gpus-per-host", "8"), options=("--step", "observe")))
