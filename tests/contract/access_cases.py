"""Who may call what, on a service that asks for tokens: every operation with every role against the contract's x-roles, and what
a member gets to see of other tenants (nothing). No answer here is judged by what the service believes of itself: the roles are
the contract's, and what must not be seen is looked for in the text of the answers."""
import json
import re
import time

from event_cases import Stream
from job_cases import job
from session import Session, until_deadline
from small_fabric import fabric

ROLES = ("viewer", "member", "operator", "agent", "administrator")
OF = {"member": {"tenant": "a"}, "agent": {"node": "node-1"}}
SECRET = "A" * 43


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


class Caller:
    """A session whose every request shows one token."""

    def __init__(self, service, contract, token):
        self.session, self.token = Session(service, contract), token

    def call(self, operation, expect, code=None, *, headers=None, **rest):
        return self.session.call(operation, expect, code, headers={**bearer(self.token), **(headers or {})}, **rest)


def first_token(service):
    file = service.folder / "store.db.admin-token"
    assert file.stat().st_mode & 0o777 == 0o600, oct(file.stat().st_mode)
    return file.read_text().strip()


def callers(service, contract):
    """One of each role; the member is of tenant a, the agent of node-1."""
    admin = Caller(service, contract, first_token(service))
    admin.call("putTopology", 200, body=fabric())
    for tenant in ("a", "b"):
        admin.call("putTenant", 200, path={"name": tenant}, body={})
    made = {"administrator": admin}
    for role in ROLES[:-1]:
        body = {"name": f"some-{role}", "role": role, **OF.get(role, {})}
        token = admin.call("issueToken", 201, body=body).json
        assert token["issuedBy"] == "administrator" and token["state"] == "valid", token
        made[role] = Caller(service, contract, token["token"])
    return made


def every_operation_and_role(service, contract):
    by_role = callers(service, contract)
    asked = 0
    for operation in contract.operations.values():
        may = operation.roles
        path = {parameter["name"]: "nothing" for parameter in operation.parameters if parameter["in"] == "path"}
        body = {} if operation.body else None
        if operation.id == "streamEvents":
            asked += streams_by_role(by_role, may)
            continue
        none = by_role["viewer"].session.call(operation.id, ANY, path=path, body=body)
        assert (none.code() == "auth.missing") == (may is not None), (operation, none.status, none.code())
        for role in ROLES:
            answer = by_role[role].call(operation.id, ANY, path=path, body=body)
            refused = answer.status in (401, 403)
            assert refused == (may is not None and role not in may), (str(operation), role, answer.status, answer.body[:200])
            assert not refused or answer.code() == "auth.forbidden", (str(operation), role, answer.code())
            asked += 1
    assert asked == len(ROLES) * len(contract.operations) and asked > 300, asked


def streams_by_role(by_role, may):
    """A stream never ends: its status is read, and no more. How many roles were tried."""
    session = by_role["viewer"].session
    session.call("streamEvents", 401, "auth.missing")
    for role in ROLES:
        if role not in may:
            by_role[role].call("streamEvents", 403, "auth.forbidden")
            continue
        with Stream(session, headers=bearer(by_role[role].token)):
            pass  # judged as it opens
    return len(ROLES)


class _Any:
    """Every status: `answer.status in ANY`."""

    def __contains__(self, status):
        return True


ANY = _Any()


