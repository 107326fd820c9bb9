"""What tenants share without taking it from each other: one service with tokens, a greedy tenant and another one."""
import contextlib

from access_cases import Caller, bearer, first_token
from contract import ContractBroken
from event_cases import Stream
from small_fabric import fabric

SHARDS, KEYS_OF_TENANT = 1024, 128  # services/control/state/idempotency_table.h
ENDED_KEPT = 2000  # services/control/state/cluster_state.h


def shard_of(key):
    """FNV-1a with 64 bits."""
    value = 0xcbf29ce484222325
    for byte in key.encode():
        value = (value ^ byte) * 0x100000001b3 % 2 ** 64
    return value % SHARDS


class Neighbours:
    def __init__(self, service, contract):
        self.service = service
        self.admin = Caller(service, contract, first_token(service))
        self.admin.call("putTopology", 200, body=fabric())
        self.contract = contract
        for tenant in ("greedy", "other"):
            self.admin.call("putTenant", 200, path={"name": tenant}, body={})
        self.greedy, self.other = self.member("greedy"), self.member("other")

    def member(self, tenant, name=None):
        body = {"name": name or f"{tenant}-bot", "role": "member", "tenant": tenant}
        return Caller(self.service, self.contract, self.admin.call("issueToken", 201, body=body).json["token"])

    def restart(self):
        for caller in (self.admin, self.greedy, self.other):
            caller.session.close()
        self.service.stop()
        self.service.start()


def a_key_is_its_callers(service, contract):
    both = Neighbours(service, contract)
    body = {"name": "nightly", "gpus": 1}
    key = {"Idempotency-Key": "nightly-2026-11-25"}
    item = {"items": [{"key": "nightly-2026-11-26", **body}]}
    callers = {"greedy": both.greedy, "other": both.other}
    made = {tenant: caller.call("submitJob", 201, body=body, headers=key).json["id"] for tenant, caller in callers.items()}
    in_batch = {tenant: caller.call("submitJobs", 200, body=item).json["items"][0] for tenant, caller in callers.items()}
    assert [entry["status"] for entry in in_batch.values()] == [201, 201], in_batch
    second = both.member("greedy", "greedy-second").call("submitJob", 201, body=body, headers=key).json
    assert second["id"] != made["greedy"] and second["tenant"] == "greedy", second
    # The same name with a new token is the same caller.
    callers["greedy"] = both.member("greedy")
    for restarted in (False, True):
        if restarted:
            both.restart()
            callers["greedy"].session.close()
        for tenant, caller in callers.items():
            again = caller.call("submitJob", 200, body=body, headers=key).json
            assert again["id"] == made[tenant] and again["tenant"] == tenant, again
            again = caller.call("submitJobs", 200, body=item).json["items"][0]
            assert again["status"] == 200 and again["job"]["id"] == in_batch[tenant]["job"]["id"], again
            assert again["job"]["tenant"] == tenant, again


def a_tenant_fills_its_own_share_of_keys(service, contract):
    both = Neighbours(service, contract)
    keys = [key for key in (f"slurm-{n}" for n in range(400_000)) if shard_of(key) == shard_of("slurm-0")]
    body = {"name": "one", "gpus": 1}
    for at in range(0, KEYS_OF_TENANT, 8):
        items = [{"key": key, **body} for key in keys[at:at + 8]]
        for answer in both.greedy.call("submitJobs", 200, body={"items": items}).json["items"]:
            assert answer["status"] == 201, answer
            both.greedy.call("cancelJob", 200, path={"id": answer["job"]["id"]})
    next_key = {"Idempotency-Key": keys[KEYS_OF_TENANT]}
    for restarted in (False, True):
        if restarted:
            both.restart()
        problem = both.greedy.call("submitJob", 429, "idempotency.tooManyKeys", body=body, headers=next_key).json
        assert "greedy" in problem["detail"], problem
        for caller in (both.other, both.admin):
            with_tenant = {**body, "tenant": "other"}
            made = caller.call("submitJob", 200 if restarted else 201, body=with_tenant, headers=next_key).json
            assert made["tenant"] == "other", made


