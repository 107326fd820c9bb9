#!/usr/bin/env python3
"""Isolation "class" on real packets: two jobs of one tenant share the class, its mark and the link into n4. A real railweaved plans,
the switches have the queues and routes that it makes, and the agents of deploy/agent limit both sides on the hosts: no test
code programs anything there.

Without agents an incast of job A takes from B inside their class. With them B keeps 95 % of its guarantee, by TCP and by UDP, beside
a flood, A's incast and A far above its maximum; what A sends above its guarantee arrives as best effort, and in the class never more
than that; a sender that is alone gets all of the receiver's guarantee, two get half each. The grade follows the agents' reports: planned
before them, class with them, planned again once one has ended; a host without a job that uses the class's mark takes from B unless its
agent runs, and the grade is planned until the agents of all such hosts report. What a program on a peer says in the place of its
agent (forged, repeated, of another key) changes nothing and is counted.

agent_traffic_test.py BIN_FOLDER AGENT_FOLDER     exit code 77: skipped, and why
"""
import hmac
import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import lane_traffic_test as lanes  # noqa: E402
from lane_traffic_test import ADDRESS, Fabric, GUARANTEE, HOSTS, KEPT, Network, inside, run  # noqa: E402
from service import Service  # noqa: E402
from waiting import until  # noqa: E402

OF_CLASS, MANAGEMENT, OF_A = 26, 48, 20
lanes.CLASSES = [{"name": "all-reduce", "sharePermille": 750, "priority": 0, "dscp": OF_CLASS},
                 {"name": "management", "sharePermille": 50, "priority": 1, "dscp": MANAGEMENT, "open": True},
                 {"name": "best-effort", "sharePermille": 150, "priority": 2, "lossless": False, "dscp": 0}]
# All on one leaf: over several the routes of a class are the switches' hashes, so that nothing is guaranteed there.
lanes.SWITCHES, lanes.CABLES = ("l1",), [("l1", at + 1, host, 1) for at, host in enumerate(HOSTS)]
HOSTS.update(dict.fromkeys(HOSTS, "l1"))
WITH_JOBS, WITHOUT = ("n1", "n2", "n3", "n4"), ("n5", "n6")


class Agents:
    def __init__(self, network, folder, names, socket, script, tokens):
        self.network, self.folder, self.names, self.socket, self.script = network, folder, names, socket, script
        self.tokens = tokens  # of each node, in a file of its own
        self.processes = {}

    def start(self, node):
        log = open(self.folder / f"agent-{node}.log", "ab")
        self.processes[node] = self.network.start(
            node, "sh", "-c", 'exec "$@" 2>&1', "agent", sys.executable, "-u", str(self.script / "railweave_agent.py"), node, "--server", f"unix:{self.socket}",
            "--token-file", str(self.tokens[node]), "--interface", f"eth0={HOSTS[node]}", "--names", str(self.names), "--listen", ADDRESS[node], "--dscp", str(MANAGEMENT), output=log)

    def kill(self, node):
        self.processes[node].kill()
        self.processes[node].wait()

    def logs(self):
        return "\n".join(f"{file.name}: {file.read_text()[-800:]}" for file in sorted(self.folder.glob("agent-*.log")))


def count_arrivals(node):
    """Bytes that come in, by sender and mark, counted before anything else sees them."""
    senders = [f"ip saddr {ADDRESS[host]} ip dscp {dscp} counter" for host in ("n2", "n3") for dscp in (OF_CLASS, 0)]
    rules = "".join(f"    {rule}\n" for rule in senders)
    inside(node, "nft", "-f", "-", input=f'table netdev arrivals {{\n  chain c {{\n    type filter hook ingress device "{HOSTS[node]}" priority -10;\n{rules}  }}\n}}\n')


def arrivals(node):
    """(in the class, as best effort) by sender, in bytes."""
    found = {}
    for one in json.loads(inside(node, "nft", "-j", "list", "table", "netdev", "arrivals").stdout)["nftables"]:
        if "rule" not in one:
            continue
        address, dscp = (part["match"]["right"] for part in one["rule"]["expr"] if "match" in part)
        counted = next(part["counter"]["bytes"] for part in one["rule"]["expr"] if "counter" in part)
        host = next(name for name in HOSTS if ADDRESS[name] == address)
        found[host, "best effort" if dscp == "cs0" else "class"] = counted
    return found


def in_force(fabric, job):
    return next(one for one in fabric.ask("GET", "/v1/guarantees")["items"] if one["job"] == job)["inForce"]


def rates(node, seconds):
    before = arrivals(node)
    time.sleep(seconds)
    # Of packets of 1400 bytes, with their headers for IP and UDP.
    return {key: (count - before[key]) * 8 / 1e6 / seconds * 1400 / 1428 for key, count in arrivals(node).items()}


