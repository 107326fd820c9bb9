#!/usr/bin/env python3
"""Assembles the documentation's pages and builds the site: the pages of this folder, every Markdown page of the tree at files/PATH, and
references of the command line and of the REST API, made of the program and of the contract.

build.py RAILWEAVE OUTPUT [--mkdocs PROGRAM]      without a PROGRAM the pages alone
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "api"), str(ROOT / "api/python")]
import event_data  # noqa: E402
import generate  # noqa: E402

LINK = re.compile(r"(?<!!)\[([^\]\n]*)\]\(([^)\s]+)\)")


def tracked():
    done = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True)
    if done.returncode == 0:
        return set(done.stdout.split("\n")) - {""}
    return {str(file.relative_to(ROOT)) for file in ROOT.rglob("*") if file.is_file() and not {"build", "node_modules", ".git"} & set(file.relative_to(ROOT).parts)}


def lists_apart(text):
    """A list that follows a line of text, which this Markdown takes for more of that line."""
    return re.sub(r"^((?![-|> ]|\d+\. |#).*\S.*\n)(?=(?:- |1\. ))", r"\1\n", text, flags=re.MULTILINE)


class Pages:
    def __init__(self, output):
        self.output, self.tracked = output, tracked()
        shutil.rmtree(output, ignore_errors=True)
        output.mkdir(parents=True)
        self.problems = []

    def target(self, page, link):
        """Where a link of a page of the tree leads on the site; None: nowhere, as it is a folder, or not of this tree."""
        path, _, anchor = link.partition("#")
        wanted = os.path.normpath(os.path.join(os.path.dirname(page), path))
        for known in (wanted, f"{wanted}/README.md"):
            if known in self.tracked:
                self.copy(known)
                return os.path.relpath(known, os.path.dirname(page) or ".") + (f"#{anchor}" if anchor else "")
        if not any(one.startswith(f"{wanted}/") for one in self.tracked):
            self.problems.append(f"{page}: {link} leads to nothing")
        return None

    def copy(self, file):
        place = self.output / "files" / file
        if file.endswith(".md") or place.exists():
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, place)

    def tree(self):
        for page in sorted(one for one in self.tracked if one.endswith(".md") and not one.startswith("deploy/docs/") and (ROOT / one).exists()):
            place = self.output / "files" / page
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(self.rewritten(page, (ROOT / page).read_text()))

    def rewritten(self, page, text):
        def replace(found):
            words, link = found[1], found[2]
            if re.match(r"[a-z]+:|#", link):
                return found[0]
            target = self.target(page, link)
            return f"[{words}]({target})" if target else words
        parts = re.split(r"(^```.*?^```)", text, flags=re.MULTILINE | re.DOTALL)
        text = "".join(part if part.startswith("```") else lists_apart(LINK.sub(replace, part)) for part in parts)
        # Pictures.
        for picture in re.findall(r'(?:src|srcset)="([^":]+)"', text):
            self.target(page, picture)
        return text

    def own(self):
        for page in sorted((HERE / "pages").glob("*.md")):
            text = page.read_text()
            for _, link in LINK.findall(text):
                path = link.partition("#")[0]
                if link.startswith("files/") and path.removeprefix("files/") not in self.tracked:
                    self.problems.append(f"{page.name}: {link} leads to nothing")
            (self.output / page.name).write_text(text)


def command_line(railweave):
    """Each command's --help, in the order of `railweave --help`."""
    def helped(*words):
        return subprocess.run([railweave, *words, "--help"], capture_output=True, text=True, timeout=30, check=True).stdout

    def below(words, text):
        found = []
        for group in re.findall(r"^(?:[A-Z][A-Za-z ]*):\n((?: +\S.*\n?)+)", text, re.MULTILINE):
            found += [name for name in re.findall(r"^  ([a-z][a-z0-9-]*) {2,}\S", group, re.MULTILINE)]
        return [name for name in found if subprocess.run([railweave, *words, name, "--help"], capture_output=True).returncode == 0] if "COMMAND" in text else []

    out = ["# Command line\n\n`railweave COMMAND --help` says the same. Exit codes and environment are at the end of the first page; "
           "[examples of all](files/services/railweave/README.md).\n"]

    def add(words):
        text = helped(*words)
        # Options that every command has are said once.
        shown = text if len(words) < 1 else text.partition("Options of every command:")[0] + text.partition("Options of every command:")[2].partition("\n\n")[2]
        out.append(f"{'#' * min(len(words) + 2, 4)} railweave {' '.join(words)}\n\n```\n{shown.strip()}\n```\n")
        for name in below(words, text):
            add([*words, name])
    add([])
    return "\n".join(out)