def streams_are_shared(service, contract):
    """A tenant's streams leave room for others', each caller's for its tenant's, and administrators always get one."""
    both = Neighbours(service, contract)

    def fill(caller, stack):
        for count in range(257):
            try:
                stack.enter_context(Stream(caller.session, headers=bearer(caller.token)))
            except ContractBroken:
                caller.call("streamEvents", 429, "http.streamShareUsed")
                return count
        raise AssertionError("all streams are one caller's")

    with contextlib.ExitStack() as stack:
        first = fill(both.greedy, stack)
        second = fill(both.member("greedy", "greedy-second"), stack)
        assert first + second <= 128 and second >= 16, (first, second)
        assert fill(both.other, stack) >= 16
        for tenant in ("third", "fourth"):
            both.admin.call("putTenant", 200, path={"name": tenant}, body={})
            assert fill(both.member(tenant), stack) >= 2, tenant
        for _ in range(16):
            stack.enter_context(Stream(both.admin.session, headers=bearer(both.admin.token)))


def webhooks_are_shared(service, contract):
    both = Neighbours(service, contract)
    spec = {"url": "https://hooks.invalid/", "secret": "0123456789abcdef", "types": ["no.such"]}

    def fill(caller, name):
        for count in range(101):
            answer = caller.call("putWebhook", (200, 429), path={"name": f"{name}-{count}"}, body=spec)
            if answer.status == 429:
                assert answer.code() == "webhooks.tooMany", answer.body
                return count
        raise AssertionError("all webhooks are one tenant's")

    assert fill(both.greedy, "greedy") == 40
    assert fill(both.other, "other") == 20
    greedy = {"path": {"name": "greedy-0"}, "body": spec}
    both.greedy.call("putWebhook", 200, **greedy)  # what is there may be changed
    assert fill(both.admin, "operators") == 40
    both.admin.call("putWebhook", 429, "webhooks.tooMany", path={"name": "for-greedy"}, body={**spec, "tenant": "greedy"})


def ended_jobs_are_kept_by_tenant(service, contract):
    """More jobs of one tenant end than are kept of all: the other's few are still there, also after a restart."""
    both = Neighbours(service, contract)
    body = {"name": "one", "gpus": 1}

    def end_one(caller):
        job = caller.call("submitJob", 201, body=body).json["id"]
        return caller.call("cancelJob", 200, path={"id": job}).json["id"]

    few = [end_one(both.other) for _ in range(3)]
    for _ in range(ENDED_KEPT + 200):
        end_one(both.greedy)
    for restarted in (False, True):
        if restarted:
            both.restart()
        assert [job["id"] for job in both.other.call("listJobs", 200).json["items"]] == few
        kept = both.greedy.call("listJobs", 200, query={"limit": "10000"}).json["items"]
        assert ENDED_KEPT - 100 < len(kept) <= ENDED_KEPT, len(kept)


def keys_of_a_renamed_token(service, contract):
    """Keys are the name's: under another name an operator's request with the same key is a new one, and under the old name, with whatever
    token, it is the same as ever."""
    both = Neighbours(service, contract)
    both.admin.call("putTenant", 200, path={"name": "third"}, body={})

    def operator(name):
        issued = both.admin.call("issueToken", 201, body={"name": name, "role": "operator"}).json
        return issued["id"], Caller(service, contract, issued["token"])

    body, key = {"tenant": "third", "gpus": 1}, {"Idempotency-Key": "one"}
    token, night = operator("night-shift")
    first = night.call("submitJob", 201, body=body, headers=key).json["id"]
    both.admin.call("revokeToken", 204, path={"id": token})
    _, day = operator("day-shift")
    second = day.call("submitJob", 201, body=body, headers=key).json["id"]
    assert second != first
    _, night = operator("night-shift")
    for restarted in (False, True):
        if restarted:
            both.restart()
            day.session.close()
            night.session.close()
        assert night.call("submitJob", 200, body=body, headers=key).json["id"] == first
        assert day.call("submitJob", 200, body=body, headers=key).json["id"] == second


CASES = [ended_jobs_are_kept_by_tenant, keys_of_a_renamed_token, a_key_is_its_callers, a_tenant_fills_its_own_share_of_keys, streams_are_shared, webhooks_are_shared]
