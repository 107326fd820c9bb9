#!/usr/bin/env python3
"""The list of the contract's fields is what the contract makes it, and a name that it has not does not compile.

field_names_test.py ROOT COMPILER
"""
import subprocess
import sys
from pathlib import Path

SOURCE = '#include "api/contract/field_name.h"\nconstexpr railweave::api::FieldName kName = {name};\n'


def compiles(root, compiler, name):
    done = subprocess.run([compiler, "-std=c++23", "-fsyntax-only", f"-I{root}", "-x", "c++", "-"], input=SOURCE.format(name=name),
                          capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stderr


def main(root, compiler):
    subprocess.run([sys.executable, Path(root) / "api/contract/generate.py", "--check"], check=True)
    for name in ('"surviveLinkFailure"', '"id"', 'railweave::api::foreign("job_id")'):
        fits, errors = compiles(root, compiler, name)
        assert fits, errors
    for name in ('"surviveLinkFailures"', '"job_id"', '""'):
        fits, errors = compiles(root, compiler, name)
        assert not fits and ("no field of that name" in errors or "throw-expression" in errors), (name, errors)


main(*sys.argv[1:])
