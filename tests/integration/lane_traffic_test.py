#!/usr/bin/env python3
"""A lane of its own on real packets: two leaves, two spines and six hosts as network namespaces. A real railweaved imports them as
a RoCE fabric and places the jobs; `railweave switches config` makes each switch's queues, filters of marks (--to tc) and routes
(--to routes) of what it plans, and nothing else programs them. iperf3 measures.

Job B (n1, n4) is guaranteed 30 of 100 Mb/s and keeps 95 % of it, by TCP and by UDP, while others flood every path as best effort;
while job A, which has n4 too, sends into it from two hosts at its caps; while A sends far above them, on its own lane and in
their class; while hosts mark a flood with the DSCP of B's lane; and all of that once more after a cut, on the routes that
Railweave then computes. Alone B gets the whole link. Without the filter of marks it does not keep its guarantee: the test sees that.
What switches have is compared with what they should have (--check), also after each kind of change by hand.

lane_traffic_test.py BIN_FOLDER     exit code 77: skipped, and why
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from service import Service  # noqa: E402
from waiting import until  # noqa: E402

LINK, GUARANTEE, MOST_OF_A, KEPT = 100, 30, 60, 0.95
PREFIX = f"rwlt{os.getpid() % 10000}"
SWITCHES = ("l1", "l2", "s1", "s2")
HOSTS = {f"n{number}": "l1" if number <= 3 else "l2" for number in range(1, 7)}
ADDRESS = {**{f"n{number}": f"10.78.1.{number}" for number in range(1, 7)}, **{name: f"10.78.9.{at + 1}" for at, name in enumerate(SWITCHES)}}
# (device, port, device, port); a leaf's hosts are on its first ports
CABLES = [(leaf, at + 1, host, 1) for leaf in ("l1", "l2") for at, host in enumerate(name for name in HOSTS if HOSTS[name] == leaf)]
CABLES += [("l1", 4, "s1", 1), ("l1", 5, "s2", 1), ("l2", 4, "s1", 2), ("l2", 5, "s2", 2)]
CLASSES = [{"name": "all-reduce", "sharePermille": 800, "priority": 0, "dscp": 26},
           {"name": "best-effort", "sharePermille": 150, "priority": 1, "lossless": False, "dscp": 0}]
OF_CLASS, BEST_EFFORT = 26, 0
SECONDS = 4  # of a measurement


def skip(reason):
    print(f"SKIPPED {Path(sys.argv[0]).stem}: {reason}")
    sys.exit(77)


def run(*command, check=True, timeout=30, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, **options)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout.strip()} {done.stderr.strip()}")
    return done


def inside(node, *command, **options):
    return run("ip", "netns", "exec", f"{PREFIX}{node}", *command, **options)


def fabric():
    """In the native format."""
    names = [*SWITCHES, *HOSTS]
    guid = {name: f"{0x0c42a10300290000 + at:016x}" for at, name in enumerate(names)}
    return {"railweave": "fabric", "version": 1, "subnets": [{"name": "roce", "kind": "compute"}],
            "switches": [{"guid": guid[name], "name": name, "ports": 8, "subnet": "roce"} for name in SWITCHES],
            "hosts": [{"name": name, "adapters": [{"guid": guid[name], "device": "eth0", "ports": [{"guid": guid[name]}]}],
                       "gpus": [{"nics": [0]}, {"nics": [0]}]} for name in HOSTS],
            "linkSpecs": [{"kind": "ethernet", "rateMbps": LINK}],
            "links": [[names.index(a), a_port, names.index(b), b_port, 0] for a, a_port, b, b_port in CABLES]}


class Network:
    """The namespaces, and what runs in them. Interfaces are called after the node on the other side."""

    def __init__(self):
        self.processes = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop(self.processes)
        for node in [*HOSTS, *SWITCHES]:
            run("ip", "netns", "del", f"{PREFIX}{node}", check=False)

    def build(self):
        for node in [*HOSTS, *SWITCHES]:
            run("ip", "netns", "add", f"{PREFIX}{node}")
            inside(node, "ip", "link", "set", "lo", "up")
            for key in ("net.ipv4.ip_forward=1", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0"):
                inside(node, "sysctl", "-qw", key)
        for a, _, b, _ in CABLES:
            run("ip", "link", "add", b, "netns", f"{PREFIX}{a}", "type", "veth", "peer", "name", a, "netns", f"{PREFIX}{b}")
            for node, device in ((a, b), (b, a)):
                inside(node, "ip", "link", "set", device, "up")
                inside(node, "ip", "link", "set", device, "gso_max_size", "3000", check=False)
        for switch in SWITCHES:
            inside(switch, "ip", "addr", "add", f"{ADDRESS[switch]}/32", "dev", "lo")
        for host, leaf in HOSTS.items():
            inside(host, "ip", "addr", "add", f"{ADDRESS[host]}/32", "dev", leaf)
            inside(host, "ip", "route", "add", "default", "via", ADDRESS[leaf], "dev", leaf, "onlink")
            # A host's own cable is as fast as the fabric's; what it sends as is its own affair.
            inside(host, "tc", "qdisc", "add", "dev", leaf, "root", "tbf", "rate", f"{LINK}mbit", "burst", "16000", "latency", "50ms")

    def start(self, node, *command, output=subprocess.DEVNULL):
        process = subprocess.Popen(["ip", "netns", "exec", f"{PREFIX}{node}", *command], stdout=output, stderr=subprocess.DEVNULL)
        self.processes.append(process)
        return process

    @staticmethod
    def stop(processes):
        for process in processes:
            process.kill()
            process.wait()

    def send(self, source, dscp, mbps, to="n4"):
        """UDP without end and without a receiver's consent, as a host that keeps to no limit sends."""
        return self.start(source, sys.executable, str(Path(__file__).resolve()), "--send", ADDRESS[to], str(dscp), str(mbps))

    def measure(self, kind, dscp, load):
        """Mb/s that n4 received of n1's flow, second by second, while all of the load was there. iperf3's own connection for control has
        no mark, so the load begins when that stands and ends before results are told."""
        with tempfile.TemporaryFile("w+") as out:
            server = self.start("n4", "iperf3", "-s", "-1", "-p", "5201", "-J", output=out)
            until("an iperf3 server", lambda: ":5201" in inside("n4", "ss", "-tlnH").stdout)
            options = ["-u", "-b", f"{GUARANTEE}M", "-l", "1400"] if kind == "UDP" else []
            began = time.monotonic()
            client = self.start("n1", "iperf3", "-c", ADDRESS["n4"], "-p", "5201", "-t", str(SECONDS + 4), "-S", str(dscp * 4), *options)
            until("iperf3's connections", lambda: inside("n4", "ss", "-tnH", "sport", "=", ":5201").stdout.count("ESTAB") >= 1)
            time.sleep(1)
            flows = [self.send(*one) for one in load]
            loaded = time.monotonic() - began + 1
            time.sleep(max(0, SECONDS + 3 - (time.monotonic() - began)))
            ended = time.monotonic() - began
            self.stop(flows)
            for process in (client, server):
                try:
                    process.wait(timeout=15)
                except subprocess.TimeoutExpired:
                    pass  # nothing is known of what it got
            self.stop([client, server])
            out.seek(0)
            text = out.read()
        seconds = [one["sum"] for one in (json.loads(text)["intervals"] if text else [])]
        during = [one["bits_per_second"] / 1e6 for one in seconds if one["start"] >= loaded and one["end"] <= ended]
        return sum(during) / len(during) if during else 0.0


