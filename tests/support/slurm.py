"""Slurm on loopback, that of PATH: munged, slurmctld and a slurmd per node, all of them on this machine, in a folder of their own."""
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from ports import free_ports

NEEDED = ["srun", "sbatch", "squeue", "scontrol", "slurmctld", "slurmd", "munged"]


def missing():
    return [name for name in NEEDED if not shutil.which(name)]


def cannot_run(*lacking):
    """Says what a test needs that is not there, beside what of Slurm is not; the exit code of a test that is skipped, else None."""
    if lacking := [*missing(), *lacking]:
        print(f"skipped: {', '.join(lacking)} not installed; deploy/install-dependencies.sh --with-slurm installs them")
        return 77
    if os.geteuid() != 0:
        print("skipped: device nodes for Slurm's GPUs need root")
        return 77
    return None


def wait_for(condition, what, seconds=60, every=0.1):
    """what: a text, or what makes one when it is needed."""
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, f"{what() if callable(what) else what}: not within {seconds} s"
        time.sleep(every)
    return result


class Slurm:
    """begin() starts it; `node_settings` are of all nodes, or of each by its name; `settings` are lines of slurm.conf beside those that one
    machine needs, which may name the partitions. virtual: a hostlist of nodes that
    only slurmctld knows of; jobs are placed and never start there."""

    def __init__(self, folder, nodes, node_settings="CPUs=64", settings=(), virtual=None):
        self.folder, self.nodes, self.node_settings, self.settings, self.virtual = folder, nodes, node_settings, settings, virtual
        self.processes = {}
        self.environment = dict(os.environ, SLURM_CONF=str(folder / "slurm.conf"))

    def of(self, node):
        return self.node_settings[node] if isinstance(self.node_settings, dict) else self.node_settings

    def begin(self):
        folder = self.folder
        ports = free_ports(len(self.nodes) + 1)
        (folder / "munge.key").write_bytes(os.urandom(1024))
        (folder / "munge.key").chmod(0o600)
        (folder / "state").mkdir()
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        given = {line.split("=", 1)[0] for line in self.settings}
        lines = ["ClusterName=test", f"SlurmctldHost={socket.gethostname()}(127.0.0.1)", f"SlurmctldPort={ports[0]}",
                 f"SlurmUser={user}", f"SlurmdUser={user}", "AuthType=auth/munge", f"AuthInfo=socket={folder}/munge.socket",
                 "CredType=cred/munge", f"StateSaveLocation={folder}/state", f"SlurmdSpoolDir={folder}/spool-%n",
                 f"SlurmctldPidFile={folder}/slurmctld.pid", f"SlurmdPidFile={folder}/slurmd-%n.pid",
                 f"SlurmctldLogFile={folder}/slurmctld.log", f"SlurmdLogFile={folder}/slurmd-%n.log",
                 "ProctrackType=proctrack/pgid", "TaskPlugin=task/none", "SelectType=select/linear", "SwitchType=switch/none",
                 "MpiDefault=none", "ReturnToService=2", "SlurmdParameters=config_overrides"]
        lines = [line for line in lines if line.split("=", 1)[0] not in given] + list(self.settings)
        if self.virtual:
            lines += ["SuspendProgram=/bin/true", "ResumeProgram=/bin/true", "SuspendTime=INFINITE", "ResumeTimeout=65000", "SlurmdTimeout=0",
                      "TreeWidth=65000", "PrivateData=cloud", f"NodeName={self.virtual} {self.node_settings} State=CLOUD"]
        for node, port in zip(self.nodes, ports[1:]):
            lines.append(f"NodeName={node} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} {self.of(node)} State=UNKNOWN")
            (folder / f"spool-{node}").mkdir()
        if not any(line.startswith("PartitionName=") for line in lines):
            lines.append("PartitionName=all Nodes=ALL Default=YES State=UP")
        lines.sort(key=lambda line: line.startswith("PartitionName="))  # after the nodes that they name
        (folder / "slurm.conf").write_text("\n".join(lines) + "\n")
        self.launch("munged", "munged", "--foreground", "--force", "--socket", f"{folder}/munge.socket", "--key-file",
                    f"{folder}/munge.key", "--pid-file", f"{folder}/munge.pid", "--seed-file", f"{folder}/munge.seed", "--log-file",
                    f"{folder}/munge.log")
        wait_for(lambda: (folder / "munge.socket").exists(), "munged's socket")
        self.launch("slurmctld", "slurmctld", "-D")
        for node in self.nodes:
            self.launch(node, "slurmd", "-D", "-N", node)
        self.wait_idle()

    def wait_idle(self):
        idle = "idle~" if self.virtual else f"{len(self.nodes)} idle"
        wait_for(lambda: idle in self.run("sinfo", "-h", "-o", "%D %t", code=None), "all of Slurm's nodes are idle")

    def launch(self, name, *command):
        with open(self.folder / f"{name}.out", "a") as out:
            self.processes[name] = subprocess.Popen(command, env=self.environment, cwd=self.folder, stdout=out, stderr=out)

    def end_one(self, name):
        process = self.processes.pop(name)
        process.kill()
        process.wait(timeout=60)

    def restart_controller(self):
        """As a service manager does: it ends by itself, begins again and answers."""
        self.processes["slurmctld"].terminate()
        self.processes.pop("slurmctld").wait(timeout=60)
        self.launch("slurmctld", "slurmctld", "-D")
        wait_for(lambda: "UP" in self.run("scontrol", "ping", code=None), "slurmctld is back")

    def run(self, *command, code=0, **variables):
        done = subprocess.run(command, env=dict(self.environment, **variables), cwd=self.folder, capture_output=True, text=True, timeout=200)
        assert code is None or done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def end(self, seconds=60):
        self.run("scancel", "--full", "--signal=KILL", *self.run("squeue", "-h", "-o", "%A", code=None).split(), code=None)
        deadline = time.monotonic() + seconds
        for process in reversed(self.processes.values()):
            process.terminate()
            try:
                process.wait(timeout=max(1.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:  # a busy machine, or a slurmd that waits for what hangs
                process.kill()
                process.wait()
        self.end_what_is_left()

    def end_what_is_left(self):
        """Steps outlive a slurmd that was killed. They are known by the environment that they have of this cluster."""
        ours = f"SLURM_CONF={self.folder}/slurm.conf".encode()
        for entry in Path("/proc").glob("[0-9]*/environ"):
            try:
                if ours in entry.read_bytes().split(b"\0"):
                    os.kill(int(entry.parent.name), signal.SIGKILL)
            except (ProcessLookupError, PermissionError, FileNotFoundError):
                continue
