#!/usr/bin/env python3
"""Lists of more lines than a terminal is for: a person gets the first page, with how many there are, and a pipe gets all.

long_lists_test.py BIN_FOLDER [--whole]
With --whole on 12,800 hosts, whose 413,696 links take a while to read; else on a fabric of some thousand.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import terminal  # noqa: E402
from service import Service  # noqa: E402

BIN = Path(sys.argv[1])
WHOLE = "--whole" in sys.argv[2:]
ON_TERMINAL = 1000  # lines that a person is shown
FIRST_S = 20 if WHOLE else 10  # until the first page is there, beside other work


def railweave(service, *arguments, **options):
    environment = dict(os.environ, RAILWEAVE_URL=f"http://127.0.0.1:{service.port}", NO_COLOR="1", TERM="xterm")
    return subprocess.run([BIN / "railweave", *arguments], env=environment, timeout=600, **options)


def on_terminal(service, *arguments):
    """What a terminal gets, and how soon its first line."""
    environment = dict(os.environ, RAILWEAVE_URL=f"http://127.0.0.1:{service.port}", NO_COLOR="1", TERM="xterm")
    text, first, whole = terminal.on_terminal([BIN / "railweave", *arguments], environment, seconds=600)
    return text.splitlines(), first, whole


def main():
    with tempfile.TemporaryDirectory(prefix="railweave-long-lists-") as name, Service(BIN / "railweaved") as service:
        fabric = Path(name) / "fabric.json"
        shape = ["gpus-100k"] if WHOLE else ["rail-optimized", "--hosts", "128", "--rails", "8"]
        subprocess.run([BIN / "railweave", "lab", "generate", *shape, "-O", str(fabric)], check=True, capture_output=True, timeout=600)
        service.start()
        railweave(service, "fabric", "import", str(fabric), check=True, capture_output=True)
        piped = railweave(service, "links", "list", "-o", "name", check=True, capture_output=True, text=True).stdout.splitlines()
        # Cables, and a link of each GPU into its NVLink domain.
        there = len(json.loads(fabric.read_text())["links"]) + service.request("GET", "/v1/fabric")[2]["gpus"]
        assert len(piped) == len(set(piped)) == there > 2 * ON_TERMINAL, (len(piped), there)
        lines, first, whole = on_terminal(service, "links", "list")
        assert lines[-1] == f"the first {ON_TERMINAL} of {len(piped)} (--limit 0 shows all)", lines[-1]
        assert 0 < len([line for line in lines if "--" in line]) <= ON_TERMINAL + 1, len(lines)
        assert first < FIRST_S, f"the first line after {first:.1f} s"
        few, _, _ = on_terminal(service, "links", "list", "--limit", "3")
        assert few[-1] == "the first 3; there are more (--limit 0 shows all)", few[-1]
        document = json.loads(railweave(service, "links", "list", "--limit", "5", "-o", "json", check=True, capture_output=True, text=True).stdout)
        assert len(document["items"]) == 5 and document["nextCursor"], "a document says where it goes on"
    print(f"{len(piped)} links: {ON_TERMINAL} on a terminal, the first line after {first:.2f} s, the count after {whole:.2f} s; all in a pipe")
    return 0


if __name__ == "__main__":
    sys.exit(main())
