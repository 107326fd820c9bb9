"""Guarantee partitioning at a node: which part of a budget each pair of ports gets (fabric/qos/guarantee_partition.h). Pure."""

UNLIMITED = 1 << 62


def divide(budget, wanted):
    """Max-min fair parts in whole Mb/s, by key; none above what is wanted, their sum at most the budget."""
    parts, rest = {}, max(0, budget)
    order = sorted(wanted, key=lambda key: (wanted[key], str(key)))
    for number, key in enumerate(order):
        others = len(order) - number
        parts[key] = min(max(0, wanted[key]), -(-rest // others))
        rest -= parts[key]
    return parts


class Receiver:
    """Grants a receive budget to the senders that are there. What a sender may still apply is held until it has said that it
    applies less, or until its grant has expired, so that all that senders may apply never exceeds the budget."""

    EXPIRES_S = 2.0  # of a grant at the sender, from when it came
    HELD_S = 3.0     # here, from when it was last sent; longer than a grant may be on its way and live

    def __init__(self, budget, now, first_number=0):
        """first_number: above all that an earlier run of this agent has used; its grants are waited out."""
        self.budget, self.senders = budget, {}
        self.begins, self.first = now + self.HELD_S, first_number

    def hear(self, sender, wanted, applied, now):
        """wanted: Mb/s; applied: the number of the grant that its queues have now."""
        one = self.senders.setdefault(sender, {"wanted": 0, "sent": {}, "at": now, "number": self.first, "grant": 0})
        one["wanted"], one["at"] = wanted, now
        if applied > one["number"]:
            applied = 0  # none that was granted: nothing follows from it
        one["sent"] = {number: grant for number, grant in one["sent"].items() if number >= applied}

    def _held(self, sender, now):
        one = self.senders[sender]
        one["sent"] = {number: (mbps, at) for number, (mbps, at) in one["sent"].items() if now - at <= self.HELD_S}
        return max([mbps for mbps, _ in one["sent"].values()], default=0)

    def grants(self, now):
        """(number, Mb/s) for each sender, to be sent now."""
        held = {sender: self._held(sender, now) for sender in self.senders}
        silent = {name for name, one in self.senders.items() if now - one["at"] > self.HELD_S}  # granted nothing more
        for sender in [name for name in silent if not self.senders[name]["sent"]]:
            del self.senders[sender], held[sender]
        parts = divide(self.budget, {name: one["wanted"] for name, one in self.senders.items() if name not in silent})
        made = {}
        if now < self.begins:
            return made
        for sender in sorted(parts, key=lambda name: parts[name] - held[name]):  # those that lose first
            room = self.budget - sum(held[name] for name in self.senders if name != sender)
            grant = max(0, min(parts[sender], room))
            one = self.senders[sender]
            if grant != one["grant"] or not one["sent"]:
                one["number"] += 1
                one["grant"] = grant
            one["sent"][one["number"]] = (grant, now)
            held[sender] = max(held[sender], grant)
            made[sender] = (one["number"], grant)
        return made


class Sender:
    """Divides a send budget among the destinations that are sent to, none above what its receiver has granted."""

    # Of the numbers of one receiver's grants, which begin with its time of day in milliseconds.
    MOST_LEAP, LEAP_PER_S = 100_000, 2_000

    def __init__(self, budget):
        self.budget, self.granted, self.wanted = budget, {}, {}

    def grant(self, receiver, number, mbps, now):
        """False: the number is none that this receiver may have come to."""
        last, _, at = self.granted.get(receiver, (number, 0, now))
        if number > last + self.MOST_LEAP + self.LEAP_PER_S * (now - at):
            return False
        if number >= last:
            self.granted[receiver] = (number, mbps, now)
        return True

    def forget(self, receiver):
        """It has started again: its numbers begin again."""
        self.granted.pop(receiver, None)

    def parts(self, now):
        """Mb/s by destination, and the numbers of the grants that they follow."""
        valid = {name: one for name, one in self.granted.items() if now - one[2] <= Receiver.EXPIRES_S}
        parts = divide(self.budget, {name: min(self.wanted.get(name, 0), one[1]) for name, one in valid.items()})
        return parts, {name: one[0] for name, one in valid.items()}
