#!/usr/bin/env python3
"""Writes port tables of a simulated subnet and holds them to what smpquery reads, counters to what perfquery reads; with
invalid tables, a switch that loses datagrams and one that falls silent.

infiniband_ports_test.py PROBE RAILWEAVE
Exit code 77 (skipped) where ibsim or infiniband-diags are absent.
"""
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import Ibsim, missing, stop  # noqa: E402
from waiting import until  # noqa: E402

SAMPLES = 24
ERRORS = ["SymbolErrorCounter", "LinkErrorRecoveryCounter", "LinkDownedCounter", "PortRcvErrors", "PortXmitDiscards", "VL15Dropped"]
HIGHEST = [65535, 255, 255, 65535, 65535, 65535]


class Probe:
    """A probe that reads ports from stdin, answered line by line."""

    def __init__(self, sim, *command):
        self.client = sim.open(command, seconds=120)

    def ask(self, lines):
        self.client.stdin.write("\n".join(lines) + "\n\n")
        self.client.stdin.flush()
        answer = self.client.stdout.readline()
        assert answer, self.client.stderr.read()
        return json.loads(answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        stop(self.client)


def devices(sim, host):
    """What ibnetdiscover finds: switches and adapters as {guid: (LID, [ports with a cable], name in the netlist)}."""
    switches, adapters, at = {}, {}, None
    for line in sim.run(["ibnetdiscover"], host=host).stdout.splitlines():
        if match := re.match(r'Switch\s+\d+ "(S-([0-9a-f]{16}))".* lid (\d+) lmc', line):
            at = switches.setdefault(match[2], (int(match[3]), [], match[1]))
        elif match := re.match(r'Ca\s+\d+ "(H-([0-9a-f]{16}))"', line):
            at = match[2], match[1]
        elif match := re.match(r'\[(\d+)\]\([0-9a-f]+\)\s+"S-.*# lid (\d+) lmc', line):
            adapters[at[0]] = (int(match[2]), [int(match[1])], at[1])
        elif match := re.match(r"\[(\d+)\]\s+\"", line):
            at[1].append(int(match[1]))
    return switches, adapters


def query(sim, host, *arguments):
    done = sim.run([*map(str, arguments)], seconds=20, host=host)
    assert done.returncode == 0, f"{arguments}: {done.stdout} {done.stderr}"
    return done.stdout


def by_smpquery(sim, host, lid, port):
    """A port's tables: {in port: [VL by SL]}, ([(VL, weight)] low, high), [PKey]."""
    maps = {int(inward): [int(vl) for vl in re.findall(r"\d+", rest)] for inward, rest in
            re.findall(r"^ports: in\s+(\d+), out\s+\d+:(.*)$", query(sim, host, "smpquery", "sl2vl", lid, port), re.MULTILINE)}
    rows = [[int(number, 16) for number in re.findall(r"0x([0-9a-fA-F]+)", row)]
            for row in re.findall(r"^(?:VL    |WEIGHT):(.*)$", query(sim, host, "smpquery", "vlarb", lid, port), re.MULTILINE)]
    pkeys = [int(key, 16) for row in re.findall(r"^\s*\d+:(.*)$", query(sim, host, "smpquery", "pkeys", lid, port), re.MULTILINE)
             for key in re.findall(r"0x([0-9a-fA-F]{4})", row)]
    return maps, list(zip(rows[0], rows[1])), list(zip(rows[2], rows[3])), pkeys


def draw(guid, port):
    """Random tables in the format of the probe and as smpquery reports them."""
    vls = [random.randrange(8) for _ in range(16)]
    low = [(vl, random.randrange(1, 256)) for vl in random.sample(range(8), 8)]
    high = [(random.randrange(8), random.randrange(256)) for _ in range(random.randrange(9))]
    pkeys = [0xffff] + [random.choice((0, 0x8000)) | key for key in random.sample(range(1, 0x7fff), random.randrange(63))]
    line = (f"{guid} {port} sl2vl={','.join(map(str, vls))} high={','.join(f'{vl}:{weight}' for vl, weight in high)} "
            f"low={','.join(f'{vl}:{weight}' for vl, weight in low)} pkeys={','.join(f'{key:x}' for key in pkeys)}")
    return line, (vls, low, high + [(0, 0)] * (8 - len(high)), pkeys + [0] * (64 - len(pkeys)))


def hold_to_smpquery(sim, host, place, wanted):
    guid, port, lid, is_switch = place
    vls, low, high, pkeys = wanted
    maps, their_low, their_high, their_pkeys = by_smpquery(sim, host, lid, port)
    assert len(maps) > 4 if is_switch else len(maps) == 1, maps
    for inward, found in maps.items():
        assert found == vls, f"{guid}/{port} SL to VL from port {inward}: {found}, wanted {vls}"
    assert their_low == low and their_high == high, f"{guid}/{port}: {their_low} {their_high}, wanted {low} {high}"
    assert their_pkeys == pkeys, f"{guid}/{port}: PKeys {their_pkeys}, wanted {pkeys}"


def everything(sim, host, probe, switches, adapters):
    places = [(guid, port, lid, True) for guid, (lid, ports, _) in switches.items() for port in ports]
    places += [(guid, port, lid, False) for guid, (lid, ports, _) in adapters.items() for port in ports]
    drawn = {place: draw(*place[:2]) for place in places}
    left_alone = set(random.sample(places, 6))
    before = {place: by_smpquery(sim, host, place[2], place[1]) for place in left_alone}
    lines = [drawn[place][0] for place in places if place not in left_alone]
    with Probe(sim, probe, "tables") as client:
        done = client.ask(lines)
        assert done["complete"] and not done["isolated"], done["outcomes"]
        assert all(port[table] == "applied" for port in done["outcomes"] for table in ("slToVl", "arbitration"))
        assert all(port["pkeys"] in ("applied", "unchanged") for port in done["outcomes"])  # 0xffff alone was there before
        print(f"{len(lines)} ports: {done['written']} blocks written and read back, {done['asked']} datagrams in {done['writeS']:.3f} s")
        for place in random.sample(sorted(set(places) - left_alone), SAMPLES):
            hold_to_smpquery(sim, host, place, drawn[place][1])
        for place in left_alone:
            assert by_smpquery(sim, host, place[2], place[1]) == before[place], f"{place} was not asked for"
        again = client.ask(lines)
        assert again["written"] == 0, "nothing differs"
        differ = [reading["inPortsDiffer"] for reading in again["readings"]]
        assert not any(differ) and all(reading["answered"] for reading in again["readings"])
        print(f"again: {again['asked']} datagrams in {again['writeS']:.3f} s, nothing written")

        # What ibsim dies of, and what a port cannot hold.
        guid, (lid, ports, name) = next(iter(switches.items()))
        place = (guid, ports[0], lid, True)
        kept = by_smpquery(sim, host, lid, ports[0])
        zeros = ",".join(["0"] * 16)
        bad = [f"{guid} 255 sl2vl={zeros}", f"{guid} 200 pkeys=ffff,8001", f"{guid} {ports[0]} sl2vl={zeros[:-1]}9",
               f"{guid} {ports[1]} high={','.join(['0:1'] * 9)}", f"{guid} {ports[2]} pkeys=8001",
               f"{guid} {ports[3]} pkeys=ffff,{','.join(f'{key:x}' for key in range(1, 65))}"]
        refused = client.ask(bad)
        assert refused["written"] == 0 and not refused["complete"], refused
        assert all({"invalid", "silent"} & set(port.values()) for port in refused["outcomes"]), refused["outcomes"]
        assert by_smpquery(sim, host, lid, ports[0]) == kept
        print("refused:", "; ".join(port["reason"] for port in refused["outcomes"]))

        limit = client.ask([f"{guid} {ports[0]} high=0:1 low=1:1 limit=77"])["outcomes"][0]
        assert limit["highLimit"] == "notKept" and limit["arbitration"] == "applied", "ibsim has no VLHighLimit"

        # A lossy switch needs longer; a silent one is reported, and the others get their tables.
        lossy, silent = random.sample(sorted(switches), 2)
        sim.console(f'Error "{switches[lossy][2]}" 2')
        sim.console(f'Error "{switches[silent][2]}" 100')
        sim.settle()
        drawn = {place: draw(*place[:2]) for place in places if place[3]}
        done = client.ask([line for line, _ in drawn.values()])
        assert lossy not in done["isolated"] and silent in done["isolated"], done["isolated"]
        sim.console(f'Error "{switches[lossy][2]}" 0')
        sim.console(f'Error "{switches[silent][2]}" 0')
        sim.settle()
        for place, outcome in zip(drawn, done["outcomes"]):
            expected = {"silent"} if place[0] in done["isolated"] else {"applied", "unchanged"}
            assert {outcome["slToVl"], outcome["arbitration"], outcome["pkeys"]} <= expected, (place, outcome)
        for place in random.sample([place for place in drawn if place[0] not in done["isolated"]], SAMPLES // 2):
            hold_to_smpquery(sim, host, place, drawn[place][1])
        print(f"with a lossy and a silent switch: {len(done['isolated'])} of {len(switches)} isolated in {done['writeS']:.2f} s")


def counters(sim, host, probe, switches, adapters):
    places = [(guid, port, lid, name) for guid, (lid, ports, name) in [*switches.items(), *adapters.items()] for port in ports]
    chosen = random.sample(places, SAMPLES)
    set_to = {}
    for guid, port, _, name in chosen:
        errors = [random.randrange(limit + 1) for limit in HIGHEST]
        data, wait = random.randrange(1 << 61), random.randrange(1 << 32)
        for field, value in [*zip(ERRORS, errors), ("PortXmitWait", wait)]:
            sim.console(f'PerformanceSet "{name}"[{port}] PortCounters.{field}={value}')
        sim.console(f'PerformanceSet "{name}"[{port}] PortCountersExtended.PortXmitData={data}')
        set_to[guid, port] = errors, data, wait
    until(lambda: sim.said()[-2000:], lambda: sim.said().count("has been set to") >= 8 * SAMPLES, 10)
    with Probe(sim, probe, "counters") as client:
        read = client.ask([f"{guid} {port}" for guid, port, _, _ in chosen])["readings"]
    for reading, (guid, port, lid, _) in zip(read, chosen):
        errors, data, wait = set_to[guid, port]
        assert reading["answered"] and reading["wide"] and reading["waitKnown"], reading
        theirs = {}
        for extended in ([], ["-x"]):
            text = query(sim, host, "perfquery", *extended, lid, port)
            theirs |= {(bool(extended), name): int(value) for name, value in re.findall(r"^(\w+):\.+(\d+)$", text, re.MULTILINE)}
        assert reading["errors"] == errors == [theirs[False, name] for name in ERRORS], (reading, errors, theirs)
        assert reading["xmitWait"] == wait == theirs[False, "PortXmitWait"], (reading, theirs)
        # The probe's own datagrams are traffic: later readings may be slightly higher.
        for ours, name, scale in (("xmitBytes", "PortXmitData", 4), ("rcvBytes", "PortRcvData", 4),
                                  ("xmitPackets", "PortXmitPkts", 1), ("rcvPackets", "PortRcvPkts", 1)):
            later = theirs[True, name] * scale
            assert 0 <= later - reading[ours] < 4000 * 288, f"{guid}/{port} {ours}: {reading[ours]}, perfquery {later}"
        assert 0 <= reading["xmitBytes"] - 4 * data < 4000 * 288, (reading, data)
    print(f"{SAMPLES} ports' counters as perfquery has them")
    with Probe(sim, probe, "counters", "--rate", "0") as client:
        lines = [f"{guid} {port}" for guid, port, _, _ in places]
        fast = [client.ask(lines)["seconds"] for _ in range(2)][1]
    with Probe(sim, probe, "counters", "--rate", "4000") as client:
        client.ask(lines)
        slow = client.ask(lines)["seconds"]
    assert slow > 2 * len(lines) / 4000 - 0.02, f"{slow} s for {len(lines)} ports"
    print(f"{len(lines)} ports' counters in {fast:.4f} s; at no more than 4000 datagrams a second in {slow:.2f} s")


def main():
    probe, railweave = sys.argv[1:3]
    tools = [tool for tool in ("smpquery", "perfquery") if not shutil.which(tool)]
    if lacking := missing() or ", ".join(tools):
        print(f"skipped: {lacking} is not there")
        return 77
    random.seed(11)
    with tempfile.TemporaryDirectory() as folder:
        netlist = Path(folder) / "fabric.net"
        subprocess.run([railweave, "lab", "generate", "fat-tree", "--tiers", "3", "--arity", "4", "--hosts", "64",
                        "--gpus-per-host", "1", "--speed", "EDR", "--format", "ibsim", "-O", netlist], check=True,
                       capture_output=True)
        host = re.findall(r'^Ca\s+\d+\s+"([^"]+)"', netlist.read_text(), re.MULTILINE)[-1]
        with Ibsim(netlist) as sim:
            client = sim.open([probe, "program"])
            first = json.loads(client.stdout.readline())
            assert first["failed"] == 0 and first["isolated"] == 0, first
            stop(client)
            switches, adapters = devices(sim, host)
            assert len(adapters) == 64 and len(switches) > 8, (len(adapters), len(switches))
            everything(sim, host, probe, switches, adapters)
            counters(sim, host, probe, switches, adapters)
    return 0


if __name__ == "__main__":
    sys.exit(main())
