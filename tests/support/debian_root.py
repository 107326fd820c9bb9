"""A fresh Debian system in a folder, and the project's packages for it."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "railweave" / "debian-root"
MIRROR = "http://deb.debian.org/debian"


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def clean_root():
    """Debian's minimal system, made once."""
    if not (CACHE / "etc" / "debian_version").exists():
        shutil.rmtree(CACHE, ignore_errors=True)
        CACHE.parent.mkdir(parents=True, exist_ok=True)
        made = CACHE.with_suffix(".new")
        shutil.rmtree(made, ignore_errors=True)
        done = subprocess.run(["debootstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", made, MIRROR], capture_output=True, text=True)
        if done.returncode != 0:
            skip(f"debootstrap: {done.stdout[-300:]}")
        made.rename(CACHE)
    return CACHE


class Root:
    """A copy of it for this test alone; what it mounts ends with this process's mount namespace."""

    def __init__(self, folder):
        self.path, upper, work = folder / "root", folder / "upper", folder / "work"
        subprocess.run(["mount", "-t", "tmpfs", "none", folder], check=True)
        for one in (self.path, upper, work):
            one.mkdir()
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", f"lowerdir={clean_root()},upperdir={upper},workdir={work}", self.path], check=True)
        for kind, at in (("proc", "proc"), ("tmpfs", "run")):
            subprocess.run(["mount", "-t", kind, kind, self.path / at], check=True)
        for name in ("etc/resolv.conf", "etc/hosts"):
            shutil.copy(f"/{name}", self.path / name)
        # How this machine reaches Debian's archive.
        for name in ("apt.conf.d", "auth.conf.d", "sources.list.d"):
            for file in Path("/etc/apt", name).glob("*"):
                if "docker" not in file.name and ("debian" in file.name or name != "sources.list.d"):
                    (self.path / "etc/apt" / name).mkdir(exist_ok=True)
                    shutil.copy(file, self.path / "etc/apt" / name)
        (self.path / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
        (self.path / "usr/sbin/policy-rc.d").chmod(0o755)
        self.run("apt-get", "update", "-qq")

    def run(self, *words, code=0, **variables):
        done = subprocess.run(["chroot", self.path, *map(str, words)], capture_output=True, text=True, timeout=600,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "HOME": "/root", "NO_COLOR": "1", **variables})
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        return done.stdout

    def take(self, packages):
        for package in packages:
            shutil.copy(package, self.path / "srv")
        return [f"/srv/{package.name}" for package in packages]

    def install(self, packages):
        return self.run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *self.take(packages))


def in_own_mounts():
    """Runs the test again where what it mounts ends with it."""
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        skip("needs root and debootstrap: deploy/install-dependencies.sh --with-packages")
    if os.environ.get("RAILWEAVE_OWN_MOUNTS") != "1":
        os.execvpe("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, *sys.argv], dict(os.environ, RAILWEAVE_OWN_MOUNTS="1"))


def built_packages(build, folder):
    """The files of the packages, made of the build."""
    subprocess.run(["cpack", "--config", build / "CPackConfig.cmake", "-G", "DEB", "-B", folder / "debs"], check=True, capture_output=True)
    return sorted((folder / "debs").glob("*.deb"))
