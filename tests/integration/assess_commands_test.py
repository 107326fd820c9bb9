#!/usr/bin/env python3
"""Every finding of `railweave assess` says how sure it is, what it costs, what to do and which command shows it; the commands of reports on many kinds of
sources are typed into a shell as they are written, in the folder where the report was made, and each must show what its finding tells. Every code of
a finding that the readers and checks of a fabric can raise as a warning or an error is explained, by the sources' own text.

assess_commands_test.py RAILWEAVE SOURCE_FOLDER DATA_FOLDER
"""
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from terminal import on_terminal  # noqa: E402

# Raised only while routes are made or a live subnet is read, never for the sources of a report.
NOT_OF_SOURCES = {"duplicateLid": "explained all the same", "silentDevice": "of live subnets"}


def explained(root):
    """Codes of warnings and errors in the sources of readers and checks, and those that the report explains."""
    raised = set()
    for folder in ("fabric/formats", "fabric/topology"):
        for source in sorted((root / folder).rglob("*.cc")):
            raised |= set(re.findall(r'"([a-z][A-Za-z]+)",\s*(?:exception \? )?Severity::(?:warning|error)\b', source.read_text(encoding="utf-8")))
    told = set(re.findall(r'^    \{"([a-zA-Z]+)",', (root / "services/railweave/assess/finding_meaning.cc").read_text(encoding="utf-8"), re.MULTILINE))
    assert len(raised) > 40, "the pattern finds codes no more"
    assert not raised - told - set(NOT_OF_SOURCES), f"not explained: {sorted(raised - told - set(NOT_OF_SOURCES))}"
    return len(raised)


class Site:
    def __init__(self, railweave, folder):
        self.folder, self.found = folder, {}
        (folder / "bin").mkdir()
        (folder / "bin/railweave").symlink_to(Path(railweave).resolve())
        self.environment = dict(os.environ, PATH=f"{folder}/bin:{os.environ['PATH']}", HOME=str(folder), RAILWEAVE_URL="http://127.0.0.1:9")

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
        return name

    def assess(self, *words):
        done = subprocess.run(["railweave", "assess", *map(str, words), "--json"], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, (words, done.stderr)
        report = json.loads(done.stdout)
        for finding in report["findings"]:
            self.judge(finding)
        return report

    def judge(self, finding):
        for part in ("severity", "title", "sure", "cost", "action", "command"):
            assert finding[part].strip(), f"{finding['code']} has no {part}: {finding}"
        assert finding["sure"] != "as the source tells it" or finding["code"] in ("linkToItself", "siteLinkToItself", "hostsWithoutSite"), finding
        command = finding["command"]
        if command.startswith(("srun ", "kubectl ")):  # of a cluster: shown with a real one elsewhere
            return
        assert not re.search(r"\b(FABRIC|TRACE|JOBS|N)\b", command), f"to be filled in by hand: {command}"
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=300)
        # 10: the command checks, and found it.
        assert done.returncode in (0, 10) and done.stdout.strip(), f"{finding['code']}: {command}\n{done.returncode} {done.stderr}"
        self.shows(finding, done.stdout)
        self.found[finding["code"]] = command

    @staticmethod
    def shows(finding, out):
        code, command = finding["code"], finding["command"]
        if " -o jsonpath=" in command:
            assert out.strip() not in ("null", "[]", "{}"), (code, command, out[:300])
        elif command.startswith("railweave fabric import") and "|" not in command:
            assert re.search(rf"^(warning|error) +{code} ", out, re.MULTILINE), (code, command, out[-2000:])
        elif "grep NCCL_" in command:
            variable = re.search(r"NCCL_\w+", finding["title"])
            assert not variable or variable[0] in out or "NCCL_" in out, (finding, out)


def nodes(*items):
    return {"apiVersion": "v1", "kind": "List", "items": [{"kind": "Node", "metadata": {"name": name, "labels": labels}, "status": {"capacity": {"nvidia.com/gpu": str(gpus)}}}
                                                          for name, labels, gpus in items]}


def made_up(site):
    """Sites written here: each shows findings that real dumps have not."""
    run = lambda *words: subprocess.run(["railweave", *words], cwd=site.folder, env=site.environment, check=True, capture_output=True)  # noqa: E731
    run("lab", "generate", "fat-tree", "--radix", "6", "--oversubscription", "2", "--hosts", "16", "--nics-per-host", "1", "--gpus-per-host", "8", "-O", "my fabric's.json")
    names = [host["name"] for host in json.loads((site.folder / "my fabric's.json").read_text())["hosts"]]
    spread = [{"job_id": k, "name": "train", "user_name": "ada", "job_state": ["RUNNING"], "nodes": ",".join(hosts), "tres_alloc_str": f"gres/gpu={8 * len(hosts)}"}
              for k, hosts in enumerate((names[0::4] + names[1::4], names[2::4], names[3::4]))]
    site.write("dumps of today/squeue.json", {"jobs": spread, "last_update": {"set": True, "number": 1}})
    rows = [f"{n}|ada|2026-11-{1 + n % 20:02d}T10:00:00|2026-11-{1 + n % 20:02d}T10:30:00|2026-11-{1 + n % 20:02d}T18:00:00|COMPLETED|gres/gpu=32,node=4|4|{','.join(names[n % 4::4])}"
            for n in range(1, 60)]
    site.write("dumps of today/sacct.txt", "JobID|User|Submit|Start|End|State|AllocTRES|NNodes|NodeList\n" + "\n".join(rows) + "\n")
    site.write("job's.env", "PATH=/bin\nNCCL_IB_DISABLE=1\nNCCL_IB_HCA==mlx5_9\n")
    site.assess("my fabric's.json", "dumps of today", "job's.env", "--title", "x")
    site.write("topology.conf", f"SwitchName=a Nodes={names[0]},{names[-1]}\nSwitchName=b Nodes=elsewhere-1\nodd line\n")
    site.assess("my fabric's.json", "topology.conf", "--hosts", "*", "--subnet", "it's")
    site.write("cloud.json", nodes(("a", {"topology.kubernetes.io/zone": "1"}, 8), ("b", {}, 8), ("c", {}, 4)))
    site.assess("cloud.json")
    site.write("disagree.json", {"nodes": [{"name": names[0], "gres": "gpu:4"}], "last_update": 1})
    site.assess("my fabric's.json", "disagree.json")


