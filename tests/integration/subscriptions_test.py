#!/usr/bin/env python3
"""Subscriptions to notices of a subnet in direct mode. A client on another node subscribes as srp_daemon does, and is told of cables that are cut, hosts
that go and come back, multicast groups that are made and end, and changed capabilities; the same client is told the same by OpenSM on the same
subnet. Who does not confirm is told again, some times; who has ended its subscription, or has left, no more.

subscriptions_test.py BIN_FOLDER RMPP_KERNEL SA_CLIENT SA_SUBSCRIBER      exit code 77: skipped, and why
"""
import re
import shutil
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from administration_test import TREE, hosts_of  # noqa: E402
from direct_lanes_test import accept, end_between_switches  # noqa: E402
from ibsim import Ibsim, missing, stop  # noqa: E402
from live import LiveService, generate  # noqa: E402
from sa_query import SaQuery, last_64  # noqa: E402
from switch_walk import SwitchWalk  # noqa: E402
from waiting import until  # noqa: E402

ANY = "65535"
GROUP = "ff12401bffff00000000000000000077"
KEY = "0x5a17"


class Subscriber:
    """sa_subscriber at work on a host, and what it has printed so far. ibsim hands requests, as reports are, only to clients that say they are
    subnet managers; that the port says so as well is taken back."""

    def __init__(self, sim, program, host, *words):
        self.lines = []
        self.process = sim.open([program, "manage", "0", *words], seconds=150, host=host)
        self.reader = threading.Thread(target=self._read)
        self.reader.start()
        try:
            self.wait("manages yes")
            assert "manages yes" in sim.run([program, "manage", "0.01"], host=host).stdout
            self.wait("subscribe")
        except BaseException:
            self.__exit__()
            raise

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.strip())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.reader.join()
        self.process.wait()

    def said(self, what):
        return [line for line in self.lines if line.startswith(what)]

    def begin(self):
        """What it was told until now does not count."""
        time.sleep(3)
        self.lines = [line for line in self.lines if not line.startswith("report")]

    def wait(self, what, count=1, seconds=20):
        until(lambda: f"not {count} of {what}: {self.lines}", lambda: len(self.said(what)) >= count, seconds)

    def reports(self):
        """[(trap, type, producer, GUID of the issuer, GID that it is about)], each report once"""
        found = {}
        for line in self.said("report "):
            words = line.split()
            fields = dict(zip(words[::2], words[1::2]))
            found[fields["tid"]] = (int(fields["report"]), int(fields["type"]), int(fields["producer"]), int(fields["issuer"], 16), fields["gid"])
        return list(found.values())


def act(sim, subscriber, client, program, hosts, walk, is_settled):
    """What is to be told; {what happened: reports}"""
    told, seen = {}, 0
    subscriber.begin()

    def tell(what, traps):
        """Until these traps are told, and then what else there is in a while."""
        nonlocal seen
        until(lambda: f"{what}: not told {traps}, but {subscriber.reports()[seen:]}",
              lambda: not Counter(traps) - Counter(report[0] for report in subscriber.reports()[seen:]), 30)
        is_settled()
        time.sleep(1.5)
        told[what] = sorted(subscriber.reports()[seen:])
        seen += len(told[what])

    def join(verb, host):
        said = sim.run([client, verb, "ff12401bffff000000000000ffffffff", "1", *(["create", GROUP, "1"] if verb == "join" else ["leave", GROUP, "1"])],
                       seconds=20, host=hosts[host])
        assert said.stdout.count("status 0x0") == 2, said

    between = end_between_switches(walk)
    leaf = walk.ends[int(hosts[7].partition("-")[2], 16)]
    for name, end in (("cable", between), ("host", leaf)):
        sim.console(f'Unlink "S-{end[0]:016x}"[{end[1]}]')
        tell(f"{name} cut", [128] if name == "cable" else [128, 65])
        sim.console(f'ReLink "S-{end[0]:016x}"[{end[1]}]')
        tell(f"{name} back", [128] if name == "cable" else [128, 64])
    join("join", 5)
    tell("groups made", [66, 66])
    join("leave", 5)
    tell("groups left", [67, 67])
    said = sim.run([program, "manage", "0.5"], host=hosts[9])
    assert "manages yes" in said.stdout, said
    tell("capabilities", [144])
    return told


def subscribers(sa):
    return {last_64(one["SubscriberGID"]) for one in sa.dumps("IIR") if "SubscriberGID" in one}


def end_apart(walk, one, others):
    """(switch GUID, port) of a cable between switches that no packet between a host and these others goes over. A report that meets a cut cable
    before the routes around it are written is lost, which is right, but not counted here."""
    guids = [int(host.partition("-")[2], 16) for host in (one, *others)]
    used = {hop for guid in guids[1:] for pair in ((guids[0], guid), (guid, guids[0])) for hop in walk.path(*pair)[0]}
    return min(end for end, peer in walk.cables.items() if peer in walk.cables and not {end, peer} & used)


