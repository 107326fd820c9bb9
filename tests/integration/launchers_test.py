#!/usr/bin/env python3
"""Rank maps as real launchers take them: each rank prints where it was started and what it got, and that is compared
with the rank map. The nodes are names on this machine: of host name namespaces for mpirun, of slurmd's for srun.

launchers_test.py BIN_FOLDER mpirun|srun|torchrun
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ports import free_ports  # noqa: E402
from service import Service  # noqa: E402
from slurm import Slurm  # noqa: E402

SKIPPED = 77
BIN = Path(sys.argv[1])
NEEDED = {
    "mpirun": ["mpirun", "unshare"],
    "srun": ["srun", "sbatch", "slurmctld", "slurmd", "munged"],
    "torchrun": ["/usr/bin/torchrun", "unshare"],
}

PROGRAM = """#!/bin/sh
local=${OMPI_COMM_WORLD_LOCAL_RANK:-${SLURM_LOCALID:-$LOCAL_RANK}}
node=${SLURMD_NODENAME:-$(hostname)}
rank=${RANK:-${OMPI_COMM_WORLD_RANK:-$SLURM_PROCID}}
# One write: lines of ranks must not mix.
told=$(env | grep -E '^(NCCL|UCX|NVSHMEM|MC|MORI|UCCL|ROCSHMEM|EP|RAILWEAVE_OUTSIDE)_' | sort | tr '\n' ';')
echo "GOT $rank $node $local gpus=$CUDA_VISIBLE_DEVICES nccl=$NCCL_IB_HCA processors=$(env -u OMP_NUM_THREADS nproc) told=$told"
"""


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def railweave(service, *arguments, code=0):
    environment = dict(os.environ, RAILWEAVE_URL=f"http://127.0.0.1:{service.port}" if service else "", NO_COLOR="1")
    done = subprocess.run([BIN / "railweave", *arguments], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, f"railweave {' '.join(arguments)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout if code == 0 else done.stderr


def run(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200, **options)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}"
    return done.stdout


def got(text, count):
    """What each rank printed."""
    ranks = {}
    for line in text.splitlines():
        if "GOT " not in line:
            continue
        rank, node, local, *settings = line.split("GOT ", 1)[1].split()
        assert int(rank) not in ranks, f"rank {rank} was started twice\n{text}"
        ranks[int(rank)] = dict(one.split("=", 1) for one in settings) | {"node": node, "local": int(local)}
    assert sorted(ranks) == list(range(count)), f"not every rank was started\n{text}"
    return ranks


class Job:
    """A placed job, its rank map, and files of it in the formats of launchers."""

    def __init__(self, service, folder, *shape):
        self.service = service
        self.folder = folder
        self.id = json.loads(railweave(service, "jobs", "submit", "--tenant", "research", *shape, "-o", "json"))["id"]
        self.ranks = json.loads(railweave(service, "jobs", "ranks", self.id, "--all", "-o", "json"))["items"]
        self.nodes = list(dict.fromkeys(rank["node"] for rank in self.ranks))

    def interleaved(self):
        nodes = [rank["node"] for rank in self.ranks]
        return sum(a != b for a, b in zip(nodes, nodes[1:])) >= len(self.nodes)

    def file(self, form, *options):
        path = self.folder / f"{self.id}.{form}"
        path.write_text(railweave(self.service, "jobs", "ranks", self.id, "--format", form, *options))
        path.chmod(0o755)
        return str(path)

    def refused(self, form, why):
        assert why in railweave(self.service, "jobs", "ranks", self.id, "--format", form, code=5), form

    def check(self, text, scripted):
        assert self.ranks
        ranks = got(text, len(self.ranks))
        lists = {}
        for wanted in self.ranks:
            rank = ranks[wanted["rank"]]
            assert rank["node"] == wanted["node"], (wanted, rank)
            # Without a list of its own, a rank takes the GPU of its local rank's number.
            gpu = int(rank["gpus"].split(",")[rank["local"]]) if rank["gpus"] else rank["local"]
            assert gpu == wanted["gpu"], (wanted, rank)
            assert int(rank["processors"]) == os.cpu_count(), f"bound to some processors only: {rank}"
            if scripted:
                adapters = rank["nccl"].removeprefix("=").split(",")
                assert {nic["device"] + ":1" for nic in wanted["nics"]} <= set(adapters), (wanted, rank)
                assert lists.setdefault(wanted["node"], rank["nccl"]) == rank["nccl"], "one list per node"
                told = dict(one.split("=", 1) for one in rank["told"].split(";") if one)
                assert wanted["env"]["UCX_IB_SL"] == wanted["env"]["NCCL_IB_SL"] != "0", wanted
                assert wanted["env"].items() <= told.items(), (wanted["env"], told)
                assert set(told) - set(wanted["env"]) <= {"NCCL_IB_HCA", "NCCL_CROSS_NIC"}, (wanted["env"], told)


def interleaved_job(service, folder, free):
    """Ranks of two stages on what others left of two nodes: the first node's ranks come before and after the second's."""
    for used, *shape in ((1, 4, "--pp", "2", "--dp", "5"), (2, 1, "--tp", "2", "--pp", "3", "--dp", "2")):
        used = [used, shape.pop(0)]
        nodes, free = free[:2], free[2:]
        for node, gpus in zip(nodes, used):
            Job(service, folder, "--dp", str(gpus), "--only", node)
        job = Job(service, folder, *shape, *(word for node in nodes for word in ("--only", node)))
        if job.interleaved():
            return job
    raise AssertionError("no job's ranks go back and forth between nodes")


class Mpirun:
    def __init__(self, folder):
        self.agent = folder / "agent"
        self.agent.write_text('#!/bin/sh\nhost=$1\nshift\nexec unshare -u sh -c "hostname $host; $*"\n')
        self.agent.chmod(0o755)

    def start(self, option, file, *command):
        return run(["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "plm_rsh_agent", str(self.agent), option,
                    file, *command])

    def test(self, jobs, program):
        whole, shifted, interleaved = jobs
        whole.check(self.start("--hostfile", whole.file("hostfile"), program), False)
        whole.check(self.start("--rankfile", whole.file("mpi"), program), False)
        script = shifted.file("script")
        for form, option in (("hostfile", "--hostfile"), ("mpi", "--rankfile")):
            shifted.refused(form, "--with-script")
            shifted.check(self.start(option, shifted.file(form, "--with-script"), "sh", script, program), True)
        interleaved.refused("hostfile", "use mpi or slurm")
        interleaved.check(self.start("--rankfile", interleaved.file("mpi", "--with-script"), "sh",
                                     interleaved.file("script"), program), True)

    def end(self):
        pass


class Srun:
    def __init__(self, folder):
        self.folder, self.slurm = folder, None

    def begin(self, nodes):
        self.slurm = Slurm(self.folder, nodes)
        self.slurm.begin()

    def start(self, file, count, *command):
        return run(["srun", "--distribution=arbitrary", "-n", str(count), *command],
                   env=dict(self.slurm.environment, SLURM_HOSTFILE=file))

    def test(self, jobs, program):
        self.begin(sorted({node for job in jobs for node in job.nodes}))
        whole, *others = jobs
        whole.check(self.start(whole.file("slurm"), len(whole.ranks), program), False)
        for job in others:
            job.refused("slurm", "--with-script")
            job.check(self.start(job.file("slurm", "--with-script"), len(job.ranks), "sh", job.file("script"), program), True)

    def end(self):
        if self.slurm:
            self.slurm.end()


class Torchrun:
    def __init__(self, folder):
        self.folder = folder

    def start(self, job, program):
        """Each node's line in a shell of its own, whose node names are this machine."""
        hosts = self.folder / "hosts"
        hosts.write_text("127.0.0.1 localhost " + " ".join(job.nodes) + "\n")
        lines = Path(job.file("torchrun")).read_text().splitlines()
        assert [line.split(":")[0] for line in lines] == job.nodes
        port = free_ports(1)[0]
        shells = []
        for line in lines:
            node, command = line.split(": ", 1)
            command = command.replace(":29500", f":{port}").replace("torchrun ", "/usr/bin/torchrun ", 1)
            inside = f"hostname {node} && mount --bind {hosts} /etc/hosts && {command} --no_python {program}"
            # Debian's torchrun 1.13 fails on Python 3.11 unless output is redirected.
            shells.append(subprocess.Popen(["unshare", "-u", "-m", "sh", "-c", inside], text=True, stdout=subprocess.PIPE,
                                           stderr=subprocess.STDOUT, start_new_session=True,
                                           env=dict(os.environ, PET_REDIRECTS="1", PET_TEE="1")))
        with ThreadPoolExecutor(len(shells)) as readers:
            printed = [readers.submit(lambda shell=shell: shell.communicate()[0]) for shell in shells]
            # A node whose peer has failed waits for it for a quarter of an hour.
            until = time.monotonic() + 200
            while time.monotonic() < until and all(shell.poll() in (None, 0) for shell in shells) and \
                    any(shell.poll() is None for shell in shells):
                time.sleep(0.1)
            for shell in shells:
                if shell.poll() is None:
                    os.killpg(shell.pid, signal.SIGKILL)
            printed = [f"{node}:\n{text.result()}" for node, text in zip(job.nodes, printed)]
        # What a launcher does after its ranks have ended is its own; that every rank printed is checked by the caller.
        assert all(shell.returncode in (0, -signal.SIGKILL) for shell in shells), "\n".join(printed)
        return "\n".join(printed)

    def test(self, jobs, program):
        whole, shifted, interleaved = jobs
        for job in (whole, shifted):
            job.check(self.start(job, program), False)
        interleaved.refused("torchrun", "use mpi or slurm")

    def end(self):
        pass


