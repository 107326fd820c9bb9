#!/usr/bin/env python3
"""Stores of earlier releases: this release starts on what they wrote, brings the schema up to date, answers what they answered and
goes on; and what a later release wrote is refused by name, unchanged. stores/ has one store of each schema as SQL text, with the
answers that the release gave which wrote it.

upgrade_test.py BIN_FOLDER            exit code 77: PostgreSQL is not installed
upgrade_test.py BIN_FOLDER --write    adds the store of this release's schema to stores/, of either kind
"""
import hashlib
import json
import re
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from journal_rows import checksum  # noqa: E402
from postgres_server import server_of  # noqa: E402
from service import Service, star_netlist  # noqa: E402

BIN = Path(sys.argv[1]).resolve()
ROOT = Path(__file__).resolve().parents[2]
STORES = Path(__file__).resolve().parent / "stores"
# What is compared of each list, what tells items apart first: what a release may not change in a store of another.
READS = {
    "/v1/jobs?limit=1000": ["id", "tenant", "name", "state", "gpus", "nodes"],
    "/v1/tenants": ["id", "description", "weight", "version"],
    "/v1/events?limit=1000": ["seq", "time", "type", "subject", "actor", "summary", "severity", "data"],
    "/v1/audit?limit=1000": ["seq", "time", "actor", "kind", "subject", "summary", "requestId", "tenant", "token"],
    "/v1/tokens": ["id", "name", "role"],
    "/v1/drains": ["id", "kind", "state", "reason", "actor", "forced", "requestedAt"],
    "/v1/contracts": ["tenant"],
    "/v1/webhooks": ["id", "url", "types", "setBy", "setAt"],
}


def do(service, method, path, body=None, expect=(200, 201, 204), **headers):
    status, _, answer = service.request(method, path, body, headers)
    assert status in expect, (method, path, status, answer)
    return answer


def a_story(service):
    """Something of everything that is stored: documents, jobs that run, wait and ended, drains, tokens, webhooks, snapshots."""
    do(service, "PUT", "/v1/fabric/topology?format=ibsim&gpusPerNode=4", star_netlist(8), **{"Content-Type": "text/plain"})
    for name in ("research", "vision"):
        do(service, "PUT", f"/v1/tenants/{name}", {"description": name + " \u00fc\u4e2d"})
    jobs = [do(service, "POST", "/v1/jobs", {"tenant": "research", "name": f"j{number}", "gpus": 4, "queue": True},
               **{"Idempotency-Key": f"k{number}"})["id"] for number in range(12)]
    for job in jobs[:3]:
        do(service, "POST", f"/v1/jobs/{job}/complete")
    do(service, "POST", "/v1/nodes/node-8/drain", {"reason": "upgrade", "force": True})
    do(service, "POST", "/v1/tokens", {"name": "alice", "role": "operator"})
    do(service, "PUT", "/v1/webhooks/w", {"url": "https://receiver.example/events", "types": ["job.ended"], "secret": "sixteen bytes at least"})


def answers(service):
    found = {}
    for path, fields in READS.items():
        items = do(service, "GET", path)["items"]
        found[path] = [{name: item[name] for name in fields if name in item} for item in items]
    return found


def same(found, before):
    for path, items in before.items():
        key = READS[path][0]
        now_by_key = {json.dumps(item[key]): item for item in found[path]}
        for was in items:
            now = now_by_key[json.dumps(was[key])]
            for name, value in was.items():
                assert now.get(name) == value, f"{path}: {name} was {value!r}, is {now.get(name)!r}"


def started(store, folder, *arguments, binaries=BIN):
    service = Service(binaries / "railweaved", folder, store=str(store))
    return service.start(*arguments)


def often(folder):
    config = Path(folder) / "config.toml"
    config.write_text("snapshot_every = 20\n")
    return "--config", str(config)


def refuses(store, folder, *says):
    """It ends by itself, and its log says why."""
    done = subprocess.run([BIN / "railweaved", "--listen", "127.0.0.1:0", "--store", str(store), "--authentication", "none"],
                          capture_output=True, text=True, timeout=60, cwd=folder)
    assert done.returncode == 1, (done.returncode, done.stderr)
    for text in says:
        assert re.search(text, done.stderr), (text, done.stderr)


