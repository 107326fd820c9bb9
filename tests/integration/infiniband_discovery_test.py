#!/usr/bin/env python3
"""Discovers simulated InfiniBand subnets and holds every field to what ibnetdiscover reports on the same subnet.

infiniband_discovery_test.py PROBE RAILWEAVE SHARED_DATA
Exit code 77 (skipped) where ibsim or the netlists are absent.
"""
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import Ibsim, missing, stop  # noqa: E402
from waiting import until  # noqa: E402

NETLISTS = ["12-ary-2-tree.net", "12-node-spaced.net", "2-ary-4-tree.net", "32nodes-3lvl-is1.net", "4-ary-3-tree.net",
            "4-ary-4-tree.net", "IS3-128.net", "part-4-ary-3-tree.net"]
GENERATED = {
    "rail": ["rail-optimized", "--hosts", "32", "--speed", "HDR"],
    "fat tree": ["fat-tree", "--tiers", "3", "--arity", "6", "--hosts", "216", "--gpus-per-host", "1", "--speed", "EDR"],
    "dragonfly+": ["dragonfly-plus", "--hosts", "64", "--speed", "EDR"],
}


def reported(text):
    """What ibnetdiscover finds: {guid: node}, {(guid, port): cable end}."""
    nodes, ends, current, given = {}, {}, None, {}
    for line in text.splitlines():
        if match := re.match(r"(vendid|devid|sysimgguid)=0x([0-9a-f]+)", line):
            given[match[1]] = int(match[2], 16)
        elif match := re.match(r'(Switch|Ca|Rt)\s+(\d+) "[SHR]-([0-9a-f]{16})"\s+# "(.*)"(?: (base|enhanced) port 0 lid (\d+) lmc (\d+))?$', line):
            kind, ports, guid, description, zero, lid, lmc = match.groups()
            current = guid
            nodes[guid] = dict(type={"Ca": 1, "Switch": 2, "Rt": 3}[kind], ports=int(ports), description=description,
                               system=given.get("sysimgguid", 0), vendor=given.get("vendid", 0), device=given.get("devid", 0))
            if kind == "Switch":
                nodes[guid].update(enhanced=zero == "enhanced", lid=int(lid), lmc=int(lmc))
            given = {}
        elif match := re.match(r'\[(\d+)\](?:\(([0-9a-f]+)\))?\s+"[SHR]-([0-9a-f]{16})"\[(\d+)\](?:\(([0-9a-f]+)\))?\s+# (?:lid (\d+) lmc (\d+) )?"(.*)" lid (\d+) (\d+)x(\S+)$', line):
            port, own, peer, peer_port, peer_guid, lid, lmc, description, peer_lid, width, speed = match.groups()
            ends[current, int(port)] = dict(guid=int(own or "0", 16), peer=peer, peerPort=int(peer_port), lid=int(lid or 0),
                                            lmc=int(lmc or 0), width=int(width), speed=speed,
                                            peer_guid=int(peer_guid or "0", 16), peer_lid=int(peer_lid))
        elif line.startswith(("Switch", "Ca", "Rt", "[")):
            raise AssertionError(f"a line of ibnetdiscover that this test does not understand: {line}")
    return nodes, ends


def discovered(text):
    nodes, ends = {}, {}
    records = [json.loads(line) for line in text.splitlines()]
    lids = {record["guid"]: record.get("lid") for record in records}
    guids = {(record["guid"], link["port"]): link for record in records for link in record["links"]}
    for record in records:
        links = record.pop("links")
        guid = record.pop("guid")
        is_switch = record["type"] == 2
        nodes[guid] = dict(record, system=int(record["system"], 16))
        for link in links:
            back = guids[link["peer"], link["peerPort"]]
            ends[guid, link["port"]] = dict(
                guid=int(link["guid"], 16), peer=link["peer"], peerPort=link["peerPort"], width=link["width"], speed=link["speed"],
                lid=0 if is_switch else link["lid"], lmc=0 if is_switch else link["lmc"], peer_guid=int(back["guid"], 16),
                peer_lid=back["lid"] if lids[link["peer"]] is None else lids[link["peer"]])
    return nodes, ends


