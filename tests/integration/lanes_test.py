#!/usr/bin/env python3
"""Lanes of jobs' own on a live subnet, end to end: a real railweaved places jobs of a contract with isolation lane on a
simulated subnet, and smpquery reads from every port what its tables do for them.

On each link of a job's routes its service level leads to its own lane, and the port's arbitration promises that lane what is
reserved, in whole packets; elsewhere its packets are in the lowest class. Two jobs on the same links have different lanes.
Behind every port of a host, switches drop (VL 15) the service levels that no job there was told, except those that are open
to all; and the lane of a job what comes by links that the job is not on. While others come and go, the maps of running jobs stay as they are. The certificate
holds on the tables that dump_fts reads, after a cut and a restart as well. In opensm mode lanes are planned only, and ranks
are told their class's service level.

lanes_test.py BIN_FOLDER [COMINGS]     COMINGS: comings and goings, 8 if left out. Exit code 77: skipped, and why
"""
import random
import re
import shutil
import sys
import tempfile
import time
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
OPEN = {LOWEST, 2, 5}  # those, management and storage: every host may send with them
ALL_REDUCE, DROPPED = 3, 15


def promised(low, vl, packet_units):
    """The part of a full link that a table promises a lane: turns of others may be a packet longer."""
    own = sum(weight for at, weight in low if at == vl)
    others = sum(weight + packet_units for at, weight in low if at != vl)
    return own / (own + others) if own else 0


def submit(service, nodes, gpus=2, tenant="red"):
    status, job = service.request("POST", "/v1/jobs", {
        "name": "lane", "tenant": tenant, "parallelism": {"tensor": gpus, "data": len(nodes)}, "gpusPerNode": gpus, "nodes": nodes})
    return status, job


class Told:
    """Which service level the ranks of each job were told, and on which nodes they are."""

    def __init__(self, service):
        self.service, self.jobs = service, {}

    def submit(self, nodes, gpus=2, tenant="red"):
        status, job = submit(self.service, nodes, gpus, tenant)
        if status == 201:
            self.jobs[job["id"]] = (set(nodes), level_of(self.service, job["id"]))
        return status, job

    def end(self, job):
        status, answer = self.service.request("DELETE", f"/v1/jobs/{job}")
        assert status == 200, answer
        del self.jobs[job]

    def levels(self, lanes):
        """{node: what may come in from it}: beside what ranks were told, their class and the lane that the job has by now."""
        found = {}
        for job, (nodes, level) in self.jobs.items():
            for node in nodes:
                found.setdefault(node, set(OPEN)).update({level, ALL_REDUCE, CLASSES + lanes[job]})
        return found


def peers_of(sim):
    """{(switch's GUID, port): (S or H, GUID, port) of the other end}, by ibnetdiscover."""
    found, at = {}, None
    for line in sim.run(["ibnetdiscover"]).stdout.splitlines():
        if match := re.match(r'(Switch|Ca)\s+\d+ "[SH]-([0-9a-f]{16})"', line):
            at = match[2] if match[1] == "Switch" else None
        elif at and (match := re.match(r'\[(\d+)\]\s+"([SH])-([0-9a-f]{16})"\[(\d+)\]', line)):
            found[at, int(match[1])] = (match[2], match[3], int(match[4]))
    return found


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


def maps_are(maps, guid, open_map, may_enter, name, on, peers, shared):
    """The maps of a port by input port: open_map, but 15 for levels that the node at the input port may not send with, and for
    a lane whose owner does not have it on the link that packets come from."""
    dropped = 0
    for inward, row in maps.items():
        allowed = may_enter.get((guid, inward))
        from_there = on.get("{1}/{2}".format(*peers[guid, inward]), {}) if guid and (guid, inward) in peers else {}
        for level, vl in enumerate(open_map):
            here, there = on.get(name, {}).get(level - CLASSES), from_there.get(level - CLASSES)
            is_others = guid and here and level - CLASSES not in shared and (guid, inward) in peers and (not there or here[0] != there[0])
            wanted = DROPPED if is_others or (allowed is not None and level not in allowed) else vl
            assert row[level] == wanted, f"{name} from port {inward}: level {level} leads to {row[level]}, not {wanted}; {allowed} may enter"
            dropped += wanted != vl
    return dropped


