#!/usr/bin/env python3
"""What changes under the promise of a running job on a simulated subnet. Links that run more slowly than what is accepted: what they
really carry counts for guarantees, at once and after a restart. Rates are read from the ports by smpquery, and what guarantees reserve
is added up here along the tables that dump_fts reads from the switches. Classes that are replaced: refused, or forced and said, while
smpquery shows that what ranks were told leads to the lowest lane.

live_rates_test.py BIN_FOLDER     exit code 77: skipped, and why
"""
import collections
import json
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import Ibsim, missing  # noqa: E402
from live import LiveService  # noqa: E402
from live_subnet_test import fdbs_of_switches  # noqa: E402
from ibsim_fabric import SmallFabric  # noqa: E402
from waiting import until  # noqa: E402

MBPS = {"SDR": 2_000, "DDR": 4_000, "QDR": 8_000, "EDR": 25_000}  # data, of one lane
USABLE, SHARE, GUARANTEE = 0.95, 0.35, 5_000  # of a link's rate; of that, what the class all-reduce has; Mb/s at each port


def read(sim):
    """(peer of each port, Mb/s of each port, LID of each adapter), by ibnetdiscover."""
    peers, rates, lids, at = {}, {}, {}, None
    for line in sim.run(["ibnetdiscover"]).stdout.splitlines():
        if head := re.match(r'(?:Switch|Ca)\s+\d+ "([SH]-[0-9a-f]{16})"', line):
            at = head[1]
        elif cable := re.match(r'\[(\d+)\](?:\([0-9a-f]+\))?\s+"([SH]-[0-9a-f]{16})"\[(\d+)\].*?(\d+)x(\w+)\s*$', line):
            peers[at, int(cable[1])] = (cable[2], int(cable[3]))
            rates[at, int(cable[1])] = int(cable[4]) * MBPS[cable[5]]
            if at.startswith("H-"):
                lids[at] = int(re.search(r"# lid (\d+)", line)[1])
    return peers, rates, lids


def tables_of(sim):
    """Egress ports by switch and LID, by dump_fts."""
    tables, at = collections.defaultdict(dict), None
    for line in fdbs_of_switches(sim).splitlines():
        if head := re.search(r"Switch 0x([0-9a-f]+)", line):
            at = f"S-{int(head[1], 16):016x}"
        elif entry := re.match(r"0x([0-9A-Fa-f]{4}) : (\d+)", line):
            tables[at][int(entry[1], 16)] = int(entry[2])
    return tables


def reserved(sim, jobs):
    """Mb/s by egress port that these jobs may send at most, as hoses with GUARANTEE at each of their adapters."""
    peers, _, lids = read(sim)
    tables = tables_of(sim)
    total = collections.Counter()
    for adapters in jobs:
        crossing = collections.defaultdict(lambda: (set(), set()))
        for source in adapters:
            for target in adapters:
                port = (source, 1)
                while source != target:
                    crossing[port][0].add(source)
                    crossing[port][1].add(target)
                    switch = peers[port][0]
                    if switch == target:
                        break
                    port = (switch, tables[switch][lids[target]])
        for port, (sources, targets) in crossing.items():
            total[port] += min(len(sources), len(targets)) * GUARANTEE
    return total


def port_info(sim, port):
    """Of the leaf that the simulator's own host is cabled to."""
    text = sim.run(["smpquery", "-D", "portinfo", "0,1", str(port)]).stdout
    field = lambda name: re.search(rf"^{name}:\.*(.*)$", text, re.MULTILINE)[1]
    return field("LinkWidthActive"), field("LinkSpeedActive")


def adapters_of(service, job):
    return sorted({f"H-{rank['nics'][0]['port'].split('/')[0]}" for rank in service.get(f"/v1/jobs/{job}/ranks?limit=100")["items"]})


