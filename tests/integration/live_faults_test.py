#!/usr/bin/env python3
"""railweaved on a simulated subnet where things go wrong: datagrams lost, a switch that does not answer, another subnet
manager, a simulator that dies, many clients. The service stays up, says what is wrong, and heals.

live_faults_test.py BIN_FOLDER        exit code 77: skipped, and why
"""
import re
import shutil
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import Ibsim, missing, stop  # noqa: E402
from waiting import until  # noqa: E402
from live import LiveService, generate  # noqa: E402
from live_subnet_test import cables, fdbs_of_switches, judge  # noqa: E402

SHAPE = ["fat-tree", "--hosts", "64", "--radix", "16", "--nics-per-host", "1", "--gpus-per-host", "1", "--speed", "HDR"]

LARGER = ["fat-tree", "--hosts", "648", "--radix", "36", "--nics-per-host", "1", "--gpus-per-host", "1", "--speed", "HDR"]  # one cable to each spine

class Subnet:
    """A programmed subnet with a service, for one fault."""

    def __init__(self, binaries, keys="sweep_seconds = 1\ncounter_seconds = 1", shape=SHAPE):
        self.binaries, self.keys, self.shape = binaries, keys, shape

    def __enter__(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="railweave-faults-")
        self.folder = self.temporary.name
        self.railweave = str(self.binaries / "railweave")
        self.native, self.netlist, self.name = generate(self.railweave, self.shape, self.folder)
        self.sim = Ibsim(self.netlist).__enter__()
        self.service = LiveService(self.sim, self.binaries, self.folder, self.name, self.keys).start()
        self.service.import_fabric(self.native)
        self.service.mode("direct")
        self.service.synced()
        return self

    def __exit__(self, *_):
        self.service.__exit__()
        self.sim.__exit__()
        self.temporary.cleanup()

    def cut_and_wait(self, cable, seconds=20):
        before = self.service.live()["repairsTotal"]
        self.sim.console(f'Unlink "{cable[0]}"[{cable[1]}]')
        return self.service.wait("a repair", lambda s: s["repairsTotal"] > before and s["phase"] == "synced", seconds)

    def check(self, cut):
        problem = judge(self.sim, self.service, self.railweave, self.netlist, cut)
        assert not problem, problem


def datagrams_are_lost(binaries):
    with Subnet(binaries) as subnet:
        uplinks = cables(subnet.netlist)
        switches = {switch for switch, _ in uplinks}
        for switch in switches:
            subnet.sim.console(f'Error "{switch}" 5')  # one in twenty at every hop, one in four on the way there and back
        started = time.monotonic()
        status = subnet.cut_and_wait(uplinks[3], 60)
        took = time.monotonic() - started
        for switch in switches:
            subnet.sim.console(f'Error "{switch}" 0')
        subnet.service.synced(30)
        subnet.check([uplinks[3]])
        print(f"one datagram in twenty lost at every hop: repaired after {took:.2f} s, {status['repairs'][0]['mads']} MADs")


def waiting(subnet):
    said = subnet.sim.run(["iblinkinfo", "-l"]).stdout
    return [line for line in said.splitlines() if re.search(r"(Initialize|Armed)/\s*LinkUp", line)]


def a_port_stays_armed(binaries):
    """A cable goes out and in while datagrams are lost, so that answers to what took effect are lost: once none are lost any more,
    its ports are active within a sweep or two."""
    with Subnet(binaries, "sweep_seconds = 2\nlook_seconds = 60") as subnet:
        uplinks = cables(subnet.netlist)
        switches = {switch for switch, _ in uplinks}
        slowest = 0
        for turn in range(8):
            cable = uplinks[(turn * 11 + 5) % len(uplinks)]
            for switch in switches:
                subnet.sim.console(f'Error "{switch}" 20')
            subnet.sim.console(f'Unlink "{cable[0]}"[{cable[1]}]')
            time.sleep(0.5)
            subnet.sim.console(f'ReLink "{cable[0]}"[{cable[1]}]')
            time.sleep(3)
            for switch in switches:
                subnet.sim.console(f'Error "{switch}" 0')
            started = time.monotonic()
            subnet.service.wait("the cable is used again", lambda s: s["linksDown"] == s["linksDamped"], 15)
            # The service may not have seen yet that the cable was out: it is asked of the devices.
            until(lambda: f"active within two sweeps: {waiting(subnet)}", lambda: not waiting(subnet), 5)
            slowest = max(slowest, time.monotonic() - started)
        print(f"one datagram in five lost while cables went out and in: used again {slowest:.1f} s after the loss at most")


