#!/usr/bin/env python3
"""The client for C++ as a package of CMake: installed into a folder that is then moved, found by find_package(), and the program of its
page is built against it and asks a real service for a placement.

client_package_test.py BUILD_FOLDER COMPILER
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from ports import free_ports  # noqa: E402
from service import Service  # noqa: E402

BUILD = Path(sys.argv[1]).resolve()
COMPILER = sys.argv[2]


def run(*command, code=0, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=200, **options)
    assert done.returncode == code, (command, done.returncode, done.stdout[-2000:], done.stderr[-3000:])
    return done


def page(kind):
    return re.search(rf"^```{kind}\n(.*?)^```$", (ROOT / "api/client/README.md").read_text(), re.DOTALL | re.MULTILINE)[1]


def installed(folder):
    """What is installed names no folder of the build, and no header that is not beside it."""
    run("cmake", "--install", BUILD, "--component", "railweave-dev", "--prefix", folder / "first")
    prefix = folder / "second"
    (folder / "first").rename(prefix)
    headers = sorted((prefix / "include/railweave").rglob("*.h"))
    assert len(headers) >= 9, headers
    for header in headers:
        for name in re.findall(r'#include "([^"]+)"', header.read_text()):
            assert (prefix / "include/railweave" / name).is_file(), f"{header} includes {name}"
    for config in prefix.rglob("*.cmake"):
        text = config.read_text()
        assert str(ROOT) not in text and str(BUILD) not in text and str(folder) not in text, text
    archives = list(prefix.rglob("librailweave_client.a"))
    assert len(archives) == 1 and (prefix / "share/doc/railweave-dev/copyright").is_file(), archives
    return prefix


def built(folder, prefix):
    source = folder / "source"
    source.mkdir()
    lists = page("cmake")
    (source / "CMakeLists.txt").write_text(lists)
    (source / "place.cc").write_text(page("cpp"))
    configure = ["cmake", "-S", source, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={COMPILER}"]
    run(*configure, "-B", folder / "build")
    run("cmake", "--build", folder / "build")
    # Another minor version is not found.
    (source / "CMakeLists.txt").write_text(lists.replace("find_package(railweave 0.1", "find_package(railweave 0.9"))
    refused = run(*configure, "-B", folder / "other", code=1)
    assert "0.9" in refused.stderr, refused.stderr
    return folder / "build/place"


def main():
    with tempfile.TemporaryDirectory(prefix="railweave-package-") as name:
        folder = Path(name)
        program = built(folder, installed(folder))
        service = Service(BUILD / "bin/railweaved", authentication="tokens").start()
        try:
            url = f"http://127.0.0.1:{service.port}"
            token = next(service.folder.glob("*.admin-token")).read_text().strip()
            environment = {**os.environ, "RAILWEAVE_TOKEN": token}
            railweave = [BUILD / "bin/railweave", "--server", url]
            fabric = folder / "fabric.json"
            run(*railweave, "lab", "generate", "rail-optimized", "--hosts", "4", "-O", fabric)
            run(*railweave, "fabric", "import", fabric, env=environment)
            run(*railweave, "tenants", "set", "research", env=environment)
            answer = json.loads(run(program, url, env=environment).stdout)
            assert answer["outcome"] == "placed" and answer["placement"]["nodesUsed"] == 2, answer
            # An answer of another status is an answer; no answer is an error that says where.
            problem = json.loads(run(program, url, code=1, env={**os.environ, "RAILWEAVE_TOKEN": "none"}).stdout)
            assert problem["status"] == 401, problem
        finally:
            service.stop()
        away = run(program, f"http://127.0.0.1:{free_ports(1)[0]}", code=1)
        assert "connect" in away.stderr, away.stderr
        assert run(program, "ftp://x", code=2).stderr
    print(f"built against the installed package; placed on {answer['placement']['nodesUsed']} nodes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
