#!/usr/bin/python3
"""Webhooks against a real receiver that fails, hangs, ends and comes back: every event comes, in order, signed, at least once.

webhooks_test.py FOLDER_OF_PROGRAMS
"""
import contextlib
import datetime
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
                if event["subject"]["kind"] not in ("webhook", "token")]

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
        # Tokens are told to no webhook, whatever types it asks for.
        story.call("POST", "/v1/tokens", {"name": "eyes", "role": "viewer"})
        story.make_events(1, "after a token")
        wait_until(lambda: json.loads(receiver.got[-1][2])["summary"] and json.loads(receiver.got[-1][2])["data"].get("description") == "after a token 0",
                   "the event after it")
        assert not [body for _, _, body in receiver.got if b"token." in body or b"sha256" in body], receiver.got
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
        # What jobs report of their steps is sent where it is named itself.
        reports = Receiver()
        story.set(reports, "reports", types=["job.stepsReported"])
        story.cli("jobs", "report-steps", "job-000001", "--steps", "3", "--seconds", "2")
        wait_until(lambda: reports.got, "the report")
        story.cli("jobs", "complete", "job-000001")
        wait_until(lambda: any(json.loads(body)["type"] == "job.ended" for _, _, body in receiver.got), "the end of the job")
        assert {json.loads(body)["type"] for _, _, body in receiver.got} == {"job.placed", "job.ended"}, receiver.got
        story.cli("webhooks", "remove", "reports")
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


def tells_nothing_of_others(programs):
    """A member's receiver is sent what its list of events shows it, byte for byte, and no name of the other tenant, whose jobs fill, evict
    and delay its own; an operator's receiver is sent those names, or the search shows nothing."""
    other, hidden = "zebra", "another tenant's job"
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "railweaved.toml"
        config.write_text(CONFIG.format(give_up=3600))
        service = Service(programs / "railweaved", folder=folder, authentication="tokens")
        service.start("--config", str(config), "--admin-token-file", str(Path(folder) / "token"))
        tokens = {"admin": (Path(folder) / "token").read_text().strip()}

        def call(who, method, path, body=None, status=(200, 201, 204)):
            got, _, answer = service.request(method, path, body, {"Authorization": f"Bearer {tokens[who]}"})
            assert got in status, (who, method, path, got, answer)
            return answer

        call("admin", "PUT", "/v1/fabric/topology?gpusPerNode=1", star_netlist(4))
        call("admin", "PUT", "/v1/queue/policy", {"priorityClasses": [{"name": "normal", "value": 0, "preemptible": True}, {
            "name": "high", "value": 100, "mayPreempt": True, "preemptible": False}], "minRuntime": "PT0S"})
        for tenant, name in (("ours", "our-bot"), ("zebra-corp", "zebra-bot")):
            call("admin", "PUT", f"/v1/tenants/{tenant}", {"description": f"about {tenant}", "maxPriority": "high"})
            tokens[tenant] = call("admin", "POST", "/v1/tokens", {"name": name, "role": "member", "tenant": tenant})["token"]
        tokens["operator"] = call("admin", "POST", "/v1/tokens", {"name": "night", "role": "operator"})["token"]
        ours, whole = Receiver(), Receiver()
        for who, name, receiver in (("ours", "our-hook", ours), ("operator", "night-hook", whole), ("zebra-corp", "zebra-hook", Receiver())):
            call(who, "PUT", f"/v1/webhooks/{name}", {"url": f"http://127.0.0.1:{receiver.port}/{name}", "secret": SECRET})
        set_at = max(event["seq"] for event in call("ours", "GET", "/v1/events?limit=1000")["items"])
        job = {"gpus": 3, "queue": True, "parallelism": {"data": 3}}
        mine = call("ours", "POST", "/v1/jobs", {**job, "name": "first"})["id"]
        theirs = call("zebra-corp", "POST", "/v1/jobs", {**job, "name": "zebra-secret", "priority": "high"})["id"]
        wait_until(lambda: call("admin", "GET", f"/v1/jobs/{theirs}")["state"] == "placed", "the other's job evicts")
        behind = call("ours", "POST", "/v1/jobs", {**job, "name": "behind"})["id"]
        call("admin", "PUT", "/v1/reservations/zebra-window", {"from": "2099-01-01T00:00:00Z", "to": "2099-01-02T00:00:00Z", "job": {
            "tenant": "zebra-corp", "gpus": 4}})
        call("admin", "POST", "/v1/nodes/node-1/drain", {"reason": "for zebra-corp", "force": True})
        call("zebra-corp", "DELETE", f"/v1/jobs/{theirs}")
        call("ours", "DELETE", f"/v1/jobs/{behind}")
        call("admin", "PUT", "/v1/tenants/ours", {"description": "the last", "maxPriority": "high"})
        shown = [event for event in call("ours", "GET", "/v1/events?limit=1000")["items"] if event["seq"] > set_at]
        wait_until(lambda: shown[-1]["seq"] in ours.seqs() and shown[-1]["seq"] in whole.seqs(), "the last event")
        with ours.lock, whole.lock:
            got = [(dict(headers), body.decode()) for _, headers, body in ours.got]
            others = " ".join(body.decode() for _, _, body in whole.got)
        assert {event["type"] for event in shown} >= {"job.queued", "job.placed", "job.evicted", "job.ended", "tenant.put"}, shown
        for word in (other, theirs):
            assert word in others, word
        by_seq = {event["seq"]: event for event in shown}
        for headers, body in got:
            event = json.loads(body)
            if event["seq"] > set_at:
                assert event == by_seq[event["seq"]], (event, by_seq[event["seq"]])
            named = [word for word in (other, theirs, "night-hook") if word in body or word in json.dumps(headers)]
            assert not named, (named, headers, body)
        assert {json.loads(body)["seq"] for _, body in got} >= set(by_seq), "what its list shows is sent"
        assert hidden in " ".join(body for _, body in got) or mine in " ".join(body for _, body in got)
        service.stop()


