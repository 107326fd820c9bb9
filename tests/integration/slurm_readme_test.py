#!/usr/bin/env python3
"""services/slurm/README.md as it is written: its commands are run, in namespaces of their own where /etc/slurm, /usr/local and the
network are this test's, on a slurmctld and 16 slurmds that know nothing of Railweave before.

slurm_readme_test.py BIN_FOLDER
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from service import Service  # noqa: E402
from slurm import Slurm, cannot_run, wait_for  # noqa: E402
from slurm_cluster import BIN, NODES, PLUGIN, ROOT  # noqa: E402

README = (ROOT / "services" / "slurm" / "README.md").read_text()
INSIDE = "RAILWEAVE_README_TEST"
TRAIN = """import os
print("TRAINS", *(os.environ.get(name, "-") for name in ("SLURM_PROCID", "SLURMD_NODENAME", "SLURM_LOCALID", "CUDA_VISIBLE_DEVICES", "NCCL_IB_HCA")), flush=True)
"""


def section(title):
    """The commands of a section's first block."""
    found = re.search(rf"^## {re.escape(title)}\n.*?^```\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert found, f"no commands below '{title}'"
    return found[1]


def ranks(text):
    return sorted((int(rank), node, int(gpus.split(",")[int(local)]), hca) for rank, node, local, gpus, hca in re.findall(r"TRAINS (\d+) (\S+) (\d+) (\S+) (\S+)", text))


# What the README says to a service manager, which none of these namespaces has: asked by a file, answered by another.
SYSTEMCTL = """#!/bin/sh
[ "$*" = "restart slurmctld" ] || { echo "systemctl: not known here: $*" >&2; exit 64; }
echo restart > {folder}/asked
read -r done < {folder}/done
"""


def serve_systemctl(folder, slurm):
    for name in ("asked", "done"):
        os.mkfifo(folder / name)
    Path("/usr/local/bin/systemctl").write_text(SYSTEMCTL.replace("{folder}", str(folder)))
    Path("/usr/local/bin/systemctl").chmod(0o755)

    def serve():
        (folder / "asked").read_text()
        slurm.restart_controller()
        (folder / "done").write_text("done\n")

    threading.Thread(target=serve, daemon=True).start()


def test(folder, service, slurm):
    tree = folder / "tree"  # as a checkout that was built
    (tree / "build").mkdir(parents=True)
    (tree / "Makefile").symlink_to(ROOT / "Makefile")
    (tree / "build" / "release").symlink_to(BIN.parent)
    Path("/usr/local/bin").mkdir()
    Path("/usr/local/bin/python").symlink_to(sys.executable)
    serve_systemctl(folder, slurm)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("RAILWEAVE", "SLURM"))}
    environment["PATH"] = f"/usr/local/bin:{environment['PATH']}"
    shell = lambda text, where, **more: subprocess.run(["sh", "-e", "-c", text], cwd=where, env=environment, capture_output=True, text=True, timeout=120, **more)

    *setup, last = section("Set it up").strip().splitlines()
    assert last.startswith("railweave-slurm "), last
    done = shell("\n".join(setup), tree)
    assert done.returncode == 0, (setup, done.stdout, done.stderr)
    units()
    switches = re.findall(r"SwitchName=\S+ Level=0 .*Nodes=(\S+)", slurm.run("scontrol", "show", "topology"))
    assert switches and "provisional" not in slurm.run("scontrol", "show", "topology"), "Slurm has the fabric's topology"
    with open(folder / "operator.log", "w") as log:
        operator = subprocess.Popen(["sh", "-c", f"exec {last}"], cwd=tree, env=environment, stdout=log, stderr=log)
    try:
        users(folder, service, slurm, shell)
    finally:
        operator.send_signal(signal.SIGTERM)
        assert operator.wait(timeout=60) == 0


