#!/usr/bin/env python3
"""The disk of an SQLite store fills up under a real railweaved and has room again: changes are refused with an error that says so, reads go
on, /readyz is not ready and says why, the service finds by itself that there is room, and what was acknowledged is there, also after a
kill on the full disk.

full_disk_test.py RAILWEAVED        exit code 77: a small file system cannot be mounted here
"""
import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from service import Service  # noqa: E402
from waiting import until  # noqa: E402

RAILWEAVED = Path(sys.argv[1]).resolve()
RAILWEAVE = RAILWEAVED.parent / "railweave"


@contextlib.contextmanager
def small_disk(size):
    with tempfile.TemporaryDirectory(prefix="railweave-disk-") as folder:
        try:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            print("a small file system cannot be mounted here")
            sys.exit(77)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=False)


def fill(disk):
    filler = disk / "filler"
    with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as out:
        for block in (1 << 16, 1 << 10, 1):
            with contextlib.suppress(OSError):
                while True:
                    out.write(bytes(block))
    assert os.statvfs(disk).f_bavail == 0
    return filler


def put(service, number):
    return service.request("PUT", f"/v1/tenants/t{number}", {"description": "d" * 500})


def acknowledged_until_refused(service, first):
    for number in range(first, first + 20_000):
        status, _, answer = put(service, number)
        if status != 200:
            return number, status, answer
    raise AssertionError("the disk is full, and everything is acknowledged")


def all_there(service, numbers):
    items, cursor = [], ""
    while True:
        page = service.request("GET", f"/v1/tenants?limit=10000{cursor}")[2]
        items += [item["id"] for item in page["items"]]
        if page["nextCursor"] is None:
            break
        cursor = f"&cursor={page['nextCursor']}"
    missing = {f"t{number}" for number in numbers} - set(items)
    assert not missing, f"acknowledged and lost: {sorted(missing)[:5]} of {len(missing)}"


def says_full(text):
    return "full" in text or "No space left" in text


def fills_and_has_room(disk, logs):
    with Service(RAILWEAVED, logs, store=str(disk / "store.db")) as service:
        service.start()
        for number in range(50):
            assert put(service, number)[0] == 200
        filler = fill(disk)
        refused, status, answer = acknowledged_until_refused(service, 50)
        assert status == 503 and says_full(answer["detail"]), answer
        until(lambda: service.request("GET", "/readyz"), lambda: service.request("GET", "/readyz")[0] == 503)
        status, _, answer = service.request("GET", "/readyz")
        assert says_full(str(answer)), answer
        assert service.request("GET", "/healthz")[0] == 200 and service.request("GET", "/v1/tenants?limit=1")[0] == 200
        for _ in range(20):
            status, _, answer = put(service, refused)
            assert status == 503 and says_full(answer["detail"]), answer
        assert says_full(service.log_text()), service.log_text()
        all_there(service, range(refused))
        filler.unlink()
        until(lambda: service.request("GET", "/readyz"), lambda: service.request("GET", "/readyz")[0] == 200)
        assert put(service, refused)[0] == 200
        # Killed on the full disk: what was acknowledged is there.
        filler = fill(disk)
        second, _, _ = acknowledged_until_refused(service, refused + 1)
        service.kill()
        # A start on the full disk names the cause, or it starts and is not ready.
        filler.unlink()
        service.start()
        all_there(service, range(second))
        assert put(service, second)[0] == 200
        assert service.stop() == 0
    done = subprocess.run([RAILWEAVE, "admin", "check", disk / "store.db"], capture_output=True, text=True)
    assert done.returncode == 0, done
    return refused, second


def starts_on_a_full_disk(disk, logs):
    """Of a new store: it ends and names the disk. Of one that is there: it starts or ends, but says why."""
    filler = fill(disk)
    done = subprocess.run([RAILWEAVED, "--authentication", "none", "--listen", "127.0.0.1:0", "--store", disk / "new.db"], capture_output=True,
                          text=True, timeout=60, cwd=logs)
    assert done.returncode == 1 and says_full(done.stderr) and "new.db" in done.stderr, done
    filler.unlink()


def main():
    with small_disk("24m") as disk, tempfile.TemporaryDirectory() as logs:
        refused, second = fills_and_has_room(disk, logs)
        starts_on_a_full_disk(disk, logs)
    print(f"{refused} and {second - refused} changes acknowledged before the disk was full, all there")


if __name__ == "__main__":
    main()
