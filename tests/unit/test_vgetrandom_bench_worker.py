"""Workers of libvgetrandom's benchmark, which measure real calls."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from vgetrandom_bench import worker as worker_module
from vgetrandom_bench.cells import KIB, Cell
from vgetrandom_bench.host import InfraError
from vgetrandom_bench.worker import Unavailable, started

WORKERS = Path(__file__).parents[2] / "libvgetrandom" / "bench" / "workers"
Compile = Callable[[str], str]

FAKE = """
#include "worker.h"
static void prepare(int argc, char **argv) {{ (void)argc, (void)argv; {prepare} }}
static void thread_begin(unsigned int index) {{ (void)index; }}
static inline void draw(void *buf, size_t len) {{ (void)buf, (void)len; {draw} }}
"""


@pytest.fixture
def compiled(tmp_path: Path) -> Compile:
    """Compiles a worker and returns its path."""

    def compile_(source: str) -> str:
        (tmp_path / "worker.c").write_text(source)
        command = ["cc", "-O2", "-std=gnu11", "-D_GNU_SOURCE", "-pthread"]
        command += ["-I", str(WORKERS), "worker.c", "-o", "worker"]
        subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
        return str(tmp_path / "worker")

    return compile_


def fake(prepare: str = "", draw: str = "") -> str:
    return FAKE.format(prepare=prepare, draw=draw)


@pytest.fixture
def system_call(compiled: Compile) -> str:
    return compiled((WORKERS / "syscall.c").read_text())


@pytest.mark.parametrize("cell", [Cell(4, 1), Cell(KIB * KIB, 1), Cell(16, 2)])
def test_a_worker_times_calls(system_call: str, cell: Cell) -> None:
    with started("real", [system_call], {}) as worker:
        began = time.monotonic_ns()
        took = worker.time(cell, 100)
        assert 0 < took * 100 <= time.monotonic_ns() - began


def test_time_is_that_of_the_calls(compiled: Compile) -> None:
    nap = "nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);"
    word = "static unsigned int i; i++; memcpy(buf, &i, sizeof(i));"
    with started("naps", [compiled(fake(draw=nap + word))], {}) as worker:
        assert worker.time(Cell(4, 1), 5) >= 2_000_000
        assert worker.time(Cell(4, 2), 5) >= 2_000_000


@pytest.mark.parametrize(
    "draw",
    [
        "",
        "memset(buf, 0, len);",
        "memset(buf, 7, len);",
        "if (len > 64) len = 64; if (getentropy(buf, len)) fail(0);",
        "static int i; if (!i++) for (size_t at = 0; at < len; at += 256)"
        " if (getentropy((char *)buf + at, 256)) fail(0);",
    ],
    ids=["nothing", "zeros", "constant", "part", "once"],
)
def test_bytes_that_are_not_random_are_found(compiled: Compile, draw: str) -> None:
    source = '#include <unistd.h>\n#include "worker.h"\n' + fake(draw=draw)
    with (
        started("broken", [compiled(source)], {}) as worker,
        pytest.raises(InfraError, match="not random"),
    ):
        worker.time(Cell(KIB, 1), 1)


@pytest.mark.parametrize("size", [4, 8])
def test_words_that_are_not_random_are_found(compiled: Compile, size: int) -> None:
    program = compiled(fake(draw="memset(buf, 7, len);"))
    with (
        started("broken", [program], {}) as worker,
        pytest.raises(InfraError, match="not random"),
    ):
        worker.time(Cell(size, 2), 10)


def test_a_path_this_machine_has_not(compiled: Compile) -> None:
    program = compiled(fake(prepare='cannot("it is too old");'))
    with (
        pytest.raises(Unavailable, match=r"^it is too old$"),
        started("x", [program], {}),
    ):
        pass


def test_a_worker_that_cannot_even_start(compiled: Compile) -> None:
    program = compiled(fake(prepare='fail("no such library");'))
    with (
        pytest.raises(Unavailable, match=r"'x' ended \(status 1\).*no such library"),
        started("x", [program], {}),
    ):
        pass


def test_a_dying_worker_is_named_with_what_it_did(compiled: Compile) -> None:
    program = compiled(fake(draw="abort();"))
    with (
        started("shaky", [program], {}) as worker,
        pytest.raises(
            InfraError, match=r"'shaky' was killed \(SIGABRT\) at 4 B, 2 threads"
        ),
    ):
        worker.time(Cell(4, 2), 1)


def running(program: str) -> list[Path]:
    """Processes that run a program."""
    found = []
    for exe in Path("/proc").glob("[0-9]*/exe"):
        # Others come and go, or are not ours to look at.
        with suppress(OSError):
            found += [exe] if str(exe.readlink()) == program else []
    return found


def test_a_worker_that_hangs_is_given_up_and_ended(
    compiled: Compile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(worker_module, "_END_SECONDS", 0.2)
    program = compiled("#include <unistd.h>\n" + fake(draw="for (;;) pause();"))
    with (
        started("stuck", [program], {}) as worker,
        pytest.raises(InfraError, match="'stuck' gave no answer at 4 B, 1 thread"),
    ):
        assert running(program)
        worker.time(Cell(4, 1), 1)
    assert not running(program)


INTERRUPTED = """
import os, signal, sys
from vgetrandom_bench.cells import Cell
from vgetrandom_bench.worker import started

signal.signal(signal.SIGINT, signal.default_int_handler)
with started("real", [sys.argv[1]], {}) as worker:
    try:
        os.killpg(0, signal.SIGINT)
        signal.pause()
    except KeyboardInterrupt:
        print(worker.time(Cell(4, 1), 10) > 0)
"""


def test_a_worker_is_deaf_to_ctrl_c(system_call: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, system_call],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        # A group of its own gets the signal, as from a terminal.
        start_new_session=True,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout == "True\n", done.stderr
