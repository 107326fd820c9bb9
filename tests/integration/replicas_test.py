#!/usr/bin/env python3
"""Three railweaved on one PostgreSQL database, and what may happen to them or to it. After each fault: nothing acknowledged is
lost, nothing is there twice, no GPU is owned twice, one leads.

replicas_test.py RAILWEAVED [FAULT...]        exit code 77: PostgreSQL is not installed, or a namespace cannot be made
"""
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import replicas  # noqa: E402
from postgres_server import server_of  # noqa: E402
from private_network import PrivateNetwork  # noqa: E402
from service import AtSocket, Service  # noqa: E402

TO_RESTART = 75
TAKE_OVER_S = 5.0  # at the default lease


@contextlib.contextmanager
def three(binary, url, urls=None):
    """Three replicas with a load on all of them, which goes on until end() of it."""
    services = replicas.make(binary, url)
    for service, own in zip(services, urls or []):
        service.store = own
    load = replicas.Load(services, "load")
    try:
        leader, _ = replicas.begin(services)
        load.start()
        replicas.eventually("the load runs", lambda: len(load.acknowledged) > 50)
        yield services, leader, load
    except BaseException:
        for number, service in enumerate(services):
            print(f"--- replica-{number}\n{service.log_text()[-3000:]}")
        raise
    finally:
        load.halt.set()
        for service in services:
            service.__exit__()


def settle(services, load):
    """Half a second more of load, then everything is looked at."""
    before = len(load.acknowledged)
    replicas.eventually("the load goes on", lambda: len(load.acknowledged) > before + 50)
    load.end()
    return f"{replicas.check(services, [load])} acknowledged jobs, none lost, none twice, no GPU owned twice"


def roles(binary):
    """What each may answer, and how old it is; a change that is sent to a follower is made by the leader."""
    with server_of() as server, three(binary, server.url + "postgres") as (services, leader, load):
        follower, other = [service for service in services if service is not leader]
        for number in range(50):
            name = f"tenant-{number}"
            status, headers, _ = follower.request("PUT", f"/v1/tenants/{name}", {"maxGpus": number})
            assert status == 200, "a follower forwards"
            seq = headers["Railweave-Seq"]
            for service in services:
                status, headers, tenant = service.request("GET", f"/v1/tenants/{name}?minSeq={seq}")
                assert status == 200 and tenant["maxGpus"] == number, f"a change is read where it was not made: {tenant}"
        status, headers, _ = other.request("GET", "/v1/tenants")
        assert status == 200 and int(headers["Railweave-Seq"]) > 0 and float(headers["Railweave-Staleness"]) < 2, headers
        assert "Railweave-Staleness" not in leader.request("GET", "/v1/tenants")[1]
        status, _, problem = follower.request("PUT", "/v1/tenants/tenant-1", {"maxGpus": 5}, {"If-Match": '"tenant-1.1"'})
        assert status == 412 and problem["code"] == "precondition.versionDiffers", "If-Match is forwarded as well"
        for service in services:
            assert service.request("GET", "/readyz")[0] == 200
        assert sum(replicas.own_view(service)["replica"]["leads"] for service in services) == 1
        text = settle(services, load)
        # An orderly stop gives the lease back: no successor waits for it to expire.
        stopped = time.monotonic()
        assert leader.stop() == 0
        successor = replicas.leader_of(services)
        took = time.monotonic() - stopped
        assert took < 1.5, f"{took:.2f} s after an orderly stop"
        assert replicas.Load.submit(successor, "once")[0] == 201, "the successor accepts changes"
        return f"{text}; taken over {took:.2f} s after an orderly stop"


