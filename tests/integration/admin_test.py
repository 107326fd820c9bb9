#!/usr/bin/env python3
"""railweave admin on real stores of both kinds: what a service answers after its store was copied to the other kind and back,
backed up and restored is what it answered before, also while it is written; stores that are not empty or in use are refused;
and planted damage is seen by `admin check`, in each kind.

admin_test.py BIN_FOLDER        exit code 77: PostgreSQL is not installed
"""
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from kill_nine_test import own_server  # noqa: E402
from service import Service, star_netlist  # noqa: E402

BIN = Path(sys.argv[1])
READS = ["/v1/fabric", "/v1/fabric/topology", "/v1/jobs?limit=1000", "/v1/tenants", "/v1/events?limit=1000", "/v1/drains", "/v1/contracts",
         "/v1/queue/jobs", "/v1/reservations"]


def admin(*words):
    done = subprocess.run([str(BIN / "railweave"), "admin", *map(str, words)], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def good(*words):
    code, text = admin(*words)
    assert code == 0, (words, code, text)
    return text


def refused(why, *words):
    code, text = admin(*words)
    assert code != 0 and re.search(why, text), (words, code, text)


def digest(text):
    return re.search(r"digest ([0-9a-f]{16})", text)[1]


def do(service, method, path, body=None, expect=(200, 201, 204), **headers):
    status, _, answer = service.request(method, path, body, headers)
    assert status in expect, (method, path, status, answer)
    return answer


def a_story(service):
    """Something of everything that is stored: documents, jobs that run, wait and ended, drains, contracts, two snapshots."""
    do(service, "PUT", "/v1/fabric/topology?format=ibsim&gpusPerNode=4", star_netlist(40), **{"Content-Type": "text/plain"})
    for name in ("research", "vision"):
        do(service, "PUT", f"/v1/tenants/{name}", {"description": name + " \u00fc\u4e2d"})
    jobs = []
    for number in range(60):
        jobs.append(do(service, "POST", "/v1/jobs", {"tenant": "research", "name": f"j{number}", "gpus": 4, "queue": True},
                       **{"Idempotency-Key": f"k{number}"})["id"])
    for job in jobs[:15]:
        do(service, "POST", f"/v1/jobs/{job}/complete")
    do(service, "POST", "/v1/nodes/node-40/drain", {"reason": "admin test", "force": True})
    do(service, "PUT", "/v1/fabric/topology?format=ibsim&gpusPerNode=4&force=true", star_netlist(41), **{"Content-Type": "text/plain"})
    return jobs


def answers(service):
    return {path: do(service, "GET", path) for path in READS}


def same(found, before):
    """But for the events by which a replica says that it leads now."""
    for path in READS:
        if isinstance(before[path], dict):
            found[path].pop("seq", None)
            before[path].pop("seq", None)
        if path.startswith("/v1/events"):
            found[path]["items"] = found[path]["items"][:len(before[path]["items"])]
        assert found[path] == before[path], f"{path} is answered otherwise: {str(found[path])[-600:]} and before {str(before[path])[-600:]}"


def started(store, folder, *arguments):
    service = Service(BIN / "railweaved", folder, store=str(store))
    service.start(*arguments)
    return service


def snapshots_often(folder):
    config = Path(folder) / "config.toml"
    config.write_text("snapshot_every = 40\n")
    return "--config", str(config)


def there_and_back(server, folder):
    often = snapshots_often(folder)
    with started(folder / "one.db", folder, *often) as service:
        jobs = a_story(service)
        before = answers(service)
        # Beside the running service: as of one moment, which it says.
        text = good("backup", folder / "one.db", folder / "live.db")
        assert f"as of record {before['/v1/jobs?limit=1000']['seq']} " in text, text
        refused("is a file of that name already", "backup", folder / "one.db", folder / "live.db")
        assert service.stop() == 0
    first = good("check", folder / "one.db")
    assert "lead to 2 of the snapshots" in first, first

    database = server.url + "copy"
    create(server, "copy")
    text = good("copy", "--from", f"sqlite:{folder}/one.db", "--to", database)
    assert digest(text) == digest(first), (text, first)
    assert digest(good("check", database)) == digest(first)
    refused("not empty", "copy", "--from", f"sqlite:{folder}/one.db", "--to", database)
    with started(database, folder) as service:
        same(answers(service), before)
        again = do(service, "POST", "/v1/jobs", {"tenant": "research", "name": "j3", "gpus": 4, "queue": True}, **{"Idempotency-Key": "k3"})
        assert again["id"] == jobs[3], "the Idempotency-Key is known no more"
        do(service, "PUT", "/v1/tenants/later", {})
        changed = answers(service)
        assert service.stop() == 0

    good("backup", database, folder / "pg-backup.db")
    good("restore", folder / "pg-backup.db", "--to", folder / "restored.db")
    create(server, "restored")
    good("restore", folder / "pg-backup.db", "--to", server.url + "restored")
    assert len({digest(good("check", store)) for store in (folder / "restored.db", server.url + "restored", database, folder / "pg-backup.db")}) == 1
    for store in (folder / "restored.db", server.url + "restored"):
        with started(store, folder) as service:
            same(answers(service), changed)
            do(service, "PUT", "/v1/tenants/after", {})
            assert service.stop() == 0
    with started(folder / "live.db", folder) as service:
        same(answers(service), before)
        assert service.stop() == 0
    # Rows for people's SQL came along.
    rows = sqlite3.connect(folder / "restored.db").execute("SELECT count(*), sum(state = 'completed') FROM job_history").fetchone()
    assert rows == (60, 15), rows


def while_it_is_written(server, folder):
    """A copy of a PostgreSQL store that is written all the time is one moment of it; and no import goes into a store in use."""
    create(server, "busy")
    url = server.url + "busy"
    with started(url, folder) as service:
        halt = threading.Event()

        def write():
            number = 0
            while not halt.is_set():
                number += 1
                do(service, "PUT", f"/v1/tenants/t{number % 50}", {"description": str(number)})

        writers = [threading.Thread(target=write) for _ in range(3)]
        for writer in writers:
            writer.start()
        try:
            for number in range(5):
                acknowledged = do(service, "GET", "/v1/tenants")["seq"]
                text = good("backup", url, folder / f"busy-{number}.db")
                assert int(re.search(r"as of record (\d+)", text)[1]) >= acknowledged, text
                good("check", folder / f"busy-{number}.db")
            refused("in use|not empty", "restore", folder / "busy-0.db", "--to", url)
        finally:
            halt.set()
            for writer in writers:
                writer.join()
        assert service.stop() == 0


def removed_records(server, folder):
    """A store whose oldest records were removed behind snapshots goes to PostgreSQL and is a store there."""
    config = folder / "removing.toml"
    config.write_text("snapshot_every = 20\nkeep_events = 30\n")
    with started(folder / "removing.db", folder, "--config", str(config)) as service:
        for number in range(120):
            do(service, "PUT", f"/v1/tenants/t{number % 9}", {"description": str(number)})
        before = do(service, "GET", "/v1/tenants")
        assert service.stop() == 0
    first = good("check", folder / "removing.db")
    assert int(re.search(r"records (\d+) to", first)[1]) > 1, first
    create(server, "removing")
    assert digest(good("copy", "--from", folder / "removing.db", "--to", server.url + "removing")) == digest(first)
    for _ in range(2):  # the second start finds what the first one added
        with started(server.url + "removing", folder) as service:
            assert do(service, "GET", "/v1/tenants")["items"] == before["items"]
            do(service, "PUT", "/v1/tenants/t0", {"description": before["items"][0]["description"]})
            assert do(service, "GET", "/v1/events?limit=5")["items"], "the kept events are read"
            assert service.stop() == 0
    assert digest(good("backup", server.url + "removing", folder / "removing-back.db"))


# What is done to a store, in words of both kinds, and what the check says of it.
JOURNAL_IS_OPEN = {"sqlite": "DROP TRIGGER journal_is_never_updated; DROP TRIGGER journal_is_deleted_behind_the_floor_only;",
                   "postgres": "DROP TRIGGER journal_is_never_changed ON journal;"}
DAMAGE = [
    ("a flipped byte of a record", "damaged|checksum", "UPDATE journal SET payload = replace(payload, 'j7', 'j8') WHERE seq = "
     "(SELECT min(seq) FROM journal WHERE payload LIKE '%j7%')"),
    ("another actor", "damaged|checksum", "UPDATE journal SET actor = 'other' WHERE seq = 20"),
    ("a missing record", "record 17 is missing", "DELETE FROM journal WHERE seq = 17"),
    ("the newest records cut off", "beyond the journal's end|acknowledged", "DELETE FROM journal WHERE seq > 50"),
    ("a flipped byte of a document", "damaged|checksum", "UPDATE blobs SET crc32 = crc32 + 1 WHERE digest = (SELECT min(digest) FROM blobs)"),
    ("a missing document", "cannot be read back|is missing", "DELETE FROM blobs WHERE digest = (SELECT min(digest) FROM blobs)"),
    ("a flipped byte of a snapshot", "damaged|checksum", "UPDATE snapshots SET crc32 = crc32 + 1 WHERE seq = (SELECT max(seq) FROM snapshots)"),
]


def damaged(server, folder):
    create(server, "template_of_damage")
    good("copy", "--from", folder / "one.db", "--to", server.url + "template_of_damage")
    for number, (what, says, sql) in enumerate(DAMAGE):
        copy = folder / f"damaged-{number}.db"
        good("backup", folder / "one.db", copy)
        (folder / f"{copy.name}.sha256").unlink()  # of which backup_test.py is about
        connection = sqlite3.connect(copy)
        connection.executescript(JOURNAL_IS_OPEN["sqlite"] + sql)
        connection.commit()
        connection.close()
        refused("(?i)" + says, "check", copy)
        create(server, f"damaged_{number}", "template_of_damage")
        psql(server, f"damaged_{number}", JOURNAL_IS_OPEN["postgres"] + sql)
        refused("(?i)" + says, "check", server.url + f"damaged_{number}")
        create(server, f"refusing_{number}")
        code, text = admin("copy", "--from", server.url + f"damaged_{number}", "--to", server.url + f"refusing_{number}")
        if "missing document" not in what:  # a copy looks at bytes, the check at what they mean
            assert code != 0, (what, text)
            assert psql(server, f"refusing_{number}", "SELECT count(*) FROM journal") == "0", "what was not finished is there"
        print(f"{what}: seen in both kinds")
    # A snapshot whole in itself that is not what the journal leads to: only the replay sees it.
    copy = folder / "differs.db"
    good("backup", folder / "one.db", copy)
    (folder / "differs.db.sha256").unlink()
    other = folder / "other.db"
    with started(other, folder, *snapshots_often(folder)) as service:
        for number in range(60):
            do(service, "PUT", f"/v1/tenants/x{number % 3}", {"description": str(number)})
        assert service.stop() == 0
    connection = sqlite3.connect(copy)
    connection.execute("ATTACH ? AS other", (str(other),))
    newest = connection.execute("SELECT max(seq) FROM snapshots").fetchone()[0]
    taken = connection.execute("SELECT max(seq) FROM other.snapshots WHERE seq <= (SELECT max(seq) FROM journal)").fetchone()[0]
    assert taken, "the other store has no snapshot that fits into this journal"
    connection.execute("DELETE FROM snapshots WHERE seq = ?", (newest,))
    connection.execute("INSERT OR REPLACE INTO snapshots SELECT * FROM other.snapshots WHERE seq = ?", (taken,))
    connection.commit()
    connection.close()
    refused(f"snapshot {taken} differs", "check", copy)
    create(server, "differs")
    good("copy", "--from", copy, "--to", server.url + "differs")
    refused(f"snapshot {taken} differs", "check", server.url + "differs")
    print("a snapshot of another state: seen in both kinds")


def psql(server, database, sql):
    done = subprocess.run([str(server.bin / "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", server.url + database, "-c", sql],
                          capture_output=True, text=True, check=True)
    return done.stdout.strip()


def create(server, name, template="template0"):
    psql(server, "postgres", f'CREATE DATABASE "{name}" TEMPLATE "{template}"')


def main():
    with own_server() as server, tempfile.TemporaryDirectory(prefix="railweave-admin-") as temporary:
        folder = Path(temporary)
        there_and_back(server, folder)
        print("SQLite to PostgreSQL and back, backed up and restored: the same answers")
        while_it_is_written(server, folder)
        print("a copy of a store that is being written is one moment of it")
        removed_records(server, folder)
        print("a store without its oldest records is copied as it is")
        damaged(server, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
