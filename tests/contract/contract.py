"""The contract as a judge: is this answer one that openapi.yaml allows, and has everything it promises been seen?"""
import http
import json
import re

import openapi_file

# Headers that any answer may have; the rest must be documented.
USUAL_HEADERS = {"date", "server", "content-type", "content-length", "transfer-encoding", "connection", "vary",
                 "content-encoding", "x-content-type-options", "x-request-id", "railweave-seq", "railweave-staleness"}


class ContractBroken(Exception):
    """An answer that the contract does not allow."""


def messages_in(value):
    """Each message in it, with the object that it is a field of."""
    if isinstance(value, dict):
        if isinstance(value.get("message"), dict) and "parts" in value["message"]:
            yield value, value["message"]
        value = list(value.values())
    for item in value if isinstance(value, list) else []:
        yield from messages_in(item)


class Operation:
    def __init__(self, document, path, method, item, description):
        self.id = description["operationId"]
        self.method, self.path = method.upper(), path
        self.parameters = [openapi_file.resolve(document, parameter)
                           for parameter in item.get("parameters", []) + description.get("parameters", [])]
        self.body = description.get("requestBody")
        self.roles = description.get("x-roles")  # None: anyone, without a token
        self.responses = {int(status): openapi_file.resolve(document, response)
                          for status, response in description["responses"].items()}
        self.codes = {int(status): codes for status, codes in description.get("x-codes", {}).items()}

    def __str__(self):
        return f"{self.method} {self.path}"


