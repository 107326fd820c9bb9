"""Requests to a railweaved, every answer of which is held to the contract."""
import gzip
import http.client
import json
import time
import urllib.parse

from contract import ContractBroken

TIMEOUT_S = 60  # every answer takes far less: a service that exceeds it hangs


def until_deadline():
    """For loops that ask the service again until something has happened: ends after TIMEOUT_S."""
    end = time.monotonic() + TIMEOUT_S
    while time.monotonic() < end:
        yield


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body
        self.json = None

    def header(self, name):
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        return ", ".join(values) if values else None

    def code(self):
        if "problem+json" not in (self.header("Content-Type") or ""):
            return None
        try:
            return json.loads(self.body)["code"]
        except (ValueError, KeyError, TypeError):
            return None


class Unexpected(Exception):
    """An answer that the contract allows, but that this case did not expect."""


class Session:
    def __init__(self, service, contract):
        self.service, self.contract = service, contract
        self._connection = None

    def close(self):
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def begun(self, job_id):
        """The job, once the queue has come to it: after a cycle that took long none runs for a while."""
        for _ in until_deadline():
            job = self.call("getJob", 200, path={"id": job_id}).json
            if job["state"] != "queued":
                break
        return job

    def call(self, operation_id, expect, code=None, *, path=None, query=(), headers=None, body=None, valid=None):
        """Calls the operation and holds the answer to the contract and to `expect`: a status, or several.

        path: its path parameters, by name. query: pairs, or a dictionary. body: bytes or text as it is; anything else is
        sent as JSON. valid: whether the request is as the contract says it has to be; by default it must be when it
        succeeds, and must not be when the answer says that the body itself is wrong. "either": a batch with wrong items.
        """
        operation = self.contract.operations[operation_id]
        query = list(query.items()) if isinstance(query, dict) else list(query)
        target = self.target(operation, path or {}, query)
        headers = dict(headers or {})
        data = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
        if isinstance(data, str):
            data = data.encode()
        if data is not None and "Content-Type" not in headers:
            headers["Content-Type"] = "application/json"
        answer = self.exchange(operation.method, target, headers, data)
        fields = next(([part for part in value.split(",") if part] or None for name, value in query if name == "fields"), None)
        try:
            self.contract.judge(operation, answer, fields)
            self.judge_request(operation, query, headers, data, answer, valid)
        except ContractBroken as broken:
            raise ContractBroken(f"{operation.method} {target[:200]}: {broken}") from broken
        expected = (expect,) if isinstance(expect, int) else expect
        if answer.status not in expected or (code is not None and answer.code() != code):
            raise Unexpected(f"{operation.method} {target[:200]}: {answer.status} {answer.body[:500]!r}, "
                             f"expected {expect} {code or ''}")
        return answer

    @staticmethod
    def target(operation, path, query):
        target = operation.path
        for name, value in path.items():
            target = target.replace("{" + name + "}", urllib.parse.quote(value, safe="/" if "links" in target else ""))
        if query:
            target += "?" + urllib.parse.urlencode(query)
        return target

    def exchange(self, method, target, headers, data):
        """One request on a connection that is kept; no redirects, no retries except where the server had closed it."""
        for attempt in (1, 2):
            fresh = self._connection is None
            if fresh:
                self._connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=TIMEOUT_S)
            try:
                self._connection.request(method, target, data, headers)
                response = self._connection.getresponse()
                body = response.read()
            except (http.client.RemoteDisconnected, ConnectionError, BrokenPipeError):
                self.close()
                if fresh or attempt == 2:
                    raise
                continue
            except TimeoutError as timeout:
                self.close()
                raise ContractBroken(f"{method} {target[:200]}: no answer within {TIMEOUT_S} s") from timeout
            if response.will_close:
                self.close()
            if response.getheader("Content-Encoding") == "gzip" and body:
                body = gzip.decompress(body)
            return Answer(response.status, response.getheaders(), body)
        raise AssertionError

    def judge_request(self, operation, query, headers, data, answer, valid):
        """The contract is as strict as the server, and no stricter."""
        errors = self.request_errors(operation, query, headers, data)
        if valid is None:
            if answer.status < 400:
                valid = True
            elif answer.code() in ("body.unknownField", "body.wrongType", "body.missingField", "query.unknownParameter"):
                valid = False
        if valid is True and errors:
            raise ContractBroken(f"answered with {answer.status} what the contract does not allow to be asked: {errors[0]}")
        if valid is False and not errors:
            raise ContractBroken(f"refused ({answer.code()}) what the contract allows to be asked: {data!r:.300}")

    def request_errors(self, operation, query, headers, data):
        errors = []
        known = {parameter["name"]: parameter for parameter in operation.parameters if parameter["in"] == "query"}
        for name, value in query:
            if name not in known:
                errors.append(f"there is no parameter {name}")
                continue
            parameter = known[name]
            errors += [f"parameter {name}: {error}" for error in self.contract.errors_of(
                parameter["schema"], as_typed(self.contract.document, parameter["schema"], value))]
        lower = {name.lower(): value for name, value in headers.items()}
        for parameter in operation.parameters:
            if parameter["in"] == "header" and parameter["name"].lower() in lower:
                value = as_typed(self.contract.document, parameter["schema"], lower[parameter["name"].lower()])
                errors += [f"header {parameter['name']}: {e}" for e in self.contract.errors_of(parameter["schema"], value)]
        if operation.body is None:
            return errors
        if not data:
            return errors + (["the body is missing"] if operation.body.get("required") else [])
        if lower.get("content-encoding") == "gzip":
            try:
                data = gzip.decompress(data)
            except (OSError, EOFError) as error:
                return errors + [f"the body is not gzip: {error}"]
        schema = operation.body["content"].get(lower.get("content-type", "").partition(";")[0], {}).get("schema")
        if schema is None or schema.get("type") == "string":
            return errors
        try:
            value = json.loads(data)
        except (ValueError, RecursionError) as error:
            return errors + [f"the body is not JSON: {error}"]
        return errors + [f"body: {error}" for error in self.contract.errors_of(schema, value)]


def as_typed(document, schema, text):
    """A parameter's text as the value that its schema speaks of."""
    import openapi_file
    schema = openapi_file.resolve(document, schema)
    if schema.get("type") == "integer" and text.isascii() and text.isdigit():
        return int(text)
    if schema.get("type") == "boolean" and text in ("true", "false"):
        return text == "true"
    if schema.get("type") == "array":
        return [text]
    return text