class Fabric:
    """What Railweave plans, and the switches that have it."""

    def __init__(self, binaries, service, folder, token=None):
        self.headers = {"Authorization": f"Bearer {token}"} if token else None
        self.environment = {**os.environ, **({"RAILWEAVE_TOKEN": token} if token else {})}
        self.railweave, self.url = str(binaries / "railweave"), f"http://127.0.0.1:{service.port}"
        self.service, self.folder = service, folder

    def ask(self, method, path, body=None):
        status, _, answer = self.service.request(method, path, body, self.headers)
        assert status in (200, 201), (method, path, status, answer)
        return answer

    def cli(self, *arguments):
        return run(self.railweave, "--server", self.url, *arguments, env=self.environment).stdout

    def accept(self):
        (self.folder / "fabric.json").write_text(json.dumps(fabric()))
        self.cli("fabric", "import", str(self.folder / "fabric.json"))
        self.ask("PUT", "/v1/qos-classes", {"items": CLASSES})

    def job(self, tenant, guaranteed, most, nodes):
        self.ask("PUT", f"/v1/tenants/{tenant}", {})
        self.ask("PUT", f"/v1/contracts/{tenant}", {"guaranteedGbps": guaranteed / 1000, "maxGbps": most / 1000, "classes": ["all-reduce"],
                                                    "isolation": "lane"})
        job = self.ask("POST", "/v1/jobs", {"name": tenant, "tenant": tenant, "parallelism": {"tensor": 1, "data": len(nodes)}, "gpusPerNode": 1,
                                            "nodes": nodes})
        return job["id"], job["guarantee"]["lane"]

    def dscp(self, job):
        """As its ranks are told to mark their packets."""
        marks = {rank["env"]["NCCL_IB_TC"] for rank in self.ask("GET", f"/v1/jobs/{job}/ranks?limit=100")["items"]}
        assert len(marks) == 1, marks
        return int(marks.pop()) // 4

    def program(self):
        """The switches do what Railweave's drivers wrote for them."""
        for switch, _, script in self.scripts():
            inside(switch, "sh", "-e", "-c", script)

    def differ(self):
        """What the switches say that they have otherwise than Railweave wants it now: {(switch, what): text}."""
        found = {}
        for switch, to, script in self.scripts("--check"):
            done = inside(switch, "sh", "-c", script, check=False)
            assert done.returncode in (0, 1) and (done.stdout == "as wanted\n") == (done.returncode == 0), (switch, to, done)
            if done.returncode:
                found[switch, to] = done.stdout
        return found

    def scripts(self, *options):
        for switch in SWITCHES:
            ports = {str(port if node == a else other): b if node == a else a for a, port, b, other in CABLES for node in (a, b) if node == switch}
            names = {"addresses": {**{f"{host}/eth0": ADDRESS[host] for host in HOSTS}, **{name: ADDRESS[name] for name in SWITCHES}},
                     "interfaces": ports}
            file = self.folder / f"{switch}.json"
            file.write_text(json.dumps(names))
            for to in ("tc", "routes"):
                yield switch, to, self.cli("switches", "config", switch, "--to", to, "--names", str(file), *options)

    def next_switch(self, switch, host):
        table = self.ask("GET", f"/v1/switches/{switch}/forwarding-table?limit=1000")["items"]
        return next(entry["wantedTo"] for entry in table if entry["destination"].get("node") == host)

    def cut(self, leaf, spine):
        inside(leaf, "ip", "link", "set", spine, "down")
        number, other = next((port, far) for a, port, b, far in CABLES if (a, b) == (leaf, spine))
        links = self.ask("GET", "/v1/links?limit=1000")["items"]
        link = next(one["id"] for one in links if one["name"] in (f"{leaf}/{number}--{spine}/{other}", f"{spine}/{other}--{leaf}/{number}"))
        self.ask("POST", f"/v1/links/{link}/drain", {"reason": "cut", "force": True})


