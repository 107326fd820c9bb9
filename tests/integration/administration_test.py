#!/usr/bin/env python3
"""railweaved in direct mode as the subnet's administration. saquery asks it from another node for devices, links, tables and paths, and what it
answers is compared with what infiniband-diags read from the switches and ports themselves; then OpenSM takes the same subnet, and what both say
of every path between adapters is compared.

administration_test.py BIN_FOLDER RMPP_KERNEL SA_MULTI_PATH tree|torus      exit code 77: skipped, and why
"""
import re
import shutil
import sys
import tempfile
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from direct_lanes_test import accept, end_between_switches  # noqa: E402
from ibsim import Ibsim, missing, stop  # noqa: E402
from lane_walk import LaneWalk  # noqa: E402
from live import LiveService, generate  # noqa: E402
from qos_programming_test import weights  # noqa: E402
from sa_query import SaQuery  # noqa: E402
from switch_walk import SwitchWalk  # noqa: E402
from waiting import until  # noqa: E402

HOST = ["--gpus-per-host", "1", "--nics-per-host", "1", "--nvlink-domain", "1"]
TREE = ["fat-tree", "--hosts", "12", "--radix", "8", "--tiers", "2", "--speed", "HDR", *HOST]
TORUS = ["torus", "--x", "4", "--y", "4", "--z", "1", "--hosts-per-switch", "2", *HOST]
KEY = "0x5a17"


def hosts_of(netlist):
    return re.findall(r'^(?:Ca|Hca)\s+\d+\s+"([^"]+)"', Path(netlist).read_text(encoding="utf-8"), re.MULTILINE)


def port_info(sim, lid, port):
    said = sim.run(["smpquery", "portinfo", str(lid), str(port)]).stdout
    return dict(re.findall(r"^(\w+):\.*(.*)$", said, re.MULTILINE))


class Found:
    """The subnet as ibnetdiscover, dump_fts and smpquery find it."""

    def __init__(self, sim):
        self.sim, self.walk = sim, SwitchWalk(sim)
        self.devices, self.lid_of = {}, {}
        device = None
        for line in sim.run(["ibnetdiscover"]).stdout.splitlines():
            if head := re.match(r'(Switch|Ca)\s+(\d+) "[SH]-([0-9a-f]+)"\s+# "([^"]*)"', line):
                device = int(head[3], 16)
                self.devices[device] = ("Switch" if head[1] == "Switch" else "Channel Adapter", int(head[2]), head[4])
                if lid := re.search(r" lid (\d+) lmc", line):
                    self.lid_of[device] = int(lid[1])
            elif lid := re.match(r"\[\d+\]\([0-9a-f]+\).*# lid (\d+) ", line):
                self.lid_of.setdefault(device, int(lid[1]))
        self.speeds = {}

    def speed(self, lid, port):
        """(MTU in PathRecord's code, Gb/s) of a port."""
        if (lid, port) not in self.speeds:
            info = port_info(self.sim, lid, port)
            mtu = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}
            lanes = int(info["LinkWidthActive"].rstrip("X"))
            lane = info.get("LinkSpeedExtActive", "")
            lane = lane if "Gbps" in lane else info["LinkSpeedActive"]
            gbps = {"14.0625": 14, "25.78125": 25, "53.125": 50}.get(lane.split()[0], float(lane.split()[0]))
            self.speeds[lid, port] = mtu[int(info.get("NeighborMTU", info["MtuCap"]))], lanes * gbps
        return self.speeds[lid, port]

    def path(self, source, target):
        """(MTU, rate) along the switches' tables."""
        hops, arrived = self.walk.path(source, target)
        assert arrived, (source, target)
        ends = [(self.lid_of[source], 1), (self.lid_of[target], 1)]
        for switch, out in hops:
            ends.append((self.lid_of[switch], out))
            peer, port = self.walk.cables[switch, out]
            ends.append((self.lid_of[peer], port))
        ends.append((self.lid_of[hops[0][0]], self.walk.ends[source][1]))
        speeds = [self.speed(*end) for end in ends]
        return min(mtu for mtu, _ in speeds), min(rate for _, rate in speeds)


