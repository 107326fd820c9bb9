#!/usr/bin/env python3
"""What Railweave writes for SONiC switches is what SONiC's own YANG models take, by libyang, and makes no lane lossy.

Fabrics, classes and jobs at random by seed, with lanes of jobs' own; every switch's configuration and routes by the command line, held
to the models of SONiC, alone and over SONiC's own sample, and what the lab plans for the default classes. What a lossless queue needs is looked up in the tables here,
port by port, as SONiC's orchestration agent would: never by the code that wrote them.

sonic_yang_test.py BIN_FOLDER SHARED_DATA
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from service import Service  # noqa: E402
from sonic_yang import SonicModels, with_ports  # noqa: E402

BIN, SONIC = Path(sys.argv[1]), Path(sys.argv[2]) / "sonic"
SPEEDS = (25000, 100000, 200000, 400000, 800000)


def skip(reason):
    print(f"SKIPPED {Path(sys.argv[0]).stem}: {reason}")
    sys.exit(77)


def fabric(chance):
    leaves, spines, per_leaf = chance.randint(2, 4), chance.randint(1, 3), chance.randint(2, 5)
    names = [*(f"leaf-{n}" for n in range(leaves)), *(f"spine-{n}" for n in range(spines))]
    hosts = [f"n{n}" for n in range(leaves * per_leaf)]
    devices, links, used = [*names, *hosts], [], {}
    specs = [{"kind": "ethernet", "rateMbps": rate, **({"cableLengthM": chance.choice([2, 30, 300])} if chance.random() < 0.7 else {})}
             for rate in chance.sample(SPEEDS, 2)]
    guid = {name: f"{0x0c42a10300300000 + at:016x}" for at, name in enumerate(devices)}

    def cable(a, b, spec):
        for end in (a, b):
            used[end] = used.get(end, 0) + 1
        links.append([devices.index(a), used[a], devices.index(b), used[b], spec])

    for at, host in enumerate(hosts):
        cable(f"leaf-{at // per_leaf}", host, 0)
    for leaf in range(leaves):
        for spine in range(spines):
            for _ in range(chance.randint(1, 2)):
                cable(f"leaf-{leaf}", f"spine-{spine}", 1)
    return names, hosts, {
        "railweave": "fabric", "version": 1, "subnets": [{"name": "roce", "kind": "compute"}],
        "switches": [{"guid": guid[name], "name": name, "ports": 64, "subnet": "roce"} for name in names],
        "hosts": [{"name": name, "adapters": [{"guid": guid[name], "device": "eth0", "ports": [{"guid": guid[name]}]}],
                   "gpus": [{"nics": [0]}, {"nics": [0]}]} for name in hosts],
        "linkSpecs": specs, "links": links}


def classes(chance):
    """None: the defaults. Else shares, DSCPs and losses at random; notifications have a class of their own or none."""
    count = chance.randint(2, 6)
    dscps = chance.sample([8, 10, 16, 18, 24, 26, 32, 34, 46, 48, 3, 7], count - 1)
    shares = [chance.randint(20, 800 // count) for _ in range(count)]
    return [*({"name": f"class-{n}", "sharePermille": shares[n], "priority": n, "dscp": dscps[n], "lossless": chance.random() < 0.7}
              for n in range(count - 1)),
            {"name": "rest", "sharePermille": shares[-1], "priority": count, "dscp": 0, "lossless": chance.random() < 0.3}]


class Case:
    def __init__(self, service, folder, seed):
        self.chance, self.service, self.folder = random.Random(seed), service, folder
        self.switches, self.hosts, document = fabric(self.chance)
        (folder / "fabric.json").write_text(json.dumps(document))
        self.cli("fabric", "import", str(folder / "fabric.json"), "--force")
        made = None if seed % 3 == 0 else classes(self.chance)
        if made:
            self.ask("PUT", "/v1/qos-classes", {"items": made})
        self.classes = self.ask("GET", "/v1/qos-classes")["items"]
        self.jobs = [job for n in range(3) for job in [self.job(seed, n)] if job]
        addresses = {f"{host}/eth0": f"10.7.{at // 200}.{at % 200 + 1}" for at, host in enumerate(self.hosts)}
        addresses.update({name: f"10.9.0.{at + 1}" for at, name in enumerate(self.switches)})
        self.names = folder / "names.json"
        self.names.write_text(json.dumps({"addresses": addresses}))

    def ask(self, method, path, body=None, refused=False):
        status, _, answer = self.service.request(method, path, body)
        if refused and status in (409, 422):
            return None
        assert status in (200, 201), (method, path, status, answer)
        return answer

    def cli(self, *arguments, code=0):
        done = subprocess.run([BIN / "railweave", "--server", f"http://127.0.0.1:{self.service.port}", *arguments], capture_output=True, text=True, timeout=120)
        assert done.returncode == code, (arguments, done)
        return done.stdout

    def job(self, seed, number):
        """A job with a lane, where there is room and a lane for one."""
        tenant, of = f"t{seed}-{number}", self.chance.choice([one["name"] for one in self.classes[:-1]])
        self.ask("PUT", f"/v1/tenants/{tenant}", {})
        self.ask("PUT", f"/v1/contracts/{tenant}", {"guaranteedGbps": 1, "maxGbps": 5, "classes": [of], "isolation": "lane"})
        nodes = self.chance.sample(self.hosts, self.chance.randint(2, 3))
        return self.ask("POST", "/v1/jobs", {"name": tenant, "tenant": tenant, "gpusPerNode": 1, "nodes": nodes,
                                             "parallelism": {"tensor": 1, "data": len(nodes)}}, refused=True)


def lossless_queues(case, switch):
    """{(port, DSCP): lossless} of what has a queue, by the definition of classes: the two of the largest shares, and lanes of lossless ones."""
    wanted, lowest = {}, max(case.classes, key=lambda one: (one["priority"], case.classes.index(one)))["name"]
    can = [one for one in case.classes if one["lossless"] and one["dscp"] != 48 and one["name"] != lowest]
    two = {one["name"] for one in sorted(can, key=lambda one: -one["sharePermille"])[:2]}
    of = {one["name"]: one["lossless"] for one in case.classes}
    for port in case.ask("GET", f"/v1/switches/{switch}/queues")["ports"]:
        for queue in port["queues"]:
            wanted[f"Ethernet{(port['port'] - 1) * 8}", queue["dscp"]] = of[queue["class"]] if queue["lane"] is not None else queue["class"] in two
    return wanted


def walk(config, wanted):
    """Each queue from a packet's DSCP to its memory."""
    lanes = 0
    for (port, dscp), lossless in wanted.items():
        row = config["PORT_QOS_MAP"][port]
        marks = config["TC_TO_DSCP_MAP"][row["tc_to_dscp_map"]]
        traffic_class = next(tc for tc, mark in marks.items() if int(mark) == dscp)
        queue = config["TC_TO_QUEUE_MAP"][row["tc_to_queue_map"]][traffic_class]
        group = config["TC_TO_PRIORITY_GROUP_MAP"][row["tc_to_pg_map"]][traffic_class]
        scheduler = config["SCHEDULER"][config["QUEUE"][f"{port}|{queue}"]["scheduler"]]
        assert scheduler["type"] == "STRICT" if dscp == 48 else scheduler["type"] == "DWRR", (port, dscp, scheduler)

        def profile_of(table, number):
            for key, value in config[table].items():
                name, _, numbers = key.partition("|")
                first, _, last = numbers.partition("-")
                if name == port and int(first) <= int(number) <= int(last or first):
                    return config["BUFFER_PROFILE"][value["profile"]]
            raise AssertionError(f"{port}: no {table} for {number}")

        assert profile_of("BUFFER_QUEUE", queue) is not None
        pauses = traffic_class in row["pfc_enable"].split(",")
        assert pauses == lossless == (traffic_class in row["pfcwd_sw_enable"].split(",")), (port, dscp, lossless, row)
        if not lossless:
            assert group == "0" or not int(profile_of("BUFFER_PG", group).get("xoff", 0)), (port, dscp)
            continue
        lanes += dscp % 4 == 3
        # What is paused: the priority's own group, with room for what is under way, and a queue that marks before and never drops.
        assert config["PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"][row["pfc_to_pg_map"]][traffic_class] == group != "0"
        assert config["MAP_PFC_PRIORITY_TO_QUEUE"][row["pfc_to_queue_map"]][traffic_class] == queue
        others = [tc for tc, value in config["TC_TO_PRIORITY_GROUP_MAP"][row["tc_to_pg_map"]].items() if value == group]
        assert others == [traffic_class], (port, "a group of several", others)
        assert int(profile_of("BUFFER_PG", group)["xoff"]) > 9100, (port, group)
        assert profile_of("BUFFER_QUEUE", queue)["pool"] == "egress_lossless_pool", (port, queue)
        marking = config["WRED_PROFILE"][config["QUEUE"][f"{port}|{queue}"]["wred_profile"]]
        assert marking["ecn"] == "ecn_all" and 0 < int(marking["green_min_threshold"]) < int(marking["green_max_threshold"]), marking
        assert config["PFC_WD"][port]["action"] == "drop"
    return lanes


