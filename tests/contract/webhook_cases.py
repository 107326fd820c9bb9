"""Webhooks: set, changed, removed; which addresses may be sent to. What is sent, and when, is in tests/integration."""
SECRET = "0123456789abcdef"


def put(session, name, status=200, code=None, headers=None, **body):
    body = {"url": f"https://{name}.invalid/hook", "secret": SECRET, **body}
    return session.call("putWebhook", status, code, path={"name": name}, body={key: value for key, value in body.items() if value is not None},
                        headers=headers)


def webhooks(session):
    made = put(session, "pager", types=["alarm.", "webhook.put"], tenant="research")
    assert made.json["state"] == "new" and made.json["tenant"] == "research" and "secret" not in made.body.decode(), made.json
    assert session.call("getWebhook", 200, path={"name": "pager"}).json["url"] == "https://pager.invalid/hook"
    again = put(session, "pager", headers={"If-Match": made.header("ETag")}, secret=None)
    assert again.json["tenant"] is None and again.json["version"] > made.json["version"], again.json
    put(session, "pager", 412, "precondition.versionDiffers", headers={"If-Match": made.header("ETag")})
    put(session, "pager", 412, "precondition.exists", headers={"If-None-Match": "*"})
    put(session, "other", 400, "webhooks.noSecret", secret=None)
    put(session, "other", 400, "tenants.unknown", tenant="not-there")
    for url in ("http://example.org/hook", "ftp://example.org/", "https://user:pass@example.org/", "https:// example.org", "https://",
                "unix:/run/x.sock", "https://example.org/#a", "http://127.0.0.1:80/"):
        put(session, "other", 400, "webhooks.badUrl", url=url)
    for host in ("127.0.0.1", "[::1]", "169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "100.100.100.200",
                 "[fd00:ec2::254]", "0.0.0.0", "224.0.0.1", "[::ffff:127.0.0.1]", "[2002:7f00:1::]"):
        put(session, "other", 400, "webhooks.addressRefused", url=f"https://{host}/hook")
    for body, code in (("{", "body.notJson"), ("[" * 1000 + "]" * 1000, "body.tooDeep"), ("[]", "body.wrongType"), ("{}", "body.missingField"),
                       ('{"url": "a", "url": "b"}', "body.duplicateField"), ({"url": "https://a.invalid", "uri": 1}, "body.unknownField"),
                       ({"url": 1}, "body.invalidField"), ({"url": "https://a.invalid", "secret": "short"}, "body.invalidField"),
                       ({"url": "https://a.invalid", "types": ["everything"]}, "body.invalidField"),
                       ({"url": "https://" + "a" * 2000}, "body.invalidField")):
        session.call("putWebhook", 400, code, path={"name": "other"}, body=body)
    session.call("putWebhook", 400, "webhooks.badName", path={"name": "a b"}, body={"url": "https://a.invalid", "secret": SECRET})
    session.call("putWebhook", 413, "http.bodyTooLarge", path={"name": "x"}, body=b" " * (1 << 20) + b"{}")
    session.call("putWebhook", 415, "http.contentEncoding", path={"name": "x"}, body="{}", headers={"Content-Encoding": "zstd"})
    session.call("putWebhook", 415, "http.mediaType", path={"name": "x"}, body=b"{}", headers={"Content-Type": "text/plain"})
    names = ["pager"]
    for number in range(99):
        names.append(f"many-{number:02}")
        put(session, names[-1], url="https://[2001:db8::1]:9/hook", types=["no.such"])
    refused = put(session, "one-more", 429, "webhooks.tooMany")
    assert int(refused.header("Retry-After")) >= 1
    page = session.call("listWebhooks", 200, query={"limit": "40", "fields": "id,state"}).json
    assert [item["id"] for item in page["items"]] == sorted(names)[:40] and page["nextCursor"] == sorted(names)[39], page
    for query, code in (({"limit": "0"}, "query.invalidNumber"), ({"fields": "secret"}, "query.unknownField"), ({"url": "a"}, "query.unknownParameter")):
        session.call("listWebhooks", 400, code, query=query)
    for operation, status in (("getWebhook", 400), ("removeWebhook", 400), ("putWebhook", 400)):
        session.call(operation, status, "query.unknownParameter", path={"name": "pager"}, query={"a": "b"},
                     body={"url": "https://a.invalid", "secret": SECRET} if operation == "putWebhook" else None)
    session.call("removeWebhook", 412, "precondition.versionDiffers", path={"name": "pager"}, headers={"If-Match": made.header("ETag")})
    session.call("removeWebhook", 412, "precondition.exists", path={"name": "pager"}, headers={"If-None-Match": "*"})
    for name in names:
        session.call("removeWebhook", 204, path={"name": name})
    for operation in ("getWebhook", "removeWebhook"):
        session.call(operation, 404, "webhooks.notFound", path={"name": "pager"})
    events = session.call("listEvents", 200, query=[("type", "webhook.put"), ("type", "webhook.removed"), ("limit", "1000")])
    assert SECRET not in events.body.decode() and events.json["items"], "a secret is shown to no one"
    assert session.call("listWebhooks", 200).json["items"] == []


CASES = [webhooks]
