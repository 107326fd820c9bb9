#!/usr/bin/env python3
"""More than a cable at once, on ibsim: the first of the spines with most cables loses all of them, then 1% of the cables between
switches fail; each time all return. How long until the last forwarding table is written, by railweaved in direct mode and by OpenSM on
the same netlist, what the start takes, and how much memory each has at most.

    outages.py BIN_FOLDER [FABRIC]...     FABRIC: those of repair.py, torus or dragonfly (several lanes); default 648 1728 torus
    ENGINES="ftree" outages.py ...        OpenSM's engines; a torus has dfsssp and lash in their place

Times are from the moment at which ibsim's console was told, by the clock of this machine; "lost" are pairs of hosts of a sample that
ibtracert does not follow from one LID to the other once all is quiet. Exit code 77: a tool is missing.
"""
import json
import os
import random
import re
import shutil
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import repair  # noqa: E402
from ibsim import missing  # noqa: E402

repair.FABRICS |= {
    "torus": ["torus", "--nics-per-host", "1", "--gpus-per-host", "1"],
    "dragonfly": ["dragonfly", "--nics-per-host", "1", "--gpus-per-host", "1"],
}
LANES = {"torus": "dfsssp lash", "dragonfly": "dfsssp lash"}
QUIET_S = 4
PAIRS = int(os.environ.get("PAIRS", "60"))


def cables_of(netlist):
    """(switch, port, other switch) of each cable between switches, once."""
    found, switch = {}, None
    for line in netlist.read_text().splitlines():
        head = re.match(r'(Switch|Ca|Hca)\s+\d+\s+"([^"]+)"', line)
        if head:
            switch = head.group(2) if head.group(1) == "Switch" else None
        cable = re.match(r'\[(\d+)\]\s+"(S-[^"]+)"\[(\d+)\]', line)
        if cable and switch and (cable.group(2), int(cable.group(3))) not in found:
            found[switch, int(cable.group(1))] = cable.group(2)
    return [(switch, port, other) for (switch, port), other in found.items()]


def events_of(netlist):
    """A switch without hosts that has the most cables, not the manager's (where each has hosts none is taken); one cable of 100."""
    cables = cables_of(netlist)
    with_hosts = set()
    for block in re.split(r"(?m)^(?=Switch|Ca|Hca)", netlist.read_text()):
        if re.match(r"Ca|Hca", block):
            with_hosts |= set(re.findall(r'"(S-[^"]+)"', block))
    ends = [name for switch, _, other in cables for name in (switch, other) if name not in with_hosts]
    draw = random.Random(1)
    events = {}
    if ends:
        spine = max(sorted(set(ends)), key=ends.count)
        events["a spine"] = [cable for cable in cables if spine in (cable[0], cable[2])]
    events["1% of cables"] = draw.sample(cables, max(2, len(cables) // 100))
    return events


class Managed:
    """A manager on a simulator, and when it wrote last."""

    def __init__(self, sim, process):
        self.sim, self.process = sim, process

    def change(self, verb, cables):
        told = time.time()
        for switch, port, _ in cables:
            self.sim.console(f'{verb} "{switch}"[{port}]')
        self.sim.settle()
        last, written = time.monotonic(), None
        until = time.monotonic() + repair.SECONDS
        while time.monotonic() - last < QUIET_S or written is None:
            now = self.written_at(told)
            if now != written or not self.is_done():
                written, last = now, time.monotonic()
            if time.monotonic() > until:
                return None
            time.sleep(0.1)
        return (written - told) * 1000

    def peak_mb(self):
        # `timeout` is what was started.
        pid = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()[0]
        return int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text()).group(1)) / 1024

    def lost(self):
        """Of a sample of pairs of hosts those that ibtracert does not follow."""
        said = self.sim.run(["ibnetdiscover"], 300).stdout
        lids = sorted({int(lid) for lid in re.findall(r'"H-[^"]*"\[\d+\]\([0-9a-f]+\)[^\n]*lid (\d+)', said)})
        draw = random.Random(2)
        pairs = [draw.sample(lids, 2) for _ in range(PAIRS)]
        return sum(self.sim.run(["ibtracert", str(a), str(b)], 20).returncode != 0 for a, b in pairs)


