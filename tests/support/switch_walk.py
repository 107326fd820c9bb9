"""Routes as the switches of a simulated subnet hold them, walked apart from Railweave: cables by ibnetdiscover, tables by
dump_fts (infiniband-diags)."""
import re
from collections import Counter


class SwitchWalk:
    """cables: {(switch GUID, port): (device GUID, port)}; ends: {adapter GUID, in hexadecimal: (its switch, port there)}; lids by adapter GUID."""

    def __init__(self, sim):
        self.cables, self.ends, self.lids, self.names = {}, {}, {}, {}
        device = None
        for line in sim.run(["ibnetdiscover"]).stdout.splitlines():
            if head := re.match(r'(Switch|Ca)\s+\d+ "[SH]-([0-9a-f]+)"\s+# "([^"]*)"', line):
                device = (head[1], int(head[2], 16))
                self.names[device[1]] = head[3]
            elif device and (cable := re.match(r'\[(\d+)\](?:\([0-9a-f]+\))?\s+"([SH])-([0-9a-f]+)"\[(\d+)\](.*)', line)):
                peer = (int(cable[3], 16), int(cable[4]))
                if device[0] == "Switch":
                    self.cables[device[1], int(cable[1])] = peer
                    if cable[2] == "H":
                        self.ends[peer[0]] = (device[1], int(cable[1]))
                elif lid := re.search(r"# lid (\d+)", cable[5]):
                    self.lids[device[1]] = int(lid[1])
        self.read(sim)

    def read(self, sim):
        """The tables once more."""
        self.tables, table = {}, None
        for line in sim.run(["dump_fts"]).stdout.splitlines():
            if heading := re.search(r"Unicast lids \[.*guid 0x([0-9a-f]+) ", line):
                table = self.tables.setdefault(int(heading[1], 16), {})
            elif entry := re.match(r"0x([0-9a-f]{4}) (\d{3})\b", line):
                table[int(entry[1], 16)] = int(entry[2])
        return self

    def path(self, source, target):
        """[(switch, out port)] of packets between two adapters, and whether they arrive."""
        hops, at = [], self.ends[source][0]
        for _ in range(64):
            out = self.tables.get(at, {}).get(self.lids[target], 255)
            hops.append((at, out))
            peer = self.cables.get((at, out))
            if peer is None:
                return hops, False
            if peer[0] == target:
                return hops, True
            at = peer[0]
        return hops, False

    def loads(self):
        """Ordered pairs of adapters over each directed link between switches, named by the port that they leave by."""
        load = Counter()
        for source in self.ends:
            for target in self.ends:
                if source == target:
                    continue
                hops, arrived = self.path(source, target)
                for hop in hops[:-1] if arrived else []:
                    load[hop] += 1
        return load
