#!/usr/bin/env python3
"""Plants small bugs in a folder's sources, one at a time, and counts those that its unit tests see: `make mutants FOLDER=fabric/health`.

mutants.py BUILD FOLDER [--tests unit_health] [--sample 40] [--seed 1] [--at-least 90] [--list]

Each mutant is one operator, constant or statement of one source. It is compiled alone with the flags of the build, linked into the
test program in the place of the folder's library, and run; what does not compile is no mutant. A survivor is printed with its
line: either a test is missing, or the code makes no difference there. The build must have made the test program.
"""
import argparse
import concurrent.futures
import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

# (what is found in code, what instead); binary operators as clang-format writes them, with blanks, so that templates are left alone.
RULES = [(re.compile(found), other) for found, other in [
    (r"(?<= )<(?= )", "<="), (r"(?<= )<=(?= )", "<"), (r"(?<= )>(?= )", ">="), (r"(?<= )>=(?= )", ">"), (r"(?<= )==(?= )", "!="), (r"(?<= )!=(?= )", "=="),
    (r"(?<= )&&(?= )", "||"), (r"(?<= )\|\|(?= )", "&&"), (r"(?<=[\w)] )\+(?= )", "-"), (r"(?<=[\w)] )-(?= )", "+"), (r"(?<=[\w)] )\*(?= )", "/"),
    (r"(?<=[\w)] )/(?= )", "*"), (r"(?<= )\+=(?= )", "-="), (r"(?<= )-=(?= )", "+="), (r"\+\+(?=\w)", "--"), (r"(?<=return )true(?=;)", "false"),
    (r"(?<=return )false(?=;)", "true"), (r"std::min\b", "std::max"), (r"std::max\b", "std::min"), (r"(?<=[( ])!(?=[\w(])", ""),
    (r"\bcontinue(?=;)", "break"), (r"(?<![\w.'])(\d[\d']*)(?![\w.'])", None)]]
# Statements that may be left out: assignments and calls that stand alone on their line.
STATEMENT = re.compile(r"^ +(?!return\b|const\b|auto\b|break\b|continue\b|using\b|case\b|for\b|if\b|while\b|else\b|std::\w+ \w+;)[\w.:\[\]()>*-]+(?: [+|&-]?= .+|\(.*\))?;$")
# Neither do texts, nor lines that only reserve memory: no test could tell.
SKIPPED = re.compile(r"^\s*(//|#|namespace\b|using\b|static_assert|template\b|RAILWEAVE_CHECK|[\w.>\[\]()-]+[.>]reserve\()")


def code_of(line):
    """The line with its comment and texts blanked, so that columns stay."""
    line = re.sub(r'"(?:[^"\\]|\\.)*"', lambda found: '"' + " " * (len(found[0]) - 2) + '"', line)
    at = line.find("//")
    return line if at < 0 else line[:at] + " " * (len(line) - at)


def mutants_of(path):
    """[(line number, the line instead)]"""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        code = code_of(line)
        if SKIPPED.match(line) or not code.strip():
            continue
        for pattern, other in RULES:
            for place in pattern.finditer(code):
                instead = other if other is not None else str(int(place[0].replace("'", "")) + 1)
                found.append((number, line[:place.start()] + instead + line[place.end():]))
        if STATEMENT.match(code.rstrip()):
            found.append((number, line[:len(line) - len(line.lstrip())] + ";"))
    return found


