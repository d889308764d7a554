"""QEMU's CPU models: which there are, and what it cannot emulate of one."""

import difflib
import json
import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from temper.arch import Arch
from temper.errors import InputError
from temper.machine.qemu.launch import idle_words
from temper.process import call

_QUICK = 60.0

_FIRST_CPU = "/machine/unattached/device[0]"
_LACKS = re.compile(r"warning: TCG doesn't support requested feature: .*[])X]\.(\S+)")


@dataclass(frozen=True)
class Cpu:
    """What QEMU says of a CPU model."""

    error: str
    """Why it cannot emulate it; empty: it can."""
    is_64_bit: bool | None
    """None: it does not say."""
    lacks: tuple[str, ...]
    """Features of the model that it does not emulate."""


def check_cpu(arch: Arch, model: str) -> None:
    """Raise InputError if QEMU cannot emulate ``model``, or not for 64-bit kernels.

    Raises InfraError without QEMU.
    """
    name, known = model.partition(",")[0], cpu_names(arch.qemu)
    if name not in known:
        raise InputError(
            f"QEMU has no CPU model '{name}' for {arch.name}", _hint(arch, name, known)
        )
    found = probe_cpu(arch, model)
    if found.error:
        raise InputError(
            f"QEMU cannot emulate the CPU model '{model}': {found.error}",
            f"'{arch.qemu} -cpu help' lists models and features",
        )
    # Only some versions of QEMU say it of all models.
    said = found.is_64_bit
    if said is False or (said is None and probe_cpu(arch, arch.cpu).is_64_bit):
        raise InputError(
            f"the CPU model '{model}' cannot run a 64-bit kernel",
            f"the default is {arch.cpu.partition(',')[0]}",
        )


@cache
def cpu_names(qemu: str) -> frozenset[str]:
    """Return the names of the CPU models of the program ``qemu``."""
    lines = call([qemu, "-cpu", "help"], Path("/"), _QUICK).lines
    start = lines.index("Available CPUs:") + 1 if "Available CPUs:" in lines else 0
    names = []
    for line in lines[start:]:
        if not line.strip():
            break
        # QEMU's x86 programs put x86 before each name.
        names.append(line.removeprefix("x86 ").split()[0])
    return frozenset(names)


@cache
def probe_cpu(arch: Arch, model: str) -> Cpu:
    """Start QEMU with the CPU model, ask it, and end it; it runs nothing."""
    asked = (
        {"execute": "qmp_capabilities"},
        {
            "execute": "qom-get",
            "arguments": {"path": _FIRST_CPU, "property": arch.cpu_64_bit},
        },
        {"execute": "quit"},
    )
    with tempfile.TemporaryFile() as questions:
        questions.write("".join(f"{json.dumps(each)}\n" for each in asked).encode())
        questions.seek(0)
        done = call(idle_words(arch, model), Path("/"), _QUICK, stdin=questions)
    lacks = [found[1] for line in done.lines if (found := _LACKS.search(line))]
    error = done.tail(1).removeprefix(f"{arch.qemu}: ") if done.status else ""
    return Cpu(error, _answer(done.lines), tuple(dict.fromkeys(lacks)))


def _answer(lines: Iterable[str]) -> bool | None:
    """Return the only answer that is true or false; None if there is none."""
    for line in lines:
        if line.startswith("{"):
            answer = json.loads(line).get("return")
            if isinstance(answer, bool):
                return answer
    return None


def _hint(arch: Arch, name: str, known: Iterable[str]) -> str:
    by_lower = {each.lower(): each for each in sorted(known)}
    near = difflib.get_close_matches(name.lower(), by_lower, n=3)
    if not near:
        return f"'{arch.qemu} -cpu help' lists them"
    return f"did you mean {' or '.join(by_lower[each] for each in near)}?"
