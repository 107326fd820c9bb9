#!/usr/bin/env python3
"""Holds the jobs of a Linux node to their guarantees inside the traffic classes: a reference agent for Ethernet and what passes the
kernel (RDMA does not). It reads the node's budgets from Railweave, divides them with the agents of the other nodes among the ports
that talk at present (partition.py), programs HTB and nftables (queues.py), reads both back and reports that.

Until a receiver has granted a sender a part, and where its agent is silent, packets go as best effort. Two jobs between the same two
addresses are not told apart.

railweave_agent.py NODE --server http://railweave:7400 --token-file FILE --interface eth0=ens1 --names names.json --listen 10.0.0.1

names.json: {"addresses": {"NODE/DEVICE": "10.0.0.1", ...}}, as `railweave switches config --names` takes it."""
import argparse
import http.client
import json
import signal
import socket
import sys
import time
import urllib.parse

from letters import is_number, MOST_NUMBER, Peer
from partition import Receiver, Sender, UNLIMITED
from queues import Pair, Queues

TICK_S, PORT, ACTIVE_S, MOST_MESSAGE, MOST_HEARD = 0.2, 7412, 2.0, 60_000, 4_096


class AtSocket(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=10)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(10)
        self.sock.connect(self.path)


class Railweave:
    """Its budgets for this node, and reports to it."""

    def __init__(self, server, node, token):
        self.server, self.token = server, token
        self.path = f"/v1/nodes/{urllib.parse.quote(node, safe='')}/budgets"
        self.etag, self.seen = None, (-1, -1)

    def _ask(self, method, path, body=None):
        url = urllib.parse.urlsplit(self.server)
        kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
        connection = AtSocket(url.path) if url.scheme == "unix" else kinds[url.scheme](url.hostname, url.port, timeout=10)
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if method == "GET" and self.etag:
            headers["If-None-Match"] = self.etag
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.getheader("ETag"), answer.read()
        finally:
            connection.close()

    def budgets(self):
        """None: as before, or of a replica that leads no more."""
        status, etag, text = self._ask("GET", self.path)
        if status == 304:
            return None
        if status != 200:
            raise RuntimeError(f"budgets: {status} {text[:200]!r}")
        budgets = json.loads(text)
        at = (budgets["term"], budgets["version"])
        if at < self.seen:
            print(f"an answer of term {at[0]}, version {at[1]} is older than {self.seen}: refused", file=sys.stderr)
            return None
        self.etag, self.seen = etag, at
        return budgets

    def report(self, ports, ignored):
        status, _, text = self._ask("PUT", self.path + "/report", {"term": self.seen[0], "version": self.seen[1], "ignoredMessages": ignored,
                                                                   "ports": ports})
        if status == 409:
            self.etag = None  # there is something newer
        elif status != 200:
            raise RuntimeError(f"report: {status} {text[:200]!r}")
        return status == 200 and json.loads(text)["enforced"]


class Port:
    """One job at one interface: its parts as a sender and as a receiver."""

    def __init__(self, item, now):
        self.item, self.started = item, now
        self.sender, self.receiver = Sender(item["sendMbps"]), Receiver(item["receiveMbps"], now, int(time.time() * 1000))
        self.active = {}  # by address: (Mb/s, last seen)
        self.pairs = {}   # by address

    def follow(self, item):
        self.item = item
        self.sender.budget, self.receiver.budget = item["sendMbps"], item["receiveMbps"]

    def rates(self, addresses, now):
        """Mb/s by address, and the numbers of grants followed."""
        if self.item["model"] == "pattern":
            flows = {addresses.get(f"{flow['node']}/{flow['device']}"): flow["sendMbps"] for flow in self.item["flows"]}
            return flows, {}
        for address, pair in self.pairs.items():
            if pair.demand_mbps > 0.01:
                grown = min(UNLIMITED, pair.demand_mbps * 1.25 + 1)
                # What uses nearly all that it has may want any amount.
                self.active[address] = (UNLIMITED if pair.demand_mbps >= 0.8 * pair.mbps else int(grown), now)
        self.active = {address: one for address, one in self.active.items() if now - one[1] <= ACTIVE_S}
        self.sender.wanted = {address: one[0] for address, one in self.active.items()}
        return self.sender.parts(now)


