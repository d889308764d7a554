import platform
from pathlib import Path

import pytest

from temper.machine.host import host_title

UNAME = platform.uname_result("Linux", "lab", "6.1.0", "#1 SMP", "x86_64")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "proc").mkdir()
    monkeypatch.setattr(platform, "uname", lambda: UNAME)
    return tmp_path


def test_a_host_is_named_with_its_cpu_and_kernel(root: Path) -> None:
    info = "processor\t: 0\nmodel name\t: A CPU @ 2.40GHz\n\nmodel name\t: Other\n"
    (root / "proc/cpuinfo").write_text(info)
    assert host_title(root) == "lab (A CPU @ 2.40GHz, x86_64, Linux 6.1.0)"


@pytest.mark.parametrize("info", [None, "", "CPU implementer\t: 0x41\n"])
def test_a_cpu_without_a_name_is_left_out(root: Path, info: str | None) -> None:
    if info is not None:
        (root / "proc/cpuinfo").write_text(info)
    assert host_title(root) == "lab (x86_64, Linux 6.1.0)"