class Build:
    def __init__(self, build, folder, tests):
        self.build, self.root = Path(build).resolve(), Path.cwd()
        self.library = "lib" + folder.replace("/", "_") + ".a"
        commands = json.loads((self.build / "compile_commands.json").read_text())
        mark = f"/{folder}/CMakeFiles/"
        entry = next((one for one in commands if mark in "/" + one.get("output", one["file"])), None)
        assert entry, f"{folder} is not a folder of {build}"
        words = shlex.split(entry["command"])
        # Without the launcher, the source, the output and the record of what it depends on.
        self.compile, skip = [], False
        for word in words[next(n for n, word in enumerate(words) if word.endswith(("g++", "c++", "clang++-19", "clang++"))):]:
            if skip:
                skip = False
            elif word in ("-o", "-c", "-MF", "-MT"):
                skip = True
            elif word not in ("-MD",) and not word.endswith(".cc"):
                self.compile.append(word)
        said = subprocess.run(["ninja", "-C", str(self.build), "-t", "commands", tests], capture_output=True, text=True, check=True).stdout
        self.link = said.strip().splitlines()[-1]
        # What CTest is told after linking is none of ours.
        self.link = re.sub(r"^: && | && :$", "", self.link.split(" && cd ")[0])
        assert self.library in self.link, f"{tests} does not use {self.library}"

    def object_of(self, source, folder):
        target = Path(folder) / (Path(source).stem + ".o")
        done = subprocess.run([*self.compile, "-w", "-c", str(source), "-o", str(target)], cwd=self.build, capture_output=True, text=True)
        return target if done.returncode == 0 else None

    def program_of(self, objects, folder):
        target = Path(folder) / "program"
        words = [word for word in shlex.split(self.link)]
        words = [str(target) if before == "-o" else word for before, word in zip(["", *words], words)]
        place = next(n for n, word in enumerate(words) if word.endswith("/" + self.library))
        words[place:place + 1] = [str(one) for one in objects]
        words = [word for word in words if not word.endswith("/" + self.library)]
        done = subprocess.run(words, cwd=self.build, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        return target


def runs(program, seconds):
    try:
        return subprocess.run([str(program), "--gtest_brief=1", "--gtest_fail_fast"], capture_output=True, timeout=seconds).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def tried(build, originals, path, number, line, seconds):
    """None: it is no mutant; else whether a test saw it."""
    with tempfile.TemporaryDirectory(prefix="railweave-mutant-") as folder:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        lines[number - 1] = line + "\n"
        source = Path(folder) / path.name
        source.write_text("".join(lines), encoding="utf-8")
        made = build.object_of(source, folder)
        if made is None:
            return None
        return not runs(build.program_of([made if one.stem == path.stem else one for one in originals], folder), seconds)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("build")
    options.add_argument("folder")
    options.add_argument("--tests")
    options.add_argument("--sample", type=int, default=40)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--at-least", type=float, default=0)
    options.add_argument("--seconds", type=float, default=120)
    options.add_argument("--jobs", type=int, default=os.cpu_count())
    options.add_argument("--list", action="store_true")
    given = options.parse_args()
    folder = given.folder.strip("/")
    sources = sorted(Path(folder).glob("*.cc"))
    everything = [(path, number, line) for path in sources for number, line in mutants_of(path)]
    random.Random(given.seed).shuffle(everything)
    if given.list:
        print("\n".join(f"{path}:{number}: {line.strip()}" for path, number, line in sorted(everything)))
        return 0
    build = Build(given.build, folder, given.tests or "unit_" + folder.rpartition("/")[2])
    killed, survivors, left = 0, [], everything
    with tempfile.TemporaryDirectory(prefix="railweave-mutants-") as work, concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        originals = list(pool.map(lambda source: build.object_of(source.resolve(), work), sources))
        assert all(originals), "a source does not compile as it is"
        assert runs(build.program_of(originals, work), given.seconds), "the tests fail as they are"
        while left and killed + len(survivors) < given.sample:
            now, left = left[:given.sample - killed - len(survivors)], left[given.sample - killed - len(survivors):]
            for (path, number, line), seen in zip(now, pool.map(lambda one: tried(build, originals, *one, given.seconds), now)):
                killed += seen is True
                if seen is False:
                    survivors.append(f"survived: {path}:{number}: {line.strip()}")
                    print(survivors[-1], flush=True)
    total = killed + len(survivors)
    share = 100 * killed / max(total, 1)
    print(f"{folder}: {killed} of {total} mutants killed, {share:.0f}% (of {len(everything)} that could be planted, seed {given.seed})")
    return 1 if share < given.at_least else 0


if __name__ == "__main__":
    sys.exit(main())
