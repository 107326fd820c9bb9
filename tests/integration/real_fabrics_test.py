#!/usr/bin/env python3
"""Imports real fabrics into a real railweaved with the real CLI, and holds what comes out to what is known of them.

real_fabrics_test.py BIN_FOLDER SHARED_DATA
Exit code 77 (skipped) where the folder of real fabrics is absent.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from service import Service  # noqa: E402

KNOWN = {
    "ib/dgx-h100-ndr.ibnetdiscover.txt": dict(switches=40, leaves=31, hostPorts=542, interSwitchLinks=532,
                                              aggregationNodes=40, components=1, tiers=2, rails=4, hostsShortOfRail=10),
    "ib/selene.storage.txt": dict(switches=160, leaves=60, hostPorts=1247, interSwitchLinks=2039, components=1),
    "ib/k-4-n-3-full.ibnetdiscover.txt": dict(switches=80, hostPorts=128, tiers=3, components=1),
    "ib/psmn-x5.ibnetdiscover.txt": dict(switches=11, hostPorts=89, components=1),
    "ib/loginoff.ibnetdiscover.txt": dict(switches=8, components=1),
    "ibsim/4-ary-4-tree.net": dict(switches=256, hosts=256, tiers=4),
    "ibsim/12-node-spaced.net": dict(hosts=12),
}


def main():
    binaries, data = Path(sys.argv[1]), Path(sys.argv[2])
    if not data.is_dir():
        print(f"skipped: no real fabrics at {data}")
        return 77
    with Service(binaries / "railweaved") as service:
        service.start()
        environment = dict(os.environ, RAILWEAVE_URL=f"http://127.0.0.1:{service.port}")

        def railweave(*arguments, code=0):
            done = subprocess.run([binaries / "railweave", *arguments, "-o", "json"], env=environment, capture_output=True,
                                  text=True, timeout=60)
            assert done.returncode == code, f"{arguments}: exit code {done.returncode}, {done.stderr}"
            return json.loads(done.stdout) if done.stdout else None

        for name, known in KNOWN.items():
            railweave("fabric", "import", str(data / name))
            shown = railweave("fabric", "show")
            wrong = {key: (shown[key], value) for key, value in known.items() if shown[key] != value}
            assert not wrong, f"{name}: (found, known) {wrong}"
            lab = railweave("lab", "fabric", str(data / name))
            assert {key: lab[key] for key in known} == known, f"{name}: lab differs from the service"

        # Two subnets at once: LIDs of one are not those of the other, and the same dump twice is one fabric.
        compute, storage = str(data / "ib/dgx-h100-ndr.ibnetdiscover.txt"), str(data / "ib/selene.storage.txt")
        both = railweave("fabric", "import", compute, storage)
        found = {finding["code"]: finding for finding in railweave("fabric", "check")["findings"]}
        codes = set(found)
        assert both["subnets"] == 2 and both["switches"] == 200 and "subnetOfItsOwn" in codes, both
        assert not codes & {"duplicateLid", "severalComponents"}, codes
        # Rails are those of each by itself: two cables of one host are crossed, ten hosts lack a rail, whatever the storage hosts are cabled to.
        assert {code: len(found[code]["objects"]) for code in ("adapterOnOddRail", "portsCrossed", "hostShortOfRail")} == {
            "adapterOnOddRail": 2, "portsCrossed": 2, "hostShortOfRail": 10}, found
        assert railweave("fabric", "import", compute, compute)["switches"] == 40

        # A placement on the real compute fabric: its 119 DGX hosts get 8 GPUs each, no other host gets any.
        dump = str(data / "ib/dgx-h100-ndr.ibnetdiscover.txt")
        railweave("fabric", "import", dump, "--gpus-per-node", "8", "--nvlink-domain", "8")
        assert railweave("fabric", "show")["gpus"] >= 119 * 8
        findings = railweave("fabric", "check")["findings"]
        short = next(finding for finding in findings if finding["code"] == "hostShortOfRail")
        assert len(short["objects"]) == 10 and all(name.startswith("a05-p1-dgx-01-") for name in short["objects"]), short
        railweave("tenants", "put", "research")
        job = railweave("jobs", "submit", "--tenant", "research", "--name", "real", "--tp", "8", "--pp", "4", "--dp", "3")
        ranks = railweave("jobs", "ranks", job["id"], "--all")["items"]
        assert len(ranks) == 96 and len({(rank["node"], rank["gpu"]) for rank in ranks}) == 96
        assert all("dgx" in rank["node"] for rank in ranks)
        for first in range(0, 96, 8):
            assert len({rank["node"] for rank in ranks[first:first + 8]}) == 1, "a tensor group left its NVLink domain"
        placed = railweave("lab", "place", dump, "--gpus-per-node", "8", "--nvlink-domain", "8", "--tp", "8", "--pp", "4",
                           "--dp", "3")
        assert placed["outcome"] == "placed" and [(rank["node"], rank["gpu"]) for rank in placed["ranks"]] == \
            [(rank["node"], rank["gpu"]) for rank in ranks], "lab and service place differently"
        railweave("place", "--tp", "8", "--dp", "500", code=7)
    print(f"{len(KNOWN)} real fabrics as known, one placed job")
    return 0


if __name__ == "__main__":
    sys.exit(main())
