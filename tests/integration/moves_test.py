#!/usr/bin/env python3
"""Moves on a real service, by the CLI and REST: a fragmented cluster, a first job that does not fit, one job that its launcher
moves out of the way. railweaved is killed between the offer and its acceptance, and again while the job stops.

moves_test.py BIN_FOLDER
"""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from service import Service  # noqa: E402

BIN = Path(sys.argv[1])
GPUS, HOSTS = 8, 3


def railweave(service, *arguments, code=0):
    environment = dict(os.environ, RAILWEAVE_URL=f"http://127.0.0.1:{service.port}", NO_COLOR="1")
    done = subprocess.run([BIN / "railweave", *arguments], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, f"railweave {' '.join(arguments)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout if code == 0 else done.stderr


def call(service, method, path, body=None, status=200):
    got, _, answer = service.request(method, path, body)
    assert got == status, f"{method} {path}: {got} {answer}"
    return answer


def job(service, name):
    return call(service, "GET", f"/v1/jobs/{name}")


def gpus_of(service, name):
    items = call(service, "GET", f"/v1/jobs/{name}/ranks?limit=1000")["items"]
    return [(rank["node"], rank["gpu"]) for rank in items]


def submit(service, status=201, **fields):
    launcher = {"checkpointable": fields.pop("checkpointable", True)}
    body = {"name": "test", "tenant": fields.pop("tenant", "research"), "queue": True, "expectedDuration": "PT96H",
            "launcher": launcher, **fields}
    return call(service, "POST", "/v1/jobs", body, status)["id"]


def running(service, **fields):
    name = submit(service, **fields)
    railweave(service, "jobs", "running", name)
    return name


def one_owner(service):
    """No GPU has two jobs."""
    owners = {}
    for item in call(service, "GET", "/v1/jobs?state=placed&limit=100")["items"]:
        for gpu in gpus_of(service, item["id"]):
            assert owners.setdefault(gpu, item["id"]) == item["id"], (gpu, owners[gpu], item["id"])


def fabric(folder):
    path = folder / "fabric.json"
    made = subprocess.run([BIN / "railweave", "lab", "generate", "rail-optimized", "--hosts", str(HOSTS), "--gpus-per-host", str(GPUS),
                           "-O", str(path)], capture_output=True, text=True, timeout=60)
    assert made.returncode == 0, made.stderr
    return str(path)


def fragment(service):
    """A job of five GPUs on each host, the second of which has saved its state just now; the first waiting job wants six of one host."""
    names = [running(service, gpus=5) for _ in range(HOSTS)]
    waits = submit(service, tenant="guests", parallelism={"tensor": 6}, checkpointable=False)
    assert job(service, waits)["state"] == "queued"
    time.sleep(1.2)  # the others lose more than the second
    call(service, "POST", f"/v1/jobs/{names[1]}/checkpoint", {})
    return names, waits


def defrag_starts_the_first_job(service):
    names, waits = fragment(service)
    plan = railweave(service, "queue", "defrag", "--for", "head")
    assert names[1] in plan and names[0] not in plan, plan
    assert call(service, "GET", "/v1/queue/moves")["moves"] == [], "a plan moves nothing"
    offered = railweave(service, "queue", "defrag", "--for", "head", "--carry-out")
    assert names[1] in offered and "offered" in offered, offered
    move = job(service, names[1])["launcher"]["move"]
    assert move["state"] == "offered" and move["inFavourOf"] == waits, move
    [planned] = call(service, "GET", "/v1/queue/moves")["moves"]
    place = [(rank["to"]["node"], rank["to"]["gpu"]) for rank in planned["ranks"]]

    service.kill()
    service.start()
    assert call(service, "GET", "/v1/queue/moves")["moves"] == [planned], "the offer outlives the service"
    assert call(service, "GET", "/v1/queue")["freeGpus"] == GPUS * HOSTS - 15
    beside = submit(service, tenant="guests", gpus=5, checkpointable=False)
    assert job(service, beside)["state"] == "queued", "what is held is given to no other job"
    call(service, "DELETE", f"/v1/jobs/{beside}")

    railweave(service, "jobs", "accept-move", names[1])
    stops = job(service, names[1])
    assert stops["phase"] == "releasing" and stops["launcher"]["release"]["becomes"] == "queued", stops["launcher"]
    service.kill()
    service.start()
    assert job(service, names[1])["launcher"]["move"]["state"] == "moving"
    assert job(service, waits)["state"] == "queued"
    railweave(service, "jobs", "freed", names[1])

    moved = job(service, names[1])
    assert moved["state"] == "placed" and moved["phase"] == "offered", moved
    now = gpus_of(service, names[1])
    for gpu in place:
        assert gpu in now, (place, now)
    assert job(service, waits)["state"] == "placed", job(service, waits)["waits"]
    one_owner(service)
    railweave(service, "jobs", "accept", names[1])
    railweave(service, "jobs", "running", names[1])
    kinds = [event["type"] for event in call(service, "GET", "/v1/events?limit=1000")["items"]
             if event["subject"]["id"] == names[1]]
    order = ["job.moveOffered", "job.moveAccepted", "job.releasing", "job.freed", "job.evicted", "job.placed", "job.accepted", "job.running"]
    assert kinds[-len(order):] == order, kinds
    return [*names, waits]


def declined_and_expired(service):
    """What is declined, or not answered in time, changes nothing and holds nothing."""
    names, waits = fragment(service)
    for answer in ("decline", "silence"):
        policy = json.loads(railweave(service, "queue", "configure", "--move-answer", "PT1S" if answer == "silence" else "PT5M",
                                      "-o", "json"))
        assert policy["moves"] == "onRequest" and policy["moveUnanswered"] == "keep", policy
        call(service, "POST", "/v1/queue/moves", {"for": waits})
        if answer == "decline":
            railweave(service, "jobs", "decline-move", names[1])
        for _ in range(100):
            if not call(service, "GET", "/v1/queue/moves")["moves"]:
                break
            time.sleep(0.1)
        assert call(service, "GET", "/v1/queue/moves")["moves"] == [], answer
        assert job(service, names[1])["phase"] == "running" and job(service, waits)["state"] == "queued"
        free = submit(service, tenant="guests", gpus=9, checkpointable=False, status=201, queue=True)
        call(service, "DELETE", f"/v1/jobs/{free}")
    said = railweave(service, "jobs", "accept-move", names[1], code=5)
    assert "stays where it is" in said, said
    railweave(service, "queue", "configure", "--move-budget", "0")
    assert "GPU seconds" in railweave(service, "queue", "defrag", "--for", "head", "--carry-out", code=5)
    railweave(service, "queue", "configure", "--move-budget", "100000")
    return [*names, waits]


def by_policy(service):
    names, waits = fragment(service)
    railweave(service, "queue", "configure", "--moves", "automatic", "--move-after", "PT1S", "--move-answer", "PT1S",
              "--move-unanswered", "evict", "--moves-at-once", "2")
    for _ in range(300):
        moving = [name for name in names if job(service, name)["phase"] == "releasing"]
        if moving:
            break
        time.sleep(0.1)
    assert len(moving) == 1, "one job is enough"
    railweave(service, "jobs", "freed", moving[0])
    assert job(service, waits)["state"] == "placed" and job(service, moving[0])["state"] == "placed"
    one_owner(service)
    return [*names, waits]


def main():
    with Service(BIN / "railweaved") as service:
        service.start()
        railweave(service, "fabric", "import", fabric(service.folder))
        for tenant in ("research", "guests"):
            railweave(service, "tenants", "set", tenant)
        railweave(service, "queue", "configure", "--min-runtime", "PT0S")
        for step in (defrag_starts_the_first_job, declined_and_expired, by_policy):
            for name in step(service):
                call(service, "POST", f"/v1/jobs/{name}/complete?freed=true") if job(service, name)["state"] == "placed" else \
                    call(service, "DELETE", f"/v1/jobs/{name}")
            print(f"{step.__name__}: passed")


main()