def counters_cannot_be_read(binaries):
    """The cables between the manager's leaf and a spine are out: no route in band from here to the spine."""
    with Subnet(binaries, "sweep_seconds = 2\ncounter_seconds = 1") as subnet:
        service, sim = subnet.service, subnet.sim
        leaf = re.search(rf'^(?:Ca|Hca)\s+\d+\s+"{sim.host}"[^\n]*\n\[1\][^"]*"(S-[^"]+)"', Path(subnet.netlist).read_text(), re.MULTILINE)[1]
        text = Path(subnet.netlist).read_text()
        block = re.search(rf'^Switch\s+\d+\s+"{leaf}"[^\n]*\n((?:\[[^\n]*\n)+)', text, re.MULTILINE)[1]
        uplinks = [(int(port), other) for port, other in re.findall(r'^\[(\d+)\]\s+"(S-[^"]+)"', block, re.MULTILINE)]
        spine = uplinks[0][1]
        ports = [port for port, other in uplinks if other == spine]
        assert service.live()["countersUnreadCount"] == 0
        for port in ports:
            subnet.cut_and_wait((leaf, port))
        guid = spine[2:]
        status = service.wait("the spine is named", lambda s: guid in [device["guid"] for device in s["countersUnread"]], 20)
        unread = next(device for device in status["countersUnread"] if device["guid"] == guid)
        lid = re.search(rf'^Switch\s+\d+\s+"S-{guid}".* port 0 lid (\d+)', sim.run(["ibnetdiscover"]).stdout, re.MULTILINE)[1]
        assert sim.run(["perfquery", lid, "2"], seconds=10).returncode != 0, "perfquery reads it after all"
        service.wait_alarm("counters.unread", seconds=20)
        alarm = next(item for item in service.get("/v1/alarms?limit=1000")["items"] if item["kind"] == "counters.unread")
        assert unread["name"] in alarm["text"] and "LID" in alarm["text"], alarm
        history = service.get(f"/v1/switches/{unread['name']}/history")
        assert history["ports"] and all("does not answer" in one["unread"] for one in history["ports"]), history
        other = next(item["id"] for item in service.get("/v1/links?limit=10000")["items"]
                     if any(end["port"].startswith(guid) for end in item["ends"]) and item["state"] == "up")
        assert any(one and "does not answer" in one for one in service.get(f"/v1/links/{other}")["countersUnread"])
        with urllib.request.urlopen(service.url + "/metrics") as metrics:
            assert f'railweave_subnet_unread_devices{{subnet="{subnet.name}"}} 1' in metrics.read().decode()
        for port in ports:
            sim.console(f'ReLink "{leaf}"[{port}]')
        service.wait("all are read again", lambda s: s["countersUnreadCount"] == 0, 60)
        service.wait_alarm("counters.unread", there=False, seconds=20)
        print("counters of a spine out of reach:", alarm["text"])


def a_switch_is_silent(binaries):
    with Subnet(binaries) as subnet:
        uplinks = cables(subnet.netlist)
        silent = uplinks[-1][0]
        subnet.sim.console(f'Error "{silent}" 100')
        cut = next(cable for cable in uplinks if cable[0] != silent)
        before = subnet.service.live()["repairsTotal"]
        subnet.sim.console(f'Unlink "{cut[0]}"[{cut[1]}]')
        subnet.service.wait("the others repaired", lambda s: s["repairsTotal"] > before, 30)
        subnet.service.wait_alarm("switch.isolated", seconds=30)
        subnet.sim.console(f'Error "{silent}" 0')
        subnet.service.synced(40)
        subnet.service.wait_alarm("switch.isolated", there=False, seconds=30)
        subnet.check([cut])
        print("a silent switch: left out and alarmed, repaired when it answered")


def leaf_of_manager(subnet):
    text = Path(subnet.netlist).read_text()
    section = text[re.search(rf'^(?:Ca|Hca)\s+\d+\s+"{re.escape(subnet.sim.host)}"', text, re.MULTILINE).start():]
    return re.search(r'^\s*\[\d+\]\S*\s+"(S-[^"]+)"', section, re.MULTILINE).group(1)


def tables_held(sim):
    """switch -> {LID: port}, as dump_fts reads them."""
    tables = {}
    for line in fdbs_of_switches(sim).splitlines():
        head = re.search(r"Switch 0x([0-9a-f]+)", line)
        if head:
            tables[at := "S-" + head.group(1)] = {}
        entry = re.match(r"0x([0-9A-F]{4}) : (\d+)", line)
        if entry:
            tables[at][int(entry.group(1), 16)] = int(entry.group(2))
    return tables


