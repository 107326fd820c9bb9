#!/usr/bin/env python3
"""Prints the alarms that are there, then each that is raised, until it is interrupted. tell_alarms.py [NUMBER OF EVENTS]"""
import sys

from railweave import Railweave


def main():
    left = int(sys.argv[1]) if sys.argv[1:] else None
    with Railweave() as railweave:
        page = railweave.call("list_alarms")
        for alarm in railweave.items("list_alarms"):
            print(alarm["severity"], alarm["text"])
        # From the state that the list showed: none is missed between the two.
        for event in railweave.follow(after=page.body["seq"]):
            if event["type"] == "alarm.raised":
                print(event["time"], event["summary"], flush=True)
            left = None if left is None else left - 1
            if left == 0:
                return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
