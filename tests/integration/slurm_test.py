#!/usr/bin/env python3
"""railweave-slurm beside Debian's own Slurm: a slurmctld and 16 slurmds on loopback, jobs submitted with sbatch. What Slurm
did is asked of Slurm, and of the ranks themselves; what Railweave holds is asked of Railweave.

slurm_test.py BIN_FOLDER topology|marker|placing|failing|ranks|drains
"""
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from service import Service  # noqa: E402
from slurm import wait_for  # noqa: E402
from slurm_cluster import BEGAN, BIN, GRACE, MARKER, NODES, PLUGIN, agrees, begin_slurm, railweave, run  # noqa: E402

# Each rank in turn of its number: where it runs and what it was given.
JOB = """#!/bin/sh
set -e
id=$(squeue -h -j "$SLURM_JOB_ID" -O admin_comment:200 | sed -n 's/^railweave: \\(job-[0-9]*\\) on .*/\\1/p')
railweave jobs ranks "$id" --format slurm --with-script > hosts.$SLURM_JOB_ID
railweave jobs ranks "$id" --format script > ranks.$SLURM_JOB_ID
SLURM_HOSTFILE=hosts.$SLURM_JOB_ID srun --distribution=arbitrary -n {ranks} --overlap --gres=none sh ranks.$SLURM_JOB_ID sh -c \\
  'echo "GOT $SLURM_PROCID $SLURMD_NODENAME $SLURM_LOCALID gpus=$CUDA_VISIBLE_DEVICES hca=$NCCL_IB_HCA"'
"""


def test_topology(folder):
    """scontrol's tree is the fabric's: who shares an NVLink domain, a leaf group, a network."""
    fabric = folder / "fabric.json"
    with Service(BIN / "railweaved") as service:
        railweave(None, "lab", "generate", "fat-tree", "--hosts", "16", "--radix", "8", "--nics-per-host", "1", "-O", str(fabric))
        service.start()
        railweave(service, "fabric", "import", str(fabric))
        text = railweave(service, "fabric", "export", "slurm", "--format", "topology.conf", "--plugin", "tree")
        assert text == railweave(service, "fabric", "export", "slurm"), "the same again"
        assert text == railweave(None, "lab", "convert", str(fabric), "--to", "topology.conf")
    (folder / "topology.conf").write_text(text)
    slurm = begin_slurm(folder, ["TopologyPlugin=topology/tree"])
    try:
        told = {}
        for line in slurm.run("scontrol", "show", "topology").splitlines():
            fields = dict(word.split("=", 1) for word in line.split())
            told[fields["SwitchName"]] = (int(fields["Level"]), slurm.run("scontrol", "show", "hostnames", fields["Nodes"]).split())
        # The oracle reads the fabric's own links: leaves are who shares a switch.
        native = json.loads(fabric.read_text())
        first = len(native["switches"])
        leaf_of = {}
        for a, _, b, _, _ in native["links"]:
            if max(a, b) >= first > min(a, b):
                leaf_of[max(a, b) - first] = min(a, b)
        leaves = {}
        for number, host in enumerate(native["hosts"]):
            leaves.setdefault(leaf_of[number], []).append(host["name"])
        assert len(leaves) > 1
        assert sorted(nodes for level, nodes in told.values() if level == 0) == sorted(leaves.values()), (told, leaves)
        top = max(level for level, _ in told.values())
        assert [nodes for level, nodes in told.values() if level == top] == [NODES], told
        for names in (["n9", "n010"], ["a1", "b1", "b2", "login", "a2"], ["n8", "n9", "n10"], ["n08", "n09", "n10"], NODES):
            written = slurm.run("scontrol", "show", "hostlist", ",".join(names)).strip()
            assert slurm.run("scontrol", "show", "hostnames", written).split() == names
        slurm.processes[NODES[3]].send_signal(signal.SIGSTOP)  # one that does not end when it is told
    finally:
        began, processes = time.monotonic(), list(slurm.processes.values())
        slurm.end(5)
    assert time.monotonic() - began < 40 and len(processes) == 18 and all(process.poll() is not None for process in processes)
    print(f"Slurm reads {len(told)} switches as the fabric has them")


