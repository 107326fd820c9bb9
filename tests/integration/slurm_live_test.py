#!/usr/bin/env python3
"""Slurm's prologs and epilogs, and a link that fails, on a simulated InfiniBand subnet that railweaved programs. Which keys a port
has is asked of the port, by the job itself, as the first thing that it does.

slurm_live_test.py BIN_FOLDER
"""
import re
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import ibsim  # noqa: E402
import slurm  # noqa: E402
from ibsim import Ibsim  # noqa: E402
from live import LiveService, generate  # noqa: E402
from slurm import wait_for  # noqa: E402
from slurm_cluster import BIN, NODES, Cluster, agrees, installed_hooks  # noqa: E402

SHAPE = ["fat-tree", "--radix", "8", "--hosts", "16", "--nics-per-host", "1", "--speed", "EDR"]
WAIT, LONG_WAIT = 8, 25  # seconds that a prolog may take

# Its ports' tables of partition keys, then what Railweave says of the job, before anything else.
FIRST = """#!/bin/sh
cd {folder}/keys
for lid in {lids}; do
  echo PORT $lid $(IBSIM_SOCKNAME={name} SIM_HOST={host} timeout -k 2 20 env LD_PRELOAD={preload} smpquery pkeys $lid | tr -d '\\n')
done
echo HELD $(RAILWEAVE_URL={url} {bin}/railweave jobs list --state placed -o json | tr -d ' \\n')
sleep 600
"""


class Live(LiveService):
    """As tests of Slurm use a service."""

    @property
    def port(self):
        return int(self.url.rsplit(":", 1)[1])

    def request(self, method, path, body=None):
        status, answer = super().request(method, path, body)
        return status, {}, answer

    def get(self, path):
        status, _, answer = self.request("GET", path)
        assert status == 200, (path, status, answer)
        return answer

    def mode(self, mode):
        status, _, body = self.request("PUT", f"/v1/subnets/{self.subnet}/mode", {"mode": mode, "reason": "test"})
        assert status == 200, body


def hooks(folder, service):
    """Settings of slurm.conf for the scripts as they are installed."""
    path = f"{BIN}:{Path(shutil.which('squeue')).parent}:$PATH"
    return installed_hooks(folder, f"export RAILWEAVE_URL={service.url} SLURM_CONF={folder}/slurm.conf RAILWEAVE_PROLOG_WAIT={WAIT}\nPATH={path}\n")


def first_look(cluster, job):
    out = cluster.folder / f"out.{job}.4294967294"
    text = wait_for(lambda: out.exists() and "HELD " in (text := out.read_text()) and text, f"the first look of job {job}\n{cluster.log()}")
    keys = {int(lid): {int(key, 16) for key in re.findall(r"0x([0-9a-f]{4})", words.split(":", 1)[-1])} - {0} for lid, words in re.findall(r"^PORT (\d+) (.*)$", text, re.MULTILINE)}
    return keys, re.search(r"HELD (.*)", text)[1]


