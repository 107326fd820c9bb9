#!/usr/bin/env python3
"""Another program changes, with single datagrams, what railweaved has programmed into ports of a simulated subnet: an SL to VL
map, a row of the ingress filter, arbitration weights of either priority, partition keys of an adapter. Each is noticed within
look_seconds: an alarm names the port, what is there and what should be; guarantees are not in force meanwhile; and smpquery
finds in the device what was there before. Beside a real OpenSM with the plugin it is OpenSM that writes it again, by its own sweep or
asked by railweaved, whichever is first: what was there is back, and in force.

changed_tables_test.py BIN_FOLDER RAW_SMP PLUGIN       exit code 77: skipped, and why. PLUGIN may be "": not built
"""
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from held_tables import Cabling, raw  # noqa: E402
from ibsim import Ibsim, missing  # noqa: E402
from lanes_test import SHAPE, in_force, submit  # noqa: E402
from live import LiveService, generate  # noqa: E402
from live_guarantees_test import node_names, programmed  # noqa: E402
from opensm_plugin_test import OpenSm, hosts_of  # noqa: E402
from qos_programming_test import cabled  # noqa: E402
from waiting import until  # noqa: E402

SL_TO_VL, ARBITRATION, PKEYS = "17", "18", "16"
LOW, HIGH = 1, 3  # blocks of arbitration
LOOK = 4          # seconds


def smpquery(sim, what, route, *arguments):
    done = sim.run(["smpquery", "-D", what, route, *map(str, arguments)], seconds=20)
    assert done.returncode == 0, done.stdout + done.stderr
    return "\n".join(line for line in done.stdout.splitlines() if not line.startswith("#"))


def changed(sim, probe, service, job, name, attribute, modifier, route, change, query, says):
    """One table of one port, changed by another program's datagram and followed until it is back."""
    before = smpquery(sim, *query)
    commands = [f"set {route} {attribute} {modifier:x} {change}"]
    for _ in range(3):  # the service may look in the moment between, and have written it again
        written = raw(sim, probe, *commands)
        at = time.monotonic()
        assert written != ["failed"], (name, commands)
        if smpquery(sim, *query) != before:
            break
    else:
        raise AssertionError(f"{name}: the datagram changed nothing")

    def alarm():
        return next((item for item in service.get("/v1/alarms?limit=1000")["items"] if item["kind"] == "qos.changed"), None)

    raised = until(f"{name}: an alarm", alarm, 3 * LOOK)
    noticed = time.monotonic() - at
    assert raised["severity"] == "critical" and says in raised["text"], raised
    grade = next(item["inForce"] for item in service.get("/v1/guarantees")["items"] if item["job"] == job)
    assert grade["level"] == "planned" and grade["isolation"] == "planned" and "another program has changed" in grade["statement"], grade
    assert service.live()["qos"]["portsChanged"] == 1, service.live()["qos"]
    until(f"{name}: what was there is back", lambda: smpquery(sim, *query) == before, 3 * LOOK)
    back = time.monotonic() - at
    until(f"{name}: the alarm ends", lambda: alarm() is None, 4 * LOOK)
    in_force(service, [job])
    print(f"{name}: noticed after {noticed:.1f} s, back after {back:.1f} s, in force again after {time.monotonic() - at:.1f} s: {raised['text']}")
    assert noticed <= 2 * LOOK + 1, f"{name}: noticed after {noticed:.1f} s only"


def guaranteed(sim, service):
    """A job with a lane of its own, in force; its id."""
    for command in (["tenants", "put", "red"],
                    ["contracts", "set", "red", "--guaranteed", "5", "--class", "all-reduce", "--isolation", "lane"]):
        done = service.cli(*command)
        assert done.returncode == 0, done.stderr
    programmed(service, len(cabled(sim)))
    names = sorted(set(node_names(sim).values()))
    status, job = submit(service, [names[0], names[-1]])
    assert status == 201, job
    in_force(service, [job["id"]])
    return job["id"]


