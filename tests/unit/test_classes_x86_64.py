"""The plugin's classifier, on what the assembler makes of each instruction."""

import ctypes
import subprocess
from pathlib import Path

import pytest

from temper.paths import REPOSITORY

PLUGIN = REPOSITORY / "plugin"
TIMEOUT = 60

CLASSES = {
    "rdtsc": ["rdtsc", "rdtscp"],
    "wrmsr": ["wrmsr"],
    "rdmsr": ["rdmsr"],
    "invlpg": [
        *("invlpg (%rax)", "invlpg (%rsp)", "invlpg (%rbp)", "invlpg (%r15)"),
        *("invlpg 8(%r12)", "invlpg 0x1000(%r13,%r14,8)", "invlpg (%r8,%rax)"),
        *("invlpg %gs:(%rdi)", "invlpg %gs:0x10(%r9)", "invlpg (%ecx)"),
        *("invlpg 0x1234(%rip)", "invlpg 0xffffffffff600000"),
    ],
    "invpcid": [
        *("invpcid (%rax),%rcx", "invpcid (%rsp),%r9", "invpcid (%r10),%rdx"),
        *("invpcid 0x10(%r12),%r15", "invpcid %gs:(%rax),%rbx"),
    ],
    "mov_cr3": ["mov %rax,%cr3", "mov %rdi,%cr3", "mov %r8,%cr3", "mov %r15,%cr3"],
    "stac": ["stac"],
    "clac": ["clac"],
    # All that stands next to them in the opcode map, and what looks like them.
    "other": [
        *("nop", "nopw 0x0(%rax,%rax)", "endbr64", "lfence", "ret", "mov %eax,%ecx"),
        *("mov %cr3,%rax", "mov %cr3,%r11", "mov %rax,%cr0", "mov %rax,%cr4"),
        *("mov %rax,%cr8", "mov %r9,%cr4", "mov %rax,%db3", "mov %db3,%rax"),
        *("swapgs", "monitor", "mwait", "xgetbv", "xsetbv", "vmcall", "vmmcall"),
        *("invlpga", "clgi", "stgi", "clzero", "monitorx", "mwaitx", "encls"),
        *("rdpkru", "wrpkru", "sgdt (%rax)", "sidt (%rax)", "lgdt (%rax)"),
        *("lidt (%r8)", "smsw (%rax)", "smsw %eax", "lmsw (%rax)", "lmsw %ax"),
        *("invept (%rax),%rcx", "invvpid (%rax),%rcx", "movbe (%rax),%ecx"),
        *("pshufb %xmm1,%xmm0", "rdpmc", "rdrand %rax", "rdseed %rax", "rdpid %rax"),
        *("syscall", "sysretq", "sysenter", "clts", "invd", "wbinvd", "cpuid"),
        *("sldt (%rax)", "ltr %ax", "verr %ax", "rdgsbase %rax", "wrgsbase %rax"),
        # The second bytes of others after another first one.
        *("add %esi,(%rcx)", "mov %dh,(%rax)", "cmp %dh,(%rdx)", "mov %esp,(%rdx)"),
        # The bytes of others as operands.
        *("mov $0x310f310f,%eax", "mov $0xcb010fcb010f,%rax", "push $0x300f"),
        *("lock incl (%rax)", "rep movsb", "repz cmpsb", "mov %fs:0x28,%rax"),
        # VEX: begins with what was another instruction in 32-bit code.
        *("vaddps %ymm0,%ymm1,%ymm2", "vpshufb %xmm1,%xmm0,%xmm2"),
        *("xchg %r10,%r11", "xchg %rax,%r10", "xchg %r12,%r12"),
    ],
}
MARKERS = {
    "begin": ["xchg %r10,%r10"],
    "end": ["xchg %r11,%r11"],
    "none": [
        *("xchg %r10d,%r10d", "xchg %r11d,%r11d", "xchg %r10,%r11", "xchg %r11,%r10"),
        *("xchg %r10,(%r10)", "xchg %rdx,%rdx", "xchg %r12,%r12", "mov %r10,%r10"),
        *("xchg %ax,%ax", "nop", "rdtsc", "lock xchg %r10,(%rdx)"),
    ],
}

