#!/usr/bin/env python3
"""Slurm as a launcher of Railweave's jobs: accepted, running, freed when Slurm has left their nodes, evicted with notice, taken
over exactly where they run; and killed at every step in between.

slurm_launch_test.py BIN_FOLDER phases|kill|before|after
"""
import http.client
import http.server
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from slurm import wait_for  # noqa: E402
from slurm_cluster import BEGAN, NODES, agrees, run  # noqa: E402

JUDGED = ["submitJobs", "listJobs", "getJob", "listRanks", "acceptJob", "runningJob", "completeJob", "listNodes", "listDrains"]

# Notes a node that has two jobs at once, by what the jobs themselves see.
LOCKED = """#!/bin/sh
echo BEGAN $SLURM_JOB_ID.$SLURM_RESTART_COUNT >> {folder}/began
srun --overlap -N {nodes} -n {nodes} sh -c 'flock -n -E 99 {folder}/busy.$SLURMD_NODENAME sleep {seconds}
[ $? = 99 ] && echo TWICE $SLURM_JOB_ID $SLURMD_NODENAME >> {folder}/twice; true'
"""


def job_of(cluster, id_):
    return cluster.service.request("GET", f"/v1/jobs/{id_}")[2]


def history(cluster, id_):
    """Types of the job's events in their order, with when each was."""
    items = cluster.service.request("GET", f"/v1/events?subject=job/{id_}&limit=1000")[2]["items"]
    return [(item["type"], item["time"]) for item in items]


def kinds(cluster, id_):
    return [kind for kind, _ in history(cluster, id_) if kind in ("job.placed", "job.accepted", "job.running", "job.releasing", "job.freed", "job.ended")]


def submit_direct(cluster, nodes, **fields):
    """A job that is none of Slurm's and holds GPUs at once."""
    status, _, answer = cluster.service.request("POST", "/v1/jobs", {"tenant": "physics", "gpus": nodes * 8, "gpusPerNode": 8, "expectedDuration": "PT1H", **fields})
    assert status == 201, answer
    return answer["id"]


def epilog(cluster, seconds):
    """Slurm clears nodes of ended jobs for that long."""
    path = cluster.folder / "epilog.sh"
    path.write_text(f"#!/bin/sh\nsleep {seconds}\n")
    path.chmod(0o755)
    conf = cluster.folder / "slurm.conf"
    conf.write_text(conf.read_text() + f"Epilog={path}\n")
    cluster.slurm.run("scontrol", "reconfigure")


