#!/usr/bin/env python3
"""What the operator allows to namespaces, on a real API server: no annotation charges another tenant, whether the webhook is asked or not.

policy_test.py BIN_FOLDER tenants|claims
"""
import sys

from cluster import gated, main
from kubernetes import ApiError

POLICY = """
namespaces:
  - names: [team]
    tenants: [research]
  - names: [default, ml-*]
    tenants: [research, physics]
    priorities: [high]
    maxGuaranteeGbps: 100
    classes: [all-reduce]
priorityClasses:
  urgent: high
"""


def pod(cluster, name, namespace="default", annotations=None, gate=True, priority_class=None, **more):
    made = cluster.template(8, annotations, gate=gate, **more)
    made["metadata"]["name"] = name
    if priority_class:
        made["spec"]["priorityClassName"] = priority_class
    return cluster.api.create(f"/api/v1/namespaces/{namespace}/pods", made)


def refusal(cluster, name, **asked):
    """Why the API server does not take the pod, "" where it does."""
    try:
        made = pod(cluster, name, **asked)
    except ApiError as error:
        assert error.status == 403, error
        return error.message
    cluster.api.delete(f"/api/v1/namespaces/{made['metadata']['namespace']}/pods/{name}")
    return ""


def asks(**annotations):
    return {"annotations": {f"railweave.dev/{name}": value for name, value in annotations.items()}}


def held(cluster, name):
    """The job in Railweave of a pod."""
    job = cluster.until(f"{name} is placed", lambda: cluster.job_of(name))
    return cluster.service.request("GET", f"/v1/jobs/{job}")[2]


def tenants(cluster):
    read = lambda name, namespace="default": cluster.api.get(f"/api/v1/namespaces/{namespace}/pods/{name}")  # noqa: E731
    for name, value in (("urgent", 1000), ("other", 10)):
        cluster.api.create("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": value})
    cluster.controller.set_policy(POLICY)
    cluster.controller.start()
    cluster.until("the webhooks answer", lambda: refusal(cluster, "first", **asks(level="moon")))
    # The user's way: what is not allowed is refused at once, with what is.
    for asked, text in ((asks(tenant="physics"), 'namespace team may not charge tenant "physics"; its operator allows: research'),
                        (asks(priority="high"), 'namespace team may not ask for priority "high"; its operator allows: none'),
                        ({"priority_class": "urgent"}, "PriorityClass urgent, which stands for priority"),
                        (asks(**{"class": "all-reduce"}), 'may not ask for class of traffic "all-reduce"'),
                        (asks(guarantee="1"), "may not ask for a guarantee of 1 Gb/s"),
                        (asks(job="job-000001", ranks="0-7", gpus="0-7", node="node-01"), "is Railweave's own")):
        message = refusal(cluster, "refused", namespace="team", **asked)
        assert text in message, (asked, message)
    # Also of a pod without a gate, in a namespace that is not enrolled: it would be believed to run where others do.
    assert "is Railweave's own" in refusal(cluster, "forged", gate=False, **asks(job="job-000001", ranks="0-7"))
    cluster.api.create("/api/v1/namespaces", {"metadata": {"name": "stranger"}})
    assert "namespace stranger has no tenant" in refusal(cluster, "refused", namespace="stranger")
    # What is allowed is charged as it is asked for.
    pod(cluster, "own", namespace="team")
    assert held(cluster, "team/pod/own")["tenant"] == "research"
    pod(cluster, "second", **asks(tenant="physics"))
    assert held(cluster, "default/pod/second")["tenant"] == "physics"
    pod(cluster, "urgent", priority_class="urgent")
    assert held(cluster, "default/pod/urgent")["priority"] == "high"
    pod(cluster, "ordinary", priority_class="other")
    assert held(cluster, "default/pod/ordinary")["priority"] == "normal"
    bypassed(cluster, read)
    # A policy that cannot be read: the last one stays in force, and that is said.
    cluster.controller.set_policy(POLICY + "\nnonsense: true\n")
    cluster.until("it is said", lambda: any(one["reason"] == "PolicyNotRead" for one in cluster.api.get(
        "/apis/events.k8s.io/v1/namespaces/railweave/events")["items"]))
    assert 'may not charge tenant "physics"' in refusal(cluster, "refused", namespace="team", **asks(tenant="physics"))
    # Nothing configured: a namespace charges no other, and asks for nothing that others lose.
    cluster.controller.set_policy(None)
    cluster.until("its own tenant", lambda: "its operator allows: research" in refusal(cluster, "refused", **asks(tenant="physics")))
    for asked in (asks(priority="high"), asks(guarantee="1"), asks(**{"class": "all-reduce"})):
        assert "its operator allows" in refusal(cluster, "refused", **asked), asked


def bypassed(cluster, read):
    """Webhooks can be away, and annotations are changed later: the controller looks, too."""
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    hook = cluster.api.get(f"{path}/railweave-webhook")
    cluster.api.delete(f"{path}/railweave-webhook")

    def unasked():
        try:
            return pod(cluster, "around", namespace="team", **asks(tenant="physics", priority="high"))
        except ApiError:
            return None
    cluster.until("no webhook checks it", unasked)
    told = cluster.until("it waits with the reason", lambda: cluster.reason(found := read("around", "team")) and found)
    assert 'namespace team may not charge tenant "physics"' in cluster.reason(told) and gated(told), told
    cluster.until("and an event", lambda: any("may not charge" in text for text in cluster.events(read("around", "team"))))
    pod(cluster, "later", namespace="team", **asks(level="nvlinkDomain", group="g", **{"group-size": "2"}))
    cluster.api.patch("/api/v1/namespaces/team/pods/later", {"metadata": {"annotations": {"railweave.dev/tenant": "physics"}}})
    cluster.until("what was changed later is refused, too", lambda: "waits for 1 of its 2 pods" in cluster.reason(read("later", "team")))
    pod(cluster, "mate", namespace="team", **asks(level="nvlinkDomain", group="g", tenant="physics", **{"group-size": "2"}))
    cluster.until("of the whole group", lambda: "may not charge" in cluster.reason(read("mate", "team")))
    # What runs by itself is held, but not at the expense of the tenant that it names.
    made = cluster.template(8, asks(tenant="physics")["annotations"], gate=False)
    made["metadata"]["name"] = "alone"
    made["spec"]["nodeName"] = cluster.names[-1]
    cluster.api.create("/api/v1/namespaces/default/pods", {**made, "metadata": {**made["metadata"], "annotations": {"railweave.dev/tenant": "lab"}}})
    assert held(cluster, "default/pod/alone")["tenant"] == "research"
    # The operator allows it: those that wait begin.
    assert cluster.job_of("team/pod/around") is None
    cluster.controller.set_policy(POLICY.replace("names: [team]\n    tenants: [research]", "names: [team]\n    tenants: [research, physics]\n    priorities: [high]"))
    assert held(cluster, "team/pod/around")["tenant"] == "physics"
    cluster.controller.set_policy(POLICY)
    hook["metadata"] = {"name": "railweave-webhook"}
    cluster.api.create(path, hook)
    cluster.until("the webhook is back", lambda: refusal(cluster, "first", **asks(level="moon")))


if __name__ == "__main__":
    sys.exit(main({"tenants": tenants}, *sys.argv[1:], scheduling=False))
