"""The host's C compiler as a set of files, for guests that compile programs."""

import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from temper.arch import Arch
from temper.errors import InfraError, InputError
from temper.kernel.compiler import cross_prefix
from temper.process import call, need_tool

_PROGRAMS = ("cc1", "collect2", "as", "ld")
"""What the compiler driver runs to make a static program of a C file."""
_LINKED = (
    *("crt1.o", "crti.o", "crtbeginT.o", "crtend.o", "crtn.o"),
    *("libc.a", "libgcc.a", "libgcc_eh.a"),
)
"""What the linker puts into such a program."""
_LIBRARY = re.compile(r"^\s*(?:\S+ => )?(/\S+) \(0x")
_TIMEOUT = 30.0


def compiler_files(arch: Arch, source: Path) -> tuple[Path, ...]:
    """Return all files that the compiler opens to make a static program of ``source``.

    The paths are absolute; a guest must have the files at the same paths. Raises
    InputError if it is a cross compiler, InfraError if a part of it is missing.
    """
    if cross_prefix(arch):
        raise InputError(f"this host's C compiler for {arch.name} cannot run on it")
    programs = [_program(name) for name in (arch.compiler, *_PROGRAMS)]
    linked = [_linked(name) for name in _LINKED]
    files = {*programs, *linked, *_libraries(programs), *_headers(arch, source)}
    # Without "..", since a guest lacks folders that would be empty.
    return tuple(sorted({Path(os.path.normpath(path)) for path in files}))


def _program(name: str) -> Path:
    found = shutil.which(_ask("gcc", f"-print-prog-name={name}"))
    if not found:
        need_tool(name)
    return Path(found or name)


def _linked(name: str) -> Path:
    path = Path(_ask("gcc", f"-print-file-name={name}"))
    if not path.is_absolute():
        raise InfraError(f"the C compiler has no {name}", "apt-get install libc6-dev")
    return path


def _libraries(programs: Iterable[Path]) -> list[Path]:
    """Return the dynamic loader and the shared libraries of programs."""
    return [
        Path(found[1])
        for program in programs
        for line in _lines("ldd", program)
        if (found := _LIBRARY.match(line))
    ]


def _headers(arch: Arch, source: Path) -> list[Path]:
    # With -O2, as programs are built: then the C library includes more headers.
    lines = _lines(arch.compiler, "-std=gnu11", "-O2", "-M", source)
    rule = " ".join(lines).replace("\\", " ")
    _target, _source, *headers = rule.split()
    return [Path(header) for header in headers]


def _ask(*command: str | Path) -> str:
    return _lines(*command)[0]


def _lines(*command: str | Path) -> list[str]:
    need_tool(str(command[0]))
    done = call(command, Path("/"), _TIMEOUT)
    if done.status or not done.lines:
        words = " ".join(map(str, command))
        raise InfraError(f"'{words}' failed: {done.tail(1)}")
    return done.lines