def test_phases(cluster):
    research = ["--gres=gpu:8", "--account=research"]
    # Accepted before it is pinned, running when Slurm runs it.
    job = cluster.submit("-N", "4", *research, script=BEGAN)
    agrees(cluster, job)
    id_ = cluster.held()[f"{job}.0"]
    wait_for(lambda: job_of(cluster, id_)["phase"] == "running", f"Railweave knows that it runs\n{cluster.log()}")
    assert kinds(cluster, id_) == ["job.placed", "job.accepted", "job.running"], history(cluster, id_)
    assert job_of(cluster, id_)["launcher"]["notice"] == "PT4S", job_of(cluster, id_)["launcher"]
    # Nodes that Slurm still clears are the job's; then they pass to a job of Railweave's own that waits for them.
    epilog(cluster, 5)
    whole = submit_direct(cluster, 16, queue=True)
    assert job_of(cluster, whole)["state"] == "queued"
    cluster.slurm.run("scancel", job)
    wait_for(lambda: job_of(cluster, id_)["phase"] == "releasing", f"it ends\n{cluster.log()}")
    looks = 0
    while cluster.state(job) == "COMPLETING":
        before = job_of(cluster, whole)["state"]
        if cluster.slurm.run("squeue", "-h", "-j", job, "-t", "CG", code=None).strip():
            looks += 1
            assert before == "queued", "its GPUs were passed on while Slurm had not left them"
        time.sleep(0.2)
    assert looks >= 5, f"it was seen completing {looks} times only"
    wait_for(lambda: job_of(cluster, whole)["state"] == "placed", f"it starts when Slurm has left\n{cluster.log()}")
    assert kinds(cluster, id_) == ["job.placed", "job.accepted", "job.running", "job.releasing", "job.ended"], history(cluster, id_)
    assert job_of(cluster, id_)["state"] == "completed"
    cluster.service.request("DELETE", f"/v1/jobs/{whole}")
    # Evicted: it is told, may stay for the notice, is requeued, and its nodes pass on when they are clear.
    trap = "#!/bin/sh\ntrap 'echo TOLD' USR1\necho BEGAN\nwhile true; do sleep 0.2; done\n"
    low = cluster.submit("-N", "10", *research, "--comment", "railweave: priority=low", "--open-mode=append", script=trap)
    agrees(cluster, low)
    stays = cluster.submit("-N", "2", *research, "--comment", "railweave: priority=low", "--no-requeue", script=trap)
    agrees(cluster, stays)
    evicted = [cluster.held()[f"{one}.0"] for one in (low, stays)]
    wait_for(lambda: all(job_of(cluster, one)["phase"] == "running" for one in evicted), "both run")
    for one in (low, stays):
        wait_for(lambda out=cluster.folder / f"out.{one}.4294967294": out.exists() and "BEGAN" in out.read_text(), "its script has its trap")
    began = time.monotonic()
    urgent = submit_direct(cluster, 16, queue=True, priority="high")
    mark = wait_for(lambda: "must leave at" in (mark := cluster.job(low)["mark"]) and mark, f"it is told\n{cluster.log()}")
    assert f"for {urgent}" in mark and "order=" in mark, f"who, and its ranks still: {mark}"
    assert cluster.state(low) == "RUNNING"
    wait_for(lambda: job_of(cluster, urgent)["state"] == "placed", f"the urgent job starts\n{cluster.log()}")
    assert time.monotonic() - began > 4 + 4, "not before the notice is over and the nodes are clear"
    assert cluster.job(low)["Restarts"] == "1" and cluster.state(stays) in ("CANCELLED", "COMPLETING"), (cluster.job(low)["text"], cluster.job(stays)["text"])
    for one in (low, stays):
        assert (cluster.folder / f"out.{one}.4294967294").read_text().count("TOLD") == 1
    events = [history(cluster, one) for one in evicted]
    placed = next(when for kind, when in history(cluster, urgent) if kind == "job.placed")
    assert all(next(when for kind, when in found if kind in ("job.ended", "job.evicted")) <= placed for found in events), (events, placed)
    wait_for(lambda: "waits: " in cluster.job(low)["mark"], f"it waits, with a reason\n{cluster.log()}")
    cluster.service.request("DELETE", f"/v1/jobs/{urgent}")
    agrees(cluster, low, 1)
    # Ended by hand in Railweave: it is cancelled in Slurm.
    cluster.service.request("DELETE", f"/v1/jobs/{cluster.held()[f'{low}.1']}?reason=enough")
    wait_for(lambda: cluster.state(low) == "CANCELLED", f"it is cancelled\n{cluster.log()}", 60)
    wait_for(lambda: not cluster.held(), "its GPUs are free")
    # No GPUs are held for what is held by its user or waits for another job; it never begins by itself before it was placed.
    first = cluster.submit("-N", "2", *research, script="#!/bin/sh\nsleep 3\n")
    after = cluster.submit("-N", "2", *research, f"--dependency=afterany:{first}", script=BEGAN)
    held = cluster.submit("-N", "2", *research)
    agrees(cluster, held)
    cluster.slurm.run("scontrol", "requeuehold", held)
    wait_for(lambda: cluster.job(held)["Priority"] == "0" and not any(key.startswith(f"{held}.") for key in cluster.held()),
             f"nothing is held for it\n{cluster.log()}")
    assert f"{after}.0" not in cluster.held() or cluster.state(first) != "RUNNING"
    agrees(cluster, after)
    cluster.slurm.run("scontrol", "release", held)
    agrees(cluster, held, 1)
    cluster.cancel(after, held)
    # Taken over exactly: the order of ranks that was given before Railweave lost its store, and Slurm's own GPUs of a node.
    given = cluster.submit("-N", "5", *research, "--comment", "railweave: tp=4 pp=2", "--ntasks-per-node=8", script=BEGAN)
    agrees(cluster, given)
    id_ = cluster.held()[f"{given}.0"]
    order = [(one["node"], one["gpu"]) for one in cluster.service.request("GET", f"/v1/jobs/{id_}/ranks?limit=1000")[2]["items"]]
    first = [cluster.submit("-N", "1", "--gres=gpu:3", "--mem=10", "-w", NODES[15]) for _ in range(2)]
    [cluster.wait(one, "RUNNING") for one in first]
    cluster.slurm.run("scancel", first[0])
    wait_for(lambda: cluster.state(first[0]) in ("CANCELLED", "gone"), "the first three GPUs are free")
    cluster.end(signal.SIGKILL)
    port = cluster.service.port
    cluster.service.kill()
    for part in cluster.service.folder.glob("store.db*"):
        part.unlink()
    cluster.service.start(port=port)
    cluster.railweave("fabric", "import", str(cluster.folder / "fabric.json"))
    for tenant in ("research", "physics"):
        cluster.railweave("tenants", "put", tenant)
    cluster.start()
    wait_for(lambda: {f"{given}.0", f"{first[1]}.0"} <= set(cluster.held()), f"what runs is held\n{cluster.log()}")
    id_ = cluster.held()[f"{given}.0"]
    assert [(one["node"], one["gpu"]) for one in cluster.service.request("GET", f"/v1/jobs/{id_}/ranks?limit=1000")[2]["items"]] == order
    assert job_of(cluster, id_)["adopted"]["findings"] == [] and job_of(cluster, id_)["phase"] == "running", job_of(cluster, id_)["adopted"]
    id_ = cluster.held()[f"{first[1]}.0"]
    told = cluster.service.request("GET", f"/v1/jobs/{id_}/ranks")[2]["items"]
    assert [(one["node"], one["gpu"]) for one in told] == [(NODES[15], gpu) for gpu in (3, 4, 5)], told
    cluster.cancel(given, first[1])