class Contract:
    def __init__(self, text):
        self.text = text
        self.document = openapi_file.load(text)
        self.operations = {}
        for path, item in self.document["paths"].items():
            for method in openapi_file.METHODS:
                if method in item:
                    operation = Operation(self.document, path, method, item, item[method])
                    self.operations[operation.id] = operation
        everywhere = self.document["x-everywhere"]
        self.everywhere = {int(status): openapi_file.resolve(self.document, response)
                           for status, response in everywhere["responses"].items()}
        self.codes_everywhere = {int(status): codes for status, codes in everywhere["x-codes"].items()}
        self._validators = {}
        self.seen_statuses = set()  # (operation id or "everywhere", status)
        self.seen_codes = set()     # (operation id or "everywhere", status, code as listed)
        self.answers = 0

    # --- values

    def errors_of(self, schema, value):
        """In words; [] when the value is as the schema says."""
        key = id(schema)
        if key not in self._validators:
            self._validators[key] = openapi_file.validator(self.document, schema)
        return [f"{error.message[:300]} at {error.json_path}" for error in self._validators[key].iter_errors(value)]

    def fields_of(self, schema):
        """The fields an object may have, with their schemas, through $ref and allOf."""
        fields = {}
        for part in [openapi_file.resolve(self.document, schema)]:
            for other in part.get("allOf", []):
                fields.update(self.fields_of(other))
            fields.update(part.get("properties", {}))
        return fields

    # --- answers

    def judge(self, operation, answer, wanted_fields=None):
        """`operation` None: a request that no operation gets to see. Raises ContractBroken."""
        self.answers += 1
        holder, response, codes = self._documented(operation, answer.status, answer.code())
        self._judge_headers(response, answer)
        content = response.get("content", {})
        if not content:
            if answer.body or answer.header("Content-Type"):
                raise ContractBroken(f"{answer.status} has a body, and should not: {answer.body[:200]!r}")
        else:
            media = (answer.header("Content-Type") or "").partition(";")[0].strip()
            if media not in content:
                raise ContractBroken(f"{answer.status} comes as '{media}', not as {' or '.join(content)}")
            self._judge_body(content[media]["schema"], media, answer, wanted_fields)
            if media == "application/problem+json":
                self._judge_problem(holder, codes, answer)
        self.seen_statuses.add((holder, answer.status))

    def _documented(self, operation, status, code):
        """Who answers so: the operation, or the server before it; a problem's code decides where both could."""
        if operation is not None and status in operation.responses:
            here = operation.codes.get(status, [])
            if code is None or any(matches(code, listed) for listed in here) or status not in self.everywhere:
                return operation.id, operation.responses[status], here
        listed = operation is None or status in operation.responses or str(status) in openapi_file.NO_OPERATION
        if status in self.everywhere and listed:
            return "everywhere", self.everywhere[status], self.codes_everywhere[status]
        raise ContractBroken(f"{status} is not documented for {operation}")

    def _judge_headers(self, response, answer):
        documented = {name.lower(): openapi_file.resolve(self.document, header)
                      for name, header in response.get("headers", {}).items()}
        for name, header in documented.items():
            value = answer.header(name)
            if value is None:
                if header.get("required"):
                    raise ContractBroken(f"{answer.status} lacks the header {name}")
                continue
            errors = self.errors_of(header["schema"], value)
            if errors:
                raise ContractBroken(f"{answer.status}'s header {name}: {errors[0]}")
        for name, _ in answer.headers:
            if name.lower() not in USUAL_HEADERS and name.lower() not in documented:
                raise ContractBroken(f"{answer.status} has a header that is not documented: {name}")

    def _judge_messages(self, value):
        """The codes of messages and the parts that each has are listed; an event's is its type, an alarm's its kind."""
        listed = self.document["components"]["schemas"]["Message"]["x-codes"]
        for holder, message in messages_in(value):
            words = " ".join(part for part in message["parts"] if isinstance(part, str))
            is_alarm = "kind" in holder or holder.get("type") == "alarm.raised"  # of several tenants' jobs, and shown to each
            if is_alarm and holder["subject"]["kind"] != "job" and re.search(r"\bjob-[0-9]{6}", words):
                raise ContractBroken(f"a job is named in words, and not as a part of its own, in {message}")
            code = message["code"]
            if code is None or code in (holder.get("type"), holder.get("kind")):
                continue
            kinds = {kind for part in message["parts"] if isinstance(part, dict) for kind in part} - {"note", "unit", "opaque"}
            if code not in listed or not kinds <= set(listed[code]):
                raise ContractBroken(f"the message {message} is of no code of x-codes, or has other parts than it says")

    def _judge_body(self, schema, media, answer, wanted_fields):
        if not media.endswith("json"):
            return
        try:
            value = json.loads(answer.body.decode("utf-8"), object_pairs_hook=unique, parse_constant=refuse)
        except ValueError as error:
            raise ContractBroken(f"{answer.status} is not JSON: {error}") from error
        answer.json = value
        if wanted_fields is not None and answer.status == 200:
            self._judge_partial_page(schema, value, wanted_fields)
            value = dict(value, items=[])
        errors = self.errors_of(schema, value)
        if errors:
            raise ContractBroken(f"{answer.status}: {'; '.join(errors[:5])}")
        if wanted_fields is None:
            self._judge_messages(value)

    def _judge_partial_page(self, schema, page, wanted_fields):
        fields = self.fields_of(openapi_file.resolve(self.document, schema)["properties"]["items"]["items"])
        for item in page.get("items", []):
            for name, value in item.items():
                if name not in wanted_fields or name not in fields:
                    raise ContractBroken(f"the field {name} was not asked for, or is not documented")
                errors = self.errors_of(fields[name], value)
                if errors:
                    raise ContractBroken(f"the field {name}: {errors[0]}")

    def _judge_problem(self, holder, codes, answer):
        problem = answer.json
        if problem["status"] != answer.status:
            raise ContractBroken(f"a problem of status {problem['status']} is answered with {answer.status}")
        if problem["title"] != http.HTTPStatus(answer.status).phrase and answer.status not in OTHER_TITLES:
            raise ContractBroken(f"the title of {answer.status} is '{problem['title']}'")
        if len(answer.body) > 20_000 and "explanation" not in problem:
            raise ContractBroken(f"a problem of {len(answer.body)} bytes")
        listed = [code for code in codes if matches(problem["code"], code)]
        if not listed:
            raise ContractBroken(f"{answer.status} has the code {problem['code']}, which is not documented for it: "
                                 f"{problem['detail'][:300]}")
        self.seen_codes.add((holder, answer.status, listed[0]))

    # --- what was never seen

    def unseen(self):
        """(operation id or "everywhere", status, code or None), for everything promised."""
        for holder, responses, codes in [("everywhere", self.everywhere, self.codes_everywhere)] + [
                (operation.id, operation.responses, operation.codes) for operation in self.operations.values()]:
            for status in responses:
                if status in self.everywhere and status not in codes:
                    continue  # one of x-everywhere, and promised there
                if (holder, status) not in self.seen_statuses:
                    yield holder, status, None
                    continue
                for code in codes.get(status, []):
                    if (holder, status, code) not in self.seen_codes:
                        yield holder, status, code


# Statuses whose phrase changed over time (RFC 9110 renamed them).
OTHER_TITLES = {413, 414, 416, 422}


def matches(code, listed):
    return code == listed or (listed.endswith(".*") and code.startswith(listed[:-1]))


def unique(pairs):
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a field is given twice")
    return fields


def refuse(constant):
    raise ValueError(f"{constant} is no JSON")


def template(path):
    """A path of the contract as a pattern. Links have ids with slashes."""
    return re.compile(re.sub(r"\{[a-z]+\}", "(.+)" if path.startswith("/v1/links") else "([^/]+)", re.escape(path)
                             .replace(r"\{", "{").replace(r"\}", "}")) + "$")
