#!/usr/bin/env python3
"""Multicast of a subnet in direct mode. Clients on other nodes join as IPoIB does; what switches hold is read by dump_fts and flooded apart from
Railweave, and traced by ibtracert: before and after cut cables, a lost spine, members that vanish, and a restart of the service. osmtest's
multicast flow asks the same of it as of OpenSM; and OpenSM's answers to the same clients on the same subnet are the same. With `lanes`: on a torus, beside routes on two lanes.

multicast_test.py BIN_FOLDER RMPP_KERNEL SA_CLIENT [lanes]      exit code 77: skipped, and why
"""
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from administration_test import TREE, hosts_of  # noqa: E402
from direct_lanes_test import LANES, SHAPES, Levels, accept  # noqa: E402
from ibsim import Ibsim, missing, stop  # noqa: E402
from lane_walk import LaneWalk  # noqa: E402
from live import LiveService, generate  # noqa: E402
from multicast_walk import add_waits, check_group, multicast_tables  # noqa: E402
from sa_query import SaQuery, last_64  # noqa: E402
from switch_walk import SwitchWalk  # noqa: E402
from waiting import until  # noqa: E402

BROADCAST = "ff12401bffff000000000000ffffffff"
ALL_HOSTS = "ff12401bffff00000000000000000001"
MDNS = "ff12401bffff000000000000000000fb"
BROADCAST_GID, ALL_HOSTS_GID = "ff12:401b:ffff::ffff:ffff", "ff12:401b:ffff::1"
KEY = "0x1"


class Clients:
    def __init__(self, sim, client, hosts, guids):
        self.sim, self.client, self.hosts, self.guids = sim, client, hosts, guids

    def do(self, host, *words):
        """{(verb, MGID): {field: text}} of what was answered."""
        said = self.sim.run([self.client, *words], seconds=20, host=self.hosts[host])
        assert said.returncode == 0, (host, words, said)
        lines = [line.split() for line in said.stdout.splitlines()]
        return [(line[0], line[1], dict(zip(line[2::2], line[3::2]))) for line in lines]

    def as_ipoib(self, host):
        """The broadcast group, then 224.0.0.1 with what that one said, as the kernel does when an interface comes up."""
        answers = self.do(host, "join", BROADCAST, "1", "create", ALL_HOSTS, "1")
        assert all(fields["status"] == "0x0" for _, _, fields in answers), answers
        return answers


def members(sa):
    """{LID of the group: {(adapter GUID, join state)}}, by saquery"""
    found = {}
    for one in sa.dumps("-m"):
        group = found.setdefault(int(one["Mlid"], 16), set())
        if one["PortGid"] != "::":
            group.add((last_64(one["PortGid"]) - 1, int(one["ScopeState"], 16) & 15))
    return found


def wait_led(sim, walk, groups, senders=None, seconds=15):
    """Until switches lead each {LID: receivers} as it should be."""
    last = None

    def is_led():
        nonlocal last
        try:
            tables = multicast_tables(sim)
            for lid, receivers in groups.items():
                check_group(walk, tables, lid, receivers, (senders or {}).get(lid, ()))
            return True
        except AssertionError as error:
            last = error
            return False
    until(lambda: f"not led: {last}", is_led, seconds)


def group_paths(sa, guids):
    """Paths to groups, as members and others ask for them."""
    gids = ["fe80::" + ":".join(f"{guid >> shift & 0xffff:x}" for shift in (48, 32, 16, 0)) for guid in guids]
    asked = [[]] + [["--sgid", gid] for gid in gids] + [["--pkey", "0xffff", "--mtu", "0x84"], ["--pkey", "0x8001"], ["--sl", "3"], ["--rate", "0x84"], ["--mtu", "3"],
                                                                     ["--mtu", "4"], ["--pkt_lifetime", "0x53"]]
    return [[sa.dumps("--dgid", mgid, *words, "PR") for words in asked] for mgid in (BROADCAST_GID, ALL_HOSTS_GID, "ff12:401b:ffff::99")]


