#!/usr/bin/env python3
"""Scenarios: text files of commands with what they print, run in order on a fresh railweaved each. What depends on the
clock is masked. `--rewrite` takes what is printed now for what is expected: look at the difference before it is kept.

scenario_test.py BIN_FOLDER FILE... [--rewrite]

A file:   # text for people        $ railweave arguments        what it prints, to the next line that begins with # or $
$DIR in arguments is a folder of the scenario's own; `$ cat > NAME <<END` writes a file there; `$ restart` kills the
service and starts it again.
"""
import difflib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from service import Service  # noqa: E402

MASKS = [
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"\b\d+(\.\d+)? (us|ms)\b", "DURATION"),
    (r"\b(\d+ (hours?|min|minutes?|s|seconds?|days?)( \d+ (hours?|min|minutes?|s|seconds?))*) ago\b", "AGO"),
    (r"http://127\.0\.0\.1:\d+", "URL"),
]


class Scenario:
    def __init__(self, binaries, path):
        self.binaries, self.path, self.lines = binaries, path, []

    def run(self, line, body):
        """What a command prints: both streams, and the exit code where it is not 0."""
        if line == "restart":
            self.service.kill()
            self.service.start()
            return ""
        if found := re.fullmatch(r"cat > (\S+) <<END", line):
            (self.folder / found[1]).write_text(body)
            return None
        words = shlex.split(line.replace("$DIR", str(self.folder)))
        assert words[0] in ("railweave", "railweave-verify"), f"{self.path}: {line}"
        environment = dict(os.environ, RAILWEAVE_URL=f"http://127.0.0.1:{self.service.port}", NO_COLOR="1", COLUMNS="140")
        done = subprocess.run([self.binaries / words[0], *words[1:]], env=environment, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, cwd=self.folder)
        text = done.stdout.replace(str(self.folder), "$DIR")
        for pattern, mask in MASKS:
            text = re.sub(pattern, lambda found: mask.ljust(len(found[0])), text)
        text = "".join(line.rstrip() + "\n" for line in text.splitlines())
        return text + (f"[exit code {done.returncode}]\n" if done.returncode else "")

    def replay(self):
        """The file as it would read with what is printed now."""
        written, expected, command = [], [], None

        def finish():
            if command is None:
                written.extend(expected)
                return
            said = self.run(command, "".join(line + "\n" for line in expected if line != "END"))
            written.extend(expected if said is None else [*said.splitlines(), *([""] if expected[-1:] == [""] or not expected else [])])

        with tempfile.TemporaryDirectory(prefix="railweave-scenario-") as folder, Service(self.binaries / "railweaved") as self.service:
            self.folder = Path(folder)
            self.service.start()
            for line in self.path.read_text().splitlines():
                if line.startswith(("# ", "$ ")):
                    finish()
                    expected = []
                    written.append(line)
                    command = line[2:] if line.startswith("$ ") else None
                else:
                    expected.append(line)
            finish()
        while written and not written[-1]:
            written.pop()
        return "\n".join(written) + "\n"


def main():
    rewrite = "--rewrite" in sys.argv
    binaries, *files = [argument for argument in sys.argv[1:] if argument != "--rewrite"]
    wrong = 0
    for name in files:
        path = Path(name)
        now = Scenario(Path(binaries).resolve(), path).replay()
        before = path.read_text()
        if now == before:
            print(f"{path.name}: {before.count(chr(10) + '$ ') + before.startswith('$ ')} commands as expected")
        elif rewrite:
            path.write_text(now)
            print(f"{path.name}: rewritten")
        else:
            wrong += 1
            print("".join(difflib.unified_diff(before.splitlines(True), now.splitlines(True), f"{path.name} expected", f"{path.name} now")))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
