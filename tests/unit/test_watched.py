"""What is known of a kernel whose register is watched: its writes, its functions."""

import gzip
import json
import re
import struct
import subprocess
from pathlib import Path

import pytest

from temper.arch import arch_named
from temper.errors import InputError
from temper.kernel import Kernel, Watched, watched
from temper.kernel.symbols import Symbols
from temper.progress import Quiet
from temper.record.plan import Register

REGISTER = Register(title="tables", msr=0x6E1, opens=0x40000000, closes=0x28)
TEXT = 0xFFFFFFFF81000000
ENDS = "ret; int3"
OPENS = "mov $0x40000000, %eax; xor %edx, %edx; wrmsr"
CLOSES = "mov $0x28, %eax; xor %edx, %edx; wrmsr"

# Function -> its code, and what its writes do, as far as that can be told.
TOLD: dict[str, tuple[str, list[str]]] = {
    "plain": (f"mov $0x6e1, %ecx; {OPENS}", ["opens"]),
    "other_register": ("mov $0x48, %ecx; wrmsr", ["other"]),
    "reused": (
        f"mov $0x6e1, %ecx; {OPENS}; mov $0x28, %eax; wrmsr",
        ["opens", "closes"],
    ),
    "copied": (f"mov $0x6e1, %r8d; mov %r8, %rdi; mov %edi, %ecx; {OPENS}", ["opens"]),
    "stored_between": (
        "mov $0x6e1, %ecx; movb $1, 7(%rax); movq $0, %gs:8(%rcx); mov %rsi, (%rcx);"
        f"cmp %ecx, %edi; push %rcx; {OPENS}",
        ["opens"],
    ),
    "hoisted": (
        "push %rbx; mov $0x6e1, %r13d; mov $0x28, %ebx;"
        f"1: call plain; mov %r13d, %ecx; {OPENS};"
        "mov %r13d, %ecx; mov %ebx, %eax; xor %edx, %edx; wrmsr;"
        "dec %rdi; jne 1b; pop %rbx",
        ["opens", "closes"],
    ),
    "two_ways_agree": (
        "test %edi, %edi; je 1f; mov $0x6e1, %ecx; jmp 2f;"
        f"1: mov $0x6e1, %ecx; 2: {CLOSES}",
        ["closes"],
    ),
    "two_ways_differ": (
        "test %edi, %edi; je 1f; mov $0x6e1, %ecx; jmp 2f;"
        f"1: mov $0x48, %ecx; 2: {CLOSES}",
        [],
    ),
    "argument": (f"mov %edi, %ecx; {OPENS}", []),
    "value_is_argument": (
        "mov $0x6e1, %ecx; mov %edi, %eax; xor %edx, %edx; wrmsr",
        [],
    ),
    "high_half": ("mov $0x6e1, %ecx; mov $0x28, %eax; mov $1, %edx; wrmsr", []),
    "high_half_is_argument": ("mov $0x6e1, %ecx; mov $0x28, %eax; wrmsr", []),
    "another_value": (
        "mov $0x6e1, %ecx; xor %eax, %eax; xor %edx, %edx; wrmsr",
        [],
    ),
    "over_a_call": (f"mov $0x6e1, %ecx; call plain; {OPENS}", []),
    "patched_jump": (
        "mov $0x6e1, %ecx; 8: nopl 0(%rax, %rax); jmp 1f; 9: mov $0x48, %ecx;"
        f"1: {OPENS}",
        [],
    ),
    "patched_jump_agrees": (
        f"mov $0x6e1, %ecx; 6: nopl 0(%rax, %rax); {ENDS}; 7: {OPENS}",
        ["opens"],
    ),
    "alternative": (
        f"mov $0x6e1, %ecx; 4: movq $0, (%rdi); {ENDS}; 5: {OPENS}",
        ["opens"],
    ),
    "nobody_comes": (f"mov $0x6e1, %ecx; {ENDS}; {OPENS}", []),
    "after_a_fault": (
        f"mov $0x6e1, %ecx; 2: mov (%rdi), %rsi; nop; 3: {OPENS}",
        [],
    ),
    "expected_to_fault": (
        f"mov $0x6e1, %ecx; {OPENS}; 10: mov $0x28, %eax; wrmsr",
        ["opens", "closes"],
    ),
}
# Each sets ECX, EAX or EDX, or part of it, to what is not known.
SPOILERS = """
cpuid; rdmsr; rdtsc; mul %rdi; div %rdi; cqto; pop %rcx; inc %ecx; mov $1, %cl; xgetbv
mov $1, %ah; xchg %eax, %ebx; xchg %ebx, %ecx; lock xadd %edx, (%rdi); rep stosb; lodsb
cmpxchg %esi, (%rdi); rep movsb; movzbl (%rdi), %edx; lea (%rdi), %rcx; add $1, %eax
cmove %edi, %ecx; sete %al; shl $2, %edx; mov (%rdi), %ecx; mov %gs:8, %rax; neg %edx
movslq %edi, %rcx; in (%dx), %al; xor %esi, %ecx; call *%rdi; mulx %rdi, %rcx, %rsi
"""
NO_SPOILERS = """
nop; push %rax; mov %eax, (%rdi); mov %rcx, %rsi; test %eax, %ecx; lock incl (%rcx)
add %eax, %esi; lea (%rax, %rcx), %rdi; cmpl $1, (%rax); stac; mov $1, %esi
movb $1, %gs:7(%rip); xchg %ebx, (%rax)
"""
ALL_SET = "mov $0x6e1, %ecx; mov $0x28, %eax; xor %edx, %edx"


