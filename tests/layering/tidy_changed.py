#!/usr/bin/env python3
"""clang-tidy over the sources that the last commits changed, in an order drawn from the newest commit, until the time is over.
What was not reached is named. Exit code 1 where clang-tidy reports anything.

tidy_changed.py BUILD [--commits N] [--seconds S]     BUILD: a folder with compile_commands.json
"""
import argparse
import json
import os
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor


def git(*words):
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout.split()


def changed_sources(commits):
    """Sources that changed, and those of headers that changed."""
    known = git("rev-list", f"--max-count={commits + 1}", "HEAD")
    files = set(git("diff", "--name-only", known[-1], "HEAD", "--", "*.h", "*.cc")) if len(known) > 1 else set(git("ls-files", "*.cc"))
    return {file for file in files if file.endswith(".cc")} | {file[:-2] + ".cc" for file in files if file.endswith(".h")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--commits", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=180)
    options = parser.parse_args()
    root = os.getcwd()
    with open(f"{options.build}/compile_commands.json", encoding="utf-8") as file:
        compiled = {os.path.relpath(entry["file"], root) for entry in json.load(file)}
    sources = sorted(changed_sources(options.commits) & compiled)
    random.Random(git("rev-parse", "HEAD")[0]).shuffle(sources)
    end = time.monotonic() + options.seconds

    def tidy(source):
        if time.monotonic() > end:
            return None
        done = subprocess.run(["clang-tidy-19", "--quiet", "-p", options.build, source], capture_output=True, text=True, check=False)
        return done.stdout if done.returncode != 0 else ""

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(tidy, sources))
    reports = [report for report in found if report]
    print("\n".join(reports))
    reached = sum(report is not None for report in found)
    print(f"clang-tidy: {reached} of {len(sources)} changed sources read, {len(reports)} with findings"
          + ("" if reached == len(sources) else f"; not reached in {options.seconds} s: {len(sources) - reached}, others with another commit"))
    return 1 if reports else 0


if __name__ == "__main__":
    sys.exit(main())
