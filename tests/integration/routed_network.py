"""Leaves, spines and hosts as network namespaces whose kernels route, every cable of one rate, with what hosts send each other measured:
what tests of routes for each host are run on."""
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from lane_traffic_test import inside, run  # noqa: E402

PREFIX = f"rwlt{os.getpid() % 10000}"
LINK = 40  # Mb/s
BYTES = 4_000_000  # of each host in a step
PORT = 5300


class Network:
    """Two leaves, with hosts n1 and so on, half of them on each."""

    def __init__(self, hosts, spines):
        self.leaves, self.spines = ("l1", "l2"), tuple(f"s{number}" for number in range(1, spines + 1))
        self.switches = (*self.leaves, *self.spines)
        self.hosts = {f"n{number}": "l1" if number <= hosts // 2 else "l2" for number in range(1, hosts + 1)}
        self.address = {**{host: f"10.79.1.{host[1:]}" for host in self.hosts},
                        **{name: f"10.79.9.{at + 1}" for at, name in enumerate(self.switches)}}
        # (device, port, device, port)
        self.cables = [(leaf, at + 1, host, 1) for leaf in self.leaves for at, host in enumerate(self.of_leaf(leaf))]
        self.cables += [(leaf, hosts // 2 + 1 + at, spine, 1 + self.leaves.index(leaf)) for leaf in self.leaves for at, spine in enumerate(self.spines)]

    def of_leaf(self, leaf):
        return [host for host, its in self.hosts.items() if its == leaf]

    def other_leaf(self, leaf):
        return next(one for one in self.leaves if one != leaf)

    def guids(self):
        return {name: f"{0x0c42a10300390000 + at:016x}" for at, name in enumerate([*self.switches, *self.hosts])}

    def fabric(self):
        """In the native format."""
        names, guid = [*self.switches, *self.hosts], self.guids()
        return {"railweave": "fabric", "version": 1, "subnets": [{"name": "roce", "kind": "compute"}],
                "switches": [{"guid": guid[name], "name": name, "ports": 8, "subnet": "roce"} for name in self.switches],
                "hosts": [{"name": name, "adapters": [{"guid": guid[name], "device": "eth0", "ports": [{"guid": guid[name]}]}],
                           "gpus": [{"nics": [0]}]} for name in self.hosts],
                "linkSpecs": [{"kind": "ethernet", "rateMbps": LINK}],
                "links": [[names.index(a), a_port, names.index(b), b_port, 0] for a, a_port, b, b_port in self.cables]}

    def link(self, leaf, spine):
        """The cable as the service names it."""
        guid = self.guids()
        a_port, b_port = next((port, other) for a, port, b, other in self.cables if (a, b) == (leaf, spine))
        return f"{guid[leaf]}/{a_port}--{guid[spine]}/{b_port}"

    def interfaces(self, switch):
        """By the numbers of its ports; interfaces are called after the node on the other side."""
        return {str(port if switch == a else other): b if switch == a else a for a, port, b, other in self.cables for node in (a, b) if node == switch}

    def addresses(self):
        """As `railweave switches config --names` wants them."""
        return {**{f"{host}/eth0": self.address[host] for host in self.hosts}, **{name: self.address[name] for name in self.switches}}

    def build(self):
        for node in [*self.hosts, *self.switches]:
            run("ip", "netns", "add", f"{PREFIX}{node}")
            inside(node, "ip", "link", "set", "lo", "up")
            for key in ("ip_forward=1", "conf.all.rp_filter=0", "conf.default.rp_filter=0", "fib_multipath_hash_policy=1"):
                inside(node, "sysctl", "-qw", f"net.ipv4.{key}")
        for a, _, b, _ in self.cables:
            run("ip", "link", "add", b, "netns", f"{PREFIX}{a}", "type", "veth", "peer", "name", a, "netns", f"{PREFIX}{b}")
            for node, device in ((a, b), (b, a)):
                inside(node, "ip", "link", "set", device, "up")
                inside(node, "ip", "link", "set", device, "gso_max_size", "3000", check=False)
                inside(node, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{LINK}mbit", "burst", "16000", "latency", "50ms")
        for switch in self.switches:
            inside(switch, "ip", "addr", "add", f"{self.address[switch]}/32", "dev", "lo")
        for host, leaf in self.hosts.items():
            inside(host, "ip", "addr", "add", f"{self.address[host]}/32", "dev", leaf)
            inside(host, "ip", "route", "add", "default", "via", self.address[leaf], "dev", leaf, "onlink")

    def remove(self):
        for node in [*self.hosts, *self.switches]:
            run("ip", "netns", "del", f"{PREFIX}{node}", check=False)

    def hash_flows(self):
        """As an Ethernet fabric without anything of Railweave routes."""
        for host, leaf in self.hosts.items():
            inside(leaf, "ip", "route", "add", f"{self.address[host]}/32", "dev", host)
            for spine in self.spines:
                inside(spine, "ip", "route", "add", f"{self.address[host]}/32", "via", self.address[leaf], "dev", leaf, "onlink")
            hops = [word for spine in self.spines for word in ("nexthop", "via", self.address[spine], "dev", spine, "onlink")]
            inside(self.other_leaf(leaf), "ip", "route", "add", f"{self.address[host]}/32", *hops)

    def flush(self):
        for switch in self.switches:
            inside(switch, "ip", "route", "flush", "table", "main")

    def next_node(self, switch, host):
        """Where the switch's kernel sends packets to the host; "": it has no route."""
        route = inside(switch, "ip", "route", "get", self.address[host], check=False).stdout
        return route.split(" dev ")[1].split()[0] if " dev " in route else ""

    def exchanging(self, partner):
        return Exchange(self, partner)


class Exchange:
    """Hosts that send the same to their partners, all at once, as a ring of an all-reduce does."""

    def __init__(self, network, partner):
        self.network, self.partner = network, partner

    def __enter__(self):
        address = self.network.address
        self.hosts = {host: subprocess.Popen(["ip", "netns", "exec", f"{PREFIX}{host}", sys.executable, str(Path(__file__).resolve()),
                                              address[host], address[partner]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                      for host, partner in self.partner.items()}
        for host in self.hosts.values():
            assert host.stdout.readline() == "ready\n"
        self.step()  # neighbours are found
        return self

    def __exit__(self, *_):
        for host in self.hosts.values():
            host.kill()
            host.wait()

    def step(self, hosts=None):
        """Seconds until the last host has everything."""
        hosts = hosts or tuple(self.partner)
        began = time.monotonic()
        for host in hosts:
            self.hosts[host].stdin.write("go\n")
            self.hosts[host].stdin.flush()
        for host in hosts:
            assert int(self.hosts[host].stdout.readline()) == BYTES
        return time.monotonic() - began


def exchange(own, partner):
    """In a host: at each line of input all bytes go to the partner, by a connection of their own, and as many come."""
    with socket.create_server((own, PORT)) as server:
        print("ready", flush=True)
        for _ in sys.stdin:
            def send():
                with socket.create_connection((partner, PORT), timeout=60) as to:
                    to.sendall(bytes(BYTES))
            sender = threading.Thread(target=send)
            sender.start()
            got = 0
            come, _ = server.accept()
            with come:
                while chunk := come.recv(65536):
                    got += len(chunk)
            sender.join()
            print(got, flush=True)


if __name__ == "__main__":
    exchange(*sys.argv[1:3])