def test_marker(folder):
    """The plugin marks the jobs that the Lua file marks, with the same grace period and the same options in their comments."""
    submissions = [["-N2"], ["-N1"], [], ["-N2-4"], ["-N3", "-w", NODES[0]], ["-N3", "-x", NODES[0]], ["-N2", "--begin=now+1hour"], ["-N2", "-H"], ["-N2", "--comment", "mine"],
                   ["-N2", "--railweave-tp=8"], ["-N2", "--railweave-tp=8", "--railweave-qos=gold", "--comment", "mine"],
                   ["-N2", "--railweave-pp=2", "--comment", "railweave: tp=4"], ["-N1", "--railweave-tp=8"],
                   ["-N2", "--railweave-checkpointable", "--railweave-tolerate=pool=inference"],
                   ["-N1", "--gres=gpu:8", ":", "-N2", "--gres=gpu:8"], ["-N1", ":", "-N1", "--gres=gpu:1"],
                   # Several nodes by other words, and what a time to begin would make fail.
                   ["-n16", "--ntasks-per-node=8"], ["-n8", "--ntasks-per-node=8"], ["--gpus=16"], ["--gpus=8"], ["-n2", "--gpus-per-task=8"], ["-n2", "--gpus-per-task=4"],
                   ["-N2", "--deadline=now+1hour", "-t", "1"]]
    os.environ["RAILWEAVE_GRACE"] = str(GRACE)
    slurm = begin_slurm(folder)
    where = slurm.run("sinfo", "--version").strip()
    own = re.search(r"PluginDir\s*= (\S+)", slurm.run("scontrol", "show", "config"))[1]
    (folder / "job.sh").write_text("#!/bin/sh\nsleep 600\n")

    def marks():
        found = []
        for options in submissions:
            job = slurm.run("sbatch", "--parsable", "-o", "/dev/null", *options, str(folder / "job.sh")).strip()
            text = slurm.run("scontrol", "show", "job", job)
            times = [dict(re.findall(r"(SubmitTime|EligibleTime)=(\S+)", part)) for part in text.split("\n\n") if "JobId=" in part]
            parse = lambda text: time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))
            seconds = [round(parse(one["EligibleTime"]) - parse(one["SubmitTime"])) if one["EligibleTime"] != "Unknown" else None for one in times]
            # Slurm takes the two times one after the other: the second may pass between them.
            waits = [next((exact for exact in (0, GRACE) if one is not None and abs(one - exact) <= 1), one) for one in seconds]
            found.append((options, re.findall(r"^ +AdminComment=(.*?) *$", text, re.MULTILINE), re.findall(r"^ +Comment=(.*?) *$", text, re.MULTILINE), waits))
            slurm.run("scancel", job)
        return found

    try:
        by_lua = marks()
        controller = slurm.processes.pop("slurmctld")
        controller.terminate()
        controller.wait(timeout=60)
        conf = folder / "slurm.conf"
        conf.write_text(conf.read_text().replace("JobSubmitPlugins=lua", f"JobSubmitPlugins=railweave\nPluginDir={own}:{MARKER.parent}"))
        slurm.launch("slurmctld", "slurmctld", "-D")
        wait_for(lambda: slurm.run("sinfo", "-h", code=None), "slurmctld answers")
        assert "job_submit/railweave" in slurm.run("scontrol", "show", "config") or "= railweave" in slurm.run("scontrol", "show", "config")
        by_plugin = marks()
    finally:
        slurm.end()
        del os.environ["RAILWEAVE_GRACE"]
    # Slurm's Lua does not see a deadline.
    assert by_plugin.pop()[1] == [] and by_lua.pop()[0][1].startswith("--deadline")
    for lua, plugin in zip(by_lua, by_plugin, strict=True):
        assert lua == plugin, (lua, plugin)
    marked = [options for options, mark, _, _ in by_lua if mark]
    assert len(marked) == 12, marked
    assert by_lua[10][2] == ["mine railweave: tp=8 class=gold"] and by_lua[0][3] == [GRACE], by_lua
    print(f"{where}: the plugin marks {len(submissions)} kinds of submissions as the Lua file does, {len(marked)} of them for Railweave")


