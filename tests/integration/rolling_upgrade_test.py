#!/usr/bin/env python3
"""Two releases on one store, as UPGRADE.md says: an upgrade of three replicas on PostgreSQL under load, one after the other, the leader last,
and an SQLite store upgraded by one service; then the older release on what the newer wrote, which it either goes on with or refuses by
name and leaves as it was; and the backup of before, restored with the older one.

rolling_upgrade_test.py BIN_FOLDER [OLD]    OLD, else $RAILWEAVE_OLD: a folder with the programs of an older release, or a commit of this
                                            repository, which is built in build/old. Exit code 77: neither, or no PostgreSQL
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import replicas  # noqa: E402
from postgres_server import server_of  # noqa: E402
from service import Service, star_netlist  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
NEW = Path(sys.argv[1]).resolve()
# Of what an older release may answer otherwise, nothing is compared.
COMPARED = {"/v1/tenants": ("id", "description", "maxGpus"), "/v1/jobs": ("id", "name", "tenant", "state", "gpus", "nodes"),
            "/v1/tokens": ("id", "name", "role"), "/v1/webhooks": ("id", "url", "types"),
            "/v1/events": ("seq", "time", "type", "subject", "actor")}


def built(commit):
    """The programs of a commit, built from a clone of its own, once."""
    name = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short=12", f"{commit}^{{commit}}"], check=True, capture_output=True, text=True).stdout.strip()
    folder = ROOT / "build" / "old" / name
    if not (folder / "bin" / "railweaved").exists():
        source = folder / "source"
        if not source.exists():
            subprocess.run(["git", "clone", "-q", "--no-checkout", ROOT, source], check=True)
            subprocess.run(["git", "-C", source, "checkout", "-q", name], check=True)
        subprocess.run(["cmake", "-S", source, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DRAILWEAVE_TESTS=OFF"], check=True)
        subprocess.run(["cmake", "--build", folder, "--target", "railweaved", "railweave"], check=True)
    return folder / "bin"


def old_programs():
    named = sys.argv[2] if len(sys.argv) > 2 else os.environ.get("RAILWEAVE_OLD", "")
    if not named:
        print("no older release is named: RAILWEAVE_OLD=<folder of programs, or a commit>")
        sys.exit(77)
    return Path(named).resolve() if (Path(named) / "railweaved").exists() else built(named)


def do(service, method, path, body=None, **headers):
    status, _, answer = service.request(method, path, body, headers)
    assert status in (200, 201, 204), (method, path, status, answer)
    return answer


def a_story(service):
    do(service, "PUT", "/v1/fabric/topology?format=ibsim&gpusPerNode=4", star_netlist(8), **{"Content-Type": "text/plain"})
    do(service, "PUT", "/v1/tenants/research", {"description": "all of it", "maxGpus": 64})
    for number in range(12):
        do(service, "POST", "/v1/jobs", {"tenant": "research", "name": f"j{number}", "gpus": 4, "queue": True}, **{"Idempotency-Key": f"k{number}"})
    do(service, "POST", "/v1/jobs/job-000001/complete")
    do(service, "POST", "/v1/tokens", {"name": "alice", "role": "operator"})
    do(service, "PUT", "/v1/webhooks/w", {"url": "https://receiver.example/events", "types": ["job.ended"], "secret": "sixteen bytes at least"})


def answers(service):
    return {path: [{name: item.get(name) for name in names} for item in replicas.items(service, path, 0)] for path, names in COMPARED.items()}


def same(now, before):
    for path, items in before.items():
        known = {json.dumps(item) for item in now[path]}
        lost = [item for item in items if json.dumps(item) not in known]
        assert not lost, f"{path}: {len(lost)} are not as before, first {lost[0]}, of {now[path][:2]}"


def ended_with(program, store, folder):
    """What it says where it refuses the store; "": it starts."""
    done = subprocess.Popen([program / "railweaved", "--listen", "127.0.0.1:0", "--store", str(store), "--authentication", "none"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)
    if "listens at" in done.stdout.readline():
        done.terminate()
        done.communicate(timeout=60)
        return ""
    said = done.communicate(timeout=60)[1]
    assert done.returncode == 1, (done.returncode, said)
    return said


def is_said(text):
    """Why an older release does not go on: a newer schema, or an event or a form of one that it does not know."""
    return re.search(r"schema version \d+, this program knows up to \d+|unknown kind of event '|version \d+ of '.*' is not known|older than the one that wrote it", text)


def railweave(program, *words):
    done = subprocess.run([program / "railweave", "admin", *map(str, words)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (words, done.stdout, done.stderr)


def one_service(old, folder):
    store, backup = folder / "store.db", folder / "backup.db"
    with Service(old / "railweaved", folder, store=str(store)).start() as service:
        a_story(service)
        before = answers(service)
        railweave(old, "backup", store, backup)
        assert service.stop() == 0
    with Service(NEW / "railweaved", folder, store=str(store)).start() as service:
        same(answers(service), before)
        again = do(service, "POST", "/v1/jobs", {"tenant": "research", "name": "j3", "gpus": 4, "queue": True}, **{"Idempotency-Key": "k3"})
        assert again["name"] == "j3", again
        do(service, "PUT", "/v1/tenants/later", {"description": "by the newer release"})
        after = answers(service)
        assert service.stop() == 0
    railweave(NEW, "check", store)
    was = store.read_bytes()
    refused = ended_with(old, store, folder)
    if refused:
        assert is_said(refused), refused
        assert store.read_bytes() == was, "a refused store was changed"
    for program in [NEW] if refused else [old, NEW]:
        with Service(program / "railweaved", folder, store=str(store)).start() as service:
            same(answers(service), after)
            assert service.stop() == 0
    # The backup of before is the way back where there is no other.
    railweave(old, "restore", backup, "--to", folder / "restored.db")
    with Service(old / "railweaved", folder, store=str(folder / "restored.db")).start() as service:
        same(answers(service), before)
        do(service, "PUT", "/v1/tenants/goes-on", {})
        assert service.stop() == 0
    return f"one service: upgraded; the older release {'refuses what the newer wrote, by name' if refused else 'goes on with what the newer wrote'}"


def rolling(old, folder):
    with server_of() as server:
        url = server.url + "postgres"
        services = replicas.make(old / "railweaved", url)
        load = replicas.Load(services, "load")
        try:
            leader, _ = replicas.begin(services)
            load.start()
            replicas.eventually("the load runs", lambda: len(load.acknowledged) > 50, 60)
            names = {service: f"replica-{number}" for number, service in enumerate(services)}
            for service in [*(one for one in services if one is not leader), leader]:
                assert service.stop() == 0
                service.binary = str(NEW / "railweaved")
                before = len(load.acknowledged)
                service.start("--replica-name", names[service])
                replicas.leader_of(services, 60)
                replicas.eventually("the load goes on", lambda: len(load.acknowledged) > before + 30, 60)
                for one in services:
                    replicas.eventually("it is ready", lambda: one.request("GET", "/readyz")[0] == 200, 60)
            load.end()
            kept = replicas.check(services, [load])
            last = answers(replicas.leader_of(services))
            for service in services:
                assert service.stop() == 0
        except BaseException:
            for number, service in enumerate(services):
                print(f"--- replica-{number}\n{service.log_text()[-3000:]}")
            raise
        finally:
            load.halt.set()
            for service in services:
                service.__exit__()
        railweave(NEW, "check", url)
        refused = ended_with(old, url, folder)
        assert not refused or is_said(refused), refused
        with Service(NEW / "railweaved", folder, store=url).start() as service:
            same(answers(service), last)
            assert service.stop() == 0
    return (f"three replicas: {kept} acknowledged jobs, none lost, none twice, no GPU owned twice, {load.refused} refused meanwhile; the older "
            f"release {'refuses what the newer wrote, by name' if refused else 'goes on with what the newer wrote'}")


def main():
    old = old_programs()
    for story in (one_service, rolling):
        with tempfile.TemporaryDirectory(prefix="railweave-rolling-") as folder:
            print(story(old, Path(folder)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
