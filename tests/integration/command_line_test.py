#!/usr/bin/env python3
"""The command line against a real railweaved, as a user and the shell see it: chosen fields, sorting, selectors, states,
watching, several names, YAML, completion of names, manual pages, and narrow terminals.

command_line_test.py BIN_FOLDER
"""
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import terminal  # noqa: E402
from service import Service  # noqa: E402

BIN = Path(sys.argv[1])


class Shell:
    def __init__(self, service):
        self.environment = dict(os.environ, RAILWEAVE_URL=f"http://127.0.0.1:{service.port}", NO_COLOR="1", TERM="xterm")

    def finished(self, *arguments, **options):
        return subprocess.run([BIN / "railweave", *arguments], env=self.environment, capture_output=True, text=True,
                              timeout=60, **options)

    def run(self, *arguments, code=0):
        done = self.finished(*arguments)
        assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def lines(self, *arguments):
        return self.run(*arguments).splitlines()

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "-o", "json"))

    def on_terminal(self, columns, *arguments):
        """What a terminal of that width gets."""
        return terminal.on_terminal([BIN / "railweave", *arguments], self.environment, columns)[0]


def fields(shell):
    nodes = [node["id"] for node in shell.json("nodes", "list")["items"]]
    assert len(nodes) == 8 and shell.lines("nodes", "list", "-o", "name") == nodes
    assert shell.run("nodes", "list", "-o", "jsonpath={.items[*].id}") == " ".join(nodes) + "\n"
    assert shell.run("nodes", "show", nodes[0], "-o", "jsonpath=.gpuList[-1].index") == "7\n"
    each = shell.run("nodes", "list", "-o", 'jsonpath={range .items[*]}{.id}={.gpus}{"\\n"}{end}')
    assert each.splitlines() == [f"{node}=8" for node in nodes], each
    table = shell.lines("nodes", "list", "-o", "custom-columns=WHO:.id,HOW MANY:.gpus,NOTHING:.nothing")
    assert re.split(r"\s{2,}", table[0]) == ["WHO", "HOW MANY", "NOTHING"], table[0]
    assert table[1].split() == [nodes[0], "8", "-"], table[1]
    assert len(shell.lines("nodes", "list", "--no-headers")) == 8
    assert shell.lines("nodes", "list", "--no-headers", "-o", "custom-columns=WHO:.id") == nodes


def lists(shell):
    nodes = [node["id"] for node in shell.json("nodes", "list")["items"]]
    shell.run("jobs", "submit", "--tenant", "research", "--name", "few", "--gpus", "3", "--only", nodes[5])
    shell.run("jobs", "submit", "--tenant", "research", "--name", "many", "--gpus", "6", "--only", nodes[2])
    by_free = shell.lines("nodes", "list", "--sort-by", "free", "-o", "name")
    assert by_free[:2] == [nodes[2], nodes[5]], by_free
    assert shell.lines("nodes", "list", "--sort-by", ".freeGpus", "--reverse", "-o", "name")[-1] == nodes[2]
    assert shell.lines("nodes", "list", "--sort-by", "FREE", "--limit", "1", "-o", "name") == [nodes[2]]
    refused = shell.finished("nodes", "list", "--sort-by", "colour")
    assert refused.returncode == 2 and "no column or field 'colour'" in refused.stderr, refused.stderr
    shell.run("nodes", "drain", nodes[6], nodes[7], "--reason", "fans")
    assert shell.lines("nodes", "list", "--state", "drained", "-o", "name") == nodes[6:]
    assert shell.lines("nodes", "list", "--state", "ready,Drained", "-o", "name") == nodes
    shell.run("nodes", "undrain", nodes[6], nodes[7])
    assert shell.run("nodes", "list", "--state", "drained") == ""
    for selector, expected in (("gpu=b200", nodes[4:]), ("gpu!=b200", nodes[:4]), ("gpu", nodes), ("!gpu", []),
                               ("gpu=h100,zone=east", nodes[:2]), ("zone", nodes[:2])):
        assert shell.lines("nodes", "list", "-l", selector, "-o", "name") == expected, selector


