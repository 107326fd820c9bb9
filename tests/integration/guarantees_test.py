#!/usr/bin/env python3
"""Guarantees by the command line, on a real railweaved: contracts, jobs, the certificate checked by railweave-verify, and
refused once anything in it is changed. After kill -9 everything is as it was, to the byte.

guarantees_test.py BIN_FOLDER
"""
import copy
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from service import Service  # noqa: E402

BIN = Path(sys.argv[1])


def railweave(service, *arguments, code=0):
    environment = dict(os.environ, RAILWEAVE_URL=f"http://127.0.0.1:{service.port}" if service else "", NO_COLOR="1")
    done = subprocess.run([BIN / "railweave", *arguments], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, f"railweave {' '.join(arguments)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout if code in (0, 10) else done.stderr


def tampered(certificate):
    """Name of what was changed, and the certificate with it."""
    def change(name, how):
        copied = copy.deepcopy(certificate)
        how(copied)
        return name, copied

    # Of the job that promises its pattern what is reserved is what is needed; for the others failures are kept for.
    at = next(c for c, one in enumerate(certificate["classes"]) if one["name"] == "all-to-all")
    fullest = max(range(len(certificate["links"])), key=lambda i: certificate["links"][i]["reservedMbps"][at])
    yield change("1 Mb/s less on a link", lambda c: c["links"][fullest]["reservedMbps"].__setitem__(at, c["links"][fullest]["reservedMbps"][at] - 1))
    yield change("a link left out", lambda c: c["links"].pop(fullest))
    yield change("more promised to a port", lambda c: next(j for j in c["jobs"] if "ports" in j)["ports"][0].update(
        sendMbps=10**6, receiveMbps=10**6))
    yield change("another LID", lambda c: next(j for j in c["jobs"] if "ports" in j)["ports"][0].update(portLid=9999))
    yield change("more capacity than there is", lambda c: c["links"][fullest].update(capacityMbps=10**7))
    yield change("other routes", lambda c: c["routes"].update(fnv1a64="0" * 16))
    yield change("a class of a smaller share", lambda c: c["classes"][at].update(sharePermille=1))


def verify(folder, certificate):
    (folder / "changed.json").write_text(json.dumps(certificate))
    done = subprocess.run([BIN / "railweave-verify", folder / "fabric.json", folder / "opensm.fdbs", folder / "changed.json"],
                          capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout


def main():
    with tempfile.TemporaryDirectory(prefix="railweave-guarantees-") as name, Service(BIN / "railweaved") as service:
        folder = Path(name)
        fabric = folder / "fabric.json"
        railweave(None, "lab", "generate", "rail-optimized", "--hosts", "32", "-O", str(fabric))
        service.start()
        railweave(service, "fabric", "import", str(fabric))
        for tenant, terms in (("gold", ["--guaranteed", "8", "--class", "all-reduce", "--survive"]),
                              ("silver", ["--guaranteed", "5", "--class", "all-to-all", "--model", "pattern"])):
            railweave(service, "tenants", "put", tenant)
            assert "PKey" in railweave(service, "contracts", "set", tenant, *terms)
        for tenant, shape in (("gold", ["--tp", "8", "--dp", "6"]), ("silver", ["--tp", "8", "--pp", "2", "--dp", "4"]),
                              ("gold", ["--tp", "4", "--dp", "8"])):
            railweave(service, "jobs", "submit", "--tenant", tenant, *shape)
        listed = railweave(service, "guarantees", "list")
        assert listed.count("holds") == 3 and "at risk" not in listed, listed
        assert "job-000001" in railweave(service, "guarantees", "links", "--top", "5")
        said = railweave(service, "guarantees", "verify", "--keep", str(folder))
        assert "HOLDS" in said and "3 jobs" in said, said
        certificate = json.loads((folder / "certificate.json").read_text())
        assert {job["promise"] for job in certificate["jobs"]} == {"hose", "pattern"}
        assert verify(folder, certificate)[0] == 0
        caught = 0
        for what, changed in tampered(certificate):
            code, text = verify(folder, changed)
            assert code == 1 and "FAULT" in text, f"{what}: {code}\n{text}"
            caught += 1
        node = json.loads(railweave(service, "guarantees", "caps", "job-000001", "-o", "json"))["items"][0]["node"]
        assert f"{node}" in railweave(service, "guarantees", "caps", "job-000001")
        caps = railweave(service, "guarantees", "caps", "job-000001", "--node", node)
        assert "max_tx_rate 8000" in caps and "tc class replace" in caps, caps
        assert "partition" in railweave(service, "guarantees", "partition", "job-000001")
        assert "NCCL_IB_SL=3" in railweave(service, "jobs", "ranks", "job-000001", "--format", "nccl")

        before = (railweave(service, "guarantees", "list", "-o", "json"), railweave(service, "guarantees", "certificate"))
        service.kill()
        service.start()
        assert (railweave(service, "guarantees", "list", "-o", "json"), railweave(service, "guarantees", "certificate")) == before, \
            "not the same after kill -9"
        assert "HOLDS" in railweave(service, "guarantees", "verify")
    print(f"3 guarantees held by railweave-verify, {caught} changed certificates refused, the same after kill -9")
    return 0


if __name__ == "__main__":
    sys.exit(main())
