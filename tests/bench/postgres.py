#!/usr/bin/env python3
"""Appends to PostgreSQL beside pgbench, which sends the same bytes: postgres.py FOLDER-OF-PROGRAMS [SECONDS]

Both are measured in turns, because disks drift, each with one connection that waits for every commit. pgbench inserts rows of the
same length, whose bytes it sends as parameters of a prepared statement; it checks no lease and keeps no index but the key.
"""
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from postgres_server import Server  # noqa: E402

ROUNDS = 3
PAYLOAD = 600


def pgbench(server, batch, seconds):
    # A word of a command line holds 128 kB: the rows come in variables of 64.
    sizes = [min(64, batch - start) for start in range(0, batch, 64)]
    variables = [f"rows{i}=" + ",".join(["{" * PAYLOAD] * size) for i, size in enumerate(sizes)]
    rows = " union all ".join(f"select unnest(string_to_array(:rows{i}, ','))" for i in range(len(sizes)))
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(f"insert into rows (kind, payload) select 'job.placed', r from ({rows}) u (r);\n")
        script.flush()
        done = subprocess.run([server.bin / "pgbench", "-n", "-M", "prepared", "-c", "1", "-T", str(seconds), "-f", script.name,
                               *[word for variable in variables for word in ("-D", variable)], server.url + "bench"],
                              capture_output=True, text=True, check=True)
    return float(re.search(r"tps = ([0-9.]+)", done.stdout).group(1))


def main():
    programs = pathlib.Path(sys.argv[1])
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    server = Server.make(["shared_buffers = 256MB", "max_wal_size = 4GB"], folder="/var/tmp")
    server.start()
    try:
        psql = [server.bin / "psql", "-q", server.url + "postgres", "-c"]
        subprocess.run([*psql, "create database bench template template0"], check=True)
        psql[2] = server.url + "bench"
        subprocess.run([*psql, "create table rows (seq bigserial primary key, kind text, payload text)"], check=True)
        print(f"{'batch':>5} {'railweave':>12} {'pgbench':>12} {'ratio':>6} {'p50 ms':>8} {'p99 ms':>8}   (batches a second)")
        for batch in (1, 8, 64, 256):
            ours, theirs, medians, tails = [], [], [], []
            for _ in range(ROUNDS):
                done = subprocess.run([programs / "postgres_append_rate", server.url + "bench", str(batch), str(seconds)],
                                      capture_output=True, text=True, check=True)
                rate, median, tail = map(float, done.stdout.split())
                ours.append(rate)
                medians.append(median)
                tails.append(tail)
                theirs.append(pgbench(server, batch, seconds))
            ratio = statistics.median(mine / other for mine, other in zip(ours, theirs))
            print(f"{batch:5} {statistics.median(ours):12.1f} {statistics.median(theirs):12.1f} {ratio:6.2f} "
                  f"{statistics.median(medians):8.2f} {max(tails):8.2f}", flush=True)
    finally:
        server.stop("immediate")
        server.remove()


if __name__ == "__main__":
    main()
