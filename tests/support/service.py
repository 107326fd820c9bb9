"""A real railweaved on a free loopback port with a store of its own, for tests that talk to it over HTTP."""
import http.client
import json
import re
import signal
import socket
import subprocess
import tempfile
import urllib.parse
from pathlib import Path

from ports import free_ports


class Service:
    """Starts in start(); kill() is SIGKILL, stop() is SIGTERM; both wait. The store outlives restarts."""

    def __init__(self, binary, folder=None, store=None, authentication="none"):
        self.binary, self.store, self.authentication = str(binary), store, authentication
        self._temporary = None if folder else tempfile.TemporaryDirectory(prefix="railweave-test-")
        self.folder = Path(folder or self._temporary.name)
        self.process = None
        self.port = self.chosen = None

    def start(self, *arguments, port=None):
        """port: by default a free one, the same at each start."""
        self.arguments = arguments
        port = port or self.chosen
        if port is None:
            port = self.chosen = free_ports(1)[0]
        self.log = open(self.folder / "railweaved.log", "ab")
        self.process = subprocess.Popen(
            [self.binary, "--listen", f"127.0.0.1:{port}", "--store", self.store or str(self.folder / "store.db"),
             "--authentication", self.authentication, *arguments],
            stdout=subprocess.PIPE, stderr=self.log, text=True)
        line = self.process.stdout.readline()
        match = re.search(r"listens at http://127\.0\.0\.1:(\d+)", line)
        if not match:
            self.process.kill()
            self.process.wait()
            raise RuntimeError(f"railweaved did not start: {line!r}\n{self.log_text()}")
        self.port = int(match.group(1))
        return self

    def log_text(self):
        return (self.folder / "railweaved.log").read_text(errors="replace")

    def kill(self):
        self._end(signal.SIGKILL)

    def stop(self):
        code = self._end(signal.SIGTERM)
        assert code is None or code >= 0, f"railweaved was ended by signal {-code}:\n{self.log_text()[-3000:]}"
        return code

    def _end(self, how):
        if self.process is None:
            return None
        self.process.send_signal(how)
        code = self.process.wait(timeout=60)
        self.process.stdout.close()
        self.log.close()
        self.process = None
        return code

    def supervise(self):
        """Starts it again where it has ended to be started again, as systemd does."""
        if self.process is not None and self.process.poll() == 75:
            self._end(signal.SIGTERM)
            self.start(*self.arguments)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process is not None:
            self.kill()
        if self._temporary:
            self._temporary.cleanup()

    def connect(self, timeout=30):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def request(self, method, path, body=None, headers=None, connection=None):
        """(status, headers, parsed JSON or text)"""
        own = connection or self.connect()
        data = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
        sent = dict(headers or {})
        if data is not None and "Content-Type" not in sent:
            sent["Content-Type"] = "application/json"
        own.request(method, path, data, sent)
        answer = own.getresponse()
        text = answer.read().decode()
        if connection is None:
            own.close()
        is_json = "json" in (answer.getheader("Content-Type") or "")
        return answer.status, dict(answer.getheaders()), json.loads(text) if is_json and text else text


class AtSocket(http.client.HTTPConnection):
    """A connection to the Unix socket at a path."""

    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(str(self.path))


def quote(text):
    return urllib.parse.quote(text, safe="")


def star_netlist(hosts, first=1):
    """An ibsim netlist: hosts on one switch."""
    lines = [f'Switch {hosts + 1} "leaf-0"']
    lines += [f'[{i + 1}] "node-{first + i}"[1]' for i in range(hosts)]
    for i in range(hosts):
        lines += ["", f'Hca 1 "node-{first + i}"', f'[1] "leaf-0"[{i + 1}]']
    return "\n".join(lines) + "\n"