def compare_tables(sa, found):
    """What the administration says of devices, links and tables is what was read from them."""
    nodes = sa.nodes()
    assert {one[0]: one[1:] for one in nodes.values()} == {guid: (kind, ports, text) for guid, (kind, ports, text) in found.devices.items()}, nodes
    assert {one[0]: lid for (lid, _), one in nodes.items()} == found.lid_of
    links = {((found.lid_of[a], pa), (found.lid_of[b], pb)) for (a, pa), (b, pb) in found.walk.cables.items()}
    links |= {(b, a) for a, b in links}
    assert sa.links() == links
    tables = {found.lid_of[guid]: {lid: port for lid, port in table.items() if port != 255} for guid, table in found.walk.read(found.sim).tables.items()}
    assert sa.tables() == tables
    return len(nodes), len(links), sum(len(table) for table in tables.values())


def between_adapters(paths, found):
    ends = {found.lid_of[guid]: guid for guid in found.walk.ends}
    return {(ends[a], ends[b]): path for (a, b), path in paths.items() if a in ends and b in ends and a != b}


def compare_paths(sa, found):
    """Every pair of adapters has one path, as fast as the slowest port on the way by the switches' own tables."""
    paths = between_adapters(sa.paths(), found)
    assert len(paths) == len(found.walk.ends) * (len(found.walk.ends) - 1), len(paths)
    for (source, target), path in paths.items():
        assert (path["mtu"], path["rate"]) == found.path(source, target), (source, target, path, found.path(source, target))
        assert path["key"] == 0xFFFF and path["life"] == 18, path
    return paths


def by_opensm(sim, kernel, folder, hosts, found, multi_path):
    """The paths between adapters as OpenSM answers on the same subnet."""
    log = folder / "osm.log"
    env = {"OSM_CACHE_DIR": str(folder), "OSM_TMP_DIR": str(folder)}
    opensm = sim.open(["opensm", "-e", "-R", "updn", "-f", str(log), "-D", "0x43"], seconds=100, host=hosts[0], behind=kernel, env=env)
    try:
        sa = SaQuery(sim, kernel, hosts[3], "0x1")
        sa.wait(30)
        until(lambda: "OpenSM does not know all devices", lambda: len(sa.nodes()) == len(found.devices), 30)
        return sa.nodes(), sa.links(), between_adapters(sa.paths(), found), sa.guids(), multi_paths(sim, kernel, multi_path, hosts[3], found)
    finally:
        stop(opensm)


def multi_paths(sim, kernel, program, host, found):
    """What is answered to questions for paths between several ports at once, beginning with one for a path and another to fall back on."""
    ports = [f"{guid + 1:x}" for guid in sorted(found.walk.ends)]
    questions = (["2", *ports[1:3], "to", *ports[5:7]], ["100", *ports[:4], "to", *ports[4:11]], ["3", *ports[:2], "to", *ports[2:5]],
                 ["9", ports[1], "to", ports[1]], ["9", "77", "to", ports[1]], ["9", "to", ports[1]], ["0", ports[1], "to", ports[2]])
    answers = [sim.run([program, *words], host=host, behind=kernel, seconds=20).stdout for words in questions]
    assert [answer.count("path") for answer in answers] == [2, 28, 3, 1, 0, 0, 0], answers
    return answers


def keys_and_strangers(sim, kernel, hosts, trusted, found):
    own = found.lid_of[int(hosts[3].partition("-")[2], 16)]
    stranger = SaQuery(sim, kernel, hosts[3])
    assert len(stranger.nodes()) == len(trusted.nodes())  # all are in the default partition
    assert {int(one["LID"]) for one in stranger.dumps("PKTR")} == {own}, "a stranger sees others' tables of keys"
    assert len({int(one["LID"]) for one in trusted.dumps("PKTR")}) > 1
    wrong = SaQuery(sim, kernel, hosts[3], "0x5a18").ask("-t", "300", "NR")
    assert wrong.returncode != 0 and "timed out" in wrong.stderr, wrong
    for words, why in ((["--src-to-dst", "1:4000"], "NO_RECORDS"), (["--sgid-to-dgid", "fe80::1-fe80::2"], "INVALID"), (["IIR", "fe80::77"], "NO_RECORDS")):
        refused = stranger.ask("-t", "1000", *words)
        assert refused.returncode != 0 or not refused.stdout.strip(), (words, why, refused)


