#!/usr/bin/env python3
"""What becomes of each option of sbatch: the same job by Slurm alone and with Railweave. Options are those that `sbatch --help` of the Slurm
here has, so that none is forgotten; the table of services/slurm/README.md is what was seen.

slurm_options_test.py BIN_FOLDER [--rewrite]
"""
import re
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from slurm import wait_for  # noqa: E402
from slurm_cluster import NODES, ROOT, run  # noqa: E402

README = ROOT / "services" / "slurm" / "README.md"
BEGIN, END = "<!-- options: written by tests/integration/slurm_options_test.py BIN --rewrite -->\n", "<!-- end of options -->\n"
TOGETHER = 5
SOON = 9  # below the grace period of the tests
# An option's value; None: it has none. Several words: more options that it needs.
VALUES = {
    "account": "research", "acctg-freq": "30", "array": "1-2", "batch": "ndr", "bb": "capacity=1G", "bbf": "/dev/null", "begin": "now+1hour", "clusters": "test",
    "cluster-constraint": "ndr", "comment": "mine", "constraint": "ndr", "container": "/bundle", "contiguous": None, "core-spec": "1", "cores-per-socket": "1",
    "cpu-freq": "high", "cpus-per-gpu": "2", "cpus-per-task": "2", "deadline": "now+5hours", "delay-boot": "10", "dependency": "singleton", "chdir": "/tmp",
    "distribution": "cyclic", "error": "/dev/null", "exclude": NODES[0], "exclusive": None, "export": "NONE", "export-file": "/dev/null", "extra-node-info": "1:1:1", "get-user-env": None,
    "gid": "0", "gpu-bind": "closest", "gpu-freq": "high", "gpus": "4", "gpus-per-node": "2", "gpus-per-socket": "1 --sockets-per-node=1", "gpus-per-task": "1",
    "gres": "gpu:2", "gres-flags": "disable-binding", "hint": "nomultithread", "hold": None, "ignore-pbs": None, "input": "/dev/null", "job-name": "mine", "kill-on-invalid-dep": "yes",
    "licenses": "code", "mail-type": "NONE", "mail-user": "root", "mcs-label": "x", "mem": "20M", "mem-bind": "local", "mem-per-cpu": "5M", "mem-per-gpu": "5M",
    "mincpus": "2", "network": "none", "nice": "5", "no-kill": None, "no-requeue": None, "nodefile": None, "nodelist": ",".join(NODES[2:4]), "nodes": "2",
    "ntasks": "4", "ntasks-per-core": "1", "ntasks-per-gpu": "1", "ntasks-per-node": "2", "ntasks-per-socket": "1", "open-mode": "append", "output": "/dev/null",
    "overcommit": None, "oversubscribe": None, "parsable": None, "partition": "debug", "power": "level", "prefer": "ndr", "priority": "500", "profile": "none",
    "propagate": "NOFILE", "qos": "normal", "quiet": None, "reboot": None, "requeue": None, "reservation": "mine", "signal": "USR1@60", "sockets-per-node": "1",
    "spread-job": None, "switches": "1", "test-only": None, "thread-spec": "1", "threads-per-core": "1", "time": "30", "time-min": "10 --time=30", "tmp": "1",
    "uid": "0", "use-min-nodes": None, "verbose": None, "wait-all-nodes": "1", "wckey": "x", "tres-per-task": "cpu=2", "tres-bind": "gres/gpu:closest"}
NOT_TRIED = {"help", "usage", "version", "quiet", "parsable", "verbose", "test-only", "wait", "wrap", "export", "nodefile"}  # about sbatch itself, or a value that makes no other job
# Fields that another job has otherwise, or that say where and when it runs.
OWN = {"JobId", "ArrayJobId", "ArrayTaskId", "StartTime", "EligibleTime", "AccrueTime", "SubmitTime", "LastSchedEval", "RunTime", "EndTime", "NodeList", "BatchHost",
       "ReqNodeList", "AdminComment", "Priority", "Reason", "JobState", "StdOut", "StdErr", "StdIn", "Scheduler", "SuspendTime", "AllocNode:Sid", "SecsPreSuspend", "Dependency",
       "Deadline", "MinTmpDiskNode", "ExcNodeList"}


def options_here(cluster):
    found = set(re.findall(r"--([a-z0-9-]+)", cluster.slurm.run("sbatch", "--help")))
    return sorted(name for name in found - NOT_TRIED if not name.startswith("railweave-"))


def words(option):
    value = VALUES[option]
    if value is None:
        return [f"--{option}"]
    first, *more = value.split(" ")
    return [f"--{option}={first}", *more]


def asked_for(option):
    gpus = [] if option in ("gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket", "gres") else ["--gres=gpu:1"]
    nodes = [] if option == "nodes" else ["-N2"]
    tasks = ["-n4"] if option == "gpus-per-task" else []
    memory = [] if option.startswith("mem-per") or option == "mem" else ["--mem=10M"]
    more = [] if option in ("time", "time-min") else ["-t60"]
    return [*nodes, *gpus, *tasks, *memory, *more, "-J", option, "--account=research", *words(option)]


