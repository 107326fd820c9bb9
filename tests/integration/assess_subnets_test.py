#!/usr/bin/env python3
"""Two subnets in one report, each with the dumps of a real OpenSM of its own (on ibsim), whose LIDs are the same: all tables count, each for its
subnet; what is said of both is what is said of each alone; and where the dumps of one are missing, or are of another fabric, that is said and
nothing is held against it.

assess_subnets_test.py RAILWEAVE     exit code 77: skipped, and why
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
from opensm_paths import TOOLS, adapters_of, asked, start_opensm  # noqa: E402

RING = ["lab", "generate", "torus", "--y", "1", "--z", "1", "--hosts-per-switch", "1", "--nics-per-host", "1", "--gpus-per-host", "1",
        "--nvlink-domain", "1", "--speed", "EDR", "--format", "ibsim"]
# Name, switches on the ring, engine, and what makes GUIDs and names of its own.
SUBNETS = (("a", "5", "minhop", lambda text: text), ("b", "6", "dfsssp", lambda text: text.replace("252570", "352570").replace("torus-", "ring-").replace("node-", "peer-")))
DUMPS = ("ibnetdiscover.txt", "opensm.fdbs", "opensm-subnet.lst", "paths.txt", "opensm-sl2vl.dump")


def dump(railweave, folder, size, engine, own):
    netlist = folder / "fabric.net"
    subprocess.run([railweave, *RING, "--x", size, "-O", netlist], check=True, capture_output=True)
    netlist.write_text(own(netlist.read_text()))
    with Ibsim(netlist) as sim:
        opensm = start_opensm(sim, folder, re.findall(r'^Ca\s+\d+\s+"(H-[^"]+)"', netlist.read_text(), re.MULTILINE)[-1], engine)
        try:
            discovered = sim.run(["ibnetdiscover"]).stdout
            (folder / "ibnetdiscover.txt").write_text(discovered)
            (folder / "paths.txt").write_text(asked(sim, sorted(adapters_of(discovered))))
        finally:
            stop(opensm)


def main():
    railweave = str(Path(sys.argv[1]).resolve())
    lacking = missing() or next((tool for tool in TOOLS if not shutil.which(tool)), None)
    if lacking:
        print(f"skipped: {lacking} is not there")
        return 77
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        for subnet, size, engine, own in SUBNETS:
            (top / subnet).mkdir()
            os.environ.update(OSM_CACHE_DIR=str(top / subnet), OSM_TMP_DIR=str(top / subnet))
            dump(railweave, top / subnet, size, engine, own)

        def run(*files):
            return subprocess.run([railweave, "assess", *files, "--json"], capture_output=True, text=True, timeout=120, cwd=top)

        def assessed(*files):
            done = run(*files)
            assert done.returncode == 0, (files, done.stderr)
            report = json.loads(done.stdout)
            return report["sections"]["routes"]["held"], {finding["code"]: finding for finding in report["findings"] if finding["code"].startswith("held")}

        def page(*files):
            """The report as it is read."""
            subprocess.run([railweave, "assess", *files, "-o", "report.html"], check=True, capture_output=True, timeout=120, cwd=top)
            return (top / "report.html").read_text()

        def of(subnet, *only):
            return [f"{subnet}/{file}" for file in only or DUMPS]

        a, found_a = assessed(*of("a"))
        b, found_b = assessed(*of("b"))
        assert "heldCreditLoops" in found_a and not found_b, "minhop waits in a circle on a ring, dfsssp does not"
        for files in (of("a") + of("b"), of("b") + of("a")):
            both, found = assessed(*files)
            assert set(found) == set(found_a), (files, found)
            assert both["whole"] and both["deadPairs"] == 0 and both["unknownLids"] == a["unknownLids"] + b["unknownLids"] and not both["leftOut"], both
            assert sorted(both["sources"]) == ["a/opensm.fdbs", "b/opensm.fdbs"], both
            assert both["creditLoops"] == a["creditLoops"] and both["lanes"] == b["lanes"] > 1, (both, a, b)
            assert both["levels"]["paths"] == a["levels"]["paths"] + b["levels"]["paths"] and both["levels"]["withoutRecord"] == 0, both
            assert both["levels"]["maps"]["rows"] == a["levels"]["maps"]["rows"] + b["levels"]["maps"]["rows"], both
            assert found["heldCreditLoops"]["command"].startswith("railweave assess "), found

        # Tables of one alone: of the other nothing is said, and no pair of it is dead.
        sources = of("a") + of("b", "ibnetdiscover.txt")
        part, found = assessed(*sources)
        assert not part["whole"] and part["deadPairs"] == 0 and set(found) == set(found_a), (part, found)
        assert "nothing is said of them" in page(*sources)
        # Those of another fabric are named, and are no fault of this one; alone they are refused.
        sources = of("a") + of("b", "opensm.fdbs", "opensm-sl2vl.dump")
        other, found = assessed(*sources)
        assert other["whole"] and set(found) == set(found_a) and [line.split(":")[0] for line in other["leftOut"]] == of("b", "opensm.fdbs", "opensm-sl2vl.dump"), other
        assert "Not used is b/opensm.fdbs" in page(*sources)
        done = run(*of("a", "ibnetdiscover.txt"), *of("b", "opensm.fdbs"))
        assert done.returncode != 0 and "b/opensm.fdbs" in done.stderr, done
        # Levels without tables are of no use, which is said.
        assert "Without it a/paths.txt is of no use" in page(*of("a", "ibnetdiscover.txt", "paths.txt"))
    print("two subnets, their tables, levels and lanes: each counts for its own")
    return 0


if __name__ == "__main__":
    sys.exit(main())
