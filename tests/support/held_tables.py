"""What switches of a simulated subnet hold, read by another program than the service (tests/integration/raw_smp) and walked here.

    cabling = Cabling(sim, host)                       by ibnetdiscover
    with Watch(sim, probe, cabling, avoid=[cable], seconds=5) as watch: ...
    for at, tables in watch.samples(): cabling.lost(tables, dead=cable)
"""
import re
import subprocess
from collections import defaultdict, deque


class Cabling:
    def __init__(self, sim, host=None):
        self.host = host or sim.host
        text = sim.run(["ibnetdiscover"], host=host, seconds=60).stdout
        self.peer, self.ends, self.switch_lid, self.name, self.at = {}, [], {}, {}, None
        device = None
        for line in text.splitlines():
            if found := re.match(r'Switch\s+\d+\s+"S-([0-9a-f]+)"\s+#\s+"(.*?)"\s+(?:base|enhanced) port 0 lid (\d+)', line):
                device = ("S", found[1])
                self.switch_lid[found[1]], self.name[found[1]] = int(found[3]), found[2]
            elif found := re.match(r'(?:Ca|Hca)\s+\d+\s+"H-([0-9a-f]+)"\s+#\s+"(.*?)"', line):
                device = ("H", found[1])
                self.name[found[1]] = found[2]
            elif device and (found := re.match(r'\[(\d+)\](?:\([0-9a-f]+\))?\s+"([SH])-([0-9a-f]+)"\[(\d+)\](?:\([0-9a-f]+\))?\s+#\s+(?:lid (\d+) lmc (\d+))?', line)):
                port, kind, other, other_port = int(found[1]), found[2], found[3], int(found[4])
                if device[0] == "S" and kind == "S":
                    self.peer[device[1], port] = (other, other_port)
                elif device[0] == "H" and kind == "S":
                    if self.host in (self.name[device[1]], f"H-{device[1]}"):
                        self.at = (other, port)
                    self.ends.append((int(found[5] or 0), other, other_port, self.name[device[1]]))
        assert self.at and self.ends and all(lid for lid, *_ in self.ends), text[-500:]
        self.leaves = sorted({switch for _, switch, _, _ in self.ends})

    def console_name(self, switch, netlist):
        """As ibsim's console calls it: what the netlist has before its description."""
        own = f"S-{switch}"
        return own if f'"{own}"' in open(netlist, encoding="utf-8", errors="replace").read() else self.name[switch]

    def routes(self, avoid=()):
        """Directed routes from the host to every switch, as raw_smp takes them, over no cable with an end in `avoid`."""
        avoid = self.both_ends(avoid)
        routes, queue = {self.at[0]: f"0,{self.at[1]}"}, deque([self.at[0]])
        while queue:
            switch = queue.popleft()
            for (at, port), (other, _) in sorted(self.peer.items()):
                if at != switch or other in routes or (at, port) in avoid:
                    continue
                routes[other] = f"{routes[switch]},{port}"
                queue.append(other)
        return routes

    def top(self):
        return max([lid for lid, *_ in self.ends] + list(self.switch_lid.values()))

    def _walk(self, tables, dead, start, lid, goal):
        """Whether packets get from a switch to the switch and port."""
        at = start
        for _ in range(len(self.switch_lid) + 1):
            port = tables.get(at, {}).get(lid)
            if at == goal[0] and port == goal[1]:
                return True
            if (at, port) not in self.peer or (at, port) in dead:
                return False
            at = self.peer[at, port][0]
        return False

    def lost(self, tables, dead=()):
        """{(leaf, LID of an end port)} and {(leaf, LID of a switch)} that are not reached. dead: ends of cables that are out."""
        dead = self.both_ends(dead)
        pairs = {(leaf, lid) for lid, switch, port, _ in self.ends for leaf in self.leaves
                 if not self._walk(tables, dead, leaf, lid, (switch, port))}
        switches = {(leaf, lid) for switch, lid in self.switch_lid.items() for leaf in self.leaves
                    if not self._walk(tables, dead, leaf, lid, (switch, 0))}
        return pairs, switches

    def both_ends(self, cables):
        return set(cables) | {self.peer[end] for end in cables if end in self.peer}

    def circle(self, tables, dead=()):
        """Whether channels wait for each other in a circle, by all routes between end ports together."""
        dead, waits = self.both_ends(dead), defaultdict(set)
        for lid, _switch, _port, _ in self.ends:
            for leaf in self.leaves:
                at, before = leaf, None
                for _ in range(len(self.switch_lid) + 1):
                    out = tables.get(at, {}).get(lid)
                    if (at, out) not in self.peer or (at, out) in dead:
                        break
                    if before:
                        waits[before].add((at, out))
                    before, at = (at, out), self.peer[at, out][0]
        left = {channel: set(after) for channel, after in waits.items()}
        while free := [channel for channel, after in left.items() if not any(one in left for one in after)]:
            for channel in free:
                del left[channel]
        return bool(left)


