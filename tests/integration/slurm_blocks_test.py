#!/usr/bin/env python3
"""railweave-slurm beside a Slurm whose topology/block decides with: blocks are the exported leaf groups. Jobs begin where Railweave
placed them, in rank order, with and without segments; what Slurm's blocks do not allow never waits for ever.

with_current.sh BIN_FOLDER slurm_blocks_test.py BIN_FOLDER     (Slurm 23.11 or newer: Debian's own has no blocks)
"""
import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from slurm import wait_for  # noqa: E402
from slurm_cluster import NODES, agrees, railweave, run  # noqa: E402
from slurm_test import SHOW, rename, tasks  # noqa: E402

RESEARCH = ["--gres=gpu:8", "--account=research"]


def prepare(path):
    """Names that are not in the order of the cables, and the fabric's own blocks for Slurm."""
    rename(path)
    text = railweave(None, "lab", "convert", str(path), "--to", "topology.conf", "--plugin", "block")
    (path.parent / "topology.conf").write_text(text)


def leaves_of(path):
    """The oracle reads the fabric's own links: nodes that share a leaf switch, by node."""
    native = json.loads(path.read_text())
    first = len(native["switches"])
    leaf = {max(a, b) - first: min(a, b) for a, _, b, _, _ in native["links"] if max(a, b) >= first > min(a, b)}
    return {host["name"]: leaf[number] for number, host in enumerate(native["hosts"])}


def pinned(cluster, job):
    one = cluster.job(job)
    return one["ReqNodeList"], sorted(set(NODES) - set(cluster.nodes(one["ExcNodeList"])))


def test(cluster):
    leaf_of = leaves_of(cluster.folder / "fabric.json")
    blocks = {}
    for node, leaf in leaf_of.items():
        blocks.setdefault(leaf, set()).add(node)
    told = re.findall(r"Nodes=(\S+) BlockSize=4", cluster.slurm.run("scontrol", "show", "topology"))
    assert sorted(sorted(cluster.nodes(nodes)) for nodes in told) == sorted(sorted(block) for block in blocks.values()) and len(told) == 4, told
    used = lambda nodes: {leaf_of[node] for node in nodes}
    # In one block; in two of them, of three nodes each; in all of two. Plain srun has the rank order.
    script = f"#!/bin/sh\nsrun {SHOW}\nsleep 600\n"
    shapes = [(3, 1, []), (6, 2, ["--railweave-pp=2"]), (4, 1, ["--railweave-tp=8"])]
    jobs = []
    for nodes, count, options in shapes:
        job = cluster.submit("-N", str(nodes), *RESEARCH, "--exclusive", "--ntasks-per-node=8", *options, script=script)
        placed = agrees(cluster, job)
        assert len(used(placed)) == count, (nodes, placed)
        assert pinned(cluster, job) == ("(null)", sorted(placed)), (pinned(cluster, job), placed)
        ranks = cluster.service.request("GET", f"/v1/jobs/{cluster.held()[f'{job}.0']}/ranks?limit=1000")[2]["items"]
        where = tasks(cluster, job, nodes * 8)
        assert [where[one["rank"]][0] for one in ranks] == [one["node"] for one in ranks], where
        assert all(int(where[one["rank"]][2]["CUDA_VISIBLE_DEVICES"].split(",")[where[one["rank"]][1]]) == one["gpu"] for one in ranks)
        jobs.append(job)
    # Three nodes are free, not in one block: a job of three waits for a block, with the reason, and begins when there is one.
    left = set(NODES) - {node for job in jobs for node in cluster.placement(f"{job}.0")}
    assert len(left) == 3 and len(used(left)) > 1, left
    waits = cluster.submit("-N", "3", *RESEARCH)
    mark = wait_for(lambda: "waits: " in (mark := cluster.job(waits)["mark"]) and mark, f"a reason\n{cluster.log()}")
    assert "leafGroup" in mark or "leaf group" in mark, mark
    cluster.slurm.run("scancel", jobs[0])
    assert len(used(agrees(cluster, waits))) == 1
    cluster.cancel(*jobs[1:], waits)
    # Segments: a list of nodes would be refused (below), what is left out is not.
    job = cluster.submit("-N", "8", "--segment=2", *RESEARCH)
    placed = agrees(cluster, job)
    assert len(used(placed)) == 2 and pinned(cluster, job) == ("(null)", sorted(placed)), pinned(cluster, job)
    cluster.cancel(job)
    block = sorted(next(iter(blocks.values())))
    done = subprocess.run(["sbatch", "-N", "4", "--segment=2", "-w", ",".join(block), "--wrap", "true"], cwd=cluster.folder, env=cluster.environment,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and "topology configuration is not available" in done.stderr, done
    # Segments of two in shares of three: Slurm refuses them, and then has the job. It runs, and Railweave holds what it has.
    job = cluster.submit("-N", "6", "--segment=2", *RESEARCH)
    one = cluster.wait(job, "RUNNING", 60)
    wait_for(lambda: f"{job}.0" in cluster.held() and "left to Slurm" in cluster.job(job)["mark"], f"what Slurm began is adopted\n{cluster.log()}")
    assert sorted(cluster.placement(f"{job}.0")) == sorted(cluster.nodes(one["NodeList"]))
    assert f"job {job} is left to Slurm" in cluster.log(), cluster.log()
    cluster.cancel(job)
    # Five nodes have no equal shares: they begin all the same.
    job = cluster.submit("-N", "5", *RESEARCH)
    one = cluster.wait(job, "RUNNING", 60)
    wait_for(lambda: f"{job}.0" in cluster.held(), f"it is held\n{cluster.log()}")
    assert sorted(cluster.placement(f"{job}.0")) == sorted(cluster.nodes(one["NodeList"]))
    cluster.cancel(job)
    # Of a whole job --distribution=arbitrary is taken in one block only.
    hosts = cluster.folder / "hosts"
    taken = {}
    for kind, nodes in (("one block", block[:2]), ("two blocks", [min(some) for some in list(blocks.values())[:2]])):
        hosts.write_text("".join(f"{node}\n" for node in nodes))
        done = subprocess.run(["sbatch", "--parsable", "-o", "/dev/null", "-n", "2", "--distribution=arbitrary", str(cluster.folder / "job.sh")], cwd=cluster.folder,
                              env=dict(cluster.environment, SLURM_HOSTFILE=str(hosts)), capture_output=True, text=True, timeout=60)
        taken[kind] = done.returncode == 0
        if taken[kind]:
            cluster.slurm.run("scancel", done.stdout.strip())
    assert taken == {"one block": True, "two blocks": False}, taken
    wait_for(lambda: not cluster.held(), "nothing is held")
    print(cluster.slurm.run("sinfo", "--version").strip() + ": blocks are kept")


if __name__ == "__main__":
    sys.exit(run("blocks", test, ("fat-tree", "--radix", "8", "--nics-per-host", "1"), prepare, settings=["TopologyPlugin=topology/block"],
                 judged=["submitJobs", "listNvlinkDomains", "acceptJob"]))