def callers(binary):
    """A token counts at every replica, also of what is forwarded, until it is revoked; what only one replica can check is not."""
    with server_of() as server, tempfile.TemporaryDirectory(prefix="railweave-test-") as folder:
        token_file = Path(folder) / "token"
        services = [Service(binary, store=server.url + "postgres", authentication="tokens") for _ in range(2)]
        with services[0] as leader, services[1] as follower:
            sockets = [Path(folder) / f"{number}.sock" for number in range(2)]
            for service, path in zip(services, sockets):
                service.start("--admin-token-file", str(token_file), "--socket", str(path))
            admin = {"Authorization": "Bearer " + token_file.read_text().strip()}
            replicas.eventually("it follows", lambda: leader.request("GET", "/v1/leader", None, admin)[0] == 200 and
                                follower.request("GET", "/v1/leader", None, admin)[0] == 200)
            assert follower.request("PUT", "/v1/tenants/research", {})[0] == 401
            status, headers, _ = follower.request("PUT", "/v1/tenants/research", {}, admin)
            assert status == 200
            status, headers, made = follower.request("POST", "/v1/tokens", {"name": "ci", "role": "member", "tenant": "research"}, admin)
            assert status == 201 and headers["Cache-Control"] == "no-store", made
            member = {"Authorization": "Bearer " + made["token"]}
            replicas.eventually("the token is known", lambda: follower.request("GET", "/v1/whoami", None, member)[0] == 200)
            for service in services:
                status, _, problem = service.request("PUT", "/v1/tenants/research", {}, member)
                assert status == 403 and problem["code"] == "auth.forbidden", problem
                status, _, problem = service.request("POST", "/v1/jobs", {"tenant": "research", "gpus": 1}, member)
                assert status in (409, 422), f"let in, and there is no fabric: {status} {problem}"
            trail = leader.request("GET", "/v1/audit?kind=tenant.put", None, admin)[2]["items"]
            assert [entry["actor"] for entry in trail] == ["administrator"], trail
            at_follower = AtSocket(sockets[1])
            status, _, problem = follower.request("PUT", "/v1/tenants/other", {}, connection=at_follower)
            assert status == 409 and problem["code"] == "service.notLeader", problem
            assert str(leader.port) in problem["hint"] and "certificate_file" in problem["hint"], problem
            assert follower.request("GET", "/v1/tenants", connection=AtSocket(sockets[1]))[0] == 200, "reads are not forwarded"
            assert leader.request("PUT", "/v1/tenants/other", {}, connection=AtSocket(sockets[0]))[0] == 200
            assert follower.request("DELETE", f"/v1/tokens/{made['id']}", None, admin)[0] == 204
            replicas.eventually("the token is revoked", lambda: follower.request("GET", "/v1/whoami", None, member)[0] == 401)
    return "tokens count at every replica until they are revoked, in the audit trail by name"


def killed(binary):
    """kill -9 of the leader under load, three times over, the one that was killed started again each time."""
    gaps = []
    with server_of() as server, three(binary, server.url + "postgres") as (services, leader, load):
        for _ in range(3):
            leader.kill()
            moment = time.monotonic()
            gaps.append(load.gap_after(moment, 30))
            leader.start("--replica-name", f"again-{len(gaps)}")
            leader = replicas.leader_of(services)
        text = settle(services, load)
    assert max(gaps) < TAKE_OVER_S, gaps
    return f"{text}; taken over {', '.join(f'{gap:.1f}' for gap in gaps)} s after kill -9"


def suspended(binary):
    """SIGSTOP of the leader past its lease; woken up beside its successor it writes nothing, says why, and ends."""
    with server_of() as server, three(binary, server.url + "postgres") as (services, leader, load):
        os.kill(leader.process.pid, signal.SIGSTOP)
        moment = time.monotonic()
        others = [service for service in services if service is not leader]
        load.replicas = others
        gap = load.gap_after(moment, 30)
        os.kill(leader.process.pid, signal.SIGCONT)
        code = leader.process.wait(timeout=30)
        assert code == TO_RESTART, f"the deposed one ended with {code}"
        assert "another railweaved has taken over" in leader.log_text()
        leader.kill()
        leader.start("--replica-name", "again")
        load.replicas = services
        text = settle(services, load)
    assert gap < TAKE_OVER_S, gap
    return f"{text}; taken over {gap:.1f} s after SIGSTOP; the suspended one ended with {code}"


def partitioned(binary):
    """The leader alone loses its network to the database, and gets it back when another leads."""
    with contextlib.ExitStack() as stack:
        network = stack.enter_context(PrivateNetwork(213, 3))
        server = stack.enter_context(server_of("listen_addresses = '*'", namespace=network.name, hosts=[network.block]))
        urls = [f"postgresql://postgres@{network.address(number)}:{server.port}/postgres" for number in range(3)]
        services, leader, load = stack.enter_context(three(binary, urls[0], urls))
        number = services.index(leader)
        network.set_link(number, "down")
        moment = time.monotonic()
        load.replicas = [service for service in services if service is not leader]
        replicas.eventually("a leader that cannot renew its lease says so",
                            lambda: (view := replicas.own_view(leader)) and not view["replica"]["leads"])
        gap = time.monotonic() - moment + load.gap_after(time.monotonic(), 30)
        status, _, problem = leader.request("PUT", "/v1/tenants/lost", {}, connection=leader.connect(timeout=60))
        assert status == 503, f"a leader without its store accepts nothing: {status} {problem}"
        network.set_link(number, "up")
        code = leader.process.wait(timeout=60)
        assert code == TO_RESTART, f"the deposed one ended with {code}"
        leader.kill()
        leader.start("--replica-name", "again")
        load.replicas = services
        text = settle(services, load)
        status, _, _ = leader.request("GET", "/v1/tenants/lost")
        assert status == 404, "what was refused is not there"
    assert gap < TAKE_OVER_S, gap
    return f"{text}; taken over {gap:.1f} s after the partition; the one cut off ended with {code}"


