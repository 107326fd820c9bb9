"""What the kernel of a node does with the packets of one interface: HTB classes by tc(8), marks by nft(8), set and read back.

Packets of a pair (a DSCP of a class towards an address) stay in their class up to the pair's rate; the rest is re-marked best
effort, or waits where the job's maximum is its guarantee. Any other packet with a class's mark is made best effort."""
import json
import math
import re
import subprocess

NO_QUEUE = 2       # HTB: 1:2 takes what is best effort, pairs follow
FRAME = 1514       # bytes
# Guarantees are of what is sent in frames, as reservations leave a twentieth of each link for headers; queues count whole frames.
FRAME_PER_PAYLOAD = 1514 / 1448
UNITS = {"bytes": 1, "kbytes": 1024, "mbytes": 1 << 20}
RATES = {"bit": 1, "Kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9}


def run(*command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=10)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


class Pair:
    """Of one job and destination. dscp: of its class; waits: above its rate it waits, as the job has no more."""

    def __init__(self, job, address, dscp, waits):
        self.job, self.address, self.dscp, self.waits = job, address, dscp, waits
        self.mbps, self.number = 0, None
        self.offered_bytes, self.demand_mbps = 0, 0.0

    @property
    def name(self):
        return f"{self.job}_{self.address}".replace("-", "_").replace(".", "_")


class Queues:
    def __init__(self, interface, link_mbps, class_dscps, best_effort, enter=()):
        """enter: a command before each, as `ip netns exec NAME`."""
        self.interface, self.link, self.enter = interface, link_mbps, tuple(enter)
        self.class_dscps, self.best_effort = sorted(class_dscps), best_effort
        self.pairs, self.table, self.free = {}, f"railweave_agent_{interface}", NO_QUEUE + 1

    def _run(self, *command, text=None):
        return run(*self.enter, *command, text=text)

    def begin(self):
        try:  # of an earlier run; its marks stay until they are replaced
            self._run("tc", "qdisc", "del", "dev", self.interface, "root")
        except RuntimeError:
            pass
        self._run("tc", "qdisc", "add", "dev", self.interface, "root", "handle", "1:", "htb", "default", str(NO_QUEUE))
        self._class(1, self.link, self.link, parent="1:")
        self._class(NO_QUEUE, max(1, self.link // 20), self.link, prio=7)
        self.mark()

    def end(self):
        for command in (("tc", "qdisc", "del", "dev", self.interface, "root"), ("nft", "delete", "table", "netdev", self.table)):
            try:
                self._run(*command)
            except RuntimeError:
                pass  # was not there

    def _class(self, number, rate, ceiling, parent="1:1", prio=0):
        burst = max(4 * FRAME, int(ceiling * 125 * 2))  # two milliseconds
        self._run("tc", "class", "replace", "dev", self.interface, "parent", parent, "classid", f"1:{number:x}", "htb", "rate", f"{int(rate * 1000)}kbit",
                  "ceil", f"{int(ceiling * 1000)}kbit", "burst", str(burst), "cburst", str(burst), "prio", str(prio), "quantum", "3028")

    def want(self, pairs):
        """The pairs that there are; those that stay keep their queues."""
        gone = [self.pairs.pop(key) for key in list(self.pairs) if key not in pairs]
        for key, pair in pairs.items():
            if key not in self.pairs:
                pair.number, self.free = self.free, self.free + 1
                self._class(pair.number, 1, 1 if pair.waits else self.link)
                if pair.waits:
                    self._run("tc", "qdisc", "replace", "dev", self.interface, "parent", f"1:{pair.number:x}", "pfifo", "limit", "100")
                self.pairs[key] = pair
        self.mark()
        for pair in gone:
            self._run("tc", "class", "del", "dev", self.interface, "classid", f"1:{pair.number:x}")

    def set(self, rates):
        """Mb/s by pair. Only what differs is written."""
        changed = [key for key, pair in self.pairs.items() if rates.get(key, 0) != pair.mbps]
        for key in changed:
            pair = self.pairs[key]
            pair.mbps = rates.get(key, 0)
            rate = min(self.link, max(1, pair.mbps * FRAME_PER_PAYLOAD))
            self._class(pair.number, rate, rate if pair.waits else self.link)
        if changed:
            self.mark()

    def mark(self):
        """One transaction: the table's counters stay, its rules are replaced."""
        name = f"netdev {self.table}"
        lines = [f"add table {name}", f'add chain {name} send {{ type filter hook egress device "{self.interface}" priority 0; policy accept; }}',
                 f"flush chain {name} send"]
        for pair in self.pairs.values():
            lines += [f"add counter {name} {pair.name}"]
            match = f"add rule {name} send ip daddr {pair.address} ip dscp {pair.dscp}"
            lines.append(f"{match} counter name {pair.name}")
            place = f"meta priority set 1:{pair.number:x} accept"
            if pair.mbps and pair.waits:
                lines.append(f"{match} {place}")
            elif pair.mbps:
                burst = max(10 * FRAME, pair.mbps * 125 * 10)  # ten milliseconds
                lines.append(f"{match} limit rate {int(pair.mbps * 125000 * FRAME_PER_PAYLOAD)} bytes/second burst {burst} bytes {place}")
        if self.class_dscps:
            lines.append(f"add rule {name} send ip dscp {{ {', '.join(map(str, self.class_dscps))} }} counter ip dscp set {self.best_effort}")
        self._run("nft", "-f", "-", text="\n".join(lines) + "\n")

    def measure(self, seconds):
        """The demand of each pair since the last time: what was offered, before any limit."""
        answer = json.loads(self._run("nft", "-j", "list", "counters", "table", "netdev", self.table))
        bytes_of = {one["counter"]["name"]: one["counter"]["bytes"] for one in answer["nftables"] if "counter" in one}
        backlog = self._backlogs()
        for pair in self.pairs.values():
            now = bytes_of.get(pair.name, 0)
            pair.demand_mbps = max(0, now - pair.offered_bytes) * 8 / 1e6 / seconds
            pair.offered_bytes = now
            if pair.waits and backlog.get(pair.number, 0) > 2 * FRAME:
                pair.demand_mbps = float("inf")

    def _classes(self):
        return re.split(r"^(?=class htb )", self._run("tc", "-s", "class", "show", "dev", self.interface), flags=re.M)

    def _backlogs(self):
        backlogs = {}
        for text in self._classes():
            at, held = re.match(r"class htb 1:([0-9a-f]+)", text), re.search(r"backlog (\d+)(K?)b", text)
            if at and held:
                backlogs[int(at[1], 16)] = int(held[1]) * (1024 if held[2] else 1)
        return backlogs

    def read_back(self):
        """Mb/s that each pair may send in its class, by what the kernel says that it does, whatever was asked for."""
        listed = json.loads(self._run("nft", "-j", "list", "chain", "netdev", self.table, "send"))["nftables"]
        ceilings = {}
        for text in self._classes():
            at = re.match(r"class htb 1:([0-9a-f]+) .* ceil (\d+)(bit|Kbit|Mbit|Gbit)", text)
            if at:
                ceilings[int(at[1], 16)] = int(at[2]) * RATES[at[3]] / 1e6
        numbers = {pair.number: key for key, pair in self.pairs.items()}
        allowed = {}
        for rule in (one["rule"]["expr"] for one in listed if "rule" in one):
            place = next((part["mangle"]["value"] for part in rule if "mangle" in part and part["mangle"]["key"].get("meta", {}).get("key") == "priority"), None)
            if place is None:
                continue
            number = int(str(place).split(":")[1], 16) if ":" in str(place) else int(place) & 0xFFFF
            limit = next((part["limit"] for part in rule if "limit" in part), None)
            passes = ceilings.get(number, self.link) if limit is None else limit["rate"] * UNITS[limit["rate_unit"]] * 8 / 1e6
            # Whole Mb/s, rounded up from a hundredth: never less than what passes.
            allowed[numbers.get(number, number)] = math.ceil(passes / FRAME_PER_PAYLOAD - 0.01)
        return allowed