def faults(sim, service, sa, program, hosts, walk):
    """Who is silent, who ends its subscription, and who leaves."""
    end = end_apart(walk.read(sim), hosts[0], [hosts[4], hosts[6]])

    def flap():
        for verb, down in (("Unlink", 1), ("ReLink", 0)):
            sim.console(f'{verb} "S-{end[0]:016x}"[{end[1]}]')
            service.wait(verb, lambda s, down=down: s["linksDown"] == down and s["phase"] == "synced", 30)

    with Subscriber(sim, program, hosts[4], "subscribe", "128", "hear", "100") as silent, \
            Subscriber(sim, program, hosts[6], "subscribe", "65", "128", "unsubscribe", "128", "listen", "100") as other:
        silent.wait("subscribe 128 status 0x0")
        other.wait("unsubscribe 128 status 0x0")
        flap()
        silent.wait("report 128", 4)
        time.sleep(4)
        counts = Counter(re.search(r"tid (\S+)", line)[1] for line in silent.said("report 128"))
        assert set(counts.values()) == {4}, counts
        assert not other.said("report"), other.lines

        # One that has left is told nothing of what happens meanwhile, nor afterwards; who stayed is told that it left and came back.
        gone = walk.ends[int(hosts[4].partition("-")[2], 16)]
        assert len(subscribers(sa)) == 2, subscribers(sa)
        sim.console(f'Unlink "S-{gone[0]:016x}"[{gone[1]}]')
        other.wait("report 65")
        until(lambda: f"kept: {subscribers(sa)}", lambda: subscribers(sa) == {int(hosts[6].partition("-")[2], 16) + 1}, 20)
        sim.console(f'ReLink "S-{gone[0]:016x}"[{gone[1]}]')
        service.wait("back", lambda s: s["linksDown"] == 0 and s["phase"] == "synced", 30)
        before = len(silent.lines)
        flap()
        time.sleep(2)
        assert len(silent.lines) == before, silent.lines[before:]


def counts(service):
    """What was asked and told, in the subnet's status, in metrics and on the command line."""
    time.sleep(1.5)
    told = service.live()["administration"]
    asked = {one["attribute"]: (one["answered"], one["refused"], one["unsupported"]) for one in told["asked"]}
    assert asked["InformInfo"][:2] == (8, 1) and asked["MCMemberRecord"][0] >= 4 and asked["InformInfoRecord"][0] >= 3, asked
    assert sum(map(sum, asked.values())) == told["answered"] + told["refused"] == told["requests"] - told["dropped"], told
    assert told["subscriptions"] == 1 and told["reports"] >= 17 and told["reportsConfirmed"] >= 10 and told["reportsGivenUp"] >= 4, told
    with urllib.request.urlopen(service.url + "/metrics") as page:
        metrics = page.read().decode()
    assert re.search(r'^railweave_subnet_administration_asked_total\{subnet="[^"]+",attribute="InformInfo",answer="ok"\} 8$', metrics, re.MULTILINE), metrics
    shown = service.cli("subnets", "show", service.subnet).stdout
    assert re.search(r"Clients:.*InformInfo 9 \(1 refused\)", shown) and re.search(r"Notices:.*subscriptions 1; reports ", shown), shown


def railweave(sim, binaries, kernel, client, program, folder, subnet, hosts):
    key_file = folder / "sa.key"
    key_file.write_text(KEY + "\n")
    key_file.chmod(0o600)
    keys = f'sweep_seconds = 2\nlook_seconds = 5\nadministration_key_file = "{key_file}"'
    with LiveService(sim, binaries, folder, subnet, keys) as service:
        accept(service)
        service.synced(60)
        sa = SaQuery(sim, kernel, hosts[3], KEY)
        sa.wait()
        walk = SwitchWalk(sim)
        with Subscriber(sim, program, hosts[2], "subscribe", ANY, "listen", "120") as subscriber:
            subscriber.wait(f"subscribe {ANY} status 0x0")
            told = act(sim, subscriber, client, program, hosts, walk, lambda: service.synced(30))
            assert subscribers(sa) == {int(hosts[2].partition("-")[2], 16) + 1}, subscribers(sa)
        assert len(sim.run([program, "subscribe", "64", "unsubscribe", "64", ANY, "77"], host=hosts[2]).stdout.split("status 0x0")) == 4
        faults(sim, service, sa, program, hosts, walk)
        counts(service)
    return told


def by_opensm(sim, kernel, client, program, folder, hosts):
    env = {"OSM_CACHE_DIR": str(folder), "OSM_TMP_DIR": str(folder)}
    opensm = sim.open(["opensm", "-e", "-R", "updn", "-f", str(folder / "osm.log"), "-D", "0x43"], seconds=150, host=hosts[0], behind=kernel, env=env)
    try:
        SaQuery(sim, kernel, hosts[3], "0x1").wait(30)
        with Subscriber(sim, program, hosts[2], "subscribe", ANY, "listen", "120") as subscriber:
            subscriber.wait(f"subscribe {ANY} status 0x0")
            return act(sim, subscriber, client, program, hosts, SwitchWalk(sim), lambda: time.sleep(2))
    finally:
        stop(opensm)


def main():
    binaries, kernel, client, program = (Path(word).resolve() for word in sys.argv[1:5])
    lacking = missing() or next((tool for tool in ("opensm", "saquery", "dump_fts") if not shutil.which(tool)), None)
    if lacking:
        print(f"skipped: {lacking}")
        return 77
    with tempfile.TemporaryDirectory(prefix="railweave-in-") as name:
        folder = Path(name)
        _, netlist, subnet = generate(binaries / "railweave", TREE, folder)
        hosts = hosts_of(netlist)
        with Ibsim(netlist, host=hosts[0]) as sim:
            own = railweave(sim, binaries, kernel, str(client), str(program), folder, subnet, hosts)
        theirs = None
        for _ in range(3):  # ibsim tells a trap once, and OpenSM may miss one that comes while it sweeps
            with Ibsim(netlist, host=hosts[0]) as sim:
                try:
                    theirs = by_opensm(sim, kernel, str(client), str(program), folder, hosts)
                    break
                except AssertionError as problem:
                    print(f"OpenSM: {problem}")
    assert own == theirs, (own, theirs)
    print(f"{sum(map(len, own.values()))} reports of {len(own)} events, the same as OpenSM's; silent subscribers are told 4 times, those gone no more")
    return 0


if __name__ == "__main__":
    sys.exit(main())
