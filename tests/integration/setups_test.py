#!/usr/bin/env python3
"""What people set up otherwise than it should be: roles of PostgreSQL that may not create tables or do not own the store's, PgBouncer in
transaction mode, folders that are not there. railweaved ends at once and says what is wrong and what to do; with that done it starts.

setups_test.py BIN_FOLDER        exit code 77: PostgreSQL is not installed. Without PgBouncer (Debian: pgbouncer) that part is left out
"""
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ports import free_ports  # noqa: E402
from postgres_server import server_of  # noqa: E402
from service import Service  # noqa: E402
from waiting import until  # noqa: E402

BIN = Path(sys.argv[1])


def refuses(*says, store, configuration="", folder=None, authentication="none", command=()):
    words = [BIN / "railweaved", "--listen", "127.0.0.1:0", "--store", str(store), "--authentication", authentication]
    if configuration:
        (folder / "config.toml").write_text(configuration)
        words += ["--config", folder / "config.toml"]
    done = subprocess.run([*words, *command], capture_output=True, text=True, timeout=60)
    assert done.returncode in (1, 2), (done.returncode, done.stderr)
    for text in says:
        assert text in done.stderr, (text, done.stderr)
    assert "connection to the server was lost" not in done.stderr, done.stderr


def starts(store, folder):
    with Service(BIN / "railweaved", folder, store=str(store)).start() as service:
        until(lambda: service.log_text(), lambda: service.request("PUT", "/v1/tenants/t", {})[0] in (200, 201))
        assert service.request("GET", "/v1/events")[0] == 200
        assert service.stop() == 0


def psql(server, database, sql):
    subprocess.run([server.bin / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", server.url + database, "-c", sql], check=True)


def roles(server, folder):
    psql(server, "postgres", "CREATE ROLE fabric LOGIN")
    psql(server, "postgres", "CREATE DATABASE mine TEMPLATE template0")
    store = f"postgresql://fabric@127.0.0.1:{server.port}/mine"
    refuses("permission denied for schema public", "this role may not do that", "GRANT CREATE ON SCHEMA public", store=store)
    psql(server, "mine", "GRANT CREATE ON SCHEMA public TO fabric")
    starts(store, folder)
    print("a role without CREATE: named, and it starts once that is granted")

    psql(server, "postgres", "CREATE DATABASE others TEMPLATE template0")
    starts(server.url + "others", folder)  # by the superuser, who owns its tables then
    store = f"postgresql://fabric@127.0.0.1:{server.port}/others"
    refuses("permission denied for table migrations", "this role may not do that", "REASSIGN OWNED", store=store)
    code = subprocess.run([BIN / "railweave", "admin", "check", store], capture_output=True, text=True)
    assert code.returncode != 0 and "this role may not do that" in code.stderr, code
    print("a role that does not own the tables: named")
    refuses('database "nowhere" does not exist', store=server.url + "nowhere")


@contextlib.contextmanager
def pooler(server, mode, folder):
    port = free_ports(1)[0]
    shared = folder / f"pooler-{mode}"
    shared.mkdir()
    shutil.chown(shared, "postgres")
    (shared / "pgbouncer.ini").write_text(f"[databases]\n* = host=127.0.0.1 port={server.port} user=postgres\n[pgbouncer]\n"
                                          f"listen_addr = 127.0.0.1\nlisten_port = {port}\nauth_type = any\npool_mode = {mode}\n"
                                          f"unix_socket_dir =\nlogfile = {shared}/log\n")
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    process = subprocess.Popen([*as_user, shutil.which("pgbouncer") or "/usr/sbin/pgbouncer", "-q", shared / "pgbouncer.ini"])

    def listens():
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
        return False

    try:
        until("PgBouncer does not listen", listens)
        yield f"postgresql://postgres@127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait(timeout=20)


def poolers(server, folder):
    if not shutil.which("pgbouncer") and not Path("/usr/sbin/pgbouncer").exists():
        print("PgBouncer is not installed: poolers are left out")
        return
    psql(server, "postgres", "CREATE DATABASE pooled TEMPLATE template0")
    for mode in ("transaction", "statement"):
        with pooler(server, mode, folder) as url:
            for _ in range(3):  # a pool that was used, too
                refuses("the session is not kept between transactions", "PgBouncer", "name PostgreSQL itself", store=url + "pooled")
        print(f"PgBouncer, pool_mode = {mode}: named")
    with pooler(server, "session", folder) as url:
        starts(url + "pooled", folder)
    starts(server.url + "pooled", folder)


def cannot_be_written(folder, store):
    """A file in the place of the folder, and one of a disk that takes no writes, as those are that a system mounts so."""
    file = folder / "a-file"
    file.write_text("")
    refuses(f'opensm_files of subnet a = "{file}"', store=store, configuration=f'[[subnet]]\nname = "a"\nopensm_files = "{file}"\n', folder=folder)
    refuses('opensm_files of subnet a = "/proc/self" cannot be written in', store=store,
            configuration='[[subnet]]\nname = "a"\nopensm_files = "/proc/self"\n', folder=folder)


def folders(folder):
    none = folder / "none"
    store = folder / "store.db"
    refuses(f"{none}: the store's directory does not exist", f"mkdir -p '{none}'", store=none / "store.db")
    refuses(f"the folder {none} of socket = \"{none}/s\" does not exist", f"mkdir -p '{none}'", store=store,
            configuration=f'socket = "{none}/s"\n', folder=folder)
    refuses(f"the folder {none} of admin_token_file", f"mkdir -p '{none}'", store=store, authentication="tokens",
            configuration=f'admin_token_file = "{none}/t"\n', folder=folder)
    refuses(f"the folder {none} of opensm_socket of subnet a", f"mkdir -p '{none}'", store=store,
            configuration=f'[[subnet]]\nname = "a"\nopensm_socket = "{none}/s"\n', folder=folder)
    refuses(f'the folder of opensm_files of subnet a = "{none}" does not exist', f"mkdir -p '{none}'", store=store,
            configuration=f'[[subnet]]\nname = "a"\nopensm_files = "{none}"\n', folder=folder)
    cannot_be_written(folder, store)
    refuses(str(none), "there is no such folder", "--console", store=store, configuration=f'console = "{none}"\n', folder=folder)
    refuses(str(none), "No such file or directory", store=store, configuration=f'certificate_key = "{none}/key.pem"\n', folder=folder)
    assert not store.exists() or store.stat().st_size > 0
    starts(store, folder)
    for words in (("backup", store, none / "b.db"), ("restore", none / "b.db", "--to", folder / "r.db"), ("restore", store, "--to", none / "r.db")):
        done = subprocess.run([BIN / "railweave", "admin", *map(str, words)], capture_output=True, text=True)
        assert done.returncode != 0 and f"mkdir -p '{none}'" in done.stderr, done
    print("folders that are not there: each named, with what to do")


def main():
    with server_of() as server, tempfile.TemporaryDirectory(prefix="railweave-setups-") as temporary:
        folder = Path(temporary)
        folder.chmod(0o755)
        roles(server, folder)
        poolers(server, folder)
        folders(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
