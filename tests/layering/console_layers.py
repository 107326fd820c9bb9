#!/usr/bin/env python3
"""Reads every import of the console and reports those that go up its layers: app > views > parts > api > model. What is of the contract's
types alone (`import type` of api) may be anywhere. Exit code 1 if any does.

console_layers.py ROOT            checks a tree
console_layers.py --self-test     plants an import of every layer from every other
"""
import re
import sys
from pathlib import Path, PurePosixPath

LAYERS = ["model", "api", "parts", "views", "app"]  # each may import those before it
IMPORT = re.compile(r"(import type\b[^'\"]*?|import\b[^'\"]*?|export\b[^'\";]*?\bfrom\s*|import\()\s*['\"](\.[^'\"]+)['\"]")


def check_file(path, text):
    """path: below web/src."""
    own = PurePosixPath(path).parts[0]
    if own not in LAYERS:
        yield f"{path}: {own} is no layer; they are {', '.join(LAYERS)}"
        return
    for kind, target in IMPORT.findall(text):
        parts = list(PurePosixPath(path).parent.parts)
        for word in PurePosixPath(target).parts:
            parts = parts[:-1] if word == ".." else parts + ([] if word == "." else [word])
        other = parts[0] if parts else ""
        if other not in LAYERS or (other == "api" and kind.startswith("import type")):
            continue
        if LAYERS.index(other) > LAYERS.index(own):
            yield f"{path}: {own} must not import {other} ({target})"


def check(root):
    source = root / "web/src"
    return [problem for file in sorted(source.rglob("*")) if file.suffix in (".ts", ".tsx") and file.parent != source
            for problem in check_file(file.relative_to(source).as_posix(), file.read_text(encoding="utf-8"))]


def self_test():
    missed = []
    for below, own in enumerate(LAYERS):
        for above, other in enumerate(LAYERS):
            for text in (f"import {{ a }} from '../{other}/b';", f"export {{ a }} from '../{other}/b';", f"const a = await import('../{other}/b');"):
                if bool(list(check_file(f"{own}/a.ts", text))) != (above > below):
                    missed.append(f"{own}: {text}")
    missed += ["import type"] if list(check_file("model/a.ts", "import type { A } from '../api/client';")) else []
    missed += [] if list(check_file("model/deep/a.ts", "import { A } from '../../api/client';")) else ["a folder below"]
    missed += [] if list(check_file("novel/a.ts", "")) else ["a folder that is no layer"]
    return missed


def main():
    problems = self_test() if sys.argv[1:] == ["--self-test"] else check(Path(sys.argv[1]))
    print("\n".join(problems), end="\n" if problems else "", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
