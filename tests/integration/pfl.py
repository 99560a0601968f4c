"""What the integration tests in Python share: a daemon of their own, requests to it, targets, and reports.

A test says ok(name), not_ok(name, reason) or skip(name, reason) for each thing it checked, and ends with finish().
"""
import atexit
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

SOURCE = os.environ.get("PROFILED_SOURCE", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILD = os.path.abspath(os.environ.get("PROFILED_BUILD", os.path.join(SOURCE, "build")))
TMP = os.environ.get("TEST_TMP") or tempfile.mkdtemp(prefix="profiled-test.")
SLOW = bool(os.environ.get("PROFILED_SANITIZED"))  # a sanitizer build: shorter runs, no figures that need speed



def fewer(samples):
    """How many samples, or whatever else takes time: a sanitizer looks for errors of memory and threads, for which a
    third of them is enough."""
    return -(-samples // 3) if SLOW else samples


_failed = 0
_children = []


def ok(name):
    print("ok " + name, flush=True)


def not_ok(name, reason):
    global _failed
    _failed += 1
    print("not ok %s %s" % (name, " ".join(str(reason).split())), flush=True)


def skip(name, reason):
    print("skip %s %s" % (name, reason), flush=True)


def check(name, condition, reason=""):
    if condition:
        ok(name)
    else:
        not_ok(name, reason)
    return bool(condition)


def finish():
    end_all()
    sys.exit(1 if _failed else 0)


def wait_for(what, seconds=20, step=0.05):
    """The first true answer of what(), else its last one."""
    deadline = time.monotonic() + seconds
    while True:
        answer = what()
        if answer or time.monotonic() > deadline:
            return answer
        time.sleep(step)


def end(process):
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            process.kill()
    process.wait()


def end_all():
    for process in _children:
        end(process)


atexit.register(end_all)


def spawn(command, **options):
    """A target in a process group of its own, ended with the test."""
    options.setdefault("stdout", subprocess.DEVNULL)
    process = subprocess.Popen(command, start_new_session=True, **options)
    _children.append(process)
    return process


def compile_c(name, text, *flags, compiler="gcc"):
    source = os.path.join(TMP, name + (".cc" if compiler.endswith("++") else ".c"))
    with open(source, "w") as f:
        f.write(text)
    out = os.path.join(TMP, name)
    subprocess.run([compiler, "-O2", "-g", "-w", source, "-o", out, *flags], check=True)
    return out


def public_folder():
    """One that any user can reach."""
    folder = tempfile.mkdtemp(prefix="public.", dir=TMP)
    path = folder
    while path != "/":
        if os.stat(path).st_uid == os.getuid():
            os.chmod(path, os.stat(path).st_mode | 0o011)
        path = os.path.dirname(path)
    return folder


def public_programs(*more):
    """A copy of the programs that any user can run; the folder."""
    folder = os.path.join(public_folder(), "bin")
    os.mkdir(folder, 0o755)
    for name in ("profiled", "profiled-engine", "profiled-report", "profiled-reader", "profiled-attacher", "profilectl"):
        shutil.copy(os.path.join(BUILD, name), folder)
    for path in more:
        shutil.copy(path, folder)
    return folder


# A program whose time is in work(), below middle(), below main().
BUSY = """
#include <stdlib.h>
#include <unistd.h>
#define NI __attribute__((noinline))
static volatile unsigned long sink;
NI void work(void) { for (long i = 0; i < 100000; i++) sink++; }
NI void middle(void) { work(); __asm__ volatile("" ::: "memory"); }
int main(int argc, char **argv) { if (argc > 1) alarm(atoi(argv[1])); for (;;) middle(); }
"""


class _Unix(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Failure(Exception):
    def __init__(self, status, body):
        super().__init__("%s %s" % (status, body))
        self.status = status
        self.body = body


class Daemon:
    def __init__(self, *arguments, folder=None, start=True, prefix=(), listen="off"):
        self.folder = folder or tempfile.mkdtemp(prefix="daemon.", dir=TMP)
        self.run = os.path.join(self.folder, "run")
        self.state = os.path.join(self.folder, "state")
        self.sock = os.path.join(self.run, "profiled.sock")
        self.log = os.path.join(self.folder, "log")
        # A test gets the rate that it asks for, whatever that costs; what comes later goes before.
        self.arguments = ["--set", "sessions.cpu_percent=100", *arguments]
        self.prefix, self.listen = list(prefix), listen
        self.process = None
        if start:
            self.start()

    def start(self, wait=True):
        # The engine's user must be able to reach its folders.
        path = self.folder
        while path != "/":
            if os.stat(path).st_uid == os.getuid():
                os.chmod(path, os.stat(path).st_mode | 0o011)
            path = os.path.dirname(path)
        self.process = subprocess.Popen(
            [*self.prefix, os.path.join(BUILD, "profiled"), "--runtime-dir", self.run, "--state-dir", self.state,
             "--listen", self.listen, *self.arguments], stderr=open(self.log, "ab"), start_new_session=True)
        _children.append(self.process)
        if wait and not wait_for(self.is_ready, 60 if SLOW else 20):
            raise RuntimeError("the daemon does not start: " + self.log_text()[-2000:])

    def is_ready(self):
        if self.process.poll() is not None:
            raise RuntimeError("the daemon ended: " + self.log_text()[-2000:])
        try:
            # An engine whose broker was killed still answers while it saves: ask whose it is.
            status, _, data = self.raw("GET", "/v1/status")
            brokers = [p["pid"] for p in json.loads(data)["processes"] if p["role"] == "broker"] if status == 200 else []
            return self.process.pid in brokers
        except (OSError, http.client.HTTPException, ValueError):
            return False

    def log_text(self):
        with open(self.log, errors="replace") as f:
            return f.read()

    def raw(self, method, path, body=None, headers=None, timeout=60):
        """(status, headers, bytes)."""
        c = _Unix(self.sock, timeout)
        try:
            c.request(method, path, body, headers or {})
            answer = c.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            c.close()

    def call(self, method, path, body=None):
        """The parsed answer of a 2xx; else Failure."""
        headers = {"Content-Type": "application/json"} if body is not None else {}
        status, got, data = self.raw(method, path, json.dumps(body) if body is not None else None, headers)
        if not 200 <= status < 300:
            raise Failure(status, data.decode(errors="replace"))
        if got.get("Content-Type", "").startswith("application/json"):
            return json.loads(data)
        return data.decode(errors="replace")

    def start_session(self, **request):
        return self.call("POST", "/v1/sessions", request)["id"]

    def session(self, id):
        return self.call("GET", "/v1/sessions/%d" % id)

    def stop_session(self, id):
        return self.call("POST", "/v1/sessions/%d/stop" % id)

    def profile(self, id, format="json", **query):
        extra = "".join("&%s=%s" % item for item in query.items())
        return self.call("GET", "/v1/sessions/%d/profile?format=%s%s" % (id, format, extra))

    def folded(self, id, **query):
        return Folded(self.profile(id, "folded", **query))

    def wait_samples(self, id, count, seconds=30):
        return wait_for(lambda: self.session(id)["ledger"]["samples"] >= count, seconds)

    def stop(self, seconds=30):
        """SIGTERM; the exit status."""
        self.process.terminate()
        return self.process.wait(seconds)

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Folded:
    """Folded stacks: a list of ([frames, root first], count)."""

    def __init__(self, text):
        self.stacks = []
        for line in text.splitlines():
            stack, _, count = line.rpartition(" ")
            self.stacks.append((stack.split(";"), int(count)))
        self.total = sum(count for _, count in self.stacks)

    def share(self, name):
        """Percent of samples with that frame."""
        return 100 * sum(n for frames, n in self.stacks if name in frames) / max(1, self.total)

    def chain(self, names):
        """Percent of samples that hold these frames next to each other; "a;b;c", root first."""
        text = ";" + names + ";"
        return 100 * sum(n for frames, n in self.stacks if text in ";" + ";".join(frames) + ";") / max(1, self.total)
