"""The registry of machines: the one place where a kind is named."""

import re
from pathlib import Path

import pytest

from temper.arch import ARCHES, Arch
from temper.errors import InputError
from temper.kernel import Cache
from temper.machine import DEFAULT_KIND, KINDS, kind_named
from temper.paths import REPOSITORY
from temper.progress import Quiet

ALL_ARCHES = pytest.mark.parametrize("arch", ARCHES.values(), ids=list(ARCHES))


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_makes_machines_that_bear_its_name(name: str, tmp_path: Path) -> None:
    machine = kind_named(name)(ARCHES["arm64"], Cache(tmp_path), Quiet())
    assert machine.name == name
    assert machine.boots_at_once(cpus=1, memory=0) >= 1


def test_an_unknown_kind_is_told_with_those_there_are() -> None:
    with pytest.raises(InputError, match="unknown machine 'abacus'") as caught:
        kind_named("abacus")
    assert DEFAULT_KIND in caught.value.hint


def test_no_kind_is_named_outside_its_module() -> None:
    named = re.compile("|".join(f"[\"']{name}[\"']" for name in KINDS))
    sources = REPOSITORY / "src" / "temper"
    found = {p for p in sources.rglob("*.py") if named.search(p.read_text())}
    assert found == {sources / "machine" / f"{name}.py" for name in KINDS}


KINDS_AND_ARCHES = [
    (name, arch)
    for name in KINDS
    for arch in ARCHES.values()
    if (name, arch.name) != ("overlays", "x86_64")
]


@pytest.mark.parametrize(("name", "arch"), KINDS_AND_ARCHES)
def test_our_kernels_have_what_every_kind_needs(
    name: str, arch: Arch, tmp_path: Path
) -> None:
    fragment = REPOSITORY / "kernel" / "small" / f"{arch.name}.config"
    lines = set(fragment.read_text().splitlines())
    machine = kind_named(name)(arch, Cache(tmp_path), Quiet())
    assert set(machine.needs(exact=True).config) <= lines


def test_overlays_are_arm64s(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="x86_64 has no permission overlays"):
        kind_named("overlays")(ARCHES["x86_64"], Cache(tmp_path), Quiet())


@ALL_ARCHES
def test_exact_counts_are_a_clock_of_their_own(arch: Arch, tmp_path: Path) -> None:
    machine = kind_named(DEFAULT_KIND)(arch, Cache(tmp_path), Quiet())
    exact, free = machine.clock(exact=True), machine.clock(exact=False)
    assert (exact.exact, exact.unit) == (True, "instructions")
    assert (free.exact, free.unit) == (False, arch.free_unit)
    assert machine.needs(exact=True).cmdline == f"{arch.cmdline} {arch.exact_cmdline}"
    free_cmdline = f"{arch.cmdline} {arch.free_cmdline}".rstrip()
    assert machine.needs(exact=False).cmdline == free_cmdline


def test_a_kernel_does_not_try_the_clocks_of_a_busy_host(tmp_path: Path) -> None:
    """It panics if ticks are late just then, or takes seconds for minutes.

    Exact counts know no busy host.
    """
    machine = kind_named(DEFAULT_KIND)(ARCHES["x86_64"], Cache(tmp_path), Quiet())
    for word in ("no_timer_check", "clocksource=hpet"):
        assert word in machine.needs(exact=False).cmdline.split()
        assert word not in machine.needs(exact=True).cmdline.split()
