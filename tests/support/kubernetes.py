"""Kubernetes' own API server, scheduler and controller manager on loopback, with Debian's etcd and kwok in the place of kubelets,
and a small client of the API. The binaries come from tests/kubernetes/binaries/build.sh."""
import base64
import http.client
import json
import os
import re
import shutil
import ssl
import subprocess
import threading
import time
from pathlib import Path

import yaml

from ports import free_ports
from waiting import until

ROOT = Path(__file__).resolve().parents[2]
BINARIES = ROOT / "tests" / "kubernetes" / "binaries" / "build.sh"
GATES = "GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true,WorkloadWithJob=true"
# Debian's etcd cannot report how far a watch has come, which watches that begin with a list need: they fail, and kwok tries them
# again after up to half a minute. Refused by the API server at once, clients list and watch instead.
WATCHES = "WatchList=false"
USERS = {"admin": ("admin", "system:masters"), "scheduler": ("system:kube-scheduler", ""), "manager": ("system:kube-controller-manager", ""),
         "kwok": ("kwok", "system:masters"),
         "railweave": ("system:serviceaccount:railweave:railweave-kubernetes", "system:serviceaccounts,system:serviceaccounts:railweave")}


def missing(scheduling=True):
    """What is not there, "" where everything is."""
    for tool in ("etcd", "go", "openssl"):
        if not shutil.which(tool):
            return f"{tool} is not installed"
    done = subprocess.run([BINARIES, "--where", *([] if scheduling else ["kube-apiserver"])], capture_output=True, text=True, timeout=60)
    return "" if done.returncode == 0 else f"Kubernetes is not built; {BINARIES.relative_to(ROOT)} builds it into {done.stdout.strip()}"


def folder_of_binaries():
    return Path(subprocess.run([BINARIES, "--where", "kube-apiserver"], capture_output=True, text=True, timeout=60, check=True).stdout.strip())


class ApiError(AssertionError):
    def __init__(self, status, message):
        super().__init__(f"{status}: {message}")
        self.status, self.message = status, message


class Api:
    """Requests of one user, one connection for each thread."""

    def __init__(self, port, token):
        self.port, self.token, self.local = port, token, threading.local()
        self.context = ssl._create_unverified_context()  # pylint: disable=protected-access

    def raw(self, method, path, body=None, content="application/json"):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": content, "Accept": "application/json"}
        for attempt in (0, 1):
            connection = getattr(self.local, "connection", None)
            if connection is None:
                connection = self.local.connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=60)
            try:
                connection.request(method, path, body if body is None else json.dumps(body), headers)
                answer = connection.getresponse()
                return answer.status, answer.read()
            except (OSError, http.client.HTTPException):
                connection.close()
                self.local.connection = None
                if attempt:
                    raise

    def request(self, method, path, body=None, content="application/json"):
        status, text = self.raw(method, path, body, content)
        parsed = json.loads(text) if text.startswith(b"{") else text.decode()
        if status >= 400:
            raise ApiError(status, parsed.get("message", parsed) if isinstance(parsed, dict) else parsed)
        return parsed

    def watch(self, path, version, stop):
        """Events after a resource version as they come, each as its line of JSON: one that is read slowly is ended by the API server, and
        taken up again."""
        while not stop.is_set():
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=600)
            connection.request("GET", f"{path}&resourceVersion={version}", headers={"Authorization": f"Bearer {self.token}", "Accept": "application/json"})
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            while not stop.is_set() and (line := answer.readline().decode()):
                version = re.search('"resourceVersion":"([0-9]+)"', line)[1]
                yield line
            connection.close()

    def get(self, path):
        return self.request("GET", path)

    def find(self, path):
        """The object, or None where there is none."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def create(self, path, body):
        return self.request("POST", path, body)

    def patch(self, path, body, kind="merge"):
        return self.request("PATCH", path, body, f"application/{kind}-patch+json")

    def delete(self, path):
        return self.request("DELETE", path)

    def pods(self, selector="", namespace="default"):
        path = f"/api/v1/namespaces/{namespace}/pods" + (f"?labelSelector={selector}" if selector else "")
        return self.get(path)["items"]

    def objects_of(self, document):
        """The path of the objects of a manifest's kind and namespace, as the API server names them."""
        version = document["apiVersion"]
        path = ("/api/" if "/" not in version else "/apis/") + version
        kind = next(one for one in self.get(path)["resources"] if one["kind"] == document["kind"] and "/" not in one["name"])
        if kind["namespaced"]:
            path += f"/namespaces/{document['metadata'].get('namespace', 'default')}"
        return f"{path}/{kind['name']}"

    def apply(self, document, strict=False):
        """Creates an object of a manifest; strict: fields that the API server does not know are an error."""
        return self.create(self.objects_of(document) + ("?fieldValidation=Strict" if strict else ""), document)

    def apply_on_server(self, document, dry_run=False):
        """Creates or changes it, as `kubectl apply --server-side --force-conflicts --validate=strict` does."""
        path = f"{self.objects_of(document)}/{document['metadata']['name']}?fieldManager=tests&force=true&fieldValidation=Strict"
        return self.request("PATCH", path + ("&dryRun=All" if dry_run else ""), document, "application/apply-patch+yaml")


