#!/usr/bin/env python3
"""railweaved in direct mode on an irregular fabric. With compare_engines what it says of the engine in use and of a better one is counted here on the
tables that switches hold. Taken by the settings that it names, the better one needs lanes: while a job runs that began before senders were told
of service levels, routes stay on one lane, free of circles with old levels and with new ones; then its tables come, and packets of no
moment go round in a circle. A restart makes the same tables, and so does one that finds a cable cut meanwhile.

engines_test.py BIN_FOLDER RAW_SMP [SEED]       SEED: a fabric that another engine suits better, as 4, 9 and 12; exit code 77: skipped, and why
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from held_tables import Cabling, Watch  # noqa: E402
from ibsim import Ibsim, missing  # noqa: E402
from irregular import irregular  # noqa: E402
from lane_walk import LaneWalk  # noqa: E402
from live import LiveService  # noqa: E402
from switch_walk import SwitchWalk  # noqa: E402

KEYS = "sweep_seconds = 2\nlook_seconds = 60\nrebalance_seconds = 1\ncompare_engines = true"


def run(service, *words):
    done = service.cli(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def compared(service):
    """(the comparison, the candidate in use)"""
    engines = service.wait("compared", lambda s: s["phase"] == "synced" and s["engines"], 60)["engines"]
    used = [one for one in engines["candidates"] if one["used"]]
    assert len(used) == 1 and engines["candidates"][0] == used[0], engines
    return engines, used[0]


def refused(binaries, folder, text, word):
    """--check-config says what is wrong."""
    (folder / "wrong.toml").write_text(text)
    done = subprocess.run([binaries / "railweaved", "--config", folder / "wrong.toml", "--check-config"], capture_output=True, text=True)
    assert done.returncode != 0 and word in done.stdout + done.stderr, done


def settings(binaries, folder):
    refused(binaries, folder, 'routing_engine = "layred"', "layered")
    refused(binaries, folder, "routing_lanes = 2", "routing_engine")
    refused(binaries, folder, 'routing_engine = "layered"\n[[subnet]]\nname = "a"\nopensm_socket = "/tmp/a.sock"', "plugin")


def walked(sim, level_of, what):
    """The walk, which must be whole and free of circles."""
    walk = LaneWalk(sim)
    walk.add_all(level_of(walk))
    assert not walk.lost, f"{what}: {len(walk.lost)} pairs do not arrive"
    assert not walk.circle(), f"{what}: packets wait for each other"
    return walk


def as_told(service):
    """The service level of each path, as the service says it now."""
    def level_of(_walk):
        def level(source, target):
            [path] = service.get(f"/v1/routes/path?from=0x{source:016x}/1&to=0x{target:016x}/1")["paths"]
            assert path["outcome"] == "arrived", path
            return path["serviceLevel"]
        return level
    return level_of


def is_level_0(_walk):
    return lambda source, target: 0


def fullest(sim):
    return max(SwitchWalk(sim).loads().values())


def needs_lanes(walk):
    """That the same tables could deadlock on level 0."""
    walk.start_over()
    walk.add_all(lambda source, target: 0)
    return bool(walk.circle())


def goes_round(cabling, tables):
    """Whether packets of some leaf to some LID never leave."""
    for lid, *_ in cabling.ends:
        for leaf in cabling.leaves:
            at = leaf
            for _ in range(len(cabling.switch_lid) + 1):
                at = cabling.peer.get((at, tables.get(at, {}).get(lid)), (None,))[0]
                if at is None:
                    break
            else:
                return True
    return False


def compare(service, sim):
    run(service, "fabric", "discover", "--accept", "--gpus-per-node", "1")
    run(service, "tenants", "set", "research")
    service.mode("direct")
    service.synced(40)
    engines, used = compared(service)
    before = fullest(sim)
    assert used["maxLinkLoadHosts"] == before, (used, before)
    [better] = [one for one in engines["candidates"] if one["better"]]
    assert better["maxLinkLoadHosts"] * 10 <= before * 9 and better["engine"] in engines["setting"], engines
    shown = run(service, "subnets", "show", "default")
    service.wait_alarm("routes.betterEngine")
    assert engines["setting"] in shown and f"  {better['maxLinkLoadHosts']}  " in shown, shown
    return engines, better


def wait_for_job(service, sim, netlist, cabling):
    """On one lane while the job runs, after a cut too."""
    def is_waiting(status):
        return status["phase"] == "synced" and status["lanes"]["used"] == 1 and "1 job started before" in status["lanes"]["problem"]
    status = service.wait("waiting for the job", is_waiting, 40)
    assert status["lanes"]["needed"] > 1 and "routes.onOneLane" in service.alarms(), status["lanes"]
    walked(sim, is_level_0, "senders from before")
    assert len(walked(sim, as_told(service), "senders that were told").levels) > 1, "no sender is told of levels"
    end = min(cabling.peer)
    sim.console(f'Unlink "{cabling.console_name(end[0], netlist)}"[{end[1]}]')
    service.wait("repaired", lambda s: is_waiting(s) and s["linksDown"] == 1, 30)
    walked(sim, is_level_0, "senders from before, after a cut")
    assert len(walked(sim, as_told(service), "senders that were told, after a cut").levels) > 1
    sim.console(f'ReLink "{cabling.console_name(end[0], netlist)}"[{end[1]}]')
    service.wait("joined", lambda s: is_waiting(s) and s["linksDown"] == 0, 30)
    return end


def main():
    binaries, probe = Path(sys.argv[1]).resolve(), str(Path(sys.argv[2]).resolve())
    if lacking := missing():
        print(f"skipped: {lacking}")
        return 77
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 4
    with tempfile.TemporaryDirectory(prefix="railweave-engines-") as folder:
        folder = Path(folder)
        settings(binaries, folder)
        netlist = irregular(folder / "graph.net", seed, switches=14, degree=4, hosts=3)
        with Ibsim(netlist) as sim:
            service = LiveService(sim, binaries, folder, "default", KEYS)
            with service:
                engines, better = compare(service, sim)
                used = engines["candidates"][0]["engine"]
                before = fullest(sim)
                job = json.loads(run(service, "jobs", "submit", "--tenant", "research", "--dp", "4", "-o", "json"))["id"]
            assert "engines compared" in service.log, service.log[-2000:]

            # As the comparison says, with lanes.
            top = engines["setting"].split(", and")[0].replace(", ", "\n")
            service.config.write_text(f"{top}\n{service.config.read_text()}\nseveral_lanes = true\n")
            with service:
                service.synced(40)
                cabling = Cabling(sim)
                end = wait_for_job(service, sim, netlist, cabling)
                watch = Watch(sim, probe, cabling, 20)
                run(service, "jobs", "cancel", job)
                status = service.wait("taken", lambda s: s["phase"] == "synced" and s["lanes"]["used"] > 1, 40)
                assert status["lanes"]["oldLevels"]["outcome"] == "kept", status["lanes"]
                samples = watch.samples()
                dropped = 0
                for _, tables in watch.moments(samples):
                    assert not goes_round(cabling, tables), "packets go round in a circle"
                    dropped = max(dropped, len(cabling.lost(tables)[0]))
                assert not cabling.lost(samples[-1][1])[0]
                walk = walked(sim, as_told(service), "taken")
                assert max(walk.loads().values()) == better["maxLinkLoadHosts"] < before
                assert needs_lanes(walk), "one lane would do: the test holds little"
                assert not service.alarms() & {"routes.onOneLane", "routes.levelsChanged", "routes.unsound"}, service.alarms()
                engines, taken = compared(service)
                assert taken["engine"] == better["engine"] and not engines["setting"], engines
                wrote = len(service.events("route.programmed"))
                service.restart()
                service.wait("the same again", lambda s: s["phase"] == "synced" and s["lanes"]["used"] > 1, 40)
                assert SwitchWalk(sim).tables == walk.tables and len(service.events("route.programmed")) == wrote, "a restart wrote tables"

                # Cut while no service looks, with a job that was told: its levels hold, and no other routes are needed meanwhile.
                run(service, "jobs", "submit", "--tenant", "research", "--dp", "4")
                service.__exit__()
                sim.console(f'Unlink "{cabling.console_name(end[0], netlist)}"[{end[1]}]')
                service.start()
                service.wait("repaired", lambda s: s["phase"] == "synced" and s["linksDown"] == 1 and s["lanes"]["used"] > 1, 40)
                walked(sim, as_told(service), "cut while no service looked")
                print(f"fullest link in host pairs: {before} by {used}, {better['maxLinkLoadHosts']} by {better['engine']} on "
                      f"{better['lanes']} lanes; {len(samples)} moments, in which up to {dropped} pairs of leaf and end port were dropped")
            assert "on one lane" not in service.log.split("senders their levels")[-1], service.log[-3000:]
    return 0


if __name__ == "__main__":
    sys.exit(main())
