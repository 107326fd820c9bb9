#!/usr/bin/env python3
"""Whether a host gets onto a lane of a job that it does not belong to, on live simulated subnets: a real railweaved programs lanes for
several jobs, on a fat tree and on irregular fabrics by seed; dump_fts and smpquery read what switches hold, and this test walks it by
itself: every host, every service level, every other host. No packet gets onto the lane of another job, those of each job arrive on
its own, and railweave-verify says the same of what `railweave guarantees collect` reads; so it is after a link has failed, and after it
is back. While switches get other routes and ports other maps, packets between hosts of jobs are walked as well: where forwarding tables
carry them, no map discards them.

lane_leaks_test.py BIN_FOLDER [SEEDS]     SEEDS: irregular fabrics, 2 if left out. Exit code 77: skipped, and why
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
from ibsim import Ibsim, missing  # noqa: E402
from live import LiveService, generate  # noqa: E402
from lanes_test import in_force, level_of, peers_of  # noqa: E402
from live_guarantees_test import node_names, programmed  # noqa: E402
from live_subnet_test import cables  # noqa: E402
from qos_programming_test import cabled, tables  # noqa: E402
from waiting import until  # noqa: E402

REGULAR = ["fat-tree", "--radix", "8", "--hosts", "16", "--nics-per-host", "1", "--gpus-per-host", "4", "--speed", "EDR"]
CLASSES, DROPPED = 6, 15


class Seen:
    """What switches hold: forwarding tables by dump_fts, maps of service levels by smpquery."""

    def __init__(self, sim):
        self.names, self.peers = node_names(sim), peers_of(sim)
        self.lid, self.leaf = {}, {}
        for guid, _port, _host, lid in re.findall(r'"H-([0-9a-f]{16})"\[(\d+)\]\(?\w*\)?\s+# "([^"]*)" lid (\d+)', sim.run(["ibnetdiscover"]).stdout):
            self.lid[guid] = int(lid)
        for (guid, port), (kind, other, _) in self.peers.items():
            if kind == "H":
                self.leaf[other] = (guid, port)
        self.routes, at = {}, None
        for line in sim.run(["dump_fts"], seconds=60).stdout.splitlines():
            if line.startswith("Unicast") and (match := re.search(r"guid 0x([0-9a-f]+)", line)):
                at = self.routes.setdefault(match[1].rjust(16, "0"), {})
            elif at is not None and (match := re.match(r"0x([0-9a-f]+)\s+(\d+)", line)) and int(match[2]) != 255:
                at[int(match[1], 16)] = int(match[2])
        self.maps = {name: maps for name, (maps, _, _) in tables(sim, cabled(sim)).items()}

    def walk(self, host, other, level):
        """([(egress port of a switch, lane)], "arrives", "discarded" or "lost")"""
        (guid, into), path = self.leaf[host], []
        for _ in range(32):
            out = self.routes[guid].get(self.lid[other])
            if out is None or (guid, out) not in self.peers:
                return path, "lost"
            lane = self.maps[f"{guid}/{out}"][into][level]
            if lane == DROPPED:
                return path, "discarded"
            path.append((f"{guid}/{out}", lane))
            kind, peer, number = self.peers[guid, out]
            if kind == "H":
                return path, "arrives" if peer == other else "lost"
            guid, into = peer, number
        return path, "lost"


def irregular(folder, seed):
    """A random fabric: leaves with one to four hosts, joined by one or two cables to two spines and to some of the others, the first to all."""
    chance = random.Random(seed)
    leaves, spines = chance.randint(4, 6), chance.randint(3, 5)
    count, hosts = leaves + spines, [chance.randint(1, 4) for _ in range(leaves)]
    used = [0] * count

    def port(switch):
        used[switch] += 1
        return used[switch]

    links, names = [], []
    for leaf in range(leaves):
        for spine in range(leaves, count):
            if spine < leaves + 2 or leaf == 0 or chance.random() < 0.4:
                for _ in range(chance.randint(1, 2)):
                    links.append([leaf, port(leaf), spine, port(spine), 0])
    for switch, number in enumerate(hosts):
        for _ in range(number):
            links.append([count + len(names), 1, switch, port(switch), 0])
            names.append(f"n{len(names):02d}")
    document = {"railweave": "fabric", "version": 1, "subnets": [{"name": "cluster", "kind": "compute"}],
                "nvlinkDomains": [{"name": name, "rateMbps": 3600000} for name in names],
                "switches": [{"guid": f"{0x1000 + n:016x}", "name": f"{'leaf' if n < leaves else 'spine'}-{n}", "ports": 16, "subnet": "cluster"} for n in range(count)],
                "hosts": [{"name": name, "adapters": [{"guid": f"{0x90000 + 16 * n:016x}", "device": "mlx5_0", "ports": [{"guid": f"{0x90001 + 16 * n:016x}"}]}],
                           "gpus": [{"domain": name, "nics": [0]} for _ in range(4)]} for n, name in enumerate(names)],
                "linkSpecs": [{"speed": "EDR", "width": 4}], "links": links}
    native, netlist = folder / "fabric.json", folder / "fabric.net"
    native.write_text(json.dumps(document))
    guids = [one["guid"] for one in document["switches"]] + [one["adapters"][0]["guid"] for one in document["hosts"]]
    kinds = ["S"] * count + ["H"] * len(names)
    shown = [one["name"] for one in document["switches"]] + [f"{name} mlx5_0" for name in names]
    rows = {}
    for a, pa, b, pb, _ in links:
        rows.setdefault(a, []).append((pa, b, pb))
        rows.setdefault(b, []).append((pb, a, pa))
    lines = ["# an irregular fabric"]
    for n, guid in enumerate(guids):
        if kinds[n] == "S":
            lines += ["", f"switchguid=0x{guid}", f'Switch\t16 "S-{guid}"\t\t# "{shown[n]}" enhanced port 0 lid 0 lmc 0']
        else:
            lines += ["", f"caguid=0x{guid}", f'Ca\t1 "H-{guid}"\t\t# "{shown[n]}"']
        for at, other, there in sorted(rows[n]):
            own, far = (f"({guid})" if kinds[n] == "H" else ""), (f"({guids[other]})" if kinds[other] == "H" else "")
            lines.append(f'[{at}]{own}\t"{kinds[other]}-{guids[other]}"[{there}]{far}\t\t# "{shown[other]}" lid 0 4xEDR')
    netlist.write_text("\n".join(lines) + "\n")
    return native, netlist, "cluster", names


def look(seen, jobs, what):
    """jobs: {job: (nodes, level)}. Probes; all are as they should be."""
    hosts = {job: {guid for guid, name in seen.names.items() if name in nodes} for job, (nodes, _) in jobs.items()}
    own = {}
    for job, (_, level) in jobs.items():
        for a in hosts[job]:
            for b in hosts[job] - {a}:
                path, end = seen.walk(a, b, level)
                assert end == "arrives", f"{what}: packets of {job} from {seen.names[a]} to {seen.names[b]} are {end} at {path}"
                assert all(lane == level for _, lane in path), f"{what}: {job} rides other lanes: {path}"
                for hop in path:
                    assert own.setdefault(hop, job) == job, f"{what}: {hop} has two owners"
    probes = 0
    for a in seen.lid:
        here = {job for job in jobs if a in hosts[job]}
        for level in range(16):
            for b in seen.lid:
                if a == b:
                    continue
                probes += 1
                path, _ = seen.walk(a, b, level)
                wrong = [hop for hop in path if own.get(hop) not in here | {None}]
                assert not wrong, f"{what}: {seen.names[a]} gets onto the lane of {own[wrong[0]]} at {wrong[0]} with level {level} to {seen.names[b]}: {path}"
    return probes


def verified(sim, service, folder, what):
    """railweave-verify on what the switches hold, and the journal."""
    collected = sim.run([str(service.binaries / "railweave"), "guarantees", "collect"], seconds=60)
    assert collected.returncode == 0, collected.stderr
    (folder / "tables.txt").write_text(collected.stdout)
    for name, words in (("certificate.json", ["guarantees", "certificate", "-O"]), ("journal.jsonl", ["admin", "export", str(folder / "store.db"), "-O"]),
                        ("fabric.json", ["fabric", "export", "-O"])):
        done = service.cli(*words, str(folder / name))
        assert done.returncode == 0, (words, done.stderr)
    done = subprocess.run([str(service.binaries / "railweave-verify"), *(str(folder / name) for name in ("fabric.json", "tables.txt", "certificate.json")),
                           "--journal", str(folder / "journal.jsonl")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "HOLDS" in done.stdout, f"{what}: {done.stdout}{done.stderr}"


def lanes_are_in_force(service, jobs):
    return in_force(service, [job for job in jobs])


def run(binaries, folder, native, netlist, subnet, choose, what):
    """choose(number) gives the nodes of each job."""
    with Ibsim(netlist) as sim, LiveService(sim, binaries, folder, subnet, "sweep_seconds = 1", seconds=200) as service:
        service.import_fabric(native)
        service.mode("direct")
        service.synced()
        assert service.cli("tenants", "put", "red").returncode == 0
        done = service.cli("contracts", "set", "red", "--guaranteed", "2", "--class", "all-reduce", "--isolation", "lane")
        assert done.returncode == 0, done.stdout + done.stderr
        programmed(service, len(cabled(sim)))
        jobs = {}
        for nodes in choose:
            status, job = service.request("POST", "/v1/jobs", {"name": "lane", "tenant": "red", "parallelism": {"tensor": 4, "data": len(nodes)},
                                                               "gpusPerNode": 4, "nodes": nodes})
            if status == 201:
                jobs[job["id"]] = (set(nodes), level_of(service, job["id"]))
        lanes = [level for _, level in jobs.values()]
        assert len(jobs) >= 2 and len(set(lanes)) < len(lanes), f"{what}: no two jobs have a lane of the same number: {jobs}"
        in_force(service, list(jobs))
        probes = look(Seen(sim), jobs, what)
        verified(sim, service, folder, what)

        # A link fails between switches of the first job, then it is back.
        ends = [at for at in cables(netlist) if at[0].startswith("S-")]
        switch, port = random.Random(what).choice(ends)
        sim.console(f'Unlink "{switch}"[{port}]')  # no route need cross it
        service.wait("the link down", lambda s: s["linksDown"] == 1 and s["phase"] == "synced", 20)
        def stay():
            return {one["job"]: (jobs[one["job"]][0], CLASSES + one["lane"]) for one in service.get("/v1/guarantees")["items"]
                    if one["state"] == "holds" and one["lane"] is not None and one["inForce"]["isolation"] == "lane"}
        def settled():
            qos = service.live()["qos"]
            return qos["portsPending"] == 0 and {job: level for job, (_, level) in stay().items()} == {
                job: jobs[job][1] for job in stay()} and stay()
        left = until("lanes after the cut", settled, 40)
        if len(left) == len(jobs):
            probes += look(Seen(sim), left, what + ", a link cut")
        sim.console(f'ReLink "{switch}"[{port}]')
        service.wait("the link back", lambda s: s["linksDown"] == 0 and s["phase"] == "synced", 40)
        if len(left) == len(jobs):
            in_force(service, list(jobs))
            until("no leak once the link is back", lambda: holds_look(sim, jobs, what + ", the link back"), 40, 1)
            verified(sim, service, folder, what + ", the link back")
        return probes, len(jobs), len(lanes) - len(set(lanes)), len(left)


def holds_look(sim, jobs, what):
    try:
        look(Seen(sim), jobs, what)
    except AssertionError as error:
        print(error, file=sys.stderr)
        return False
    return True


def main():
    binaries = Path(sys.argv[1]).resolve()
    lacking = missing() or next((tool for tool in ("smpquery", "dump_fts") if not shutil.which(tool)), None)
    if lacking:
        print(f"skipped: {lacking} is absent")
        return 77
    with tempfile.TemporaryDirectory(prefix="railweave-leaks-") as name:
        folder = Path(name)
        native, netlist, subnet = generate(str(binaries / "railweave"), REGULAR, folder)
        nodes = sorted((host["name"] for host in json.loads(native.read_text())["hosts"]), key=lambda one: int("".join(c for c in one if c.isdigit()) or 0))
        found = run(binaries, folder, native, netlist, subnet, [[nodes[0], nodes[4]], [nodes[9], nodes[13]], [nodes[1], nodes[2]], [nodes[6], nodes[10]]], "a fat tree")
        print("a fat tree: {} probes, {} jobs, {} with the lane of another, {} in force after a cut".format(*found))
    for seed in range(1, 1 + (int(sys.argv[2]) if len(sys.argv) > 2 else 2)):
        with tempfile.TemporaryDirectory(prefix="railweave-leaks-") as name:
            folder = Path(name)
            native, netlist, subnet, nodes = irregular(folder, seed)
            random.Random(seed).shuffle(nodes)
            choose = [nodes[at:at + 2] for at in range(0, len(nodes) - 1, 2)][:5]
            found = run(binaries, folder, native, netlist, subnet, choose, f"an irregular fabric, seed {seed}")
            print("seed {}: {} probes, {} jobs, {} with the lane of another, {} in force after a cut".format(seed, *found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
