"""Where commands have their boots made: --on."""

import sys
from inspect import signature
from pathlib import Path

import pytest
from fake_lab import FakeLab
from typer.main import get_command

from temper.cli import app
from temper.cli.options import OnPlace, ShardOf
from temper.errors import InfraError, InputError

STRESS = ("stress", "kpkeys", "--seconds", "1")


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeLab:
    return FakeLab(tmp_path, monkeypatch)


def test_whatever_can_be_parted_can_be_made_elsewhere() -> None:
    commands = [
        signature(command.callback).parameters
        for group in app.registered_groups
        for command in (group.typer_instance or app).registered_commands
        # Mutants' kernels are built in one tree, when their boots are due.
        if command.callback and command.callback.__name__ != "mutate"
    ]
    parted = [p for p in commands if "shard" in p]
    assert len(parted) == len([p for p in commands if "on" in p]) == 8
    for parameters in parted:
        assert parameters["on"].annotation == OnPlace
        assert parameters["shard"].annotation == ShardOf
    assert get_command(app)


@pytest.mark.parametrize(
    "place", ["here", "tcp://", "tcp://lab", "http://lab:80", "locally", "tcp:/lab:1"]
)
def test_what_is_no_place_is_told_before_anything_is_built(
    lab: FakeLab, place: str
) -> None:
    with pytest.raises(InputError, match="is no place for workers"):
        lab.temper(*STRESS, "--on", place)
    assert lab.built == 0


def test_a_plan_asks_no_workers(lab: FakeLab) -> None:
    answer = lab.temper(*STRESS, "--on", "tcp://127.0.0.1:9", "--plan")
    assert answer.exit_code == 0


def test_without_dask_the_way_out_is_told(
    lab: FakeLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [n for n in sys.modules if n.startswith("temper.run.")]:
        if name.rpartition(".")[2] in {"fleet", "clusters"}:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InfraError) as caught:
        lab.temper(*STRESS, "--on", "local")
    assert caught.value.message.startswith("--on needs Dask")
    assert caught.value.hint == "pip install 'temper[fleet]'"
    assert lab.built == 0


def test_a_run_here_needs_no_dask(
    lab: FakeLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    lab.temper(*STRESS)
    assert lab.built == 1