def services(sim, kernel, hosts, sa, folder):
    """osmtest registers services, finds, changes and ends them, and lets some run out."""
    words = ["-i", str(folder / "osmtest.dat")]
    for flow, name in (("c", "Create Inventory"), ("s", "Services Registration")):
        ran = sim.run(["osmtest", "-f", flow, *words], host=hosts[5], behind=kernel)
        assert ran.returncode == 0 and f'TEST "{name}" PASS' in ran.stdout, ran.stdout[-3000:] + ran.stderr[-2000:]
    left = sa.dumps("SR")
    assert all("ServiceName" in one for one in left), left


def tree(binaries, kernel, multi_path, folder):
    _, netlist, subnet = generate(binaries / "railweave", TREE, folder)
    hosts = hosts_of(netlist)
    key_file = folder / "sa.key"
    key_file.write_text(KEY + "\n")
    key_file.chmod(0o600)
    keys = f'sweep_seconds = 2\nlook_seconds = 5\nadministration_key_file = "{key_file}"'
    with Ibsim(netlist, host=hosts[0]) as sim:
        # Records of services reach to the end of a datagram, which ibsim's port does not hand on by itself.
        with LiveService(sim, binaries, folder, subnet, keys, behind=kernel) as service:
            accept(service)
            service.synced(60)
            sa = SaQuery(sim, kernel, hosts[3], KEY)
            sa.wait()
            cpi = sa.dumps("-c")[0]
            assert cpi["Class version"] == "2", cpi

            found = Found(sim)
            nodes, links, entries = compare_tables(sa, found)
            paths = compare_paths(sa, found)
            assert all(path["sl"] == 0 and path["reversible"] for path in paths.values())
            # The same by single questions, by LID and by GID, in one datagram each.
            pair = min(paths)
            for words in (["--slid", str(found.lid_of[pair[0]]), "--dlid", str(found.lid_of[pair[1]]), "PR"],
                          ["--src-to-dst", f"{found.lid_of[pair[0]]}:{found.lid_of[pair[1]]}"]):
                assert list(between_adapters(sa.paths(*words), found).items()) == [(pair, paths[pair])], words
            # Segments that are lost are sent again, each after a pause.
            assert sa.nodes(lose=7, timeout=15_000) == sa.nodes()
            # Where the administration is, as clients and other tools find it.
            master = found.lid_of[int(hosts[0].partition("-")[2], 16)]
            assert {int(one["LID"]) for one in sa.dumps("SMIR")} == {master}
            for host in (hosts[3], hosts[7]):
                info = port_info(sim, found.lid_of[int(host.partition("-")[2], 16)], 1)
                assert int(info["SMLid"]) == master, info
            one = found.lid_of[min(found.walk.ends)]
            ports = sa.dumps("PIR", f"{one}/1")
            assert len(ports) == 1 and int(ports[0]["EndPortLid"]) == one, ports
            assert {int(one["RID"] if "RID" in one and one["RID"] else one["LID"]) for one in sa.dumps("SWIR")} == {
                lid for guid, lid in found.lid_of.items() if found.devices[guid][0] == "Switch"}
            keys_and_strangers(sim, kernel, hosts, sa, found)
            services(sim, kernel, hosts, sa, folder)
            traced = sim.run(["ibtracert", str(found.lid_of[pair[0]]), str(found.lid_of[pair[1]])], host=hosts[3])
            assert traced.returncode == 0 and f"lid {found.lid_of[pair[1]]}" in traced.stdout, traced

            # After a cut it says what switches have then.
            end = end_between_switches(found.walk)
            repairs = service.live()["repairsTotal"]
            sim.console(f'Unlink "S-{end[0]:016x}"[{end[1]}]')
            service.wait("repaired", lambda s: s["linksDown"] == 1 and s["repairsTotal"] > repairs, 30)
            service.synced(30)
            found = Found(sim)
            assert len(found.walk.cables) > 0
            until(lambda: "the cut cable is still told", lambda: len(sa.links()) == links - 2, 10)
            compare_tables(sa, found)
            compare_paths(sa, found)
            with urllib.request.urlopen(service.url + "/metrics") as page:
                metrics = page.read().decode()
            asked = int(re.search(r'railweave_subnet_administration_requests_total\{subnet="[^"]+",answer="ok"\} (\d+)', metrics)[1])
            assert asked > 10, metrics
            sim.console(f'ReLink "S-{end[0]:016x}"[{end[1]}]')
            service.wait("joined", lambda s: s["phase"] == "synced" and s["linksDown"] == 0, 30)
            until(lambda: "the cable is not told", lambda: len(sa.links()) == links, 10)
            found = Found(sim)
            own = sa.nodes(), sa.links(), between_adapters(sa.paths(), found), sa.guids(), multi_paths(sim, kernel, multi_path, hosts[3], found)
        theirs = by_opensm(sim, kernel, folder, hosts, found, multi_path)
        assert own[0] == theirs[0] and own[1] == theirs[1] and own[3:] == theirs[3:], (own[3:], theirs[3:])
        assert own[2] == theirs[2], [(pair, own[2][pair], theirs[2].get(pair)) for pair in own[2] if own[2][pair] != theirs[2].get(pair)][:3]
        print(f"tree: {nodes} devices, {links} ends of links, {entries} entries and {len(paths)} paths as read from switches; "
              f"{len(own[2])} paths as OpenSM has them")
    return 0


