#!/usr/bin/env python3
"""The client for Python against a real service: its table is what the contract makes it, every read answers, changes and their refusals
come as documented, lists are read to their end, a stream survives the service, and the examples run.

python_client_test.py BIN_FOLDER
"""
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
sys.path.insert(0, str(ROOT / "api/python"))
import railweave as package  # noqa: E402
from ports import free_ports  # noqa: E402
from railweave import Problem, Railweave, StepReporter, Unreachable  # noqa: E402
from railweave.client import TABLE  # noqa: E402
from service import Service  # noqa: E402
from waiting import until  # noqa: E402

BIN = Path(sys.argv[1]).resolve()
# What a read of one thing is asked for; those that are not here need something that this fabric does not have.
NAMES = {"get_job": "job", "list_ranks": "job", "get_job_traffic": "job", "get_job_ports": "job", "get_job_steps": "job", "get_tenant": "tenant", "get_node": "node", "get_link": "link",
         "get_link_history": "link", "get_link_traffic": "link"}


def refused(call, kind, **expected):
    try:
        call()
    except kind as error:
        for name, value in expected.items():
            assert getattr(error, name) == value, (name, getattr(error, name), error)
        return error
    raise AssertionError(f"no {kind.__name__}")


def steps_are_reported(client):
    """From a loop that runs as it would without: also where no one answers, and where nothing may be reported."""
    job = client.submit_job(body={"tenant": "research", "name": "trains", "gpus": 1})["id"]
    with StepReporter("trains", interval=0.2, warm_up=2, url=client.url, token=client.token) as steps:
        for _ in range(40):
            time.sleep(0.02)
            steps.step()
        until("a report", lambda: steps.reported > 0)
    assert [one["id"] for one in client.list_jobs(name="trains")["items"]] == [job], "a parameter may be called name"
    told = client.get_job_steps(job)
    period, = told["periods"]
    assert told["workload"] == "trains" and 0 < period["steps"] <= 38 and 20 <= period["stepMs"] < 40, told
    assert steps.reported + steps._steps == 38, "the rest was too soon, and is kept"
    assert steps.problem is None or steps.problem.code == "steps.tooSoon", steps.problem
    silent = StepReporter(job, interval=0.05, url="http://127.0.0.1:1")
    refused_ = StepReporter("job-999999", interval=0.05, url=client.url, token=client.token)
    wrong = StepReporter(job, url="ftp://nothing")
    other = StepReporter(job, rank=1, url=client.url)
    for reporter in (silent, refused_, wrong, other):
        reporter.begin()
        before = time.perf_counter()
        for _ in range(20_000):
            reporter.step()
        assert time.perf_counter() - before < 1, "a step is a few microseconds"
    until("both were refused", lambda: isinstance(silent.problem, Unreachable) and isinstance(refused_.problem, Problem))
    for reporter in (silent, refused_, wrong, other):
        before = time.monotonic()
        reporter.close()
        assert time.monotonic() - before < 3 and reporter.reported == 0
    assert isinstance(wrong.problem, ValueError) and refused_.problem.code == "jobs.notFound", (wrong.problem, refused_.problem)
    assert client.get_job_steps(job)["periods"] == told["periods"], "another rank says nothing"
    client.complete_job(job)


def table_is_the_contract():
    subprocess.run([sys.executable, ROOT / "api/python/generate.py", "--check"], check=True)
    document = yaml.load((ROOT / "api/openapi.yaml").read_text(), yaml.CSafeLoader)
    there = {(method.upper(), path) for path, item in document["paths"].items() for method in item if method in ("get", "put", "post", "patch", "delete")}
    assert {(one.method, one.path) for one in TABLE.values()} == there and len(TABLE) == len(there)
    assert package.__version__ == document["info"]["version"]
    assert set(TABLE) <= set(dir(Railweave("http://127.0.0.1:1"))) and "Jobs" in Railweave("http://127.0.0.1:1").list_jobs.__doc__


