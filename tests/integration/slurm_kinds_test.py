#!/usr/bin/env python3
"""Kinds of jobs of Slurm: heterogeneous ones, GPUs below a node, --exclusive, arrays with a limit, priorities, preemption by Slurm, requeue,
cancellation. Where Slurm began them is asked of Slurm, and of it which GPUs they have.

slurm_kinds_test.py BIN_FOLDER
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from slurm import wait_for  # noqa: E402
from slurm_cluster import BEGAN, NODES, agrees, run  # noqa: E402

RESEARCH = ["--gres=gpu:8", "--account=research"]
# Slurm's own preemption: jobs of `urgent` requeue those of `all`.
SETTINGS = ["PreemptType=preempt/partition_prio", "PreemptMode=REQUEUE"]


def gpus_of(cluster, job):
    """(node, GPU) as Slurm gave them."""
    text = cluster.slurm.run("scontrol", "-d", "show", "job", job)
    found = []
    for nodes, indices in re.findall(r"^ +Nodes=(\S+) .*GRES=gpu:\d+\(IDX:([\d,-]+)\)", text, re.MULTILINE):
        for node in cluster.nodes(nodes):
            for part in indices.split(","):
                first, _, last = part.partition("-")
                found += [(node, gpu) for gpu in range(int(first), int(last or first) + 1)]
    return sorted(found)


def ranks_of(cluster, key):
    items = cluster.service.request("GET", f"/v1/jobs/{cluster.held()[key]}/ranks?limit=1000")[2]["items"]
    return [(item["node"], item["gpu"]) for item in items]


def het(cluster):
    """All parts are placed, or none; each begins where it was placed."""
    job = cluster.submit("-N", "3", *RESEARCH, ":", "-N", "1", *RESEARCH, ":", "-N", "2", *RESEARCH)
    nodes = []
    for part, count in (("+0", 3), ("+1", 1), ("+2", 2)):
        one = wait_for(lambda: (one := cluster.job(job + part)).get("JobState") == "RUNNING" and one, f"part {part} runs\n{cluster.log()}")
        placed = wait_for(lambda: cluster.placement(f"{job}{part}.0"), "its placement")
        assert sorted(cluster.nodes(one["NodeList"])) == sorted(placed) and len(placed) == count, (one, placed)
        assert one["mark"].startswith(f"railweave: {cluster.held()[f'{job}{part}.0']} on ") and "Slurm began it" not in one["mark"], one["mark"]
        nodes += placed
    assert len(set(nodes)) == 6, nodes
    # 10 nodes are free: 8 fit, 8 and 4 do not.
    large = cluster.submit("-N", "8", *RESEARCH, ":", "-N", "4", *RESEARCH)
    for part in ("+0", "+1"):
        wait_for(lambda: "waits: " in cluster.job(large + part)["mark"], f"a reason of part {part}\n{cluster.log()}")
    other = cluster.submit("-N", "10", *RESEARCH)
    agrees(cluster, other)  # the parts that would fit hold nothing
    assert not any(key.startswith(f"{large}+") for key in cluster.held()), cluster.held()
    cluster.slurm.run("scancel", other, job)
    for part in ("+0", "+1"):
        wait_for(lambda: cluster.job(large + part).get("JobState") == "RUNNING", f"part {part} runs\n{cluster.log()}")
    cluster.cancel(large)


def below_a_node(cluster):
    """Jobs that share nodes: no GPU has two, in Slurm and in Railweave; those that Slurm placed are held exactly."""
    jobs = [cluster.submit("-N", "2", f"--gres=gpu:{gpus}", "--mem=10", "--account=research") for gpus in (4, 2, 2, 4)]
    for job in jobs:
        agrees(cluster, job)
    given = [place for job in jobs for place in gpus_of(cluster, job)]
    assert len(given) == len(set(given)) == 24, given
    held = [place for job in jobs for place in ranks_of(cluster, f"{job}.0")]
    assert len(held) == len(set(held)) == 24, held
    used = {node for node, _ in held}
    assert len(used) == 4, f"jobs that fit on four nodes are on {sorted(used)}"
    single = cluster.submit("-N", "1", "--gres=gpu:3", "--mem=10", "--account=research")
    wait_for(lambda: f"{single}.0" in cluster.held(), f"it is held\n{cluster.log()}")
    assert sorted(ranks_of(cluster, f"{single}.0")) == gpus_of(cluster, single)
    uneven = cluster.submit("-N", "2", "--gpus=5", "--mem=10", "--account=research")
    cluster.wait(uneven, "RUNNING")
    wait_for(lambda: f"{uneven}.0" in cluster.held(), f"it is held\n{cluster.log()}")
    assert sorted(ranks_of(cluster, f"{uneven}.0")) == gpus_of(cluster, uneven)
    cluster.cancel(*jobs, single, uneven)


def exclusive(cluster):
    """A job that wants nodes for itself gets none that others use, although GPUs are free there."""
    single = cluster.submit("-N", "1", "--gres=gpu:1", "--mem=10", "-w", NODES[4])
    wait_for(lambda: f"{single}.0" in cluster.held(), "it is held")
    job = cluster.submit("-N", "15", "--gres=gpu:4", "--exclusive", "--account=research")
    assert sorted(agrees(cluster, job)) == sorted(set(NODES) - {NODES[4]})
    more = cluster.submit("-N", "2", "--gres=gpu:2", "--exclusive", "--mem=10", "--account=research")
    wait_for(lambda: cluster.job(more)["mark"] != "railweave: waits to be placed", f"it was looked at\n{cluster.log()}")
    assert cluster.state(more) == "PENDING"
    cluster.slurm.run("scancel", job)
    agrees(cluster, more)
    cluster.cancel(single, more)


def arrays(cluster):
    """An array that runs two tasks at a time: the others hold nothing, and begin where they are placed when it is their turn."""
    array = cluster.submit("-N", "2", *RESEARCH, "--array=1-4%2", script=BEGAN)
    first = wait_for(lambda: (keys := [key for key in cluster.held() if cluster.state(key.split(".")[0]) == "RUNNING"]) and len(keys) == 2 and keys, f"two run\n{cluster.log()}")
    for key in first:
        agrees(cluster, key.split(".")[0])
    wait_for(lambda: sorted(cluster.held()) == sorted(first), f"the others hold nothing, once Slurm has said that it is not their turn\n{cluster.log()}")
    moved = [line for line in cluster.log().splitlines() if "could not begin" in line]
    assert len(moved) == 2, moved  # once each
    tasks = {f"{array}_{n}" for n in range(1, 5)}
    cluster.slurm.run("scancel", *[key.split(".")[0] for key in first])
    for task in tasks - {key.split(".")[0] for key in first}:
        agrees(cluster, task)
    cluster.cancel(array)


def priorities(cluster):
    """Slurm's priority is the order in which jobs are placed, also when it is changed while they wait."""
    first = cluster.submit("-N", "16", *RESEARCH)
    agrees(cluster, first)
    jobs = [cluster.submit("-N", "10", *RESEARCH) for _ in range(3)]
    for job in jobs:
        wait_for(lambda: "waits: " in cluster.job(job)["mark"], f"a reason of job {job}\n{cluster.log()}")
    order = [jobs[1], jobs[2], jobs[0]]
    for place, job in enumerate(order):
        cluster.slurm.run("scontrol", "update", f"jobid={job}", f"Priority={1000 - place}")
    before = first
    for job in order:
        cluster.slurm.run("scancel", before)
        agrees(cluster, job)
        assert all(cluster.state(other) == "PENDING" for other in order[order.index(job) + 1:]), "none passed it"
        before = job
    cluster.cancel(before)


