"""Several railweaved on one PostgreSQL store, a load on all of them, and what must hold whatever happens to them."""
import http.client
import json
import threading
import time
from pathlib import Path

from service import Service, star_netlist

LEASE_S = 3
GPUS = 8


class Load(threading.Thread):
    """Submits jobs of one GPU to each replica in turn, each until it is acknowledged, with a key that makes that safe."""

    def __init__(self, replicas, prefix):
        super().__init__(daemon=True)
        self.replicas, self.prefix = replicas, prefix
        self.acknowledged = {}  # id -> name
        self.times = []         # of requests that were acknowledged: (when sent, when acknowledged)
        self.refused = 0
        self.wrong = []
        self.halt = threading.Event()

    def run(self):
        number = turn = 0
        while not self.halt.is_set():
            number += 1
            name = f"{self.prefix}-{number}"
            while not self.halt.is_set():
                turn += 1
                service = self.replicas[turn % len(self.replicas)]
                sent = time.monotonic()
                status, answer = self.submit(service, name)
                if status in (200, 201):
                    self.acknowledged[answer["id"]] = name
                    self.times.append((sent, time.monotonic()))
                    break
                if status not in (0, 429, 503):
                    self.wrong.append((service.port, status, answer))
                    return
                self.refused += 1
                time.sleep(0.02)

    @staticmethod
    def submit(service, name):
        if service.process is None:
            return 0, {}
        try:
            status, _, answer = service.request("POST", "/v1/jobs", {"name": name, "tenant": "load", "gpus": 1},
                                                {"Idempotency-Key": name}, service.connect(timeout=3))
            return status, answer
        except (OSError, http.client.HTTPException, json.JSONDecodeError):
            return 0, {}

    def gap_after(self, moment, seconds):
        """Until the first acknowledgement of a request that was sent after the moment, which must come in time. One that was
        sent before may have been acknowledged before as well, and be read only now."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            after = [acknowledged for sent, acknowledged in self.times if sent > moment]
            if after:
                return after[0] - moment
            assert not self.wrong, self.wrong
            time.sleep(0.02)
        raise AssertionError(f"nothing was acknowledged in {seconds} s")

    def end(self):
        self.halt.set()
        self.join(60)
        assert not self.is_alive(), "the load does not end"
        assert not self.wrong, self.wrong


def eventually(what, holds, seconds=30):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not in {seconds} s: {what}"
        time.sleep(0.02)


def own_view(service):
    """What the replica says of itself, or None."""
    if service.process is None:
        return None
    try:
        status, _, answer = service.request("GET", "/v1/leader", connection=service.connect(timeout=5))
        return answer if status == 200 else None
    except (OSError, http.client.HTTPException):
        return None


def leader_of(replicas, seconds=30):
    """The one that leads, once one does and every other one follows it."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for service in replicas:
            service.supervise()
        views = [(service, own_view(service)) for service in replicas if service.process is not None]
        leaders = [service for service, view in views if view and view["replica"]["leads"]]
        assert len(leaders) <= 1, "two lead"
        names = {view["leader"]["name"] for _, view in views if view and "leader" in view}
        if leaders and len(names) == 1 and all(view for _, view in views):
            return leaders[0]
        time.sleep(0.05)
    raise AssertionError(f"none leads: {[view for _, view in views]}")


def begin(replicas, *arguments):
    for number, service in enumerate(replicas):
        service.start("--replica-name", f"replica-{number}", *arguments)
    leader = leader_of(replicas)
    follower = next(service for service in replicas if service is not leader)
    status, headers, answer = follower.request("PUT", "/v1/fabric/topology?format=ibsim&gpusPerNode=8", star_netlist(2000),
                                               {"Content-Type": "text/plain"})
    assert status == 200, answer
    status, headers, answer = follower.request("PUT", "/v1/tenants/load", {})
    assert status == 200, answer
    return leader, int(headers["Railweave-Seq"])


def items(service, path, seq):
    found, cursor = [], ""
    while True:
        status, _, page = service.request("GET", f"{path}{'&' if '?' in path else '?'}limit=1000&minSeq={seq}{cursor}")
        assert status == 200, page
        found += page["items"]
        if page["nextCursor"] is None:
            return found
        cursor = f"&cursor={page['nextCursor']}"


def check(replicas, loads):
    """Of every replica that runs: nothing acknowledged is lost, nothing is there twice, no GPU is owned twice; and the
    journal, read by its events, says the same."""
    leader = leader_of(replicas)
    seq = own_view(leader)["replica"]["seq"]
    acknowledged = {job: name for load in loads for job, name in load.acknowledged.items()}
    assert acknowledged
    for service in replicas:
        if service.process is None:
            continue
        jobs = {job["id"]: job for job in items(service, "/v1/jobs", seq)}
        lost = [job for job, name in acknowledged.items() if job not in jobs or jobs[job]["name"] != name]
        assert not lost, f"acknowledged and lost: {lost[:5]} of {len(lost)}"
        names = [job["name"] for job in jobs.values()]
        assert len(names) == len(set(names)), "a job is there twice"
    places, placed = set(), {}
    events = items(leader, "/v1/events?type=job.placed", seq)
    for event in events:
        assert event["subject"]["id"] not in placed, "placed twice"
        placed[event["subject"]["id"]] = event
    assert set(acknowledged) <= set(placed), "acknowledged, and not in the journal"
    for job in jobs:
        status, _, ranks = leader.request("GET", f"/v1/jobs/{job}/ranks")
        assert status == 200, ranks
        for rank in ranks["items"]:
            assert (rank["node"], rank["gpu"]) not in places, "a GPU is owned twice"
            places.add((rank["node"], rank["gpu"]))
    return len(acknowledged)


def make(binary, url, count=3, folder=None):
    return [Service(binary, store=url, folder=folder and Path(folder) / str(number)) for number in range(count)]
