"""Runs that several tests look at, made once."""

from pathlib import Path

import pytest
from lab import (
    ARCH,
    ARM64,
    ARM64_CALLS,
    CALLS,
    SYSCALLS,
    TICKLESS_CALLS,
    Answer,
    ask,
)
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

from temper.catalog import feature_named
from temper.kernel import Cache
from temper.progress import Quiet
from temper.run.plans import Planned, Workshop

TOGETHER = (
    # They look at the same runs: the fixtures below.
    {
        *("test_arm64", "test_bisect", "test_exact_counts"),
        *("test_kstack_price", "test_kstack_proof", "test_kstack_readme"),
    },
    # They have apt fetch something, which needs that nobody else updates its lists.
    {
        *("test_bases", "test_compare"),
        *("test_vgetrandom_kernels", "test_vgetrandom_vm_clone"),
    },
)
"""Modules that one worker of pytest-xdist has to have; others are anybody's, whole."""


class Modules(LoadScopeScheduling):  # type: ignore[misc] # xdist has no types
    """Gives whole modules to workers."""

    def _split_scope(self, nodeid: str) -> str:
        module = Path(nodeid.split("::", maxsplit=1)[0]).stem
        return next((min(group) for group in TOGETHER if module in group), module)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Modules:
    return Modules(config, log)


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
def planned() -> Planned:
    """Plan the boots of stock in the fixture ``priced`` again."""
    workshop = Workshop(ARCH, Cache(), Quiet())
    return workshop.price(feature_named("kstack"), CALLS, ["stock"])
