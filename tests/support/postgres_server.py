#!/usr/bin/env python3
"""A PostgreSQL server for tests, on a free port of loopback, with its data in memory where there is room.

postgres_server.py start FOLDER    makes and starts it; FOLDER/url is then its connection string, without a database
postgres_server.py stop FOLDER     stops it and removes its data
Exit code 77 where PostgreSQL is not installed. As root it runs as the user postgres, who must exist: Debian's package makes it.
"""
import contextlib
import glob
import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import tempfile

from ports import free_ports


def programs():
    """The folder with initdb and pg_ctl, of the newest release that is installed."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda path: int(path.split("/")[4]))
    if not found:
        print("PostgreSQL's server is not installed (Debian: postgresql-15)")
        sys.exit(77)
    return pathlib.Path(found[-1]).parent


def as_server(*words, namespace=None, **options):
    """Runs a program as the server's user: PostgreSQL refuses to run as root."""
    prefix = ["ip", "netns", "exec", namespace] if namespace else []
    prefix += ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    return subprocess.run([*prefix, *map(str, words)], check=True, stdout=subprocess.DEVNULL, cwd="/", **options)


class Server:
    """One data folder; settings: lines of postgresql.conf; namespace: the network namespace that it listens in."""

    def __init__(self, data, port=None, namespace=None):
        self.namespace = namespace
        self.data = pathlib.Path(data)
        self.port = port or free_ports(1)[0]
        self.bin = programs()

    @classmethod
    def make(cls, settings=(), initdb=(), folder=None, namespace=None, hosts=()):
        memory = os.statvfs("/dev/shm") if os.path.isdir("/dev/shm") else None
        roomy = memory is not None and memory.f_bavail * memory.f_frsize > 2 << 30
        folder = tempfile.mkdtemp(prefix="railweave-postgres-", dir=folder or ("/dev/shm" if roomy else None))
        if os.geteuid() == 0:
            os.chown(folder, pwd.getpwnam("postgres").pw_uid, -1)
        server = cls(os.path.join(folder, "data"), namespace=namespace)
        as_server(server.bin / "initdb", "-D", server.data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "-N", *initdb)
        with open(server.data / "postgresql.conf", "a", encoding="utf-8") as conf:
            lines = [f"port = {server.port}", "listen_addresses = '127.0.0.1'", f"unix_socket_directories = '{folder}'",
                     "max_connections = 200", *settings]
            conf.write("\n".join(lines) + "\n")
        with open(server.data / "pg_hba.conf", "a", encoding="utf-8") as rules:
            rules.writelines(f"host all all {host} trust\n" for host in hosts)
        return server

    @property
    def url(self):
        return f"postgresql://postgres@127.0.0.1:{self.port}/"

    def start(self):
        as_server(self.bin / "pg_ctl", "-D", self.data, "-w", "-t", "60", "-l", self.data.parent / "log", "start", namespace=self.namespace)

    def stop(self, mode="fast"):
        as_server(self.bin / "pg_ctl", "-D", self.data, "-w", "-m", mode, "stop")

    def promote(self):
        as_server(self.bin / "pg_ctl", "-D", self.data, "-w", "promote")

    def sql(self, text):
        """Committed, by psql; what it prints."""
        made = subprocess.run([self.bin / "psql", "-XAtq", "-h", self.data.parent, "-p", str(self.port), "-U", "postgres", "-c", text],
                              check=True, capture_output=True, text=True, timeout=60)
        return made.stdout.strip()

    def standby(self):
        """A synchronous one: what is committed here is there as well, and can be read."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="railweave-postgres-", dir=self.data.parent.parent))
        if os.geteuid() == 0:
            os.chown(folder, pwd.getpwnam("postgres").pw_uid, -1)
        other = Server(folder / "data")
        self.sql("SELECT pg_create_physical_replication_slot('standby')")
        as_server(self.bin / "pg_basebackup", "-D", other.data, "-R", "-X", "stream", "-S", "standby", "-c", "fast", "-h", "127.0.0.1",
                  "-p", self.port, "-U", "postgres")
        with open(other.data / "postgresql.conf", "a", encoding="utf-8") as conf:
            conf.write(f"port = {other.port}\nunix_socket_directories = '{folder}'\n")
        with open(other.data / "postgresql.auto.conf", "a", encoding="utf-8") as conf:
            conf.write(f"primary_conninfo = 'host=127.0.0.1 port={self.port} user=postgres application_name=standby'\n")
        other.start()
        self.sql("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        self.sql("ALTER SYSTEM SET synchronous_commit = remote_apply")
        self.sql("SELECT pg_reload_conf()")
        return other

    def remove(self):
        shutil.rmtree(self.data.parent, ignore_errors=True)


@contextlib.contextmanager
def server_of(*settings, **where):
    """One that runs, and is gone afterwards."""
    server = Server.make(["shared_buffers = 64MB", *settings], **where)
    try:
        server.start()
        yield server
    finally:
        with contextlib.suppress(subprocess.CalledProcessError):
            server.stop("immediate")
        server.remove()


def stop(folder):
    data = folder / "data"
    if not data.exists():
        return
    server = Server(data.read_text(encoding="utf-8"))
    try:
        server.stop("immediate")
    except subprocess.CalledProcessError:
        pass  # it was not running
    server.remove()
    data.unlink()


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("start", "stop"):
        print(__doc__)
        return 2
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    stop(folder)  # one that an interrupted run has left
    if sys.argv[1] == "start":
        # What is checked is what the store does; crashes of the server's machine are not tried with this one.
        server = Server.make(["fsync = off", "shared_buffers = 64MB"])
        (folder / "data").write_text(str(server.data), encoding="utf-8")
        server.start()
        (folder / "url").write_text(server.url, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
