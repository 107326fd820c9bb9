"""Malformed requests, from a seed: documents with something about them changed, bytes with something about
them broken, parameters and headers at random. The answer must be one that the contract documents, never a 5xx; the service
must stay up; and what is refused must have changed nothing.

The contract decides what may be accepted: a body that it allows goes only where nothing can come of it, and a body that it
does not allow must be refused.
"""
import copy
import json
import random
import urllib.parse

from contract import ContractBroken
from event_cases import Stream
from job_cases import everything, job
from small_fabric import LINK, NETLIST, fabric

STRANGE = ["", " ", "0", "-0", "-1", "1.5", "1e3", "01", "+1", "0x10", "null", "true", "\u00e9", "\u202e", "\ud7ff", "\U0001f680", "'",
           '"', "\\", "%", "%25", "..", "../..", "a/b", "{}", "[]", "*", "job-", "job-000001", "job--1", "lid:1", "lid:65536",
           "lid:-1", "op-000001", "v1.0", "v99999999999999999999.1", "node-1", "leaf-1", LINK, LINK + "--" + LINK, "--", "/", "//",
           "18446744073709551615", "18446744073709551616", "9223372036854775807", "9223372036854775808", "4294967295",
           "4294967296", "1" * 400, "a" * 254, "a" * 3000, "--" * 500, "id,id,id", ",,,", "topology.accepted", "respond-async",
           '"topology.1"', "W/\"x\"", '"', '""', "\u3000", "select 1;--", "$(reboot)", "<script>", "%n%n%s"]
VALUES = [None, True, False, 0, 1, -1, 2, 1.5, 1e3, 1e15, 1e300, -1e300, 2**31, 2**32, 2**53, 2**63, 2**64, 10**12, 10**40, "", "x", "node-1",
          "rack", "nvlinkDomain", "PT1H", "PT", "P", "\u0000", "\u001b[2J", "n" * 300, [], {}, [[]], [None], {"": None}, {"a": {"a": {}}},
          ["node-1"] * 50, [1, 2, 3], {"required": "rack"}]


ANY = tuple(range(200, 500))  # which of these, the contract says
# Rules between fields, lengths in bytes, and what exists at present: a schema does not say them.
LAX = {"jobs.invalid", "body.invalidField", "tenants.unknown"}


