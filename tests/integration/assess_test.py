#!/usr/bin/env python3
"""What real tools tell of a simulated subnet with a real OpenSM, and what Railweave makes of it: ibnetdiscover, iblinkinfo and
OpenSM's dumps are read as one fabric without contradictions, and the report judges the tables that the switches hold.

assess_test.py RAILWEAVE     exit code 77: skipped, and why
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import Ibsim, missing  # noqa: E402

JOBS = {"jobs": [{"job_id": 1, "name": "train", "user_name": "ada", "job_state": ["RUNNING"], "nodes": "", "tres_alloc_str": "gres/gpu=32"}],
        "last_update": {"set": True, "number": 1}}


CABLES = ("ibnetdiscover.txt", "iblinkinfo.txt", "lines.txt", "opensm-subnet.lst")


def dumps_of(folder, netlist, host):
    """The outputs of all tools, as files; OpenSM has swept the subnet."""
    log = folder / "osm.log"
    with Ibsim(netlist) as sim:
        swept = sim.run(["opensm", "-o", "-e", "-f", str(log), "-D", "0x43", "-l", "1", "-R", "minhop"], host=host)
        assert "SUBNET UP" in log.read_text(errors="replace"), swept
        for name, tool in (("ibnetdiscover", ["ibnetdiscover"]), ("iblinkinfo", ["iblinkinfo"]), ("lines", ["iblinkinfo", "-l"])):
            (folder / f"{name}.txt").write_text(sim.run(tool).stdout)
    return {name: folder / name for name in ("ibnetdiscover.txt", "iblinkinfo.txt", "lines.txt", "opensm-subnet.lst", "opensm.fdbs")}


def main():
    railweave = sys.argv[1]
    lacking = missing() or next((tool for tool in ("opensm", "iblinkinfo") if not shutil.which(tool)), None)
    if lacking:
        print(f"skipped: {lacking} is not there")
        return 77

    def run(*arguments):
        done = subprocess.run([railweave, *map(str, arguments)], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ.update(OSM_CACHE_DIR=name, OSM_TMP_DIR=name)
        netlist = folder / "fabric.net"
        run("lab", "generate", "fat-tree", "--radix", "8", "--hosts", "16", "--nics-per-host", "1", "--speed", "EDR", "--format", "ibsim",
            "-O", netlist)
        hosts = re.findall(r'^Ca\s+\d+\s+"(H-[^"]+)"', netlist.read_text(), re.MULTILINE)
        files = dumps_of(folder, netlist, hosts[-1])

        counts = {}
        for dump in CABLES:
            told = json.loads(run("fabric", "import", files[dump], "-O", folder / "one.json", "-o", "json"))
            counts[dump] = {key: told[key] for key in ("switches", "leaves", "hosts", "hostPorts", "interSwitchLinks", "components")}
        assert all(one == counts["ibnetdiscover.txt"] for one in counts.values()), counts
        merged = json.loads(run("fabric", "import", *(files[dump] for dump in CABLES), "-O", folder / "fabric.json", "-o", "json"))
        codes = [finding["code"] for finding in merged["findings"]]
        assert codes.count("readFrom") == len(CABLES) and "sourcesDisagree" not in codes, merged["findings"]
        assert merged["hosts"] == 16, merged

        names = [host["name"] for host in json.loads((folder / "fabric.json").read_text())["hosts"]]
        JOBS["jobs"][0]["nodes"] = ",".join(names[0::4] + names[1::4])
        (folder / "squeue.json").write_text(json.dumps(JOBS))
        sources = [files["ibnetdiscover.txt"], files["opensm.fdbs"], files["opensm-subnet.lst"], folder / "squeue.json"]
        report = json.loads(run("assess", *sources, "--gpus-per-node", "8", "--json"))
        held, own = (report["sections"]["routes"][name] for name in ("held", "railweave"))
        assert held["deadPairs"] == 0 and held["unknownSwitches"] == 0, held
        assert own["deadPairs"] == 0 and own["creditLoops"] == 0, own
        assert held["maxLinkLoadHosts"] >= own["maxLinkLoadHosts"] > 0, (held, own)
        job = report["sections"]["jobs"]["jobs"][0]
        assert job["hosts"] == 8 and job["unknownHosts"] == 0 and job["leafGroups"] > job["fewestLeafGroups"], job
        assert run("assess", *sources, "-o", folder / "report.html")
        html = (folder / "report.html").read_text()
        assert html.count("<svg") >= 3 and "http://" not in html and "<script" not in html, html[:2000]
    print(f"{counts['ibnetdiscover.txt']}: one fabric by three tools; fullest link {held['maxLinkLoadHosts']} held, "
          f"{own['maxLinkLoadHosts']} by Railweave")
    return 0


if __name__ == "__main__":
    sys.exit(main())
