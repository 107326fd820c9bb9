#!/usr/bin/env python3
"""Guarantees of subnets that are said to spread packets, by the command line on a real railweaved: what one path refuses fits over
many, railweave-verify works the loads out again from tables and the journal's export alone, also after each failure, and refuses
a certificate that counts on more than the operator said. After kill -9 all is as it was.

spread_paths_test.py BIN_FOLDER
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from service import Service  # noqa: E402

BIN = Path(sys.argv[1])


def run(words, code=0, **environment):
    done = subprocess.run([str(word) for word in words], env=dict(os.environ, NO_COLOR="1", **environment), capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == code, f"{' '.join(map(str, words))}: {done.returncode}, not {code}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def fabric_of(folder, lmc):
    """64 hosts on 8 leaves and 4 spines of two cables each, every adapter with 2^lmc LIDs."""
    path = folder / f"fabric-{lmc}.json"
    run([BIN / "railweave", "lab", "generate", "fat-tree", "--hosts", 64, "--radix", 16, "--spines", 4, "--nics-per-host", 1,
         "--gpus-per-host", 8, "-O", path])
    fabric = json.loads(path.read_text())
    for host in fabric["hosts"]:
        for adapter in host["adapters"]:
            for port in adapter["ports"]:
                port.update(lmc=lmc)
                port.pop("lid", None)
    path.write_text(json.dumps(fabric))
    return path


def prove(service, railweave, folder, name, code=0, change=None):
    """The certificate by everything that is outside it: the journal's export, the tables, those after each failure."""
    here = folder / name
    railweave("guarantees", "verify", "--keep", str(here), code=10 if code == 3 else 0)
    run([BIN / "railweave", "admin", "export", service.folder / "store.db", "-O", here / "journal.jsonl"])
    certificate = json.loads((here / "certificate.json").read_text())
    if change:
        change(certificate)
    (here / "shown.json").write_text(json.dumps(certificate))
    return certificate, run([BIN / "railweave-verify", here / "fabric.json", here / "opensm.fdbs", here / "shown.json", "--journal",
                             here / "journal.jsonl", "--after-list", here / "after.txt"], code)


def spread_of(certificate):
    return [one["spread"] for one in certificate.get("spread", [])]


def over(spread, lmc, folder):
    with Service(BIN / "railweaved") as service:
        service.start()

        def railweave(*words, code=0):
            return run([BIN / "railweave", *words], code, RAILWEAVE_URL=f"http://127.0.0.1:{service.port}")

        def standings():
            return [one["state"] for one in json.loads(railweave("guarantees", "list", "-o", "json"))["items"]]

        railweave("fabric", "import", fabric_of(folder, lmc))
        subnet = json.loads(railweave("subnets", "list", "-o", "json"))["items"][0]["id"]
        for tenant, terms in (("gold", ["--guaranteed", 40, "--class", "all-reduce", "--survive"]),
                              ("silver", ["--guaranteed", 20, "--class", "all-to-all", "--model", "pattern"])):
            railweave("tenants", "put", tenant)
            railweave("contracts", "set", tenant, *terms)
        wide = ["jobs", "submit", "--tenant", "gold", "--dp", "192"]  # 24 of 64 hosts, so that leaves are shared
        assert "too little left" in railweave(*wide, code=6)
        other = "lmc" if spread == "adaptive" else "adaptive"
        if other == "lmc":
            assert "has one LID" in railweave("subnets", "spread", subnet, other, code=5)
        said = railweave("subnets", "spread", subnet, spread, "--reason", "as the switches are set")
        assert spread in said, said
        assert "Spread" in railweave("subnets", "show", subnet) and spread in railweave("subnets", "show", subnet)
        railweave(*wide)
        railweave("jobs", "submit", "--tenant", "silver", "--tp", "8", "--pp", "2", "--dp", "4")
        assert standings() == ["planned", "planned"]  # nothing here is a live subnet
        certificate, said = prove(service, railweave, folder, f"{spread}-good")
        assert spread_of(certificate) == [spread] and "HOLDS" in said and " 0 failures checked" not in said, said

        def claims(how):
            def change(shown):
                shown["spread"] = [{"subnet": subnet, "spread": how}]
            return change

        for how, change in (("another spread", claims(other)), ("none", lambda shown: shown.pop("spread"))):
            _, said = prove(service, railweave, folder, f"{spread}-{how}".replace(" ", "-"), 1, change)
            assert "is not what the service was told" in said, f"{how}: {said}"
        before = railweave("guarantees", "certificate")
        service.kill()
        service.start()
        assert railweave("guarantees", "certificate") == before, "not the same after kill -9"
        # One path again: what was reserved for failures does not fit any more, which is said at once and proves less.
        railweave("subnets", "spread", subnet, "single")
        listed = railweave("guarantees", "list")
        assert standings() == ["planned", "planned"] and listed.count("used up") == 1, listed
        certificate, said = prove(service, railweave, folder, f"{spread}-single", 3)
        assert not spread_of(certificate) and "nothing is reserved for them at present" in said, said
        railweave("subnets", "spread", subnet, spread)
        assert standings() == ["planned", "planned"]  # nothing here is a live subnet
        prove(service, railweave, folder, f"{spread}-again")


def main():
    with tempfile.TemporaryDirectory(prefix="railweave-spread-") as name:
        for spread, lmc in (("adaptive", 0), ("lmc", 2)):
            over(spread, lmc, Path(name))
    print("adaptive and lmc: what single paths refuse fits, is proven from outside after each failure, and is withdrawn when it is no longer so")
    return 0


if __name__ == "__main__":
    sys.exit(main())
