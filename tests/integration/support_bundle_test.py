#!/usr/bin/env python3
"""railweave support-bundle: what is in it, that no secret is, though every place that it reads has one planted, and that what cannot
be had is said and keeps nothing else out.

support_bundle_test.py BIN_FOLDER
"""
import io
import json
import os
import stat
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ports import free_ports  # noqa: E402
from service import Service  # noqa: E402

BIN = Path(sys.argv[1]).resolve()
# Each is planted where the bundle could find it.
PLANTED = {
    "a password in the store's address": "pw-Store-1f9",
    "a client's secret of OIDC": "oidc-Secret-2a8",
    "a secret in a list": "list-Secret-3b7",
    "a webhook's path": "T0SECRETPATH4c6",
    "a webhook's key": "QUERYKEY5d5",
    "a webhook's signing secret": "sign-Secret-6e4-and-more-of-it",
    "a bearer in a log": "bearer-Secret-7f3",
    "a token in a log": "Zq7Zq7Zq7Zq7Zq7Zq7Zq7Zq7Zq7Zq7Zq7Zq7Zq7Zq8x",
    "a variable of a unit": "environment,Secret-8a2",
    "a private key": "MC4CAQAwBQYDK2VwBCIEIPlanted9b1",
}
EXPECTED = {"version.txt", "ready.json", "leader.json", "fabric.json", "queue.json", "alarms.json", "tenants.json", "jobs.json", "guarantees.json",
            "webhooks.json", "events.json", "audit.json", "metrics.txt", "configuration/1-railweaved.toml", "configuration/2-slurm.env", "logs/1-railweaved.log"}


def configuration(folder):
    (folder / "railweaved.toml").write_text(f"""listen_port = 0   # any
store = "postgresql://railweave:{PLANTED["a password in the store's address"]}@db.example:5432/railweave"
admin_token_file = "/etc/railweave/admin-token"
[access.oidc]
issuer = "https://sign-in.example/realms/cluster"
client_secret = "{PLANTED["a client's secret of OIDC"]}"
tokens = ["first", "{PLANTED["a secret in a list"]}"]
""")
    (folder / "slurm.env").write_text(f"RAILWEAVE_URL=https://fabric.example:7470\nRAILWEAVE_TOKEN={PLANTED['a variable of a unit']}\n")
    (folder / "railweaved.log").write_text(f"""2026-11-26 service: begins
2026-11-26 rest: Authorization: Bearer {PLANTED["a bearer in a log"]}
2026-11-26 rest: GET /v1/tenants/rw_{"a" * 12}_{PLANTED["a token in a log"]}
-----BEGIN PRIVATE KEY-----
{PLANTED["a private key"]}
-----END PRIVATE KEY-----
2026-11-26 live: compute: 1 link down
""")


def bundle(folder, url, token, *words, code=0):
    done = subprocess.run([BIN / "railweave", "support-bundle", "-O", "bundle.tar.gz", *words], cwd=folder, capture_output=True, text=True, timeout=60,
                          env={"PATH": os.environ["PATH"], "HOME": str(folder), "RAILWEAVE_URL": url, "RAILWEAVE_TOKEN": token})
    assert done.returncode == code, done
    data = (folder / "bundle.tar.gz").read_bytes()
    assert stat.S_IMODE((folder / "bundle.tar.gz").stat().st_mode) == 0o600
    files = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive.getmembers():
            assert member.name.startswith("railweave-support/") and member.isfile(), member
            files[member.name.removeprefix("railweave-support/")] = archive.extractfile(member).read().decode()
    subprocess.run(["tar", "tzf", folder / "bundle.tar.gz"], check=True, capture_output=True)
    return files, done


