# hot.py [SECONDS]: python_main calls fib, recursively, and count, half of the time each or so.
import sys
import time


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def count(n):
    total = 0
    for i in range(n):
        total += i % 7
    return total


def python_main(end):
    while time.monotonic() < end:
        fib(18)
        count(12000)


python_main(time.monotonic() + float(sys.argv[1]) if len(sys.argv) > 1 else float("inf"))
