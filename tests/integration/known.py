"""For integration tests in Python: the programs of tests/targets, and looks at processes."""
import glob
import os
import signal
import subprocess

from pfl import SOURCE, TMP, finish, not_ok, wait_for

TARGETS = os.path.join(TMP, "targets")


def build(*names):
    """Builds these targets and says which are skipped here; those that are there, by name."""
    build_script = os.path.join(SOURCE, "tests/targets/build")
    if subprocess.run([build_script, TARGETS, *names]).returncode != 0:
        not_ok("targets", "do not build")
        finish()
    os.chmod(TARGETS, 0o755)
    return {name: os.path.join(TARGETS, name) for name in names if os.path.exists(os.path.join(TARGETS, name))}


def likely(share, truth, samples):
    """Whether so many samples may well show this share, in percent, of something that has that one: within four times
    the error of so many, which one check in 16,000 is beyond, and a point."""
    return abs(share - truth) <= 4 * (truth * (100 - truth) / max(1, samples)) ** 0.5 + 1


def stat_of(pid):
    """The fields of /proc/PID/stat behind the name, from the state on; None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            return f.read().rpartition(b")")[2].split()
    except OSError:
        return None


def cpu_seconds(pid, children=False):
    """That it has used; also those of the children that it has waited for."""
    stat = stat_of(pid)
    return sum(int(x) for x in stat[11 : 15 if children else 13]) / os.sysconf("SC_CLK_TCK")


class UsedTime:
    """CPU time during a session: a request takes time as well, so that it is known from at_least to at_most seconds.
    mark() before the start is asked for, after it, before the stop, and after it. measure: seconds so far."""

    def __init__(self, measure):
        self.measure, self.marks = measure, []
        self.mark()

    def mark(self):
        self.marks.append(self.measure())

    def agrees(self, seconds, tolerance):
        return self.at_least() * (1 - tolerance) <= seconds <= self.at_most() * (1 + tolerance)

    def at_least(self):
        return self.marks[2] - self.marks[1]

    def at_most(self):
        return self.marks[3] - self.marks[0]

    def __repr__(self):
        return "%.3f to %.3f s" % (self.at_least(), self.at_most())


def cpu_ns(pid, tid=None):
    """The same, of one thread, and finer."""
    with open(f"/proc/{pid}/task/{tid or pid}/schedstat") as f:
        return int(f.read().split()[0])


def stop(process):
    """It stands still when this returns."""
    os.kill(process.pid, signal.SIGSTOP)
    wait_for(lambda: stat_of(process.pid)[0] == b"T")


def go_on(process):
    os.kill(process.pid, signal.SIGCONT)


def children_of(pid):
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        with open(path) as f:
            found += [int(x) for x in f.read().split()]
    return found


def engine_of(daemon):
    for pid in children_of(daemon.process.pid):
        with open(f"/proc/{pid}/comm") as f:
            if f.read().startswith("profiled-engin"):
                return pid
    raise RuntimeError("there is no engine")


def descriptors_of(pid):
    """How many it has open, but for those that it measures its own processes with: they come once, when it first does."""
    found = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            found += not os.readlink(f"/proc/{pid}/fd/{fd}").endswith("/smaps_rollup")
        except FileNotFoundError:
            pass
    return found


# A sanitizer holds freed memory back for a while: up to a quarter of a gigabyte, by its defaults.
HELD_BACK = (300 << 20) if os.environ.get("PROFILED_SANITIZED") else 0


def rss_bytes(pid):
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def cgroup_mount():
    """Where the v2 hierarchy is; None: nowhere."""
    with open("/proc/self/mountinfo") as f:
        for line in f:
            fields = line.split(" - ")
            if fields[1].startswith("cgroup2 "):
                return fields[0].split()[4]
    return None


class Stacks:
    """Sums over folded stacks by what the first frame, the process with by=process, is."""

    def __init__(self, folded):
        self.folded = folded

    def count(self, process=None, chain=None):
        """Samples whose first frame passes process(text) and that hold the chain."""
        return sum(
            n
            for frames, n in self.folded.stacks
            if (process is None or process(frames[0]))
            and (chain is None or ";" + chain + ";" in ";" + ";".join(frames) + ";")
        )