def lid_of(walk, guid):
    return str(walk.lids[guid])


def follow_faults(sim, service, walk, clients, sa, joined):
    """A cable of the tree is cut, then the whole spine that leads it, then a member; and all is back."""
    tables = multicast_tables(sim)
    spines = {switch for switch, _ in walk.cables if not any(end[0] == switch for end in walk.ends.values())}
    spine = next(switch for switch in spines if tables[switch].get(0xC000))
    cut = next((switch, port) for (switch, port), peer in walk.cables.items() if switch == spine and port in tables[spine][0xC000])
    sim.console(f'Unlink "S-{cut[0]:016x}"[{cut[1]}]')
    service.wait("repaired", lambda s: s["linksDown"] == 1, 30)
    service.synced(30)
    wait_led(sim, SwitchWalk(sim), {0xC000: joined, 0xC001: joined})
    for port in {port for switch, port in walk.cables if switch == spine} - {cut[1]}:
        sim.console(f'Unlink "S-{spine:016x}"[{port}]')
    service.wait("without the spine", lambda s: s["linksDown"] > 1, 30)
    service.synced(30)
    without = SwitchWalk(sim)
    wait_led(sim, without, {0xC000: joined, 0xC001: joined})
    for port in {port for switch, port in walk.cables if switch == spine}:
        sim.console(f'ReLink "S-{spine:016x}"[{port}]')
    service.wait("joined", lambda s: s["phase"] == "synced" and s["linksDown"] == 0, 30)
    wait_led(sim, walk, {0xC000: joined, 0xC001: joined})

    # A drained spine leads no group any more, and does again once it is back.
    tables = multicast_tables(sim)
    spine = next(switch for switch in spines if tables[switch].get(0xC000))
    name = f"{spine:016x}"
    assert service.cli("switches", "drain", name, "--reason", "ticket 12").returncode == 0
    until(lambda: f"the drained spine leads: {multicast_tables(sim)[spine]}", lambda: not any(multicast_tables(sim)[spine].values()), 30)
    wait_led(sim, walk, {0xC000: joined, 0xC001: joined})
    assert service.cli("switches", "undrain", name).returncode == 0
    until(lambda: "the spine leads nothing", lambda: any(multicast_tables(sim)[spine].values()), 30)
    wait_led(sim, walk, {0xC000: joined, 0xC001: joined})

    lost = joined[-1]
    leaf = walk.ends[lost]
    sim.console(f'Unlink "S-{leaf[0]:016x}"[{leaf[1]}]')
    until(lambda: "a member that is gone is told", lambda: lost not in {guid for guid, _ in members(sa)[0xC000]}, 30)
    wait_led(sim, walk, {0xC000: joined[:-1], 0xC001: joined[:-1]})
    sim.console(f'ReLink "S-{leaf[0]:016x}"[{leaf[1]}]')
    service.wait("back", lambda s: s["phase"] == "synced" and s["linksDown"] == 0, 30)
    until(lambda: "a port that is back may not join", lambda: clients.do(clients.guids.index(lost), "join", BROADCAST, "1")[0][2]["status"] == "0x0", 20)
    clients.as_ipoib(clients.guids.index(lost))
    wait_led(sim, walk, {0xC000: joined, 0xC001: joined})


