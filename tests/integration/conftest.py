"""Runs that several tests look at, made once; and which kernels may be built."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kernel_list import Kernels
from lab import (
    ARM64,
    ARM64_CALLS,
    CALLS,
    SYSCALLS,
    TICKLESS_CALLS,
    Answer,
    ask,
    planner,
    prepared,
)
from packages import Started

from temper.catalog import feature_named
from temper.kernel import Cache
from temper.kernel.cache import Entry, Make
from temper.progress import Progress
from temper.run.prepare import Prepared

# What these look at is only known when all the others have run.
OF_KERNELS = "test_every_listed_kernel_was_asked_for"
OF_PROGRAMS = "test_setup_installs_the_programs_that_tests_start"


# First: before the tests are left out that were not chosen.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Put them at the end, and the first away where only some of the tests run."""
    last = [item for item in items if item.name in (OF_KERNELS, OF_PROGRAMS)]
    items[:] = [item for item in items if item not in last]
    modules = {item.path for item in (*items, *last)}
    chosen = config.getoption("keyword")
    if chosen or not modules >= set(Path(__file__).parent.glob("test_*.py")):
        config.hook.pytest_deselected(items=[i for i in last if i.name == OF_KERNELS])
        last = [item for item in last if item.name == OF_PROGRAMS]
    items += last


@pytest.fixture(scope="session", autouse=True)
def commands() -> Started:
    """Note the commands that tests run."""
    found = Started()
    sys.addaudithook(found.audit)
    return found


@pytest.fixture(scope="session", autouse=True)
def kernels() -> Iterator[Kernels]:
    """Have no kernel but those on the list, in whatever cache it is built."""
    found = Kernels()
    find = Cache.entry

    def entry(
        cache: Cache, kind: str, key: str, title: str, make: Make, progress: Progress
    ) -> Entry:
        if kind == "kernels":
            found.ask(key, title, cache.root)
        return find(cache, kind, key, title, make, progress)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cache, "entry", entry)
        yield found


@pytest.fixture(scope="session")
def proved(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return ask(tmp_path_factory.mktemp("prove"), "prove", "kstack", "--sabotage")


@pytest.fixture(scope="session")
def proved_arm64(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return ask(tmp_path_factory.mktemp("prove"), "prove", "kstack", *ARM64)


@pytest.fixture(scope="session")
def priced(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    folder = tmp_path_factory.mktemp("price")
    return ask(folder, "price", "kstack", "--calls", str(CALLS))


@pytest.fixture(scope="session")
def priced_arm64(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    folder = tmp_path_factory.mktemp("price")
    return ask(folder, "price", "kstack", *ARM64, "--calls", str(ARM64_CALLS))


@pytest.fixture(params=["proved", "proved_arm64"], ids=["x86_64", "arm64"])
def proved_anywhere(request: pytest.FixtureRequest) -> Answer:
    answer: Answer = request.getfixturevalue(request.param)
    return answer


@pytest.fixture(params=["priced", "priced_arm64"], ids=["x86_64", "arm64"])
def priced_anywhere(request: pytest.FixtureRequest) -> Answer:
    answer: Answer = request.getfixturevalue(request.param)
    return answer


@pytest.fixture(scope="session")
def tickless(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    command = ("price", "kstack", "--variants", "stock,temper", "--calls")
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
