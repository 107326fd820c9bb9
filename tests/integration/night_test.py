#!/usr/bin/env python3
"""One night at the shell, from an alarm to the cable replaced: on a simulated subnet that railweaved programs, each command as
web/STORY.md has it, with what it says. The page is written by this test, and held to it.

night_test.py BIN_FOLDER [--rewrite]      exit code 77: skipped, and why
"""
import re
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import Ibsim, missing  # noqa: E402
from live import LiveService, generate  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "web" / "STORY.md"
BEGIN, END = "<!-- shell: written by tests/integration/night_test.py -->\n", "<!-- end of shell -->\n"
SHAPE = ["rail-optimized", "--hosts", "16", "--rails", "4", "--radix", "32", "--down-ports", "8", "--uplinks", "4", "--spines", "4",
         "--hosts-per-rack", "4", "--hosts-per-unit", "8", "--speed", "HDR"]


def settled_text(text):
    """What differs from run to run: times, ages, numbers of events, and the widths of columns that follow from them."""
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "2026-11-22T03:00:00Z", text)
    text = re.sub(r"\b\d+(s|m|h) ago\b", "1m ago", text)
    text = re.sub(r"\b\d+[sm]\b(?= |$)", "1m", text, flags=re.MULTILINE)
    text = re.sub(r"http://127\.0\.0\.1:\d+", "http://127.0.0.1:7470", text)
    text = re.sub(r"\b\d+ us\b", "900 us", text)
    # Numbers of events: what else happened in between is none of the story.
    text = re.sub(r"^( *)\d+(?= +2026-11-22T03)", r"\1NN", text, flags=re.MULTILINE)
    text = re.sub(r"(\d+) entries in (\d+) blocks", "some entries in some blocks", text)
    return "\n".join(re.sub(r"(?<=\S) {2,}", "  ", line).rstrip() for line in text.strip().splitlines())


class Night:
    def __init__(self, service):
        self.service, self.steps = service, []

    def step(self, why, *command, code=0, says=(), keeps=None):
        """Runs a command, as the page has it. keeps: the lines that the page shows; none: all."""
        done = self.service.cli(*command)
        text = done.stdout + done.stderr
        assert done.returncode == code, f"{command}: exit code {done.returncode}, not {code}\n{text}"
        for part in says:
            assert part in text, f"{command} does not say {part!r}:\n{text}"
        shown = settled_text(text)
        if keeps:
            shown = "\n".join(line for line in shown.splitlines() if re.search(keeps, line))
        typed = " ".join(f"'{word}'" if re.search(r"[\s']", word) else word for word in command)
        self.steps.append(f"{why}\n\n```console\n$ railweave {typed}\n{shown}\n" + (f"$ echo $?\n{code}\n" if code else "") + "```\n")
        return done.stdout

    def until(self, condition, what, seconds=30):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"{what}: not in {seconds} s"
            time.sleep(0.05)


def story(sim, service):
    night = Night(service)
    links = [link for link in service.get("/v1/links?switch=leaf-u1-r0&limit=1000")["items"] if all("switch" in end for end in link["ends"])]
    link = links[0]["id"]
    port = next(end["port"] for end in links[0]["ends"] if end["switch"] == "leaf-u1-r0")
    guid, number = port.split("/")
    night.step("Three in the morning, the pager has rung. First: is anything wrong, and what? Before the cable failed:", "status", "--check",
               says=["synced"], keeps=r"Subnet|Jobs|Service")
    sim.console(f'Unlink "S-{guid}"[{number}]')
    night.until(lambda: "link.down" in service.alarms(), "the alarm")
    service.synced(30)
    alarm = next(item for item in service.get("/v1/alarms")["items"] if item["kind"] == "link.down")
    name = alarm["subject"]["name"]
    night.step("And after it. The exit code is what a script or a monitor goes by.", "status", "--check", code=10,
               says=["link.down", name, "1 warning"] if alarm["severity"] == "warning" else ["link.down", name], keeps=r"SEVERITY|link\.down|is down|Alarms|Subnet|Jobs")
    night.step("What is it, whom does it hurt? The routes have moved already: jobs go on, with less of the fabric.", "links", "show", link,
               says=["State", "down"], keeps=r"Link:|Rate:|State:|From:|To:")
    night.step("One looks after it, and others see that.", "alarms", "acknowledge", alarm["id"], "--note", "INC-42", says=["acknowledged"])
    night.step("The new cable comes in the morning. Until then no one need be woken: the alarm is listed apart, with who, until when and why.",
               "alarms", "mute", alarm["id"], "--for", "6h", "--note", "INC-42, a new cable comes at 9", says=["muted until", "INC-42"])
    night.step("It is not forgotten:", "alarms", says=["Muted, and back by themselves:", "INC-42, a new cable comes at 9"])
    night.step("and the check is quiet meanwhile.", "status", "--check", says=["1 of them muted"], keeps=r"Alarms|Subnet")
    night.step("Morning. Before someone pulls the cable: what would a drain do?", "links", "drain", link, "--dry-run",
               says=["Safe"])
    night.step("Nothing is lost by it. Drained, and waited for: the switches' tables are read back, nothing crosses the cable.",
               "links", "drain", link, "--reason", "INC-42", "--wait", says=["drained"], keeps=r"Drain:|State|Safe|Jobs|Tables")
    night.step("Safe to unplug. What is out of use on purpose:", "drains", says=["drained", "INC-42"])
    sim.console(f'ReLink "S-{guid}"[{number}]')
    night.until(lambda: service.get(f"/v1/links/{link}")["state"] == "up" and "link.down" not in service.alarms(), "the end of the alarm")
    night.step("The cable is replaced. It is seen, and still kept out of use:", "links", "show", link, says=["up, drained"], keeps=r"State|Drain")
    night.step("Back into use.", "links", "undrain", link)
    service.synced(30)
    night.step("All is well.", "status", "--check", keeps=r"Subnet|Jobs|Alarms")
    night.step("What happened in that night, for the report (here: what is about the alarm and the drain):", "events", "--since", "1h",
               says=["alarm.muted", "alarm.cleared", "drain.completed"], keeps=r" (alarm|drain)\.")
    return night.steps


def main():
    lacking = missing()
    if lacking:
        print(f"skipped: {lacking} is missing")
        return 77
    binaries = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        native, netlist, subnet = generate(str(binaries / "railweave"), SHAPE, folder)
        with Ibsim(netlist) as sim, LiveService(sim, binaries, folder, subnet, "sweep_seconds = 1\ncounter_seconds = 600") as service:
            service.import_fabric(native)
            service.wait("watching", lambda status: status["phase"] == "watching", 30)
            service.mode("direct")
            service.synced(30)
            assert service.cli("tenants", "set", "research").returncode == 0
            assert service.cli("jobs", "submit", "--tenant", "research", "--name", "llama-70b", "--tp", "8", "--dp", "16").returncode == 0
            steps = story(sim, service)
    told = "\n".join(steps)
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    written, after = rest.split(END)
    if "--rewrite" in sys.argv[2:]:
        PAGE.write_text(before + BEGIN + told + END + after)
        print(f"{PAGE} is written again: {len(steps)} commands")
        return 0
    if written != told:
        import difflib
        print("\n".join(difflib.unified_diff(written.splitlines(), told.splitlines(), "web/STORY.md", "what was said", lineterm="")))
        print("web/STORY.md says something else; night_test.py BIN --rewrite writes it again")
        return 1
    print(f"{len(steps)} commands said what web/STORY.md tells")
    return 0


if __name__ == "__main__":
    sys.exit(main())