def ports_have(sim, told, ports, lanes, peers, names, some=False, shared=()):
    """The ports' tables as smpquery reads them are what the owners of lanes need, and let in what ranks were told. Ports
    that several owners share, and entries of maps that drop. some: not all ports are given."""
    service = told.service
    on, certificate = owners(service)
    assert on, "no link has an owner of a lane"
    capacity = {link["from"]: link["capacityMbps"] for link in certificate["links"]}
    packet_units = certificate["ports"]["largestPacketBytes"] // 64
    levels = told.levels({item["job"]: item["lane"] for item in service.get("/v1/guarantees")["items"]})
    may_enter = {at: levels.get(names[guid], OPEN) for at, (kind, guid, _) in peers.items() if kind == "H"}
    found, seen, several, dropped = tables(sim, ports), 0, 0, 0
    for name, _, _, is_switch, guid in ports:
        maps, (low, high), _ = found[name]
        here = on.get(name, {})
        assert maps and not high, (name, high)
        several += len(here) > 1
        own = [CLASSES + lane if lane in here else LOWEST for lane in range(lanes)]
        open_map = list(range(CLASSES)) + own + [DROPPED] * (16 - CLASSES - lanes)
        dropped += maps_are(maps, guid if is_switch else None, open_map, may_enter, name, on, peers, shared)
        for lane in range(lanes):
            if lane not in here:
                assert not [entry for entry in low if entry[0] == CLASSES + lane], f"{name}: {low}"
                continue
            job, mbps = here[lane]
            seen += 1
            share = promised(low, CLASSES + lane, packet_units)
            assert share * capacity[name] >= mbps, f"{name}: {job} is promised {share:.3f} of {capacity[name]}, {mbps} are reserved; {low}"
    assert some or seen == sum(len(lanes_here) for lanes_here in on.values()), "some links are of no cabled port"
    return found, on, several, dropped


def ports_get(sim, told, ports, lanes, peers, names, some=False, shared=()):
    """ports_have, once the controller has followed the newest state."""
    arguments = (sim, told, ports, lanes, peers, names, some, shared)
    until("tables of the lanes as they are now", lambda: holds(ports_have, *arguments), 40, 0.3)
    return ports_have(*arguments)


def blocks_written(service):
    """Of tables of ports, since the first event."""
    after, blocks = 0, 0
    while True:
        page = service.get(f"/v1/events?limit=1000&type=qos.programmed&after={after}")
        blocks += sum(event["data"]["blocks"] for event in page["items"])
        if len(page["items"]) < 1000:
            return blocks
        after = page["items"][-1]["seq"]


def at(waits, part):
    return 1000 * sorted(waits)[min(int(part * len(waits)), len(waits) - 1)]


def level_of(service, job):
    items = service.get(f"/v1/jobs/{job}/ranks?limit=1000")["items"]
    levels = {item["env"][name] for item in items for name in ("NCCL_IB_SL", "UCX_IB_SL", "NVSHMEM_IB_SL", "MC_IB_SL", "EP_OVERRIDE_RDMA_SL")}
    assert len(levels) == 1, levels
    return int(levels.pop())


def keys_are_told(sim, ports, service, job):
    """The key that UCX is told, by value, is at the index that NCCL and Mooncake are told, in each adapter's own table."""
    for rank in service.get(f"/v1/jobs/{job}/ranks?limit=1000")["items"]:
        lid, port = next((str(lid), str(port)) for name, lid, port, *_ in ports if name == rank["nics"][0]["port"])
        done = sim.run(["smpquery", "pkeys", lid, port])
        table = [int(key, 16) for row in re.findall(r"^\s*\d+:(.*)$", done.stdout, re.MULTILINE) for key in re.findall(r"0x([0-9a-fA-F]{4})", row)]
        index, told = int(rank["env"]["NCCL_IB_PKEY"]), int(rank["env"]["UCX_IB_PKEY"], 16)
        assert index > 0 and 0 < told < 0x7fff and rank["env"]["MC_PKEY_INDEX"] == str(index), rank
        assert table[index] == told | 0x8000, (rank, table[:4], done.stderr)


