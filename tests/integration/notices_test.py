#!/usr/bin/env python3
"""NOTICE names every library that a program is linked with, what is compiled in from headers, and every package that the console bundles,
each with a licence that goes with Apache-2.0; and nothing that is not there.

notices_test.py BUILD_FOLDER
"""
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(sys.argv[1]).resolve()
# The C and C++ libraries, whose licences except programs that are linked with them.
OF_THE_COMPILER = {"libc", "libm", "libstdc++", "libgcc_s", "ld-linux-x86-64", "ld-linux-aarch64"}
GOES_WITH = {"MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "BSL-1.0", "Zlib", "PostgreSQL", "ISC", "Unlicense", "CC0-1.0", "public domain", "BSD-2-Clause (or GPL-2.0)",
             "(MIT OR CC0-1.0)"}
HEADERS = {"Boost", "nlohmann/json", "CLI11"}


def linked():
    """Names of libraries without their versions."""
    files = [file for file in (BUILD / "bin").iterdir() if file.is_file()] + list(BUILD.glob("lib/*.so"))
    for file in files:
        done = subprocess.run(["readelf", "-d", file], capture_output=True, text=True)
        yield from (re.sub(r"(-[\d.]+)?\.so.*$", "", name) for name in re.findall(r"NEEDED.*\[(.*)\]", done.stdout))


def bundled():
    for path, package in json.loads((ROOT / "web/package-lock.json").read_text())["packages"].items():
        if path and not any(package.get(word) for word in ("dev", "devOptional", "peer")):
            yield path.rpartition("node_modules/")[2], package["license"]


def main():
    rows = dict(re.findall(r"^  (\S+) {2,}(\S.*)$", (ROOT / "NOTICE").read_text(), re.MULTILINE))
    libraries, packages = set(linked()) - OF_THE_COMPILER, dict(bundled())
    assert libraries <= set(rows), f"linked and not in NOTICE: {sorted(libraries - set(rows))}"
    assert packages.items() <= rows.items(), f"bundled and not in NOTICE: {sorted(packages.items() - rows.items())}"
    assert set(rows) == libraries | set(packages) | HEADERS, f"in NOTICE and not there: {sorted(set(rows) - libraries - set(packages) - HEADERS)}"
    assert set(rows.values()) <= GOES_WITH, f"does not go with Apache-2.0: {set(rows.values()) - GOES_WITH}"
    layering = (ROOT / "tests/layering/layering.py").read_text()
    known = {"nlohmann", "pqxx", "sqlite3", "boost", "infiniband", "slurm", "pugixml", "cjose", "spdlog", "fmt", "CLI", "toml", "yaml-cpp", "openssl", "zlib"}
    known |= {"spawn"}  # of the C library
    named = set(re.findall(r'\(re\.compile\(r"\^\(?([A-Za-z0-9-]+)', layering))
    assert named <= known, f"third-party headers that NOTICE may lack: {named - known}"
    assert "Apache License" in (ROOT / "LICENSE").read_text()[:400] and "Version 2.0" in (ROOT / "LICENSE").read_text()[:400]
    print(f"{len(libraries)} libraries, {len(HEADERS)} of headers, {len(packages)} packages of the console: all named")
    return 0


if __name__ == "__main__":
    sys.exit(main())
