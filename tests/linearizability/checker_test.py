#!/usr/bin/env python3
"""The checker's own tests: histories written by hand, of which it is known whether they are linearizable. 77: no Go."""
import shutil
import subprocess
import sys
from pathlib import Path

if not shutil.which("go"):
    print("Go is not installed: the checker of histories cannot be built")
    sys.exit(77)
sys.exit(subprocess.run(["go", "test", "./..."], cwd=Path(__file__).resolve().parent / "checker", check=False).returncode)