def test(cluster, sim):
    service = cluster.service
    lids = {node: service.get(f"/v1/nodes/{node}")["adapters"][0]["ports"][0]["lid"] for node in NODES}
    assert all(lids.values()) and len(set(lids.values())) == 16, lids
    (cluster.folder / "keys").mkdir()
    look = FIRST.format(folder=cluster.folder, lids="{lids}", name=sim.name, host=sim.host, preload=ibsim.PRELOAD, url=service.url, bin=BIN)
    key = int(service.get("/v1/contracts/research")["pkey"], 16) & 0x7fff
    # The first thing that a job does is to look at its ports: they have its tenant's key. The job looks at all ports, and
    # those of others do not.
    job = cluster.submit("-N", "3", "--gres=gpu:8", "--account=research", "--comment", "railweave: guarantee=10 class=all-reduce",
                         script=look.format(lids=" ".join(map(str, lids.values()))))
    nodes = agrees(cluster, job)
    keys, held = first_look(cluster, job)
    assert len(keys) == 16, keys
    for node, lid in lids.items():
        assert (key in {one & 0x7fff for one in keys[lid]}) == (node in nodes), (node, nodes, keys)
    guarantee = next(one for one in service.get("/v1/guarantees")["items"] if one["job"] == cluster.held()[f"{job}.0"])
    assert guarantee["inForce"]["level"] == "hardware", guarantee["inForce"]
    # What the contract does not allow is the reason that Slurm's users see.
    refused = cluster.submit("-N", "2", "--gres=gpu:8", "--account=research", "--comment", "railweave: guarantee=90 class=all-reduce")
    shown = wait_for(lambda: "waits: " in (mark := cluster.job(refused)["mark"]) and mark, f"a reason\n{cluster.log()}")
    assert "90" in shown and shown in cluster.slurm.run("squeue", "-h", "-j", refused, "-O", "admin_comment:300"), shown
    cluster.slurm.run("scancel", refused)
    # A job that Slurm placed starts when Railweave holds its GPUs: not while railweave-slurm is stopped.
    cluster.operator.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    single = cluster.submit("-N", "1", "--gres=gpu:8", "--account=research", script=look.format(lids=""))
    wait_for(lambda: cluster.state(single) == "CONFIGURING", "its prolog waits")
    wait_for(lambda: time.monotonic() - began > 3, "a while")
    assert cluster.state(single) == "CONFIGURING", cluster.job(single)["text"]
    cluster.operator.send_signal(signal.SIGCONT)
    cluster.wait(single, "RUNNING")
    assert f"slurm/test/{single}.0" in first_look(cluster, single)[1], "it is held before its first rank starts"
    # Epilogs free a job's nodes while railweave-slurm is stopped.
    id_ = cluster.held()[f"{job}.0"]
    wait_for(lambda: service.get(f"/v1/jobs/{id_}")["phase"] == "running", "Railweave knows that it runs")
    cluster.operator.send_signal(signal.SIGSTOP)
    cluster.slurm.run("scancel", job)
    ended = wait_for(lambda: (one := service.get(f"/v1/jobs/{id_}"))["state"] == "completed" and one, "all its nodes said that they are free")
    freed = [item for item in service.get(f"/v1/events?subject=job/{id_}&limit=1000")["items"] if item["type"] == "job.freed"]
    assert len(freed) == 3, (freed, ended)
    # With railweave-slurm dead, a job starts when the time of its prolog is over.
    cluster.operator.send_signal(signal.SIGCONT)
    cluster.slurm.run("scancel", single)
    wait_for(lambda: not cluster.held(), "nothing is held")
    cluster.end(signal.SIGKILL)
    began = time.monotonic()
    alone = cluster.submit("-N", "1", "--gres=gpu:8", "--account=research")
    cluster.wait(alone, "RUNNING", WAIT + 30)
    took = time.monotonic() - began
    assert WAIT - 1 <= took, f"after {took} s"
    cluster.slurm.run("scancel", alone)
    cluster.start("--trouble", "1", "--calm", "3")
    wait_for(lambda: not cluster.held(), f"nothing is held\n{cluster.log()}")
    # A node's cable fails: the next job avoids it; it is drained in Slurm, and in use again when the cable is.
    device = lambda node: "H-" + service.get(f"/v1/nodes/{node}")["adapters"][0]["guid"].removeprefix("0x").zfill(16)
    lost = next(node for node in nodes if device(node) != sim.host)  # railweaved reaches the subnet through that one
    host = device(lost)
    sim.console(f'Unlink "{host}"[1]')
    wait_for(lambda: service.get(f"/v1/nodes/{lost}")["state"] == "linkDown", "Railweave sees that the link is down")
    job = cluster.submit("-N", "15", "--gres=gpu:8", "--account=physics")
    assert sorted(agrees(cluster, job)) == sorted(set(NODES) - {lost}), "the next job avoids it"
    reason = wait_for(lambda: "railweave: a link" in (text := cluster.slurm.run("sinfo", "-h", "-N", "-n", lost, "-O", "StateLong:20,Reason:80")) and text, f"drained in Slurm\n{cluster.log()}")
    assert reason.startswith("drained"), reason
    cluster.cancel(job)
    sim.console(f'ReLink "{host}"[1]')
    wait_for(lambda: cluster.slurm.run("sinfo", "-h", "-N", "-n", lost, "-O", "StateLong:20").strip() == "idle", f"in use again\n{cluster.log()}", 60)
    # An adapter that answers nothing about its table of keys (attribute 22) delays its own job, for the time of a prolog, and no other.
    hangs, well = [node for node in NODES if device(node) != sim.host][:2]
    sim.console(f'Error "{device(hangs)}"[1] 100 22')
    settings = cluster.folder / "slurm.env"
    settings.write_text(settings.read_text().replace(f"RAILWEAVE_PROLOG_WAIT={WAIT}", f"RAILWEAVE_PROLOG_WAIT={LONG_WAIT}"))
    delayed = cluster.submit("-N", "1", "--gres=gpu:8", "--account=research", "-w", hangs)
    wait_for(lambda: cluster.state(delayed) == "CONFIGURING" and f"{delayed}.0" in cluster.held(), f"its prolog waits\n{cluster.log()}")
    ports = lambda job: service.get(f"/v1/jobs/{cluster.held()[f'{job}.0']}/ports")
    wait_for(lambda: any(one["reason"] == "does not answer" for one in ports(delayed)["pending"]), lambda: f"its port is named: {ports(delayed)}")
    began = time.monotonic()
    job = cluster.submit("-N", "1", "--gres=gpu:8", "--account=research", "-w", well, script=look.format(lids=lids[well]))
    cluster.wait(job, "RUNNING")
    took = time.monotonic() - began
    assert cluster.state(delayed) == "CONFIGURING", f"after {took} s: {cluster.job(delayed)['text']}"
    assert ports(job)["ready"] and not ports(delayed)["ready"], (ports(job), ports(delayed))
    assert key in {one & 0x7fff for one in first_look(cluster, job)[0][lids[well]]}, "its own key is there when it begins"
    shown = service.cli("jobs", "ports", cluster.held()[f"{delayed}.0"]).stdout
    assert "does not answer" in shown and hangs in shown, shown
    cluster.wait(delayed, "RUNNING", LONG_WAIT + 20)
    print(f"beside a port that hangs a job began after {took:.1f} s; the prolog of the port's own job took its {LONG_WAIT} s")
    cluster.cancel(job, delayed)


def main():
    if code := slurm.cannot_run(*filter(None, [ibsim.missing()])):
        return code
    with tempfile.TemporaryDirectory(prefix="railweave-slurm-") as name:
        folder = Path(name)
        native, netlist, subnet = generate(str(BIN / "railweave"), SHAPE, folder)
        with Ibsim(netlist) as sim, Live(sim, BIN, folder, subnet, "sweep_seconds = 1") as service:
            service.import_fabric(native)
            service.mode("direct")
            service.synced()
            for tenant in ("research", "physics"):
                assert service.cli("tenants", "put", tenant).returncode == 0
            done = service.cli("contracts", "set", "research", "--guaranteed", "10", "--class", "all-reduce")
            assert done.returncode == 0, done.stderr
            cluster = Cluster(folder, service, hooks(folder, service))
            try:
                cluster.start()
                test(cluster, sim)
            except BaseException:
                print(cluster.log(), *[f"{out.name}: {out.read_text()[-2000:]}" for out in folder.glob("out.*")], sep="\n")
                raise
            finally:
                cluster.end(signal.SIGKILL)
                cluster.slurm.end()
    print("live: jobs start with their keys, and avoid what fails")
    return 0


if __name__ == "__main__":
    sys.exit(main())