def preempted(cluster):
    """Slurm's own preemption: the job that makes way is placed again, and neither has a node of the other."""
    jobs = [cluster.submit("-N", "8", *RESEARCH, "-p", "all", "--open-mode=append", script=BEGAN) for _ in range(2)]
    for job in jobs:
        agrees(cluster, job)
    urgent = cluster.submit("-N", "4", "--gres=gpu:8", "-w", ",".join(cluster.placement(f"{jobs[0]}.0")[:4]), "-p", "urgent")
    cluster.wait(urgent, "RUNNING", 60)
    wait_for(lambda: f"{urgent}.0" in cluster.held(), f"it is held\n{cluster.log()}")
    wait_for(lambda: cluster.job(jobs[0])["Restarts"] == "1" and f"{jobs[0]}.0" not in cluster.held(), f"it made way\n{cluster.log()}")
    wait_for(lambda: "waits: " in cluster.job(jobs[0])["mark"], f"a reason\n{cluster.log()}")
    agrees(cluster, jobs[1])
    cluster.slurm.run("scancel", urgent)
    agrees(cluster, jobs[0], 1)
    cluster.cancel(*jobs)


def test(cluster):
    conf = cluster.folder / "slurm.conf"
    conf.write_text(conf.read_text() + "\n".join([*SETTINGS, "PartitionName=urgent Nodes=ALL PriorityTier=10 State=UP", ""]))
    controller = cluster.slurm.processes.pop("slurmctld")
    controller.terminate()
    controller.wait(timeout=60)
    cluster.slurm.launch("slurmctld", "slurmctld", "-D")
    wait_for(lambda: "urgent" in cluster.slurm.run("sinfo", "-h", code=None), "the partition")
    cluster.slurm.run("scontrol", "reconfigure")
    for kind in (het, below_a_node, exclusive, arrays, priorities, preempted):
        kind(cluster)
        assert cluster.held() == {}
        print(f"{kind.__name__}: as expected")


if __name__ == "__main__":
    sys.exit(run("kinds", test))