def scenario(binaries, agent_folder, folder, network, service, socket):
    fabric = Fabric(binaries, service, folder, (service.folder / "store.db.admin-token").read_text().strip())
    fabric.accept()
    fabric.ask("PUT", "/v1/tenants/blue", {})
    fabric.ask("PUT", "/v1/contracts/blue", {"guaranteedGbps": GUARANTEE / 1000, "maxGbps": GUARANTEE / 1000, "classes": ["all-reduce"],
                                             "isolation": "class"})
    submit = lambda name, nodes, **more: fabric.ask("POST", "/v1/jobs", {"name": name, "tenant": "blue", "gpusPerNode": 1, "nodes": nodes,
                                                                         "parallelism": {"tensor": 1, "data": len(nodes)}, **more})["id"]
    b = submit("b", ["n1", "n4"])
    a = submit("a", ["n2", "n3", "n4"], bandwidth={"guaranteedGbpsPerPort": OF_A / 1000})
    assert fabric.dscp(a) == fabric.dscp(b) == OF_CLASS
    planned = in_force(fabric, b)
    assert planned["isolation"] == "planned" and planned["unreportedNodes"][:2] == ["n1", "n4"], planned
    fabric.program()
    names = folder / "l1.json"  # the addresses are those of all nodes

    incast = [("n2", OF_CLASS, 60), ("n3", OF_CLASS, 60)]
    far_above = [("n2", OF_CLASS, 95), ("n3", OF_CLASS, 95)]
    flood = [("n2", 0, 95), ("n3", 0, 95), ("n5", 0, 95)]
    without = network.measure("UDP", OF_CLASS, far_above)
    print(f"beside A far above its maximum, without agents, UDP: {without:.1f} Mb/s")
    assert without < GUARANTEE * KEPT, "B keeps its guarantee without agents: nothing is proven"

    tokens = {node: folder / f"{node}.token" for node in HOSTS}
    for node, file in tokens.items():
        fabric.cli("tokens", "issue", f"agent-{node}", "--role", "agent", "--node", node, "--token-file", str(file))
    agents = Agents(network, folder, names, socket, agent_folder, tokens)
    for node in WITH_JOBS:
        agents.start(node)
    try:
        until("agents on all nodes of both jobs", lambda: all(set(in_force(fabric, job)["unreportedNodes"]) == set(WITHOUT) for job in (a, b)), seconds=30)
        strangers(fabric, network, agents, b)
        until("agents on all nodes of both jobs", lambda: all(in_force(fabric, job)["isolation"] == "class" for job in (a, b)), seconds=30)
        with_agents(fabric, network, agents, b, (flood, incast, far_above))
    except BaseException:
        print(agents.logs(), [fabric.ask("GET", f"/v1/nodes/{node}/budgets/report") for node in WITH_JOBS], file=sys.stderr)
        raise


def certified(fabric, audit):
    """The verifier says that isolation inside the class rests on agents' words, which are not in the certificate: one that has them is refused."""
    said = fabric.cli("guarantees", "verify", "--keep", str(audit))
    assert "ASSUMED: agents on the nodes of 2 jobs limit them inside class" in said and "HOLDS" in said, said
    certificate = json.loads((audit / "certificate.json").read_text())
    verifier = [str(Path(fabric.railweave).parent / "railweave-verify"), str(audit / "fabric.json"), str(audit / "opensm.fdbs"), str(audit / "changed.json")]
    outside = [word for name in ("contracts", "classes", "jobs", "links-down") for word in (f"--{name}", str(audit / f"{name}.json"))]
    (audit / "changed.json").write_text(json.dumps({**certificate, "agents": []}))
    done = run(*verifier, *outside, check=False)
    assert done.returncode == 1 and "agents is nothing that is checked" in done.stdout, done.stdout


def strangers(fabric, network, agents, b):
    """Hosts without a job that mark their packets for the class: what the grade says is what happens to B."""
    told = in_force(fabric, b)
    assert told["isolation"] == "planned" and "hosts without a job" in told["statement"], told
    load = [(node, OF_CLASS, 95) for node in WITHOUT]
    taken = network.measure("UDP", OF_CLASS, load)
    print(f"beside hosts without a job that use its mark, UDP: {taken:.1f} Mb/s")
    assert taken < GUARANTEE * KEPT, "B keeps its guarantee: nothing is proven"
    for node in WITHOUT:
        agents.start(node)
    until("agents on hosts without a job", lambda: in_force(fabric, b)["isolation"] == "class", seconds=30)
    lanes.keeps(network, "beside hosts without a job whose agents keep them out", OF_CLASS, load)


