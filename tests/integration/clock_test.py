#!/usr/bin/env python3
"""The system's clock is set back while jobs run: times of events never go back, no duration is negative, and the service goes on
after a restart. The clock is set for the service alone (set_clock.c).

clock_test.py RAILWEAVED
"""
import datetime
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from service import Service, star_netlist  # noqa: E402

# As db/REPORTING.md has it.
GPU_HOURS = """SELECT CAST(SUM(gpus * (ended_at_us - placed_at_us)) / 3600000000 AS bigint), MIN(ended_at_us - placed_at_us)
               FROM job_history WHERE ended_at_us IS NOT NULL AND placed_at_us IS NOT NULL"""


def at(text):
    return datetime.datetime.fromisoformat(text)


def set_back(railweaved, library, folder, seconds):
    clock = folder / "clock"
    clock.write_text("0")
    os.environ.update(LD_PRELOAD=str(library), SET_CLOCK=str(clock))
    service = Service(railweaved, folder=folder)
    service.start()

    def call(method, path, body=None):
        status, _, answer = service.request(method, path, body)
        assert status in (200, 201, 204), (method, path, status, answer)
        return answer

    call("PUT", "/v1/fabric/topology?gpusPerNode=8", star_netlist(8))
    call("PUT", "/v1/tenants/t", {})
    first = call("POST", "/v1/jobs", {"tenant": "t", "gpus": 32})["id"]
    waits = call("POST", "/v1/jobs", {"tenant": "t", "gpus": 64, "queue": True})["id"]
    clock.write_text(str(-seconds))
    time.sleep(0.5)
    second = call("POST", "/v1/jobs", {"tenant": "t", "gpus": 1, "expectedDuration": "PT1M"})["id"]
    for name in (first, second):
        call("POST", f"/v1/jobs/{name}/complete")
    service.stop()
    service.start()
    call("POST", f"/v1/jobs/{waits}/checkpoint")
    call("POST", f"/v1/jobs/{waits}/complete")
    for name in (first, second, waits):
        job = call("GET", f"/v1/jobs/{name}")
        assert at(job["submittedAt"]) <= at(job["startedAt"]) <= at(job["endedAt"]), job
        times = [at(change["time"]) for change in job["history"]]
        assert times == sorted(times), job["history"]
    events = call("GET", "/v1/events?limit=1000")["items"]
    assert [event["time"] for event in events] == sorted(event["time"] for event in events), events
    assert service.stop() == 0
    with sqlite3.connect(f"file:{folder}/store.db?mode=ro", uri=True) as store:
        hours, least = store.execute(GPU_HOURS).fetchone()
    assert hours == 0 and least >= 0, (hours, least)
    print(f"set back by {seconds} s: {len(events)} events in order, {hours} GPU hours")


def main():
    if shutil.which("cc") is None:
        print("skipped: no C compiler to set a clock with")
        return 77
    with tempfile.TemporaryDirectory(prefix="railweave-clock-") as name:
        folder = Path(name)
        library = folder / "set_clock.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, HERE / "set_clock.c", "-ldl"], check=True)
        for seconds in (7_200, 2_592_000):
            store = folder / str(seconds)
            store.mkdir()
            set_back(sys.argv[1], library, store, seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
