#!/usr/bin/env python3
"""What an auditor collects of a live subnet proves a certificate, and nothing changed in it does.

A real railweaved with a key programs a simulated subnet for jobs with lanes of their own, jobs that survive failures and jobs with a
pattern. `railweave guarantees collect` and collect_tables.sh, which uses infiniband-diags alone, read the same bytes from the devices;
`railweave admin export` writes what was promised; railweave-verify says that it holds, openssl that it is signed. Then every kind of
alteration, each signed again with the service's own key and with digests and counts made to fit, is found by what it means. And every
field that the certificate has is given several other values, signed again and refused (certificate_fields.py finds them by itself).

certificate_evidence_test.py BIN_FOLDER COLLECT_SCRIPT     exit code 77: skipped, and why
"""
import base64
import concurrent.futures
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from alterations import ALTERATIONS  # noqa: E402
from certificate_fields import alterations, fields, kind, kinds_in_contract  # noqa: E402
from evidence import Evidence, verify  # noqa: E402
from ibsim import Ibsim, missing  # noqa: E402
from journal_alterations import JOURNAL_ALTERATIONS  # noqa: E402
from live import LiveService, generate  # noqa: E402
from live_guarantees_test import programmed  # noqa: E402
from qos_programming_test import cabled  # noqa: E402
from seal_alterations import WITHOUT_SEAL  # noqa: E402
from waiting import until  # noqa: E402

SHAPE = ["fat-tree", "--radix", "8", "--hosts", "16", "--nics-per-host", "1", "--gpus-per-host", "4", "--speed", "EDR"]
TENANTS = {"red": ["--guaranteed", "5", "--class", "all-reduce", "--isolation", "lane"],
           "blue": ["--guaranteed", "4", "--class", "storage", "--survive"],
           "green": ["--guaranteed", "3", "--class", "all-to-all", "--model", "pattern"]}


def generate_key(path):
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", str(path)], check=True)
    path.chmod(0o600)
    public = path.with_suffix(".pub")
    subprocess.run(["openssl", "pkey", "-in", str(path), "-pubout", "-out", str(public)], check=True)
    return path


def jobs(service, nodes):
    """Two with lanes on the same links, one elsewhere with the lane of the first, one that survives failures, one with a pattern, on nodes
    of several leaves."""
    same, spread = [nodes[0], nodes[1], nodes[4], nodes[5]], [nodes[2], nodes[6], nodes[8], nodes[9]]
    made = {}
    for name, tenant, on, gpus in (("first", "red", same, 2), ("second", "red", same, 2), ("apart", "red", nodes[14:16], 4), ("steady", "blue", spread, 2),
                                   ("ring", "green", nodes[10:14], 4)):
        status, job = service.request("POST", "/v1/jobs", {"name": name, "tenant": tenant, "parallelism": {"tensor": gpus, "data": len(on)},
                                                           "gpusPerNode": gpus, "nodes": on})
        assert status == 201, job
        made[name] = job["id"]
    return made


def in_force(service):
    items = service.get("/v1/guarantees")["items"]
    lanes = all(one["inForce"]["isolation"] == "lane" for one in items if one["tenant"] == "red")
    covered = all(one["covered"] for one in items if one["tenant"] == "blue")
    return len(items) == 5 and lanes and covered


def collect(sim, service, script, folder):
    """Both readings of the devices, once they hold what is wanted; the same to the byte."""
    def both():
        status = service.live()
        if status["phase"] != "synced" or not status["qos"] or status["qos"]["portsPending"]:
            return None
        own = sim.run([str(service.binaries / "railweave"), "guarantees", "collect"], seconds=30)
        assert own.returncode == 0, own.stdout[-500:] + own.stderr
        other = sim.run(["sh", str(script)], seconds=240)
        assert other.returncode == 0, other.stderr
        (folder / "tables.txt").write_text(own.stdout)
        (folder / "diags.txt").write_text(other.stdout)
        return own.stdout == other.stdout and own.stdout

    return until(lambda: f"the two readings differ: {folder}", both, 280, 0.5)