def arbitration(sim, sa):
    """The weights that are told are those that smpquery reads from the port."""
    records = [one for one in sa.dumps("VLAR") if one["Block"] in ("1", "3")]
    assert records, "no port has weights"
    for one in records[:: max(1, len(records) // 16)]:
        held = weights(sim.run(["smpquery", "vlarb", one["LID"], one["Port"]]).stdout)
        told = [pair for pair in zip(one["VL"], one["Weight"]) if pair[1]]
        assert told == held[one["Block"] == "3"], (one, held)
    return len(records)


def torus(binaries, kernel, multi_path, folder):
    """On several lanes: with the levels that the administration gives there is no circle of waits, and they are the service's."""
    _, netlist, subnet = generate(binaries / "railweave", TORUS, folder)
    hosts = hosts_of(netlist)
    keys = "sweep_seconds = 2\nlook_seconds = 5\nseveral_lanes = true"
    with Ibsim(netlist, host=hosts[0]) as sim, LiveService(sim, binaries, folder, subnet, keys) as service:
        accept(service)
        service.wait("synced on lanes", lambda s: s["phase"] == "synced" and s["lanes"]["used"] > 1, 60)
        sa = SaQuery(sim, kernel, hosts[5])
        sa.wait()
        until(lambda: "no levels are told", lambda: any(p["sl"] for p in sa.paths().values()), 20)
        found = Found(sim)
        paths = compare_paths(sa, found)
        assert len({path["sl"] for path in paths.values()}) > 1, "one level: the test holds nothing"
        walk = LaneWalk(sim)
        walk.add_all(lambda source, target: paths[source, target]["sl"])
        assert not walk.lost and not walk.circle(), walk.circle()[:4]
        for (source, target), path in paths.items():
            assert path["reversible"] == (path["sl"] == paths[target, source]["sl"]), (path, paths[target, source])
        tables = arbitration(sim, sa)
        both = sum(path["reversible"] for path in paths.values())
        print(f"torus: {len(paths)} paths on levels {sorted({p['sl'] for p in paths.values()})}, {both} of them with the same level in both directions; "
              f"{tables} tables of weights")
    return 0


def main():
    binaries, kernel, multi_path = (Path(word).resolve() for word in sys.argv[1:4])
    case = sys.argv[4]
    lacking = missing() or next((tool for tool in ("opensm", "saquery", "ibtracert", "dump_fts", "smpquery") if not shutil.which(tool)), None)
    if lacking:
        print(f"skipped: {lacking}")
        return 77
    with tempfile.TemporaryDirectory(prefix="railweave-sa-") as folder:
        return {"tree": tree, "torus": torus}[case](binaries, kernel, str(multi_path), Path(folder))


if __name__ == "__main__":
    sys.exit(main())