class Agent:
    def __init__(self, options):
        self.node, self.railweave = options.node, Railweave(options.server, options.node, options.token)
        self.interfaces, self.enter = dict(one.split("=", 1) for one in options.interface), options.enter
        self.addresses = json.load(open(options.names, encoding="utf-8"))["addresses"]
        self.queues, self.ports, self.budgets = {}, {}, None
        self.kept_out = {}  # by adapter: of interfaces without a job, the marks that the kernel takes off
        self.peers, self.nodes, self.ignored = {}, {}, 0  # letters by node; nodes by address; datagrams that are no letters
        self.mail = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.mail.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, options.dscp * 4)
        self.mail.bind((options.listen, options.port))
        self.mail.setblocking(False)
        self.port, self.running, self.last, self.polled, self.enforced = options.port, True, time.monotonic(), 0.0, None

    def follow(self, budgets, now):
        self.budgets = budgets
        kept = {}
        for item in budgets["items"]:
            key = (item["job"], item["device"])
            kept[key] = self.ports.get(key) or Port(item, now)
            kept[key].follow(item)
        self.ports = kept
        peers = {one["job"]: one["peers"] for one in budgets["jobs"]}
        self.meet(peer for ones in peers.values() for peer in ones)
        for device, interface in self.interfaces.items():
            here = {job: port for (job, at), port in self.ports.items() if at == device}
            link = next((port.item["linkMbps"] for port in here.values()), 0)
            if device not in self.queues:
                if not link:
                    self.keep_out(device, interface, budgets)
                    continue
                self.kept_out.pop(device, None)
                self.queues[device] = Queues(interface, link, budgets["classDscps"], budgets["bestEffort"]["dscp"], self.enter)
                self.queues[device].begin()
            pairs = {}
            for job, port in here.items():
                item, port.pairs = port.item, {}
                for peer in peers[job]:
                    for name in peer["devices"]:
                        address = self.addresses.get(f"{peer['node']}/{name}")
                        if address is None or item["dscp"] is None:
                            continue
                        pair = self.queues[device].pairs.get((job, address))
                        waits = item["maxMbps"] is not None and item["maxMbps"] <= item["sendMbps"]
                        if pair is None or (pair.dscp, pair.waits) != (item["dscp"], waits):
                            pair = Pair(job, address, item["dscp"], waits)
                        pairs[job, address] = port.pairs[address] = pair
            self.queues[device].class_dscps = sorted(budgets["classDscps"])
            self.queues[device].want(pairs)

    def meet(self, peers):
        """Without a key (the token is no agent's) nothing is received, and nothing said."""
        known, self.nodes = {}, {}
        for peer in peers:
            node, key = peer["node"], peer.get("key")
            if key is None:
                continue
            known[node] = known.get(node) or self.peers.get(node) or Peer(self.node, node, key)
            known[node].follow(key)
            self.nodes.update({self.addresses[f"{node}/{name}"]: node for name in peer["devices"] if f"{node}/{name}" in self.addresses})
        self.peers = known

    def keep_out(self, device, interface, budgets):
        """Of a host without a job: nothing that it sends is in a class that jobs have."""
        marks = sorted(budgets["classDscps"])
        if device not in self.kept_out or self.kept_out[device].class_dscps != marks:
            self.kept_out[device] = Queues(interface, 0, marks, budgets["bestEffort"]["dscp"], self.enter)
            self.kept_out[device].mark()

    def hear(self, now):
        for _ in range(MOST_HEARD):  # the rest waits: who sends much must not keep the queues from being set
            try:
                text, (address, _) = self.mail.recvfrom(MOST_MESSAGE)
            except BlockingIOError:
                return
            peer = self.peers.get(self.nodes.get(address))
            try:
                read = peer and peer.read(text)
                if not read:
                    self.ignore(peer is not None, now)
                    continue
                self.take(address, *read, now)
            except (ValueError, TypeError, KeyError):
                self.ignored += 1  # of an agent, and not well-formed

    def ignore(self, of_peer, now):
        """It may be by a key that is given to the others already: then ask at once, but not for each."""
        self.ignored += 1
        if of_peer and now - self.polled >= 1:
            self.polled = now - 3600

    def take(self, address, lines, is_new_run, now):
        for port in self.ports.values() if is_new_run else ():
            port.sender.forget(address)
        for job, device, kind, first, second in lines:
            port = self.ports.get((job, device))
            if port is None or address not in port.pairs:
                continue
            if not (is_number(first) and is_number(second)):
                self.ignored += 1
            elif kind == "wants":
                port.receiver.hear(address, first, second, now)
            elif kind == "grants" and not port.sender.grant(address, first, second, now):
                self.ignored += 1

    def tell(self, numbers, now):
        """To each other port what is wanted of it and granted to it. Adapters of a rail have one name on all nodes."""
        letters = {}
        for (job, device), port in self.ports.items():
            if port.item["model"] == "pattern":
                continue
            # What is wanted no more is said, so that others get it at once.
            wants = {**dict.fromkeys(port.sender.granted, 0), **port.sender.wanted}
            for address, wanted in wants.items():
                letters.setdefault(address, []).append((job, device, "wants", min(wanted, MOST_NUMBER - 1), numbers.get((job, device), {}).get(address, 0)))
            for address, (number, mbps) in port.receiver.grants(now).items():
                letters.setdefault(address, []).append((job, device, "grants", number, mbps))
        for address, node in self.nodes.items():
            if self.peers[node].owes:
                letters.setdefault(address, [])
        for address, letter in letters.items():
            peer = self.peers.get(self.nodes.get(address))
            try:
                if peer is not None:
                    self.mail.sendto(peer.write(letter), (address, self.port))
            except OSError:
                pass  # told again in a moment

    def tick(self):
        now = time.monotonic()
        seconds, self.last = max(0.01, now - self.last), now
        if now - self.polled >= (min(2, self.budgets["pollSeconds"]) if self.budgets else 1):
            self.poll(now)
        if self.budgets is None:
            return
        self.hear(now)
        for queues in self.queues.values():
            queues.measure(seconds)
        rates, numbers = {}, {}
        for (job, device), port in self.ports.items():
            parts, followed = port.rates(self.addresses, now)
            numbers[job, device] = followed
            rates.setdefault(device, {}).update({(job, address): mbps for address, mbps in parts.items()})
        for device, queues in self.queues.items():
            queues.set(rates.get(device, {}))
        self.tell(numbers, now)

    def poll(self, now):
        self.polled = now
        try:
            budgets = self.railweave.budgets()
            if budgets is not None:
                self.railweave.etag, etag = None, self.railweave.etag  # read again where this fails
                self.follow(budgets, now)
                self.railweave.etag = etag
            enforced = self.railweave.report(self.readings(), self.ignored)
        except (OSError, RuntimeError, http.client.HTTPException) as error:
            print(f"railweave: {error}", file=sys.stderr, flush=True)
            return
        if enforced != self.enforced:
            print(f"version {self.railweave.seen[1]}: {'enforced' if enforced else 'not enforced'}", flush=True)
        self.enforced = enforced

    def readings(self):
        """What the kernel's queues hold, by job and port; granted is what senders may apply."""
        back = {device: queues.read_back() for device, queues in self.queues.items()}
        ports = []
        for (job, device), port in self.ports.items():
            sent = {address: mbps for (of, address), mbps in ((key, mbps) for key, mbps in back.get(device, {}).items() if isinstance(key, tuple)) if of == job}
            item = port.item
            if device not in back:
                continue  # no interface of ours: nothing limits it
            pattern = item["model"] == "pattern"
            held = item["receiveMbps"] if pattern else sum(grant for _, grant in port.receiver.grants(time.monotonic()).values())
            reading = {"job": job, "port": item["port"], "sendMbps": sum(sent.values()), "receiveMbps": held}
            if pattern:
                names = {self.addresses.get(f"{flow['node']}/{flow['device']}"): flow["port"] for flow in item["flows"]}
                reading["flows"] = [{"port": names.get(address, address), "sendMbps": mbps} for address, mbps in sent.items()]
            ports.append(reading)
        return ports

    def run(self):
        while self.running:
            began = time.monotonic()
            self.tick()
            time.sleep(max(0.02, TICK_S - (time.monotonic() - began)))
        for queues in (*self.queues.values(), *self.kept_out.values()):
            queues.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("node")
    parser.add_argument("--server", required=True, help="http://..., https://... or unix:/path")
    parser.add_argument("--token-file", help="a token of role agent, of this node")
    parser.add_argument("--interface", action="append", required=True, metavar="DEVICE=INTERFACE")
    parser.add_argument("--names", required=True, help="addresses by NODE/DEVICE, JSON")
    parser.add_argument("--listen", required=True, help="address for the other agents")
    parser.add_argument("--port", type=int, default=PORT, help="the same on all nodes")
    parser.add_argument("--dscp", type=int, default=0, help="of messages to other agents: of a class that is open")
    parser.add_argument("--enter", nargs="*", default=[], help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.token = open(options.token_file, encoding="utf-8").read().strip() if options.token_file else None
    agent = Agent(options)

    def stop(*_):
        agent.running = False
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    agent.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
