#!/usr/bin/env python3
"""Isolation "class" on real packets: two jobs of one tenant share the class, its mark and the link into n4. A real railweaved plans,
the switches have the queues and routes that it makes, and the agents of deploy/agent limit both sides on the hosts: no test
code programs anything there.

Without agents an incast of job A takes from B inside their class. With them B keeps 95 % of its guarantee, by TCP and by UDP, beside
a flood, A's incast and A far above its maximum; what A sends above its guarantee arrives as best effort, and in the class never more
than that; a sender that is alone gets all of the receiver's guarantee, two get half each. The grade follows the agents' reports: planned
before them, class with them, planned again once one has ended.

agent_traffic_test.py BIN_FOLDER AGENT_FOLDER     exit code 77: skipped, and why
"""
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
WITH_JOBS = ("n1", "n2", "n3", "n4")


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
        until("agents on all nodes of both jobs", lambda: all(in_force(fabric, job)["isolation"] == "class" for job in (a, b)), seconds=30)
        with_agents(fabric, network, agents, b, (flood, incast, far_above))
    except BaseException:
        print(agents.logs(), file=sys.stderr)
        raise


def certified(fabric, audit):
    """The verifier says that isolation inside the class rests on agents' words, and misses none of the jobs that it is for."""
    said = fabric.cli("guarantees", "verify", "--keep", str(audit))
    assert "ASSUMED: 2 jobs are isolated" in said and "HOLDS" in said, said
    certificate = json.loads((audit / "certificate.json").read_text())
    assert [(one["nodes"], one["lacking"]) for one in certificate["agents"]] == [(2, 0), (3, 0)], certificate["agents"]
    verifier = [str(Path(fabric.railweave).parent / "railweave-verify"), str(audit / "fabric.json"), str(audit / "opensm.fdbs"), str(audit / "changed.json")]
    outside = [word for name in ("contracts", "classes", "jobs", "links-down") for word in (f"--{name}", str(audit / f"{name}.json"))]
    for changed in ([], certificate["agents"][:1], certificate["agents"] * 2):
        (audit / "changed.json").write_text(json.dumps({**certificate, "agents": changed}))
        done = run(*verifier, *outside, check=False)
        assert done.returncode == 1 and "agents" in done.stdout, (changed, done.stdout)


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
    network.stop(flows[:1])

    agents.kill("n3")
    assert in_force(fabric, b)["isolation"] == "class", "a report holds until it expires"
    until("the grade without n3's agent", lambda: in_force(fabric, b)["isolation"] == "planned", seconds=30)
    told = in_force(fabric, b)
    assert told["unreportedNodes"] == ["n3"], told
    assert "class (planned)" in fabric.cli("guarantees", "list")
    agents.start("n3")
    until("the grade with n3's agent again", lambda: in_force(fabric, b)["isolation"] == "class", seconds=30)


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
