"""Two copies of one running machine must not go on with the same keys.

Their clock counts instructions, and the host gives them the same random numbers: they
differ in their vmgenid and in nothing else; or in the random numbers and nothing else.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from lab import guest_program, planner, prepared, samples_of
from vm_clone import Vm, loaded, started

from temper.catalog import feature_named
from temper.machine import BootRequest
from temper.paths import REPOSITORY
from temper.run.initramfs import pack

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(1800),
]

KSTACK = feature_named("kstack")
GUEST = REPOSITORY / "libvgetrandom" / "tests" / "guest"
READINGS = 40_000
"""For longer than several keys serve."""
OLD, NEW_A, NEW_B = (
    ("-device", f"vmgenid,guid=00000000-0000-0000-0000-00000000000{number}")
    for number in range(3)
)


@dataclass(frozen=True)
class Copy:
    """What a copy read, since it was resumed."""

    keys: list[int]
    told: int
    """The first reading after its kernel said that it is a copy; -1: it never did."""

    @classmethod
    def of(cls, vm: Vm) -> "Copy":
        lists = samples_of(vm.records())
        return cls(lists["key"], *lists["told"])


class Machine:
    """Can be saved while a program waits to read its keys, and copied."""

    def __init__(self, folder: Path, cmdline: str) -> None:
        self._folder = folder
        self._lives = 0
        whole = prepared(planner().prove(KSTACK, ["none"], ["leak"]))
        setup = whole.setups["none"]
        job = [
            *("channel /dev/ttyS1", "module kstack_probe"),
            f"run copied_keys {READINGS}",
        ]
        program = guest_program("copied_keys", KSTACK.folder / "proof", GUEST)
        files = [*setup.files, program]
        self._request = BootRequest(
            image=setup.image,
            initramfs=pack(job, files, self._new_folder()),
            cmdline=cmdline,
            cpu="",
            exact=True,
            cpus=1,
        )

    def save(self) -> Path:
        work = self._new_folder()
        with started(self._request, work, *OLD) as vm:
            vm.wait_for_byte()
            vm.ask("stop")
            return vm.save(work / "saved")

    def copy(self, saved: Path, device: tuple[str, ...], seed: int = 1) -> Copy:
        """Return what a copy reads to which the host gives random numbers by a seed."""
        request = replace(self._request, seed=seed)
        with loaded(request, saved, self._new_folder(), *device) as vm:
            vm.send(b"n")
            vm.resume()
            return Copy.of(vm)

    def _new_folder(self) -> Path:
        self._lives += 1
        folder = self._folder / str(self._lives)
        folder.mkdir()
        return folder


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def copies(folder: Path, sabotage: str, *devices: tuple[str, ...]) -> tuple[Copy, Copy]:
    """Return two copies of a machine whose kernel is sabotaged so."""
    machine = Machine(folder, f"{KSTACK.sabotage.cmdline} kstack_sabotage={sabotage}")
    saved = machine.save()
    one, other = (machine.copy(saved, device) for device in devices)
    return one, other


def test_a_copy_has_keys_of_its_own_as_soon_as_it_is_told(folder: Path) -> None:
    one, other = copies(folder, "none", NEW_A, NEW_B)
    assert 0 <= one.told < READINGS / 2
    assert 0 <= other.told < READINGS / 2
    assert {*one.keys[one.told :]}.isdisjoint(other.keys)
    assert {*other.keys[other.told :]}.isdisjoint(one.keys)


def test_that_is_the_series_doing(folder: Path) -> None:
    """Without its notice, the key of both is the same until the next is due."""
    one, other = copies(folder, "stale-copy", NEW_A, NEW_B)
    assert one.told >= 0
    assert one.keys[one.told] == other.keys[other.told]
    assert one.keys[-1] != other.keys[-1]


def test_with_the_same_vmgenid_all_repeats(folder: Path) -> None:
    """What the other tests find is not the work of chance."""
    one, other = copies(folder, "none", OLD, OLD)
    assert one.told == other.told == -1
    assert one.keys == other.keys
    assert len({*one.keys}) > 1


@pytest.mark.parametrize(
    ("sabotage", "shared"),
    [("none", False), ("chain-key", True), ("batch-key", True), ("jiffies-key", True)],
)
def test_without_the_hosts_random_numbers_nothing_tells_a_later_key(
    folder: Path, sabotage: str, shared: bool
) -> None:
    """Both copies have all memory and the time; only RDRAND differs."""
    machine = Machine(folder, f"{KSTACK.sabotage.cmdline} kstack_sabotage={sabotage}")
    saved = machine.save()
    one, other = (machine.copy(saved, OLD, seed).keys for seed in (1, 2))
    assert min(len({*one}), len({*other})) > 3
    # That of the saved machine is the same.
    common = ({*one} & {*other}) - {one[0]}
    assert bool(common) is shared