def is_quiet_while_muted(programs):
    """What calls a person does not while the alarm is muted, also where it goes away and comes back; it does when the mute ends."""
    with tempfile.TemporaryDirectory() as folder:
        story, pager, archive = Story(programs, folder), Receiver(), Receiver()
        story.call("PUT", "/v1/fabric/topology?gpusPerNode=1", star_netlist(2))
        story.cli("tenants", "set", "research")
        story.cli("jobs", "submit", "--tenant", "research", "--gpus", "2")
        story.set(pager, types=["alarm."])
        story.set(archive, "archive", types=["alarm."])
        story.cli("webhooks", "set", "archive", "--muted")
        assert "Muted alarms" in story.cli("webhooks", "show", "archive") and "Muted alarms" not in story.cli("webhooks", "show", "pager")

        def told(receiver, *wanted):
            wait_until(lambda: len(receiver.got) >= len(wanted), f"{wanted} of {receiver.got}")
            assert [json.loads(body)["type"] for _, _, body in receiver.got] == list(wanted), receiver.got
            receiver.got.clear()

        def begins():
            now = datetime.datetime.now(datetime.timezone.utc)
            story.call("PUT", "/v1/reservations/upkeep", {"kind": "maintenance", "nodes": ["node-1"], "to": "2099-01-01T00:00:00Z",
                                                          "from": (now + datetime.timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")})
            wait_until(lambda: story.call("GET", "/v1/alarms")["items"], "the alarm")

        begins()
        [alarm] = story.call("GET", "/v1/alarms")["items"]
        story.cli("alarms", "mute", alarm["id"], "--for", "1h")
        for receiver in (pager, archive):
            told(receiver, "alarm.raised", "alarm.muted")
        story.cli("reservations", "remove", "upkeep")
        wait_until(lambda: not story.call("GET", "/v1/alarms")["items"], "it is over")
        begins()
        told(archive, "alarm.cleared", "alarm.raised")
        story.cli("alarms", "unmute", alarm["id"])
        told(archive, "alarm.unmuted")
        told(pager, "alarm.cleared", "alarm.unmuted")
        story.service.stop()


def main():
    programs = Path(sys.argv[1])
    for story in (tells_nothing_of_others, comes_through_trouble, is_given_up, names_are_checked_where_they_lead, is_quiet_while_muted):
        story(programs)
        print(f"{story.__name__}: well")


if __name__ == "__main__":
    main()
