"""Runs that several tests look at, made once; and which kernels may be built.

Tests run in several processes. Those of a module, or of the modules that share runs,
stay together. What each process used, it notes down for tests/afterwards.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from debian_kernel import debian_package
from kernel_list import Kernels
from lab import (
    ARM64,
    ARM64_CALLS,
    ATTACKED,
    CALLS,
    ONE_LAYOUT,
    PRICED,
    SYSCALLS,
    TICKLESS_CALLS,
    Answer,
    ask,
    planner,
    prepared,
)
from notes import clear_notes, note
from packages import Started
from xdist.scheduler.loadscope import (  # type: ignore[import-untyped]
    LoadScopeScheduling,
)

from temper.arch import arch_named
from temper.catalog import feature_named
from temper.debian import apt_for
from temper.kernel import Cache
from temper.kernel.cache import Entry, Kind, Make
from temper.progress import Progress
from temper.run.prepare import Prepared

# Modules that look at the same runs of kstack, by the fixtures below.
OF_KSTACK = (
    "test_arm64",
    "test_exact_counts",
    "test_kstack_price",
    "test_kstack_proof",
    "test_kstack_readme",
)

# Modules that update or use apt's lists, which only one may do at a time.
OF_APT = (
    "test_audited_kernels",
    "test_audited_mutants",
    "test_bases",
    "test_compare",
    "test_reliability",
    "test_vgetrandom_debian",
    "test_vgetrandom_embedding",
    "test_vgetrandom_kernels",
    "test_vgetrandom_vm_clone",
)


def pytest_configure(config: pytest.Config) -> None:
    """Forget what was noted before, where the processes are started."""
    if not hasattr(config, "workerinput"):
        clear_notes(config)


# What --dist loadgroup is for, but with pytest 9.2 it does not see the groups.
class ByRuns(LoadScopeScheduling):  # type: ignore[misc]
    """Gives the tests of a module, or of modules that share runs, to one process."""

    def _split_scope(self, nodeid: str) -> str:
        module = Path(nodeid.partition("::")[0]).stem
        if module in OF_KSTACK:
            return "kstack"
        return "apt" if module in OF_APT else module


def pytest_xdist_make_scheduler(
    config: pytest.Config,
    log: Any,  # noqa: ANN401 (xdist's own)
) -> ByRuns:
    """Have it."""
    return ByRuns(config, log)


@pytest.fixture(scope="session", autouse=True)
def commands(pytestconfig: pytest.Config, worker_id: str) -> Iterator[Started]:
    """Note the commands that tests run."""
    found = Started()
    sys.addaudithook(found.audit)
    yield found
    note(pytestconfig, f"programs-{worker_id}", map(str, found.programs))


@pytest.fixture(scope="session", autouse=True)
def kernels(pytestconfig: pytest.Config, worker_id: str) -> Iterator[Kernels]:
    """Have no kernel but those on the list, in whatever cache it is built."""
    found = Kernels(all_of_it=not pytestconfig.getoption("markexpr"))
    find = Cache.entry

    def entry(
        cache: Cache, kind: Kind, key: str, title: str, make: Make, progress: Progress
    ) -> Entry:
        if kind == "kernels":
            found.ask(key, title, cache.root)
        return find(cache, kind, key, title, make, progress)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cache, "entry", entry)
        yield found
    note(pytestconfig, f"kernels-{worker_id}", map(str, found.asked.values()))


@pytest.fixture(scope="session")
def package() -> Path:
    """Debian's package of its newest kernel for the cloud."""
    return debian_package("6.12")


@pytest.fixture(scope="session")
def package_arm64(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same for arm64."""
    name = package.name.split("_")[0].replace("amd64", "arm64")
    apt = apt_for(arch_named("arm64"), Cache())
    (archive,) = apt.fetch(apt.only([name]), tmp_path_factory.mktemp("arm64"))
    return archive


@pytest.fixture(scope="session")
def proved(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """Prove kstack by the variants for which make check has the time."""
    words = ("--variants", ",".join(ATTACKED))
    return ask(tmp_path_factory.mktemp("prove"), "prove", "kstack", *words)


@pytest.fixture(scope="session")
def all_proved(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return ask(tmp_path_factory.mktemp("prove"), "prove", "kstack", "--sabotage")


@pytest.fixture(scope="session")
def all_proved_arm64(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    words = ("--sabotage", *ARM64)
    return ask(tmp_path_factory.mktemp("prove"), "prove", "kstack", *words)


OF_X86_64 = ("price", "kstack", "--calls", str(CALLS), *ONE_LAYOUT)
OF_ARM64 = ("price", "kstack", *ARM64, "--calls", str(ARM64_CALLS), *ONE_LAYOUT)
A_FEW = ("--variants", ",".join(PRICED))


@pytest.fixture(scope="session")
def priced(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return ask(tmp_path_factory.mktemp("price"), *OF_X86_64, *A_FEW)


@pytest.fixture(scope="session")
def all_priced(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return ask(tmp_path_factory.mktemp("price"), *OF_X86_64)


@pytest.fixture(scope="session")
def all_priced_arm64(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return ask(tmp_path_factory.mktemp("price"), *OF_ARM64)


@pytest.fixture(
    params=[
        "proved",
        pytest.param("all_proved", marks=pytest.mark.check_all),
        pytest.param("all_proved_arm64", marks=pytest.mark.check_all),
    ],
    ids=["some of x86_64", "x86_64", "arm64"],
)
def proved_anywhere(request: pytest.FixtureRequest) -> Answer:
    answer: Answer = request.getfixturevalue(request.param)
    return answer


@pytest.fixture(params=["all_proved", "all_proved_arm64"], ids=["x86_64", "arm64"])
def all_proved_anywhere(request: pytest.FixtureRequest) -> Answer:
    answer: Answer = request.getfixturevalue(request.param)
    return answer


@pytest.fixture(
    params=[
        "priced",
        pytest.param("all_priced", marks=pytest.mark.check_all),
        pytest.param("all_priced_arm64", marks=pytest.mark.check_all),
    ],
    ids=["some of x86_64", "x86_64", "arm64"],
)
def priced_anywhere(request: pytest.FixtureRequest) -> Answer:
    answer: Answer = request.getfixturevalue(request.param)
    return answer


@pytest.fixture(params=["all_priced", "all_priced_arm64"], ids=["x86_64", "arm64"])
def all_priced_anywhere(request: pytest.FixtureRequest) -> Answer:
    answer: Answer = request.getfixturevalue(request.param)
    return answer


@pytest.fixture(scope="session")
def tickless(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    command = ("price", "kstack", *ONE_LAYOUT, "--variants", "stock,temper", "--calls")
    for calls in TICKLESS_CALLS:
        answer = ask(tmp_path_factory.mktemp("tickless"), *command, str(calls))
        if not interrupts(answer):
            return answer
    raise AssertionError("a tick fell into each of them")


def interrupts(answer: Answer) -> int:
    """Return how many fell into the system calls of all boots."""
    return sum(
        boot.workloads[workload].interrupts
        for boot in answer.boots()
        for workload in SYSCALLS
    )


@pytest.fixture(scope="session")
def stock() -> Prepared:
    """Prepare the boots of stock in the fixture ``priced`` again."""
    return prepared(planner().price(feature_named("kstack"), CALLS, ["stock"]))