class Railweaved(Managed):
    def __init__(self, sim, process, url, subnet):
        super().__init__(sim, process)
        self.url, self.subnet = url, subnet

    def written_at(self, told):
        at = [datetime.fromisoformat(one["at"].replace("Z", "+00:00")).timestamp() for one in repair.live(self.url, self.subnet)["repairs"]]
        return max((one for one in at if one > told), default=None)

    def is_done(self):
        return repair.live(self.url, self.subnet)["phase"] == "synced"


class OpenSm(Managed):
    def __init__(self, sim, process, log):
        super().__init__(sim, process)
        self.log = log

    def written_at(self, told):
        day = datetime.now().replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
        ups = [repair.osm_ms(line) / 1000 + day for line in self.log.read_text(errors="replace").splitlines()
               if "SUBNET UP" in line and re.match(r"\w+ \d+ \d+:", line)]
        return max((up for up in ups if up > told), default=None)

    def is_done(self):
        """Nothing is written to its log any more."""
        size = self.log.stat().st_size
        time.sleep(0.3)
        return self.log.stat().st_size == size


def measure(name, manager, events, up_s, who):
    figures = []
    for event, cables in events.items():
        failed = manager.change("Unlink", cables)
        lost = manager.lost()
        back = manager.change("Relink", cables)
        figures.append({"fabric": name, "who": who, "event": event, "cables": len(cables), "ms": failed, "back_ms": back, "lost": lost,
                        "up_s": up_s, "peak_mb": manager.peak_mb()})
        written = [f"{ms:>9.0f}" if ms is not None else f"{'not':>9}" for ms in (failed, back)]
        print(f"{name:<10} {event:<13} {len(cables):>6} {who:<16} {up_s:>7.1f} {written[0]} {written[1]} {lost:>4} {manager.peak_mb():>8.0f}", flush=True)
    return figures


def railweaved(binaries, native, netlist, folder, name, events):
    keys = "several_lanes = true" if name in LANES else ""
    with repair.running_railweaved(binaries, native, netlist, folder, keys) as (sim, process, url, subnet, up_s):
        return measure(name, Railweaved(sim, process, url, subnet), events, up_s, "railweaved")


def opensm(netlist, engine, name, events):
    with repair.running_opensm(netlist, engine) as (sim, process, log, up_s):
        return measure(name, OpenSm(sim, process, log), events, up_s, f"opensm {repair.engine_used(log, engine)}")


def main():
    binaries = Path(sys.argv[1]).resolve()
    lacking = missing() or next((tool for tool in ("opensm", "ibtracert") if not shutil.which(tool)), None)
    if lacking:
        print(f"skipped: {lacking} is not installed", file=sys.stderr)
        return 77
    print(f"{'fabric':<10} {'event':<13} {'cables':>6} {'manager':<16} {'start s':>7} {'written ms':>9} {'back ms':>9} {'lost':>4} {'peak MB':>8}   "
          f"window {repair.WINDOW}; lost of {PAIRS} pairs")
    figures = []
    for name in sys.argv[2:] or ["648", "1728", "torus"]:
        with tempfile.TemporaryDirectory(prefix="railweave-outages-") as temporary:
            folder = Path(temporary)
            native, netlist = repair.generate(str(binaries / "railweave"), name, folder)
            events = events_of(netlist)
            figures += railweaved(binaries, native, netlist, folder, name, events)
            for engine in os.environ.get("ENGINES", LANES.get(name, "ftree minhop")).split():
                try:
                    figures += opensm(netlist, engine, name, events)
                except RuntimeError as error:
                    print(f"{name:<10} opensm {engine}: {error}", flush=True)
    if results := os.environ.get("RESULTS"):
        Path(results).write_text(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
