#!/usr/bin/env python3
"""10,000 connections that say nothing and a flood of submissions beside them: small reads are answered meanwhile, memory stays
bounded, and what is refused is told to come again.

flood_test.py BIN_FOLDER [CONNECTIONS]        exit code 77: this machine may not open as many files
"""
import http.client
import json
import resource
import socket
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from service import Service, star_netlist  # noqa: E402

BIN = Path(sys.argv[1]).resolve()
IDLE = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
FLOOD_SECONDS = 8
READ_MS = 100
MEMORY_MB = 600


def memory_mb(service):
    for line in Path(f"/proc/{service.process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) // 1024
    raise AssertionError("the service has no memory")


def flood(service, halt, counts):
    connection = service.connect()
    number = 0
    while not halt.is_set():
        number += 1
        body = json.dumps({"tenant": "load", "name": f"flood-{number}", "gpus": 1, "parallelism": {"data": 1}, "queue": True})
        try:
            connection.request("POST", "/v1/jobs", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            connection = service.connect()
            continue
        counts[answer.status] = counts.get(answer.status, 0) + 1
        assert answer.status in (201, 429), answer.status
        assert answer.status == 201 or answer.getheader("Retry-After"), "who is refused is told when to come again"


def main():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < IDLE + 2_000:
        print(f"skipped: at most {most} open files")
        return 77
    resource.setrlimit(resource.RLIMIT_NOFILE, (IDLE + 2_000, most))
    with Service(BIN / "railweaved") as service:
        config = service.folder / "many.toml"
        config.write_text(f"max_connections = {IDLE + 100}\nidle_seconds = 600\nmax_waiting_jobs = 3000\n")
        service.start("--config", str(config))
        assert service.request("PUT", "/v1/fabric/topology?format=ibsim&gpusPerNode=8", star_netlist(64), {"Content-Type": "text/plain"})[0] == 200
        assert service.request("PUT", "/v1/tenants/load", {})[0] == 200
        before = memory_mb(service)
        idle = []
        for _ in range(IDLE):
            one = socket.create_connection(("127.0.0.1", service.port), timeout=20)
            idle.append(one)
        one = idle[-1]
        one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert one.recv(4096).startswith(b"HTTP/1.1 200"), "the last of them is served"
        held = memory_mb(service)
        halt, counts = threading.Event(), {}
        threads = [threading.Thread(target=flood, args=(service, halt, counts)) for _ in range(8)]
        for thread in threads:
            thread.start()
        reader, times = service.connect(), []
        until = time.monotonic() + FLOOD_SECONDS
        while time.monotonic() < until:
            began = time.perf_counter()
            reader.request("GET", "/v1/tenants/load")
            answer = reader.getresponse()
            answer.read()
            times.append((time.perf_counter() - began) * 1000)
            assert answer.status == 200, answer.status
            time.sleep(0.01)
        halt.set()
        for thread in threads:
            thread.join()
        after = memory_mb(service)
        times.sort()
        print(f"{IDLE} idle connections: {held - before} MB; beside {sum(counts.values()) / FLOOD_SECONDS:.0f} submissions/s "
              f"({counts.get(429, 0)} refused) {len(times)} reads: median {times[len(times) // 2]:.1f} ms, 99th percentile "
              f"{times[len(times) * 99 // 100]:.1f} ms, longest {times[-1]:.1f} ms; memory {after} MB")
        assert len(times) > 100 and times[len(times) * 99 // 100] < READ_MS, times[-20:]
        assert after < MEMORY_MB, after
        for one in idle:
            one.close()
        assert service.stop() == 0, service.log_text()[-2000:]
    return 0


if __name__ == "__main__":
    sys.exit(main())
