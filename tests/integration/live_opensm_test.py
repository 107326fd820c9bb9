#!/usr/bin/env python3
"""railweaved beside a real OpenSM with Railweave's routing engine, on a simulated subnet: what OpenSM programs is what railweaved
wants; a cut link is repaired before OpenSM's sweep, and the sweep changes nothing; drains reach OpenSM; where OpenSM's
tables are not ours, nothing is written and an alarm says so.

live_opensm_test.py PLUGIN BIN_FOLDER     exit code 77: skipped, and why. PLUGIN may be "": not built
"""
import random
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import Ibsim, missing, stop  # noqa: E402
from live import LiveService, generate  # noqa: E402
from live_subnet_test import cables, lids, walk  # noqa: E402
from opensm_plugin_test import OpenSm, hosts_of, switch_lids, tables_of_switches  # noqa: E402
from waiting import steady, until  # noqa: E402

SHAPE = ["fat-tree", "--hosts", "128", "--radix", "16", "--nics-per-host", "1", "--gpus-per-host", "1", "--speed", "HDR"]


def main():
    plugin, binaries = sys.argv[1], Path(sys.argv[2]).resolve()
    lacking = missing() or next((tool for tool in ("opensm", "dump_fts", "ibtracert") if not shutil.which(tool)), None)
    if lacking or not plugin:
        print(f"skipped: {lacking or 'the OpenSM plugin is not built (libopensm-dev)'}")
        return 77
    with tempfile.TemporaryDirectory(prefix="railweave-opensm-") as folder:
        native, netlist, subnet = generate(str(binaries / "railweave"), SHAPE, folder)
        socket = f"{folder}/opensm/policy.sock"
        own = Path(folder) / "opensm"
        own.mkdir()
        with Ibsim(netlist) as sim, LiveService(sim, binaries, folder, subnet, f'sweep_seconds = 2\nopensm_socket = "{socket}"') as service, \
                OpenSm(sim, own, Path(plugin), host=hosts_of(netlist)[-1]) as opensm:
            opensm.wait_for("SUBNET UP")
            # LIDs are OpenSM's: what is discovered becomes the accepted topology.
            done = service.cli("fabric", "discover", "--accept", "--gpus-per-node", "1")
            assert done.returncode == 0, done.stdout + done.stderr
            service.mode("opensm")
            service.synced(30)
            assert "sync.mismatch" not in service.alarms() and "opensm.absent" not in service.alarms(), service.alarms()
            assert not service.events("route.programmed"), "OpenSM had programmed all of it"

            known, inter = lids(sim), set(cables(netlist))
            random.seed(3)
            path = hop = None
            while not hop:
                source, target = random.sample(known, 2)
                path = walk(sim, source, target)
                hop = next(((at, port) for at, port, _ in path if (f"S-{at}", port) in inter), None)
            ups = opensm.said().count("SUBNET UP")
            before = service.live()["repairsTotal"]
            sim.console(f'Unlink "S-{hop[0]}"[{hop[1]}]')
            status = service.wait("fast repair", lambda s: s["repairsTotal"] > before, 20)
            repair = status["repairs"][0]
            early = opensm.said().count("SUBNET UP") == ups
            moved = walk(sim, source, target)
            assert all((at, port) != hop for at, port, _ in moved), moved
            own_lids = switch_lids(sim.run(["ibnetdiscover"]).stdout)  # OpenSM's own choice

            def for_hosts():
                return {guid: {lid: port for lid, port in table.items() if lid not in own_lids} for guid, table in tables_of_switches(sim).items()}

            ours = for_hosts()
            opensm.wait_for("SUBNET UP", ups + 1)
            assert steady("OpenSM's tables", for_hosts) == ours, "OpenSM converges to the very same tables"
            service.synced(30)
            assert "sync.mismatch" not in service.alarms(), service.alarms()
            print(f"cut beside OpenSM: repaired in {repair['programmedUs'] / 1000:.1f} ms, {'before' if early else 'while'} OpenSM swept; its tables are the same")

            # A drain is routed by OpenSM, which receives it over the socket.
            sim.console(f'ReLink "S-{hop[0]}"[{hop[1]}]')
            service.wait("link back", lambda s: s["linksDown"] == 0 and s["phase"] == "synced", 30)
            link = next(item["id"] for item in service.get("/v1/links?limit=10000")["items"] if any(end["port"] == f"{hop[0]}/{hop[1]}" for end in item["ends"]))
            steady("OpenSM's sweeps", lambda: opensm.said().count("SUBNET UP"), every=0.3, times=4)
            done = service.cli("links", "drain", link, "--reason", "cable", "--wait", "--timeout", "30")
            assert done.returncode == 0, done.stdout + done.stderr
            moved = walk(sim, source, target)
            assert all((at, port) != hop for at, port, _ in moved), moved
            assert "sync.mismatch" not in service.alarms(), service.alarms()
            print("drained through OpenSM:", done.stdout.strip().splitlines()[-1])
            assert service.cli("links", "undrain", link).returncode == 0
            until("the drain is cleared", lambda: not service.get("/v1/drains")["items"])
            steady("OpenSM's sweeps", lambda: opensm.said().count("SUBNET UP"), every=0.5, times=4)
            service.synced(30)

        # Another routing engine: its tables differ from Railweave's and stay.
        with Ibsim(netlist) as sim:
            log = Path(folder) / "osm.log"
            manager = sim.open(["opensm", "-e", "-f", str(log), "-D", "0x43", "-d", "2", "-R", "minhop", "--scatter-ports", "7"], host=hosts_of(netlist)[-1])
            until("OpenSM's first sweep", lambda: log.exists() and "SUBNET UP" in log.read_text(errors="replace"), 40)
            before = tables_of_switches(sim)
            fresh = Path(folder) / "fresh"
            fresh.mkdir()
            with LiveService(sim, binaries, fresh, subnet, f'sweep_seconds = 1\nopensm_socket = "{socket}"') as service:
                done = service.cli("fabric", "discover", "--accept", "--gpus-per-node", "1")
                assert done.returncode == 0, done.stdout + done.stderr
                service.mode("opensm")
                service.wait_alarm("sync.mismatch", seconds=20)
                service.wait_alarm("opensm.absent", seconds=20)
                assert tables_of_switches(sim) == before and not service.events("route.programmed"), "OpenSM wins"
                print("another engine:", service.live()["problem"])
            stop(manager)
    return 0


if __name__ == "__main__":
    sys.exit(main())
