#!/usr/bin/env python3
"""Subjects of commits: `subject: what it does`, in the imperative, at most 72 characters.

commits.py [FOLDER]        those that follow the commit in commits_since.txt; merges are not looked at
commits.py --message FILE  one that is being made (a commit-msg hook)
commits.py --self-test

Only commits that have that one behind them are held: history stays as it is. Where git or that commit is not there, as in a
shallow clone or an unpacked archive, nothing is looked at, which is said.
"""
import re
import subprocess
import sys
from pathlib import Path

MAX_SUBJECT = 72
SHAPE = re.compile(r"^[a-z0-9][a-z0-9_./ -]*(, [a-z0-9][a-z0-9_./ -]*)*: (?P<first>[a-z][\w'-]*)\b")
OWN = re.compile(r"^(Merge|Revert|fixup!|squash!)\b")  # that git writes itself
# What no order begins with. Verbs that end like these are below.
NO_VERB = re.compile(r"^(an?|the|this|that|these|those|one|no|not|what|which|who|how|why|where|when|each|every|all|some|more|new|now|also|only|its?|is|are|and|for"
                     r"|with|without|in|on|of|by|at|as|from|to|\w+ing|\w+ed|\w+s)$")
VERBS = {"bring", "bus", "need", "embed", "speed", "feed", "seed", "exceed", "proceed", "shed", "string", "ring", "spring", "pass", "process", "press", "compress",
         "express", "address", "discuss", "guess", "bypass", "focus", "cross", "dismiss", "toss", "miss", "access", "assess", "bless", "less", "suppress"}


def problem(subject):
    """Why this is no such subject; none: it is one."""
    if OWN.match(subject):
        return None
    if len(subject) > MAX_SUBJECT:
        return f"has {len(subject)} characters, {MAX_SUBJECT} are the most"
    shape = SHAPE.match(subject)
    if not shape:
        return "is not like 'control: refuse a job that names no tenant'"
    first = shape["first"]
    if first not in VERBS and NO_VERB.match(first):
        return f"'{first}' begins no order: what the commit does, as 'refuse', 'add', 'say'"
    return None


def git(folder, *arguments):
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None


def check(folder):
    since = next(line for line in (Path(__file__).parent / "commits_since.txt").read_text().split() if not line.startswith("#"))
    log = git(folder, "log", "--no-merges", "--ancestry-path", "--format=%h %s", f"{since}..HEAD")
    if log is None:
        return [], f"subjects of commits were not looked at: {since[:12]} is not in this repository"
    lines = log.splitlines()
    problems = [f"{number}: '{subject}' {wrong}" for number, _, subject in (line.partition(" ") for line in lines) if (wrong := problem(subject))]
    return problems, f"{len(lines)} subjects of commits keep the form"


def self_test():
    good = ["control: refuse a job that names no tenant", "docs, tests: say how the log is read", "rest/json: pass what a viewer may see", "Merge: a map",
            "placement: process chunks that differ", "x: seed the store"]
    bad = ["no subject here", "control: Refuse it", "control: refused it", "control: refuses it", "control: refusing it", "tests: one seeded service", "bench: what it costs",
           "control: " + "refuse " * 10, "Control: refuse it", "control:refuse it"]
    wrong = [subject for subject in good if problem(subject)] + [subject for subject in bad if not problem(subject)]
    print("\n".join(f"judged wrongly: {subject}" for subject in wrong) or f"{len(good) + len(bad)} planted subjects judged")
    # An archive has no history, which is no breach.
    nowhere, said = check(Path("/"))
    assert not nowhere and "not looked at" in said, (nowhere, said)
    return 1 if wrong else 0


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--self-test"]:
        return self_test()
    if arguments[:1] == ["--message"]:
        subject = next((line for line in Path(arguments[1]).read_text().splitlines() if line and not line.startswith("#")), "")
        wrong = problem(subject)
        if wrong:
            print(f"the subject of the commit, '{subject}', {wrong}", file=sys.stderr)
        return 1 if wrong else 0
    problems, said = check(Path(arguments[0] if arguments else "."))
    print("\n".join(problems) if problems else said)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