def gather(sim, service, script, folder):
    """The files of an auditor."""
    lines = collect(sim, service, script, folder).splitlines()
    for name, words in (("certificate.json", ["guarantees", "certificate", "-O"]), ("journal.jsonl", ["admin", "export", str(folder / "store.db"), "-O"]),
                        ("fabric.json", ["fabric", "export", "-O"]), ("served.pub", ["guarantees", "key", "-O"])):
        done = service.cli(*words, str(folder / name))
        assert done.returncode == 0, (words, done.stderr)
    kept = folder / "kept"
    done = service.cli("guarantees", "verify", "--keep", str(kept))
    assert done.returncode == 0 and "HOLDS" in done.stdout, done.stdout + done.stderr
    shutil.copy(kept / "after.txt", folder / "after.txt")
    return lines


def signed_by(folder, public):
    """openssl alone, on the bytes before the last line."""
    text = (folder / "certificate.json").read_text()
    body, last = text[:text.rstrip("\n").rfind("\n") + 1], text.splitlines()[-1]
    (folder / "body").write_text(body)
    (folder / "value").write_bytes(base64.b64decode(json.loads("{" + last)["signature"]["value"]))
    done = subprocess.run(["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", str(public), "-in", str(folder / "body"), "-sigfile", str(folder / "value")],
                          capture_output=True, text=True)
    return done.returncode == 0


def key_is_guarded(binaries, folder, key):
    """Others must not be able to read it, and it must be a key."""
    loose = folder / "loose.key"
    shutil.copy(key, loose)
    for mode, text, why in ((0o640, None, "others than this service's user"), (0o600, "no key\n", "no Ed25519 private key"), (0o600, "", "no Ed25519 private key")):
        loose.chmod(0o600)
        if text is not None:
            loose.write_text(text)
        loose.chmod(mode)
        done = subprocess.run([str(binaries / "railweaved"), "--listen", "127.0.0.1:0", "--store", str(folder / "loose.db"), "--certificate-key", str(loose)],
                              capture_output=True, text=True, timeout=30)
        assert done.returncode != 0 and why in done.stdout + done.stderr, (mode, done.returncode, done.stdout, done.stderr)


def altered(binaries, folder, evidence, public):
    """Each alteration alone, and what is said of it."""
    names, wrong = [], []
    (folder / "altered").mkdir()
    other = generate_key(folder / "other.key")
    for name, alter, says in ALTERATIONS + JOURNAL_ALTERATIONS + WITHOUT_SEAL:
        changed = evidence.copy()
        how = alter(changed) or {}
        if how.pop("refit", False):
            changed.certificate["routes"]["fnv1a64"] = changed.digest()
        changed.write(folder / "altered", key=other if how.pop("other_key", False) else None, **how)
        code, said = verify(binaries, folder / "altered", public)
        names.append(name)
        if code not in (1, 3) or not re.search(says, said) or (code == 3 and "HOLDS" in said):
            wrong.append(f"{name}: exit {code}, expected '{says}':\n{said[:1500]}")
    assert not wrong, f"{len(wrong)} of {len(names)} alterations are not found for what they are:\n" + "\n".join(wrong)
    assert len(set(names)) == len(names) >= 24, names
    return names