def spine_of_reports(subnet):
    """By which most leaves send what they report."""
    manager = int(re.search(r"sm lid (\d+)", subnet.sim.run(["sminfo"]).stdout)[1])
    peers = links_of(subnet.netlist)
    used = Counter(peers[switch, table[manager]][0] for switch, table in tables_held(subnet.sim).items() if (switch, table.get(manager)) in peers)
    own = leaf_of_manager(subnet)
    return max((switch for switch in used if switch.startswith("S-") and switch != own), key=lambda switch: used[switch])


def spine_of(subnet, spine=None):
    """That spine or the first, its ports, the one to the manager's own leaf last."""
    own = leaf_of_manager(subnet)
    peers = links_of(subnet.netlist)
    leaves = {switch for (switch, _), (peer, _) in peers.items() if peer.startswith("H-")}
    spine = spine or next(switch for switch in sorted({switch for switch, _ in peers}) if switch not in leaves)
    ports = sorted((port for switch, port in peers if switch == spine), key=lambda port: peers[spine, port][0] == own)
    assert len(ports) > 1 and peers[spine, ports[-1]][0] == own and spine != own
    return spine, ports


def a_spine_loses_all_cables(binaries):
    """The cable to the manager's own leaf last: after it nothing can be asked of the spine."""
    with Subnet(binaries, "sweep_seconds = 2\nlook_seconds = 2") as subnet:
        spine, ports = spine_of(subnet)
        for port in ports:
            subnet.sim.console(f'Unlink "{spine}"[{port}]')
        status = subnet.service.wait("repaired", lambda s: s["linksDown"] == len(ports) and s["phase"] == "synced", 30)
        assert status["isolatedCount"] == 1, status["isolated"]
        subnet.check([(spine, port) for port in ports])
        print(f"a spine without a cable, the one to the manager's leaf cut last: {len(ports)} links down, all else synced")


def reports_are_lost_with_a_spine(binaries):
    """The cable to the manager's own leaf first, of the spine by which other leaves report: that is lost. No sweep is awaited."""
    with Subnet(binaries, "sweep_seconds = 60\nlook_seconds = 60", LARGER) as subnet:
        spine, ports = spine_of(subnet, spine_of_reports(subnet))
        for port in reversed(ports):
            subnet.sim.console(f'Unlink "{spine}"[{port}]')
        status = subnet.service.wait("repaired", lambda s: s["linksDown"] == len(ports) and s["phase"] == "synced", 20)
        subnet.check([(spine, port) for port in ports])
    repairs = [repair["cause"] for repair in status["repairs"] if "down" in repair["cause"]]
    assert "down (found by a sweep)" not in subnet.service.log, subnet.service.log[-3000:]
    print(f"a spine without a cable, the one to the manager's leaf cut first: {', then '.join(reversed(repairs))}, without a sweep")


def links_of(netlist):
    """(switch, port) -> (peer, its port), of the netlist."""
    found, switch = {}, None
    for line in Path(netlist).read_text().splitlines():
        head = re.match(r'(Switch|Ca|Hca)\s+\d+\s+"([^"]+)"', line)
        if head:
            switch = head.group(2) if head.group(1) == "Switch" else None
        cable = re.match(r'\s*\[(\d+)\]\S*\s+"([^"]+)"\[(\d+)\]', line)
        if cable and switch:
            found[switch, int(cable.group(1))] = (cable.group(2), int(cable.group(3)))
    return found


def lost_by_hand(sim, netlist, cut):
    """Pairs of an end port and a LID that the switches' tables, read by dump_fts and walked here, do not bring together."""
    tables, peers = tables_held(sim), links_of(netlist)
    dead = set(cut) | {peers[end] for end in cut}
    homes = {}  # LID of an end port -> where it is cabled
    for switch, port, lid in re.findall(r'^\[\d+\]\([0-9a-f]+\)\s+"(S-[0-9a-f]+)"\[(\d+)\][^#]*# lid (\d+) ',
                                        sim.run(["ibnetdiscover"]).stdout, re.MULTILINE):
        homes[int(lid)] = (switch, int(port))
    own = {lid: switch for switch, table in tables.items() for lid, port in table.items() if port == 0}
    assert homes and own and len(tables) > 1

    def arrives(at, lid):
        for _ in range(64):
            if own.get(lid) == at:
                return True
            port = tables[at].get(lid)
            if port is None:
                return lid in own  # in-band management is not promised everywhere
            if homes.get(lid) == (at, port):
                return True
            if (at, port) in dead or not peers.get((at, port), ("",))[0].startswith("S-"):
                return False
            at = peers[at, port][0]
        return False

    return sum(not arrives(home[0], lid) for source, home in homes.items() for lid in [*homes, *own] if lid != source)


