#!/usr/bin/env python3
"""What callers are told while a replica is cut off from the store, while the leader hangs, and while the store takes no writes.
Two railweaved on one real PostgreSQL database.

replicas_store_test.py RAILWEAVED [CASE...]        exit code 77: PostgreSQL is not installed
"""
import contextlib
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import replicas  # noqa: E402
from postgres_server import server_of  # noqa: E402
from private_network import PrivateNetwork  # noqa: E402
from service import AtSocket, Service  # noqa: E402
from tcp_relay import Relay  # noqa: E402

TAKE_OVER_S = replicas.LEASE_S + 2.0


def code(answer):
    return answer[0], answer[2].get("code") if isinstance(answer[2], dict) else None


@contextlib.contextmanager
def some(binary, urls, authentication="none"):
    """(the leader, followers, what an administrator shows, sockets)"""
    with tempfile.TemporaryDirectory(prefix="railweave-test-") as folder, contextlib.ExitStack() as stack:
        services = [stack.enter_context(Service(binary, store=url, authentication=authentication)) for url in urls]
        token_file = Path(folder) / "token"
        sockets = [Path(folder) / f"{number}.sock" for number in range(len(services))]
        for number, (service, path) in enumerate(zip(services, sockets)):
            service.start("--replica-name", f"replica-{number}", "--admin-token-file", str(token_file), "--socket", str(path))
        admin = {"Authorization": "Bearer " + token_file.read_text().strip()} if token_file.exists() else {}
        for service in services:
            replicas.eventually("the leader is known", lambda service=service:
                                service.request("GET", "/v1/leader", None, admin)[2].get("leader", {}).get("name") == "replica-0")
        try:
            yield *services, admin, sockets
        except BaseException:
            for number, service in enumerate(services):
                print(f"--- replica-{number}\n{service.log_text()[-3000:]}")
            raise


def cut_off(binary):
    """A token that is revoked while a follower cannot hear of it: after the lease the follower answers no one who shows one. The
    same of a leader that cannot renew its lease."""
    with server_of() as server, contextlib.ExitStack() as stack:
        relays = [Relay(server.port) for _ in range(2)]
        for relay in relays:
            stack.callback(relay.close)
        urls = [f"postgresql://postgres@127.0.0.1:{relay.port}/postgres" for relay in relays]
        leader, follower, admin, sockets = stack.enter_context(some(binary, urls, "tokens"))
        status, _, made = leader.request("POST", "/v1/tokens", {"name": "ci", "role": "viewer"}, admin)
        assert status == 201, made
        viewer = {"Authorization": "Bearer " + made["token"]}
        replicas.eventually("the token is known", lambda: follower.request("GET", "/v1/tenants", None, viewer)[0] == 200)
        relays[1].cut()
        cut = time.monotonic()
        assert leader.request("DELETE", f"/v1/tokens/{made['id']}", None, admin)[0] == 204
        assert leader.request("GET", "/v1/tenants", None, viewer)[0] == 401
        replicas.eventually("the follower answers no token", lambda: code(follower.request("GET", "/v1/tenants", None, viewer)) ==
                            (503, "service.storeSilent"), TAKE_OVER_S)
        took = time.monotonic() - cut
        answer = follower.request("GET", "/v1/tenants", None, viewer)
        assert "has received nothing from the store for" in answer[2]["detail"] and answer[1]["Retry-After"], answer
        # Whatever the token: one that it does not know may be newer than what it has read.
        unknown = {"Authorization": "Bearer rw_" + "0" * 16 + "_" + "1" * 64}
        for headers in (admin, unknown):
            assert code(follower.request("GET", "/v1/tenants", None, headers))[0] in (503, 401)
        assert code(follower.request("PUT", "/v1/tenants/t", {}, admin)) == (503, "service.storeSilent")
        assert follower.request("GET", "/healthz")[0] == 200
        ready = follower.request("GET", "/readyz")
        assert ready[0] == 503 and "has received nothing from the store" in ready[2]["cause"], ready
        # Who is known by the connection is known without the store.
        assert follower.request("GET", "/v1/tenants", connection=AtSocket(sockets[1]))[0] == 200
        relays[1].restore()
        replicas.eventually("it hears of the revocation", lambda: follower.request("GET", "/v1/tenants", None, viewer)[0] == 401)
        replicas.eventually("it is ready again", lambda: follower.request("GET", "/readyz")[0] == 200)
        assert follower.request("GET", "/v1/tenants", None, admin)[0] == 200
        # The leader: the follower takes over and may revoke what the one before knows nothing of.
        relays[0].cut()
        replicas.eventually("a leader without its lease answers no token",
                            lambda: code(leader.request("GET", "/v1/tenants", None, admin)) == (503, "service.storeSilent"), TAKE_OVER_S)
        assert leader.request("GET", "/readyz")[0] == 503 and leader.request("GET", "/healthz")[0] == 200
        replicas.eventually("another leads", lambda: follower.request("PUT", "/v1/tenants/t", {}, admin)[0] == 200)
    return f"a follower cut off refuses tokens after {took:.1f} s, a leader as well; health is answered"