QOS_TABLES = ("DEVICE_METADATA", "PORT", "MACSEC_PROFILE", "BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_PG", "BUFFER_QUEUE", "PFC_WD", "SCHEDULER", "WRED_PROFILE",
              "QUEUE", "DSCP_TO_TC_MAP", "DOT1P_TO_TC_MAP", "TC_TO_PRIORITY_GROUP_MAP", "TC_TO_QUEUE_MAP", "TC_TO_DSCP_MAP",
              "MAP_PFC_PRIORITY_TO_QUEUE", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "PORT_QOS_MAP", "STATIC_ROUTE")


def sample():
    """SONiC's own sample of the tables that Railweave writes and of those that they refer to."""
    document = json.loads((SONIC / "sample_config_db.json").read_text())
    config = document.get("SAMPLE_CONFIG_DB_JSON", document)
    return {name: config[name] for name in QOS_TABLES}


def over(base, tables):
    merged = json.loads(json.dumps(base))
    for name, rows in tables.items():
        if name != "DEVICE_METADATA":
            merged.setdefault(name, {}).update(rows)
    return merged


def main():
    if not SONIC.exists():
        skip(f"{SONIC} is absent")
    if not shutil.which("yanglint"):
        skip("yanglint is not installed (Debian: libyang2-tools)")
    models = SonicModels(SONIC / "yang")
    # The judge refuses what is wrong: a limit without a committed rate, a profile that is none, a port that is not there.
    good = with_ports({"SCHEDULER": {"s": {"type": "STRICT", "cir": "5", "pir": "5"}}, "QUEUE": {"Ethernet0|1": {"scheduler": "s"}}}, {"Ethernet0": 400000})
    assert models.problems(good) == "", models.problems(good)
    for table, rows in (("SCHEDULER", {"s": {"type": "STRICT", "pir": "5"}}), ("QUEUE", {"Ethernet0|1": {"scheduler": "t"}}),
                        ("QUEUE", {"Ethernet4|1": {"scheduler": "s"}})):
        assert models.problems({**good, table: rows}), (table, rows)
    base = sample()
    assert models.problems(base) == "", models.problems(base)
    seeds = int(os.environ.get("RAILWEAVE_SEEDS") or 6)
    checked = lanes = 0
    for seed in range(seeds):
        with tempfile.TemporaryDirectory(prefix="railweave-sonic-") as name, Service(BIN / "railweaved", Path(name)) as service:
            service.start()
            case = Case(service, Path(name), seed)
            for switch in case.switches:
                tables = json.loads(case.cli("switches", "config", switch, "--to", "sonic", "--names", str(case.names), "--buffer", "256"))
                routes = json.loads(case.cli("switches", "config", switch, "--to", "sonic-routes", "--names", str(case.names)))
                speeds = {f"Ethernet{(port['port'] - 1) * 8}": port["linkMbps"] for port in case.ask("GET", f"/v1/switches/{switch}/queues")["ports"]}
                config = with_ports({**tables, **routes}, speeds)
                planned = json.loads(case.cli("lab", "qos", str(Path(name, "fabric.json")), "--to", "sonic", "--switch", switch, "--buffer", "256"))
                for whole in (config, over(base, config), with_ports(planned, speeds)):
                    problems = models.problems(whole)
                    assert problems == "", f"seed {seed}, {switch}: {problems}"
                lanes += walk(tables, lossless_queues(case, switch))
                # As a switch has it that took both; then with each of its ports changed for the worse.
                file = Path(name, "db.json")
                check = lambda code: case.cli("switches", "check", switch, str(file), "--names", str(case.names), "--buffer", "256", code=code)
                file.write_text(json.dumps(config))
                assert check(0).startswith(f"as wanted: {len(speeds)} ports"), seed
                port = case.chance.choice(sorted(speeds))
                for change, words in ((lambda c: c["PORT"][port].update(speed="10000"), ("speed", "10000")),
                                      (lambda c: c["PORT"][port].update(admin_status="down"), ("admin status", "down")),
                                      (lambda c: (c["SCHEDULER"].update(slow={"type": "DWRR", "cir": "1", "pir": "125000000"}),
                                                  c["PORT_QOS_MAP"][port].update(scheduler="slow")), ("whole port", "pir 125000000")),
                                      (lambda c: c["PORT_QOS_MAP"][port].update(dot1p_to_tc_map="OTHER"), ("dot1p_to_tc_map", "OTHER"))):
                    worse = json.loads(json.dumps(config))
                    change(worse)
                    file.write_text(json.dumps(worse))
                    said = [line for line in check(10).splitlines() if line.startswith(f"{port} ")]
                    assert len(said) == 1 and all(word in said[0] for word in words), (seed, words, said)
                checked += 1
    assert lanes > 0, "no lossless lane was made: this shows nothing"
    print(f"{checked} switches of {seeds} fabrics, {lanes} queues of lossless lanes")


if __name__ == "__main__":
    main()
