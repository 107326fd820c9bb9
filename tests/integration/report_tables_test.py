#!/usr/bin/env python3
"""The reporting tables of real stores of both kinds, changed, added to and emptied by hand: `admin check` names what differs from the
journal, the audit trail is read from the journal all the same, `admin rebuild-reports` makes the tables again, beside no service, and
REST is right again. Rows whose events retention has removed are not comparable, and not wrong. A journal that was rewritten is
named by the record after what was changed.

report_tables_test.py BIN_FOLDER        exit code 77: PostgreSQL is not installed
"""
import json
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from journal_rows import COLUMNS, checksum  # noqa: E402
from postgres_server import server_of  # noqa: E402
from service import Service, star_netlist  # noqa: E402

BIN = Path(sys.argv[1])


def run(*words):
    done = subprocess.run([str(BIN / "railweave"), *map(str, words)], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def admin(*words):
    code, out, error = run("admin", *words)
    return code, out + error


def good(*words):
    code, text = admin(*words)
    assert code == 0, (words, code, text)
    return text


def refused(*words, says):
    code, text = admin(*words)
    assert code != 0, (words, text)
    for part in says:
        assert re.search(part, text), (part, text)
    return text


def do(service, method, path, body=None, expect=(200, 201, 204), **headers):
    status, _, answer = service.request(method, path, body, headers)
    assert status in expect, (method, path, status, answer)
    return answer


def audit(service, options=""):
    items, cursor = [], ""
    while True:
        page = do(service, "GET", f"/v1/audit?limit=500{options}{cursor}")
        items += page["items"]
        if page["nextCursor"] is None:
            return items
        cursor = f"&cursor={page['nextCursor']}"


def a_story(service, jobs=20):
    do(service, "PUT", "/v1/fabric/topology?format=ibsim&gpusPerNode=4", star_netlist(8), **{"Content-Type": "text/plain"})
    do(service, "PUT", "/v1/tenants/research", {})
    made = [do(service, "POST", "/v1/jobs", {"tenant": "research", "name": f"j{number}", "gpus": 4, "queue": True},
               **{"X-Request-Id": f"change-{number}"})["id"] for number in range(jobs)]
    for job in made[:jobs // 4]:
        do(service, "POST", f"/v1/jobs/{job}/complete")
    do(service, "POST", "/v1/tokens", {"name": "mallory", "role": "administrator"}, **{"X-Request-Id": "give-me-all"})
    do(service, "POST", "/v1/nodes/node-8/drain", {"reason": "report tables", "force": True})


class Sqlite:
    def __init__(self, folder):
        self.store = str(folder / "store.db")

    def sql(self, text):
        connection = sqlite3.connect(self.store)
        with connection:
            rows = connection.execute(text).fetchall()
        connection.close()
        return rows


class Postgres:
    def __init__(self, server):
        self.server = server
        self.psql("postgres", "CREATE DATABASE reports TEMPLATE template0")
        self.store = server.url + "reports"

    def psql(self, database, text):
        return subprocess.run([self.server.bin / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", self.server.url + database, "-c", text],
                              capture_output=True, text=True, check=True).stdout.strip()

    def sql(self, text):
        return self.psql("reports", text)


# What is done to the tables, and what the check says of it.
FORGERIES = [
    ("who gave the token changed", "UPDATE audit_trail SET actor = 'alice' WHERE kind = 'token.issued'",
     ["audit_trail: 1 changed", r"audit_trail \d+: actor is 'alice', the journal says 'local'"]),
    ("by which request", "UPDATE audit_trail SET request_id = 'other' WHERE kind = 'token.issued'",
     ["audit_trail: 1 changed", "request_id is 'other', the journal says 'give-me-all'"]),
    ("an entry removed", "DELETE FROM audit_trail WHERE kind = 'token.issued'", ["audit_trail: 1 missing", "the row is missing"]),
    ("an entry invented", "INSERT INTO audit_trail (seq, actor) VALUES (999999, 'bob')", ["audit_trail: 1 invented", "audit_trail 999999: no event"]),
    ("the audit trail emptied", "DELETE FROM audit_trail", [r"audit_trail: \d\d+ missing"]),
    ("GPUs of all jobs", "UPDATE job_history SET gpus = 4000", ["job_history: 20 changed", "gpus is 4000, the journal says 4"]),
    ("a job removed", "DELETE FROM job_history WHERE id = 'job-000005'", ["job_history: 1 missing", "job_history 'job-000005'"]),
    ("a job invented", "INSERT INTO job_history (id, tenant, gpus) VALUES ('job-999999', 'research', 512)", ["job_history: 1 invented"]),
    ("an incident invented", "INSERT INTO fabric_incidents (id, kind) VALUES ('link.down:x 17', 'link.down')", ["fabric_incidents: 1 invented"]),
    ("a breach invented", "INSERT INTO guarantee_breaches (id, tenant) VALUES ('job-000001 17', 'research')", ["guarantee_breaches: 1 invented"]),
]


def forged(kind, folder):
    with Service(BIN / "railweaved", folder, store=kind.store).start() as service:
        a_story(service)
        before = audit(service)
        assert service.stop() == 0
    assert "to the rows of the reporting tables" in good("check", kind.store)
    history = kind.sql("SELECT * FROM job_history ORDER BY id")
    for what, sql, says in FORGERIES:
        kind.sql(sql)
        refused("check", kind.store, says=["not what the journal says", "rebuild-reports", *says])
        said = good("rebuild-reports", kind.store)
        assert all(re.search(part, said) for part in says), said
        good("check", kind.store)
        assert kind.sql("SELECT * FROM job_history ORDER BY id") == history, what
        print(f"{what}: seen, and made again")
    assert "Nothing was changed" in good("rebuild-reports", kind.store)

    # Beside a service: the check sees it, the trail is read from the journal, and nothing is rebuilt.
    with Service(BIN / "railweaved", folder, store=kind.store).start() as service:
        assert audit(service)[:len(before)] == before
        kind.sql("UPDATE audit_trail SET actor = 'alice' WHERE kind = 'token.issued'")
        kind.sql("UPDATE job_history SET tenant = 'vision' WHERE id = 'job-000002'")
        shown = [entry["actor"] for entry in audit(service, "&kind=token.issued")]
        assert shown == ["alice"], shown
        assert audit(service, "&fromJournal=true")[:len(before)] == before, "the journal says otherwise than the table did"
        assert [entry["requestId"] for entry in audit(service, "&fromJournal=true&kind=token.issued")] == ["give-me-all"]
        assert audit(service, "&fromJournal=true&requestId=change-3") == [entry for entry in before if entry["requestId"] == "change-3"]
        code, out, error = run("audit", "list", "--from-journal", "--kind", "token.issued", "--server", f"http://127.0.0.1:{service.port}")
        assert code == 0 and "local" in out and "alice" not in out, (out, error)
        refused("check", kind.store, says=["audit_trail: 1 changed", "job_history: 1 changed"])
        refused("rebuild-reports", kind.store, says=["in use|has the store|locked"])
        assert service.stop() == 0
    # By its own mouth: as JSON, with counts.
    code, out, _ = run("admin", "check", kind.store, "-o", "json")
    tables = {table["table"]: table for table in json.loads(out)["reports"]["tables"]}
    assert code != 0 and tables["audit_trail"]["changed"] == 1 and tables["job_history"]["changed"] == 1, out
    good("rebuild-reports", kind.store)
    with Service(BIN / "railweaved", folder, store=kind.store).start() as service:
        assert audit(service)[:len(before)] == before, "REST is not right again"
        assert service.stop() == 0


def with_retention(folder):
    """Rows of events that were removed are kept as they are; those after them are compared."""
    config = folder / "config.toml"
    config.write_text("snapshot_every = 20\nkeep_events = 30\n")
    kind = Sqlite(folder)
    with Service(BIN / "railweaved", folder, store=kind.store).start("--config", str(config)) as service:
        a_story(service, jobs=60)
        for number in range(60):
            do(service, "PUT", "/v1/tenants/research", {"description": str(number)})
        last = do(service, "POST", "/v1/jobs", {"tenant": "research", "name": "last", "gpus": 4, "queue": True})["id"]
        assert service.stop() == 0
    text = good("check", kind.store)
    assert re.search(r"\d+ rows of the reporting tables are not comparable", text), text
    kind.sql("UPDATE audit_trail SET actor = 'alice' WHERE seq = 3")  # of an event that is not kept
    kind.sql("UPDATE job_history SET gpus = 9 WHERE id = 'job-000001'")
    good("check", kind.store)
    kind.sql(f"UPDATE job_history SET gpus = 9 WHERE id = '{last}'")
    kind.sql("DELETE FROM audit_trail WHERE seq = (SELECT max(seq) FROM audit_trail)")
    refused("check", kind.store, says=["audit_trail: 1 missing", "job_history: 1 changed"])
    good("rebuild-reports", kind.store)
    good("check", kind.store)
    assert kind.sql("SELECT actor FROM audit_trail WHERE seq = 3") == [("alice",)], "a row that cannot be compared was changed"
    print("rows of removed events are left as they are, later ones are compared")


def without_old_rows(folder):
    """keep_reports = false: rows go with their events, and what is left still is what the journal says."""
    config = folder / "config.toml"
    config.write_text("snapshot_every = 20\nkeep_events = 30\nkeep_reports = false\n")
    kind = Sqlite(folder)
    with Service(BIN / "railweaved", folder, store=kind.store).start("--config", str(config)) as service:
        a_story(service, jobs=16)
        for number in range(60):
            do(service, "PUT", "/v1/tenants/research", {"description": str(number)})
        for job in do(service, "GET", "/v1/jobs?limit=100")["items"]:
            assert job["state"] != "completed" or job["id"] in ("job-000001", "job-000002", "job-000003", "job-000004")
        entries = audit(service)
        assert service.stop() == 0
    text = good("check", kind.store)
    first, last = (int(number) for number in re.search(r"records (\d+) to (\d+)", text).groups())
    assert first > 40, text
    assert kind.sql("SELECT min(seq), max(seq), count(*) FROM audit_trail") == [(first, last, last - first + 1)], text
    assert entries[0]["seq"] <= first
    ids = [row[0] for row in kind.sql("SELECT id FROM job_history ORDER BY id")]
    assert ids == [f"job-{number:06d}" for number in range(5, 17)], ids  # those that ended long ago are gone, others are not
    assert "Nothing was changed" in good("rebuild-reports", kind.store)
    kind.sql(f"DELETE FROM audit_trail WHERE seq = {first + 3}")
    kind.sql(f"UPDATE audit_trail SET summary = 'nothing' WHERE seq = {first + 5}")
    refused("check", kind.store, says=["audit_trail: 1 changed, 1 missing", f"audit_trail {first + 3}: the row is missing",
                                       f"audit_trail {first + 5}: summary is 'nothing'"])
    print("rows that went with their events are not missed, others are")


def chained(folder):
    """The journal itself rewritten, checksum and reporting table and all: each record names the one before it."""
    config = folder / "config.toml"
    config.write_text("snapshot_every = 20\nkeep_events = 30\n")
    whole, kept = folder / "whole.db", folder / "kept.db"
    for store, arguments in ((whole, ()), (kept, ("--config", str(config)))):
        with Service(BIN / "railweaved", folder, store=str(store)).start(*arguments) as service:
            for number in range(100):
                do(service, "PUT", "/v1/tenants/t", {"description": str(number)})
            assert service.stop() == 0
        with Service(BIN / "railweaved", folder, store=str(store)).start(*arguments) as service:  # goes on after a start
            do(service, "PUT", "/v1/tenants/t", {"description": "again"})
            assert service.stop() == 0
    head = re.search(r"--head (\d+:[0-9a-f]{64})", good("check", whole))[1]
    assert re.search("Each of 100 records names the one before it", good("check", whole)), good("check", whole)
    good("check", whole, "--head", head)

    def forged(source, seq, **change):
        copy = folder / f"forged-{seq}.db"
        copy.unlink(missing_ok=True)
        copy.write_bytes(source.read_bytes())
        connection = sqlite3.connect(copy)
        connection.executescript("DROP TRIGGER journal_is_never_updated; DROP TRIGGER journal_is_deleted_behind_the_floor_only")
        row = dict(zip(COLUMNS, connection.execute(f"SELECT {', '.join(COLUMNS)} FROM journal WHERE seq = ?", (seq,)).fetchone()))
        row.update(change)
        connection.execute(f"UPDATE journal SET {', '.join(f'{name} = ?' for name in COLUMNS)}, crc32 = ?, payload_bytes = ? WHERE seq = ?",
                           (*(row[name] for name in COLUMNS), checksum(row), len(row["payload"].encode()), seq))
        connection.execute("UPDATE audit_trail SET actor = ? WHERE seq = ?", (row["actor"], seq))
        connection.commit()
        connection.close()
        return copy

    refused("check", forged(whole, 42, actor="alice"), says=["record 43 was not written after record 42 as it is", "compare it with a backup"])
    refused("rebuild-reports", forged(whole, 42, actor="alice"), says=["record 43 was not written after record 42 as it is"])
    newest = int(head.split(":")[0])
    copy = forged(whole, newest, actor="alice")
    good("check", copy)  # nothing names the newest one yet
    refused("check", copy, "--head", head, says=[f"record {newest} is another than it was"])
    refused("check", whole, "--head", f"{newest + 7}:{'0' * 64}", says=[f"ends at record {newest}, before record {newest + 7}"])
    refused("check", whole, "--head", "seven", says=["N:DIGEST"])

    first = int(re.search(r"records (\d+) to", good("check", kept))[1])
    assert first > 30, first
    refused("check", forged(kept, first, actor="alice"), says=[f"record {first + 1} was not written after record {first} as it is"])
    print("a record that was changed is named by the one after it, also where the oldest were removed")


def many(folder):
    """Thousands of rows, all of them gone: by pages, in one transaction."""
    kind = Sqlite(folder)
    with Service(BIN / "railweaved", folder, store=kind.store).start() as service:
        a_story(service)
        connection = service.connect()
        for number in range(3000):
            status, _, answer = service.request("PUT", "/v1/tenants/research", {"description": str(number)}, connection=connection)
            assert status == 200, answer
        before = audit(service)
        assert service.stop() == 0
    kind.sql("DELETE FROM audit_trail")
    began = time.monotonic()
    refused("check", kind.store, says=[f"audit_trail: {len(before)} missing"])
    good("rebuild-reports", kind.store)
    with Service(BIN / "railweaved", folder, store=kind.store).start() as service:
        assert audit(service)[:len(before)] == before
        assert service.stop() == 0
    print(f"{len(before)} rows made again, {time.monotonic() - began:.1f} s")


def main():
    with server_of() as server, tempfile.TemporaryDirectory(prefix="railweave-reports-") as temporary:
        for name in ("sqlite", "postgres", "retention", "removed", "chain", "many"):
            (Path(temporary) / name).mkdir()
        forged(Sqlite(Path(temporary) / "sqlite"), Path(temporary) / "sqlite")
        forged(Postgres(server), Path(temporary) / "postgres")
        with_retention(Path(temporary) / "retention")
        without_old_rows(Path(temporary) / "removed")
        chained(Path(temporary) / "chain")
        many(Path(temporary) / "many")
    return 0


if __name__ == "__main__":
    sys.exit(main())
