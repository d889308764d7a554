"""A console: lines of the kernel, and between them those of programs."""

import re

# The kernel puts the time before each of its lines.
_OF_KERNEL = re.compile(r"\[ *\d+\.\d+\] ")


def last_of_programs(console: str) -> list[str]:
    """Return two lines at most: a cause and what came of it."""
    lines = [line for line in console.splitlines() if not _OF_KERNEL.match(line)]
    return [line for line in lines if line.strip()][-2:]
