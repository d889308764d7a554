"""The plugin's classifiers, and what the assembler makes of instructions for them."""

import ctypes
import subprocess
from pathlib import Path

from temper.arch import Arch
from temper.kernel.compiler import cross_prefix
from temper.paths import REPOSITORY

MARKERS = ["none", "begin", "pause", "end"]
_TIMEOUT = 60


class Classifier:
    """plugin/classes_<arch>.c, compiled for this host."""

    def __init__(self, arch: Arch, folder: Path) -> None:
        library = folder / "classes.so"
        source = REPOSITORY / "plugin" / f"classes_{arch.name}.c"
        _call("gcc", "-std=gnu11", "-Wall", "-fPIC", "-shared", "-o", library, source)
        self._library = ctypes.CDLL(str(library))
        for function in (self._library.insn_class, self._library.insn_marker):
            function.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
            function.restype = ctypes.c_uint

    def names(self, count: int) -> list[str]:
        """Return the first ``count`` names; empty stands for the end of the list."""
        array = (ctypes.c_char_p * count).in_dll(self._library, "class_names")
        return [name.decode() if name else "" for name in array]

    def class_of(self, code: bytes, size: int | None = None) -> str:
        """Return the class of ``code``, told that it has ``size`` bytes."""
        size = len(code) if size is None else size
        number: int = self._library.insn_class(code, size)
        return self.names(number + 1)[number]

    def marker_of(self, code: bytes) -> str:
        number: int = self._library.insn_marker(code, len(code))
        return MARKERS[number]


def cases(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(name, text) for name, texts in table.items() for text in texts]


def assemble(
    arch: Arch, folder: Path, texts: list[str], head: str = ""
) -> dict[str, bytes]:
    """Assemble instructions, after the line ``head``: text -> its bytes."""
    source, unit = folder / "all.s", folder / "all.o"
    lines = [f"at{number}: {text}\n" for number, text in enumerate(texts)]
    source.write_text("".join([f"{head}\n", *lines, f"at{len(texts)}:\n"]))
    prefix = cross_prefix(arch)
    _call(f"{prefix}as", "-o", unit, source)
    symbols = [line.split() for line in _call(f"{prefix}nm", unit).splitlines()]
    places = {name: int(value, 16) for value, _, name in symbols}
    code = _text_of(arch, unit)
    return {
        text: code[places[f"at{number}"] : places[f"at{number + 1}"]]
        for number, text in enumerate(texts)
    }


def target_marker(arch: Arch, folder: Path, name: str) -> bytes:
    """Return the code of the target's function ``marker_<name>`` and what follows."""
    source, unit = folder / "m.c", folder / "m.o"
    source.write_text(f'#include "arch/arch.h"\nvoid mark(void) {{ marker_{name}(); }}')
    flags = ("-O2", "-fcf-protection=none") if arch.name == "x86_64" else ("-O2",)
    include = ("-I", REPOSITORY / "target")
    _call(arch.compiler, *flags, "-c", *include, "-o", unit, source)
    return _text_of(arch, unit)


def _text_of(arch: Arch, unit: Path) -> bytes:
    code = unit.with_suffix(".bin")
    objcopy = f"{cross_prefix(arch)}objcopy"
    _call(objcopy, "-O", "binary", "-j", ".text", unit, code)
    return code.read_bytes()


def _call(*command: str | Path) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_TIMEOUT, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
