#!/usr/bin/env python3
"""Whose routes these are: railweaved observes a simulated subnet that a real OpenSM programs with its own engine. What it says
of paths, loads, jobs that share links, damage and guarantees is compared with the tables that dump_fts reads from the
switches and that this test walks itself; before and after a cable is cut, with OpenSM gone, and after Railweave took over.

tables_in_force_test.py BIN_FOLDER     exit code 77: skipped, and why
"""
import json
import os
import random
import shutil
import sys
import tempfile
from itertools import combinations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import Ibsim, missing, stop  # noqa: E402
from live import LiveService, generate  # noqa: E402
from switch_walk import SwitchWalk  # noqa: E402
from waiting import until  # noqa: E402

# Railweave and OpenSM choose other spines for the same pairs.
SHAPE = ["fat-tree", "--radix", "16", "--hosts", "48", "--nics-per-host", "1", "--gpus-per-host", "4", "--speed", "EDR"]
SEED = int(os.environ.get("RAILWEAVE_SEED", "1"))


class OpenSm:
    """Debian's, with an engine of its own."""

    def __init__(self, sim, folder, engine, host):
        os.environ.update(OSM_CACHE_DIR=str(folder), OSM_TMP_DIR=str(folder))
        self.sim, self.log, settings = sim, Path(folder) / "osm.log", Path(folder) / "opensm.conf"
        settings.write_text(f"routing_engine {engine}\nlog_file {self.log}\nlog_flags 0x43\nforce_log_flush TRUE\nsweep_interval 1\n")
        self.process = sim.open(["opensm", "-e", "-F", str(settings)], seconds=250, host=host)
        until(lambda: f"OpenSM does not come up: {self.said()[-2000:]}", lambda: "SUBNET UP" in self.said(), 30)

    def said(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""


def hosts_of(native):
    """{name of a node: GUID of its adapter}"""
    return {host["name"]: int(host["adapters"][0]["guid"], 16) for host in json.loads(Path(native).read_text())["hosts"]}


def service_path(service, source, target):
    """As the service gives it: [(switch's port as GUID/number)] that packets leave switches by."""
    path = service.get(f"/v1/routes/path?from={source}&to={target}")["paths"][0]
    return [tuple(int(part, 16 if i == 0 else 10) for i, part in enumerate(out_port(hop).split("/"))) for hop in path["hops"][1:]], path["outcome"] == "arrived"


def out_port(hop):
    """GUID/number of the port that a hop leaves by: the end of its link that has this number and is not where it enters."""
    ends = hop["link"].split("--")
    matching = [end for end in ends if int(end.split("/")[1]) == hop["outPort"]]
    entering = [end for end in ends if int(end.split("/")[1]) == hop["inPort"]]
    return matching[0] if len(matching) == 1 else next(end for end in matching if entering != [end])


def compare_paths(service, walk, hosts, count, rng):
    names = sorted(hosts)
    wrong = []
    for _ in range(count):
        a, b = rng.sample(names, 2)
        hops, arrived = walk.path(hosts[a], hosts[b])
        said, claims = service_path(service, a, b)
        # Ports by number, as both ends of a link may have the same one.
        if [port for _, port in hops] != [port for _, port in said] or arrived != claims:
            wrong.append((a, b, hops, said))
    return wrong


def colliding_pairs(walk, hosts):
    """Two pairs of nodes on different leaves whose paths share a link between switches, with no node in common."""
    by_link = {}
    names = sorted(hosts)
    for a, b in combinations(names, 2):
        hops, arrived = walk.path(hosts[a], hosts[b])
        if not arrived or len(hops) < 2:
            continue
        for hop in hops[:-1]:
            for c, d in by_link.setdefault(hop, []):
                if len({a, b, c, d}) == 4:
                    back = set(walk.path(hosts[b], hosts[a])[0][:-1]) & set(walk.path(hosts[d], hosts[c])[0][:-1])
                    return (a, b), (c, d), hop, bool(back)
            by_link[hop].append((a, b))
    raise AssertionError("no two pairs share a link")


def adopt(service, name, nodes):
    status, job = service.request("POST", "/v1/jobs", {"tenant": "t", "name": name, "parallelism": {"tensor": 4, "data": 2},
                                                       "traffic": {"data": {"bytesPerStep": 8e9}}, "adopt": {"nodes": list(nodes)}})
    assert status == 201, job
    return job["id"]


def tables_of(answer):
    assert len(answer["tables"]) == 1, answer["tables"]
    return answer["tables"][0]


def seen(service, what="seen"):
    return tables_of(service.get("/v1/routes"))["source"] == what


def observed(binaries, folder):
    rng = random.Random(SEED)
    railweave = str(binaries / "railweave")
    native, netlist, subnet = generate(railweave, SHAPE, folder)
    with Ibsim(netlist) as sim:
        names = [line.split('"')[1] for line in Path(netlist).read_text().splitlines() if line.startswith(("Hca", "Ca"))]
        opensm = OpenSm(sim, folder, "updn", names[-1])
        with LiveService(sim, binaries, folder, subnet, "sweep_seconds = 1\nlook_seconds = 2", host=names[0]) as service:
            service.import_fabric(native)
            assert service.cli("tenants", "set", "t").returncode == 0
            until(lambda: service.get("/v1/routes")["tables"], lambda: seen(service), 30)
            walk, hosts = SwitchWalk(sim), hosts_of(native)

            # 1. Paths, and the fullest link.
            wrong = compare_paths(service, walk, hosts, 60, rng)
            assert not wrong, f"{len(wrong)} of 60 paths differ from those that switches have: {wrong[:2]}"
            audit = service.get("/v1/routes/audit")
            loads = walk.loads()
            assert audit["maxLinkLoadHosts"] == max(loads.values()), (audit["maxLinkLoadHosts"], max(loads.values()))
            assert tables_of(audit)["source"] == "seen" and tables_of(audit)["seenAt"], audit["tables"]
            print(f"observed: 60 paths as walked, fullest link {max(loads.values())} pairs as walked")

            # 2. Two jobs whose packets share a link there slow each other.
            first, second, link, _ = colliding_pairs(walk, hosts)
            jobs = [adopt(service, "a", first), adopt(service, "b", second)]
            shared = service.get(f"/v1/jobs/{jobs[0]}")["withContention"]
            assert shared["basis"] == "routes" and shared["slowdown"] > 1.5, shared
            assert tables_of(shared)["source"] == "seen", shared["tables"]
            shown = service.cli("jobs", "show", jobs[0]).stdout
            assert "on the routes that switches hold" in shown, shown
            print(f"observed: jobs over {link[0]:016x}/{link[1]} slow each other {shared['slowdown']} times")

            # 3. A guarantee fits on these routes, and is planned; one against failures cannot be promised.
            assert service.cli("contracts", "set", "t", "--guaranteed", "1").returncode == 0
            status, job = service.request("POST", "/v1/jobs", {"tenant": "t", "name": "g", "parallelism": {"tensor": 4, "data": 2}})
            assert status == 201 and job["guarantee"]["state"] == "planned", job
            listed = service.get("/v1/guarantees")["items"]
            assert [(one["state"], one["inForce"]["level"]) for one in listed if one["job"] == job["id"]] == [("planned", "planned")], listed
            assert all(means["strength"] == "planned" for one in listed for means in one["enforcement"]), listed
            assert service.cli("tenants", "set", "u").returncode == 0
            assert service.cli("contracts", "set", "u", "--guaranteed", "1", "--survive").returncode == 0
            status, refused = service.request("POST", "/v1/jobs", {"tenant": "u", "name": "s", "parallelism": {"tensor": 4, "data": 2}})
            assert status == 409 and "not known" in str(refused), refused

            # 4. A cable between switches is cut: OpenSM routes around it, and the answers follow.
            cut = next(hop for hop in walk.path(hosts[first[0]], hosts[first[1]])[0][:-1])
            sim.console(f'Unlink "S-{cut[0]:016x}"[{cut[1]}]')
            sim.settle()
            def follows():
                now = SwitchWalk(sim)
                return all(now.path(hosts[a], hosts[b])[1] for a, b in (first, second)) and not compare_paths(service, now, hosts, 20, rng)
            until(lambda: "paths do not follow OpenSM's after a cut", follows, 40)
            sim.console(f'ReLink "S-{cut[0]:016x}"[{cut[1]}]')
            sim.settle()
            until(lambda: "paths do not follow OpenSM's after the cable is back", follows, 40)

            # 5. OpenSM is gone, and the cable is cut again: tables lose the job's packets, though cables connect its nodes.
            stop(opensm.process)
            walk = SwitchWalk(sim)
            cut = next(hop for hop in walk.path(hosts[first[0]], hosts[first[1]])[0][:-1])
            sim.console(f'Unlink "S-{cut[0]:016x}"[{cut[1]}]')
            sim.settle()
            until(lambda: service.get(f"/v1/jobs/{jobs[0]}")["damage"], lambda: service.get(f"/v1/jobs/{jobs[0]}")["damage"], 40)
            assert not SwitchWalk(sim).path(hosts[first[0]], hosts[first[1]])[1], "packets still arrive"
            assert tables_of(service.get("/v1/routes"))["lostPairs"] > 0
            path = service.cli("routes", "path", *first)
            assert path.returncode == 10 and "as switches hold them" in path.stdout, path.stdout
            assert "job.damaged" in [event["type"] for event in service.events()]
            print("observed: damage by tables that lose packets, with OpenSM gone")

            # 6. Railweave takes over: its own tables, read back; packets arrive, and the damage is over.
            service.mode("direct")
            service.synced(40)
            until(lambda: service.get("/v1/routes")["tables"], lambda: seen(service, "wanted"), 20)
            until(lambda: service.get(f"/v1/jobs/{jobs[0]}")["damage"], lambda: not service.get(f"/v1/jobs/{jobs[0]}")["damage"], 20)
            wrong = compare_paths(service, SwitchWalk(sim), hosts, 40, rng)
            assert not wrong, wrong[:2]
            kinds = [event["summary"] for event in service.events("route.inForce")]
            print(f"direct: 40 paths as walked; {len(kinds)} changes of tables in force: {kinds}")


def main():
    binaries = Path(sys.argv[1])
    absent = missing() or ("opensm" if not shutil.which("opensm") else None)
    if absent:
        print(f"SKIPPED tables in force: {absent} is not installed")
        return 77
    with tempfile.TemporaryDirectory(prefix="railweave-in-force-") as folder:
        observed(binaries, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
