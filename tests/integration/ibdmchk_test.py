#!/usr/bin/env python3
"""ibdmchk (ibutils) on the tables and links that `railweave lab route` writes: an independent check of every route.

ibdmchk_test.py RAILWEAVE SHARED_DATA     exit code 77: skipped, and why
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

GENERATED = [
    ["fat-tree", "--radix", "8", "--hosts", "32", "--nics-per-host", "1"],
    ["fat-tree", "--tiers", "3", "--radix", "8", "--hosts", "128", "--nics-per-host", "1"],
    ["fat-tree", "--radix", "16", "--hosts", "96", "--nics-per-host", "1", "--oversubscription", "2"],
]
FILES = ["ibsim/4-ary-3-tree.net", "ibsim/12-ary-2-tree.net", "ibsim/part-4-ary-3-tree.net", "ibsim/IS3-128.net",
         "ib/psmn-x5.ibnetdiscover.txt", "ib/loginoff.ibnetdiscover.txt", "ib/k-4-n-3-full.ibnetdiscover.txt"]


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120, errors="replace")


def check(railweave, fabric, folder, *options):
    """The faults, as text; "": none."""
    fdbs, subnet = folder / "opensm.fdbs", folder / "opensm-subnet.lst"
    multicast = folder / "opensm.mcfdbs"
    multicast.write_text("")
    routed = run(railweave, "lab", "route", fabric, "--write-fdbs", fdbs, "--write-subnet", subnet, *options)
    if routed.returncode != 0:
        return "lab route: " + routed.stderr
    # It may crash after printing: what it printed counts.
    said = run("ibdmchk", "-s", subnet, "-f", fdbs, "-m", multicast)
    text = said.stdout + said.stderr
    scanned = re.search(r"Scanned:(\d+) CA to CA paths", text)
    if not scanned or int(scanned[1]) == 0:
        return "ibdmchk scanned no paths:\n" + text[-2000:]
    problems = [line for line in text.splitlines() if line.startswith("-E-") or "-E-" in line]
    if "no credit loops found" not in text:
        problems += ["it does not say that there are no credit loops: " + text[-500:]]
    return "\n".join(problems[:10])


def main(railweave, shared):
    if not shutil.which("ibdmchk"):
        print("skipped: ibdmchk is not installed (Debian package ibutils)")
        return 77
    failures, checked = [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fabrics = []
        for number, arguments in enumerate(GENERATED):
            path = folder / f"generated-{number}.json"
            made = run(railweave, "lab", "generate", *arguments, "-O", path)
            if made.returncode != 0:
                failures.append(f"{arguments}: {made.stderr}")
            fabrics.append((" ".join(arguments), path))
        for file in FILES:
            if (shared / file).exists():
                fabrics.append((file, shared / file))
            else:
                print(f"skipped: {file} is absent from {shared}")
        for label, path in fabrics:
            for options in ([], ["--fail-random", "2", "--seed", "5"]):
                problem = check(railweave, path, folder, *options)
                checked += 1
                print(f"{'FAILED' if problem else 'ok':7}{label} {' '.join(options)}")
                if problem:
                    failures.append(f"{label} {options}:\n{problem}")
        # Negative control: one changed entry must be reported.
        label, path = fabrics[0]
        check(railweave, path, folder)
        fdbs = folder / "opensm.fdbs"
        corrupt = re.sub(r"(0x[0-9A-F]{4} : )00[5-8]( )", r"\g<1>001\2", fdbs.read_text(), count=1)
        assert corrupt != fdbs.read_text(), "nothing to corrupt"
        fdbs.write_text(corrupt)
        said = run("ibdmchk", "-s", folder / "opensm-subnet.lst", "-f", fdbs, "-m", folder / "opensm.mcfdbs")
        if "-E-" not in said.stdout + said.stderr:
            failures.append("ibdmchk did not notice a corrupt entry, so it proves nothing:\n" + said.stdout[-1500:])
    for failure in failures:
        print(failure)
    print(f"{checked} checked, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
