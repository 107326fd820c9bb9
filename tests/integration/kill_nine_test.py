#!/usr/bin/env python3
"""Kills railweaved with SIGKILL again and again under a load of submissions and cancellations, and checks after every
restart that everything acknowledged is there, that nothing is there twice, and that no GPU has two jobs. With --queue
jobs wait for room and for each other, and some evict others; after the last restart all that still wait get their turn.
With --postgres the store is a PostgreSQL server of the test's own; every other kill is the server's, and railweaved lives on.

kill_nine_test.py RAILWEAVED [--rounds 12] [--seed 1] [--queue] [--postgres]     exit code 77: PostgreSQL is not installed
"""
import argparse
import contextlib
import random
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from postgres_server import Server  # noqa: E402
from service import Service, star_netlist  # noqa: E402
from waiting import steady, until  # noqa: E402

NODES = 64
GPUS = 8


class Client(threading.Thread):
    """Submits with idempotency keys, cancels some of its jobs; records what was acknowledged and what was not answered."""

    def __init__(self, service, name, seed, strike, queue):
        super().__init__()
        self.service, self.name, self.random, self.strike = service, name, random.Random(seed), strike
        self.queue = queue
        self.acknowledged, self.unanswered, self.cancelled, self.maybe_cancelled = {}, [], set(), set()
        self.answers = 0
        self.halt = False

    def body(self):
        if self.queue:
            return {"name": self.name, "tenant": "load", "queue": True, "expectedDuration": "PT1H",
                    "priority": self.random.choice(["low", "normal", "normal", "high"]),
                    "parallelism": {"tensor": 8, "data": self.random.choice([1, 2, 8, 16, 48])}}
        return {"name": self.name, "tenant": "load", "parallelism": {"tensor": self.random.choice([1, 2, 4, 8])}}

    def run(self):
        connection = self.service.connect()
        number = 0
        while not self.halt:
            number += 1
            self.answers += 1  # of the request before
            try:
                if self.acknowledged.keys() - self.cancelled and self.random.random() < 0.4:
                    job = self.random.choice(sorted(self.acknowledged.keys() - self.cancelled - self.maybe_cancelled) or [None])
                    if job is None:
                        continue
                    self.maybe_cancelled.add(job)
                    status, _, _ = self.service.request("DELETE", f"/v1/jobs/{job}", connection=connection)
                    if status == 200:
                        self.cancelled.add(job)
                    continue
                key, body = f"{self.name}-{number}-{self.random.random()}", self.body()
                self.unanswered.append((key, body))
                status, _, answer = self.service.request("POST", "/v1/jobs", body, {"Idempotency-Key": key}, connection)
                if status == 201 or (status == 202 and self.queue):
                    self.acknowledged[answer["id"]] = (key, body)
                    if self.strike.is_set():  # the worst moment for a service that answers before it has stored
                        self.service.process.kill()
                if status != 503:  # after which it is not known whether it was stored
                    self.unanswered.pop()
            except OSError:
                return
            except Exception as error:  # the connection broke in the middle of an answer
                if not self.halt and "HTTP" not in type(error).__module__ and "http" not in type(error).__module__:
                    raise
                return


@contextlib.contextmanager
def own_server():
    """That keeps what it has committed, also when it is killed."""
    server = Server.make(["shared_buffers = 64MB"])
    try:
        server.start()
        yield server
        server.stop("immediate")
    finally:
        server.remove()


def start(service):
    """Until it leads: the lease of one that was killed has to expire first."""
    service.start()
    until(lambda: f"it does not lead\n{service.log_text()}", lambda: service.request("GET", "/v1/leader")[2]["replica"]["leads"])


def all_jobs(service):
    jobs, cursor = {}, ""
    while True:
        status, _, page = service.request("GET", f"/v1/jobs?limit=1000{cursor}")
        assert status == 200, page
        jobs.update({job["id"]: job for job in page["items"]})
        if page["nextCursor"] is None:
            return jobs
        cursor = f"&cursor={page['nextCursor']}"


def settled_jobs(service):
    """All jobs, once the cycle of the queue that follows a restart is over."""
    states = {}

    def read():
        states["jobs"] = all_jobs(service)
        return {name: (job["state"], job["startedAt"]) for name, job in states["jobs"].items()}

    steady("the set of jobs without any command", read, times=2)
    return states["jobs"]


def check_no_double_allocation(service, jobs):
    taken = {}
    for job in jobs.values():
        if job["state"] != "placed":
            continue
        _, _, ranks = service.request("GET", f"/v1/jobs/{job['id']}/ranks?limit=100000")
        assert len(ranks["items"]) == job["gpus"], f"{job['id']} lacks ranks"
        for rank in ranks["items"]:
            place = (rank["node"], rank["gpu"])
            assert place not in taken, f"{place} belongs to {taken[place]} and {job['id']}"
            taken[place] = job["id"]
    _, _, fabric = service.request("GET", "/v1/fabric")
    assert fabric["freeGpus"] == NODES * GPUS - len(taken), "free GPUs do not add up"


