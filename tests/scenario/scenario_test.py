#!/usr/bin/env python3
"""Golden scenarios: text files of commands with their expected output, each run in order on a fresh railweaved. Values
that depend on the clock are masked. `--rewrite` replaces the expected output by the present one: review the diff.

scenario_test.py BIN_FOLDER FILE... [--rewrite]

A line begins with "# " (a comment) or "$ " (a command); the lines after a command are its output. $DIR is the
scenario's own folder. Besides `railweave` and `railweave-verify` there are:
  $ cat > NAME <<END                 write the following lines, up to END, to a file in $DIR
  $ restart                          kill the service and start it again
  $ authenticate                     start the service again so that it asks for tokens; the first is in first.token
  $ simulate NETLIST SUBNET          start ibsim, and the service again, attached to it as the live subnet SUBNET
  $ ibsim COMMAND                    enter a command at the console of ibsim
  $ await PATTERN railweave ...      repeat the command until its output matches the pattern; prints nothing
{token NAME} in a command is the id of the token that `railweave tokens list` shows for NAME.
A scenario with `simulate` is skipped (exit code 77) where ibsim is missing.
"""
import difflib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import Ibsim, missing  # noqa: E402
from live import LiveService  # noqa: E402
from service import Service  # noqa: E402

MASKS = [
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"\b\d+(\.\d+)? (us|ms)\b", "DURATION"),
    (r"\b(\d+ (hours?|min|minutes?|s|seconds?|days?)( \d+ (hours?|min|minutes?|s|seconds?))*) ago\b", "AGO"),
    (r"(?<=\()\d+[smhd] ago\b", "AGO"),
    (r"(?<=TIME {18})\d{1,2}[smhd] ?(?=\s|\Z)", "AGE"),  # in the column beside a time
    (r"\brw_[a-z0-5]{12}_[A-Za-z0-9.-]{43}", "SECRET"),
    (r"(?<=token[ /])[a-z0-5]{12}\b|(?m:^)[a-z0-5]{12}(?=  )", "TOKEN-ID"),
    (r"http://127\.0\.0\.1:\d+", "URL"),
    (r"\b\d+ MADs\b", "N MADs"),
    (r"\bpeak memory \d+ MiB", "peak memory N MiB"),
]
AWAIT_SECONDS = 30
SKIPPED = 77


def mask_live(line):
    """Of a live subnet: milliseconds of a row of the table of repairs, sequence numbers of events."""
    if found := re.match(r"TIME +(\d+\.\d +){4}", line):
        return re.sub(r"\d+\.\d", lambda number: "MS".rjust(len(number[0])), found[0]) + line[found.end():]
    return re.sub(r"^ *\d+(?=  TIME)", lambda found: "N".rjust(len(found[0])), line)


class Scenario:
    def __init__(self, binaries, path):
        self.binaries, self.path = binaries, path
        self.simulator = self.live = None

    def run(self, line, body):
        """The output of a command (both streams, and the exit code unless it is 0); None for `cat`."""
        if line == "restart":
            return self.restart()
        if found := re.fullmatch(r"cat > (\S+) <<END", line):
            (self.folder / found[1]).write_text(body)
            return None
        if line.startswith("ibsim "):
            self.simulator.console(line.removeprefix("ibsim "))
            return ""
        if line == "authenticate":
            return self.authenticate()
        line = re.sub(r"\{token (\S+)\}", lambda found: self.id_of_token(found[1]), line)
        words = shlex.split(line.replace("$DIR", str(self.folder)))
        if words[0] == "simulate":
            return self.simulate(*words[1:])
        if words[0] == "await":
            return self.wait_for(words[1], words[2:])
        return self.output(words)

    def output(self, words):
        assert words[0] in ("railweave", "railweave-verify"), f"{self.path}: {words}"
        url = self.live.url if self.live else f"http://127.0.0.1:{self.service.port}"
        environment = dict(os.environ, RAILWEAVE_URL=url, NO_COLOR="1", COLUMNS="140",
                           RAILWEAVE_CREDENTIALS=str(self.folder / "credentials.json"))
        done = subprocess.run([self.binaries / words[0], *words[1:]], env=environment, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, cwd=self.folder)
        text = done.stdout.replace(str(self.folder), "$DIR")
        for pattern, mask in MASKS:
            text = re.sub(pattern + "(?P<cell>(?=  ))?", lambda found: mask.ljust(len(found[0])) if found["cell"] is not None else mask, text)
        text = "".join((mask_live(line) if self.live else line).rstrip() + "\n" for line in text.splitlines())
        return text + (f"[exit code {done.returncode}]\n" if done.returncode else "")

    def authenticate(self):
        self.service.kill()
        self.service.authentication = "tokens"
        self.service.start("--admin-token-file", str(self.folder / "first.token"))
        return ""

    def id_of_token(self, name):
        environment = dict(os.environ, RAILWEAVE_URL=f"http://127.0.0.1:{self.service.port}",
                           RAILWEAVE_TOKEN=(self.folder / "first.token").read_text().strip())
        found = subprocess.run([self.binaries / "railweave", "tokens", "list", "-o", "json"], env=environment, text=True,
                               capture_output=True, timeout=60, check=True)
        return next(token["id"] for token in json.loads(found.stdout)["items"] if token["name"] == name)

    def restart(self):
        if self.live:
            self.live.restart()
        else:
            self.service.kill()
            self.service.start()
        return ""

    def simulate(self, netlist, subnet):
        self.service.kill()
        self.simulator = Ibsim(netlist).__enter__()
        self.live = LiveService(self.simulator, self.binaries, self.folder, subnet, "sweep_seconds = 1").start()
        return ""

    def wait_for(self, pattern, words):
        until = time.monotonic() + AWAIT_SECONDS
        while not re.search(pattern, text := self.output(words)):
            assert time.monotonic() < until, f"{self.path}: no '{pattern}' within {AWAIT_SECONDS} s:\n{text}"
            time.sleep(0.05)
        return ""

    def stop(self):
        for part in (self.live, self.simulator):
            if part:
                part.__exit__()

    def replay(self):
        """The text of the file with the present output."""
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
            try:
                for line in self.path.read_text().splitlines():
                    if line.startswith(("# ", "$ ")):
                        finish()
                        expected = []
                        written.append(line)
                        command = line[2:] if line.startswith("$ ") else None
                    else:
                        expected.append(line)
                finish()
            finally:
                self.stop()
        while written and not written[-1]:
            written.pop()
        return "\n".join(written) + "\n"


def main():
    rewrite = "--rewrite" in sys.argv
    binaries, *files = [argument for argument in sys.argv[1:] if argument != "--rewrite"]
    wrong = 0
    for name in files:
        path = Path(name)
        if "\n$ simulate " in path.read_text() and (lacking := missing()):
            print(f"{path.name}: skipped: {lacking} missing")
            return SKIPPED
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
