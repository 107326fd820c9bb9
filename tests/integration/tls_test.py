#!/usr/bin/env python3
"""A real railweaved with TLS and tokens, beyond loopback: who is let in, by which names and versions, certificates that are
replaced while it runs, clients that leave or never finish a handshake. Certificates are made here, by openssl.

tls_test.py BIN_FOLDER
"""
import contextlib
import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from service import Service  # noqa: E402

BIN = Path(sys.argv[1]).resolve()


def certificate(folder, names="DNS:localhost,IP:127.0.0.1"):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-keyout", folder / "key.new", "-out", folder / "cert.new", "-subj", "/CN=localhost", "-addext",
                    f"subjectAltName={names}"], check=True, capture_output=True)
    for name in ("key", "cert"):
        (folder / f"{name}.new").rename(folder / f"{name}.pem")
    return ssl.PEM_cert_to_DER_cert((folder / "cert.pem").read_text())


class TlsService(Service):
    def start(self, *arguments):
        self.config = self.folder / "railweaved.toml"
        self.config.write_text(f'tls_certificate = "{self.folder}/cert.pem"\ntls_key = "{self.folder}/key.pem"\n'
                               'host_names = ["fabric.example"]\n')
        self.log = open(self.folder / "railweaved.log", "ab")
        self.process = subprocess.Popen([self.binary, "--config", self.config, "--listen", "0.0.0.0:0", "--store",
                                         self.folder / "store.db", *arguments], stdout=subprocess.PIPE, stderr=self.log, text=True)
        line = self.process.stdout.readline()
        assert "listens at https://0.0.0.0:" in line, line + self.log_text()
        self.port = int(line.rsplit(":", 1)[1])
        self.token = (self.folder / "store.db.admin-token").read_text().strip()
        return self

    def trusted(self):
        return ssl.create_default_context(cafile=self.folder / "cert.pem")

    def connect(self, timeout=30):
        return http.client.HTTPSConnection("localhost", self.port, timeout=timeout, context=self.trusted())

    def ask(self, method, path, body=None, headers=None, connection=None):
        return self.request(method, path, body, {"Authorization": f"Bearer {self.token}", **(headers or {})}, connection)


def cli(service, *words, server=None, **environment):
    done = subprocess.run([BIN / "railweave", *words], text=True, capture_output=True, timeout=60, stdin=subprocess.DEVNULL,
                          env={**os.environ, "RAILWEAVE_URL": server or f"https://localhost:{service.port}",
                               "RAILWEAVE_CREDENTIALS": str(service.folder / "credentials.json"), **environment})
    return done.returncode, done.stdout + done.stderr


