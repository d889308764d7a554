"""Runs that several tests look at, made once."""

import pytest
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

from temper.catalog import feature_named
from temper.run.prepare import Prepared


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
