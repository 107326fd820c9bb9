"""What the contract promises for a service in trouble: too much waiting, too many callers, a store that cannot be written.

Each case gets a railweaved of its own, small enough to be overwhelmed.
"""
import contextlib
import http.client
import json
import resource
import select
import socket
import sqlite3
import time

from event_cases import Stream
from session import TIMEOUT_S, Answer, until_deadline
from small_fabric import LINK, fabric, guid

OTHER_LINK = f"{guid(1)}/4--{guid(0x140)}/1"  # leaf-1 to node-4

# With a link between sites.
FABRIC = {**fabric(), "sites": ["east", "west"], "siteLinks": [{"a": "east", "b": "west", "rateMbps": 100000}]}
WAN = {"id": "east--west"}
ALARM = {"id": "link.down:east--west"}

# Every operation that changes something, as a request that could succeed.
WRITES = {
    "submitJob": {"body": {"gpus": 1, "tenant": "a"}},
    "submitJobs": {"body": {"items": [{"key": "k", "gpus": 1, "tenant": "a"}]}},
    "changeJob": {"path": {"id": "job-000001"}, "body": {"expectedDuration": "PT1H"}},
    "cancelJob": {"path": {"id": "job-000001"}},
    "completeJob": {"path": {"id": "job-000001"}},
    "acceptJob": {"path": {"id": "job-000002"}},
    "runningJob": {"path": {"id": "job-000002"}},
    "freedJob": {"path": {"id": "job-000003"}},
    "putWebhook": {"path": {"name": "w"}, "body": {"url": "https://w.invalid", "secret": "0123456789abcdef"}},
    "removeWebhook": {"path": {"name": "kept"}},
    "putTenant": {"path": {"name": "b"}, "body": {"maxGpus": 7}},
    "removeTenant": {"path": {"name": "spare"}},
    "putContract": {"path": {"tenant": "a"}, "body": {"guaranteedGbps": 2}},
    "removeContract": {"path": {"tenant": "spare-2"}},
    "putQosClasses": {"body": {"items": [{"name": "only", "sharePermille": 900, "dscp": 1}]}},
    "putTopology": {"body": FABRIC},
    "checkpointJob": {"path": {"id": "job-000001"}},
    "reportJobSteps": {"path": {"id": "job-000001"}, "body": {"steps": 1, "seconds": 1}},
    "putQueuePolicy": {"body": {"backfill": "none"}},
    "putSubnetRouting": {"path": {"id": "compute"}, "body": {"spread": "adaptive"}},
    "putReservation": {"path": {"name": "r"}, "body": {"kind": "maintenance", "nodes": ["node-1"], "from": "2099-01-01T00:00:00Z",
                                                      "to": "2099-01-02T00:00:00Z"}},
    "removeReservation": {"path": {"name": "kept"}},
    "reportLink": {"path": WAN, "body": {"state": "up"}},
    "acknowledgeAlarm": {"path": ALARM, "body": {"note": "another"}},
    "unacknowledgeAlarm": {"path": ALARM},
    "muteAlarm": {"path": ALARM, "body": {"for": "PT2H"}},
    "unmuteAlarm": {"path": ALARM},
    "drainLink": {"path": {"id": LINK}, "body": {"force": True}},
    "drainSwitch": {"path": {"id": "spine-1"}, "body": {"force": True}},
    "drainNode": {"path": {"id": "node-3"}},
    "undrainLink": {"path": {"id": OTHER_LINK}},
    "releaseLink": {"path": {"id": OTHER_LINK}},
    "undrainSwitch": {"path": {"id": "spare"}},
    "undrainNode": {"path": {"id": "node-4"}},
    "patchNode": {"path": {"id": "node-1"}, "body": {"labels": {"gpu": "b200"}}},
    "patchNodes": {"body": {"nodes": [{"id": "node-2", "labels": {"gpu": "b200"}}]}},
}
# Every operation that may take its time, and so waits for a worker.
COMPUTED = {
    "getFabric": {}, "getFabricMap": {}, "getFindings": {}, "getTopology": {}, "putTopology": {"body": FABRIC}, "listNodes": {},
    "getNode": {"path": {"id": "node-1"}}, "patchNode": {"path": {"id": "node-1"}, "body": {"labels": {"a": "b"}}},
    "patchNodes": {"body": {"nodes": []}}, "listSwitches": {}, "getSwitch": {"path": {"id": "leaf-1"}}, "listLinks": {},
    "getLink": {"path": {"id": "a/1--b/1"}}, "getLinkTraffic": {"path": {"id": LINK}}, "getLinkHistory": {"path": {"id": LINK}}, "getSwitchHistory": {"path": {"id": "leaf-1"}}, "planInLab": {"body": {}}, "listNvlinkDomains": {}, "getNvlinkDomain": {"path": {"id": "nv-1"}},
    "listRails": {}, "listRacks": {}, "listSubnets": {}, "queryPlacement": {"body": {"gpus": 1}},
    "advisePlacement": {"body": {"job": {"gpus": 1}, "nodes": ["node-1"]}},
    "queryPlacements": {"body": {"items": [{"gpus": 1}]}}, "submitJobs": {"body": {"items": [{"key": "k", "gpus": 1, "tenant": "a"}]}}, "listJobs": {},
    "getJob": {"path": {"id": "job-000001"}}, "getJobPorts": {"path": {"id": "job-000001"}}, "getJobTraffic": {"path": {"id": "job-000001"}}, "getGains": {},
    "reportJobSteps": {"path": {"id": "job-000001"}, "body": {"steps": 1, "seconds": 1}}, "listWaiting": {}, "listShares": {}, "getStranded": {}, "getDefragmentation": {},
    "repairJob": {"path": {"id": "job-000001"}, "body": {}}, "putContract": {"path": {"tenant": "a"}, "body": {}},
    "getSubnet": {"path": {"id": "compute"}}, "getSync": {}, "getForwardingTable": {"path": {"id": "leaf-1"}}, "getSwitchQueues": {"path": {"id": "leaf-1"}}, "listAlarms": {},
    "reportLink": {"path": WAN, "body": {"state": "down"}}, "listDrains": {}, "drainLink": {"path": {"id": LINK}}, "drainSwitch": {"path": {"id": "leaf-1"}},
    "drainNode": {"path": {"id": "node-1"}},
    "listRanks": {"path": {"id": "job-000001"}}, "listEvents": {}, "listAudit": {}, "getRoutes": {}, "auditRoutes": {}, "getPath": {}, "getFdbs": {},
    "listGuarantees": {}, "listGuaranteedLinks": {}, "getCertificate": {}, "proposeReroute": {}, "setReroute": {"body": {}}, "resetReroute": {},
    "proposeJobRoutes": {"path": {"id": "compute"}}, "setJobRoutes": {"path": {"id": "compute"}}, "removeJobRoutes": {"path": {"id": "compute"}},
    "diffRoutes": {"body": {}},
    "acceptSubnetChanges": {"path": {"id": "compute"}, "body": {}},
    "getNodeBudgets": {"path": {"id": "node-1"}}, "reportNodeBudgets": {"path": {"id": "node-1"}, "body": {}},
}


