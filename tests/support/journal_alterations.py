"""Alterations as in alterations.py, of the journal's export."""


def contract_raised(e):
    next(record for record in e.records("contract.put") if record["data"]["tenant"] == "blue")["data"]["guaranteedMbps"] *= 2


def isolation_raised(e):
    next(record for record in e.records("contract.put") if record["data"]["tenant"] == "blue")["data"]["isolation"] = "lane"


def coverage_raised(e):
    next(record for record in e.records("contract.put") if record["data"]["tenant"] == "red")["data"]["surviveLinkFailure"] = True
    for record in e.records("job.placed"):
        if record["data"]["spec"]["tenant"] == "red":
            record["data"]["guarantee"]["coveredOn"] = {}


def blank(e, record):
    """As if it had been something else: numbers stay without a gap."""
    for name in ("data",):
        record.pop(name, None)
    record["kind"] = "alarm.cleared"


def job_removed(e):
    blank(e, next(record for record in e.records("job.placed") if record["data"]["spec"]["tenant"] == "green"))
    e.journal = [line for line in e.journal if not (line.get("kind", "").startswith("guarantee.") and line.get("data", {}).get("tenant") == "green")]
    renumber(e)


def renumber(e):
    number = e.journal[0]["afterSeq"]
    for line in e.journal:
        if "kind" in line:
            number += 1
            line["seq"] = number
    e.certificate["seq"] = number


def job_added(e):
    made = next(record for record in e.records("job.placed") if record["data"]["spec"]["tenant"] == "blue")
    at = max(i for i, line in enumerate(e.journal) if "kind" in line) + 1
    e.journal.insert(at, {**made, "subject": "job-000098", "data": {**made["data"], "number": 98}})
    renumber(e)


def place_changed(e):
    """Its ranks are said to be on other nodes."""
    record = next(record for record in e.records("job.placed") if record["data"]["spec"]["tenant"] == "blue")
    others = next(other for other in e.records("job.placed") if other["data"]["spec"]["tenant"] == "green")["data"]["ranks"]
    record["data"]["ranks"][0][0] = others[0][0]


def nics_exchanged(e):
    nodes = [line for line in e.journal if "node" in line]
    nodes[0]["gpus"], nodes[1]["gpus"] = nodes[1]["gpus"], nodes[0]["gpus"]


def record_left_out(e):
    e.journal.remove(e.records("tenant.put")[0])


def record_after(e):
    last = max(line["seq"] for line in e.journal if "kind" in line)
    at = max(i for i, line in enumerate(e.journal) if "kind" in line) + 1
    e.journal.insert(at, {"seq": last + 1, "timeUs": 0, "term": 0, "kind": "contract.removed", "version": 1, "subject": "red", "data": {"tenant": "red"}})


JOURNAL_ALTERATIONS = [
    ("a contract's rate raised", contract_raised, r"FAULT job-\d+: \S+ is promised 8000 Mb/s in each direction"),
    ("isolation raised from planned to lane", isolation_raised, r"FAULT job-\d+: its contract gives it a lane of its own, and the certificate does not"),
    ("failures covered by contract", coverage_raised, r"FAULT job-\d+: its contract covers link failures, and the certificate does not"),
    ("a job removed from the journal", job_removed, r"FAULT job-\d+: no contract promises it anything"),
    ("a job added to the journal", job_added, r"FAULT job-000098: has a guarantee that the certificate leaves out"),
    ("a job said to be on other nodes", place_changed, r"FAULT job-\d+: its ranks have other ports"),
    ("nodes with each other's ports", nics_exchanged, r"FAULT \S+/\d+: is no port of \S+"),
    ("a record left out", record_left_out, r"FAULT the journal's export: record \d+ follows record \d+"),
    ("a record after the certificate", record_after, r"FAULT the certificate is of another time: .*record \d+ \(contract.removed of red\) came after it"),
]
