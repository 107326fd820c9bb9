#!/usr/bin/env python3
"""Lanes of jobs' own beside a real OpenSM with Railweave's plugin, on a simulated subnet: railweaved plans the tables of every
port, the plugin hands them to OpenSM, OpenSM writes them, railweaved reads them back, and smpquery reads them for this test.

As lanes_test.py in direct mode: each job's service level leads to its own lane on its links, arbitration promises that lane
what is reserved, and switches let in from a host what its jobs were told. That is so after jobs end, after OpenSM starts again,
and OpenSM alone writes ports. Where OpenSM does not set up QoS, or another OpenSM without the plugin takes over, lanes
are planned only, and it says why.

opensm_lanes_test.py PLUGIN BIN_FOLDER     exit code 77: skipped, and why. PLUGIN may be "": not built
"""
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import Ibsim, missing, stop  # noqa: E402
from lanes_test import ALL_REDUCE, CLASSES, SHAPE, Told, in_force, level_of, peers_of, ports_get, ports_have  # noqa: E402
from live import LiveService, generate  # noqa: E402
from live_guarantees_test import node_names, programmed, verified  # noqa: E402
from opensm_plugin_test import OpenSm, hosts_of  # noqa: E402
from qos_programming_test import cabled, tables  # noqa: E402
from waiting import until  # noqa: E402

WRITTEN = re.compile(r"tables of (\d+) ports")

def stand(service, job):
    return next(item for item in service.get("/v1/guarantees")["items"] if item["job"] == job)["inForce"]

def planned(service, job, why):
    """Once the job's lane is planned only, for that reason, and its ranks are told their class's level."""
    def is_planned():
        now = stand(service, job)
        return now if now["isolation"] == "planned" and why in now["statement"] else None

    now = until(lambda: f"planned because {why!r}: {stand(service, job)}", is_planned, 60)
    assert now["level"] == "planned", now
    until(lambda: f"the class's level: {level_of(service, job)}", lambda: level_of(service, job) == ALL_REDUCE, 20)
    print("planned only:", now["statement"])