def expect(what, measured, least):
    print(f"{what}: {measured:.1f} Mb/s, wanted at least {least:.1f}", flush=True)
    if measured < least:
        sys.exit(f"FAILED: {what}")


def keeps(network, what, dscp, load):
    for kind in ("TCP", "UDP"):
        expect(f"{what}, {kind}", network.measure(kind, dscp, load), GUARANTEE * KEPT)


def refused_marks(leaf):
    """Packets that the leaf has re-marked."""
    text = inside(leaf, "nft", "list", "ruleset").stdout
    return sum(int(word) for line in text.splitlines() if "counter packets" in line for word in [line.split("counter packets ")[1].split()[0]])


def changes_are_seen(switches):
    """Each by the one line that it changes, and nothing once it is undone."""
    spine, host = "s1", next(name for name in HOSTS if HOSTS[name] == "l1")
    for command, what, line in (
            (f"tc class change dev {spine} parent 1:1 classid 1:2 htb rate 1mbit ceil 2mbit", "tc", "rate 1Mbit"),
            (f"tc qdisc del dev {host} root", "tc", "< qdisc htb 1:"),
            (f"tc filter del dev {spine} parent 1: prio 10", "tc", "< filter protocol ip pref 10"),
            (f"nft flush chain netdev railweave_{host} marks", "tc", "< \t\tip dscp"),
            (f"ip route replace unreachable {ADDRESS['n4']}/32", "routes", f"> unreachable {ADDRESS['n4']}"),
            (f"ip route del {ADDRESS['n5']}/32", "routes", f"< {ADDRESS['n5']} via")):
        inside("l1", "sh", "-e", "-c", command)
        found = switches.differ()
        assert list(found) == [("l1", what)] and line in found["l1", what], (command, found)
        switches.program()
        assert not switches.differ(), switches.differ()


