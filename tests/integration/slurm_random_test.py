#!/usr/bin/env python3
"""Random sites of Slurm: nodes of several kinds (processors, memory, GPUs, some without), partitions that overlap and have limits,
features, weights, licences; random nodes in use and drained; random jobs; random faults. Each job is submitted to the same state twice,
by Slurm alone and with Railweave: what Slurm alone begins, begins no later than a cycle after (beside a fault: than the grace period).

slurm_random_test.py BIN_FOLDER [TRIALS [SEED [SEEDS]]]
"""
import random
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from slurm import wait_for  # noqa: E402
from slurm_cluster import GRACE, NODES, run  # noqa: E402

ALONE = 3  # seconds, in which an idle Slurm begins a job
SOON = 6  # with railweave-slurm's turn


class Site:
    """What slurm.conf says, drawn by seed. Its nodes have the fabric's names; some have fewer GPUs than the fabric's, or none."""

    def __init__(self, drawn):
        self.drawn = drawn
        kinds = [(64, 1000, "gpu:8", "ndr"), (32, 600, "gpu:8", "ndr,fat"), (64, 1000, "gpu:4", "hdr"), (16, 300, "", "cpu")]
        self.nodes, self.gpus = {}, {}
        for node in NODES:
            cpus, memory, gres, features = drawn.choices(kinds, [6, 3, 2, 1])[0]
            self.gpus[node] = int(gres[-1:] or 0)
            self.nodes[node] = f"CPUs={cpus} RealMemory={memory} Feature={features} Weight={drawn.choice([1, 1, 5])}" + \
                (f" Gres={gres}" if gres else "")
        self.kind = drawn.choice(["CR_CPU_Memory", "CR_Core_Memory", "CR_CPU"])
        self.partitions = {"all": (NODES, "")}
        for name in ("one", "two"):
            limit = drawn.choice(["", "MaxNodes=3", "MaxTime=30", "OverSubscribe=EXCLUSIVE", "PriorityTier=5", "MinNodes=2", "MaxMemPerNode=500"])
            self.partitions[name] = (sorted(drawn.sample(NODES, drawn.randint(3, 10))), limit)

    def settings(self):
        lines = [f"SelectTypeParameters={self.kind}", "Licenses=tool:2", "PreemptType=preempt/none"]
        return lines + [f"PartitionName={name} Nodes={','.join(nodes)} State=UP {limit}" + (" Default=YES" if name == "all" else "")
                        for name, (nodes, limit) in self.partitions.items()]

    def gres(self, folder):
        """Each node declares as many GPUs as it has."""
        lines = [f"NodeName={node} Name=gpu File={folder}/dev/gpu[0-{gpus - 1}]" for node, gpus in self.gpus.items() if gpus]
        return "\n".join(lines) + "\n"

    def job(self):
        drawn, options = self.drawn, []
        asked = drawn.choice(["nodes", "nodes", "tasks", "gpus", "per task"])
        if asked == "nodes":
            least = drawn.randint(2, 5)
            options += ["-N", drawn.choice([f"{least}", f"{least}-{least + 2}"]), f"--gres=gpu:{drawn.choice([1, 2, 4, 8])}"]
        elif asked == "tasks":
            per_node = drawn.choice([1, 4, 8])
            options += ["-n", str(per_node * drawn.randint(2, 4)), f"--ntasks-per-node={per_node}", f"--gpus-per-node={drawn.choice([2, 4, 8])}"]
        elif asked == "gpus":
            options += [f"--gpus={drawn.choice([12, 16, 24])}"]
        else:
            options += ["-n", str(drawn.randint(2, 5)), f"--gpus-per-task={drawn.choice([2, 4, 8])}"]
        more = [["-p", drawn.choice(["one", "two", "one,two"])], ["-C", drawn.choice(["ndr", "hdr|ndr", "fat", "ndr&fat", "[ndr*1&hdr*1]"])],
                [drawn.choice(["--mem=200M", "--mem=590M", "--mem-per-cpu=10M", "--mem=0"])], ["-c", str(drawn.choice([2, 8]))],
                ["-t", drawn.choice(["10", "60"])], ["-L", "tool:1"], ["--exclusive"], ["-x", ",".join(drawn.sample(NODES, 3))],
                ["--nice=100"], ["--no-requeue"], ["--overcommit"], ["--signal=B:USR1@60"]]
        for one, likely in zip(more, [.5, .4, .4, .2, .3, .05, .15, .05, .1, .1, .1, .1]):
            options += one if drawn.random() < likely else []
        if "--overcommit" in options and "one,two" in options and options[0] == "-n":
            # slurmctld 22.05 itself aborts where it looks for nodes for one of these in its second partition (sbatch --hold, release).
            options.remove("--overcommit")
        return options + ["--account=research"]

    def fillers(self):
        """Jobs that hold parts of the nodes: where they are told to, or placed by Railweave."""
        drawn = self.drawn
        held = []
        for node in drawn.sample(NODES, drawn.randint(0, 9)):
            gpus = drawn.choice([0, 1, 4, 8])
            held.append(["-N1", "-w", node, "-c", str(drawn.choice([1, 8, 16])), f"--mem={drawn.choice([10, 200])}M"] +
                        ([f"--gres=gpu:{gpus}"] if 0 < gpus <= self.gpus[node] else []))
        return held + [["-N2", f"--gres=gpu:{drawn.choice([2, 4])}", "--mem=50M", "--account=research"] for _ in range(drawn.randint(0, 2))]