def after_all_set(texts: str, *found: str) -> dict[str, tuple[str, list[str]]]:
    """Return functions that have each instruction right before a write."""
    return {
        re.sub(r"\W+", "_", f"after_{text}"): (f"{ALL_SET}; {text}; wrmsr", [*found])
        for text in texts.strip().replace("\n", "; ").split("; ")
    }


TOLD |= after_all_set(SPOILERS) | after_all_set(NO_SPOILERS, "closes")
FUNCTIONS = {name: text for name, (text, _) in TOLD.items()}

TABLES = """
.section .rodata, "a"
__start___jump_table:
    .long 8b - ., 9b - .
    .quad 0
    .long 6b - ., 7b - .
    .quad 0
__stop___jump_table:
__start___ex_table:
    .long 2b - ., 3b - ., 0
    .long 10b - 2 - ., 10b - ., 0
__stop___ex_table:
__alt_instructions:
    .long 4b - ., 11f - .
    .word 0, 0
    .byte 7, 5
__alt_instructions_end:
.section .altinstr_replacement, "ax"
11: jmp.d32 5b
"""


def _call(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def kernel(folder: Path, functions: dict[str, str]) -> Kernel:
    """Build what looks like a kernel, and is one as far as its code goes."""
    code = "".join(
        f".globl {name}\n{name}: {text}; {ENDS}\n" for name, text in functions.items()
    )
    (folder / "k.s").write_text(f".text\n_text:\n{code}_etext:\n{TABLES}")
    _call("as", "-o", "k.o", "k.s", cwd=folder)
    _call("ld", f"-Ttext={TEXT:#x}", "-e", "0", "-o", "vmlinux", "k.o", cwd=folder)
    (folder / "System.map").write_text(_call("nm", "-n", "vmlinux", cwd=folder))
    payload = gzip.compress((folder / "vmlinux").read_bytes()) + bytes(4)
    head = bytearray(2 * 512)
    head[0x1F1] = 1
    head[0x202:0x206] = b"HdrS"
    head[0x248:0x250] = struct.pack("<II", 16, len(payload))
    (folder / "bzImage").write_bytes(bytes(head) + bytes(16) + payload)
    return Kernel(
        key="",
        arch=arch_named("x86_64"),
        folder=folder,
        image=folder / "bzImage",
        config=folder / "config",
        config_hash="",
        release="",
        compiler="",
        skipped=(),
        built=False,
        seconds=0.0,
    )


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    return watched(kernel(tmp_path_factory.mktemp("k"), FUNCTIONS), REGISTER, Quiet())


@pytest.mark.parametrize("function", TOLD)
def test_what_writes_do(known: Watched, function: str) -> None:
    found = [
        word
        for address, word in sorted(known.writes.items())
        if known.symbols.function(address) == function
    ]
    assert found == TOLD[function][1]


def test_the_plugin_gets_a_line_for_each_write(known: Watched) -> None:
    lines = [line.split() for line in known.as_lines().splitlines()]
    assert {int(at, 16): word for at, word in lines} == known.writes
    assert {word for _, word in lines} == {"opens", "closes", "other"}


def test_where_values_are_told_the_code_does_not_have_to(tmp_path: Path) -> None:
    """On arm64, whose image nobody disassembles: here it is not even there."""
    register = Register(
        title="tables", counted_as="kernel_msr_por", opens=0x77777557, closes=0x77777117
    )
    built = kernel(tmp_path, FUNCTIONS)
    built.image.unlink()
    found = watched(built, register, Quiet())
    assert found.by_value
    assert found.as_lines() == "77777557 opens\n77777117 closes\n"
    assert found.symbols.address("plain") == TEXT


def test_tables_of_jumps_are_refused(tmp_path: Path) -> None:
    """Their targets are data, so ways to a write would be missed."""
    table = FUNCTIONS | {"switch": "jmp *__alt_instructions(,%rax,8)"}
    with pytest.raises(InputError, match="the kernel has tables of jumps"):
        watched(kernel(tmp_path, table), REGISTER, Quiet())


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (
            lambda data: b"\x7fELF" + data[4:0x202] + b"none" + data[0x206:],
            "no bzImage",
        ),
        (
            lambda data: data[:1040] + b"\xfd7zXZ" + data[1045:],
            "not compressed by gzip",
        ),
    ],
)
def test_another_image_is_refused(tmp_path: Path, spoil: object, why: str) -> None:
    built = kernel(tmp_path, FUNCTIONS)
    assert callable(spoil)
    built.image.write_bytes(spoil(built.image.read_bytes()))
    with pytest.raises(InputError, match=why):
        watched(built, REGISTER, Quiet())


