"""What of a kernel takes memory, on an ELF file made for the purpose."""

import subprocess
from pathlib import Path

import pytest

from temper.kernel.footprint import by_use
from temper.kernel.payload import Elf

FREED = range(0x50_0000, 0x60_0000)
SOURCE = """
    .text
    .fill 100, 1, 0x90
    .fill 28, 1, 0xcc
    .data
    .fill 16, 1, 1
    .section .rodata, "a"
    .fill 7, 1, 0xcc
    .bss
    .skip 64
    .section .data..percpu, "aw"
    .fill 32, 1, 0
    .section .init.text, "ax"
    .fill 8, 1, 0x90
    .section .debug_info, ""
    .fill 1000, 1, 0
"""


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Elf:
    folder: Path = tmp_path_factory.mktemp("elf")
    places = ("-Ttext=0x400000", f"--section-start=.init.text={FREED.start:#x}")
    subprocess.run(
        ["as", "--64", "-o", folder / "made.o"],
        input=SOURCE,
        text=True,
        check=True,
        timeout=60,
    )
    subprocess.run(
        [
            "ld",
            "-e",
            "0",
            "--unique=.data..percpu",
            *places,
            "-o",
            folder / "made",
            folder / "made.o",
        ],
        check=True,
        timeout=60,
    )
    return Elf((folder / "made").read_bytes())


def test_every_byte_counts_once_by_its_use(elf: Elf) -> None:
    assert by_use(elf, FREED) == {
        "code": 100,
        "data": 16 + 7,
        "data per CPU": 32,
        "freed after the start": 8,
    }


def test_nothing_is_freed_if_nothing_lies_there(elf: Elf) -> None:
    assert by_use(elf, range(0))["code"] == 100 + 8
