"""A terminal for programs that want one: a pty, and of what they write the screen that a person would see."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

from pfl import wait_for

COLUMNS = 300  # what a program writes beyond the width is to be seen
_CONTROL = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])")


class Terminal:
    def __init__(self, command, width=80, height=24, env=None):
        self.width, self.height, self.tallest = width, height, height
        self.written = b""
        self.status = None
        ready, go = os.pipe()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.read(ready, 1)  # the size is set by then
            os.execvpe(command[0], command, env or os.environ)
        self.before = termios.tcgetattr(self.fd)
        self.resize(width, height)
        os.write(go, b"x")
        os.close(ready)
        os.close(go)

    def resize(self, width, height):
        self.width, self.height, self.tallest = width, height, max(self.tallest, height)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def read(self, seconds=0.05):
        """What has come; "" at the end."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return b"?"
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return b""
        self.written += data
        return data

    def text(self):
        return self.written.decode(errors="replace")

    def screen(self):
        """The lines that are to be seen: of the sequences that profilectl uses, and shells."""
        blank = lambda: [" "] * COLUMNS
        lines = [blank() for _ in range(self.tallest)]
        text, at, x, y = self.text(), 0, 0, 0
        while at < len(text):
            match = _CONTROL.match(text, at)
            if match:
                at = match.end()
                if match[2] == "H":
                    y, x = ([int(n or 1) - 1 for n in match[1].split(";")] + [0, 0])[:2] if match[1] else (0, 0)
                elif match[2] == "K":
                    lines[y][x:] = [" "] * (COLUMNS - x)
                elif match[2] == "J":
                    for line in lines[y + 1:] if match[1] in ("", "0") else lines:
                        line[:] = blank()
                elif match[2] in "ABCD":
                    n = int(match[1] or 1)
                    x += {"C": n, "D": -n}.get(match[2], 0)
                    y += {"B": n, "A": -n}.get(match[2], 0)
                continue
            c = text[at]
            at += 1
            if c == "\n":
                y += 1
                if y == self.tallest:
                    lines = lines[1:] + [blank()]
                    y -= 1
            elif c == "\r":
                x = 0
            elif c == "\b":
                x -= 1
            elif c >= " ":
                if x < COLUMNS and y < self.tallest:
                    lines[y][x] = c
                x += 1
        return ["".join(line).rstrip() for line in lines[:self.height]]

    def shows(self, what, seconds=30):
        """Waits until the screen has it: a text, or a function of the lines."""
        def look():
            while self.read(0) not in (b"?", b""):
                pass
            lines = self.screen()
            return what(lines) if callable(what) else any(what in line for line in lines)
        return wait_for(look, seconds)

    def end(self, seconds=30):
        """The exit status, negative for a signal; all that it wrote is read."""
        deadline = time.monotonic() + seconds
        while self.read() != b"" and time.monotonic() < deadline:
            pass
        if time.monotonic() >= deadline:
            os.kill(self.pid, signal.SIGKILL)
        if self.status is None:
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.status
