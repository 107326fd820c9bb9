#!/usr/bin/env python3
"""Two railweaved on one database and one simulated subnet, in direct mode, on a tree of three tiers. The leader is killed (SIGKILL) amid cut cables,
before, between and after its repairs; the other one takes the subnet over. Tables are read from switches all the time by another program: after
the last cut no pair is lost any more that had a way, no tables of any moment can deadlock, and in the end all is whole. A leader that is killed
while nothing else happens leaves tables that its successor does not write, routes that were spread again among them. An OpenSM that waits beside
them stays a standby. Clients are told to ask again: groups and subscriptions are there again once they have, at the successor's LID.

take_over_test.py BIN_FOLDER RAW_SMP RMPP_KERNEL SA_CLIENT SA_SUBSCRIBER [SEED]       exit code 77: skipped, and why
"""
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from held_tables import Cabling, Watch  # noqa: E402
from ibsim import Ibsim, missing, stop  # noqa: E402
from live import LiveService, generate  # noqa: E402
from multicast_test import BROADCAST, KEY, Clients, members, wait_led  # noqa: E402
from postgres_server import server_of  # noqa: E402
from rebalance_test import SHAPE  # noqa: E402
from sa_query import SaQuery  # noqa: E402
from subscriptions_test import Subscriber  # noqa: E402
from switch_walk import SwitchWalk  # noqa: E402
from waiting import steady, until  # noqa: E402

ROUNDS, CUTS = 4, 3
LONGEST_KILL = 0.15  # seconds from the first cut: repairs take a few milliseconds each


class Pair:
    """Two services: the one that leads and the one that follows."""

    def __init__(self, sim, first, second):
        self.sim, self.leader, self.other = sim, first, second

    def kill(self):
        """SIGKILL to the leader. The other one is the leader then, once this returns."""
        self.leader.signal(signal.SIGKILL)
        self.leader.process.communicate()
        self.leader.process = None
        self.leader, self.other = self.other, self.leader

    def await_leader(self):
        until(f"{self.leader.config.name} does not lead", lambda: self.leader.request("GET", "/v1/leader")[1]["replica"]["leads"], 20)

    def settled(self, down, seconds=40):
        def is_settled(status):
            return status["phase"] == "synced" and status["sync"]["blocksDiffering"] == 0 and status["linksDown"] == down
        self.leader.wait(f"settled with {down} links down", is_settled, seconds)