def what_is_looked_at(binaries):
    """The walk over what switches hold, held to one that shares nothing with it: dump_fts and a walk by hand."""
    with Subnet(binaries, "sweep_seconds = 1\nlook_seconds = 1") as subnet:
        service = subnet.service
        service.wait("a walk", lambda s: s["walk"] and s["walk"]["pairs"] > 0 and s["walk"]["lostPairs"] == 0)
        service.mode("observe")  # nothing is repaired from now on
        cut = cables(subnet.netlist)[::7][:3]
        for switch, port in cut:
            subnet.sim.console(f'Unlink "{switch}"[{port}]')
        subnet.sim.settle()
        lost = lost_by_hand(subnet.sim, subnet.netlist, cut)
        assert lost > 0, f"no pair uses {cut}"
        service.wait(f"{lost} pairs lost", lambda s: s["walk"] and s["walk"]["lostPairs"] == lost, 30)
        service.mode("direct")
        service.wait("repaired", lambda s: s["phase"] == "synced" and s["walk"]["lostPairs"] == 0, 30)
        subnet.check(cut)
        print(f"a walk over tables as switches hold them: {lost} pairs lost, as counted by hand, and none after the repair")


def led_by(sim, ends):
    """(switch, port) -> (peer, its port), of these ports, as ibnetdiscover finds them."""
    found, switch = {}, None
    for line in sim.run(["ibnetdiscover"]).stdout.splitlines():
        head = re.match(r'(Switch|Ca|Hca)\s+\d+\s+"([^"]+)"', line)
        if head:
            switch = head.group(2)
        cable = re.match(r'\[(\d+)\]\S*\s+"([^"]+)"\[(\d+)\]', line)
        if cable and (switch, int(cable.group(1))) in ends:
            found[switch, int(cable.group(1))] = (cable.group(2), int(cable.group(3)))
    return found


