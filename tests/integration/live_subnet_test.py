#!/usr/bin/env python3
"""railweaved on simulated subnets: observed, programmed, cut, drained, restarted; judged by ibtracert, which walks the
switches' own tables, and by ibdmchk, which checks every pair and looks for credit loops.

live_subnet_test.py BIN_FOLDER        exit code 77: skipped, and why
"""
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import Ibsim, missing  # noqa: E402
from live import LiveService, generate  # noqa: E402

SHAPES = {
    "8 hosts": ["fat-tree", "--hosts", "8", "--radix", "4", "--tiers", "3", "--nics-per-host", "1", "--gpus-per-host", "1", "--speed", "HDR"],
    "16 nodes on 8 rails": ["rail-optimized", "--hosts", "16", "--speed", "HDR"],
    "324 hosts": ["fat-tree", "--hosts", "324", "--radix", "36", "--nics-per-host", "1", "--gpus-per-host", "1", "--speed", "HDR"],
    "432 hosts, 3 tiers": ["fat-tree", "--tiers", "3", "--hosts", "432", "--radix", "12", "--nics-per-host", "1", "--gpus-per-host", "1", "--speed", "HDR"],
}


def lids(sim):
    text = sim.run(["ibnetdiscover"]).stdout
    return [int(lid) for lid in re.findall(r'^\[\d+\]\([0-9a-f]+\)\s+"S-[^#]*# lid (\d+) ', text, re.MULTILINE)]


def walk(sim, source, target):
    """The hops that ibtracert finds in the switches' tables: (GUID, egress port)."""
    done = sim.run(["ibtracert", "-n", str(source), str(target)], seconds=20)
    assert done.returncode == 0 and "\nTo {" in done.stdout, f"{source} to {target}: {done.stdout} {done.stderr}"
    at, path = re.match(r"From \{0x([0-9a-f]+)\}", done.stdout)[1], []
    for port, to in re.findall(r"^\[(\d+)\] -> \{0x([0-9a-f]+)\}", done.stdout, re.MULTILINE):
        path.append((at, int(port), to))
        at = to
    return path


def fdbs_of_switches(sim):
    """The tables that dump_fts reads from the switches, in the format of OpenSM's own dump."""
    # A client of the simulator hangs now and then where others come and go, and is then ended by its timeout: what it read
    # until then is no reading of the switches.
    for _ in range(3):
        read = sim.run(["dump_fts"], seconds=30)
        if read.returncode not in (124, 137):
            break
    lines = []
    for line in read.stdout.splitlines():
        head = re.match(r"Unicast lids .* of switch .*guid 0x([0-9a-f]+)", line)
        if head:
            lines.append(f"\nosm_ucast_mgr_dump_ucast_routes: Switch 0x{head.group(1)}\nLID    : Port : Hops : Optimal")
        entry = re.match(r"0x([0-9a-f]{4}) (\d{3}) ", line)
        if entry and entry.group(2) != "255":
            lines.append(f"0x{entry.group(1).upper()} : {entry.group(2)}  : 00   : yes")
    return "\n".join(lines).lstrip() + "\n"


