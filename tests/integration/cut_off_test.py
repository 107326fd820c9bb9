#!/usr/bin/env python3
"""Hosts that no link in use joins to the rest of a simulated subnet, by drains and by failures: the drain that would do it is
refused unless forced, it is critical, and no job is placed there. A subnet that is blind is shown as unknown.

cut_off_test.py BIN_FOLDER        exit code 77: skipped, and why
"""
import json
import re
import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from damping_test import link_between, switches_of  # noqa: E402
from ibsim import missing  # noqa: E402
from live_faults_test import Subnet, leaf_of_manager, links_of  # noqa: E402

KEYS = "sweep_seconds = 1\nlook_seconds = 2"


class Leaf:
    """One that is not the manager's, with a job on all hosts of the subnet."""

    def __init__(self, subnet):
        self.subnet, self.service = subnet, subnet.service
        peers = links_of(subnet.netlist)
        self.name = next(leaf for leaf in switches_of(subnet.netlist)[0] if leaf != leaf_of_manager(subnet))
        self.up = [(self.name, port) for (switch, port), (peer, _) in sorted(peers.items()) if switch == self.name and peer.startswith("S-")]
        ports = {f"{self.name[2:]}/{port}" for (switch, port), (peer, _) in peers.items() if switch == self.name and peer.startswith("H-")}
        links = self.service.get("/v1/links?limit=1000&kind=infiniband")["items"]
        self.nodes = {end["node"] for link in links if {one["port"] for one in link["ends"]} & ports for end in link["ends"] if "node" in end}
        assert len(self.nodes) == 8 and len(self.up) == 8, (self.nodes, self.up)
        self.links = [link_between(self.service, cable) for cable in self.up]

    def cut(self, cables, back=False):
        for cable in cables:
            self.subnet.sim.console(f'{"ReLink" if back else "Unlink"} "{cable[0]}"[{cable[1]}]')

    def drain(self, link, *more):
        return self.service.cli("links", "drain", link, "--reason", "ticket 8841", *more)

    def states(self):
        """Of nodes that are not ready."""
        return {node["id"]: node["state"] for node in self.service.get("/v1/nodes?limit=1000")["items"] if node["state"] != "ready"}

    def wait_states(self, expected):
        until = time.monotonic() + 20
        while self.states() != expected:
            assert time.monotonic() < until, (self.states(), expected)
            time.sleep(0.1)

    def is_critical(self, jobs):
        self.service.wait_alarm("hosts.cutOff")
        alarm = next(one for one in self.service.get("/v1/alarms?limit=1000")["items"] if one["kind"] == "hosts.cutOff")
        assert alarm["severity"] == "critical" and alarm["text"].startswith("8 hosts are cut off from"), alarm
        assert all(node in alarm["text"] for node in self.nodes) and alarm["jobs"] == jobs, alarm
        self.wait_states(dict.fromkeys(self.nodes, "cutOff"))
        listed = self.service.cli("nodes", "list", "--state", "cut off").stdout
        assert all(node in listed for node in self.nodes), listed

    def is_over(self):
        self.wait_states({})
        self.service.wait_alarm("hosts.cutOff", there=False)


def submit(service, gpus):
    service.cli("tenants", "set", "t")
    done = service.cli("jobs", "submit", "--tenant", "t", "--name", "j", "--tp", "1", "--dp", str(gpus))
    return done.returncode, done.stdout + done.stderr


def the_last_link_is_drained(binaries):
    with Subnet(binaries, KEYS) as subnet:
        leaf = Leaf(subnet)
        code, said = submit(leaf.service, 64)
        assert code == 0, said
        leaf.cut(leaf.up[1:])
        leaf.service.wait("cut", lambda s: s["linksDown"] == 7 and s["phase"] == "synced", 30)
        looked = leaf.drain(leaf.links[0], "--dry-run")
        refused = leaf.drain(leaf.links[0])
        assert looked.returncode == 10 and refused.returncode == 5, (looked, refused)
        for said in (looked.stdout, refused.stderr):
            assert "cuts off 8 end ports" in said and "nothing else joins to the rest" in said and "jobs there: job-000001" in said, said
            assert any(node in said for node in leaf.nodes), said
        assert "with force" in refused.stderr or "--force" in refused.stderr, refused.stderr
        assert leaf.states() == {}
        assert leaf.service.cli("switches", "drain", leaf.name[2:]).returncode == 5, "the switch itself is the same"

        forced = leaf.drain(leaf.links[0], "--force")
        assert forced.returncode == 0, forced.stderr
        leaf.is_critical(["job-000001"])
        assert leaf.service.cli("links", "undrain", leaf.links[0]).returncode == 0
        leaf.is_over()
        print("the last link of a leaf: its drain is refused with hosts and jobs, forced it is critical, and undrained it is over")


