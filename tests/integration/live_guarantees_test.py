#!/usr/bin/env python3
"""Contracts on a live subnet, end to end: a real railweaved programs classes, partition keys and routes of a simulated
subnet, or offers them to a real OpenSM, and what it certifies is checked on what the switches really have.

Direct: smpquery reads keys, lanes and weights of every port; railweave-verify checks the certificate on the tables that
dump_fts reads from the switches, before a cut, after it, and after a restart; cuts beyond what was promised put
guarantees at risk and name them, cables that come back end that. Beside OpenSM: it reads the files that railweaved writes
when a contract comes, while it runs, and its ports have the keys of the jobs.

live_guarantees_test.py BIN_FOLDER PLUGIN     exit code 77: skipped, and why. PLUGIN may be "": not built
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import Ibsim, missing  # noqa: E402
from live import LiveService, generate  # noqa: E402
from live_subnet_test import cables, fdbs_of_switches  # noqa: E402
from opensm_plugin_test import OpenSm, hosts_of, switch_lids  # noqa: E402
from qos_programming_test import cabled, tables  # noqa: E402
from waiting import holds, steady, until  # noqa: E402

SHAPE = ["fat-tree", "--radix", "8", "--hosts", "16", "--nics-per-host", "1", "--gpus-per-host", "4", "--speed", "EDR"]


def contracts(service):
    """Keys by tenant. Red's 10 Gb/s a port survive any one link; blue promises what its pattern needs."""
    for tenant, terms in (("red", ["--guaranteed", "10", "--class", "all-reduce", "--survive"]),
                          ("blue", ["--guaranteed", "4", "--class", "storage"])):
        assert service.cli("tenants", "put", tenant).returncode == 0
        done = service.cli("contracts", "set", tenant, *terms)
        assert done.returncode == 0, done.stdout + done.stderr
    return {tenant: int(service.get(f"/v1/contracts/{tenant}")["pkey"], 16) for tenant in ("red", "blue")}


def jobs(service):
    """Nodes by tenant."""
    nodes = {}
    for tenant, groups in (("red", 8), ("blue", 4)):
        status, job = service.request("POST", "/v1/jobs", {"name": tenant, "tenant": tenant, "parallelism": {"tensor": 4, "data": groups}})
        assert status == 201, job
        nodes[tenant] = {rank["node"] for rank in service.get(f"/v1/jobs/{job['id']}/ranks?limit=1000")["items"]}
    return nodes


def programmed(service, ports):
    return service.wait("classes on all ports", lambda s: s["phase"] == "synced" and s["qos"] and s["qos"]["portsProgrammed"] == ports
                        and s["qos"]["portsPending"] == 0, 60)


def fnv1a64(words):
    value = 0xcbf29ce484222325
    for word in words:
        value = (value ^ word) * 0x100000001b3 % 2**64
    return value


def entries_digest(fdbs):
    """As services/verify/certificate.md defines it."""
    tables = {}
    for switch, lid, port in entries(fdbs):
        tables.setdefault(int(switch, 16), []).append(int(lid, 16) << 16 | int(port))
    return format(fnv1a64(word for guid in sorted(tables) for word in (guid, fnv1a64(sorted(tables[guid])))), "016x")


def entries(fdbs):
    """(switch, LID, port) of every entry of a dump."""
    found, switch = set(), None
    for line in fdbs.splitlines():
        if head := re.search(r"Switch 0x([0-9a-f]+)", line):
            switch = head[1]
        elif entry := re.match(r"0x([0-9A-F]+) +: (\d+)", line):
            found.add((switch, entry[1], entry[2]))
    return found


