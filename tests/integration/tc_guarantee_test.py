#!/usr/bin/env python3
"""A guarantee on real packets: two leaves, two spines and four hosts as network namespaces, every link shaped by the
driver's HTB classes (fabric/drivers/linux_tc), iperf3 measures.

tc_guarantee_test.py TC_PROBE

Exit code 77 where it cannot run: not root, no namespaces, no iperf3 or no HTB.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from waiting import until  # noqa: E402

LINK, GUARANTEE, HEADROOM = 50, 20, 0.95  # Mb/s that two busy cores carry with ease
DSCP = 26
PREFIX = f"rwtc{os.getpid() % 10000}"
LEAVES, SPINES = ("l1", "l2"), ("s1", "s2")
HOSTS = {"a1": ("l1", "10.77.1.1"), "a2": ("l1", "10.77.1.2"), "b1": ("l2", "10.77.2.1"), "b2": ("l2", "10.77.2.2")}
LOOPBACK = {"l1": "10.77.9.1", "l2": "10.77.9.2", "s1": "10.77.9.3", "s2": "10.77.9.4"}


def skip(reason):
    print(f"SKIPPED tc_guarantee: {reason}")
    sys.exit(77)


def run(*command, check=True, timeout=20):
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done


def inside(node, *command, **options):
    return run("ip", "netns", "exec", f"{PREFIX}{node}", *command, **options)


class Network:
    def __init__(self, probe):
        self.probe = probe
        self.processes = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()
        for node in [*HOSTS, *LEAVES, *SPINES]:
            run("ip", "netns", "del", f"{PREFIX}{node}", check=False)

    def build(self):
        for node in [*HOSTS, *LEAVES, *SPINES]:
            run("ip", "netns", "add", f"{PREFIX}{node}")
            inside(node, "ip", "link", "set", "lo", "up")
            for key in ("net.ipv4.ip_forward=1", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0"):
                inside(node, "sysctl", "-qw", key)
        for node, address in LOOPBACK.items():
            inside(node, "ip", "addr", "add", f"{address}/32", "dev", "lo")
        for host, (leaf, address) in HOSTS.items():
            self.cable(host, leaf)
            inside(host, "ip", "addr", "add", f"{address}/32", "dev", leaf)
            inside(host, "ip", "route", "add", "default", "via", LOOPBACK[leaf], "dev", leaf, "onlink")
            inside(leaf, "ip", "route", "add", address, "dev", host)
        for leaf in LEAVES:
            for spine in SPINES:
                self.cable(leaf, spine)
        # Destination-based, one spine per host, as forwarding tables have it.
        for host, (leaf, _) in HOSTS.items():
            other = LEAVES[1 - LEAVES.index(leaf)]
            self.route(host, SPINES[int(host[1]) - 1], other, leaf)

    def cable(self, a, b):
        """A veth pair; each end is called after the node on the other side."""
        run("ip", "link", "add", b, "netns", f"{PREFIX}{a}", "type", "veth", "peer", "name", a, "netns", f"{PREFIX}{b}")
        for node, device in ((a, b), (b, a)):
            inside(node, "ip", "link", "set", device, "up")
            inside(node, "ip", "link", "set", device, "gso_max_size", "3000", check=False)
            reserved = int(GUARANTEE / HEADROOM + 0.999)
            made = run(self.probe, device, str(LINK), f"all-reduce:{DSCP}:{reserved}:{LINK}",
                       f"best-effort:0:{LINK - reserved}:{LINK}")
            for command in made.stdout.splitlines():
                done = inside(node, *command.split(), check=False)
                if done.returncode:
                    if "Specified qdisc kind is unknown" in done.stderr or "not found" in done.stderr:
                        skip(f"the kernel does not take '{command}': {done.stderr.strip()}")
                    raise RuntimeError(f"{command}: {done.stderr.strip()}")

    def route(self, host, spine, from_leaf, to_leaf):
        address = HOSTS[host][1]
        inside(from_leaf, "ip", "route", "replace", address, "via", LOOPBACK[spine], "dev", spine, "onlink")
        inside(spine, "ip", "route", "replace", address, "via", LOOPBACK[to_leaf], "dev", to_leaf, "onlink")

    def start(self, node, *command, output=subprocess.DEVNULL):
        # Links are what is short here, not processors: what measures is not held up by what else the machine does.
        process = subprocess.Popen(["nice", "-n", "-10", "ip", "netns", "exec", f"{PREFIX}{node}", *command], stdout=output,
                                   stderr=subprocess.DEVNULL)
        self.processes.append(process)
        return process

    def serve(self):
        for process in self.processes:  # servers of the phase before may still wait for clients that were killed
            process.kill()
            process.wait()
        self.processes.clear()
        for host in ("b1", "b2"):
            for port in range(5201, 5206):
                self.start(host, "iperf3", "-s", "-p", str(port))
        until("iperf3 servers", lambda: all(self.sockets(host, "-l") >= 5 for host in ("b1", "b2")))

    def sockets(self, host, kind):
        """Number of TCP sockets of iperf3 servers on a host: -l listening, else established."""
        lines = inside(host, "ss", "-tnH", *([kind] if kind else ["state", "established"])).stdout.splitlines()
        return sum(bool(re.search(r":520[1-5]\s", line)) for line in lines)

    def flood(self, seconds):
        """All other traffic, without a guarantee: TCP and unruly UDP to both hosts, so over both spines."""
        flows = []
        for port, source, to, kind in ((5202, "a2", "b1", ("-P", "4")), (5203, "a2", "b2", ("-P", "4")),
                                       (5204, "a1", "b2", ("-P", "4")), (5205, "a1", "b1", ("-u", "-b", f"{LINK * 4 // 5}M")),
                                       (5205, "a2", "b2", ("-u", "-b", f"{LINK * 4 // 5}M"))):
            flows.append(self.start(source, "iperf3", "-c", HOSTS[to][1], "-p", str(port), "-t", str(seconds), *kind))
        return flows

    def measure(self, seconds=6, dscp=DSCP, may_starve=False):
        """Mb/s received. may_starve: if iperf3 gives up under load, what it had sent until then, an upper bound."""
        with tempfile.TemporaryFile("w+") as out:
            process = self.start("a1", "iperf3", "-c", HOSTS["b1"][1], "-p", "5201", "-t", str(seconds), "-O", "2",
                                 "-S", str(dscp * 4), "-J", output=out)
            process.wait(timeout=seconds + 20)
            out.seek(0)
            report = json.load(out)
        received = report.get("end", {}).get("sum_received")
        if received is not None:
            return received["bits_per_second"] / 1e6
        if not may_starve:
            sys.exit(f"FAILED: iperf3 measured nothing: {report.get('error')}")
        sent = [one["sum"]["bits_per_second"] / 1e6 for one in report.get("intervals", [])]
        print(f"iperf3 gave up: {report.get('error')}")
        return sum(sent) / len(sent) if sent else 0.0


def expect(what, measured, least):
    print(f"{what}: {measured:.1f} Mb/s, wanted at least {least:.1f}")
    if measured < least:
        sys.exit(f"FAILED: {what}")


def phase(network, what):
    network.serve()
    flood = network.flood(90)  # longer than a busy machine takes for what is measured; it is killed then
    until("the flood", lambda: all(network.sockets(host, "") >= 3 for host in ("b1", "b2")))
    expect(f"{what}, others flood every path", network.measure(), GUARANTEE * HEADROOM)
    unmarked = network.measure(4, dscp=0, may_starve=True)
    print(f"{what}, the same flow without its class: {unmarked:.1f} Mb/s")
    if unmarked >= GUARANTEE * HEADROOM:
        sys.exit("FAILED: the flood leaves enough bandwidth without any guarantee: the test proves nothing")
    for one in flood:
        one.kill()
        one.wait()
    network.serve()  # what is still on its way to servers of the flood takes long to drain
    expect(f"{what}, alone", network.measure(4), 0.9 * LINK * HEADROOM)


def main():
    if os.geteuid() != 0:
        skip("not root")
    for tool in ("ip", "tc", "iperf3", "sysctl"):
        if not shutil.which(tool):
            skip(f"{tool} is not installed")
    if run("ip", "netns", "add", f"{PREFIX}try", check=False).returncode:
        skip("network namespaces cannot be made here")
    run("ip", "netns", "del", f"{PREFIX}try", check=False)
    with Network(sys.argv[1]) as network:
        network.build()
        phase(network, "healthy")
        inside("l1", "ip", "link", "set", "s1", "down")
        for host in ("a1", "b1"):  # rerouted over the other spine
            leaf = HOSTS[host][0]
            network.route(host, "s2", LEAVES[1 - LEAVES.index(leaf)], leaf)
        phase(network, "after a link was cut and rerouted")
    left = [line for line in run("ip", "netns", "list").stdout.split() if line.startswith(PREFIX)]
    if left:
        sys.exit(f"FAILED: namespaces left behind: {left}")
    print("PASSED")


if __name__ == "__main__":
    main()
