"""How long a guest may keep us waiting, and what is told meanwhile."""

from types import SimpleNamespace

import pytest

from temper.machine import Watcher
from temper.machine.watcher import Wait


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(now=100.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr("temper.machine.watcher.time", clock)
    return clock


def test_a_wait_is_told_twice_a_minute(clock: SimpleNamespace) -> None:
    told: list[str] = []
    wait = Wait(Watcher(on_wait=told.append), limit=120)
    for _ in range(119):
        clock.now += 1
        assert not wait.is_over("no output")
    assert told == [f"no output for {n} s, limit 120 s" for n in (30, 60, 90)]
    clock.now += 2
    assert wait.is_over("no output")


def test_a_wait_begins_anew(clock: SimpleNamespace) -> None:
    told: list[str] = []
    wait = Wait(Watcher(on_wait=told.append), limit=50)
    for _ in range(4):
        clock.now += 40
        assert not wait.is_over("no output")
        wait.restart()
    assert told == ["no output for 40 s, limit 50 s"] * 4
