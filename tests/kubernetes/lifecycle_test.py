#!/usr/bin/env python3
"""Groups of pods through their lives on a real Kubernetes: they wait whole, hand their GPUs on only when their pods are gone, and are
neither lost nor started twice when the controller or Railweave is killed.

lifecycle_test.py BIN_FOLDER waiting|evicted|killed|chaos|forgotten|away|native|gangs
"""
import sys
import time
import urllib.request
from random import Random

from cluster import gated, main, note
from ports import free_ports

HOLD = "example.com/hold"  # a finalizer keeps a deleted pod there, as a process that does not end does


def types_of(cluster, job):
    return [event["type"] for event in cluster.service.request("GET", f"/v1/events?subject=job/{job}&limit=1000")[2]["items"]]


def job_now(cluster, job):
    return cluster.service.request("GET", f"/v1/jobs/{job}")[2]


def let_go(cluster):
    for pod in cluster.api.pods():
        if "deletionTimestamp" in pod["metadata"] and HOLD in pod["metadata"].get("finalizers", []):
            cluster.api.patch(f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}", {"metadata": {"finalizers": None}})


def waiting(cluster):
    """Gangs that do not fit beside each other, that are not all there, or that cannot begin."""
    cluster.controller.start()
    for name in ("one", "two"):
        cluster.job(name, 10)

    def begun():
        free = {name: [pod for pod in cluster.pods(name) if not gated(pod)] for name in ("one", "two")}
        assert not (free["one"] and free["two"]), "two half-started groups"
        return next((name for name in free if len(free[name]) == 10 and all(pod["status"].get("phase") == "Running" for pod in free[name])), None)
    first = cluster.until("one of two groups runs", begun)
    second = "two" if first == "one" else "one"
    pods = cluster.until("the other says why it waits", lambda: (pods := cluster.pods(second)) and len(pods) == 10 and all(
        "GPUs" in cluster.reason(pod) for pod in pods) and pods)
    cluster.until("what would help", lambda: any("it would be placed with" in text for pod in pods for text in cluster.events(pod)))
    assert all(gated(pod) for pod in pods) and cluster.free_gpus() == 6 * 8
    # A change of the queue is its user's to make, with the job that the pods tell of.
    cluster.end_job(first)
    cluster.placed_job(second, 10)
    cluster.end_job(second)
    cluster.until("everything is free", lambda: cluster.free_gpus() == 128)

    # A pod that is not created: the others hold nothing, and begin when it is there.
    cluster.api.create("/api/v1/namespaces", {"metadata": {"name": "narrow"}})
    quota = cluster.api.create("/api/v1/namespaces/narrow/resourcequotas", {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "3"}}})
    cluster.until("the quota holds", lambda: cluster.api.get("/api/v1/namespaces/narrow/resourcequotas/few").get("status", {}).get("hard"))
    cluster.job("whole", 4, namespace="narrow")
    pods = cluster.until("what is missing is said", lambda: (pods := cluster.pods("whole", "narrow")) and len(pods) == 3 and all(
        "waits for 1 of its 4 pods" in cluster.reason(pod) for pod in pods) and pods)
    assert all(gated(pod) for pod in pods) and cluster.free_gpus() == 128
    cluster.api.delete(f"/api/v1/namespaces/narrow/resourcequotas/{quota['metadata']['name']}")
    cluster.placed_job("whole", 4, namespace="narrow")
    cluster.end_job("whole", "narrow")
    cluster.until("everything is free", lambda: cluster.free_gpus() == 128)

    # Nodes whose processors others use, which Railweave does not know: the group does not hold the nodes where it can begin while it
    # waits for one where it cannot.
    for number, node in enumerate(cluster.names[:2]):
        hog = cluster.template(gate=False)
        hog["metadata"]["name"] = f"hog-{number}"
        hog["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
        hog["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100"}}
        cluster.api.create("/api/v1/namespaces/default/pods", hog)
    cluster.until("the scheduler knows them", lambda: all(pod["spec"].get("nodeName") for pod in cluster.api.pods()))
    cluster.job("stuck", 3, cpu="64")
    nodes = cluster.until("it runs on other nodes", lambda: (pods := cluster.pods("stuck")) and len(pods) == 3 and all(
        pod["status"].get("phase") == "Running" for pod in pods) and [pod["spec"]["nodeName"] for pod in pods], 120)
    assert not set(nodes) & set(cluster.names[:2]), nodes
    cluster.placed_job("stuck", 3)
    assert cluster.free_gpus() == 128 - 24


