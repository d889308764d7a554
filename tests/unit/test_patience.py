"""How long the machine of a plan waits for a word of a guest."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from made_up import run_plan
from temper.kernel import Cache
from temper.machine import Limits
from temper.progress import Quiet
from temper.record.plan import Kind
from temper.run import machines


@pytest.fixture
def patience(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Kind], Limits]:
    """Give what the machine of a plan of some kind is limited to."""
    monkeypatch.setattr(machines, "kind_named", lambda _name: lambda *given: given[-1])

    def of(kind: Kind) -> Limits:
        plan = run_plan().model_copy(update={"kind": kind})
        limits: Any = machines.machine_for(plan, Cache(tmp_path), Quiet())
        assert isinstance(limits, Limits)
        return limits

    return of


def test_proofs_may_say_nothing_for_as_long_as_a_busy_host_makes_them(
    patience: Callable[[Kind], Limits],
) -> None:
    assert patience(Kind.PROVE).silence >= 600
    assert patience(Kind.PROVE).total >= 3600


def test_mutants_hang_for_a_shorter_time(patience: Callable[[Kind], Limits]) -> None:
    """Many do, and what seems to hang boots again."""
    assert 120 <= patience(Kind.MUTATE).silence <= 300
    assert patience(Kind.MUTATE).total == patience(Kind.PROVE).total


def test_what_attacks_options_ends_kernels_and_is_given_up_sooner(
    patience: Callable[[Kind], Limits],
) -> None:
    assert patience(Kind.AUDIT).silence < patience(Kind.PRICE).silence
