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
from kubernetes import WITH_PLUGIN, manifests, scheduling

README = (ROOT / "services" / "kubernetes" / "README.md").read_text()


def blocks(kind):
    found = [text for of, text in re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE) if of == kind]
    assert found, kind
    return found


def readme(cluster):
    environment = {"PATH": os.environ["PATH"], "RAILWEAVE_URL": f"http://127.0.0.1:{cluster.service.port}", "HOME": str(cluster.folder), "RAILWEAVE_TOKEN": cluster.token}
    commands = [line for block in blocks("") for line in block.splitlines() if line.startswith("railweave ")]
    assert len(commands) == 2, commands
    for command in commands:
        done = subprocess.run([cluster.bin / "railweave", *command.split()[1:]], env=environment, cwd=cluster.folder, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, (command, done.stderr)
    named = re.findall(r"deploy/kubernetes/(\w+\.yaml)", README)
    assert sorted(named) == sorted(os.listdir(ROOT / "deploy" / "kubernetes")), named
    # rbac.yaml and webhook.yaml are what the controller of all tests runs with; the rest is taken by the API server as it is.
    for document in [*manifests("deployment.yaml"), *[one for one in manifests("webhook.yaml") if one["kind"] == "Service"]]:
        cluster.api.apply(document, strict=True)
    arguments = manifests("deployment.yaml")[0]["spec"]["template"]["spec"]["containers"][0]["args"]
    help_text = subprocess.run([cluster.controller.binary, "--help"], capture_output=True, text=True, timeout=60).stderr
    options = set(re.findall(r"^  -([a-z-]+)", help_text, re.MULTILINE))
    used = {argument.split("=")[0].lstrip("-") for argument in arguments} | set(re.findall(r"`--([a-z-]+)[`=]", README))
    assert used and used <= options, used - options
    names = (ROOT / "services" / "kubernetes" / "names" / "names.go").read_text()
    for name in set(re.findall(r"railweave\.dev/([a-z-]+)", README)):
        assert f'"{name}"' in names, f"railweave.dev/{name} is no annotation"
    cluster.controller.start(f"--token-file={cluster.folder}/kubernetes.token")  # an operator's: all that it needs
    cluster.until("the webhooks answer", lambda: cluster.api.get("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/railweave-webhook")[
        "webhooks"][0]["clientConfig"].get("caBundle"))
    documents = [yaml.safe_load(block) for block in blocks("yaml")]
    # What scheduler_test.py, extender_test.py and kueue_test.py run with.
    plugin, scheduler, check = documents.pop(), documents.pop(), documents.pop()
    assert plugin == WITH_PLUGIN, plugin
    ours = scheduling("http://railweave-kubernetes.railweave.svc:8090")
    assert scheduler["extenders"] == ours["extenders"] and scheduler["kind"] == ours["kind"], (scheduler, ours)
    assert check["spec"]["controllerName"] == "railweave.dev/placement" and check["apiVersion"] == "kueue.x-k8s.io/v1beta2"
    assert [document["kind"] for document in documents] == ["Namespace", "Job", "Job"]
    for document in documents:
        cluster.api.apply(document, strict=True)
        if document["kind"] == "Namespace":
            cluster.until("its service account", lambda name=document["metadata"]["name"]: cluster.api.find(f"/api/v1/namespaces/{name}/serviceaccounts/default"))
        else:
            cluster.placed_job(document["metadata"]["name"], document["spec"]["completions"], namespace=document["metadata"]["namespace"])


if __name__ == "__main__":
    sys.exit(main({"readme": readme}, *sys.argv[1:], authentication="tokens"))
