#!/usr/bin/env python3
"""What the service's log tells: a request by its id, from the command line to the journal; a cut cable from the trap to the reading
back; a lease that is lost and taken over. And what it never tells: tokens, addresses of webhooks.

log_test.py BIN_FOLDER [request|levels|secrets|cable|lease ...]        exit code 77: skipped, and why
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import replicas  # noqa: E402
from ibsim import Ibsim, missing  # noqa: E402
from live import LiveService, generate  # noqa: E402
from postgres_server import server_of  # noqa: E402
from service import Service  # noqa: E402

SIGNING = "a secret of 27 characters."
SHAPE = ["fat-tree", "--hosts", "8", "--radix", "4", "--tiers", "3", "--nics-per-host", "1", "--gpus-per-host", "1", "--speed", "HDR"]


def until(what, condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, what()
        time.sleep(0.05)
    return found


def in_order(lines, steps):
    """Each of the steps is in a line after that of the one before; returns these lines."""
    found, at = [], 0
    for step in steps:
        place = next((number for number in range(at, len(lines)) if step in lines[number]), None)
        assert place is not None, f"no '{step}' from line {at} on:\n" + "\n".join(lines)
        found.append(lines[place])
        at = place + 1
    return found


def cli(binaries, service, *arguments):
    environment = {**os.environ, "RAILWEAVE_URL": f"http://127.0.0.1:{service.port}", "HOME": str(service.folder)}
    return subprocess.run([str(binaries / "railweave"), *arguments], env=environment, capture_output=True, text=True, timeout=60)


def request(binaries):
    with Service(binaries / "railweaved") as service:
        service.start("--log-level", "info,control=debug,rest=debug")
        done = cli(binaries, service, "--verbose", "tenants", "set", "research", "--max-gpus", "8")
        assert done.returncode == 0, done.stderr
        number = re.search(r"PUT /v1/tenants/research\S*: 20[01], request (\S+)", done.stderr)
        assert number, done.stderr
        number = number[1]
        lines = until(service.log_text, lambda: [line for line in service.log_text().splitlines() if f"request={number} " in line][2:] and
                      [line for line in service.log_text().splitlines() if f"request={number} " in line])
        event, *_ = in_order(lines, ["tenant.put tenant research by local", "answered local", "PUT /v1/tenants/research 20"])
        seq = int(re.search(r" event (\d+) ", event)[1])
        assert f"events {seq} to {seq} appended in " in service.log_text(), service.log_text()
        trail = service.request("GET", f"/v1/audit?requestId={number}")[2]["items"]
        assert [(entry["seq"], entry["kind"]) for entry in trail] == [(seq, "tenant.put")], trail
        # One that is refused has an id as well.
        done = cli(binaries, service, "-v", "tenants", "remove", "nothing")
        refused = re.search(r"DELETE /v1/tenants/nothing\S*: 404, request (\S+)", done.stderr)
        assert done.returncode != 0 and refused, done
        until(service.log_text, lambda: re.search(rf"request={refused[1]} \S+ DELETE /v1/tenants/nothing 404 ", service.log_text()))
        assert cli(binaries, service, "tenants", "list").stderr == "", "nothing is said where nothing is asked for"
        print(f"request {number}: from the command line to event {seq} and the audit trail")


def levels(binaries):
    lines = {}
    for level in ("warn", "info", "debug"):
        with Service(binaries / "railweaved") as service:
            service.start("--log-level", level)
            assert service.request("PUT", "/v1/tenants/t", {})[0] in (200, 201)
            service.stop()
            lines[level] = service.log_text().splitlines()
    assert not any(" info " in line or " debug " in line for line in lines["warn"]), lines["warn"]
    assert any(" info " in line for line in lines["info"]) and not any(" debug " in line for line in lines["info"]), lines["info"]
    assert sum(" debug " in line for line in lines["debug"]) >= 3, lines["debug"]
    form = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (trace|debug|info|warning|warn|error) (service|rest|control|store|live|webhooks) .+$")
    wrong = [line for line in lines["debug"] if not form.match(line)]
    assert not wrong, wrong
    refused = subprocess.run([str(binaries / "railweaved"), "--log-level", "nothing=debug"], capture_output=True, text=True, timeout=20)
    assert refused.returncode == 2 and "'nothing' is not a log subject" in refused.stderr and "webhooks" in refused.stderr, refused
    print(f"levels: {', '.join(f'{level} {len(told)} lines' for level, told in lines.items())}")


def secrets(binaries):
    with Service(binaries / "railweaved", authentication="tokens") as service:
        config = service.folder / "railweaved.toml"
        config.write_text("log_requests = true\n[webhooks]\nloopback = true\nretry_seconds = 1\n")
        token_file = service.folder / "admin-token"
        service.start("--config", str(config), "--log-level", "trace", "--admin-token-file", str(token_file))
        admin = token_file.read_text().strip()
        show = {"Authorization": f"Bearer {admin}"}
        wrong = "rw_" + "a" * 12 + "_" + "Zq7" * 14 + "x"
        assert service.request("GET", "/v1/tenants", headers={"Authorization": f"Bearer {wrong}"})[0] == 401
        assert service.request("GET", f"/v1/tenants/{wrong}", headers=show)[0] in (400, 404)
        status, _, issued = service.request("POST", "/v1/tokens", {"name": "second", "role": "viewer"}, show)
        assert status == 201, issued
        status, _, webhook = service.request("PUT", "/v1/webhooks/pager", {"url": "http://127.0.0.1:9/T0/SECRETPATH?key=SECRETKEY", "secret": SIGNING}, show)
        assert status in (200, 201), webhook
        assert service.request("PUT", "/v1/tenants/told", {}, show)[0] in (200, 201)
        until(service.log_text, lambda: "webhook 'pager' was not told" in service.log_text())
        assert "refused with 401: GET /v1/tenants " in service.log_text(), service.log_text()
        until(service.log_text, lambda: f"/v1/tenants/rw_{'a' * 12}_***" in service.log_text())
        service.stop()
        told = service.log_text()
        for name, secret in (("the administrator's token", admin.split("_", 2)[2]), ("the wrong token", wrong.split("_", 2)[2]),
                             ("the issued token", issued["token"].split("_", 2)[2]), ("the webhook's path", "SECRETPATH"), ("its query", "SECRETKEY"),
                             ("its secret", SIGNING)):
            assert secret not in told, f"{name} is in the log:\n{told}"
        print(f"secrets: none in {len(told.splitlines())} lines at trace")


def cable(binaries):
    if why := missing():
        print(f"skipped: {why}")
        return 77
    with tempfile.TemporaryDirectory(prefix="railweave-log-") as folder:
        native, netlist, subnet = generate(str(binaries / "railweave"), SHAPE, folder)
        with Ibsim(netlist) as sim:
            service = LiveService(sim, binaries, folder, subnet, "sweep_seconds = 1", top='log_level = "info,live=debug,control=debug"')
            with service:
                service.import_fabric(native)
                service.wait("watched", lambda s: s["phase"] == "watching")
                service.mode("direct")
                before = service.synced()["repairsTotal"]
                switch, port = next((head[1], line[1]) for text in [Path(netlist).read_text()] for head in re.finditer(r'^Switch\s+\d+\s+"([^"]+)".*\n((?:\[.*\n)+)', text, re.MULTILINE)
                                    for line in re.finditer(r'^\[(\d+)\]\s+"S-', head[2], re.MULTILINE))
                sim.console(f'Unlink "{switch}"[{port}]')
                service.wait("repaired", lambda s: s["repairsTotal"] > before and s["phase"] == "synced")
                event = service.events("route.programmed")[-1]
                trail = service.get("/v1/audit?limit=1000")["items"]
            lines = service.log.splitlines()
    number = next(entry["requestId"] for entry in trail if entry["seq"] == event["seq"])
    assert number, f"the audit trail names the round: {trail[-1]}"
    story = in_order([line for line in lines if f"round={number} " in line],
                     [" links: 1 link down", "link ", "routes: others by", "audit: passed", "write: ", "read back: ", "programmed: 1 link down", ])
    in_order([line for line in lines if f"request={number} " in line], [f"event {event['seq']} route.programmed subnet {subnet} by fabric", "answered fabric"])
    print(f"a cut cable, round {number}:\n  " + "\n  ".join(story))


def lease(binaries):
    with server_of() as server:
        services = replicas.make(binaries / "railweaved", server.url + "postgres")
        try:
            leader, _ = replicas.begin(services)
            leader.process.send_signal(signal.SIGSTOP)
            others = [service for service in services if service is not leader]
            taken = until(lambda: "\n".join(service.log_text() for service in others),
                          lambda: [service for service in others if " leads, term " in service.log_text()], 30)
            assert len(taken) == 1
            in_order(taken[0].log_text().splitlines(), [" follows", " store the lease is taken by ", " store takes over: the lease is held, term ", " leads, term "])
            leader.process.send_signal(signal.SIGCONT)
            until(leader.log_text, lambda: "another railweaved has taken over" in leader.log_text(), 30)
            story = in_order(leader.log_text().splitlines(), [" store the lease is taken by ", " store the lease of term "])
            assert "is lost: another has taken over" in story[1], story
            print("a lost lease:\n  " + "\n  ".join(story + [line for line in taken[0].log_text().splitlines() if " store " in line]))
        finally:
            for service in services:
                service.__exit__()
    return 0


def main():
    binaries = Path(sys.argv[1])
    for name in sys.argv[2:] or ["request", "levels", "secrets", "cable", "lease"]:
        if {"request": request, "levels": levels, "secrets": secrets, "cable": cable, "lease": lease}[name](binaries) == 77:
            return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
