#!/usr/bin/env python3
"""Brings up and programs a simulated subnet, cuts and joins links, and has ibtracert walk the tables each time; refuses
to where OpenSM is master.

infiniband_programming_test.py PROBE RAILWEAVE
Exit code 77 (skipped) where ibsim is absent.
"""
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import Ibsim, missing, stop  # noqa: E402

PAIRS = 12


def lids(sim, host):
    """LIDs of adapters and names of devices, by ibnetdiscover."""
    text = sim.run(["ibnetdiscover"], host=host).stdout
    return [int(lid) for lid in re.findall(r'^\[\d+\]\([0-9a-f]+\)\s+"S-[^#]*# lid (\d+) ', text, re.MULTILINE)]


def walk(sim, pairs, host):
    """The hops that ibtracert finds in the programmed tables, pair by pair: (GUID, egress port)."""
    paths = []
    for source, target in pairs:
        done = sim.run(["ibtracert", "-n", str(source), str(target)], seconds=20, host=host)
        assert done.returncode == 0 and "\nTo {" in done.stdout, f"{source} to {target}: {done.stdout} {done.stderr}"
        at, path = re.match(r"From \{0x([0-9a-f]+)\}", done.stdout)[1], []
        for port, to in re.findall(r"^\[(\d+)\] -> \{0x([0-9a-f]+)\}", done.stdout, re.MULTILINE):
            path.append((at, int(port)))
            at = to
        assert len(path) >= 2, done.stdout
        paths.append(path)
    return paths


def refuses_beside_another_master(netlist, hosts, probe, folder):
    with Ibsim(netlist) as sim:
        opensm = sim.open(["opensm", "-e", "-f", f"{folder}/osm.log", "-D", "0x43", "-d", "2"], host=hosts[-1])
        deadline = time.monotonic() + 40
        while not Path(f"{folder}/osm.log").exists() or "SUBNET UP" not in Path(f"{folder}/osm.log").read_text():
            assert time.monotonic() < deadline and opensm.poll() is None, "OpenSM does not come up"
            time.sleep(0.05)
        done = sim.run([probe, "program"], seconds=30)
        stop(opensm)
        assert done.returncode == 1 and "another subnet manager is master" in done.stderr, (done.stdout, done.stderr)
        print("refused beside OpenSM:", done.stderr.strip())


def main():
    probe, railweave = sys.argv[1:3]
    lacking = missing() or (None if shutil.which("ibtracert") else "ibtracert")
    if lacking:
        print(f"skipped: {lacking} is not there")
        return 77
    random.seed(4)
    with tempfile.TemporaryDirectory() as folder:
        netlist = Path(folder) / "fabric.net"
        subprocess.run([railweave, "lab", "generate", "fat-tree", "--tiers", "3", "--arity", "6", "--hosts", "216",
                        "--gpus-per-host", "1", "--speed", "EDR", "--format", "ibsim", "-O", netlist], check=True,
                       capture_output=True)
        text = netlist.read_text()
        hosts = re.findall(r'^Ca\s+\d+\s+"([^"]+)"', text, re.MULTILINE)
        with Ibsim(netlist) as sim:
            client = sim.open([probe, "program", "--no-switch-lids"], seconds=120)

            def answer():
                line = client.stdout.readline()
                assert line, client.stderr.read()
                return json.loads(line)

            first = answer()
            print("brought up:", first)
            assert first["failed"] == 0 and first["isolated"] == 0 and first["lids"] == 324, first
            assert first["active"] == 2 * (216 + 432), first
            other = hosts[-1]
            found = lids(sim, other)
            assert len(set(found)) == 216 and 0 not in found, "every adapter has a LID of its own"
            pairs = [tuple(random.sample(found, 2)) for _ in range(PAIRS)]
            paths = walk(sim, pairs, other)
            for _ in range(4):
                # A link between switches that one of the pairs uses.
                cut = random.choice([path for path in paths if len(path) > 3])[1]
                for command in ("Unlink", "ReLink"):
                    sim.console(f'{command} "S-{cut[0]}"[{cut[1]}]')
                    client.stdin.write("\n")
                    client.stdin.flush()
                    done = answer()
                    print(command, f"{cut[0]}/{cut[1]}", done)
                    assert done["isolated"] == 0 and done["changed"] > 0 and done["blocks"] > 0, done
                    assert done["activated"] == (2 if command == "ReLink" else 0), done
                    moved = walk(sim, pairs, other)
                    if command == "Unlink":
                        assert all(cut not in path for path in moved), "a path still crosses the cut link"
                    else:
                        assert moved == paths, "with the link back, the tables are as they were"
            stop(client)
        if shutil.which("opensm"):
            refuses_beside_another_master(netlist, hosts, probe, folder)
        else:
            print("skipped: beside OpenSM, which is not installed (deploy/install-dependencies.sh --with-opensm)")
    print(f"{PAIRS} pairs walked by ibtracert after each of 8 changes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
