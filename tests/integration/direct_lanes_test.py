#!/usr/bin/env python3
"""railweaved in direct mode, alone, on fabrics whose routes need several virtual lanes. What switches hold, forwarding tables and SL to VL, is
read by infiniband-diags and walked here lane by lane: every pair arrives, and no packets can wait for each other in a circle, with the
service levels that the service says paths have. So it is after a cable was cut, and after a restart, which changes nothing; and with
all packets on one lane there would be a circle, so that the walk can fail.

direct_lanes_test.py BIN_FOLDER torus|torus_3d|dragonfly|one_lane       exit code 77: skipped, and why
"""
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import Ibsim, missing  # noqa: E402
from lane_walk import LaneWalk  # noqa: E402
from live import LiveService, generate  # noqa: E402

HOST = ["--gpus-per-host", "1", "--nics-per-host", "1", "--nvlink-domain", "1"]
SHAPES = {
    "torus": (["torus", "--x", "4", "--y", "4", "--z", "1", "--hosts-per-switch", "2", *HOST], 2),
    "torus_3d": (["torus", "--x", "4", "--y", "3", "--z", "2", *HOST], 2),
    "dragonfly": (["dragonfly", "--switches-per-group", "3", "--hosts-per-switch", "1", "--global-links", "1", *HOST], 2),
}
KEYS = "sweep_seconds = 2\nlook_seconds = 5"
LANES = KEYS + "\nseveral_lanes = true"




class Levels:
    """The service level of each path between two adapters, as the service says it to senders."""

    def __init__(self, service, lids):
        self.service, self.lids = service, lids

    def __call__(self, source, target):
        path = f"/v1/routes/path?from=lid:{self.lids[source]}&to=lid:{self.lids[target]}"
        paths = self.service.get(path)["paths"]
        assert len(paths) == 1 and paths[0]["outcome"] == "arrived", paths
        return paths[0]["serviceLevel"]


def walked(sim, service, what):
    """The walk, which must be whole and free of circles."""
    walk = LaneWalk(sim)
    walk.add_all(Levels(service, walk.lids))
    assert not walk.lost, f"{what}: {len(walk.lost)} pairs do not arrive"
    circle = walk.circle()
    assert not circle, f"{what}: packets wait for each other on {len(circle)} lanes of links, as {circle[:4]}"
    return walk


def needs_lanes(whole):
    """That the same routes could deadlock on one lane."""
    whole.start_over()
    whole.maps = {ports: [0] * 16 for ports in whole.maps}
    whole.add_all(lambda source, target: 0)
    return bool(whole.circle())


def end_between_switches(walk):
    """(switch GUID, port) of a cable between switches."""
    return min(end for end, peer in walk.cables.items() if peer[0] not in walk.ends)


def accept(service):
    done = service.cli("fabric", "discover", "--accept", "--gpus-per-node", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    service.mode("direct")


def metrics(service):
    with urllib.request.urlopen(service.url + "/metrics") as page:
        return page.read().decode()


def several(binaries, folder, name):
    shape, lanes = SHAPES[name]
    _, netlist, subnet = generate(binaries / "railweave", shape, folder)
    with Ibsim(netlist) as sim, LiveService(sim, binaries, folder, subnet, LANES) as service:
        began = time.monotonic()
        accept(service)
        status = service.wait("synced on lanes", lambda s: s["phase"] == "synced" and s["lanes"]["used"] > 1, 60)
        took = time.monotonic() - began
        assert status["lanes"] == {"used": lanes, "needed": lanes, "problem": "", "oldLevels": None}, status["lanes"]
        walk = walked(sim, service, "brought up")
        assert len(walk.lanes) == lanes, f"packets are on lanes {walk.lanes}, not on {lanes}"
        levels = len(walk.levels)
        assert needs_lanes(walk), "one lane would do: the test holds nothing"
        assert not service.alarms() & {"routes.onOneLane", "routes.needLanes", "routes.unsound"}, service.alarms()

        # A cut.
        end, before = end_between_switches(walk), status["repairsTotal"]
        sim.console(f'Unlink "{walk.console_name(end[0], netlist)}"[{end[1]}]')
        status = service.wait("repaired", lambda s: s["phase"] == "synced" and s["linksDown"] == 1 and s["repairsTotal"] > before, 30)
        repair = status["repairs"][0]  # the latest
        walked(sim, service, "repaired")
        old = status["lanes"]["oldLevels"]
        assert (old["outcome"], old["loopLanes"]) == ("kept", 0), old
        assert repair["at"] >= old["auditedAt"] > status["repairs"][-1]["at"], f"{old} before the repair of {repair}"
        assert f"railweave_subnet_old_levels_loop_lanes{{subnet=\"{subnet}\"}} 0\n" in metrics(service)
        shown = service.cli("subnets", "show", subnet).stdout
        assert "Old levels" in shown and old["text"] in shown, shown

        # A switch that comes back without its maps is given them before packets pass it again.
        sim.console(f'ReLink "{walk.console_name(end[0], netlist)}"[{end[1]}]')
        service.wait("joined", lambda s: s["phase"] == "synced" and s["linksDown"] == 0, 30)
        maps = walked(sim, service, "joined").maps

        # A restart finds everything as it is to be.
        repairs = len(service.events("routes.programmed"))
        service.restart()
        service.wait("synced again", lambda s: s["phase"] == "synced" and s["lanes"]["used"] == lanes, 60)
        assert walked(sim, service, "restarted").maps == maps
        assert len(service.events("routes.programmed")) == repairs, "a restart wrote tables"
        # After the cut and after its end: the log of the first run says what the walk above has found.
        kept = service.log.count("levels: paths keep their service levels, which passed the audit on the new tables")
        assert kept >= 2, f"{kept} reports of levels in:\n{service.log[-3000:]}"
        first = status["repairs"][-1]
        print(f"{name}: {len(walk.ends)} adapters, {len(walk.tables)} switches, {lanes} lanes, {levels} levels: accepted to synced in {took:.1f} s, "
              f"of that {first['programmedUs'] / 1000:.1f} ms with tables of ports; one cut: computed after {repair['computedUs'] / 1000:.1f} ms, "
              f"written after {repair['programmedUs'] / 1000:.1f} ms, {repair['blocks']} blocks, {repair['changedEntries']} entries")
    return 0


def one_lane(binaries, folder):
    """By default senders are not taken to use levels: all pairs, on one lane, and why."""
    _, netlist, subnet = generate(binaries / "railweave", SHAPES["torus"][0], folder)
    with Ibsim(netlist) as sim, LiveService(sim, binaries, folder, subnet, KEYS) as service:
        accept(service)
        status = service.wait("synced", lambda s: s["phase"] == "synced", 60)
        assert status["lanes"]["used"] == 1 and status["lanes"]["needed"] == 2, status["lanes"]
        assert "several_lanes is false" in status["lanes"]["problem"], status["lanes"]
        assert "routes.onOneLane" in service.alarms()
        walk = LaneWalk(sim)
        walk.add_all(lambda source, target: 0)
        assert not walk.lost and not walk.circle()
    return 0


def main():
    binaries, case = Path(sys.argv[1]).resolve(), sys.argv[2]
    if lacking := missing():
        print(f"skipped: {lacking}")
        return 77
    with tempfile.TemporaryDirectory(prefix="railweave-lanes-") as folder:
        folder = Path(folder)
        if case == "one_lane":
            return one_lane(binaries, folder)
        return several(binaries, folder, case)


if __name__ == "__main__":
    sys.exit(main())