def submit(cluster, option):
    """None: Slurm does not take it."""
    path = cluster.folder / "job.sh"
    path.write_text("#!/bin/sh\nsleep 600\n")
    done = subprocess.run(["sbatch", "--parsable", *([] if option in ("output", "error") else ["-o", "/dev/null"]), *asked_for(option), str(path)], env=cluster.environment, cwd=cluster.folder,
                          capture_output=True, text=True, timeout=60)
    found = re.search(r"^\d+", done.stdout, re.MULTILINE)
    return found and found[0] if done.returncode == 0 else None


def fields(one):
    text = one["text"].replace(one["mark"], "") if one["mark"] else one["text"]
    return {name: value for name, value in re.findall(r"(\S+?)=(\S*)", text) if name not in OWN}


def began(cluster, options, seconds):
    """Of each: its state, fields and mark once it runs, or when the time is over; None: Slurm does not take it. Some at a time, on nodes that have
    room for all of them."""
    seen = {}
    for at in range(0, len(options), TOGETHER):
        some = options[at:at + TOGETHER]
        jobs = {option: job + ("_1" if option == "array" else "") for option in some if (job := submit(cluster, option))}
        until = time.monotonic() + seconds
        while time.monotonic() < until and any(cluster.state(job) == "PENDING" for job in jobs.values()):
            time.sleep(0.2)
        for option in some:
            one = cluster.job(jobs[option]) if option in jobs else None
            seen[option] = one and {"state": one.get("JobState"), "mark": one["mark"], "text": one["text"],
                                    "fields": fields(one)}
        cluster.slurm.run("scancel", *[job.split("_")[0] for job in jobs.values()]) if jobs else None
        for job in jobs.values():
            wait_for(lambda job=job: cluster.state(job) in ("CANCELLED", "gone"), "it is over")
    return seen


def outcome(cluster, option, alone, one):
    """What Slurm alone made of it, and then with Railweave."""
    if alone is None:
        return "not taken by this Slurm"
    assert one, f"{option}: Slurm alone takes it, with Railweave it does not"
    assert one["state"] == "RUNNING" or alone["state"] != "RUNNING", f"{option}: Slurm alone began it at once\n{one['text']}\n{cluster.log()}"
    if one["state"] == "RUNNING":
        differ = {name: (value, one["fields"].get(name)) for name, value in alone["fields"].items() if value != one["fields"].get(name)}
        if option == "time-min":
            differ.pop("TimeLimit", None)  # Slurm chooses it between the two
        assert not differ, (option, differ)
    if alone["state"] != "RUNNING":
        assert "railweave: job-" not in one["mark"], (option, one)
        return "left to Slurm, which holds it back"
    if one["mark"].startswith("railweave: job-") and not re.search("Slurm began it|left to Slurm", one["mark"]):
        return "placed by Railweave, the option passed on"
    return "left to Slurm at once"


def by_slurm_alone(cluster, options):
    with cluster.marking_nothing():
        return began(cluster, options, 4)


def table(seen):
    kinds = {}
    for option, what in seen.items():
        kinds.setdefault(what, []).append(f"`--{option}`")
    return "| | options |\n|---|---|\n" + "".join(f"| {what} | {', '.join(names)} |\n" for what, names in sorted(kinds.items()))


def test(cluster):
    cluster.slurm.run("scontrol", "create", "PartitionName=debug", f"Nodes={','.join(NODES[12:])}", "State=UP")
    cluster.slurm.run("scontrol", "update", f"NodeName={','.join(NODES[:8])}", "AvailableFeatures=ndr", "ActiveFeatures=ndr")
    cluster.slurm.run("scontrol", "create", "reservation", "ReservationName=mine", "StartTime=now", "Duration=120", "Users=root", f"Nodes={','.join(NODES[10:12])}")
    time.sleep(11)  # rules are read every 10 s
    options = options_here(cluster)
    assert set(options) <= set(VALUES), f"options without a value to try: {set(options) - set(VALUES)}"
    alone = by_slurm_alone(cluster, options)
    beside = began(cluster, options, SOON)
    seen, broken = {}, []
    for option in options:
        try:
            seen[option] = outcome(cluster, option, alone[option], beside[option])
        except AssertionError as error:
            broken.append(str(error))
    assert not broken, "\n".join(broken)
    text = table(seen)
    print(text)
    readme = README.read_text()
    before, rest = readme.split(BEGIN)
    written, after = rest.split(END)
    if "--rewrite" in sys.argv:
        README.write_text(before + BEGIN + text + END + after)
    else:
        assert written == text, f"the README says otherwise; --rewrite writes what is seen\n{written}"


if __name__ == "__main__":
    sys.exit(run("options", test, settings=["Licenses=code:4"]))
