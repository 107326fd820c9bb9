"""What a member of a tenant reads while another tenant is busy: its own part, and nothing that names the other. Each operation
that the contract lets members call is called; what must not be seen is looked for in the bytes of the answers."""
import json
import time

from access_cases import Caller, bearer, first_token
from event_cases import Stream
from job_cases import job
from queue_cases import later
from session import until_deadline
from small_fabric import fabric

TERMS = {"guaranteedGbps": 50, "classes": ["all-reduce", "all-to-all"]}
NO_RATE = {"bandwidth": {"guaranteedGbpsPerPort": 0}}
OTHER = "zebra"  # in the name of everything that is the other tenant's
HIDDEN = "another tenant's job"


class Two:
    """Tenants a and zebra-corp, a member's token of each, and what the two do to each other on one fabric."""

    def __init__(self, service, contract):
        self.service = service
        self.admin = Caller(service, contract, first_token(service))
        self.admin.call("putTopology", 200, body=fabric())
        self.members = {}
        for tenant, name in (("a", "ours-bot"), ("zebra-corp", "zebra-bot")):
            self.admin.call("putTenant", 200, path={"name": tenant}, body={"description": f"about {tenant}"})
            self.admin.call("putContract", 200, path={"tenant": tenant}, body=TERMS)
            token = self.admin.call("issueToken", 201, body={"name": name, "role": "member", "tenant": tenant}).json["token"]
            self.members[tenant] = Caller(service, contract, token)
        self.ours, self.zebra = self.members["a"], self.members["zebra-corp"]
        wide = {"parallelism": {"tensor": 4, "data": 2}}
        self.theirs = self.zebra.call("submitJob", 201, body=job(**wide, tenant="zebra-corp", name="zebra-secret")).json["id"]
        for caller, name in ((self.ours, "our-hook"), (self.zebra, "zebra-hook")):
            caller.call("putWebhook", 200, path={"name": name}, body={"url": f"https://{name}.invalid/", "secret": "0123456789abcdef",
                                                                     "types": ["no.such"]})
        self.wide = job(**wide, tenant="a", name="too-wide")
        self.refused = self.ours.call("submitJob", 409, "admission.linksFull", body=self.wide)
        self.own = self.ours.call("submitJob", 201, body=job(tenant="a", name="ours", **NO_RATE)).json["id"]
        self.admin.call("putReservation", 200, path={"name": "zebra-window"},
                        body={"from": later(minutes=30), "to": later(hours=3), "job": {"tenant": "zebra-corp", "gpus": 4}})
        self.patient = self.ours.call("submitJob", 201, body=job(tenant="a", name="patient", queue=True, **NO_RATE)).json["id"]
        self.behind = self.zebra.call("submitJob", 201, body=job(tenant="zebra-corp", name="zebra-waits", queue=True, **NO_RATE)).json["id"]
        nodes = sorted({rank["node"] for name in (self.theirs, self.own)
                        for rank in self.admin.call("listRanks", 200, path={"id": name}).json["items"]})
        self.admin.call("putReservation", 200, path={"name": "upkeep"},
                        body={"kind": "maintenance", "from": later(seconds=1), "to": later(hours=1), "nodes": nodes})
        for _ in until_deadline():
            self.alarms = self.admin.call("listAlarms", 200).json["items"]
            if self.alarms:
                break
            time.sleep(0.1)

    def names_other(self, text):
        return [word for word in (OTHER, self.theirs, self.behind) if word in text]


