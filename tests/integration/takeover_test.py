#!/usr/bin/env python3
"""Two railweaved on one PostgreSQL database: the second waits for the first one's lease, takes over when it is killed or
suspended, and a suspended one that wakes up stores nothing, says why, and ends.

takeover_test.py RAILWEAVED        exit code 77: PostgreSQL is not installed
"""
import os
import signal
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from kill_nine_test import all_jobs, own_server  # noqa: E402
from service import Service, star_netlist  # noqa: E402

DEPOSED = 75
LEASE_S = 5


def submit(service, name):
    return service.request("POST", "/v1/jobs", {"name": name, "tenant": "load", "gpus": 1}, {"Idempotency-Key": name})


def load(service, prefix, acknowledged, halt):
    """Submits until it is told to stop or the service does not answer."""
    number = 0
    while not halt.is_set():
        number += 1
        name = f"{prefix}-{number}"
        try:
            status, _, answer = submit(service, name)
        except OSError:
            return
        if status == 201:
            acknowledged[answer["id"]] = name
        time.sleep(0.001)


def checked(service, acknowledged):
    jobs = all_jobs(service)
    lost = [job for job, name in acknowledged.items() if job not in jobs or jobs[job]["name"] != name]
    assert not lost, f"acknowledged and lost: {lost[:5]} of {len(lost)}"
    names = [job["name"] for job in jobs.values()]
    assert len(names) == len(set(names)), "a job exists twice"
    places = set()
    for job in jobs.values():
        for rank in service.request("GET", f"/v1/jobs/{job['id']}/ranks")[2]["items"]:
            assert (rank["node"], rank["gpu"]) not in places, "a GPU is owned twice"
            places.add((rank["node"], rank["gpu"]))


def started(service, seconds):
    """How long it took. The lease of one that is gone has to expire first."""
    began = time.monotonic()
    service.start()
    took = time.monotonic() - began
    assert took < seconds, f"took over after {took:.1f} s"
    return took


def main():
    binary = sys.argv[1]
    acknowledged, halt = {}, threading.Event()
    with own_server() as server:
        url = server.url + "postgres"
        with Service(binary, store=url) as first, Service(binary, store=url) as second, Service(binary, store=url) as third:
            first.start()
            assert first.request("PUT", "/v1/fabric/topology?format=ibsim&gpusPerNode=8", star_netlist(1000),
                                 {"Content-Type": "text/plain"})[0] == 200
            assert first.request("PUT", "/v1/tenants/load", {})[0] == 200
            # 1. A second one beside it does not write: it says who does, and ends.
            try:
                third.start()
                raise AssertionError("two services write one store")
            except RuntimeError as refused:
                assert "the store is in use by" in str(refused), refused
            # 2. kill -9 under load: taken over once the lease has expired.
            thread = threading.Thread(target=load, args=(first, "first", acknowledged, halt))
            thread.start()
            time.sleep(1)
            first.kill()
            thread.join()
            killed = started(second, LEASE_S + 3)
            checked(second, acknowledged)
            # 3. Suspended past its lease under load, and woken up beside its successor.
            thread = threading.Thread(target=load, args=(second, "second", acknowledged, halt))
            thread.start()
            time.sleep(1)
            os.kill(second.process.pid, signal.SIGSTOP)
            suspended = started(first, LEASE_S + 3)
            os.kill(second.process.pid, signal.SIGCONT)
            code = second.process.wait(timeout=30)
            halt.set()
            thread.join()
            assert code == DEPOSED, f"the deposed one ended with {code}\n{second.log_text()}"
            assert "another railweaved has taken over" in second.log_text(), second.log_text()
            # What was under way when it was suspended is stored or not, but never acknowledged and lost.
            checked(first, acknowledged)
            status, _, answer = submit(first, "last")
            assert status == 201, answer
            acknowledged[answer["id"]] = "last"
            # 4. An orderly stop gives the lease back: no waiting.
            assert first.stop() == 0
            orderly = started(third, LEASE_S - 1)
            checked(third, acknowledged)
            assert third.stop() == 0
            print(f"{len(acknowledged)} acknowledged jobs, none lost, none twice, no GPU owned twice; taken over {killed:.1f} s after "
                  f"kill -9, {suspended:.1f} s after SIGSTOP, {orderly:.1f} s after an orderly stop; the suspended one ended with {code}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
