"""Two copies of one running machine must not draw the same random numbers.

Both are made from what QEMU saved of it, and resumed with a vmgenid each. An interrupt
tells the kernel; until that is handled, the system call gives both the same, too. So
what can be promised is: not longer than the system call, and never again afterwards.

The machines' clock counts instructions, and the host gives them the same entropy: they
differ in their vmgenid and in nothing else.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from debian_kernel import debian_kernel
from lab import ARCH, init_program
from vgetrandom import static_programs
from vm_clone import Vm, loaded, started

from temper.machine import BootRequest
from temper.record.wire import Samples
from temper.run.initramfs import pack

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

FRESH = ("system call", "pass-through", "bulk")
PATHS = (*FRESH, "batch")
BATCH = 3072 // 8
"""Numbers in a buffer."""

SEEN = "reseeded due to virtual machine fork"
OLD, NEW_A, NEW_B = (
    ("-device", f"vmgenid,guid=00000000-0000-0000-0000-00000000000{number}")
    for number in range(3)
)
NO_DEVICE: tuple[str, ...] = ()

# How a program draws on the only CPU: so that the kernel's worker gets its turn, or not
# before GREEDY_ROUNDS.
NORMAL, GREEDY, WAITED = b"n", b"g", b"w"
GREEDY_ROUNDS = 300


@dataclass(frozen=True)
class Draws:
    """What a clone drew, round by round, since its machine was saved."""

    seen: int
    """The first round that began after the kernel had said that it was cloned."""
    nanoseconds: list[int]
    paths: dict[str, list[int]]

    @classmethod
    def of(cls, vm: Vm) -> "Draws":
        lists = {
            record.name: record.values
            for record in vm.records()
            if isinstance(record, Samples)
        }
        (seen,) = lists.pop("seen in round")
        return cls(seen, lists.pop("nanoseconds"), lists)


@dataclass(frozen=True)
class Clones:
    """Two machines that were one."""

    a: Draws
    b: Draws

    def repeated(self, path: str) -> int:
        """Count the numbers that both drew."""
        return len({*self.a.paths[path]} & {*self.b.paths[path]})


class Stable:
    """Keeps a machine that waits to draw, and what was saved of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lives = 0
        built = static_programs(ARCH, ("guest-programs",))
        job = ["channel /dev/ttyS1", "run clone_draws"]
        self._request = BootRequest(
            image=debian_kernel("6.12"),
            initramfs=pack(
                job, [init_program(), built["clone_draws"]], self._new_folder()
            ),
            cmdline="",
            cpu="",
            exact=True,
            cpus=1,
        )

    def boot(self, device: tuple[str, ...]) -> Path:
        """Return a machine saved while its program waits for a byte."""
        work = self._new_folder()
        with started(self._request, work, *device) as vm:
            vm.wait_for_byte()
            vm.ask("stop")
            return vm.save(work / "saved")

    def run(self, waiting: Path, how: bytes, device: tuple[str, ...]) -> Path:
        """Return it saved in mid-run."""
        work = self._new_folder()
        with loaded(self._request, waiting, work, *device) as vm:
            vm.send(how)
            vm.resume()
            vm.event("GUEST_PANICKED")
            return vm.save(work / "saved")

    def clones(self, saved: Path, *devices: tuple[str, ...]) -> Clones:
        """Resume a machine saved in mid-run, with each of two devices."""
        return Clones(*(self._resumed(saved, device) for device in devices))

    def _resumed(self, saved: Path, device: tuple[str, ...]) -> Draws:
        with loaded(self._request, saved, self._new_folder(), *device) as vm:
            vm.resume()
            return Draws.of(vm)

    def waiting_clones(self, saved: Path, *devices: tuple[str, ...]) -> Clones:
        """Resume one that waits; let it draw when its kernel has said that it knows."""
        return Clones(*(self._let_draw(saved, device) for device in devices))

    def _let_draw(self, saved: Path, device: tuple[str, ...]) -> Draws:
        with loaded(self._request, saved, self._new_folder(), *device) as vm:
            vm.resume()
            if device != OLD:
                vm.said(SEEN)
            vm.send(WAITED)
            return Draws.of(vm)

    def _new_folder(self) -> Path:
        self._lives += 1
        folder = self._folder / str(self._lives)
        folder.mkdir()
        return folder


@pytest.fixture(scope="module")
def stable() -> Iterator[Stable]:
    with tempfile.TemporaryDirectory() as folder:
        yield Stable(Path(folder))


@pytest.fixture(scope="module")
def waiting(stable: Stable) -> Path:
    return stable.boot(OLD)


@pytest.fixture(scope="module", params=[NORMAL, GREEDY], ids=["normal", "greedy"])
def how(request: pytest.FixtureRequest) -> bytes:
    found: bytes = request.param
    return found


@pytest.fixture(scope="module")
def running(how: bytes, stable: Stable, waiting: Path) -> Path:
    return stable.run(waiting, how, OLD)


@pytest.fixture(scope="module")
def cloned(stable: Stable, running: Path) -> Clones:
    return stable.clones(running, NEW_A, NEW_B)


def test_nothing_repeats_once_the_kernel_knows(cloned: Clones) -> None:
    for one, other in ((cloned.a, cloned.b), (cloned.b, cloned.a)):
        for path in FRESH:
            afterwards = one.paths[path][one.seen :]
            assert afterwards, "the kernel was not told in time"
            assert {*afterwards}.isdisjoint(other.paths[path]), path


def test_no_path_repeats_longer_than_the_system_call(
    how: bytes, cloned: Clones
) -> None:
    """A round starts with the system call."""
    repeated = {path: cloned.repeated(path) for path in PATHS}
    times = cloned.a.nanoseconds
    print(f"known after {times[cloned.a.seen] - times[0]} instructions; {repeated}")
    assert repeated["system call"] >= (GREEDY_ROUNDS if how == GREEDY else 0)
    assert repeated["system call"] >= repeated["pass-through"]
    assert repeated["system call"] >= repeated["bulk"]


def test_a_batch_repeats_one_buffer_at_most(cloned: Clones) -> None:
    """It may be filled once more while the kernel does not know yet."""
    drawn_unknowing = cloned.repeated("system call")
    assert 0 < cloned.repeated("batch") <= drawn_unknowing + BATCH


def test_who_waits_until_the_kernel_knows_repeats_nothing(
    stable: Stable, waiting: Path
) -> None:
    clones = stable.waiting_clones(waiting, NEW_A, NEW_B)
    assert clones.a.seen == clones.b.seen == 0
    assert [clones.repeated(path) for path in FRESH] == [0, 0, 0]


def test_with_the_same_vmgenid_all_repeats(stable: Stable, running: Path) -> None:
    """What the other tests find is not the work of chance."""
    clones = stable.clones(running, OLD, OLD)
    assert clones.a.paths == clones.b.paths


def test_waiting_with_the_same_vmgenid_does_not_help(
    stable: Stable, waiting: Path
) -> None:
    clones = stable.waiting_clones(waiting, OLD, OLD)
    assert all(clones.repeated(path) for path in PATHS)


def test_without_a_vmgenid_all_repeats(stable: Stable) -> None:
    running = stable.run(stable.boot(NO_DEVICE), NORMAL, NO_DEVICE)
    clones = stable.clones(running, NO_DEVICE, NO_DEVICE)
    assert clones.a.paths == clones.b.paths
