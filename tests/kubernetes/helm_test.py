#!/usr/bin/env python3
"""The chart, with real Helm on a real API server: linted, values that are wrong refused, installed, upgraded, uninstalled; what is on the
server then is what was rendered, with the rights of deploy/kubernetes/rbac.yaml and the rules of deploy/prometheus. And the configuration
that it renders, with which two real replicas start on a real PostgreSQL.

helm_test.py BIN_FOLDER helm|replicas        exit code 77: skipped, and why
Helm is built from the Go module proxy where it is not in the cache: two minutes of one processor.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from authority import Authority  # noqa: E402
from kubernetes import Kubernetes, manifests, missing  # noqa: E402
from ports import free_ports  # noqa: E402
from postgres_server import server_of  # noqa: E402
from waiting import until  # noqa: E402

CHART = ROOT / "deploy/helm/railweave"
HELM = "v4.3.1"
STORE = "postgresql://railweave@db:5432/railweave"
EVERYTHING = [f"service.store={STORE}", "serviceMonitor.enabled=true", "serviceMonitor.tokenSecret=viewer", "prometheusRule.enabled=true", "dashboards.enabled=true",
              "service.infiniband.enabled=true", "service.storePasswordSecret=db"]
# Values, and what is said of them.
REFUSED = [("service.store=mysql://db/x", "store"), ("service.store=postgresql://railweave:password@db/x", "store"), ("service.replicas=0", "replicas"),
           ("service.replcas=2", "replcas"), ("controller.arguments={kueue}", "arguments"), ("serviceMonitor.interval=often", "interval"), ("nothing=1", "nothing")]


def helm_program():
    """None where it cannot be had."""
    folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "railweave/go"
    program = folder / f"helm-{HELM}"
    if not program.exists():
        if not shutil.which("go"):
            return None
        with tempfile.TemporaryDirectory(prefix="railweave-helm-") as made:
            built = subprocess.run(["nice", "go", "install", "-trimpath", "-ldflags=-s -w", f"helm.sh/helm/v4/cmd/helm@{HELM}"], capture_output=True, text=True, timeout=1500,
                                   env=dict(os.environ, GOBIN=made, CGO_ENABLED="0"))
            if built.returncode != 0:
                print(built.stderr[-1000:])
                return None
            folder.mkdir(parents=True, exist_ok=True)
            shutil.move(f"{made}/helm", program)
    return program


class Helm:
    def __init__(self, program, folder, config=None):
        self.program = program
        self.environment = dict(os.environ, HOME=str(folder), HELM_CACHE_HOME=f"{folder}/helm", **({"KUBECONFIG": str(config)} if config else {}))

    def finished(self, *words, values=()):
        return subprocess.run([self.program, *words, *(word for value in values for word in ("--set", value))], capture_output=True, text=True, timeout=120,
                              env=self.environment)

    def run(self, *words, values=()):
        done = self.finished(*words, values=values)
        assert done.returncode == 0, f"{words}\n{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
        return done.stdout

    def rendered(self, *values, namespace="fabric"):
        text = self.run("template", "rw", CHART, "--namespace", namespace, values=values)
        return {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(text) if one}


def version():
    return re.search(r"project\(railweave VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]


def refused_and_rendered(helm):
    assert "0 chart(s) failed" in helm.run("lint", "--strict", CHART, values=EVERYTHING)
    for value, named in REFUSED:
        done = helm.finished("template", "rw", CHART, values=[f"service.store={STORE}", value])
        assert done.returncode != 0 and named in done.stderr, (value, done.stderr[-500:])
    done = helm.finished("template", "rw", CHART)
    assert done.returncode != 0 and "service.store" in done.stderr, done.stderr[-500:]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == version(), chart
    whole = helm.rendered(*EVERYTHING)
    kinds = {kind for kind, _ in whole}
    assert kinds >= {"StatefulSet", "Deployment", "PodDisruptionBudget", "NetworkPolicy", "ServiceMonitor", "PrometheusRule", "ConfigMap"}, kinds
    assert whole[("StatefulSet", "railweaved")]["spec"]["replicas"] == 2 == whole[("Deployment", "railweave-kubernetes")]["spec"]["replicas"]
    assert whole[("PrometheusRule", "railweave")]["spec"] == yaml.safe_load((ROOT / "deploy/prometheus/railweave.rules.yml").read_text())
    board = whole[("ConfigMap", "railweave-fabric")]["data"]["railweave-fabric.json"]
    assert json.loads(board) == json.loads((ROOT / "deploy/grafana/railweave-fabric.json").read_text())
    for document in manifests("rbac.yaml") + manifests("webhook.yaml"):
        if document["kind"] == "Namespace":
            continue
        found = whole[(document["kind"], document["metadata"]["name"])]
        plain = json.loads(json.dumps(document).replace('"namespace": "railweave"', '"namespace": "fabric"'))
        for part in ("rules", "subjects", "roleRef", "webhooks", "spec"):
            assert found.get(part) == plain.get(part), (document["kind"], part)
    # Without the service, and without the controller.
    assert not any(kind == "StatefulSet" for kind, _ in helm.rendered("service.enabled=false", "controller.server=https://fabric.example:7470"))
    assert not any("kubernetes" in name for _, name in helm.rendered(f"service.store={STORE}", "controller.enabled=false"))
    return whole


def define(api, kind, group="monitoring.coreos.com"):
    """A kind of the Prometheus operator, as any object: its controller is not here."""
    plural = kind.lower() + "s"
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
        "metadata": {"name": f"{plural}.{group}"}, "spec": {"group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural}, "versions": [
            {"name": "v1", "served": True, "storage": True,
             "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}})
    until(f"{kind} is served", lambda: api.find(f"/apis/{group}/v1/namespaces/default/{plural}") is not None)


def on_a_server(helm, cluster):
    api = cluster.api()
    for kind in ("ServiceMonitor", "PrometheusRule"):
        define(api, kind)
    helm.run("install", "rw", CHART, "--namespace", "fabric", "--create-namespace", values=EVERYTHING)
    path = "/apis/apps/v1/namespaces/fabric/statefulsets/railweaved"
    assert api.get(path)["spec"]["replicas"] == 2
    for found in ("/apis/policy/v1/namespaces/fabric/poddisruptionbudgets/railweaved", "/apis/networking.k8s.io/v1/namespaces/fabric/networkpolicies/railweaved",
                  "/apis/monitoring.coreos.com/v1/namespaces/fabric/servicemonitors/railweaved", "/apis/rbac.authorization.k8s.io/v1/clusterroles/railweave-kubernetes",
                  "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/railweave-webhook",
                  "/apis/apps/v1/namespaces/fabric/deployments/railweave-kubernetes"):
        assert api.find(found), found
    before = api.get(path)["spec"]["template"]["metadata"]["annotations"]
    helm.run("upgrade", "rw", CHART, "--namespace", "fabric", values=[*EVERYTHING, "service.replicas=3", "service.logLevel=debug"])
    after = api.get(path)["spec"]
    assert after["replicas"] == 3 and after["template"]["metadata"]["annotations"] != before, "a changed configuration restarts the pods"
    # Every manifest as the API server checks it, unknown fields refused.
    text = helm.run("template", "rw", CHART, "--namespace", "fabric", values=[*EVERYTHING, "networkPolicy.from[0].ipBlock.cidr=10.0.0.0/8"])
    for document in filter(None, yaml.safe_load_all(text)):
        api.apply_on_server(document, dry_run=True)
    helm.run("uninstall", "rw", "--namespace", "fabric")
    assert not api.find(path) and not api.find("/apis/rbac.authorization.k8s.io/v1/clusterroles/railweave-kubernetes")
    # The manifests that go without Helm, too.
    for name in ("rbac", "policy", "webhook", "deployment"):
        for document in manifests(f"{name}.yaml"):
            api.apply_on_server(document)


def with_helm(helm_at, binaries):
    if why := missing(False):
        print(f"skipped: {why}")
        return 77
    with tempfile.TemporaryDirectory(prefix="railweave-helm-") as folder:
        cluster = Kubernetes(Path(folder), scheduling=False)
        try:
            cluster.begin()
            helm = Helm(helm_at, folder, Path(folder) / "admin.config")
            whole = refused_and_rendered(helm)
            on_a_server(helm, cluster)
        finally:
            cluster.end()
    print(f"{len(whole)} objects; installed, upgraded and uninstalled by Helm {HELM}")
    return 0


def replicas(helm_at, binaries):
    """Started as the pods would, with names of loopback in the place of a cluster's."""
    with tempfile.TemporaryDirectory(prefix="railweave-chart-") as name, server_of() as database:
        folder = Path(name)
        whole = Helm(helm_at, folder).rendered(f"service.store={STORE}", "service.hostNames={extra.example}")
        authority = Authority(folder, "ca")
        certificate, key = authority.issue("tls", "railweaved", "DNS:localhost,IP:127.0.0.1,DNS:railweaved", usage="serverAuth")
        tls = folder / "tls"
        tls.mkdir()
        for source, target in ((certificate, "tls.crt"), (key, "tls.key"), (folder / "ca.pem", "ca.crt")):
            shutil.copy(source, tls / target)
        arguments = whole[("StatefulSet", "railweaved")]["spec"]["template"]["spec"]["containers"][0]["args"]
        assert any(word.startswith("--host-name=$(POD_IP)") for word in arguments), arguments
        processes, ports = [], free_ports(2)
        try:
            for number, port in enumerate(ports):
                own = folder / f"railweaved-{number}"
                own.mkdir()
                text = whole[("ConfigMap", "railweaved")]["data"]["railweaved.toml"]
                for old, new in (("/etc/railweave/tls", str(tls)), ("/var/lib/railweave", str(own)), (STORE, database.url + "postgres"), ("0.0.0.0", "127.0.0.1"), ("7470", str(port))):
                    assert old in text, (old, text)
                    text = text.replace(old, new)
                (own / "railweaved.toml").write_text(text)
                words = [word.replace("/etc/railweave", str(own)).replace("$(POD_NAME)", f"railweaved-{number}").replace("$(POD_IP)", "10.1.2.3")
                         .replace(f"https://railweaved-{number}.railweaved-replicas.fabric.svc:7470", f"https://127.0.0.1:{port}") for word in arguments]
                log = open(own / "log", "wb")
                processes.append(subprocess.Popen([binaries / "railweaved", *words], stdout=log, stderr=log))
                until(lambda own=own: (own / "log").read_text(), lambda port=port: ask(port, tls, "/readyz") == "200", 40)
            for host in ("railweaved", "railweaved.fabric.svc", "railweaved-1.railweaved-replicas.fabric.svc", "extra.example", "10.1.2.3"):
                assert ask(ports[1], tls, "/readyz", host) == "200", host
            assert ask(ports[1], tls, "/readyz", "other.example") == "421"
            token = (folder / "railweaved-0/admin-token").read_text().strip()
            done = subprocess.run([binaries / "railweave", "--server", f"https://127.0.0.1:{ports[1]}", "--ca-file", tls / "ca.crt", "tenants", "set", "research"],
                                  env=dict(os.environ, RAILWEAVE_TOKEN=token, HOME=name), capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, f"a follower sends a change on to the leader: {done.stderr}"
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(timeout=60)
    print("two replicas start with the configuration that the chart renders")
    return 0


def ask(port, tls, path, host="railweaved"):
    done = subprocess.run(["curl", "-s", "--cacert", tls / "ca.crt", "-o", "/dev/null", "-w", "%{http_code}", "-H", f"Host: {host}", f"https://127.0.0.1:{port}{path}"],
                          capture_output=True, text=True, timeout=10)
    return done.stdout


def main():
    helm = helm_program()
    if helm is None:
        print("skipped: Helm is not in the cache, and Go is not there to build it")
        return 77
    return {"helm": with_helm, "replicas": replicas}[sys.argv[2]](helm, Path(sys.argv[1]).resolve())


if __name__ == "__main__":
    sys.exit(main())
