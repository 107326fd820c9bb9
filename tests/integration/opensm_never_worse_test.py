#!/usr/bin/env python3
"""railweaved beside a real OpenSM with the plugin is never worse than that OpenSM alone: on trees and on fabrics that are no
trees one cable goes out; the tables of all switches are read from them by another program every few milliseconds and walked
here. Pairs that the cut did not break stay whole, those that it broke are back no later, and in the end every entry, those of
switches' own LIDs among them, is the one that OpenSM alone leaves.

opensm_never_worse_test.py PLUGIN BIN_FOLDER RAW_SMP [SHAPE]    exit code 77: skipped, and why. PLUGIN may be "": not built
"""
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from held_tables import Cabling, Watch  # noqa: E402
from ibsim import Ibsim, missing  # noqa: E402
from irregular import irregular  # noqa: E402
from live import LiveService, generate  # noqa: E402
from opensm_plugin_test import OpenSm, hosts_of  # noqa: E402
from waiting import steady  # noqa: E402

HOSTS = ["--nics-per-host", "1", "--gpus-per-host", "1", "--speed", "HDR"]
SHAPES = {
    "tree": ["fat-tree", "--hosts", "64", "--radix", "16", *HOSTS],
    "torus": ["torus", "--x", "4", "--y", "4", "--z", "1", "--hosts-per-switch", "2", *HOSTS],
    "dragonfly": ["dragonfly", "--groups", "5", *HOSTS],
    "graph": None,
}
WATCHED = 9.0  # seconds; the cut comes after one of them
SLACK = 0.25   # seconds that one run may differ from another by chance


def outages(samples, cabling, cut, since):
    """By pair: how long it was lost after the cut at most, without a break; (end port pairs, switch LID pairs), and the last tables."""
    begun, longest = {}, {}
    for at, tables in samples:
        if at < since:
            continue
        pairs, switches = cabling.lost(tables, [cut])
        lost = {("end port", *pair) for pair in pairs} | {("switch LID", *pair) for pair in switches}
        for pair in lost:
            longest[pair] = max(longest.get(pair, 0), at - begun.setdefault(pair, at))
        for pair in set(begun) - lost:
            longest[pair] = max(longest[pair], at - begun.pop(pair))
    return longest, begun


def run(shape, netlist, binaries, plugin, probe, with_service):
    """What became of the pairs, the tables in the end, and which were broken by the cut itself."""
    with tempfile.TemporaryDirectory(prefix="railweave-beside-") as folder, Ibsim(netlist) as sim:
        own = Path(folder) / "opensm"
        own.mkdir()
        socket, service = f"{own}/policy.sock", None
        if with_service:
            service = LiveService(sim, binaries, folder, "default", f'sweep_seconds = 2\nlook_seconds = 4\nopensm_socket = "{socket}"').start()
        try:
            with OpenSm(sim, own, plugin, "qos TRUE", host=hosts_of(netlist)[-1]) as opensm:
                opensm.wait_for("SUBNET UP")
                if service:
                    done = service.cli("fabric", "discover", "--accept", "--gpus-per-node", "1")
                    assert done.returncode == 0, done.stdout + done.stderr
                    service.mode("opensm")
                    service.synced(40)
                steady("OpenSM's sweeps", lambda: opensm.said().count("SUBNET UP"), every=0.3, times=4)
                observer = hosts_of(netlist)[len(hosts_of(netlist)) // 2]
                cabling = Cabling(sim, observer)
                # Not a bridge, and not one that the observer's own routes need.
                cut = next(end for end in sorted(cabling.peer)[len(cabling.peer) // 3:] if len(cabling.routes([end])) == len(cabling.switch_lid))
                watch = Watch(sim, probe, cabling, WATCHED, avoid=[cut], host=observer)
                time.sleep(1)
                since = time.monotonic()
                before = service.live()["repairsTotal"] if service else 0
                sim.console(f'Unlink "{cabling.console_name(cut[0], netlist)}"[{cut[1]}]')
                samples = watch.samples()
                assert watch.unread < 10, f"{watch.unread} readings failed"
                first = next(tables for at, tables in samples if at >= since)
                broken = {("end port", *pair) for pair in cabling.lost(first, [cut])[0]} | {("switch LID", *pair) for pair in cabling.lost(first, [cut])[1]}
                longest, still = outages(samples, cabling, cut, since)
                if shape in ("tree", "graph"):  # on one lane
                    assert not cabling.circle(samples[-1][1], [cut]), "the tables in the end can deadlock"
                early = (service.live()["repairsTotal"] - before) if service else 0
                if service:
                    service.synced(30)
                    assert "sync.mismatch" not in service.alarms(), service.alarms()
                return {"longest": longest, "still": still, "broken": broken, "tables": samples[-1][1], "samples": len([1 for at, _ in samples if at >= since]),
                        "early": early}
        finally:
            if service:
                service.__exit__()


def check(shape, alone, beside):
    def worst(result, among):
        return max((seconds for pair, seconds in result["longest"].items() if among(pair)), default=0)

    for what in ("end port", "switch LID"):
        def whole(result):
            return worst(result, lambda pair: pair[0] == what and pair not in result["broken"])

        def broken(result):
            return worst(result, lambda pair: pair[0] == what and pair in result["broken"])

        print(f"{shape}: pairs with {what}s: not broken by the cut but lost for {whole(alone):.2f} s alone, {whole(beside):.2f} s beside; "
              f"broken for {broken(alone):.2f} s alone, {broken(beside):.2f} s beside ({alone['samples']} and {beside['samples']} readings)")
        assert whole(beside) <= whole(alone) + SLACK, "pairs that worked were lost"
        assert broken(beside) <= broken(alone) + SLACK, "pairs that the cut broke came back later"
    assert len(beside["still"]) <= len(alone["still"]), (sorted(beside["still"])[:5], len(alone["still"]))
    differing = [(switch, lid, alone["tables"].get(switch, {}).get(lid), table.get(lid)) for switch, table in beside["tables"].items()
                 for lid in set(table) | set(alone["tables"].get(switch, {})) if table.get(lid) != alone["tables"].get(switch, {}).get(lid)]
    assert not differing, f"entries in the end, (switch, LID, alone, beside): {differing[:6]} and {len(differing)} in all"


def main():
    plugin, binaries, probe = sys.argv[1], Path(sys.argv[2]).resolve(), str(Path(sys.argv[3]).resolve())
    lacking = missing() or next((tool for tool in ("opensm", "ibnetdiscover") if not shutil.which(tool)), None)
    if lacking or not plugin:
        print(f"skipped: {lacking or 'the OpenSM plugin is not built (libopensm-dev)'}")
        return 77
    for shape in sys.argv[4:] or SHAPES:
        with tempfile.TemporaryDirectory(prefix="railweave-never-worse-") as folder:
            if SHAPES.get(shape):
                netlist = generate(str(binaries / "railweave"), SHAPES[shape], folder)[1]
            elif shape == "graph":
                netlist = irregular(Path(folder) / "graph.net", seed=7)
            else:
                netlist = shape
            alone = run(shape, netlist, binaries, Path(plugin).resolve(), probe, False)
            beside = run(shape, netlist, binaries, Path(plugin).resolve(), probe, True)
            check(shape, alone, beside)
            print(f"{shape}: {beside['early']} repairs ahead of OpenSM; the tables in the end are those of OpenSM alone")
    return 0


if __name__ == "__main__":
    sys.exit(main())
