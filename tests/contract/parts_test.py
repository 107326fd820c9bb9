#!/usr/bin/env python3
"""Groups of the contract's cases pass without the others, alone and by a few at random: what CI takes of them under sanitizers.

parts_test.py RAILWEAVED LIVE_SERVICE OPENAPI_YAML [--seed 1]
"""
import argparse
import random
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
DRAWS = 5


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs=3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    groups = re.findall(r"^import (\w+_cases) ", (HERE / "contract_test.py").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(groups) > 20, groups
    draw = random.Random(options.seed)
    parts = [[group] for group in groups] + [draw.sample(groups, draw.randint(2, len(groups) // 4)) for _ in range(DRAWS)]
    failed = 0
    for part in parts:
        done = subprocess.run([sys.executable, HERE / "contract_test.py", *options.words, "--only", ",".join(part)],
                              capture_output=True, text=True, check=False)
        print(f"{' '.join(part)}: {done.stdout.strip().splitlines()[-1] if done.returncode == 0 else done.stdout + done.stderr}", flush=True)
        failed += done.returncode != 0
    print(f"{len(parts) - failed} of {len(parts)} parts pass, seed {options.seed}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
