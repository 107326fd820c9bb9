"""Alarms of live subnets as people answer them: acknowledged, muted for a time. live_cases.py raises them."""
import json


def asking(session, alarm):
    """An operation on that alarm, or on another."""
    def ask(operation, status, code=None, alarm=alarm, **more):
        return session.call(operation, status, code, path={"id": alarm}, **more).json
    return ask


def refused(ask, operation, body):
    """body: one that is taken."""
    ask(operation, 404, "alarms.notFound", alarm="link.down:a/1--b/2", body=body)
    ask(operation, 400, "query.unknownParameter", body=body, query={"force": "1"})
    for code, wrong in (("body.notJson", "{"), ("body.tooDeep", "[" * 100 + "]" * 100), ("body.wrongType", "[]"),
                        ("body.duplicateField", '{"note": "a", "note": "b"}'), ("body.unknownField", {**body, "reason": "x"}),
                        ("body.invalidField", {**body, "note": "n" * 501})):
        ask(operation, 400, code, body=wrong)
    ask(operation, 413, "http.bodyTooLarge", body=json.dumps(body).encode() + b" " * (2 << 20), valid=True)
    ask(operation, 415, "http.contentEncoding", body=body, headers={"Content-Encoding": "deflate"})


def acknowledged_alarms(session, ids):
    """For everybody, in the journal, and for as long as it does not get worse."""
    ask = asking(session, ids[0])
    before = session.call("getAlarm", 200, path={"id": ids[0]}).json
    assert before["acknowledged"] is None, before
    now = ask("acknowledgeAlarm", 200, body={"note": "INC-42"})
    assert now["acknowledged"]["note"] == "INC-42" and now["acknowledged"]["by"], now
    assert now["version"] > before["version"] and now["raisedAt"] == before["raisedAt"], now
    assert ask("acknowledgeAlarm", 200, body={"note": "INC-42"}) == now, "repeated: nothing may change"
    assert session.call("getAlarm", 200, path={"id": ids[0]}).json == now
    for flag, there in (("true", ids[:1]), ("false", ["hosts.cutOff:leaf-2", *ids[1:]])):
        listed = session.call("listAlarms", 200, query={"acknowledged": flag}).json["items"]
        assert [item["id"] for item in listed] == there, (flag, listed)
    assert ask("acknowledgeAlarm", 200)["acknowledged"]["note"] == "", "an empty body has no note"
    assert ask("unacknowledgeAlarm", 200)["acknowledged"] is None
    assert ask("unacknowledgeAlarm", 200)["acknowledged"] is None, "repeated"
    told = session.call("listEvents", 200, query={"subject": f"alarm/{ids[0]}"}).json["items"]
    assert [event["type"] for event in told] == ["alarm.acknowledged", "alarm.acknowledged", "alarm.reopened"], told
    for operation in ("acknowledgeAlarm", "unacknowledgeAlarm"):
        refused(ask, operation, {})


def muted_alarms(session, ids):
    """Listed apart, for everybody, with who, until when and why."""
    ask = asking(session, ids[0])
    before = session.call("getAlarm", 200, path={"id": ids[0]}).json
    assert before["muted"] is None, before
    now = ask("muteAlarm", 200, body={"for": "PT2H", "note": "INC-42"})
    assert now["muted"]["note"] == "INC-42" and now["muted"]["by"] and now["muted"]["at"] < now["muted"]["until"], now
    assert now["version"] > before["version"] and session.call("getAlarm", 200, path={"id": ids[0]}).json == now
    for flag, there in (("true", ids[:1]), ("false", ["hosts.cutOff:leaf-2", *ids[1:]])):
        listed = session.call("listAlarms", 200, query={"muted": flag}).json["items"]
        assert [item["id"] for item in listed] == there, (flag, listed)
    assert ask("muteAlarm", 200, body={"for": "P30D"})["muted"]["note"] == "", "another replaces the first"
    assert ask("unmuteAlarm", 200)["muted"] is None
    assert ask("unmuteAlarm", 200)["muted"] is None, "repeated"
    told = session.call("listEvents", 200, query={"subject": f"alarm/{ids[0]}"}).json["items"]
    assert [event["type"] for event in told[-3:]] == ["alarm.muted", "alarm.muted", "alarm.unmuted"], told
    session.call("listAlarms", 400, "query.invalidFlag", query={"muted": "all"})
    ask("muteAlarm", 400, "body.missingField", body={"note": "why"})
    for span in ("PT59S", "P31D", "2h", ""):
        ask("muteAlarm", 400, "body.invalidField", body={"for": span})
    refused(ask, "muteAlarm", {"for": "PT2H"})
    refused(ask, "unmuteAlarm", {})
