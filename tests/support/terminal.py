"""What a program says to a person: run with a terminal of its own."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import time


def on_terminal(command, environment, columns=80, seconds=60):
    """(Its text without colours, seconds until the first of it, seconds until its end); it must end well."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    start = time.monotonic()
    process = subprocess.Popen(command, env=environment, stdout=follower, stderr=follower, stdin=subprocess.DEVNULL)
    os.close(follower)
    text, first = b"", None
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        first = first or time.monotonic() - start
        text += part
    assert process.wait(timeout=seconds) == 0, text[-2000:]
    os.close(leader)
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text.decode()).replace("\r\n", "\n"), first, time.monotonic() - start