def bad_tokens(service, contract):
    stranger = Session(service, contract)
    admin = Caller(service, contract, first_token(service))
    known = admin.token.split("_")[1]
    for code, headers in (("auth.missing", {}),
                          ("auth.scheme", {"Authorization": "Basic YTpi"}),
                          ("auth.scheme", {"Authorization": "Bearer"}),
                          ("auth.scheme", {"Authorization": admin.token}),
                          ("auth.scheme", bearer("")),
                          ("auth.invalid", bearer("rw_" + known)),
                          ("auth.invalid", bearer(admin.token + "A")),
                          ("auth.invalid", bearer(admin.token[:-1])),
                          ("auth.invalid", bearer(admin.token[:-1] + ("B" if admin.token[-1] == "A" else "A"))),
                          ("auth.invalid", bearer(f"rw_{known}_{SECRET}")),
                          ("auth.invalid", bearer(f"rw_{'z' * 12}_{admin.token.split('_', 2)[2]}"))):
        answer = stranger.call("listJobs", 401, code, headers=headers)
        assert answer.header("WWW-Authenticate") == "Bearer", answer.headers
        stranger.call("putTenant", 401, code, path={"name": "c"}, body={}, headers=headers)
    # Only a replica says for whom it asks (tests/integration/replicas_callers_test.py has those).
    for headers in ({"Railweave-On-Behalf": "socket root"}, {"Railweave-On-Behalf": ""},
                    {"Railweave-On-Behalf": "certificate administrator", **bearer(admin.token)}):
        stranger.call("listJobs", 403, "auth.onBehalf", headers=headers)
        stranger.call("putTenant", 403, "auth.onBehalf", path={"name": "c"}, body={}, headers=headers)
    # The scheme's case does not matter, and blanks before the token are none of it.
    stranger.call("getCaller", 200, headers={"Authorization": f"bearer   {admin.token}"})
    assert admin.call("getCaller", 200).json == {"name": "administrator", "role": "administrator", "tenant": None,
                                                 "node": None, "authentication": "token"}
    # What is not a resource is not one to stranger either, and bodies of strangers are not read.
    assert stranger.exchange("GET", "/v1/nothing", {}, None).status == 404
    assert stranger.exchange("PUT", "/v1/fabric/topology", {"Content-Length": "268435456"}, None).status == 401


def tokens_end(service, contract):
    admin = Caller(service, contract, first_token(service))
    issued = admin.call("issueToken", 201, body={"name": "night-shift", "role": "operator"}).json
    shift = Caller(service, contract, issued["token"])
    shift.call("getCaller", 200)
    # The second asks for events after a number that is not reached yet, which are all that come.
    streams = []
    for asked in ("", "?after=4000000000"):
        stream = service.connect(timeout=20)
        stream.request("GET", "/v1/events/stream" + asked, headers=bearer(issued["token"]))
        streams.append((stream, stream.getresponse()))
        assert streams[-1][1].status == 200
    admin.call("revokeToken", 204, path={"id": issued["id"]})
    shift.call("getCaller", 401, "auth.invalid")
    for stream, events in streams:
        assert b"token.revoked" not in events.read(), "a stream ends with its token"  # read() returns at its end
        stream.close()
    admin.call("revokeToken", 404, "tokens.notFound", path={"id": issued["id"]})
    soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 2))
    issued = admin.call("issueToken", 201, body={"name": "visitor", "role": "viewer", "expiresAt": soon}).json
    assert issued["expiresAt"].startswith(soon[:-1]), issued
    visitor = Caller(service, contract, issued["token"])
    for _ in until_deadline():
        if visitor.call("getCaller", (200, 401)).status == 401:
            break
        time.sleep(0.1)
    visitor.call("getCaller", 401, "auth.expired")
    listed = {token["id"]: token for token in admin.call("listTokens", 200).json["items"]}
    assert listed[issued["id"]]["state"] == "expired" and "token" not in listed[issued["id"]], listed
    admin.call("issueToken", 400, "tokens.expired", body={"name": "late", "role": "viewer", "expiresAt": soon})
    mine = admin.token.split("_")[1]
    admin.call("revokeToken", 409, "tokens.lastAdministrator", path={"id": mine})
    another = admin.call("issueToken", 201, body={"name": "second", "role": "administrator"}).json
    admin.call("revokeToken", 204, path={"id": mine})
    admin.call("getCaller", 401, "auth.invalid")
    second = Caller(service, contract, another["token"])
    # No secret and no hash of one is anywhere in what is read.
    for operation in ("listTokens", "listEvents"):
        text = second.call(operation, 200, query={"limit": "1000"}).body.decode()
        assert another["token"].split("_", 2)[2] not in text, operation
    # After a start of the same store the tokens are the same, and no administrator is issued again.
    (service.folder / "store.db.admin-token").unlink()
    assert service.stop() == 0
    service.start()
    again = Caller(service, contract, another["token"])
    again.call("getCaller", 200)
    assert not (service.folder / "store.db.admin-token").exists()
    again.call("issueToken", 404, "tenants.notFound", body={"name": "m", "role": "member", "tenant": "absent"})
    for body in ({"name": "m", "role": "member"}, {"name": "g", "role": "agent"}, {"name": "g", "role": "agent", "node": "n" * 256},
                 {"name": "v", "role": "viewer", "node": "node-1"}, {"name": "g", "role": "agent", "node": "node-1", "tenant": "a"}, {"name": "v", "role": "viewer", "tenant": "a"}, {"name": "a b", "role": "viewer"},
                 {"name": "", "role": "viewer"}, {"name": "x", "role": "king"}, {"name": "x", "role": "viewer", "expiresAt": "soon"}):
        again.call("issueToken", 400, "body.invalidField", body=body)
    again.call("issueToken", 400, "body.missingField", body={"role": "viewer"})
    again.call("issueToken", 400, "body.unknownField", body={"name": "x", "role": "viewer", "secret": "mine"})
    again.call("issueToken", 400, "body.invalidField", body={"name": 7, "role": "viewer"})
    again.call("issueToken", 400, "body.wrongType", body=[])
    again.call("issueToken", 400, "body.notJson", body="{")
    again.call("issueToken", 400, "query.unknownParameter", body={"name": "x", "role": "viewer"}, query={"a": "b"})
    again.call("listTokens", 400, "query.unknownField", query={"fields": "sha256"})
    again.call("listTokens", 400, "query.invalidNumber", query={"limit": "x"})
    again.call("listTokens", 400, "query.unknownParameter", query={"role": "viewer"})
    again.call("revokeToken", 400, "query.unknownParameter", path={"id": "x"}, query={"force": "true"})
    again.call("getCaller", 400, "query.unknownParameter", query={"a": "b"})


