"""The commands of kpkeys beside ``temper``: what they say when they cannot go on."""

import subprocess
import sys
from pathlib import Path

import pytest

from temper.errors import InfraError
from temper.paths import REPOSITORY

COMMANDS = ["events"]


@pytest.mark.parametrize("name", COMMANDS)
def test_without_qemu_there_is_a_message_and_no_kernel(
    name: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, REPOSITORY / "features" / "kpkeys" / name],
        env={"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == InfraError.exit_code
    assert done.stderr.startswith("temper: the program 'qemu-system-x86_64' is")
    assert "apt-get install" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("temper/kernels/*"))
