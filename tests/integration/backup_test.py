#!/usr/bin/env python3
"""Every bit of a backup counts: bits all over its file are flipped, one at a time, and restore and check refuse each by the digest
beside it; files that are cut short or longer too. Without the digest they say that bytes were not compared.

backup_test.py BIN_FOLDER [BITS]
"""
import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from service import Service  # noqa: E402

BIN = Path(sys.argv[1])
BITS = int(sys.argv[2]) if len(sys.argv) > 2 else 150


def admin(*words):
    done = subprocess.run([str(BIN / "railweave"), "admin", *map(str, words)], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def refused(backup, folder, what):
    for number, words in enumerate((("restore", backup, "--to", folder / "restored.db"), ("check", backup),
                                    ("copy", "--from", backup, "--to", folder / "restored.db"))):
        if number > 0 and what % 10 != 0:
            break  # restore is what everyone uses; the others take the same way
        code, text = admin(*words)
        assert code != 0 and "is not what was backed up" in text and "take another backup" in text, (what, words, code, text)
        assert not (folder / "restored.db").exists(), (what, words)


def main():
    with tempfile.TemporaryDirectory(prefix="railweave-backup-") as temporary:
        folder = Path(temporary)
        with Service(BIN / "railweaved", folder, store=str(folder / "store.db")).start() as service:
            for number in range(40):
                assert service.request("PUT", f"/v1/tenants/t{number % 5}", {"description": str(number)})[0] in (200, 201)
            backup = folder / "backup.db"
            code, text = admin("backup", folder / "store.db", backup)
            assert code == 0, text
            assert service.stop() == 0
        digest = folder / "backup.db.sha256"
        assert digest.read_text() == f"{hashlib.sha256(backup.read_bytes()).hexdigest()}  backup.db\n"
        subprocess.run(["sha256sum", "--quiet", "-c", digest.name], cwd=folder, check=True)
        assert admin("check", backup)[0] == 0
        whole = backup.read_bytes()

        step = len(whole) * 8 // BITS
        for number, bit in enumerate(range(0, len(whole) * 8, step)):
            flipped = bytearray(whole)
            flipped[bit // 8] ^= 1 << bit % 8
            backup.write_bytes(flipped)
            refused(backup, folder, number)
        for number, other in enumerate((whole[:-1], whole + b"\0", whole[:len(whole) // 2], b"")):
            backup.write_bytes(other)
            refused(backup, folder, number * 10)
        print(f"{BITS} flipped bits of {len(whole)} bytes, and files that are shorter or longer: all refused")

        backup.write_bytes(whole)
        code, text = admin("restore", backup, "--to", folder / "restored.db")
        assert code == 0 and "sha256" not in text, text
        digest.unlink()
        code, text = admin("restore", backup, "--to", folder / "without.db")
        assert code == 0 and "backup.db.sha256 beside it" in text, text
    return 0


if __name__ == "__main__":
    sys.exit(main())