def test_placing(cluster):
    # Four jobs of two tenants, each on the nodes that were chosen, ranks in order.
    began = time.monotonic()
    jobs = [cluster.submit("-N", str(nodes), "--gres=gpu:8", "-t", "10", f"--account={tenant}", "--comment", comment, "--exclusive",
                           f"--ntasks={nodes * 8}", script=JOB.format(ranks=nodes * 8) + "sleep 600\n")
            for tenant, nodes, comment in (("research", 4, "railweave: tp=8 pp=2"), ("physics", 2, "railweave: tp=4"), ("research", 2, ""),
                                           ("physics", 5, "railweave: tp=8 pp=5"))]
    placed = {job: agrees(cluster, job) for job in jobs}
    print(f"four jobs began within {time.monotonic() - began:.1f} s")
    everyone = [node for nodes in placed.values() for node in nodes]
    assert len(set(everyone)) == len(everyone), "two jobs on one node"
    for job, nodes in placed.items():
        wanted = cluster.service.request("GET", f"/v1/jobs/{cluster.held()[job + '.0']}/ranks")[2]["items"]
        assert len(wanted) == 8 * len(nodes)
        out = cluster.folder / f"out.{job}.4294967294"
        got = wait_for(lambda: out.exists() and len(found := re.findall(r"GOT (\d+) (\S+) (\d+) gpus=(\S*) hca=(\S*)", out.read_text())) == len(wanted) and found,
                       lambda: f"the ranks of job {job}\n{out.exists() and out.read_text()}")
        ranks = {int(rank): rest for rank, *rest in got}
        for one in wanted:
            node, local, gpus, _ = ranks[one["rank"]]
            assert node == one["node"] and int(gpus.split(",")[int(local)]) == one["gpu"], (one, ranks[one["rank"]])
    # What does not fit shows why; when room is there, it begins.
    large = cluster.submit("-N", "6", "--gres=gpu:8", "--account=research")
    mark = wait_for(lambda: "waits: " in (mark := cluster.job(large)["mark"]) and mark, "a reason")
    assert "GPU" in mark and large in cluster.slurm.run("squeue", "-h", "-t", "PD", "-O", "JobArrayID,admin_comment:120"), mark
    refused = cluster.submit("-N", "2", "--gres=gpu:8", "--account=research", "--comment", "railweave: guarantee=100")
    mark = wait_for(lambda: "waits: " in (mark := cluster.job(refused)["mark"]) and mark, "a reason")
    assert "contract" in mark, mark
    nonsense = cluster.submit("-N", "2", "--gres=gpu:8", "--account=research", "--comment", "railweave: tp=3")
    mark = wait_for(lambda: "waits: " in (mark := cluster.job(nonsense)["mark"]) and mark, "a reason")
    assert "does not divide" in mark, mark
    time_waited = time.monotonic()
    wait_for(lambda: time.monotonic() - time_waited > GRACE + 3, "the grace period", GRACE + 10)
    assert {cluster.state(job) for job in (large, refused, nonsense)} == {"PENDING"}, "who waits for a reason does not begin by itself"
    cluster.slurm.run("scancel", jobs[0], refused, nonsense)
    agrees(cluster, large)
    cluster.cancel(*jobs[1:], large)
    # Arrays, requeues, nodes that are drained.
    array = cluster.submit("-N", "3", "--gres=gpu:8", "--account=research", "--array=1-3")
    tasks = [f"{array}_{n}" for n in (1, 2, 3)]
    nodes = [node for task in tasks for node in agrees(cluster, task)]
    assert len(set(nodes)) == 9, nodes
    cluster.cancel(array)
    job = cluster.submit("-N", "4", "--gres=gpu:8", "--account=research", "--requeue")
    nodes = agrees(cluster, job)
    cluster.slurm.run("scontrol", "update", f"nodename={nodes[0]}", "state=drain", "reason=test")
    cluster.slurm.run("scontrol", "requeue", job)
    wait_for(lambda: f"{job}.1" in cluster.held(), f"the requeued job is placed again\n{cluster.log()}", 60)
    again = agrees(cluster, job, 1)
    assert nodes[0] not in again and f"{job}.0" not in cluster.held(), (nodes, again)
    # A node that fails takes its job with it; it comes back elsewhere.
    cluster.slurm.end_one(again[0])
    cluster.slurm.run("scontrol", "update", f"nodename={again[0]}", "state=down", "reason=test")
    wait_for(lambda: f"{job}.2" in cluster.held(), f"placed again after a node failed\n{cluster.log()}", 60)
    third = agrees(cluster, job, 2)
    assert not {nodes[0], again[0]} & set(third), third
    # Jobs of one node are Slurm's, and their GPUs are no longer free for others.
    single = cluster.submit("-N", "1", "--gres=gpu:8")
    wait_for(lambda: f"{single}.0" in cluster.held(), f"a job that Slurm placed is adopted\n{cluster.log()}")
    assert cluster.placement(f"{single}.0") == cluster.nodes(cluster.job(single)["NodeList"])
    cluster.cancel(job, single)
    # Who names nodes or a time is not marked; what cannot be placed is left to Slurm and begins at once.
    own = [cluster.submit("-N", "2", "--gres=gpu:8", *option) for option in (["-w", ",".join(third[:2])], ["--begin=now+1hour"], ["-H"])]
    assert [cluster.job(job)["mark"] for job in own] == ["", "", ""]
    left = [cluster.submit("-N", "2", "--gpus=3")]
    began = time.monotonic()
    for job in left:
        # Where Slurm began it before it was looked at, it is adopted.
        text = cluster.wait(job, "RUNNING")["text"]
        assert "left to Slurm" in text or "where Slurm began it" in text, text
    assert time.monotonic() - began < GRACE
    cluster.cancel(*own, *left)
    # A node that other work fills, of which Railweave knows nothing, is passed over.
    idle = [node for node in NODES if node not in (nodes[0], again[0])]
    other = cluster.submit("-N", "1", "--exclusive", "-w", idle[0])
    cluster.wait(other, "RUNNING")
    job = cluster.submit("-N", str(len(idle) - 1), "--gres=gpu:8", "--account=research")
    assert sorted(agrees(cluster, job)) == idle[1:]