def evicted(cluster):
    """The acknowledged lifecycle: GPUs pass on only when the pods that used them are gone, and what is evicted comes back."""
    policy = cluster.service.request("GET", "/v1/queue/policy")[2]
    del policy["version"]
    assert cluster.service.request("PUT", "/v1/queue/policy", {**policy, "minRuntime": "PT1S"})[0] == 200
    cluster.controller.start()
    cluster.job("victim", 12, finalizers=[HOLD])
    cluster.placed_job("victim", 12)
    victim = cluster.job_of("default/job/victim")
    cluster.until("it is said to run", lambda: job_now(cluster, victim)["phase"] == "running")
    types = types_of(cluster, victim)
    steps = ["job.placed", "job.accepted", "job.running"]
    assert [one for one in types if one in steps] == steps, types
    cluster.job("urgent", 10, annotations={"railweave.dev/priority": "high"})
    cluster.until("it gives its GPUs back", lambda: job_now(cluster, victim)["phase"] == "releasing")
    leaving = cluster.until("its pods are deleted", lambda: len(found := [pod for pod in cluster.api.pods("batch.kubernetes.io/job-name=victim")
                                                                         if "deletionTimestamp" in pod["metadata"]]) == 12 and found)
    cluster.until("each is told why", lambda: all(any("evicted for" in text for text in cluster.events(pod)) for pod in leaving))
    # Its processes still run: nothing of it has passed on.
    def still():
        assert job_now(cluster, victim)["phase"] == "releasing"
        assert all(gated(pod) for pod in cluster.pods("urgent"))
        return cluster.pods("urgent")
    still()
    for pod in leaving[:11]:
        cluster.api.patch(f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}", {"metadata": {"finalizers": None}})
    cluster.until("all but one are gone", lambda: len([pod for pod in cluster.api.pods("batch.kubernetes.io/job-name=victim")
                                                       if "deletionTimestamp" in pod["metadata"]]) == 1)
    assert still()
    let_go(cluster)
    cluster.placed_job("urgent", 10)
    cluster.no_overlap()
    assert job_now(cluster, victim)["state"] == "queued", "an evicted job waits in its place"
    pods = cluster.until("it waits with its reason", lambda: len(pods := cluster.pods("victim")) == 12 and all(
        gated(pod) and cluster.reason(pod) for pod in pods) and pods, 120)
    assert len(pods) == 12
    cluster.end_job("urgent")
    cluster.placed_job("victim", 12)
    assert cluster.job_of("default/job/victim") == victim
    # A deleted Job: its GPUs stay held for as long as one of its pods is there.
    cluster.end_job("victim")
    cluster.until("its pods leave", lambda: not cluster.pods("victim"))
    assert cluster.free_gpus() == 128 - 96
    let_go(cluster)
    cluster.until("everything is free", lambda: cluster.free_gpus() == 128)


def killed(cluster):
    """The controller and Railweave are killed at any moment: what was begun is finished, nothing is placed twice."""
    service, controller = cluster.service, cluster.controller
    controller.start()
    sizes = {f"group-{n}": 1 + n % 3 for n in range(8)}
    for step, (name, size) in enumerate(sizes.items()):
        cluster.job(name, size)
        if step % 3 == 0:  # as soon as anything of it is to be seen, which is a different moment each time
            cluster.until("something happens", lambda name=name, step=step: cluster.pods(name) and (step != 3 or cluster.job_of(f"default/job/{name}")))
            controller.kill()
            controller.start()
        elif step % 3 == 1:
            port = service.port
            service.kill()
            service.start(port=port)
    before = {}
    for name, size in sizes.items():
        cluster.placed_job(name, size)
        before[name] = {pod["metadata"]["uid"]: pod["spec"]["nodeName"] for pod in cluster.pods(name)}
    assert cluster.free_gpus() == 128 - 8 * sum(sizes.values())
    cluster.no_overlap()
    assert len(cluster.held()) == len(sizes)
    # Pods that end, and a group that comes, while the controller is not there.
    controller.kill()
    cluster.end_job("group-2")
    for pod in cluster.pods("group-4"):
        cluster.finish(pod)
    cluster.until("Kubernetes has seen it", lambda: not cluster.pods("group-2"))
    cluster.job("late", 2)
    controller.start()
    cluster.placed_job("late", 2)
    left = sum(size for name, size in sizes.items() if name not in ("group-2", "group-4")) + 2
    cluster.until("what ended is free", lambda: cluster.free_gpus() == 128 - 8 * left)
    for name in sizes:
        if name not in ("group-2", "group-4"):
            assert {pod["metadata"]["uid"]: pod["spec"]["nodeName"] for pod in cluster.pods(name)} == before[name], f"{name} was touched"