class Trial:
    def __init__(self, sim, probe, pair, netlist, hosts, choice):
        self.sim, self.probe, self.pair, self.netlist, self.hosts, self.choice = sim, probe, pair, netlist, hosts, choice
        self.cabling = Cabling(sim, hosts[len(hosts) // 2])
        self.cut, self.moments, self.longest = [], 0, 0.0

    def watch(self, seconds, avoid):
        return Watch(self.sim, self.probe, self.cabling, seconds, avoid=avoid, host=self.hosts[len(self.hosts) // 2])

    def choose(self, count):
        """Cables that may fail without cutting a switch off."""
        chosen = []
        while len(chosen) < count:
            end = self.choice.choice(sorted(self.cabling.peer))
            dead = [*self.cut, *chosen, end]
            if end not in self.cabling.both_ends(dead[:-1]) and len(self.cabling.routes(dead)) == len(self.cabling.switch_lid):
                chosen.append(end)
        return chosen

    def _switch(self, word, end):
        self.sim.console(f'{word} "{self.cabling.console_name(end[0], self.netlist)}"[{end[1]}]')

    def amid_cuts(self, turn):
        """The leader is killed at some moment around several cuts."""
        now = self.choose(CUTS)
        watch = self.watch(12, [*self.cut, *now])
        time.sleep(1)
        acts = sorted([(self.choice.uniform(0, LONGEST_KILL), self.pair.kill)] +
                      [(self.choice.uniform(0, LONGEST_KILL), lambda end=end: self._switch("Unlink", end)) for end in now], key=lambda act: act[0])
        began = time.monotonic()
        for at, act in acts:
            time.sleep(max(0.0, began + at - time.monotonic()))
            act()
        self.sim.settle()
        ended = time.monotonic()
        self.cut += now
        self.pair.await_leader()
        self.pair.settled(len(self.cut))
        self.judge(watch, began, ended, turn)
        self.pair.other.start()

    def judge(self, watch, began, ended, turn):
        """No pair that is whole is lost again after the last cut, and none for another reason before."""
        lost, whole_at = None, None
        for at, tables in watch.moments(watch.samples()):
            self.moments += 1
            assert not self.cabling.circle(tables, self.cut), f"round {turn}: tables of one moment can deadlock"
            if at < began:
                assert not self.cabling.lost(tables, self.cut[:-CUTS])[0], f"round {turn}: pairs lost before anything failed"
            if at <= ended:
                continue
            now = self.cabling.lost(tables, self.cut)[0]
            assert lost is None or not now - lost, f"round {turn}: {len(now - lost)} pairs were lost by it, as {sorted(now - lost)[:5]}"
            lost = now
            whole_at = whole_at or (None if now else at)
        assert lost == set(), f"round {turn}: {len(lost)} pairs are lost in the end"
        self.longest = max(self.longest, whole_at - ended)

    def while_quiet(self):
        """Killed while nothing else happens: not an entry is changed, and none written."""
        held = steady("spreading routes", lambda: SwitchWalk(self.sim).tables, 60, every=1, times=5)
        wrote = len(self.pair.leader.events("route.programmed"))
        watch = self.watch(9, self.cut)
        time.sleep(0.5)
        self.pair.kill()
        self.pair.await_leader()
        self.pair.settled(len(self.cut))
        samples = watch.samples()
        assert all(tables == samples[0][1] for _, tables in samples), "tables changed though nothing had"
        assert SwitchWalk(self.sim).tables == held
        assert len(self.pair.leader.events("route.programmed")) == wrote, "a successor wrote tables that were right"
        self.pair.other.start()


def put_back(trial):
    """All cables, with a take-over amid them."""
    ends, trial.cut = trial.cut, []
    watch = trial.watch(12, ends)
    time.sleep(0.5)
    for k, end in enumerate(ends):
        trial._switch("ReLink", end)
        if k == len(ends) // 2:
            trial.pair.kill()
    trial.sim.settle()
    trial.pair.await_leader()
    trial.pair.settled(0)
    for _, tables in watch.moments(watch.samples()):
        trial.moments += 1
        assert not trial.cabling.circle(tables), "tables of one moment can deadlock"
        assert not trial.cabling.lost(tables)[0], "pairs are lost while cables come back"
    trial.pair.other.start()


def manager_lid(sim, host):
    """Of whom this host's port asks."""
    return int(re.search(r"SMLid:\.*(\d+)", sim.run(["smpquery", "-D", "portinfo", "0"], host=host).stdout)[1])


def clients_again(trial, programs, guids):
    """Members and subscribers before a take-over, told to ask again, and after it. An OpenSM waits beside."""
    sim, pair, hosts = trial.sim, trial.pair, trial.hosts
    kernel, client, subscriber = programs
    walk = SwitchWalk(sim)
    sa = SaQuery(sim, kernel, hosts[3], KEY)
    sa.wait()
    clients = Clients(sim, client, hosts, guids)
    chosen = [1, 5, 20, 40]
    joined = [guids[host] for host in chosen]
    for host in chosen:
        clients.do(host, "join", BROADCAST, "1")
    wait_led(sim, walk, {0xC000: joined})
    before = manager_lid(sim, hosts[7])
    held = walk.tables
    folder = Path(sim.folder.name)
    (folder / "osm.conf").write_text("sminfo_polling_timeout 500\npolling_retry_number 20\n")
    opensm = sim.open(["opensm", "-F", str(folder / "osm.conf"), "-p", "0", "-f", str(folder / "osm.log"), "-D", "0x43"], seconds=120, host=hosts[30],
                      env={"OSM_CACHE_DIR": str(folder), "OSM_TMP_DIR": str(folder)}) if shutil.which("opensm") else None
    try:
        with Subscriber(sim, subscriber, hosts[9], "subscribe", "128", "listen", "60") as one:
            one.wait("subscribe 128 status 0x0")
            if opensm:
                until("OpenSM is no standby", lambda: "Entering STANDBY state" in (folder / "osm.log").read_text(), 20)
            pair.kill()
            pair.await_leader()
            pair.settled(0)
        sa.wait()
        after = manager_lid(sim, hosts[7])
        assert after != before and after == walk.lids[int(pair.leader.host.partition("-")[2], 16)], (before, after)
        assert members(sa) == {0xC000: set()}, members(sa)
        with Subscriber(sim, subscriber, hosts[9], "subscribe", "128", "listen", "60") as one:
            one.wait("subscribe 128 status 0x0")
            for host in reversed(chosen):
                clients.do(host, "join", BROADCAST, "1")
            wait_led(sim, walk, {0xC000: joined})
            end = trial.choose(1)[0]
            for word, down in (("Unlink", 1), ("ReLink", 0)):
                trial._switch(word, end)
                pair.settled(down)
            one.wait("report 128", 2)
        assert SwitchWalk(sim).tables == held, "other tables than before"
        if opensm:
            said = (folder / "osm.log").read_text()
            assert "SUBNET UP" not in said and "Entering MASTER state" not in said, said[-3000:]
    finally:
        if opensm:
            stop(opensm)
    pair.other.start()


def main():
    binaries, probe, *programs = [Path(word).resolve() for word in sys.argv[1:6]]
    if lacking := missing():
        print(f"skipped: {lacking}")
        return 77
    seed = int(sys.argv[6]) if len(sys.argv) > 6 else 1
    with tempfile.TemporaryDirectory(prefix="railweave-take-over-") as folder, server_of() as server:
        folder = Path(folder)
        _, netlist, subnet = generate(binaries / "railweave", SHAPE, folder)
        hosts = re.findall(r'^(?:Ca|Hca)\s+\d+\s+"([^"]+)"', Path(netlist).read_text(encoding="utf-8"), re.MULTILINE)
        key_file = folder / "sa.key"
        key_file.write_text(KEY + "\n")
        key_file.chmod(0o600)
        keys = f'sweep_seconds = 2\nlook_seconds = 60\nrebalance_seconds = 1\ndamping = false\nadministration_key_file = "{key_file}"'
        with Ibsim(netlist, host=hosts[2]) as sim:
            options = {"keys": keys, "store": server.url + "postgres", "seconds": 600}
            first = LiveService(sim, binaries, folder, subnet, **options, replica="first", host=hosts[0])
            second = LiveService(sim, binaries, folder, subnet, **options, replica="second", host=hosts[-1])
            with first, second:
                done = first.cli("fabric", "discover", "--accept", "--gpus-per-node", "1")
                assert done.returncode == 0, done.stdout + done.stderr
                first.mode("direct")
                first.synced(60)
                trial = Trial(sim, str(probe), Pair(sim, first, second), netlist, hosts, random.Random(seed))
                whole = SwitchWalk(sim).tables
                for turn in range(ROUNDS):
                    trial.amid_cuts(turn)
                trial.while_quiet()
                put_back(trial)
                trial.while_quiet()
                spread = len(second.events("route.rebalanced"))
                assert spread or SwitchWalk(sim).tables == whole, "with all cables back others than at first"
                clients_again(trial, [str(program) for program in programs], [int(host.partition("-")[2], 16) for host in hosts])
                print(f"seed {seed}: {ROUNDS + 4} take-overs, {ROUNDS * CUTS} cuts, routes spread again {spread} times, {trial.moments} moments; "
                      f"at most {trial.longest:.1f} s from the last cut until all pairs were whole")
    return 0


if __name__ == "__main__":
    sys.exit(main())
