#!/usr/bin/env python3
"""The examples of services/kubernetes/README.md and the manifests of deploy/kubernetes do what they say on a real Kubernetes.

readme_test.py BIN_FOLDER readme
"""
import os
import re
import subprocess
import sys

import yaml

from cluster import ROOT, main
from kubernetes import WITH_PLUGIN, ApiError, manifests, scheduling, with_url

README = (ROOT / "services" / "kubernetes" / "README.md").read_text()


def blocks(kind):
    found = [text for of, text in re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE) if of == kind]
    assert found, kind
    return found


def run(cluster, block, environment):
    """The lines of a block in a shell, as they are written."""
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], env=environment, cwd=cluster.folder / "checkout", capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (block, done.stderr)
    return done.stdout


def readme(cluster):
    (cluster.folder / "checkout").mkdir()
    (cluster.folder / "checkout" / "deploy").symlink_to(ROOT / "deploy")
    environment = {"PATH": f"{cluster.bin}:{cluster.kubernetes.binaries}:{os.environ['PATH']}", "RAILWEAVE_URL": f"http://127.0.0.1:{cluster.service.port}",
                   "HOME": str(cluster.folder), "RAILWEAVE_TOKEN": cluster.token, "KUBECONFIG": str(cluster.folder / "admin.config")}
    named = re.findall(r"deploy/kubernetes/(\w+\.yaml)", README)
    assert sorted(named) == sorted(os.listdir(ROOT / "deploy" / "kubernetes")), named
    # On a cluster that has nothing of it.
    for kind in ("mutating", "validating"):
        cluster.api.delete(f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/railweave-webhook")
    setting_up, looking, testing = blocks("")
    assert testing.startswith("deploy/install-dependencies.sh")
    run(cluster, setting_up, environment)
    assert cluster.api.find("/apis/apps/v1/namespaces/railweave/deployments/railweave-kubernetes")
    assert cluster.api.find("/api/v1/namespaces/railweave/secrets/railweave-token")["data"]["token"]
    # The Deployment is a process of this test, with the account and the rights of the files; the API server reaches it on the loopback.
    for document in manifests("webhook.yaml"):
        if document["kind"] != "Service":
            cluster.api.delete(f"/apis/admissionregistration.k8s.io/v1/{document['kind'].lower()}s/railweave-webhook")
            cluster.api.apply(with_url(document, cluster.controller.webhook))
    arguments = manifests("deployment.yaml")[0]["spec"]["template"]["spec"]["containers"][0]["args"]
    help_text = subprocess.run([cluster.controller.binary, "--help"], capture_output=True, text=True, timeout=60).stderr
    options = set(re.findall(r"^  -([a-z-]+)", help_text, re.MULTILINE))
    used = {argument.split("=")[0].lstrip("-") for argument in arguments} | set(re.findall(r"`--([a-z-]+)[`=]", README))
    assert used and used <= options, used - options
    names = (ROOT / "services" / "kubernetes" / "names" / "names.go").read_text()
    marks = re.findall(r'Variable: "(\w+)"', (ROOT / "services" / "kubernetes" / "names" / "marks.go").read_text())
    marks = {mark.removeprefix("RAILWEAVE_").lower().replace("_", "-") for mark in marks}
    for name in set(re.findall(r"railweave\.dev/([a-z-]+)", README)):
        assert f'"{name}"' in names or name in marks, f"railweave.dev/{name} is no annotation"
    cluster.controller.start(f"--token-file={cluster.folder}/checkout/kubernetes.token")  # an operator's: all that it needs
    cluster.until("the webhooks answer", lambda: cluster.api.get("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/railweave-webhook")[
        "webhooks"][0]["clientConfig"].get("caBundle"))
    documents = [yaml.safe_load(block) for block in blocks("yaml")]
    # What scheduler_test.py, extender_test.py and kueue_test.py run with.
    score, generate, scheduler, check = (documents.pop() for _ in range(4))
    assert {"generate": generate, "score": score} == WITH_PLUGIN
    ours = scheduling("http://railweave-kubernetes.railweave.svc:8090")
    assert scheduler["extenders"] == ours["extenders"] and scheduler["kind"] == ours["kind"], (scheduler, ours)
    assert check["spec"]["controllerName"] == "railweave.dev/placement" and check["apiVersion"] == "kueue.x-k8s.io/v1beta2"
    ordered = documents.pop(0)  # of the step `order`
    cluster.kubernetes.kubectl("apply", "--validate=strict", "--dry-run=server", "-f", "-", text=yaml.safe_dump(ordered))
    assert [document["kind"] for document in documents] == ["Namespace", "Job", "Job"]
    for document in documents:
        cluster.kubernetes.kubectl("apply", "--validate=strict", "-f", "-", text=yaml.safe_dump(document))
        if document["kind"] == "Namespace":
            cluster.until("its service account", lambda name=document["metadata"]["name"]: cluster.api.find(f"/api/v1/namespaces/{name}/serviceaccounts/default"))
        else:
            cluster.placed_job(document["metadata"]["name"], document["spec"]["completions"], namespace=document["metadata"]["namespace"])
    cluster.job("large", 16, namespace="training", gate=False, annotations={"railweave.dev/tenant": "research"})
    cluster.until("it waits", lambda: (pods := cluster.pods("large", "training")) and all(cluster.reason(pod) for pod in pods) and cluster.events(pods[0]))
    shown = run(cluster, looking, environment)
    assert re.search(r"llama-0-\w+ +node-\d\d +0-7 ", shown) and re.search(r"large-0-\w+ +<none> +<none> +\S.*GPUs", shown), shown
    assert "WaitsForPlacement" in shown, shown
    # What the operator allows, as the page has it.
    cluster.controller.set_policy(blocks("json")[0])

    def refused():
        made = cluster.template(8, {"railweave.dev/tenant": "lab"})
        made["metadata"]["name"] = "other"
        try:
            cluster.api.create("/api/v1/namespaces/training/pods?dryRun=All", made)
        except ApiError as error:
            return "its operator allows: research, physics" in error.message
        return False
    cluster.until("the page's policy is in force", refused)


if __name__ == "__main__":
    sys.exit(main({"readme": readme}, *sys.argv[1:], authentication="tokens"))