def the_others_fail_after_a_drain(binaries):
    with Subnet(binaries, KEYS) as subnet:
        leaf = Leaf(subnet)
        drained = leaf.drain(leaf.links[0], "--wait")
        assert drained.returncode == 0, drained.stderr
        leaf.cut(leaf.up[1:])
        leaf.is_critical([])
        code, said = submit(leaf.service, 64)
        assert code == 6, said  # not now
        assert "8 nodes" in said and "cut off from the rest" in said, said
        assert submit(leaf.service, 56)[0] == 0, "the rest is as good as ever"
        asked = leaf.service.get("/v1/jobs?state=placed")["items"][0]["id"]
        nodes = leaf.service.request("GET", f"/v1/jobs/{asked}/ranks?limit=1000")[1]["items"]
        assert not {rank["node"] for rank in nodes} & leaf.nodes, nodes
        leaf.cut(leaf.up[1:], back=True)
        leaf.is_over()
        assert leaf.service.cli("links", "undrain", leaf.links[0]).returncode == 0
        print("all links but a drained one fail: critical, no job is placed there, over when one is back")


def a_switch_is_drained_by_force(binaries):
    with Subnet(binaries, KEYS) as subnet:
        leaf = Leaf(subnet)
        forced = leaf.service.cli("switches", "drain", leaf.name[2:], "--force", "--reason", "replace it")
        assert forced.returncode == 0, forced.stderr
        leaf.is_critical([])
        # Its nodes are drained too, so that no one expects anything of them.
        for node in sorted(leaf.nodes):
            assert leaf.service.cli("nodes", "drain", node).returncode == 0
        leaf.service.wait_alarm("hosts.cutOff", there=False)
        leaf.wait_states(dict.fromkeys(leaf.nodes, "drained"))
        print("a leaf drained by force: its nodes are cut off until they are drained as well")


def nothing_can_be_seen(binaries):
    with Subnet(binaries, KEYS) as subnet:
        service = subnet.service
        assert service.cli("status").returncode == 0
        before = {link["id"]: link["state"] for link in service.get("/v1/links?limit=1000&kind=infiniband")["items"]}
        assert set(before.values()) == {"up"}
        subnet.sim.console(f'Unlink "{subnet.sim.host}"')
        status = service.wait("blind", lambda s: s["phase"] == "blind", 30)
        assert status["unseen"] and status["linksUp"] == 0 == status["linksDown"] and status["linksUnknown"] == len(before), status
        links = service.get("/v1/links?limit=1000&kind=infiniband")["items"]
        assert {link["state"] for link in links} == {"unknown"} and {link["lastState"] for link in links} == {"up"}, links[0]
        assert {link["seenAt"] for link in links} == {status["discoveredAt"]}, links[0]
        fabric_map = service.get("/v1/fabric/map")
        assert all(bundle["unknown"] == bundle["links"] and bundle["down"] == 0 for bundle in fabric_map["bundles"]), fabric_map["bundles"][0]
        for command in (["status"], ["subnets", "show", subnet.name], ["fabric", "sync"]):
            assert service.cli(*command).returncode == 10, command
        said = service.cli("status").stdout
        assert re.search(rf"{subnet.name}.*blind: nothing is known of its links and tables since \d{{4}}-", said), said
        assert json.loads(service.cli("status", "-o", "json").stdout)["subnets"][0]["live"]["unseen"]
        shown = service.cli("subnets", "show", subnet.name).stdout
        assert f"{len(before)} links in unknown states" in shown and "links up" not in shown and "Last seen" in shown, shown
        assert "unknown" in service.cli("links", "show", next(iter(before))).stdout
        metrics = service.cli("links", "list").stdout
        assert " up " not in metrics, metrics
        subnet.sim.console(f'ReLink "{subnet.sim.host}"')
        service.synced(30)
        assert service.cli("status").returncode == 0
        assert {link["id"]: link["state"] for link in service.get("/v1/links?limit=1000&kind=infiniband")["items"]} == before
        print("a subnet that is blind: links, map, status and exit codes say that nothing is known, until it is seen again")


def main():
    lacking = missing() or (None if shutil.which("dump_fts") else "dump_fts")
    if lacking:
        print(f"skipped: {lacking} is absent")
        return 77
    for test in (the_last_link_is_drained, the_others_fail_after_a_drain, a_switch_is_drained_by_force, nothing_can_be_seen):
        if not sys.argv[2:] or test.__name__ in sys.argv[2:]:
            test(Path(sys.argv[1]).resolve())
    return 0


if __name__ == "__main__":
    sys.exit(main())
