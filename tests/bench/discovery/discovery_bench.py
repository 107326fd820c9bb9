"""discovery_bench.py PROBE RAILWEAVE ROUNDS: see ../discovery.sh"""
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from ibsim import Ibsim  # noqa: E402

FABRICS = [
    ("rail, 648 hosts' ports", ["rail-optimized", "--hosts", "81", "--speed", "HDR"]),
    ("rail, 2,048 hosts' ports", ["rail-optimized", "--hosts", "256", "--speed", "HDR"]),
    ("fat tree of 3 tiers, 1,728 hosts", ["fat-tree", "--tiers", "3", "--arity", "12", "--hosts", "1728", "--gpus-per-host", "1",
                                          "--speed", "EDR"]),
]
AIM = 1.5


def timed(sim, command):
    start = time.perf_counter()
    done = sim.run(command, seconds=120)
    seconds = time.perf_counter() - start
    assert done.returncode == 0, done.stderr
    return seconds, done


def main():
    probe, railweave, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    short = []
    print(f"{'fabric':36} {'nodes':>6} {'ours s':>14} {'ibnetdiscover s':>16} {'ratio':>12} {'sweep s':>8} {'datagrams':>9}")
    print(f"{'':36} {'':>6} {'best / median':>14} {'best / median':>16} {'best / median':>12}")
    with tempfile.TemporaryDirectory() as folder:
        for name, arguments in FABRICS:
            netlist = Path(folder) / "fabric.net"
            subprocess.run([railweave, "lab", "generate", *arguments, "--format", "ibsim", "-O", netlist], check=True,
                           capture_output=True)
            ours, theirs, sweeps = [], [], []
            with Ibsim(netlist) as sim:
                for _ in range(rounds):
                    seconds, done = timed(sim, [probe, "discover", "--quiet"])
                    ours.append(seconds)
                    sweeps.append(float(re.search(r"sweep_s ([\d.]+)", done.stderr)[1]))
                    nodes, sent = (int(re.search(rf"{word} (\d+)", done.stderr)[1]) for word in ("nodes", "sent"))
                    seconds, done = timed(sim, ["ibnetdiscover"])
                    theirs.append(seconds)
                    assert len(re.findall(r"^(?:Switch|Ca)\s", done.stdout, re.MULTILINE)) == nodes
            best, median = min(theirs) / min(ours), statistics.median(theirs) / statistics.median(ours)
            print(f"{name:36} {nodes:6} {min(ours):6.3f} / {statistics.median(ours):5.3f} {min(theirs):8.3f} / "
                  f"{statistics.median(theirs):5.3f} {best:5.2f} / {median:4.2f} {min(sweeps):8.3f} {sent:9}")
            if rounds >= 3 and nodes >= 2000 and median < AIM:
                short.append(name)
    if short:
        print(f"below {AIM}x: {', '.join(short)}")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
