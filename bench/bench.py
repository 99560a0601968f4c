#!/usr/bin/python3
"""Measures profiled beside perf record on the same target in the same run.

  make bench                        all of it, about six minutes
  bench/bench.py --build DIR [--seconds S] [--rounds N] [--targets a,b]

For each target and round it attaches perf record --call-graph dwarf and then profiled, both with the same rate and
the same copied stack, and divides the CPU time that each used by the samples that it kept. All figures are medians of
the rounds; the last column is ours / perf's. The machine may be noisy: quote the ratios.
"""
import argparse
import http.client
import json
import os
import re
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HZ = 997
STACK = 16384


class UnixHTTP(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(self.path)


class Daemon:
    def __init__(self, build, folder):
        self.run = os.path.join(folder, "run")
        self.sock = os.path.join(self.run, "profiled.sock")
        self.process = subprocess.Popen(
            [os.path.join(build, "profiled"), "--runtime-dir", self.run, "--state-dir", os.path.join(folder, "state"),
             "--listen", "off", "--log-level", "warning", "--set", "sessions.cpu_percent=100"])
        for _ in range(100):
            try:
                self.call("GET", "/readyz", plain=True)
                break
            except OSError:
                time.sleep(0.1)
        status = json.loads(self.call("GET", "/v1/status", plain=True))
        self.pids = [p["pid"] for p in status["processes"] if p.get("pid")]

    def call(self, method, path, body=None, plain=False):
        c = UnixHTTP(self.sock)
        c.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
        answer = c.getresponse()
        data = answer.read()
        if answer.status >= 300:
            raise RuntimeError("%s %s: %d %s" % (method, path, answer.status, data[:300]))
        return data if plain else json.loads(data)

    def cpu_ns(self):
        """CPU time of all threads of all three processes."""
        total = 0
        for pid in self.pids:
            for tid in os.listdir("/proc/%d/task" % pid):
                with open("/proc/%d/task/%s/schedstat" % (pid, tid)) as f:
                    total += int(f.read().split()[0])
        return total

    def memory(self):
        """PSS now and the sum of the peaks, in MiB."""
        pss = peak = 0
        for pid in self.pids:
            with open("/proc/%d/smaps_rollup" % pid) as f:
                pss += int(re.search(r"^Pss:\s+(\d+)", f.read(), re.M).group(1))
            with open("/proc/%d/status" % pid) as f:
                peak += int(re.search(r"^VmHWM:\s+(\d+)", f.read(), re.M).group(1))
        return pss / 1024, peak / 1024

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


def our_run(daemon, pid, seconds):
    before = daemon.cpu_ns()
    session = daemon.call("POST", "/v1/sessions", {"pid": pid, "frequency_hz": HZ, "stack_bytes": STACK})
    path = "/v1/sessions/%d" % session["id"]
    time.sleep(seconds)
    ledger = daemon.call("POST", path + "/stop")["ledger"]
    sampling = daemon.cpu_ns() - before
    svg = daemon.call("GET", path + "/flamegraph.svg", plain=True)
    whole = daemon.cpu_ns() - before
    daemon.call("DELETE", path, plain=True)
    if not svg.startswith(b"<?xml") and b"<svg" not in svg[:400]:
        raise RuntimeError("no SVG came back")
    return {"samples": ledger["samples"], "lost": ledger["lost"], "cpu": sampling / 1000, "cpu_svg": whole / 1000}


def perf_run(pid, seconds, folder):
    data = os.path.join(folder, "perf.data")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run(
        ["perf", "record", "-q", "-F", str(HZ), "-e", "cpu-clock", "--call-graph", "dwarf,%d" % STACK, "-m", "1024",
         "-p", str(pid), "-o", data, "--", "sleep", str(seconds)], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if not os.path.exists(data):
        raise RuntimeError("perf record failed: " + out.stderr)
    cpu = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e6
    stats = subprocess.run(["perf", "report", "--stats", "-i", data], capture_output=True, text=True).stdout
    samples = re.search(r"SAMPLE events:\s+(\d+)", stats)
    lost = re.search(r"LOST_SAMPLES events:\s+(\d+)", stats)
    os.unlink(data)
    return {"samples": int(samples.group(1)) if samples else 0, "lost": int(lost.group(1)) if lost else 0, "cpu": cpu}


CLANG_SOURCE = """
#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <vector>
template <int N> struct F { static int f(std::map<int, std::string> &m) { m[N] = std::string(N, 'x');
    std::vector<int> v(N); std::sort(v.begin(), v.end(), [](int a, int b) { return a + N < b; }); return F<N - 1>::f(m) + v.size(); } };
template <> struct F<0> { static int f(std::map<int, std::string> &) { return 0; } };
int main() { std::map<int, std::string> m; std::regex r("a(b|c)*d"); return F<400>::f(m) + std::regex_match("abcd", r); }
"""

PYTHON_SOURCE = """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def outer():
    return [fib(20) for _ in range(10)]
while True:
    outer()
"""

NODE_SOURCE = """
function inner(n) { let s = 0; for (let i = 0; i < n; i++) s += (i * 7) % 11; return s; }
function middle(n) { let s = 0; for (let i = 0; i < n; i++) s += inner(300); return s; }
for (;;) { JSON.parse(JSON.stringify({ a: middle(2000), b: [1, 2, 3] })); }
"""


def target_command(name, build, folder):
    def write(file, text):
        path = os.path.join(folder, file)
        with open(path, "w") as f:
            f.write(text)
        return path

    if name == "clang":
        source = write("big.cc", CLANG_SOURCE)
        return ["clang++", "-O2", "-c", source, "-o", "/dev/null"]
    if name == "python3":
        return ["/usr/bin/python3", write("fib.py", PYTHON_SOURCE)]
    if name == "node":
        return ["node", write("loop.js", NODE_SOURCE)]
    if name == "threads":
        return [os.path.join(build, "bench/spin"), "1000", "4"]
    raise SystemExit("no target " + name)


def end_group(process):
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def row(label, ours, peer):
    print("  %-34s %10.1f %10.1f   %6.2f" % (label, ours, peer, ours / peer if peer else float("nan")))


def bench_target(name, args, daemon, folder):
    command = target_command(name, args.build, folder)
    ours, peer = [], []
    for _ in range(args.rounds):
        for run, results in ((lambda pid: perf_run(pid, args.seconds, folder), peer),
                             (lambda pid: our_run(daemon, pid, args.seconds), ours)):
            # A fresh target each time: a compiler is in another phase a few seconds later.
            process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            try:
                time.sleep(1)
                results.append(run(process.pid))
            finally:
                end_group(process)

    def median(runs, f):
        return statistics.median(f(r) for r in runs)

    print("%s: %.0f samples a run here, %.0f with perf; lost %.0f here, %.0f with perf" % (
        name, median(ours, lambda r: r["samples"]), median(peer, lambda r: r["samples"]),
        median(ours, lambda r: r["lost"]), median(peer, lambda r: r["lost"])))
    row("CPU a sample, us", median(ours, lambda r: r["cpu"] / max(1, r["samples"])),
        median(peer, lambda r: r["cpu"] / max(1, r["samples"])))
    row("  with names and the SVG, us", median(ours, lambda r: r["cpu_svg"] / max(1, r["samples"])),
        median(peer, lambda r: r["cpu"] / max(1, r["samples"])))


def spin_seconds(build, attach):
    """The time that a fixed amount of work takes while attach(pid) watches."""
    process = subprocess.Popen([os.path.join(build, "bench/spin"), "2"], stdout=subprocess.PIPE, text=True)
    done = attach(process.pid)
    process.stdout.readline()  # the first round warms up and sees the attaching
    seconds = float(process.stdout.readline())
    process.wait()
    done()
    return seconds


def bench_slowdown(args, daemon, folder):
    def nobody(pid):
        return lambda: None

    def ours(pid):
        s = daemon.call("POST", "/v1/sessions", {"pid": pid, "frequency_hz": HZ, "stack_bytes": STACK})
        return lambda: daemon.call("DELETE", "/v1/sessions/%d" % s["id"], plain=True)

    def perf(pid):
        data = os.path.join(folder, "slow.data")
        p = subprocess.Popen(["perf", "record", "-q", "-F", str(HZ), "-e", "cpu-clock", "--call-graph",
                              "dwarf,%d" % STACK, "-m", "1024", "-p", str(pid), "-o", data],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return lambda: (p.wait(), os.unlink(data))

    times = {f: [] for f in (nobody, ours, perf)}
    for _ in range(args.rounds):
        for f in times:
            times[f].append(spin_seconds(args.build, f))
    base = times[nobody]

    def percent(f):
        return statistics.median(100 * (t / b - 1) for t, b in zip(times[f], base))

    print("slowdown of the target at %d Hz" % HZ)
    row("percent", percent(ours), percent(perf))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=".")
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--targets", default="clang,python3,node,threads")
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    if not shutil.which("perf"):
        raise SystemExit("bench: perf is not there: install linux-perf")
    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(args.build, folder)
        try:
            print("%d Hz, %d bytes of stack copied, %g s a run, medians of %d" % (HZ, STACK, args.seconds, args.rounds))
            print("  %-34s %10s %10s   %6s" % ("", "profiled", "perf", "ratio"))
            for name in args.targets.split(","):
                bench_target(name, args, daemon, folder)
                sys.stdout.flush()
            bench_slowdown(args, daemon, folder)
            print("memory of all three processes after that: %.1f MiB shared fairly (PSS), %.1f MiB sum of peaks"
                  % daemon.memory())
        finally:
            daemon.stop()


main()
