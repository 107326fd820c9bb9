#!/usr/bin/env python3
"""The service's image without a container runtime: the last stage of its Dockerfile, step by step, in a fresh Debian root with the
packages of this build, and its entry point in namespaces of its own, as its user, on a root that cannot be written. And what goes with it:
the structure of compose.yaml, and the configuration in it, with certificates that prepare.sh makes.

containers_test.py BUILD_FOLDER        exit code 77: skipped, and why
"""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from debian_root import Root, built_packages, in_own_mounts  # noqa: E402
from ports import free_ports  # noqa: E402
from waiting import until  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
CONTAINERS = ROOT / "deploy/containers"
BUILD = Path(sys.argv[1]).resolve()


def last_stage(file):
    """(instruction, words) of the last stage, in order."""
    text = re.sub(r"^\s*#.*\n", "", file.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    lines = [line.split(None, 1) for line in text.splitlines() if line.strip()]
    begin = max(number for number, line in enumerate(lines) if line[0] == "FROM")
    return [(name, rest.strip()) for name, rest in lines[begin + 1:]]


class Image:
    """What the stage makes of a root; packages: the folder that its build stage would have filled."""

    def __init__(self, root, packages):
        self.root, self.user, self.entry, self.volumes = root, None, [], []
        for name, rest in last_stage(CONTAINERS / "railweaved.Dockerfile"):
            if name == "RUN":
                self.step(rest, packages)
            elif name == "USER":
                self.user = rest
            elif name == "VOLUME":
                self.volumes.append(rest)
            elif name in ("ENTRYPOINT", "CMD"):
                setattr(self, name.lower(), json.loads(rest))
            else:
                assert name in ("EXPOSE", "WORKDIR"), f"{name} is not known here"

    def step(self, command, packages):
        mount = re.match(r"--mount=type=bind,from=packages,source=/packages,target=(\S+) (.*)", command)
        if mount:
            target = self.root.path / mount[1].lstrip("/")
            target.mkdir()
            for package in packages:
                shutil.copy(package, target)
            self.root.run("sh", "-c", mount[2])
            shutil.rmtree(target)
        else:
            self.root.run("sh", "-c", command)

    def start(self, *further, words=None):
        """In new mount, PID, IPC and UTS namespaces: the root read only, but for the volumes."""
        mounts = "".join(f"mount -t tmpfs -o mode=700,uid={self.user.split(':')[0]},gid={self.user.split(':')[1]} state {self.root.path}{volume} && "
                         for volume in self.volumes)
        script = (f"mount --bind {self.root.path} {self.root.path} && {mounts} mount -o remount,bind,ro {self.root.path} && mount -t proc proc {self.root.path}/proc && "
                  f"exec chroot --userspec={self.user} {self.root.path} {shlex.join([*self.entrypoint, *(words or self.cmd), *further])}")
        return subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--ipc", "--uts", "--kill-child", "sh", "-c", script], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})


def asked(url, path):
    done = subprocess.run(["curl", "-s", "-k", "-o", "/dev/null", "-w", "%{http_code}", url + path], capture_output=True, text=True, timeout=10)
    return done.stdout


def service_runs(image):
    port = free_ports(1)[0]
    process = image.start("--listen", f"127.0.0.1:{port}")
    try:
        line = until("it says where it listens", lambda: process.stdout.readline() or process.poll() is not None, 30)
        seen = [line]
        while "listens at" not in str(line) and process.poll() is None:
            line = process.stdout.readline()
            seen.append(line)
        assert "listens at" in str(line), seen
        assert asked(f"http://127.0.0.1:{port}", "/readyz") == "200" and asked(f"http://127.0.0.1:{port}", "/v1/jobs") == "401"
        # It is the user of the image, and the first of its processes.
        inside = next(int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _command(entry).endswith(f"127.0.0.1:{port}")
                      and _command(entry).startswith("/usr/bin/railweaved"))
        status = Path(f"/proc/{inside}/status").read_text()
        assert re.search(r"^Uid:\s+65532\s", status, re.MULTILINE) and re.search(r"^NSpid:\s.*\s1$", status, re.MULTILINE), status
        os.kill(inside, 15)
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()


def _command(entry):
    try:
        return (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    except OSError:
        return ""


def configuration_is_read(image, folder):
    """Of compose.yaml, with what prepare.sh makes."""
    compose = yaml.safe_load((CONTAINERS / "compose.yaml").read_text())
    subprocess.run([CONTAINERS / "prepare.sh", folder / "secrets"], check=True, capture_output=True)
    before = (folder / "secrets/pgpass").read_text()
    subprocess.run([CONTAINERS / "prepare.sh", folder / "secrets"], check=True, capture_output=True)
    assert (folder / "secrets/pgpass").read_text() == before, "a second run made another password"
    made = {Path(one["file"]).name for one in compose["secrets"].values()}
    assert made <= {file.name for file in (folder / "secrets").iterdir()}, made
    secrets = image.root.path / "run/secrets"
    secrets.mkdir(parents=True)
    for name, one in compose["secrets"].items():
        target = secrets / name
        shutil.copy(folder / "secrets" / Path(one["file"]).name, target)
        os.chown(target, 65532, 65532)
        target.chmod(0o400)
    (image.root.path / "etc/railweave/compose.toml").write_text(compose["configs"]["railweaved"]["content"])
    for name in ("railweaved-1", "railweaved-2"):
        service = compose["services"][name]
        words = [word.replace("railweaved.toml", "compose.toml") for word in service["command"]]
        done = image.start("--check-config", words=words)
        out = done.communicate(timeout=30)[0]
        assert done.returncode == 0 and "is one to start with" in out, out
        assert f"--host-name={name}" in words and name in subprocess.run(
            ["openssl", "x509", "-in", folder / "secrets/railweaved.pem", "-noout", "-ext", "subjectAltName"], capture_output=True, text=True).stdout
    known = {*compose["services"], *compose["secrets"], *compose["configs"], *compose["volumes"]}
    for service in compose["services"].values():
        used = [*(one if isinstance(one, str) else one["source"] for one in service.get("secrets", [])), *(one["source"] for one in service.get("configs", [])),
                *(one.split(":")[0] for one in service["volumes"]), *service.get("depends_on", {})]
        assert set(used) <= known, (used, known)


def main():
    in_own_mounts()
    with tempfile.TemporaryDirectory(prefix="railweave-containers-") as name:
        folder = Path(name)
        debs = built_packages(BUILD, folder)
        inside = folder / "inside"
        inside.mkdir()
        try:
            image = Image(Root(inside), debs)
            assert image.user == "65532:65532" and image.volumes == ["/var/lib/railweave"]
            service_runs(image)
            configuration_is_read(image, folder)
        finally:
            subprocess.run(["umount", "-R", "-l", inside], check=False)
    print("the service's image starts, as its user, on a root that cannot be written; Compose's configuration is one to start with")
    return 0


if __name__ == "__main__":
    sys.exit(main())