def contract(service):
    for tenant, isolation in (("red", "lane"),):
        assert service.cli("tenants", "put", tenant).returncode == 0
        done = service.cli("contracts", "set", tenant, "--guaranteed", str(GUARANTEE // 1000), "--class", "all-reduce", "--isolation", isolation)
        assert done.returncode == 0, done.stdout + done.stderr


def submit(service, name, nodes):
    return service.request("POST", "/v1/jobs", {"name": name, "tenant": "red", "parallelism": {"tensor": 4, "data": len(nodes)}, "nodes": nodes})


def guarantee(service, job):
    return next(one for one in service.get("/v1/guarantees")["items"] if one["job"] == job)


def holding(service):
    """The adapters of jobs whose guarantee the service says holds."""
    return [adapters_of(service, one["job"]) for one in service.get("/v1/guarantees")["items"] if one["state"] != "atRisk"]


def expect_inside(sim, service):
    _, rates, _ = read(sim)
    for port, mbps in reserved(sim, holding(service)).items():
        assert mbps <= rates[port] * USABLE * SHARE, f"{port} runs at {rates[port]} Mb/s and {mbps} are promised over it"


def lane_of(sim, level, out):
    """The VL of packets with that service level from the host at port 1 of the leaf, on the way out of another port."""
    text = sim.run(["smpquery", "-D", "sl2vl", "0,1", str(out)]).stdout
    rows = dict(re.findall(r"^ports: in\s+(\d+), out\s+\d+:\s*\|(.*)\|", text, re.MULTILINE))
    return int(rows["1"].split("|")[level])


def classes_are_replaced(sim, service, fabric, job):
    uplink = fabric.uplinks(0)[0][1]
    until("its lane is in force", lambda: guarantee(service, job)["inForce"]["isolation"] == "lane", seconds=30)
    classes = service.get("/v1/qos-classes")["items"]
    level = len(classes) + guarantee(service, job)["lane"]  # that its ranks were started with
    lowest = lane_of(sim, 0, uplink)
    assert lane_of(sim, level, uplink) != lowest
    fewer = Path(service.folder) / "classes.json"
    fewer.write_text(json.dumps({"items": [one for one in classes if one["name"] not in ("latency", "management")]}))
    refused = service.cli("qos", "set", str(fewer))
    assert refused.returncode != 0 and job in refused.stderr and len(service.get("/v1/qos-classes")["items"]) == len(classes), refused.stderr
    forced = service.cli("qos", "set", str(fewer), "--force")
    assert forced.returncode == 0, forced.stderr
    told = guarantee(service, job)["inForce"]
    assert told["level"] == "planned" and told["isolation"] == "planned" and f"service level {level}" in told["statement"], told
    assert [one["subject"]["id"] for one in service.get("/v1/alarms?limit=1000")["items"] if one["kind"] == "guarantee.remarked" and one["subject"]["id"] == job]
    until("ports have the other classes", lambda: lane_of(sim, level, uplink) in (lowest, 15), seconds=30)
    assert guarantee(service, job)["inForce"]["level"] == "planned", "once ports have them as well"


def main():
    binaries = Path(sys.argv[1]).resolve()
    if lacks := missing():
        print(f"skipped: {lacks} is missing")
        return 77
    fabric = SmallFabric(hosts=4)
    with tempfile.TemporaryDirectory(prefix="railweave-rates-") as folder:
        native, netlist = fabric.write(folder)
        keys = "sweep_seconds = 1\ncounter_seconds = 2"
        # 1. As accepted: a job over leaf-0's uplinks has its guarantee, and a lane.
        with Ibsim(netlist) as sim, LiveService(sim, binaries, folder, fabric.subnet, keys) as service:
            service.import_fabric(native)
            service.mode("direct")
            service.synced(60)
            contract(service)
            status, far = submit(service, "far", ["n000", "n004"])
            assert status == 201, far
            status, near = submit(service, "near", ["n001", "n002"])
            assert status == 201, near
            until("lanes in force", lambda: guarantee(service, far["id"])["inForce"]["isolation"] == "lane", seconds=30)
            assert guarantee(service, far["id"])["state"] == "holds"
            expect_inside(sim, service)
        # 2. The same uplinks really run at 1x SDR.
        _, netlist = fabric.write(folder, slow={end: "1xSDR" for end in fabric.uplinks(0)})
        with Ibsim(netlist) as sim, LiveService(sim, binaries, folder, fabric.subnet, keys) as service:
            service.synced(60)
            until("at risk", lambda: guarantee(service, far["id"])["state"] == "atRisk", seconds=30)
            _, rates, _ = read(sim)
            for end in fabric.uplinks(0):
                assert rates[end] == 2_000, (end, rates[end])
            assert port_info(sim, fabric.uplinks(0)[0][1]) == ("1X", "2.5 Gbps")
            told = guarantee(service, far["id"])
            assert told["inForce"]["isolation"] == "planned" and "of 665 Mb/s" in told["reason"], told
            assert guarantee(service, near["id"])["state"] != "atRisk", "it crosses no slow link"
            alarms = service.get("/v1/alarms?limit=1000")["items"]
            assert [one["subject"]["id"] for one in alarms if one["kind"] == "guarantee.atRisk"] == [far["id"]], alarms
            assert sum(one["kind"] == "link.slow" for one in alarms) == fabric.spines, alarms
            links = [one for one in service.get("/v1/links?limit=1000")["items"] if one.get("seenGbps")]
            assert len(links) == fabric.spines and all(one["seenGbps"] == 2 and one["rateGbps"] == 100 and one["state"] == "degraded" for one in links), links
            shown = service.cli("links", "show", links[0]["id"]).stdout
            assert "Runs at" in shown and "2 Gb/s" in shown, shown
            # What is submitted now is refused over them, and admitted elsewhere.
            status, refused = submit(service, "another", ["n003", "n005"])
            assert status in (409, 422) and refused["code"].startswith("admission."), refused
            status, elsewhere = submit(service, "elsewhere", ["n006", "n009"])
            assert status == 201, elsewhere
            expect_inside(sim, service)
            lowered = [event for event in service.events("link.changed") + service.events("link.up") if "slower than accepted" in event["summary"]]
            assert lowered and service.events("guarantee.atRisk"), service.events()[-10:]
            # 3. A restart knows it before the subnet has answered, and says the same afterwards.
            service.restart()
            assert guarantee(service, far["id"])["state"] == "atRisk"
            assert sum(one.get("seenGbps") == 2 for one in service.get("/v1/links?limit=1000")["items"]) == fabric.spines
            service.synced(60)
            assert guarantee(service, far["id"])["state"] == "atRisk"
            expect_inside(sim, service)
        # 4. Repaired: what was promised holds again.
        _, netlist = fabric.write(folder)
        with Ibsim(netlist) as sim, LiveService(sim, binaries, folder, fabric.subnet, keys) as service:
            service.synced(60)
            until("holds again", lambda: guarantee(service, far["id"])["state"] != "atRisk", seconds=30)
            service.wait_alarm("link.slow", there=False)
            expect_inside(sim, service)
            # 5. Other classes under the running job.
            classes_are_replaced(sim, service, fabric, far["id"])
    print("slow uplinks: nothing is promised over them that they do not carry, at once and after a restart; it holds again once they are repaired")
    print("other classes: refused under a running job, and said where they are forced")
    return 0


if __name__ == "__main__":
    sys.exit(main())
