#!/usr/bin/env python3
"""A certificate of a whole cluster: by default 12,800 hosts of 8 GPUs on 8 rails and 500 jobs with guarantees on a real railweaved.
Prints how long it takes to make and to verify, the memory of both, and how long other clients wait for small answers meanwhile.
make bench-certificate

certificate.py BIN_FOLDER [HOSTS [JOBS]]
"""
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from service import Service  # noqa: E402

TENANTS = {"red": "all-reduce", "green": "all-to-all", "blue": "storage"}
WAIT_S = 900  # for any one answer
PAUSE_S = 0.02  # of each other client between two requests


def process_mb(pid, what):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith(what))


def cpu_s(pid):
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def timed(what):
    started = time.monotonic()
    value = what()
    return value, time.monotonic() - started


class Clients:
    """Other clients, each with a connection of its own, that ask again and again."""

    def __init__(self, service, job):
        self.service, self.done, self.failed = service, threading.Event(), []
        self.asks = [("GET a job", "GET", f"/v1/jobs/{job}", None, 200),
                     ("GET 5 guarantees", "GET", "/v1/guarantees?limit=5", None, 200),
                     ("POST a tiny job", "POST", "/v1/jobs", {"tenant": "other", "name": "tiny", "parallelism": {"data": 1}}, 201)]

    def run(self, waits, name, method, path, body, wanted):
        connection = self.service.connect(WAIT_S)
        while not waits or not self.done.wait(PAUSE_S):  # at least once
            (status, _, answer), took_s = timed(lambda: self.service.request(method, path, body, connection=connection))
            if status != wanted:
                self.failed.append((name, status, answer))
                return
            waits.append(took_s)

    @contextmanager
    def meanwhile(self, what):
        waits = [[] for _ in self.asks]
        self.done.clear()
        threads = [threading.Thread(target=self.run, args=(mine, *ask)) for mine, ask in zip(waits, self.asks)]
        for one in threads:
            one.start()
        try:
            yield
        finally:
            self.done.set()
            for one in threads:
                one.join()
        assert not self.failed, self.failed
        for mine, (name, *_) in zip(waits, self.asks):
            mine.sort()
            print(f"  other clients, {what}: {name}: {len(mine)} times, p50 {1000 * mine[len(mine) // 2]:.1f} ms, "
                  f"p99 {1000 * mine[int(0.99 * (len(mine) - 1))]:.1f} ms, slowest {1000 * mine[-1]:.0f} ms")