def serve_all(service, seconds):
    """Ends running jobs until none is left: every job that was queued through the kills starts."""
    end = time.monotonic() + seconds
    while True:
        alive = [job for job in all_jobs(service).values() if job["state"] in ("placed", "queued")]
        if not alive:
            return
        assert time.monotonic() < end, f"{len(alive)} jobs never started"
        for job in alive:
            if job["state"] == "placed":
                status, _, answer = service.request("POST", f"/v1/jobs/{job['id']}/complete")
                assert status == 200 or answer["code"] == "jobs.notRunning", answer  # evicted a moment ago


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("railweaved")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--queue", action="store_true")
    parser.add_argument("--postgres", action="store_true")
    options = parser.parse_args()
    alive = ("placed", "queued") if options.queue else ("placed",)
    chance = random.Random(options.seed)
    acknowledged, cancelled, maybe = {}, set(), set()
    waited = 0
    with contextlib.ExitStack() as running:
        server = running.enter_context(own_server()) if options.postgres else None
        service = running.enter_context(Service(options.railweaved, store=server and server.url + "postgres"))
        start(service)
        status, _, answer = service.request("PUT", f"/v1/fabric/topology?format=ibsim&gpusPerNode={GPUS}",
                                            star_netlist(NODES), {"Content-Type": "text/plain"})
        assert status == 200, answer
        status, _, answer = service.request("PUT", "/v1/tenants/load", {"maxPriority": "high"})
        assert status == 200, answer
        if options.queue:  # allows evictions of jobs that have just started
            _, _, policy = service.request("GET", "/v1/queue/policy")
            status, _, answer = service.request("PUT", "/v1/queue/policy",
                                                {k: v for k, v in policy.items() if k != "version"} | {"minRuntime": "PT0S"})
            assert status == 200, answer
        for round_number in range(options.rounds):
            strike = threading.Event()
            clients = [Client(service, f"c{round_number}-{i}", chance.random(), strike, options.queue) for i in range(4)]
            for client in clients:
                client.start()
            def answers(clients=clients):
                return sum(client.answers for client in clients)

            enough = chance.randrange(8, 400)
            until("answers", lambda: answers() >= enough, 30, 0.001)
            if round_number % 2:
                strike.set()
                last = answers() + 100
                until("a client that strikes", lambda: service.process.poll() is not None or answers() > last, 30, 0.001)
            of_server = server and round_number % 2 == 0
            if of_server:
                server.stop("immediate")
            else:
                service.kill()
            for client in clients:
                client.halt = True
            if of_server:
                server.start()
            for client in clients:
                client.join()
                acknowledged.update(client.acknowledged)
                cancelled |= client.cancelled
                maybe |= client.maybe_cancelled
            if not of_server:
                start(service)
            elif options.postgres:
                until("writes again", lambda: service.request("PUT", "/v1/tenants/load", {"maxPriority": "high"})[0] == 200, 30)
            jobs = settled_jobs(service)
            forgotten = [job for job in acknowledged if job not in jobs]
            for job in forgotten:  # long ended jobs leave the service's memory, as documented, never its journal
                assert job in cancelled | maybe, f"round {round_number}: acknowledged {job} is lost"
            # Where there are more than 2,000 that ended, 64 go at once.
            ended = sum(job["state"] not in alive for job in jobs.values())
            assert not forgotten or ended > 2000 - 64, f"forgotten too early: {ended} that ended are left"
            for job in chance.sample(forgotten, k=min(10, len(forgotten))):
                _, _, events = service.request("GET", f"/v1/events?subject=job/{job}")
                seen = [event["type"] for event in events["items"]]
                assert (seen[0], seen[-1]) == ("job.queued" if options.queue else "job.placed", "job.ended"), f"{job} left no trace"
            for job in acknowledged:
                if job in forgotten:
                    continue
                if job in cancelled:
                    assert jobs[job]["state"] == "cancelled", f"acknowledged cancellation of {job} is lost"
                elif job not in maybe:
                    assert jobs[job]["state"] in alive, f"{job} is {jobs[job]['state']} though no client ended it"
            check_no_double_allocation(service, jobs)
            # What was not answered is repeated with its key: it exists once, whether it had been stored or not.
            for client in clients:
                for key, body in client.unanswered:
                    first = service.request("POST", "/v1/jobs", body, {"Idempotency-Key": key})
                    again = service.request("POST", "/v1/jobs", body, {"Idempotency-Key": key})
                    if first[0] in (200, 201, 202):
                        assert again[0] == 200 and again[2]["id"] == first[2]["id"], "a repeated request made two jobs"
                        acknowledged[first[2]["id"]] = (key, body)
            # Room for the next round.
            for job in chance.sample(sorted(acknowledged.keys() - cancelled - maybe),
                                     k=len(acknowledged.keys() - cancelled - maybe) * 2 // 3):
                assert service.request("DELETE", f"/v1/jobs/{job}")[0] == 200
                cancelled.add(job)
            if options.queue:
                waited += sum(job["state"] == "queued" for job in jobs.values())
        if options.queue:
            assert waited > options.rounds, "hardly any job was queued: the test showed nothing"
            serve_all(service, 60)
            evicted = len(service.request("GET", "/v1/events?type=job.evicted&limit=1000")[2]["items"])
            print(f"{waited} times a job waited through a kill, {evicted} evictions; all of them started in the end")
        code = service.stop()
        assert code == 0, f"exit code {code}"
        print(f"{options.rounds} kills, {len(acknowledged)} acknowledged jobs, {len(cancelled)} acknowledged "
              f"cancellations: none lost, none doubled")
    return 0


if __name__ == "__main__":
    sys.exit(main())