def nothing_of_others_is_read(service, contract):
    two = Two(service, contract)
    own, alarm = two.own, next(alarm["id"] for alarm in two.alarms if {two.own, two.theirs} <= set(alarm["jobs"]))
    paths = {"getJob": {"id": own}, "listRanks": {"id": own}, "getTenant": {"name": "a"}, "getTenantContract": {"tenant": "a"},
             "getJobCaps": {"id": own}, "getJobPartition": {"id": own}, "getJobPorts": {"id": own}, "getJobTraffic": {"id": own}, "getJobSteps": {"id": own}, "reportJobSteps": {"id": own}, "getAlarm": {"id": alarm}, "checkpointJob": {"id": own},
             "repairJob": {"id": own}, "changeJob": {"id": two.patient}, "getWebhook": {"name": "our-hook"},
             "putWebhook": {"name": "our-hook"}, "removeWebhook": {"name": "our-hook"}, "completeJob": {"id": own}, "cancelJob": {"id": two.patient}}
    bodies = {"submitJob": two.wide, "queryPlacement": two.wide, "advisePlacement": {"job": two.wide, "nodes": ["node-1"]}, "repairJob": {"nodes": ["node-4"]}, "reportJobSteps": {"steps": 10, "seconds": 5},
              "changeJob": {"hold": True, "before": two.behind}, "submitJobs": {"items": [{"key": "ours", **two.wide}]},
              "queryPlacements": {"items": [two.wide]}, "putWebhook": {"url": "https://ours.invalid/"}}
    asked = [operation for operation in contract.operations.values()
             if operation.roles and "member" in operation.roles and operation.id != "streamEvents"]
    asked.sort(key=lambda operation: (operation.method != "GET", operation.id == "completeJob"))  # the job ends last
    assert len(asked) > 20, asked
    # The same is in what an administrator reads, or the search below shows nothing.
    for operation in ("listJobs", "listEvents", "listAlarms", "listWaiting", "listShares", "listTenants", "listContracts"):
        text = two.admin.call(operation, 200, query={"limit": "1000"}).body.decode()
        assert two.names_other(text), operation
    for operation in asked:
        answer = two.ours.call(operation.id, tuple(range(200, 500)), path=paths.get(operation.id), body=bodies.get(operation.id))
        if operation.method == "GET":
            assert answer.status == (409 if operation.id == "getJobCaps" else 200), (operation.id, answer.status, answer.body)
        text = answer.body.decode()
        asked_for = json.dumps(bodies.get(operation.id)) if answer.status == 404 else ""  # "there is no job-000005"
        named = [word for word in two.names_other(text) if word not in asked_for]
        assert not named, (operation.id, named, text[:3000])
    # What is the other tenant's own does not exist.
    for operation, path, code in (("getJob", {"id": two.theirs}, "jobs.notFound"), ("getTenant", {"name": "zebra-corp"}, "tenants.notFound"),
                                  ("getTenantContract", {"tenant": "zebra-corp"}, "contracts.notFound"),
                                  ("getWebhook", {"name": "zebra-hook"}, "webhooks.notFound"),
                                  ("removeWebhook", {"name": "zebra-hook"}, "webhooks.notFound"),
                                  ("getJobCaps", {"id": two.theirs}, "jobs.notFound"), ("getJobPorts", {"id": two.theirs}, "jobs.notFound"), ("getJobPartition", {"id": two.theirs}, "jobs.notFound")):
        two.ours.call(operation, 404, code, path=path)
    two.ours.call("getMetrics", 403, "auth.forbidden")


def members_have_their_part(service, contract):
    two = Two(service, contract)
    # Full links: the sums stay, and whose they are does not.
    assert two.refused.json["links"][0]["reservedGbps"] == 100 and two.refused.json["links"][0]["holders"] == [], two.refused.json
    assert f"({HIDDEN})" in two.refused.json["detail"], two.refused.json["detail"]
    # The queue: its own jobs with their places and reasons, the others as numbers.
    waits = two.ours.call("listWaiting", 200).json["items"]
    whole = two.admin.call("listWaiting", 200).json["items"]
    assert [item["id"] for item in whole] == [two.patient, two.behind] or [item["id"] for item in whole] == [two.behind, two.patient], whole
    assert [item["id"] for item in waits] == [two.patient] and waits[0]["place"] == [item["id"] for item in whole].index(two.patient) + 1
    reasons = [caller.call("queryPlacement", 200, body=two.wide).json["reason"] for caller in (two.admin, two.ours)]
    assert "'upkeep', 'zebra-window'" in reasons[0] and "'upkeep', 'a reservation'" in reasons[1], reasons
    assert [item["id"] for item in two.zebra.call("listWaiting", 200).json["items"]] == [two.behind]
    assert not two.ours.call("listWaiting", 200, query={"tenant": "zebra-corp"}).json["items"]
    assert two.ours.call("getQueue", 200).json["waiting"] == 2
    assert [item["tenant"] for item in two.ours.call("listShares", 200).json["items"]] == ["a"]
    assert two.ours.call("getQueuePolicy", 200).json == two.admin.call("getQueuePolicy", 200).json
    # Alarms: those of its jobs.
    alarm = next(alarm for alarm in two.alarms if {two.own, two.theirs} <= set(alarm["jobs"]))
    for member, name in ((two.ours, two.own), (two.zebra, two.theirs)):
        shown = member.call("listAlarms", 200).json["items"]
        assert [(one["id"], one["jobs"]) for one in shown] == [(alarm["id"], [name])], shown
        assert member.call("getAlarm", 200, path={"id": alarm["id"]}).json == shown[0]
    two.admin.call("cancelJob", 200, path={"id": two.own})
    # Events: as a list, by pages, and as they happen.
    items, cursor = [], None
    while True:
        page = two.ours.call("listEvents", 200, query={"limit": "3", **({"cursor": cursor} if cursor else {})}).json
        items += page["items"]
        cursor = page["nextCursor"]
        if cursor is None:
            break
    seen = {(event["type"], event["subject"]["id"]) for event in items}
    assert {("tenant.put", "a"), ("contract.put", "a"), ("job.placed", two.own), ("job.queued", two.patient), ("job.ended", two.own)} <= seen, seen
    assert all(event["subject"]["id"] in ("a", two.own, two.patient, "upkeep", "our-hook") for event in items), items
    assert {event["actor"] for event in items} <= {"ours-bot", "administrator", "railweave"}, items
    raised = next(event for event in items if event["type"] == "alarm.raised")
    assert raised["data"]["jobs"] in ([two.own], []), raised
    assert [event["seq"] for event in items] == sorted(event["seq"] for event in items)
    assert not two.ours.call("listEvents", 200, query={"subject": f"job/{two.theirs}"}).json["items"]
    assert len(two.ours.call("listEvents", 200, query={"type": "job.placed"}).json["items"]) >= 1
    with Stream(two.ours.session, {"after": "0"}, bearer(two.ours.token)) as stream:
        assert stream.read(len(items)) == items, "the stream tells what the list tells"
        two.zebra.call("cancelJob", 200, path={"id": two.theirs})
        two.ours.call("cancelJob", 200, path={"id": two.patient})
        ended = stream.read(1)[0]
        while ended["type"] != "job.ended":
            assert ended["subject"]["id"] in (two.patient, "upkeep"), ended
            ended = stream.read(1)[0]
        assert ended["subject"]["id"] == two.patient, ended


