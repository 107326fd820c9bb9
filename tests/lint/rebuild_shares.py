#!/usr/bin/env python3
"""What a touch of the widest headers rebuilds: the share of all sources that include each, directly or not.

rebuild_shares.py [FOLDER] [--build FOLDER] [--update]

Refuses a share above that in rebuild_shares.txt, which --update writes again. Shares are of lines of sources (*.cc of product and
tests), read from the #include lines alone, so that they are the same on every machine and need no build. Where there is a
build folder of Ninja they are also shown as measured there: share of the compile time, and the time itself.
"""
import argparse
import math
import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

HEADERS = ["fabric/topology/topology.h", "scheduler/job/job_spec.h", "services/control/state/cluster_state.h", "services/control/events/event.h"]
TOPS = ["fabric", "scheduler", "db", "api", "services", "tests"]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
GROWTH = 0.5  # percent: what a file more or less does


def shares(root):
    """By header: percent of lines of sources that are compiled again when it is touched."""

    @cache
    def text(path):
        file = root / path
        return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""

    def behind(path):
        seen, left = set(), [path]
        while left:
            for header in INCLUDE.findall(text(left.pop())):
                if header not in seen:
                    seen.add(header)
                    left.append(header)
        return seen

    total, lines = 0, dict.fromkeys(HEADERS, 0)
    for source in sorted(file for top in TOPS for file in (root / top).rglob("*.cc")):
        path = source.relative_to(root).as_posix()
        own = text(path).count("\n")
        total += own
        for header in behind(path) & lines.keys():
            lines[header] += own
    return {header: 100 * count / max(total, 1) for header, count in lines.items()}


def measured(build):
    """By header: (percent of the compile time, seconds), by Ninja's records; none where there are none."""
    try:
        said = subprocess.run(["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True, timeout=60)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return None
    log = build / ".ninja_log"
    if said.returncode != 0 or not log.is_file():
        return None
    took = {}
    for line in log.read_text(encoding="utf-8").splitlines()[1:]:
        start, end, _, output, *_ = line.split("\t")
        if output.endswith(".o"):
            took[output] = (int(end) - int(start)) / 1000
    time, output = dict.fromkeys(HEADERS, 0.0), None
    for line in said.stdout.splitlines():
        if line and not line.startswith(" "):
            output = line.partition(":")[0]
            continue
        header = next((header for header in HEADERS if line.endswith("/" + header)), None)
        if header and output in took:
            time[header] += took[output]
    total = sum(took.values())
    return {header: (100 * seconds / total, seconds) for header, seconds in time.items()} if total else None


def held(file):
    lines = (line.split() for line in file.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#"))
    return {header: float(share) for share, header in lines}


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path, text in {HEADERS[0]: "#pragma once\n", "fabric/a.h": f'#include "{HEADERS[0]}"\n', "fabric/a.cc": '#include "fabric/a.h"\n\n\n', "db/b.cc": "\n"}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        assert shares(root)[HEADERS[0]] == 75.0, shares(root)
    print("a header behind a header is counted")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("folder", nargs="?", default=".")
    options.add_argument("--build")
    options.add_argument("--update", action="store_true")
    options.add_argument("--self-test", action="store_true")
    given = options.parse_args()
    if given.self_test:
        return self_test()
    now, file = shares(Path(given.folder)), Path(__file__).with_suffix(".txt")
    if given.update:
        file.write_text("# Percent of the lines of sources behind a touch of each header: no more than this (rebuild_shares.py --update).\n" +
                        "".join(f"{math.ceil(share)} {header}\n" for header, share in now.items()))
    most = held(file)
    build = measured(Path(given.build)) if given.build else None
    for header, share in now.items():
        timed = "" if build is None else f", {build[header][0]:.0f}% of the compile time as last built ({build[header][1]:.0f} s)"
        print(f"a touch of {header} rebuilds {share:.1f}% of the sources{timed}")
    grown = [header for header, share in now.items() if share > most.get(header, 0) + GROWTH]
    for header in grown:
        print(f"REFUSED: {header} is behind {now[header]:.1f}% of the sources, {most.get(header, 0)}% before: include what it needs, or declare the name", file=sys.stderr)
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
