#!/usr/bin/env python3
"""railweaved in direct mode on a torus, on two lanes. A cable that comes back can need routes that change in two steps with a packet's life between
them, in which packets on their way leave. A second cable that fails meanwhile is repaired at once, not after that time. Tables are read from
switches all the time by another program; at the end packets are walked lane by lane.

second_failure_test.py BIN_FOLDER RAW_SMP       exit code 77: skipped, and why
"""
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from direct_lanes_test import LANES, SHAPES, accept, walked  # noqa: E402
from held_tables import Cabling, Watch  # noqa: E402
from ibsim import Ibsim, missing  # noqa: E402
from live import LiveService, generate  # noqa: E402

PACKET_LIFE = 2.0  # seconds


class Torus:
    def __init__(self, sim, probe, service, netlist):
        self.sim, self.probe, self.service, self.netlist = sim, probe, service, netlist
        self.cabling = Cabling(sim)

    def switch(self, word, end):
        self.sim.console(f'{word} "{self.cabling.console_name(end[0], self.netlist)}"[{end[1]}]')

    def settled(self, down, seconds=30):
        return self.service.wait("settled", lambda s: s["phase"] == "synced" and s["sync"]["blocksDiffering"] == 0 and s["linksDown"] == down, seconds)

    def comes_back_slowly(self, end):
        """Whether the return of the cable needs two steps."""
        self.switch("Unlink", end)
        self.settled(1)
        self.switch("ReLink", end)
        return self.settled(0)["repairs"][0]["programmedUs"] > 0.75e6 * PACKET_LIFE

    def second_failure(self, first, second):
        """Seconds in which pairs were lost that cables join, once the second cable had failed while the first one came back."""
        self.switch("Unlink", first)
        self.settled(1)
        watch = Watch(self.sim, self.probe, self.cabling, 8, avoid=[first, second])
        time.sleep(1)
        self.switch("ReLink", first)
        time.sleep(0.5)
        at = time.monotonic()
        self.switch("Unlink", second)
        samples = watch.samples()
        self.settled(1)
        moments = watch.moments(samples)
        before = [tables for when, tables in moments if when <= at][-1]
        assert self.cabling.lost(before, dead=[second])[0], "the second cable carried nothing: the test holds nothing"
        after = [(when, tables) for when, tables in moments if when > at]
        whole = [when for when, tables in after if not self.cabling.lost(tables, dead=[second])[0]]
        assert whole, "never repaired"
        walked(self.sim, self.service, "after the second failure")
        self.switch("ReLink", second)
        self.settled(0)
        walked(self.sim, self.service, "both are back")
        return whole[0] - at


def main():
    binaries, probe = Path(sys.argv[1]).resolve(), str(Path(sys.argv[2]).resolve())
    if lacking := missing():
        print(f"skipped: {lacking}")
        return 77
    with tempfile.TemporaryDirectory(prefix="railweave-second-") as folder:
        folder = Path(folder)
        _, netlist, subnet = generate(binaries / "railweave", SHAPES["torus"][0], folder)
        with Ibsim(netlist) as sim, LiveService(sim, binaries, folder, subnet, LANES + "\nrebalance = false\ndamping = false") as service:
            accept(service)
            service.wait("synced on lanes", lambda s: s["phase"] == "synced" and s["lanes"]["used"] > 1, 60)
            walked(sim, service, "brought up")
            torus = Torus(sim, probe, service, netlist)
            cables = sorted({min(end, peer) for end, peer in torus.cabling.peer.items()})
            slow = next(end for end in cables if torus.comes_back_slowly(end))
            others = [end for end in cables if slow[0] not in (end[0], torus.cabling.peer[end][0])]
            lost = [torus.second_failure(slow, end) for end in others[:3]]
            print("repaired after " + ", ".join(f"{seconds * 1000:.0f} ms" for seconds in lost) + " while another cable came back")
            # One of them may need two steps itself; none waits for those of the other cable.
            assert sorted(lost)[1] < PACKET_LIFE / 4 and max(lost) < 1.25 * PACKET_LIFE, f"a repair waited for packets to leave: {lost}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
