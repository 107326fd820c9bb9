#!/usr/bin/env python3
"""The documentation's site: every page is assembled, each link leads somewhere, each command and operation is in the references; and the
lines of its pages are run, in their order, against a real service. The README is short, and its first screen is what it should be.

docs_test.py BIN_FOLDER pages|site        site: built by MkDocs, from PyPI where it is not in the cache; exit code 77: skipped, and why
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from service import Service  # noqa: E402

BIN = Path(sys.argv[1]).resolve()
DOCS = ROOT / "deploy/docs"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "railweave/docs"
# Lines that are for a machine and its administrator: packages and units.
NOT_HERE = re.compile(r"^(apt|systemctl|railweave login --token-file /var)\b")


def build(output, *words):
    done = subprocess.run([sys.executable, DOCS / "build.py", BIN / "railweave", output, *words], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def lines_of(page):
    for block in re.findall(r"^```\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        yield from (line for line in block.splitlines() if line.strip())


def pages_run():
    """Each page in a folder of its own with a new service; day one goes before what is done on later days."""
    ran = 0
    for name in ("install", "day-one", "operate"):
        with tempfile.TemporaryDirectory(prefix="railweave-docs-") as folder, Service(BIN / "railweaved") as service:
            service.start()
            environment = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}", RAILWEAVE_URL=f"http://127.0.0.1:{service.port}", HOME=folder)

            def run(line, environment=environment, folder=folder):
                done = subprocess.run(["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
                assert done.returncode == 0, f"{name}.md: {line}\n{done.returncode}: {done.stdout}{done.stderr}"
                return done.stdout
            if name == "operate":
                for line in lines_of(DOCS / "pages/day-one.md"):
                    run(line)
            for line in lines_of(DOCS / f"pages/{name}.md"):
                if not NOT_HERE.match(line):
                    run(line)
                    ran += 1
    assert ran > 30, ran
    return ran


def commands():
    """Of the manual pages: each is in the reference."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([BIN / "railweave", "man", "railweave", "--folder", folder], check=True, capture_output=True)
        for file in Path(folder).iterdir():
            found = re.search(r"^\.SH SYNOPSIS\n\\fB(railweave[a-z0-9\\ -]*)\\fR", file.read_text(), re.MULTILINE)
            yield found[1].replace("\\-", "-").strip()


def references(pages):
    reference = (pages / "cli.md").read_text()
    every = set(commands())
    missing = [command for command in every if not re.search(rf"^#+ {re.escape(command)} *$", reference, re.MULTILINE)]
    assert not missing and len(every) > 150, missing
    contract = yaml.load((ROOT / "api/openapi.yaml").read_text(), yaml.CSafeLoader)
    operations = [f"### {method.upper()} {path}" for path, item in contract["paths"].items() for method in item if method in ("get", "put", "post", "patch", "delete")]
    headings = (pages / "rest.md").read_text().splitlines()
    assert set(operations) <= set(headings), set(operations) - set(headings)
    return len(every), len(operations)


def readme():
    text = (ROOT / "README.md").read_text()
    lines = text.splitlines()
    assert len(lines) < 150, len(lines)
    screen = "\n".join(lines[:30])
    assert "make demo" in screen and "make test" in screen and "<picture>" in screen and screen.count("<picture>") == 1, screen
    for link in re.findall(r"\]\(([^)#:]+)\)|(?:src|srcset)=\"([^\"]+)\"", text):
        target = link[0] or link[1]
        assert (ROOT / target).exists(), f"README.md: {target} is not there"


def pages():
    readme()
    with tempfile.TemporaryDirectory(prefix="railweave-docs-") as folder:
        build(folder)
        commands_there, operations = references(Path(folder) / "pages")
    ran = pages_run()
    print(f"{commands_there} commands and {operations} operations in the references; {ran} lines of the pages run")
    return 0


def mkdocs():
    """Its program; None where it cannot be had."""
    wanted = (DOCS / "requirements.txt").read_text()
    if not (CACHE / "installed.txt").exists() or (CACHE / "installed.txt").read_text() != wanted:
        shutil.rmtree(CACHE, ignore_errors=True)
        for words in (["/usr/bin/python3", "-m", "venv", CACHE], [CACHE / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "-r", DOCS / "requirements.txt"]):
            if subprocess.run(words, capture_output=True).returncode != 0:
                return None
        (CACHE / "installed.txt").write_text(wanted)
    return CACHE / "bin/mkdocs"


def site():
    program = mkdocs()
    if program is None:
        print("skipped: MkDocs cannot be installed (python3-venv, PyPI)")
        return 77
    with tempfile.TemporaryDirectory(prefix="railweave-docs-") as folder:
        build(folder, "--mkdocs", program)
        made = Path(folder) / "site"
        built = {str(file.relative_to(made)) for file in made.rglob("*.html")}
        assert {"index.html", "day-one.html", "cli.html", "rest.html", "files/services/slurm/index.html"} <= built, sorted(built)[:50]
        # Whatever a page of its own refers to is on the site, or elsewhere on purpose.
        for page in made.glob("*.html"):
            if page.name == "404.html":  # is served at any path
                continue
            for target in re.findall(r'(?:href|src)="([^"#?]+)', page.read_text()):
                if not re.match(r"[a-z]+:|//", target):
                    assert (page.parent / target).exists(), f"{page.name}: {target} is not there"
        assert "railweave place" in (made / "day-one.html").read_text()
    print(f"{len(built)} pages")
    return 0


if __name__ == "__main__":
    sys.exit({"pages": pages, "site": site}[sys.argv[2]]())
