#!/usr/bin/env python3
"""Links that flap and switches that restart on a simulated subnet: nothing that is needed is ever held out of use. Judged by
the tables that dump_fts reads from the switches and a walk of this test's own.

damping_test.py BIN_FOLDER        exit code 77: skipped, and why
"""
import re
import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import missing  # noqa: E402
from live_faults_test import Subnet, leaf_of_manager, links_of, lost_by_hand  # noqa: E402
from live_subnet_test import cables  # noqa: E402

KEYS = "sweep_seconds = 1\nlook_seconds = 2"


def switches_of(netlist):
    """(leaves, spines)"""
    peers = links_of(netlist)
    leaves = sorted({switch for (switch, _), (peer, _) in peers.items() if peer.startswith("H-")})
    return leaves, sorted({switch for switch, _ in peers} - set(leaves))


def reboot(subnet, switch, seconds=1.5):
    subnet.sim.console(f'Unlink "{switch}"')
    time.sleep(seconds)
    subnet.sim.console(f'ReLink "{switch}"')
    time.sleep(seconds)


def all_is_served(subnet, what, seconds):
    """All pairs reach each other by what switches hold, within so long of the last cable being up."""
    began, lost = time.monotonic(), None
    while lost != 0:
        assert time.monotonic() - began < seconds, f"{what}: {lost} pairs are lost after {seconds} s: {subnet.service.live()}"
        time.sleep(0.2)
        lost = lost_by_hand(subnet.sim, subnet.netlist, [])
    took = time.monotonic() - began
    status = subnet.service.synced(30)
    assert status["linksDamped"] == 0 == status["linksDown"] and status["problem"] == "", status
    return took


def every_switch_is_rebooted_twice(binaries):
    with Subnet(binaries, KEYS) as subnet:
        leaves, spines = switches_of(subnet.netlist)
        own = leaf_of_manager(subnet)
        took = []
        for turn in (1, 2):
            for switch in spines + [leaf for leaf in leaves if leaf != own]:
                reboot(subnet, switch)
            took.append(all_is_served(subnet, f"reboots, turn {turn}", 15))
        assert not subnet.service.alarms() & {"link.flapping", "link.down", "hosts.cutOff"}, subnet.service.alarms()
        print(f"{len(spines) + len(leaves) - 1} switches rebooted one after the other, twice: all pairs served "
              f"{took[0]:.1f} and {took[1]:.1f} s later, nothing held")


def a_leaf_is_rebooted_again_and_again(binaries):
    with Subnet(binaries, KEYS) as subnet:
        leaf = next(leaf for leaf in switches_of(subnet.netlist)[0] if leaf != leaf_of_manager(subnet))
        for _ in range(5):
            reboot(subnet, leaf)
        took = all_is_served(subnet, "a leaf rebooted five times", 15)
        subnet.service.wait_alarm("switch.flapping")
        print(f"a leaf rebooted five times: all pairs served {took:.1f} s later, and an alarm of the switch")


def link_between(service, cable):
    """Its id."""
    end = f"{cable[0][2:]}/{cable[1]}"
    return next(link["id"] for link in service.get("/v1/links?limit=1000")["items"] if any(one["port"] == end for one in link["ends"]))


def a_cable_flaps(binaries):
    with Subnet(binaries, KEYS + "\ndamping_flaps = 3\ndamping_hold_seconds = 40") as subnet:
        service, cable = subnet.service, cables(subnet.netlist)[5]
        name = link_between(service, cable)

        def flap(times):
            for _ in range(times):
                subnet.sim.console(f'Unlink "{cable[0]}"[{cable[1]}]')
                service.wait("down", lambda s: s["linksDown"] == 1)
                subnet.sim.console(f'ReLink "{cable[0]}"[{cable[1]}]')
                service.wait("up", lambda s: s["linksDown"] == 0)

        flap(3)
        status = service.wait("held", lambda s: s["linksDamped"] == 1 and s["phase"] == "partial")
        assert "1 link that flaps is held" in status["problem"] and "lost by it: 0" in status["problem"], status
        assert status["linksUp"] + 1 == len(service.get("/v1/links?limit=1000&kind=infiniband")["items"]), status
        flapping = status["flapping"][0]
        assert flapping["link"] == name and flapping["held"] and flapping["up"] and flapping["flaps"] == 3, flapping
        assert not service.get("/v1/fabric/sync")["synced"] and service.cli("fabric", "sync").returncode == 10
        assert lost_by_hand(subnet.sim, subnet.netlist, [cable]) == 0, "routes lead round it"
        shown = service.get(f"/v1/links/{name}")
        assert shown["state"] == "held" and shown["flapping"]["usedFor"] is None, shown
        said = service.cli("links", "show", name).stdout
        assert re.search(r"State:\s+held", said) and "held out of use" in said, said
        assert "held out of use" in service.cli("subnets", "show", subnet.name).stdout

        # Released by hand, and on the record.
        released = service.cli("links", "release", name, "--reason", "a new cable")
        assert released.returncode == 0, released.stderr
        service.synced()
        assert service.get(f"/v1/links/{name}")["state"] == "up"
        told = service.events("link.released")
        assert len(told) == 1 and told[0]["subject"]["id"] == name and "a new cable" in told[0]["summary"], told
        again = service.cli("links", "release", name)
        assert again.returncode == 5 and "does not flap" in again.stderr, again.stderr

        # Held again, and used by itself once it was calm.
        flap(3)
        service.wait("held again", lambda s: s["linksDamped"] == 1)
        calm = time.monotonic()
        service.wait("calm", lambda s: s["linksDamped"] == 0 and s["phase"] == "synced", 60)
        assert time.monotonic() - calm > 20
        print(f"a cable that flaps: held, said, released by hand, and calm after {time.monotonic() - calm:.0f} s of 40")


