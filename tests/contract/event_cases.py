"""Events: as a list, and as they happen."""
import contextlib
import http.client
import json

from contract import ContractBroken
from session import TIMEOUT_S, Answer, until_deadline


def events(session):
    whole = session.call("listEvents", 200, query={"limit": "10000"}).json
    assert [event["seq"] for event in whole["items"]] == list(range(1, whole["seq"] + 1)), "every event once, in order"
    items, cursor = [], None
    while True:
        page = session.call("listEvents", 200, query={"limit": "7", **({"cursor": cursor} if cursor else {})}).json
        items += page["items"]
        cursor = page["nextCursor"]
        if cursor is None:
            break
    assert items == whole["items"]

    def seqs(query):
        return [event["seq"] for event in session.call("listEvents", 200, query=query).json["items"]]

    def those(wanted):
        return [event["seq"] for event in whole["items"] if wanted(event)]

    assert seqs([("type", "job.placed"), ("type", "job.ended"), ("limit", "10000")]) == those(
        lambda e: e["type"] in ("job.placed", "job.ended"))
    assert seqs({"subject": "tenant", "limit": "10000"}) == those(lambda e: e["subject"]["kind"] == "tenant")
    assert seqs({"subject": "job/job-000002"}) == those(lambda e: e["subject"] == {"kind": "job", "id": "job-000002"})
    assert seqs({"after": str(whole["seq"] - 2)}) == [whole["seq"] - 1, whole["seq"]]
    assert seqs({"after": "18446744073709551615"}) == [] == seqs({"type": "nothing"})
    session.call("listEvents", 200, query={"fields": "seq,summary", "limit": "3"})
    for query, code in (({"after": "-1"}, "query.invalidNumber"), ({"cursor": "next"}, "query.invalidNumber"),
                        ({"after": "18446744073709551616"}, "query.invalidNumber"), ({"subject": "/x"}, "query.invalidSubject"),
                        ({"since": "1"}, "query.unknownParameter")):
        session.call("listEvents", 400, code, query=query)
    session.call("listEvents", 400, "query.tooMany", query=[("type", f"t{i}") for i in range(33)])


def every_kind(session):
    """Of a service that all groups have used before: each kind of event that they cause is there, and no other."""
    whole = session.call("listEvents", 200, query={"limit": "10000"}).json
    seen = {event["type"] for event in whole["items"]}
    assert seen == {
        "topology.accepted", "tenant.put", "tenant.removed", "job.placed", "job.ended", "job.queued", "job.waits", "job.evicted",
        "job.moved", "job.checkpointed", "queue.policyPut", "reservation.put", "reservation.removed", "drain.requested",
        "drain.completed", "drain.cleared", "topology.differs", "contract.put", "contract.removed", "link.down", "link.up",
        "alarm.raised", "alarm.cleared", "job.damaged", "job.whole", "guarantee.atRisk", "job.changed", "job.held", "job.released",
        "job.reordered", "job.accepted", "job.running", "job.releasing", "job.freed", "job.overdue", "job.offerExpired",
        "job.moveOffered", "job.moveAccepted", "job.moveEnded", "job.stepsReported"}, f"all types were seen: {sorted(seen)}"


def stream(session):
    """What is told live is what the list tells; a resumed stream goes on where the first one broke off."""
    def seqs(events):
        return [event["seq"] for event in events]

    present = session.call("listEvents", 200, query={"limit": "10000"}).json
    with Stream(session, {"after": "0"}) as old:
        assert old.read(present["seq"]) == present["items"], "from the beginning, everything"
    with Stream(session) as live, Stream(session, {"type": "tenant.removed"}) as removed:
        session.call("putTenant", 200, path={"name": "streamed"}, body={})
        session.call("putTenant", 200, path={"name": "streamed"}, body={"maxGpus": 1})
        session.call("removeTenant", 204, path={"name": "streamed"})
        first = live.read(2)
        assert seqs(first) == [present["seq"] + 1, present["seq"] + 2], first
        assert seqs(removed.read(1)) == [present["seq"] + 3]
    with Stream(session, {"after": "0"}, {"Last-Event-ID": str(first[0]["seq"])}) as resumed:
        rest = resumed.read(2)
    assert seqs(rest) == [present["seq"] + 2, present["seq"] + 3], "Last-Event-ID goes before after; nothing twice, nothing lost"
    now = session.call("listEvents", 200, query={"after": str(present["seq"])}).json["items"]
    assert first + rest[1:] == now

    for query, headers, code in (({"after": "x"}, {}, "query.invalidNumber"), ({}, {"Last-Event-ID": "x"}, "query.invalidNumber"),
                                 ({"limit": "1"}, {}, "query.unknownParameter"), ({"subject": "/"}, {}, "query.invalidSubject")):
        session.call("streamEvents", 400, code, query=query, headers=headers)
    session.call("streamEvents", 400, "query.tooMany", query=[("type", f"t{i}") for i in range(33)])


def too_many_streams(session):
    with contextlib.ExitStack() as stack:
        for _ in range(256):
            stack.enter_context(Stream(session))
        answer = session.call("streamEvents", 503, "http.tooManyStreams")
        assert int(answer.header("Retry-After")) > 0
    for _ in until_deadline():  # the server notices closed streams with a delay
        with contextlib.suppress(ContractBroken), Stream(session):
            return
    raise AssertionError("the slots of closed streams are not freed")


class Stream:
    """An open event stream; read() takes whole events and holds each to the contract."""

    def __init__(self, session, query=None, headers=None):
        self.contract = session.contract
        operation = self.contract.operations["streamEvents"]
        self.connection = http.client.HTTPConnection("127.0.0.1", session.service.port, timeout=TIMEOUT_S)
        self.connection.request("GET", session.target(operation, {}, list((query or {}).items())), headers=headers or {})
        self.response = self.connection.getresponse()
        answer = Answer(self.response.status, self.response.getheaders(), b"" if self.response.status == 200 else self.response.read())
        try:
            self.contract.judge(operation, answer)
            if answer.status != 200:
                raise ContractBroken(f"the stream is answered with {answer.status}")
        except ContractBroken:
            self.connection.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.response.close()
        self.connection.close()

    def read(self, count):
        events = []
        while len(events) < count:
            fields = {}
            for line in iter(self._line, ""):
                name, _, value = line.partition(":")
                if name and name in fields:
                    raise ContractBroken(f"the field {name} comes twice in one event")
                fields[name] = value.removeprefix(" ")
            fields.pop("", None)  # comments
            if not fields:
                continue
            event = json.loads(fields["data"])
            schema = self.contract.document["components"]["schemas"]["Event"]
            errors = self.contract.errors_of(schema, event)
            if fields.keys() != {"id", "event", "data"} or fields["id"] != str(event["seq"]) or fields["event"] != event["type"]:
                errors.append(f"id and event do not say what data says: {fields}")
            if errors:
                raise ContractBroken(f"event stream: {errors[0]}")
            events.append(event)
        return events

    def _line(self):
        line = self.response.readline().decode()
        if not line.endswith("\n"):
            raise ContractBroken("the stream ended within an event")
        return line.rstrip("\r\n")


CASES = [events, every_kind, stream, too_many_streams]
