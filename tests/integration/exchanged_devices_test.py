#!/usr/bin/env python3
"""Devices of a simulated subnet that are exchanged for others, and a host that is moved to another port: without service, and said so,
until it is accepted, by hand over REST and the command line, or by the policy of the configuration. Jobs and drains follow. Whether there
is service is read from the switches: tables by dump_fts, walked here along the cables that ibnetdiscover reads.

exchanged_devices_test.py BIN_FOLDER     exit code 77: skipped, and why
"""
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import Ibsim, missing  # noqa: E402
from live import LiveService  # noqa: E402
from live_rates_test import read, tables_of  # noqa: E402
from ibsim_fabric import APART, HOST, LEAF, SPINE, SmallFabric, host_id, switch_id  # noqa: E402
from waiting import until  # noqa: E402

NEW_ADAPTER, NEW_SPINE, OTHER = host_id(0xA0000), switch_id(0xB0000), host_id(0xC0000)


def lost(sim):
    """Pairs of adapters with cables that the switches' tables do not bring together."""
    peers, _, lids = read(sim)
    tables, missed = tables_of(sim), []
    for source in lids:
        for target in lids:
            port, hops = (source, 1), 0
            while source != target:
                switch = peers[port][0] if port in peers else None
                if switch == target:
                    break
                out = tables.get(switch, {}).get(lids[target]) if lids[target] else None
                hops += 1
                if not out or hops > 8:
                    missed.append((source, target))
                    break
                port = (switch, out)
    return missed


def replug(sim, unplugged, joined):
    for device, port in unplugged:
        sim.console(f'Unlink "{device}"[{port}]')
    for (device, port), (other, other_port) in joined:
        sim.console(f'Link "{device}"[{port}] "{other}"[{other_port}]')
    sim.settle()


def drains(service):
    return {one["id"] for one in service.get("/v1/drains?limit=100")["items"]}


def changes(service):
    return service.get(f"/v1/subnets/{service.subnet}/changes")["items"]


def offered(service, kind):
    """The one change, once it is offered; until then and afterwards the subnet is not synced."""
    until(f"{kind} offered", lambda: [one["kind"] for one in changes(service)] == [kind], seconds=30)
    service.wait("not synced without saying so", lambda s: s["phase"] == "partial" and "accepted" in s["problem"], 20)
    sync = service.get("/v1/fabric/sync")
    assert sync["synced"] is False, sync
    return changes(service)[0]


def served(sim, service, what):
    service.wait("served", lambda s: s["phase"] == "synced" and s["changes"] == 0 and s["sync"]["blocksDiffering"] == 0, 60)
    until(f"{what}: no pair is lost", lambda: not lost(sim), seconds=30)