def raw(sim, probe, *commands, host=None):
    """The answers of raw_smp, a line each."""
    done = subprocess.run(**sim._started([probe], 60, host), input="".join(line + "\n" for line in commands), capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


LONGEST_READING = 0.5  # seconds in which all tables are read: shorter than what packets are given to leave between two steps


class Watch:
    """Tables of all switches, read again and again in the background."""

    def __init__(self, sim, probe, cabling, seconds, avoid=(), host=None, pause_ms=10):
        self.blocks = cabling.top() // 64 + 1
        self.process = sim.open([probe], seconds=int(seconds) + 30, host=host)
        for switch, route in cabling.routes(avoid).items():
            self.process.stdin.write(f"switch {switch} {route}\n")
        self.process.stdin.write(f"watch {seconds} {self.blocks} {pause_ms}\n")
        self.process.stdin.close()
        self.process.stdin = None

    def samples(self):
        """[(monotonic seconds, {switch: {LID: port}})], each the tables as last read by then. `mixed` has the times of those that are of no
        one moment: a switch did not answer, so that its table is an older one, or the reading took long enough for several steps."""
        said, failed = self.process.communicate()
        assert "watched" in said, said[-300:] + failed
        samples, tables, at = [], {}, 0.0
        self.unread, self.mixed = 0, set()
        for line in said.splitlines():
            words = line.split()
            if words[0] == "at":
                if tables:
                    samples.append((at, {switch: dict(table) for switch, table in tables.items()}))
                if float(words[1]) - at > LONGEST_READING:
                    self.mixed.add(at)
                at = float(words[1])
            elif words[-1] == "unread":
                self.unread += 1
                self.mixed.add(at)
            elif len(words) == 3:
                table, entries = tables.setdefault(words[0], {}), bytes.fromhex(words[2])
                for place, port in enumerate(entries):
                    lid = int(words[1]) * 64 + place
                    table.pop(lid, None)
                    if port != 255:
                        table[lid] = port
        return samples + [(at, tables)]

    def moments(self, samples):
        """Those that are of one moment, which most must be. A reading takes a while: entries of a LID that the readings before and after have
        otherwise, both, are of no moment that there was, so that those from before stand for them."""
        whole = [(at, tables) for at, tables in samples if at not in self.mixed]
        assert len(whole) > len(samples) / 2, f"only {len(whole)} of {len(samples)} readings are of one moment"
        judged = whole[:1]
        for k in range(1, len(whole) - 1):
            (_, before), (at, tables), (_, after) = whole[k - 1:k + 2]
            if changing := changed(before, tables) & changed(tables, after):
                tables = with_columns(tables, judged[-1][1], changing)
            judged.append((at, tables))
        return judged + whole[1:][-1:]


def changed(before, after):
    """LIDs of which some switch has another entry."""
    lids = set()
    for switch, table in after.items():
        if (other := before.get(switch, {})) != table:
            lids |= {lid for lid in table.keys() | other.keys() if table.get(lid) != other.get(lid)}
    return lids


def with_columns(tables, other, lids):
    """Tables with the entries of these LIDs that the other tables have."""
    made = {}
    for switch, table in tables.items():
        made[switch] = {lid: port for lid, port in table.items() if lid not in lids}
        made[switch].update((lid, port) for lid, port in other.get(switch, {}).items() if lid in lids)
    return made
