#!/usr/bin/env python3
"""Callers that have no token of the service: the users of its machine at the Unix socket, and programs that show a TLS certificate.

callers_test.py BIN_FOLDER
"""
import http.client
import json
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import stories  # noqa: E402
from authority import Authority  # noqa: E402
from secure_service import SecureService  # noqa: E402
from service import AtSocket, Service  # noqa: E402

BIN = Path(sys.argv[1]).resolve()
NOBODY = 65534


def enterable(folder):
    """The program where any user may run it: the folder of the checkout may be root's alone."""
    program = folder / "railweave"
    if not program.exists():
        shutil.copy2(BIN / "railweave", program)
        program.chmod(0o755)
    return program


def cli(folder, *words, user=None, **environment):
    options = {} if user is None else {"user": user, "group": user, "extra_groups": []}
    program = BIN / "railweave" if user is None else enterable(folder)
    plain = {name: value for name, value in os.environ.items() if not name.startswith("RAILWEAVE_")}
    done = subprocess.run([program, *words], text=True, capture_output=True, timeout=60, stdin=subprocess.DEVNULL, cwd="/",
                          env={**plain, "RAILWEAVE_CREDENTIALS": str(folder / "credentials.json"), **environment}, **options)
    return done.returncode, done.stdout + done.stderr


