"""Over how many paths a subnet's packets go, as operators say it: what guarantees count by."""
import json

from live_cases import fill
from small_fabric import fabric


def routing(session):
    def put(body, status=200, code=None, name="compute", **more):
        return session.call("putSubnetRouting", status, code, path={"id": name}, body=body, **more)

    def shown():
        return session.call("getSubnet", 200, path={"id": "compute"}).json["routing"]

    fill(session)
    assert shown() == {"spread": "single", "reason": "", "version": 0}, shown()
    answer = put({"spread": "adaptive", "reason": "AR is on"}).json
    assert answer == {"subnet": "compute", **shown()} and answer["spread"] == "adaptive" and answer["version"] > 0, answer
    assert put({"spread": "adaptive"}).json == answer, "the same again is no change"
    event = session.call("listEvents", 200, query={"after": str(answer["version"] - 1), "limit": "1"}).json["items"][0]
    assert event["type"] == "subnet.spreadSet" and event["data"] == {"subnet": "compute", "spread": "adaptive", "reason": "AR is on"}, event
    session.call("putTopology", 200, body=fabric())
    assert shown()["spread"] == "adaptive", "an import keeps it"
    put({"spread": "lmc"}, 409, "subnets.noLmc")
    put({"spread": "single"})
    put({"spread": "single"}, 404, "subnets.notFound", name="nowhere")
    for code, body in (("body.notJson", "{"), ("body.tooDeep", "[" * 1000 + "]" * 1000), ("body.wrongType", "[]"),
                       ("body.duplicateField", '{"spread": "lmc", "spread": "single"}'), ("body.missingField", {"reason": "none"}),
                       ("body.unknownField", {"spread": "single", "when": "now"}), ("body.invalidField", {"spread": "widely"}),
                       ("body.invalidField", {"spread": "single", "reason": "r" * 501})):
        put(body, 400, code)
    put(b" " * (1 << 20) + b"{}", 413, "http.bodyTooLarge")
    put("{}", 415, "http.contentEncoding", headers={"Content-Encoding": "zstd"})
    put(json.dumps({"spread": "single"}), 400, "query.unknownParameter", query={"verbose": ""})


def not_in_direct_mode(session):
    """Railweave's own tables have one path for each pair."""
    def put(status, code, operation, body):
        return session.call(operation, status, code, path={"id": "compute"}, body=body)

    put(200, None, "putSubnetMode", {"mode": "direct"})
    put(409, "subnets.notAdaptive", "putSubnetRouting", {"spread": "adaptive"})
    put(200, None, "putSubnetMode", {"mode": "observe"})
    put(200, None, "putSubnetRouting", {"spread": "adaptive"})
    put(409, "subnets.notAdaptive", "putSubnetMode", {"mode": "direct"})
    put(200, None, "putSubnetRouting", {"spread": "single"})


CASES = [routing]