def members_see_their_own(service, contract):
    by_role = callers(service, contract)
    admin, member = by_role["administrator"], by_role["member"]
    # Jobs of both tenants over common links: each slows the other.
    across = {"gpus": 2, "parallelism": {"data": 2}, "gpusPerNode": 1, "nodes": ["node-1", "node-2"],
              "traffic": {"data": {"bytesPerStep": 1e9}}}
    theirs = admin.call("submitJob", 201, body=job(**across, tenant="b", name="their-secret")).json["id"]
    ours = member.call("submitJob", 201, body={key: value for key, value in job(**across, name="ours").items() if key != "tenant"}).json
    assert ours["tenant"] == "a", ours
    event = admin.call("listEvents", 200, query={"subject": f"job/{ours['id']}"}).json["items"][0]
    assert event["actor"] == "some-member", event
    for tenant, terms in (("a", 1), ("b", 2)):
        admin.call("putContract", 200, path={"tenant": tenant}, body={"guaranteedGbps": terms})
    assert [item["id"] for item in member.call("listJobs", 200).json["items"]] == [ours["id"]]
    assert not member.call("listJobs", 200, query={"tenant": "b"}).json["items"]
    assert [item["id"] for item in member.call("listTenants", 200).json["items"]] == ["a"]
    assert [item["id"] for item in member.call("listTenants", 200, query={"limit": "1"}).json["items"]] == ["a"]
    assert len(member.call("listContracts", 200).json["items"]) == 1
    member.call("getTenant", 404, "tenants.notFound", path={"name": "b"})
    member.call("getTenantContract", 404, "contracts.notFound", path={"tenant": "b"})
    for operation in ("getJob", "listRanks", "cancelJob", "completeJob", "checkpointJob", "getJobSteps", "getJobCaps", "getJobPartition"):
        member.call(operation, 404, "jobs.notFound", path={"id": theirs})
    member.call("repairJob", 404, "jobs.notFound", path={"id": theirs}, body={})
    member.call("cancelJob", 404, "jobs.notFound", path={"id": theirs}, headers={"If-Match": f'"{theirs}.1"'})
    member.call("submitJob", 400, "tenants.unknown", body=job(**across, tenant="b"))
    member.call("queryPlacement", 400, "tenants.unknown", body=job(**across, tenant="b"))
    assert admin.call("getJob", 200, path={"id": theirs}).json["state"] == "placed"
    # Nothing that a member is answered names the other tenant's job, though it slows this one.
    slowed = admin.call("getJob", 200, path={"id": ours["id"]}).json["withContention"]
    assert theirs in json.dumps(slowed), "the jobs share links, or this shows nothing"
    answers = [member.call("getJob", 200, path={"id": ours["id"]}), member.call("listJobs", 200),
               member.call("queryPlacement", 200, body=job(**across, tenant="a")),
               member.call("getTenant", 200, path={"name": "a"}), member.call("getFabric", 200),
               member.call("listRanks", 200, path={"id": ours["id"]}), member.call("getQosClasses", 200)]
    for answer in answers:
        assert theirs not in answer.body.decode() and "their-secret" not in answer.body.decode(), answer.body[:2000]
    assert answers[0].json["withContention"]["slowdown"] == slowed["slowdown"], "that it is slowed is said"
    # Nor why its job waits: for GPUs that the other tenant's job holds.
    large = admin.call("submitJob", 201, body={**job(tenant="b", name="large"), "gpus": 12, "parallelism": {"data": 12},
                                               "expectedDuration": "PT2H"}).json["id"]
    waits = member.call("submitJob", 201, body={**job(tenant="a", name="patient"), "gpus": 8, "parallelism": {"data": 8}, "queue": True}).json
    assert waits["state"] == "queued", waits
    for _ in until_deadline():
        seen = member.call("getJob", 200, path={"id": waits["id"]})
        if seen.json["waits"]:
            break
        time.sleep(0.05)
    told = admin.call("getJob", 200, path={"id": waits["id"]}).json["waits"]
    assert told["job"] == large, told
    assert large not in seen.body.decode() and seen.json["waits"]["job"] is None, seen.json["waits"]
    admin.call("removeTenant", 409, path={"name": "a"})
    member.call("cancelJob", 200, path={"id": waits["id"]})
    member.call("cancelJob", 200, path={"id": ours["id"]})
    admin.call("removeContract", 204, path={"tenant": "a"})
    admin.call("removeTenant", 409, "tenants.inUse", path={"name": "a"})  # the member's token names it


