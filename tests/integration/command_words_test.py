#!/usr/bin/env python3
"""What the command line says of mistakes, and that what is documented can be typed: typos and empty names are blamed,
jobs are taken by name, removals have a dry run, waits end, status says what is wrong first, and every example of the help
pages and of the documents is a line that railweave takes.

command_words_test.py BIN_FOLDER
"""
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
from service import Service  # noqa: E402

BIN = Path(sys.argv[1]).resolve()
ROOT = Path(__file__).resolve().parents[2]
USAGE = 2


class Shell:
    def __init__(self, url, folder):
        self.folder = folder
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "RAILWEAVE_URL": url}

    def finished(self, *arguments):
        return subprocess.run([BIN / "railweave", *arguments], env=self.environment, capture_output=True, text=True, cwd=self.folder,
                              timeout=60, stdin=subprocess.DEVNULL)

    def run(self, *arguments, code=0):
        done = self.finished(*arguments)
        assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "-o", "json"))


# The line, its exit code, and what is said: the word that is wrong, and what can be typed instead.
MISTAKES = [
    ("jobs show ''", 2, "JOB is empty"),
    ("links drain ''", 2, "LINK is empty"),
    ("alarms --severity ''", 2, "--severity is empty"),
    ("alarms mute link.down:a --for soon", 2, "--for takes how long, not 'soon'"),
    ("alarms mute link.down:a", 2, "--for"),
    ("sttaus", 2, "did you mean railweave status?"),
    ("jbos list", 2, "there is no command 'jbos'; did you mean railweave jobs?"),
    ("racks show x", 2, "there is no command 'show'"),
    ("jobs lst", 2, "did you mean railweave jobs list?"),
    ("tenants set research --max-gpu 10", 2, "there is no option --max-gpu; did you mean --max-gpus?"),
    ("links drain --resaon x", 2, "there is no option --resaon; did you mean --reason?"),
    ("lab generate rail-optimized --host 8", 2, "there is no option --host; did you mean --hosts?"),
    ("fabric discover --acept", 2, "did you mean --accept?"),
    ("status --server http://127.0.0.1:1/console", 2, "it has a path"),
    ("login --server foo", 2, '"foo" is not the address of a service'),
    ("routes path n n", 2, "FROM and TO are both 'n'"),
    ("events --since yesterday", 2, "not 'yesterday'"),
    ("jobs show 5", 4, "did you mean job-000005?"),
    ("jobs show nothing", 4, "railweave jobs list lists them"),
    ("tenants set x --max-priority hihg", 8, "--max-priority: there is no priority class 'hihg'"),
    ("jobs submit --tenant research --gpus 100000", 7, "railweave tenants set research --max-gpus N"),
    ("nodes drain NODE --gpu 63", 4, "railweave nodes show NODE lists the GPUs of that node"),
    ("fabric import /etc/passwd", 8, "name it with --format"),
    ("admin check nope.db", 4, "(check the path)"),
    ("alarms --kind link.dwon", 0, "no alarms with --kind link.dwon"),
    ("nodes list --state redy", 0, "no nodes with --state redy; states of those there are: ready"),
    ("jobs list --tenant nope", 0, "no jobs with --tenant nope"),
    ("events --type job.placd", 0, "no events with --type job.placd"),
    ("events --subject job-000005", 0, "KIND/ID, such as job/job-000001"),
]


def mistakes(shell, node):
    for line, code, said in MISTAKES:
        done = shell.finished(*[word.replace("NODE", node) for word in shlex.split(line)])
        assert done.returncode == code, f"{line}: {done.returncode}\n{done.stdout}{done.stderr}"
        assert said.replace("NODE", node) in done.stderr, f"{line}: {done.stderr}"
        assert "/v1/" not in done.stderr and "{id}" not in done.stderr, f"{line}: {done.stderr}"


def help_is_a_word(shell):
    assert shell.run("help") == shell.run("--help") and shell.run("version") == shell.run("--version")
    for words in (["jobs"], ["jobs", "submit"]):
        assert shell.run("help", *words) == shell.run(*words, "--help"), words
    assert shell.run("jobs", "help") == shell.run("jobs", "--help")
    assert "did you mean railweave jobs?" in shell.finished("help", "jbos").stderr


def jobs_by_name(shell):
    def submit(name):
        return shell.json("jobs", "submit", "--tenant", "research", "--name", name, "--gpus", "1")["id"]

    one = submit("alone")
    for command in (["show"], ["ranks"], ["ports"], ["checkpoint"], ["cancel", "--dry-run"]):
        shell.run("jobs", command[0], "alone", *command[1:])
    assert shell.json("jobs", "show", one)["state"] == "placed", "a dry run ends nothing"
    twins = [submit("twin"), submit("twin")]
    refused = shell.finished("jobs", "cancel", "twin")
    assert refused.returncode == 5 and all(job in refused.stderr for job in twins), refused
    shell.run("jobs", "cancel", twins[0])
    assert shell.json("jobs", "show", "twin")["id"] == twins[1], "those that have ended come after those that have not"
    shell.run("jobs", "cancel", "twin", "alone")
    assert shell.json("jobs", "show", one)["state"] == "cancelled"


def removals_can_be_tried(shell):
    shell.run("tenants", "set", "guests")
    done = shell.finished("tenants", "remove", "guests", "--dry-run")
    assert done.returncode == 0 and "tenant guests would be removed; nothing was changed" in done.stderr, done
    assert shell.json("tenants", "show", "guests")["id"] == "guests"
    shell.run("tenants", "remove", "nope", "--dry-run", code=4)
    shell.run("tenants", "remove", "guests")


