"""A released manager of other kinds of groups (tests/kubernetes/managers/releases.txt) beside the test's API server, installed from its own
manifests; only its Deployment is a process of the test, which is kubelet for it: certificates come into its folder, and its Service
leads to the loopback."""
import base64
import http.client
import os
import shutil
import subprocess
import time
from pathlib import Path

import yaml

from kubernetes import ROOT, ApiError
from ports import free_ports
from waiting import until

BUILD = ROOT / "tests" / "kubernetes" / "managers" / "build.sh"
# Where some wait for their certificates, whatever their configuration says.
FIXED = Path("/tmp/k8s-webhook-server/serving-certs")
FIXED_OF = ("jobset", "lws", "training", "kueue")
# Managers that are configured by options.
BY_OPTIONS = {"mpi": lambda kubernetes, health, webhooks: ["-kubeConfig", kubernetes.folder / "admin.config", "-kube-api-qps=100", "-kube-api-burst=200"],
              "ray": lambda kubernetes, health, webhooks: ["-metrics-addr=0", f"-health-probe-bind-address=127.0.0.1:{health}", "-enable-leader-election=false"],
              "training": lambda kubernetes, health, webhooks: ["-metrics-bind-address=0", f"-health-probe-bind-address=127.0.0.1:{health}",
                                                                f"-webhook-server-port={webhooks}", "-kube-api-qps=100", "-kube-api-burst=200"]}


def missing(name):
    """What is not there, "" where everything is."""
    done = subprocess.run([BUILD, "--where", name], capture_output=True, text=True, timeout=60)
    if done.returncode:
        return f"{name} is not built; {BUILD.relative_to(ROOT)} {name} builds it"
    return f"{FIXED} is in use by another program" if name in FIXED_OF and FIXED.exists() else ""


class Manager:
    """`with Manager(kubernetes, "jobset"):` installs it and runs it."""

    def __init__(self, kubernetes, name):
        self.kubernetes, self.name = kubernetes, name
        built = Path(subprocess.run([BUILD, "--where", name], capture_output=True, text=True, timeout=60, check=True).stdout.strip())
        self.binary = built / "manager"
        self.documents = [one for one in yaml.safe_load_all((built / "manifests.yaml").read_text()) if one]
        self.webhooks, self.health = free_ports(2)
        self.certificates = FIXED if name in FIXED_OF else kubernetes.folder / f"{name}.certificates"

    def of(self, kind):
        return [one for one in self.documents if one["kind"] == kind]

    def __enter__(self):
        self.certificates.mkdir(parents=True, exist_ok=self.certificates != FIXED)
        self.install()
        self.kubernetes.launch(self.name, self.binary, *self.configured(), environment=dict(os.environ, KUBECONFIG=str(self.kubernetes.folder / "admin.config")))
        for secret in self.of("Secret") if self.name in FIXED_OF or self.name not in BY_OPTIONS else []:
            self.mount(secret["metadata"])
        until(lambda: f"{self.name} is ready\n{self.kubernetes.tail(self.name)}", self.ready, 120)
        return self

    def __exit__(self, *_):
        self.kubernetes.end_one(self.name)
        shutil.rmtree(self.certificates, ignore_errors=True)
        if self.certificates == FIXED and not any(FIXED.parent.iterdir()):
            FIXED.parent.rmdir()

    def install(self):
        """Its manifests as they are, but for where its webhooks are reached."""
        kept = []
        for one in self.documents:
            if one["kind"] in ("Deployment", "APIService"):
                continue
            for client in self.clients(one):
                client["service"]["port"] = self.webhooks
            if one["kind"] == "Service":
                one["spec"] = {"type": "ExternalName", "externalName": "localhost"}
            kept.append(one)
        (self.kubernetes.folder / f"{self.name}.yaml").write_text(yaml.safe_dump_all(kept))
        self.kubernetes.kubectl("apply", "--server-side", "-f", self.kubernetes.folder / f"{self.name}.yaml")
        api = self.kubernetes.api()
        for one in self.of("CustomResourceDefinition"):  # some managers end where their kinds are not served yet
            spec = one["spec"]
            until(one["metadata"]["name"], lambda spec=spec: api.find(f"/apis/{spec['group']}/{spec['versions'][-1]['name']}/{spec['names']['plural']}?limit=1"), 60)

    @staticmethod
    def clients(document):
        found = [webhook["clientConfig"] for webhook in document.get("webhooks", [])]
        conversion = document.get("spec", {}).get("conversion", {}) if document["kind"] == "CustomResourceDefinition" else {}
        return found + ([conversion["webhook"]["clientConfig"]] if "webhook" in conversion else [])

    def configured(self):
        """Its own configuration, with this test's ports."""
        if self.name in BY_OPTIONS:
            return BY_OPTIONS[self.name](self.kubernetes, self.health, self.webhooks)
        texts = [text for one in self.of("ConfigMap") for text in one["data"].values()]
        assert len(texts) == 1, texts
        settings = yaml.safe_load(texts[0])
        settings.setdefault("leaderElection", {})["leaderElect"] = False
        settings["webhook"] = {"port": self.webhooks, "certDir": str(self.certificates)}
        settings["health"] = {"healthProbeBindAddress": f"127.0.0.1:{self.health}"}
        settings["metrics"] = {"bindAddress": "0"}
        if self.name == "kueue":  # one kind of job, and no API of its own
            settings["integrations"] = {"frameworks": ["batch/job"]}
            settings["featureGates"] = {"VisibilityOnDemand": False}
        path = self.kubernetes.folder / f"{self.name}.settings.yaml"
        path.write_text(yaml.safe_dump(settings))
        return [f"--config={path}"]

    def mount(self, of):
        """The certificate that the manager made, as kubelet would show it."""
        path = f"/api/v1/namespaces/{of['namespace']}/secrets/{of['name']}"
        api = self.kubernetes.api()
        found = until(lambda: f"a certificate of {self.name}\n{self.kubernetes.tail(self.name)}",
                      lambda: (data := (api.find(path) or {}).get("data") or {}).get("tls.crt") and data, 120)
        for name, text in found.items():
            (self.certificates / name).write_bytes(base64.b64decode(text))

    def ready(self):
        if self.name == "mpi":  # its port for that is fixed
            lease = self.kubernetes.api().find("/apis/coordination.k8s.io/v1/namespaces/mpi-operator/leases/mpi-operator")
            return lease and lease["spec"].get("holderIdentity")
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.health, timeout=5)
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False

    def create(self, path, body, seconds=60):
        """Webhooks may not answer yet where a manager says that it is ready."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                return self.kubernetes.api().create(path, body)
            except ApiError as error:
                if error.status < 500 or time.monotonic() > deadline:
                    raise
            time.sleep(0.5)
