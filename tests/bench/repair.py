#!/usr/bin/env python3
"""A link is cut at ibsim's console: how long until the last forwarding table is written, by railweaved in direct mode
and by OpenSM, on the same netlist, with the same window of management datagrams.

    repair.py BIN_FOLDER [FABRIC]...     FABRIC: 648, 1728, 3456, 11664 (fat trees) or rail2048; default the first four
    ENGINES="minhop ftree" CUTS=6 repair.py ...

Times are from the trap's arrival (railweaved: as the service reports it; OpenSM: from its log) and, in brackets, from
the moment the console was told, by the clock of this machine. Exit code 77: a tool is missing.
"""
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import Ibsim, missing, stop  # noqa: E402

FABRICS = {
    "648": ["fat-tree", "--hosts", "648", "--radix", "36", "--nics-per-host", "1", "--gpus-per-host", "1"],
    "rail2048": ["rail-optimized", "--hosts", "256"],
    "1728": ["fat-tree", "--tiers", "3", "--hosts", "1728", "--radix", "24", "--nics-per-host", "1", "--gpus-per-host", "1"],
    "3456": ["fat-tree", "--tiers", "3", "--hosts", "3456", "--radix", "24", "--nics-per-host", "1", "--gpus-per-host", "1"],
    "11664": ["fat-tree", "--tiers", "3", "--hosts", "11664", "--radix", "36", "--nics-per-host", "1", "--gpus-per-host", "1"],
}
WINDOW = 32
CUTS = int(os.environ.get("CUTS", "6"))
ENGINES = os.environ.get("ENGINES", "minhop ftree").split()
SECONDS = int(os.environ.get("OPENSM_SECONDS", "600"))


def generate(railweave, name, folder):
    shape = list(FABRICS[name]) + ["--speed", "EDR"]
    native, netlist = folder / "fabric.json", folder / "fabric.net"
    for arguments in (["-O", str(native)], ["--format", "ibsim", "-O", str(netlist)]):
        subprocess.run([railweave, "lab", "generate", *shape, *arguments], check=True, capture_output=True)
    return native, netlist