def cables_are_exchanged(binaries):
    """Two uplinks change their places at the spines, and go back: used as they are, named, and no longer."""
    with Subnet(binaries, "sweep_seconds = 1\nlook_seconds = 1") as subnet:
        service, sim = subnet.service, subnet.sim
        peers = links_of(subnet.netlist)
        leaves = sorted({switch for (switch, _), (peer, _) in peers.items() if peer.startswith("H-")})
        uplink = {leaf: [end for end in sorted(peers) if end[0] == leaf and peers[end][0].startswith("S-")] for leaf in leaves}
        one = uplink[leaves[0]][0]
        other = next(end for end in uplink[leaves[1]] if peers[end][0] != peers[one][0])
        far = {one: peers[one], other: peers[other]}
        digest = service.get("/v1/fabric")["digest"]

        def join(pairs):
            for end in (one, other):
                sim.console(f'Unlink "{end[0]}"[{end[1]}]')
            for end, there in pairs:
                sim.console(f'Link "{end[0]}"[{end[1]}] "{there[0]}"[{there[1]}]')
            sim.settle()

        def entries(end):
            """Entries of the switch's table, read by dump_fts, that lead to the port."""
            at, count = None, 0
            for line in fdbs_of_switches(sim).splitlines():
                head = re.search(r"Switch 0x([0-9a-f]+)", line)
                at = "S-" + head.group(1) if head else at
                entry = re.match(r"0x[0-9A-F]{4} : (\d+)", line)
                count += bool(entry and at == end[0] and int(entry.group(1)) == end[1])
            return count

        def state(end):
            """Of a switch's port, as smpquery reads it."""
            lid = re.search(rf'^Switch\s+\d+\s+"{end[0]}".* lid (\d+) lmc', sim.run(["ibnetdiscover"]).stdout, re.MULTILINE).group(1)
            return re.search(r"LinkState:\.*(\w+)", sim.run(["smpquery", "portinfo", lid, str(end[1])]).stdout).group(1)

        def check(now):
            assert led_by(sim, {one, other}) == now, "the simulator joined them otherwise"
            service.wait("a walk after it", lambda s: s["phase"] == "synced" and s["linksDown"] == 0 and s["walk"]["lostPairs"] == 0, 30)
            cabled = Path(subnet.folder) / "cabled.net"
            cabled.write_text(sim.run(["ibnetdiscover"]).stdout)
            lost = lost_by_hand(sim, cabled, [])
            assert lost == 0, f"{lost} pairs lost on the cables that are there"
            for end in (*now, *now.values()):
                assert entries(end) > 0, f"port {end} carries nothing"
                assert state(end) == "Active", (end, state(end))

        join([(one, far[other])])  # half done: the other cable's ends hang loose
        status = service.wait("half of it seen", lambda s: s["linksDown"] == 2 and s["differenceCount"] > 0, 30)
        seen = status["discoveredAt"]
        service.wait("more sweeps", lambda s: s["discoveredAt"] > seen, 30)
        assert service.get("/v1/fabric")["digest"] == digest, "an exchange that is half done is not used"
        assert state(one) == "Initialize", f"a cable that is not used passes packets: {state(one)}"
        sim.console(f'Link "{other[0]}"[{other[1]}] "{far[one][0]}"[{far[one][1]}]')
        sim.settle()
        started = time.monotonic()
        service.wait("in use", lambda s: sum(d["kind"] == "exchangedLink" for d in s["differences"]) == 2 and s["phase"] == "synced", 30)
        took = time.monotonic() - started
        service.wait_alarm("link.exchanged")
        text = next(alarm["text"] for alarm in service.get("/v1/alarms")["items"] if alarm["kind"] == "link.exchanged")
        names = {one["guid"].removeprefix("0x"): one["id"] for one in service.get("/v1/switches?limit=1000")["items"]}
        shown = service.cli("subnets", "show", subnet.name).stdout
        for switch, port in (one, other, *far.values()):
            name = names[switch[2:]]
            assert f"{name} port {port}" in text and f"{name} port {port}" in shown, (name, port, text, shown)
        check({one: far[other], other: far[one]})
        assert service.get("/v1/fabric")["digest"] != digest
        service.restart()
        service.synced(30)
        service.wait("known after a restart", lambda s: sum(d["kind"] == "exchangedLink" for d in s["differences"]) == 2, 30)

        join([(one, far[one]), (other, far[other])])
        service.wait("back", lambda s: s["differenceCount"] == 0 and s["linksDown"] == 0 and s["phase"] == "synced", 30)
        service.wait_alarm("link.exchanged", there=False)
        assert service.get("/v1/fabric")["digest"] == digest
        check(far)
        print(f"two exchanged cables: in use {took:.1f} s after they were joined, named, and as before once they were back")


def a_lid_is_taken_twice(binaries):
    with Subnet(binaries, "sweep_seconds = 1") as subnet:
        hosts = [host for host in re.findall(r'^(?:Ca|Hca)\s+\d+\s+"([^"]+)"', Path(subnet.netlist).read_text(), re.MULTILINE)
                 if host != subnet.sim.host]
        taken = re.search(rf'"{hosts[0]}".*?# lid (\d+) ', subnet.sim.run(["ibnetdiscover"]).stdout, re.DOTALL)
        subnet.sim.console(f'Baselid "{hosts[1]}"[1] {taken.group(1)} 0')
        until = time.monotonic() + 20
        while not any(event["type"] == "alarm.raised" and "same LID" in event["summary"] for event in subnet.service.events()):
            assert time.monotonic() < until, "no alarm of the LID"
            time.sleep(0.1)
        subnet.service.wait_alarm("lid.conflict", there=False)
        subnet.check([])
        print("a LID that two ports had: alarmed and set back")


def another_subnet_manager(binaries):
    if not shutil.which("opensm"):
        print("skipped: opensm is absent")
        return
    with Subnet(binaries) as subnet:
        subnet.service.mode("observe")
        subnet.service.wait("observing", lambda s: s["phase"] == "watching")
        hosts = re.findall(r'^(?:Ca|Hca)\s+\d+\s+"([^"]+)"', Path(subnet.netlist).read_text(), re.MULTILINE)
        log = Path(subnet.folder) / "osm.log"
        opensm = subnet.sim.open(["opensm", "-e", "-f", str(log), "-D", "0x43", "-d", "2"], host=hosts[-1])
        deadline = time.monotonic() + 40
        while not log.exists() or "SUBNET UP" not in log.read_text(errors="replace"):
            assert time.monotonic() < deadline and opensm.poll() is None, "OpenSM does not come up"
            time.sleep(0.05)
        written = subnet.service.events("route.programmed")
        subnet.service.mode("direct")
        subnet.service.wait_alarm("subnet.notWritable", seconds=20)
        problem = subnet.service.live()["problem"]
        assert "another subnet manager is master" in problem, problem
        assert subnet.service.events("route.programmed") == written, "nothing is written beside another master"
        stop(opensm)
        subnet.service.wait_alarm("subnet.notWritable", there=False, seconds=40)
        subnet.service.synced(30)  # what OpenSM wrote meanwhile is repaired
        subnet.check([])
        print("another subnet manager: nothing written beside it, programmed when it had gone")