def store_restarts(binary):
    """The database is killed and starts again, twice."""
    gaps = []
    with server_of() as server, three(binary, server.url + "postgres") as (services, _, load):
        for _ in range(2):
            server.stop("immediate")
            moment = time.monotonic()
            server.start()
            gaps.append(load.gap_after(moment, 60))
        text = settle(services, load)
    return f"{text}; {', '.join(f'{gap:.1f}' for gap in gaps)} s from the database's end to the next acknowledgement"


def store_fails_over(binary):
    """The primary is killed, its synchronous standby promoted, and the old primary starts again, writable: no replica may
    write there, not even one that starts again and is told of the old one first."""
    with server_of() as first, contextlib.ExitStack() as stack:
        second = first.standby()
        stack.callback(second.remove)
        stack.callback(lambda: second.stop("immediate"))
        url = f"postgresql://postgres@127.0.0.1:{first.port},127.0.0.1:{second.port}/postgres"
        services, leader, load = stack.enter_context(three(binary, url))
        first.stop("immediate")
        moment = time.monotonic()
        second.promote()
        second.sql("ALTER SYSTEM RESET synchronous_standby_names")
        second.sql("SELECT pg_reload_conf()")
        gap = load.gap_after(moment, 60)
        # The old primary comes back as if nothing had been.
        with open(first.data / "postgresql.auto.conf", "a", encoding="utf-8") as conf:
            conf.write("synchronous_standby_names = ''\n")
        first.start()
        before = first.sql("SELECT max(seq) FROM journal")
        leader = replicas.leader_of(services)
        for service in services:
            if service is not leader:
                assert service.stop() == 0
                service.start("--replica-name", f"again-{services.index(service)}")
        leader.kill()
        load.gap_after(time.monotonic(), 60)
        leader.start("--replica-name", "again")
        text = settle(services, load)
        after = first.sql("SELECT max(seq) FROM journal")
        assert before == after, f"the old primary was written: {before}, now {after}"
    return f"{text}; {gap:.1f} s from the primary's end to the next acknowledgement; its journal ended at {before} and still does"


def store_full(binary):
    """The database's disk is full under load, and has room again."""
    folder = tempfile.mkdtemp(prefix="railweave-full-")
    with contextlib.ExitStack() as stack:
        stack.callback(lambda: os.rmdir(folder))
        try:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160m,mode=755", "tmpfs", folder], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            print("a file system in memory cannot be mounted here")
            sys.exit(77)
        stack.callback(lambda: subprocess.run(["umount", "-l", folder], check=False))
        server = stack.enter_context(server_of("max_wal_size = 32MB", initdb=["--wal-segsize=1"], folder=folder))
        services, _, load = stack.enter_context(three(binary, server.url + "postgres"))
        filler = Path(folder) / "filler"
        with contextlib.suppress(OSError), open(filler, "wb") as out:
            while True:
                out.write(bytes(1 << 16))
                out.flush()
        refused = load.refused
        replicas.eventually("the load is refused", lambda: load.refused > refused + 5, 60)
        filler.unlink()
        with contextlib.suppress(subprocess.CalledProcessError):
            server.start()  # where it ended, as a supervisor does
        gap = load.gap_after(time.monotonic(), 60)
        text = settle(services, load)
    return f"{text}; {gap:.1f} s from the disk's having room to the next acknowledgement"


FAULTS = [roles, callers, killed, suspended, partitioned, store_restarts, store_fails_over, store_full]


def main():
    names = sys.argv[2:] or [fault.__name__ for fault in FAULTS]
    for fault in FAULTS:
        if fault.__name__ in names:
            print(f"{fault.__name__}: {fault(sys.argv[1])}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
