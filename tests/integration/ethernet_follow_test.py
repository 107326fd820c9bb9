#!/usr/bin/env python3
"""`railweave switches follow` on real packets: two leaves, two spines and eight hosts as network namespaces, every cable of one rate. Two
jobs start through the command line on hosts that even routes lead over one spine; a step of both is over when the last host has got all
that its partner sends. It is measured on switches that hash flows, on even routes, and on routes that follow the jobs.

Then a cable fails and is drained while the follower is dead (SIGKILL), and the next one leads all traffic around it; a switch whose
program fails is tried again; the service is away for a while; and where nothing changes no switch is given anything. In the end each kernel
has what is wanted of its switch.

ethernet_follow_test.py BIN_FOLDER [STEPS]     exit code 77: skipped, and why
"""
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from lane_traffic_test import inside, run  # noqa: E402
from routed_network import PREFIX, Network  # noqa: E402
from service import Service  # noqa: E402
from waiting import until  # noqa: E402


class Operator:
    """The command line, the program that gives a switch its routes, and the follower."""

    def __init__(self, binaries, service, network, folder):
        self.railweave = [str(binaries / "railweave"), "--server", f"http://127.0.0.1:{service.port}"]
        self.network, self.folder, self.follower = network, folder, None
        self.calls, self.broken, self.said = folder / "calls", folder / "broken", folder / "said"
        names = {"addresses": network.addresses(), "switches": {one: {"interfaces": network.interfaces(one)} for one in network.switches}}
        (folder / "names.json").write_text(json.dumps(names))
        program = folder / "give-routes"
        program.write_text(f'#!/bin/sh\n[ ! -e "{self.broken}-$1" ] || exit 1\necho "$1" >> "{self.calls}"\nexec ip netns exec "{PREFIX}$1" sh -e\n')
        program.chmod(0o755)
        self.follow_words = [*self.railweave, "switches", "follow", "roce", "--names", str(folder / "names.json"), "--apply", str(program),
                             "--state", str(folder / "given"), "--every", "1"]

    def do(self, *words):
        return run(*self.railweave, *words).stdout

    def once(self):
        return run(*self.follow_words, "--once").stdout

    def start(self):
        with open(self.said, "ab") as said:
            self.follower = subprocess.Popen(self.follow_words, stdout=said, stderr=said)

    def kill(self):
        if self.follower:
            self.follower.kill()
            self.follower.wait()
            self.follower = None

    def submit(self, hosts):
        only = [word for host in hosts for word in ("--only", host)]
        answer = self.do("jobs", "submit", "--tenant", "t", "--dp", str(len(hosts)), "--gpus-per-node", "1", *only, "-o", "json")
        return json.loads(answer)["id"]

    def differs(self):
        """What a switch's kernel has otherwise than wanted, as `switches config --check` finds it."""
        found = {}
        for switch in self.network.switches:
            script = self.do("switches", "config", switch, "--to", "routes", "--names", str(self.folder / "names.json"), "--check")
            done = inside(switch, "sh", "-c", script, check=False)
            if done.returncode:
                found[switch] = done.stdout + done.stderr
        return found

    def calls_made(self):
        return self.calls.read_text().split() if self.calls.exists() else []

    def text(self):
        return self.said.read_text() if self.said.exists() else ""


def meeting_jobs(network):
    """Two jobs of a host of each leaf: what either leaf sends to both goes over one spine."""
    def pairs(leaf):
        return [(a, b) for a, b in itertools.combinations(network.of_leaf(leaf), 2)
                if network.next_node(network.other_leaf(leaf), a) == network.next_node(network.other_leaf(leaf), b)]

    (a, b), (c, d) = pairs("l1")[0], pairs("l2")[0]
    return (a, c), (b, d)


def measured(network, jobs, count):
    """Steps of both jobs, and the median of one alone."""
    partner = {host: other for job in jobs for host, other in (job, job[::-1])}
    with network.exchanging(partner) as ring:
        return [ring.step() for _ in range(count)], statistics.median(ring.step(jobs[0]) for _ in range(3))


def are_apart(network, jobs):
    return all(network.next_node(network.other_leaf(network.hosts[a]), a) != network.next_node(network.other_leaf(network.hosts[b]), b)
               for a, b in zip(*jobs))


def crossing(network, leaf):
    """By which spine the packets of each pair of a leaf and a host behind the other come to that leaf or leave it."""
    other = network.other_leaf(leaf)
    return [network.next_node(leaf, host) for host in network.of_leaf(other)] + [network.next_node(other, host) for host in network.of_leaf(leaf)]


def starts(operator, network):
    """Two jobs whose flows meet on the routes that there are; these follow."""
    jobs = meeting_jobs(network)
    return jobs, [operator.submit(job) for job in jobs]


def follows(operator, network, count, alone):
    """Jobs start under a follower that has nothing to do."""
    operator.start()
    until("the follower says that nothing is to be gained", lambda: "stay: no other next hops" in operator.text())
    before = operator.calls_made()
    jobs, ids = starts(operator, network)
    until("the jobs have a spine each", lambda: are_apart(network, jobs))
    until("the follower tells it", lambda: "follow 2 jobs" in operator.text())
    given = operator.calls_made()[len(before):]
    assert set(given) <= set(network.leaves) and len(given) <= 4, f"few switches are given anything: {given}"
    followed, _ = measured(network, jobs, count)
    assert statistics.median(followed) < 1.3 * alone, (followed, alone)
    return jobs, ids, followed


