#!/usr/bin/env python3
"""Writes the dashboards beside it (*.json), which Grafana imports or is provisioned with: panels are a line each here.

dashboards.py [--check]     --check: exit code 1 where a file is not what this writes
"""
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
JOB = '{job="$job"}'
WIDTH, HEIGHT = 24, 8  # of Grafana's grid, and of a graph
FEW = {"thresholds": {"mode": "absolute", "steps": [{"color": "green", "value": None}, {"color": "red", "value": 1}]}}


def shown(metric, *labels):
    """What replicas share, taken once."""
    return f"max by ({', '.join(labels)}) ({metric}{JOB})" if labels else f"max({metric}{JOB})"


def stat(title, query, unit="short", alarming=False, what=""):
    return {"type": "stat", "title": title, "description": what, "queries": [(query, "")], "unit": unit, "size": (4, 4), "alarming": alarming}


def graph(title, *queries, unit="short", what="", wide=False):
    return {"type": "timeseries", "title": title, "description": what, "queries": queries, "unit": unit, "size": (24 if wide else 12, HEIGHT)}


OVERVIEW = [
    stat("GPUs", f"max(sum by (instance) (railweave_gpus{JOB}))"),
    stat("GPUs held", 'max(railweave_gpus{job="$job",use="held"})'),
    stat("Jobs placed", 'max(railweave_jobs{job="$job",state="placed"})'),
    stat("Jobs waiting", 'max(railweave_jobs{job="$job",state="queued"})'),
    stat("Critical alarms", 'max(railweave_alarms{job="$job",severity="critical"})', alarming=True),
    stat("Guarantees at risk", 'max(railweave_guarantees{job="$job",state="atRisk"})', alarming=True),
    graph("GPUs by use", (f"max by (use) (railweave_gpus{JOB})", "{{use}}")),
    graph("GPUs by tenant", (shown("railweave_tenant_gpus_held", "tenant"), "{{tenant}}")),
    graph("Jobs", (shown("railweave_jobs", "state"), "{{state}}")),
    graph("Guarantees of bandwidth", (shown("railweave_guarantees", "state"), "{{state}}")),
    graph("Steps that jobs report, beside the prediction", (shown("railweave_jobs_judged", "pace"), "{{pace}}"),
          what="Placed jobs with a model: slow are those whose steps take 1.5 times as long as predicted."),
    graph("Alarms by kind", (f"max by (kind, severity) (railweave_alarms_by_kind{JOB}) or 0 * max by (severity) (railweave_alarms{JOB})",
                             "{{kind}} {{severity}}"), wide=True),
]
FABRIC = [
    stat("Links down", 'sum(max by (subnet) (railweave_subnet_links{job="$job",state="down"}))', alarming=True),
    stat("Links up", 'sum(max by (subnet) (railweave_subnet_links{job="$job",state="up"}))'),
    stat("Switches that do not answer", f"sum({shown('railweave_subnet_isolated_devices', 'subnet')})", alarming=True),
    stat("Pairs that are lost", f"sum({shown('railweave_subnet_lost_pairs', 'subnet')})", alarming=True),
    stat("Blocks not as wanted", f"sum({shown('railweave_subnet_blocks_differing', 'subnet')})", alarming=True),
    stat("Last repair", f"max({shown('railweave_subnet_last_repair_seconds', 'subnet')})", unit="s"),
    graph("Phase of each subnet", (f"max by (subnet, phase) (railweave_subnet_phase{JOB}) == 1", "{{subnet}} {{phase}}")),
    graph("Links by state", (shown("railweave_subnet_links", "subnet", "state"), "{{subnet}} {{state}}")),
    graph("Repairs in 5 minutes", (f"max by (subnet) (increase(railweave_subnet_repairs_total{JOB}[5m]))", "{{subnet}}")),
    graph("Last repair, from what caused it to the last block read back", (shown("railweave_subnet_last_repair_seconds", "subnet"), "{{subnet}}"), unit="s"),
    graph("Differences from the accepted topology", (shown("railweave_subnet_differences", "subnet"), "{{subnet}}")),
    graph("Drains", (shown("railweave_drains", "state"), "{{state}}")),
    graph("Devices whose counters cannot be read", (shown("railweave_subnet_unread_devices", "subnet"), "{{subnet}}")),
    graph("Ports whose tables another program changed", (shown("railweave_subnet_changed_ports", "subnet"), "{{subnet}}")),
    graph("Fullest links", ('topk(10, max by (link) (railweave_port_utilisation_ratio{job="$links_job"}))', "{{link}}"), unit="percentunit",
          what="Of the scrape job that asks for /metrics?links=true."),
    graph("Symbol errors a second", ('topk(10, max by (link) (rate(railweave_port_symbol_errors_total{job="$links_job"}[5m])))', "{{link}}"),
          what="Of the scrape job that asks for /metrics?links=true."),
    graph("Bytes sent a second", ('topk(10, max by (link) (rate(railweave_port_sent_bytes_total{job="$links_job"}[5m])))', "{{link}}"), unit="Bps", wide=True,
          what="Of the scrape job that asks for /metrics?links=true."),
]
SERVICE = [
    stat("Replicas that answer", 'sum(up{job="$job"})'),
    stat("Leaders", f"sum(railweave_leads{JOB})"),
    stat("Changes that wait", f"max(railweave_control_queued_commands{JOB})"),
    stat("Appends refused", f"sum(increase(railweave_control_store_errors_total{JOB}[1h]))", alarming=True, what="By the store, in an hour."),
    stat("Staleness of followers", f"max(railweave_replica_staleness_seconds{JOB})", unit="s"),
    stat("Event streams", f"sum(railweave_http_streams{JOB})"),
    graph("Requests a second, by status", (f"sum by (status) (rate(railweave_http_requests_total{JOB}[5m]))", "{{status}}"), unit="reqps"),
    graph("Time of requests",
          (f"histogram_quantile(0.5, sum by (le) (rate(railweave_http_request_duration_seconds_bucket{JOB}[5m])))", "half"),
          (f"histogram_quantile(0.99, sum by (le) (rate(railweave_http_request_duration_seconds_bucket{JOB}[5m])))", "99 in 100"), unit="s"),
    graph("Slowest routes, mean time",
          (f"topk(5, sum by (route, method) (rate(railweave_http_request_duration_seconds_sum{JOB}[5m]))"
           f" / sum by (route, method) (rate(railweave_http_request_duration_seconds_count{JOB}[5m]) > 0))", "{{method}} {{route}}"), unit="s"),
    graph("Changes a second, by result", (f"sum by (result) (rate(railweave_control_commands_total{JOB}[5m]))", "{{result}}")),
    graph("Events and transactions a second", (f"sum(rate(railweave_control_events_total{JOB}[5m]))", "events"),
          (f"sum(rate(railweave_control_batches_total{JOB}[5m]))", "transactions")),
    graph("Computations", (f"sum(railweave_http_compute_running{JOB})", "running"), (f"sum(railweave_http_compute_queued{JOB})", "waiting")),
    graph("Processor", (f"rate(process_cpu_seconds_total{JOB}[5m])", "{{instance}}")),
    graph("Memory", (f"process_resident_memory_bytes{JOB}", "{{instance}}"), unit="bytes"),
    graph("Files and sockets open", (f"process_open_fds{JOB}", "{{instance}}"), (f"process_max_fds{JOB}", "{{instance}} may open")),
    graph("Connections", (f"railweave_http_connections{JOB}", "{{instance}}")),
    graph("Term of the leader", (f"max(railweave_leader_term{JOB})", "term"), what="It grows with every take-over."),
    graph("Versions", (f"count by (version) (railweave_build_info{JOB})", "{{version}}")),
]
DASHBOARDS = {
    "railweave-overview": ("Railweave: overview", OVERVIEW),
    "railweave-fabric": ("Railweave: fabric", FABRIC),
    "railweave-service": ("Railweave: service", SERVICE),
}