def by_hand(binaries, folder, fabric, native, netlist):
    with Ibsim(netlist, host_id(HOST + 3 * APART)) as sim, LiveService(sim, binaries, folder, fabric.subnet, "sweep_seconds = 1\nlook_seconds = 5", host=host_id(HOST + 3 * APART)) as service:
        service.import_fabric(native)
        service.mode("direct")
        service.synced(60)
        assert not lost(sim)
        assert service.request("PUT", "/v1/tenants/blue", {})[0] in (200, 201)
        status, job = service.request("POST", "/v1/jobs", {"name": "runs", "tenant": "blue", "parallelism": {"tensor": 4, "data": 3}, "nodes": ["n000", "n001", "n004"]})
        assert status == 201, job
        # Drains of a node, by its name, and of a link, by the GUIDs of its ends.
        link = f"{LEAF:016x}/{fabric.hosts + 2}--{SPINE + APART:016x}/1"
        for noun, name in (("nodes", "n001"), ("links", link)):
            done = service.cli(noun, "drain", name, "--force")
            assert done.returncode == 0, done.stdout + done.stderr

        # 1. The adapter of n001 is another one.
        replug(sim, [(host_id(HOST + APART), 1)], [((switch_id(LEAF), 2), (NEW_ADAPTER, 1))])
        change = offered(service, "exchangedAdapter")
        assert change["subject"] == "n001" and change["describedAlike"] and NEW_ADAPTER[2:] in change["text"] and "leaf-0 port 2" in change["text"], change
        assert any(NEW_ADAPTER in pair for pair in lost(sim)), "it has service without being accepted"
        service.wait_alarm("device.exchanged")
        listed = service.cli("subnets", "changes", fabric.subnet).stdout
        assert change["id"] in listed and "n001" in listed, listed
        status, refused = service.request("POST", f"/v1/subnets/{fabric.subnet}/changes", {"changes": ["exchangedAdapter:no"]})
        assert (status, refused["code"]) == (404, "subnets.changeNotFound"), refused
        done = service.cli("subnets", "accept", fabric.subnet, change["id"])
        assert done.returncode == 0 and "accepted" in done.stdout, done.stdout + done.stderr
        served(sim, service, "an exchanged adapter")
        service.wait_alarm("device.exchanged", there=False)
        now = service.get(f"/v1/jobs/{job['id']}")
        assert now["state"] == "placed" and now["nodeList"] == job["nodeList"] and not now.get("damage"), now
        ports = {rank["nics"][0]["port"] for rank in service.get(f"/v1/jobs/{job['id']}/ranks?limit=100")["items"] if rank["node"] == "n001"}
        assert ports == {f"{NEW_ADAPTER[2:]}/1"}, ports
        assert "n001" in drains(service)
        assert any("is exchanged" in event["summary"] for event in service.events("topology.differs"))

        # 2. The host n005 is moved from leaf-1 to a free port of leaf-2.
        free = fabric.hosts + fabric.spines + 1
        mover = host_id(HOST + 5 * APART)
        replug(sim, [(mover, 1)], [((switch_id(LEAF + 2 * APART), free), (mover, 1))])
        change = offered(service, "movedHost")
        assert change["subject"] == "n005" and f"leaf-2 port {free}" in change["text"] and "leaf-1 port 3" in change["text"], change
        assert any(mover in pair for pair in lost(sim)), "it has service without being accepted"
        status, accepted = service.request("POST", f"/v1/subnets/{fabric.subnet}/changes", {})
        assert status == 200 and [one["id"] for one in accepted["accepted"]] == [change["id"]], accepted
        served(sim, service, "a moved host")

        # 3. spine-1 is another switch.
        ports = [(switch_id(SPINE + APART), leaf + 1) for leaf in range(4)]
        replug(sim, ports, [((NEW_SPINE, leaf + 1), (switch_id(LEAF + leaf * APART), fabric.hosts + 2)) for leaf in range(4)])
        change = offered(service, "exchangedSwitch")
        assert change["subject"] == "spine-1" and change["describedAlike"] and NEW_SPINE[2:] in change["text"], change
        assert service.cli("subnets", "accept", fabric.subnet).returncode == 0
        served(sim, service, "an exchanged switch")
        assert any(f"S-{int(guid, 16):016x}" == NEW_SPINE for guid in [one["guid"].removeprefix("0x") for one in service.get("/v1/switches?limit=100")["items"]])
        tables = tables_of(sim)
        assert tables[NEW_SPINE], "the new switch has no table"
        now = f"{LEAF:016x}/{fabric.hosts + 2}--{NEW_SPINE[2:]}/1"
        assert now in drains(service) and link not in drains(service), drains(service)
        assert not [lid for lid, port in tables[switch_id(LEAF)].items() if port == fabric.hosts + 2 and lid in read(sim)[2].values()], "the drained link is used"

        service.restart()
        service.synced(60)
        assert changes(service) == [] and not lost(sim)


def by_policy(binaries, folder, fabric, native, netlist):
    keys = 'sweep_seconds = 1\nlook_seconds = 5\naccept_replacements = "sameDescription"'
    with Ibsim(netlist, host_id(HOST + 3 * APART)) as sim, LiveService(sim, binaries, folder, fabric.subnet, keys, host=host_id(HOST + 3 * APART)) as service:
        service.import_fabric(native)
        service.mode("direct")
        service.synced(60)
        # One that describes itself otherwise is not accepted by itself.
        replug(sim, [(host_id(HOST), 1)], [((switch_id(LEAF), 1), (OTHER, 1))])
        change = offered(service, "exchangedAdapter")
        assert change["describedAlike"] is False and "describes itself" in change["text"], change
        time.sleep(6)
        assert [one["id"] for one in changes(service)] == [change["id"]]
        assert service.cli("subnets", "accept", fabric.subnet).returncode == 0
        served(sim, service, "one that was accepted by hand")
        began = time.monotonic()
        replug(sim, [(host_id(HOST + APART), 1)], [((switch_id(LEAF), 2), (NEW_ADAPTER, 1))])
        until("accepted by itself", lambda: f"{NEW_ADAPTER[2:]}/1" in str(service.get("/v1/nodes/n001")), seconds=40)
        served(sim, service, "one that was accepted by itself")
        print(f"an exchanged adapter: served {time.monotonic() - began:.1f} s after it was plugged in, by policy")


def main():
    binaries = Path(sys.argv[1]).resolve()
    if lacks := missing():
        print(f"skipped: {lacks} is missing")
        return 77
    fabric = SmallFabric()
    spares = [(NEW_ADAPTER, 1, "n001 mlx5_0"), (OTHER, 1, "MT4129 ConnectX7 Mellanox Technologies"), (NEW_SPINE, 6, "spine-1")]
    for part in (by_hand, by_policy):
        with tempfile.TemporaryDirectory(prefix="railweave-exchanged-") as folder:
            part(binaries, Path(folder), fabric, *fabric.write(folder, spares=spares))
    print("exchanged adapter and switch, moved host: offered, named, accepted by hand and by policy, and served by the switches' own tables")
    return 0


if __name__ == "__main__":
    sys.exit(main())