def events_by_role(service, contract):
    """Who is shown which type, in lists and streams, by what the contract says; no hash of a token and no secret to anyone."""
    by_role = callers(service, contract)
    admin, member = by_role["administrator"], by_role["member"]
    secret = "the-secret-of-a-webhook"
    for caller, name in ((admin, "pager"), (member, "ours")):
        caller.call("putWebhook", 200, path={"name": name}, body={"url": f"https://{name}.invalid/SECRET-PATH", "secret": secret, "types": ["no.such"]})
    token = admin.call("issueToken", 201, body={"name": "short", "role": "viewer"}).json
    admin.call("revokeToken", 204, path={"id": token["id"]})
    for tenant in ("a", "b"):
        admin.call("cancelJob", 200, path={"id": admin.call("submitJob", 201, body=job(tenant=tenant)).json["id"]})
    hidden = {"administrator": (), "operator": ("token.",), "viewer": ("token.", "webhook.")}
    whole = admin.call("listEvents", 200, query={"limit": "1000"}).json["items"]
    kinds = {event["type"] for event in whole}
    assert {"token.issued", "token.revoked", "webhook.put", "tenant.put", "job.placed", "topology.accepted"} <= kinds, kinds
    digest = admin.call("getFabric", 200).json["digest"]
    for role in ("administrator", "operator", "viewer", "member"):
        page = by_role[role].call("listEvents", 200, query={"limit": "1000"})
        shown, text = page.json["items"], page.body.decode()
        if role == "member":
            assert {event["type"] for event in shown} == {"tenant.put", "webhook.put", "job.placed", "job.ended"}, shown
            assert {event["subject"]["id"] for event in shown if event["type"] != "job.placed" and event["type"] != "job.ended"} == {"a", "ours"}, shown
        else:
            assert shown == [event for event in whole if not event["type"].startswith(hidden[role])], role
        assert secret not in text and "sha256" not in text, role
        assert not re.search("[0-9a-f]{64}", text.replace(digest, "")), role
        assert ("SECRET-PATH" in text) == (role != "viewer"), role
        with Stream(by_role[role].session, {"after": "0"}, bearer(by_role[role].token)) as stream:
            assert stream.read(len(shown)) == shown, f"the stream tells {role} what the list tells"
        by_type = by_role[role].call("listEvents", 200, query={"type": "token.issued"}).json["items"]
        assert bool(by_type) == (role == "administrator"), (role, by_type)
        # Page by page the same.
        items, cursor = [], None
        while True:
            page = by_role[role].call("listEvents", 200, query={"limit": "2", **({"cursor": cursor} if cursor else {})}).json
            items += page["items"]
            cursor = page["nextCursor"]
            if cursor is None:
                break
        assert items == shown, role


