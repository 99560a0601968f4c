#!/usr/bin/python3
"""Measures profiled beside perf record on the same target in the same run.

  make bench                        all of it, about a quarter of an hour
  bench/bench.py --build DIR [--seconds S] [--rounds N] [--targets a,b] [--parts a,b]
  bench/bench.py --build DIR --parts memory [--minutes M] [--rate HZ]

For each target and round it attaches perf record and then profiled, both with the same rate and the same copied
stack, or both with frame pointers, and divides the CPU time that each used by the samples that it kept. To a picture
is: until the SVG is there, for perf until perf script --no-inline has written what a picture would be made of (the
collapsing and drawing after that is not counted). The part chains has no perf beside it: it follows a program with
frame pointers by copied stacks and by what auto makes of it. The part import takes one recording of perf to an SVG by profilectl
report, and by perf script, awk and the flame graph script that Debian has in libdevel-nytprof-perl (without it to
folded stacks alone). The part inline does the same with inline frames and lines, of a program of more than 100 MiB that
it makes first, and asks for 10,000 of its addresses; perf takes minutes for that, and does it once. The part svg draws
20,000 and 200,000 folded stacks, by profilectl report and by that flame graph script. The part memory, which "all of it" leaves out, watches the whole
machine for some minutes while clang builds this project's sources again and again, and says each half a minute what the
three processes have; there is no perf beside it. All other figures are medians of the rounds; the last column is ours /
perf's. The machine may be noisy: quote the ratios.
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
FREE = "sessions.cpu_percent=100"  # no budget that would lower the rate


class UnixHTTP(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(self.path)


class Daemon:
    def __init__(self, build, folder, *settings):
        self.run = os.path.join(folder, "run")
        self.sock = os.path.join(self.run, "profiled.sock")
        self.process = subprocess.Popen(
            [os.path.join(build, "profiled"), "--runtime-dir", self.run, "--state-dir", os.path.join(folder, "state"),
             "--listen", "off", "--log-level", "warning", *[a for s in settings for a in ("--set", s)]])
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


WAYS = {  # how both find callers
    "dwarf": ({"stack_bytes": STACK}, "dwarf,%d" % STACK),
    "fp": ({"unwind": "fp"}, "fp"),
}


def our_run(daemon, pid, seconds, options):
    before = daemon.cpu_ns()
    session = daemon.call("POST", "/v1/sessions", dict(options, pid=pid))
    path = "/v1/sessions/%d" % session["id"]
    time.sleep(seconds)
    ledger = daemon.call("POST", path + "/stop")["ledger"]
    sampling = daemon.cpu_ns() - before
    svg = daemon.call("GET", path + "/flamegraph.svg", plain=True)
    whole = daemon.cpu_ns() - before
    daemon.call("DELETE", path, plain=True)
    if not svg.startswith(b"<?xml") and b"<svg" not in svg[:400]:
        raise RuntimeError("no SVG came back")
    user = max(1, ledger["samples"] - ledger["unwind_ends"]["no_user"])
    return {"samples": ledger["samples"], "lost": ledger["lost"], "cpu": sampling / 1000, "cpu_svg": whole / 1000,
            "whole": 100 * ledger["unwind_ends"]["root"] / user, "tails": 100 * ledger["tails"] / user}


def children_cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1e6


# What stands at the root end of a stack that perf has whole.
ENTRIES = {"_start", "__clone3", "clone3", "clone", "__clone", "__libc_start_main", "start_thread"}


def perf_script(data, out):
    """Share of the samples with a user side whose chain reaches an entry."""
    with open(out, "w") as f:
        subprocess.run(["perf", "script", "--no-inline", "-i", data], stdout=f, stderr=subprocess.DEVNULL)
    users = whole = 0
    last, user = None, False
    with open(out, errors="replace") as f:
        for line in f:
            if line.strip() and line[0] in " \t":
                fields = line.split()
                if len(fields) > 1:
                    last = fields[1].split("+")[0]
                    # All ones is no kernel address: so perf marks where a stack was cut.
                    user = not fields[0].startswith("ffffffff") or fields[0] == "f" * 16
            elif not line.strip() and last is not None:
                users += user
                whole += user and last in ENTRIES
                last = None
    return 100 * whole / max(1, users)


def perf_run(pid, seconds, folder, way, rate=HZ, script=True):
    data = os.path.join(folder, "perf.data")
    before = children_cpu()
    out = subprocess.run(
        ["perf", "record", "-q", "-F", str(rate), "-e", "cpu-clock", "--call-graph", way, "-m", "1024",
         "-p", str(pid), "-o", data, "--", "sleep", str(seconds)], capture_output=True, text=True)
    if not os.path.exists(data):
        raise RuntimeError("perf record failed: " + out.stderr)
    cpu = children_cpu() - before
    whole = perf_script(data, os.path.join(folder, "perf.txt")) if script else 0
    cpu_svg = children_cpu() - before
    stats = subprocess.run(["perf", "report", "--stats", "-i", data], capture_output=True, text=True).stdout
    samples = re.search(r"SAMPLE events:\s+(\d+)", stats)
    lost = re.search(r"LOST_SAMPLES events:\s+(\d+)", stats)
    os.unlink(data)
    return {"samples": int(samples.group(1)) if samples else 0, "lost": int(lost.group(1)) if lost else 0, "cpu": cpu,
            "cpu_svg": cpu_svg, "whole": whole}


CLANG_SOURCE = """
#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <vector>
template <int N> int work(std::map<int, std::string> &m)
{
    std::vector<int> v(N);
    m[N] = std::string(N, 'x');
    std::sort(v.begin(), v.end(), [](int a, int b) { return a + N < b; });
    return v.size();
}
""" + "".join("template int work<%d>(std::map<int, std::string> &);\n" % n for n in range(1, 401))

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


def on_fresh_target(command, run):
    """A fresh target each time: a compiler is in another phase a few seconds later."""
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        return run(process.pid)
    finally:
        end_group(process)


def median(runs, key, per_sample=False):
    return statistics.median(r[key] / (max(1, r["samples"]) if per_sample else 1) for r in runs)


def bench_target(name, way, args, daemon, folder):
    command = target_command(name, args.build, folder)
    options, call_graph = WAYS[way]
    ours, peer = [], []
    for _ in range(args.rounds):
        peer.append(on_fresh_target(command, lambda pid: perf_run(pid, args.seconds, folder, call_graph)))
        ours.append(on_fresh_target(
            command, lambda pid: our_run(daemon, pid, args.seconds, dict(options, frequency_hz=HZ))))
    print("%s, %s: %.0f samples a run here, %.0f with perf; lost %.0f here, %.0f with perf" % (
        name, way, median(ours, "samples"), median(peer, "samples"), median(ours, "lost"), median(peer, "lost")))
    row("CPU a sample, us", median(ours, "cpu", True), median(peer, "cpu", True))
    row("  to a picture, us", median(ours, "cpu_svg", True), median(peer, "cpu_svg", True))
    if way == "dwarf":
        row("  stacks whole, percent", median(ours, "whole"), median(peer, "whole"))
        auto = on_fresh_target(command, lambda pid: our_run(daemon, pid, args.seconds, {"frequency_hz": HZ}))
        print("  by unwind auto: %.1f %% whole (%.1f %% by tails), %.1f us a sample" % (
            auto["whole"], auto["tails"], auto["cpu"] / max(1, auto["samples"])))
        out = on_fresh_target(command, lambda pid: subprocess.run(
            [os.path.join(args.build, "bench/tails"), str(pid), "8", "8192", "10"], capture_output=True, text=True))
        print("  tails: " + out.stdout.strip())


FRAMED_SOURCE = r"""
#include <map>
#include <string>
#include <vector>
static volatile unsigned long sink;
__attribute__((noinline)) unsigned long leaf(unsigned long n)
{
	unsigned long s = n;
	for (int i = 0; i < 3000; i++)
		s = s * 6364136223846793005u + 1442695040888963407u;
	return s;
}
template <int N> __attribute__((noinline)) unsigned long step(unsigned long n, const unsigned char *above)
{
	unsigned char local[200 + N % 7 * 40];
	for (unsigned i = 0; i < sizeof(local); i++)
		local[i] = (unsigned char)(n >> (i & 31)) ^ above[i & 63];
	unsigned long s;
	if constexpr (N == 0)
		s = leaf(n);
	else
		s = step<N - 1>(n * 31 + N, local) + step<(N > 9 ? N / 3 : 0)>(n, local);
	return s + local[s % sizeof(local)];
}
int main()
{
	unsigned char top[64] = {};
	for (unsigned long n = 0;; n++)
		sink += step<DEPTH>(n, top);
}
"""


def bench_chains(args, daemon, folder):
    """Programs with frame pointers, by turns: copies, what auto makes of it, and the kernel's chains as they are."""
    source, target = os.path.join(folder, "framed.cc"), os.path.join(folder, "framed")
    with open(source, "w") as f:
        f.write(FRAMED_SOURCE)
    ways = {"dwarf": {"unwind": "dwarf", "stack_bytes": STACK}, "auto": {}, "fp": {"unwind": "fp"}}
    for depth in 30, 80:
        subprocess.run(["g++", "-std=c++17", "-O2", "-g", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer",
                        "-DDEPTH=%d" % depth, source, "-o", target], check=True)
        runs = {way: [] for way in ways}
        for _ in range(args.rounds):
            for way, options in ways.items():
                runs[way].append(on_fresh_target([target], lambda pid: settled_run(daemon, pid, args.seconds, options)))
        print("chains, %d calls deep: us a sample of all processes, of the sampling thread; %% whole, %% by chains" % depth)
        for way, of in runs.items():
            print("  %-34s %10.2f %10.2f %8.1f %8.1f" % (way, median(of, "cpu", True), median(of, "sampling", True),
                                                        median(of, "whole"), median(of, "chains")))