class Fault:
    """Something of ours, or slurmctld, that fails before the job is submitted. end(): all is as before."""

    KINDS = ["none"] * 10 + ["operator killed", "service killed", "service hung", "slurmctld restarted", "both killed"]

    def __init__(self, cluster, kind):
        self.cluster, self.kind = cluster, kind
        if kind in ("operator killed", "both killed"):
            cluster.end(signal.SIGKILL)
        if kind in ("service killed", "both killed"):
            cluster.service.kill()
        if kind == "service hung":
            cluster.service.process.send_signal(signal.SIGSTOP)
        if kind == "slurmctld restarted":
            cluster.slurm.restart_controller()

    def limit(self):
        return SOON if self.kind in ("none",) else GRACE + 2 * SOON

    def end(self):
        if self.kind in ("service killed", "both killed"):
            self.cluster.service.start()
        if self.kind == "service hung":
            self.cluster.service.process.send_signal(signal.SIGCONT)
        if self.kind in ("operator killed", "both killed"):
            self.cluster.start()


class Counts:
    def __init__(self):
        self.both = self.neither = self.refused = self.with_only = 0
        self.placed = self.left = 0
        self.faults = {}


def trial(cluster, site, counts, name):
    drawn = site.drawn
    drained = drawn.sample(NODES, drawn.randint(0, 2))
    fillers, options, kind = site.fillers(), site.job(), drawn.choice(Fault.KINDS)
    for node in drained:
        cluster.slurm.run("scontrol", "update", f"nodename={node}", "state=drain", "reason=trial")
    running = []
    for filler in fillers:
        try:
            running.append(cluster.submit(*filler))
        except AssertionError:
            continue  # this site's Slurm has no such node
    deadline = time.monotonic() + GRACE + SOON
    while time.monotonic() < deadline and any(cluster.state(job) == "PENDING" for job in running):
        time.sleep(0.2)
    waiting = [job for job in running if cluster.state(job) == "PENDING"]
    cluster.over(*waiting)
    with cluster.marking_nothing():
        alone = cluster.begun(options, ALONE)
    if alone is None:
        counts.refused += 1
    else:
        fault = Fault(cluster, kind)
        both = cluster.begun(options, fault.limit())
        fault.end()
        what = f"{name}: {' '.join(options)}; fault: {kind}; in use {fillers}, drained {drained}"
        assert both is not None, f"{what}: refused with Railweave alone"
        if alone[0] is not None:
            assert both[0] is not None, f"{what}\n{alone[1]['text']}\n{both[1]['text']}\n{cluster.log()[-3000:]}"
            counts.both += 1
            counts.faults[kind] = counts.faults.get(kind, 0) + 1
        else:
            counts.neither += both[0] is None
            counts.with_only += both[0] is not None
        took = ["never" if one[0] is None else f"{one[0]:.1f} s" for one in (alone, both)]
        print(f"{name}: {' '.join(options)}; {kind}: alone {took[0]}, with Railweave {took[1]}; {both[1]['mark'][:70]}", flush=True)
        counts.placed += both[1]["mark"].startswith("railweave: job-")
        counts.left += "left to Slurm" in both[1]["mark"]
    cluster.over(*[job for job in running if job not in waiting])
    wait_for(lambda: not cluster.held(), lambda: f"{name}: nothing is held\n{cluster.log()[-2000:]}", 60)
    for node in drained:
        cluster.slurm.run("scontrol", "update", f"nodename={node}", "state=resume")


def main():
    numbers = [int(word) for word in sys.argv[2:]]
    trials, first, seeds = numbers + [8, 20, 1][len(numbers):]
    counts = Counts()
    for seed in range(first, first + seeds):
        site = Site(random.Random(seed))

        def trials_of(cluster, seed=seed, site=site):
            for number in range(trials):
                trial(cluster, site, counts, f"seed {seed} trial {number}")

        code = run(f"seed {seed}", trials_of, settings=site.settings(), node_settings=site.nodes, gres=site.gres)
        if code:
            return code
        print(f"up to seed {seed}: {counts.both} jobs that Slurm alone began at once began with Railweave too, none later ({counts.placed} placed by it, "
              f"{counts.left} left to Slurm), {counts.with_only} with Railweave only, {counts.neither} with neither, {counts.refused} refused by Slurm; "
              f"by fault {counts.faults}", flush=True)
    assert counts.placed > 0 and counts.both > 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