class Tap(http.server.BaseHTTPRequestHandler):
    """Between railweave-slurm and railweaved. before() and after() are called around each request that changes something."""
    protocol_version = "HTTP/1.1"
    before = after = staticmethod(lambda line: None)
    port = 0

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        line = f"{self.command} {self.path}"
        if self.command != "GET":
            Tap.before(line)
        service = http.client.HTTPConnection("127.0.0.1", Tap.port, timeout=30)
        service.request(self.command, self.path, body or None, {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection", "accept-encoding")})
        found = service.getresponse()
        text = found.read()
        service.close()
        if self.command != "GET":
            Tap.after(line)
        try:
            self.send_response(found.status)
            for name, value in found.getheaders():
                if name.lower() in ("content-type", "etag", "location"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it was killed meanwhile, as it should be

    do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = answer

    def log_message(self, *_):
        pass


# In the place of scontrol: says what it is about to do, waits for leave, says that it was done.
SCONTROL = """#!/bin/sh
case "$1 $2" in
  "update jobid="*|requeue*) ;;
  *) exec {real} "$@" ;;
esac
echo "$*" | head -c 60 > {folder}/tap.$$.new; mv {folder}/tap.$$.new {folder}/tap.$$.before
while [ -e {folder}/tap.$$.before ]; do sleep 0.02; done
{real} "$@"; code=$?
: > {folder}/tap.$$.after
while [ -e {folder}/tap.$$.after ]; do sleep 0.02; done
exit $code
"""


def test_steps(cluster, when):
    """railweave-slurm is killed before or after each of the changes that it makes from a job's submission to its end; then it
    is started again, and the job begins once, where it is held, and nothing is held when it has ended."""
    epilog(cluster, 1)  # so that each job is seen to end
    cluster.end()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Tap)
    server.daemon_threads = True
    Tap.port = cluster.service.port
    threading.Thread(target=server.serve_forever, daemon=True).start()
    cluster.environment["RAILWEAVE_URL"] = f"http://127.0.0.1:{server.server_address[1]}"
    tools = cluster.folder / "tools"
    tools.mkdir()
    real = subprocess.run(["which", "scontrol"], capture_output=True, text=True, check=True).stdout.strip()
    (tools / "scontrol").write_text(SCONTROL.format(real=real, folder=cluster.folder))
    (tools / "scontrol").chmod(0o755)
    cluster.environment["PATH"] = f"{tools}:{cluster.environment['PATH']}"
    steps, kill_at, killed = [], None, threading.Event()
    guard = threading.Lock()

    def step(what):
        with guard:
            steps.append(what)
            if kill_at is not None and len(steps) - 1 == kill_at and cluster.operator:
                cluster.operator.kill()
                cluster.operator.wait()
                killed.set()

    Tap.before, Tap.after = (lambda line: step(f"before {line}")), (lambda line: step(f"after {line}"))
    done = threading.Event()

    def watch():
        while not done.wait(0.01):
            for kind in ("before", "after"):
                for path in cluster.folder.glob(f"tap.*.{kind}"):
                    step(f"{kind} scontrol {path.read_text() if kind == 'before' else ''}".strip())
                    path.unlink()

    watcher = threading.Thread(target=watch)
    watcher.start()

    def story():
        """A job from its submission to its end, requeued once. railweave-slurm is started again whenever it was killed."""
        steps.clear()
        killed.clear()
        cluster.start("--accept", "3", "--no-drains")

        def settle(condition, what):
            def look():
                if killed.is_set():
                    killed.clear()
                    cluster.operator = None
                    cluster.start("--accept", "3", "--no-drains")
                return condition()
            return wait_for(look, lambda: f"{what}, killed at {kill_at} of {steps}\n{cluster.job(job)['text']}\n{cluster.held()}\n{cluster.log()[-3000:]}", 60)

        job = cluster.submit("-N", "3", "--gres=gpu:8", "--account=research", "--open-mode=append", script=BEGAN)

        def runs(restarts):
            def look():
                one, held = cluster.job(job), cluster.held()
                id_ = held.get(f"{job}.{restarts}")
                return (one.get("JobState") == "RUNNING" and id_ and job_of(cluster, id_)["phase"] == "running" and
                        sorted(cluster.nodes(one["NodeList"])) == sorted(job_of(cluster, id_)["nodeList"]))
            settle(look, f"it runs where it is held ({restarts})")

        runs(0)
        cluster.slurm.run("scontrol", "requeue", job)
        runs(1)
        cluster.slurm.run("scancel", job)
        settle(lambda: not cluster.held() and cluster.state(job) == "CANCELLED", "nothing is held")
        assert cluster.job(job)["Restarts"] == "1", cluster.job(job)["text"]
        assert (cluster.folder / f"out.{job}.4294967294").read_text().count("BEGAN") == 2, "it began once each time"
        cluster.end()

    try:
        story()
        told = list(steps)
        assert len(told) >= 16 and any("accept" in what for what in told) and any("scontrol update" in what for what in told), told
        tried = 0
        points = [at for at, what in enumerate(told) if what.startswith(when)]
        for kill_at in points:
            story()
            tried += len(steps) > kill_at
        assert tried == len(points) >= 8, f"every step was reached: {tried} of {len(points)}"
        queued = cluster.service.request("GET", "/v1/jobs?state=queued")[2]["items"]
        assert queued == [], f"nothing waits in Railweave for what Slurm has ended: {queued}"
    finally:
        done.set()
        watcher.join()
        server.shutdown()
    print(f"killed {when} each of {len(points)} steps: {[told[at] for at in points]}")


def test_kill(cluster, seed=None):
    """railweaved and railweave-slurm are killed and slurmctld is restarted again and again while jobs come, run, are requeued and end. Jobs note
    when they begin and which nodes they have, so it is they who say that none began twice and no node had two."""
    seed = seed if seed is not None else int.from_bytes(os.urandom(2), "big")
    print(f"seed {seed}")
    draw = random.Random(seed)
    jobs, port = {}, cluster.service.port
    deadline = time.monotonic() + 75
    kills = {"railweaved": 0, "railweave-slurm": 0, "slurmctld": 0}
    while time.monotonic() < deadline:
        for _ in range(draw.randint(0, 2)):
            nodes = draw.choice([1, 2, 2, 3, 5, 8])
            script = LOCKED.format(folder=cluster.folder, nodes=nodes, seconds=draw.choice([1, 3, 6]))
            try:
                jobs[cluster.submit("-N", str(nodes), "--gres=gpu:8", "--exclusive", "--account=research", script=script)] = nodes
            except AssertionError as refused:
                assert "slurm" in str(refused).lower() or "contact" in str(refused).lower(), refused  # slurmctld is away
        what = draw.choice(["railweaved", "railweave-slurm", "slurmctld", "requeue", "nothing"])
        if what in kills:
            kills[what] += 1
        if what == "railweaved":
            cluster.service.kill()
            time.sleep(draw.random())
            cluster.service.start(port=port)
        elif what == "railweave-slurm":
            cluster.end(signal.SIGKILL)
            time.sleep(draw.random())
            cluster.start()
        elif what == "slurmctld":
            # It is told to end: one that is killed forgets what it did last and begins jobs again by itself, with and without Railweave. 24.11
            # does not end when it is told so before it is up.
            wait_for(lambda: "UP" in cluster.slurm.run("scontrol", "ping", code=None), "slurmctld answers")
            controller = cluster.slurm.processes.pop("slurmctld")
            controller.terminate()
            controller.wait(timeout=60)
            time.sleep(draw.random())
            cluster.slurm.launch("slurmctld", "slurmctld", "-D")
        elif what == "requeue" and jobs:
            cluster.slurm.run("scontrol", "requeue", draw.choice(list(jobs)), code=None)
        time.sleep(draw.random() * 1.5)
    assert all(kills.values()), kills
    wait_for(lambda: not cluster.slurm.run("squeue", "-h", code=None).strip() and cluster.slurm.run("sinfo", "-h", code=None).strip(), f"all jobs end\n{cluster.log()[-4000:]}", 200)
    wait_for(lambda: not cluster.held(), f"nothing is held\n{cluster.log()[-2000:]}")
    twice = cluster.folder / "twice"
    assert not twice.exists(), f"seed {seed}: two jobs on one node: {twice.read_text()}"
    starts = (cluster.folder / "began").read_text().split("\n")
    began = [line.split()[1].rstrip(".") for line in starts if line]
    assert len(began) == len(set(began)), f"seed {seed}: began twice: {sorted(began)}"
    assert {one.split(".")[0] for one in began} == set(jobs), f"seed {seed}: lost: {set(jobs) - {one.split('.')[0] for one in began}}"
    assert cluster.service.request("GET", "/v1/jobs?state=queued")[2]["items"] == []
    print(f"{len(jobs)} jobs, {len(began)} starts, killed: {kills}")


def main():
    part = sys.argv[2]
    options = ("--notice", "4", "--notice-signal", "USR1") if part == "phases" else ()
    if part in ("before", "after"):
        return run(part, lambda cluster: test_steps(cluster, part))
    if part == "phases":
        return run(part, test_phases, options=options, judged=JUDGED)
    return run(part, test_kill, options=options)


if __name__ == "__main__":
    sys.exit(main())
