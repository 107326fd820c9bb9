#!/usr/bin/env python3
"""What railweave-slurm costs beside Slurm alone: jobs submitted at once to thousands of virtual nodes, which slurmctld knows of and no
slurmd serves. Prints for each of the two when jobs began after their submission, and how much railweave-slurm did for each.

slurm_overhead.py BIN_FOLDER [--nodes 4096] [--jobs 300] [--size 2]
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from service import Service  # noqa: E402
from slurm import Slurm, missing, wait_for  # noqa: E402

GRACE = 600


def quantiles(values):
    values = sorted(values)
    return f"p50 {values[len(values) // 2]:.1f}, p99 {values[min(len(values) - 1, len(values) * 99 // 100)]:.1f}"


def submit_all(slurm, options):
    """When each job was submitted and began, by job: clocks of this process, read every 0.2 s."""
    script = slurm.folder / "job.sh"
    script.write_text("#!/bin/sh\nsleep 600\n")
    submitted, began = {}, {}

    def look():
        now = time.monotonic()
        for line in slurm.run("squeue", "-h", "-o", "%A %t").splitlines():
            job, state = line.split()
            if state != "PD":
                began.setdefault(job, now)

    first = time.monotonic()
    for _ in range(options.jobs):
        done = slurm.run("sbatch", "--parsable", "-N", str(options.size), "--exclusive", "--account=research", "-o", "/dev/null", str(script))
        submitted[done.strip()] = time.monotonic()
    print(f"  {options.jobs} jobs of {options.size} nodes were submitted within {time.monotonic() - first:.1f} s")
    wait_for(lambda: look() or len(began) == len(submitted), lambda: f"{len(began)} of {len(submitted)} jobs began", 600, 0.2)
    return [began[job] - submitted[job] for job in submitted]


def measure(options, folder, with_railweave):
    folder.mkdir()
    settings = ["SelectType=select/linear", "SchedulerParameters=sched_min_interval=10000,bf_interval=1,sched_interval=3,default_queue_depth=1000",
                "MaxJobCount=50000"]
    if with_railweave:
        lua = (ROOT / "services" / "slurm" / "job_submit.lua").read_text()
        (folder / "job_submit.lua").write_text(lua.replace("grace_seconds = 120", f"grace_seconds = {GRACE}"))
        settings.append("JobSubmitPlugins=lua")
    slurm = Slurm(folder, [], "CPUs=8 RealMemory=1000", settings, virtual=f"node-[{1:0{len(str(options.nodes))}}-{options.nodes}]")
    slurm.begin()
    operator = None
    try:
        if not with_railweave:
            print("Slurm alone:")
            print(f"  seconds until a job began: {quantiles(submit_all(slurm, options))}")
            return
        print("with railweave-slurm:")
        with Service(options.bin / "railweaved") as service:
            fabric = folder / "fabric.json"
            subprocess.run([options.bin / "railweave", "lab", "generate", "fat-tree", "--hosts", str(options.nodes), "--radix", "64", "--nics-per-host", "1",
                            "--hosts-per-leaf", "32", "--tiers", "3", "-O", str(fabric)], check=True, capture_output=True)
            service.start()
            environment = dict(slurm.environment, RAILWEAVE_URL=f"http://127.0.0.1:{service.port}", PATH=f"{options.bin}:{os.environ['PATH']}")
            for words in (["fabric", "import", str(fabric)], ["tenants", "put", "research"]):
                subprocess.run([options.bin / "railweave", *words], env=environment, check=True, capture_output=True)
            log = folder / "operator.log"
            with open(log, "w") as out:
                operator = subprocess.Popen([options.bin / "railweave-slurm", "--gpus-per-node", "8", "--grace", str(GRACE), "--no-drains", "--patience", "600"],
                                            env=environment, stdout=out, stderr=out)
            print(f"  seconds until a job began: {quantiles(submit_all(slurm, options))}")
            operator.terminate()
            operator.wait(timeout=60)
            operator = None
            cycles = [tuple(map(int, found)) for found in re.findall(r": (\d+) placed, .* in (\d+) ms with (\d+) commands and (\d+) requests", log.read_text()) if int(found[0])]
            placed = sum(cycle[0] for cycle in cycles)
            assert placed == options.jobs, (placed, log.read_text()[-2000:])
            print(f"  ms of a cycle for each job that it placed: {quantiles([ms / count for count, ms, _, _ in cycles for _ in range(count)])}")
            print(f"  {len(cycles)} cycles; for each job {sum(cycle[2] for cycle in cycles) / placed:.2f} commands and "
                  f"{sum(cycle[3] for cycle in cycles) / placed:.2f} requests")
    finally:
        if operator:
            operator.kill()
            operator.wait()
        slurm.end()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=lambda text: Path(text).resolve())
    parser.add_argument("--nodes", type=int, default=4096)
    parser.add_argument("--jobs", type=int, default=300)
    parser.add_argument("--size", type=int, default=2)
    options = parser.parse_args()
    if lacking := missing():
        print(f"skipped: {', '.join(lacking)} not installed")
        return 77
    with tempfile.TemporaryDirectory(prefix="railweave-slurm-") as name:
        for with_railweave in (False, True):
            measure(options, Path(name) / ("railweave" if with_railweave else "alone"), with_railweave)
    return 0


if __name__ == "__main__":
    sys.exit(main())
