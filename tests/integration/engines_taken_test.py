#!/usr/bin/env python3
"""railweaved in direct mode on an irregular fabric, with take_better_engine: the better engine is taken by itself. Told of levels first, while a job
runs that began before, on the tables that there were; then its tables come. railweaved is killed once it was decided, while it waits, amid the
change and after it: each start goes on from there. Tables are read from switches all the time, by another program: no pair is ever lost and no
packet goes round. Then a cable fails, and the setting is taken back: the tables from before are there again, walked in the same way.

engines_taken_test.py BIN_FOLDER RAW_SMP [SEED]       SEED: a fabric that another engine suits better, as 4 and 9; exit code 77: skipped, and why
"""
import json
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from engines_test import as_told, compared, fullest, goes_round, is_level_0, needs_lanes, run, walked  # noqa: E402
from held_tables import Cabling, Watch  # noqa: E402
from ibsim import Ibsim, missing  # noqa: E402
from irregular import irregular  # noqa: E402
from live import LiveService  # noqa: E402
from switch_walk import SwitchWalk  # noqa: E402

KEYS = "sweep_seconds = 2\nlook_seconds = 60\nrebalance_seconds = 1\nseveral_lanes = true\n"
TELL, TAKE = "compare_engines = true", "take_better_engine = true"


class Taken:
    def __init__(self, sim, probe, service, cabling):
        self.sim, self.probe, self.service, self.cabling = sim, probe, service, cabling
        self.moments, self.watch = 0, None

    def start_watch(self, seconds):
        self.watch = Watch(self.sim, self.probe, self.cabling, seconds)

    def end_watch(self, what):
        """No pair lost, and none that goes round, at any moment of the watch."""
        samples = self.watch.samples()
        for at, tables in self.watch.moments(samples):
            assert not goes_round(self.cabling, tables), f"{what}: packets go round in a circle"
            lost = self.cabling.lost(tables)[0]
            assert not lost, f"{what}: {len(lost)} pairs of leaf and end port are lost at {at}: {sorted(lost)[:5]}"
            self.moments += 1
        return samples

    def kill(self):
        self.service.signal(signal.SIGKILL)
        self.service.process.wait()
        self.service.restart()

    def engine(self):
        return self.service.get("/v1/subnets/default")["routeEngine"]

    def until_engine(self, there=True, seconds=60):
        until = time.monotonic() + seconds
        while bool(engine := self.engine()) != there:
            assert time.monotonic() < until, f"engine {engine}: {json.dumps(self.service.live())[:1500]}"
            time.sleep(0.02)
        return engine


def is_waiting(status):
    return status["phase"] == "synced" and status["lanes"]["used"] == 1 and "1 job started before" in status["lanes"]["problem"]


def has_lanes(status):
    return status["phase"] == "synced" and status["sync"]["blocksDiffering"] == 0 and status["lanes"]["used"] > 1


def only_told(service, sim):
    """(the better candidate, tables that switches hold)"""
    run(service, "fabric", "discover", "--accept", "--gpus-per-node", "1")
    run(service, "tenants", "set", "research")
    service.mode("direct")
    service.synced(40)
    engines, used = compared(service)
    [better] = [one for one in engines["candidates"] if one["better"]]
    service.wait_alarm("routes.betterEngine")
    time.sleep(3)
    assert service.get("/v1/subnets/default")["routeEngine"] is None and engines["notTaken"] == ""
    assert used["maxLinkLoadHosts"] == fullest(sim)
    return better, SwitchWalk(sim).tables


def take(taken, better, before, job, seed):
    service, sim = taken.service, taken.sim
    taken.start_watch(25)
    engine = taken.until_engine()
    taken.kill()  # decided, and nothing done yet
    assert engine["engine"] == better["engine"] and taken.engine() == engine, (engine, taken.engine())
    shown = service.cli("subnets", "show", "default").stdout  # which ends with a finding until it is connected
    assert f"{better['engine']} on at most" in shown, shown
    service.wait("waiting for the job", is_waiting, 40)
    taken.kill()
    service.wait("waiting for the job again", is_waiting, 40)
    taken.end_watch("waiting")
    assert SwitchWalk(sim).tables == before, "tables changed while a job from before runs"
    walked(sim, is_level_0, "senders from before")
    assert len(walked(sim, as_told(service), "senders that were told").levels) > 1, "no sender is told of levels"

    taken.start_watch(25)
    run(service, "jobs", "cancel", job)
    time.sleep(random.Random(seed).uniform(0, 1.5))
    taken.kill()
    service.wait("taken", has_lanes, 40)
    taken.kill()
    service.wait("the same after it", has_lanes, 40)
    samples = taken.end_watch("taken")
    walk = walked(sim, as_told(service), "taken")
    assert max(walk.loads().values()) == better["maxLinkLoadHosts"]
    tables = dict(walk.tables)
    assert needs_lanes(walk), "one lane would do: the test holds little"
    wrote = len(service.events("route.programmed"))
    service.restart()
    service.wait("the same again", has_lanes, 40)
    assert SwitchWalk(sim).tables == tables and len(service.events("route.programmed")) == wrote, "a restart wrote tables"
    assert len(samples) > 20


def cut_and_give_up(taken, before, netlist):
    service, sim, cabling = taken.service, taken.sim, taken.cabling
    end = min(cabling.peer)
    for word, down in (("Unlink", 1), ("ReLink", 0)):
        sim.console(f'{word} "{cabling.console_name(end[0], netlist)}"[{end[1]}]')
        service.wait(word, lambda s, down=down: has_lanes(s) and s["linksDown"] == down, 40)
        walked(sim, as_told(service), word)
    taken.start_watch(15)
    service.__exit__()
    text = service.config.read_text()
    service.config.write_text(text.replace(TAKE, TELL))
    service.start()
    taken.until_engine(False)
    service.wait("given up", lambda s: s["phase"] == "synced" and s["lanes"]["used"] == 1, 40)
    samples = taken.watch.samples()
    for _, tables in taken.watch.moments(samples):
        assert not goes_round(cabling, tables), "packets go round in a circle"
    service.synced(40)
    assert SwitchWalk(sim).tables == before, "others than before it was taken"
    walked(sim, is_level_0, "given up")
    texts = [event["summary"] for event in service.events("route.rebalanced")]
    assert len(texts) == 2 and "are computed by" in texts[0] and "the settings do not ask for it" in texts[1], texts


def main():
    binaries, probe = Path(sys.argv[1]).resolve(), str(Path(sys.argv[2]).resolve())
    if lacking := missing():
        print(f"skipped: {lacking}")
        return 77
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 4
    with tempfile.TemporaryDirectory(prefix="railweave-engines-taken-") as folder:
        folder = Path(folder)
        netlist = irregular(folder / "graph.net", seed, switches=14, degree=4, hosts=3)
        with Ibsim(netlist) as sim:
            service = LiveService(sim, binaries, folder, "default", KEYS + TELL)
            with service:
                better, before = only_told(service, sim)
                job = json.loads(run(service, "jobs", "submit", "--tenant", "research", "--dp", "4", "-o", "json"))["id"]
            service.config.write_text(service.config.read_text().replace(TELL, TAKE))
            with service:
                taken = Taken(sim, probe, service, Cabling(sim))
                take(taken, better, before, job, seed)
                cut_and_give_up(taken, before, netlist)
                print(f"{better['engine']} on {better['lanes']} lanes was taken by itself; {taken.moments} moments, in none of which a pair was lost")
    return 0


if __name__ == "__main__":
    sys.exit(main())