def ports_are_looked_at(switches, folder):
    """A port that is down, at both of its ends, and an adapter that is slower than the link that was accepted."""
    inside("l1", "ip", "link", "set", "s1", "down")
    found = switches.differ()
    assert "s1: is down\n" in found["l1", "tc"] and "l1: is " in found["s1", "tc"], found
    inside("l1", "ip", "link", "set", "s1", "up")
    switches.program()
    assert holds(lambda: not switches.differ()), switches.differ()
    # veth has no speed of its own, so its place in sysfs is taken by an adapter's, as its driver would fill it.
    script = next(text for switch, to, text in switches.scripts("--check") if (switch, to) == ("l1", "tc"))
    for speed, code, line in ((LINK, 0, "as wanted\n"), (10, 1, f"s1: its speed is 10 Mb/s, and not {LINK}\n")):
        for name in ("n1", "n2", "n3", "s1", "s2"):
            place = folder / "adapters" / name
            (place / "device").mkdir(parents=True, exist_ok=True)
            (place / "operstate").write_text("up\n")
            (place / "speed").write_text(f"{speed if name == 's1' else LINK}\n")
        done = inside("l1", "sh", "-c", f"mount --bind {folder}/adapters /sys/class/net && exec sh", input=script, check=False)
        assert (done.returncode, done.stdout) == (code, line), done


def holds(condition, seconds=10):
    ends = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > ends:
            return False
        time.sleep(0.2)
    return True


