"""Between a client and railweaved: every request of the client and every answer to it are held to api/openapi.yaml.

    with Judged(service) as judged:
        run(RAILWEAVE_URL=judged.url)
    assert judged.broken == [], judged.broken
"""
import gzip
import http.client
import http.server
import sys
import threading
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "contract"))
from contract import Contract, ContractBroken, template  # noqa: E402
from session import Answer, Session  # noqa: E402

HOP_BY_HOP = {"connection", "transfer-encoding", "content-length", "host"}


class Judged:
    def __init__(self, service):
        self.service = service
        self.contract = Contract((ROOT / "api" / "openapi.yaml").read_text())
        self.session = Session(None, self.contract)
        by_path = sorted(self.contract.operations.values(), key=lambda operation: operation.path.count("{"))
        self.patterns = [(operation.method, template(operation.path), operation) for operation in by_path]
        self.broken, self.seen = [], {}
        self.guard = threading.Lock()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        judged = self

        class Between(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                data = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
                headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
                service = http.client.HTTPConnection("127.0.0.1", judged.service.port, timeout=60)
                service.request(self.command, self.path, data, headers)
                found = service.getresponse()
                body = found.read()
                service.close()
                judged.judge(self.command, self.path, headers, data, found, body)
                self.send_response_only(found.status)
                for name, value in found.getheaders():
                    if name.lower() not in HOP_BY_HOP:
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = answer

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Between)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def judge(self, method, target, headers, data, found, body):
        path, _, text = target.partition("?")
        if found.getheader("Content-Encoding") == "gzip" and body:
            body = gzip.decompress(body)
        answer = Answer(found.status, found.getheaders(), body)
        query = urllib.parse.parse_qsl(text, keep_blank_values=True)
        with self.guard:
            operation = next((one for verb, pattern, one in self.patterns if verb == method and pattern.match(path)), None)
            try:
                if operation is None:
                    raise ContractBroken("there is no such operation")
                self.seen[operation.id] = self.seen.get(operation.id, 0) + 1
                fields = next((value.split(",") for name, value in query if name == "fields"), None)
                self.contract.judge(operation, answer, fields)
                # What a client sends is as the contract wants it, whatever the answer is.
                self.session.judge_request(operation, query, headers, data, answer, True)
            except ContractBroken as broken:
                self.broken.append(f"{method} {target[:200]}: {broken}")
