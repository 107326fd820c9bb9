#!/usr/bin/env python3
"""What monitoring reads: metrics by Prometheus' conventions, rules that promtool tests, and a real Prometheus that scrapes a real service
on a simulated subnet, which answers series to every query of the dashboards and fires an alert when a cable is cut.

observability_test.py BIN_FOLDER metrics|rules|alert        exit code 77: skipped, and why
"""
import json
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ibsim import missing  # noqa: E402
from live_faults_test import Subnet  # noqa: E402
from live_subnet_test import cables  # noqa: E402
from ports import free_ports  # noqa: E402
from service import Service  # noqa: E402
from waiting import until  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
RULES, GRAFANA = ROOT / "deploy/prometheus/railweave.rules.yml", ROOT / "deploy/grafana"


def promtool(*words):
    done = subprocess.run(["promtool", *map(str, words)], capture_output=True, text=True, cwd=RULES.parent, timeout=60)
    assert done.returncode == 0, f"promtool {words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def metrics(binaries):
    """By promtool's own check, and the units that it does not look at."""
    with Service(binaries / "railweaved") as service:
        service.start()
        text = service.request("GET", "/metrics?links=true")[2]
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and not done.stderr, done.stderr
        names = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
        assert len(names) > 40, names
        for name, kind in names.items():
            assert (kind == "counter") == name.endswith("_total"), f"{name} is a {kind}"
            assert not re.search(r"_(ms|us|micros|microseconds|milliseconds|minutes|kb|mb|percent)(_|$)", name), f"{name}: not in a base unit"
        version = re.search(r'^railweave_build_info\{version="([^"]+)"\} 1$', text, re.MULTILINE)[1]
        assert version in subprocess.run([binaries / "railweaved", "--version"], capture_output=True, text=True).stdout
    print(f"{len(names)} metrics, as promtool wants them")


def expressions():
    """(where, expression) of the rules and of every panel."""
    for group in yaml.safe_load(RULES.read_text())["groups"]:
        for rule in group["rules"]:
            yield rule.get("alert") or rule["record"], rule["expr"]
    for file in sorted(GRAFANA.glob("*.json")):
        for panel in json.loads(file.read_text())["panels"]:
            for target in panel["targets"]:
                yield f"{file.stem}: {panel['title']}", target["expr"]


def rules(binaries):
    promtool("check", "rules", RULES)
    promtool("check", "config", "--syntax-only", RULES.parent / "prometheus.yml")
    promtool("test", "rules", "railweave.rules_test.yml")
    tested = (RULES.parent / "railweave.rules_test.yml").read_text()
    alerts = [rule["alert"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"] if "alert" in rule]
    page = (RULES.parent / "README.md").read_text()
    for alert in alerts:
        assert alert in tested, f"{alert} is tested by nothing"
        assert f"`{alert}`" in page, f"{alert} is not in deploy/prometheus/README.md"
    subprocess.run([sys.executable, GRAFANA / "dashboards.py", "--check"], check=True)
    boards = [json.loads(file.read_text()) for file in GRAFANA.glob("*.json")]
    assert len({board["uid"] for board in boards}) == len(boards) == 3
    # A metric that a rule or a panel asks for is one that the service has.
    with Service(binaries / "railweaved") as service:
        service.start()
        has = {name for links in ("false", "true") for name in re.findall(r"^# TYPE (\S+)", service.request("GET", f"/metrics?links={links}")[2], re.MULTILINE)}
    for where, expression in expressions():
        for name in re.findall(r"\b(?:railweave|process)_[a-z_]+", expression):
            assert re.sub("_(bucket|sum|count)$", "", name) in has or name in has, f"{where}: there is no metric {name}"
    print(f"{len(alerts)} alerts, each tested and documented; {len(boards)} dashboards")


class Prometheus:
    """On a free port of loopback, with a short scrape of the service and a copy of the rules whose alerts wait for two seconds."""

    def __init__(self, folder, service):
        self.folder, self.port = Path(folder), free_ports(1)[0]
        rules = re.sub(r"^( +for:) .*$", r"\1 2s", RULES.read_text(), flags=re.MULTILINE)
        (self.folder / "rules.yml").write_text(rules)
        target = [{"targets": [service.removeprefix("http://")]}]
        (self.folder / "prometheus.yml").write_text(yaml.safe_dump({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": ["rules.yml"],
            "scrape_configs": [{"job_name": "railweave", "static_configs": target},
                               {"job_name": "railweave-links", "params": {"links": ["true"]}, "static_configs": target}]}))

    def __enter__(self):
        self.log = open(self.folder / "prometheus.log", "wb")
        self.process = subprocess.Popen(["prometheus", f"--config.file={self.folder}/prometheus.yml", f"--storage.tsdb.path={self.folder}/data",
                                         f"--web.listen-address=127.0.0.1:{self.port}"], stdout=self.log, stderr=self.log)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=30)
        self.log.close()

    def get(self, path, **query):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}", timeout=10) as answer:
                return json.loads(answer.read())["data"]
        except urllib.error.HTTPError as error:
            if error.code == 503:  # it is starting
                return None
            raise AssertionError(f"{path} {query}: {error.read().decode()}") from error
        except OSError:
            return None

    def query(self, text):
        return self.get("query", query=text)["result"]

    def up(self):
        targets = (self.get("targets") or {"activeTargets": []})["activeTargets"]
        return len(targets) == 2 and all(one["health"] == "up" for one in targets)

    def firing(self):
        return {one["labels"]["alertname"]: one for one in self.get("alerts")["alerts"] if one["state"] == "firing"}