SHOW = """/bin/sh -c 'echo "GOT $SLURM_PROCID $SLURMD_NODENAME $SLURM_LOCALID $(env | grep -E "^(RAILWEAVE|NCCL|UCX|NVSHMEM|MC_|MORI|UCCL|ROCSHMEM|EP_|CUDA|MASTER|RANK|WORLD|LOCAL_RANK|SLURM_HOSTFILE|SLURM_RAILWEAVE)" | sort | tr "\\n" " ")"'"""


def tasks(cluster, job, count, file=None):
    """What each task of a step printed: by its number, node, local number and environment."""
    out = file or cluster.folder / f"out.{job}.4294967294"
    lines = wait_for(lambda: out.exists() and len(found := [line.split()[1:] for line in out.read_text().splitlines() if line.startswith("GOT ")]) >= count and found,
                     f"{count} tasks of job {job}\n{cluster.log()}")
    told = {int(rank): (node, int(local), dict(word.split("=", 1) for word in words)) for rank, node, local, *words in lines}
    assert sorted(told) == list(range(count)) and len(lines) == count, lines
    return told


def rename(path):
    """Nodes whose names are not in the order of the cables, so that Slurm's order, by name, is not the fabric's."""
    names = list(NODES)
    random.Random(7).shuffle(names)
    path.write_text(re.sub(r"node-(\d\d)\b", lambda found: names[int(found[1]) - 1], path.read_text()))


