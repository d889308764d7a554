"""The QEMU that we build: what is said if it cannot be configured."""

from pathlib import Path

import pytest

from temper.errors import BuildError
from temper.machine.qemu.own import configure
from temper.progress import Quiet


def test_what_may_be_missing_is_named(tmp_path: Path) -> None:
    script = tmp_path / "configure"
    script.write_text("#!/bin/sh\necho 'Dependency glib-2.0 not found'\nexit 1\n")
    script.chmod(0o755)
    with pytest.raises(BuildError, match=r"glib-2\.0 not found") as caught:
        configure(tmp_path, Quiet())
    assert "apt-get install libglib2.0-dev libfdt-dev" in caught.value.hint