def several_names(shell):
    jobs = shell.lines("jobs", "list", "-o", "name")
    assert len(jobs) == 2
    assert [job["id"] for job in shell.json("jobs", "show", *jobs)["items"]] == jobs
    done = shell.finished("jobs", "cancel", jobs[0], "job-000099", jobs[1], "--reason", "tidy")
    assert done.returncode == 4 and "job-000099" in done.stderr and done.stdout.count("cancelled") == 2, done
    assert "railweave jobs list lists them" in done.stderr and "/v1/" not in done.stderr, done.stderr
    assert shell.json("jobs", "show", jobs[1])["state"] == "cancelled"
    for tenant in ("guests", "visitors"):
        shell.run("tenants", "set", tenant)
    assert shell.run("tenants", "remove", "guests", "visitors").count("Removed") == 2


def yaml_is_read(shell, folder):
    (folder / "job.yaml").write_text("# a job\nname: from-yaml\ntenant: research\nparallelism: {tensor: 4, data: 2}\n"
                                     "topology:\n  tensor:\n    required: node\n")
    job = json.loads(shell.run("jobs", "submit", "-f", str(folder / "job.yaml"), "-o", "json"))
    assert job["spec"]["parallelism"]["tensor"] == 4 and job["name"] == "from-yaml", job
    shell.run("jobs", "cancel", job["id"])
    (folder / "bad.yaml").write_text("name: a\nname: b\n")
    refused = shell.finished("jobs", "submit", "-f", str(folder / "bad.yaml"))
    assert refused.returncode != 0 and "'name' is given twice" in refused.stderr and "line 2" in refused.stderr, refused
    (folder / "bomb.yaml").write_text("a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{b}: &{b} [{','.join('*' + a for _ in range(9))}]\n" for a, b in zip("abcdefgh", "bcdefghi")))
    refused = shell.finished("jobs", "submit", "-f", str(folder / "bomb.yaml"))
    assert refused.returncode != 0 and "more than 1000000 values" in refused.stderr, refused
    policy = shell.run("queue", "policy", "-o", "yaml")
    (folder / "policy.yaml").write_text("\n".join(line for line in policy.splitlines() if not line.startswith("version")))
    shell.run("queue", "configure", "-f", str(folder / "policy.yaml"))
    fabric = json.loads((folder / "fabric.json").read_text())
    (folder / "fabric.yaml").write_text(json.dumps(fabric, indent=1))  # which is YAML as well
    assert "8" in shell.run("lab", "fabric", str(folder / "fabric.yaml"))


def completes(shell):
    def offered(*words):
        return [line.split("\t")[0] for line in shell.lines("__complete", *words)]

    nodes = shell.lines("nodes", "list", "-o", "name")
    assert offered("nodes", "show", "") == nodes
    assert offered("nodes", "drain", nodes[0][:-1]) == nodes
    assert offered("jobs", "list", "--tenant", "res") == ["research"]
    assert offered("tenants", "show", "") == ["research"]
    assert "job-000001" in offered("jobs", "show", "job-")
    link = shell.lines("links", "list", "-o", "name", "--limit", "1")[0]
    assert link in offered("links", "show", link[:8])
    started = time.monotonic()
    assert offered("nodes", "show", "--server", "http://127.0.0.1:1", "") == [] and time.monotonic() - started < 10


