"""The routes of a real OpenSM on ibsim as its dumps tell them, with what it answers about the level of each path between adapters (saquery)."""
import re
from concurrent.futures import ThreadPoolExecutor

from waiting import until

TOOLS = ("opensm", "saquery")


def adapters_of(discovered):
    """{LID: (port GUID, name)} of adapters with one port, by what ibnetdiscover prints."""
    return {int(lid): (guid, name) for name, guid, lid in re.findall(
        r'^Ca\s+\d+ "H-[0-9a-f]+"[^\n]*# "([^"]+)"[^\n]*\n\[1\]\(([0-9a-f]+)\)[^\n]*# lid (\d+)', discovered, re.MULTILINE)}


def asked(sim, lids):
    """What saquery prints of every pair of adapters."""
    def one(pair):
        done = sim.run(["saquery", "PR", "--src-to-dst", f"{pair[0]}:{pair[1]}"])
        assert done.returncode == 0 and "PathRecord dump" in done.stdout, (done.stdout, done.stderr)
        return done.stdout

    with ThreadPoolExecutor(4) as pool:
        return "".join(pool.map(one, [(source, target) for source in lids for target in lids if source != target]))


def levels_of(records):
    """{(LID, LID): level} of what saquery printed."""
    levels = {}
    for record in records.split("PathRecord dump:")[1:]:
        fields = dict(re.findall(r"(\w+)\.{2,}(\S*)", record))
        levels[int(fields["slid"]), int(fields["dlid"])] = int(fields["sl"], 16)
    return levels


def start_opensm(sim, folder, host, engine, more=""):
    """Runs OpenSM until the subnet is up, with dumps in `folder`; the caller stops it."""
    log = folder / "osm.log"
    (folder / "opensm.conf").write_text(f"routing_engine {engine}\nqos TRUE\nlog_file {log}\nlog_flags 0x43\nforce_log_flush TRUE\n"
                                        f"dump_files_dir {folder}\n{more}")
    opensm = sim.open(["opensm", "-e", "-F", str(folder / "opensm.conf")], host=host, seconds=200)
    until(lambda: log.exists() and log.read_text(errors="replace")[-2000:], lambda: log.exists() and "SUBNET UP" in log.read_text(errors="replace"), 60)
    return opensm
