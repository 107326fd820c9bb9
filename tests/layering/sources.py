"""Sources of the tree: those that the last commits changed, and how each is compiled."""
import json
import os
import random
import subprocess


def git(*words):
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout.split()


def compile_commands(build):
    """Path from the root -> (folder, command) of BUILD/compile_commands.json; without sources that only a build makes."""
    root = os.getcwd()
    with open(f"{build}/compile_commands.json", encoding="utf-8") as file:
        return {os.path.relpath(entry["file"], root): (entry["directory"], entry["command"]) for entry in json.load(file)
                if os.path.exists(entry["file"])}


def changed_sources(commits):
    """Sources that the last commits changed, and those of headers that they changed."""
    known = git("rev-list", f"--max-count={commits + 1}", "HEAD")
    files = set(git("diff", "--name-only", known[-1], "HEAD", "--", "*.h", "*.cc")) if len(known) > 1 else set(git("ls-files", "*.cc"))
    return {file for file in files if file.endswith(".cc")} | {file[:-2] + ".cc" for file in files if file.endswith(".h")}


def in_order_of_commit(sources):
    """An order drawn from the newest commit: what a limited run reaches differs from commit to commit."""
    ordered = sorted(sources)
    random.Random(git("rev-parse", "HEAD")[0]).shuffle(ordered)
    return ordered
