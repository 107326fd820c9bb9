#!/usr/bin/env python3
"""clang-tidy over the sources that the last commits changed, in an order drawn from the newest commit, until the time is over.
What was not reached is named. Exit code 1 where clang-tidy reports anything.

tidy_changed.py BUILD [--commits N] [--seconds S]     BUILD: a folder with compile_commands.json
"""
import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from sources import changed_sources, compile_commands, in_order_of_commit


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--commits", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=120)
    options = parser.parse_args()
    sources = in_order_of_commit(changed_sources(options.commits) & compile_commands(options.build).keys())
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