def chaos(cluster):
    """More groups than fit, of which some end, while controller and Railweave are killed again and again: each runs as a whole, on GPUs
    that no other pod has, once; and none is left behind."""
    seed = int(time.time())
    print(f"seed {seed}", flush=True)
    random = Random(seed)
    service, controller = cluster.service, cluster.controller
    controller.start()
    sizes = {f"group-{n:02}": random.randint(1, 6) for n in range(30)}
    seen, finished = {}, set()  # pod -> node; groups that were told to end
    port = service.port

    def look():
        whole = {name: [] for name in sizes}
        for pod in cluster.api.pods():
            node, name = pod["spec"].get("nodeName"), pod["metadata"]["labels"].get("batch.kubernetes.io/job-name")
            if node:
                assert seen.setdefault(pod["metadata"]["uid"], node) == node
            if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]:
                whole[name].append(pod)
        used = cluster.no_overlap()
        assert len(used) <= len(cluster.names)
        for name, pods in whole.items():
            if name not in finished and len(pods) == sizes[name] and random.random() < 0.3:
                finished.add(name)
                for pod in pods:
                    cluster.finish(pod)
        return len(finished) == len(sizes)
    for number, (name, size) in enumerate(sizes.items()):
        cluster.job(name, size)
        if number % 3 == 2:
            look()
            victim = random.choice(["controller", "service"])
            if victim == "controller":
                controller.kill()
                controller.start()
            else:
                service.kill()
                service.start(port=port)
    cluster.until("all have run", look, 240)
    cluster.until("everything is free", lambda: cluster.free_gpus() == 128 and not cluster.held())
    # Each index of each group was bound once: no pod was deleted and made again, as nothing but the two was killed.
    started = {}
    for pod in cluster.api.pods():
        labels = pod["metadata"]["labels"]
        at = (labels["batch.kubernetes.io/job-name"], labels["batch.kubernetes.io/job-completion-index"])
        started.setdefault(at, []).append(pod["metadata"]["uid"])
    assert len(started) == sum(sizes.values()) and all(len(uids) == 1 for uids in started.values()), "some ran twice"
    assert len(seen) == sum(sizes.values())


def forgotten(cluster):
    """Railweave with an empty store: groups that run are adopted exactly, in the order of their ranks."""
    cluster.controller.start()
    cluster.job("first", 3)
    cluster.job("second", 8, gpus=2)
    nodes = {"first": cluster.placed_job("first", 3), "second": cluster.placed_job("second", 8, gpus=2)}
    uids = {pod["metadata"]["uid"] for name in nodes for pod in cluster.pods(name)}
    before = {name: [(rank["node"], rank["gpu"]) for rank in sorted(cluster.ranks(cluster.job_of(f"default/job/{name}")), key=lambda one: one["rank"])]
              for name in nodes}
    port = cluster.service.port
    cluster.service.kill()
    for file in cluster.service.folder.glob("store.db*"):
        file.unlink()
    cluster.service.start(port=port)
    cluster.fill_service()
    for name in nodes:
        job = cluster.until(f"{name} is adopted", lambda name=name: cluster.job_of(f"default/job/{name}"))
        assert [(rank["node"], rank["gpu"]) for rank in sorted(cluster.ranks(job), key=lambda one: one["rank"])] == before[name]
        cluster.until("it runs", lambda job=job: job_now(cluster, job)["phase"] == "running")
        cluster.until("its pods say so", lambda name=name, job=job: all(note(pod, "job") == job for pod in cluster.pods(name)))
    assert cluster.placed_job("first", 3) == nodes["first"]
    cluster.job("third", 5)
    cluster.placed_job("third", 5)
    cluster.no_overlap()
    assert uids <= {pod["metadata"]["uid"] for pod in cluster.api.pods()}, "a pod was deleted"
    for name in ("first", "second", "third"):
        cluster.end_job(name)
    cluster.until("everything is free", lambda: cluster.free_gpus() == 128)


