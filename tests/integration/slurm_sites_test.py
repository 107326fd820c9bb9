#!/usr/bin/env python3
"""An ordinary site of Slurm: partitions, features, reservations, memory, preemption, names with line breaks, accounts without a tenant,
a fabric with nodes that Slurm does not have. What Slurm alone would start, starts no later than a cycle after, on nodes that Slurm
accepts: also for random nodes and jobs, each with railweave-slurm and without.

slurm_sites_test.py BIN_FOLDER [TRIALS [SEED]]
"""
import contextlib
import random
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from slurm import wait_for  # noqa: E402
from slurm_cluster import GRACE, LUA, NODES, railweave, run  # noqa: E402

GPUS = ["--gres=gpu:8", "--account=research"]
SETTINGS = ["PreemptType=preempt/partition_prio", "PreemptMode=REQUEUE"]
SOON = 6  # seconds, within which an idle Slurm begins a job and railweave-slurm has its turn; far below the grace period


def more_nodes(file):
    railweave(None, "lab", "generate", "rail-optimized", "--hosts", "20", "-O", str(file))


def set_up(cluster):
    """Nodes 13-16 are partition debug 1-8 have the feature ndr, 9-16 hdr."""
    cluster.slurm.run("scontrol", "create", "PartitionName=debug", f"Nodes={','.join(NODES[12:])}", "State=UP")
    cluster.slurm.run("scontrol", "create", "PartitionName=urgent", f"Nodes={','.join(NODES)}", "State=UP", "PriorityTier=10")
    cluster.slurm.run("scontrol", "update", f"NodeName={','.join(NODES[:8])}", "AvailableFeatures=ndr,h100", "ActiveFeatures=ndr")
    cluster.slurm.run("scontrol", "update", f"NodeName={','.join(NODES[8:])}", "AvailableFeatures=hdr", "ActiveFeatures=hdr")


def begins_soon(cluster, nodes, *options):
    began = time.monotonic()
    job = cluster.submit(*options)
    one = cluster.wait(job, "RUNNING", SOON)
    given = cluster.nodes(one["NodeList"])
    assert set(given) <= set(nodes), (options, given)
    print(f"{' '.join(options)}: on {one['NodeList']} after {time.monotonic() - began:.1f} s; {one['mark'][:60]}")
    return job, one


def nodes_that_slurm_holds_it_to(cluster):
    for options, nodes in ((["-N2", "-p", "debug"], NODES[12:]), (["-N2", "-C", "ndr"], NODES[:8]), (["-N4", "-C", "ndr|hdr"], NODES),
                           (["-N2", "-C", "ndr", "-p", "debug,all"], NODES[:8])):
        job, one = begins_soon(cluster, nodes, *options, *GPUS)
        assert one["mark"].startswith("railweave: job-"), (options, one["mark"])
        cluster.cancel(job)
    # What it cannot tell by nodes it leaves to Slurm at once.
    job, one = begins_soon(cluster, NODES, "-N4", "-C", "[ndr*2&hdr*2]", *GPUS)
    assert "left to Slurm" in one["mark"], one["mark"]
    cluster.cancel(job)


def reservations(cluster):
    start = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + 1800))
    cluster.slurm.run("scontrol", "create", "reservation", "ReservationName=upkeep", f"StartTime={start}", "Duration=120", "Users=root",
                      f"Nodes={','.join(NODES[:14])}", "Flags=MAINT,IGNORE_JOBS")
    time.sleep(11)  # rules are read every 10 s
    job, one = begins_soon(cluster, NODES[14:], "-N2", "-t60", *GPUS)
    assert one["mark"].startswith("railweave: job-"), one["mark"]
    short, _ = begins_soon(cluster, NODES[:14], "-N2", "-t10", *GPUS)
    cluster.cancel(job, short)
    cluster.slurm.run("scontrol", "delete", "ReservationName=upkeep")
    time.sleep(11)


def slurms_own_preemption(cluster):
    low = [cluster.submit("-N", "4", *GPUS, "-p", "all", "--requeue") for _ in range(4)]
    for job in low:
        cluster.wait(job, "RUNNING")
    began = time.monotonic()
    urgent = cluster.submit("-N2", *GPUS, "-p", "urgent")
    one = cluster.wait(urgent, "RUNNING", 20)
    print(f"an urgent job began after {time.monotonic() - began:.1f} s: {one['mark']}")
    cluster.cancel(urgent, *low)


def names_and_accounts(cluster):
    held = cluster.submit("-N2", "-H", "-J", "two\nlines", *GPUS)
    job, _ = begins_soon(cluster, NODES, "-N2", *GPUS)
    key = f"{job}.0"
    assert key in cluster.held()
    cluster.slurm.run("scancel", job)
    wait_for(lambda: key not in cluster.held(), f"an end is seen beside a name with a line break\n{cluster.log()}")
    cluster.slurm.run("scancel", held)
    # Its account is no tenant: Slurm's own.
    job, one = begins_soon(cluster, NODES, "-N2", "--gres=gpu:8", "--account=strangers")
    assert "left to Slurm" in one["mark"], one["mark"]
    cluster.slurm.run("scancel", job)
    wait_for(lambda: cluster.state(job) in ("CANCELLED", "gone"), "it is over")


