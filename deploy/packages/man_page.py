#!/usr/bin/env python3
"""Prints the manual page of a program, made of its --help, which says the same: what it is, its usage, and its options.

man_page.py PROGRAM SECTION
"""
import re
import subprocess
import sys
from pathlib import Path

SECTIONS = {"1": "User Commands", "8": "System Administration"}
# Of programs whose help is their usage alone.
ABOUT = {"railweave-verify": "check a certificate of a guarantee without the service that made it",
         "railweaved": "fabric manager and job-aware scheduler for AI clusters"}
SEE = {"railweaved": ["railweave(1)"], "railweave-slurm": ["railweaved(8)", "railweave(1)"], "railweave-verify": ["railweave-guarantees-verify(1)", "railweaved(8)"]}


def escaped(text):
    return re.sub(r"^([.'])", r"\\&\1", text.replace("\\", "\\e").replace("-", "\\-"), flags=re.MULTILINE)


def page(program, section):
    name = Path(program).name
    done = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=30)
    text = (done.stdout or done.stderr).strip()
    version = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30).stdout.strip().removeprefix(name).strip()
    about, _, rest = text.partition("Usage: " if "Usage: " in text else "usage: ")
    usage, _, options = rest.partition("\n")
    about = ABOUT.get(name) or about.strip().partition("\n")[0].rstrip(".")
    out = [f'.TH {escaped(name).upper()} {section} "" "Railweave {version}" "{SECTIONS[section]}"', ".SH NAME", f"{escaped(name)} \\- {escaped(about)}",
           ".SH SYNOPSIS", escaped(usage)]
    options = options.strip("\n")
    if options:
        out += [".SH DESCRIPTION", ".nf", escaped(options), ".fi"]
    out += [".SH SEE ALSO", ",\n".join(re.sub(r"(.+)(\(\d\))", lambda found: f".BR {escaped(found[1])} {found[2]}", one) for one in SEE[name]).replace(",\n", " ,\n")]
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    print(page(sys.argv[1], sys.argv[2]), end="")