class Pending:
    """A request that has been sent, on a connection of its own; its answer is read when it is asked for."""

    def __init__(self, session, operation_id, path=None, body=None, headers=None):
        self.session, self.operation = session, session.contract.operations[operation_id]
        self.connection = socket.create_connection(("127.0.0.1", session.service.port), timeout=TIMEOUT_S)
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{self.operation.method} {session.target(self.operation, path or {}, [])} HTTP/1.1\r\nHost: localhost\r\n"
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **(headers or {})}.items():
            head += f"{name}: {value}\r\n"
        self.connection.sendall(head.encode() + b"\r\n" + data)

    def answered_within(self, seconds):
        return bool(select.select([self.connection], [], [], seconds)[0])

    def answer(self):
        """Held to the contract."""
        with self.connection:
            response = http.client.HTTPResponse(self.connection, method=self.operation.method)
            response.begin()
            answer = Answer(response.status, response.getheaders(), response.read())
        self.session.contract.judge(self.operation, answer)
        return answer


def fill(session):
    session.call("putTopology", 200, body=FABRIC)
    session.call("putTenant", 200, path={"name": "a"}, body={})
    session.call("putTenant", 200, path={"name": "spare"}, body={})
    session.call("putTenant", 200, path={"name": "spare-2"}, body={})
    session.call("putContract", 200, path={"tenant": "spare-2"}, body={})
    session.call("submitJob", 201, body={"gpus": 1, "tenant": "a"})
    for _ in ("offered", "releasing"):
        session.call("submitJob", 201, body={"gpus": 1, "tenant": "a", "launcher": {"acceptWithin": "P1D"}})
    session.call("runningJob", 200, path={"id": "job-000003"})
    session.call("completeJob", 200, path={"id": "job-000003"})
    session.call("putWebhook", 200, path={"name": "kept"}, body={**WRITES["putWebhook"]["body"], "types": ["no.such"]})
    session.call("putReservation", 200, path={"name": "kept"}, body={"kind": "maintenance", "nodes": ["node-2"],
                                                                     "from": "2098-01-01T00:00:00Z", "to": "2098-01-02T00:00:00Z"})
    session.call("reportLink", 200, path=WAN, body={"state": "down"})
    session.call("acknowledgeAlarm", 200, path=ALARM)
    session.call("muteAlarm", 200, path=ALARM, body={"for": "PT2H"})
    for operation, thing in (("drainLink", OTHER_LINK), ("drainSwitch", "spare"), ("drainNode", "node-4")):
        session.call(operation, 200, path={"id": thing}, body={"force": True})