def put_back(sim, probe, service, job, name, attribute, modifier, route, change, query, says):
    """The same where OpenSM may be faster than a look of the service's."""
    before = smpquery(sim, *query)
    assert raw(sim, probe, f"set {route} {attribute} {modifier:x} {change}") != ["failed"], name
    at = time.monotonic()
    until(f"{name}: what was there is back", lambda: smpquery(sim, *query) == before, 5 * LOOK)
    print(f"{name}: back after {time.monotonic() - at:.1f} s")
    in_force(service, [job])


def change_all(sim, probe, service, job, change_one, only=()):
    cabling = Cabling(sim)
    leaf, port = next((switch, port) for lid, switch, port, _ in cabling.ends if switch == cabling.at[0])
    route = cabling.routes()[leaf]
    up = next(port for (switch, port) in sorted(cabling.peer) if switch == leaf)
    host = f"{route},{port}"
    maps = ("sl2vl", route, up)
    by_port = (SL_TO_VL, port << 8 | up, route)
    cases = [
        ("an SL to VL map", *by_port, "0=0x77", maps, "leads to VL"),
        # What comes in by the host's port and its filter drops is let into a lane.
        ("a row of the ingress filter", *by_port, "4=0x11 5=0x11 6=0x11 7=0x11", maps, f"from port {port}"),
        ("weights of low priority", ARBITRATION, LOW << 16 | up, route, "1=1 3=1 5=1", ("vlarb", route, up), "low arbitration is"),
        ("weights of high priority", ARBITRATION, HIGH << 16 | up, route, "0=1 1=200", ("vlarb", route, up), "high arbitration is"),
        ("partition keys", PKEYS, 0, host, "2=0x91 3=0x23", ("pkeys", host, 0), "partition key 1 is 0x9123"),
    ]
    cases = [case for case in cases if not only or case[0] in only]
    for name, attribute, modifier, at, change, query, says in cases:
        change_one(sim, probe, service, job, name, attribute, modifier, at, change, query, says)
    return len(cases)


SETTINGS = f"sweep_seconds = 2\nlook_seconds = {LOOK}"


def direct(binaries, probe, folder):
    native, netlist, subnet = generate(str(binaries / "railweave"), SHAPE, folder)
    with Ibsim(netlist) as sim, LiveService(sim, binaries, folder, subnet, SETTINGS) as service:
        service.import_fabric(native)
        service.mode("direct")
        service.synced()
        cases = change_all(sim, probe, service, guaranteed(sim, service), changed)
        raised = [event for event in service.events("alarm.raised") if "qos.changed" in str(event)]
        assert len(raised) >= cases, "each is in the journal"


def beside_opensm(binaries, probe, plugin, folder):
    _, netlist, subnet = generate(str(binaries / "railweave"), SHAPE, folder)
    own = folder / "opensm"
    own.mkdir()
    settings = f'{SETTINGS}\nopensm_socket = "{own}/policy.sock"'
    with Ibsim(netlist) as sim, LiveService(sim, binaries, folder, subnet, settings) as service:
        with OpenSm(sim, own, plugin, "qos TRUE", host=hosts_of(netlist)[-1]) as opensm:
            opensm.wait_for("SUBNET UP")
            done = service.cli("fabric", "discover", "--accept", "--gpus-per-node", "4")
            assert done.returncode == 0, done.stdout + done.stderr
            service.mode("opensm")
            service.synced(30)
            job = guaranteed(sim, service)
            print("beside OpenSM:")
            change_all(sim, probe, service, job, put_back, ("an SL to VL map", "a row of the ingress filter", "weights of low priority"))


def main():
    binaries, probe, plugin = Path(sys.argv[1]).resolve(), str(Path(sys.argv[2]).resolve()), sys.argv[3]
    if lacking := missing():
        print(f"skipped: {lacking}")
        return 77
    with tempfile.TemporaryDirectory(prefix="railweave-changed-") as folder:
        direct(binaries, probe, Path(folder))
    if not plugin or not shutil.which("opensm"):
        print("OpenSM or its plugin is not there: not run beside it")
        return 0
    with tempfile.TemporaryDirectory(prefix="railweave-changed-opensm-") as folder:
        beside_opensm(binaries, probe, Path(plugin).resolve(), Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
