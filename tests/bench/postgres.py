#!/usr/bin/env python3
"""Appends to PostgreSQL beside pgbench, which sends the same bytes: postgres.py FOLDER-OF-PROGRAMS [SECONDS] [ROUNDS] [FOLDER]

Measured in turns, because disks drift, each with one connection that waits for every commit; the ratios are of neighbours in a
round, the median and the least of all. pgbench sends every column of the same rows, but the number of the row and of its job, as
parameters of a statement that is prepared and planned once, into a table with the journal's columns and indexes: the ratio that is
aimed at is 0.8. Beside it, payloads alone into a table with a key and no other index. pgbench checks no lease and tells no one.
FOLDER holds the database: /var/tmp, or /dev/shm, where nothing waits for a disk and what client and server compute shows most.
"""
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from postgres_server import Server  # noqa: E402

PAYLOAD = 600
# A column's name, what its values as text are cast to, and the value.
COLUMNS = [("term", "::bigint", "1"), ("time_us", "::bigint", "1700000000000000"), ("actor", "", "loop"), ("kind", "", "job.placed"),
           ("version", "::bigint", "1"), ("subject_kind", "", "job"), ("crc32", "::bigint", "3405691582"),
           ("payload_bytes", "::bigint", str(PAYLOAD))]
TABLES = """create table bare_table (seq bigserial primary key, kind text, payload text);
create table same_table (like journal including all)"""


def percentile(values, percent):
    return sorted(values)[len(values) * percent // 100]


def ours(server, programs, batch, seconds):
    done = subprocess.run([programs / "postgres_append_rate", server.url + "bench", str(batch), str(seconds)],
                          capture_output=True, text=True, check=True)
    return tuple(map(float, done.stdout.split()))


def pgbench(server, same, batch, seconds):
    """Batches a second, and p50 and p99 in milliseconds."""
    # A word of a command line holds 128 kB: the payloads come in variables of 64.
    sizes = [min(64, batch - start) for start in range(0, batch, 64)]
    variables = {f"rows{i}": ",".join(["{" * PAYLOAD] * size) for i, size in enumerate(sizes)}
    payloads = "unnest(" + " || ".join(f"string_to_array(:rows{i}, ',')" for i in range(len(sizes))) + ")"
    if same:
        variables |= {name: ",".join([value] * batch) for name, _, value in COLUMNS} | {"first": str(server.next_row)}
        columns = ", ".join(f"unnest(string_to_array(:{name}, ',')){cast}" for name, cast, _ in COLUMNS)
        text = (f"\\set first :first + {batch}\n"
                f"insert into same_table ({', '.join(name for name, _, _ in COLUMNS)}, payload, seq, subject_id, nonce)"
                f" select {columns}, {payloads}, generate_series(:first, :first + {batch - 1}),"
                f" 'job-' || generate_series(:first, :first + {batch - 1}), 77;\n")
    else:
        text = f"insert into bare_table (kind, payload) select 'job.placed', {payloads};\n"
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "script.sql"
        script.write_text(text)
        done = subprocess.run([server.bin / "pgbench", "-n", "-M", "prepared", "-c", "1", "-T", str(seconds), "-f", script, "-l",
                               "--log-prefix", f"{folder}/times", *[word for name, value in variables.items()
                                                                     for word in ("-D", f"{name}={value}")],
                               server.url + "bench"], capture_output=True, text=True, check=True,
                              env=os.environ | {"PGOPTIONS": "-c plan_cache_mode=force_generic_plan"})
        times_ms = [int(line.split()[2]) / 1000 for log in pathlib.Path(folder).glob("times*") for line in open(log)]
    server.next_row += batch * (len(times_ms) + 1) if same else 0
    return (float(re.search(r"tps = ([0-9.]+)", done.stdout).group(1)), percentile(times_ms, 50), percentile(times_ms, 99))


def main():
    programs = pathlib.Path(sys.argv[1])
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    server = Server.make(["shared_buffers = 256MB", "max_wal_size = 4GB"], folder=sys.argv[4] if len(sys.argv) > 4 else "/var/tmp")
    server.next_row = 1  # of same_table
    server.start()
    try:
        psql = [server.bin / "psql", "-q", server.url + "postgres", "-c"]
        subprocess.run([*psql, "create database bench template template0"], check=True)
        psql[2] = server.url + "bench"
        ours(server, programs, 1, 0.1)  # makes the journal
        subprocess.run([*psql, TABLES], check=True)
        print(f"{'batch':>5} {'railweave':>10} {'p50 ms':>7} {'p99 ms':>7}   {'pgbench':>10} {'p50 ms':>7} {'p99 ms':>7}"
              f"   {'ratio':>5} {'least':>5} {'bare':>5}   (batches a second; medians of {rounds} rounds, the largest p99)")
        for batch in (1, 8, 64, 256):
            mine, same, bare = [], [], []
            for _ in range(rounds):
                mine.append(ours(server, programs, batch, seconds))
                same.append(pgbench(server, True, batch, seconds))
                bare.append(pgbench(server, False, batch, seconds))
            ratios = [one[0] / other[0] for one, other in zip(mine, same)]
            bare_ratio = statistics.median(one[0] / other[0] for one, other in zip(mine, bare))

            def shown(runs):
                rates, medians, tails = zip(*runs)
                return f"{statistics.median(rates):10.1f} {statistics.median(medians):7.2f} {max(tails):7.2f}"
            print(f"{batch:5} {shown(mine)}   {shown(same)}   {statistics.median(ratios):5.2f} {min(ratios):5.2f} {bare_ratio:5.2f}",
                  flush=True)
    finally:
        server.stop("immediate")
        server.remove()


if __name__ == "__main__":
    main()
