#!/usr/bin/env python3
"""The routes of a real OpenSM that needs several lanes (dfsssp on a ring, on ibsim), as its dumps and its answers about paths tell them: by tables
alone the report must fear a circle, by the paths' service levels and OpenSM's map of levels it must not, and with levels that are altered it must
again. Which level each path has is asked by saquery, and told in the form of a dump of path records as well.

assess_levels_test.py RAILWEAVE     exit code 77: skipped, and why
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
from ibsim import Ibsim, missing, stop  # noqa: E402
from opensm_paths import TOOLS, adapters_of, asked, levels_of, start_opensm  # noqa: E402

RING = ["lab", "generate", "torus", "--x", "5", "--y", "1", "--z", "1", "--hosts-per-switch", "1", "--nics-per-host", "1", "--gpus-per-host", "1",
         "--nvlink-domain", "1", "--speed", "EDR", "--format", "ibsim"]


def as_dump(text, adapters):
    """The same in the form of opensm-path-records.dump."""
    levels = levels_of(text)
    dump = ""
    for lid, (guid, name) in sorted(adapters.items()):
        dump += f'Channel Adapter 0x{guid}, base LID {lid}, "{name}", port 1\n# LID  : SL : MTU : RATE\n'
        dump += "".join(f"0x{target:04X} : {level:<2} : 4   : 7   \n" for (source, target), level in sorted(levels.items()) if source == lid) + "\n"
    return dump, levels


def dumps_of(folder, netlist):
    hosts = re.findall(r'^Ca\s+\d+\s+"(H-[^"]+)"', netlist.read_text(), re.MULTILINE)
    with Ibsim(netlist) as sim:
        opensm = start_opensm(sim, folder, hosts[-1], "dfsssp")
        try:
            dump = sim.run(["ibnetdiscover"]).stdout
            (folder / "ibnetdiscover.txt").write_text(dump)
            adapters = adapters_of(dump)
            assert len(adapters) == 5, (adapters, dump[-1500:])
            text = asked(sim, sorted(adapters))
        finally:
            stop(opensm)
    (folder / "paths.txt").write_text(text)
    dump, levels = as_dump(text, adapters)
    (folder / "opensm-path-records.dump").write_text(dump)
    return levels


def main():
    railweave = sys.argv[1]
    lacking = missing() or next((tool for tool in TOOLS if not shutil.which(tool)), None)
    if lacking:
        print(f"skipped: {lacking} is not there")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ.update(OSM_CACHE_DIR=name, OSM_TMP_DIR=name)

        def run(*arguments, code=0):
            done = subprocess.run([railweave, *map(str, arguments)], capture_output=True, text=True, timeout=120, cwd=folder)
            assert done.returncode == code, (arguments, done.returncode, done.stderr)
            return done.stdout if code == 0 else done.stderr

        def assessed(*more):
            report = json.loads(run("assess", "ibnetdiscover.txt", "opensm.fdbs", "opensm-subnet.lst", *more, "--json"))
            loops = [finding for finding in report["findings"] if finding["code"] == "heldCreditLoops"]
            return report["sections"]["routes"]["held"], loops, report["sources"]

        run(*RING, "-O", "fabric.net")
        levels = dumps_of(folder, folder / "fabric.net")
        used = max(levels.values()) + 1
        assert used >= 2, "dfsssp needs several lanes on a ring"

        held, loops, _ = assessed()
        assert held["lanes"] == 1 and loops and "share one virtual lane" in loops[0]["sure"], (held, loops)
        for paths in ("paths.txt", "opensm-path-records.dump"):
            held, loops, sources = assessed(paths, "opensm-sl2vl.dump")
            assert not loops and held["creditLoops"] == 0 and held["lanes"] == used, (paths, held)
            told = held["levels"]
            assert told.pop("maps") == {"rows": 120, "unknownRows": 0, "different": 1}, held
            assert told == {"used": used, "paths": len(levels), "withoutRecord": 0, "unknownPaths": 0, "differOnOneSwitch": 0, "discardedPairs": 0,
                            "portsWithoutMap": 0}, told
            read_as = {source["file"]: source["read as"] for source in sources}
            assert "path records" in read_as[paths] and read_as["opensm-sl2vl.dump"] == "opensm-sl2vl.dump", read_as
        # Without a map each level is taken for a lane; with all of them on one level, or one lane, the circle is there.
        held, loops, _ = assessed("paths.txt")
        assert not loops and held["lanes"] == used, held
        (folder / "one.txt").write_text(re.sub(r"(\bsl\.+)0x\w+", r"\g<1>0x0", (folder / "paths.txt").read_text()))
        held, loops, _ = assessed("one.txt", "opensm-sl2vl.dump")
        assert loops and loops[0]["sure"].startswith("certain on the lanes"), loops
        (folder / "one-lane.dump").write_text(re.sub(r"^(\d+ +\d+ +: ).*$", r"\g<1>" + "0  " * 16, (folder / "opensm-sl2vl.dump").read_text(), flags=re.MULTILINE))
        held, loops, _ = assessed("paths.txt", "one-lane.dump")
        assert loops and held["lanes"] == 1, (held, loops)
        # What is missing is counted and said.
        records = (folder / "paths.txt").read_text().split("PathRecord dump:")
        (folder / "half.txt").write_text("PathRecord dump:".join(records[: len(records) // 2]))
        held, loops, _ = assessed("half.txt", "opensm-sl2vl.dump")
        assert held["levels"]["withoutRecord"] == len(levels) - (len(records) // 2 - 1), held
        if loops:
            assert "without a record" in loops[0]["sure"], loops
        (folder / "broken.dump").write_text(re.sub(r"^(0x\w+) : ", r"\1 , 99 ", (folder / "opensm-path-records.dump").read_text(), count=1, flags=re.MULTILINE))
        assert "broken.dump, line" in run("assess", "ibnetdiscover.txt", "opensm.fdbs", "broken.dump", "--json", code=8)
    print(f"{len(levels)} paths on {used} levels: no circle by levels and lanes, one by tables alone")
    return 0


if __name__ == "__main__":
    sys.exit(main())
