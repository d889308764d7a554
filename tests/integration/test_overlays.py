"""The QEMU of our own does what the architecture says, and the check would notice."""

import subprocess
from pathlib import Path

import pytest

from temper.debian.root import unpack
from temper.errors import BootError, InfraError
from temper.kernel import Cache
from temper.machine.qemu.overlays import check_overlays
from temper.machine.qemu.own import build, configure, own_qemu, patched_source
from temper.process import call
from temper.progress import Quiet

HERE = Path(__file__).parent
GUEST = (
    *("-M", "virt", "-cpu", "max,pauth-impdef=on", "-m", "512M", "-nodefaults"),
    *("-no-reboot", "-display", "none", "-serial", "stdio"),
    *("-append", "console=ttyAMA0 rdinit=/init panic=-1 quiet"),
)
COMPILE = ("aarch64-linux-gnu-gcc", "-std=gnu11", "-Wall", "-Wextra", "-O1", "-static")
READ, WRITE, PKUERR = 1, 4, 4

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(3 * 3600),
]

WALK, REGISTERS = "target/arm/ptw.c", "target/arm/helper.c"
FLUSH = "        tlb_flush_by_mmuidx(env_cpu(env), mask);\n"
MUTANTS = {
    "an overlay allows more": (WALK, "[0b0010] = PAGE_EXEC", "[0b0010] = PAGE_RWX"),
    "a reserved overlay allows": (
        WALK,
        "[0b0001] = PAGE_READ",
        "[0b1001] = PAGE_READ, [0b0001] = PAGE_READ",
    ),
    "no overlay is applied": (WALK, "        result->f.prot &= overlay;\n", ""),
    "the index begins a bit below": (
        WALK,
        "extract64(attrs, 60, 3)",
        "extract64(attrs, 59, 3)",
    ),
    "the index has two bits": (
        WALK,
        "extract64(attrs, 60, 3)",
        "extract64(attrs, 60, 2)",
    ),
    "EL0 has the register of EL1": (WALK, "[is_user ? 0 : el]", "[el]"),
    "EL0's bit enables EL1's": (
        WALK,
        "(is_user ? TCR2_E0POE : TCR2_POE)",
        "(TCR2_E0POE | TCR2_POE)",
    ),
    "the syndrome never has it": (WALK, "!(overlay & (1 << access_type))", "false"),
    "the syndrome always has it": (WALK, "!(overlay & (1 << access_type))", "true"),
    "a write counts at once": (WALK, "cp15.por_in_effect[is", "cp15.por_el[is"),
    "a change leaves the TLB": (REGISTERS, FLUSH, ""),
    "a change leaves the TLB of PAN": (
        REGISTERS,
        "mask |= ARMMMUIdxBit_E10_1 | ARMMMUIdxBit_E10_1_PAN;",
        "mask |= ARMMMUIdxBit_E10_1;",
    ),
    "enabling leaves the TLB": (
        REGISTERS,
        "    tlb_flush_by_mmuidx(env_cpu(env), el10_tlbmask);\n    raw_write",
        "    raw_write",
    ),
    "an exception does not synchronize": (
        REGISTERS,
        "    }\n    arm_sync_overlays(env);\n",
        "    }\n",
    ),
    "a return does not synchronize": (
        "target/arm/tcg/helper-a64.c",
        "    arm_clear_exclusive(env);\n#ifndef CONFIG_USER_ONLY\n"
        "    arm_sync_overlays(env);\n",
        "    arm_clear_exclusive(env);\n#ifndef CONFIG_USER_ONLY\n",
    ),
    "an ISB does not synchronize": (
        "target/arm/tcg/translate-a64.c",
        "        gen_helper_sync_overlays(tcg_env);\n",
        "",
    ),
}


def test_each_access_does_what_the_architecture_says() -> None:
    found = check_overlays(own_qemu(Cache(), Quiet()).program)
    assert found.shown == ()
    assert (found.tries > 10_000, found.differences) == (True, 0)


def test_linux_finds_them_and_says_who_denied(
    package_arm64: Path, tmp_path: Path
) -> None:
    """Debian's kernel, which knows nothing of us, has protection keys there."""
    unpack(package_arm64, tmp_path)
    (image,) = (tmp_path / "boot").glob("vmlinuz-*")
    call((*COMPILE, str(HERE / "overlays_init.c"), "-o", "init"), tmp_path, 60)
    initramfs = tmp_path / "initramfs"
    words = ["cpio", "--create", "--format=newc", "--quiet", f"--file={initramfs}"]
    subprocess.run(words, input=b"init\n", cwd=tmp_path, check=True)
    qemu = own_qemu(Cache(), Quiet()).program
    files = ("-kernel", str(image), "-initrd", str(initramfs))
    said = call((str(qemu), *GUEST, *files), tmp_path, 300).lines
    assert [line for line in said if line.startswith(("overlay", "pkeys"))] == [
        f"overlay {overlay}: read {0 if overlay & READ else PKUERR}, "
        f"write {0 if overlay & WRITE else PKUERR}"
        for overlay in range(8)
    ]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = patched_source(Cache(), tmp_path_factory.mktemp("qemu"), Quiet())
    configure(folder, Quiet())
    return folder


@pytest.mark.parametrize("name", MUTANTS)
def test_the_check_notices_a_qemu_that_does_not(name: str, tree: Path) -> None:
    path, old, new = MUTANTS[name]
    file = tree / path
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))
    try:
        qemu = build(tree, Quiet())
        assert is_noticed(qemu)
    finally:
        file.write_text(text)


def is_noticed(qemu: Path) -> bool:
    """Return whether the check finds a difference, or does not end."""
    try:
        return check_overlays(qemu).differences > 0
    except (BootError, InfraError):
        return True
