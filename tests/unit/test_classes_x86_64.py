"""The plugin's classifier for x86-64, on what the assembler makes of instructions."""

from pathlib import Path

import pytest
from classifier import Classifier, assemble, cases, target_marker

from temper.arch import arch_named

ARCH = arch_named("x86_64")

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
    "rep_string": [
        *("rep movsb", "rep movsw", "rep movsl", "rep movsq", "rep stosb", "rep stosq"),
        *("rep lodsb", "rep lodsq", "repz cmpsb", "repnz cmpsq", "repnz scasb"),
        *("repz scasl", "rep insb", "rep insl", "rep outsb", "rep outsw"),
        *("rep movsb %gs:(%rsi),%es:(%rdi)", "rep stosb %al,%es:(%edi)"),
    ],
    "verw": [
        *("verw %ax", "verw %r9w", "verw (%rsp)", "verw 0x10(%r12)"),
        *("verw 0x1234(%rip)", "verw %gs:(%rdi)", "verw %cs:0x1234(%rip)"),
    ],
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
        *("sldt (%rax)", "ltr %ax", "verr %ax", "verr (%rsp)", "lldt %ax"),
        *("rdgsbase %rax", "wrgsbase %rax"),
        # The second bytes of others after another first one.
        *("add %esi,(%rcx)", "mov %dh,(%rax)", "cmp %dh,(%rdx)", "mov %esp,(%rdx)"),
        # The bytes of others as operands.
        *("mov $0x310f310f,%eax", "mov $0xcb010fcb010f,%rax", "push $0x300f"),
        *("lock incl (%rax)", "mov %fs:0x28,%rax"),
        # Strings that are not repeated, and what is not a string after the same prefix.
        *("movsb", "stosq", "lodsb", "scasb", "cmpsl", "insb", "outsb", "rep ret"),
        *("pause", "popcnt %rax,%rcx", "tzcnt %rax,%rcx", "movss %xmm0,%xmm1"),
        *("addsd %xmm0,%xmm1", "test $0xa4,%al", "push %rsi", "mov $0xaa,%al"),
        # VEX: begins with what was another instruction in 32-bit code.
        *("vaddps %ymm0,%ymm1,%ymm2", "vpshufb %xmm1,%xmm0,%xmm2"),
        *("xchg %r10,%r11", "xchg %rax,%r10", "xchg %r12,%r12"),
    ],
}
MARKERS = {
    "begin": ["xchg %r10,%r10"],
    "pause": ["xchg %r12,%r12"],
    "end": ["xchg %r11,%r11"],
    "none": [
        *("xchg %r10d,%r10d", "xchg %r11d,%r11d", "xchg %r10,%r11", "xchg %r11,%r10"),
        *("xchg %r10,(%r10)", "xchg %rdx,%rdx", "xchg %r13,%r13", "mov %r10,%r10"),
        *("xchg %ax,%ax", "nop", "rdtsc", "lock xchg %r10,(%rdx)"),
    ],
}

ALL = [
    *(text for texts in CLASSES.values() for text in texts),
    *(text for texts in MARKERS.values() for text in texts),
]


@pytest.fixture(scope="module")
def encodings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return assemble(ARCH, tmp_path_factory.mktemp("encodings"), ALL)


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Classifier:
    return Classifier(ARCH, tmp_path_factory.mktemp("classifier"))


@pytest.mark.parametrize(("name", "text"), cases(CLASSES))
def test_class(
    name: str, text: str, encodings: dict[str, bytes], classifier: Classifier
) -> None:
    assert classifier.class_of(encodings[text]) == name, encodings[text].hex(" ")


@pytest.mark.parametrize(("name", "text"), cases(MARKERS))
def test_marker(
    name: str, text: str, encodings: dict[str, bytes], classifier: Classifier
) -> None:
    assert classifier.marker_of(encodings[text]) == name, encodings[text].hex(" ")


def test_every_class_is_tried(classifier: Classifier) -> None:
    first, *others, end = classifier.names(len(CLASSES) + 1)
    assert (first, end) == ("other", "")
    assert {first, *others} == set(CLASSES)


NEEDED = {
    "rdtsc": 2,
    "stac": 3,
    "mov %rax,%cr3": 3,
    "invpcid (%r10),%rdx": 5,
    "rep movsq": 3,
    "verw (%rsp)": 3,
}
"""Instruction -> bytes that tell its class; what follows are operands."""


@pytest.mark.parametrize("text", NEEDED)
def test_no_byte_beyond_the_size_is_looked_at(
    text: str, encodings: dict[str, bytes], classifier: Classifier
) -> None:
    code = encodings[text]
    assert classifier.class_of(code, NEEDED[text]) != "other"
    for size in range(NEEDED[text]):
        assert classifier.class_of(code, size) == "other", size


@pytest.mark.parametrize("name", ["begin", "pause", "end"])
def test_the_markers_are_those_of_the_target(
    name: str, tmp_path: Path, classifier: Classifier
) -> None:
    """What target/arch/x86_64.h emits is what the plugin waits for."""
    marker = target_marker(ARCH, tmp_path, name)[:3]
    assert classifier.marker_of(marker) == name, marker.hex(" ")