def judge(sim, service, railweave, netlist, cut):
    """ibdmchk on the tables of the switches; "" or what it finds wrong."""
    folder = Path(service.folder)
    subnet = folder / "opensm-subnet.lst"
    options = [option for switch, port in cut for option in ("--fail", f"{switch[2:]}/{port}")]
    # The list of links, as ibdmchk reads it; its tables were read from the switches.
    done = subprocess.run([railweave, "lab", "route", str(netlist), "--write-subnet", str(subnet), "--fail-on", "never", *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (folder / "fdbs").write_text(fdbs_of_switches(sim))
    (folder / "mcfdbs").write_text("")
    said = subprocess.run(["ibdmchk", "-s", str(subnet), "-f", str(folder / "fdbs"), "-m", str(folder / "mcfdbs")], capture_output=True, text=True, timeout=120)
    text = said.stdout + said.stderr
    scanned = re.search(r"Scanned:(\d+) CA to CA paths", text)
    if not scanned or int(scanned[1]) == 0:
        return f"ibdmchk scanned no paths:\n{text[-1500:]}"
    wrong = [line for line in text.splitlines() if "-E-" in line]
    if "no credit loops found" not in text:
        wrong.append("it does not say that there are no credit loops")
    return "\n".join(wrong[:10])


def cables(netlist):
    found, switch = [], None
    for line in Path(netlist).read_text().splitlines():
        head = re.match(r'(Switch|Ca|Hca)\s+\d+\s+"([^"]+)"', line)
        if head:
            switch = head.group(2) if head.group(1) == "Switch" else None
        cable = re.match(r'\[(\d+)\]\s+"S-[^"]+"\[', line)
        if cable and switch:
            found.append((switch, int(cable.group(1))))
    return found


def observed_then_programmed(name, shape, binaries, seed):
    railweave = str(binaries / "railweave")
    with tempfile.TemporaryDirectory(prefix="railweave-live-") as folder:
        native, netlist, subnet = generate(railweave, shape, folder)
        with Ibsim(netlist) as sim, LiveService(sim, binaries, folder, subnet, "sweep_seconds = 1") as service:
            service.import_fabric(native)
            status = service.wait("watched", lambda s: s["phase"] == "watching")
            assert "route.programmed" not in [event["type"] for event in service.events()]
            service.mode("direct")
            status = service.synced()
            assert status["linksDown"] == 0 and status["differenceCount"] == 0, status
            first = status["repairs"][-1]
            problem = judge(sim, service, railweave, netlist, [])
            assert not problem, f"{name}: {problem}"
            # A cable on the route of a pair is cut: the route changes, and all pairs still arrive.
            random.seed(seed)
            known = lids(sim)
            inter = set(cables(netlist))
            for _ in range(50):
                source, target = random.sample(known, 2)
                path = walk(sim, source, target)
                hop = next(((f"S-{at}", port) for at, port, _ in path if (f"S-{at}", port) in inter), None)
                if hop:
                    break
            before = status["repairsTotal"]
            sim.console(f'Unlink "{hop[0]}"[{hop[1]}]')
            status = service.wait("repaired", lambda s: s["repairsTotal"] > before and s["phase"] == "synced")
            repair = status["repairs"][0]
            moved = walk(sim, source, target)
            assert all((f"S-{at}", port) != hop for at, port, _ in moved), (hop, moved)
            problem = judge(sim, service, railweave, netlist, [hop])
            assert not problem, f"{name}, cut: {problem}"
            service.wait_alarm("link.down")
            sim.console(f'ReLink "{hop[0]}"[{hop[1]}]')
            service.wait("link back", lambda s: s["linksDown"] == 0 and s["phase"] == "synced")
            service.wait_alarm("link.down", there=False)
            assert walk(sim, source, target) == path, "the way is what it was: tables do not depend on history"
            problem = judge(sim, service, railweave, netlist, [])
            assert not problem, f"{name}, joined: {problem}"
            print(f"{name}: programmed {first['blocks']} blocks; cut link repaired in {repair['programmedUs'] / 1000:.1f} ms, "
                  f"{repair['blocks']} blocks, {repair['mads']} MADs; ibdmchk and ibtracert agree", flush=True)


def drains_and_restarts(binaries):
    railweave = str(binaries / "railweave")
    with tempfile.TemporaryDirectory(prefix="railweave-live-") as folder:
        native, netlist, subnet = generate(railweave, SHAPES["16 nodes on 8 rails"], folder)
        with Ibsim(netlist) as sim, LiveService(sim, binaries, folder, subnet, "sweep_seconds = 1") as service:
            service.import_fabric(native)
            service.mode("direct")
            service.synced()
            known = lids(sim)
            inter = set(cables(netlist))
            path = hop = None
            random.seed(7)
            while not hop:
                source, target = random.sample(known, 2)
                path = walk(sim, source, target)
                hop = next(((at, port, to) for at, port, to in path if (f"S-{at}", port) in inter), None)
            link = next(item["id"] for item in service.get("/v1/links?limit=10000")["items"]
                        if any(end["port"] == f"{hop[0]}/{hop[1]}" for end in item["ends"]))
            status, preview = service.request("POST", f"/v1/links/{link}/drain?dryRun=true", {"reason": "cable"})
            assert status == 200 and preview["safe"] and not service.get("/v1/drains")["items"], preview
            status, drain = service.request("POST", f"/v1/links/{link}/drain", {"reason": "cable"})
            assert status in (200, 202), drain
            service.wait("drained", lambda s: service.get("/v1/drains")["items"][0]["state"] == "drained")
            moved = walk(sim, source, target)
            assert all((at, port) != (hop[0], hop[1]) for at, port, _ in moved), moved
            # A restart: mode, drain and tables are as they were, and nothing is written again.
            service.restart()
            status = service.synced()
            assert status["repairsTotal"] == 0, f"the restart wrote tables: {status['repairs']}"
            assert service.get("/v1/drains")["items"][0]["state"] == "drained"
            assert walk(sim, source, target) == moved
            status, body = service.request("POST", f"/v1/links/{link}/undrain", {})
            assert status in (200, 204), body
            service.wait("undrained", lambda s: s["phase"] == "synced" and not service.get("/v1/drains")["items"] and s["repairsTotal"] > 0)
            assert walk(sim, source, target) == path
            # The only cable of an adapter that a running job uses: refused unless forced.
            edge = next(item for item in service.get("/v1/links?limit=10000")["items"] if any("node" in end for end in item["ends"]))
            node = next(end["node"] for end in edge["ends"] if "node" in end)
            service.request("PUT", "/v1/tenants/research", {})
            nodes = [item["id"] for item in service.get("/v1/nodes?limit=100")["items"] if item["id"] != node]
            status, placed = service.request("POST", "/v1/jobs", {"name": "train", "tenant": "research", "gpus": 8, "excludeNodes": nodes})
            assert status == 201, placed
            status, refused = service.request("POST", f"/v1/links/{edge['id']}/drain", {"reason": "cable"})
            assert status == 409 and refused["code"] == "links.drainRefused", (status, refused)
            print(f"drained, restarted and undrained; draining a busy node's cable is refused: {refused['detail'][:120]}")


def main():
    binaries = Path(sys.argv[1]).resolve()
    lacking = missing() or next((tool for tool in ("ibtracert", "dump_fts", "ibdmchk") if not shutil.which(tool)), None)
    if lacking:
        print(f"skipped: {lacking} is absent")
        return 77
    for seed, (name, shape) in enumerate(SHAPES.items()):
        observed_then_programmed(name, shape, binaries, seed)
    drains_and_restarts(binaries)
    return 0


if __name__ == "__main__":
    sys.exit(main())