def railweave(sim, binaries, kernel, client, folder, subnet, hosts):
    key_file = folder / "sa.key"
    key_file.write_text(KEY + "\n")
    key_file.chmod(0o600)
    keys = f'sweep_seconds = 2\nlook_seconds = 5\nadministration_key_file = "{key_file}"'
    guids = [int(host.partition("-")[2], 16) for host in hosts]
    with LiveService(sim, binaries, folder, subnet, keys) as service:
        accept(service)
        service.synced(60)
        sa = SaQuery(sim, kernel, hosts[3], KEY)
        sa.wait()
        assert members(sa) == {0xC000: set()}, members(sa)
        walk = SwitchWalk(sim)
        clients = Clients(sim, client, hosts, guids)
        chosen = [1, 2, 4, 5, 7, 9, 11]
        answers = [clients.as_ipoib(host) for host in chosen]
        joined = [guids[host] for host in chosen]
        assert members(sa) == {lid: {(guid, 1) for guid in joined} for lid in (0xC000, 0xC001)}, members(sa)
        wait_led(sim, walk, {0xC000: joined, 0xC001: joined})
        told, held = sa.multicast(), multicast_tables(sim)
        lids = {node[0]: lid for (lid, _), node in sa.nodes().items()}
        assert told == {lids[switch]: table for switch, table in held.items() if table}, (told, held)
        paths = group_paths(sa, [joined[0] + 1, joined[3] + 1, guids[3] + 1])
        assert [len(answer) for answer in paths[0]] == [1, 1, 1, 0, 1, 0, 0, 1, 1, 1, 1], paths
        for target in joined[1:]:
            traced = sim.run(["ibtracert", "-m", "0xc000", lid_of(walk, joined[0]), lid_of(walk, target)], host=hosts[3])
            assert traced.returncode == 0 and f"lid {lid_of(walk, target)}-" in traced.stdout, traced
        # One that only sends, and one that gets without keeping the group.
        clients.do(3, "join", ALL_HOSTS, "4")
        clients.do(8, "join", ALL_HOSTS, "2")
        wait_led(sim, walk, {0xC000: joined, 0xC001: [*joined, guids[8]]}, {0xC001: [guids[3]]})
        refused = clients.do(8, "join", MDNS, "1", "leave", MDNS, "1", "join", MDNS, "2")
        assert [fields["status"] for _, _, fields in refused] == ["0x600", "0x200", "0x200"], refused
        left = clients.do(8, "leave", ALL_HOSTS, "2") + clients.do(3, "leave", ALL_HOSTS, "4")
        assert all(fields["status"] == "0x0" for _, _, fields in left), left
        follow_faults(sim, service, walk, clients, sa, joined)

        flow = sim.run(["osmtest", "-f", "c", "-i", str(folder / "osmtest.dat")], host=hosts[6], behind=kernel)
        assert flow.returncode == 0 and "PASS" in flow.stdout, flow.stdout[-2000:] + flow.stderr[-2000:]
        flow = sim.run(["osmtest", "-f", "m", "-i", str(folder / "osmtest.dat")], host=hosts[6], behind=kernel)
        assert flow.returncode == 0 and 'TEST "Multicast" PASS' in flow.stdout, flow.stdout[-3000:] + flow.stderr[-2000:]
        wait_led(sim, walk, {0xC000: [*joined, guids[6]], 0xC001: joined})  # it stays in the broadcast group

        # Clients join again when they are asked to; until then groups are empty, and nothing is left of what was.
        service.restart()
        service.synced(60)
        sa.wait()
        assert members(sa) == {0xC000: set()}, members(sa)
        for host in reversed(chosen):
            clients.as_ipoib(host)
        wait_led(sim, walk, {0xC000: joined, 0xC001: joined})
        tables = multicast_tables(sim)
        assert all(set(table) <= {0xC000, 0xC001} for table in tables.values()), tables
    return answers, chosen, paths