class HeldStore:
    """The store's write lock, held beside the service: the control loop waits in its next append, for up to five seconds."""

    def __init__(self, session):
        self.connection = sqlite3.connect(session.service.folder / "store.db", timeout=TIMEOUT_S, isolation_level=None)

    def __enter__(self):
        self.connection.execute("BEGIN IMMEDIATE")
        return self

    def __exit__(self, *_):
        self.connection.execute("ROLLBACK")
        self.connection.close()


def hold_the_loop(session, name):
    """One change in the append that waits for the store, and one in the queue, which has room for one: the requests.

    Further ones are refused then. One refused alone may have come before the loop took the first out of the queue."""
    waiting, refused = [], 0
    for number in range(1000):
        one = Pending(session, "putTenant", {"name": f"t{number % 16}"}, {"description": f"{name} {number}"})
        if not one.answered_within(0.05):
            waiting.append(one)
        elif sum(not earlier.answered_within(0) for earlier in waiting) >= 2:
            refused += 1
            if refused == 3:
                return waiting
    raise AssertionError("the queue never filled although the store is held")


def full_queue(session):
    """Room for one waiting change: while the loop waits for the store, each further one is answered 429 with Retry-After."""
    fill(session)
    statuses = set()
    # A mode can only be set to what it is here, which the queue does not know.
    moves = {"acceptMove": {"path": {"id": "job-000001"}}, "declineMove": {"path": {"id": "job-000001"}}, "offerMoves": {"body": {}}}
    for operation, request in {**WRITES, **moves, "repairJob": {"path": {"id": "job-000001"}, "body": {}}, "putSubnetMode": {"path": {"id": "compute"}, "body": {"mode": "observe"}}}.items():
        with HeldStore(session):
            waiting = hold_the_loop(session, operation)
            refused = session.call(operation, 429, "service.busy", **request)
        assert int(refused.header("Retry-After")) >= 1
        statuses |= {one.answer().status for one in waiting}
    assert statuses <= {200, 201, 429}, statuses
    session.call("putTenant", 200, path={"name": "after"}, body={})


