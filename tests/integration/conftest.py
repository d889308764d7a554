"""Runs that several tests look at, made once."""

import pytest
from lab import ARCH, CALLS, SYSCALLS, TICKLESS_CALLS, Answer, ask

from temper.catalog import feature_named
from temper.kernel import Cache
from temper.progress import Quiet
from temper.report.boots import results_by_variant
from temper.run.plans import Planned, Workshop


@pytest.fixture(scope="session")
def proved(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return ask(tmp_path_factory.mktemp("prove"), "prove", "kstack", "--sabotage")


@pytest.fixture(scope="session")
def priced(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    folder = tmp_path_factory.mktemp("price")
    return ask(folder, "price", "kstack", "--calls", str(CALLS))


@pytest.fixture(scope="session")
def tickless(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    for calls in TICKLESS_CALLS:
        folder = tmp_path_factory.mktemp("tickless")
        answer = ask(folder, "price", "kstack", "--calls", str(calls))
        if not interrupts(answer):
            return answer
    raise AssertionError("a tick fell into each of them")


def interrupts(answer: Answer) -> int:
    """Return how many fell into the system calls of all boots."""
    return sum(
        boot.workloads[workload].interrupts
        for boots in results_by_variant(answer.run).values()
        for boot in boots
        for workload in SYSCALLS
    )


@pytest.fixture(scope="session")
def planned() -> Planned:
    """Plan the price of the fixture ``priced`` again."""
    workshop = Workshop(ARCH, Cache(), Quiet())
    return workshop.price(feature_named("kstack"), CALLS)