def test_ranks(cluster):
    """A plain srun: its tasks are where Railweave's ranks are, and have their settings."""
    shapes = [("research", 6, ["--railweave-tp=8", "--railweave-pp=3"]), ("physics", 3, ["--railweave-tp=4"]),
              ("research", 2, ["--railweave-tp=8", "--railweave-pp=2", "--comment", "mine"]),
              ("physics", 5, ["--railweave-tp=2", "--railweave-pp=4", "--railweave-dp=5"])]
    # Ranks of one tenant have a class, which every library is told in names of its own.
    railweave(cluster.service, "contracts", "set", "physics", "--guaranteed", "1", "--class", "all-reduce")
    jobs = [cluster.submit("-N", str(nodes), "--gres=gpu:8", f"--account={tenant}", "--exclusive", "--ntasks-per-node=8", *options,
                           script=f"#!/bin/sh\nsrun {SHOW}\nsrun -n {nodes} --ntasks-per-node=1 --export=NONE {SHOW} > each.$SLURM_JOB_ID\nsleep 600\n")
            for tenant, nodes, options in shapes]
    shuffled = 0
    for job, (tenant, nodes, options) in zip(jobs, shapes):
        placed = agrees(cluster, job)
        shuffled += placed != sorted(placed)
        id_ = cluster.held()[f"{job}.0"]
        wanted = cluster.service.request("GET", f"/v1/jobs/{id_}/ranks?limit=1000")[2]["items"]
        # The oracle is the list of ranks with their environment, which the plugin does not read.
        lines = [line.split() for line in cluster.service.request("GET", f"/v1/jobs/{id_}/ranks?format=nccl")[2].splitlines() if line[0] != "#"]
        assert len(lines) == len(wanted) == nodes * 8
        told = tasks(cluster, job, nodes * 8)
        for one, (rank, node, gpu, *settings) in zip(wanted, lines):
            where, local, environment = told[one["rank"]]
            assert where == one["node"] == node == environment["RAILWEAVE_NODE"], (one, told[one["rank"]])
            assert int(environment["CUDA_VISIBLE_DEVICES"].split(",")[local]) == one["gpu"] == int(gpu)
            assert settings, "NCCL's settings"
            marks = {environment.get(name, "-") for name in ("NCCL_IB_SL", "UCX_IB_SL", "NVSHMEM_IB_SL", "MC_IB_SL", "UCCL_IB_SL", "MORI_RDMA_SL")}
            assert (marks == {"-"}) == (tenant == "research") and len(marks) == 1, (tenant, marks)
            assert ("RAILWEAVE_OUTSIDE_CLASS" in environment) == (tenant == "physics")
            assert all(environment.get(name) == value for name, value in (setting.split("=", 1) for setting in settings)), (environment, settings)
            assert (environment["RANK"], environment["WORLD_SIZE"], environment["LOCAL_RANK"]) == (rank, str(nodes * 8), str(local))
            assert environment["MASTER_ADDR"] == wanted[0]["node"] and environment["RAILWEAVE_JOB"] == id_
            assert not {"SLURM_HOSTFILE", "SLURM_RAILWEAVE_RANKS"} & set(environment), environment
        # One task for each node, as torchrun is started: in the order of first ranks, without the job's environment, too.
        each = tasks(cluster, job, nodes, cluster.folder / f"each.{job}")
        assert [each[n][0] for n in range(nodes)] == placed, (each, placed)
        assert all("NCCL_IB_HCA" in environment for _, _, environment in each.values())
        spec = cluster.service.request("GET", f"/v1/jobs/{id_}")[2]["spec"]["parallelism"]
        asked = dict(option.removeprefix("--railweave-").split("=") for option in options if option.startswith("--railweave-"))
        names = {"tp": "tensor", "pp": "pipeline", "dp": "data"}
        assert all(spec[names[name]] == int(value) for name, value in asked.items()), (spec, asked)
    assert shuffled, "no job whose order is other than Slurm's: this shows nothing"
    print(f"{len(jobs)} jobs in rank order, {shuffled} of them on nodes that Slurm would have sorted")
    assert "Comment=mine railweave: " in cluster.job(jobs[2])["text"]
    # Who chooses nodes or an order, or does not want the ranks, has what Slurm does.
    first = agrees(cluster, jobs[0])
    own = cluster.slurm.run("srun", f"--jobid={jobs[0]}", "--overlap", "-N1", "-n1", "-w", first[1], "sh", "-c", "echo $SLURMD_NODENAME").split()
    assert own == [first[1]], own
    cluster.cancel(*jobs)
    off = cluster.submit("-N", "2", "--gres=gpu:8", "--account=research", "--ntasks-per-node=8",
                         script=f"#!/bin/sh\nRAILWEAVE_RANKS=off srun {SHOW}\nsrun -n 3 {SHOW} > three.$SLURM_JOB_ID\nsleep 600\n")
    agrees(cluster, off)
    assert all("RAILWEAVE_NODE" not in environment for _, _, environment in tasks(cluster, off, 16).values())
    assert all("RANK" not in environment and "NCCL_IB_HCA" in environment
               for _, _, environment in tasks(cluster, off, 3, cluster.folder / f"three.{off}").values()), "Slurm's order, Railweave's settings"
    cluster.cancel(off)
    # Nonsense is refused where it is written; a guarantee without a contract is shown as the reason.
    done = subprocess.run(["sbatch", "-N", "2", "--railweave-tp=0", "--wrap", "true"], env=cluster.environment, cwd=cluster.folder, capture_output=True, text=True)
    assert done.returncode != 0 and "number from 1 on" in done.stderr, done
    done = subprocess.run(["sbatch", "-N", "2", "--railweave-tolerate=a=b=c", "--wrap", "true"], env=cluster.environment, cwd=cluster.folder, capture_output=True, text=True)
    assert done.returncode != 0 and "the key of a taint, or KEY=VALUE" in done.stderr, done
    says = cluster.submit("-N", "2", "--gres=gpu:8", "--account=research", "--railweave-checkpointable", "--railweave-tolerate=pool=inference")
    agrees(cluster, says)
    spec = cluster.service.request("GET", f"/v1/jobs/{cluster.held()[f'{says}.0']}")[2]
    assert spec["launcher"]["checkpointable"] and spec["spec"]["tolerations"] == [{"key": "pool", "value": "inference"}], spec
    cluster.cancel(says)
    refused = cluster.submit("-N", "2", "--gres=gpu:8", "--account=research", "--railweave-guarantee=100", "--railweave-qos=gold")
    mark = wait_for(lambda: "waits: " in (mark := cluster.job(refused)["mark"]) and mark, f"a reason\n{cluster.log()}")
    assert "contract" in mark, mark
    cluster.slurm.run("scancel", refused)
    # A job that Railweave did not place runs as without the plugin, Railweave away or not.
    cluster.end()
    cluster.service.kill()
    plain = cluster.submit("-N", "2", "--gres=gpu:8", "--begin=now", "-w", ",".join(NODES[:2]), "--ntasks-per-node=2", script=f"#!/bin/sh\nsrun {SHOW}\n")
    assert all("RAILWEAVE_NODE" not in environment for _, _, environment in tasks(cluster, plain, 4).values())