class Cluster:
    def __init__(self, binaries, folder, service):
        self.binaries, self.folder, self.service = binaries, folder, service

    def run(self, *words):
        done = subprocess.run([str(self.binaries / words[0]), *map(str, words[1:])], capture_output=True, text=True)
        assert done.returncode == 0, (words, done.stdout[-500:], done.stderr[-2000:])
        return done.stdout

    def ask(self, *words):
        return self.run("railweave", "--server", f"http://127.0.0.1:{self.service.port}", "--timeout", WAIT_S, *words)

    def fill(self, hosts):
        fabric = self.folder / "fabric.json"
        shape = ["gpus-100k"] if hosts == 12_800 else ["rail-optimized", "--hosts", hosts, "--tiers", 3 if hosts > 256 else 2]
        self.run("railweave", "lab", "generate", *shape, "-O", fabric)
        self.service.start()
        _, importing_s = timed(lambda: self.ask("fabric", "import", fabric))
        for tenant, qos_class in TENANTS.items():
            self.ask("tenants", "put", tenant)
            self.ask("contracts", "set", tenant, "--guaranteed", 2, "--class", qos_class)
        self.ask("tenants", "put", "other")
        print(f"{hosts * 8} GPUs imported in {importing_s:.1f} s")

    def submit(self, tenant, name, gpus):
        job = {"tenant": tenant, "name": name, "parallelism": {"tensor": 8, "data": gpus // 8}}
        status, _, answer = self.service.request("POST", "/v1/jobs", job, connection=self.service.connect(WAIT_S))
        assert status == 201, (name, status, answer)
        return answer["id"]

    def tables(self, path):
        """As they are served: piece by piece into a file."""
        connection = self.service.connect(WAIT_S)
        connection.request("GET", "/v1/routes/fdbs")
        answer = connection.getresponse()
        assert answer.status == 200, answer.status
        with path.open("wb") as out:
            while piece := answer.read(1 << 20):
                out.write(piece)

    def verify(self):
        names = ("fabric.json", "tables.fdbs", "certificate.json")
        words = [str(self.binaries / "railweave-verify"), *(str(self.folder / one) for one in names),
                 "--journal", str(self.folder / "journal.jsonl")]
        with open(self.folder / "verdict.txt", "w", encoding="utf-8") as out:
            process = subprocess.Popen(words, stdout=out, stderr=out)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        verdict = (self.folder / "verdict.txt").read_text(encoding="utf-8")
        assert process.returncode == 0, verdict[-2000:]
        return verdict, used.ru_maxrss // 1024, used.ru_utime + used.ru_stime


def main():
    binaries = Path(sys.argv[1]).resolve()
    hosts, jobs = int(sys.argv[2]) if len(sys.argv) > 2 else 12_800, int(sys.argv[3]) if len(sys.argv) > 3 else 500
    with tempfile.TemporaryDirectory(prefix="railweave-bench-") as name, Service(binaries / "railweaved") as service:
        folder = Path(name)
        cluster = Cluster(binaries, folder, service)
        cluster.fill(hosts)
        gpus = hosts * 8 * 18 // 20 // jobs // 8 * 8
        clients = Clients(service, cluster.submit("other", "first", 8))
        starts_s = []
        with clients.meanwhile(f"while {jobs} jobs of {gpus} GPUs start"):
            for number in range(jobs):
                starts_s.append(timed(lambda n=number: cluster.submit(list(TENANTS)[n % 3], f"j{n}", gpus))[1])
        starts_s.sort()
        print(f"{jobs} starts with guarantees: {sum(starts_s):.1f} s, p50 {1000 * starts_s[jobs // 2]:.0f} ms, "
              f"p99 {1000 * starts_s[int(0.99 * (jobs - 1))]:.0f} ms")
        pid = service.process.pid
        Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="utf-8")  # the peak from here on
        before = process_mb(pid, "VmRSS")
        path = folder / "certificate.json"
        idle_s = cpu_s(pid)
        with clients.meanwhile("while the certificate is made"):
            _, first_s = timed(lambda: cluster.ask("guarantees", "certificate", "-O", path))
        first_cpu_s = cpu_s(pid) - idle_s
        peak = process_mb(pid, "VmHWM")
        cluster.submit("other", "so that it is made again", 8)
        used_s = cpu_s(pid)
        _, again_s = timed(lambda: cluster.ask("guarantees", "certificate", "-O", path))
        used_s = cpu_s(pid) - used_s
        cluster.ask("fabric", "export", "-O", folder / "fabric.json")
        cluster.tables(folder / "tables.fdbs")
        cluster.run("railweave", "admin", "export", service.folder / "store.db", "-O", folder / "journal.jsonl")
        certificate = json.loads(path.read_text(encoding="utf-8"))
        assert len(certificate["jobs"]) == jobs, len(certificate["jobs"])
        (verdict, verify_mb, verify_cpu_s), verifying_s = timed(cluster.verify)
        sizes = ", ".join(f"{one} {(folder / one).stat().st_size / 1e6:.1f} MB"
                          for one in ("certificate.json", "tables.fdbs", "journal.jsonl", "fabric.json"))
        print(f"certificate of {jobs} jobs and {len(certificate['links'])} links: made in {first_s:.2f} s, after one more job in "
              f"{again_s:.2f} s ({first_cpu_s:.1f} s with the other clients and {used_s:.1f} s of the service's CPU); the service had {before} MB before and at most {peak} MB meanwhile; {sizes}")
        print(f"verified in {verifying_s:.1f} s ({verify_cpu_s:.1f} s of CPU) with at most {verify_mb} MB: {verdict.strip().splitlines()[-1]}")


if __name__ == "__main__":
    main()