def units():
    """What starts the programs, as they were installed: right, and shut in."""
    for unit, most in (("railweaved", 3.0), ("railweave-slurm", 5.0)):
        file = f"/usr/local/lib/systemd/system/{unit}.service"
        done = subprocess.run(["systemd-analyze", "verify", file], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and unit not in done.stderr, done
        done = subprocess.run(["systemd-analyze", "security", "--offline=true", file], capture_output=True, text=True, timeout=60)
        exposure = float(re.search(r"exposure level for \S+: ([\d.]+)", done.stdout)[1])
        assert exposure <= most, (unit, exposure)


def users(folder, service, slurm, shell):
    submit, look = section("What users do").strip().splitlines()
    home = folder / "home"
    home.mkdir()
    (home / "train.py").write_text(TRAIN)
    (home / "train.sh").write_text("#!/bin/sh\nsrun python train.py\nsleep 600\n")
    log = lambda: (folder / "operator.log").read_text()
    job = re.search(r"\d+", shell(submit, home).stdout)[0]
    told = wait_for(lambda: (found := re.search(rf"^{job} +RUNNING +railweave: (job-\d+) on (\S+?);", shell(look, home).stdout, re.MULTILINE)) and found, f"it runs\n{log()}", 90)
    listed = service.request("GET", f"/v1/jobs/{told[1]}")[2]
    assert slurm.run("scontrol", "show", "hostnames", told[2]).split() == listed["nodeList"], (told, listed)
    assert listed["spec"]["parallelism"]["tensor"] == 8 and listed["spec"]["parallelism"]["pipeline"] == 2, listed["spec"]
    wanted = [(one["rank"], one["node"], one["gpu"]) for one in service.request("GET", f"/v1/jobs/{told[1]}/ranks?limit=1000")[2]["items"]]
    out = home / f"slurm-{job}.out"
    found = wait_for(lambda: out.exists() and len(some := ranks(out.read_text())) == 32 and some, f"its ranks\n{log()}", 60)
    assert [one[:3] for one in found] == wanted and all(one[3].startswith("=") for one in found), (found, wanted)
    slurm.run("scancel", job)
    # What is said to do without the plugin, in a job's script.
    by_hand = re.search(r"Without the plugin:\n\n```\n(.*?)```", README, re.DOTALL)[1]
    (home / "train.sh").write_text("#!/bin/sh\n" + by_hand)
    job = re.search(r"\d+", shell(submit, home).stdout)[0]
    out = home / f"slurm-{job}.out"
    found = wait_for(lambda: out.exists() and len(some := ranks(out.read_text())) == 32 and some, lambda: f"its ranks\n{out.read_text() if out.exists() else ''}\n{log()}", 90)
    name = f"slurm/test/{job}.0"
    listed = next(one for one in service.request("GET", f"/v1/jobs?name={name}")[2]["items"])
    wanted = [(one["rank"], one["node"], one["gpu"]) for one in service.request("GET", f"/v1/jobs/{listed['id']}/ranks?limit=1000")[2]["items"]]
    assert [one[:3] for one in found] == wanted, (found, wanted)
    wait_for(lambda: not service.request("GET", "/v1/jobs?state=placed")[2]["items"], f"all is free again\n{log()}", 60)
    # Every option that is named exists, in one of the programs or in Slurm's.
    options = set()
    for words in ([BIN / "railweave-slurm"], [BIN / "railweave-slurm", "prolog"], ["sbatch"], ["srun"]):
        options |= set(re.findall(r"--[a-z-]+", slurm.run(*words, "--help")))
    named = set(re.findall(r"`(--[a-z-]+)[` =]", README)) - {"--segment"}  # of releases from 24.05 on
    assert named and named <= options, named - options


def inside(folder):
    own = folder / "etc-slurm"
    own.mkdir()
    for command in (["mount", "--bind", own, "/etc/slurm"], ["mount", "-t", "tmpfs", "tmpfs", "/usr/local"], ["ip", "link", "set", "lo", "up"],
                    ["ip", "address", "add", "192.0.2.1/32", "dev", "lo"]):  # names of addresses are looked up only where there is one that is not loopback's
        subprocess.run(command, check=True)
    conf = Path("/etc/slurm")
    (conf / "dev").mkdir()
    for gpu in range(8):
        os.mknod(conf / "dev" / f"gpu{gpu}", 0o20666, os.makedev(1, 3))
    (conf / "gres.conf").write_text("Name=gpu File=/etc/slurm/dev/gpu[0-7]\n")
    (conf / "topology.conf").write_text("SwitchName=provisional Nodes=node-[01-16]\n")
    slurm = Slurm(conf, NODES, "CPUs=64 RealMemory=1000 Gres=gpu:8",
                  ["SelectType=select/cons_tres", "GresTypes=gpu", "TopologyPlugin=topology/tree", "PrologSlurmctld=/etc/slurm/prolog.sh", "Epilog=/etc/slurm/epilog.sh"])
    for name in ("prolog.sh", "epilog.sh"):
        (conf / name).write_text("#!/bin/sh\n")
        (conf / name).chmod(0o755)
    with Service(BIN / "railweaved") as service:
        fabric = folder / "fabric.json"
        subprocess.run([BIN / "railweave", "lab", "generate", "rail-optimized", "--hosts", "16", "-O", str(fabric)], check=True, capture_output=True)
        service.start(port=7470)
        subprocess.run([BIN / "railweave", "--server", "http://127.0.0.1:7470", "fabric", "import", str(fabric)], check=True, capture_output=True)
        try:
            slurm.begin()
            test(folder, service, slurm)
        except BaseException:
            print(*[f"{log}:\n{log.read_text()[-2000:]}" for log in (conf / "slurmctld.log", conf / f"slurmd-{NODES[0]}.log") if log.exists()], sep="\n")
            raise
        finally:
            slurm.end()
    print("the README's commands: as it says")


def main():
    if code := cannot_run(*[name for name in ("unshare", "ip") if subprocess.run(["which", name], capture_output=True).returncode]):
        return code
    if not PLUGIN.exists() or not Path("/etc/slurm").is_dir():
        print("skipped: needs /etc/slurm and the SPANK plugin (libslurm-dev)")
        return 77
    if INSIDE not in os.environ:
        with tempfile.TemporaryDirectory(prefix="railweave-slurm-") as name:
            return subprocess.run(["unshare", "-m", "-n", sys.executable, __file__, *sys.argv[1:]], env=dict(os.environ, **{INSIDE: name})).returncode
    inside(Path(os.environ.pop(INSIDE)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
