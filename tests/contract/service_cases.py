"""The service's own endpoints, and what holds for every answer: HEAD, OPTIONS, gzip, request ids."""
import gzip
import json
import re
import time

import openapi_file

from job_cases import job


def endpoints(session):
    session.call("getHealth", 200)
    assert session.call("getSignIn", 200).json["oidc"] is None, "no provider is configured"
    assert session.call("getReadiness", 200).json["phase"] == "ready"
    metrics = session.call("getMetrics", 200)
    text = metrics.body.decode()
    assert "railweave_ready 1\n" in text and text.count("# TYPE") == text.count("# HELP") > 20
    assert metrics.header("Content-Type").startswith("text/plain; version=0.0.4")
    for name in ("process_cpu_seconds_total", "process_start_time_seconds", "process_resident_memory_bytes", "process_open_fds", "process_max_fds"):
        assert float(re.search(rf"^{name} (\S+)$", text, re.MULTILINE)[1]) > 0, name
    assert abs(float(re.search(r"^process_start_time_seconds (\S+)$", text, re.MULTILINE)[1]) - time.time()) < 3600


def reads_own_write(session):
    """A change says which event holds it; a read may ask for a state that has it."""
    changed = session.call("putTenant", 200, path={"name": "sequel"}, body={})
    seq = int(changed.header("Railweave-Seq"))
    assert session.call("getTenant", 200, path={"name": "sequel"}, query={"minSeq": str(seq)}).json["version"] <= seq
    session.call("getTenant", 412, "service.behind", path={"name": "sequel"}, query={"minSeq": str(seq + 1000)})
    session.call("getTenant", 400, "query.minSeq", path={"name": "sequel"}, query={"minSeq": "soon"}, valid=False)
    session.call("removeTenant", 204, path={"name": "sequel"})
    alone = session.call("getLeader", 200).json
    assert "leader" not in alone and alone["replica"]["leads"] and alone["replica"]["stalenessMs"] == 0, alone
    session.call("getLeader", 400, "query.unknownParameter", query={"who": "me"}, valid=False)


def contract_is_served(session):
    answer = session.call("getContract", 200)
    served = answer.body
    described = session.contract.operations["getContract"].responses[200]["content"]["application/yaml"]["schema"]
    assert not session.contract.errors_of(described, session.contract.document), "the contract is not what it says of itself"
    assert served == session.contract.text.encode(), "what /openapi.yaml serves is not api/openapi.yaml of this tree"


def compressed(session):
    """Large answers come compressed to those who can read that, under a tag of their own that is known again."""
    plain = session.call("getTopology", 200)
    packed = session.exchange("GET", "/v1/fabric/topology", {"Accept-Encoding": "gzip"}, None)
    assert packed.header("Content-Encoding") == "gzip" and packed.body == plain.body
    assert "Accept-Encoding" in packed.header("Vary") and "Accept-Encoding" in plain.header("Vary")
    tag = packed.header("ETag")
    assert tag == plain.header("ETag")[:-1] + '-gzip"', tag
    for known in (tag, plain.header("ETag")):
        session.call("getTopology", 304, headers={"If-None-Match": known, "Accept-Encoding": "gzip"})
        session.call("putTopology", 200, body=plain.body, headers={"If-Match": known})
    small = session.exchange("GET", "/healthz", {"Accept-Encoding": "gzip"}, None)
    assert small.header("Content-Encoding") is None

    body = json.dumps({"gpus": 2}).encode()
    session.call("queryPlacement", 200, body=gzip.compress(body), headers={"Content-Encoding": "gzip"})
    session.call("queryPlacement", 400, "http.badGzip", body=body, headers={"Content-Encoding": "gzip"})
    session.call("queryPlacement", 413, "http.bodyTooLarge", body=gzip.compress(b'{"gpus": 2' + b" " * (64 << 20) + b"}"),
                 headers={"Content-Encoding": "gzip"}, valid=True)  # 64 KiB that would become 64 MiB
    session.call("putTopology", 415, "http.contentEncoding", body=b"x", headers={"Content-Encoding": "deflate", "Content-Type": "text/plain"})


