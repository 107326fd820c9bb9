"""Tenants."""
import threading

from session import Session


def tenants(session):
    created = session.call("putTenant", 200, path={"name": "research"}, body={"description": "Pretraining", "maxGpus": None})
    assert created.json["gpusHeld"] == 0 and created.json["maxGpus"] is None, created.json
    same = session.call("putTenant", 200, path={"name": "research"}, body={"description": "Pretraining"})
    assert same.header("ETag") == created.header("ETag"), "the same again is no change"
    shown = session.call("getTenant", 200, path={"name": "research"})
    assert shown.json == created.json and shown.header("ETag") == created.header("ETag")
    session.call("getTenant", 304, path={"name": "research"}, headers={"If-None-Match": "W/" + shown.header("ETag")})
    session.call("getTenant", 400, "query.unknownParameter", path={"name": "research"}, query={"a": ""})
    session.call("getTenant", 404, "tenants.notFound", path={"name": "unknown"})

    session.call("putTenant", 412, "precondition.versionDiffers", path={"name": "new"}, body={}, headers={"If-Match": "*"})
    session.call("putTenant", 412, "precondition.versionDiffers", path={"name": "research"}, body={},
                 headers={"If-Match": '"research.0"'})
    for none_of in ("*", shown.header("ETag")):
        session.call("putTenant", 412, "precondition.exists", path={"name": "research"}, body={}, headers={"If-None-Match": none_of})
    session.call("putTenant", 200, path={"name": "once"}, body={}, headers={"If-None-Match": "*"})
    session.call("removeTenant", 204, path={"name": "once"})
    changed = session.call("putTenant", 200, path={"name": "research"}, body={"maxGpus": 16},
                           headers={"If-Match": shown.header("ETag")})
    assert changed.json["maxGpus"] == 16 and changed.json["description"] == "", changed.json
    session.call("putTenant", 200, path={"name": "research"}, body=b"")  # an empty body: no limits
    assert session.call("getTenant", 200, path={"name": "research"}).json["maxGpus"] is None


def lists(session):
    for name in ("a", "b", "c.d_e-F9"):
        session.call("putTenant", 200, path={"name": name}, body={"maxGpus": 8})
    whole = session.call("listTenants", 200).json
    assert [tenant["id"] for tenant in whole["items"]] == ["a", "b", "c.d_e-F9", "research"]
    items, cursor = [], None
    while True:
        page = session.call("listTenants", 200, query={"limit": "1", **({"cursor": cursor} if cursor else {})}).json
        items += page["items"]
        cursor = page["nextCursor"]
        if cursor is None:
            break
    assert items == whole["items"]
    session.call("listTenants", 200, query={"fields": "id,maxGpus"})
    session.call("listTenants", 400, "query.invalidNumber", query={"limit": "all"})
    session.call("listTenants", 400, "query.unknownParameter", query={"name": "a"})

    etag = session.call("getTenant", 200, path={"name": "a"}).header("ETag")
    session.call("removeTenant", 412, "precondition.versionDiffers", path={"name": "a"}, headers={"If-Match": '"a.1"'})
    session.call("removeTenant", 400, "query.unknownParameter", path={"name": "a"}, query={"force": "true"})
    session.call("removeTenant", 204, path={"name": "a"}, headers={"If-Match": etag})
    session.call("removeTenant", 404, "tenants.notFound", path={"name": "a"})
    for name in ("b", "c.d_e-F9"):
        session.call("removeTenant", 204, path={"name": name})


def bad_requests(session):
    def refuse(code, body, pointer=None, name="x", **headers):
        problem = session.call("putTenant", 400, code, path={"name": name}, body=body, headers=headers).json
        assert pointer is None or problem["errors"][0]["pointer"] == pointer, problem

    refuse("body.notJson", "{")
    refuse("body.tooDeep", "[" * 1000 + "]" * 1000)
    refuse("body.duplicateField", '{"maxGpus": 1, "maxGpus": 2}')
    refuse("body.wrongType", "[]")
    refuse("body.unknownField", {"maxGPUs": 1}, "/maxGPUs")
    refuse("body.invalidField", {"maxGpus": -1}, "/maxGpus")
    refuse("body.invalidField", {"maxGpus": "many"}, "/maxGpus")
    refuse("body.invalidField", {"maxGpus": 10**12}, "/maxGpus")
    refuse("body.invalidField", {"description": 5}, "/description")
    refuse("body.invalidField", {"description": "d" * 1001}, "/description")
    for name in ("a b", "\u00e9", "a/b", "n" * 64, "*", "a\"b"):
        refuse("tenants.badName", {}, name=name)
    session.call("putTenant", 400, "query.unknownParameter", path={"name": "x"}, query={"maxGpus": "1"}, body={})
    session.call("putTenant", 413, "http.bodyTooLarge", path={"name": "x"}, body=b" " * (1 << 20) + b"{}")
    session.call("putTenant", 415, "http.contentEncoding", path={"name": "x"}, body="{}", headers={"Content-Encoding": "zstd"})
    session.call("getTenant", 404, "tenants.notFound", path={"name": "x"})


def at_the_same_time(session):
    """Puts and removals of one tenant that meet: each answer tells the caller's own change, and the service goes on."""
    others, failures = [], []

    def go(number):
        one = Session(session.service, session.contract)
        for turn in range(150):
            try:
                if number % 2:
                    one.call("removeTenant", (204, 404), path={"name": "met"})
                else:
                    text = f"{number}-{turn}"
                    answer = one.call("putTenant", 200, path={"name": "met"}, body={"description": text})
                    if answer.json["description"] != text:
                        others.append((text, answer.json))
            except Exception as failure:  # noqa: BLE001: told below
                failures.append(repr(failure))
                break
        one.close()

    threads = [threading.Thread(target=go, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[:2]
    assert not others, f"answered with another caller's change: {others[:3]}"
    session.call("removeTenant", (204, 404), path={"name": "met"})


CASES = [tenants, lists, bad_requests, at_the_same_time]