def verified(service, sim, folder, what, by_opensm=False):
    """The certificate as it is now, on the tables that the switches have."""
    done = service.cli("guarantees", "certificate", "-O", str(folder / "certificate.json"))
    assert done.returncode == 0, done.stderr
    done = service.cli("guarantees", "verify", "--keep", str(folder))
    # After a failure the reservation for failures is used up, which is named and keeps the verdict from being "holds".
    used_up = "nothing is reserved for them at present" in done.stdout and "FAULT" not in done.stdout
    assert (done.returncode == 0 and "HOLDS" in done.stdout) or (done.returncode == 10 and used_up), f"{what}: {done.stdout}{done.stderr}"
    tables = fdbs_of_switches(sim)
    (folder / "switches.fdbs").write_text(tables)
    # OpenSM routes to switches as it likes.
    own = {f"{lid:04X}" for lid in switch_lids(sim.run(["ibnetdiscover"]).stdout)} if by_opensm else set()
    theirs, ours = ({entry for entry in entries(text) if entry[1] not in own} for text in (tables, (folder / "opensm.fdbs").read_text()))
    assert ours and theirs == ours, f"{what}: switches have other tables"
    if by_opensm:
        certificate = json.loads((folder / "certificate.json").read_text())
        certificate["routes"]["fnv1a64"] = entries_digest(tables)
        (folder / "certificate.json").write_text(json.dumps(certificate))
    words = [service.binaries / "railweave-verify", folder / "fabric.json", folder / "switches.fdbs", folder / "certificate.json"]
    for name in ("contracts", "classes", "jobs", "links-down"):
        words += [f"--{name}", folder / f"{name}.json"]
    done = subprocess.run([*words, "--after-list", folder / "after.txt"], capture_output=True, text=True, timeout=60)
    assert done.returncode == (3 if used_up else 0) and "FAULT" not in done.stdout, f"{what}, on the switches' tables: {done.stdout}{done.stderr}"


def keys_are(sim, names, ports, keys, nodes, enforced_by_switch=False):
    """Every adapter port has the keys of the jobs on its node and no other tenant's."""
    found = tables(sim, ports)
    for name, _, _, is_switch, guid in ports:
        if is_switch:
            continue
        node = names[guid]
        wanted = {key for tenant, key in keys.items() if node in nodes[tenant]}
        has = {key & 0x7fff for key in found[name][2]} - {0x7fff}
        assert has == wanted, f"{node}: has {sorted(has)}, should have {sorted(wanted)}"
    return found


def node_names(sim):
    text = sim.run(["ibnetdiscover"]).stdout
    return {guid: name.split()[0] for guid, name in re.findall(r'^Ca\s+\d+ "H-([0-9a-f]{16})"\s+# "([^"]+)"', text, re.MULTILINE)}


def fullest_leaf(netlist, names, nodes):
    """The switch that most of these nodes hang on."""
    leaves = re.findall(r'^Ca\s+\d+\s+"H-([0-9a-f]{16})".*\n\s*\[1\]\S*\s+"(S-[0-9a-f]+)"', Path(netlist).read_text(), re.MULTILINE)
    of_nodes = [switch for guid, switch in leaves if names[guid] in nodes]
    return max(sorted(set(of_nodes)), key=of_nodes.count)


