#!/usr/bin/env python3
"""Letters of agents to each other: forged, repeated, of another key or node, after a restart of either side, overtaking each other.

letters_test.py FOLDER_OF_AGENT
"""
import sys

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
from letters import Peer, tag, WINDOW  # noqa: E402
from partition import Receiver, Sender  # noqa: E402

KEY, OTHER = "1" * 64, "2" * 64


def pair():
    """Agents of a and b that know each other: (a's letters with b, b's with a)"""
    a, b = Peer("a", "b", KEY), Peer("b", "a", KEY)
    assert b.read(a.write([["lost"]])) == ([], False) and b.owes, "a run that is new is not believed yet"
    assert a.read(b.write([])) == ([], True) and not b.owes
    assert b.read(a.write([["first"]])) == ([["first"]], True)
    assert a.read(b.write([["second"]])) == ([["second"]], False)
    return a, b


def forged():
    a, b = pair()
    good = a.write([["x"]])
    assert b.read(good[:-1] + b" }") is None
    assert b.read(b"0" * 32 + good[32:]) is None
    body = good[33:]
    assert b.read(tag(OTHER, body) + b" " + body) is None, "another key"
    assert b.read(b"") is None and b.read(b"{}") is None and b.read(b"\xff" * 100) is None
    assert a.read(good) is None, "its own, sent back"
    assert b.read(good) == ([["x"]], False), "the true one counts all the same"


def repeated():
    a, b = pair()
    kept = [a.write([[number]]) for number in range(3)]
    assert [b.read(one) for one in (kept[2], kept[0], kept[1])] == [([[2]], False), ([[0]], False), ([[1]], False)], "they may overtake each other"
    assert [b.read(one) for one in kept] == [None] * 3, "each counts once"
    last = a.write([["late"]])
    for _ in range(WINDOW):
        b.read(a.write([["late"]]))
    assert b.read(last) is None, "too far behind"


def restarted():
    a, b = pair()
    old = a.write([["of the run before"]])
    again = Peer("b", "a", KEY)  # b's agent starts again: it knows nothing
    for one in (old, a.write([["later"]])):
        assert again.read(one) == ([], False), "what was recorded is not followed by a reader that has just begun"
    assert a.read(again.write([["from the new run"]])) == ([["from the new run"]], True)
    assert again.read(a.write([["now"]])) == ([["now"]], True)
    assert again.read(old) is None, "nor later"
    assert a.read(b.write([["from b's run before"]])) == ([], False), "a run that has ended does not come back"


def other_key():
    a, b = pair()
    a.follow(OTHER)
    assert b.read(a.write([["by the new key"]])) is None
    assert a.read(b.write([["by the one before"]])) == ([["by the one before"]], False), "until the other has asked as well"
    b.follow(OTHER)
    assert b.read(a.write([["now"]])) == ([["now"]], False) and b.earlier is None
    assert a.read(b.write([["both"]])) == ([["both"]], False)
    body = b.write([["x"]])[33:]
    assert a.read(tag(KEY, body) + b" " + body) is None, "the key before ends with the first letter by the new one"


def numbers():
    sender = Sender(1000)
    sender.wanted = {"r": 1000}
    assert sender.grant("r", 5, 800, 1.0) and not sender.grant("r", 10**18, 0, 1.1)
    assert sender.grant("r", 6, 700, 1.2) and sender.parts(1.3)[0] == {"r": 700}
    receiver = Receiver(100, 0.0)
    receiver.hear("s", 80, 0, 10.0)
    granted = receiver.grants(10.0)["s"]
    receiver.hear("s", 0, 10**18, 10.1)
    receiver.hear("t", 100, 0, 10.1)
    assert granted == (1, 80) and receiver.grants(10.1)["t"][1] <= 20, "what s may still apply is held, whatever number it claims"


for case in (forged, repeated, restarted, other_key, numbers):
    case()
print("PASSED")
