#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Check what the Python example returns, and that it ends when calls fail.

Arguments: the example, and the library.
"""

import errno
import runpy
import sys
from collections.abc import Callable
from typing import Any

SIZE = 100


def fail(*calls: int) -> Callable[..., int]:
    """Return what is called in place of the library, and returns these in turn."""
    results = iter(calls)
    return lambda _buf, _size, _flags: next(results)


def error_of(library: Any, *calls: int) -> int | None:  # noqa: ANN401
    """Return the number of the error that ``urandom`` raises, or None."""
    library._fill = fail(*calls)
    try:
        library.urandom(SIZE)
    except OSError as error:
        return error.errno
    return None


def main() -> None:
    """Run all checks; raises AssertionError."""
    example = runpy.run_path(sys.argv[1])
    library = example["VGetrandom"](sys.argv[2])
    drawn = {library.urandom(SIZE) for _ in range(SIZE)}
    assert len(drawn) == SIZE and {len(each) for each in drawn} == {SIZE}
    assert len({library.batch_u64() for _ in range(SIZE)}) == SIZE
    assert "; " in library.status()
    assert error_of(library, SIZE - 1, 1) is None
    assert error_of(library, 10, -errno.EPERM) == errno.EPERM
    assert error_of(library, 10, 0) == errno.EIO
    assert error_of(library, -errno.EINTR, SIZE) is None


if __name__ == "__main__":
    main()