def away(cluster):
    """Railweave is away: gates stay, or are lifted after the grace period, as configured."""
    controller, service = cluster.controller, cluster.service
    metrics = free_ports(1)[0]

    def metric(name):
        """Of the controller's own family."""
        with urllib.request.urlopen(f"http://127.0.0.1:{metrics}/metrics", timeout=10) as answer:
            found = [line for line in answer.read().decode().splitlines() if line.startswith(f"railweave_kubernetes_{name} ")]
        assert len(found) == 1, (name, found)
        return float(found[0].split()[-1])
    controller.start("--grace=4s", f"--metrics-address=127.0.0.1:{metrics}")  # gates are lifted where nothing else is said
    cluster.job("before", 2)
    cluster.placed_job("before", 2)
    cluster.until("it is counted", lambda: metric('groups{state="placed"}') == 1 and metric('pods{state="placed"}') == 2)
    assert metric('groups{state="waiting"}') == metric("away") == metric("away_seconds") == 0
    assert metric('placing_seconds_count{kind="job"}') == 1 and metric('placing_seconds_sum{kind="job"}') < 60 and metric("requests_total") > 3
    port = service.port
    service.kill()
    began = time.monotonic()
    cluster.job("lifted", 3)
    cluster.until("it waits", lambda: metric('pods{state="waiting"}') == 3 and metric("away") == 1 and metric("away_seconds") > 0)
    def ungated():
        pods = cluster.pods("lifted")
        return len(pods) == 3 and all(pod["spec"].get("nodeName") for pod in pods) and pods
    pods = cluster.until("gates are lifted", ungated)
    assert time.monotonic() - began >= 3, "before the grace period"
    assert all(note(pod, "lifted") and not note(pod, "job") for pod in pods)
    cluster.until("an event says so", lambda: any("grace period" in text for pod in pods for text in cluster.events(pod)))
    cluster.until("and a condition", lambda: all("away for longer than the grace period" in cluster.reason(pod) for pod in cluster.pods("lifted")))
    assert metric('left_pods_total{why="away"}') == 3 and metric('groups{state="waiting"}') == 0
    service.start(port=port)
    job = cluster.until("what began by itself is adopted", lambda: cluster.job_of("default/job/lifted"))
    assert {rank["node"] for rank in cluster.ranks(job)} == {pod["spec"]["nodeName"] for pod in pods}
    assert cluster.free_gpus() == 128 - 5 * 8 and metric("away") == 0
    cluster.job("after", 11)
    cluster.placed_job("after", 11)
    cluster.no_overlap()
    for name in ("before", "lifted", "after"):
        cluster.end_job(name)
    cluster.until("everything is free", lambda: cluster.free_gpus() == 128)
    # Configured to hold: no gate is lifted, and the pods say what they wait for.
    controller.stop()
    controller.start("--when-away=hold", "--grace=1s")
    service.kill()
    cluster.job("held", 2)
    pods = cluster.until("they say why", lambda: len(pods := cluster.pods("held")) == 2 and all(
        "Railweave cannot be asked" in cluster.reason(pod) for pod in pods) and pods)
    assert all(gated(pod) for pod in pods)
    service.start(port=port)
    cluster.placed_job("held", 2)