def comments_of_others(cluster):
    """What another tool writes into the AdminComment stays, whatever becomes of the job, and the job is placed all the same."""
    full = cluster.submit("-N16", *GPUS)
    cluster.wait(full, "RUNNING")
    job = cluster.submit("-N2", *GPUS)
    wait_for(lambda: "waits: " in cluster.job(job)["mark"], f"a reason\n{cluster.log()}")
    cluster.slurm.run("scontrol", "update", f"jobid={job}", 'AdminComment={"cost": 12}')
    wait_for(lambda: re.fullmatch(r'railweave: waits: .* \| {"cost": 12}', cluster.job(job)["mark"]), lambda: cluster.job(job)["mark"])
    cluster.slurm.run("scancel", full)
    one = cluster.wait(job, "RUNNING")
    wait_for(lambda: re.fullmatch(r'railweave: job-\d+ on .*; order=.* \| {"cost": 12}', cluster.job(job)["mark"]), lambda: cluster.job(job)["mark"])
    assert sorted(cluster.nodes(one["NodeList"])) == sorted(cluster.placement(f"{job}.0"))
    cluster.slurm.run("scontrol", "update", f"jobid={job}", "AdminComment=ended well")
    wait_for(lambda: re.fullmatch(r"railweave: job-\d+ on .*; order=.* \| ended well", cluster.job(job)["mark"]), lambda: cluster.job(job)["mark"])
    cluster.cancel(job)
    print("comments of others: kept")


def nodes_that_come_back(cluster):
    """A node that Slurm has in use again is not left out any longer, however long it was drained."""
    cluster.slurm.run("scontrol", "update", f"nodename={NODES[15]}", "state=drain", "reason=trial")
    wait_for(lambda: cluster.service.request("GET", f"/v1/nodes/{NODES[15]}")[2]["drain"], f"Railweave is told\n{cluster.log()}")
    cluster.slurm.run("scontrol", "update", f"nodename={NODES[15]}", "state=resume")
    job, one = begins_soon(cluster, NODES, "-N16", *GPUS)
    assert one["mark"].startswith("railweave: job-"), one["mark"]
    cluster.cancel(job)


def deadlines(cluster):
    """job_submit.lua is not told of it: the job is left to Slurm when it is seen."""
    job, one = begins_soon(cluster, NODES, "-N2", "-t10", "--deadline=now+1hour", *GPUS)
    assert "left to Slurm: it has a deadline" in one["mark"], one["mark"]
    cluster.cancel(job)


def random_sites(cluster, seed, trials):
    """Each job on the same nodes, by Slurm alone and with railweave-slurm; what of them is in use is drawn too."""
    drawn = random.Random(seed)
    both = neither = 0
    for trial in range(trials):
        busy = drawn.sample(NODES, drawn.randint(0, 10))
        fillers = [[f"--gres=gpu:{drawn.choice([1, 4, 8])}", "-c", str(drawn.choice([1, 32, 64])), f"--mem={drawn.choice([10, 500, 900])}M"]
                   if drawn.random() < 0.7 else ["-c", str(drawn.choice([8, 64])), "--mem=10M"] for _ in busy]
        drained = drawn.sample([node for node in NODES if node not in busy], drawn.randint(0, 2))
        options = ["-N", str(drawn.randint(2, 5)), f"--gres=gpu:{drawn.choice([2, 4, 8])}", "--account=research"]
        if drawn.random() < 0.6:
            options += ["-p", drawn.choice(["all", "debug", "debug,all", "urgent"])]
        if drawn.random() < 0.5:
            options += ["-C", drawn.choice(["ndr", "hdr", "ndr|hdr", "ndr&hdr"])]
        if drawn.random() < 0.5:
            options += [drawn.choice(["--mem=200M", "--mem-per-cpu=10M", "--mem=990M"]), "--ntasks-per-node", str(drawn.choice([1, 8, 48]))]
        for node in drained:
            cluster.slurm.run("scontrol", "update", f"nodename={node}", "state=drain", "reason=trial")
        running = [cluster.submit("-N1", "-w", node, "-p", "all", *filler) for node, filler in zip(busy, fillers)]
        for job in running:
            cluster.wait(job, "RUNNING")
        took = {}
        for how, limit, marks in (("alone", 3, cluster.marking_nothing()), ("with", SOON, contextlib.nullcontext())):
            with marks:
                done = cluster.begun(options, limit)
            if done is None:  # no node is like that
                break
            took[how], last = done
            marked = last["mark"].startswith("railweave: ") and (how == "with" or "Slurm began it" not in last["mark"])
            assert marked == (how == "with"), (how, last["text"])
        what = f"seed {seed} trial {trial}: {' '.join(options)}; busy {list(zip(busy, fillers))}, drained {drained}: {took}"
        if took.get("alone") is not None:
            assert took["with"] is not None, f"{what}\n{last['text']}\n{cluster.log()}"
            both += 1
        else:
            neither += took.get("with") is None
        cluster.slurm.run("scancel", *running) if running else None
        for job in running:
            wait_for(lambda job=job: cluster.state(job) in ("CANCELLED", "gone"), "it is over")
        wait_for(lambda: not cluster.held(), "nothing is held")
        for node in drained:
            cluster.slurm.run("scontrol", "update", f"nodename={node}", "state=resume")
    assert both > trials // 4, (both, neither)
    print(f"seed {seed}, {trials} trials: {both} jobs that Slurm alone began at once began with Railweave too, none later; {neither} with neither")


def sites(cluster):
    set_up(cluster)
    nodes_that_slurm_holds_it_to(cluster)
    names_and_accounts(cluster)
    reservations(cluster)
    slurms_own_preemption(cluster)
    comments_of_others(cluster)
    deadlines(cluster)
    nodes_that_come_back(cluster)
    trials, seed = int(sys.argv[2]) if len(sys.argv) > 2 else 8, int(sys.argv[3]) if len(sys.argv) > 3 else 1
    random_sites(cluster, seed, trials)
    assert SOON < GRACE and LUA.exists()


if __name__ == "__main__":
    sys.exit(run("sites", sites, rename=more_nodes, settings=SETTINGS))