def panel(number, one, x, y):
    width, height = one["size"]
    defaults = {"unit": one["unit"], **(FEW if one.get("alarming") else {})}
    return {
        "id": number, "type": one["type"], "title": one["title"], "description": one["description"],
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "gridPos": {"x": x, "y": y, "w": width, "h": height},
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "targets": [{"refId": chr(ord("A") + i), "expr": query, "legendFormat": legend, "datasource": {"type": "prometheus", "uid": "${datasource}"}}
                    for i, (query, legend) in enumerate(one["queries"])],
    }


def placed(panels):
    """From left to right, then down."""
    x = y = tallest = 0
    for number, one in enumerate(panels, 1):
        width, height = one["size"]
        if x + width > WIDTH:
            x, y, tallest = 0, y + tallest, 0
        yield panel(number, one, x, y)
        x, tallest = x + width, max(tallest, height)


def variable(name, label, query, chosen):
    return {"name": name, "label": label, "type": "query", "datasource": {"type": "prometheus", "uid": "${datasource}"},
            "query": {"query": query, "refId": name}, "definition": query, "refresh": 1, "current": {"text": chosen, "value": chosen}}


def dashboard(uid, title, panels):
    return {
        "uid": uid, "title": title, "tags": ["railweave"], "schemaVersion": 39, "version": 1, "editable": True, "graphTooltip": 1,
        "time": {"from": "now-1h", "to": "now"}, "refresh": "30s", "timezone": "browser",
        "links": [{"type": "dashboards", "title": "Railweave", "tags": ["railweave"], "asDropdown": True, "includeVars": True, "keepTime": True}],
        "templating": {"list": [
            {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
            variable("job", "Scrape job", "label_values(railweave_build_info, job)", "railweave"),
            variable("links_job", "Scrape job of links", "label_values(railweave_links_left_out, job)", "railweave-links"),
        ]},
        "panels": list(placed(panels)),
    }


def main():
    differ = []
    for uid, (title, panels) in DASHBOARDS.items():
        file, text = HERE / f"{uid}.json", json.dumps(dashboard(uid, title, panels), indent=1) + "\n"
        if sys.argv[1:] != ["--check"]:
            file.write_text(text)
        elif not file.exists() or file.read_text() != text:
            differ.append(file.name)
    if differ:
        print(f"not what dashboards.py writes: {', '.join(differ)}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
