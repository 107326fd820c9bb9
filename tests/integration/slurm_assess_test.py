#!/usr/bin/env python3
"""What a real slurmctld tells of its nodes and jobs, as JSON, and what `railweave assess` makes of it beside the fabric's file: GPUs
of each node, a running job that is spread and out of order, and what its environment tells NCCL. Neither a service nor railweave-slurm runs.

slurm_assess_test.py BIN_FOLDER     exit code 77: skipped, and why
"""
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from slurm import cannot_run, wait_for  # noqa: E402
from slurm_cluster import NODES, begin_slurm, railweave  # noqa: E402


def json_of(slurm, folder, name, *command):
    text = slurm.run(*command)
    (folder / name).write_text(text)
    return json.loads(text)


def judge(slurm, folder):
    # The fabric's cables without its GPUs: these are Slurm's to tell. Leaves are of four hosts, as the generator makes them.
    railweave(None, "lab", "generate", "fat-tree", "--radix", "8", "--hosts", "16", "--nics-per-host", "1", "--speed", "EDR",
              "--gpus-per-host", "0", "-O", str(folder / "fabric.json"))
    slurm.run("sbatch", "--gres=gpu:8", "-N4", "-w", f"{NODES[0]},{NODES[4]},{NODES[1]},{NODES[5]}", "-J", "train", "--output=/dev/null",
              "--export=ALL,NCCL_IB_DISABLE=1,NCCL_IB_HCA==mlx5_9", "--wrap", f"env > {folder}/env.part; mv {folder}/env.part {folder}/job.env; sleep 600")
    wait_for(lambda: "R" in slurm.run("squeue", "-h", "-o", "%t"), "the job runs")
    # Debian's scontrol has no --json yet; its sinfo lists the same nodes.
    current = "--json" in slurm.run("scontrol", "--help", code=None)
    nodes = json_of(slurm, folder, "nodes.json", *(("scontrol", "show", "nodes", "--json") if current else ("sinfo", "--json")))
    jobs = json_of(slurm, folder, "squeue.json", "squeue", "--json")
    assert len(nodes["nodes"]) == 16 and len(jobs["jobs"]) == 1
    sources = [str(folder / name) for name in ("fabric.json", "nodes.json", "squeue.json")]
    report = json.loads(railweave(None, "assess", *sources, "--json"))
    read_as = {source["file"].rsplit("/", 1)[-1]: source["read as"] for source in report["sources"]}
    assert read_as["nodes.json"] == "output of scontrol show nodes --json" and read_as["squeue.json"] == "output of squeue --json", read_as
    assert report["sections"]["fabric"]["gpus"] == 128, report["sections"]["fabric"]
    (job,) = report["sections"]["jobs"]["jobs"]
    assert (job["name"], job["hosts"], job["gpus"], job["unknownHosts"]) == ("train", 4, 32, 0), job
    assert job["leafGroups"] == 2 and job["fewestLeafGroups"] == 1, job
    assert "jobsStraddle" in [finding["code"] for finding in report["findings"]]
    environment_of(slurm, folder, sources)
    return job


def environment_of(slurm, folder, sources):
    """As the job's own process has it, and as its script alone says."""
    wait_for((folder / "job.env").is_file, "the job writes its environment")
    report = json.loads(railweave(None, "assess", *sources, str(folder / "job.env"), "--json"))
    found = {finding["code"]: finding for finding in report["findings"] if finding["code"].startswith("nccl")}
    assert sorted(found) == ["ncclNoAdapter", "ncclOverSockets"], found
    assert found["ncclNoAdapter"]["title"] == "NCCL_IB_HCA==mlx5_9 names no adapter that 4 hosts have", found["ncclNoAdapter"]
    assert "100 Gb/s" in found["ncclOverSockets"]["cost"], found["ncclOverSockets"]
    number = slurm.run("squeue", "-h", "-o", "%i").strip()
    assert all(one["objects"] == [f"job {number}"] and f"--jobid={number}" in one["command"] for one in found.values()), found
    # The command that a finding names shows what it says.
    shown = slurm.run("bash", "-c", found["ncclOverSockets"]["command"])
    assert "NCCL_IB_DISABLE=1" in shown, shown


def main():
    if code := cannot_run():
        return code
    with tempfile.TemporaryDirectory(prefix="railweave-slurm-") as name:
        slurm = begin_slurm(Path(name), ["SlurmdParameters=config_overrides"])
        try:
            job = judge(slurm, Path(name))
        finally:
            slurm.run("scancel", "-u", "root")
            slurm.end()
    print(f"a real slurmctld's nodes and job are read: {job}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
