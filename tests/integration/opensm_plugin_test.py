#!/usr/bin/env python3
"""A real OpenSM on simulated subnets, routed by Railweave's plugin: are its tables, read back from the switches by dump_fts, the
ones that `railweave lab route` computes from ibnetdiscover's output, entry by entry; after a cut, after a restart, under
drains that come over the policy socket; with torn documents and without the service. ibdmchk judges them, too.

opensm_plugin_test.py PLUGIN RAILWEAVE PROBE SHARED_DATA     exit code 77: skipped, and why. PLUGIN may be "": not built
"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import Ibsim, missing, stop  # noqa: E402

ROUTED = "railweave: engine "
DIGESTS = {}  # of the lab's tables, by dump and options


class PolicyService:
    """railweaved's end of the socket, written from protocol.md alone."""

    def __init__(self, path):
        self.path, self.lines, self.changed = path, [], threading.Condition()
        self.clients = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()
        self.document = None
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            with self.changed:
                self.clients.append(client)
                if self.document:
                    client.sendall(self.document)
            threading.Thread(target=self.read, args=(client,), daemon=True).start()

    def read(self, client):
        with client.makefile("r") as lines:
            for line in lines:
                with self.changed:
                    self.lines.append(line.rstrip("\n"))
                    self.changed.notify_all()
        with self.changed:
            self.clients.remove(client)

    def publish(self, revision, *lines, digest=None):
        text = "".join(line + "\n" for line in lines)
        value = 0xcbf29ce484222325
        for byte in text.encode():
            value = (value ^ byte) * 0x100000001b3 % 2**64
        document = f"{text}end {revision} {digest or format(value, '016x')}\n".encode()
        with self.changed:
            self.document = document
            for client in self.clients:
                client.sendall(document)

    def wait_for(self, pattern, seconds=20):
        deadline = time.monotonic() + seconds
        with self.changed:
            while True:
                for line in self.lines:
                    if re.fullmatch(pattern, line):
                        return line
                assert self.changed.wait(deadline - time.monotonic()), f"no {pattern!r} in {self.lines[-20:]}"

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.changed:
            for client in self.clients:
                client.shutdown(socket.SHUT_RDWR)
        os.unlink(self.path)


