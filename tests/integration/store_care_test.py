#!/usr/bin/env python3
"""A store that is removed, emptied or renamed under a real railweaved, or before it starts, is noticed, and nothing is
acknowledged into it; `railweave admin check` and `backup` beside the running service, and a start on the backup.

store_care_test.py RAILWEAVED
"""
import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from service import Service  # noqa: E402

RAILWEAVED = sys.argv[1]
FILES = ("", "-wal", "-shm", ".lock", ".mark")


def ask(service, method, target, body=None):
    request = urllib.request.Request(f"http://127.0.0.1:{service.port}{target}", method=method,
                                     data=None if body is None else json.dumps(body).encode(),
                                     headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def command(store, *words):
    done = subprocess.run([RAILWEAVED, "--authentication", "none", "--store", str(store), *words], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def admin(*words):
    done = subprocess.run([str(Path(RAILWEAVED).parent / "railweave"), "admin", *map(str, words)], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def put(service, name, expect):
    status, answer = ask(service, "PUT", f"/v1/tenants/{name}", {})
    assert status == expect, (name, status, answer)


def lost_while_it_runs(how):
    with Service(RAILWEAVED) as service:
        service.start()
        store = service.folder / "store.db"
        for name in ("a", "b"):
            put(service, name, 200)
        kept = {suffix: Path(str(store) + suffix).read_bytes() for suffix in ("", "-wal")}
        if how == "removed":
            store.unlink()
        elif how == "renamed":
            store.rename(service.folder / "elsewhere.db")
        elif how == "emptied":
            os.truncate(store, 0)
        else:
            Path(str(store) + "-wal").unlink()
        put(service, "c", 503)
        put(service, "d", 503)
        status, answer = ask(service, "GET", "/readyz")
        assert (status, answer["phase"]) == (503, "storeFailed"), (status, answer)
        assert [item["id"] for item in ask(service, "GET", "/v1/tenants")[1]["items"]] == ["a", "b"]
        service.kill()
        if how in ("removed", "emptied"):
            # A new start does not take the ruin, or nothing, for a new store.
            for suffix in ("-wal", "-shm"):
                Path(str(store) + suffix).unlink(missing_ok=True)
            code, text = command(store, "--listen", "127.0.0.1:0")
            assert code == 1 and "acknowledged" in text and "store.db.mark" in text, (code, text)
        for suffix, content in kept.items():
            Path(str(store) + suffix).write_bytes(content)
        Path(str(store) + "-shm").unlink(missing_ok=True)
        service.start()
        assert [item["id"] for item in ask(service, "GET", "/v1/tenants")[1]["items"]] == ["a", "b"]
        put(service, "c", 200)
        assert service.stop() == 0


def checked_and_copied_while_it_runs():
    with Service(RAILWEAVED) as service, tempfile.TemporaryDirectory(prefix="railweave-backup-") as folder:
        service.start()
        store, backup = service.folder / "store.db", Path(folder) / "backup.db"
        for number in range(50):
            put(service, f"t{number}", 200)
        code, text = admin("check", store)
        assert code == 0 and "records 1 to 50" in text and "Nothing is wrong" in text, (code, text)
        code, text = admin("backup", store, backup)
        assert code == 0 and "records 1 to 50" in text, (code, text)
        put(service, "later", 200)
        assert admin("backup", store, backup)[0] == 5, "a backup is not overwritten"
        service.kill()

        # The store is lost; the backup takes its place, and the operator says so by removing the mark.
        for suffix in ("", "-wal", "-shm"):
            Path(str(store) + suffix).unlink(missing_ok=True)
        store.write_bytes(backup.read_bytes())
        code, text = command(store, "--listen", "127.0.0.1:0")
        assert code == 1 and "ends at record 50, but record 51 was acknowledged" in text, (code, text)
        Path(str(store) + ".mark").unlink()
        service.start()
        assert len(ask(service, "GET", "/v1/tenants?limit=100")[1]["items"]) == 50
        service.stop()

        # One changed byte of a record.
        content = bytearray(store.read_bytes())
        at = content.rindex(b'"summary":"tenant t7 ')  # in a record, and not in a table of reports
        content[at + 18] ^= 1
        backup.write_bytes(content)
        code, text = admin("check", backup)
        assert code == 1 and "damaged" in text, (code, text)


def old_events_are_removed_behind_snapshots():
    with Service(RAILWEAVED) as service:
        config = service.folder / "config.toml"
        config.write_text("snapshot_every = 20\nkeep_events = 30\n")
        service.start("--config", str(config))
        for number in range(200):
            put(service, f"t{number % 7}", 200)
            ask(service, "PUT", f"/v1/tenants/t{number % 7}", {"description": str(number)})
        before = ask(service, "GET", "/v1/tenants")[1]
        service.stop()
        store = service.folder / "store.db"
        code, text = admin("check", store)
        first, last = (int(word) for word in text.split("records ")[1].split(",")[0].split(" to "))
        assert code == 0 and last >= 200 and 30 <= last - first + 1 <= 120, text
        service.start("--config", str(config))
        after = ask(service, "GET", "/v1/tenants")[1]
        assert after["items"] == before["items"]
        assert ask(service, "GET", "/v1/events?limit=1")[0] == 200
        service.stop()


def main():
    for how in ("removed", "renamed", "emptied", "WAL removed"):
        lost_while_it_runs(how)
        print(f"{how} while it runs: noticed, nothing acknowledged, nothing lost")
    checked_and_copied_while_it_runs()
    print("checked and copied while it runs; the backup serves")
    old_events_are_removed_behind_snapshots()
    print("old events are removed behind snapshots")


main()