def what_exists(session):
    """If-None-Match: * on what exists is 412, for everything that can be held to a version. This service has no key."""
    session.call("getCertificateKey", 404, "certificate.notSigned")
    fill(session)
    requests = {**WRITES, "putTenant": {"path": {"name": "a"}, "body": {}},
                "putContract": {"path": {"tenant": "spare-2"}, "body": {}},
                "putWebhook": {"path": {"name": "kept"}, "body": WRITES["putWebhook"]["body"]},
                "putReservation": {"path": {"name": "kept"}, "body": WRITES["putReservation"]["body"]},
                "repairJob": {"path": {"id": "job-000001"}, "body": {}}, "freedJob": {"path": {"id": "job-000001"}, "body": {}},
                "putSubnetMode": {"path": {"id": "compute"}, "body": {"mode": "observe"}}}
    held = [operation for operation in session.contract.operations.values()
            if "precondition.exists" in operation.codes.get(412, [])]
    assert len(held) >= 13, held
    for operation in held:
        session.call(operation.id, 412, "precondition.exists", headers={"If-None-Match": "*"}, **requests[operation.id])
    session.call("putTenant", 200, path={"name": "new"}, body={}, headers={"If-None-Match": "*"})


def too_many_wait(session):
    """One job of a tenant may wait; what its quota can never hold is refused at once."""
    fill(session)
    session.call("putTenant", 200, path={"name": "few"}, body={"quotaGpus": 1})
    session.call("submitJob", 422, "tenants.quotaTooSmall", body={"gpus": 2, "tenant": "few", "queue": True})
    session.call("submitJob", 201, body={"gpus": 1, "tenant": "few", "queue": True})
    session.call("submitJob", 201, body={"gpus": 1, "tenant": "few", "queue": True})
    answer = session.call("submitJob", 429, "tenants.tooManyWaiting", body={"gpus": 1, "tenant": "few", "queue": True})
    assert int(answer.header("Retry-After")) >= 1


def busy_workers(session):
    """One worker, held by long imports, and 256 requests waiting for it: every further one is answered 429, of a caller that has used
    more than a little; until then it has another worker."""
    fill(session)
    # Each takes some 0.2 s, and is refused at its end: it lacks the running job's node.
    large = {"railweave": "fabric", "version": 1, "switches": [{"name": f"s{i}", "ports": 1024} for i in range(2000)]}
    for imports in (4, 8, 16, 32):
        until = time.monotonic() + 2
        while time.monotonic() < until:  # what was used is forgotten in ten seconds
            session.call("queryPlacement", 200, body={"tenant": "a", "gpus": 2, "parallelism": {"data": 2}})
        slow = [Pending(session, "putTopology", body=large) for _ in range(imports)]
        waiting = [Pending(session, "getFabric") for _ in range(260)]
        refused = [Pending(session, operation, **request) for operation, request in COMPUTED.items()]
        answers = [one.answer() for one in refused]
        for one in waiting + slow:
            one.answer()
        if all(answer.status == 429 for answer in answers):
            break
    assert {answer.code() for answer in answers} == {"http.computeBusy"}, [answer.status for answer in answers]
    session.call("getFabric", 200)


def too_many_connections(session):
    """Connections that are of use to their clients stay."""
    session.close()
    with contextlib.ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(Stream(session))
        answer = Pending(session, "getHealth").answer()
        assert (answer.status, answer.code()) == (503, "http.tooManyConnections"), answer.body