def beside_lanes(binaries, kernel, client, folder):
    """On a torus, whose routes use two lanes: what packets to groups wait for closes no circle with all paths between adapters."""
    _, netlist, subnet = generate(binaries / "railweave", SHAPES["torus"][0], folder)
    hosts = hosts_of(netlist)
    key_file = folder / "sa.key"
    key_file.write_text(KEY + "\n")
    key_file.chmod(0o600)
    keys = f'{LANES}\nadministration_key_file = "{key_file}"'
    with Ibsim(netlist, host=hosts[0]) as sim, LiveService(sim, binaries, folder, subnet, keys) as service:
        accept(service)
        service.wait("synced on lanes", lambda s: s["phase"] == "synced" and s["lanes"]["used"] > 1, 60)
        sa = SaQuery(sim, kernel, hosts[3], KEY)
        sa.wait()
        walk = LaneWalk(sim)
        guids = [int(host.partition("-")[2], 16) for host in hosts]
        joined = list(range(1, len(hosts), 2))
        clients = Clients(sim, client, hosts, guids)
        for host in joined:
            clients.as_ipoib(host)
        receivers = [guids[host] for host in joined]
        wait_led(sim, walk, {0xC000: receivers, 0xC001: receivers})
        for cut in (False, True):
            if cut:
                end = next(end for end, peer in sorted(walk.cables.items()) if peer[0] not in walk.ends and end[1] in multicast_tables(sim)[end[0]].get(0xC000, ()))
                sim.console(f'Unlink "{walk.console_name(end[0], netlist)}"[{end[1]}]')
                service.wait("repaired", lambda s: s["phase"] == "synced" and s["linksDown"] == 1, 30)
                walk = LaneWalk(sim)
                wait_led(sim, walk, {0xC000: receivers, 0xC001: receivers})
            walk.add_all(Levels(service, walk.lids))
            assert not walk.lost and not walk.circle()
            alone = sum(len(others) for others in walk.next.values())
            levels = {int(one["Mlid"], 16): int(one["SL"], 16) for one in sa.dumps("-m") if "SL" in one}
            for lid in (0xC000, 0xC001):
                for source in receivers:
                    add_waits(walk, multicast_tables(sim), lid, source, levels.get(lid, 0))
            circle = walk.circle()
            assert not circle, f"packets wait for each other on {len(circle)} lanes of links, as {circle[:4]}"
            more = sum(len(others) for others in walk.next.values()) - alone
            assert more > 0, "groups add nothing to what waits: the test holds nothing"
            print(f"{'after a cut' if cut else 'whole'}: {len(joined)} members of 2 groups add {more} turns to {alone}, and no circle")
    return 0


def by_opensm(sim, kernel, client, folder, hosts, chosen):
    env = {"OSM_CACHE_DIR": str(folder), "OSM_TMP_DIR": str(folder)}
    opensm = sim.open(["opensm", "-e", "-R", "updn", "-f", str(folder / "osm.log"), "-D", "0x43"], seconds=100, host=hosts[0], behind=kernel, env=env)
    try:
        SaQuery(sim, kernel, hosts[3], KEY).wait(30)
        clients = Clients(sim, client, hosts, [])
        guids = [int(hosts[host].partition("-")[2], 16) + 1 for host in (chosen[0], chosen[3], 3)]
        return [clients.as_ipoib(host) for host in chosen], group_paths(SaQuery(sim, kernel, hosts[3], KEY), guids)
    finally:
        stop(opensm)


def main():
    binaries, kernel, client = (Path(word).resolve() for word in sys.argv[1:4])
    lacking = missing() or next((tool for tool in ("opensm", "osmtest", "saquery", "ibtracert", "dump_fts") if not shutil.which(tool)), None)
    if lacking:
        print(f"skipped: {lacking}")
        return 77
    with tempfile.TemporaryDirectory(prefix="railweave-mc-") as name:
        folder = Path(name)
        if sys.argv[4:] == ["lanes"]:
            return beside_lanes(binaries, kernel, str(client), folder)
        _, netlist, subnet = generate(binaries / "railweave", TREE, folder)
        hosts = hosts_of(netlist)
        with Ibsim(netlist, host=hosts[0]) as sim:
            own, chosen, paths = railweave(sim, binaries, kernel, str(client), folder, subnet, hosts)
            theirs = by_opensm(sim, kernel, str(client), folder, hosts, chosen)
        assert (own, paths) == theirs, (own, paths, theirs)
    print(f"{len(own)} clients in 2 groups, each packet once at each, before and after faults; answers as OpenSM's; osmtest's multicast flow passes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