def test_drains(cluster):
    """Nodes out of use, in both directions; what a person did stays."""
    cluster.end()
    cluster.start("--trouble", "1", "--calm", "3")
    state = lambda node: cluster.slurm.run("sinfo", "-h", "-N", "-n", node, "-O", "StateLong:20,Reason:80").split(None, 1)
    drain_of = lambda node: cluster.service.request("GET", f"/v1/nodes/{node}")[2]["drain"]
    out, person, lost, cut = NODES[2], NODES[4], NODES[6], NODES[8]
    # A node that Railweave drains, and one whose link is taken out of use.
    railweave(cluster.service, "nodes", "drain", out, "--reason", "replace GPU 3")
    wait_for(lambda: state(out)[0] == "drained", f"drained in Slurm\n{cluster.log()}")
    assert state(out)[1].strip() == "railweave: replace GPU 3", state(out)
    node = cluster.service.request("GET", f"/v1/nodes/{cut}")[2]
    link = next(port["link"] for adapter in node["adapters"] for port in adapter["ports"] if port["link"])
    railweave(cluster.service, "links", "drain", link, "--force", "--reason", "dirty")
    wait_for(lambda: state(cut)[0] == "drained", f"drained in Slurm, as its link is out of use\n{cluster.log()}")
    job = cluster.submit("-N", "13", "--gres=gpu:8", "--account=research")
    assert not {out, cut} & set(agrees(cluster, job)), "the next job avoids them"
    cluster.cancel(job)
    # A person's drain in Slurm is known to Railweave; so is a node that fails.
    cluster.slurm.run("scontrol", "update", f"nodename={person}", "state=drain", "reason=bad fan")
    wait_for(lambda: (drain_of(person) or {}).get("reason") == "slurm: drained, bad fan", f"drained in Railweave\n{cluster.log()}")
    cluster.slurm.end_one(lost)
    wait_for(lambda: (drain_of(lost) or {}).get("reason", "").startswith("slurm: down"), f"a lost node is drained in Railweave\n{cluster.log()}", 90)
    # All of it is undone when the cause is gone.
    railweave(cluster.service, "nodes", "undrain", out)
    railweave(cluster.service, "links", "undrain", link)
    began = time.monotonic()
    wait_for(lambda: state(out)[0] == "idle" and state(cut)[0] == "idle", f"resumed\n{cluster.log()}")
    assert time.monotonic() - began > 2, "not before it is calm"
    cluster.slurm.run("scontrol", "update", f"nodename={person}", "state=resume")
    cluster.slurm.launch(lost, "slurmd", "-D", "-N", lost)
    wait_for(lambda: drain_of(person) is None and drain_of(lost) is None, f"in use again in Railweave\n{cluster.log()}", 90)
    # A reason that a person wrote over is a person's: Railweave's recovery does not resume the node. railweave-slurm is
    # started again meanwhile, and what was drained before is still known.
    railweave(cluster.service, "nodes", "drain", out, "--reason", "again")
    railweave(cluster.service, "nodes", "drain", cut, "--reason", "again")
    wait_for(lambda: state(out)[0] == "drained" and state(cut)[0] == "drained", f"drained again\n{cluster.log()}")
    cluster.slurm.run("scontrol", "update", f"nodename={out}", "state=drain", "reason=mine")
    cluster.end(signal.SIGKILL)
    cluster.start("--trouble", "1", "--calm", "3")
    railweave(cluster.service, "nodes", "undrain", out)
    railweave(cluster.service, "nodes", "undrain", cut)
    wait_for(lambda: state(cut)[0] == "idle", f"resumed\n{cluster.log()}")
    wait_for(lambda: (drain_of(out) or {}).get("reason") == "slurm: drained, mine", f"a person's, and so told to Railweave\n{cluster.log()}")
    assert [word.strip() for word in state(out)] == ["drained", "mine"], state(out)


