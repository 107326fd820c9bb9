#!/usr/bin/env python3
"""Lanes of jobs' own on a live subnet, end to end: a real railweaved places jobs of a contract with isolation lane on a
simulated subnet, and smpquery reads from every port what its tables do for them.

On each link of a job's routes its service level leads to its own lane, and the port's arbitration promises that lane what is
reserved, in whole packets; elsewhere its packets are in the lowest class. Two jobs on the same links have different lanes.
While others come and go, the maps of running jobs stay as they are. The certificate holds on the tables that dump_fts reads,
after a cut and a restart as well. In opensm mode lanes are planned only, and ranks are told their class's service level.

lanes_test.py BIN_FOLDER     exit code 77: skipped, and why
"""
import json
import random
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import Ibsim, missing  # noqa: E402
from live import LiveService, generate  # noqa: E402
from live_guarantees_test import cut, fullest_leaf, node_names, programmed, verified  # noqa: E402
from live_subnet_test import cables  # noqa: E402
from qos_programming_test import cabled, tables  # noqa: E402
from waiting import holds, until  # noqa: E402

SHAPE = ["fat-tree", "--radix", "8", "--hosts", "16", "--nics-per-host", "1", "--gpus-per-host", "4", "--speed", "EDR"]
CLASSES = 6
LOWEST = 0  # VL and service level of unmarked packets
COMINGS = 8


def promised(low, vl, packet_units):
    """The part of a full link that a table promises a lane: turns of others may be a packet longer."""
    own = sum(weight for at, weight in low if at == vl)
    others = sum(weight + packet_units for at, weight in low if at != vl)
    return own / (own + others) if own else 0


def submit(service, nodes, gpus=2):
    status, job = service.request("POST", "/v1/jobs", {
        "name": "lane", "tenant": "red", "parallelism": {"tensor": gpus, "data": len(nodes)}, "gpusPerNode": gpus, "nodes": nodes})
    return status, job


def in_force(service, jobs):
    """The guarantees, once the lanes of these jobs are in force."""
    def all_there():
        items = {item["job"]: item for item in service.get("/v1/guarantees")["items"]}
        return items if all(items[job]["inForce"]["isolation"] == "lane" for job in jobs) else None

    return until(lambda: f"lanes in force: {[item['inForce'] for item in service.get('/v1/guarantees')['items']]}", all_there, 60)


def owners(service):
    """{egress port: {lane: (job, Mb/s)}} and the certificate."""
    certificate = service.get("/v1/guarantees/certificate")
    return {link["from"]: {one["lane"]: (one["job"], one["reservedMbps"]) for one in link["lanes"]}
            for link in certificate["links"] if "lanes" in link}, certificate


def ports_have(sim, service, ports, lanes):
    """Every port's tables as smpquery reads them are what the owners of lanes need. Lanes met by several owners on a port."""
    on, certificate = owners(service)
    assert on, "no link has an owner of a lane"
    capacity = {link["from"]: link["capacityMbps"] for link in certificate["links"]}
    packet_units = certificate["ports"]["largestPacketBytes"] // 64
    found, seen, several = tables(sim, ports), 0, 0
    for name, _, _, _, _ in ports:
        maps, (low, high), _ = found[name]
        here = on.get(name, {})
        assert maps and not high, (name, high)
        several += len(here) > 1
        for lane in range(lanes):
            levels = {row[CLASSES + lane] for row in maps.values()}
            if lane not in here:
                assert levels == {LOWEST}, f"{name}: packets of lane {lane}, which no job has there, are in {levels}"
                assert not [entry for entry in low if entry[0] == CLASSES + lane], f"{name}: {low}"
                continue
            job, mbps = here[lane]
            seen += 1
            assert levels == {CLASSES + lane}, f"{name}: {job}'s level leads to {levels}"
            share = promised(low, CLASSES + lane, packet_units)
            assert share * capacity[name] >= mbps, f"{name}: {job} is promised {share:.3f} of {capacity[name]}, {mbps} are reserved; {low}"
    assert seen == sum(len(lanes_here) for lanes_here in on.values()), "some links are of no cabled port"
    return found, on, several


def ports_get(sim, service, ports, lanes):
    """ports_have, once the controller has followed the newest state."""
    until("tables of the lanes as they are now", lambda: holds(ports_have, sim, service, ports, lanes), 40, 0.3)
    return ports_have(sim, service, ports, lanes)


def level_of(service, job):
    items = service.get(f"/v1/jobs/{job}/ranks?limit=1000")["items"]
    levels = {item["env"]["NCCL_IB_SL"] for item in items}
    assert len(levels) == 1, levels
    return int(levels.pop())


