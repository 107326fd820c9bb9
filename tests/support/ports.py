"""Ports of this machine for programs that must be told one: below those that the kernel gives to connections (which would
take a port between its choice here and its use), and no two tests that run at once are given the same."""
import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path

FIRST, LAST = 12000, 32000
HELD = []  # open files: the kernel releases their locks when the test ends, however it ends


def claimed(port):
    folder = Path(tempfile.gettempdir()) / f"railweave-ports-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    lock = open(folder / str(port), "w", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("0.0.0.0", port))
    except OSError:
        lock.close()
        return False
    HELD.append(lock)
    return True


def free_ports(count):
    """Ports that stay this test's until it ends."""
    found = []
    for port in random.sample(range(FIRST, LAST), LAST - FIRST):
        if claimed(port):
            found.append(port)
        if len(found) == count:
            return found
    raise OSError(f"no {count} ports are free between {FIRST} and {LAST}")