def tenants_of_one_name(service, contract):
    """A tenant that takes the name of a removed one reads nothing of it, and sends nothing to it."""
    by_role = callers(service, contract)
    admin, first = by_role["administrator"], by_role["member"]
    old = first.call("submitJob", 201, body=job(tenant="a", name="of-the-first")).json["id"]
    first.call("putWebhook", 200, path={"name": "siem"}, body={"url": "https://first.invalid/", "secret": "0123456789abcdef"})
    first.call("cancelJob", 200, path={"id": old})
    token = next(token for token in admin.call("listTokens", 200).json["items"] if token["tenant"] == "a")
    admin.call("revokeToken", 204, path={"id": token["id"]})
    admin.call("removeTenant", 204, path={"name": "a"})
    assert admin.call("listWebhooks", 200).json["items"] == []
    made = admin.call("putTenant", 200, path={"name": "a"}, body={"description": "another customer"}).json
    text = admin.call("issueToken", 201, body={"name": "second", "role": "member", "tenant": "a"}).json["token"]
    second = Caller(service, contract, text)
    new = second.call("submitJob", 201, body=job(tenant="a", name="of-the-second")).json["id"]

    def is_another():
        second.call("getJob", 404, "jobs.notFound", path={"id": old})
        assert [item["id"] for item in second.call("listJobs", 200).json["items"]] == [new]
        events = second.call("listEvents", 200, query={"limit": "1000"}).json["items"]
        assert min(event["seq"] for event in events) == made["version"] and "job.placed" in {event["type"] for event in events}, events
        assert "of-the-first" not in json.dumps(events)
        admin.call("getJob", 200, path={"id": old})

    is_another()
    assert service.stop() == 0
    service.start()
    is_another()


def too_many_requests(service, contract):
    admin = Caller(service, contract, first_token(service))
    config = service.folder / "limited.toml"
    config.write_text("requests_per_second = 5\nrequests_at_once = 10\n")
    other = admin.call("issueToken", 201, body={"name": "calm", "role": "viewer"}).json["token"]
    assert service.stop() == 0
    service.start("--config", str(config))
    admin, calm = Caller(service, contract, admin.token), Caller(service, contract, other)
    answers = [admin.call("getCaller", (200, 429)) for _ in range(60)]
    refused = [answer for answer in answers if answer.status == 429]
    assert len(refused) > 30 and refused[0].code() == "http.tooManyRequests", len(refused)
    assert all(answer.header("Retry-After") == "1" and answer.header("WWW-Authenticate") is None for answer in refused)
    calm.call("getCaller", 200)  # each token has a limit of its own
    assert admin.session.exchange("GET", "/healthz", {}, None).status == 200
    time.sleep(int(refused[0].header("Retry-After")))
    admin.call("getCaller", 200)


def agents_have_one_node(service, contract):
    """What a node's root may take from its disk lets it report of that node, and nothing else."""
    by_role = callers(service, contract)
    agent, operator = by_role["agent"], by_role["operator"]
    assert agent.call("getCaller", 200).json == {"name": "some-agent", "role": "agent", "tenant": None, "node": "node-1", "authentication": "token"}
    listed = {token["name"]: token for token in by_role["administrator"].call("listTokens", 200).json["items"]}
    assert listed["some-agent"]["node"] == "node-1" and listed["some-operator"]["node"] is None, listed
    own = agent.call("getNodeBudgets", 200, path={"id": "node-1"}).json
    report = {"term": own["term"], "version": own["version"], "ports": []}
    assert agent.call("reportNodeBudgets", 200, path={"id": "node-1"}, body=report).json["version"] == own["version"]
    assert agent.call("getNodeBudgetReport", 200, path={"id": "node-1"}).json["agoSeconds"] is not None
    for other in ("node-2", "node-9", "nowhere"):
        agent.call("getNodeBudgets", 404, "nodes.notFound", path={"id": other})
        agent.call("getNodeBudgetReport", 404, "nodes.notFound", path={"id": other})
        agent.call("reportNodeBudgets", 404, "nodes.notFound", path={"id": other}, body=report)
    assert operator.call("getNodeBudgetReport", 200, path={"id": "node-2"}).json["version"] is None
    for name in ("listJobs", "getMetrics", "listEvents", "listNodes"):
        assert "is the agent of node node-1" in agent.call(name, 403, "auth.forbidden").json["detail"]
    # The node need not be there yet.
    body = {"name": "later", "role": "agent", "node": "node-9"}
    later = Caller(service, contract, by_role["administrator"].call("issueToken", 201, body=body).json["token"])
    later.call("getNodeBudgets", 404, "nodes.notFound", path={"id": "node-9"})