def compare(name, sim, probe):
    ours = sim.run([probe, "discover"])
    assert ours.returncode == 0, f"{name}: {ours.stderr}"
    theirs = sim.run(["ibnetdiscover"])
    assert theirs.returncode == 0, f"{name}: {theirs.stderr}"
    our_nodes, our_ends = discovered(ours.stdout)
    their_nodes, their_ends = reported(theirs.stdout)
    assert len(their_nodes) > 1 and their_ends, f"{name}: ibnetdiscover found nothing"
    for what, found, expected in (("node", our_nodes, their_nodes), ("cable end", our_ends, their_ends)):
        assert found.keys() == expected.keys(), f"{name}: {what}s: {sorted(found.keys() ^ expected.keys())[:5]}"
        for key, fields in expected.items():
            assert found[key] == fields, f"{name}: {what} {key}: found {found[key]}, ibnetdiscover {fields}"
    print(f"{name}: {len(their_nodes)} nodes, {len(their_ends)} cable ends as ibnetdiscover has them")


def rediscovery(netlist, probe):
    """A light sweep finds what changed with few datagrams, and what came back."""
    with Ibsim(netlist) as sim:
        client = sim.open([probe, "light"])

        def sweep(sign):
            client.stdin.write(sign + "\n")
            client.stdin.flush()
            return json.loads(client.stdout.readline())

        whole = json.loads(client.stdout.readline())
        sweep("portStateChange")  # ibsim starts with every switch changed
        port = re.search(r'^Switch[^"]*"([^"]+)".*\n\[(\d+)\]\s+"S', Path(netlist).read_text(), re.MULTILINE)
        for sign in ("portStateChange", "portInfo"):
            idle = sweep(sign)
            assert not idle["changed"], f"{sign}: {idle}"
            assert (idle["nodes"], idle["cableEnds"]) == (whole["nodes"], whole["cableEnds"]), f"{sign}: {idle} {whole}"
            sim.console(f'Unlink "{port[1]}"[{port[2]}]')
            cut = wait_for(lambda: sweep(sign), lambda found: found["changed"])
            assert cut["cableEnds"] == whole["cableEnds"] - 2, f"{sign}: {cut}"
            sim.console(f'ReLink "{port[1]}"[{port[2]}]')
            back = wait_for(lambda: sweep(sign), lambda found: found["changed"])
            assert (back["nodes"], back["cableEnds"]) == (whole["nodes"], whole["cableEnds"]), f"{sign}: {back}"
            again = sweep("full")
            assert (again["nodes"], again["cableEnds"]) == (back["nodes"], back["cableEnds"]), f"{sign}: {again}"
            print(f"re-discovery by {sign}: {idle['sent']} datagrams when idle, {cut['sent']} after a cut, "
                  f"{whole['sent']} for everything")
        stop(client)


def wait_for(ask, accept):
    """The first answer that is accepted."""
    last = []

    def accepted():
        last[:] = [ask()]
        return accept(last[0])

    until(lambda: f"not seen: {last}", accepted, every=0.02)
    return last[0]


def main():
    probe, railweave, data = sys.argv[1], sys.argv[2], Path(sys.argv[3]) / "ibsim"
    if lacking := missing():
        print(f"skipped: {lacking} is not there")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        for name, arguments in GENERATED.items():
            netlist = Path(folder) / f"{arguments[0]}.net"
            subprocess.run([railweave, "lab", "generate", *arguments, "--format", "ibsim", "-O", netlist], check=True,
                           capture_output=True)
            with Ibsim(netlist) as sim:
                compare(f"generated {name}", sim, probe)
        netlist = Path(folder) / "fat-tree.net"
        if shutil.which("opensm"):
            with Ibsim(netlist) as sim:  # with LIDs, LMC and links that are active
                opensm = sim.run(["opensm", "-o", "-e", "-f", f"{folder}/osm.log", "-D", "0x43", "-l", "1"], seconds=60)
                assert "SUBNET UP" in opensm.stdout + Path(f"{folder}/osm.log").read_text(), opensm.stdout[-2000:]
                compare("after OpenSM", sim, probe)
        else:
            print("skipped: after OpenSM, which is not installed (deploy/install-dependencies.sh --with-opensm)")
        rediscovery(netlist, probe)
    if not data.is_dir():
        print(f"skipped: no netlists at {data}")
        return 77
    for name in NETLISTS:
        with Ibsim(data / name) as sim:
            compare(name, sim, probe)
    return 0


if __name__ == "__main__":
    sys.exit(main())
