#!/usr/bin/env python3
"""A real OpenSM on a simulated subnet reads the partitions.conf, opensm.conf and qos-policy.conf that Railweave writes: are the
partition keys, lanes and weights on the ports, and the service level and rate in the paths?

opensm_files_test.py PROBE PLUGIN RAILWEAVE     exit code 77: skipped, and why. PLUGIN may be "": OpenSM routes by updn
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import Ibsim, missing, stop  # noqa: E402


def main():
    probe, plugin, railweave = sys.argv[1:4]
    lacking = missing() or next((tool for tool in ("opensm", "smpquery", "saquery") if not shutil.which(tool)), None)
    if lacking:
        print(f"skipped: {lacking} is not there")
        return 77
    if plugin:
        os.environ["LD_LIBRARY_PATH"] = str(Path(plugin).resolve().parent)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(OSM_CACHE_DIR=folder, OSM_TMP_DIR=folder)
        netlist = Path(folder) / "fabric.net"
        subprocess.run([railweave, "lab", "generate", "fat-tree", "--radix", "8", "--hosts", "16", "--nics-per-host", "1",
                        "--speed", "EDR", "--format", "ibsim", "-O", netlist], check=True, capture_output=True)
        hosts = re.findall(r'^Ca\s+\d+\s+"(H-[^"]+)".*\n\[1\]\(([0-9a-f]+)\)', netlist.read_text(), re.MULTILINE)
        engine = ("railweave", "railweave_opensm") if plugin else ("ftree", "")
        subprocess.run([probe, "files", folder, *engine, *[guid for _, guid in hosts[:3]]], check=True)
        log = Path(folder) / "osm.log"
        with Ibsim(netlist) as sim:
            opensm = sim.open(["opensm", "-e", "-F", f"{folder}/opensm.conf"], host=hosts[-1][0], seconds=60)
            deadline = time.monotonic() + 30
            while not log.exists() or "SUBNET UP" not in log.read_text():
                assert opensm.poll() is None and time.monotonic() < deadline, log.exists() and log.read_text()[-3000:]
                time.sleep(0.01)
            said = log.read_text()
            wrong = [line for line in said.splitlines() if re.search(r"ERR |PARSE ERROR|[Ss]yntax|Failed", line) and
                     "no_fallback" not in line]
            assert not wrong, wrong
            assert f"{engine[0]} tables configured" in said, said
            dump = sim.run(["ibnetdiscover"]).stdout
            lid_of = {guid.zfill(16): int(lid) for guid, lid in re.findall(r'^\[1\]\(([0-9a-f]+)\).*# lid (\d+) ', dump, re.MULTILINE)}
            lids = [lid_of[guid.zfill(16)] for _, guid in hosts]

            def keys(lid):
                text = sim.run(["smpquery", "pkeys", str(lid), "1"]).stdout
                return {int(key, 16) for key in re.findall(r"0x([0-9a-f]{4})\b", text)} - {0}

            assert keys(lids[0]) == keys(lids[1]) == {0x8008, 0x7fff}, keys(lids[0])
            assert keys(lids[2]) == {0x0008, 0x7fff}, keys(lids[2])
            assert keys(lids[3]) == {0x7fff}, keys(lids[3])
            assert keys(lids[-1]) == {0xffff}, keys(lids[-1])  # the subnet manager
            print("partition keys are on the ports")

            def lanes(lid, port):
                text = sim.run(["smpquery", "sl2vl", str(lid), str(port)]).stdout
                return {tuple(int(lane) for lane in line.split("|")) for line in re.findall(r"out +\d+: \|(.*)\|", text)}

            switch, port = re.search(r'^Switch.* lid (\d+) lmc.*\n(?:.*\n)*?\[(\d+)\]\s+"S-', dump, re.MULTILINE).groups()
            assert lanes(switch, port) == {(0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 0, 0, 0, 0)}, lanes(switch, port)
            assert lanes(lids[0], 1) == {(0, 1, 2, 3) + (0,) * 12}, lanes(lids[0], 1)
            weights = sim.run(["smpquery", "vlarb", switch, port]).stdout
            low, high = re.findall(r"WEIGHT: \|([^\n]*)\|", weights)
            vl_low, vl_high = re.findall(r"VL    : \|([^\n]*)\|", weights)

            def table(names, shares):
                pairs = zip(names.split("|"), shares.split("|"))
                return [(int(lane, 0), int(share, 0)) for lane, share in pairs if int(share, 0)]

            assert table(vl_low, low) == [(0, 64), (1, 32)], weights
            assert table(vl_high, high) == [(3, 64), (2, 32)], weights
            print("lanes and weights are on the ports")

            def path(*options):
                text = sim.run(["saquery", "PR", "--src-to-dst", f"{lids[0]}:{lids[1]}", *options]).stdout
                return {key: int(value, 16) for key, value in re.findall(r"(sl|rate|pkey)\.+0x([0-9A-Fa-f]+)", text)}

            tenant, other = path("--pkey", "0x8008"), path("--pkey", "0x7fff")
            assert tenant["sl"] == 3 and tenant["rate"] & 0x3f == 20, tenant  # 50 Gb/s
            assert other.get("sl", 0) == 0, other
            print("paths have the tenant's service level and rate:", tenant)
            stop(opensm)
    return 0


if __name__ == "__main__":
    sys.exit(main())
