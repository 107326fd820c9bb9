#!/usr/bin/env python3
"""Many clients at the same time against three replicas on PostgreSQL, while the one that leads is killed again and again and
another takes over; every request and answer is recorded with its times, and the checker beside this file (Go, Porcupine) says
whether there is an order in which each could have had its effect at one moment between the two.

linearizability_test.py RAILWEAVED [--seconds 40] [--clients 10] [--seed 1] [--keep FILE]
exit code 77: PostgreSQL or Go is not installed
"""
import argparse
import http.client
import json
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent / "integration")]
import replicas  # noqa: E402
from kill_nine_test import own_server  # noqa: E402
from service import quote, star_netlist  # noqa: E402

EPOCH_S = 1.5  # after which clients go on to other tenants, jobs and links, so that the checker's work stays bounded


class History:
    """Lines of JSON; times of one clock."""

    def __init__(self, path):
        self.path, self.lock, self.file = path, threading.Lock(), open(path, "w", encoding="utf-8")
        self.operations = self.unknown = 0
        self.answered_at = []  # (time, client) of answers, for the pauses of failovers

    def add(self, **operation):
        with self.lock:
            self.operations += 1
            self.unknown += operation["status"] == 0
            self.file.write(json.dumps(operation) + "\n")

    def close(self):
        self.file.close()


class Cluster:
    """Replicas on one database. A thread looks for the one that leads, and starts again those that were killed."""

    def __init__(self, binary, url, members, folder):
        for number in range(members):
            (folder / str(number)).mkdir()
        self.services = replicas.make(binary, url, members, folder)
        self.leader, self.links, self.halt = None, [], False
        self.thread = threading.Thread(target=self.watch)

    def start(self):
        self.leader, _ = replicas.begin(self.services)
        status, _, answer = self.leader.request("PUT", "/v1/fabric/topology?format=ibsim&gpusPerNode=8", star_netlist(250), {"Content-Type": "text/plain"})
        assert status == 200, answer
        self.links = [item["id"] for item in self.leader.request("GET", "/v1/links?limit=300&kind=infiniband")[2]["items"]]
        self.thread.start()

    def watch(self):
        while not self.halt:
            for number, service in enumerate(self.services):
                if service.process is not None and service.process.poll() is not None:
                    if self.leader is service:
                        self.leader = None
                    service.kill()
                    service.start("--replica-name", f"replica-{number}")
            leading = [service for service in self.services if (replicas.own_view(service) or {"replica": {"leads": False}})["replica"]["leads"]]
            if leading:
                self.leader = leading[0]
            time.sleep(0.05)

    def wait_for_leader(self, seconds):
        end = time.monotonic() + seconds
        while self.leader is None:
            assert time.monotonic() < end, f"no replica leads within {seconds} s"
            time.sleep(0.02)

    def kill(self):
        leader, self.leader = self.leader, None
        if leader is not None and leader.process is not None:
            leader.process.kill()

    def stop(self):
        self.halt = True
        if self.thread.is_alive():
            self.thread.join()
        for service in self.services:
            service.__exit__()