def run(binaries, folder, comings):
    native, netlist, subnet = generate(str(binaries / "railweave"), SHAPE, folder)
    with Ibsim(netlist) as sim, LiveService(sim, binaries, folder, subnet, "sweep_seconds = 1", seconds=280 + 3 * comings) as service:
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
        told, peers = Told(service), peers_of(sim)
        assert sum(kind == "H" for kind, _, _ in peers.values()) == len(names), "every adapter is at a switch"
        same = [nodes[0], nodes[1], nodes[4], nodes[5]]
        status, first = told.submit(same)
        assert status == 201 and first["guarantee"]["lane"] == 0, first
        status, second = told.submit(same)
        assert status == 201 and second["guarantee"]["lane"] == 1, second
        in_force(service, [first["id"], second["id"]])
        keys_are_told(sim, ports, service, first["id"])
        found, on, several, dropped = ports_get(sim, told, ports, lanes, peers, names)
        assert several >= 12, f"the jobs share {several} ports"
        assert dropped > 500, f"{dropped} entries drop what a host may not send"
        assert [level_of(service, job["id"]) for job in (first, second)] == [CLASSES, CLASSES + 1]
        verified(service, sim, folder, "two jobs on the same links")
        shown = service.cli("guarantees", "list").stdout
        assert "lane 0" in shown and "lane 1" in shown and "planned" not in shown, shown
        alone = [nodes[-1], nodes[-2]]
        status, apart = told.submit(alone, 4)
        assert status == 201 and apart["guarantee"]["lane"] == 0, f"elsewhere the first lane is free: {apart}"

        # The lane of a job is closed to links between switches that it never comes by, also of one that survives failures.
        assert service.cli("tenants", "put", "green").returncode == 0
        done = service.cli("contracts", "set", "green", "--guaranteed", "5", "--class", "all-reduce", "--isolation", "lane", "--survive")
        assert done.returncode == 0, done.stdout + done.stderr
        status, survivor = told.submit([nodes[8], nodes[12]], 2, "green")
        assert status == 201 and survivor["guarantee"]["covered"], survivor
        in_force(service, [survivor["id"]])
        now, owned_now, _, _ = ports_get(sim, told, ports, lanes, peers, names)
        level = CLASSES + survivor["guarantee"]["lane"]
        closed = sum(row[level] == DROPPED for name, here in owned_now.items() if here.get(level - CLASSES, (None,))[0] == survivor["id"] and name in now
                     for inward, row in now[name][0].items() if peers.get((name.split("/")[0], inward), "H")[0] == "S")
        assert closed > 0, "it is closed to no link between switches"
        verified(service, sim, folder, "beside a job that survives failures")
        told.end(survivor["id"])

        # Others come and go; whatever they do, a running job's level leads to its lane at every port of its routes.
        chance, others, refused = random.Random(7), [], 0
        owned = [port for port in ports if port[0] in on]
        started, waits, blocks = time.monotonic(), [], blocks_written(service)
        for number in range(comings):
            if others and chance.random() < 0.4:
                told.end(others.pop(chance.randrange(len(others))))
            else:
                # Mostly below one leaf, where there is a lane; across leaves the two jobs may have both.
                leaf = chance.choice((0, 4, 8))
                among = nodes[:14] if chance.random() < 0.3 else nodes[leaf:leaf + 4]
                status, job = told.submit(chance.sample([node for node in among if node not in same], 2), 2)
                if status == 201:
                    others.append(job["id"])
                refused += status != 201
            asked = time.monotonic()
            in_force(service, [first["id"], second["id"], apart["id"], *others])
            waits.append(time.monotonic() - asked)
            if number % 100 == 99:
                print(f"{number + 1} comings and goings in {time.monotonic() - started:.0f} s", flush=True)
            some = number % 50 != 0 and comings > 50
            now, _, _, _ = ports_get(sim, told, chance.sample(owned, 3) if some else ports, lanes, peers, names, some)
            for name, (maps, _, _) in now.items():
                guid = name.split("/")[0]
                for lane, (job, _) in on.get(name, {}).items():
                    on_the_way = {inward for inward in maps if "/" in name and (guid, inward) in peers
                                  and on.get("{1}/{2}".format(*peers[guid, inward]), {}).get(lane, (None,))[0] == job}
                    entries = {maps[inward][CLASSES + lane] for inward in on_the_way} or {CLASSES + lane}
                    assert entries == {CLASSES + lane}, f"{name}: the lane of {job}, which runs, leads to {entries}"
        took, blocks = time.monotonic() - started, blocks_written(service) - blocks
        verified(service, sim, folder, "after others came and went")

        # A cut: routes change; whoever has a lane then has it on the new routes, alone.
        def lanes_now():
            return {item["job"]: item["lane"] if item["state"] != "atRisk" else None for item in service.get("/v1/guarantees")["items"]}

        were = lanes_now()
        leaf = fullest_leaf(netlist, names, set(same))
        switch, port = next(at for at in cables(netlist) if at[0] == leaf)
        cut(sim, service, switch, port)
        alive = [one for one in cabled(sim)]
        # Ranks of jobs that got another lane, or are at risk, send with their earlier level until they start again: lanes that it
        # leads to are theirs as well, and are closed to no job.
        are = lanes_now()
        shared = {were[job] for job in are if are[job] != were[job]} - {None}
        holding = [job for job, lane in are.items() if lane is not None and lane == were[job] and lane not in shared]
        in_force(service, holding)
        ports_get(sim, told, alive, lanes, peers, names, shared=shared)
        verified(service, sim, folder, "after a cut")
        before = {item["job"]: item["lane"] for item in service.get("/v1/guarantees")["items"]}
        service.restart()
        service.synced()
        in_force(service, holding)
        assert {item["job"]: item["lane"] for item in service.get("/v1/guarantees")["items"]} == before, "lanes after a restart"
        ports_get(sim, told, alive, lanes, peers, names, shared=shared)

        # OpenSM has one table for all ports: its lanes are the classes'.
        service.mode("opensm")
        item = next(one for one in service.get("/v1/guarantees")["items"] if one["job"] == second["id"])
        assert item["inForce"]["isolation"] == "planned" and "opensm mode" in item["inForce"]["statement"], item
        assert level_of(service, second["id"]) == 3, "of all-reduce"
        print(f"{len(ports)} ports, {lanes} lanes beside {CLASSES} classes: two jobs shared {several} ports on lanes of their own, {dropped} entries of maps "
              f"dropped what hosts may not send, {closed} between switches keep others from the lane of a job that survives failures; {comings} comings and goings ({refused} refused) moved no running job's lane, in {took:.0f} s, in "
              f"force after {at(waits, 0.5):.0f} ms at the median, {at(waits, 0.99):.0f} ms at the 99th percentile, {1000 * max(waits):.0f} ms at most, with "
              f"{blocks / max(comings, 1):.0f} blocks written for each; the same after a cut and a restart")


def main():
    binaries = Path(sys.argv[1]).resolve()
    lacking = missing() or next((tool for tool in ("smpquery", "dump_fts") if not shutil.which(tool)), None)
    if lacking:
        print(f"skipped: {lacking} is absent")
        return 77
    with tempfile.TemporaryDirectory(prefix="railweave-lanes-") as folder:
        run(binaries, Path(folder), int(sys.argv[2]) if len(sys.argv) > 2 else 8)
    return 0


if __name__ == "__main__":
    sys.exit(main())