class OpenSm:
    """One run of OpenSM with the plugin, in a folder that several runs may share."""

    def __init__(self, sim, folder, plugin, *options, host, behind=None):
        self.sim, self.folder, self.log = sim, Path(folder), Path(folder) / "osm.log"
        self.log.unlink(missing_ok=True)
        settings = [f"event_plugin_name {plugin.stem.removeprefix('lib')}",
                    f"event_plugin_options socket={folder}/policy.sock cache={folder}",
                    "routing_engine railweave,updn,no_fallback", f"log_file {self.log}", "log_flags 0x43",
                    "force_log_flush TRUE", "sweep_interval 0", *options]
        (self.folder / "opensm.conf").write_text("".join(line + "\n" for line in settings))
        os.environ.update(OSM_CACHE_DIR=str(folder), OSM_TMP_DIR=str(folder), LD_LIBRARY_PATH=str(plugin.parent))
        self.process = sim.open(["opensm", "-e", "-F", str(self.folder / "opensm.conf")], seconds=100, host=host, behind=behind)

    def said(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def wait_for(self, text, times=1, seconds=30):
        deadline = time.monotonic() + seconds
        while self.said().count(text) < times:
            assert self.process.poll() is None, f"OpenSM ended: {self.said()[-3000:]}"
            assert time.monotonic() < deadline, f"no {times} x {text!r}:\n{self.said()[-3000:]}"
            time.sleep(0.01)

    def wait_until(self, problem, holds, seconds=20):
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, f"{problem}:\n{self.said()[-3000:]}"
            time.sleep(0.01)

    def again(self, action):
        """What was logged of routing once the subnet is up again after the action."""
        ups, routed = self.said().count("SUBNET UP"), self.said().count(ROUTED)
        action()
        self.wait_for(ROUTED, routed + 1)
        self.wait_for("SUBNET UP", ups + 1)
        return re.findall(re.escape(ROUTED) + ".*", self.said())[-1]

    def __enter__(self):
        return self

    def __exit__(self, kind=None, *_):
        ended = self.process.poll()
        stop(self.process)
        if kind:
            print(f"OpenSM {'was at work' if ended is None else f'had ended with {ended}'}:\n{self.said()[-3000:]}")


def tables_of_switches(sim):
    """{switch GUID: {LID: port}}, read from the switches by infiniband-diags."""
    tables, table = {}, None
    for line in sim.run(["dump_fts"]).stdout.splitlines():
        if heading := re.search(r"Unicast lids \[.*guid 0x([0-9a-f]+) ", line):
            table = tables.setdefault(int(heading[1], 16), {})
        elif entry := re.match(r"0x([0-9a-f]{4}) (\d{3})\b", line):
            table[int(entry[1], 16)] = int(entry[2])
    assert tables and all(tables.values()), "dump_fts says nothing"
    return tables


def tables_of_lab(railweave, dump, *options):
    """The same by `railweave lab route`; without unreachable LIDs."""
    with tempfile.TemporaryDirectory() as folder:
        fdbs = Path(folder) / "fdbs"
        done = subprocess.run([railweave, "lab", "route", dump, "--write-fdbs", fdbs, "--fail-on", "never", "-o", "json",
                               *options],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        DIGESTS[str(dump), options] = json.loads(done.stdout)["tablesDigest"]
        tables, table = {}, None
        for line in fdbs.read_text().splitlines():
            if heading := re.search(r"Switch 0x([0-9a-f]+)", line):
                table = tables.setdefault(int(heading[1], 16), {})
            elif entry := re.match(r"0x([0-9A-Fa-f]{4})\s*:\s*(\d{3})\s*:", line):
                table[int(entry[1], 16)] = int(entry[2])
        return tables


def switch_lids(dump):
    return {int(lid) for lid in re.findall(r'^Switch\s.* port 0 lid (\d+)', dump, re.MULTILINE)}


def check_same(name, switches, lab, dump):
    """Every entry is the same; only the switches' own LIDs are not routed by the lab, and every leaf reaches them."""
    assert switches.keys() == lab.keys(), f"{name}: other switches"
    own, compared, lost = switch_lids(dump), 0, set()
    leaves = {int(guid, 16) for guid in re.findall(r'^\[\d+\]\([0-9a-f]+\)\s+"S-([0-9a-f]+)"', dump, re.MULTILINE)}
    for guid, table in switches.items():
        differing = [(lid, port, lab[guid].get(lid)) for lid, port in table.items()
                     if lid not in own and lab[guid].get(lid) != port]
        differing += [(lid, None, port) for lid, port in lab[guid].items() if lid not in table]
        assert not differing, f"{name}: switch {guid:016x} differs in (LID, OpenSM, lab) {differing[:8]}"
        lost |= own - table.keys() if guid in leaves else set()
        compared += len(lab[guid])
    assert not lost, f"{name}: no way to the switches {sorted(lost)[:8]}"
    return compared


def check_ibdmchk(name, folder):
    if not shutil.which("ibdmchk"):
        return print("skipped: ibdmchk is not installed")
    # It may crash after printing: what it printed counts.
    said = subprocess.run(["ibdmchk", "-s", folder / "opensm-subnet.lst", "-f", folder / "opensm.fdbs", "-m",
                           folder / "opensm.mcfdbs"], capture_output=True, text=True, timeout=60, errors="replace")
    text = said.stdout + said.stderr
    scanned = re.search(r"Scanned:(\d+) CA to CA paths", text)
    assert scanned and int(scanned[1]) > 0, f"{name}: ibdmchk scanned no paths:\n{text[-2000:]}"
    errors = [line for line in text.splitlines() if "-E-" in line]
    assert not errors and "no credit loops found" in text, f"{name}: {errors[:5]}\n{text[-1500:]}"


def hosts_of(netlist):
    text = Path(netlist).read_text(errors="replace")
    return re.findall(r'^(?:Ca|Hca)\s+\d+\s+"([^"]+)"[^\n]*\n\s*\[', text, re.MULTILINE)


def generate(railweave, folder, name, *arguments):
    netlist = Path(folder) / f"{name}.net"
    subprocess.run([railweave, "lab", "generate", *arguments, "--format", "ibsim", "-O", netlist], check=True,
                   capture_output=True, timeout=60)
    return netlist


def came_up(opensm, name):
    opensm.wait_for("SUBNET UP")
    said = opensm.said()
    assert "railweave tables configured on all switches" in said, f"{name}: {said[-3000:]}"
    return re.findall(re.escape(ROUTED) + ".*", said)[-1]


def routes_as_the_lab(plugin, railweave, name, netlist, *options, judged=True):
    """One fabric, once up. judged: checked by ibdmchk too, which supports one LID per port and one lane only."""
    with tempfile.TemporaryDirectory() as folder, Ibsim(netlist) as sim:
        with OpenSm(sim, folder, plugin, *options, host=hosts_of(netlist)[-1]) as opensm:
            said = came_up(opensm, name)
            dump = sim.run(["ibnetdiscover"]).stdout
            path = Path(folder) / "dump.ibnetdiscover"
            path.write_text(dump)
            compared = check_same(name, tables_of_switches(sim), tables_of_lab(railweave, path), dump)
            if judged:
                check_ibdmchk(name, Path(folder))
            assert DIGESTS[str(path), ()] in said, f"{name}: the lab's digest is {DIGESTS[str(path), ()]}; {said}"
            print(f"{name}: {compared} entries alike; {said}")


def has_circle(after):
    """Whether channels wait for each other in a circle; after: {channel: channels that its packets go on to}."""
    waits = {channel: set(further) for channel, further in after.items()}
    while True:
        free = [channel for channel, further in waits.items() if not further & waits.keys()]
        if not free:
            return bool(waits)
        for channel in free:
            del waits[channel]


def takes_lanes(plugin, railweave, folder):
    """A ring, which deadlocks on one lane: service levels from SA, lanes from the switches."""
    netlist = generate(railweave, folder, "ring", "torus", "--x", "5", "--y", "1", "--z", "1", "--nics-per-host", "1",
                       "--speed", "EDR")
    host = hosts_of(netlist)[-1]
    with tempfile.TemporaryDirectory() as run, Ibsim(netlist) as sim:
        with OpenSm(sim, run, plugin, host=host) as opensm:  # without QoS OpenSM programs no lanes
            opensm.wait_for("No routing engine able")
            assert "not routed" in opensm.said() and "set 'qos TRUE'" in opensm.said(), opensm.said()
            assert "minhop tables" not in opensm.said()
        with OpenSm(sim, run, plugin, "qos TRUE", host=host) as opensm:
            assert "2 lanes" in came_up(opensm, "ring")
            dump, tables = sim.run(["ibnetdiscover"]).stdout, tables_of_switches(sim)
            path = Path(run) / "dump.ibnetdiscover"
            path.write_text(dump)
            check_same("ring", tables, tables_of_lab(railweave, path), dump)
            links, lanes, homes = {}, {}, {}
            for guid, lid, ports in re.findall(r'^Switch\s+\d+ "S-([0-9a-f]+)".* lid (\d+) lmc.*\n((?:\[.*\n)+)', dump,
                                               re.MULTILINE):
                for port, peer, peer_port in re.findall(r'^\[(\d+)\]\s+"S-([0-9a-f]+)"\[(\d+)\]', ports, re.MULTILINE):
                    links[int(guid, 16), int(port)] = int(peer, 16), int(peer_port)
                    for entry in re.findall(r"in +(\d+), out +\d+: \|(.*)\|", sim.run(["smpquery", "sl2vl", lid, port]).stdout):
                        lanes[int(guid, 16), int(entry[0]), int(port)] = [int(lane) for lane in entry[1].split("|")]
                for port, lid in re.findall(r'^\[(\d+)\]\s+"H-.* lid (\d+) ', ports, re.MULTILINE):
                    homes[int(lid)] = int(guid, 16), int(port)
            after, on_one = {}, {}
            for source, (start, entry) in homes.items():
                for target in homes.keys() - {source}:
                    answer = sim.run(["saquery", "PR", "--src-to-dst", f"{source}:{target}"]).stdout
                    level = int(re.search(r"\bsl\.+0x([0-9a-f]+)", answer)[1], 16)
                    at, come_by, channels = start, entry, []
                    while at != homes[target][0]:
                        leave_by = tables[at][target]
                        channels.append((at, leave_by, lanes[at, come_by, leave_by][level]))
                        at, come_by = links[at, leave_by]
                    for channel, further in zip(channels, channels[1:] + [None]):
                        after.setdefault(channel, set()).update({further} - {None})
                        on_one.setdefault(channel[:2], set()).update({further[:2]} if further else ())
            assert has_circle(on_one) and not has_circle(after), (on_one, after)
            print(f"ring: a circle on one lane, none on the {len({lane for *_, lane in after})} lanes that are set")


def routes_while_the_disk_is_slow(plugin, railweave, folder):
    """What a policy says is routed whether it is kept or not, and is kept once the disk takes it."""
    if shutil.which("cc") is None:
        print("skipped: no cc for a disk that takes no files")
        return
    netlist = generate(railweave, folder, "slow", "fat-tree", "--radix", "8", "--hosts", "16", "--nics-per-host", "1", "--speed", "EDR")
    with tempfile.TemporaryDirectory() as run, Ibsim(netlist) as sim:
        run = Path(run)
        library, slow = run / "slow_fsync.so", run / "slow"
        source = Path(__file__).resolve().parent / "slow_fsync.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
        slow.touch()
        os.environ["SLOW_FSYNC"] = str(slow)
        service = PolicyService(f"{run}/policy.sock")
        with OpenSm(sim, run, plugin, host=hosts_of(netlist)[-1], behind=library) as opensm:
            came_up(opensm, "slow")
            dump = sim.run(["ibnetdiscover"]).stdout
            guid, port, peer, peer_port = re.search(
                r'^switchguid=0x([0-9a-f]+).*\nSwitch.*\n(?:\[.*\n)*?\[(\d+)\]\s+"S-([0-9a-f]+)"\[(\d+)\]', dump, re.MULTILINE).groups()
            service.publish(4, f"drain-link {guid.zfill(16)}/{port}--{peer}/{peer_port}")
            service.wait_for(r"event routed 4 [0-9a-f]{16}")
            kept = run / "railweave-policy"
            assert not kept.exists(), kept.read_text()
            slow.unlink()
            opensm.wait_until("the policy is not kept", lambda: kept.exists() and "end 4 " in kept.read_text())
        service.close()
        del os.environ["SLOW_FSYNC"]
        print("routed while the disk took nothing, kept once it did")


def lives_through_changes(plugin, railweave, probe, folder):
    netlist = generate(railweave, folder, "changes", "fat-tree", "--radix", "8", "--hosts", "32", "--nics-per-host", "1",
                       "--speed", "EDR")
    host = hosts_of(netlist)[-1]
    with tempfile.TemporaryDirectory() as run, Ibsim(netlist) as sim:
        run = Path(run)
        service = PolicyService(f"{run}/policy.sock")
        with OpenSm(sim, run, plugin, host=host) as opensm:
            came_up(opensm, "changes")
            dump = sim.run(["ibnetdiscover"]).stdout
            path = run / "dump.ibnetdiscover"
            path.write_text(dump)
            whole = tables_of_lab(railweave, path)
            check_same("whole", tables_of_switches(sim), whole, dump)
            greeting = service.wait_for(r"railweave 3 [0-9a-f]{16}")
            service.wait_for(r"event subnet-up 0 [0-9a-f]{16}")

            # A link between two switches, as "S-1"[5] and GUID/5.
            section = re.search(r'^switchguid=0x([0-9a-f]+).*\nSwitch\s+\d+ "(S-[0-9a-f]+)"((?:.*\n)+?)\n', dump, re.MULTILINE)
            ends = re.findall(r'^\[(\d+)\]\s+"S-([0-9a-f]+)"\[(\d+)\]', section[3], re.MULTILINE)
            guid, (port, peer, peer_port) = section[1].zfill(16), ends[0]
            link = f"{guid}/{port}--{peer}/{peer_port}"
            said = opensm.again(lambda: sim.console(f'Unlink "{section[2]}"[{port}]'))
            assert "incrementally" in said and "1 links are not up" in said, opensm.said()
            cut = tables_of_lab(railweave, path, "--fail", link)
            compared = check_same("cut", tables_of_switches(sim), cut, dump)
            assert cut != whole
            check_ibdmchk("cut", run)
            service.wait_for(r"event trap [0-9a-f]{16} \d+ 128")
            service.wait_for(r"event lft [0-9a-f]{16} [1-9]\d*")
            print(f"cut {link}: {compared} entries alike; {said}")

        # Another OpenSM, which never saw the link: the cache still knows it.
        with OpenSm(sim, run, plugin, host=host) as opensm:
            came_up(opensm, "restarted")
            check_same("restarted", tables_of_switches(sim), cut, dump)
            said = opensm.again(lambda: sim.console(f'ReLink "{section[2]}"[{port}]')
                                or opensm.process.send_signal(1))  # ibsim does not say that a link came up
            check_same("joined", tables_of_switches(sim), whole, dump)
            assert "new cabling" not in said, said
            print("restarted and joined again: tables as before")

            # Drains, of another link than the one cut before.
            port, peer, peer_port = ends[1]
            link = f"{guid}/{port}--{peer}/{peer_port}"
            started = time.monotonic()
            service.publish(7, f"drain-link {link}")
            digest = service.wait_for(r"event routed 7 [0-9a-f]{16}").split()[-1]
            took = time.monotonic() - started
            drained = tables_of_switches(sim)
            check_same("drained", drained, tables_of_lab(railweave, path, "--fail", link), dump)
            assert digest == DIGESTS[str(path), ("--fail", link)]  # a drained link carries what a failed one does
            print(f"drained {link}: tables {digest} after {took * 1e3:.0f} ms")

            # Truncated or invalid messages are refused as a whole, with a reason.
            service.publish(8, "drain-link nonsense", f"drain-switch {guid}")
            service.wait_for(r"event refused policy: line 1: .*nonsense.*")
            service.publish(9, f"drain-switch {guid}", digest="0" * 16)
            service.wait_for(r"event refused policy: .*digest.*")
            assert tables_of_switches(sim) == drained
            service.publish(10, f"drain-link {link}")  # the same under another number: nothing to route
            assert service.wait_for(r"event routed 10 [0-9a-f]{16}").split()[-1] == digest

            # A drained switch: its hosts are reached, nothing else goes through it.
            service.publish(11, f"drain-switch {peer}")
            service.wait_for(r"event routed 11 [0-9a-f]{16}")
            tables = tables_of_switches(sim)
            spine_ports = {(int(at, 16), int(p)) for at, ports in re.findall(
                r'^Switch\s+\d+ "S-([0-9a-f]+)".*\n((?:\[.*\n)+)', dump, re.MULTILINE)
                for p in re.findall(rf'^\[(\d+)\]\s+"S-{peer}"', ports, re.MULTILINE)}
            own = switch_lids(dump)
            assert spine_ports and not [1 for at, p in spine_ports for lid, out in tables[at].items()
                                        if out == p and lid not in own]
            service.publish(12, f"drain-link {link}")
            service.wait_for(r"event routed 12 [0-9a-f]{16}")
            assert tables_of_switches(sim) == drained

        # Without the service: the last good policy, across a restart; a service that comes back is found.
        service.close()
        with OpenSm(sim, run, plugin, host=host) as opensm:
            came_up(opensm, "alone")
            assert tables_of_switches(sim) == drained
            service = PolicyService(f"{run}/policy.sock")
            service.publish(13)
            service.wait_for(r"event routed 13 [0-9a-f]{16}")
            assert service.wait_for(r"railweave 3 [0-9a-f]{16}") == greeting
            check_same("free", tables_of_switches(sim), whole, dump)
            print("without the service: the last policy; with it again: tables as at first")
            service.close()

            # Railweave's end of the socket.
            server = subprocess.Popen([probe, "serve", f"{run}/policy.sock"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      text=True)
            server.stdin.write(f"drain-link {link}\n.\n")
            server.stdin.flush()
            said = next(line.split() for line in server.stdout if line.startswith("event routed 1 "))
            assert said[-1] == digest and tables_of_switches(sim) == drained, said
            server.stdin.close()
            assert server.wait(10) == 0


def main():
    plugin, railweave, probe, shared = *sys.argv[1:4], Path(sys.argv[4])
    lacking = missing() or next((tool for tool in ("opensm", "dump_fts") if not shutil.which(tool)), None)
    if lacking or not plugin:
        print(f"skipped: {lacking} is not there" if lacking else "skipped: the plugin was not built: no libopensm-dev")
        return 77
    plugin = Path(plugin).resolve()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        routes_as_the_lab(plugin, railweave, "rails", generate(
            railweave, folder, "rails", "rail-optimized", "--hosts", "32", "--rails", "4", "--speed", "HDR"))
        routes_as_the_lab(plugin, railweave, "four LIDs", generate(
            railweave, folder, "lmc", "fat-tree", "--radix", "8", "--hosts", "16", "--nics-per-host", "1", "--speed", "EDR"),
            "lmc 2", judged=False)
        routes_as_the_lab(plugin, railweave, "dragonfly", generate(
            railweave, folder, "dragonfly", "dragonfly", "--nics-per-host", "1", "--speed", "EDR"), "qos TRUE", judged=False)
        for file in ("part-4-ary-3-tree.net", "12-node-spaced.net"):
            if (shared / "ibsim" / file).exists():
                routes_as_the_lab(plugin, railweave, file, shared / "ibsim" / file)
            else:
                print(f"skipped: {shared / 'ibsim' / file} is not there")
        real = shared / "ib" / "psmn-x5.ibnetdiscover.txt"
        if real.exists():
            netlist = Path(folder) / "psmn-x5.net"
            subprocess.run([railweave, "lab", "convert", real, "--to", "ibsim", "-O", netlist], check=True, capture_output=True)
            routes_as_the_lab(plugin, railweave, "psmn-x5", netlist)
        else:
            print(f"skipped: {real} is not there")
        routes_while_the_disk_is_slow(plugin, railweave, folder)
        lives_through_changes(plugin, railweave, probe, folder)
        takes_lanes(plugin, railweave, folder)
    print(f"all in {time.monotonic() - started:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
