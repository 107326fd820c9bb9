#!/usr/bin/env python3
"""The version is said in CMakeLists.txt, from where programs and packages have it. What cannot read it from there has to say the same:
the contract, the console, the chart, tags of images, and the newest heading of CHANGELOG.md.

versions.py ROOT          names each place that says another; exit code 1 if there is one
versions.py --self-test   plants another version in each and expects it to be named
"""
import re
import shutil
import sys
import tempfile
from pathlib import Path

SOURCE = "CMakeLists.txt"
# File -> where in it: each of them has to be there.
PLACES = {
    "api/openapi.yaml": r"^  version: (\S+)$",
    "web/package.json": r'^  "version": "([^"]+)"',
    "deploy/helm/railweave/Chart.yaml": r"^(?:version|appVersion): (\S+)$",
    "deploy/containers/compose.yaml": r"image: railweaved:(\S+)$",
    "deploy/containers/railweaved.Dockerfile": r"-t railweaved:(\S+) ",
    "deploy/containers/railweave-kubernetes.Dockerfile": r"-t railweave-kubernetes:(\S+) ",
}
HEADING = r"^## (\d\S*)"


def version_of(root):
    return re.search(r"^project\(railweave VERSION (\d+\.\d+\.\d+) ", (root / SOURCE).read_text(), re.MULTILINE)[1]


def check(root):
    version = version_of(root)
    for file, pattern in PLACES.items():
        found = re.findall(pattern, (root / file).read_text(), re.MULTILINE)
        if not found:
            yield f"{file}: no version is found in it"
        for other in set(found) - {version}:
            yield f"{file}: says {other}, and {SOURCE} {version}"
    newest = re.search(HEADING, (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    if not newest or newest[1] != version:
        yield f"CHANGELOG.md: its newest heading is not {version}"


def self_test(root):
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name)
        for file in (*PLACES, SOURCE, "CHANGELOG.md"):
            (copy / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / file, copy / file)
        assert not list(check(copy)), list(check(copy))
        for file, pattern in (*PLACES.items(), ("CHANGELOG.md", HEADING)):
            text = (copy / file).read_text()
            found = re.search(pattern, text, re.MULTILINE)
            (copy / file).write_text(text[:found.start(1)] + "9.9.9" + text[found.end(1):])
            assert any(said.startswith(file) for said in check(copy)), f"another version in {file} is not named"
            (copy / file).write_text(text)
    print(f"{len(PLACES) + 1} planted versions named")


def main():
    here = Path(__file__).resolve().parents[2]
    if sys.argv[1:] == ["--self-test"]:
        self_test(here)
        return 0
    problems = list(check(Path(sys.argv[1] if sys.argv[1:] else here)))
    print("\n".join(problems) or f"{version_of(here)} everywhere")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
