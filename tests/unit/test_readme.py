"""The README says of kstack what kstack's own README says, which is measured."""

import re

import pytest

from temper.paths import FEATURES, REPOSITORY

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
MEASURED = (FEATURES / "kstack" / "README.md").read_text(encoding="utf-8")


def measured(arch: str, name: str) -> dict[str, str]:
    """Return variant -> price of a small system call, in kstack's own table."""
    table = re.search(rf"<!-- prices {arch} -->\n(.*?)<!--", MEASURED, re.DOTALL)
    assert table
    rows = [[cell.strip() for cell in row.split("|")] for row in table[1].splitlines()]
    (row,) = (row for row in rows if row[1:3] == ["syscall/getppid", name])
    return dict(zip(rows[0], row, strict=True))


@pytest.mark.parametrize(("arch", "title"), [("x86_64", "x86-64"), ("arm64", "arm64")])
def test_the_table_of_kstack(arch: str, title: str) -> None:
    (row,) = re.findall(rf"^\| {title} \| (\+.*)$", README, re.MULTILINE)
    stock, lfsr, ours, _ = row.split(" | ")
    price, tail = measured(arch, "p50"), measured(arch, "p99")
    assert lfsr == price["lfsr"]
    assert ours.startswith(f"**{price['temper']}** ")
    assert stock.startswith(f"{price['stock']}, ")
    assert tail["stock"] in stock


def test_the_sentence_about_the_demo() -> None:
    price = measured("x86_64", "p50")
    said = (
        f"{price['temper']} instructions per system call instead of {price['stock']}."
    )
    assert said in " ".join(README.split())
