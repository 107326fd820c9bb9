"""A simulated InfiniBand subnet (ibsim) for a test, with a console, and clients that see it instead of hardware.

    with Ibsim(netlist) as sim:
        out = sim.run(["ibnetdiscover"])          # preloaded, under timeout -k, attached to sim.host
        sim.console('Unlink "S-1"[3]')
Each has sockets of its own, so that several run side by side.
"""
import os
import re
import shutil
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

PRELOAD = next((str(path) for path in Path("/usr/lib").glob("*/umad2sim/libumad2sim.so")), None)


def missing():
    """The programs that are missing for tests with ibsim, or None."""
    tools = [tool for tool in ("ibsim", "ibnetdiscover", "timeout") if not shutil.which(tool)]
    if tools:
        return ", ".join(tools)
    return None if PRELOAD else "libumad2sim.so"


def stop(client):
    """Ends what open() started. SIGTERM, which timeout hands on; SIGKILL would leave the client behind."""
    client.terminate()
    client.communicate()


class Ibsim:
    def __init__(self, netlist, host=None):
        text = Path(netlist).read_text(encoding="utf-8", errors="replace")
        devices = re.findall(r'^(Switch|Ca|Hca|Rt)\s+(\d+)\s+"([^"]+)"', text, re.MULTILINE)
        self.netlist = str(Path(netlist).resolve())
        self.switches = sum(kind == "Switch" for kind, _, _ in devices)
        self.nodes = len(devices)
        self.ports = sum(int(ports) + 1 for _, ports, _ in devices)
        cabled = re.search(r'^(?:Ca|Hca)\s+\d+\s+"([^"]+)"[^\n]*\n\s*\[', text, re.MULTILINE)
        self.host = host or cabled.group(1)
        self.name = "railweave-" + uuid.uuid4().hex[:12]

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        fifo = Path(self.folder.name) / "console"
        os.mkfifo(fifo)
        self.console_end = os.open(fifo, os.O_RDWR)
        self.log = open(Path(self.folder.name) / "ibsim.log", "wb")
        self._launch()
        return self

    def restart(self):
        """Starts again from the netlist after the simulator was killed."""
        self.log.truncate(0)
        self._launch()

    def _launch(self):
        self.process = subprocess.Popen(
            ["ibsim", "-s", "-N", str(self.nodes + 16), "-S", str(self.switches + 16), "-P", str(self.ports + 64), self.netlist],
            stdin=self.console_end, stdout=self.log, stderr=self.log, env=dict(os.environ, IBSIM_SOCKNAME=self.name))
        deadline = time.monotonic() + 30
        while "sim>" not in self.said():
            assert self.process.poll() is None, f"ibsim ended: {self.said()[-2000:]}"
            assert time.monotonic() < deadline, f"ibsim does not start: {self.said()[-2000:]}"
            time.sleep(0.02)

    def said(self):
        return (Path(self.folder.name) / "ibsim.log").read_text(errors="replace")

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.console_end)
        self.log.close()
        self.folder.cleanup()

    def console(self, command):
        os.write(self.console_end, (command + "\n").encode())


    # Preloaded clients may hang on exit, so they always run under timeout; env sets the preload after timeout, which is
    # not a client itself. Clients leave folders ("sys-<pid>") in their working directory: the temporary one.
    def _started(self, command, seconds, host):
        program = str(Path(command[0]).resolve()) if "/" in str(command[0]) else command[0]
        return dict(args=["timeout", "-k", "2", str(seconds), "env", f"LD_PRELOAD={PRELOAD}", program, *command[1:]],
                    env=dict(os.environ, IBSIM_SOCKNAME=self.name, SIM_HOST=host or self.host), cwd=self.folder.name,
                    text=True, errors="replace")

    def run(self, command, seconds=60, host=None):
        return subprocess.run(**self._started(command, seconds, host), capture_output=True)

    def open(self, command, seconds=60, host=None):
        return subprocess.Popen(**self._started(command, seconds, host), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
