#!/usr/bin/python3
"""stacks.py COUNT FILE: folded stacks of 20 to 40 frames, always the same ones, in the order in which the scripts that
collapse stacks write them."""
import random
import sys

WORDS = "parse emit visit node expr type scan token page free lookup hash read write commit flush block graph".split()


def function_names(rand, count):
    """As those of a C++ program are: plain, with namespaces and arguments, and instances of templates."""
    names = set()
    while len(names) < count:
        a, b, c = (rand.choice(WORDS) for _ in range(3))
        names.add(rand.choice((
            "%s_%s_%s_%d" % (a, b, c, len(names)),
            "%s::%s::%s_%s_%d(%s const&, unsigned long)" % (a, b.title(), b, c, len(names), a.title()),
            "std::vector<%s::%s, std::allocator<%s::%s> >::%s_%d" % (a, b.title(), a, b.title(), c, len(names)))))
    return sorted(names)


def write_stacks(path, count):
    """Near the root one callee of six is by far the likeliest, so that neighbours share some five frames in six."""
    rand = random.Random(1)
    names = function_names(rand, 5000)
    callees = [[rand.randrange(len(names)) for _ in range(6)] for _ in names]
    stacks = {}
    while len(stacks) < count:
        at, chain = 0, ["program", "_start", "main"]
        for left in range(rand.randint(17, 37), 0, -1):
            at = callees[at][min(int(rand.expovariate(1.1 if left <= 6 else 2.2)), 5)]
            chain.append(names[at])
        stacks[";".join(chain)] = 1 + int(rand.expovariate(0.3))
    with open(path, "w") as f:
        f.writelines("%s %d\n" % (stack, stacks[stack]) for stack in sorted(stacks))


write_stacks(sys.argv[2], int(sys.argv[1]))
