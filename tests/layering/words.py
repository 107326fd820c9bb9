#!/usr/bin/env python3
"""Refuses the words that GLOSSARY.md lists as not used, in code (identifiers, comments, messages), in the contract and in
documents. A word is found in any spelling of a name: wish, Wish, wish_, read_wish.

words.py ROOT          names each place; exit code 1 if there is one
words.py --self-test   plants each word once and expects it to be refused
"""
import re
import subprocess
import sys
from pathlib import Path

SUFFIXES = (".h", ".cc", ".py", ".sh", ".md", ".yaml", ".sql", ".txt", ".toml", ".example", ".ts", ".tsx", ".go", ".lua")
# Names of the contract and the journal, which callers and stored records use: not ours to change for their wording.
KEPT_NAMES = re.compile(r'"sound\\?"|^ +sound:|engine, sound, pairs|routes\.unsound|placedAnew')
# Lists the words, or keeps what was written under old names; recorded output of other programs is not ours to word.
EXEMPT = ("GLOSSARY.md", "tests/layering/words.py", "tests/fuzz/corpus/", "tests/contract/released/", "web/src/api/")


# Folders whose comments are whole sentences.
PLAIN = ("services/control/live/", "services/webhooks/", "db/postgres/", "db/sqlite/", "fabric/drivers/", "fabric/base/")
FRAGMENT = re.compile(r"//\s*Of (?!course\b)")
LIMIT = re.compile(r"\bkMost(?=[A-Z])")


def banned_words(root):
    table = (root / "GLOSSARY.md").read_text(encoding="utf-8").partition("## Not used")[2]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| ")]
    return {row[1].strip(): row[2].strip() for row in rows if row[1].strip() not in ("not", "")}


def pattern_of(words):
    """Any of the words as a whole word of prose, of snake_case or of CamelCase."""
    lower = "|".join(re.escape(word) for word in words)
    camel = "|".join(re.escape(word.capitalize()) for word in words)
    return re.compile(rf"(?<![A-Za-z])(?:{lower}|{camel})(?![a-z])|(?<=[a-z0-9])(?:{camel})(?![a-z])")


def check_text(path, text, words, pattern):
    for number, line in enumerate(text.splitlines(), 1):
        for match in pattern.finditer(KEPT_NAMES.sub("", line)):
            yield f"{path}:{number}: \"{match[0]}\" is not used here: {words[match[0].lower()]}"
        if path.startswith(PLAIN) and (match := FRAGMENT.search(line)):
            yield f"{path}:{number}: \"{match[0]}\" is not used here: say what it is, and not what it is of"
        if match := LIMIT.search(line):
            yield f"{path}:{number}: \"{match[0]}\" is not used here: kMax"


def check(root):
    words = banned_words(root)
    pattern = pattern_of(words)
    listed = subprocess.run(["git", "-C", str(root), "ls-files"], capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        files = listed.stdout.splitlines()
    else:
        files = [file.relative_to(root).as_posix() for file in root.rglob("*") if file.is_file() and "build" not in file.parts]
    problems = []
    for path in files:
        if path.endswith(SUFFIXES) and not path.startswith(EXEMPT) and (root / path).is_file():
            problems += check_text(path, (root / path).read_text(encoding="utf-8", errors="replace"), words, pattern)
    return problems


def self_test(root):
    words = banned_words(root)
    pattern = pattern_of(words)
    missed = [line for word in words
              for line in (f"// {word} of it", f"// {word.capitalize()} of it", f"int {word.replace(' ', '_')}_left;"[:60], f"read_{word}(x)",
                           f"struct The{word.capitalize()}Of;")
              if not ("_" in line and " " in word) and not list(check_text("a.h", line, words, pattern))]
    innocent = ["always sideways one-way", "soundness resound", "meanders amended commend", "kind kinds", "mischief"]
    missed += [line for line in ("// Of the store.", "int a;  // Of it")
               if not list(check_text("db/sqlite/a.h", line, words, pattern)) or list(check_text("scheduler/a.h", line, words, pattern))]
    missed += [line for line in ("constexpr int kMostBytes = 1;",) if not list(check_text("scheduler/a.h", line, words, pattern))]
    refused = [line for line in innocent if list(check_text("a.h", line, words, pattern))]
    print(f"{len(words)} words; not refused: {missed}; refused wrongly: {refused}")
    return bool(words) and not missed and not refused


def main():
    if sys.argv[1:] == ["--self-test"]:
        return 0 if self_test(Path(__file__).resolve().parents[2]) else 1
    problems = check(Path(sys.argv[1]))
    print("\n".join(problems) if problems else "no word that the glossary bans")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