def what_is_needed_is_used(binaries):
    """One cable after the other of a leaf flaps: a quarter of them is held at most, and the last one never."""
    with Subnet(binaries, KEYS + "\ndamping_flaps = 2") as subnet:
        service = subnet.service
        leaf = next(leaf for leaf in switches_of(subnet.netlist)[0] if leaf != leaf_of_manager(subnet))
        up = [(leaf, port) for (switch, port), (peer, _) in sorted(links_of(subnet.netlist).items()) if switch == leaf and peer.startswith("S-")]
        for cable in up:
            for _ in range(3):
                subnet.sim.console(f'Unlink "{cable[0]}"[{cable[1]}]')
                service.wait("down", lambda s: s["linksDown"] == 1)
                subnet.sim.console(f'ReLink "{cable[0]}"[{cable[1]}]')
                service.wait("up", lambda s: s["linksDown"] == 0)
        status = service.wait("held", lambda s: s["linksDamped"] == len(up) // 4 and len(s["flapping"]) == len(up))
        assert {one["usedFor"] for one in status["flapping"]} in ({None, "share"}, {None, "share", "lastPath"}), status["flapping"]
        held = [one["link"] for one in status["flapping"] if one["held"]]
        ends = [next(cable for cable in up if f"{cable[0][2:]}/{cable[1]}" in link) for link in held]
        assert lost_by_hand(subnet.sim, subnet.netlist, ends) == 0
        # All others are cut: what was held is needed now.
        for cable in up:
            if cable not in ends:
                subnet.sim.console(f'Unlink "{cable[0]}"[{cable[1]}]')
        service.wait("used", lambda s: s["linksDown"] == len(up) - len(ends) and s["linksDamped"] < len(ends), 20)
        began, lost = time.monotonic(), None
        while lost != 0:
            assert time.monotonic() - began < 15, f"{lost} pairs are lost: {service.live()}"
            lost = lost_by_hand(subnet.sim, subnet.netlist, [cable for cable in up if cable not in ends])
        assert "hosts.cutOff" not in service.alarms()
        print(f"all {len(up)} cables of a leaf flap: {len(ends)} held, and used as soon as the others were cut")


def damping_is_off(binaries):
    with Subnet(binaries, KEYS + "\ndamping = false") as subnet:
        cable = cables(subnet.netlist)[5]
        for _ in range(6):
            subnet.sim.console(f'Unlink "{cable[0]}"[{cable[1]}]')
            subnet.service.wait("down", lambda s: s["linksDown"] == 1)
            subnet.sim.console(f'ReLink "{cable[0]}"[{cable[1]}]')
            subnet.service.wait("up", lambda s: s["linksDown"] == 0)
        all_is_served(subnet, "damping is off", 10)
        assert subnet.service.live()["flapping"] == []
        print("damping = false: a cable that flaps is used whenever it is up")


def main():
    lacking = missing() or (None if shutil.which("dump_fts") else "dump_fts")
    if lacking:
        print(f"skipped: {lacking} is absent")
        return 77
    for test in (every_switch_is_rebooted_twice, a_leaf_is_rebooted_again_and_again, a_cable_flaps, what_is_needed_is_used, damping_is_off):
        if not sys.argv[2:] or test.__name__ in sys.argv[2:]:
            test(Path(sys.argv[1]).resolve())
    return 0


if __name__ == "__main__":
    sys.exit(main())
