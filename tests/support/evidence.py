"""What an auditor collects of a live subnet, as files for railweave-verify: changed in memory, signed again, checked."""
import base64
import copy
import hashlib
import json
import subprocess
from pathlib import Path


class Evidence:
    """certificate and fabric are parsed; tables and journal are lists of lines, the journal's parsed; after is {link: dump of tables}."""

    def __init__(self, folder, key):
        self.folder, self.key = Path(folder), Path(key)
        self.fabric = json.loads((self.folder / "fabric.json").read_text())
        self.certificate = json.loads((self.folder / "certificate.json").read_text())
        self.certificate.pop("signature", None)
        self.tables = (self.folder / "tables.txt").read_text().splitlines()
        self.journal = [json.loads(line) for line in (self.folder / "journal.jsonl").read_text().splitlines()]
        listed = (line.rsplit("=", 1) for line in (self.folder / "after.txt").read_text().splitlines())
        self.after = {link: Path(path).read_text() for link, path in listed}
        self.tail = None  # of the certificate's last line, instead of its end
        self.unsealed = set()  # "tables", "journal": as they are, without an end that fits

    def copy(self):
        other = copy.copy(self)
        for name in ("fabric", "certificate", "tables", "journal", "after"):
            setattr(other, name, copy.deepcopy(getattr(self, name)))
        return other

    # --- parts

    def job(self, which):
        return self.certificate["jobs"][which]

    def link_of(self, port):
        return next(link for link in self.certificate["links"] if link["from"] == port)

    def records(self, kind):
        return [line for line in self.journal if line.get("kind") == kind]

    def line(self, start):
        """Where the first line of the tables is that starts so."""
        return next(at for at, line in enumerate(self.tables) if line.startswith(start))

    def change(self, start, how):
        at = self.line(start)
        self.tables[at] = how(self.tables[at])

    # --- as files

    def digest(self):
        """Of the tables' entries, as certificate.md defines it."""
        def fnv1a64(words):
            value = 0xcbf29ce484222325
            for word in words:
                value = (value ^ word) * 0x100000001b3 % 2**64
            return value

        entries = {}
        for line in self.tables:
            words = line.split()
            if words[0] == "switch":
                entries.setdefault(int(words[1], 16), [])
            elif words[0] == "lft":
                entries.setdefault(int(words[1], 16), []).append(int(words[2]) << 16 | int(words[3]))
        return format(fnv1a64(word for guid in sorted(entries) for word in (guid, fnv1a64(sorted(entries[guid])))), "016x")

    def write(self, folder, key=None, signed=True):
        folder = Path(folder)
        (folder / "fabric.json").write_text(json.dumps(self.fabric))
        if "tables" not in self.unsealed:
            lines = self.tables[1:-1]
            of_switch = {}
            for line in lines:
                words = line.split()
                if words[0] == "lft":
                    of_switch[words[1]] = of_switch.get(words[1], 0) + 1
            lines = [f"switch {line.split()[1]} {of_switch.get(line.split()[1], 0)}" if line.startswith("switch ") else line for line in lines]
            (folder / "tables.txt").write_text("\n".join([self.tables[0], *lines, f"end {len(lines)}"]) + "\n")
        else:
            (folder / "tables.txt").write_text("\n".join(self.tables) + "\n")
        if "journal" not in self.unsealed:
            journal = self.journal[:-1]
            text = "".join(json.dumps(line) + "\n" for line in journal)
            end = {"end": max([line["seq"] for line in journal if "seq" in line], default=journal[0]["afterSeq"]),
                   "sha256": hashlib.sha256(text.encode()).hexdigest()}
            text = text.replace(f'"lastSeq": {journal[0]["lastSeq"]}', f'"lastSeq": {end["end"]}', 1)
            end["sha256"] = hashlib.sha256(text.encode()).hexdigest()
            (folder / "journal.jsonl").write_text(text + json.dumps(end) + "\n")
        else:
            (folder / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in self.journal))
        lines = []
        for number, (link, text) in enumerate(self.after.items()):
            path = folder / f"after-{number}.fdbs"
            path.write_text(text)
            lines.append(f"{link}={path}\n")
        (folder / "after.txt").write_text("".join(lines))
        certificate = json.dumps(self.certificate)
        if not signed:
            (folder / "certificate.json").write_text(certificate + "\n")
            return
        body = certificate[:-1] + ",\n"
        (folder / "signed").write_text(body)
        done = subprocess.run(["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", str(key or self.key), "-in", str(folder / "signed"),
                               "-out", str(folder / "signature")], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        public = subprocess.run(["openssl", "pkey", "-in", str(key or self.key), "-pubout", "-outform", "DER"], capture_output=True, check=True).stdout
        value = {"algorithm": "ed25519", "key": hashlib.sha256(public[-32:]).hexdigest(), "value": base64.b64encode((folder / "signature").read_bytes()).decode()}
        (folder / "certificate.json").write_text(body + '"signature":' + json.dumps(value) + (self.tail or "}") + "\n")


def verify(binaries, folder, public_key, *more):
    """(exit code, what railweave-verify says)"""
    folder = Path(folder)
    done = subprocess.run([str(Path(binaries) / "railweave-verify"), *(str(folder / name) for name in ("fabric.json", "tables.txt", "certificate.json")),
                           "--journal", str(folder / "journal.jsonl"), "--after-list", str(folder / "after.txt"), "--public-key", str(public_key), *more],
                          capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr
