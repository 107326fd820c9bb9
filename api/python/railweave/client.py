"""The client: a method for each operation of the contract, lists read to their end, events followed."""
import http.client
import json
import os
import random
import select
import socket
import ssl
import time
import urllib.parse
from dataclasses import dataclass, field

from railweave.operations import OPERATIONS, VERSION

MERGE_PATCH = "application/merge-patch+json"
TABLE = {operation.name: operation for operation in OPERATIONS}
# Answers after which a request that changes nothing twice is repeated.
BUSY = (429, 503)


class Unreachable(Exception):
    """No answer: no connection, or one that broke."""


class Problem(Exception):
    """What the service refused (RFC 9457). Programs look at `code`, which is stable; `detail` and `hint` are for people."""

    def __init__(self, status, body):
        self.status, self.body = status, body if isinstance(body, dict) else {}
        self.code, self.detail = self.body.get("code", ""), self.body.get("detail", "")
        self.hint, self.errors = self.body.get("hint", ""), self.body.get("errors", [])
        super().__init__(f"{status} {self.code}: {self.detail}" + (f" ({self.hint})" if self.hint else ""))


@dataclass
class Answer:
    status: int
    headers: dict = field(repr=False)   # names in lower case
    body: object = None                 # parsed JSON, else text; None: there is none

    @property
    def etag(self):
        """For if_match of the change that follows."""
        return self.headers.get("etag")

    @property
    def seq(self):
        """Of the event that a change made, or of the state that a list shows: min_seq of a read that has to show it."""
        if "railweave-seq" in self.headers:
            return int(self.headers["railweave-seq"])
        return self.body.get("seq") if isinstance(self.body, dict) else None


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Railweave:
    """Of one service. Not for several threads at once: each has a client of its own.

    url: http(s)://HOST:PORT, or unix:/PATH, else RAILWEAVE_URL, else http://127.0.0.1:7470; token: else RAILWEAVE_TOKEN;
    ca_file: certificates that are trusted for https, else RAILWEAVE_CA_FILE, else the system's; certificate, key: shown instead of a token.
    repeats: how often a read, or a change with an Idempotency-Key, is sent again where the service is busy or not reached.
    """

    def __init__(self, url=None, token=None, ca_file=None, certificate=None, key=None, timeout=60, repeats=3):
        self.url = url or os.environ.get("RAILWEAVE_URL") or "http://127.0.0.1:7470"
        self.token = token if token is not None else os.environ.get("RAILWEAVE_TOKEN", "")
        self.timeout, self.repeats = timeout, repeats
        self._connection, self._context = None, None
        if self.url.startswith("https:"):
            self._context = ssl.create_default_context(cafile=ca_file or os.environ.get("RAILWEAVE_CA_FILE") or None)
            if certificate:
                self._context.load_cert_chain(certificate, key)
        elif not self.url.startswith(("http:", "unix:")):
            raise ValueError(f"{self.url!r} is not http://HOST:PORT, https://HOST:PORT or unix:/PATH")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self._connection:
            self._connection.close()
            self._connection = None

    def __dir__(self):
        return [*super().__dir__(), *TABLE]

    def __getattr__(self, name):
        """A method for each operation: list_jobs(state="placed"), get_job("job-000001"), put_tenant("research", body={...})."""
        if name not in TABLE:
            raise AttributeError(f"the contract has no operation {name}")

        def method(*path, **arguments):
            return self.call(name, *path, **arguments).body
        method.__name__, method.__doc__ = name, f"{TABLE[name].summary}. {TABLE[name].method} {TABLE[name].path}"
        return method

    def call(self, name, /, *path, body=None, if_match=None, idempotency_key=None, headers=None, media=None, **query):
        """The operation's Answer. path: values of its {names}, in order; query: its parameters, in snake_case or as the contract has them."""
        target, send = self._request(TABLE[name], path, query, body, media)
        send.update({key: str(value) for key, value in (headers or {}).items()})
        if if_match:
            send["If-Match"] = if_match
        if idempotency_key:
            send["Idempotency-Key"] = idempotency_key
        data = None if body is None else body if isinstance(body, (bytes, str)) else json.dumps(body)
        data = data.encode() if isinstance(data, str) else data
        may_repeat = TABLE[name].method == "GET" or idempotency_key is not None
        for turn in range(self.repeats + 1):
            last = turn == self.repeats or not may_repeat
            try:
                answer = self._send(TABLE[name].method, target, data, send)
            except Unreachable:
                if last:
                    raise
                self._rest(turn)
                continue
            if answer.status < 400:
                return answer
            if answer.status not in BUSY or last:
                raise Problem(answer.status, answer.body)
            self._rest(turn, answer.headers.get("retry-after"))
        raise AssertionError("unreachable")

    def items(self, name, /, *path, **query):
        """Every item of a list, page after page."""
        cursor = None
        while True:
            page = self.call(name, *path, **query, **({"cursor": cursor} if cursor else {})).body
            yield from page["items"]
            cursor = page.get("nextCursor")
            if cursor is None:
                return

    def follow(self, after=None, **query):
        """Events as they happen, each once, from the next one on or from those after a number; for ever. A stream that breaks is resumed."""
        while True:
            connection = self._connect()
            try:
                target, send = self._request(TABLE["stream_events"], (), query | ({} if after is None else {"after": after}), None, None)
                connection.request("GET", target, headers=send)
                answer = connection.getresponse()
                if answer.status != 200:
                    raise Problem(answer.status, _parsed(answer, answer.read()))
                for event in _sent_events(answer):
                    after = event["seq"]
                    yield event
            except (OSError, http.client.HTTPException):
                time.sleep(1)
            finally:
                connection.close()

    def _request(self, operation, path, query, body, media):
        target = operation.path
        names = [part[1:part.index("}")] for part in target.split("/") if part.startswith("{")]
        if len(names) != len(path):
            raise TypeError(f"{operation.name} takes {len(names)} names ({', '.join(names)}), not {len(path)}")
        for name, value in zip(names, path):
            target = target.replace("{" + name + "}", urllib.parse.quote(str(value), safe=""))
        known = {_plain(name): name for name in operation.query}
        sent = []
        for name, value in query.items():
            if _plain(name) not in known:
                raise TypeError(f"{operation.name} has no parameter {name}; it takes {', '.join(operation.query) or 'none'}")
            if value is not None:
                sent.append((known[_plain(name)], {True: "true", False: "false"}.get(value, value) if isinstance(value, bool) else value))
        target += "?" + urllib.parse.urlencode(sent) if sent else ""
        headers = {"User-Agent": f"railweave-python/{VERSION}", "Accept": "*/*"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if body is not None:
            headers["Content-Type"] = media or operation.body
        return target, headers

    def _connect(self):
        if self.url.startswith("unix:"):
            return UnixConnection(self.url.removeprefix("unix:"), self.timeout)
        place = urllib.parse.urlsplit(self.url)
        if self._context:
            return http.client.HTTPSConnection(place.hostname, place.port or 443, timeout=self.timeout, context=self._context)
        return http.client.HTTPConnection(place.hostname, place.port or 80, timeout=self.timeout)

    def _send(self, method, target, data, headers):
        try:
            # One that the service has closed since is readable: a change must not be lost to it, as it could not be sent again.
            if self._connection and self._connection.sock and select.select([self._connection.sock], [], [], 0)[0]:
                self.close()
            self._connection = self._connection or self._connect()
            self._connection.request(method, target, data, headers)
            answer = self._connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Unreachable(f"{self.url}: {error}") from error
        if answer.will_close:
            self.close()
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, _parsed(answer, text))

    @staticmethod
    def _rest(turn, told=None):
        time.sleep(min(float(told), 30) if told and told.isdigit() else 0.1 * 2 ** turn * (1 + random.random()))


def _plain(name):
    return name.replace("_", "").replace("-", "").lower()


def _parsed(answer, text):
    kind = answer.getheader("Content-Type") or ""
    return json.loads(text) if "json" in kind and text else text.decode() or None


def _sent_events(answer):
    """Of a stream of server-sent events."""
    data = []
    for line in answer:
        text = line.decode().rstrip("\r\n")
        if text.startswith("data:"):
            data.append(text[5:].removeprefix(" "))
        elif not text and data:
            yield json.loads("\n".join(data))
            data = []
