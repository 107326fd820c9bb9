"""What agents say to each other, so that no one else can say it: one UDP datagram is

    <tag: 32 hexadecimal digits> <JSON: {"from": NODE, "run": ..., "number": ..., "nonce": ..., "echo": ..., "lines": [...]}>

The tag is the first half of HMAC-SHA-256 of the JSON's bytes, by the key that Railweave gives to the agents of both nodes and shows to no
other (`key` of a peer in GET /v1/nodes/{id}/budgets); another key comes with another leader.

A letter counts once: its number is new in its sender's run, and not far behind the highest. A run that is new to the reader counts
only where the letter echoes the nonce that the reader told this peer last, which no letter of before can; then the reader takes
another nonce. So the first letter after an agent's start is not followed, only answered. Lines: [job, device, "wants", Mb/s, number
of the grant applied] and [job, device, "grants", number, Mb/s]. Pure but for its nonces."""
import hashlib
import hmac
import json
import secrets

TAG_DIGITS = 32
WINDOW = 64  # letters that may overtake each other on their way
MOST_NUMBER = 1 << 53  # of anything in a letter: a whole number of JSON


def tag(key, body):
    return hmac.new(key.encode(), body, hashlib.sha256).hexdigest()[:TAG_DIGITS].encode()


def is_number(value):
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_NUMBER


class Peer:
    """The letters to and from the agent of one node."""

    def __init__(self, own, node, key):
        self.own, self.node, self.key, self.earlier = own, node, key, None
        self.run, self.number = secrets.token_hex(8), 0
        self.nonce, self.told = secrets.token_hex(8), None  # told: the peer's last
        self.its_run, self.its_number, self.counted = None, 0, set()
        self.owes = False  # a letter that tells our nonce

    def follow(self, key):
        """The one before counts until a letter by this one has come: the peer may ask a moment later."""
        if key != self.key:
            self.key, self.earlier = key, self.key

    def write(self, lines):
        self.number, self.owes = self.number + 1, False
        body = json.dumps({"from": self.own, "run": self.run, "number": self.number, "nonce": self.nonce, "echo": self.told, "lines": lines}).encode()
        return tag(self.key, body) + b" " + body

    def read(self, datagram):
        """(lines, whether a new run begins), or None: it is no letter of this peer, or none that counts."""
        shown, body = datagram[:TAG_DIGITS], datagram[TAG_DIGITS + 1:]
        if not hmac.compare_digest(shown, tag(self.key, body)):
            if self.earlier is None or not hmac.compare_digest(shown, tag(self.earlier, body)):
                return None
        else:
            self.earlier = None
        letter = json.loads(body)
        if letter["from"] != self.node or not is_number(letter["number"]):
            return None  # one of our own, sent back
        number = letter["number"]
        if letter["run"] == self.its_run:
            if number in self.counted or number + WINDOW <= self.its_number:
                return None
            if number > self.its_number:
                self.its_number, self.told = number, letter["nonce"]
            self.counted = {one for one in self.counted if one + WINDOW > self.its_number} | {number}
            return letter["lines"], False
        self.told, self.owes = letter["nonce"], True
        if letter["echo"] != self.nonce:
            return [], False
        self.its_run, self.its_number, self.nonce = letter["run"], number, secrets.token_hex(8)
        self.counted = set(range(max(0, number - WINDOW), number + 1))  # what was sent before is not followed any more
        return letter["lines"], True