class Hostile:
    def __init__(self, session, seed):
        self.session, self.random = session, random.Random(seed)
        self.requests, self.refused = 0, 0

    def call(self, operation, **request):
        answer = self.session.call(operation, ANY, **request)
        self.requests += 1
        self.refused += answer.status >= 400
        return answer

    def state(self):
        """What must not change: the durable state, as it is told."""
        return [self.session.call(operation, 200, query={"limit": "10000"} if operation.startswith("list") else {}).body
                for operation in ("getFabric", "listJobs", "listTenants", "listNodes", "listEvents")]

    # --- documents

    def mutated(self, document):
        """A copy with one to three things about it changed: renamed, left out, doubled, made larger, made something else."""
        root = [copy.deepcopy(document)]
        for _ in range(self.random.choice([1, 1, 1, 2, 3])):
            holder, key = self.random.choice(list(places(root)))
            how = self.random.randrange(6)
            if holder is root:
                root[0] = copy.deepcopy(self.random.choice([root[0]] * 3 + VALUES))
            elif how == 0 and isinstance(holder, dict):
                name = self.random.choice([key + "s", key.upper(), "", "x" * 400, "a/b~c", "\u0000", "__proto__", "gpus", "name"])
                holder[name] = holder.pop(key)
            elif how == 1:
                del holder[key]
            elif how == 2 and isinstance(holder, list):
                holder.insert(key, copy.deepcopy(holder[key]))
            elif how == 3 and isinstance(holder[key], (int, float)):
                holder[key] = self.random.choice([-holder[key], holder[key] + 1, holder[key] * 1e6, holder[key] + 0.5, 2**62])
            else:
                holder[key] = copy.deepcopy(self.random.choice(VALUES))
        return root[0]

    def broken(self, data):
        """Bytes with one to three things about them changed."""
        data = bytearray(data)
        for _ in range(self.random.choice([1, 1, 2, 3])):
            at = self.random.randrange(len(data) + 1)
            how = self.random.randrange(5)
            if how == 0:
                del data[at:at + self.random.choice([1, 1, 10, 1000])]
            elif how == 1:
                data[at:at] = self.random.randbytes(self.random.choice([1, 1, 4, 100]))
            elif how == 2:
                data[at:at] = self.random.choice([b"{", b"}", b"[", b"]", b",", b'"', b"\\", b"\x00", b"\n", b"1e999", b"\xef\xbb\xbf"])
            elif how == 3:
                data[at:at] = data[at:at + 200] * self.random.choice([1, 2, 50])
            elif at < len(data):
                data[at] ^= 1 << self.random.randrange(8)
        return bytes(data)

    def job_bodies(self, count):
        seeds = [everything(), {"gpus": 4}, job(), {"parallelism": {"tensor": 4, "data": 2}, "topology": {"job": {"required": "rack"}}}]
        schema = self.session.contract.document["components"]["schemas"]["JobSpec"]
        for _ in range(count):
            document = self.random.choice(seeds)
            if self.random.random() < 0.6:
                body = json.dumps(self.mutated(document)).encode()
            else:
                body = self.broken(json.dumps(document).encode())
            allowed = not self.errors_of(schema, body)
            for operation in ("queryPlacement",) if allowed else ("queryPlacement", "submitJob"):
                answer = self.call(operation, body=body, headers=self.headers() if operation == "submitJob" else None)
                if allowed and answer.status >= 400 and answer.code() not in LAX:
                    raise ContractBroken(f"the contract allows {body!r:.300}, the server says {answer.body!r:.300}")
                if not allowed and answer.status < 400:
                    raise ContractBroken(f"the contract does not allow {body!r:.300}, the server takes it")

    def tenant_bodies(self, count):
        schema = self.session.contract.document["components"]["schemas"]["TenantSpec"]
        for _ in range(count):
            document = {"description": "d", "maxGpus": 4}
            body = json.dumps(self.mutated(document)).encode() if self.random.random() < 0.6 else self.broken(json.dumps(document).encode())
            if body and self.errors_of(schema, body):
                answer = self.call("putTenant", path={"name": "hostile"}, body=body)
                if answer.status < 400:
                    raise ContractBroken(f"the contract does not allow {body!r:.300}, the server takes it")

    def errors_of(self, schema, body):
        try:
            return self.session.contract.errors_of(schema, json.loads(body))
        except (ValueError, RecursionError):
            return ["not JSON"]

    def topologies(self, count):
        """What is refused changes nothing; what is accepted the contract must allow, and it is put right again."""
        present = self.session.call("getFabric", 200)
        for _ in range(count):
            kind = self.random.randrange(4)
            if kind == 0:
                body, sent_as = json.dumps(self.mutated(fabric())).encode(), "application/json"
            elif kind == 1:
                body, sent_as = self.broken(json.dumps(fabric()).encode()), "application/octet-stream"
            elif kind == 2:
                body, sent_as = self.broken(NETLIST.encode()), "text/plain"
            else:
                body, sent_as = self.random.randbytes(self.random.choice([1, 10, 1000])), "text/plain"
            query = {"format": "native"} if kind == 0 else {}
            answer = self.call("putTopology", body=body, query=query, headers={"Content-Type": sent_as})
            now = self.session.call("getFabric", 200)
            if answer.status >= 400:
                if now.body != present.body:
                    raise ContractBroken(f"a refused import changed the fabric: {body!r:.300}")
            elif now.json["digest"] != present.json["digest"]:
                self.session.call("putTopology", 200, body=fabric(), query={"source": "by hand"})
                present = self.session.call("getFabric", 200)

    # --- parameters and headers

    def headers(self):
        headers = {}
        for name in ("If-Match", "If-None-Match", "Last-Event-ID", "Prefer", "Accept-Encoding", "Accept", "Range", "X-Request-Id",
                     "Idempotency-Key", "Content-Language", "Authorization", "Cookie"):
            if self.random.random() < 0.15:
                value = self.random.choice(STRANGE)
                headers[name] = value.encode().decode("latin-1")
        return headers

    def parameters(self, count):
        operations = [operation for operation in self.session.contract.operations.values() if operation.id != "streamEvents"]
        for _ in range(count):
            operation = self.random.choice(operations)
            path = {parameter["name"]: self.random.choice(STRANGE) for parameter in operation.parameters if parameter["in"] == "path"}
            known = [parameter["name"] for parameter in operation.parameters if parameter["in"] == "query"]
            query = [(self.random.choice(known or ["x"]) if self.random.random() < 0.9 else self.random.choice(STRANGE),
                      self.random.choice(STRANGE)) for _ in range(self.random.choice([0, 1, 1, 2, 3]))]
            headers = self.headers()
            headers.pop("Accept-Encoding", None)
            body = None
            if operation.id == "putTopology":
                body, headers["Content-Type"] = "nothing of a fabric", "text/plain"
            elif operation.body is not None:
                body = "[]"
            target = operation.path
            for name, value in path.items():
                target = target.replace("{" + name + "}", urllib.parse.quote(value, safe=""))
            if query:
                target += "?" + urllib.parse.urlencode(query)
            answer = self.session.exchange(operation.method, target, headers, body)
            self.requests += 1
            self.refused += answer.status >= 400
            try:
                if answer.status >= 500:
                    raise ContractBroken(f"answered with {answer.status}: {answer.body!r:.300}")
                fields = next(([part for part in value.split(",") if part] or None for name, value in query if name == "fields"), None)
                self.session.contract.judge(operation, answer, fields)
            except ContractBroken as broken:
                raise ContractBroken(f"{operation.method} {target[:300]} {headers}: {broken}") from broken

    def streams(self, count):
        for _ in range(count):
            query = [(self.random.choice(["after", "type", "subject", "x"]), self.random.choice(STRANGE))]
            answer = self.session.exchange("HEAD", "/v1/events/stream?" + urllib.parse.urlencode(query), self.headers(), None)
            self.requests += 1
            self.refused += answer.status >= 400
            if answer.status not in (200, 400):
                raise ContractBroken(f"a stream with {query} is answered with {answer.status}")
        with Stream(self.session, {"after": "18446744073709551615"}):
            pass


def places(value):
    """Every (container, key) below."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from places(value[key])


def run(session, seed, scale=1.0):
    """What to say about it in the end."""
    hostile = Hostile(session, seed)
    running = session.call("submitJob", 201, body=job(parallelism={"tensor": 4, "data": 4})).json["id"]
    for part, count in ((hostile.job_bodies, 400), (hostile.tenant_bodies, 150), (hostile.parameters, 800), (hostile.streams, 60)):
        before = hostile.state()
        part(int(count * scale))
        if hostile.state() != before:
            raise ContractBroken(f"{part.__name__}: what was refused changed the state")
    hostile.topologies(int(250 * scale))
    session.call("getHealth", 200)
    assert session.call("getReadiness", 200).json["phase"] == "ready"
    assert session.call("getJob", 200, path={"id": running}).json["state"] == "placed"
    session.call("cancelJob", 200, path={"id": running})
    return f"{hostile.requests} hostile requests by seed {seed}, {hostile.refused} refused as documented, nothing changed by them"
