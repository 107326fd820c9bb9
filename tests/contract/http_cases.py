"""What the server answers before an operation sees the request: bad HTTP, sent byte by byte."""
import http.client
import socket

from contract import ContractBroken
from session import TIMEOUT_S, Answer

HOST = "Host: 127.0.0.1\r\n"
JSON = "Content-Type: application/json\r\n"


def say(session, data, method="GET", half_close=False):
    """Sends these bytes; the answer, held to the contract."""
    with socket.create_connection(("127.0.0.1", session.service.port), timeout=TIMEOUT_S) as connection:
        connection.sendall(data if isinstance(data, bytes) else data.encode("latin-1"))
        if half_close:
            connection.shutdown(socket.SHUT_WR)
        response = http.client.HTTPResponse(connection, method=method)
        try:
            response.begin()
            answer = Answer(response.status, response.getheaders(), response.read())
        except TimeoutError as timeout:
            raise ContractBroken(f"no answer to {data[:100]!r}") from timeout
    session.contract.judge(None, answer)
    return answer


def bad_http(session):
    def refuse(status, code, data, **how):
        answer = say(session, data, **how)
        assert (answer.status, answer.code()) == (status, code), f"{data[:120]!r}: {answer.status} {answer.body!r}"

    get = "GET /healthz HTTP/1.1\r\n"
    post = "POST /v1/jobs HTTP/1.1\r\n" + HOST + "Content-Type: application/json\r\n"
    refuse(404, "http.noSuchPath", "GET / HTTP/1.1\r\n" + HOST + "\r\n")
    refuse(404, "http.noSuchPath", "GET /v1/jobs/ HTTP/1.1\r\n" + HOST + "\r\n")
    refuse(404, "http.noSuchPath", "GET /v2/jobs HTTP/1.1\r\n" + HOST + "\r\n")
    refuse(405, "http.methodNotAllowed", "PATCH /v1/jobs HTTP/1.1\r\n" + HOST + "\r\n")
    refuse(400, "http.badTarget", "GET /v1/nodes/%zz HTTP/1.1\r\n" + HOST + "\r\n")
    refuse(400, "http.badTarget", "GET /v1/nodes/%00 HTTP/1.1\r\n" + HOST + "\r\n")
    refuse(400, "http.badTarget", "GET /v1/nodes/%ff HTTP/1.1\r\n" + HOST + "\r\n")
    refuse(400, "http.badTarget", "GET /v1/../etc/passwd HTTP/1.1\r\n" + HOST + "\r\n")
    refuse(400, "http.badTarget", "GET /v1/nodes/%2e%2e HTTP/1.1\r\n" + HOST + "\r\n")
    refuse(400, "http.badTarget", "GET /v1/jobs?" + "a=1&" * 200 + " HTTP/1.1\r\n" + HOST + "\r\n")
    refuse(400, "http.badHost", get + "\r\n")
    refuse(400, "http.badHost", get + HOST + HOST + "\r\n")
    refuse(400, "http.malformed", post + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}")
    refuse(400, "http.malformed", post + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}")
    refuse(400, "http.badFraming", post.replace("HTTP/1.1", "HTTP/1.0") + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
    refuse(400, "http.malformed", "nonsense\r\n\r\n")
    refuse(400, "http.malformed", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
    refuse(400, "http.malformed", post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n")
    refuse(400, "http.incomplete", post + "Content-Length: 20\r\n\r\n{}", half_close=True)
    refuse(400, "http.badGzip", post + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}")
    refuse(403, "http.crossOrigin", post + "Origin: https://example.org\r\nContent-Length: 2\r\n\r\n{}")
    refuse(403, "http.crossOrigin", post + "Origin: http://127.0.0.1:3000\r\nContent-Length: 2\r\n\r\n{}")
    refuse(405, "http.methodNotAllowed", "TRACE /v1/jobs HTTP/1.1\r\n" + HOST + "\r\n")
    refuse(413, "http.bodyTooLarge", "DELETE /v1/tenants/a HTTP/1.1\r\n" + HOST + JSON + "Content-Length: 99999999\r\n\r\n")
    refuse(414, "http.targetTooLong", "GET /v1/nodes?name=" + "a" * 9000 + " HTTP/1.1\r\n" + HOST + "\r\n")
    refuse(415, "http.mediaType", "POST /v1/jobs/job-1/complete HTTP/1.1\r\n" + HOST + "Content-Length: 2\r\n\r\n{}")
    refuse(415, "http.mediaType", "POST /v1/nodes/node-1/drain HTTP/1.1\r\n" + HOST +
           "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}")
    refuse(415, "http.contentEncoding", "POST /v1/jobs/job-1/complete HTTP/1.1\r\n" + HOST + JSON +
           "Content-Encoding: br\r\nContent-Length: 2\r\n\r\n{}")
    refuse(417, "http.expectation", post + "Expect: a-miracle\r\nContent-Length: 2\r\n\r\n{}")
    refuse(421, "http.wrongHost", get + "Host: evil.example.org\r\n\r\n")
    refuse(431, "http.tooManyHeaders", get + HOST + "X-A: b\r\n" * 120 + "\r\n")
    refuse(431, "http.headersTooLarge", get + HOST + "X-A: " + "b" * 20000 + "\r\n\r\n")
    for method in ("TRACE", "QUERY"):  # registered, and of no resource here
        refuse(405, "http.methodNotAllowed", f"{method} /v1/jobs HTTP/1.1\r\n" + HOST + "\r\n")
    refuse(400, "query.repeatedParameter", "GET /v1/jobs?limit=1&limit=2 HTTP/1.1\r\n" + HOST + "\r\n")
    refuse(501, "http.unknownMethod", "BREW /v1/jobs HTTP/1.1\r\n" + HOST + "\r\n")
    refuse(501, "http.transferEncoding", post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n")
    refuse(505, "http.version", "GET /healthz HTTP/3.0\r\n" + HOST + "\r\n")


def too_large_an_import(session):
    """Refused by its length, before a byte of it is sent."""
    with socket.create_connection(("127.0.0.1", session.service.port), timeout=TIMEOUT_S) as connection:
        connection.sendall(b"PUT /v1/fabric/topology HTTP/1.1\r\nHost: localhost\r\nContent-Length: 268435457\r\n\r\n")
        response = http.client.HTTPResponse(connection)
        response.begin()
        answer = Answer(response.status, response.getheaders(), response.read())
    session.contract.judge(session.contract.operations["putTopology"], answer)
    assert answer.code() == "http.bodyTooLarge", answer.body


CASES = [bad_http, too_large_an_import]
