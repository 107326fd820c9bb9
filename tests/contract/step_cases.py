"""How long steps of jobs take, as jobs report it, and what is compared of it."""
import time

TENANT = "research"
MODEL = {"parameters": 7e9, "layers": 32, "hiddenSize": 4096, "sequenceLength": 4096, "globalBatchSize": 64}


def submit(session, **fields):
    return session.call("submitJob", 201, body={"name": "steps", "tenant": TENANT, "parallelism": {"tensor": 4, "data": 2}, **fields}).json["id"]


def reports(session):
    """Sums by period beside the prediction; too soon, and more than the time that has passed, are refused."""
    name, other = submit(session, model=MODEL), submit(session)
    nothing = session.call("getJobSteps", 200, path={"id": name})
    assert nothing.json["periods"] == [] and nothing.json["reportedAt"] is None and nothing.json["workload"] is None, nothing.json
    assert session.call("getJob", 200, path={"id": name}).json["steps"] is None
    body = {"steps": 10, "seconds": 2.5}
    first = session.call("reportJobSteps", 200, path={"id": name}, body=body).json
    period, = first["periods"]
    assert (period["placing"], period["routed"], period["guaranteed"], period["steps"], period["stepMs"]) == ("place", False, False, 10, 250), first
    assert period["predictedMs"] > 0 and abs(period["factor"] - 250 / period["predictedMs"]) < 1e-9, first
    assert first["workload"] == "steps" and first["gpuModel"] == "H100" and first["reports"] == 1 and not first["slow"], first
    began = time.monotonic()
    session.call("reportJobSteps", 429, "steps.tooSoon", path={"id": name}, body=body)
    session.call("reportJobSteps", 200, path={"id": other}, body=body | {"workload": "another"})
    for wrong, code in ((body | {"steps": 0}, "body.invalidField"), (body | {"seconds": 0}, "body.invalidField"), (body | {"seconds": -1}, "body.invalidField"),
                        (body | {"seconds": 1e9}, "body.invalidField"), (body | {"steps": 1.5}, "body.invalidField"), ({"steps": 1}, "body.missingField"),
                        (body | {"workload": "x" * 254}, "body.invalidField"), (body | {"rank": 0}, "body.unknownField"), (body | {"workload": 1}, "body.invalidField")):
        session.call("reportJobSteps", 400, None if code == "body.invalidField" else code, path={"id": name}, body=wrong, valid=False)
    for wrong, code in (("{", "body.notJson"), ("[" * 1000 + "]" * 1000, "body.tooDeep"), ("[]", "body.wrongType"),
                        ('{"steps": 1, "steps": 2, "seconds": 1}', "body.duplicateField")):
        session.call("reportJobSteps", 400, code, path={"id": name}, body=wrong)
    session.call("reportJobSteps", 413, "http.bodyTooLarge", path={"id": name}, body=" " * (1 << 20) + "{}")
    session.call("reportJobSteps", 415, "http.contentEncoding", path={"id": name}, body=body, headers={"Content-Encoding": "br"})
    session.call("reportJobSteps", 415, "http.mediaType", path={"id": name}, body=body, headers={"Content-Type": "text/plain"})
    session.call("reportJobSteps", 404, "jobs.notFound", path={"id": "job-999999"}, body=body)
    for operation in ("getJobSteps", "reportJobSteps"):
        session.call(operation, 400, "query.unknownParameter", path={"id": name}, query={"all": "true"}, body=body if operation == "reportJobSteps" else None)
    read = session.call("getJobSteps", 200, path={"id": name})
    assert read.json == first
    session.call("getJobSteps", 304, path={"id": name}, headers={"If-None-Match": read.header("ETag")})
    job = session.call("getJob", 200, path={"id": name})
    assert job.json["steps"] == first, "the job says so as well, without a new version"
    time.sleep(max(0, 10.2 - (time.monotonic() - began)))
    session.call("reportJobSteps", 422, "steps.moreThanPassed", path={"id": name}, body={"steps": 1, "seconds": 100})
    again = session.call("reportJobSteps", 200, path={"id": name}, body={"steps": 30, "seconds": 9}).json
    assert again["periods"][0]["steps"] == 40 and again["periods"][0]["seconds"] == 11.5 and again["reports"] == 2, again
    later = session.call("getJob", 200, path={"id": name})
    assert later.json["version"] == job.json["version"] and later.header("ETag") != job.header("ETag"), "another tag, the same version"
    event = session.call("listEvents", 200, query={"type": "job.stepsReported"}).json["items"][-1]
    assert event["subject"] == {"kind": "job", "id": name} and event["data"]["steps"] == 30 and "300 ms" in event["summary"], event
    for ended in (name, other):
        session.call("completeJob", 200, path={"id": ended})
    session.call("reportJobSteps", 409, "jobs.notRunning", path={"id": name}, body=body)
    assert session.call("getJobSteps", 200, path={"id": name}).json["periods"] == again["periods"], "kept as long as the job"


def gains(session):
    """Jobs that only ran where another scheduler put them, beside jobs of that workload that Railweave placed."""
    session.call("getGains", 400, "query.unknownParameter", query={"all": "true"})
    nodes = [[{"node": node, "gpus": [0, 1, 2, 3]}] for node in ("node-1", "node-2")]
    adopted = [session.call("submitJob", 201, body={"tenant": TENANT, "gpus": 4, "adopt": {"ranks": there}, "external": {"scheduler": "slurm", "id": f"7_{i}", "step": "observe"}}).json["id"]
               for i, there in enumerate(nodes)]
    found = session.call("listJobs", 200, query={"external": "slurm/7_1"}).json["items"]
    assert [item["id"] for item in found] == adopted[1:], found
    assert not session.call("listJobs", 200, query={"external": "7_1"}).json["items"]
    placed = [session.call("submitJob", 201, body={"tenant": TENANT, "gpus": 4, "external": {"scheduler": "slurm", "id": f"8_{i}", "part": "all", "step": "place"}}).json["id"] for i in range(2)]
    for name, seconds in zip(adopted + placed, (10, 10.2, 8, 8.2)):
        session.call("reportJobSteps", 200, path={"id": name}, body={"steps": 10, "seconds": seconds, "workload": "llama"})
    gain, = session.call("getGains", 200).json["gains"]
    assert (gain["step"], gain["scheduler"], gain["of"], gain["jobsWith"], gain["jobsWithout"], gain["workloads"]) == ("place", "slurm", "workloadJobs", 2, 2, 1), gain
    assert gain["parts"] == ["all"], gain
    assert gain["gainPermille"] == 198 and gain["interval"]["lowPermille"] < 198 < gain["interval"]["highPermille"], gain
    for name in adopted + placed:
        session.call("completeJob", 200, path={"id": name})


CASES = [reports, gains]