def cables(netlist):
    """Cables between switches to cut, as (switch, port, other switch), spread over the file."""
    found, switch = [], None
    for line in netlist.read_text().splitlines():
        head = re.match(r'(Switch|Ca|Hca)\s+\d+\s+"([^"]+)"', line)
        if head:
            switch = head.group(2) if head.group(1) == "Switch" else None
        cable = re.match(r'\[(\d+)\]\s+"(S-[^"]+)"\[', line)
        if cable and switch:
            found.append((switch, int(cable.group(1)), cable.group(2)))
    # No switch twice, and not the manager's own leaf: a switch that cannot be managed from there any more reports
    # nothing before the next sweep.
    own = re.search(r'^(?:Ca|Hca)\s[^\n]*\n\s*\[\d+\][^"]*"(S-[^"]+)"', netlist.read_text(), re.MULTILINE).group(1)
    step, chosen, used = max(1, len(found) // (CUTS + 1)), [], {own}
    for i in range(CUTS):
        cable = next(cable for cable in found[(i + 1) * step:] + found if not used & {cable[0], cable[2]})
        used |= {cable[0], cable[2]}
        chosen.append(cable)
    return chosen


def get(url, path):
    with urllib.request.urlopen(url + path, timeout=60) as answer:
        return json.load(answer)


def put_mode(url, subnet):
    request = urllib.request.Request(f"{url}/v1/subnets/{subnet}/mode", json.dumps({"mode": "direct"}).encode(),
                                     {"Content-Type": "application/json"}, method="PUT")
    urllib.request.urlopen(request, timeout=60).close()


def wait_for(what, condition, seconds=300):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise RuntimeError(f"{what}: not in {seconds} s")


@contextmanager
def running_railweaved(binaries, native, netlist, folder, keys=""):
    """railweaved in direct mode on a simulator, once it has programmed the subnet: (simulator, process, URL, subnet, seconds it took)."""
    subnet = json.loads(native.read_text())["subnets"][0]["name"]
    config = folder / "railweaved.toml"
    config.write_text(f'listen_port = 0\nauthentication = "none"\nstore = "{folder}/store.db"\n[[subnet]]\nname = "{subnet}"\n'
                      f'sweep_seconds = 5\nwindow = {WINDOW}\n{keys}\n')
    with Ibsim(netlist) as sim:
        service = sim.open([str(binaries / "railweaved"), "--config", str(config), "--log-level", "error"], seconds=1800)
        try:
            url = re.search(r"http://\S+", service.stdout.readline()).group(0)
            subprocess.run([binaries / "railweave", "--server", url, "fabric", "import", str(native)], check=True, capture_output=True)
            started = time.monotonic()
            put_mode(url, subnet)
            wait_for("railweaved programs the subnet", lambda: live(url, subnet)["phase"] == "synced", SECONDS)
            up_s = time.monotonic() - started
            time.sleep(2)
            yield sim, service, url, subnet, up_s
        finally:
            stop(service)


def live(url, subnet):
    return get(url, f"/v1/subnets/{subnet}")["live"]


@contextmanager
def running_opensm(netlist, engine):
    """OpenSM on a simulator, once it has programmed the subnet: (simulator, process, log, seconds it took)."""
    with Ibsim(netlist) as sim:
        log = Path(sim.folder.name) / "osm.log"
        options = Path(sim.folder.name) / "opensm.conf"
        options.write_text(f"max_wire_smps {WINDOW}\nlog_flags 0x43\nforce_log_flush TRUE\nsweep_interval 0\n")
        os.environ["OSM_CACHE_DIR"] = os.environ["OSM_TMP_DIR"] = sim.folder.name
        manager = sim.open(["opensm", "-F", str(options), "-e", "-f", str(log), "-D", "0x43", "-R", engine], seconds=1800)
        try:
            started = time.monotonic()
            wait_for("OpenSM", lambda: log.exists() and "SUBNET UP" in log.read_text(errors="replace"), SECONDS)
            up_s = time.monotonic() - started
            time.sleep(2)
            yield sim, manager, log, up_s
        finally:
            stop(manager)


def engine_used(log, engine):
    """Which OpenSM fell back to, where the one asked for did not suit."""
    used = re.findall(r"(\w+) tables configured on all", log.read_text(errors="replace"))
    return used[-1] if used else engine


def railweaved(binaries, native, netlist, cut, folder):
    with running_railweaved(binaries, native, netlist, folder) as (sim, _, url, subnet, up_s):
        results = []
        for switch, port, _ in cut:
            before = live(url, subnet)["repairsTotal"]
            told = time.time()
            sim.console(f'Unlink "{switch}"[{port}]')
            status = wait_for("a repair", lambda: (lambda s: s["repairsTotal"] > before and s["phase"] == "synced" and s)(live(url, subnet)), 30)
            repair = status["repairs"][0]
            done = datetime.fromisoformat(repair["at"].replace("Z", "+00:00")).timestamp()
            after = wait_for("the whole audit", lambda: (lambda s: s["repairs"][0]["unreachablePairs"] is not None and s)(live(url, subnet)), 60)
            results.append({"ms": repair["programmedUs"] / 1000, "from_cut_ms": (done - told) * 1000,
                            "sweep_ms": (repair["sweptUs"] - repair["noticedUs"]) / 1000,
                            "compute_ms": (repair["computedUs"] - repair["sweptUs"]) / 1000,
                            "write_ms": (repair["programmedUs"] - repair["computedUs"]) / 1000,
                            "mads": repair["mads"], "blocks": repair["blocks"], "entries": repair["changedEntries"],
                            "after": after["repairs"][0]["unreachablePairs"]})
        # Neither end could report (it has no route to the manager) and the sweep found it: not measured.
        reported = [result for result in results if result["from_cut_ms"] < 1000]
        if len(reported) < len(results):
            print(f"{len(results) - len(reported)} of {len(results)} cuts were found by a sweep and are left out")
        return up_s, reported or results


def lost_meanwhile(railweave, native, netlist, cut, folder):
    """Pairs whose route led over the first cable that is cut, until it is repaired."""
    fdbs = folder / "healthy.fdbs"
    subprocess.run([railweave, "lab", "route", str(netlist), "--write-fdbs", str(fdbs), "--fail-on", "never"], check=True, capture_output=True)
    switch, port, peer = cut[0]
    links = json.loads(subprocess.run([railweave, "lab", "route", str(netlist), "--fail", f"{switch[2:]}/{port}", "--against", str(fdbs),
                                       "--fail-on", "never", "-o", "json"], capture_output=True, text=True).stdout or "{}")
    return links.get("against", {}).get("unreachablePairs", "-")


def osm_ms(line):
    clock = re.match(r"\w+ \d+ (\d+):(\d+):(\d+) (\d+)", line)
    hours, minutes, seconds, micros = map(int, clock.groups())
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + micros / 1000


def opensm(netlist, engine, cut):
    with running_opensm(netlist, engine) as (sim, _, log, up_s):
        results = []
        for switch, port, _ in cut:
            seen = len(log.read_text(errors="replace"))
            told = datetime.now()
            told_ms = ((told.hour * 60 + told.minute) * 60 + told.second) * 1000 + told.microsecond / 1000
            sim.console(f'Unlink "{switch}"[{port}]')
            new = wait_for("a sweep", lambda: (lambda t: "SUBNET UP" in t and t)(log.read_text(errors="replace")[seen:]), SECONDS)
            lines = new.splitlines()
            trap = next((osm_ms(line) for line in lines if "rap" in line and re.match(r"\w+ \d+ \d+:", line)), None)
            up = max(osm_ms(line) for line in lines if "SUBNET UP" in line and re.match(r"\w+ \d+ \d+:", line))
            results.append({"ms": up - (trap if trap is not None else told_ms), "from_cut_ms": up - told_ms})
            time.sleep(1)
        return up_s, results, engine_used(log, engine)


def median(results, key):
    return statistics.median(result[key] for result in results)


def main():
    binaries = Path(sys.argv[1]).resolve()
    lacking = missing() or (None if shutil.which("opensm") else "opensm")
    if lacking:
        print(f"skipped: {lacking} is not installed", file=sys.stderr)
        return 77
    print(f"medians of {CUTS} cuts, window {WINDOW}; in brackets from the cut itself")
    print(f"{'fabric':<9} {'railweaved ms':>16} {'= read':>7} {'route':>7} {'write':>7} {'MADs':>6} {'blocks':>7} {'lost meanwhile':>14} {'after':>6} | "
          f"{'opensm':<8} {'ms':>16} {'ratio':>7}")
    rows = []
    for name in sys.argv[2:] or ["648", "rail2048", "1728", "3456"]:
        with tempfile.TemporaryDirectory(prefix="railweave-repair-") as temporary:
            folder = Path(temporary)
            native, netlist = generate(str(binaries / "railweave"), name, folder)
            cut = cables(netlist)
            up_s, ours = railweaved(binaries, native, netlist, cut, folder)
            lost = lost_meanwhile(str(binaries / "railweave"), native, netlist, cut, folder)
            head = (f"{name:<9} {median(ours, 'ms'):>7.1f} ({median(ours, 'from_cut_ms'):>6.1f}) {median(ours, 'sweep_ms'):>7.1f} {median(ours, 'compute_ms'):>7.1f} "
                    f"{median(ours, 'write_ms'):>7.1f} {median(ours, 'mads'):>6.0f} {median(ours, 'blocks'):>7.0f} {lost!s:>14} {max(r['after'] for r in ours):>6}")
            if not ENGINES:
                print(head, flush=True)
            for engine in ENGINES:
                try:
                    osm_up_s, theirs, used = opensm(netlist, engine, cut)
                    row = {"fabric": name, "railweaved": ours, "railweaved_up_s": up_s, "engine": used, "opensm": theirs, "opensm_up_s": osm_up_s,
                           "ratio": median(theirs, "ms") / median(ours, "ms")}
                    rows.append(row)
                    print(f"{head} | {used:<8} {median(theirs, 'ms'):>7.0f} ({median(theirs, 'from_cut_ms'):>6.0f}) {row['ratio']:>6.0f}x", flush=True)
                except RuntimeError as error:
                    print(f"{head} | {engine:<8} {error}", flush=True)
    results = os.environ.get("RESULTS")
    if results:
        Path(results).write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