def hung_leader(binary):
    """SIGSTOP of the leader for good: changes that were sent on are answered within about the lease, then made by the next."""
    with server_of() as server, some(binary, [server.url + "postgres"] * 2) as (leader, follower, _, _):
        assert follower.request("PUT", "/v1/tenants/before", {})[0] == 200
        os.kill(leader.process.pid, signal.SIGSTOP)
        status = Path(f"/proc/{leader.process.pid}/stat")
        replicas.eventually("it hangs", lambda: status.read_text().rsplit(")", 1)[1].split()[0] == "T")
        began = time.monotonic()
        try:
            status, headers, problem = follower.request("PUT", "/v1/tenants/during", {}, connection=follower.connect(timeout=60))
            took = time.monotonic() - began
            assert (status, problem.get("code")) == (503, "service.leaderGone") and headers["Retry-After"] == "1", (status, problem, took)
            assert took < TAKE_OVER_S, f"answered after {took:.1f} s"
            replicas.eventually("the next leader makes changes", lambda: follower.request(
                "PUT", "/v1/tenants/during", {}, connection=follower.connect(timeout=60))[0] == 200, TAKE_OVER_S)
            total = time.monotonic() - began
        finally:
            os.kill(leader.process.pid, signal.SIGCONT)
    return f"a change at the follower was answered {took:.1f} s after the leader hung, and made after {total:.1f} s"


def dropped(binary):
    """All connections to the database are ended, as an administrator may: writes go on at once."""
    gaps = []
    with server_of() as server, some(binary, [server.url + "postgres"] * 2) as (leader, _, _, _):
        for number in range(4):
            assert leader.request("PUT", f"/v1/tenants/a{number}", {})[0] == 200
            server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'railweaved'")
            began = time.monotonic()
            replicas.eventually("changes are made", lambda: leader.request("PUT", f"/v1/tenants/b{number}", {})[0] == 200)
            gaps.append(time.monotonic() - began)
            time.sleep(1)
    assert max(gaps) < 1.5, gaps
    return f"writes went on {', '.join(f'{gap:.2f}' for gap in gaps)} s after the connections ended"


def forgotten(binary):
    """The network forgets the leader's connections to the database, as a firewall does, and lets new ones through: writes go on within
    about the lease, by the same leader."""
    with contextlib.ExitStack() as stack:
        network = stack.enter_context(PrivateNetwork(214, 1))
        server = stack.enter_context(server_of("listen_addresses = '*'", namespace=network.name, hosts=[network.block]))
        (leader,) = stack.enter_context(some(binary, [f"postgresql://postgres@{network.address(0)}:{server.port}/postgres"]))[:1]
        assert leader.request("PUT", "/v1/tenants/before", {})[0] == 200
        ports = server.sql("SELECT string_agg(client_port::text, ', ') FROM pg_stat_activity WHERE application_name = 'railweaved'")
        rules = f"table ip forgets {{ chain c {{ type filter hook prerouting priority 0; tcp sport {{ {ports} }} drop\n }}\n }}\n"
        network.run("nft", "-f", "-", text=rules)
        began = time.monotonic()
        replicas.eventually("changes are made", lambda: leader.request(
            "PUT", "/v1/tenants/after", {}, connection=leader.connect(timeout=60))[0] == 200)
        took = time.monotonic() - began
        assert took < TAKE_OVER_S, took
    return f"writes went on {took:.1f} s after the network forgot all connections"


def refused(binary):
    """The store takes no writes, as with a full disk: the leader is not ready and says why, and is again without being asked to write."""
    with server_of() as server, some(binary, [server.url + "postgres"] * 2) as (leader, _, _, _):
        assert leader.request("GET", "/readyz")[0] == 200
        server.sql("CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
                   "'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$")
        for table in ("journal", "blobs"):
            server.sql(f"CREATE TRIGGER full_disk BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION full_disk()")
        answer = leader.request("PUT", "/v1/tenants/t", {})
        assert code(answer) == (503, "service.storeFailed"), answer
        for _ in range(40):  # all the time, not for a moment
            ready = leader.request("GET", "/readyz")
            assert ready[0] == 503 and "No space left" in ready[2]["cause"], ready
            time.sleep(0.1)
        for table in ("journal", "blobs"):
            server.sql(f"DROP TRIGGER full_disk ON {table}")
        began = time.monotonic()
        replicas.eventually("it is ready again by itself", lambda: leader.request("GET", "/readyz")[0] == 200, 5)
        took = time.monotonic() - began
        assert leader.request("PUT", "/v1/tenants/t", {})[0] == 200
    return f"not ready while appends fail, with the cause; ready {took:.1f} s after the store took writes"


CASES = [cut_off, hung_leader, dropped, forgotten, refused]


def main():
    names = sys.argv[2:] or [case.__name__ for case in CASES]
    for case in CASES:
        if case.__name__ in names:
            print(f"{case.__name__}: {case(sys.argv[1])}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
