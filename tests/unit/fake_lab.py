"""The command line, with a made-up machine and kernels that take no time to build."""

from pathlib import Path

import pytest
from fake_machine import FakeMachine
from kernels import fake_source
from typer.testing import CliRunner, Result

from made_up import kernel_facts
from temper.cli import app
from temper.machine import DEFAULT_KIND, KINDS
from temper.record.plan import RunPlan
from temper.run.prepare import Prepared, Setup


class FakeLab:
    """Runs commands that would build and boot; counts what they build."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.machine = FakeMachine()
        self.built = 0
        """How many times kernels were built."""
        self._root = root
        self._source = fake_source(root / "linux")
        monkeypatch.setenv("TEMPER_DATA", str(root))
        monkeypatch.setenv("XDG_CACHE_HOME", str(root))
        monkeypatch.delenv("TEMPER_STORE", raising=False)
        monkeypatch.setitem(KINDS, DEFAULT_KIND, lambda *_: self.machine)
        monkeypatch.setattr("temper.cli.lab.prepare", self._prepare)

    def temper(self, *words: str) -> Result:
        """Run a command that takes a source."""
        source = ("--source", str(self._source))
        return CliRunner().invoke(app, [*words, *source], catch_exceptions=False)

    def _prepare(self, plan: RunPlan, *_: object) -> Prepared:
        assert self.machine.prepared, "no kernel is worth building without a machine"
        self.built += 1
        setup = Setup(self._root / "bzImage", kernel_facts(), ())
        return Prepared(plan, dict.fromkeys(plan.variants, setup))