def waits_end(shell, node):
    job = shell.json("jobs", "submit", "--tenant", "research", "--name", "stays", "--gpus", "1", "--only", node)["id"]
    started = time.monotonic()
    done = shell.finished("nodes", "drain", node, "--wait", "--wait-limit", "1")
    assert done.returncode == 6 and time.monotonic() - started < 20, done
    assert "Ctrl-C ends the waiting and not the drain" in done.stderr and job in done.stderr, done.stderr
    assert f"railweave nodes undrain {node}" in done.stderr and "the drain goes on" in done.stderr, done.stderr
    assert "would be back in use" in shell.finished("nodes", "undrain", node, "--dry-run").stderr
    status = shell.run("status")
    assert re.search(rf"Drains: +node {node} requested \d+s", status), status
    shell.run("jobs", "cancel", job)
    shell.run("nodes", "undrain", node)


def since(shell):
    whole = shell.json("events", "--last", "0")["items"]
    middle = whole[len(whole) // 2]["time"]
    later = shell.json("events", "--since", middle)["items"]
    assert [event["seq"] for event in later] == [event["seq"] for event in whole if event["time"] >= middle]
    assert [event["seq"] for event in shell.json("events", "--since", "1d")["items"]] == [event["seq"] for event in whole]
    assert shell.json("events", "--since", "2100-01-01T00:00:00Z")["items"] == []
    assert len(shell.json("audit", "list", "--since", "1h")["items"]) > 0


def logins_do_not_switch(shell):
    url = shell.environment["RAILWEAVE_URL"]
    (shell.folder / "token").write_text("anything\n")
    shell.run("login", "--server", url, "--token-file", "token")
    said = shell.run("login", "--server", url, "--token-file", "token", "--profile", "west")
    assert "profile default stays in use (railweave profiles use west" in said, said
    assert [one["id"] for one in shell.json("profiles", "list")["items"] if one["current"]] == ["default"]
    shell.run("login", "--server", url, "--token-file", "token", "--profile", "west", "--use")
    assert [one["id"] for one in shell.json("profiles", "list")["items"] if one["current"]] == ["west"]
    assert "in use now instead of west" in shell.run("login", "--server", url, "--token-file", "token")


def check_says_no(shell):
    assert "Alarms:" not in shell.run("status", "--check")
    link = shell.json("links", "list", "--kind", "infiniband", "--limit", "1")["items"][0]["id"]
    assert link
    assert {"alarms", "drains", "jobsDamaged", "queue"} <= set(shell.json("status"))


# Nothing of what is documented is a line that railweave refuses. No service answers, so that nothing is done.
APART = {"man", "admin", "completion"}  # write where they are told, and not to the service


def documented_lines(shell):
    lines = set()
    for page in [ROOT / "README.md", *ROOT.glob("services/*/README.md"), *ROOT.glob("deploy/**/*.md")]:
        for block in re.findall(r"^```.*?^```|^(?: {4}.*\n)+", page.read_text(), re.M | re.S):
            lines |= {(page.name, line.strip()) for line in block.splitlines() if line.strip().startswith("railweave ")}
    (shell.folder / "man").mkdir()
    shell.run("man", "railweave", "--folder", "man")
    for page in (shell.folder / "man").iterdir():
        lines |= {(page.name, line.strip().replace("\\-", "-")) for line in page.read_text().splitlines() if line.startswith("  railweave ")}
    return sorted(lines)


def commands_of(line):
    """The commands of a line of a shell, without comments, redirections and what is between the alternatives of a document."""
    line = re.sub(r"\s+#.*$|   +.*$", "", line)  # comments, and what the help says beside an example
    for part in re.split(r"\s+(?:&&|\||;)\s+|\s+[<>]+\s*\S+", line):
        # "a|b" are alternatives, "$(...)" is for the shell, "..." stands for more.
        if part and part.startswith("railweave ") and not re.search(r"\w\|\w|\$\(|\.\.\.", part):
            yield part


def documented_commands(folder):
    shell = Shell("http://127.0.0.1:1", folder)
    tried = 0
    for page, line in documented_lines(shell):
        for command in commands_of(line):
            words = shlex.split(command)[1:]
            if words[0] in APART or words[0] == "lab":
                words = [*words, "--help"]
            done = shell.finished(*words)
            assert done.returncode != USAGE, f"{page}: {command}\n{done.stderr}"
            tried += 1
    assert tried > 200, tried
    return tried


def main():
    with tempfile.TemporaryDirectory(prefix="railweave-words-") as name, Service(BIN / "railweaved") as service:
        folder = Path(name)
        service.start()
        shell = Shell(f"http://127.0.0.1:{service.port}", folder)
        shell.run("lab", "generate", "rail-optimized", "--hosts", "8", "-O", "fabric.json")
        shell.run("fabric", "import", "fabric.json")
        shell.run("tenants", "set", "research", "--max-gpus", "512")
        node = shell.run("nodes", "list", "-o", "name").splitlines()[0]
        mistakes(shell, node)
        help_is_a_word(shell)
        check_says_no(shell)
        jobs_by_name(shell)
        removals_can_be_tried(shell)
        waits_end(shell, node)
        since(shell)
        logins_do_not_switch(shell)
        tried = documented_commands(folder)
    print(f"mistakes are blamed on the word that is wrong; {tried} documented commands can be typed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
