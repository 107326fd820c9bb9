#!/usr/bin/env python3
"""Runs the demo as `make demo` does, in a folder of its own, and holds what it prints to what the README promises.

demo_test.py BIN_FOLDER
"""
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PROMISES = [
    (r"GPUs:\s+1600, 1600 free, in 136 NVLink domains", "the fabric is loaded"),
    (r"(?s)jobs submit --tenant research --name llama-70b.*?Data rings on rails:\s+yes", "rings stay on their rail"),
    (r"RANK\s+NODE\s+GPU\s+NIC\s+RAIL\s+TP\s+PP\s+DP", "placements are tables"),
    (r"(?s)--tp 36 --dp 2.*?NVLink domains:\s+1\b", "two groups of 36 share an NVL72 domain"),
    (r"can be placed \(nothing was changed\)", "a what-if changes nothing"),
    (r"can never be placed", "a job that cannot fit is told so"),
    (r"tenant research may hold 512 GPUs", "a tenant's limit holds"),
    (r"(?s)subnets show hgx-compute.*?Phase:\s+synced", "the subnet is programmed"),
    (r"The path moved off port \d+ of leaf [0-9a-f]{16}", "ibtracert sees the routes move"),
    (r"route\.programmed.*1 link down: \d+ entries in \d+ blocks written in \d+ us", "the repair is told"),
    (r"(?s)links drain \S+ --dry-run.*?Safe:\s+yes", "a drain can be looked at first"),
    (r"(?s)links drain \S+ --reason.*?State:\s+drained", "a drained cable is safe to unplug"),
    (r"(?s)guarantees list.*?job-\d+.*?all-reduce", "a job has a guarantee"),
    (r"(?s)guarantees verify.*?HOLDS", "its certificate is verified"),
    (r"(?s)queue list.*?greedy", "a job that does not fit waits"),
    (r"(?s)jobs show job-\d+.*?greedy.*?State:\s+placed", "it starts when there is room"),
    (r"(?s)# Restarted.*Phase:\s+synced", "the subnet is still programmed"),
    (r"(?s)# Restarted.*job-000002\s+mixture.*job-000003\s+long-context", "jobs survive a restart"),
    (r"The API listens at http://127\.0\.0\.1:\d+", "it says where the API listens"),
]


# None of these may be printed: something was asked for too early, or is not there.
NEVER = [
    (r"bug of the service", "an internal error"),
    (r"railweave-verify is not installed", "no verifier"),
    (r"(?m)^Tables: +wanted (?!([0-9a-f]{16}), applied \1$)", "tables printed before they are programmed"),
    (r"(?m)^not within \d+ s", "a wait that ended too early"),
    (r"cannot create|No such file", "a file that is missing"),
]


def main():
    with tempfile.TemporaryDirectory(prefix="railweave-demo-") as folder:
        environment = dict(os.environ, RAILWEAVE_VAR=folder, RAILWEAVE_PORT="0", NO_COLOR="1")
        demo = [str(ROOT / "deploy/demo.sh")]
        try:
            done = subprocess.run(demo + [sys.argv[1]], env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=250)
            if (ROOT / "web/dist/index.html").exists():
                PROMISES.append((r"The console: http://127\.0\.0\.1:\d+/console", "it says where the console is"))
            missing = [why for pattern, why in PROMISES if not re.search(pattern, done.stdout)]
            wrong = [why for pattern, why in NEVER if re.search(pattern, done.stdout)]
            if done.returncode != 0 or missing or wrong:
                print(done.stdout)
                print(f"exit code {done.returncode}; not kept: {missing}; wrong: {wrong}")
                return 1
            url = re.search(r"The API listens at (\S+)", done.stdout).group(1)
            with urllib.request.urlopen(url + "/readyz", timeout=10) as answer:
                assert answer.status == 200
        finally:
            subprocess.run(demo + ["--stop"], env=environment, timeout=60, check=True)
    print(f"{len(PROMISES)} promises of the demo kept")
    return 0


if __name__ == "__main__":
    sys.exit(main())
