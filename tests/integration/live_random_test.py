#!/usr/bin/env python3
"""Random acts on a simulated subnet, by seed: cables cut, joined and exchanged, datagrams lost, a service that is killed, in
any order and quickly after each other. When it is quiet, the cables that are there are read with ibnetdiscover and the tables
with dump_fts, and walked by hand: every pair arrives, or an alarm says which do not.

live_random_test.py BIN_FOLDER [SEED...]        exit code 77: skipped, and why
"""
import random
import shutil
import sys
import time
from pathlib import Path

from live_faults_test import Subnet, links_of, lost_by_hand

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import missing  # noqa: E402

SEEDS = (1, 2, 3)
ACTS = 14
MOST_CUT = 6
QUIET_SECONDS = 60


class Cabling:
    """What the test has done to the cables between switches. An end is (switch, port)."""

    def __init__(self, subnet, pick):
        self.sim, self.pick = subnet.sim, pick
        peers = {end: peer for end, peer in links_of(subnet.netlist).items() if peer[0].startswith("S-")}
        self.accepted = dict(peers)
        self.now = dict(peers)  # without those that are cut
        self.cut = []
        self.noisy = set()

    def unlink(self, end):
        self.sim.console(f'Unlink "{end[0]}"[{end[1]}]')
        peer = self.now.pop(end)
        del self.now[peer]
        return peer

    def link(self, end, peer):
        self.sim.console(f'Link "{end[0]}"[{end[1]}] "{peer[0]}"[{peer[1]}]')
        self.now[end], self.now[peer] = peer, end

    def cut_one(self):
        if len(self.cut) >= MOST_CUT:
            return self.join_one()
        end = self.pick.choice(sorted(self.now))
        self.cut.append((end, self.unlink(end)))
        return f"cut {end}"

    def join_one(self):
        if not self.cut:
            return self.cut_one()
        end, peer = self.cut.pop(self.pick.randrange(len(self.cut)))
        self.link(end, peer)
        return f"joined {end}"

    def exchange_two(self):
        one, other = self.pick.sample(sorted(end for end in self.now if end < self.now[end]), 2)
        far_one, far_other = self.unlink(one), self.unlink(other)
        self.link(one, far_other)
        self.link(other, far_one)
        return f"exchanged the far ends of {one} and {other}"

    def lose_datagrams(self):
        switch = self.pick.choice(sorted({switch for switch, _ in self.accepted}))
        self.sim.console(f'Error "{switch}" {self.pick.choice((3, 10, 100))}')
        self.noisy.add(switch)
        return f"{switch} loses datagrams"

    def answer_again(self):
        for switch in self.noisy:
            self.sim.console(f'Error "{switch}" 0')
        self.noisy.clear()
        return "all datagrams arrive"

    def others(self):
        """Ends whose cable leads elsewhere than accepted."""
        return sum(self.accepted[end] != peer for end, peer in self.now.items() if end < peer)


def run(binaries, seed):
    pick = random.Random(seed)
    with Subnet(binaries, "sweep_seconds = 1\nlook_seconds = 1") as subnet:
        cabling, service, told = Cabling(subnet, pick), subnet.service, []

        acts = [cabling.cut_one] * 5 + [cabling.join_one] * 4 + [cabling.exchange_two] * 3 + \
               [cabling.lose_datagrams] * 2 + [cabling.answer_again] * 2 + [lambda: service.restart() and "started again"]
        for _ in range(ACTS):
            told.append(pick.choice(acts)())
            time.sleep(pick.choice((0, 0.1, 0.5, 1.5)))
        cabling.answer_again()
        subnet.sim.settle()
        try:
            judge(subnet, cabling)
        except AssertionError as wrong:
            raise AssertionError(f"seed {seed}: {wrong}\n  " + "\n  ".join(told)) from wrong
        print(f"seed {seed}: {len(told)} acts, at the end {len(cabling.cut)} cables cut and {cabling.others()} elsewhere than accepted; "
              "every pair arrives", flush=True)


def judge(subnet, cabling):
    service, until = subnet.service, time.monotonic() + QUIET_SECONDS
    while True:
        found = Path(subnet.folder) / "found.net"
        found.write_text(subnet.sim.run(["ibnetdiscover"]).stdout)
        there = {end: peer for end, peer in links_of(found).items() if peer[0].startswith("S-")}
        status = service.live()
        lost = lost_by_hand(subnet.sim, found, []) if there == cabling.now else None
        named = any(alarm["severity"] == "critical" for alarm in service.get("/v1/alarms?limit=1000")["items"])
        if status["phase"] == "synced" and lost == 0 and status["linksDown"] <= len(cabling.cut) + cabling.others():
            break
        assert time.monotonic() < until, (f"after {QUIET_SECONDS} s the service says {status['phase']}, {status['linksDown']} down, "
                                          f"critical alarms: {named}; {lost} pairs lost on the cables that are there, "
                                          f"{len(cabling.cut)} cut, {len(there)} ends found of {len(cabling.now)}")
        time.sleep(1)
    # What it says of the cables is what was done to them.
    wrong = [one for one in status["differences"] if one["kind"] == "exchangedLink"]
    assert bool(cabling.others()) or not wrong, wrong


def main():
    binaries = Path(sys.argv[1]).resolve()
    lacking = missing() or next((tool for tool in ("dump_fts", "ibnetdiscover") if not shutil.which(tool)), None)
    if lacking:
        print(f"skipped: {lacking} is absent")
        return 77
    for seed in [int(word) for word in sys.argv[2:]] or SEEDS:
        run(binaries, seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
