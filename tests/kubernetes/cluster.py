"""A cluster of 16 nodes with 8 GPUs each beside a real railweaved that knows the same nodes, for the tests of this folder."""
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from kubernetes import Controller, Kubernetes, build_controller, gated, note  # noqa: E402
from service import Service  # noqa: E402
from waiting import until  # noqa: E402

NODES = [f"node-{n:02}" for n in range(1, 17)]
GATE = [{"name": "railweave.dev/placement"}]


class Cluster:
    def __init__(self, folder, bin_folder, nodes=16, gang=False, scheduling=True, extender=None, plugin=None, authentication="none"):
        self.folder, self.bin = Path(folder), Path(bin_folder)
        self.names = NODES[:nodes] if nodes <= 16 else [f"node-{n:0{len(str(nodes))}}" for n in range(1, nodes + 1)]
        self.kubernetes = Kubernetes(self.folder, scheduling, gang, extender, plugin)
        self.service = Service(self.bin / "railweaved", authentication=authentication)
        self.controller = None
        self.api = None
        self.token = None

    def __enter__(self):
        try:
            return self.begin()
        except BaseException:
            self.__exit__()
            raise

    def begin(self):
        binary = os.environ.get("RAILWEAVE_KUBERNETES") or build_controller(self.folder)
        subprocess.run([self.bin / "railweave", "lab", "generate", "rail-optimized", "--hosts", str(len(self.names)), "-O", self.folder / "fabric.json"],
                       check=True, capture_output=True)
        self.service.start()
        if self.service.authentication == "tokens":
            self.administer()
        self.fill_service()
        self.kubernetes.plugin_environment = {"RAILWEAVE_URL": f"http://127.0.0.1:{self.service.port}", "RAILWEAVE_TENANT": "research"}
        self.kubernetes.begin()
        self.api = self.kubernetes.api()
        known = {one["id"] for one in self.service.request("GET", "/v1/nodes?limit=1000")[2]["items"]}
        assert known == set(self.names), (known, self.names)
        for name in self.names:
            self.kubernetes.add_node(name)
        self.controller = Controller(self.kubernetes, binary, f"http://127.0.0.1:{self.service.port}").install()
        return self

    def __exit__(self, *_):
        self.kubernetes.end()
        self.service.__exit__()

    def administer(self):
        """The test's own requests have the first administrator's token."""
        self.token = (self.service.folder / "store.db.admin-token").read_text().strip()
        plain = self.service.request

        def request(method, path, body=None, headers=None, connection=None):
            return plain(method, path, body, {**(headers or {}), "Authorization": f"Bearer {self.token}"}, connection)
        self.service.request = request

    def second_controller(self):
        return Controller(self.kubernetes, self.controller.binary, self.controller.url, "controller-2")

    def fill_service(self):
        """The fabric and two tenants."""
        assert self.service.request("PUT", "/v1/fabric/topology", (self.folder / "fabric.json").read_text())[0] == 200
        for tenant in ("research", "physics"):
            assert self.service.request("PUT", f"/v1/tenants/{tenant}", '{"maxPriority": "high"}')[0] == 200

    # Objects of users.

    def template(self, gpus=8, annotations=None, labels=None, gate=True, finalizers=None, cpu=None):
        resources = {"limits": {"nvidia.com/gpu": str(gpus)} if gpus else {}, **({"requests": {"cpu": cpu}} if cpu else {})}
        return {"metadata": {"annotations": annotations or {}, "labels": labels or {}, "finalizers": finalizers or []},
                "spec": {"restartPolicy": "Never", **({"schedulingGates": GATE} if gate else {}),
                         "containers": [{"name": "train", "image": "train", "resources": resources}]}}

    def job(self, name, pods, namespace="default", gpus=8, annotations=None, **template):
        return self.api.create(f"/apis/batch/v1/namespaces/{namespace}/jobs", {
            "metadata": {"name": name}, "spec": {"completions": pods, "parallelism": pods, "completionMode": "Indexed", "backoffLimit": 100,
                                                 "template": self.template(gpus, annotations, **template)}})

    def end_job(self, name, namespace="default"):
        self.api.request("DELETE", f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}?propagationPolicy=Background")

    def pods(self, job, namespace="default"):
        """Those that are not being deleted and have not failed, by index."""
        found = {}
        for pod in self.api.pods(f"batch.kubernetes.io/job-name={job}", namespace):
            if "deletionTimestamp" not in pod["metadata"] and pod["status"].get("phase") != "Failed":
                found[int(pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"])] = pod
        return [found[index] for index in sorted(found)]

    def finish(self, pod, phase="Succeeded"):
        exit_code = 0 if phase == "Succeeded" else 1
        self.api.patch(f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}/status", {"status": {
            "phase": phase, "conditions": [{"type": "Ready", "status": "False"}],
            "containerStatuses": [{"name": "train", "image": "train", "imageID": "", "ready": False, "restartCount": 0,
                                   "state": {"terminated": {"exitCode": exit_code}}}]}}, "strategic-merge")

    # What Railweave holds.

    def held(self):
        """Name without the cluster's prefix -> job; no name twice."""
        items = self.service.request("GET", "/v1/jobs?state=placed&limit=1000")[2]["items"]
        names = [item["name"] for item in items]
        assert len(set(names)) == len(names), f"held twice: {names}"
        return {item["name"].removeprefix("kubernetes/test/"): item["id"] for item in items}

    def job_of(self, group):
        """The job in Railweave of `namespace/kind/name`, None where it has none."""
        found = [job for name, job in self.held().items() if name == group or name.startswith(group + "/")]
        assert len(found) <= 1, found
        return found[0] if found else None

    def ranks(self, job):
        return self.service.request("GET", f"/v1/jobs/{job}/ranks?limit=100000")[2]["items"]

    def free_gpus(self):
        return self.service.request("GET", "/v1/fabric")[2]["freeGpus"]

    # What is expected.

    def until(self, what, condition, seconds=60):
        began = time.monotonic()
        found = until(what, condition, seconds)
        if (took := time.monotonic() - began) > 3:
            print(f"{took:6.1f} s: {what}", flush=True)
        return found

    def placed(self, group, read, pods, gpus=8):
        """All pods run exactly where the rank map has them; returns their nodes in order."""
        def running():
            found = read()
            return len(found) == pods and all(pod["spec"].get("nodeName") and pod["status"].get("phase") == "Running" for pod in found) and found
        found = self.until(f"{group} runs", running)
        job = self.job_of(group)
        assert job, (group, self.held())
        ranks = sorted(self.ranks(job), key=lambda rank: rank["rank"])
        assert len(ranks) == pods * gpus, (len(ranks), pods, gpus)
        # The oracle: consecutive ranks of one node make a pod, in the order in which they come up.
        wanted, filling = [], {}
        for rank in ranks:
            chunk = filling.get(rank["node"])
            if chunk is None:
                chunk = filling[rank["node"]] = []
                wanted.append((rank["node"], chunk))
            chunk.append(rank)
            if len(chunk) == gpus:
                del filling[rank["node"]]
        assert [pod["spec"]["nodeName"] for pod in found] == [node for node, _ in wanted], (group, [pod["spec"]["nodeName"] for pod in found], wanted)
        for pod, (_, chunk) in zip(found, wanted):
            assert note(pod, "job") == job and not gated(pod), pod["metadata"]
            assert expand(note(pod, "ranks")) == [rank["rank"] for rank in chunk], (note(pod, "ranks"), chunk)
            assert expand(note(pod, "gpus")) == [rank["gpu"] for rank in chunk]
            devices = {f"{nic['device']}:{nic['port'].split('/')[1]}" for rank in chunk for nic in rank["nics"]}
            assert set(note(pod, "nccl-ib-hca").removeprefix("=").split(",")) == devices, (note(pod, "nccl-ib-hca"), devices)
        return [pod["spec"]["nodeName"] for pod in found]

    def placed_job(self, name, pods, gpus=8, namespace="default"):
        return self.placed(f"{namespace}/job/{name}", lambda: self.pods(name, namespace), pods, gpus)

    def reason(self, pod):
        for condition in pod["status"].get("conditions", []):
            if condition["type"] == "railweave.dev/Placed":
                return condition["message"]
        return ""

    def events(self, pod):
        name = pod["metadata"]["name"]
        items = self.api.get(f"/apis/events.k8s.io/v1/namespaces/{pod['metadata']['namespace']}/events")["items"]
        return [item["note"] for item in items if item["regarding"].get("name") == name and item.get("reportingController", "").startswith("railweave")]

    def tell(self):
        """What there is, for whoever looks for the cause of a failure."""
        print(self.controller.log())
        for pod in self.api.get("/api/v1/pods")["items"]:
            meta, conditions = pod["metadata"], pod["status"].get("conditions", [])
            print(meta["namespace"], meta["name"], meta["uid"][:8], "gated" if gated(pod) else pod["spec"].get("nodeName"), pod["status"].get("phase"),
                  meta.get("deletionTimestamp", ""), note(pod, "job"), note(pod, "node"),
                  [f"{one['type']}={one['status']} {one.get('message', '')[:200]}" for one in conditions if one["status"] != "True"])
        for job in self.api.get("/apis/batch/v1/jobs")["items"]:
            print(job["metadata"]["name"], json.dumps(job["status"]))
        for state in ("placed", "queued"):
            for job in self.service.request("GET", f"/v1/jobs?state={state}&limit=1000")[2]["items"]:
                print({key: job[key] for key in ("id", "name", "state", "phase", "gpus")})
        for event in self.service.request("GET", "/v1/events?limit=1000")[2]["items"][-40:]:
            print(event["seq"], event["time"], event["type"], event["subject"]["id"], event["summary"])

    @contextmanager
    def watch_bound(self, bound):
        """Meanwhile, when each pod was seen bound is written into `bound`."""
        version = self.api.get("/api/v1/namespaces/default/pods?limit=1")["metadata"]["resourceVersion"]
        stop = threading.Event()

        def follow():
            for line in self.api.watch("/api/v1/namespaces/default/pods?watch=1", version, stop):
                if '"nodeName":"' in line:
                    bound.setdefault(re.search('"metadata":{"name":"([^"]+)"', line)[1], time.monotonic())
        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()

    def no_overlap(self):
        """No GPU is used twice: pods of each node ask for no more than it has, and Railweave holds as much."""
        used = {}
        for pod in self.api.get("/api/v1/pods")["items"]:
            node = pod["spec"].get("nodeName")
            if node and pod["status"].get("phase") in ("Pending", "Running"):
                for container in pod["spec"]["containers"]:
                    used[node] = used.get(node, 0) + int(container.get("resources", {}).get("limits", {}).get("nvidia.com/gpu", 0))
        assert all(gpus <= 8 for gpus in used.values()), used
        return used


def expand(text):
    numbers = []
    for word in text.split(","):
        first, _, last = word.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def main(parts, bin_folder, part, **settings):
    """Runs one part of a test in a cluster of its own."""
    from kubernetes import missing
    if why := missing(settings.get("scheduling", True)):
        print(f"skipped: {why}")
        return 77
    with tempfile.TemporaryDirectory(prefix="railweave-kubernetes-") as folder, Cluster(folder, bin_folder, **settings) as cluster:
        try:
            if code := parts[part](cluster):
                return code
        except BaseException:
            cluster.tell()
            raise
    print(f"{part}: as expected")
    return 0


__all__ = ["Cluster", "NODES", "expand", "gated", "json", "main", "note", "until"]
