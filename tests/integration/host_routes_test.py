#!/usr/bin/env python3
"""What routes for each host are worth beside switches that hash flows, on real packets: two leaves, four spines and eight hosts as network
namespaces, every cable of one rate. Each host sends the same to its partner behind the other leaf, all at once, as a ring of an all-reduce does;
a step is over when the last has got everything.

First the leaves' kernels hash flows over their spines (fib_multipath_hash_policy 1: addresses and ports, as switches do), each step with other
ports. Then they have the routes that `railweave switches config --to routes` makes of what a real railweaved plans, and nothing else.

host_routes_test.py BIN_FOLDER [STEPS]     exit code 77: skipped, and why
"""
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from lane_traffic_test import PREFIX, inside, run  # noqa: E402
from service import Service  # noqa: E402

LINK = 40  # Mb/s
BYTES = 4_000_000  # of each host in a step
LEAVES, SPINES = ("l1", "l2"), ("s1", "s2", "s3", "s4")
SWITCHES = (*LEAVES, *SPINES)
HOSTS = {f"n{number}": "l1" if number <= 4 else "l2" for number in range(1, 9)}
ADDRESS = {**{f"n{number}": f"10.79.1.{number}" for number in range(1, 9)}, **{name: f"10.79.9.{at + 1}" for at, name in enumerate(SWITCHES)}}
PARTNER = {f"n{number}": f"n{number + 4 if number <= 4 else number - 4}" for number in range(1, 9)}
PORT = 5300
# (device, port, device, port)
CABLES = [(leaf, at + 1, host, 1) for leaf in LEAVES for at, host in enumerate(name for name in HOSTS if HOSTS[name] == leaf)]
CABLES += [(leaf, 5 + at, spine, 1 + LEAVES.index(leaf)) for leaf in LEAVES for at, spine in enumerate(SPINES)]


def fabric():
    """In the native format."""
    names = [*SWITCHES, *HOSTS]
    guid = {name: f"{0x0c42a10300390000 + at:016x}" for at, name in enumerate(names)}
    return {"railweave": "fabric", "version": 1, "subnets": [{"name": "roce", "kind": "compute"}],
            "switches": [{"guid": guid[name], "name": name, "ports": 8, "subnet": "roce"} for name in SWITCHES],
            "hosts": [{"name": name, "adapters": [{"guid": guid[name], "device": "eth0", "ports": [{"guid": guid[name]}]}],
                       "gpus": [{"nics": [0]}]} for name in HOSTS],
            "linkSpecs": [{"kind": "ethernet", "rateMbps": LINK}],
            "links": [[names.index(a), a_port, names.index(b), b_port, 0] for a, a_port, b, b_port in CABLES]}