def audit_trail(service, contract):
    by_role = callers(service, contract)
    admin, member, operator = by_role["administrator"], by_role["member"], by_role["operator"]
    whole = admin.call("listAudit", 200, query={"limit": "1000"}).json
    events = admin.call("listEvents", 200, query={"limit": "1000"}).json["items"]
    assert [(item["seq"], item["time"], item["kind"], item["actor"], item["subject"], item["summary"]) for item in whole["items"]] == [
        (event["seq"], event["time"], event["type"], event["actor"], event["subject"], event["summary"]) for event in events], whole
    assert whole["items"][0]["actor"] == "railweaved" and whole["items"][0]["requestId"] is None, whole["items"][0]
    # A request is found by its id: the caller's own, or the one that the service made and answered with.
    named = admin.call("putTenant", 200, path={"name": "audited"}, body={}, headers={"X-Request-Id": "change-4711"})
    assert named.header("X-Request-Id") == "change-4711"
    entry, = admin.call("listAudit", 200, query={"requestId": "change-4711"}).json["items"]
    assert (entry["kind"], entry["subject"], entry["actor"], entry["token"], entry["tenant"]) == (
        "tenant.put", {"kind": "tenant", "id": "audited"}, "administrator", admin.token.split("_")[1], None), entry
    made = member.call("submitJob", 201, body=job(tenant="a"))
    entry, = admin.call("listAudit", 200, query={"requestId": made.header("X-Request-Id")}).json["items"]
    assert (entry["actor"], entry["tenant"], entry["token"]) == ("some-member", "a", member.token.split("_")[1]), entry
    # An id that is not plain is not taken over: it would be in logs and in people's SQL.
    forged = admin.call("putTenant", 200, path={"name": "audited"}, body={"maxGpus": 1}, headers={"X-Request-Id": "a b\"'; --"})
    assert forged.header("X-Request-Id") != "a b\"'; --" and admin.call(
        "listAudit", 200, query={"requestId": forged.header("X-Request-Id")}).json["items"], forged.headers
    # The journal says the same, also by whom and by which request; and it is for administrators as well.
    assert admin.call("listAudit", 200, query={"limit": "1000", "fromJournal": "true"}).json == admin.call(
        "listAudit", 200, query={"limit": "1000", "fromJournal": "false"}).json
    for query in ({"requestId": "change-4711"}, {"actor": "some-member"}, {"kind": "token.issued", "actor": "administrator"}):
        assert admin.call("listAudit", 200, query={**query, "fromJournal": "true"}).json["items"] == admin.call(
            "listAudit", 200, query=query).json["items"] != [], query
    admin.call("listAudit", 400, query={"fromJournal": "perhaps"})
    operator.call("listAudit", 403, query={"fromJournal": "true"})
    for event in admin.call("listEvents", 200, query={"limit": "1000"}).json["items"]:
        assert not {"origin", "after"} & set(event), event
    # Filters and pages.
    def seqs(**query):
        items, cursor = [], None
        while True:
            page = admin.call("listAudit", 200, query={"limit": "2", **query, **({"cursor": cursor} if cursor else {})}).json
            items += page["items"]
            cursor = page["nextCursor"]
            if cursor is None:
                return [item["seq"] for item in items]

    every = admin.call("listAudit", 200, query={"limit": "1000"}).json["items"]
    assert seqs() == [item["seq"] for item in every] == seqs(fromJournal="true") and len(every) > 6
    assert seqs(actor="some-member") == [item["seq"] for item in every if item["actor"] == "some-member"] != []
    assert seqs(kind="token.issued", actor="administrator") == [
        item["seq"] for item in every if item["kind"] == "token.issued" and item["actor"] == "administrator"] != []
    assert seqs(since=every[3]["time"]) == [item["seq"] for item in every if item["time"] >= every[3]["time"]]
    assert not seqs(actor="no-such-actor") and not seqs(since="2999-01-01T00:00:00Z")
    assert admin.call("listAudit", 200, query={"fields": "seq,requestId", "limit": "1"}).json["items"][0].keys() == {"seq", "requestId"}
    for query, code in (({"since": "yesterday"}, "query.invalidTime"), ({"cursor": "x"}, "query.invalidCursor"), ({"limit": "0"}, "query.invalidNumber"),
                        ({"user": "a"}, "query.unknownParameter"), ({"fields": "secret"}, "query.unknownField")):
        admin.call("listAudit", 400, code, query=query)
    # What was refused changed nothing; the log says who tried. No secret is in the log or in the trail.
    before = len(every)
    operator.call("putTenant", 403, "auth.forbidden", path={"name": "mine"}, body={}, headers={"X-Request-Id": "try-1"})
    Session(service, contract).call("putTenant", 401, "auth.invalid", path={"name": "mine"}, body={}, headers={
        **bearer(f"rw_{'a' * 12}_{SECRET}"), "X-Request-Id": "try-2"})
    assert len(admin.call("listAudit", 200, query={"limit": "1000"}).json["items"]) == before
    log = service.log_text()
    tried = {word: next(line for line in log.splitlines() if f"request {word}" in line) for word in ("try-1", "try-2")}
    assert "PUT /v1/tenants/mine" in tried["try-1"] and "some-operator, operator, token " + operator.token.split("_")[1] in tried["try-1"], tried
    assert "refused with 401" in tried["try-2"] and SECRET not in log, tried
    secrets = [caller.token.split("_", 2)[2] for caller in by_role.values()]
    trail = admin.call("listAudit", 200, query={"limit": "1000"}).body.decode()
    assert not any(secret in log or secret in trail for secret in secrets)
    # The trail is in the store, and outlives the service.
    assert service.stop() == 0
    service.start()
    again = Caller(service, contract, admin.token).call("listAudit", 200, query={"limit": "1000"}).json["items"]
    assert again[:len(every)] == every


CASES = [audit_trail, events_by_role, tenants_of_one_name, too_many_requests, every_operation_and_role, bad_tokens, tokens_end, members_see_their_own,
         agents_have_one_node]