def run(binaries, plugin, folder):
    native, netlist, subnet = generate(str(binaries / "railweave"), SHAPE, folder)
    own, files = folder / "opensm", folder / "offered"
    own.mkdir()
    files.mkdir()
    hosts = hosts_of(netlist)
    settings = f'sweep_seconds = 1\nopensm_socket = "{own}/policy.sock"\nopensm_files = "{files}"'
    with Ibsim(netlist) as sim, LiveService(sim, binaries, folder, subnet, settings) as service:
        with OpenSm(sim, own, plugin, "qos TRUE", host=hosts[-1]) as opensm:
            opensm.wait_for("SUBNET UP")
            done = service.cli("fabric", "discover", "--accept", "--gpus-per-node", "4")
            assert done.returncode == 0, done.stdout + done.stderr
            service.mode("opensm")
            service.synced(30)
            ports, names, peers = cabled(sim), node_names(sim), peers_of(sim)
            nodes = sorted(set(names.values()), key=lambda name: int("".join(c for c in name if c.isdigit()) or 0))
            assert service.cli("tenants", "put", "red").returncode == 0
            done = service.cli("contracts", "set", "red", "--guaranteed", "5", "--class", "all-reduce", "--isolation", "lane", "--survive")
            assert done.returncode == 0, done.stdout + done.stderr
            programmed(service, len(ports))
            assert service.live()["qos"]["byOpensm"], service.live()["qos"]
            limits = [event["data"] for event in service.events("qos.limits")][-1]
            assert limits["byOpensm"], limits
            lanes = min(limits["dataLanes"], 16) - CLASSES
            assert lanes >= 2, f"ports have {limits}"

            # Two jobs on the same adapters, one of its own elsewhere.
            told, same = Told(service), [nodes[0], nodes[1], nodes[4], nodes[5]]
            asked = time.monotonic()
            status, first = told.submit(same)
            assert status == 201 and first["guarantee"]["lane"] == 0, first
            in_force(service, [first["id"]])
            took = time.monotonic() - asked
            status, second = told.submit(same)
            assert status == 201 and second["guarantee"]["lane"] == 1, second
            status, apart = told.submit([nodes[-1], nodes[-2]], 4)
            assert status == 201 and apart["guarantee"]["lane"] == 0, apart
            in_force(service, [first["id"], second["id"], apart["id"]])
            _, on, several, dropped = ports_get(sim, told, ports, lanes, peers, names)
            assert several >= 12 and dropped > 500, (several, dropped)
            assert [level_of(service, job["id"]) for job in (first, second)] == [CLASSES, CLASSES + 1]
            assert not service.events("route.programmed"), "OpenSM has written all of it"
            verified(service, sim, folder, "lanes by OpenSM", by_opensm=True)
            assert int(WRITTEN.findall(opensm.said())[-1]) == len(ports), WRITTEN.findall(opensm.said())
            print(f"{len(ports)} ports by OpenSM: two jobs share {several} on lanes of their own, {dropped} entries of maps drop what hosts may "
                  f"not send; the first was in force after {took * 1000:.0f} ms")

            # OpenSM writes ports after routes: a job that survives no failure, with the lane number of another, is planned only.
            assert service.cli("tenants", "put", "green").returncode == 0
            done = service.cli("contracts", "set", "green", "--guaranteed", "5", "--class", "all-reduce", "--isolation", "lane")
            assert done.returncode == 0, done.stdout + done.stderr
            status, open_to = told.submit([nodes[8], nodes[9]], 4, "green")
            assert status == 201 and open_to["guarantee"]["lane"] == 0, open_to
            said = until(lambda: f"planned: {stand(service, open_to['id'])}", lambda: "may get onto it" in stand(service, open_to["id"])["statement"]
                         and stand(service, open_to["id"]), 60)
            assert said["isolation"] == "planned" and said["level"] == "hardware", said
            print("planned only:", said["statement"])
            told.end(open_to["id"])

            # A job ends: its lane and what its hosts might send are closed; the others' entries stay.
            before = tables(sim, ports)
            told.end(second["id"])
            in_force(service, [first["id"], apart["id"]])
            ports_get(sim, told, ports, lanes, peers, names)
            after = tables(sim, ports)
            changed = sum(before[name][0] != after[name][0] for name in before)
            assert 0 < changed, "the ended job's lane was closed nowhere"
            for name, holders in on.items():
                if name not in after or 0 not in holders or name.split("/")[0] not in {guid for guid, _ in peers}:
                    continue
                entries = {row[CLASSES] for row in after[name][0].values()} - {15}
                assert entries == {CLASSES}, f"{name}: the lane that stays leads to {entries}"
            print(f"a job ended: maps of {changed} ports changed")
            status, second = told.submit(same)
            assert status == 201, second
            in_force(service, [second["id"]])

            # railweaved starts again: until it knows what ports are to have, OpenSM keeps what it had.
            def tables_now():
                return {name: found[:2] for name, found in tables(sim, ports).items()}

            held = tables_now()
            service.restart()
            service.synced(30)
            in_force(service, [first["id"], second["id"], apart["id"]])
            assert tables_now() == held, "after a restart of railweaved"

        # OpenSM starts again: from its cache, before the service has said anything.
        written = len(service.events("route.programmed"))
        with OpenSm(sim, own, plugin, "qos TRUE", host=hosts[-1]) as opensm:
            opensm.wait_for("SUBNET UP")
            service.synced(30)
            in_force(service, [first["id"], second["id"], apart["id"]])
            ports_have(sim, told, ports, lanes, peers, names)
            assert tables_now() == held, "after a restart of OpenSM"
            assert len(service.events("route.programmed")) == written
            print("OpenSM started again: the same tables")

            # Another OpenSM, of a higher priority and without the plugin, takes over.
            other = folder / "other"
            other.mkdir()
            os.environ.update(OSM_CACHE_DIR=str(other), OSM_TMP_DIR=str(other))
            taker = sim.open(["opensm", "-e", "-p", "15", "-Q", "-f", str(other / "osm.log"), "-D", "0x43"], seconds=120, host=hosts[-2])
            try:
                until(lambda: f"another master: {opensm.said()[-500:]}{(other / 'osm.log').read_text(errors='replace')[-500:]}",
                      lambda: "Entering STANDBY" in opensm.said(), 40)
                planned(service, first["id"], "not master")
                assert not service.live()["qos"]["byOpensm"]
            finally:
                stop(taker)

        # It does not set up QoS.
        with OpenSm(sim, own, plugin, "qos FALSE", host=hosts[-1]) as opensm:
            opensm.wait_for("SUBNET UP")
            planned(service, first["id"], "-Q")

def main():
    plugin, binaries = sys.argv[1], Path(sys.argv[2]).resolve()
    lacking = missing() or next((tool for tool in ("opensm", "smpquery", "dump_fts") if not shutil.which(tool)), None)
    if lacking or not plugin:
        print(f"skipped: {lacking or 'the OpenSM plugin is not built (libopensm-dev)'}")
        return 77
    with tempfile.TemporaryDirectory(prefix="railweave-opensm-lanes-") as folder:
        run(binaries, Path(plugin).resolve(), Path(folder))
    return 0

if __name__ == "__main__":
    sys.exit(main())
