#!/usr/bin/env python3
"""What failed tests of the last run of CTest printed at their end, where the run's own output is too long to be read.

failed_output.py BUILD [LINES]
"""
import re
import sys
from pathlib import Path


def main():
    folder = Path(sys.argv[1]) / "Testing/Temporary"
    lines = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    failed = (folder / "LastTestsFailed.log").read_text().split() if (folder / "LastTestsFailed.log").exists() else []
    names = {line.split(":", 1)[1] for line in failed}
    parts = re.split(r"^\d+/\d+ Test: ", (folder / "LastTest.log").read_text(errors="replace"), flags=re.MULTILINE)
    for part in parts[1:]:
        name = part.split("\n", 1)[0]
        if name not in names:
            continue
        output = part.split("Output:\n", 1)[-1].split("<end of output>", 1)[0].splitlines()[1:]
        print(f"== {name}, its last {min(lines, len(output))} lines", *output[-lines:], sep="\n")


if __name__ == "__main__":
    main()