def changes_and_refusals(client):
    put = client.call("put_tenant", "research", body={"maxGpus": 64})
    read = client.call("get_tenant", "research", min_seq=put.seq)
    assert read.body["maxGpus"] == 64 and read.etag and put.seq >= 1 and read.status == 200
    client.call("put_tenant", "research", body={"maxGpus": 96}, if_match=read.etag)
    refused(lambda: client.call("put_tenant", "research", body={"maxGpus": 1}, if_match=read.etag), Problem, status=412, code="precondition.versionDiffers")
    job = {"tenant": "research", "name": "llama", "parallelism": {"tensor": 8, "data": 2}}
    first, second = (client.submit_job(body=job, idempotency_key="run-1") for _ in range(2))
    assert first["id"] == second["id"] and first["state"] == "placed", first
    never = refused(lambda: client.submit_job(body=job | {"parallelism": {"tensor": 8, "data": 4096}}), Problem)
    assert never.status in (409, 422) and never.code and never.detail, never
    wrong = refused(lambda: client.put_tenant("research", body={"maxGpu": 1}), Problem, status=400)
    assert "maxGpu" in str(wrong) + str(wrong.errors), wrong
    # Said before anything is sent.
    refused(lambda: client.list_jobs(stat="placed"), TypeError)
    refused(lambda: client.get_job(), TypeError)
    refused(lambda: client.no_such_operation, AttributeError)
    refused(lambda: client.get_job("job-999999"), Problem, status=404, code="jobs.notFound")
    return first["id"]


def every_read(client, job):
    known = {"job": job, "tenant": "research", "node": next(client.items("list_nodes"))["id"], "link": next(client.items("list_links", kind="infiniband"))["id"]}
    read = 0
    for name, operation in TABLE.items():
        if operation.method != "GET" or name == "stream_events" or ("{" in operation.path and name not in NAMES):
            continue
        try:
            answer = client.call(name, *([known[NAMES[name]]] if "{" in operation.path else []))
            assert answer.body is not None, name
            read += 1
        except Problem as problem:  # of what is not configured here, or needs a parameter: said as a problem, never as a failure
            assert problem.status < 500 or problem.status == 503 and problem.code, (name, problem)
    assert read > 35, read
    pages = list(client.items("list_nodes", limit=3))
    assert len(pages) == len({one["id"] for one in pages}) == 16, len(pages)
    return read


def streams(service, client):
    seen, other = [], Railweave(client.url, client.token)

    def listen():
        for event in other.follow(after=0, type="tenant.put"):
            seen.append(event)
    threading.Thread(target=listen, daemon=True).start()
    until("events before", lambda: seen)
    service.stop()
    refused(lambda: Railweave(client.url, repeats=0).list_jobs(), Unreachable)
    threading.Timer(1, service.start).start()
    assert Railweave(client.url, client.token, repeats=7).get_health()["status"] == "alive", "a read waits for a service that starts"
    client.put_tenant("later", body={})
    until("events after", lambda: any(event["subject"]["id"] == "later" for event in seen))
    assert len({event["seq"] for event in seen}) == len(seen), "an event came twice"


def examples_run(client):
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "api/python"), RAILWEAVE_URL=client.url, RAILWEAVE_TOKEN=client.token)
    examples = ROOT / "api/python/examples"

    def run(*words):
        done = subprocess.run([sys.executable, *map(str, words)], env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done
        return done.stdout
    placed = run(examples / "place_job.py", "research", "small", 8, 1)
    assert "placed" in placed and len(placed.splitlines()) == 9, placed
    client.put_tenant("research", body={"maxGpus": 128})
    waits = run(examples / "place_job.py", "research", "large", 8, 14)
    assert "not now" in waits and "queued" in waits, waits
    threading.Timer(1, lambda: client_of(client).put_tenant("told", body={})).start()
    run(examples / "tell_alarms.py", 1)
    assert {file.name for file in examples.glob("*.py")} == {"place_job.py", "tell_alarms.py"}, "an example that is not run"


def client_of(client):
    return Railweave(client.url, client.token)


def main():
    table_is_the_contract()
    with tempfile.TemporaryDirectory(prefix="railweave-python-") as name, Service(BIN / "railweaved", authentication="tokens") as service:
        socket_at = Path(name) / "socket"
        service.start("--admin-token-file", f"{name}/token", "--socket", str(socket_at))
        fabric = Path(name) / "fabric.json"
        subprocess.run([BIN / "railweave", "lab", "generate", "rail-optimized", "--hosts", "16", "-O", fabric], check=True, capture_output=True)
        with Railweave(f"http://127.0.0.1:{service.port}", (Path(name) / "token").read_text().strip()) as client:
            client.put_topology(body=fabric.read_text())
            job = changes_and_refusals(client)
            read = every_read(client, job)
            examples_run(client)
            steps_are_reported(client)
            assert Railweave(f"unix:{socket_at}", "").get_caller()["role"] == "administrator", "root is known at the socket"
            refused(lambda: Railweave(client.url, "rw_" + "a" * 12 + "_" + "b" * 43).list_jobs(), Problem, status=401)
            streams(service, client)
    began = time.monotonic()
    refused(lambda: Railweave(f"http://127.0.0.1:{free_ports(1)[0]}", repeats=2).list_jobs(), Unreachable)
    assert 0.2 < time.monotonic() - began < 5
    print(f"{len(TABLE)} operations, {read} reads answered; the examples run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
