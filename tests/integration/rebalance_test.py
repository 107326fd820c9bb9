#!/usr/bin/env python3
"""railweaved in direct mode on a fat tree that loses cables: repaired at once, and when it is quiet routes are spread over what is left, in small
steps. The tables of all switches are read by another program all the while: no pair is lost by it, none of them can deadlock, and in the
end the fullest link is about as full as with tables made from nothing for what is left. A restart in between keeps that.

rebalance_test.py BIN_FOLDER RAW_SMP [SEED]       exit code 77: skipped, and why
"""
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from held_tables import Cabling, Watch  # noqa: E402
from ibsim import Ibsim, missing  # noqa: E402
from live import LiveService, generate  # noqa: E402
from switch_walk import SwitchWalk  # noqa: E402

CUTS = 5
SHAPE = ["fat-tree", "--tiers", "3", "--radix", "8", "--hosts", "96", "--gpus-per-host", "1", "--nics-per-host", "1", "--nvlink-domain", "1"]


def fresh(binaries, sim, folder):
    """Pairs on the fullest link with tables that are made from nothing, for what ibnetdiscover finds now."""
    dump = Path(folder) / "now.txt"
    dump.write_text(sim.run(["ibnetdiscover"]).stdout)
    said = subprocess.run([binaries / "railweave", "lab", "route", str(dump)], capture_output=True, text=True, timeout=60)
    return int(re.search(r"Fullest link: +(\d+) pairs", said.stdout)[1])


def fullest(sim):
    return max(SwitchWalk(sim).loads().values())


def main():
    binaries, probe = Path(sys.argv[1]).resolve(), str(Path(sys.argv[2]).resolve())
    if lacking := missing():
        print(f"skipped: {lacking}")
        return 77
    choice = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    with tempfile.TemporaryDirectory(prefix="railweave-rebalance-") as folder:
        _, netlist, subnet = generate(binaries / "railweave", SHAPE, folder)
        keys = "sweep_seconds = 2\nlook_seconds = 60\nrebalance_seconds = 4"
        with Ibsim(netlist) as sim, LiveService(sim, binaries, folder, subnet, keys) as service:
            # As it is found: links of ibsim are slower than those of the generated file, and slow links have costs.
            done = service.cli("fabric", "discover", "--accept", "--gpus-per-node", "1")
            assert done.returncode == 0, done.stdout + done.stderr
            service.mode("direct")
            service.synced(60)
            whole, cabling, cut = fullest(sim), Cabling(sim), []
            while len(cut) < CUTS:
                end = choice.choice(sorted(cabling.peer))
                if end in cabling.both_ends(cut) or len(cabling.routes([*cut, end])) != len(cabling.switch_lid):
                    continue
                sim.console(f'Unlink "{cabling.console_name(end[0], netlist)}"[{end[1]}]')
                cut.append(end)
            service.wait("repaired", lambda s: s["phase"] == "synced" and s["linksDown"] == CUTS, 30)
            repaired, wanted = fullest(sim), fresh(binaries, sim, folder)
            if repaired <= 1.05 * wanted:
                print(f"{repaired} pairs on the fullest link after {CUTS} cuts, {wanted} from nothing: there is nothing to be done")
                return 0
            watch = Watch(sim, probe, cabling, 12, avoid=cut)
            told = []
            until = time.monotonic() + 60
            while not told and time.monotonic() < until:
                told = service.events("route.rebalanced")
                time.sleep(0.1)
            assert told, f"no step was taken:\n{service.__exit__()}{service.log[-3000:]}"
            samples = watch.samples()
            for _, tables in watch.moments(samples):
                assert not cabling.circle(tables, cut), "tables of one moment can deadlock"
                assert not cabling.lost(tables, cut)[0], "a pair was lost by it"
            service.synced(30)
            balanced = fullest(sim)
            print(f"fullest link in host pairs: {whole} whole, {repaired} repaired after {CUTS} cuts, {balanced} spread again, {wanted} from nothing; "
                  f"{len(samples)} moments")
            assert balanced <= 1.05 * wanted + 1 and balanced < repaired
            service.restart()
            service.synced(60)
            assert fullest(sim) == balanced, "a restart makes the same tables"
    return 0


if __name__ == "__main__":
    sys.exit(main())