def main():
    launcher = sys.argv[2]
    missing = [name for name in NEEDED[launcher] if not shutil.which(name)]
    if missing:
        skip(f"{', '.join(missing)} not installed; deploy/install-dependencies.sh --with-launchers installs them")
    if launcher != "srun" and subprocess.run(["unshare", "-u", "-m", "true"], capture_output=True).returncode != 0:
        skip("no right to make namespaces of host names")
    with tempfile.TemporaryDirectory(prefix="railweave-launchers-") as name, Service(BIN / "railweaved") as service:
        folder = Path(name)
        railweave(None, "lab", "generate", "rail-optimized", "--hosts", "16", "-O", str(folder / "fabric.json"))
        service.start()
        railweave(service, "fabric", "import", str(folder / "fabric.json"))
        railweave(service, "tenants", "put", "research")
        # Ranks have a class, which each library is told in a name of its own.
        railweave(service, "contracts", "set", "research", "--guaranteed", "1", "--class", "all-reduce")
        whole = Job(service, folder, "--tp", "8", "--dp", "2")
        free = [node["id"] for node in json.loads(railweave(service, "nodes", "list", "-o", "json"))["items"]
                if node["id"] not in whole.nodes]
        Job(service, folder, "--tp", "3", "--only", free[0])
        shifted = Job(service, folder, "--tp", "5", "--only", free[0])
        assert [rank["gpu"] for rank in shifted.ranks] == [3, 4, 5, 6, 7], shifted.ranks
        interleaved = interleaved_job(service, folder, free[1:])
        program = folder / "program"
        program.write_text(PROGRAM)
        program.chmod(0o755)
        started = {"mpirun": Mpirun, "srun": Srun, "torchrun": Torchrun}[launcher](folder)
        try:
            started.test((whole, shifted, interleaved), str(program))
        finally:
            started.end()
    print(f"{launcher} gave every rank of three jobs its node, GPU, adapters, processors and class")
    return 0


if __name__ == "__main__":
    sys.exit(main())
