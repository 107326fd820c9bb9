#!/usr/bin/env python3
"""Whether routes of a real OpenSM can wait for each other in a circle, by the lanes that each switch gives packets: torus-2QoS, whose maps of
levels differ by the ports that packets enter and leave by, lash and dfsssp, on a torus of ibsim. The oracle walks every pair of adapters apart
from Railweave over what the switches hold (dump_fts, smpquery sl2vl). Maps and levels are altered at random, by seed, and the report has to find
a circle, and packets that are discarded, where the walk does.

assess_lanes_test.py RAILWEAVE [SEEDS]     exit code 77: skipped, and why
"""
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import Ibsim, missing, stop  # noqa: E402
from lane_walk import LaneWalk  # noqa: E402
from opensm_paths import TOOLS, adapters_of, asked, levels_of, start_opensm  # noqa: E402

TORUS = ["lab", "generate", "torus", "--x", "5", "--y", "3", "--z", "1", "--hosts-per-switch", "1", "--nics-per-host", "1", "--gpus-per-host",
         "1", "--nvlink-domain", "1", "--speed", "EDR", "--format", "ibsim"]
ROW = re.compile(r"^(\d+) +(\d+) +: (.*)$")


def torus_conf(netlist):
    guid = {name: value for value, name in re.findall(r'switchguid=0x([0-9a-f]+)\nSwitch[^\n]*# "(torus-[^"]+)"', netlist)}
    return (f"torus 5 3 1\nxp_link 0x{guid['torus-0-0-0']} 0x{guid['torus-1-0-0']}\n"
            f"yp_link 0x{guid['torus-0-0-0']} 0x{guid['torus-0-1-0']}\n")


def altered_maps(dump, draw):
    """The dump with some rows of switches exchanged for others, and here and there a lane that discards; {(switch, in, out): lanes} beside it."""
    lines, rows, switch = dump.splitlines(), {}, None
    kinds = sorted({row[3] for line in lines if (row := ROW.match(line))}) + ["0 " * 16, "0 1 " * 8]
    share, discards = draw.choice([0, 0.05, 0.5, 1]), draw.choice([0, 0, 0.01])
    for i, line in enumerate(lines):
        if head := re.match(r"(Switch|Channel Adapter) 0x([0-9a-f]+), base LID", line):
            switch = int(head[2], 16) if head[1] == "Switch" else None
        elif switch is not None and (row := ROW.match(line)):
            lanes = (draw.choice(kinds) if draw.random() < share else row[3]).split()
            lanes = ["15" if draw.random() < discards else lane for lane in lanes]
            lines[i] = f"{row[1]:<3} {row[2]:<3} : " + "  ".join(lanes)
            rows[switch, int(row[1]), int(row[2])] = [int(lane) for lane in lanes]
    return "\n".join(lines) + "\n", rows


def altered_levels(records, draw):
    used = sorted(set(levels_of(records).values()))
    share = draw.choice([0, 0, 0.02, 1])
    return re.sub(r"(\bsl\.+)0x\w+", lambda found: found[1] + hex(draw.choice(used)) if draw.random() < share else found[0], records)


def check(railweave, folder, walk, engine, seeds):
    """Compares reports with walks, altered and not; returns how many of them had a circle, none, and discarded packets."""
    maps, records = (folder / "opensm-sl2vl.dump").read_text(), (folder / "paths.txt").read_text()
    seen = {"circle": 0, "no circle": 0, "discarded": 0}
    for seed in [None, *range(seeds)]:
        draw = random.Random(f"{engine} {seed}")
        text, rows = (maps, walk.maps) if seed is None else altered_maps(maps, draw)
        levels = records if seed is None else altered_levels(records, draw)
        (folder / "maps.dump").write_text(text)
        (folder / "levels.txt").write_text(levels)
        done = subprocess.run([railweave, "assess", "ibnetdiscover.txt", "opensm.fdbs", "opensm-subnet.lst", "levels.txt", "maps.dump", "--json"],
                              capture_output=True, text=True, timeout=120, cwd=folder)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        held, found = report["sections"]["routes"]["held"], {finding["code"]: finding for finding in report["findings"]}
        walk.maps, told = rows, levels_of(levels)
        walk.start_over()
        walk.add_all(lambda source, target: told[walk.lids[source], walk.lids[target]])
        about = (engine, seed, held)
        assert (held["creditLoops"] > 0) == bool(walk.circle()) == ("heldCreditLoops" in found), about
        assert held["levels"]["discardedPairs"] >= len(walk.lost) and ("heldDiscardedLevels" in found) == (held["levels"]["discardedPairs"] > 0), about
        assert held["levels"]["portsWithoutMap"] == 0 and held["levels"]["withoutRecord"] == 0, about
        if seed is None:
            assert not walk.circle() and not walk.lost, f"{engine} would deadlock by itself"
            assert held["lanes"] == max(walk.lanes) + 1 and held["levels"]["used"] == max(walk.levels) + 1, (about, walk.lanes)
            if engine == "torus-2QoS":
                assert held["levels"]["maps"]["different"] > 1, about
        if walk.circle():
            finding = found["heldCreditLoops"]
            assert finding["objects"] and "each switch's map" in finding["sure"], finding
        seen["circle" if walk.circle() else "no circle"] += 1
        seen["discarded"] += bool(walk.lost)
    return seen


def main():
    railweave, seeds = str(Path(sys.argv[1]).resolve()), int(sys.argv[2]) if len(sys.argv) > 2 else 12
    lacking = missing() or next((tool for tool in (*TOOLS, "smpquery", "dump_fts") if not shutil.which(tool)), None)
    if lacking:
        print(f"skipped: {lacking} is not there")
        return 77
    for engine in ("torus-2QoS", "dfsssp", "lash"):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            os.environ.update(OSM_CACHE_DIR=name, OSM_TMP_DIR=name)
            netlist = folder / "fabric.net"
            subprocess.run([railweave, *TORUS, "-O", netlist], check=True, capture_output=True)
            text = netlist.read_text()
            (folder / "torus.conf").write_text(torus_conf(text))
            with Ibsim(netlist) as sim:
                host = re.findall(r'^Ca\s+\d+\s+"(H-[^"]+)"', text, re.MULTILINE)[-1]
                opensm = start_opensm(sim, folder, host, engine, f"torus_config {folder}/torus.conf\n")
                try:
                    discovered = sim.run(["ibnetdiscover"]).stdout
                    (folder / "ibnetdiscover.txt").write_text(discovered)
                    (folder / "paths.txt").write_text(asked(sim, sorted(adapters_of(discovered))))
                    walk = LaneWalk(sim)
                finally:
                    stop(opensm)
            seen = check(railweave, folder, walk, engine, seeds)
            print(f"{engine}: {seen}")
            assert all(seen.values()), f"{engine}: the altered tables do not show everything: {seen}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
