"""The commands in README.md and doc/guides: read out of the text, made short, and run as somebody new would.

Fenced blocks are told apart by their first word. "sh" is run; "output" is what the block before has printed, where a
number stands for any number, "…" for any text, and a line "…" for any lines. The others are not run: "console" (other
machines, other programs), "yaml", "dockerfile" and "text". All blocks of a text are one script, so that variables live on.
"""
import re

from pfl import *

KINDS = ("sh", "output", "console", "yaml", "dockerfile", "text")
OURS = re.compile(r"(?m)^[$#] *(profilectl|curl|promtool)\b")
SHORTER = (r"(?<=-d )\d+\b", r'(?<="duration_s": )\d+', r"(?<=\bsleep )\d+\b", r"(?<=&seconds=)\d+\b")  # all of them are seconds
NUMBER = r"\d+(?:[.,]\d+)*"


class Block:
    def __init__(self, kind, line):
        self.kind, self.line, self.text, self.printed = kind, line, "", ""


class Text:
    """One of README.md and the guides, with its blocks."""

    def __init__(self, path):
        self.path, self.name, self.blocks = path, os.path.basename(path).removesuffix(".md").lower(), []
        block = None
        with open(path) as f:
            self.lines = f.read().splitlines()
        for number, line in enumerate(self.lines, 1):
            fence = re.match(r"```(\S*)", line)
            if fence and block:
                block = None
            elif fence:
                block = Block(fence.group(1), number)
                self.blocks.append(block)
            elif block:
                block.text += line + "\n"

    def of(self, kind):
        return [b for b in self.blocks if b.kind == kind]

    def check_kinds(self):
        """Nothing that could be run is hidden from it."""
        odd = [b.line for b in self.blocks if b.kind not in KINDS]
        check(self.name + "_has_only_known_blocks", not odd, "lines %s are none of %s" % (odd, ", ".join(KINDS)))
        hidden = [b.line for b in self.blocks if b.kind in ("console", "text") and OURS.search(b.text)]
        check(self.name + "_hides_no_command", not hidden, "lines %s" % hidden)

    def anchors(self):
        """As those who show Markdown make them of headings."""
        headings = [line.lstrip("# ") for line in self.lines if line.startswith("#")]
        return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}

    def check_links(self):
        """Those to files of ours; others are not asked."""
        dead = []
        for link in re.findall(r"\]\(([^)\s]+)\)", "\n".join(self.lines)):
            file, _, anchor = link.partition("#")
            target = os.path.join(os.path.dirname(self.path), file) if file else self.path
            if "://" not in link and not (os.path.exists(target) and (not anchor or anchor in Text(target).anchors())):
                dead.append(link)
        check(self.name + "_has_no_dead_link", not dead, dead)

    def replace(self, table):
        """Puts what is there in place of what the text says. What it does not say."""
        missing = [old for old in table if not any(old in b.text for b in self.blocks)]
        for b in self.blocks:
            for old, new in table.items():
                b.text = b.text.replace(old, new) if b.kind != "console" else b.text
        return missing

    def run(self, folder, environment, seconds):
        """Runs the commands, with so many seconds for each time that they name; each block gets what it has printed. The
        exit status, and all that was printed."""
        commands = self.of("sh")
        text = "".join("echo '@@@'\n" + b.text for b in commands)
        for pattern in SHORTER:
            text = re.sub(pattern, seconds, text)
        script = "set -eEu -o pipefail\ntrap 'echo \"failed: $BASH_COMMAND\"' ERR\n" + text
        r = subprocess.run(["timeout", "90", "bash", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        for block, printed in zip(commands, r.stdout.split("@@@\n")[1:]):
            block.printed = printed
        return r.returncode, r.stdout

    def check_outputs(self):
        for before, block in zip(self.blocks, self.blocks[1:]):
            if block.kind == "output":
                missing = first_missing(block.text, before.printed)
                check("%s_prints_what_line_%d_quotes" % (self.name, block.line), missing is None,
                      "%r is not in %r" % (missing, before.printed[:2000]))


def pattern_of(line):
    """Blanks may be more or fewer."""
    pieces = re.findall(r"…|%s|\s+|[^…\d\s]+" % NUMBER, line.strip())
    return re.compile(r"\s*" + "".join(
        ".*" if p == "…" else NUMBER if p[0].isdigit() else r"\s+" if p.isspace() else re.escape(p) for p in pieces) + r"\s*$")


def first_missing(quoted, printed):
    """None, or the first line that is not there. Lines follow each other, unless "…" stands between them."""
    lines, at, gap = printed.splitlines(), 0, False
    for line in quoted.splitlines():
        if line.strip() in ("…", ""):
            gap = True
            continue
        there = [i for i in range(at, len(lines)) if lines[i].strip() and pattern_of(line).match(lines[i])]
        if not there or (not gap and any(x.strip() for x in lines[at:there[0]])):
            return line
        at, gap = there[0] + 1, False
    return None