def fill(service, token):
    show = {"Authorization": f"Bearer {token}"}
    fabric = service.folder / "fabric.json"
    subprocess.run([BIN / "railweave", "lab", "generate", "rail-optimized", "--hosts", "8", "-O", fabric], check=True, capture_output=True)
    assert service.request("PUT", "/v1/fabric/topology", fabric.read_text(), show)[0] == 200
    assert service.request("PUT", "/v1/tenants/research", {}, show)[0] in (200, 201)
    assert service.request("POST", "/v1/jobs", {"tenant": "research", "name": "llama", "parallelism": {"tensor": 8, "data": 2}}, show)[0] == 201
    issued = service.request("POST", "/v1/tokens", {"name": "second", "role": "viewer"}, show)
    assert issued[0] == 201
    of = {part: PLANTED[f"a webhook's {part}"] for part in ("path", "key")}
    address = f"http://127.0.0.1:9/{of['path']}?key={of['key']}"
    put = service.request("PUT", "/v1/webhooks/pager", {"url": address, "secret": PLANTED["a webhook's signing secret"]}, show)
    assert put[0] in (200, 201), put
    return issued[2]["token"]


def main():
    with tempfile.TemporaryDirectory(prefix="railweave-bundle-") as name, Service(BIN / "railweaved", authentication="tokens") as service:
        folder = Path(name)
        configuration(folder)
        own = service.folder / "own.toml"
        own.write_text("[webhooks]\nloopback = true\n")
        service.start("--config", str(own), "--admin-token-file", str(service.folder / "admin-token"))
        token = (service.folder / "admin-token").read_text().strip()
        issued = fill(service, token)
        url = f"http://127.0.0.1:{service.port}"
        words = ["--config", "railweaved.toml", "--config", "slurm.env", "--log", "railweaved.log"]
        files, done = bundle(folder, url, token, *words)
        assert set(files) >= EXPECTED and "missing.txt" not in files, (EXPECTED - set(files), files.get("missing.txt"))
        secrets = {**PLANTED, "the administrator's token": token.split("_", 2)[2], "an issued token": issued.split("_", 2)[2]}
        for what, secret in secrets.items():
            for file, text in files.items():
                assert secret not in text, f"{what} is in {file}:\n{text[:3000]}"
            assert secret not in done.stdout + done.stderr, what
        # What is no secret is still there, and is read as what it was.
        for file, text in files.items():
            if file.endswith(".json"):
                json.loads(text)
        assert 'issuer = "https://sign-in.example/' in files["configuration/1-railweaved.toml"] and "db.example:5432/railweave" in files["configuration/1-railweaved.toml"]
        assert 'admin_token_file = "/etc/railweave/admin-token"' in files["configuration/1-railweaved.toml"]
        assert "1 link down" in files["logs/1-railweaved.log"] and "rw_" + "a" * 12 in files["logs/1-railweaved.log"]
        assert json.loads(files["jobs.json"])["items"][0]["name"] == "llama" and json.loads(files["events.json"])["items"]
        assert json.loads(files["webhooks.json"])["items"][0]["url"] == "http://127.0.0.1:9/***", files["webhooks.json"]
        assert "railweave_ready 1" in files["metrics.txt"] and len(files["logs/1-railweaved.log"].splitlines()) == 5
        # A viewer may see less, and a file may be absent: both are said.
        files, done = bundle(folder, url, issued, "--log", "absent.log")
        assert "logs/1-absent.log" in files["missing.txt"] and "webhooks.json" in files["missing.txt"] and "metrics.txt" in files, files["missing.txt"]
        assert "missing.txt" in done.stderr
        # The end of a long log, from the beginning of a line.
        (folder / "long.log").write_text("".join(f"line {n} {'x' * 90}\n" for n in range(20_000)))
        files, _ = bundle(folder, url, token, "--log", "long.log", "--log-megabytes", "1", "--config", "railweaved.toml")
        lines = files["logs/1-long.log"].splitlines()
        assert lines[-1].startswith("line 19999 ") and lines[0].startswith("line ") and 9_000 < len(lines) < 11_000, (lines[0], len(lines))
    # Without a service: what is there on this machine.
    with tempfile.TemporaryDirectory(prefix="railweave-bundle-") as name:
        folder = Path(name)
        configuration(folder)
        files, _ = bundle(folder, f"http://127.0.0.1:{free_ports(1)[0]}", "", *words, code=3)
        assert set(files) == {"version.txt", "missing.txt", "configuration/1-railweaved.toml", "configuration/2-slurm.env", "logs/1-railweaved.log"}, set(files)
    print(f"{len(EXPECTED)} files, and none of {len(secrets)} secrets that were there to be found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