def watches(shell):
    process = subprocess.Popen([BIN / "railweave", "jobs", "list", "--state", "placed", "--watch", "-o", "name"],
                               env=shell.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        job = shell.json("jobs", "submit", "--tenant", "research", "--name", "seen", "--gpus", "1")["id"]
        seen = b""
        deadline = time.monotonic() + 30
        while job.encode() not in seen:
            ready, _, _ = select.select([process.stdout], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"the list was not printed again: {seen}"
            seen += os.read(process.stdout.fileno(), 65536)
        assert process.poll() is None, "it goes on"
        shell.run("jobs", "cancel", job)
    finally:
        process.kill()
        process.communicate()


def narrow_terminals_keep_names(shell):
    """What the next command needs is whole at 80 and at 100 columns, and no line is longer than names make it."""
    shell.run("tenants", "set", "a-tenant-of-a-rather-long-name", "--description", "d" * 60)
    shell.run("jobs", "submit", "--tenant", "a-tenant-of-a-rather-long-name", "--name", "n" * 60, "--gpus", "8")
    link = shell.lines("links", "list", "-o", "name", "--limit", "1")[0]
    node = shell.lines("nodes", "list", "-o", "name")[0]
    shell.run("links", "drain", link, "--reason", "r" * 90, "--force")
    wholes = {
        ("links", "list"): [one["name"] for one in shell.json("links", "list")["items"]],
        ("jobs", "list"): shell.lines("jobs", "list", "-o", "name"),
        ("tenants", "list"): shell.lines("tenants", "list", "-o", "name"),
        ("switches", "list"): shell.lines("switches", "list", "-o", "name"),
        ("drains",): [shell.json("links", "show", link)["name"]],
        ("events", "--last", "20"): ["link/" + link],
        ("nodes", "show", node): [port["linkName"] for adapter in shell.json("nodes", "show", node)["adapters"]
                                  for port in adapter["ports"]],
    }
    for columns in (80, 100):
        for command, names in wholes.items():
            text = shell.on_terminal(columns, *command)
            assert names
            for name in names:
                assert name in text, f"{name} is cut at {columns} columns:\n{text}"
            longest = max(len(name) for name in names)
            for line in text.splitlines():
                assert len(line) <= columns or longest * 2 > columns, f"{command} at {columns}: {line}"


def manual_pages(shell, folder):
    pages = folder / "man1"
    pages.mkdir()
    shell.run("man", "railweave", "--folder", str(pages))
    written = {page.name for page in pages.iterdir()}
    assert {"railweave.1", "railweave-jobs-submit.1", "railweave-nodes-list.1"} <= written and len(written) > 80, written
    page = (pages / "railweave-nodes-list.1").read_text()
    for option in re.findall(r"^  +(?:-\w,)?(--[a-z-]+)", shell.run("nodes", "list", "--help"), re.M):
        assert option.replace("-", "\\-") in page, option
    assert page == shell.run("man", "nodes-list")
    if shutil.which("groff"):
        for page in sorted(pages.iterdir())[:20]:
            done = subprocess.run(["groff", "-ww", "-man", "-Tascii", "-z", str(page)], capture_output=True, text=True, timeout=60)
            assert done.returncode == 0 and done.stderr == "", f"{page.name}: {done.stderr}"


def small_fabric(folder):
    path = folder / "fabric.json"
    subprocess.run([BIN / "railweave", "lab", "generate", "rail-optimized", "--hosts", "8", "-O", str(path)], check=True,
                   capture_output=True, timeout=60)
    fabric = json.loads(path.read_text())
    hosts = [host for host in fabric["hosts"] if host.get("gpus")]
    assert len(hosts) == 8
    for number, host in enumerate(hosts):
        host["labels"] = {"gpu": "h100" if number < 4 else "b200", **({"zone": "east"} if number < 2 else {})}
    path.write_text(json.dumps(fabric))
    return path


def events_that_are_gone(folder):
    """Resumed behind what is kept, the reader is told; the newest events are shown as before."""
    config = folder / "short.toml"
    config.write_text("keep_events = 200\nsnapshot_every = 50\n")
    with Service(BIN / "railweaved") as service:
        service.start("--config", str(config))
        shell = Shell(service)
        deadline = time.monotonic() + 60
        number = 0
        while (gone := shell.finished("events", "--after", "1", "-o", "name")).returncode == 0:
            assert time.monotonic() < deadline, "events are removed"
            for change in range(number, number + 100):
                assert service.request("PUT", "/v1/tenants/t", {"description": f"change {change}"})[0] == 200
            number += 100
        assert gone.returncode == 4 and "are not kept any more: the oldest is" in gone.stderr, gone
        oldest = int(re.search(r"the oldest is (\d+)", gone.stderr).group(1))
        assert len(shell.lines("events", "--last", "100000")) > 200 > len(shell.lines("events", "--last", "20"))
        assert shell.json("events", "--last", "0")["items"][0]["seq"] >= oldest
        follower = subprocess.Popen([BIN / "railweave", "events", "--follow", "--after", "1", "-o", "json"], env=shell.environment,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        first = json.loads(follower.stdout.readline())
        follower.terminate()
        assert first["seq"] >= oldest and "events are missing here" in follower.communicate()[1], first


def main():
    with tempfile.TemporaryDirectory(prefix="railweave-command-line-") as name, Service(BIN / "railweaved") as service:
        folder = Path(name)
        fabric = small_fabric(folder)
        service.start()
        shell = Shell(service)
        shell.run("fabric", "import", str(fabric))
        shell.run("tenants", "set", "research")
        fields(shell)
        lists(shell)
        several_names(shell)
        yaml_is_read(shell, folder)
        completes(shell)
        watches(shell)
        narrow_terminals_keep_names(shell)
        manual_pages(shell, folder)
        events_that_are_gone(folder)
    print("fields, lists, names, YAML, completion, watching, widths and manual pages are as documented")
    return 0


if __name__ == "__main__":
    sys.exit(main())
