"""Jobs that may run in several shapes: each is answered, the best of those that fit is taken, and the queue uses them."""
import random

from small_fabric import GPUS, NODES

TENANT = "research"
MODEL = {"parameters": 7e9, "layers": 32, "hiddenSize": 4096, "sequenceLength": 4096, "microBatchSize": 1,
         "globalBatchSize": 96}


def job(**fields):
    return {"name": "shaped", "tenant": TENANT, "expectedDuration": "PT1H", **fields}


def end(session, *names):
    for name in names:
        session.call("cancelJob", 200, path={"id": name})


def data_of(spec):
    return spec["parallelism"]["data"]


def taken(answer):
    one, = [shape for shape in answer["shapes"] if shape["taken"]]
    return one


def a_range(session):
    """From dataAtLeast to data: as many replicas as fit, in a what-if, a submission and a batch alike."""
    wanted = {"parallelism": {"tensor": GPUS, "data": NODES}, "dataAtLeast": NODES - 2}
    answer = session.call("queryPlacement", 200, body=wanted, query={"ranks": "true"}).json
    assert [shape["parallelism"]["data"] for shape in answer["shapes"]] == [NODES, NODES - 1, NODES - 2], answer["shapes"]
    assert {shape["outcome"] for shape in answer["shapes"]} == {"placed"}, answer["shapes"]
    assert taken(answer)["gpus"] == NODES * GPUS == answer["ranks"]["count"], answer
    works = [shape["workMs"] for shape in answer["shapes"]]
    assert works == sorted(works), "more replicas are faster here"
    other = session.call("submitJob", 201, body=job(gpus=1)).json["id"]
    answer = session.call("queryPlacement", 200, body=wanted, query={"ranks": "true"}).json
    assert answer["ranks"]["count"] == (NODES - 1) * GPUS == len(answer["ranks"]["items"]), answer["ranks"]["count"]
    first = answer["shapes"][0]
    assert (first["outcome"], first["taken"]) == ("notNow", False) and first["code"] and first["reason"], first
    item, = session.call("queryPlacements", 200, body={"items": [{"key": "a", **wanted}]}).json["items"]
    assert item["placement"]["ranks"]["count"] == (NODES - 1) * GPUS, item
    placed = session.call("submitJob", 201, body=job(**wanted)).json
    spec = placed["spec"]
    assert data_of(spec) == NODES - 1 and [one["data"] for one in spec["shapes"]] == [NODES, NODES - 1, NODES - 2], spec
    assert placed["gpus"] == (NODES - 1) * GPUS, placed
    refused = session.call("queryPlacement", 200, body=wanted).json
    assert refused["outcome"] == "notNow" and [one["outcome"] for one in refused["shapes"]] == ["notNow"] * 3, refused
    problem = session.call("submitJob", 409, body=job(**wanted)).json
    assert problem["detail"] == refused["reason"], problem
    end(session, other, placed["id"])
    plain = session.call("queryPlacement", 200, body={"gpus": 4}).json
    assert "shapes" not in plain, plain


def others(session):
    """TP or DP: what the model's step is predicted to take decides, and all shapes are told."""
    wanted = {"parallelism": {"tensor": GPUS, "data": 2}, "shapes": [{"tensor": 2, "data": GPUS}], "model": MODEL}
    answer = session.call("queryPlacement", 200, body=wanted).json
    assert len(answer["shapes"]) == 2 and {one["gpus"] for one in answer["shapes"]} == {2 * GPUS}, answer["shapes"]
    fastest = min(answer["shapes"], key=lambda one: one["stepMs"])
    assert taken(answer)["stepMs"] <= 1.01 * fastest["stepMs"] and taken(answer)["workMs"] == taken(answer)["stepMs"], answer
    assert answer["predicted"]["stepMs"] == taken(answer)["stepMs"], answer
    alone = session.call("queryPlacement", 200, body={"parallelism": taken(answer)["parallelism"], "model": MODEL}).json
    assert alone["predicted"] == answer["predicted"] and alone["placement"] == answer["placement"], "as if it had one shape"