def direct(binaries, folder):
    native, netlist, subnet = generate(str(binaries / "railweave"), SHAPE, folder)
    with Ibsim(netlist) as sim, LiveService(sim, binaries, folder, subnet, "sweep_seconds = 1") as service:
        service.import_fabric(native)
        service.mode("direct")
        service.synced()
        ports, names = cabled(sim), node_names(sim)
        keys, nodes = contracts(service), jobs(service)
        programmed(service, len(ports))
        found = keys_are(sim, names, ports, keys, nodes)
        lanes = {maps[next(iter(maps))] for maps, _, _ in found.values()}
        assert len(lanes) == 1 and len(set(next(iter(lanes)))) > 2, f"classes have no lanes of their own: {lanes}"
        verified(service, sim, folder, "programmed")

        # One link: promised to survive it.
        leaf = fullest_leaf(netlist, names, nodes["red"])
        uplinks = [at for at in cables(netlist) if at[0] == leaf]
        switch, port = uplinks[0]
        cut(sim, service, switch, port)
        risk = [g["job"] for g in service.get("/v1/guarantees")["items"] if g["state"] == "atRisk" and g["surviveLinkFailure"]]
        assert not risk, f"promised to survive one link: {risk}"
        verified(service, sim, folder, "one link cut")
        keys_are(sim, names, cabled(sim), keys, nodes)

        # A restart beside the cut: nothing is written, nothing is forgotten.
        def promised():  # without when tables were last seen
            items = service.get("/v1/guarantees")["items"]
            for item in items:
                item["inForce"].pop("tables")
            return items

        until("in force again", lambda: all(item["state"] == "holds" for item in promised()), 20)
        before = promised()
        service.restart()
        status = service.synced()
        assert status["repairsTotal"] == 0, f"repaired after a restart: {status}"
        programmed(service, len(ports))  # until the tables are read back, nothing is said to be in force
        until(lambda: f"guarantees changed with a restart: {[(b, a) for b, a in zip(before, promised()) if a != b]}", lambda: promised() == before, 20)
        verified(service, sim, folder, "restarted")

        # More uplinks of the same switch, until a guarantee is at risk: it is named, in the history too.
        broken = [(switch, port)]
        for at in uplinks[1:-1]:
            cut(sim, service, *at)
            broken.append(at)
            if any(g["state"] == "atRisk" for g in service.get("/v1/guarantees")["items"]):
                break
        at_risk = [g["job"] for g in service.get("/v1/guarantees")["items"] if g["state"] == "atRisk"]
        assert at_risk, f"{len(broken)} of {len(uplinks)} uplinks of a leaf are cut and nothing is at risk"
        red = next(g for g in service.get("/v1/guarantees")["items"] if g["job"] == at_risk[0])
        assert red["links"] and red["reason"] and red["atRiskSince"] and red["atRiskTotalMs"] > 0, red
        verified(service, sim, folder, "guarantees at risk are not in the certificate")
        for at in broken:
            sim.console(f'ReLink "{at[0]}"[{at[1]}]')
        service.wait("links back", lambda s: s["linksDown"] == 0 and s["phase"] == "synced", 30)
        until(lambda: service.get("/v1/guarantees"), lambda: all(g["state"] != "atRisk" for g in service.get("/v1/guarantees")["items"]), 10)
        verified(service, sim, folder, "links are back")
        kinds = {event["type"] for event in service.events() if event["type"].startswith("guarantee.")}
        print(f"direct: {len(ports)} ports programmed; the certificate holds on the switches' own tables: programmed, cut, "
              f"restarted, {len(broken)} uplinks of a leaf cut ({', '.join(at_risk)} at risk), joined; events {sorted(kinds)}")
        return {tenant: len(places) for tenant, places in nodes.items()}


def rerouted(binaries, folder):
    """Two cuts after which a guarantee holds on other routes only: they are programmed at once, survive a restart, and are reset."""
    native, netlist, subnet = generate(str(binaries / "railweave"), SHAPE, folder)
    with Ibsim(netlist) as sim, LiveService(sim, binaries, folder, subnet, "sweep_seconds = 1") as service:
        service.import_fabric(native)
        service.mode("direct")
        service.synced()
        assert service.cli("tenants", "put", "red").returncode == 0
        assert service.cli("contracts", "set", "red", "--guaranteed", "12", "--class", "all-reduce").returncode == 0
        nodes = [node["id"] for node in service.get("/v1/nodes?limit=1000")["items"]]
        for own in (nodes[:6], nodes[6:7] + nodes[8:12]):  # where they run decides whether the two cuts are enough
            status, job = service.request("POST", "/v1/jobs", {"name": "j", "tenant": "red", "parallelism": {"tensor": 4, "data": len(own)},
                                                               "excludeNodes": sorted(set(nodes) - set(own))})
            assert status == 201, job
        cuts = (("S-0252570100000020", 6), ("S-0252570100000040", 5))
        for switch, port in cuts:
            cut(sim, service, switch, port)
        proposal = service.get("/v1/guarantees/reroute")
        costs = proposal["inForce"]["costs"]
        assert costs and proposal["inForce"]["actor"] == "railweave", f"no costs were set: {proposal}"
        service.synced()
        assert all(g["state"] != "atRisk" for g in service.get("/v1/guarantees")["items"]), service.get("/v1/guarantees")
        verified(service, sim, folder, "rerouted")
        events = [event["type"] for event in service.events()]
        risk = events.index("guarantee.atRisk")
        assert events.index("route.costsSet") > risk and "guarantee.restored" in events[risk:], events

        service.restart()
        assert service.synced()["repairsTotal"] == 0, "the routes that were programmed follow from what is stored"
        assert service.get("/v1/guarantees/reroute")["inForce"]["costs"] == costs
        refused = service.cli("guarantees", "reroute", "--reset")
        assert refused.returncode != 0 and "would not hold" in refused.stderr, refused.stderr
        for switch, port in cuts:
            sim.console(f'ReLink "{switch}"[{port}]')
        service.wait("links back", lambda s: s["linksDown"] == 0 and s["phase"] == "synced", 30)
        until("the links that are back reported", lambda: all(link["state"] == "up" for link in service.get("/v1/links?limit=10000")["items"]))
        before = service.live()["repairsTotal"]
        done = service.cli("guarantees", "reroute", "--reset")
        assert done.returncode == 0, done.stderr
        service.wait("plain routes", lambda s: s["repairsTotal"] > before and s["phase"] == "synced", 20)
        verified(service, sim, folder, "costs removed")
        print(f"rerouted: {len(cuts)} cuts, costs on {len(costs)} links at once, {proposal['inForce']['reason']}; the certificate holds on "
              "the switches' own tables; nothing written after a restart; refused to go while needed, gone when the links were back")