def gangs(cluster):
    """Groups of other owners are made gangs of Kubernetes' own: of a placed one nothing is bound while a pod of it cannot begin."""
    cluster.controller.start("--gangs", "--patience=60s")
    cluster.until("the webhooks answer", lambda: cluster.api.get("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/railweave-webhook")[
        "webhooks"][0]["clientConfig"].get("caBundle"))
    # A Job of which each pod is placed by itself, though all were made members of one gang.
    made = cluster.template(gate=False)
    del made["metadata"]["finalizers"]
    cluster.api.create("/apis/batch/v1/namespaces/team/jobs", {"metadata": {"name": "waves"}, "spec": {
        "completions": 3, "parallelism": 1, "completionMode": "Indexed", "template": made}})

    def done():
        for pod in cluster.pods("waves", "team"):
            if pod["status"].get("phase") == "Running":
                assert note(pod, "node") == pod["spec"]["nodeName"] and "schedulingGroup" in pod["spec"]
                cluster.finish(pod)
        return cluster.api.get("/apis/batch/v1/namespaces/team/jobs/waves")["status"].get("succeeded") == 3
    cluster.until("all waves have run", done, 90)
    cluster.api.request("DELETE", "/apis/batch/v1/namespaces/team/jobs/waves?propagationPolicy=Background")
    cluster.until("they are gone", lambda: not cluster.api.pods(namespace="team"))
    port = [{"containerPort": 7000, "hostPort": 7000}]
    for name in cluster.names[1:3]:  # their port is in use, which Railweave does not look at
        hog = cluster.template(gpus=0, gate=False)
        hog["spec"]["containers"][0]["ports"] = port
        hog["metadata"]["name"] = f"hog-{name}"
        hog["spec"]["nodeSelector"] = {"kubernetes.io/hostname": name}
        cluster.api.create("/api/v1/namespaces/default/pods", hog)
    cluster.until("the scheduler knows them", lambda: all(pod["spec"].get("nodeName") for pod in cluster.api.pods()))
    for number in range(16):
        made = cluster.template(8, {"railweave.dev/group": "whole", "railweave.dev/group-size": "16", "railweave.dev/pod-index": str(number)}, gate=False, cpu="64")
        made["metadata"]["name"] = f"whole-{number:02}"
        made["spec"]["containers"][0]["ports"] = port
        del made["metadata"]["finalizers"]
        cluster.api.create("/api/v1/namespaces/team/pods", made)

    def pods():
        return sorted(cluster.api.pods(namespace="team"), key=lambda pod: pod["metadata"]["name"])
    named = {pod["spec"]["schedulingGroup"]["podGroupName"] for pod in pods()}
    assert len(named) == 1, named
    path = f"/apis/scheduling.k8s.io/v1alpha2/namespaces/team/podgroups/{named.pop()}"
    cluster.until("all are placed", lambda: len(found := pods()) == 16 and not any(gated(pod) for pod in found))
    assert cluster.api.get(path)["spec"]["schedulingPolicy"]["gang"]["minCount"] == 16
    for _ in range(10):
        assert not any(pod["spec"].get("nodeName") for pod in pods()), "a part of the gang holds nodes"
        time.sleep(0.3)
    for pod in cluster.api.pods():
        cluster.api.delete(f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}")
    cluster.placed("team/group/whole", pods, 16)


def native(cluster):
    """Kubernetes' own gangs, where the API server has them: a placed group of which one pod cannot begin holds no node, as none is bound."""
    cluster.controller.start()
    cluster.job("first", 3)
    cluster.placed_job("first", 3)
    pod = cluster.pods("first")[0]
    named = pod["spec"]["schedulingGroup"]["podGroupName"]
    assert cluster.api.find(f"/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups/{named}"), "its Job has a gang"
    hog = cluster.template(gpus=0, gate=False, cpu="100")
    hog["metadata"]["name"] = "hog"
    hog["spec"]["nodeSelector"] = {"kubernetes.io/hostname": cluster.names[4]}
    cluster.api.create("/api/v1/namespaces/default/pods", hog)
    cluster.until("the scheduler knows it", lambda: cluster.api.get("/api/v1/namespaces/default/pods/hog")["spec"].get("nodeName"))
    cluster.job("stuck", 4, cpu="64")
    bound = []

    def elsewhere():
        pods = cluster.pods("stuck")
        bound.append({note(one, "job"): sum("nodeName" in other["spec"] and note(other, "job") == note(one, "job") for other in pods) for one in pods})
        return len(pods) == 4 and all(one["status"].get("phase") == "Running" for one in pods) and pods
    pods = cluster.until("it runs on other nodes", elsewhere, 120)
    jobs = {job for seen in bound for job in seen if job}
    assert len(jobs) == 2, f"it was placed twice: {jobs}"
    first = min(jobs)
    assert max(seen.get(first, 0) for seen in bound) == 0, "a part of the gang was bound"
    assert cluster.names[4] not in [one["spec"]["nodeName"] for one in pods]
    cluster.placed_job("stuck", 4)


if __name__ == "__main__":
    sys.exit(main({"waiting": waiting, "evicted": evicted, "killed": killed, "chaos": chaos, "forgotten": forgotten, "away": away, "native": native,
                   "gangs": gangs}, *sys.argv[1:], gang=sys.argv[2] in ("native", "gangs")))
