#!/usr/bin/env python3
"""Classes and partitions on a simulated subnet, written by Railweave's driver and by a real OpenSM that reads the files
that Railweave offers: SL to VL, arbitration and partition keys of every port, as smpquery reads them, are the same.

qos_programming_test.py PROBE RAILWEAVE     exit code 77: skipped, and why

Intended differences of OpenSM are listed here and counted; nothing else may differ:
  * It fills the partition tables of switch ports that adapters are on with the adapter's keys (enforcement by the
    switch); Railweave does not write these tables.
  * It writes the order of keys in its own way behind index 0; keys are compared as sets.
  * It has no empty arbitration table: entries of weight 0 are no entries.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import Ibsim, missing, stop  # noqa: E402
from waiting import steady, until  # noqa: E402

SHAPE = ["fat-tree", "--radix", "8", "--hosts", "16", "--nics-per-host", "1", "--gpus-per-host", "4", "--speed", "EDR"]
CLASSES = 6


class Probe:
    def __init__(self, sim, probe, folder, native, subnet, files):
        self.client = sim.open([probe, f"{folder}/store.db", str(native), subnet, str(files)], seconds=280)
        assert self.client.stdout.readline() == "ready\n", self.client.communicate()[1]

    def ask(self, line):
        self.client.stdin.write(line + "\n")
        self.client.stdin.flush()
        said = self.client.stdout.readline()
        assert said, f"{line}: {self.client.communicate()[1]}"
        return said.strip()

    def status(self):
        said = self.ask("status").split(" ", 6)
        return dict(zip(("phase", "classes", "partitions", "programmed", "pending", "files", "problem"), said))

    def repairs(self):
        return int(self.ask("cut").split()[0])

    def wait(self, what, condition, seconds=60):
        """The first status for which the condition holds."""
        def matching():
            status = self.status()
            return status if condition(status) else None

        return until(lambda: f"{what}, status {self.status()}", matching, seconds)

    def programmed(self, what, ports):
        """All ports have what is wanted, and no write is pending."""
        return self.wait(what, lambda s: s["phase"] == "synced" and s["programmed"] == str(ports) and s["pending"] == "0")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        stop(self.client)


def cabled(sim):
    """[(name for people, LID, port, is a switch, GUID)] of every cabled port, by ibnetdiscover."""
    ports, at = [], None
    for line in sim.run(["ibnetdiscover"]).stdout.splitlines():
        if match := re.match(r'Switch\s+\d+ "S-([0-9a-f]{16})".* lid (\d+) lmc', line):
            at = match[1], int(match[2])
        elif match := re.match(r'Ca\s+\d+ "H-([0-9a-f]{16})"', line):
            at = match[1], None
        elif match := re.match(r'\[(\d+)\]\([0-9a-f]+\)\s+"S-.*# lid (\d+) lmc', line):
            ports.append((f"{at[0]}/{match[1]}", int(match[2]), int(match[1]), False, at[0]))
        elif match := re.match(r"\[(\d+)\]\s+\"", line):
            ports.append((f"{at[0]}/{match[1]}", at[1], int(match[1]), True, at[0]))
    return ports


def weights(text):
    """The tables as lists of (VL, weight) without entries of weight 0: [low, high]."""
    rows = [[int(number, 16) for number in re.findall(r"0x([0-9a-fA-F]+)", row)]
            for row in re.findall(r"^(?:VL    |WEIGHT):(.*)$", text, re.MULTILINE)]
    return [[pair for pair in zip(names, shares) if pair[1]] for names, shares in ((rows[0], rows[1]), (rows[2], rows[3]))]


def tables(sim, ports):
    """{port: (SL to VL by input port, arbitration, keys)} as smpquery reads them."""
    def read(place):
        name, lid, port, is_switch, _ = place
        texts = {}
        for table in ("sl2vl", "vlarb", "pkeys"):
            done = sim.run(["smpquery", table, str(lid), str(port)], seconds=30)
            assert done.returncode == 0, f"smpquery {table} {name}: {done.stdout}{done.stderr}"
            texts[table] = done.stdout
        maps = {int(inward): tuple(int(vl) for vl in re.findall(r"\d+", rest)) for inward, rest in
                re.findall(r"^ports: in\s+(\d+), out\s+\d+:(.*)$", texts["sl2vl"], re.MULTILINE)}
        keys = [int(key, 16) for row in re.findall(r"^\s*\d+:(.*)$", texts["pkeys"], re.MULTILINE) for key in re.findall(r"0x([0-9a-fA-F]{4})", row)]
        if is_switch:
            maps.pop(0, None)  # port 0 has no data lanes here
        return name, (maps, weights(texts["vlarb"]), [key for key in keys if key])

    with ThreadPoolExecutor(4) as pool:
        return dict(pool.map(read, ports))


def holders(keys, found):
    """{key: number of ports with full membership}."""
    return {key: sum(key | 0x8000 in held for _, _, held in found.values()) for key in keys}


def compare(ports, ours, theirs, manager, isolated):
    switch_keys = 0
    for name, _, _, is_switch, _ in ports:
        assert ours[name][0] == theirs[name][0], f"{name} SL to VL: {ours[name][0]}, OpenSM {theirs[name][0]}"
        assert ours[name][1] == theirs[name][1], f"{name} arbitration: {ours[name][1]}, OpenSM {theirs[name][1]}"
        if is_switch:
            switch_keys += set(ours[name][2]) != set(theirs[name][2])
            continue
        assert set(ours[name][2]) == set(theirs[name][2]), f"{name} keys: {ours[name][2]}, OpenSM {theirs[name][2]}"
        assert ours[name][2][0] & 0x7fff == theirs[name][2][0] & 0x7fff == 0x7fff, (name, ours[name][2], theirs[name][2])
        limited = isolated | 0x8000 in ours[name][2] and name != manager
        assert (0xffff in ours[name][2]) != limited, f"{name}: {ours[name][2]}, the manager is {manager}"
    lanes = {tables[0][next(iter(tables[0]))] for tables in ours.values()}
    assert lanes == {tuple(range(CLASSES)) + (15,) * (16 - CLASSES)}, lanes
    return switch_keys


def main():
    probe, railweave = sys.argv[1:3]
    lacking = missing() or next((tool for tool in ("opensm", "smpquery") if not shutil.which(tool)), None)
    if lacking:
        print(f"skipped: {lacking} is not there")
        return 77
    with tempfile.TemporaryDirectory(prefix="railweave-qos-") as folder:
        os.environ.update(OSM_CACHE_DIR=folder, OSM_TMP_DIR=folder)
        native, netlist, files = Path(folder) / "fabric.json", Path(folder) / "fabric.net", Path(folder) / "opensm"
        files.mkdir()
        for arguments in (["-O", native], ["--format", "ibsim", "-O", netlist]):
            subprocess.run([railweave, "lab", "generate", *SHAPE, *arguments], check=True, capture_output=True)
        subnet = json.loads(native.read_text())["subnets"][0]["name"]
        with Ibsim(netlist) as sim, Probe(sim, probe, folder, native, subnet, files) as ours:
            ours.ask("mode direct")
            ours.wait("synced", lambda s: s["phase"] == "synced")
            ports = cabled(sim)
            before = tables(sim, ports[:6])
            assert steady("tables", lambda: tables(sim, ports[:6]), every=0.3, times=4) == before, "no classes are set yet"
            assert ours.ask("status").split()[1] == "0", "no classes are set yet"
            started = time.monotonic()
            keys = [int(ours.ask(f"tenant {name}")) for name in ("red isolated", "blue")]
            status = ours.programmed("classes", len(ports))
            print(f"{status['programmed']} ports: classes, arbitration and default keys written and read back in {time.monotonic() - started:.2f} s")
            jobs = [int(ours.ask(f"job {name} 4 {hosts}")) for name, hosts in (("red", 5), ("blue", 3), ("red", 2))]
            until("keys of jobs", lambda: holders(keys, tables(sim, ports)) == {keys[0]: 7, keys[1]: 3}, 60)
            ours.programmed("keys of jobs", len(ports))
            direct = tables(sim, ports)
            managing = sim.run(["ibstat", "-p"]).stdout.split()[0].removeprefix("0x")
            manager = next(p[0] for p in ports if not p[3] and int(p[4], 16) in (int(managing, 16), int(managing, 16) - 1))
            assert 0xffff in direct[manager][2], direct[manager]
            assert holders(keys, direct) == {keys[0]: 7, keys[1]: 3}, holders(keys, direct)

            # A key stays at its index while its job runs, whoever else comes and goes (order as smpquery reads it).
            places = {name: held for name, (_, _, held) in direct.items()}

            # A job ends, another starts: keys follow. A cable is pulled meanwhile and comes back.
            ours.ask(f"end {jobs[1]}")
            ours.ask("job blue 4 4")
            switch, port = next((p[4], p[2]) for p in ports if p[3] and p[2] > 4)
            repairs = ours.repairs()
            sim.console(f'Unlink "S-{switch}"[{port}]')
            until("the cut is repaired", lambda: ours.repairs() > repairs)
            repairs = ours.repairs()
            sim.console(f'ReLink "S-{switch}"[{port}]')
            until("the link is back in use", lambda: ours.repairs() > repairs)
            until("keys of another job", lambda: holders(keys, tables(sim, ports))[keys[1]] == 4, 60)
            ours.programmed("keys of another job", len(ports))
            direct = tables(sim, ports)
            assert sum(keys[1] | 0x8000 in found[2] for found in direct.values()) == 4
            red = [name for name, held in places.items() if keys[0] | 0x8000 in held]
            assert len(red) == 7, red
            for name in red:
                assert direct[name][2][0] == places[name][0], (name, places[name], direct[name][2])
                assert direct[name][2].index(keys[0] | 0x8000) == places[name].index(keys[0] | 0x8000), (name, direct[name][2])

            # The same as files: no OpenSM runs here, and no port is written.
            ours.ask("mode opensm")
            ours.wait("OpenSM's files", lambda s: s["files"] != "0")
        for name in ("partitions.conf", "qos-policy.conf", "opensm-qos.conf"):
            assert (files / name).stat().st_size > 0, name

        with Ibsim(netlist) as sim:
            log, options = Path(folder) / "osm.log", Path(folder) / "opensm.conf"
            options.write_text((files / "opensm-qos.conf").read_text() + f"routing_engine ftree\nlog_file {log}\nlog_flags 0x43\nforce_log_flush TRUE\n")
            opensm = sim.open(["opensm", "-e", "-F", str(options)], seconds=120)
            until(lambda: log.exists() and log.read_text()[-3000:],
                  lambda: opensm.poll() is not None or (log.exists() and "SUBNET UP" in log.read_text(errors="replace")), 60)
            assert opensm.poll() is None, log.exists() and log.read_text()[-3000:]
            wrong = [line for line in log.read_text().splitlines() if re.search(r"ERR |PARSE ERROR|[Ss]yntax", line)]
            assert not wrong, wrong
            theirs_at = {place[0]: place for place in cabled(sim)}
            assert set(theirs_at) == {place[0] for place in ports}
            by_opensm = steady("OpenSM's tables", lambda: tables(sim, list(theirs_at.values())), seconds=60)
            stop(opensm)
        switch_keys = compare(ports, direct, by_opensm, manager, keys[0])
        print(f"the same SL to VL and arbitration on {len(ports)} ports, the same keys on {sum(not p[3] for p in ports)} adapter ports; "
              f"OpenSM has keys of its own on {switch_keys} switch ports (it lets switches enforce partitions)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