def scenario(binaries, folder, network, service):
    switches = Fabric(binaries, service, folder)
    switches.accept()
    b, lane_of_b = switches.job("blue", GUARANTEE, LINK, ["n1", "n4"])
    a, lane_of_a = switches.job("red", 20, MOST_OF_A, ["n2", "n3", "n4"])
    _, lane_of_c = switches.job("green", 20, LINK, ["n5", "n6"])
    assert lane_of_a != lane_of_b and lane_of_c == lane_of_b, (lane_of_a, lane_of_b, lane_of_c)
    mark, of_a = switches.dscp(b), switches.dscp(a)
    assert mark != of_a and not {mark, of_a} & {OF_CLASS, BEST_EFFORT}, (mark, of_a)
    shown = switches.cli("guarantees", "list")
    assert "lane 0 (planned)" in shown, shown
    assert len(switches.differ()) == 2 * len(SWITCHES), "switches that have nothing are as wanted"
    switches.program()
    assert not switches.differ(), switches.differ()
    changes_are_seen(switches)
    ports_are_looked_at(switches, folder)

    flood = [("n2", BEST_EFFORT, 95), ("n3", BEST_EFFORT, 95), ("n5", BEST_EFFORT, 95)]
    incast = [("n2", of_a, MOST_OF_A), ("n3", of_a, MOST_OF_A)]
    neighbour = [("n2", of_a, 95), ("n3", OF_CLASS, 95)]
    # n3 has no job with that lane; n5 has, but not towards n4.
    promoted = [("n3", mark, 95), ("n5", mark, 95)]
    expect("alone, TCP", network.measure("TCP", mark, []), 0.9 * LINK * KEPT)
    keeps(network, "under a flood of best effort", mark, flood)
    unmarked = network.measure("TCP", BEST_EFFORT, flood)
    print(f"the same without its mark: {unmarked:.1f} Mb/s")
    assert unmarked < GUARANTEE * KEPT, "the flood leaves enough without any lane: nothing is proven"
    keeps(network, "beside an incast of A at its caps", mark, incast)
    keeps(network, "beside A far above its maximum", mark, neighbour)
    before = [refused_marks(leaf) for leaf in ("l1", "l2")]
    keeps(network, "under a flood with its own mark", mark, promoted)
    remarked = [refused_marks(leaf) - was for leaf, was in zip(("l1", "l2"), before)]
    assert min(remarked) > 1000, f"packets re-marked by the leaves: {remarked}"

    for leaf in ("l1", "l2"):
        inside(leaf, "nft", "flush", "ruleset")
    assert set(switches.differ()) == {("l1", "tc"), ("l2", "tc")}, switches.differ()
    unfiltered = network.measure("UDP", mark, promoted)
    print(f"the same without the filter of marks: {unfiltered:.1f} Mb/s")
    assert unfiltered < GUARANTEE * KEPT, "it keeps its guarantee without the filter: nothing is proven"

    spine = switches.next_switch("l1", "n4")
    switches.cut("l1", spine)
    assert switches.next_switch("l1", "n4") != spine, "the cut link is still used"
    stale = switches.differ()
    assert f"< {ADDRESS['n4']} via" in stale["l1", "routes"], stale  # the kernel has dropped those over the cut link
    switches.program()
    assert not switches.differ(), switches.differ()
    keeps(network, f"after the link l1-{spine} was cut, under all of it", mark, [*flood, *neighbour, *promoted])
    expect("after the cut, alone, TCP", network.measure("TCP", mark, []), 0.9 * LINK * KEPT)


def send(address, dscp, mbps):
    import socket
    import time
    packet, out = bytes(1400), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    out.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, int(dscp) * 4)
    out.setblocking(False)
    begin, sent, rate = time.monotonic(), 0, float(mbps) * 1e6 / 8 / 1428
    while time.monotonic() - begin < 60:
        due = (time.monotonic() - begin) * rate
        while sent < due:
            sent += 1
            try:
                out.sendto(packet, (address, 9))
            except OSError:
                pass
        time.sleep(0.002)


def need_namespaces():
    """Skips the test where they, or what is needed in them, are not here."""
    if os.geteuid() != 0:
        skip("not root")
    for tool in ("ip", "tc", "nft", "iperf3", "sysctl", "ss"):
        if not shutil.which(tool):
            skip(f"{tool} is not installed")
    if run("ip", "netns", "add", f"{PREFIX}try", check=False).returncode:
        skip("network namespaces cannot be made here")
    lacking = inside("try", "nft", "-f", "-", check=False, input='table netdev t { chain c { type filter hook ingress device "lo" priority 0; ip dscp 3 ip dscp set 0; }; }')
    no_htb = inside("try", "tc", "qdisc", "add", "dev", "lo", "root", "htb", check=False)
    run("ip", "netns", "del", f"{PREFIX}try", check=False)
    if lacking.returncode or no_htb.returncode:
        skip(f"the kernel has no netdev filters or no HTB: {lacking.stderr.strip()} {no_htb.stderr.strip()}")


def main():
    if sys.argv[1] == "--send":
        return send(*sys.argv[2:])
    need_namespaces()
    binaries = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="railweave-lane-traffic-") as folder, Network() as network:
        network.build()
        with Service(binaries / "railweaved") as service:
            scenario(binaries, Path(folder), network, service.start() if service.process is None else service)
    left = [line for line in run("ip", "netns", "list").stdout.split() if line.startswith(PREFIX)]
    assert not left, f"namespaces left behind: {left}"
    print("PASSED")
    return 0


if __name__ == "__main__":
    sys.exit(main())