def odd_files(site):
    """Files as they come from elsewhere: with a byte order mark, packed, for people; a quiet cluster's; a switch's database."""
    text = (site.folder / "cloud.json").read_text()
    (site.folder / "marked.json").write_bytes(b"\xef\xbb\xbf" + text.encode().replace(b", ", b",\r\n"))
    assert site.assess("marked.json")["sections"]["fabric"] == site.assess("cloud.json")["sections"]["fabric"]
    site.write("quiet.json", {"jobs": [], "last_update": {"number": 1}, "meta": {"plugin": {"type": ""}, "slurm": {"release": "25.05"}}})
    site.write("pods.json", {"apiVersion": "v1", "kind": "List", "items": []})
    for quiet in ("quiet.json", "pods.json"):
        assert site.assess("cloud.json", quiet)["sections"]["jobs"]["jobs"] == []
    (site.folder / "cloud.json.gz").write_bytes(gzip.compress(text.encode()))
    site.write("nodes.txt", "NodeName=n1 Arch=x86_64\n   Gres=gpu:8\n")
    site.write("other.json", {"answer": 42})
    for name, said in (("cloud.json.gz", "gzip -d"), ("nodes.txt", "give it with --json"), ("other.json", "what is read:\n  output of ibnetdiscover\n  an ibsim netlist\n")):
        for command in (["assess", name, "--json"], ["fabric", "import", name, "-O", "out.json"]):
            done = subprocess.run(["railweave", *command], cwd=site.folder, env=site.environment, capture_output=True, text=True, timeout=60)
            assert done.returncode == 8 and name in done.stderr and said in done.stderr, (command, done.returncode, done.stderr)
    database = {"LLDP_LOC_CHASSIS": {"value": {"lldp_loc_sys_name": "leaf-1"}}}
    for port, host in ((0, "a"), (8, "b")):
        database[f"LLDP_ENTRY_TABLE:Ethernet{port}"] = {"type": "hash", "value": {"lldp_rem_sys_name": host, "lldp_rem_port_id": "eth2", "lldp_rem_port_id_subtype": "5"}}
        database[f"PORT_TABLE:Ethernet{port}"] = {"type": "hash", "value": {"speed": "400000"}}
    site.write("appl.json", database)
    assert site.assess("appl.json", "cloud.json")["sections"]["fabric"]["hosts"] == 2


def of_two_subnets(site, one, other):
    """Dumps of two subnets, whose LIDs are their own."""
    report = site.assess(one, other)
    codes = {finding["code"] for finding in report["findings"]}
    assert not codes & {"duplicateLid", "severalComponents", "sourcesDisagree"} and report["sections"]["fabric"]["subnets"] == 2, (codes, report["sections"]["fabric"])


def on_a_terminal(site):
    """Findings are read there whole, and where there is none that is said."""
    site.write("words.env", "SLURM_JOB_ID=1\nNCCL_P2P_DISABLE=1\n")
    said, _, _ = on_terminal(["railweave", "assess", str(site.folder / "cloud.json"), str(site.folder / "words.env")], site.environment, columns=72)
    flat = " ".join(said.split())
    assert "costs: traffic inside a host goes through the host's memory instead of NVLink" in flat and "…" not in said, said
    assert all(len(line) <= 72 for line in said.splitlines()), said
    subprocess.run(["railweave", "lab", "generate", "fat-tree", "-O", site.folder / "whole.json"], env=site.environment, check=True, capture_output=True)
    read, _, _ = on_terminal(["railweave", "lab", "fabric", str(site.folder / "cloud.json")], site.environment, columns=72)
    assert "Predicted times and bandwidths are as good as that" in " ".join(read.split()), read
    done = subprocess.run(["railweave", "assess", site.folder / "whole.json"], env=site.environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout == "Nothing was found.\n", done.stdout


def main():
    railweave, root, data = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    count = explained(root)
    with tempfile.TemporaryDirectory() as name:
        site = Site(railweave, Path(name))
        made_up(site)
        dumps = sorted((data / "ib").glob("*.txt")) if data.is_dir() else []
        if not dumps:
            print("skipped: real dumps, as there is no ../shared/data/ib")
        for dump in dumps:
            shutil.copy(dump, site.folder)
            site.assess(dump.name, *(["--gpus-per-node", 8] if "dgx" in dump.name else []))
        odd_files(site)
        on_a_terminal(site)
        if dumps:
            of_two_subnets(site, "dgx-h100-ndr.ibnetdiscover.txt", "selene.storage.txt")
        wanted = {"jobsStraddle", "ranksOutOfOrder", "portsShared", "groupNotNear", "hostNotCabled", "rowsLeftOut", "sourcesDisagree", "placementLoss", "ncclOverSockets",
                  "hostsWithoutGroup", "speedAssumed"}
        assert wanted <= set(site.found), sorted(wanted - set(site.found))
    print(f"{count} codes are explained; commands of {len(site.found)} kinds of findings work as written: {', '.join(sorted(site.found))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
