"""A real railweaved on a simulated subnet (ibsim), used over REST."""
import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from ibsim import stop


def generate(railweave, shape, folder):
    """(native file, netlist, subnet's name) of a generated fabric."""
    native, netlist = Path(folder) / "fabric.json", Path(folder) / "fabric.net"
    for arguments in (["-O", str(native)], ["--format", "ibsim", "-O", str(netlist)]):
        made = subprocess.run([railweave, "lab", "generate", *shape, *arguments], capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
    return native, netlist, json.loads(native.read_text())["subnets"][0]["name"]


class LiveService:
    """railweaved, preloaded, attached to one host of the simulated subnet. The store outlives restarts."""

    def __init__(self, sim, binaries, folder, subnet, keys="", store=None, replica="railweaved", host=None, seconds=280):
        self.sim, self.binaries, self.folder, self.subnet, self.host, self.seconds = sim, Path(binaries), Path(folder), subnet, host, seconds
        self.config = self.folder / f"{replica}.toml"
        self.config.write_text(f'listen_port = 0\nauthentication = "none"\nstore = "{store or self.folder / "store.db"}"\n'
                               f'[replica]\nname = "{replica}"\n[[subnet]]\nname = "{subnet}"\n{keys}\n')
        self.process = self.url = None

    def start(self):
        self.process = self.sim.open([str(self.binaries / "railweaved"), "--config", str(self.config)], seconds=self.seconds, host=self.host)
        line = self.process.stdout.readline()
        found = re.search(r"listens at (\S+)", line)
        if not found:
            self.process.terminate()
            raise RuntimeError(f"railweaved did not start: {line}{self.process.communicate()[1]}")
        self.url = found.group(1)
        return self

    def signal(self, number):
        """To railweaved itself: `timeout` is what was started, and does not hand on SIGKILL and SIGSTOP."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        os.kill(int(children[0]), number)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.process:
            stop(self.process)
            self.process = None

    def restart(self):
        self.__exit__()
        return self.start()

    def request(self, method, path, body=None):
        """(status, parsed JSON)"""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"} if data else {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")

    def get(self, path):
        status, body = self.request("GET", path)
        assert status == 200, (path, status, body)
        return body

    def cli(self, *arguments):
        return subprocess.run([str(self.binaries / "railweave"), "--server", self.url, *arguments], capture_output=True, text=True, timeout=60)

    def import_fabric(self, native):
        done = self.cli("fabric", "import", str(native))
        assert done.returncode == 0, done.stderr

    def mode(self, mode):
        status, body = self.request("PUT", f"/v1/subnets/{self.subnet}/mode", {"mode": mode, "reason": "test"})
        assert status == 200, body

    def live(self):
        return self.get(f"/v1/subnets/{self.subnet}")["live"]

    def wait(self, what, condition, seconds=20):
        """The first status of the subnet for which the condition holds."""
        until = time.monotonic() + seconds
        while True:
            status = self.live()
            if condition(status):
                return status
            assert time.monotonic() < until, f"{what}: not in {seconds} s, but {json.dumps(status)[:1500]}"
            time.sleep(0.03)

    def synced(self, seconds=20):
        return self.wait("synced", lambda s: s["phase"] == "synced" and s["sync"]["blocksDiffering"] == 0, seconds)

    def alarms(self):
        return {alarm["kind"] for alarm in self.get("/v1/alarms?limit=1000")["items"]}

    def wait_alarm(self, kind, there=True, seconds=20):
        until = time.monotonic() + seconds
        while (kind in self.alarms()) != there:
            assert time.monotonic() < until, f"alarm {kind} {'absent' if there else 'still there'}: {self.alarms()}"
            time.sleep(0.05)

    def events(self, kind=None):
        items = self.get("/v1/events?limit=1000")["items"]
        return [event for event in items if kind in (None, event["type"])]
