#!/usr/bin/env python3
"""railweaved in direct mode with follow_jobs on a fat tree: jobs whose flows meet on links while other links are empty get routes that keep them
apart. Tables are read from the switches by other programs and walked here: flows of jobs on the fullest link before and after, the paths of a
job with a guarantee, every pair at every moment of the change, after a restart and a cut, and after the jobs have ended.

follow_jobs_test.py BIN_FOLDER RAW_SMP [SEED]       exit code 77: skipped, and why
"""
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from held_tables import Cabling, Watch  # noqa: E402
from ibsim import Ibsim, missing  # noqa: E402
from live import LiveService, generate  # noqa: E402
from switch_walk import SwitchWalk  # noqa: E402

LEAVES, HOSTS = 4, 4
SHAPE = ["fat-tree", "--tiers", "2", "--radix", "8", "--hosts", str(LEAVES * HOSTS), "--gpus-per-host", "1", "--nics-per-host", "1", "--nvlink-domain", "1"]
KEYS = "sweep_seconds = 2\nlook_seconds = 60\nrebalance_seconds = 2\nfollow_jobs = true"


class Jobs:
    """Of two hosts each, which send to each other all the time."""

    def __init__(self, service, walk):
        self.service, self.pairs = service, []
        self.guid = {walk.names[guid].split()[0]: guid for guid in walk.ends}
        self.leaf = {name: walk.ends[guid][0] for name, guid in self.guid.items()}

    def submit(self, pair, *words, tenant="research"):
        done = self.service.cli("jobs", "submit", "--tenant", tenant, "--dp", "2", "--traffic", "data=8e9", "--only", pair[0], "--only", pair[1], "-o", "json", *words)
        assert done.returncode == 0, done.stdout + done.stderr
        self.pairs.append(pair)
        return json.loads(done.stdout)["id"]

    def flows(self):
        return [flow for a, b in self.pairs for flow in ((a, b), (b, a))]

    def loads(self, walk, flows=None):
        """Flows on each link between switches; all of them arrive."""
        load = Counter()
        for source, target in self.flows() if flows is None else flows:
            hops, arrived = walk.path(self.guid[source], self.guid[target])
            assert arrived, (source, target, hops)
            load.update(hops[:-1])
        return load

    def matching(self, walk, choice):
        """Every host in one pair over two leaves, so that flows meet on a link."""
        while True:
            names = sorted(self.guid)
            choice.shuffle(names)
            pairs = list(zip(names[::2], names[1::2]))
            flows = [flow for a, b in pairs for flow in ((a, b), (b, a))]
            if all(self.leaf[a] != self.leaf[b] for a, b in pairs) and max(self.loads(walk, flows).values()) >= 3:
                return pairs


def followed(service, jobs, sim, met, after, seconds=60):
    """The last event, once flows of the jobs meet on fewer links by what switches hold; it may have come in steps, as the jobs did."""
    until = time.monotonic() + seconds
    while max(jobs.loads(SwitchWalk(sim)).values()) >= met:
        assert time.monotonic() < until, f"routes do not follow:\n{service.__exit__()}{service.log[-3000:]}"
        time.sleep(0.5)
    service.synced(30)
    return [event["data"] for event in service.events("route.rebalanced") if event["seq"] > after and event["data"].get("jobs")][-1]


def settled(service, sim, seconds=60):
    """What switches hold once nothing has changed for a while: what was decided for jobs that have ended is still written."""
    until, walk, since = time.monotonic() + seconds, SwitchWalk(sim), time.monotonic()
    while time.monotonic() - since < 5:
        assert time.monotonic() < until, "tables go on changing"
        time.sleep(0.5)
        now = SwitchWalk(sim)
        if now.tables != walk.tables:
            since = time.monotonic()
        walk = now
    service.synced(30)
    return walk


def last_event(service):
    return max(event["seq"] for event in service.events())