def head_and_options(session):
    """Every path: HEAD is GET without the body, OPTIONS tells the methods, any other method is 405 and tells them too."""
    contract = session.contract
    methods = {}
    for operation in contract.operations.values():
        methods.setdefault(operation.path, set()).add(operation.method)
    values = {"id": "job-000001", "name": "research"}
    for path, has in methods.items():
        target = path
        for name, value in values.items():
            target = target.replace("{" + name + "}", value)
        answer = session.exchange("OPTIONS", target, {}, None)
        allowed = {method.strip() for method in answer.header("Allow").split(",")}
        expected = has | {"OPTIONS"} | ({"HEAD"} if "GET" in has else set())
        assert answer.status == 204 and allowed == expected, f"{path} has {sorted(allowed)}, the contract says {sorted(expected)}"
        for method in {"GET", "PUT", "POST", "DELETE", "PATCH"} - has:
            answer = session.exchange(method, target, {}, None)
            assert answer.status == 405, f"{method} {path}: {answer.status}"
            contract.judge(None, answer)
        if "GET" in has and path != "/v1/events/stream":
            get = session.exchange("GET", target, {}, None)
            head = session.exchange("HEAD", target, {}, None)
            assert head.status == get.status and head.body == b"", f"HEAD {path}"
            for name in ("Content-Type", "ETag"):
                assert head.header(name) == get.header(name), f"HEAD {path}: {name}"


def request_ids(session):
    answer = session.exchange("GET", "/healthz", {"X-Request-Id": "trace-7.b"}, None)
    assert answer.header("X-Request-Id") == "trace-7.b"
    made = [session.exchange("GET", "/healthz", {"X-Request-Id": bad} if bad else {}, None).header("X-Request-Id")
            for bad in (None, "x" * 5000, "a b\"<>")]
    assert all(made) and len(set(made)) == 3 and "x" * 100 not in made[1] and " " not in made[2], made


def nothing_is_lost_by_a_restart(session):
    """Everything the API tells of the durable state is the same afterwards, and the Idempotency-Key still holds."""
    key = {"Idempotency-Key": "across a restart"}
    name = session.call("submitJob", 201, body=job(), headers=key).json["id"]
    reads = [("getFabric", {}), ("getTopology", {}), ("listNodes", {}), ("listLinks", {}), ("listJobs", {}), ("listTenants", {}),
             ("listEvents", {}), ("getJob", {"id": name}), ("listRanks", {"id": name})]
    before = [(answer.body, answer.header("ETag")) for answer in
              (session.call(operation, 200, path=path) for operation, path in reads)]
    session.close()
    assert session.service.stop() == 0
    session.service.start()
    after = [(answer.body, answer.header("ETag")) for answer in
             (session.call(operation, 200, path=path) for operation, path in reads)]
    for (operation, _), was, is_now in zip(reads, before, after):
        assert was == is_now, f"{operation} differs after a restart: {was} {is_now}"
    assert session.call("submitJob", 200, body=job(), headers=key).json["id"] == name
    session.call("cancelJob", 200, path={"id": name})


def fields_of_lists(session):
    """Every field that a list's items have can be selected, alone; a name that they do not have is refused."""
    lists = [operation for operation in session.contract.operations.values()
             if "query.unknownField" in operation.codes.get(400, [])]
    assert len(lists) >= 19, lists
    for operation in lists:
        path = {"id": "leaf-1"} if "{id}" in operation.path else {}
        schema = operation.responses[200]["content"]["application/json"]["schema"]
        items = openapi_file.resolve(session.contract.document, schema)["properties"]["items"]
        names = session.contract.fields_of(openapi_file.resolve(session.contract.document, items)["items"])
        assert names, operation.id
        for name in names:
            session.call(operation.id, 200, path=path, query={"fields": name})
        for unknown in ("bogus", "id,bogus", next(iter(names)).upper()):
            session.call(operation.id, 400, "query.unknownField", path=path, query={"fields": unknown})


def flags(session):
    """A flag is true or false: its bare name, which some take for no, is refused."""
    for operation, query in (("getMetrics", "links"), ("resetReroute", "force")):
        session.call(operation, 400, "query.invalidFlag", query={query: ""})


CASES = [endpoints, reads_own_write, contract_is_served, compressed, head_and_options, request_ids, fields_of_lists, flags, nothing_is_lost_by_a_restart]
