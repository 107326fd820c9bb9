#!/usr/bin/env python3
"""Events whose records are damaged or missing in the store of a real railweaved, before the newest snapshot, so that a start does not
need them: the log and an alarm say so, lists, streams and webhooks go on around them and say where they were, the alarm goes when the
store is whole again. In PostgreSQL and SQLite.

damaged_events_test.py BIN_FOLDER        exit code 77: PostgreSQL is not installed
"""
import http.server
import json
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from postgres_server import Server, server_of  # noqa: E402
from service import Service  # noqa: E402
from waiting import until  # noqa: E402

BIN = Path(sys.argv[1])


def two_of(events):
    """The numbers of the events that are damaged: two of tenants, wherever those of a leader or a webhook came between."""
    put = [event["seq"] for event in events if event["type"] == "tenant.put"]
    return put[4], put[9]


def do(service, method, path, body=None, expect=(200, 201, 204)):
    status, _, answer = service.request(method, path, body)
    assert status in expect, (method, path, status, answer)
    return answer


def damage(kind, flipped, missing):
    if isinstance(kind, Path):
        connection = sqlite3.connect(kind)
        connection.executescript("DROP TRIGGER journal_is_never_updated; DROP TRIGGER journal_is_deleted_behind_the_floor_only;")
        run = connection.execute
    else:
        server, url = kind

        def run(sql):
            return subprocess.run([server.bin / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", url, "-c", sql], check=True, capture_output=True)

        run("DROP TRIGGER journal_is_never_changed ON journal")
    # One bit of a letter: "d" is 0x64, "e" is 0x65.
    run(f"UPDATE journal SET payload = replace(payload, 'description', 'eescription') WHERE seq = {flipped}")
    run(f"CREATE TABLE kept_apart AS SELECT * FROM journal WHERE seq IN ({flipped}, {missing})")
    run(f"DELETE FROM journal WHERE seq = {missing}")
    if isinstance(kind, Path):
        connection.commit()
        connection.close()


def restore(kind, flipped, missing):
    sql = [f"UPDATE journal SET payload = replace(payload, 'eescription', 'description') WHERE seq = {flipped}",
           f"INSERT INTO journal SELECT * FROM kept_apart WHERE seq = {missing}"]
    if isinstance(kind, Path):
        connection = sqlite3.connect(kind)
        for text in sql:
            connection.execute(text)
        connection.commit()
        connection.close()
    else:
        server, url = kind
        for text in sql:
            subprocess.run([server.bin / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", url, "-c", text], check=True, capture_output=True)


class Receiver(http.server.BaseHTTPRequestHandler):
    got = []
    is_away = False

    def do_POST(self):
        event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not Receiver.is_away:
            Receiver.got.append(event)
        self.send_response(503 if Receiver.is_away else 200)
        self.end_headers()

    def log_message(self, *_):
        pass


def stream_from(service, after, count, filters=""):
    connection = service.connect()
    connection.request("GET", f"/v1/events/stream?after={after}{filters}", headers={"Accept": "text/event-stream"})
    answer = connection.getresponse()
    assert answer.status == 200, answer.status
    events = []
    while len(events) < count:
        line = answer.readline().decode()
        assert line, f"the stream ended after {len(events)} events"
        if line.startswith("data:"):
            events.append(json.loads(line[5:]))
    connection.close()
    return events


def alarms(service):
    return [alarm for alarm in do(service, "GET", "/v1/alarms")["items"] if alarm["kind"] == "store.damaged"]


def is_damaged(event):
    return event["type"] == "event.damaged" and event["damaged"] is True and event["data"] == {} and "railweave admin check" in event["summary"]


def goes_on(store, kind, folder, receiver):
    config = folder / "config.toml"
    config.write_text("snapshot_every = 20\n[webhooks]\nloopback = true\n")
    with Service(BIN / "railweaved", folder, store=str(store)).start("--config", str(config)) as service:
        for number in range(50):
            do(service, "PUT", "/v1/tenants/t", {"description": f"description {number}"})
        whole = do(service, "GET", "/v1/events?limit=1000")["items"]
        flipped, missing = two_of(whole)
        assert service.stop() == 0
    damage(kind, flipped, missing)
    with Service(BIN / "railweaved", folder, store=str(store)).start("--config", str(config)) as service:
        until(lambda: f"no alarm\n{service.log_text()}", lambda: alarms(service))
        [alarm] = alarms(service)
        assert alarm["severity"] == "critical" and f"({flipped}, {missing})" in alarm["text"], alarm
        assert "the records of 2 events cannot be read" in service.log_text(), service.log_text()

        listed = do(service, "GET", "/v1/events?limit=1000")["items"]
        assert [event["seq"] for event in listed[:len(whole)]] == [event["seq"] for event in whole]
        for was, now in zip(whole, listed):
            if was["seq"] in (flipped, missing):
                assert is_damaged(now) and whole[0]["time"] <= now["time"] <= whole[-1]["time"], now
            else:
                assert was == now, (was, now)
        # By pages, and by kind.
        paged, cursor = [], ""
        while True:
            page = do(service, "GET", f"/v1/events?limit=5{cursor}")
            paged += page["items"]
            if page["nextCursor"] is None:
                break
            cursor = f"&cursor={page['nextCursor']}"
        assert paged[:len(whole)] == listed[:len(whole)]
        kinds = do(service, "GET", "/v1/events?limit=1000&type=tenant.put")["items"]
        assert [event["seq"] for event in kinds if is_damaged(event)] == [flipped], "the flipped one is still of its kind"
        assert is_damaged(do(service, "GET", "/v1/audit?fromJournal=true&limit=100")["items"][flipped - 1] | {"type": "event.damaged", "damaged": True, "data": {}})

        streamed = stream_from(service, 1, len(whole) - 1)
        assert streamed == listed[1:len(whole)], "the stream tells otherwise than the list"
        # One that is filtered, too: what cannot be read may be one of those.
        filtered = stream_from(service, 1, 40, "&type=tenant.put&subject=tenant/t")
        assert [event["seq"] for event in filtered if is_damaged(event)] == [flipped, missing], filtered

        assert service.stop() == 0
    restore(kind, flipped, missing)
    with Service(BIN / "railweaved", folder, store=str(store)).start("--config", str(config)) as service:
        until(lambda: f"the alarm stays\n{service.log_text()}", lambda: not alarms(service))
        assert do(service, "GET", "/v1/events?limit=1000")["items"][:len(whole)] == whole
        assert service.stop() == 0


def behind(store, kind, folder, receiver):
    """A webhook that was away while events came, one of which is damaged now, is told of the others and of that."""
    config = folder / "config.toml"
    config.write_text("snapshot_every = 5\n[webhooks]\nloopback = true\n")
    Receiver.is_away = True
    with Service(BIN / "railweaved", folder, store=str(store)).start("--config", str(config)) as service:
        do(service, "PUT", "/v1/webhooks/away", {"url": f"http://127.0.0.1:{receiver.server_port}/", "types": [], "secret": "sixteen bytes at least"})
        for number in range(30):
            do(service, "PUT", "/v1/tenants/t", {"description": f"description {number}"})
        flipped, missing = two_of(do(service, "GET", "/v1/events?limit=1000")["items"])
        assert service.stop() == 0
    damage(kind, flipped, missing)
    Receiver.got.clear()
    Receiver.is_away = False
    with Service(BIN / "railweaved", folder, store=str(store)).start("--config", str(config)) as service:
        until(lambda: f"the webhook was not told: {Receiver.got}\n{service.log_text()}", lambda: any(event["seq"] > 25 for event in Receiver.got))
        told = {event["seq"]: event for event in Receiver.got}
        assert {flipped, missing} <= set(told) and is_damaged(told[flipped]) and is_damaged(told[missing]), f"{Receiver.got}\n{service.log_text()}"
        put = [seq for seq, event in told.items() if event["type"] == "tenant.put"]
        assert any(flipped < seq < missing for seq in put) and any(seq > missing for seq in put), put
        assert service.stop() == 0


def unreadable_page():
    """PostgreSQL itself refuses a page of the table journal, whose checksum does not hold: the records in it are damaged, no others."""
    server = Server.make(["shared_buffers = 64MB"], initdb=["-k"])
    try:
        server.start()
        server.sql("CREATE DATABASE pages TEMPLATE template0")
        url = server.url + "pages"
        with tempfile.TemporaryDirectory(prefix="railweave-damaged-") as temporary:
            folder = Path(temporary)
            (folder / "config.toml").write_text("snapshot_every = 20\n")
            with Service(BIN / "railweaved", folder, store=url).start("--config", str(folder / "config.toml")) as service:
                for number in range(300):
                    do(service, "PUT", "/v1/tenants/t", {"description": str(number)})
                whole = do(service, "GET", "/v1/events?limit=1000")["items"]
                assert service.stop() == 0
            file = subprocess.run([server.bin / "psql", "-XAtq", url, "-c", "SELECT pg_relation_filepath('journal')"], check=True,
                                  capture_output=True, text=True).stdout.strip()
            server.stop()
            pages = bytearray((server.data / file).read_bytes())
            pages[3 * 8192 + 4000] ^= 1
            (server.data / file).write_bytes(pages)
            server.start()
            with Service(BIN / "railweaved", folder, store=url).start("--config", str(folder / "config.toml")) as service:
                listed = do(service, "GET", "/v1/events?limit=1000")["items"][:len(whole)]
                lost = [event["seq"] for event in listed if is_damaged(event)]
                assert 5 < len(lost) < 100 and lost == list(range(lost[0], lost[-1] + 1)), lost
                assert [now for was, now in zip(whole, listed) if now["seq"] not in lost] == [was for was in whole if was["seq"] not in lost]
                kinds = do(service, "GET", "/v1/events?limit=1000&type=tenant.put")["items"]
                assert [event["seq"] for event in kinds if is_damaged(event)] == lost
                until(lambda: service.log_text(), lambda: alarms(service))
                assert f"the records of {len(lost)} events" in alarms(service)[0]["text"]
                assert service.stop() == 0
        print(f"a page that PostgreSQL refuses: its {len(lost)} events are damaged, no others")
    finally:
        server.stop("immediate")
        server.remove()


def main():
    unreadable_page()
    receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    with server_of() as server, tempfile.TemporaryDirectory(prefix="railweave-damaged-") as temporary:
        for name, story in (("list", goes_on), ("behind", behind)):
            folder = Path(temporary) / name
            folder.mkdir()
            story(folder / "store.db", folder / "store.db", folder, receiver)
            print(f"{name}: SQLite goes on around damaged events")
            subprocess.run([server.bin / "psql", "-XAtq", server.url + "postgres", "-c", f'CREATE DATABASE "{name}" TEMPLATE template0'], check=True)
            url = server.url + name
            story(url, (server, url), folder, receiver)
            print(f"{name}: PostgreSQL goes on around damaged events")
    receiver.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
