#!/usr/bin/env python3
"""Runs a command and tells whether anything asked a service that it had not started, at the addresses that programs have by default.

decoy.py COMMAND [ARGUMENT ...]

What is free of these addresses is taken: whoever connects is named, and gets no answer for as long as a test may take. Where a
service listens already, as after `make demo`, its own count of requests is read before and after. Exit code: the command's, else 1
where an address was asked.
"""
import os
import re
import socket
import subprocess
import sys
import threading
import urllib.request

TCP = {7470: "railweaved", 6817: "slurmctld", 6818: "slurmd", 5432: "PostgreSQL", 2379: "etcd", 6443: "a Kubernetes API server"}
UNIX = {"/run/railweave.sock": "railweaved"}
asked, held = [], []


def asker(port):
    """The process at the other end of a connection to a port of loopback."""
    inodes = {line.split()[9] for line in open("/proc/net/tcp", encoding="ascii") if line.split()[2].endswith(f":{port:04X}")}
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            for file in os.listdir(f"/proc/{process}/fd"):
                if any(f"socket:[{inode}]" == os.readlink(f"/proc/{process}/fd/{file}") for inode in inodes):
                    return open(f"/proc/{process}/cmdline", encoding="utf-8").read().replace("\0", " ").strip()
        except OSError:
            continue
    return "a process that has ended"


def watch(listener, who, port):
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        held.append(connection)  # open and silent
        asked.append(f"{who} at its default address, by: {asker(port) if port else 'a program'}")


def listen():
    """What could be taken, and the ports where something listens already."""
    listeners, taken = [], []
    for port, who in TCP.items():
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            taken.append(port)
            continue
        listener.listen(64)
        listeners.append((listener, who, port))
    for path, who in UNIX.items():
        if os.path.exists(path) or not os.access(os.path.dirname(path), os.W_OK):
            continue
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        os.chmod(path, 0o666)
        listener.listen(64)
        listeners.append((listener, who, 0))
    for one in listeners:
        threading.Thread(target=watch, args=one, daemon=True).start()
    return listeners, taken


def requests_of_demo():
    """How many requests the service at the default address has answered, this one left out; None where there is none."""
    try:
        with urllib.request.urlopen("http://127.0.0.1:7470/metrics", timeout=10) as answer:
            text = answer.read().decode()
    except OSError:
        return None
    counts = re.findall(r'^railweave_http_requests_total\{([^}]*)\} ([0-9.e+]+)$', text, re.M)
    return sum(int(float(count)) for labels, count in counts if "/metrics" not in labels)


def main():
    listeners, taken = listen()
    before = requests_of_demo() if 7470 in taken else None
    places = ", ".join(f"{who} at {port or 'its socket'}" for _, who, port in listeners)
    print(f"decoys: {places}{'; beside the service at 7470' if before is not None else ''}", flush=True)
    status = subprocess.run(sys.argv[1:]).returncode
    after = requests_of_demo() if before is not None else None
    for listener, _, port in listeners:
        listener.close()
        if not port:
            os.unlink("/run/railweave.sock")
    if before is not None and after != before:
        asked.append(f"the service at 7470, {'which ended' if after is None else f'{after - before} times'}")
    for one in asked:
        print(f"asked: {one}", file=sys.stderr)
    sys.exit(status or (1 if asked else 0))


if __name__ == "__main__":
    main()
