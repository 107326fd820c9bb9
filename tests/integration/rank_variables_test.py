#!/usr/bin/env python3
"""What ranks are told is what libraries read: UCX's own program takes every variable that names it, with its value, and libfabric's
knows none for it, as is said. Without a class ranks are told nothing of one.

rank_variables_test.py BIN_FOLDER
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from service import Service  # noqa: E402

BIN = Path(sys.argv[1])


def skip(reason):
    print(f"SKIPPED {Path(sys.argv[0]).stem}: {reason}")
    sys.exit(77)


def fabric(kind):
    spec = {"kind": "ethernet", "rateMbps": 400000} if kind == "ethernet" else {"speed": "NDR", "width": 4}
    guid = lambda at: f"{0x0c42a10300310000 + at:016x}"
    return {"railweave": "fabric", "version": 1, "subnets": [{"name": "compute", "kind": "compute"}],
            "switches": [{"guid": guid(0), "name": "leaf", "ports": 8, "subnet": "compute"}],
            "hosts": [{"name": f"n{n}", "adapters": [{"guid": guid(n), "device": "mlx5_0", "ports": [{"guid": guid(n)}]}], "gpus": [{"nics": [0]}] * 2}
                      for n in (1, 2, 3, 4)],
            "linkSpecs": [spec], "links": [[0, n, n, 1, 0] for n in (1, 2, 3, 4)]}


def cli(service, *arguments):
    done = subprocess.run([BIN / "railweave", "--server", f"http://127.0.0.1:{service.port}", *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, (arguments, done)
    return done


def output(*command, **environment):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, **environment})
    return done.stdout + done.stderr


def ucx_takes(told):
    """Every transport of UCX on InfiniBand shows the value that it was told, and none what was told under another name."""
    named = {name: value for name, value in told.items() if name.startswith("UCX_IB_")}
    assert set(named) >= {"UCX_IB_SL", "UCX_IB_TRAFFIC_CLASS"}, told
    before, after = (dict(re.findall(r"^(UCX_\w+)=(.*)$", output("ucx_info", "-c", **these), re.M)) for these in ({}, named))
    for name, value in named.items():
        field = name.removeprefix("UCX_IB_")
        of = {key for key in before if re.fullmatch(rf"UCX_(RC|UD|DC)_\w+_{field}", key)}
        assert of, f"UCX knows no {field}"
        assert all(before[key] == "auto" and after[key] == value for key in of), (name, value, {key: after[key] for key in of})
    assert "UCX  ERROR" not in output("ucx_info", "-c", **named)
    assert "UCX  ERROR" in output("ucx_info", "-c", UCX_IB_SL=""), "an empty value is as good as any: this shows nothing"
    return len(named)


def libfabric_knows_none():
    known = re.findall(r"^# (FI_VERBS_\w+)", output("fi_info", "-e"), re.M)
    assert known, "libfabric has no verbs provider here"
    assert not [name for name in known if re.search(r"_SL$|TCLASS|TRAFFIC|SERVICE|PKEY", name)], known


def main():
    for tool, package in (("ucx_info", "ucx-utils"), ("fi_info", "libfabric-bin")):
        if not shutil.which(tool):
            skip(f"{tool} is not installed (Debian: {package})")
    taken = 0
    for kind, outside in (("infiniband", ["rocshmem", "libfabric", "gloo"]), ("ethernet", ["libfabric", "gloo"])):
        with tempfile.TemporaryDirectory(prefix="railweave-told-") as name, Service(BIN / "railweaved", Path(name)) as service:
            service.start()
            file = Path(name, "fabric.json")
            file.write_text(json.dumps(fabric(kind)))
            cli(service, "fabric", "import", str(file))
            for tenant in ("with", "without"):
                cli(service, "tenants", "put", tenant)
            cli(service, "contracts", "set", "with", "--guaranteed", "10", "--class", "all-to-all", "--isolation", "lane")
            jobs = {tenant: json.loads(cli(service, "jobs", "submit", "--tenant", tenant, "--dp", "4", "-o", "json").stdout) for tenant in ("with", "without")}
            answers = {tenant: service.request("GET", f"/v1/jobs/{job['id']}/ranks")[2] for tenant, job in jobs.items()}
            told = answers["with"]["items"][0]["env"]
            levels = {told[name] for name in told if name.endswith("_SL")}
            classes = {told[name] for name in told if name.endswith(("_TC", "_TRAFFIC_CLASS"))}
            assert len(levels) == len(classes) == 1 and not {"0"} & (levels | classes), told
            assert answers["with"]["outside"] == {"class": outside, "partition": []}, answers["with"]["outside"]
            shown = cli(service, "jobs", "ranks", jobs["with"]["id"])
            assert f"outside the job's class, as they read no variable for it: {', '.join(outside)}" in shown.stderr, shown
            for form in ("nccl", "script"):
                text = cli(service, "jobs", "ranks", jobs["with"]["id"], "--format", form).stdout
                assert all(f" {name}={value}" in text for name, value in told.items()), (form, text)
            taken += ucx_takes(told)
            # Without a class: no marks, no algorithm, and no library named.
            assert "env" not in answers["without"]["items"][0] and answers["without"]["outside"] == {"class": [], "partition": []}, answers["without"]
            for form in ("nccl", "script"):
                text = cli(service, "jobs", "ranks", jobs["without"]["id"], "--format", form).stdout
                names = set(re.findall(r"(?:^| )([A-Z][A-Z0-9_]+)=", text))
                assert names <= {"NCCL_IB_HCA", "NCCL_CROSS_NIC", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "RAILWEAVE_NODE"}, (form, names)
            assert "outside" not in cli(service, "jobs", "ranks", jobs["without"]["id"]).stderr
    libfabric_knows_none()
    print(f"UCX took {taken} variables")


if __name__ == "__main__":
    main()