def test_failing(cluster):
    # railweave-slurm killed again and again while jobs come: each begins once, where it is held, and none is lost.
    jobs = []
    for round_ in range(6):
        jobs.append(cluster.submit("-N", "2", "--gres=gpu:8", "--account=research", script=BEGAN))
        # At once; when Railweave holds the job, which Slurm may not know yet; when it is pinned.
        key = f"{jobs[-1]}.0"
        wait_for([lambda: True, lambda: key in cluster.held(), lambda: " on " in cluster.job(jobs[-1])["mark"]][round_ % 3], "a moment", every=0.001)
        cluster.end(signal.SIGKILL)
        cluster.start()
    everyone = [node for job in jobs for node in agrees(cluster, job)]
    assert len(set(everyone)) == len(everyone) == 12, everyone
    assert sorted(cluster.held()) == sorted(f"{job}.0" for job in jobs)
    for job in jobs:
        assert (cluster.folder / f"out.{job}.4294967294").read_text().count("BEGAN") == 1
        assert cluster.job(job)["Restarts"] == "0"
    cluster.cancel(*jobs)
    # slurmctld restarted while jobs come, run and wait: railweave-slurm waits for it, and no job begins twice or elsewhere.
    first = cluster.submit("-N", "2", "--gres=gpu:8", "--account=research", script=BEGAN)
    agrees(cluster, first)
    jobs = [cluster.submit("-N", "5", "--gres=gpu:8", "--account=research", script=BEGAN) for _ in range(3)]
    controller = cluster.slurm.processes.pop("slurmctld")
    controller.terminate()
    controller.wait(timeout=60)
    wait_for(lambda: "jobs begin by themselves" in cluster.log(), f"railweave-slurm says that Slurm does not answer\n{cluster.log()}")
    cluster.slurm.launch("slurmctld", "slurmctld", "-D")
    placed = [agrees(cluster, first)]
    wait_for(lambda: sum(cluster.state(job) == "RUNNING" for job in jobs) == 2, f"two of three jobs of 5 nodes begin\n{cluster.log()}", 120)
    running = [job for job in jobs if cluster.state(job) == "RUNNING"]
    placed += [agrees(cluster, job) for job in running]
    everyone = [node for nodes in placed for node in nodes]
    assert len(set(everyone)) == len(everyone) == 12, everyone
    last = next(job for job in jobs if job not in running)
    wait_for(lambda: "waits: " in cluster.job(last)["mark"], f"a reason\n{cluster.log()}")
    cluster.slurm.run("scancel", running[0])
    agrees(cluster, last)
    for job in [first, *jobs]:
        assert wait_for(lambda out=cluster.folder / f"out.{job}.4294967294": out.exists() and out.read_text(), "it began").count("BEGAN") == 1
    cluster.cancel(first, running[1], last)
    # Railweave gone: a job begins by itself; when it is back, the job's GPUs are held for it.
    cluster.service.kill()
    began = time.monotonic()
    job = cluster.submit("-N", "2", "--gres=gpu:8", "--account=research")
    cluster.wait(job, "RUNNING", GRACE + 20)
    took = time.monotonic() - began
    assert took >= GRACE - 1, f"it was marked, and began after {took} s"
    print(f"with Railweave away a job began after {took:.1f} s; the grace period is {GRACE} s")
    port = cluster.service.port
    cluster.service.start(port=port)
    wait_for(lambda: f"{job}.0" in cluster.held(), f"what began by itself is adopted\n{cluster.log()}", 90)
    assert sorted(cluster.placement(f"{job}.0")) == sorted(cluster.nodes(cluster.job(job)["NodeList"]))
    # railweave-slurm gone: the same; a job that ended meanwhile holds nothing any more.
    cluster.end(signal.SIGKILL)
    cluster.slurm.run("scancel", job)
    other = cluster.submit("-N", "2", "--gres=gpu:8", "--account=research")
    cluster.wait(other, "RUNNING", GRACE + 20)
    cluster.start()
    wait_for(lambda: list(cluster.held()) == [f"{other}.0"], f"only what runs is held\n{cluster.log()}")
    assert sorted(cluster.placement(f"{other}.0")) == sorted(cluster.nodes(cluster.job(other)["NodeList"]))
    cluster.cancel(other)


def main():
    part = sys.argv[2]
    if part == "ranks" and not PLUGIN.exists():
        print("skipped: the SPANK plugin is not built: no headers of Slurm (libslurm-dev)")
        return 77
    if part == "marker" and not (MARKER.exists() and PLUGIN.exists()):
        print("skipped: the plugins are not built: no headers of Slurm (libslurm-dev)")
        return 77
    if part in ("topology", "marker"):
        return run(part, None, plain={"topology": test_topology, "marker": test_marker}[part])
    if part == "ranks":
        return run(part, test_ranks, ("fat-tree", "--radix", "8", "--nics-per-host", "1"), rename)
    if part == "drains":
        return run(part, test_drains, judged=["listNodes", "listDrains", "drainNode", "undrainNode"])
    if part == "placing":
        # A node that was taken down stays down: with 2, 24.11 takes back one whose slurmd is dead and whose last step still speaks.
        return run(part, test_placing, settings=["ReturnToService=1"])
    return run(part, test_failing)


if __name__ == "__main__":
    sys.exit(main())