class Client(threading.Thread):
    def __init__(self, number, cluster, history, seed, began):
        super().__init__()
        self.number, self.cluster, self.history, self.random = number, cluster, history, random.Random(seed * 1000 + number)
        self.began, self.halt = began, False
        self.connections = {}  # by port
        self.failure = None
        self.tags = {}

    def request(self, method, path, body=None, headers=None):
        """(status, headers, answer, when); status 0: there was no answer, or none from which anything follows. Changes go to any
        replica, which forwards them; reads to the one that leads: those of the others may be late, and say so."""
        service = self.cluster.leader if method == "GET" else self.random.choice(self.cluster.services)
        if service is None or service.process is None:
            time.sleep(0.02)
            return None
        port = service.port
        connection = self.connections.setdefault(port, http.client.HTTPConnection("127.0.0.1", port, timeout=20))
        try:
            data = None if body is None else json.dumps(body)
            sent = dict(headers or {}, **({"Content-Type": "application/json"} if data is not None else {}))
            connection.request(method, path, data, sent)
            answer = connection.getresponse()
            text = answer.read()
            ended = time.monotonic_ns()
        except ConnectionRefusedError:  # it has just been killed: the request went nowhere
            time.sleep(0.05)
            return None
        except (OSError, http.client.HTTPException):
            connection.close()
            self.connections.pop(port, None)
            time.sleep(0.1)
            return 0, {}, None, time.monotonic_ns()
        status = 0 if answer.status == 429 or answer.status >= 500 else answer.status
        if status == 0:
            time.sleep(0.1)
        return status, {name.lower(): value for name, value in answer.getheaders()}, json.loads(text) if status and text else None, ended

    def run(self):
        try:
            while not self.halt:
                epoch = int((time.monotonic() - self.began) / EPOCH_S)
                self.random.choice([self.tenant, self.tenant, self.job, self.job, self.drain])(epoch)
        except Exception as error:  # noqa: BLE001: told by main()
            self.failure = error

    def record(self, object_, op, asked, method, path, body=None, headers=None, read=None):
        call = time.monotonic_ns()
        outcome = self.request(method, path, body, headers)
        if outcome is None:
            return 0, None
        status, headers, answer, ended = outcome
        told = read(status, headers, answer) if status and read else {}
        self.history.add(object=object_, client=self.number, op=op, call=call, **{"return": ended}, status=status, **{**asked, **told})
        if status:
            self.history.answered_at.append(ended)
        else:
            # Each request without an answer may have been done at any later time: many of them make the search for an order long.
            time.sleep(0.3)
        return status, answer

    def tenant(self, epoch):
        name = f"t{epoch}-{self.random.randrange(2)}"
        object_, path = f"tenant/{name}", f"/v1/tenants/{name}"
        act = self.random.random()
        if_match = self.tags.get(name) if self.random.random() < 0.4 else None
        headers, asked = ({"If-Match": if_match}, {"ifMatch": if_match}) if if_match else ({}, {})

        def tag(status, headers, answer):
            if status != 200:
                return {}
            self.tags[name] = headers["etag"]
            return {"etag": headers["etag"], "text": answer["description"]}

        if act < 0.45:
            text = f"{self.number}-{self.random.randrange(3)}"
            self.record(object_, "put", {"text": text, **asked}, "PUT", path, {"description": text}, headers, tag)
        elif act < 0.55:
            self.record(object_, "delete", asked, "DELETE", path, None, headers)
        else:
            self.record(object_, "get", {}, "GET", path, None, None, tag)

    def job(self, epoch):
        """One of few keys, by many clients at once; then it is read and cancelled."""
        key = f"k{epoch}-{self.random.randrange(3)}"
        object_ = f"job/{key}"
        status, answer = self.record(object_, "submit", {}, "POST", "/v1/jobs", {"tenant": "load", "name": key, "gpus": 1},
                                     {"Idempotency-Key": key}, lambda status, headers, answer: {"id": answer.get("id", "")})
        if status not in (200, 201):
            assert status == 0, (status, answer)
            return
        id_ = answer["id"]
        for _ in range(self.random.randrange(3)):
            if self.random.random() < 0.15:
                self.record(object_, "cancel", {"id": id_}, "DELETE", f"/v1/jobs/{id_}")
            else:
                self.record(object_, "get", {"id": id_}, "GET", f"/v1/jobs/{id_}", read=lambda status, headers, answer: {"state": answer.get("state", "")})

    def drain(self, epoch):
        links = self.cluster.links[epoch * 3 % len(self.cluster.links):][:3]
        link, object_ = self.random.choice(links), f"drains/{epoch}"
        act = self.random.random()
        if act < 0.3:
            self.record(object_, "drain", {"id": link}, "POST", f"/v1/links/{quote(link)}/drain", {"force": True})
        elif act < 0.5:
            self.record(object_, "undrain", {"id": link}, "POST", f"/v1/links/{quote(link)}/undrain", {})
        else:
            self.record(object_, "list", {}, "GET", "/v1/drains?limit=1000",
                        read=lambda status, headers, answer: {"links": sorted(item["id"] for item in answer["items"] if item["id"] in links)})


def longest_pause(history):
    times = sorted(history.answered_at)
    return max(after - before for before, after in zip(times, times[1:])) / 1e9


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("railweaved")
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="where the history is written, and kept")
    options = parser.parse_args()
    if not shutil.which("go"):
        print("Go is not installed: the checker of histories cannot be built")
        return 77
    chance = random.Random(options.seed)
    with own_server() as server, tempfile.TemporaryDirectory(prefix="railweave-linearizability-") as temporary:
        folder = Path(temporary)
        checker = folder / "checker"
        subprocess.run(["go", "build", "-o", str(checker), "."], cwd=HERE / "checker", check=True)
        history = History(options.keep or folder / "history.jsonl")
        cluster = Cluster(options.railweaved, server.url + "postgres", options.members, folder)
        clients, kills = [], 0
        try:
            cluster.start()
            assert len(cluster.links) >= 150, cluster.links[:3]
            began = time.monotonic()
            clients = [Client(number, cluster, history, options.seed, began) for number in range(options.clients)]
            for client in clients:
                client.start()
            while time.monotonic() - began < options.seconds:
                pause = chance.uniform(2, 4)
                time.sleep(min(pause, max(0, options.seconds - (time.monotonic() - began))))
                if time.monotonic() - began < options.seconds - 8:
                    cluster.kill()
                    kills += 1
                    time.sleep(0.1)
                    cluster.wait_for_leader(30)
        finally:
            for client in clients:
                client.halt = True
            for client in clients:
                client.join()
            cluster.stop()
            history.close()
        failures = [client.failure for client in clients if client.failure]
        if failures:
            raise failures[0]
        print(f"{history.operations} operations of {options.clients} clients in {options.seconds:.0f} s, {history.unknown} without an answer, "
              f"{kills} leaders killed, longest pause {longest_pause(history):.1f} s")
        assert history.operations > 50 * options.seconds and kills >= 2, "too little was tried"
        return subprocess.run([str(checker), str(history.path), *([options.keep + ".html"] if options.keep else [])], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