def cut(sim, service, switch, port):
    """Pulls a cable; returns when the routes are repaired and the report, which follows, is in the journal."""
    def reports():
        return sum(event["type"] in ("link.down", "link.changed") for event in service.events())

    before, reported = service.live()["repairsTotal"], reports()
    sim.console(f'Unlink "{switch}"[{port}]')
    service.wait("repaired", lambda s: s["repairsTotal"] > before and s["phase"] == "synced", 20)
    until("the cut reported", lambda: reports() > reported)


def beside_opensm(binaries, plugin, folder):
    native, netlist, subnet = generate(str(binaries / "railweave"), SHAPE, folder)
    socket, own, files = folder / "opensm/policy.sock", folder / "opensm", folder / "offered"
    own.mkdir()
    files.mkdir()
    settings = f'sweep_seconds = 2\nopensm_socket = "{socket}"\nopensm_files = "{files}"'
    with Ibsim(netlist) as sim, LiveService(sim, binaries, folder, subnet, settings) as service, \
            OpenSm(sim, own, Path(plugin), "qos TRUE", f"partition_config_file {files}/partitions.conf",
                   f"qos_policy_file {files}/qos-policy.conf", host=hosts_of(netlist)[-1]) as opensm:
        opensm.wait_for("SUBNET UP")
        done = service.cli("fabric", "discover", "--accept", "--gpus-per-node", "4")
        assert done.returncode == 0, done.stdout + done.stderr
        service.mode("opensm")
        service.synced(30)
        ports, names = cabled(sim), node_names(sim)
        keys, nodes = contracts(service), jobs(service)
        service.wait("OpenSM's files", lambda s: s["qos"] and s["qos"]["filesWrittenAt"], 30)
        ups = steady("OpenSM's sweeps", lambda: opensm.said().count("SUBNET UP"), every=0.5, times=4)
        with (own / "opensm.conf").open("a") as options:
            options.write((files / "opensm-qos.conf").read_text())
        child = Path(f"/proc/{opensm.process.pid}/task/{opensm.process.pid}/children").read_text().split()
        os.kill(int(child[0]), signal.SIGHUP)  # timeout is our child, OpenSM is its
        opensm.wait_for("SUBNET UP", ups + 1)
        until("keys of tenants", lambda: holds(keys_are, sim, names, ports, keys, nodes), 20, 1)
        keys_are(sim, names, ports, keys, nodes)
        wrong = [line for line in opensm.said().splitlines() if re.search(r"PARSE ERROR|[Ss]yntax", line)]
        assert not wrong, wrong
        verified(service, sim, folder, "programmed by OpenSM", by_opensm=True)
        print(f"beside OpenSM: it read the files after a signal; keys of {sum(len(n) for n in nodes.values())} nodes are theirs; "
              "the certificate holds on the tables it programmed")


def main():
    binaries, plugin = Path(sys.argv[1]).resolve(), sys.argv[2] and Path(sys.argv[2]).resolve()
    lacking = missing() or next((tool for tool in ("smpquery", "dump_fts") if not shutil.which(tool)), None)
    if lacking:
        print(f"skipped: {lacking} is absent")
        return 77
    with tempfile.TemporaryDirectory(prefix="railweave-guarantees-") as folder:
        direct(binaries, Path(folder))
    with tempfile.TemporaryDirectory(prefix="railweave-guarantees-") as folder:
        rerouted(binaries, Path(folder))
    if not plugin or not shutil.which("opensm"):
        print("beside OpenSM: skipped, " + ("opensm is absent" if plugin else "the plugin is not built (libopensm-dev)"))
        return 0
    with tempfile.TemporaryDirectory(prefix="railweave-guarantees-") as folder:
        beside_opensm(binaries, plugin, Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
