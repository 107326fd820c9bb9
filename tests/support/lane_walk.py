"""Every pair of adapters walked over the forwarding tables and the SL-to-VL tables that the switches of a simulated subnet hold, lane by
lane, apart from Railweave: cables by ibnetdiscover, tables by dump_fts and smpquery (infiniband-diags)."""
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from switch_walk import SwitchWalk


def read_maps(sim, walk):
    """{(switch GUID, in port, out port): [VL by SL]} of all ports between switches, as `smpquery sl2vl` prints them."""
    lids = {}
    for line in sim.run(["ibnetdiscover"]).stdout.splitlines():
        if head := re.match(r'Switch\s+\d+ "S-([0-9a-f]+)".* lid (\d+) lmc', line):
            lids[int(head[1], 16)] = int(head[2])
    outs = [(switch, port) for (switch, port), peer in walk.cables.items() if peer[0] not in walk.ends]

    def one(switch, port):
        said = sim.run(["smpquery", "sl2vl", str(lids[switch]), str(port)])
        rows = {}
        for row in re.finditer(r"^ports: in\s+(\d+), out\s+(\d+): \|(.*)\|\s*$", said.stdout, re.MULTILINE):
            assert int(row[2]) == port, row[0]
            rows[switch, int(row[1]), port] = [int(lane) for lane in row[3].split("|")]
        assert rows, f"no SL to VL of {switch:x} port {port}: {said.stdout}{said.stderr}"
        return rows

    maps = {}
    with ThreadPoolExecutor(4) as pool:
        for rows in pool.map(lambda out: one(*out), outs):
            maps.update(rows)
    return maps


class LaneWalk(SwitchWalk):
    def __init__(self, sim):
        super().__init__(sim)
        self.maps = read_maps(sim, self)
        self.start_over()

    def start_over(self):
        self.lost, self.lanes, self.levels = [], set(), set()
        self.next = {}  # (switch, out port, lane) -> those that a packet on it waits for next

    def add_all(self, level_of):
        """level_of(source, target): the service level that the sender's packets have, by adapter GUIDs."""
        for source in self.ends:
            for target in self.ends:
                if source != target:
                    self.add(source, target, level_of(source, target))

    def add(self, source, target, level):
        hops, arrived = self.path(source, target)
        if not arrived:
            self.lost.append((source, target))
            return
        self.levels.add(level)
        entered, before = self.ends[source][1], None
        for switch, out in hops[:-1]:  # the last one leads to the adapter, which waits for nothing
            lane = self.maps[switch, entered, out][level]
            if lane == 15:
                self.lost.append((source, target))
                return
            self.lanes.add(lane)
            channel = (switch, out, lane)
            self.next.setdefault(channel, set())
            if before:
                self.next[before].add(channel)
            before, entered = channel, self.cables[switch, out][1]

    def console_name(self, switch, netlist):
        """As ibsim's console calls it: what the netlist has before its description."""
        own = f"S-{switch:016x}"
        return own if f'"{own}"' in Path(netlist).read_text(encoding="utf-8", errors="replace") else self.names[switch]

    def circle(self):
        """Channels that wait for each other in a circle; none: []."""
        waits = {channel: 0 for channel in self.next}
        for others in self.next.values():
            for channel in others:
                waits[channel] += 1
        free = [channel for channel, count in waits.items() if count == 0]
        while free:
            channel = free.pop()
            for other in self.next[channel]:
                waits[other] -= 1
                if waits[other] == 0:
                    free.append(other)
            del waits[channel]
        return sorted(waits)