ALL = [
    *(text for texts in CLASSES.values() for text in texts),
    *(text for texts in MARKERS.values() for text in texts),
]


def cases(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(name, text) for name, texts in table.items() for text in texts]


def call(*command: str | Path) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def encodings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Assemble all instructions: text -> its bytes."""
    folder = tmp_path_factory.mktemp("encodings")
    source, unit, code = (folder / name for name in ("all.s", "all.o", "all.bin"))
    lines = [f"at{number}: {text}\n" for number, text in enumerate(ALL)]
    source.write_text("".join([*lines, f"at{len(ALL)}:\n"]))
    call("as", "--64", "-o", unit, source)
    call("objcopy", "-O", "binary", "-j", ".text", unit, code)
    symbols = [line.split() for line in call("nm", unit).splitlines()]
    places = {name: int(value, 16) for value, _, name in symbols}
    found = code.read_bytes()
    return {
        text: found[places[f"at{number}"] : places[f"at{number + 1}"]]
        for number, text in enumerate(ALL)
    }


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    library = tmp_path_factory.mktemp("classifier") / "classes.so"
    source = PLUGIN / "classes_x86_64.c"
    call("gcc", "-std=gnu11", "-Wall", "-fPIC", "-shared", "-o", library, source)
    loaded = ctypes.CDLL(str(library))
    for function in (loaded.insn_class, loaded.insn_marker):
        function.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        function.restype = ctypes.c_uint
    return loaded


def class_names(classifier: ctypes.CDLL) -> list[str]:
    names = (ctypes.c_char_p * (len(CLASSES) + 1)).in_dll(classifier, "class_names")
    return [name.decode() if name else "" for name in names]


@pytest.mark.parametrize(("name", "text"), cases(CLASSES))
def test_class(
    name: str, text: str, encodings: dict[str, bytes], classifier: ctypes.CDLL
) -> None:
    code = encodings[text]
    found = class_names(classifier)[classifier.insn_class(code, len(code))]
    assert found == name, code.hex(" ")


@pytest.mark.parametrize(("name", "text"), cases(MARKERS))
def test_marker(
    name: str, text: str, encodings: dict[str, bytes], classifier: ctypes.CDLL
) -> None:
    code = encodings[text]
    found = ["none", "begin", "end"][classifier.insn_marker(code, len(code))]
    assert found == name, code.hex(" ")


def test_every_class_is_tried(classifier: ctypes.CDLL) -> None:
    first, *others, end = class_names(classifier)
    assert (first, end) == ("other", "")
    assert {first, *others} == set(CLASSES)


NEEDED = {"rdtsc": 2, "stac": 3, "mov %rax,%cr3": 3, "invpcid (%r10),%rdx": 5}
"""Instruction -> bytes that tell its class; what follows are operands."""


@pytest.mark.parametrize("text", NEEDED)
def test_no_byte_beyond_the_size_is_looked_at(
    text: str, encodings: dict[str, bytes], classifier: ctypes.CDLL
) -> None:
    code = encodings[text]
    assert classifier.insn_class(code, NEEDED[text]) != 0
    for size in range(NEEDED[text]):
        assert classifier.insn_class(code, size) == 0, size


def test_the_markers_are_those_of_the_target(
    tmp_path: Path, classifier: ctypes.CDLL
) -> None:
    """What target/arch/x86_64.h emits is what the plugin waits for."""
    source, unit, code = (tmp_path / name for name in ("m.c", "m.o", "m.bin"))
    functions = {"begin": 1, "end": 2}
    for name, expected in functions.items():
        source.write_text(
            f'#include "arch/x86_64.h"\nvoid mark(void) {{ marker_{name}(); }}\n'
        )
        flags = ("-O2", "-fcf-protection=none", "-c")
        call("gcc", *flags, "-I", REPOSITORY / "target", "-o", unit, source)
        call("objcopy", "-O", "binary", "-j", ".text", unit, code)
        marker = code.read_bytes()[:3]
        assert classifier.insn_marker(marker, 3) == expected, marker.hex(" ")