def one_started_by_mistake(binaries):
    if not shutil.which("opensm"):
        print("skipped: opensm is absent")
        return
    with Subnet(binaries) as subnet:
        hosts = re.findall(r'^(?:Ca|Hca)\s+\d+\s+"([^"]+)"', Path(subnet.netlist).read_text(), re.MULTILINE)
        log = Path(subnet.folder) / "osm.log"
        opensm = subnet.sim.open(["opensm", "-e", "-f", str(log), "-D", "0x43", "-d", "2"], host=hosts[-1])
        deadline = time.monotonic() + 40
        while not log.exists() or "STANDBY state" not in log.read_text(errors="replace"):
            assert time.monotonic() < deadline and opensm.poll() is None, log.read_text(errors="replace")[-2000:]
            time.sleep(0.05)
        subnet.cut_and_wait(cables(subnet.netlist)[1])
        assert "SUBNET UP" not in log.read_text(errors="replace"), "it took over"
        stop(opensm)
        subnet.check([cables(subnet.netlist)[1]])
        print("an OpenSM that is started beside railweaved stands by")


def no_switch_answers(binaries):
    with Subnet(binaries) as subnet:
        subnet.sim.console(f'Error "{subnet.sim.host}" 100')  # our own port does not either
        subnet.service.wait_alarm("subnet.offline", seconds=60)
        assert subnet.service.request("GET", "/readyz")[0] == 200, "the service stays up"
        status = subnet.service.live()
        assert status["phase"] == "offline" and status["problem"], status
        subnet.sim.console(f'Error "{subnet.sim.host}" 0')
        subnet.service.synced(60)
        subnet.service.wait_alarm("subnet.offline", there=False)
        subnet.cut_and_wait(cables(subnet.netlist)[0])
        print(f"no switch answers: offline ({status['problem'][:80]}), then back by itself")


def the_simulator_dies(binaries):
    with Subnet(binaries) as subnet:
        subnet.sim.process.kill()
        subnet.sim.process.wait()
        subnet.service.wait_alarm("subnet.offline", seconds=60)
        assert subnet.service.request("GET", "/readyz")[0] == 200, "the service stays up"
        subnet.sim.restart()
        # The simulator's client library connects once per process: here a restart stands for a port that comes back.
        subnet.service.restart()
        subnet.service.synced(60)  # the new simulator's switches hold nothing: all is written again
        subnet.service.wait_alarm("subnet.offline", there=False)
        subnet.check([])
        print("the simulator died and came back empty: offline, then programmed from scratch")


def ten_clients(binaries):
    with Subnet(binaries) as subnet:
        uplinks = cables(subnet.netlist)
        readers = [subnet.sim.open(["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do ibnetdiscover > /dev/null; done"]) for _ in range(8)]
        for cable in uplinks[:4]:
            subnet.cut_and_wait(cable, 30)
        for reader in readers:
            stop(reader)
        subnet.check(uplinks[:4])
        print("eight other clients reading all the time: four cuts repaired")


def main():
    binaries = Path(sys.argv[1]).resolve()
    lacking = missing() or next((tool for tool in ("dump_fts", "ibdmchk", "smpquery") if not shutil.which(tool)), None)
    if lacking:
        print(f"skipped: {lacking} is absent")
        return 77
    only = sys.argv[2:]
    for fault in (datagrams_are_lost, a_port_stays_armed, counters_cannot_be_read, a_switch_is_silent, a_spine_loses_all_cables,
                  reports_are_lost_with_a_spine, what_is_looked_at, cables_are_exchanged,
                  a_lid_is_taken_twice, another_subnet_manager, one_started_by_mistake, no_switch_answers, the_simulator_dies, ten_clients):
        if not only or fault.__name__ in only:
            fault(binaries)
    return 0


if __name__ == "__main__":
    sys.exit(main())