def admin(*words):
    done = subprocess.run([BIN / "railweave", "admin", *map(str, words)], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def good(*words):
    code, text = admin(*words)
    assert code == 0, (words, code, text)
    return text


def psql(server, database, sql):
    return subprocess.run([server.bin / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", server.url + database], input=sql, capture_output=True,
                          text=True, check=True).stdout.strip()


def created(server, name):
    psql(server, "postgres", f'CREATE DATABASE "{name}" TEMPLATE template0')
    return server.url + name


def from_text(text, path):
    connection = sqlite3.connect(path)
    connection.executescript(text)
    connection.close()
    return path


def sqlite_text(path):
    connection = sqlite3.connect(path)
    head = "".join(f"PRAGMA {name} = {connection.execute(f'PRAGMA {name}').fetchone()[0]};\n" for name in ("application_id", "user_version"))
    return head + "\n".join(connection.iterdump()) + "\n"


def lines_of(found):
    """JSON with a line per item, so that a difference is read."""
    lists = [json.dumps(path) + ": [\n" + ",\n".join(json.dumps(item, ensure_ascii=False) for item in items) + "\n]" for path, items in found.items()]
    return "{\n" + ",\n".join(lists) + "\n}\n"


def write(server, folder):
    with started(folder / "new.db", folder, *often(folder)) as service:
        a_story(service)
        before = answers(service)
        assert service.stop() == 0
    text = sqlite_text(folder / "new.db")
    schema = re.search(r"user_version = (\d+)", text)[1]
    (STORES / f"sqlite_{schema}.sql").write_text(text)
    (STORES / f"sqlite_{schema}.json").write_text(lines_of(before))
    url = created(server, "new")
    with started(url, folder, *often(folder)) as service:
        a_story(service)
        before = answers(service)
        assert service.stop() == 0
    dump = subprocess.run([server.bin / "pg_dump", "--inserts", "--no-owner", "--no-privileges", url], capture_output=True, text=True, check=True)
    schema = psql(server, "new", "SELECT max(version) FROM migrations")
    statements = [line for line in dump.stdout.splitlines() if line and not line.startswith(("--", "\\"))]
    (STORES / f"postgres_{schema}.sql").write_text("\n".join(statements) + "\n")
    (STORES / f"postgres_{schema}.json").write_text(lines_of(before))


def goes_on(store, folder, before):
    """Twice: the second start finds the schema of this release."""
    for _ in range(2):
        with started(store, folder) as service:
            same(answers(service), before)
            job = do(service, "POST", "/v1/jobs", {"tenant": "research", "name": "j3", "gpus": 4, "queue": True}, **{"Idempotency-Key": "k3"})
            assert job["name"] == "j3", job
            do(service, "PUT", "/v1/tenants/later", {})
            assert service.stop() == 0


def earlier(server, folder):
    for text in sorted(STORES.glob("*.sql")):
        before = json.loads(text.with_suffix(".json").read_text())
        if text.stem.startswith("sqlite"):
            store = from_text(text.read_text(), folder / f"{text.stem}.db")
        else:
            store = created(server, text.stem)
            psql(server, text.stem, text.read_text())
        goes_on(store, folder, before)
        good("check", store)
        print(f"{text.name}: answered as before, goes on")


def first_schemas(folder):
    """A store whose schema is of the first two migrations, before retention and the audit trail: what was in those tables is filled in
    again from the journal."""
    for newest in (1, 2):
        path = folder / f"schema-{newest}.db"
        old = sqlite3.connect(path)
        for number in range(1, newest + 1):
            file = next((ROOT / "db/migrations/sqlite").glob(f"V{number:03d}__*.sql"))
            old.executescript(file.read_text())
            old.execute("INSERT INTO migrations VALUES (?, ?, ?, 0)",
                        (number, file.stem.split("__")[1], hashlib.sha256(file.read_bytes()).hexdigest()))
        old.execute("PRAGMA application_id = 0x524C5756")
        old.execute(f"PRAGMA user_version = {newest}")
        source = from_text((STORES / "sqlite_4.sql").read_text(), folder / f"source-{newest}.db")
        old.commit()
        old.execute("ATTACH ? AS source", (str(source),))
        for table in ("journal", "snapshots", "blobs"):
            old.execute(f"INSERT INTO {table} SELECT * FROM source.{table}")
        old.commit()
        old.close()
        before = json.loads((STORES / "sqlite_4.json").read_text())
        code, text = admin("check", path)
        assert code != 0 and "older" in text and "start the service once" in text, text
        with started(path, folder) as service:
            found = answers(service)
            found["/v1/audit?limit=1000"] = before["/v1/audit?limit=1000"]  # that table is empty until it is made again
            same(found, before)
            assert service.stop() == 0
        code, text = admin("check", path)
        assert code != 0 and "missing" in text and "rebuild-reports" in text, text
        good("rebuild-reports", path)
        good("check", path)
        with started(path, folder) as service:
            entries = do(service, "GET", "/v1/audit?limit=1000")["items"]
            for was, now in zip(before["/v1/audit?limit=1000"], entries):
                assert was["summary"] == now["summary"] and was["actor"] == now["actor"], (was, now)
            assert service.stop() == 0
        print(f"schema {newest}: brought up to date, its reporting tables made again")


def later(server, folder):
    text = (STORES / "sqlite_4.sql").read_text()
    newest = len(list((ROOT / "db/migrations/sqlite").glob("V*.sql")))
    newer = from_text(text, folder / "newer.db")
    with started(newer, folder) as service:
        assert service.stop() == 0
    connection = sqlite3.connect(newer)
    connection.execute("INSERT INTO migrations VALUES (?, 'what comes next', 'x', 0)", (newest + 1,))
    connection.execute(f"PRAGMA user_version = {newest + 1}")
    connection.commit()
    connection.close()
    was = newer.read_bytes()
    refuses(newer, folder, f"schema version {newest + 1}, this program knows up to {newest}", "start the release that wrote it, or a later one")
    assert newer.read_bytes() == was, "a refused store was changed"
    code, said = admin("check", newer)
    assert code != 0 and f"schema version {newest + 1}" in said, said

    name = max(STORES.glob("postgres_*.sql")).stem
    url = created(server, "newer")
    psql(server, "newer", (STORES / f"{name}.sql").read_text())
    with started(url, folder) as service:
        assert service.stop() == 0
    newest = len(list((ROOT / "db/migrations/postgres").glob("V*.sql")))
    psql(server, "newer", f"INSERT INTO migrations (version, name, sha256) VALUES ({newest + 1}, 'what comes next', 'x')")
    refuses(url, folder, f"schema version {newest + 1}, this program knows up to {newest}", "start the release that wrote it, or a later one")
    print("a newer schema is refused by name, in both kinds")

    # An event of a later release: of a kind, or a version of its form, that this one does not know.
    for what, _change, says in (("kind", "kind = 'fabric.teleported'", "unknown kind of event 'fabric.teleported'"),
                               ("version", "version = 7", "version 7 of '.*' is not known")):
        url = created(server, f"later_{what}")
        psql(server, f"later_{what}", (STORES / f"{name}.sql").read_text())
        planted = plant(psql(server, f"later_{what}", "SELECT row_to_json(j) FROM journal j ORDER BY seq DESC LIMIT 1"), what)
        psql(server, f"later_{what}", planted)
        refuses(url, folder, says, "older than the one that wrote it")
    print("an event of a later release is refused by name")


def plant(newest, what):
    """The journal's last record once more, as a later release could have written it: with a right checksum."""
    row = json.loads(newest)
    row["seq"] += 1
    row["kind"] = "fabric.teleported" if what == "kind" else row["kind"]
    row["version"] = 7 if what == "version" else row["version"]
    row["crc32"] = checksum(row)
    quoted = {name: "NULL" if value is None else str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"
              for name, value in row.items()}
    return f"INSERT INTO journal ({', '.join(quoted)}) VALUES ({', '.join(quoted.values())})"


def main():
    with server_of() as server, tempfile.TemporaryDirectory(prefix="railweave-upgrade-") as temporary:
        folder = Path(temporary)
        if "--write" in sys.argv:
            write(server, folder)
            return 0
        earlier(server, folder)
        first_schemas(folder)
        later(server, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