def refused_without(folder):
    """Beyond loopback only with both."""
    for words, why in ((["--listen", "0.0.0.0:0"], "without TLS"),
                       (["--config", folder / "railweaved.toml", "--listen", "0.0.0.0:0", "--authentication", "none"], "without authentication")):
        done = subprocess.run([BIN / "railweaved", *words, "--store", folder / "other.db"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and why in done.stderr, done
    for broken, why in (("key.pem", "key values mismatch"), ("nothing.pem", "cannot be used")):
        other = folder / "other"
        other.mkdir(exist_ok=True)
        certificate(other)
        config = folder / "broken.toml"
        config.write_text(f'tls_certificate = "{folder}/cert.pem"\ntls_key = "{other}/{broken}"\n')
        done = subprocess.run([BIN / "railweaved", "--config", config, "--listen", "127.0.0.1:0", "--store", folder / "other.db"],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and why in done.stderr, done
    config.write_text(f'tls_certificate = "{folder}/cert.pem"\n')
    done = subprocess.run([BIN / "railweaved", "--config", config], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "go together" in done.stderr, done


def command_line(service):
    code, text = cli(service, "whoami")
    assert code == 3 and "certificate is not trusted" in text, text
    trust = {"RAILWEAVE_CA_FILE": str(service.folder / "cert.pem")}
    code, text = cli(service, "whoami", **trust)
    assert code == 11 and "railweave login" in text, text
    code, text = cli(service, "whoami", server=f"https://127.0.0.2:{service.port}", **trust)
    assert code == 3 and "mismatch" in text, text
    code, text = cli(service, "login", "--ca-file", str(service.folder / "cert.pem"), "--token-file",
                     str(service.folder / "store.db.admin-token"))
    assert code == 0 and "as administrator" in text, text
    assert (service.folder / "credentials.json").stat().st_mode & 0o777 == 0o600
    code, text = cli(service, "tenants", "set", "research")  # the profile has token and certificate
    assert code == 0, text
    # The token goes nowhere else.
    code, text = cli(service, "whoami", server=f"https://127.0.0.1:{service.port}", **trust)
    assert code == 11 and "show a token" in text, text
    (service.folder / "credentials.json").chmod(0o644)
    code, text = cli(service, "whoami")
    assert code == 8 and "others may read" in text and service.token not in text, text
    (service.folder / "credentials.json").chmod(0o600)


def versions_and_names(service):
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as plain:
        plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"400 Bad Request" in (answer := plain.recv(4096)) and b"https" in answer, answer
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = service.trusted()
        context.minimum_version = context.maximum_version = version
        with context.wrap_socket(socket.create_connection(("127.0.0.1", service.port), timeout=20), server_hostname="localhost") as tls:
            tls.sendall(b"GET /healthz HTTP/1.1\r\nHost: fabric.example\r\nConnection: close\r\n\r\n")
            text = b""
            while part := tls.recv(4096):
                text += part
            assert text.startswith(b"HTTP/1.1 200") and b"Strict-Transport-Security" in text, text
    old = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{service.port}", "-tls1_1", "-cipher", "ALL:@SECLEVEL=0"],
                         input="", capture_output=True, text=True, timeout=30)
    assert old.returncode != 0 and "protocol version" in old.stdout + old.stderr, old
    assert service.ask("GET", "/healthz", headers={"Host": "elsewhere.example"})[0] == 421
    own = {"Origin": f"https://localhost:{service.port}", "Host": f"localhost:{service.port}"}
    assert service.ask("PUT", "/v1/tenants/web", {}, own)[0] == 200
    assert service.ask("PUT", "/v1/tenants/web", {}, {**own, "Origin": f"http://localhost:{service.port}"})[0] == 403


def large_bodies(service):
    """In records of 16 KiB each, in both directions, also piece by piece and compressed."""
    made = subprocess.run([BIN / "railweave", "lab", "generate", "rail-optimized", "--hosts", "1024", "--tiers", "3"], capture_output=True, check=True, timeout=60)
    status, _, answer = service.ask("PUT", "/v1/fabric/topology?format=native", made.stdout)
    assert status == 200 and answer["gpus"] == 8192, answer
    plain = service.ask("GET", "/v1/fabric/topology")[2]
    assert len(plain["hosts"]) == 1024
    connection = service.connect()
    for path in ("/v1/nodes?limit=10000", "/v1/links?limit=10000", "/v1/routes/fdbs") * 3:
        connection.request("GET", path, headers={"Authorization": f"Bearer {service.token}"})
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200 and len(body) > 20_000, (path, answer.status, len(body))
    connection.close()


def replaced_certificate(service, first):
    def shown():
        return ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate(("127.0.0.1", service.port)))

    kept = service.connect()
    kept.request("GET", "/healthz")
    kept.getresponse().read()
    assert shown() == first
    (service.folder / "cert.pem").write_text("no certificate\n")
    time.sleep(1.5)  # longer than between two looks at the files
    assert shown() == first, "what cannot be read leaves the old one in use"
    second = certificate(service.folder)
    until = time.monotonic() + 20
    while shown() != second:
        assert time.monotonic() < until, "the new certificate is not shown"
        time.sleep(0.1)
    assert service.ask("GET", "/v1/whoami")[0] == 200
    kept.request("GET", "/healthz")
    assert kept.getresponse().status == 200, "connections from before go on"
    assert "stays in use" in service.log_text() and "was read again" in service.log_text(), service.log_text()
    assert service.token.split("_", 2)[2] not in service.log_text(), "no secret is in the log"


def bad_clients(service):
    """Bytes that are no handshake, handshakes that are never finished, connections that break: others are served meanwhile."""
    silent = [socket.create_connection(("127.0.0.1", service.port), timeout=20) for _ in range(50)]
    for number, one in enumerate(silent):
        one.sendall(os.urandom(200) if number % 2 else b"\x16\x03\x01\x02\x00\x01")
    stream = service.connect()
    stream.request("GET", "/v1/events/stream", headers={"Authorization": f"Bearer {service.token}"})
    events = stream.getresponse()
    assert events.status == 200
    began = time.monotonic()
    for number in range(20):
        assert service.ask("PUT", f"/v1/tenants/t{number}", {})[0] == 200
    took = time.monotonic() - began
    assert took < 20, took
    text = b""
    while b"t19" not in text:
        text += events.read1(65536)
    assert text.count(b"event: tenant.put") >= 20, text[-500:]
    events.close()
    stream.close()
    for one in silent:
        one.close()
    until = time.monotonic() + 20
    while True:
        metrics = service.ask("GET", "/metrics")[2]
        if "railweave_http_connections 1\n" in metrics or time.monotonic() > until:
            break
        time.sleep(0.2)
    assert "railweave_http_connections 1\n" in metrics, [line for line in metrics.splitlines() if "http_connections" in line]


def leaves_while_it_is_computed(service):
    """The end that TLS says, in a record of its own, counts as leaving."""
    def abandoned():
        return int(next(line for line in service.ask("GET", "/metrics")[2].splitlines()
                        if line.startswith("railweave_http_abandoned_total")).split()[1])

    link = service.ask("GET", "/v1/links?limit=1")[2]["items"][0]["id"]

    def outdate(attempt):
        """What is computed of routes is kept until they change."""
        verb = "undrain" if attempt % 2 else "drain"
        status = service.ask("POST", f"/v1/links/{urllib.parse.quote(link)}/{verb}", {"force": True} if verb == "drain" else {})[0]
        assert status in (200, 201, 204), status

    def seconds(attempt):
        outdate(attempt)
        began = time.monotonic()
        assert service.ask("GET", "/v1/guarantees/certificate")[0] == 200
        return time.monotonic() - began

    before = abandoned()
    whole = min(seconds(attempt) for attempt in range(4))
    for attempt in range(20):
        outdate(attempt)
        tls = service.trusted().wrap_socket(socket.create_connection(("127.0.0.1", service.port), timeout=20), server_hostname="localhost")
        tls.sendall(f"GET /v1/guarantees/certificate HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {service.token}"
                    "\r\n\r\n".encode())
        time.sleep(whole / 4)
        tls.setblocking(False)
        # Sends the end, and does not wait for the other's: there is nothing to read yet, or the service has hung up already.
        with contextlib.suppress(ssl.SSLError, ConnectionResetError):
            tls.unwrap()
        held = tls  # the socket stays open meanwhile: it is the record that says so, not the end of TCP
        until = time.monotonic() + 1
        while abandoned() == before and time.monotonic() < until:
            time.sleep(0.02)
        held.close()
        if abandoned() > before:
            return
    raise AssertionError(f"it was not noticed that the client left a computation of {whole:.3f} s")


def ends_while_used(service):
    errors = []

    def load():
        connection = service.connect()
        try:
            while True:
                if service.ask("GET", "/v1/whoami", connection=connection)[0] != 200:
                    errors.append("refused")
        except (OSError, http.client.HTTPException):
            return

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    began = time.monotonic()
    assert service.stop() == 0, service.log_text()[-2000:]
    for thread in threads:
        thread.join()
    assert not errors and time.monotonic() - began < 20, (errors[:3], time.monotonic() - began)


def main():
    if not shutil.which("openssl"):
        print("openssl is missing")
        return 77
    with tempfile.TemporaryDirectory(prefix="railweave-tls-") as folder:
        first = certificate(Path(folder))
        with TlsService(BIN / "railweaved", folder) as service:
            service.start()
            refused_without(Path(folder))
            for story in (command_line, versions_and_names, large_bodies, bad_clients, leaves_while_it_is_computed):
                story(service)
                print(story.__name__, "ok")
            replaced_certificate(service, first)
            ends_while_used(service)
    print(json.dumps({"stories": 8}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
