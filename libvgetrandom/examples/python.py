#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Draw the kernel's random numbers without system calls, from Python with ctypes.

python3 python.py [PATH OF libvgetrandom.so.0]
"""

import ctypes
import errno
import os
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter_ns

ROUNDS = 51
BYTES_A_ROUND = 1 << 19
CALLS_A_ROUND = 1000


class VGetrandom:
    """The library's functions, as Python calls them."""

    def __init__(self, path: str = "libvgetrandom.so.0") -> None:
        """Load the library; raises OSError if it is not at ``path``."""
        library = ctypes.CDLL(path)
        self._fill = library.vgetrandom
        self._fill.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint]
        self._fill.restype = ctypes.c_ssize_t
        self._batch_u64 = library.vgetrandom_batch_u64
        self._batch_u64.restype = ctypes.c_uint64
        self._status = library.vgetrandom_status
        self._status_text = library.vgetrandom_status_text
        self._status_text.restype = ctypes.c_char_p
        self._simd = library.vgetrandom_simd
        self._simd.restype = ctypes.c_char_p

    def urandom(self, size: int) -> bytes:
        """Return ``size`` bytes, as ``os.urandom`` does. Raises OSError."""
        buf = ctypes.create_string_buffer(size)
        done = 0
        while done < size:
            # A signal can end a long call early, or before its first byte.
            got = self._fill(ctypes.byref(buf, done), size - done, 0)
            if got == -errno.EINTR:
                continue
            # No bytes and no error: a filter pretends that system calls succeed.
            if got <= 0:
                number = -got or errno.EIO
                raise OSError(number, os.strerror(number))
            done += got
        return buf.raw

    def batch_u64(self) -> int:
        """Return 64 bits from the batch, which does not notice machine clones."""
        number: int = self._batch_u64()
        return number

    def status(self) -> str:
        """Say how numbers are served."""
        how: bytes = self._status_text(self._status())
        simd: bytes = self._simd()
        return f"{how.decode()}; {simd.decode()}"


def time_call(draw: Callable[[int], bytes], size: int, calls: int) -> float:
    """Return nanoseconds per call."""
    begin = perf_counter_ns()
    for _ in range(calls):
        draw(size)
    return (perf_counter_ns() - begin) / calls


def compare(library: VGetrandom, size: int) -> str:
    """Time both ways in turn, so that the same disturbances hit both."""
    calls = max(1, min(CALLS_A_ROUND, BYTES_A_ROUND // size))
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(time_call(library.urandom, size, calls))
        theirs.append(time_call(os.urandom, size, calls))
    ratio = median(their / our for our, their in zip(ours, theirs, strict=True))
    return f"{size:>8} {median(ours):>12.0f} {median(theirs):>12.0f} {ratio:>8.2f}"


def main() -> None:
    """Draw some numbers, and compare the costs."""
    library = VGetrandom(*sys.argv[1:2])
    print("bytes:", library.urandom(16).hex())
    print("number:", library.batch_u64())
    print("served by:", library.status())
    print()
    print("Nanoseconds per call (medians), and how many times as fast vgetrandom is.")
    print(f"{'bytes':>8} {'vgetrandom':>12} {'os.urandom':>12} {'ratio':>8}")
    for size in (16, 256, 4096, 65536):
        print(compare(library, size))


if __name__ == "__main__":
    main()
