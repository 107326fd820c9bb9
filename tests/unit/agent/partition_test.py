#!/usr/bin/env python3
"""The division of guarantees at nodes: one budget against units handed out one by one, and the exchange of agents over a network that
delays, loses and reorders messages while demands come and go and agents start again: what all senders may send in the class at
any moment is never above the receiver's budget, nor what a sender may above its own, and in calm all of it is used.

partition_test.py FOLDER_OF_AGENT [--seed 1]
"""
import random
import sys


def by_units(budget, wanted):
    parts = dict.fromkeys(wanted, 0)
    for _ in range(budget):
        open_ones = [key for key in wanted if parts[key] < wanted[key]]
        if not open_ones:
            break
        parts[min(open_ones, key=lambda key: parts[key])] += 1
    return parts


def divisions(divide, chance):
    for _ in range(3000):
        wanted = {key: chance.randrange(0, 30) for key in range(chance.randrange(0, 8))}
        budget = chance.randrange(0, 80)
        assert sorted(divide(budget, wanted).values()) == sorted(by_units(budget, wanted).values()), (budget, wanted)


class Exchange:
    """Ports that each send and receive, on simulated time."""

    def __init__(self, module, chance):
        self.module, self.chance, self.now, self.mail = module, chance, 0.0, []
        self.count = chance.randrange(2, 6)
        self.budgets = [chance.randrange(1, 50) for _ in range(self.count)]
        self.receivers = [module.Receiver(budget, self.now) for budget in self.budgets]
        self.senders = [module.Sender(budget) for budget in self.budgets]
        self.applied = [({}, {}) for _ in range(self.count)]  # what queues hold: parts, and the grants they follow
        self.calm, self.gone = False, set()

    def post(self, deliver):
        if self.calm or self.chance.random() > 0.2:
            self.mail.append((self.now + (0.01 if self.calm else self.chance.random() * 0.8), deliver))

    def step(self):
        self.now += 0.1
        if not self.calm:
            self.disturb()
        due = [one for one in self.mail if one[0] <= self.now]
        self.mail = [one for one in self.mail if one[0] > self.now]
        self.chance.shuffle(due)
        for _, deliver in due:
            deliver(self.now)
        for at, sender in enumerate(self.senders):
            # Queues follow what is granted, and nothing that has expired.
            self.applied[at] = sender.parts(self.now)
            for to in range(self.count):
                if to != at and at not in self.gone:
                    wanted, number = sender.wanted.get(to, 0), self.applied[at][1].get(to, 0)
                    self.post(lambda now, at=at, to=to, wanted=wanted, number=number: self.receivers[to].hear(at, wanted, number, now))
        for at, receiver in enumerate(self.receivers):
            for to, (number, mbps) in receiver.grants(self.now).items():
                self.post(lambda now, at=at, to=to, number=number, mbps=mbps: self.senders[to].grant(at, number, mbps, now))
        self.check()

    def disturb(self):
        if self.chance.random() < 0.3:
            sender = self.chance.choice(self.senders)
            sender.wanted[self.chance.randrange(self.count)] = self.chance.choice([0, 3, self.module.UNLIMITED])
        if self.chance.random() < 0.01:
            at = self.chance.randrange(self.count)
            self.receivers[at] = self.module.Receiver(self.budgets[at], self.now, int(self.now * 1000))
        if self.chance.random() < 0.01:
            at = self.chance.randrange(self.count)
            wanted = self.senders[at].wanted
            self.senders[at] = self.module.Sender(self.budgets[at])
            self.senders[at].wanted = wanted

    def check(self):
        for at, budget in enumerate(self.budgets):
            sent = sum(self.applied[at][0].values())
            received = sum(parts.get(at, 0) for parts, _ in self.applied)
            assert sent <= budget, (at, sent, budget)
            assert received <= budget, (at, received, budget, self.now)


def exchanges(module, chance):
    used = 0
    for _ in range(60):
        one = Exchange(module, chance)
        for _ in range(300):
            one.step()
        one.calm = True
        for at, sender in enumerate(one.senders):
            sender.wanted = {to: module.UNLIMITED for to in range(one.count) if to == (at + 1) % one.count}
        for _ in range(120):
            one.step()
        for at in range(one.count):
            to = (at + 1) % one.count
            least = min(one.budgets[at], one.budgets[to])
            assert one.applied[at][0].get(to) == least, ("in calm one sender gets all", one.applied[at], least)
            used += 1
        for at, sender in enumerate(one.senders):
            sender.wanted = {0: module.UNLIMITED} if at != 0 else {}
        for _ in range(120):
            one.step()
        got = [one.applied[at][0].get(0, 0) for at in range(1, one.count)]
        ask = {at: module.UNLIMITED for at in range(1, one.count)}
        fair = module.divide(one.budgets[0], ask)
        assert all(mbps == min(one.budgets[at], fair[at]) for at, mbps in enumerate(got, start=1)), (got, fair, one.budgets)
        one.gone = set(range(2, one.count))  # they say nothing any more, and their queues let nothing pass once grants expire
        for at in one.gone:
            one.senders[at].wanted = {}
        for _ in range(120):
            one.step()
        assert one.applied[1][0].get(0) == min(one.budgets[0], one.budgets[1]), ("what the silent had", one.applied[1], one.budgets)
    return used


def main():
    sys.path.insert(0, sys.argv[1])
    import partition
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    divisions(partition.divide, random.Random(seed))
    print(f"{exchanges(partition, random.Random(seed))} pairs agree after 60 random exchanges; no budget was exceeded")
    return 0


if __name__ == "__main__":
    sys.exit(main())
