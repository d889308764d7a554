"""Runs that several tests look at, made once."""

import pytest
from lab import ARCH, CALLS, TICKLESS_CALLS, Answer, ask

from temper.catalog import feature_named
from temper.kernel import Cache
from temper.progress import Quiet
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
    folder = tmp_path_factory.mktemp("tickless")
    return ask(folder, "price", "kstack", "--calls", str(TICKLESS_CALLS))


@pytest.fixture(scope="session")
def planned() -> Planned:
    """Plan the price of the fixture ``priced`` again."""
    workshop = Workshop(ARCH, Cache(), Quiet())
    return workshop.price(feature_named("kstack"), CALLS)
