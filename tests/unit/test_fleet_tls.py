"""Only who has the key talks to a scheduler and its workers."""

from collections.abc import Iterator
from pathlib import Path

import dask
import pytest
from distributed.security import Security
from fake_fleet import FleetBench, cluster

from temper.errors import InfraError
from temper.process import call

ROLES = ("client", "scheduler", "worker")


def new_key(folder: Path) -> dict[str, str]:
    """Make a key as docs/fleets.md does; return Dask's settings for it."""
    folder.mkdir()
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = (
        *("openssl", "req", "-x509", "-newkey", "rsa:3072", "-nodes", "-days", "365"),
        *("-subj", "/CN=temper", "-keyout", str(key), "-out", str(cert)),
    )
    done = call(command, folder, 60)
    assert not done.status, done.tail(5)
    tls = {"distributed.comm.tls.ca-file": str(cert)}
    for role in ROLES:
        tls[f"distributed.comm.tls.{role}.cert"] = str(cert)
        tls[f"distributed.comm.tls.{role}.key"] = str(key)
    return tls


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return new_key(tmp_path_factory.mktemp("keys") / "ours")


@pytest.fixture(scope="module")
def scheduler(key: dict[str, str]) -> Iterator[str]:
    with dask.config.set({**key, "distributed.comm.require-encryption": True}):
        security = Security()
    with cluster(protocol="tls://", security=security) as started:
        yield started.scheduler_address


@pytest.fixture
def bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheduler: str
) -> FleetBench:
    monkeypatch.setattr("temper.run.clusters._PATIENCE", 3)
    return FleetBench.of(tmp_path, monkeypatch, scheduler)


def test_with_the_key_boots_are_made(bench: FleetBench, key: dict[str, str]) -> None:
    assert bench.place.startswith("tls://127.0.0.1:")
    with dask.config.set(key):
        assert bench.run().finished


def test_with_another_key_nobody_answers(bench: FleetBench, tmp_path: Path) -> None:
    with (
        dask.config.set(new_key(tmp_path / "other")),
        pytest.raises(InfraError, match="no scheduler answers at tls://"),
    ):
        bench.run()


@pytest.mark.parametrize("protocol", ["tcp", "tls"])
def test_without_a_key_nobody_answers(bench: FleetBench, protocol: str) -> None:
    bench.place = bench.place.replace("tls", protocol)
    with pytest.raises(InfraError, match=f"no scheduler answers at {protocol}://"):
        bench.run()