def waiting(session):
    """In the queue it starts in the best shape that fits when its turn comes, and keeps that in its document."""
    running = [session.call("submitJob", 201, body=job(gpus=GPUS, gpusPerNode=GPUS)).json["id"] for _ in range(NODES)]
    wanted = job(parallelism={"tensor": GPUS, "data": 3}, dataAtLeast=2, queue=True)
    waits = session.call("submitJob", 201, body=wanted).json
    assert waits["state"] == "queued" and waits["waits"]["code"] == "noCapacity", waits
    end(session, running.pop())
    assert session.call("getJob", 200, path={"id": waits["id"]}).json["state"] == "queued"
    end(session, running.pop())
    started = session.call("getJob", 200, path={"id": waits["id"]}).json
    assert started["state"] == "placed" and data_of(started["spec"]) == 2 and len(started["spec"]["shapes"]) == 2, started
    end(session, waits["id"], running.pop())
    again = session.call("submitJob", 201, body=wanted).json
    assert again["outcome"] == "placed" and data_of(again["spec"]) == 3, again
    end(session, again["id"], *running)
    never = job(parallelism={"tensor": GPUS, "data": NODES + 3}, dataAtLeast=NODES + 1, queue=True)
    session.call("submitJob", 422, "jobs.neverFits", body=never)
    large = job(parallelism={"tensor": GPUS, "data": NODES + 3}, dataAtLeast=NODES, queue=True)
    end(session, session.call("submitJob", 201, body=large).json["id"])


def refusals(session):
    own = {"parallelism": {"tensor": 4, "data": 4}}
    for fields, code, pointer in (
            ({"dataAtLeast": 5}, "body.invalidField", "/dataAtLeast"), ({"dataAtLeast": 0}, "body.invalidField", "/dataAtLeast"),
            ({"shapes": {}}, "body.invalidField", "/shapes"), ({"shapes": [{"tensor": 2, "x": 1}]}, "body.unknownField", "/shapes/0/x"),
            ({"shapes": [{"tensor": 0}]}, "jobs.invalid", "/shapes/1/tensor"),
            ({"shapes": [{"tensor": 2, "data": 8}]}, "jobs.invalid", "/shapes/1"),
            ({"shapes": [{"data": n} for n in range(1, 19)]}, "body.invalidField", "/shapes")):
        problem = session.call("queryPlacement", 400, code, body={**own, **fields}).json
        assert problem["errors"][0]["pointer"] == pointer, problem
    many = {"parallelism": {"data": 40}, "dataAtLeast": 2}
    session.call("queryPlacement", 400, "body.invalidField", body=many)
    one = session.call("queryPlacement", 200, body={**own, "shapes": [own["parallelism"]], "dataAtLeast": 4}).json
    assert "shapes" not in one, "one shape is none to choose from"


def by_chance(session):
    """Whatever runs: as many replicas of a node each as nodes are free, counted from the jobs alone."""
    chance = random.Random(31)
    for _ in range(12):
        busy = chance.randrange(NODES + 1)
        names = [session.call("submitJob", 201, body=job(gpus=GPUS, gpusPerNode=GPUS)).json["id"] for _ in range(busy)]
        most, free = chance.randint(1, NODES + 2), NODES - busy
        least = chance.randint(1, most)
        wanted = {"parallelism": {"tensor": GPUS, "data": most}, "dataAtLeast": least}
        answer = session.call("queryPlacement", 200, body=wanted).json
        fits = [n for n in range(least, most + 1) if n <= free]
        assert (answer["outcome"] == "placed") == bool(fits), (busy, most, least, answer["outcome"])
        if fits:
            assert answer["ranks"]["count"] == max(fits) * GPUS, (busy, most, least, answer["ranks"])
        for shape in answer.get("shapes", []):
            n = shape["parallelism"]["data"]
            assert shape["outcome"] == ("placed" if n <= free else "notNow" if n <= NODES else "never"), (busy, shape)
        end(session, *names)


CASES = [a_range, others, waiting, refusals, by_chance]