def settled_run(daemon, pid, seconds, options):
    """From when a session has chosen its way on."""
    path = "/v1/sessions/%d" % daemon.call("POST", "/v1/sessions", dict(options, pid=pid, frequency_hz=HZ))["id"]
    time.sleep(4)
    before, cpu = daemon.call("GET", path), daemon.cpu_ns()
    time.sleep(seconds)
    after, cpu = daemon.call("GET", path), daemon.cpu_ns() - cpu
    daemon.call("DELETE", path, plain=True)

    def more(*keys):
        a, b = after, before
        for key in keys:
            a, b = a[key], b[key]
        return a - b

    samples = more("ledger", "samples")
    return {"samples": samples, "cpu": cpu / 1000, "sampling": 1e6 * more("cost", "cpu_seconds"),
            "whole": 100 * more("ledger", "unwind_ends", "root") / max(1, samples),
            "chains": 100 * more("ledger", "chains") / max(1, samples)}


def bench_stress(args, daemon, folder):
    """More than a reader with small rings keeps up with."""
    command = [os.path.join(args.build, "bench/spin"), "1000", "16"]
    ours, peer = [], []
    for _ in range(args.rounds):
        peer.append(on_fresh_target(
            command, lambda pid: perf_run(pid, args.seconds, folder, "dwarf,32768", 4999, script=False)))
        ours.append(on_fresh_target(
            command, lambda pid: our_run(daemon, pid, args.seconds, {"frequency_hz": 4999, "stack_bytes": 32768})))
    print("stress, 16 threads, 4,999 Hz, 32 KiB: %.0f samples a run here, %.0f with perf" % (
        median(ours, "samples"), median(peer, "samples")))
    row("CPU a sample, us", median(ours, "cpu", True), median(peer, "cpu", True))
    for runs in ours, peer:
        for r in runs:
            r["loss"] = 100 * r["lost"] / max(1, r["lost"] + r["samples"])
    row("lost, percent", median(ours, "loss"), median(peer, "loss"))


