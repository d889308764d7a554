"""The stress of kpkeys: what counts as wrong in a log, and as left out."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from temper.paths import REPOSITORY
from temper.record.wire import Exit, Samples

STRESS = REPOSITORY / "features" / "kpkeys" / "stress"

WRONG = (
    "WARNING: suspicious RCU usage",
    "kpkeys: 3 page tables of early boot stay unprotected",
    "kpkeys: unused pages will not be given back",
    "kpkeys: pages of CPUs that go away will stay with them",
    "not ok 3 test_nmi",
    "    not ok 3 test_nmi",
    "stress: wrong: swap: contents: Success",
    "stress: cpu ended with 0x100",
    "stress: stuck: map: [<0>] vm_mmap_pgoff+0x70/0x1b0",
)

HARMLESS = (
    "kpkeys: page tables are protected, 83 of them from early boot",
    "Memory cgroup out of memory: Killed process 93 (stress) total-vm:5000kB",
    "stress invoked oom-killer: gfp_mask=0x140cca, order=0, oom_score_adj=1000",
    "stress: 10 s: fork 12 exec 8 map 90",
    "ok 3 test_nmi",
)


@pytest.fixture(autouse=True)
def _on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(STRESS))


def module(name: str) -> ModuleType:
    """Import a module of the stress, and make sure that it is that one."""
    found = import_module(name)
    assert Path(str(found.__file__)).parent == STRESS
    return found


def samples(counters: dict[str, int]) -> list[Samples]:
    return [
        Samples(n=n, type="samples", name=name, values=[value])
        for n, (name, value) in enumerate(counters.items())
    ]


SOUND = {
    "done/fork": 3,
    "event/pswpout": 8,
    "event/direct_map_level2_splits": 30,
    "pool/blocks_added": 2,
    "pool/blocks_returned": 1,
    "pool/blocks_failed": 4,
    "pool/alloc_failed": 0,
    "before/pages_used": 150,
    "pool/pages_used": 220,
}


@pytest.mark.parametrize("line", WRONG)
def test_a_line_that_is_wrong_is_found(line: str) -> None:
    console = f"[    1.000000] ok\r\n[   12.345678] {line}\r\n"
    assert module("findings").bad_lines(console) == [line.strip()]


@pytest.mark.parametrize("line", HARMLESS)
def test_a_line_of_an_ordinary_log_is_not(line: str) -> None:
    assert module("findings").bad_lines(f"[    1.000000] {line}\n") == []


def test_a_boot_that_did_all_without_a_complaint_is_clean() -> None:
    found = module("findings").findings(samples(SOUND), "[ 1.0] ok\n")
    assert found.clean
    assert found.counters == SOUND


@pytest.mark.parametrize(
    "name",
    ["done/fork", "event/pswpout", "pool/blocks_added", "pool/blocks_returned"],
)
def test_what_was_never_done_is_missing(name: str) -> None:
    found = module("findings").findings(samples({**SOUND, name: 0}), "")
    assert found.missing == [name]
    assert not found.clean


def test_a_failed_allocation_of_the_pool_is_wrong() -> None:
    found = module("findings").findings(samples({**SOUND, "pool/alloc_failed": 2}), "")
    assert found.bad == ("pool/alloc_failed is 2",)
    assert not found.clean


def test_keyed_pages_that_do_not_come_back_are_wrong() -> None:
    counters = {**SOUND, "pool/pages_used": 1150}
    found = module("findings").findings(samples(counters), "")
    assert found.bad == ("970 keyed pages more are in use than before",)


def test_a_program_that_failed_is_wrong() -> None:
    ended = Exit(n=9, type="exit", program="stress 60", status=1)
    found = module("findings").findings([*samples(SOUND), ended], "")
    assert found.bad == ("stress 60 ended with status 1",)


def test_a_boot_that_broke_is_wrong_whatever_else_it_said() -> None:
    found = module("findings").findings((), "BUG: bad\n", ["the kernel hung"])
    assert found.bad == ("the kernel hung", "BUG: bad")
    assert not found.clean