def run(binaries, folder):
    native, netlist, subnet = generate(str(binaries / "railweave"), SHAPE, folder)
    with Ibsim(netlist) as sim, LiveService(sim, binaries, folder, subnet, "sweep_seconds = 1") as service:
        service.import_fabric(native)
        service.mode("direct")
        service.synced()
        ports, names = cabled(sim), node_names(sim)
        nodes = sorted(set(names.values()), key=lambda name: int("".join(c for c in name if c.isdigit()) or 0))
        assert service.cli("tenants", "put", "red").returncode == 0
        done = service.cli("contracts", "set", "red", "--guaranteed", "5", "--class", "all-reduce", "--isolation", "lane")
        assert done.returncode == 0, done.stdout + done.stderr
        programmed(service, len(ports))
        limits = [event["data"] for event in service.events("qos.limits")][-1]
        lanes = min(limits["dataLanes"], 16) - CLASSES
        assert lanes >= 2, f"ports have {limits}"

        # Two jobs on the same adapters: every link of theirs is the same.
        same = [nodes[0], nodes[1], nodes[4], nodes[5]]
        status, first = submit(service, same)
        assert status == 201 and first["guarantee"]["lane"] == 0, first
        status, second = submit(service, same)
        assert status == 201 and second["guarantee"]["lane"] == 1, second
        in_force(service, [first["id"], second["id"]])
        found, on, several = ports_get(sim, service, ports, lanes)
        assert several >= 12, f"the jobs share {several} ports"
        assert [level_of(service, job["id"]) for job in (first, second)] == [CLASSES, CLASSES + 1]
        verified(service, sim, folder, "two jobs on the same links")
        shown = service.cli("guarantees", "list").stdout
        assert "lane 0" in shown and "lane 1" in shown and "planned" not in shown, shown
        alone = [nodes[-1], nodes[-2]]
        status, apart = submit(service, alone, 4)
        assert status == 201 and apart["guarantee"]["lane"] == 0, f"elsewhere the first lane is free: {apart}"

        # Others come and go; whatever they do, a running job's level leads to its lane at every port of its routes.
        chance, others, refused, held = random.Random(7), [], 0, {name: set(here) for name, here in on.items()}
        mine = {name: {lane: {row[CLASSES + lane] for row in found[name][0].values()} for lane in here} for name, here in held.items()}
        for _ in range(COMINGS):
            if others and chance.random() < 0.4:
                status, _ = service.request("DELETE", f"/v1/jobs/{others.pop(chance.randrange(len(others)))}")
                assert status == 200, status
            else:
                # Mostly below one leaf, where there is a lane; across leaves the two jobs may have both.
                leaf = chance.choice((0, 4, 8))
                among = nodes[:14] if chance.random() < 0.3 else nodes[leaf:leaf + 4]
                status, job = submit(service, chance.sample([node for node in among if node not in same], 2), 2)
                if status == 201:
                    others.append(job["id"])
                refused += status != 201
            in_force(service, [first["id"], second["id"], apart["id"], *others])
            found, on, _ = ports_get(sim, service, ports, lanes)
            for name, here in mine.items():
                for lane, levels in here.items():
                    assert {row[CLASSES + lane] for row in found[name][0].values()} == levels, f"{name}: lane {lane} of a running job moved"
        verified(service, sim, folder, "after others came and went")

        # A cut: routes change; whoever has a lane then has it on the new routes, alone.
        leaf = fullest_leaf(netlist, names, set(same))
        switch, port = next(at for at in cables(netlist) if at[0] == leaf)
        cut(sim, service, switch, port)
        alive = [one for one in cabled(sim)]
        holding = [item["job"] for item in service.get("/v1/guarantees")["items"] if item["state"] == "holds"]
        in_force(service, holding)
        ports_get(sim, service, alive, lanes)
        verified(service, sim, folder, "after a cut")
        before = {item["job"]: item["lane"] for item in service.get("/v1/guarantees")["items"]}
        service.restart()
        service.synced()
        in_force(service, holding)
        assert {item["job"]: item["lane"] for item in service.get("/v1/guarantees")["items"]} == before, "lanes after a restart"
        ports_get(sim, service, alive, lanes)

        # OpenSM has one table for all ports: its lanes are the classes'.
        service.mode("opensm")
        item = next(one for one in service.get("/v1/guarantees")["items"] if one["job"] == second["id"])
        assert item["inForce"]["isolation"] == "planned" and "opensm mode" in item["inForce"]["statement"], item
        assert level_of(service, second["id"]) == 3, "of all-reduce"
        print(f"{len(ports)} ports, {lanes} lanes beside {CLASSES} classes: two jobs shared {several} ports on lanes of their own; {COMINGS} comings "
              f"and goings ({refused} refused) moved no running job's lane; the same after a cut and a restart")


def main():
    binaries = Path(sys.argv[1]).resolve()
    lacking = missing() or next((tool for tool in ("smpquery", "dump_fts") if not shutil.which(tool)), None)
    if lacking:
        print(f"skipped: {lacking} is absent")
        return 77
    with tempfile.TemporaryDirectory(prefix="railweave-lanes-") as folder:
        run(binaries, Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