def test_a_kernel_without_a_symbol_is_refused(tmp_path: Path) -> None:
    built = kernel(tmp_path, FUNCTIONS)
    (tmp_path / "System.map").write_text("ffffffff81000000 T _text\n")
    with pytest.raises(InputError, match="the kernel has no symbol __start___ex_table"):
        watched(built, REGISTER, Quiet())


def places(known: Watched, found: dict[int, int]) -> dict[str, int]:
    line = json.dumps({"type": "exposure", "places": [*map(list, found.items())]})
    (named,) = known.named(f"{line}\n").splitlines()
    functions: dict[str, int] = json.loads(named)["functions"]
    return functions


def test_addresses_become_functions(known: Watched) -> None:
    plain = known.symbols.address("plain")
    other = known.symbols.address("other_register")
    counts = {plain: 3, other - 1: 4, other: 5, 0: 6, 0xFFFFFFFFC0000010: 7, 0x8000: 8}
    # Modules of arm64 are before the kernel.
    counts[plain - 4] = 9
    assert places(known, counts) == {
        "plain": 7,
        "other_register": 5,
        "(user mode)": 6,
        "(a module)": 16,
        "(0x8000)": 8,
    }


def test_static_functions_of_one_name_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "System.map"
    rows = ("1000 t same", "2000 T mine", "3000 t same", "3000 t twin", "4000 D data")
    path.write_text("".join(f"{row}\n" for row in rows))
    symbols = Symbols.of(path)
    found = [symbols.function(at) for at in (0x1FFF, 0x2000, 0x3000, 0x4001)]
    assert found == ["same", "mine", "same", "same"]


def test_what_is_no_record_stays_as_it_is(known: Watched) -> None:
    for line in ("not JSON", "[1]", '{"type":"exposure"}', '{"places":[[1]]}'):
        assert known.named(line) == f"{line}\n"