def gated(pod):
    return bool(pod["spec"].get("schedulingGates"))


def note(pod, name):
    return pod["metadata"].get("annotations", {}).get(f"railweave.dev/{name}", "")


class Kubernetes:
    """begin() starts it. `scheduling` False leaves API server and etcd alone."""

    def __init__(self, folder, scheduling=True, gang=False, extender=None, plugin=None):
        self.folder, self.scheduling, self.gang, self.extender, self.plugin = folder, scheduling, gang, extender, plugin
        self.plugin_environment = {}
        self.binaries = folder_of_binaries()
        self.processes, self.logs = {}, {}
        self.port = None

    def begin(self):
        client, peer, self.port, scheduler, manager, kwok = free_ports(6)
        folder = self.folder
        self.launch("etcd", "etcd", "--data-dir", f"{folder}/etcd", "--unsafe-no-fsync", "--listen-client-urls", f"http://127.0.0.1:{client}",
                    "--advertise-client-urls", f"http://127.0.0.1:{client}", "--listen-peer-urls", f"http://127.0.0.1:{peer}",
                    "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}", "--initial-cluster", f"default=http://127.0.0.1:{peer}")
        (folder / "tokens").write_text("".join(f'{key},{user},{number},"{groups}"\n' for number, (key, (user, groups)) in enumerate(USERS.items())))
        subprocess.run(["openssl", "genrsa", "-out", folder / "sa.key", "2048"], check=True, capture_output=True)
        subprocess.run(["openssl", "rsa", "-in", folder / "sa.key", "-pubout", "-out", folder / "sa.pub"], check=True, capture_output=True)
        gates = [f"--feature-gates={GATES}"] if self.gang else []
        self.launch("apiserver", self.binaries / "kube-apiserver", f"--etcd-servers=http://127.0.0.1:{client}", "--bind-address=127.0.0.1",
                    f"--secure-port={self.port}", f"--cert-dir={folder}/certs", f"--token-auth-file={folder}/tokens",
                    "--authorization-mode=Node,RBAC", "--service-cluster-ip-range=10.96.0.0/16",
                    "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-signing-key-file={folder}/sa.key",
                    f"--service-account-key-file={folder}/sa.pub", "--endpoint-reconciler-type=none",
                    f"--feature-gates={','.join([WATCHES] + ([GATES] if self.gang else []))}",
                    *(["--runtime-config=scheduling.k8s.io/v1alpha2=true"] if self.gang else []),
                    *([] if self.scheduling else ["--disable-admission-plugins=ServiceAccount"]))
        for user in USERS:
            self.write_config(user)
        api = self.api()
        until(lambda: f"the API server\n{self.tail('apiserver')}", lambda: self.ready(api), 120)
        if not self.scheduling:
            return self
        common = ["--bind-address=127.0.0.1", "--leader-elect=false", *gates]
        for name, port, more in (("scheduler", scheduler, []),
                                 ("manager", manager, [f"--service-account-private-key-file={folder}/sa.key", "--use-service-account-credentials",
                                                       "--controllers=*,-nodeipam,-cloud-node-lifecycle"])):
            config = folder / f"{name}.config"
            if name == "scheduler" and self.extender:
                settings = {**scheduling(self.extender), "leaderElection": {"leaderElect": False}, "clientConnection": {"kubeconfig": str(config)}}
                (folder / "scheduling.yaml").write_text(yaml.safe_dump(settings))
                more = [f"--config={folder}/scheduling.yaml"]
            binary, environment = self.binaries / f"kube-{'controller-manager' if name == 'manager' else name}", None
            if name == "scheduler" and self.plugin:
                binary, environment = os.environ.get("RAILWEAVE_SCHEDULER") or build_scheduler(folder), dict(os.environ, **self.plugin_environment)
                (folder / "scheduling.yaml").write_text(yaml.safe_dump(
                    {**WITH_PLUGIN[self.plugin], "leaderElection": {"leaderElect": False}, "clientConnection": {"kubeconfig": str(config)}}))
                more = [f"--config={folder}/scheduling.yaml"]
            self.launch(name, binary, f"--kubeconfig={config}",
                        f"--authentication-kubeconfig={config}", f"--authorization-kubeconfig={config}", f"--secure-port={port}", *common, *more, environment=environment)
        (folder / "stages.yaml").write_text(yaml.safe_dump_all(stages(self.binaries)))
        self.launch("kwok", self.binaries / "kwok", "--kubeconfig", folder / "kwok.config", "--config", folder / "stages.yaml",
                    "--manage-nodes-with-label-selector=type=kwok", "--node-lease-duration-seconds=40", f"--server-address=127.0.0.1:{kwok}")
        until("service accounts", lambda: api.find("/api/v1/namespaces/default/serviceaccounts/default"), 120)
        return self

    @staticmethod
    def ready(api):
        try:
            return api.raw("GET", "/readyz")[0] == 200
        except OSError:
            return False

    def write_config(self, user):
        (self.folder / f"{user}.config").write_text(yaml.safe_dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "it",
            "clusters": [{"name": "it", "cluster": {"server": f"https://127.0.0.1:{self.port}", "insecure-skip-tls-verify": True}}],
            "users": [{"name": "it", "user": {"token": user}}], "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}]}))

    def api(self, user="admin"):
        return Api(self.port, user)

    def kubectl(self, *arguments, user="admin", text=None):
        """What it prints."""
        assert self.scheduling, "make kube-apiserver builds no kubectl: tests on the API server alone use api()"
        done = subprocess.run([self.binaries / "kubectl", "--kubeconfig", self.folder / f"{user}.config", *arguments], input=text, cwd=ROOT, capture_output=True,
                              text=True, timeout=120)
        assert done.returncode == 0, (arguments, done.stderr[-2000:])
        return done.stdout

    def launch(self, name, *command, environment=None):
        log = self.folder / f"{name}.log"
        with open(log, "a", encoding="utf-8") as out:
            self.processes[name] = subprocess.Popen([str(word) for word in command], stdout=out, stderr=out, env=environment)

    def tail(self, name, lines=15):
        path = self.folder / f"{name}.log"
        return "\n".join(line[:400] for line in path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else ""

    def end_one(self, name, kill=False):
        process = self.processes.pop(name, None)
        if process:
            process.kill() if kill else process.terminate()
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(timeout=30)

    def end(self):
        for name in reversed(list(self.processes)):
            self.end_one(name, kill=name != "kwok")

    def add_node(self, name, gpus=8, labels=None, managed=True):
        api = self.api()
        own = {"kubernetes.io/hostname": name, "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", **(labels or {}), **({"type": "kwok"} if managed else {})}
        api.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": own}})
        size = {"cpu": "128", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": str(gpus)}
        api.patch(f"/api/v1/nodes/{name}/status", {"status": {
            "capacity": size, "allocatable": size,
            "conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "lastTransitionTime": stamp(), "lastHeartbeatTime": stamp()}]}})

    def lose_node(self, name):
        """Its kubelet is gone: no one keeps it ready any more."""
        api = self.api()
        api.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {"type": None}}})
        self.set_ready(name, "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")

    def set_ready(self, name, status, reason="Ready", message=""):
        self.api().patch(f"/api/v1/nodes/{name}/status", {"status": {"conditions": [
            {"type": "Ready", "status": status, "reason": reason, "message": message, "lastTransitionTime": stamp(),
             "lastHeartbeatTime": stamp()}]}}, "strategic-merge")


# A scheduler of which Railweave's plugin generates the placements of gangs, and one of which it scores those of others.
WITH_PLUGIN = {mode: {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [
    {"schedulerName": "default-scheduler", "plugins": plugins}]} for mode, plugins in {
        "generate": {"placementGenerate": {"enabled": [{"name": "Railweave"}], "disabled": [{"name": "*"}]}},
        "score": {"placementScore": {"enabled": [{"name": "Railweave", "weight": 10}]}}}.items()}


def scheduling(extender):
    """Configuration of a scheduler that asks the extender of that URL about pods with GPUs."""
    return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "extenders": [{
        "urlPrefix": f"{extender}/v1/kubernetes", "filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 1, "nodeCacheCapable": True,
        "managedResources": [{"name": "nvidia.com/gpu", "ignoredByScheduler": False}]}]}


def stages(binaries):
    """What kwok does to pods: it runs them until they are deleted. As a kubelet would, it ends a deleted pod's containers first: a Job
    with a podFailurePolicy waits for that."""
    found = {one["metadata"]["name"]: one for one in yaml.safe_load_all((binaries / "stages.yaml").read_text()) if one}
    new = found["node-initialize"]["spec"]["next"]  # nodes have the size that add_node() gives them
    assert new["statusTemplate"].count("cpu: 1k") == 2, new
    new["statusTemplate"] = new["statusTemplate"].replace("cpu: 1k", "cpu: 128").replace("pods: 1M", "pods: 110")
    ending, deleting = found["pod-complete"], found["pod-delete"]
    ending["metadata"]["name"] = "pod-terminate"
    ending["spec"]["selector"]["matchExpressions"] = [{"key": ".metadata.deletionTimestamp", "operator": "Exists"},
                                                      {"key": ".status.phase", "operator": "In", "values": ["Running"]}]
    template = ending["spec"]["next"]["statusTemplate"]
    ending["spec"]["next"]["statusTemplate"] = template.replace("exitCode: 0", "exitCode: 143").replace("phase: Succeeded", "phase: Failed")
    assert template.count("exitCode: 0") == template.count("phase: Succeeded") == 1, template
    deleting["spec"]["selector"]["matchExpressions"].append({"key": ".status.phase", "operator": "NotIn", "values": ["Running"]})
    return list(found.values())


def stamp():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def manifests(name):
    return [one for one in yaml.safe_load_all((ROOT / "deploy" / "kubernetes" / name).read_text()) if one]


def with_url(document, port):
    """A webhook configuration for a controller that runs outside of the cluster."""
    for webhook in document["webhooks"]:
        service = webhook["clientConfig"].pop("service")
        webhook["clientConfig"]["url"] = f"https://127.0.0.1:{port}{service['path']}"
        # Kept from the API server until the controller fills in its own.
        webhook["clientConfig"]["caBundle"] = base64.b64encode(b"").decode()
    return document


# For tests that are about something else: what a namespace may ask for is in policy_test.py.
ANYTHING = """
namespaces:
  - names: ["*"]
    tenants: [research, "*"]
    priorities: ["*"]
    maxGuaranteeGbps: 100000
    classes: ["*"]
"""


class Controller:
    """railweave-kubernetes as its own user, with the rights of deploy/kubernetes/rbac.yaml and no others. As kubelet would, the test starts it
    again where it ends by itself, which it does when a busy API server has it lose its lease."""

    def __init__(self, cluster, binary, url, name="controller"):
        self.cluster, self.binary, self.url, self.name = cluster, binary, url, name
        self.webhook = free_ports(1)[0]

    def install(self):
        api = self.cluster.api()
        for document in manifests("rbac.yaml"):
            api.apply(document)
        for document in manifests("webhook.yaml"):
            if document["kind"] != "Service":
                api.apply(with_url(document, self.webhook))
        self.set_policy(ANYTHING)
        api.create("/api/v1/namespaces", {"metadata": {"name": "team", "labels": {"railweave.dev/enabled": "true"}}})
        return self

    def set_policy(self, text):
        """What the operator allows to namespaces; None for nothing configured."""
        api, path = self.cluster.api(), "/api/v1/namespaces/railweave/configmaps"
        data = {"data": {"policy.yaml": text}}
        if not api.find(f"{path}/railweave-policy"):
            if text is not None:
                api.create(path, {"metadata": {"name": "railweave-policy"}, **data})
        elif text is None:
            api.delete(f"{path}/railweave-policy")
        else:
            api.patch(f"{path}/railweave-policy", data)

    def start(self, *arguments, webhook=True):
        environment = dict(os.environ, KUBECONFIG=str(self.cluster.folder / "railweave.config"), RAILWEAVE_URL=self.url)
        environment.pop("RAILWEAVE_TOKEN", None)
        serving = [f"--webhook-address=127.0.0.1:{self.webhook}", "--webhook-hosts=127.0.0.1"] if webhook else ["--webhook=false"]
        command = [self.binary, "--tenant=research", "--cluster=test", "--health-address=0", "--lease=2s", "--patience=8s", "--node-lost=2s", "--calm=3s",
                   *serving, *arguments]
        self.cluster.launch(self.name, *command, environment=environment)
        threading.Thread(target=self.keep, args=(command, environment), daemon=True).start()

    def keep(self, command, environment):
        process = self.cluster.processes[self.name]
        while self.cluster.processes.get(self.name) is process:
            if process.poll() is not None and "leader election lost" in self.cluster.tail(self.name, 3):
                self.cluster.launch(self.name, *command, environment=environment)
                process = self.cluster.processes[self.name]
            time.sleep(0.2)

    def kill(self):
        self.cluster.end_one(self.name, kill=True)

    def stop(self):
        self.cluster.end_one(self.name)

    def log(self):
        return self.cluster.tail(self.name, 60)


def build_scheduler(folder):
    """The scheduler with Railweave's plugin; minutes where Go's cache has nothing of Kubernetes."""
    binary = folder / "railweave-scheduler"
    version = "-X k8s.io/component-base/version.gitVersion=v1.36.3 -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36"
    subprocess.run(["go", "build", "-trimpath", "-ldflags", f"-s -w {version}", "-o", binary, "."], cwd=ROOT / "services" / "kubernetes" / "scheduler", check=True,
                   timeout=1500, env=dict(os.environ, CGO_ENABLED="0"))
    return binary


def build_controller(folder):
    """The controller as its own sources are now; Go's cache makes this quick where nothing has changed."""
    binary = folder / "railweave-kubernetes"
    subprocess.run(["go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "."], cwd=ROOT / "services" / "kubernetes", check=True, timeout=600,
                   env=dict(os.environ, CGO_ENABLED="0"))
    return binary
