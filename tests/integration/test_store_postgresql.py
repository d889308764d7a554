"""The store on a real PostgreSQL server, which the test starts for itself."""

import os
import pwd
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from store_behaviours import PATIENCE, StoreBehaviours, fill, make_plan
from temper.errors import StoreError
from temper.record.boot import StoredBoot
from temper.store import Store

pytestmark = pytest.mark.integration


def as_server_user() -> list[str]:
    """Return what to put before a command: PostgreSQL refuses to run as root.

    The server also ends when the test does, however that comes about.
    """
    command = ["setpriv", "--pdeathsig", "QUIT"]
    if os.geteuid() == 0:
        command += ["--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
    return [*command, "--"]


def newest_binaries() -> Path:
    """Return the folder of initdb and postgres; fail where there is none."""
    found = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = max(found, key=lambda path: int(path.parts[-3]), default=None)
    if newest is None:
        pytest.fail("no PostgreSQL server here; cure: sudo apt install postgresql")
    return newest.parent


class Server:
    """A PostgreSQL server of our own, reached by a socket in ``folder`` only."""

    def __init__(self, folder: Path, binaries: Path) -> None:
        self.folder = folder
        self._binaries = binaries
        self._cluster = folder / "cluster"
        options = [
            "--no-locale",
            "--encoding=UTF8",
            "--auth=trust",
            "--username=temper",
        ]
        subprocess.run(
            [
                *as_server_user(),
                self._binaries / "initdb",
                *options,
                "--no-sync",
                self._cluster,
            ],
            check=True,
            timeout=PATIENCE,
            capture_output=True,
            cwd=folder,
        )
        self.start()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *as_server_user(),
                    self._binaries / "postgres",
                    *("-D", self._cluster, "-k", self.folder, "-F"),
                    *("-c", "listen_addresses="),
                ],
                stderr=log,
                cwd=self.folder,
            )
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                pytest.fail((self.folder / "log").read_text())
            time.sleep(0.1)

    def _answers(self) -> bool:
        command: list[str | Path] = [self._binaries / "pg_isready"]
        command += ["-q", "-h", self.folder]
        return subprocess.run(command, check=False, timeout=PATIENCE).returncode == 0

    def stop(self) -> None:
        """End the server without ceremony."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(PATIENCE)

    def run(self, statement: str) -> None:
        """Run one statement as the cluster's owner."""
        where = f"host={self.folder} user=temper dbname=postgres"
        with psycopg.connect(where, autocommit=True) as connection:
            connection.execute(statement)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    binaries = newest_binaries()
    # Not pytest's folder: the server's user may not enter it, and the path of a
    # socket must be short.
    with tempfile.TemporaryDirectory(prefix="temper-pg-") as name:
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(name, user.pw_uid, user.pw_gid)
        server = Server(Path(name), binaries)
        yield server
        server.stop()


@pytest.fixture
def url(server: Server) -> Iterator[str]:
    name = f"temper_{uuid4().hex}"
    server.run(f"CREATE DATABASE {name}")
    yield f"postgresql://temper@/{name}?host={server.folder}"
    server.run(f"DROP DATABASE {name} WITH (FORCE)")


class TestPostgresql(StoreBehaviours):
    """Everything that SQLite does."""


def test_a_server_that_dies_costs_nothing_saved(
    server: Server, url: str, tmp_path: Path
) -> None:
    with Store.open(url, tmp_path) as store:
        run = store.create_run(make_plan())
        boots = fill(store, run)
        server.stop()
        with pytest.raises(StoreError) as caught:
            store.load(run)
        assert "server" in caught.value.hint
        server.start()
        assert store.load(run).boots == boots


def test_numbers_of_another_store_do_not_clash(url: str, tmp_path: Path) -> None:
    """Raw files of several databases share the data folder."""
    saved: dict[str, list[StoredBoot]] = {}
    for place in (url, f"sqlite:///{tmp_path}/results.db"):
        with Store.open(place, tmp_path) as store:
            assert store.create_run(make_plan()) == 1
            saved[place] = fill(store, 1, salt=len(saved))
    for place, boots in saved.items():
        with Store.open(place, tmp_path) as store:
            assert store.load(1).boots == boots