def unix_socket():
    with tempfile.TemporaryDirectory(prefix="railweave-socket-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        path = folder / "railweave.sock"
        here = {"RAILWEAVE_URL": f"unix:{path}"}
        with Service(BIN / "railweaved", folder, authentication="tokens") as service:
            service.start("--socket", str(path))
            token = (folder / "store.db.admin-token").read_text().strip()
            assert path.stat().st_mode & 0o777 == 0o666, oct(path.stat().st_mode)
            own = "root" if os.geteuid() == 0 else f"uid-{os.geteuid()}"
            code, text = cli(folder, "whoami", **here)
            assert code == 0 and text == f"{own}, administrator, at unix:{path}\n", text
            code, text = cli(folder, "whoami", RAILWEAVE_SOCKET=str(path))  # where nothing else is named
            assert code == 0 and own in text, text
            assert cli(folder, "tenants", "set", "research", **here)[0] == 0
            issued = service.request("POST", "/v1/tokens", {"name": "wall", "role": "viewer"}, connection=AtSocket(path))
            assert issued[0] == 201, issued
            status, _, who = service.request("GET", "/v1/whoami", connection=AtSocket(path))
            assert (status, who) == (200, {"name": own, "role": "administrator", "tenant": None, "node": None, "authentication": "socket"}), who
            # A token goes before what the connection says, also a wrong one.
            shown = {"Authorization": "Bearer " + issued[2]["token"]}
            assert service.request("GET", "/v1/whoami", headers=shown, connection=AtSocket(path))[2]["role"] == "viewer"
            assert service.request("GET", "/v1/whoami", headers={"Authorization": "Bearer rw_x"}, connection=AtSocket(path))[0] == 401
            # Over TCP the same user is no one.
            assert service.request("GET", "/v1/whoami")[0] == 401
            trail = service.request("GET", "/v1/audit?kind=tenant.put", headers={"Authorization": f"Bearer {token}"})[2]["items"]
            assert [(item["actor"], item["token"]) for item in trail] == [(own, "socket")], trail
            if os.geteuid() == 0:
                code, text = cli(folder, "whoami", user=NOBODY, **here)
                assert code == 11 and "show a token" in text, text
                code, text = cli(folder, "whoami", user=NOBODY, RAILWEAVE_TOKEN=token, **here)
                assert code == 0 and text.startswith("administrator, administrator"), text
                assert f"refused with 401: GET /v1/whoami from uid {NOBODY}" in service.log_text(), service.log_text()
            else:
                print("not root: another user at the socket is left out")
            # Long answers and event streams go over it as well.
            with UnixStream(path) as stream:
                assert cli(folder, "tenants", "set", "streamed", **here)[0] == 0
                assert "streamed" in stream.line_with("data:")
            other = subprocess.run([BIN / "railweaved", "--listen", "127.0.0.1:0", "--store", folder / "other.db", "--socket", path],
                                   capture_output=True, text=True, timeout=60)
            assert other.returncode == 1 and "another process listens there" in other.stderr, other
            service.kill()
            assert path.is_socket(), "it is left behind"
            code, text = cli(folder, "whoami", **here)
            assert code == 3 and "connection refused" in text, text
            service.start("--socket", str(path))
            assert cli(folder, "whoami", **here)[0] == 0
            assert service.stop() == 0
            assert not path.exists()
        path.write_text("precious")
        for place, why in ((path, "no socket"), (folder / ("x" * 120), "longer than"), (folder / "absent" / "a.sock", "does not exist (create it")):
            other = subprocess.run([BIN / "railweaved", "--listen", "127.0.0.1:0", "--store", folder / "third.db", "--socket", place],
                                   capture_output=True, text=True, timeout=60)
            assert other.returncode == 1 and why in other.stderr, (place, other)
        assert path.read_text() == "precious"


class UnixStream:
    def __init__(self, path):
        self.connection = AtSocket(path)
        self.connection.request("GET", "/v1/events/stream")
        self.response = self.connection.getresponse()
        assert self.response.status == 200

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.response.close()
        self.connection.close()

    def line_with(self, word):
        while word not in (line := self.response.readline().decode()):
            assert line, "the stream has ended"
        return line


# --- certificates


def certificates():
    with tempfile.TemporaryDirectory(prefix="railweave-certificates-") as name:
        folder = Path(name)
        Authority(folder, "servers").issue("server", "localhost", "DNS:localhost,IP:127.0.0.1", usage="serverAuth")
        clients, strangers = Authority(folder, "clients"), Authority(folder, "strangers")
        agent = clients.issue("agent", "not-this", "DNS:elsewhere.example,DNS:agent-7.cluster.example")
        plain = clients.issue("plain", "plain-agent")
        of_node = clients.issue("node", "node-7.cluster.example")
        of_tenant = clients.issue("tenant", "x", "URI:spiffe://cluster/research")
        config = f'''tls_client_ca = "{folder}/clients.pem"
[[access.certificate]]
name = "agent-7.cluster.example"
role = "operator"
[[access.certificate]]
name = "plain-agent"
role = "viewer"
[[access.certificate]]
name = "spiffe://cluster/research"
role = "member"
tenant = "research"
[[access.certificate]]
name = "node-7.cluster.example"
role = "agent"
node = "node-7"
[[access.certificate]]
name = "not-this"
role = "administrator"
'''
        with SecureService(BIN / "railweaved", folder) as service:
            service.start(config)

            def who(shown=None, token=None):
                status, _, answer = service.ask("GET", "/v1/whoami", shown=shown, token=token)
                return (status, answer.get("name"), answer.get("role"), answer.get("authentication")) if status == 200 else (status, answer["code"])

            assert who(agent) == (200, "agent-7.cluster.example", "operator", "certificate"), who(agent)
            assert who(plain) == (200, "plain-agent", "viewer", "certificate"), who(plain)
            assert who(of_node) == (200, "node-7.cluster.example", "agent", "certificate"), who(of_node)
            assert service.ask("GET", "/v1/whoami", shown=of_node)[2]["node"] == "node-7"
            assert service.ask("GET", "/v1/jobs", shown=of_node)[0] == 403
            assert who() == (401, "auth.missing")
            assert who(token=service.token)[1:] == ("administrator", "administrator", "token")
            assert who(plain, service.token)[2] == "administrator" and who(agent, "rw_wrong") == (401, "auth.invalid")
            # The common name counts only where there is no other name; nor does a name that is no account's, or a part of one.
            for number, (common, names) in enumerate((("plain-agent", "DNS:other.example"), ("stranger", None), ("agent-7.cluster.example.evil", None),
                                                      ("x", "DNS:cluster.example"), ("x", "email:agent-7@cluster.example"))):
                assert who(clients.issue(f"no{number}", common, names)) == (401, "auth.unknownCertificate"), (common, names)
            # Certificates that do not verify end the handshake.
            service.refused_at_handshake(strangers.issue("foreign", "plain-agent"))
            service.refused_at_handshake(clients.issue("server-only", "plain-agent", usage="serverAuth"))
            past = clients.issue("past", "plain-agent", days=0)
            time.sleep(1.5)
            service.refused_at_handshake(past)
            # Roles hold, and changes are recorded for the name.
            assert service.ask("PUT", "/v1/tenants/research", {}, shown=agent)[0] == 403
            assert service.ask("PUT", "/v1/tenants/research", {}, token=service.token)[0] == 200
            assert service.ask("PUT", "/v1/tenants/others", {}, token=service.token)[0] == 200
            assert [item["id"] for item in service.ask("GET", "/v1/tenants", shown=of_tenant)[2]["items"]] == ["research"]
            assert service.ask("PUT", "/v1/reservations/none", {}, shown=agent)[0] == 400
            # The command line shows one too, and keeps where it is.
            code, text = cli(folder, "login", "--server", f"https://localhost:{service.port}", "--ca-file", folder / "servers.pem",
                             "--certificate", agent[0], "--key", agent[1])
            assert code == 0 and "as agent-7.cluster.example, operator" in text, text
            code, text = cli(folder, "tenants", "list")
            assert code == 0 and "research" in text, text
            code, text = cli(folder, "login", "--server", f"https://localhost:{service.port}", "--certificate", agent[0])
            assert code == 2, text
            # Authorities are read again when they change; who was let in by the one before is not any more.
            shutil.copy(folder / "strangers.pem", folder / "clients.new")
            (folder / "clients.new").rename(folder / "clients.pem")
            until = time.monotonic() + 20
            while True:
                try:
                    service.refused_at_handshake(plain)
                    break
                except AssertionError:
                    assert time.monotonic() < until, "the old authority is still trusted"
                    time.sleep(0.2)
            assert who((folder / "foreign.pem", folder / "foreign.key"))[1] == "plain-agent"
            assert service.stop() == 0
        for lines, why in (('[[access.certificate]]\nname = "a"\nrole = "viewer"\n', "tls_client_ca"),
                           (f'tls_client_ca = "{folder}/absent.pem"\n', "authorities of clients cannot be read"),
                           (f'tls_client_ca = "{folder}/clients.pem"\n[[access.certificate]]\nname = "a"\nrole = "king"\n', "no role 'king'"),
                           (f'tls_client_ca = "{folder}/clients.pem"\n[[access.certificate]]\nname = "a"\nrole = "member"\n', "needs a tenant"),
                           (f'tls_client_ca = "{folder}/clients.pem"\n[[access.certificate]]\nname = "a"\nrole = "agent"\n', "needs a node"),
                           (f'tls_client_ca = "{folder}/clients.pem"\n[[access.certificate]]\nrole = "viewer"\n', "has no name")):
            (folder / "bad.toml").write_text(f'tls_certificate = "{folder}/server.pem"\ntls_key = "{folder}/server.key"\n{lines}')
            done = subprocess.run([BIN / "railweaved", "--config", folder / "bad.toml", "--listen", "127.0.0.1:0", "--store", folder / "bad.db"],
                                  capture_output=True, text=True, timeout=60)
            assert done.returncode in (1, 2) and why in done.stderr, (lines, done)


# --- certificates that are trusted no more


class Open:
    """A client's connections that stay open: one that is used, one that waits, and a stream."""

    def __init__(self, service, folder, shown):
        context = ssl.create_default_context(cafile=folder / "servers.pem")
        context.load_cert_chain(*shown)
        self.used, self.idle, self.streaming = (http.client.HTTPSConnection("localhost", service.port, timeout=30, context=context) for _ in range(3))
        for one in (self.used, self.idle):
            one.connect()
            one.auto_open = 0  # no other connection in its place
            assert self.ask(one) == (200, None)
        self.streaming.request("GET", "/v1/events/stream", headers={"Accept": "text/event-stream"})
        self.stream = self.streaming.getresponse()
        assert self.stream.status == 200
        self.kept = [one.sock for one in (self.used, self.idle)]
        self.said, self.ended = b"", threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        try:
            while part := self.stream.read1(65536):
                self.said += part
        except OSError:
            pass
        self.ended.set()

    @staticmethod
    def ask(connection):
        """(status, code) of a request on the connection; (0, None): it has ended."""
        try:
            connection.request("GET", "/v1/whoami")
            answer = connection.getresponse()
            body = json.loads(answer.read())
            return answer.status, body.get("code")
        except (OSError, http.client.HTTPException):
            return 0, None

    def end_within(self, seconds):
        """The used one is refused or ends, the idle one ends by itself, and so does the stream."""
        until = time.monotonic() + seconds
        while (answer := self.ask(self.used))[0] == 200:
            assert time.monotonic() < until, "a connection is answered whose certificate is trusted no more"
            time.sleep(0.02)
        assert answer in ((401, "auth.untrustedCertificate"), (0, None)), answer
        self.idle.sock.settimeout(max(0.1, until - time.monotonic()))
        assert self.idle.sock.recv(1) == b"", "the connection that waits has ended"
        assert self.ended.wait(max(0.1, until - time.monotonic())), "the stream goes on"
        assert b"trusted no more" in self.said, self.said

    def goes_on(self):
        assert self.ask(self.used) == self.ask(self.idle) == (200, None)
        assert [one.sock for one in (self.used, self.idle)] == self.kept and not self.ended.is_set()


def trusted_no_more():
    """Connections end with the authority of their certificate, or with its revocation; others go on."""
    with tempfile.TemporaryDirectory(prefix="railweave-certificates-") as name:
        folder = Path(name)
        Authority(folder, "servers").issue("server", "localhost", "DNS:localhost,IP:127.0.0.1", usage="serverAuth")
        first, second = Authority(folder, "first"), Authority(folder, "second")
        trusted = folder / "trusted.pem"

        def trust(*texts):
            (folder / "trusted.new").write_text("".join(texts))
            (folder / "trusted.new").rename(trusted)

        of = {authority.name: (folder / f"{authority.name}.pem").read_text() for authority in (first, second)}
        trust(*of.values())
        accounts = "".join(f'[[access.certificate]]\nname = "{one}"\nrole = "viewer"\n' for one in ("a", "b", "c"))
        with SecureService(BIN / "railweaved", folder) as service:
            service.start(f'tls_client_ca = "{trusted}"\n{accounts}')
            a, b, c = (Open(service, folder, authority.issue(file, file)) for authority, file in ((first, "a"), (second, "b"), (second, "c")))
            time.sleep(1.1)
            (folder / "server.pem").touch()  # all files are read again, and the same ones trusted
            time.sleep(2)
            for one in (a, b, c):
                one.goes_on()
            trust(of["second"])
            a.end_within(5)
            for one in (b, c):
                one.goes_on()
            trust(of["second"], second.revoke(folder / "b.pem"))
            b.end_within(5)
            c.goes_on()
            service.refused_at_handshake((folder / "b.pem", folder / "b.key"))
            assert service.stop() == 0


if __name__ == "__main__":
    sys.exit(stories.tell((unix_socket, certificates, trusted_no_more), needs=["openssl"]))
