#!/usr/bin/python3
"""Webhooks against a real receiver that fails, hangs, ends and comes back: every event comes, in order, signed, at least once.

webhooks_test.py FOLDER_OF_PROGRAMS
"""
import contextlib
import hashlib
import hmac
import http.server
import json
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from service import Service, star_netlist  # noqa: E402

SECRET = "the-secret-of-this-test"
DEADLINE_S = 60
CONFIG = """
[webhooks]
loopback = true
timeout_seconds = 1
retry_seconds = 1
give_up_seconds = {give_up}
report_seconds = 1
"""


class Receiver:
    """Takes events at a port of its own; `answer` says how: a status, or "hang". Ends and comes back on the same port."""

    def __init__(self):
        self.answer, self.got, self.attempts, self.lock = 200, [], 0, threading.Lock()
        self.released = threading.Event()
        self.server, self.port, self.connections = None, 0, set()
        self.start()

    def start(self):
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                receiver.connections.add(self.connection)

            def finish(self):
                receiver.connections.discard(self.connection)
                super().finish()

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with receiver.lock:
                    receiver.attempts += 1
                    answer = receiver.answer
                    if answer == 200:
                        receiver.got.append((self.path, dict(self.headers), body))
                if answer == "hang":
                    receiver.released.wait(DEADLINE_S)
                    self.close_connection = True
                    return
                self.send_response(answer)
                if answer == 302:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads, allow_reuse_address = True, True

        self.server = Server(("127.0.0.1", self.port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        for connection in list(self.connections):  # those that are kept open, too
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def seqs(self):
        with self.lock:
            return [json.loads(body)["seq"] for _, _, body in self.got]


def wait_until(condition, what):
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(f"not within {DEADLINE_S} s: {what}")


class Story:
    def __init__(self, programs, folder, give_up=3600):
        self.programs = programs
        self.config = Path(folder) / "railweaved.toml"
        self.config.write_text(CONFIG.format(give_up=give_up))
        self.service = Service(programs / "railweaved", folder=folder)
        self.start()

    def start(self):
        self.service.start("--config", str(self.config))

    def call(self, method, path, body=None, status=(200, 201, 204)):
        got, _, answer = self.service.request(method, path, body)
        assert got in status, (method, path, got, answer)
        return answer

    def hook(self, name="pager"):
        return self.call("GET", f"/v1/webhooks/{name}")

    def set(self, receiver, name="pager", **fields):
        return self.call("PUT", f"/v1/webhooks/{name}", {"url": f"http://127.0.0.1:{receiver.port}/hook?of={name}",
                                                         "secret": SECRET, **fields})

    def make_events(self, count, label):
        for number in range(count):
            self.call("PUT", "/v1/tenants/t", {"description": f"{label} {number}"})

    def events(self, after=0):
        return [event for event in self.call("GET", f"/v1/events?after={after}&limit=10000")["items"]
                if event["subject"]["kind"] != "webhook"]

    def cli(self, *arguments):
        done = subprocess.run([self.programs / "railweave", "--server", f"http://127.0.0.1:{self.service.port}", *arguments],
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done
        return done.stdout


def check_received(story, receiver, after):
    """Every event since, in order; repeated only as a whole run from an earlier place."""
    wanted = [event["seq"] for event in story.events(after)]
    wait_until(lambda: set(wanted) <= set(receiver.seqs()), f"all of {len(wanted)} events")
    seen = []
    for seq in receiver.seqs():
        if seq not in seen:
            assert not seen or seq > seen[-1], f"{seq} came after {seen[-1]} and never before"
            seen.append(seq)
    assert [seq for seq in seen if seq > after] == wanted, (seen, wanted)
    by_seq = {event["seq"]: event for event in story.events(after)}
    for path, headers, body in receiver.got:
        event = json.loads(body)
        assert event == by_seq.get(event["seq"], event) and path == "/hook?of=pager", (path, event)
        assert headers["Railweave-Event"] == event["type"] and headers["Railweave-Delivery"] == str(event["seq"]), headers
        stamp, value = headers["Railweave-Signature"].split(",")
        right = hmac.new(SECRET.encode(), stamp[2:].encode() + b"." + body, hashlib.sha256).hexdigest()
        assert value == f"v1={right}" and abs(int(stamp[2:]) - time.time()) < DEADLINE_S * 3, headers


def comes_through_trouble(programs):
    with tempfile.TemporaryDirectory() as folder:
        story, receiver = Story(programs, folder), Receiver()
        story.call("PUT", "/v1/fabric/topology?gpusPerNode=1", star_netlist(2))
        after = story.set(receiver)["version"]
        story.make_events(20, "well")
        check_received(story, receiver, after)
        wait_until(lambda: story.hook()["state"] == "delivering" and story.hook()["lastDeliveryAt"], "the state says so")
        for trouble in (500, 302, "hang"):
            receiver.answer, attempts = trouble, receiver.attempts
            story.make_events(5, f"while {trouble}")
            wait_until(lambda: receiver.attempts >= attempts + 2, f"it is asked again while {trouble}")
            wait_until(lambda: story.hook()["state"] == "failing" and story.hook()["failures"], "the failure is shown")
            receiver.answer = 200
            receiver.released.set()
            check_received(story, receiver, after)
            wait_until(lambda: story.hook()["state"] == "delivering", "the end of the failure is shown")
        receiver.stop()
        story.make_events(5, "while it is down")
        wait_until(lambda: story.hook()["state"] == "failing", "no one listens")
        assert "refused" in story.hook()["lastError"], story.hook()
        receiver.start()
        check_received(story, receiver, after)
        # The service is killed, and what it had not written down is sent again.
        receiver.answer = 503
        story.make_events(5, "before the kill")
        story.service.kill()
        receiver.answer = 200
        story.start()
        story.make_events(3, "after the kill")
        check_received(story, receiver, after)
        # It is stopped, and goes on exactly where it was.
        wait_until(lambda: story.hook()["deliveredUpTo"] >= story.events()[-1]["seq"], "how far it came is written down")
        count = len(receiver.got)
        assert story.service.stop() == 0
        story.start()
        story.make_events(1, "after the stop")
        check_received(story, receiver, after)
        wait_until(lambda: len(receiver.got) > count, "the one event")
        assert len(receiver.got) == count + 1, "nothing was sent twice"
        text = story.cli("webhooks", "show", "pager")
        assert "delivering" in text and SECRET not in text, text
        # Only some types; another webhook that hangs does not hold this one up.
        receiver.got.clear()
        slow = Receiver()
        slow.answer = "hang"
        slow.released.clear()
        story.set(slow, "slow")
        story.set(receiver, types=["job."])
        story.cli("tenants", "set", "research")
        story.cli("jobs", "submit", "--tenant", "research", "--gpus", "1")
        wait_until(lambda: receiver.got, "the job")
        assert {json.loads(body)["type"] for _, _, body in receiver.got} == {"job.placed"}, receiver.got
        slow.released.set()
        story.cli("webhooks", "remove", "slow")
        story.service.stop()


def is_given_up(programs):
    with tempfile.TemporaryDirectory() as folder:
        story, receiver = Story(programs, folder, give_up=2), Receiver()
        receiver.answer = 500
        after = story.set(receiver)["version"]
        story.make_events(3, "never received")
        wait_until(lambda: story.hook()["state"] == "disabled", "it is given up")
        alarm = story.call("GET", "/v1/alarms")["items"]
        assert [(one["kind"], one["severity"]) for one in alarm] == [("webhook.disabled", "critical")], alarm
        attempts = receiver.attempts
        story.service.stop()
        story.start()
        story.make_events(3, "while disabled")
        receiver.answer = 200
        assert story.hook()["state"] == "disabled" and receiver.attempts == attempts, "it stays disabled over a restart"
        story.cli("webhooks", "set", "pager", "--url", f"http://127.0.0.1:{receiver.port}/hook?of=pager")
        check_received(story, receiver, after)
        assert story.call("GET", "/v1/alarms")["items"] == []
        assert "pager" in story.cli("webhooks", "list")
        story.service.stop()


def names_are_checked_where_they_lead(programs):
    """A name that stands for this machine is refused when it is connected to, where the machine itself is."""
    with tempfile.TemporaryDirectory() as folder:
        receiver = Receiver()
        service = Service(programs / "railweaved", folder=folder).start()
        status, _, answer = service.request("PUT", "/v1/webhooks/inside", {"url": f"https://localhost:{receiver.port}/", "secret": SECRET})
        assert status == 200, answer
        service.request("PUT", "/v1/tenants/t", {})
        wait_until(lambda: service.request("GET", "/v1/webhooks/inside")[2]["state"] == "failing", "it fails")
        error = service.request("GET", "/v1/webhooks/inside")[2]["lastError"]
        assert "of this machine" in error and receiver.attempts == 0, error
        service.stop()


def main():
    programs = Path(sys.argv[1])
    for story in (comes_through_trouble, is_given_up, names_are_checked_where_they_lead):
        story(programs)
        print(f"{story.__name__}: well")


if __name__ == "__main__":
    main()