def main():
    binaries, probe = Path(sys.argv[1]).resolve(), str(Path(sys.argv[2]).resolve())
    if lacking := missing():
        print(f"skipped: {lacking}")
        return 77
    choice = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    with tempfile.TemporaryDirectory(prefix="railweave-follow-") as folder:
        _, netlist, subnet = generate(binaries / "railweave", SHAPE, folder)
        with Ibsim(netlist) as sim, LiveService(sim, binaries, folder, subnet, KEYS) as service:
            done = service.cli("fabric", "discover", "--accept", "--gpus-per-node", "1")
            assert done.returncode == 0, done.stdout + done.stderr
            for words in (["tenants", "set", "research"], ["tenants", "set", "patient"], ["contracts", "set", "patient", "--guaranteed", "1", "--max", "2"]):
                done = service.cli(*words)
                assert done.returncode == 0, done.stdout + done.stderr
            service.mode("direct")
            service.synced(60)
            walk, cabling = SwitchWalk(sim), Cabling(sim)
            jobs = Jobs(service, walk)
            pairs = jobs.matching(walk, choice)
            # The first has a guarantee and its paths.
            before = last_event(service)
            ids = [jobs.submit(pairs[0], "--bandwidth", "guaranteedGbpsPerPort=1", tenant="patient")]
            kept = jobs.loads(walk)
            ids += [jobs.submit(pair) for pair in pairs[1:]]
            met = max(jobs.loads(walk).values())
            watch = Watch(sim, probe, cabling, 12)
            told = followed(service, jobs, sim, met, before)
            samples = watch.samples()
            for _, tables in watch.moments(samples):
                assert not cabling.circle(tables), "tables of one moment can deadlock"
                assert not cabling.lost(tables)[0], "a pair was lost by it"
            walk.read(sim)
            meet = max(jobs.loads(walk).values())
            print(f"{len(pairs)} jobs, flows on the fullest link: {met}, then {meet} with {len(told['hops'])} next hops; asked "
                  f"{told['askedPermilleBefore']} and {told['askedPermille']} permille; {len(samples)} moments")
            assert meet < met and told["askedPermille"] <= told["askedPermilleBefore"] and 1 < told["jobs"] <= len(pairs)
            a, b = pairs[0]
            assert jobs.loads(walk, [(a, b), (b, a)]) == kept, "a job with a guarantee keeps its paths"
            for hop in told["hops"]:
                [guid] = [guid for guid, name in walk.names.items() if name == hop["switch"]]
                target = int(hop["to"].split("/")[0].removeprefix("0x"), 16)
                lid = next(lid for adapter, lid in walk.lids.items() if target in (adapter, adapter + 1))
                assert walk.tables[guid][lid] == hop["port"], hop
            shown = service.cli("subnets", "show", subnet)
            assert f"{len(told['hops'])} next hops chosen for jobs" in shown.stdout, shown.stdout + shown.stderr
            held = walk.tables
            service.restart()
            service.synced(60)
            assert walk.read(sim).tables == held, "a restart makes the same tables"
            # A cut on a link that jobs use: repaired, and every flow arrives.
            end = sorted(jobs.loads(walk))[0]
            sim.console(f'Unlink "{cabling.console_name(f"{end[0]:016x}", netlist)}"[{end[1]}]')
            service.wait("repaired", lambda s: s["phase"] == "synced" and s["linksDown"] == 1, 30)
            jobs.loads(SwitchWalk(sim))
            # Other jobs, other routes; in another mode none.
            for job in ids:
                done = service.cli("jobs", "complete", job)
                assert done.returncode == 0, done.stdout + done.stderr
            jobs.pairs, walk = [], settled(service, sim)
            before = last_event(service)
            for pair in jobs.matching(walk, choice):
                jobs.submit(pair)
            met = max(jobs.loads(walk).values())
            followed(service, jobs, sim, met, before)
            print(f"other jobs, with a cable out: {met}, then {max(jobs.loads(walk.read(sim)).values())}")
            service.mode("observe")
            assert not service.events("route.rebalanced")[-1]["data"].get("hops"), "they end with direct mode"
    return 0


if __name__ == "__main__":
    sys.exit(main())
