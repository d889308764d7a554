"""What each instruction of an x86-64 kernel that writes an MSR writes, and to which.

Compilers load constants long before they use them, into another register, and before a
loop. So each register is followed back along all ways that lead to the instruction.
Where one way cannot be followed, or two say different things, nothing is known.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from temper.kernel.disassembly import Code

_MASK = 0xFFFF_FFFF


@dataclass(frozen=True)
class MsrWrite:
    """One WRMSR."""

    msr: int | None
    """The register's number; None: it cannot be told."""
    value: int | None
    """The 64 bits it writes; None: they cannot be told."""


def msr_writes(code: Code) -> dict[int, MsrWrite]:
    """Return address -> what the WRMSR there writes."""
    return {
        code.addresses[at]: _write(code, at)
        for at, text in enumerate(code.texts)
        if text == "wrmsr"
    }


def _write(code: Code, at: int) -> MsrWrite:
    low, high = _constant(code, at, "ax"), _constant(code, at, "dx")
    told = low is not None and high is not None
    return MsrWrite(
        msr=_constant(code, at, "cx"),
        value=(high or 0) << 32 | (low or 0) if told else None,
    )


def _constant(code: Code, at: int, register: str) -> int | None:
    """Return the low 32 bits of a register before position ``at``, if they are known.

    They are if all that may have set it set the same.
    """
    found: set[int] = set()
    work = [(at, register)]
    seen = set(work)
    while work:
        at, register = work.pop()
        before = code.before(at)
        if not before:
            return None
        for earlier in before:
            match _effect(code.texts[earlier], register):
                case int(value):
                    found.add(value & _MASK)
                case str(other):
                    if (earlier, other) not in seen:
                        seen.add((earlier, other))
                        work.append((earlier, other))
                case None:
                    return None
    return found.pop() if len(found) == 1 else None


def _effect(text: str, register: str) -> int | str | None:
    """Return what a register holds after an instruction.

    That is a number, or what another register, or the same, held before; or None if
    it cannot be told.
    """
    words = text.split(None, 1)
    while words and words[0] in _PREFIXES:
        words = words[1].split(None, 1) if len(words) > 1 else []
    if not words:
        return None
    name, operands = words[0], list(_operands(words[1] if len(words) > 1 else ""))
    if name.startswith("call"):
        return register if register in _KEPT_BY_CALLS else None
    if _READS_ONLY.fullmatch(name):
        return register
    if _IMPLICIT.match(name) and register in _WRITTEN_IMPLICITLY:
        return None
    written = operands if _WRITES_ALL.match(name) else operands[-1:]
    if register not in map(_register, written):
        return register
    return _moved(name, operands)


def _moved(name: str, operands: list[str]) -> int | str | None:
    """Return what an instruction puts into its last operand, a register."""
    if len(operands) != 2 or not _WHOLE.fullmatch(operands[1]):
        return None
    source, target = operands
    if name.startswith("xor") and source == target:
        return 0
    if name not in ("mov", "movl", "movq", "movabs"):
        return None
    if source.startswith("$"):
        return int(source[1:], 0)
    return _register(source) if _WHOLE.fullmatch(source) else None


def _operands(text: str) -> Iterator[str]:
    for operand in _OPERAND.findall(text):
        yield operand.strip()


def _register(operand: str) -> str | None:
    """Return the register that an operand is all or part of, by its 16-bit name."""
    if not (named := _REGISTER.fullmatch(operand)):
        return None
    name = named[1]
    if name.startswith("r") and name[1].isdigit():
        return name.rstrip("dwb")
    stem = name.removeprefix("r").removeprefix("e")
    return stem if stem.endswith(("x", "p", "i")) else _stem_of_byte(stem)


def _stem_of_byte(name: str) -> str:
    """Return ``ax`` for ``al`` and ``ah``, ``si`` for ``sil``."""
    return name[:-1] if name in ("sil", "dil", "spl", "bpl") else f"{name[0]}x"


_OPERAND = re.compile(r"(?:[^,(]|\([^)]*\))+")
_REGISTER = re.compile(
    r"%(r?[a-d]x|e?[a-d]x|[a-d][lh]|[re]?[sd]il?|[re]?[sb]pl?|r\d+[dwb]?)"
)
_WHOLE = re.compile(r"%(?:[re][a-d]x|[re][sd]i|[re][sb]p|r\d+d?)")

_PREFIXES = frozenset(
    (
        "lock",
        "rep",
        "repz",
        "repnz",
        "bnd",
        "data16",
        "cs",
        "ds",
        "es",
        "fs",
        "gs",
        "ss",
    )
)
_KEPT_BY_CALLS = frozenset(("bx", "bp", "r12", "r13", "r14", "r15"))
_READS_ONLY = re.compile(
    r"j\w+|nop\w*|push\w*|cmp[bwlq]?|test[bwlq]?|bt[wlq]?|wrmsr|endbr64"
    r"|[lms]fence|pause|sti|cli|stac|clac|invlpg|prefetch\w*|cld"
)
_WRITES_ALL = re.compile(r"xchg|xadd|mulx|cmpxchg")
# Registers that an instruction writes without naming them.
_IMPLICIT = re.compile(
    r"i?mul|i?div|c[bwlq]t[wldqo]|rdtscp?|rdmsr|rdpmc|rdpkru|xgetbv|cpuid|cmpxchg"
    r"|movs[bwlq]$|stos|lods|scas|cmps[bwlq]|ins[bwl]|outs[bwl]|in[bwl]?$|loop|leave"
    r"|enter|sys|lahf|xlat|v[mp]|int|encl|pconfig|tdcall|seamcall|rsm|mwait|hlt"
)
_WRITTEN_IMPLICITLY = frozenset(("ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "r11"))
