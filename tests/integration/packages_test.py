#!/usr/bin/env python3
"""The Debian packages in a fresh Debian root, from their files alone: installed, the service started as its unit says, a job placed,
upgraded with a changed configuration and jobs running, removed, purged. The time from the first command to the placed job is printed.
What is not tried: systemd itself, which does not run in a root like this.

packages_test.py BUILD_FOLDER
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from debian_root import Root, built_packages, in_own_mounts  # noqa: E402
from ports import free_ports  # noqa: E402
from waiting import until  # noqa: E402

BUILD = Path(sys.argv[1]).resolve()


class Service:
    """By the command of its unit."""

    def __init__(self, root):
        self.root, self.port = root, free_ports(1)[0]
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self):
        unit = (self.root.path / "usr/lib/systemd/system/railweaved.service").read_text()
        command = re.search("^ExecStart=(.*)$", unit, re.MULTILINE)[1].replace("${STATE_DIRECTORY}", "/var/lib/railweave")
        assert "StateDirectory=railweave\n" in unit
        user = re.search("^User=(.*)$", unit, re.MULTILINE)[1]
        (self.root.path / "var/lib/railweave").mkdir(exist_ok=True)
        self.root.run("chown", "-R", f"{user}:{user}", "/var/lib/railweave")  # as StateDirectory= does
        self.process = subprocess.Popen(["chroot", f"--userspec={user}:{user}", self.root.path, *command.split(), "--listen", f"127.0.0.1:{self.port}"], stdout=subprocess.DEVNULL)
        until("it is ready", lambda: self.process.poll() is None and self.cli("status", code=None) is not None)

    def stop(self):
        self.process.terminate()
        assert self.process.wait(timeout=60) == 0

    def cli(self, *words, code=0):
        token = self.root.path / "var/lib/railweave/railweave.db.admin-token"
        try:
            return self.root.run("railweave", *words, code=code or 0, RAILWEAVE_URL=self.url, RAILWEAVE_TOKEN=token.read_text().strip() if token.exists() else "")
        except AssertionError:
            if code is None:
                return None
            raise


def newer(package, folder):
    """The same as a later version."""
    subprocess.run(["dpkg-deb", "-R", package, folder / "x"], check=True)
    control = folder / "x/DEBIAN/control"
    control.write_text(re.sub("^Version: .*$", "Version: 99.0", control.read_text(), flags=re.MULTILINE))
    later = folder / package.name.replace("_0", "_99_0")
    subprocess.run(["dpkg-deb", "-b", folder / "x", later], check=True, capture_output=True)
    shutil.rmtree(folder / "x")
    return later


def manual_pages(root):
    """Of every program, and of every command; without man in the root, the one of this machine reads them."""
    pages = {file.name for file in root.path.glob("usr/share/man/man[18]/railweave*")}
    names = {name.removesuffix(".gz") for name in pages}
    assert {"railweaved.8", "railweave-slurm.8", "railweave-verify.1", "railweave.1", "railweave-jobs-submit.1"} <= names and len(names) > 150, len(names)
    for program in root.path.glob("usr/bin/railweave*"):
        assert names & {f"{program.name}.1", f"{program.name}.8"}, f"{program.name} has no manual page"
    if shutil.which("man"):
        for file in ("man8/railweaved.8", "man1/railweave-verify.1", "man1/railweave-jobs-submit.1"):
            done = subprocess.run(["man", "--warnings", "-l", root.path / "usr/share/man" / file], capture_output=True, text=True, env=dict(os.environ, MANWIDTH="100"))
            said = [line for line in done.stderr.splitlines() if "cannot adjust line" not in line and "can't break line" not in line]
            assert done.returncode == 0 and not said and "NAME" in done.stdout, (file, said)


def client_library(root, folder):
    """The program of the library's page is built against what the package put into the root, by this machine's compiler."""
    page = (Path(__file__).resolve().parents[2] / "api/client/README.md").read_text()
    source = folder / "client"
    source.mkdir()
    for kind, name in (("cmake", "CMakeLists.txt"), ("cpp", "place.cc")):
        (source / name).write_text(re.search(rf"^```{kind}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)[1])
    for step in (["-S", source, "-B", source / "build", f"-DCMAKE_PREFIX_PATH={root.path}/usr"], ["--build", source / "build"]):
        done = subprocess.run(["cmake", *step], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-1500:]
    cache = (source / "build/CMakeCache.txt").read_text()
    assert f"railweave_DIR:PATH={root.path}/usr" in cache, "another package of CMake was found"
    assert (source / "build/place").exists()


def story(root, packages, folder):
    began = time.monotonic()
    root.install([packages["railweave"], packages["railweaved"]])
    print(f"installed after {time.monotonic() - began:.1f} s, with what they need from Debian")
    assert "is one to start with" in root.run("railweaved", "--config", "/etc/railweave/railweaved.toml", "--check-config")
    mode = (root.path / "etc/railweave/railweaved.toml").stat().st_mode & 0o777
    assert mode == 0o640, f"others read the configuration: {mode:o}"
    service = Service(root)
    service.start()
    service.cli("lab", "generate", "rail-optimized", "--hosts", "16", "-O", "/srv/fabric.json")
    service.cli("fabric", "import", "/srv/fabric.json")
    service.cli("tenants", "set", "research")
    placed = service.cli("jobs", "submit", "--tenant", "research", "--tp", "8", "--dp", "4", "-o", "json")
    job = re.search(r'"id": *"(job-\d+)"', placed)[1]
    assert '"placed"' in placed, placed
    print(f"a job is placed {time.monotonic() - began:.1f} s after the first command")
    console = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", f"{service.url}/console/"], capture_output=True, text=True).stdout
    has_console = (root.path / "usr/share/railweave/console/index.html").exists()
    assert console == ("200" if has_console else "404"), console
    # Upgraded, with a configuration of one's own.
    configuration = root.path / "etc/railweave/railweaved.toml"
    configuration.write_text(configuration.read_text().replace('log_level = "info"', 'log_level = "debug"'))
    service.stop()
    root.install([newer(packages["railweave"], folder), newer(packages["railweaved"], folder)])
    assert "99.0" in root.run("dpkg-query", "-W", "-f", "${Version}", "railweaved")
    assert 'log_level = "debug"' in configuration.read_text(), "an upgrade changed the configuration"
    service.start()
    assert job in service.cli("jobs", "list"), "a job is gone after the upgrade"
    service.stop()
    # A configuration that is damaged is said by name.
    good = configuration.read_text()
    configuration.write_text(good + "\nno_such_key = 1\n")
    root.run("railweaved", "--config", "/etc/railweave/railweaved.toml", "--check-config", code=2)
    configuration.write_text(good)
    for name in ("railweave-slurm", "railweave-opensm", "railweave-agent", "railweave-dev"):
        root.install([packages[name]])
    assert "Usage" in root.run("railweave-slurm", "--help")
    manual_pages(root)
    client_library(root, folder)
    assert (root.path / "etc/railweave/slurm.env").stat().st_mode & 0o77 == 0
    for name in ("railweave_spank.so", "railweave_opensm.so"):
        for file in root.path.glob(f"usr/lib/**/railweave/*{name}"):
            print(f"{file.name}: {root.run('ldd', str(file)[len(str(root.path)):]).count('not found')} libraries of its program's own")
    root.run("apt-get", "remove", "-y", "-qq", "railweaved", "railweave", "railweave-slurm")
    assert not (root.path / "usr/bin/railweaved").exists() and configuration.exists() and (root.path / "var/lib/railweave/railweave.db").exists()
    root.run("dpkg", "--purge", "railweaved", "railweave", "railweave-slurm", "railweave-opensm", "railweave-agent", "railweave-dev")
    left = root.run("find", "/etc", "/usr", "/var", "-name", "*railweave*").split()
    assert not left, left
    print("upgraded, removed and purged: configuration and jobs stayed until the purge, and nothing after it")


def main():
    in_own_mounts()
    with tempfile.TemporaryDirectory(prefix="railweave-packages-") as name:
        folder = Path(name)
        debs = built_packages(BUILD, folder)
        packages = {file.name.split("_")[0]: file for file in debs}
        assert len(packages) == 6, packages
        inside = folder / "inside"
        inside.mkdir()
        try:
            story(Root(inside), packages, folder)
        finally:
            subprocess.run(["umount", "-R", "-l", inside], check=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
