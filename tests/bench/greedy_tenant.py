#!/usr/bin/env python3
"""What a greedy tenant costs its neighbour: the 99th percentile of a tenant's requests alone, then beside one that takes all it can get
(submissions, heavy reads, streams, webhooks, connections), then beside nine of them, and whether an administrator gets in.
A real railweaved on loopback; each client is a process of its own, greedy ones at the lowest priority (SCHED_IDLE). They take processors
from the service nevertheless, and so does the work that it does for them: for comparison the same clients ask a second service of the
same kind on the same machine ("elsewhere"), which shares processors and the disk with the measured one, and nothing else.

greedy_tenant.py BIN_FOLDER [SECONDS]    exit code 10: beside greedy ones it is more than twice what it is alone, or with them elsewhere
"""
import http.client
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from service import Service, star_netlist  # noqa: E402

THREADS = {"submit": 4, "read": 4, "what_if": 4, "list": 40, "stream": 40, "idle": 60, "webhook": 1}
JSON = {"Content-Type": "application/json"}


def ask(connection, token, method, path, body=None):
    connection.request(method, path, body and json.dumps(body), {"Authorization": f"Bearer {token}", **(JSON if body else {})})
    answer = connection.getresponse()
    return answer.status, answer.read()


def measure(port, token, tenant, seconds):
    """A tenant that is patient: one request after the other, small reads, submissions and what it has submitted."""
    connection, times, statuses, of_path = http.client.HTTPConnection("127.0.0.1", port, timeout=60), [], {}, {}
    until, number = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        number += 1
        for method, path, body in (("GET", f"/v1/tenants/{tenant}", None), ("GET", "/v1/jobs?limit=10", None),
                                   ("POST", "/v1/jobs", {"tenant": tenant, "gpus": 1, "name": f"m{number}-{os.getpid()}", "queue": True})):
            began = time.perf_counter()
            status, text = ask(connection, token, method, path, body)
            times.append((time.perf_counter() - began) * 1000)
            of_path.setdefault(f"{method} {path.split('?')[0]}", []).append(times[-1])
            statuses[status] = statuses.get(status, 0) + 1
            if status == 201:
                ask(connection, token, "DELETE", f"/v1/jobs/{json.loads(text)['id']}")
        time.sleep(0.01)
    times.sort()
    return {"median": times[len(times) // 2], "p99": times[len(times) * 99 // 100], "count": len(times), "statuses": statuses,
            "longest": {path: [round(sorted(ones)[len(ones) * 99 // 100], 1), round(max(ones), 1)] for path, ones in of_path.items()}}


def greedy(port, token, tenant, kind):
    number = 0
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            if kind == "stream":
                connection.request("GET", "/v1/events/stream", headers={"Authorization": f"Bearer {token}", "Accept": "text/event-stream"})
                answer = connection.getresponse()
                while answer.read1(65536):
                    pass
                time.sleep(0.2)
            elif kind == "idle":
                connection.connect()
                time.sleep(600)
            while kind not in ("stream", "idle"):
                number += 1
                what = {"submit": ("POST", "/v1/jobs", {"tenant": tenant, "gpus": 1, "name": f"g{number}-{threading.get_ident()}", "queue": True}),
                        "list": ("GET", "/v1/events", None), "read": ("GET", "/v1/jobs?limit=10000", None),
                        "what_if": ("POST", "/v1/placements/query", {"tenant": tenant, "gpus": 512}),
                        "webhook": ("PUT", f"/v1/webhooks/{tenant}-{number}", {"url": f"https://192.0.2.1/{number}"})}[kind]
                status, _ = ask(connection, token, *what)
                if status == 429:
                    time.sleep(0.005)  # much sooner than it was told
        except (OSError, http.client.HTTPException):
            time.sleep(0.05)


def as_greedy(port, token, tenant):
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    for kind, count in THREADS.items():
        for _ in range(count):
            threading.Thread(target=greedy, args=(port, token, tenant, kind), daemon=True).start()
    time.sleep(3600)


def beside(service, tokens, tenants, seconds, asked):
    """The neighbour's figures, and the worst that an administrator waited. asked: the service that the tenants ask, and their tokens."""
    other, theirs = asked
    clients = [subprocess.Popen([sys.executable, __file__, "--greedy", str(other.port), theirs[name], name]) for name in tenants]
    try:
        time.sleep(2 if clients else 0)
        client = subprocess.Popen([sys.executable, __file__, "--measure", str(service.port), tokens["patient"], "patient", str(seconds)],
                                  stdout=subprocess.PIPE, text=True)
        longest, refused = 0.0, 0
        while client.poll() is None:
            began = time.perf_counter()
            try:
                status, _ = ask(http.client.HTTPConnection("127.0.0.1", service.port, timeout=60), tokens["admin"], "GET", "/v1/tenants?limit=1")
                refused += status != 200
            except (OSError, http.client.HTTPException):
                refused += 1
            longest = max(longest, time.perf_counter() - began)
            time.sleep(0.2)
        return {**json.loads(client.stdout.read()), "administrator": round(longest * 1000), "refused": refused}
    finally:
        for one in clients:
            one.kill()
            one.wait()


def seeded(service, names):
    """Tokens by name: of a member of each tenant, and of the administrator."""
    token_file = service.folder / "token"
    service.start("--admin-token-file", str(token_file))
    tokens = {"admin": token_file.read_text().strip()}
    own = {"Authorization": f"Bearer {tokens['admin']}"}
    status, _, answer = service.request("PUT", "/v1/fabric/topology?format=ibsim&gpusPerNode=8", star_netlist(512), {"Content-Type": "text/plain", **own})
    assert status == 200, answer
    for name in names:
        assert service.request("PUT", f"/v1/tenants/{name}", {}, own)[0] == 200
        status, _, made = service.request("POST", "/v1/tokens", {"name": name, "role": "member", "tenant": name}, own)
        assert status == 201, made
        tokens[name] = made["token"]
    return tokens


def main():
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 10
    binary = Path(sys.argv[1]).resolve() / "railweaved"
    greedy_ones = [f"greedy-{number}" for number in range(9)]
    with Service(binary, authentication="tokens") as service, Service(binary, authentication="tokens") as other:
        tokens, theirs = (seeded(one, ("patient", *greedy_ones)) for one in (service, other))
        alone = beside(service, tokens, [], seconds, (service, tokens))
        print(f"alone: median {alone['median']:.1f} ms, 99th percentile {alone['p99']:.1f} ms, longest {alone['longest']}", flush=True)
        within = True
        for tenants in (greedy_ones[:1], greedy_ones):
            least = alone["p99"]
            for where, asked in (("elsewhere", (other, theirs)), ("beside", (service, tokens))):
                got = beside(service, tokens, tenants, seconds, asked)
                print(f"{len(tenants)} greedy {where}: median {got['median']:.1f} ms, 99th percentile {got['p99']:.1f} ms, "
                      f"{got['p99'] / alone['p99']:.1f} times alone; {got['count']} requests, answers {got['statuses']}; "
                      f"an administrator waited {got['administrator']} ms at most, {got['refused']} times in vain; longest {got['longest']}", flush=True)
                within = within and (where == "elsewhere" or got["p99"] <= 2 * least) and got["refused"] == 0
                least = max(least, got["p99"])
    return 0 if within else 10


if __name__ == "__main__":
    if sys.argv[1] == "--measure":
        print(json.dumps(measure(int(sys.argv[2]), sys.argv[3], sys.argv[4], float(sys.argv[5]))))
    elif sys.argv[1] == "--greedy":
        as_greedy(int(sys.argv[2]), *sys.argv[3:])
    else:
        sys.exit(main())
