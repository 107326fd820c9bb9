#!/usr/bin/env python3
"""Railweave's places beside those of other schedulers: mean time from submission to end in pairs on the same streams of jobs, by judges of
which two know nothing of Railweave's predictions. And GPUs in use where jobs ask for whole segments of NVLink domains. make bench-replay

replay.py BIN_FOLDER [SEEDS [JOBS]]     10 seeds of 1,000 jobs; on 5,004 nodes half as many seeds of 8 times as many jobs
"""
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FABRICS = {
    "64 HGX hosts (512 GPUs) on rails, 2:1": ["rail-optimized", "--hosts", "64", "--hosts-per-unit", "16", "--oversubscription", "2"],
    "8 NVL72 racks (576 GPUs)": ["rail-optimized", "--hosts", "144", "--nvlink-domain", "72"],
    "fat tree of 128 hosts with 2 GPUs, 3:1": ["fat-tree", "--hosts", "128", "--gpus-per-host", "2", "--nvlink-domain", "2", "--radix", "32",
                                               "--oversubscription", "3"],
}
PEERS = {"tree": "Slurm's tree", "block": "Slurm's blocks", "kep-best-fit": "Kueue's BestFit", "best-fit": "fullest node", "random": "random"}
JUDGES = ("predicted", "flows", "spread", "none")
SEGMENTED = ["rail-optimized", "--hosts", "5004", "--nvlink-domain", "72", "--radix", "144", "--tiers", "3"]


def run(binary, *words, unless=None):
    """What it prints; None: it ended with that in its error."""
    done = subprocess.run([binary, *words], capture_output=True, text=True, check=False)
    if unless is not None and done.returncode != 0 and unless in done.stderr:
        return None
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


def replay(binary, fabric, against, seeds, jobs, *options, policy="railweave-waits"):
    return json.loads(run(binary, "lab", "replay", "generated", "--fabric", str(fabric), "--policy", policy, "--against", against,
                          "--seeds", str(seeds), "--jobs", str(jobs), "-o", "json", *options))


def cell(judge, of="completionPercent"):
    sure = "" if judge["excludesZero"] else " (none)"
    return f"{judge[of]:+.1f} +-{judge['halfWidthPercent']:.1f}%{sure}"


def pairs(binary, fabric, said, peers, seeds, jobs, communication, policy="railweave-waits"):
    for peer, called in peers.items():
        told = replay(binary, fabric, peer, seeds, jobs, "--communication", communication, policy=policy)
        by = {judge["stretch"]: judge for judge in told["judges"]}
        print(f"| {said} | {called} |", " | ".join(cell(by[judge]) for judge in JUDGES), "|", flush=True)


def trial(binary, fabric, policy, seeds, jobs, communication, *tried):
    """None: of so few jobs hardly any sent something between nodes."""
    told = run(binary, "lab", "replay", "generated", "--fabric", str(fabric), *tried, "--policy", policy, "--seeds", str(seeds),
               "--jobs", str(jobs), "--communication", communication, "-o", "json", unless="hardly any job was on the network")
    return told and json.loads(told)


def trial_cells(told, *judges):
    return " | ".join("-" if told is None else cell(told["judges"][judge], "workPercent") for judge in judges)


def main():
    binary = str(Path(sys.argv[1]) / "railweave")
    seeds, jobs = (int(word) for word in (sys.argv[2:] + ["10", "1000"][len(sys.argv) - 2:])[:2])
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="railweave-replay-") as folder:
        print(f"Time from submission to end against a peer's, {seeds} pairs of {jobs} jobs at load 0.9, 95% intervals; (none): may be 0; -: hardly any job was on the network")
        print("| fabric | jobs | peer | by predicted steps | by flows on routes | 30% where spread | control |")
        print("|---|---|---|---|---|---|---|")
        for name, words in FABRICS.items():
            fabric = Path(folder) / "fabric.json"
            run(binary, "lab", "generate", *words, "-O", str(fabric))
            for communication in ("heavy", "light"):
                pairs(binary, fabric, f"{name} | {communication}", PEERS, seeds, jobs, communication)
            peers = {**PEERS, "railweave-waits": "Railweave's jobs that keep places"}
            pairs(binary, fabric, f"{name} | heavy, slow places yielded", peers, seeds, jobs, "heavy", "railweave-yields")
        print("\nSteps a second of running jobs on routes that follow them, beside the engine's routes, at every hour")
        print("| fabric | jobs | placed by | by the model of shares | by flows on routes | next hops | search |")
        print("|---|---|---|---|---|---|---|")
        for name, words in FABRICS.items():
            fabric = Path(folder) / "fabric.json"
            run(binary, "lab", "generate", *words, "-O", str(fabric))
            for communication in ("heavy", "light"):
                for policy in ("railweave-waits", "railweave-yields", "block"):
                    told = trial(binary, fabric, policy, seeds, jobs, communication, "--follow-routes")
                    print(f"| {name} | {communication} | {policy} |", trial_cells(told, "model", "flows"),
                          f"| {told['hops']:.1f} | {told['balanceMs']:.2f} ms |" if told else "| - | - |", flush=True)
        print("\nSteps a second of running jobs on routes for each host, beside Ethernet switches that hash flows, at every hour, by flows on routes")
        print("| fabric | jobs | placed by | routes spread evenly | routes that follow the jobs |")
        print("|---|---|---|---|---|")
        for name, words in FABRICS.items():
            fabric = Path(folder) / "fabric.json"
            run(binary, "lab", "generate", *words, "--speed", "400G", "-O", str(fabric))
            for communication in ("heavy", "light"):
                for policy in ("railweave-waits", "block"):
                    told = trial(binary, fabric, policy, seeds, jobs, communication, "--host-routes")
                    print(f"| {name}, 400 Gb/s Ethernet | {communication} | {policy} |", trial_cells(told, "even", "followed"), "|", flush=True)
        print("\nSteps a second of running jobs in classes by their GPU intensity, beside one class, and the classes the other way round")
        print("| fabric | jobs | placed by | classes | by flows on routes | the other way round |")
        print("|---|---|---|---|---|---|")
        for name, words in FABRICS.items():
            fabric = Path(folder) / "fabric.json"
            run(binary, "lab", "generate", *words, "-O", str(fabric))
            for communication, numbers in (("heavy", (2, 4, 8)), ("light", (4,))):
                for policy in ("railweave-waits", "railweave-yields", "block"):
                    for number in numbers:
                        told = trial(binary, fabric, policy, seeds, jobs, communication, "--priority-classes", str(number))
                        print(f"| {name} | {communication} | {policy} | {number} |", trial_cells(told, "flows", "reversed"), "|", flush=True)
        fabric = Path(folder) / "segmented.json"
        run(binary, "lab", "generate", *SEGMENTED, "-O", str(fabric))
        told = replay(binary, fabric, "fifo-first-fit", max(2, seeds // 2), 8 * jobs, "--segments", "--load", "1.2")
        [control] = told["judges"]
        print(f"\n5,004 nodes of 4 GPUs in NVL72 racks, segments of 16, 4 and 1 nodes, {told['seeds']} pairs of {told['jobs']} jobs at load "
              f"{told['load']}: {100 * control['utilisation']:.1f}% of GPU hours in use, {control['utilisationPoints']:+.2f} "
              f"+-{control['utilisationHalfWidthPoints']:.2f} points beside first fit that knows no topology")
    print(f"{time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
