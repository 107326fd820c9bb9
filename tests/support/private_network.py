"""A network namespace that this machine reaches over links of its own: a server in it can be cut off from some of its clients."""
import contextlib
import os
import subprocess
import sys


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


class PrivateNetwork:
    """Its `links` are called db0, db1, ... inside; address(n) is where it is reached over the n-th, within `block`."""

    def __init__(self, second, links):
        self.name, self._second, self._links = f"rwdb{os.getpid()}", second, links
        self.block = f"10.{second}.0.0/16"
        self._stack = contextlib.ExitStack()

    def address(self, number):
        return f"10.{self._second}.{number}.2"

    def __enter__(self):
        try:
            ip("netns", "add", self.name)
        except (OSError, subprocess.CalledProcessError):
            print("skipped: a network namespace cannot be made here")
            sys.exit(77)
        self._stack.callback(lambda: ip("netns", "delete", self.name))
        for number in range(self._links):
            here, there = f"rw{self._second}n{number}p{os.getpid() % 1000}", f"db{number}"
            ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", self.name)
            self._stack.callback(lambda here=here: subprocess.run(["ip", "link", "delete", here], capture_output=True, check=False))
            ip("addr", "add", f"10.{self._second}.{number}.1/24", "dev", here)
            ip("link", "set", here, "up")
            ip("-n", self.name, "addr", "add", f"{self.address(number)}/24", "dev", there)
            ip("-n", self.name, "link", "set", there, "up")
        ip("-n", self.name, "link", "set", "lo", "up")
        return self

    def __exit__(self, *_):
        self._stack.close()

    def set_link(self, number, state):
        ip("-n", self.name, "link", "set", f"db{number}", state)

    def run(self, *command, text):
        subprocess.run(["ip", "netns", "exec", self.name, *command], input=text, text=True, check=True)