def build():
    """Interfaces are called after the node on the other side."""
    for node in [*HOSTS, *SWITCHES]:
        run("ip", "netns", "add", f"{PREFIX}{node}")
        inside(node, "ip", "link", "set", "lo", "up")
        for key in ("ip_forward=1", "conf.all.rp_filter=0", "conf.default.rp_filter=0", "fib_multipath_hash_policy=1"):
            inside(node, "sysctl", "-qw", f"net.ipv4.{key}")
    for a, _, b, _ in CABLES:
        run("ip", "link", "add", b, "netns", f"{PREFIX}{a}", "type", "veth", "peer", "name", a, "netns", f"{PREFIX}{b}")
        for node, device in ((a, b), (b, a)):
            inside(node, "ip", "link", "set", device, "up")
            inside(node, "ip", "link", "set", device, "gso_max_size", "3000", check=False)
            inside(node, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{LINK}mbit", "burst", "16000", "latency", "50ms")
    for switch in SWITCHES:
        inside(switch, "ip", "addr", "add", f"{ADDRESS[switch]}/32", "dev", "lo")
    for host, leaf in HOSTS.items():
        inside(host, "ip", "addr", "add", f"{ADDRESS[host]}/32", "dev", leaf)
        inside(host, "ip", "route", "add", "default", "via", ADDRESS[leaf], "dev", leaf, "onlink")


def hash_flows():
    """As an Ethernet fabric without anything of Railweave routes."""
    for host, leaf in HOSTS.items():
        inside(leaf, "ip", "route", "add", f"{ADDRESS[host]}/32", "dev", host)
        for spine in SPINES:
            inside(spine, "ip", "route", "add", f"{ADDRESS[host]}/32", "via", ADDRESS[leaf], "dev", leaf, "onlink")
        other = next(one for one in LEAVES if one != leaf)
        hops = [word for spine in SPINES for word in ("nexthop", "via", ADDRESS[spine], "dev", spine, "onlink")]
        inside(other, "ip", "route", "add", f"{ADDRESS[host]}/32", *hops)


def flush():
    for switch in SWITCHES:
        inside(switch, "ip", "route", "flush", "table", "main")


def program(binaries, url, folder):
    """What Railweave plans, as its own command makes it."""
    for switch in SWITCHES:
        ports = {str(port if switch == a else other): b if switch == a else a for a, port, b, other in CABLES for node in (a, b) if node == switch}
        names = folder / f"{switch}.json"
        names.write_text(json.dumps({"addresses": {**{f"{host}/eth0": ADDRESS[host] for host in HOSTS}, **{name: ADDRESS[name] for name in SWITCHES}},
                                     "interfaces": ports}))
        script = run(str(binaries / "railweave"), "--server", url, "switches", "config", switch, "--to", "routes", "--names", str(names)).stdout
        inside(switch, "sh", "-e", "-c", script)


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


class Ring:
    def __enter__(self):
        self.hosts = {host: subprocess.Popen(["ip", "netns", "exec", f"{PREFIX}{host}", sys.executable, str(Path(__file__).resolve()), "--exchange",
                                              ADDRESS[host], ADDRESS[PARTNER[host]]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                      for host in HOSTS}
        for host in self.hosts.values():
            assert host.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_):
        for host in self.hosts.values():
            host.kill()
            host.wait()

    def step(self, hosts=tuple(HOSTS)):
        """Seconds until the last host has everything."""
        began = time.monotonic()
        for host in hosts:
            self.hosts[host].stdin.write("go\n")
            self.hosts[host].stdin.flush()
        for host in hosts:
            assert int(self.hosts[host].stdout.readline()) == BYTES
        return time.monotonic() - began


def steps(count):
    """Of all hosts, and of two alone."""
    with Ring() as ring:
        ring.step()  # neighbours are found
        return [ring.step() for _ in range(count)], statistics.median(ring.step(("n1", "n5")) for _ in range(3))


def spines_used(leaf):
    """By routes to hosts behind the other leaf, each once."""
    routes = [inside(leaf, "ip", "route", "get", ADDRESS[host]).stdout for host in HOSTS if HOSTS[host] != leaf]
    return sorted(route.split(" dev ")[1].split()[0] for route in routes)


def main():
    if sys.argv[1] == "--exchange":
        return exchange(*sys.argv[2:4])
    lacking = next((tool for tool in ("ip", "tc", "sysctl") if not shutil.which(tool)), None)
    if lacking or os.geteuid() != 0:
        print(f"skipped: {lacking or 'needs to be root'}")
        return 77
    binaries, count = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 6
    with tempfile.TemporaryDirectory(prefix="railweave-hr-") as name:
        folder = Path(name)
        (folder / "fabric.json").write_text(json.dumps(fabric()))
        try:
            build()
            hash_flows()
            hashed, alone = steps(count)
            flush()
            with Service(binaries / "railweaved", folder) as service:
                service.start()
                url = f"http://127.0.0.1:{service.port}"
                run(str(binaries / "railweave"), "--server", url, "fabric", "import", str(folder / "fabric.json"))
                program(binaries, url, folder)
            assert all(spines_used(leaf) == list(SPINES) for leaf in LEAVES), [spines_used(leaf) for leaf in LEAVES]
            routed, _ = steps(count)
        finally:
            for node in [*HOSTS, *SWITCHES]:
                run("ip", "netns", "del", f"{PREFIX}{node}", check=False)
    print(f"two hosts alone: {alone:.2f} s a step")
    for what, times in (("hashed", hashed), ("routes for each host", routed)):
        print(f"{what}: {statistics.mean(times) / alone:.2f} times that, {min(times) / alone:.2f} to {max(times) / alone:.2f}, {len(times)} steps")
    gain = statistics.mean(hashed) / statistics.mean(routed)
    print(f"steps are {gain:.2f} times as fast")
    assert statistics.median(routed) < 1.3 * alone, (routed, alone)
    assert gain > 1.2, gain
    return 0


if __name__ == "__main__":
    sys.exit(main())