def every_field(binaries, folder, evidence, public):
    """Of the certificate: given several other values and signed again; each is refused."""
    journal = [line for line in evidence.journal if "kind" in line]
    promises = re.compile(r"topology\.accepted|contract\.|qosClasses\.|job\.(placed|moved|ended|evicted|offerExpired)|link\.(down|up|changed)|subnet\.spreadSet|guarantee\.|qos\.limits")
    newest = max(line["seq"] for line in journal if promises.match(line["kind"]))
    cases = list(alterations(evidence.certificate))
    # As of which record: any between the newest that changes promises and the journal's end says the same.
    for how, seq in (("after the journal's end", journal[-1]["seq"] + 1), ("before the newest promise", newest - 1), ("as text", str(newest)), ("null", None)):
        cases.append((f"seq: {how}", {**evidence.certificate, "seq": seq}))
    cases.append(("seq: removed", {name: value for name, value in evidence.certificate.items() if name != "seq"}))

    def refused(case):
        number, (what, certificate) = case
        changed = evidence.copy()
        changed.certificate = certificate
        place = folder / "fields" / str(number)
        place.mkdir(parents=True)
        changed.write(place)
        code, said = verify(binaries, place, public)
        shutil.rmtree(place)
        return None if code in (1, 2) and "HOLDS" not in said else f"{what}: exit {code}: {said[-300:]}"

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        passed = [one for one in pool.map(refused, enumerate(cases)) if one]
    assert not passed, f"{len(passed)} of {len(cases)} changes of single fields are not refused:\n" + "\n".join(passed)
    kinds = {kind(path) for path, _ in fields(evidence.certificate)}
    contract = kinds_in_contract((Path(__file__).resolve().parents[2] / "api/openapi.yaml").read_text())
    # Of Ethernet, of subnets that spread packets, and of the signature, which is altered by itself.
    missing_kinds = contract - {step for one in kinds for step in one.split("/")} - {"weights", "spread", "subnet", "signature", "algorithm", "key", "value"}
    assert not missing_kinds, f"fields of the contract that the certificate does not have here: {missing_kinds}"
    return len(cases), len(kinds)


def run(binaries, script, folder):
    native, netlist, subnet = generate(str(binaries / "railweave"), SHAPE, folder)
    key = generate_key(folder / "certificate.key")
    public = key.with_suffix(".pub")
    key_is_guarded(binaries, folder, key)
    with Ibsim(netlist) as sim, LiveService(sim, binaries, folder, subnet, "sweep_seconds = 1") as service:
        service.__exit__()
        text = service.config.read_text()
        service.config.write_text(f'certificate_key = "{key}"\n' + text)
        service.start()
        service.import_fabric(native)
        service.mode("direct")
        service.synced()
        nodes = sorted({host["name"] for host in json.loads(native.read_text())["hosts"]}, key=lambda name: int("".join(c for c in name if c.isdigit()) or 0))
        for tenant, terms in TENANTS.items():
            assert service.cli("tenants", "put", tenant).returncode == 0
            done = service.cli("contracts", "set", tenant, *terms)
            assert done.returncode == 0, done.stdout + done.stderr
        programmed(service, len(cabled(sim)))
        jobs(service, nodes)
        until(lambda: f"in force: {service.get('/v1/guarantees')['items']}", lambda: in_force(service), 60)
        tables = gather(sim, service, script, folder)
        assert (folder / "served.pub").read_text() == public.read_text(), "another public key is served"
        assert signed_by(folder, public), "openssl does not take the signature"

        code, said = verify(binaries, folder, public)
        assert code == 0 and "HOLDS" in said, said
        (folder / "tables.txt").write_text((folder / "diags.txt").read_text())
        assert verify(binaries, folder, public)[0] == 0, "on what infiniband-diags read"
        evidence = Evidence(folder, key)
        again = folder / "again"
        again.mkdir()
        evidence.write(again)
        code, text = verify(binaries, again, public)
        assert code == 0, f"nothing was altered: {text}"
        names = altered(binaries, folder, evidence, public)
        changes, kinds = every_field(binaries, folder, evidence, public)
        print(f"{said.strip()}\n{len(tables)} lines of tables, the same by libibumad and by infiniband-diags; signed, also by openssl's word; "
              f"{len(names)} alterations found: {'; '.join(names)}; {changes} changes of {kinds} kinds of fields refused")


def main():
    binaries, script = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    lacking = missing() or next((tool for tool in ("smpquery", "dump_fts", "openssl") if not shutil.which(tool)), None)
    if lacking:
        print(f"skipped: {lacking} is absent")
        return 77
    with tempfile.TemporaryDirectory(prefix="railweave-evidence-") as folder:
        run(binaries, script, Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