def panels_answer(prometheus):
    """Every panel has series, once a few requests and scrapes are past."""
    asked = 0
    for where, expression in expressions():
        if ":" not in where or where.startswith("railweave:"):
            prometheus.query(expression)  # of a rule: it is taken
            continue
        text = expression.replace("$links_job", "railweave-links").replace("$job", "railweave")
        asked += 1
        until(f"{where}: {text} answers nothing", lambda text=text: prometheus.query(text), 30, every=0.3)
    return asked


def alert(binaries):
    with Subnet(binaries) as subnet, tempfile.TemporaryDirectory(prefix="railweave-prometheus-") as folder, Prometheus(folder, subnet.service.url) as prometheus:
        service = subnet.service
        service.cli("tenants", "set", "research")
        placed = service.cli("jobs", "submit", "--tenant", "research", "--dp", "4")
        assert placed.returncode == 0, placed.stderr
        until("both scrapes work", prometheus.up, 30, every=0.2)
        asked = panels_answer(prometheus)
        fired = prometheus.firing()
        assert "RailweaveLinkDown" not in fired and "RailweaveDown" not in fired, fired
        leaf, port = next(iter(cables(subnet.netlist)))
        subnet.cut_and_wait((leaf, port))
        told = until("an alert fires", lambda: prometheus.firing().get("RailweaveLinkDown"), 30, every=0.2)
        assert told["labels"]["subnet"] == subnet.name and told["annotations"]["summary"] == f"1 links of {subnet.name} are down", told
        command = told["annotations"]["command"].split()
        assert command[0] == "railweave"
        shown = service.cli(*command[1:])
        assert shown.returncode in (0, 1) and "link.down" in shown.stdout, shown
        subnet.sim.console(f'ReLink "{leaf}"[{port}]')
        until("the alert ends with the failure", lambda: "RailweaveLinkDown" not in prometheus.firing(), 30, every=0.2)
        service.__exit__()
        until("a service that is gone is told", lambda: "RailweaveDown" in prometheus.firing(), 30, every=0.2)
        subnet.service.start()
    print(f"{asked} queries of dashboards answer series; a cut cable fires {told['labels']['alertname']}, which ends with it")


def main():
    part = sys.argv[2]
    for program in ("promtool", "prometheus"):
        if not shutil.which(program):
            print(f"skipped: {program} is not installed (deploy/install-dependencies.sh --with-prometheus)")
            return 77
    if part == "alert" and missing():
        print(f"skipped: {missing()} is not installed")
        return 77
    {"metrics": metrics, "rules": rules, "alert": alert}[part](Path(sys.argv[1]).resolve())
    return 0


if __name__ == "__main__":
    sys.exit(main())