def with_agents(fabric, network, agents, b, loads):
    flood, incast, far_above = loads
    shown = fabric.cli("guarantees", "list")
    assert "class" in shown and "class (planned)" not in shown, shown
    budgets = fabric.cli("nodes", "budgets", "n4")
    assert "reports them as applied" in budgets and str(GUARANTEE) in budgets, budgets
    certified(fabric, agents.folder / "audit")
    time.sleep(3.5)  # what an earlier run of a receiver's agent may have granted has expired
    lanes.keeps(network, "under a flood of best effort", OF_CLASS, flood)
    lanes.keeps(network, "beside an incast of A at its caps", OF_CLASS, incast)
    lanes.keeps(network, "beside A far above its maximum", OF_CLASS, far_above)

    count_arrivals("n4")
    flows = [network.send(*one) for one in far_above]
    time.sleep(3)
    got = rates("n4", 4)
    print("A from two senders: " + ", ".join(f"{host} {kind} {mbps:.1f} Mb/s" for (host, kind), mbps in sorted(got.items())))
    of_class = [got[host, "class"] for host in ("n2", "n3")]
    assert OF_A * KEPT <= sum(of_class) <= OF_A * 1.03, of_class
    assert max(of_class) <= 1.1 * OF_A / 2, f"each has half: {of_class}"
    assert min(got[host, "best effort"] for host in ("n2", "n3")) > 5, "what is above goes as best effort"
    network.stop(flows[1:])
    time.sleep(4)
    alone = rates("n4", 4)
    print(f"A from one sender: {alone['n2', 'class']:.1f} Mb/s in the class")
    assert OF_A * KEPT <= alone["n2", "class"] <= OF_A * 1.03, alone
    forged(fabric, a_job(fabric))
    after = rates("n4", 4)
    print(f"the same beside forged and repeated messages: {after['n2', 'class']:.1f} Mb/s in the class")
    assert OF_A * KEPT <= after["n2", "class"] <= OF_A * 1.03, after
    network.stop(flows[:1])

    agents.kill("n3")
    assert in_force(fabric, b)["isolation"] == "class", "a report holds until it expires"
    until("the grade without n3's agent", lambda: in_force(fabric, b)["isolation"] == "planned", seconds=30)
    told = in_force(fabric, b)
    assert told["unreportedNodes"] == ["n3"], told
    assert "class (planned)" in fabric.cli("guarantees", "list")
    agents.start("n3")
    until("the grade with n3's agent again", lambda: in_force(fabric, b)["isolation"] == "class", seconds=30)


HEAR = """
import socket, sys, time
ear, until, seen = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800)), time.monotonic() + 1.5, []
ear.settimeout(1.5)
while time.monotonic() < until:
    packet = ear.recv(65536)
    if packet[9] == 17 and packet[12:16] == socket.inet_aton(sys.argv[1]) and packet[22:24] == (7412).to_bytes(2, "big"):
        seen.append(packet[28:].hex())
print(" ".join(seen))
"""
SAY = """
import json, socket, sys
mouth = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for letter in json.load(sys.stdin):
    mouth.sendto(bytes.fromhex(letter), (sys.argv[1], 7412))
"""


def a_job(fabric):
    return next(one["id"] for one in fabric.ask("GET", "/v1/jobs")["items"] if one["name"] == "a")


def forged(fabric, job):
    """A program on n4, with no right but to send, says what only n4's agent may: that n2 gets nothing, with a number above all others."""
    ignored = lambda: fabric.ask("GET", "/v1/nodes/n2/budgets/report")["ignoredMessages"]
    before = ignored()
    seen = [bytes.fromhex(one) for one in inside("n2", sys.executable, "-c", HEAR, ADDRESS["n4"]).stdout.split()]
    assert seen, "n4's agent says nothing to n2's"
    nothing = [[job, "eth0", "grants", number, 0] for number in (10**18, 2**53 - 1, 10**12)]
    letters = [json.dumps([line]).encode() for line in nothing] + seen + [one[:32] + one[32:].replace(b'"grants"', b'"wants"') for one in seen]
    for key in ("0" * 64, "1" * 64):  # of no one
        for line in nothing:
            body = json.dumps({"from": "n4", "run": "0" * 16, "number": 2**53 - 1, "nonce": "0" * 16, "echo": None, "lines": [line]}).encode()
            letters.append(hmac.new(key.encode(), body, "sha256").hexdigest()[:32].encode() + b" " + body)
    for _ in range(3):
        inside("n4", sys.executable, "-c", SAY, ADDRESS["n2"], input=json.dumps([one.hex() for one in letters]))
        time.sleep(0.5)
    until("they are counted", lambda: (ignored() or 0) >= (before or 0) + 3 * len(letters) - len(seen), seconds=10)
    shown = fabric.ask("GET", "/v1/nodes/n2/budgets")["jobs"]
    assert all(len(peer["key"]) == 64 for one in shown for peer in one["peers"]), shown


def main():
    lanes.need_namespaces()
    binaries, agent_folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory(prefix="railweave-agents-") as folder, Network() as network:
        network.build()
        socket = Path(folder) / "railweaved.sock"
        with Service(binaries / "railweaved", authentication="tokens") as service:
            service.start("--socket", str(socket))
            scenario(binaries, agent_folder, Path(folder), network, service, socket)
    left = [line for line in lanes.run("ip", "netns", "list").stdout.split() if line.startswith(lanes.PREFIX)]
    assert not left, f"namespaces left behind: {left}"
    print("PASSED")
    return 0


if __name__ == "__main__":
    sys.exit(main())