def cell(text):
    return " ".join(str(text).split()).replace("|", "\\|")


def rest(contract):
    def at(one):
        return generate.resolved(contract, one)

    def named(schema):
        return schema["$ref"].rpartition("/")[2] if "$ref" in schema else schema.get("type", "")
    out = [f"# REST API\n\nVersion {contract['info']['version']}, made of [api/openapi.yaml](files/api/openapi.yaml), which `GET /openapi.yaml` serves.\n",
           re.sub(r"^# ", "## ", lists_apart(contract["info"].get("description", "")), flags=re.MULTILINE)]
    for tag in contract.get("tags", []):
        out.append(f"\n## {tag['name']}\n\n{tag.get('description', '')}\n")
        for path, item in contract["paths"].items():
            for method in ("get", "put", "post", "patch", "delete"):
                operation = item.get(method)
                if not operation or tag["name"] not in operation.get("tags", []):
                    continue
                out.append(f"\n### {method.upper()} {path}\n\n{operation['summary']}. *{operation['operationId']}*; "
                           f"for {', '.join(operation.get('x-roles', ['every caller']))}.\n\n{lists_apart(operation.get('description', ''))}\n")
                parameters = [at(one) for one in [*item.get("parameters", []), *operation.get("parameters", [])]]
                if parameters:
                    out.append("\n| parameter | in | |\n|---|---|---|\n" + "".join(
                        f"| `{one['name']}`{' (required)' if one.get('required') else ''} | {one['in']} | {cell(one.get('description', ''))} |\n" for one in parameters))
                body = at(operation.get("requestBody", {}))
                for media, one in body.get("content", {}).items():
                    out.append(f"\nBody: `{media}`, {named(one.get('schema', {}))}\n")
                good = [f"{status} {cell(at(one).get('description', ''))}" for status, one in operation["responses"].items() if status < "3"]
                out.append("\nAnswers: " + "; ".join(good) + "\n")
                codes = [code for several in operation.get("x-codes", {}).values() for code in several]
                if codes:
                    out.append("\nRefusals of its own: " + ", ".join(f"`{code}`" for code in codes) + "\n")
    return "\n".join(out)


def events(contract):
    """Each kind, who is shown it, and what its data is."""
    readers = {"observers": "viewers, operators, administrators", "observersAndTenant": "viewers, operators, administrators, the tenant's members",
               "operatorsAndTenant": "operators, administrators, the tenant's members", "administrators": "administrators"}
    out = ["# Events\n\nWhat `GET /v1/events`, its stream and webhooks tell, made of [api/openapi.yaml](files/api/openapi.yaml). "
           "A field with ? is not in all of them; more fields may come, and readers ignore what they do not know.\n\n"
           "| type | what happened | data | shown to |\n|---|---|---|---|\n"]
    for kind, rules in contract["x-events"].items():
        data = "; ".join(f"`{name}{'' if always else '?'}` {cell(text).rstrip('.')}".rstrip() for name, always, text in event_data.fields_of(contract, kind))
        out.append(f"| `{kind}` | {cell(rules['what'])} | {data} | {readers[rules['for']]} |\n")
    return "".join(out)


def main():
    railweave, output = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    pages = Pages(output / "pages")
    pages.own()
    pages.tree()
    (pages.output / "cli.md").write_text(command_line(railweave))
    contract = yaml.load((ROOT / "api/openapi.yaml").read_text(), yaml.CSafeLoader)
    pages.copy("api/openapi.yaml")
    (pages.output / "rest.md").write_text(rest(contract))
    (pages.output / "events.md").write_text(events(contract))
    if pages.problems:
        print("\n".join(pages.problems))
        return 1
    if sys.argv[3:4] == ["--mkdocs"]:
        settings = yaml.safe_load((HERE / "mkdocs.yml").read_text()) | {"docs_dir": str(pages.output), "site_dir": str(output / "site")}
        settings["nav"] += [{"Command line": "cli.md"}, {"REST API": "rest.md"}, {"Events": "events.md"}]
        (output / "mkdocs.yml").write_text(yaml.safe_dump(settings, sort_keys=False))
        done = subprocess.run([sys.argv[4], "build", "--quiet", "--clean", "--config-file", output / "mkdocs.yml"], capture_output=True, text=True)
        if done.returncode != 0:
            print(done.stderr[-4000:])
            return 1
        print(f"{output / 'site' / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