def bench_host(args, daemon, folder):
    """The whole machine at 99 Hz with both processors busy."""
    processes = [subprocess.Popen([os.path.join(args.build, "bench/spin"), "1000"], start_new_session=True,
                                  stdout=subprocess.DEVNULL) for _ in range(os.cpu_count())]
    try:
        runs = []
        for _ in range(args.rounds):
            session = daemon.call("POST", "/v1/sessions", {"all": True, "frequency_hz": 99})
            time.sleep(2)
            before = daemon.cpu_ns()
            time.sleep(args.seconds)
            runs.append((daemon.cpu_ns() - before) / args.seconds / 1e7)
            daemon.call("DELETE", "/v1/sessions/%d" % session["id"], plain=True)
        print("whole machine at 99 Hz, all processors busy: %.2f %% of one core" % statistics.median(runs))
    finally:
        for p in processes:
            end_group(p)


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


COLLAPSE = r"""
/^[^ \t]/ { comm = $1; next }
NF { $1 = ""; frames[++n] = substr($0, 2); next }
n { for (stack = comm; n > 0; n--) stack = stack ";" frames[n]; count[stack]++ }
END { for (stack in count) print stack, count[stack] }
"""


FLAME_SCRIPT = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"


def picture_with_perf(data, out):
    """To an SVG by perf script, the least of a stackcollapse and the flame graph script; seconds on the wall, of CPU."""
    before, begin = children_cpu(), time.monotonic()
    script = subprocess.Popen(["perf", "script", "--no-inline", "-F", "comm,ip,sym", "-i", data],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with open(out, "w") as f:
        subprocess.run(["awk", COLLAPSE], stdin=script.stdout, stdout=f, check=True)
    script.wait()
    if os.path.exists(FLAME_SCRIPT):
        with open(out + ".svg", "w") as f:
            subprocess.run(["perl", FLAME_SCRIPT, out], stdout=f, stderr=subprocess.DEVNULL, check=True)
    used = {"wall": time.monotonic() - begin, "cpu": (children_cpu() - before) / 1e6}
    with open(out, errors="replace") as f:
        used["samples"] = sum(int(line.rpartition(" ")[2]) for line in f)
    return used


def report_with_us(args, data, folder, *options):
    """The SVG by profilectl report, whose processes end with it: nothing is kept from one to the next."""
    before, begin = children_cpu(), time.monotonic()
    out = subprocess.run([os.path.join(args.build, "profilectl"), "report", data, *options, "-o",
                          os.path.join(folder, "import.svg")], capture_output=True, text=True)
    used = {"wall": time.monotonic() - begin, "cpu": (children_cpu() - before) / 1e6}
    if out.returncode != 0:
        raise RuntimeError("profilectl report failed: " + out.stderr)
    used["samples"] = int(re.match(r"(\d+) samples", out.stderr).group(1))
    return used


def bench_import(args, daemon, folder):
    """One recording of perf to an SVG, by turns."""
    data = os.path.join(folder, "import.data")
    for name in args.targets.split(","):
        for way in WAYS:
            on_fresh_target(target_command(name, args.build, folder), lambda pid: subprocess.run(
                ["perf", "record", "-q", "-F", str(HZ), "-e", "cpu-clock", "--call-graph", WAYS[way][1], "-m", "1024",
                 "-p", str(pid), "-o", data, "--", "sleep", str(args.seconds)], capture_output=True))
            ours, peer = [], []
            for _ in range(args.rounds):
                ours.append(report_with_us(args, data, folder))
                peer.append(picture_with_perf(data, os.path.join(folder, "import.folded")))
            print("import of perf.data, %s, %s, %.1f MiB: %d samples here, %d with perf" % (
                name, way, os.path.getsize(data) / (1 << 20), median(ours, "samples"), median(peer, "samples")))
            row("CPU to a picture, ms", 1000 * median(ours, "cpu"), 1000 * median(peer, "cpu"))
            row("  on the wall, ms", 1000 * median(ours, "wall"), 1000 * median(peer, "wall"))
            os.unlink(data)


# Many instances of templates of the standard library: what fills debug information in practice.
BIG_SOURCE = """
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>
template <int N> struct item { int key; std::string text; double weight[N % 7 + 1]; };
template <int N> long work(std::map<int, item<N>> &m, std::unordered_map<std::string, item<N>> &u, int seed)
{
    std::vector<item<N>> v;
    for (int i = 0; i < 40; i++) {
        item<N> x{(seed + i * 7919) % 97, std::string(1 + i % 20, 'a' + i % 26), {}};
        m.emplace(x.key, x);
        u[x.text] = x;
        v.push_back(x);
    }
    std::sort(v.begin(), v.end(), [](const item<N> &a, const item<N> &b) { return a.key + N < b.key + N; });
    std::stable_sort(v.begin(), v.end(), [](const item<N> &a, const item<N> &b) { return a.text < b.text; });
    std::function<long(const item<N> &)> f = [seed](const item<N> &x) { return x.key * seed + (long)x.text.size(); };
    return std::accumulate(v.begin(), v.end(), 0l, [&](long s, const item<N> &x) { return s + f(x); });
}
extern "C" long part(int seed)
{
    long sum = 0;
""" + "".join("    { std::map<int, item<%d>> m; std::unordered_map<std::string, item<%d>> u; sum += work(m, u, seed); }\n"
              % (n, n) for n in range(1, 21)) + """
    return sum;
}
"""


def big_program(folder, copies=24):
    """One object linked many times over, as compiling so much takes too long: more than 100 MiB, all of it distinct."""
    def path(name):
        return os.path.join(folder, name)

    def run(*command):
        subprocess.run(command, check=True, cwd=folder)

    with open(path("part.cc"), "w") as f:
        f.write(BIG_SOURCE)
    with open(path("all.c"), "w") as f:
        f.writelines("long part_%d(int);\n" % n for n in range(copies))
        f.write("int main(int c, char **v)\n{\n\tlong s = 0;\n\tfor (int i = 0; i < 100; i++)\n\t\ts += %s;\n"
                "\treturn s == 1;\n}\n" % " + ".join("part_%d(i)" % n for n in range(copies)))
    run("g++", "-O2", "-g", "-c", "part.cc")
    run("ld", "-r", "--force-group-allocation", "part.o", "-o", "one.o")
    for n in range(copies):
        run("objcopy", "--redefine-sym", "part=part_%d" % n, "--keep-global-symbol=part_%d" % n, "one.o", "one_%d.o" % n)
    run("gcc", "-g", "-c", "all.c")
    run("g++", "all.o", *["one_%d.o" % n for n in range(copies)], "-o", "big")
    return path("big")


def default_script(data):
    begin = time.monotonic()
    subprocess.run(["perf", "script", "-i", data], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return {"wall": time.monotonic() - begin}


def bench_inline(args, daemon, folder):
    """With inline frames and lines: many addresses of one file, and a short recording of it."""
    big = big_program(folder)
    asked = [json.loads(subprocess.run([os.path.join(args.build, "bench/inlines"),
                                        os.path.join(args.build, "profiled-reader"), big], capture_output=True,
                                       check=True).stdout) for _ in range(args.rounds)]
    print("inline frames and lines of %d addresses of a program of %.0f MiB: %d frames, %d of them inlined" % (
        asked[0]["addresses"], os.path.getsize(big) / (1 << 20), asked[0]["frames"], asked[0]["inlined"]))
    print("  %.0f ms of CPU, %.0f ms on the wall, %.0f MiB at most with the pages of the file" % (
        median(asked, "cpu_ms"), median(asked, "wall_ms"), median(asked, "peak_mib")))
    data = os.path.join(folder, "inline.data")
    subprocess.run(["perf", "record", "-q", "-F", "99", "-e", "cpu-clock:u", "--call-graph", "dwarf,8192", "-o", data,
                    "--", big], check=True, stderr=subprocess.DEVNULL)
    ours = [report_with_us(args, data, folder, "--inline", "--lines") for _ in range(args.rounds)]
    peer = [default_script(data)]
    print("import with inline frames and lines: %d samples" % median(ours, "samples"))
    row("on the wall, ms", 1000 * median(ours, "wall"), 1000 * median(peer, "wall"))


def run_to_file(command, out):
    """CPU seconds, and the most memory that one of its processes had, in MiB."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    pid = os.posix_spawnp(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, out, flags, 0o644), (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)])
    _, status, used = os.wait4(pid, 0)
    if status != 0:
        raise RuntimeError("%s failed" % " ".join(command))
    return {"cpu": used.ru_utime + used.ru_stime, "memory": used.ru_maxrss / 1024}


def bench_svg(args, daemon, folder):
    """Folded stacks to an SVG, by profilectl report without a daemon and by the flame graph script."""
    if not os.path.exists(FLAME_SCRIPT):
        print("the part svg is left out: there is no %s; install libdevel-nytprof-perl" % FLAME_SCRIPT)
        return
    stacks, out = os.path.join(folder, "some.stacks"), os.path.join(folder, "stacks.svg")
    for count in 20000, 200000:
        subprocess.run([sys.executable, os.path.join(os.path.dirname(__file__), "stacks.py"), str(count), stacks], check=True)
        ours, peer = [], []
        for _ in range(args.rounds):
            ours.append(run_to_file([os.path.join(args.build, "profilectl"), "report", stacks, "-f", "svg"], out))
            peer.append(run_to_file(["perl", FLAME_SCRIPT, stacks], out))
        print("%d folded stacks, %.0f MiB, to an SVG; the flame graph script" % (
            count, os.path.getsize(stacks) / (1 << 20)))
        row("CPU, ms", 1000 * median(ours, "cpu"), 1000 * median(peer, "cpu"))
        row("the largest process, MiB", median(ours, "memory"), median(peer, "memory"))


KINDS = (  # of mappings, by their names in smaps
    ("own heap", re.compile(r"^(\[heap\]|\[anon.*\]|\[stack\]|)$")),
    ("rings", re.compile(r"^anon_inode:\[perf_event\]")),
    ("memory files", re.compile(r"^/(memfd:|dev/zero)")),
    ("unwind rules", re.compile(r"\.rules$")),
    ("other files", re.compile(r"")),
)


def memory_by_kind(pid):
    """PSS in KiB; rings, which the kernel has and smaps does not count, by their size."""
    kinds = dict.fromkeys((name for name, _ in KINDS), 0)
    with open("/proc/%d/smaps" % pid) as f:
        for line in f:
            head = re.match(r"([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ \S+\s*(.*)", line)
            if head:
                kind = next(name for name, pattern in KINDS if pattern.search(head.group(3)))
                if kind == "rings":
                    kinds[kind] += (int(head.group(2), 16) - int(head.group(1), 16)) // 1024
            elif line.startswith("Pss:") and kind != "rings":
                kinds[kind] += int(line.split()[1])
    return kinds


def build_for_ever(folder):
    """clang, make and shells, two at a time, as long as they are let."""
    source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    files = sorted(os.path.join(d, f) for top in ("base", "cli", "daemon") for d, _, names in os.walk(os.path.join(source, top))
                   for f in names if f.endswith(".c"))
    with open(os.path.join(folder, "Makefile"), "w") as f:
        f.write("all: " + " ".join("%d.o" % i for i in range(len(files))) + "\n")
        for i, file in enumerate(files):
            f.write("%d.o: %s\n\t@clang -w -O2 -g -D_GNU_SOURCE -I%s -I. -c $< -o $@\n" % (i, file, source))
    with open(os.path.join(folder, "config.h"), "w") as f:
        f.write('#define PACKAGE_VERSION "0"\n')
    return subprocess.Popen(["sh", "-c", "while :; do make -s -k -j2; rm -f *.o; done"], cwd=folder, start_new_session=True,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=lambda: os.nice(10))


def bench_memory(args, folder):
    """PSS of the three processes, minute by minute, as the daemon is set up by default."""
    work = os.path.join(folder, "work")
    os.mkdir(work)
    daemon = Daemon(args.build, folder)
    builds = None
    try:
        time.sleep(2)
        begin, cpu = time.monotonic(), daemon.cpu_ns()
        time.sleep(10)
        print("idle: %.1f MiB, %.3f %% of one core" % (daemon.memory()[0], (daemon.cpu_ns() - cpu) / (time.monotonic() - begin) / 1e7))
        builds = build_for_ever(work)
        session = daemon.call("POST", "/v1/sessions", {"all": True, "frequency_hz": args.rate})
        path = "/v1/sessions/%d" % session["id"]
        print("  %6s %8s %8s %8s  %s" % ("s", "broker", "engine", "reader", "all of it, MiB, by kind"))
        begin, cpu, peak = time.monotonic(), daemon.cpu_ns(), 0
        for at in range(30, int(args.minutes * 60) + 1, 30):
            time.sleep(max(0, begin + at - time.monotonic()))
            status = json.loads(daemon.call("GET", "/v1/status", plain=True))["processes"]
            kinds = {p["role"]: memory_by_kind(p["pid"]) for p in status}
            sums = {name: sum(k[name] for k in kinds.values()) / 1024 for name, _ in KINDS}
            print("  %6d %8.1f %8.1f %8.1f  %.1f: %s" % (
                at, *(sum(kinds.get(role, {}).values()) / 1024 for role in ("broker", "engine", "reader")),
                sum(sums.values()), ", ".join("%s %.1f" % x for x in sums.items())))
            sys.stdout.flush()
            daemon.call("GET", path + "/flamegraph.svg", plain=True)
            peak = max(peak, daemon.memory()[0] + sums["rings"])
        s = daemon.call("GET", path)
        print("whole machine for %g min at %d Hz (now %d) while clang builds: %d samples, %d lost, %d dropped, %.2f %% of one core;"
              " %.1f MiB at most right after a picture" % (
            args.minutes, args.rate, s["frequency_hz"], s["ledger"]["samples"], s["ledger"]["lost"],
            s["ledger"]["dropped"], (daemon.cpu_ns() - cpu) / (time.monotonic() - begin) / 1e7, peak))
        for line in s["warnings"]:
            print("  " + line)
    finally:
        if builds:
            end_group(builds)
        daemon.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=".")
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--targets", default="clang,python3,node,threads")
    parser.add_argument("--parts", default="dwarf,fp,chains,stress,host,slowdown,svg,import,inline")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--rate", type=int, default=99)
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    if args.parts == "memory":
        with tempfile.TemporaryDirectory() as folder:
            bench_memory(args, folder)
        return
    if args.parts == "svg":
        with tempfile.TemporaryDirectory() as folder:
            bench_svg(args, None, folder)
        return
    if not shutil.which("perf"):
        raise SystemExit("bench: perf is not there: install linux-perf")
    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(args.build, folder, FREE)
        try:
            print("%d Hz, %d bytes of stack copied, %g s a run, medians of %d" % (HZ, STACK, args.seconds, args.rounds))
            print("  %-34s %10s %10s   %6s" % ("", "profiled", "perf", "ratio"))
            parts = args.parts.split(",")
            for way in WAYS:
                for name in args.targets.split(",") if way in parts else ():
                    bench_target(name, way, args, daemon, folder)
                    sys.stdout.flush()
            for part in bench_chains, bench_stress, bench_host, bench_slowdown, bench_svg, bench_import, bench_inline:
                if part.__name__.removeprefix("bench_") in parts:
                    part(args, daemon, folder)
                    sys.stdout.flush()
            print("memory of all three processes after that: %.1f MiB shared fairly (PSS), %.1f MiB sum of peaks"
                  % daemon.memory())
        finally:
            daemon.stop()


main()