def members_change_their_own(service, contract):
    """Jobs of a member's tenant are its to change, and what an operator holds or only operators may do stays theirs."""
    two = Two(service, contract)
    mine, theirs = {"id": two.patient}, {"id": two.behind}
    two.ours.call("changeJob", 404, "jobs.notFound", path=theirs, body={"hold": True})
    held = two.ours.call("changeJob", 200, path=mine, body={"hold": True, "reason": "ours"}).json
    assert held["hold"]["by"] == "ours-bot" and not held["hold"]["byOperator"], held["hold"]
    two.ours.call("changeJob", 200, path=mine, body={"hold": False})
    two.admin.call("changeJob", 200, path=mine, body={"hold": True, "reason": "upkeep"})
    problem = two.ours.call("changeJob", 409, "jobs.heldByOperator", path=mine, body={"hold": False}).json
    assert "upkeep" in problem["detail"], problem
    two.ours.call("changeJob", 404, "jobs.notFound", path=mine, body={"before": two.behind})
    two.ours.call("changeJob", 422, "jobs.minRuntimeTooLong", path=mine, body={"minRuntime": "PT1H"})
    two.ours.call("changeJob", 200, path=mine, body={"minRuntime": "PT10S", "expectedDuration": "PT3H"})
    two.ours.call("submitJob", 422, "jobs.minRuntimeTooLong", body=job(tenant="a", minRuntime="PT1H"))
    two.ours.call("submitJob", 422, "adopt.operatorsOnly", body=job(tenant="a", gpus=4, adopt={"nodes": ["node-3"]}))
    items = [{"key": "1", **job(tenant="a", gpus=4, adopt={"nodes": ["node-3"]})},
             {"key": "2", **job(tenant="zebra-corp")}, {"key": "3", **job(queue=True, **NO_RATE)}]
    items[2].pop("tenant", None)
    answer = two.ours.call("submitJobs", 200, body={"items": items}).json["items"]
    assert [item["status"] for item in answer] == [422, 400, 201], answer
    assert answer[2]["job"]["tenant"] == "a", "a member's jobs are its tenant's"
    start = two.ours.call("getJob", 200, path={"id": answer[2]["job"]["id"]}).json["expectedStart"]
    whole = two.admin.call("getJob", 200, path={"id": answer[2]["job"]["id"]}).json["expectedStart"]
    assert start is None or (start["at"] == whole["at"] and not {end["job"] for end in start["ends"]} & {two.theirs, two.behind}), start
    two.admin.call("changeJob", 200, path=mine, body={"hold": False})
    # Webhooks: a member's is of its tenant, and a name that another has is taken.
    assert two.ours.call("getWebhook", 200, path={"name": "our-hook"}).json["tenant"] == "a"
    spec = {"url": "https://ours.invalid/", "secret": "0123456789abcdef"}
    two.ours.call("putWebhook", 400, "tenants.unknown", path={"name": "x"}, body={**spec, "tenant": "zebra-corp"})
    two.ours.call("putWebhook", 409, "webhooks.nameTaken", path={"name": "zebra-hook"}, body=spec)
    assert [item["id"] for item in two.ours.call("listWebhooks", 200).json["items"]] == ["our-hook"]
    assert [item["id"] for item in two.admin.call("listWebhooks", 200).json["items"]] == ["our-hook", "zebra-hook"]


CASES = [nothing_of_others_is_read, members_have_their_part, members_change_their_own]
