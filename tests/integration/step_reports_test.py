#!/usr/bin/env python3
"""Step times by the front door: jobs of two tenants over common links report their steps by the command. The one that becomes slow is told of
once, with the link and the job on its path, of which its tenant is told what it may see; all of it is there after a crash, and
the journal keeps little of a report.

step_reports_test.py BIN_FOLDER
"""
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
sys.path.insert(0, str(ROOT / "tests/contract"))
from service import Service  # noqa: E402
from small_fabric import fabric  # noqa: E402

BIN = Path(sys.argv[1]).resolve()
MOST_OF_A_REPORT = 700   # bytes of its record; with indexes and the audit trail about 1 kB of the store, as operate.md says
MODEL = {"parameters": 1e8, "layers": 4, "hiddenSize": 1024, "sequenceLength": 128, "globalBatchSize": 2}


class Story:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.service = Service(BIN / "railweaved", folder, authentication="tokens")
        self.service.start("--admin-token-file", str(self.folder / "token"))
        self.tokens = {"admin": (self.folder / "token").read_text().strip()}
        self.next_report = 0

    def cli(self, who, *words, code=0):
        environment = dict(os.environ, RAILWEAVE_URL=f"http://127.0.0.1:{self.service.port}", RAILWEAVE_TOKEN=self.tokens[who], NO_COLOR="1")
        done = subprocess.run([BIN / "railweave", *map(str, words)], env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == code, (words, done)
        return done.stdout + done.stderr

    def document(self, who, *words):
        return json.loads(self.cli(who, *words, "-o", "json"))

    def submit(self, tenant, name, **fields):
        file = self.folder / "job.json"
        file.write_text(json.dumps({"tenant": tenant, "name": name, "gpus": 2, "parallelism": {"data": 2}, "gpusPerNode": 1,
                                    "nodes": ["node-1", "node-2"], **fields}))
        return self.document("admin", "jobs", "submit", "-f", file)["id"]

    def report(self, who, jobs, steps, seconds):
        """As soon as the service takes another report of them."""
        time.sleep(max(0, self.next_report - time.monotonic()))
        for job in jobs:
            self.cli(who, "jobs", "report-steps", job, "--steps", steps, "--seconds", f"{seconds:.6f}")
        self.next_report = time.monotonic() + 10.3


def slow_jobs(story):
    """The second window of 20 steps makes it slow; the event names what is on its path to who may know."""
    other = story.submit("other", "their-secret", traffic={"data": {"bytesPerStep": 1e9}})
    ours = story.submit("research", "ours", model=MODEL)
    predicted = story.document("admin", "jobs", "show", ours)["predicted"]["stepMs"] / 1000
    assert 0 < predicted < 0.2, predicted
    story.report("ours", [ours], 20, 20 * predicted)
    story.report("ours", [ours], 20, 40 * predicted)
    event, = story.document("admin", "events", "--type", "job.slow")["items"]
    assert event["severity"] == "warning" and event["subject"]["id"] == ours and "take 2.00 times the" in event["summary"], event
    path = event["data"]["onPath"]
    assert other in path and re.search(r"other jobs make its communication [0-9.]+ times as long, most on .+, which it shares with", path), path
    told, = story.document("ours", "events", "--type", "job.slow")["items"]
    for text in (json.dumps(told), story.cli("ours", "jobs", "show", ours), story.cli("ours", "events", "--type", "job.slow")):
        assert other not in text and "their-secret" not in text and "another tenant's job" in text, text
    shown = story.cli("admin", "jobs", "show", ours)
    assert re.search(r"Slow: +2\.00 times as long as predicted; other jobs make", shown) and other in shown, shown
    refused = story.cli("ours", "jobs", "report-steps", other, "--steps", "1", "--seconds", "1", code=4)
    assert "there is no job" in refused and "their-secret" not in refused, refused
    soon = story.cli("ours", "jobs", "report-steps", ours, "--steps", "1", "--seconds", "0.01", code=9)
    assert "next report" in soon and "PT" not in soon, soon
    return ours


def kept(story, ours):
    before = story.document("ours", "jobs", "show", ours)["steps"]
    story.service.kill()
    story.service.start(*story.service.arguments)
    assert story.document("ours", "jobs", "show", ours)["steps"] == before, "after a crash"
    records = sqlite3.connect(f"file:{story.folder / 'store.db'}?mode=ro", uri=True).execute(
        "SELECT length(payload) + length(kind) + length(subject_id) + length(actor) FROM journal WHERE kind = 'job.stepsReported'").fetchall()
    assert records and max(size for size, in records) < MOST_OF_A_REPORT, records
    return max(size for size, in records)


def main():
    with tempfile.TemporaryDirectory(prefix="railweave-steps-") as folder:
        story = Story(folder)
        try:
            (story.folder / "fabric.json").write_text(json.dumps(fabric()))
            story.cli("admin", "fabric", "import", story.folder / "fabric.json")
            for tenant in ("research", "other"):
                story.cli("admin", "tenants", "set", tenant)
            story.cli("admin", "tokens", "issue", "ours", "--role", "member", "--tenant", "research", "--token-file", story.folder / "ours")
            story.tokens["ours"] = (story.folder / "ours").read_text().strip()
            ours = slow_jobs(story)
            size = kept(story, ours)
        finally:
            story.service.stop()
    print(f"a slow job is told of; {size} bytes of a report in the journal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
