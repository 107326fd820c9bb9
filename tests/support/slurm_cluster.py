"""A cluster of Slurm with Railweave beside it, as tests of railweave-slurm use it: slurmctld and 16 slurmds on
loopback, railweaved, railweave-slurm."""
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from judged import Judged
from service import Service
from slurm import Slurm, cannot_run, wait_for

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.argv[1]).resolve()
LUA = ROOT / "services" / "slurm" / "job_submit.lua"
NODES = [f"node-{n:02}" for n in range(1, 17)]
GRACE = 12
# Of the release of Slurm on the PATH; tests/slurm/with_current.sh names those of another than Debian's.
PLUGINS = Path(os.environ.get("RAILWEAVE_SLURM_PLUGINS", BIN.parent / "lib"))
PLUGIN = PLUGINS / "railweave_spank.so"
MARKER = PLUGINS / "job_submit_railweave.so"
SILENT = "function slurm_job_submit(job, partitions, uid)\n  return slurm.SUCCESS\nend\n" \
         "function slurm_job_modify(job, record, partitions, uid)\n  return slurm.SUCCESS\nend\nreturn slurm.SUCCESS\n"
BEGAN = "#!/bin/sh\necho BEGAN\nsleep 600\n"


def railweave(service, *arguments, code=0):
    environment = dict(os.environ, RAILWEAVE_URL=f"http://127.0.0.1:{service.port}" if service else "", NO_COLOR="1")
    done = subprocess.run([BIN / "railweave", *arguments], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, f"railweave {' '.join(arguments)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def installed_hooks(folder, settings):
    """prolog.sh and epilog.sh as they are installed, with these settings of theirs; lines of slurm.conf that name them."""
    (folder / "slurm.env").write_text(settings)
    lines = []
    for setting, name in (("PrologSlurmctld", "prolog.sh"), ("Epilog", "epilog.sh")):
        text = (ROOT / "services" / "slurm" / name).read_text()
        assert "settings=/etc/railweave/slurm.env" in text
        (folder / name).write_text(text.replace("/etc/railweave/slurm.env", f"{folder}/slurm.env"))
        (folder / name).chmod(0o755)
        lines.append(f"{setting}={folder}/{name}")
    return lines


def begin_slurm(folder, settings=(), node_settings=None, gres=None):
    (folder / "dev").mkdir()
    for gpu in range(8):
        os.mknod(folder / "dev" / f"gpu{gpu}", 0o20666, os.makedev(1, 3))
    (folder / "gres.conf").write_text(gres(folder) if gres else f"Name=gpu File={folder}/dev/gpu[0-7]\n")
    lua = LUA.read_text()
    assert "grace_seconds = 120" in lua
    (folder / "job_submit.lua").write_text(lua.replace("grace_seconds = 120", f"grace_seconds = {GRACE}"))
    if PLUGIN.exists():
        (folder / "plugstack.conf").write_text(f"optional {PLUGIN}\n")
        settings = [f"PlugStackConfig={folder}/plugstack.conf", *settings]
    slurm = Slurm(folder, NODES, node_settings or "CPUs=64 RealMemory=1000 Gres=gpu:8",
                  ["SelectType=select/cons_tres", "GresTypes=gpu", "JobSubmitPlugins=lua", "SlurmdTimeout=5", "KillWait=1",
                   "SchedulerParameters=sched_min_interval=10000,bf_interval=1,sched_interval=1,requeue_delay=1", *settings])
    slurm.begin()
    return slurm


class Cluster:
    """Slurm, Railweave and railweave-slurm, which is started and ended by the tests."""

    def __init__(self, folder, service, *of_slurm):
        self.folder, self.service, self.operator = folder, service, None
        self.lua_time = 0
        self.slurm = begin_slurm(folder, *of_slurm)
        self.environment = dict(self.slurm.environment, RAILWEAVE_URL=f"http://127.0.0.1:{service.port}", NO_COLOR="1",
                                PATH=f"{BIN}:{os.environ['PATH']}")

    def start(self, *options):
        with open(self.folder / "operator.log", "a") as log:
            self.operator = subprocess.Popen([BIN / "railweave-slurm", "--interval", "0.3", "--grace", str(GRACE), "--patience", "8", "--tenant",
                                              "research", *options], env=self.environment, stdout=log, stderr=log)

    def end(self, how=signal.SIGTERM):
        if self.operator:
            self.operator.send_signal(how)
            self.operator.wait(timeout=60)
            self.operator = None

    def submit(self, *options, script="#!/bin/sh\nsleep 600\n"):
        path = self.folder / "job.sh"
        path.write_text(script)
        done = subprocess.run(["sbatch", "--parsable", "-o", f"{self.folder}/out.%A.%a", *options, str(path)], env=self.environment, cwd=self.folder,
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def railweave(self, *arguments):
        return railweave(self.service, *arguments)

    @contextlib.contextmanager
    def marking_nothing(self):
        """Jobs submitted meanwhile are Slurm's alone."""
        lua = self.folder / "job_submit.lua"
        marking = lua.read_text()
        self.use_lua(SILENT)
        try:
            yield
        finally:
            self.use_lua(marking)

    def use_lua(self, text):
        lua = self.folder / "job_submit.lua"
        lua.write_text(text)
        # slurmctld reads it again where it is younger than before, in whole seconds.
        self.lua_time = max(self.lua_time + 1, int(time.time()) + 2)
        os.utime(lua, (self.lua_time, self.lua_time))

    def job(self, job):
        text = self.slurm.run("scontrol", "-o", "show", "job", job, code=None)
        fields = dict(re.findall(r"(\w+)=(\S*)", text))
        mark = re.search(r"AdminComment=(.*?) (?:Comment|StdErr|StdIn|StdOut|Power)=", text)
        return dict(fields, mark=mark[1].strip() if mark else "", text=text)

    def state(self, job):
        return self.job(job).get("JobState", "gone")

    def wait(self, job, state, seconds=30):
        return wait_for(lambda: (one := self.job(job)).get("JobState") == state and one, f"job {job} is {state}\n{self.log()}", seconds)

    def nodes(self, hostlist):
        return self.slurm.run("scontrol", "show", "hostnames", hostlist).split()

    def held(self):
        """Slurm's key -> Railweave's job, of all that hold GPUs."""
        items = self.service.request("GET", "/v1/jobs?state=placed&limit=1000")[2]["items"]
        names = [item["name"] for item in items]
        assert len(set(names)) == len(names), f"held twice: {names}"
        return {item["name"].removeprefix("slurm/test/"): item["id"] for item in items}

    def placement(self, key):
        return self.service.request("GET", f"/v1/jobs/{self.held()[key]}")[2]["nodeList"]

    def log(self):
        return (self.folder / "operator.log").read_text() if (self.folder / "operator.log").exists() else ""

    def is_over(self, job):
        """slurmctld may be coming back, and does not answer then."""
        self.slurm.run("scancel", job, code=None)
        return self.slurm.run("squeue", "-h", "-j", job, "-o", "%t", code=None).strip() in ("", "CA") and \
            "UP" in self.slurm.run("scontrol", "ping", code=None)

    def over(self, *jobs):
        for job in jobs:
            wait_for(lambda job=job: self.is_over(job), f"{job} is over", every=0.3)

    def begun(self, options, limit):
        """A job is submitted, and ended: (after how many seconds it began or None, what scontrol last said of it); None where Slurm
        refuses it."""
        try:
            job = self.submit(*options)
        except AssertionError:
            return None
        began = time.monotonic()
        while time.monotonic() - began < limit and self.state(job) == "PENDING":
            time.sleep(0.1)
        took = time.monotonic() - began
        last = self.job(job)
        self.over(job)
        return (took if last.get("JobState") == "RUNNING" else None), last

    def cancel(self, *jobs):
        self.slurm.run("scancel", *jobs)
        wait_for(lambda: not self.held(), "cancelled jobs hold nothing")


def agrees(cluster, job, restarts=0):
    """Slurm runs the job where Railweave placed it, and says so."""
    one = cluster.wait(job, "RUNNING")
    wanted = cluster.placement(f"{job}.{restarts}")
    assert sorted(cluster.nodes(one["NodeList"])) == sorted(wanted), (one, wanted)
    assert one["mark"].startswith(f"railweave: {cluster.held()[f'{job}.{restarts}']} on "), one
    return wanted


def run(part, test, generator=("rail-optimized",), rename=None, plain=None, options=(), settings=(), judged=(), node_settings=None,
        gres=None):
    """Runs a test on a cluster of its own; plain: without one. rename: is called with the fabric's file before anything has it. settings:
    lines of slurm.conf, or what makes them of the folder and the service. node_settings: of each node, gres: what makes gres.conf of the folder. judged: operations that railweave-slurm has to use; all its requests and answers are then held to the contract.
    The answer is main()'s."""
    if code := cannot_run():
        return code
    with tempfile.TemporaryDirectory(prefix="railweave-slurm-") as name:
        folder = Path(name)
        if plain:
            plain(folder)
            return 0
        with Service(BIN / "railweaved") as service:
            railweave(None, "lab", "generate", *generator, "--hosts", "16", "-O", str(folder / "fabric.json"))
            if rename:
                rename(folder / "fabric.json")
            service.start()
            railweave(service, "fabric", "import", str(folder / "fabric.json"))
            for tenant in ("research", "physics"):
                railweave(service, "tenants", "put", tenant, "--max-priority", "high")
            cluster = Cluster(folder, service, settings(folder, service) if callable(settings) else settings, node_settings, gres)
            judge = Judged(service) if judged else contextlib.nullcontext()
            try:
                with judge:
                    if judged:
                        cluster.environment["RAILWEAVE_URL"] = judge.url
                    cluster.start(*options)
                    test(cluster)
                    cluster.end()
                if judged:
                    assert judge.broken == [], judge.broken[:5]
                    assert set(judged) <= set(judge.seen), set(judged) - set(judge.seen)
                    print(f"{sum(judge.seen.values())} requests of {len(judge.seen)} operations are as the contract says: {judge.seen}")
            except BaseException:
                print(cluster.log(), *[f"{out.name}: {out.read_text()[-2000:]}" for out in (*folder.glob("out.*"), folder / "slurmctld.log")], sep="\n")
                print({name: process.poll() for name, process in cluster.slurm.processes.items() if process.poll() is not None}, "ended by themselves")
                raise
            finally:
                cluster.end()
                cluster.slurm.end()
    print(f"{part}: Slurm and Railweave agree")
    return 0