def goes_around(operator, network, jobs):
    """A cable fails while no follower runs, and another is drained while one does."""
    spine = network.next_node("l1", jobs[0][1])
    operator.kill()
    inside("l1", "ip", "link", "set", spine, "down")
    operator.do("links", "drain", network.link("l1", spine), "--reason", "cut", "--force")
    operator.start()
    others = [one for one in network.spines if one != spine]
    until(f"nothing is led over the cable between l1 and {spine}", lambda: set(crossing(network, "l1")) <= set(others))
    measured(network, jobs, 1)
    inside("l1", "ip", "link", "set", spine, "up")
    operator.kill()
    shutil.rmtree(operator.folder / "given")  # kernels drop what leads over such a cable: the switches are given all of it
    operator.do("links", "undrain", network.link("l1", spine))
    operator.start()
    until("the cable is used again", lambda: are_apart(network, jobs) and spine in crossing(network, "l1"))
    operator.do("links", "drain", network.link("l2", spine), "--force")  # and now one while it runs
    until(f"the follower leads around the cable between l2 and {spine}", lambda: set(crossing(network, "l2")) <= set(others))
    operator.do("links", "undrain", network.link("l2", spine))
    until("that one is used again", lambda: are_apart(network, jobs) and spine in crossing(network, "l2"))


def tries_again(operator, network, ids):
    """A switch that cannot be reached keeps its routes while others get theirs, and gets them later."""
    operator.do("jobs", "cancel", *ids)
    Path(f"{operator.broken}-l1").touch()
    jobs, ids = starts(operator, network)
    until("the follower says that l1 failed", lambda: "l1 keeps its routes, tried again in" in operator.text())
    (a, c), (b, d) = jobs
    until("l2 has its routes", lambda: network.next_node("l2", a) != network.next_node("l2", b))
    assert network.next_node("l1", c) == network.next_node("l1", d), "l1 keeps what it has"
    Path(f"{operator.broken}-l1").unlink()
    until("l1 has its routes", lambda: are_apart(network, jobs))
    return ids


def outlives_the_service(operator, service, network, ids):
    """It goes on where it was, and does nothing where nothing changes. Stopped, it leaves even routes."""
    operator.do("jobs", "cancel", *ids)
    service.stop()
    until("the follower misses the service", lambda: "tried again in" in operator.text().splitlines()[-1])
    service.start()
    jobs, _ = starts(operator, network)
    until("other jobs are followed", lambda: are_apart(network, jobs))
    until("what was given is kept", lambda: all((operator.folder / "given" / f"mark-{switch}").exists() for switch in network.switches))
    assert operator.follower.poll() is None, operator.text()
    operator.kill()
    made = operator.calls_made()
    operator.once()
    assert operator.calls_made() == made, "nothing changed, so nothing is given"
    assert not operator.differs(), operator.differs()
    assert "follow no jobs" in run(*operator.follow_words, "--stop").stderr
    assert json.loads(operator.do("subnets", "show", "roce", "-o", "json"))["routeBasis"] is None
    assert not operator.differs(), operator.differs()


def main():
    lacking = next((tool for tool in ("ip", "tc", "sysctl") if not shutil.which(tool)), None)
    if lacking or os.geteuid() != 0:
        print(f"skipped: {lacking or 'needs to be root'}")
        return 77
    binaries, count = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 3
    network, operator = Network(hosts=8, spines=2), None
    with tempfile.TemporaryDirectory(prefix="railweave-ef-") as name, Service(binaries / "railweaved", name) as service:
        folder = Path(name)
        (folder / "fabric.json").write_text(json.dumps(network.fabric()))
        try:
            network.build()
            service.start()
            operator = Operator(binaries, service, network, folder)
            operator.do("fabric", "import", str(folder / "fabric.json"))
            operator.do("tenants", "set", "t")
            said = operator.once()
            assert sorted(line.split(":")[0] for line in said.splitlines()[1:]) == sorted(network.switches), said
            jobs = meeting_jobs(network)
            even, alone = measured(network, jobs, count)
            network.flush()
            network.hash_flows()
            hashed, _ = measured(network, jobs, 2 * count)
            network.flush()
            shutil.rmtree(folder / "given")
            operator.once()
            jobs, ids, followed = follows(operator, network, count, alone)
            goes_around(operator, network, jobs)
            ids = tries_again(operator, network, ids)
            outlives_the_service(operator, service, network, ids)
        except BaseException:
            print(operator.text() if operator else "", file=sys.stderr)
            raise
        finally:
            if operator:
                operator.kill()
            network.remove()
    print(f"one job alone: {alone:.2f} s a step")
    for what, times in (("hashed", hashed), ("even routes", even), ("routes that follow the jobs", followed)):
        print(f"{what}: {statistics.mean(times) / alone:.2f} times that, {min(times) / alone:.2f} to {max(times) / alone:.2f}, {len(times)} steps")
    gain = statistics.mean(even) / statistics.mean(followed)
    print(f"steps are {gain:.2f} times as fast as on even routes, {statistics.mean(hashed) / statistics.mean(followed):.2f} times as fast as hashed")
    assert gain > 1.5, gain
    return 0


if __name__ == "__main__":
    sys.exit(main())
