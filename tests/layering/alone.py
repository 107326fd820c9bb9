#!/usr/bin/env python3
"""Compiles sources alone with clang, without unity batches and precompiled headers: each must include what it uses.

alone.py BUILD [--parts N]     BUILD: a folder of the preset tidy. --parts N: one source in N, chosen by the newest commit.
                               Exit code 1 where one does not compile.
"""
import argparse
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from sources import compile_commands, in_order_of_commit


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--parts", type=int, default=1)
    options = parser.parse_args()
    commands = compile_commands(options.build)
    ordered = in_order_of_commit(commands)
    chosen = ordered[: -(-len(ordered) // options.parts)]

    def compile_alone(source):
        folder, command = commands[source]
        words = [word for word in shlex.split(command) if word != "-c" and os.path.basename(word) != "ccache"]
        output = words.index("-o")
        words[output:output + 2] = ["-fsyntax-only"]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        return done.stderr if done.returncode != 0 else ""

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        reports = [report for report in pool.map(compile_alone, chosen) if report]
    print("\n".join(reports))
    print(f"compiled alone: {len(chosen)} of {len(ordered)} sources, {len(reports)} do not compile")
    return 1 if reports or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