def silent_connections(session):
    """As many as there may be that say nothing, or nothing more: who comes is served at once, from their address and from another."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
    request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    idle = []
    try:
        for said in (b"", request[:20], request):
            for _ in range(1024):
                idle.append(socket.create_connection(("127.0.0.1", session.service.port), timeout=TIMEOUT_S))
                idle[-1].sendall(said)
                if said == request:
                    assert idle[-1].recv(4096).startswith(b"HTTP/1.1 200"), "served"
            for source in ("127.0.0.1", "127.0.0.2"):
                began = time.monotonic()
                with socket.create_connection(("127.0.0.1", session.service.port), timeout=5, source_address=(source, 0)) as one:
                    one.sendall(request)
                    assert one.recv(4096).startswith(b"HTTP/1.1 200"), (said, source)
                assert time.monotonic() - began < 2, (said, source)
    finally:
        for connection in idle:
            connection.close()


def unwritable_store(session):
    """Nothing is acknowledged that is not stored: 503 for every change, reads as ever; a restart finds what there was."""
    fill(session)
    before = {operation: session.call(operation, 200).json for operation in ("getFabric", "listJobs", "listTenants", "listEvents")}
    process = session.service.process.pid
    largest = max(file.stat().st_size for file in session.service.folder.iterdir())
    unlimited = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (min(4096, largest), unlimited[1]))
    try:
        for operation, request in WRITES.items():
            if operation == "releaseLink":
                continue  # without a live subnet no link flaps, so there is nothing that could be stored
            request = dict(request, body=fabric(3)) if operation == "putTopology" else request
            query = {"force": "true"} if operation == "putTopology" else {}
            answer = session.call(operation, 503, query=query, **request)
            assert int(answer.header("Retry-After")) >= 1
        assert session.call("getReadiness", 503).json["phase"] == "storeFailed"
        for operation, was in before.items():
            assert session.call(operation, 200).json == was, f"{operation} shows what is not stored"
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, unlimited)
    session.close()
    session.service.stop()  # after an I/O error the store stays closed to writes
    session.service.start()
    for operation, was in before.items():
        assert session.call(operation, 200).json == was, f"{operation} shows something else after a restart"
    session.call("putTenant", 200, path={"name": "b"}, body={"maxGpus": 7})
    assert session.call("getReadiness", 200).json["phase"] == "ready"


# Each with the configuration of its service.
def events_gone(session):
    """A reader that resumes behind what is kept is told, with the oldest number there is."""
    seq, first = 0, session.call("putTenant", 200, path={"name": "t"}, body={}).json["version"]
    for _ in until_deadline():
        for number in range(100):
            seq = session.call("putTenant", 200, path={"name": "t"}, body={"description": f"{seq} {number}"}).json["version"]
        answer = session.call("listEvents", (200, 410), query={"after": str(first), "limit": "1"})
        if answer.status == 410:
            break
    oldest = 0
    for _ in until_deadline():  # they are removed behind the changes
        answer = session.call("listEvents", 410, "events.gone", query={"after": str(first), "limit": "1"})
        if answer.json["oldest"] == oldest:
            break
        oldest = answer.json["oldest"]
        time.sleep(0.5)
    assert answer.code() == "events.gone" and first + 1 < oldest < seq, answer.json
    assert str(oldest) in answer.json["detail"], answer.json
    for query in ({"after": str(oldest - 2)}, {"cursor": str(oldest - 2)}, {"after": str(oldest - 2), "type": "tenant.put"}):
        session.call("listEvents", 410, "events.gone", query=query)
    session.call("streamEvents", 410, "events.gone", query={"after": str(oldest - 2)})
    session.call("streamEvents", 410, "events.gone", headers={"Last-Event-ID": str(oldest - 2)})
    for query in ({}, {"after": "0"}, {"after": str(oldest - 1)}):
        events = session.call("listEvents", 200, query={**query, "limit": "1"}).json["items"]
        assert [event["seq"] for event in events] == [oldest], (query, events)
    for query in ({"after": "0"}, {"after": str(oldest - 1)}):
        with Stream(session, query) as stream:
            assert stream.read(1)[0]["seq"] == oldest, query


CASES = [(events_gone, {"keep_events": 200, "snapshot_every": 50}), (full_queue, {"queue_limit": 1}), (busy_workers, {"compute_threads": 1}), (too_many_connections, {"max_connections": 8}), (silent_connections, {}),
         (unwritable_store, {}), (what_exists, {}),
         (too_many_wait, {"max_waiting_jobs": 1})]
