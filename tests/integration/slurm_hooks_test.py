#!/usr/bin/env python3
"""Nothing of Railweave's ends, loses or fails a job that Slurm alone would run: each of its hooks is tried with its file absent, broken, of
another version, crashing and hanging, and last with every process of Railweave's gone.

slurm_hooks_test.py BIN_FOLDER
"""
import contextlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import slurm  # noqa: E402
from service import Service  # noqa: E402
from slurm import wait_for  # noqa: E402
from slurm_cluster import BIN, GRACE, PLUGIN, Cluster, installed_hooks, railweave  # noqa: E402

WAIT = 2  # seconds that a prolog may take
SOON = 3 * GRACE  # a marked job begins by itself after the grace period, a hook that hangs ends before that
GPUS = ["--gres=gpu:8", "--account=research"]
OTHER_RELEASE = """#include <stdint.h>
const char plugin_name[] = "railweave";
const char plugin_type[] = "spank";
const unsigned int plugin_version = 0x010203;
const unsigned int spank_plugin_version = 1;
int slurm_spank_init(void *spank, int count, char **words) { return -1; }
"""


class Hooks:
    def __init__(self, cluster):
        self.cluster, self.folder = cluster, cluster.folder
        self.settings()

    def settings(self, more=""):
        path = f"{self.folder}/programs:{BIN}:{Path(shutil.which('squeue')).parent}:$PATH"
        text = f"export RAILWEAVE_URL=http://127.0.0.1:{self.cluster.service.port} SLURM_CONF={self.folder}/slurm.conf RAILWEAVE_PROLOG_WAIT={WAIT}\nPATH={path}\n"
        (self.folder / "slurm.env").write_text(text + more)

    @contextlib.contextmanager
    def program(self, text):
        file = self.folder / "programs" / "railweave-slurm"
        file.write_text(text)
        file.chmod(0o755)
        yield
        file.unlink()

    @contextlib.contextmanager
    def broken_settings(self, text):
        self.settings(text)
        yield
        self.settings()

    @contextlib.contextmanager
    def file(self, name, content):
        """None: absent."""
        path = self.folder / name
        before = path.read_bytes()
        path.unlink()
        if content is not None:
            path.write_bytes(content)
            path.chmod(0o755)
        yield
        path.write_bytes(before)

    def jobs_run(self, what):
        """As with Slurm alone: a batch job with a step, and a srun that makes its own allocation; no node is drained by it."""
        began = time.monotonic()
        job = self.cluster.submit("-N2", *GPUS, script="#!/bin/sh\nsrun sh -c 'echo TASK $SLURM_PROCID'\n")
        done = subprocess.run(["srun", "-N2", *GPUS, "sh", "-c", "echo TASK $SLURM_PROCID"], env=self.cluster.environment, cwd=self.folder,
                              capture_output=True, text=True, timeout=2 * SOON)
        assert done.returncode == 0 and sorted(done.stdout.split()) == ["0", "1", "TASK", "TASK"], (what, done)
        one = wait_for(lambda: (one := self.cluster.job(job)).get("JobState") not in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING") and one, f"{what}: its end", SOON)
        text = (self.folder / f"out.{job}.4294967294").read_text()
        assert one["JobState"] == "COMPLETED" and one["Restarts"] == "0" and text.count("TASK") == 2, (what, one, text)
        states = self.cluster.slurm.run("sinfo", "-h", "-N", "-o", "%N %T").splitlines()
        assert not any("drain" in line or "down" in line for line in states), (what, states)
        print(f"{what}: both jobs ran, {time.monotonic() - began:.1f} s")


def prologs(hooks):
    hooks.jobs_run("as installed")
    for what, text in (("crashes", "#!/bin/sh\nkill -SEGV $$\n"), ("fails", "#!/bin/sh\nexit 3\n"), ("hangs", "#!/bin/sh\ntrap '' TERM\nsleep 600\n"),
                       ("is of another machine", "\x7fELF nothing")):
        with hooks.program(text):
            hooks.jobs_run(f"railweave-slurm in prologs and epilogs {what}")
    for what, text in (("without railweave-slurm", "PATH=/usr/bin:/bin\n"), ("with settings that are no shell", "if (\n"), ("with settings that end it", "exit 7\n")):
        with hooks.broken_settings(text):
            hooks.jobs_run(f"prologs and epilogs {what}")


def plugins(hooks):
    """plugstack.conf is read by each srun and slurmstepd, so what it names is broken and repaired while Slurm runs."""
    source = hooks.folder / "other.c"
    source.write_text(OTHER_RELEASE)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", hooks.folder / "other.so", source], check=True)
    plugstack = hooks.folder / "plugstack.conf"
    before = plugstack.read_text()
    (hooks.folder / "text.so").write_text("no program")
    for what, file in (("absent", "absent.so"), ("of another release", "other.so"), ("no program", "text.so")):
        plugstack.write_text(f"optional {hooks.folder}/{file}\n")
        hooks.jobs_run(f"the SPANK plugin is {what}")
    plugstack.write_text(before)


def marking(hooks):
    """slurmctld goes on with the text before where it cannot read the file again; it does not begin without one, which the README says."""
    fails = b"function slurm_job_submit(job) error('no') end\nfunction slurm_job_modify() return slurm.SUCCESS end\nreturn slurm.SUCCESS\n"
    for what, text in (("cannot be read", b"this is no Lua("), ("is absent", None), ("fails at each job", fails)):
        with hooks.file("job_submit.lua", text):
            hooks.jobs_run(f"job_submit.lua {what}")


def away(hooks):
    cluster = hooks.cluster
    cluster.service.kill()
    job = cluster.submit("-N2", *GPUS)
    one = cluster.wait(job, "RUNNING", SOON)
    assert "Railweave is away" in one["mark"], one["mark"]
    cluster.slurm.run("scancel", job)
    hooks.jobs_run("railweaved is gone")
    cluster.end(signal.SIGKILL)
    hooks.jobs_run("railweaved and railweave-slurm are gone")


def test(cluster):
    hooks = Hooks(cluster)
    for group in (prologs, plugins, marking, away):
        group(hooks)


def main():
    if code := slurm.cannot_run():
        return code
    if not PLUGIN.exists():
        print("skipped: needs the SPANK plugin (libslurm-dev)")
        return 77
    with tempfile.TemporaryDirectory(prefix="railweave-slurm-") as name, Service(BIN / "railweaved") as service:
        folder = Path(name)
        railweave(None, "lab", "generate", "rail-optimized", "--hosts", "16", "-O", str(folder / "fabric.json"))
        service.start()
        railweave(service, "fabric", "import", str(folder / "fabric.json"))
        railweave(service, "tenants", "put", "research", "--max-priority", "high")
        (folder / "programs").mkdir()  # comes first in the hooks' PATH
        cluster = Cluster(folder, service, installed_hooks(folder, ""))
        try:
            cluster.start()
            test(cluster)
        except BaseException:
            print(cluster.log(), *[f"{out.name}: {out.read_text()[-1500:]}" for out in [*folder.glob("out.*"), folder / "slurmctld.log"]], sep="\n")
            raise
        finally:
            cluster.end()
            cluster.slurm.end()
    print("hooks: no job was lost")
    return 0


if __name__ == "__main__":
    sys.exit(main())
