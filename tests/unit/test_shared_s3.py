"""The shared cache in a bucket, on a server that fails every third request."""

import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kernels import Watcher
from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    create_backend_app,
)
from s3fs import S3FileSystem
from werkzeug.serving import WSGIRequestHandler, make_server

from temper.kernel import shared
from temper.kernel.cache import Cache, Entry, EntryFacts, Make
from temper.kernel.shared import VARIABLE, shared_cache

BUCKET = "lab"
URL = f"s3://{BUCKET}/temper"
KEYS = [f"{number:064x}" for number in range(8)]
SECRET = "not-to-be-seen"

Answer = Iterable[bytes]


class Quiet(WSGIRequestHandler):
    def log(self, *_: object) -> None:
        pass


class Failing:
    """Fails every third request, by turns with an error and with half an answer."""

    def __init__(self, app: Callable[..., Answer]) -> None:
        self.app = app
        self.fails = False
        self.requests = 0
        self.refused = 0
        self.cut = 0

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Answer:
        self.requests += self.fails
        if not self.fails or self.requests % 3:
            return self.app(environ, start)
        if self.refused > self.cut and environ["REQUEST_METHOD"] == "GET":
            self.cut += 1
            whole = b"".join(self.app(environ, start))
            # The connection is closed then, though more was promised.
            return [whole[: len(whole) // 2]]
        self.refused += 1
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start("503 Service Unavailable", [("Content-Length", "0")])
        return [b""]


@pytest.fixture(scope="module")
def server() -> Iterator[Failing]:
    """Serve s3 on the loopback."""
    app = Failing(DomainDispatcherApplication(create_backend_app))
    serving = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
    thread = threading.Thread(target=serving.serve_forever)
    thread.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{serving.server_port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "temper")
        patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv(VARIABLE, URL)
        S3FileSystem().mkdir(BUCKET)
        yield app
    S3FileSystem.clear_instance_cache()
    serving.shutdown()
    thread.join(10)
    serving.server_close()


def data(key: str) -> bytes:
    """Return what does not get smaller when it is packed, other for each key."""
    return bytes.fromhex(key) + Path(__file__).read_bytes() * 4


def making(key: str) -> Make:
    def make(result: Path, _work: Path) -> EntryFacts:
        (result / "image").write_bytes(data(key))
        return {"key": key}

    return make


def never(_result: Path, _work: Path) -> EntryFacts:
    raise AssertionError("made again")


def entry(root: Path, key: str, make: Make, watcher: Watcher) -> Entry:
    return Cache(root).entry("kernels", key, "Linux 6.12", make, watcher)


def test_nothing_is_lost(server: Failing, tmp_path: Path) -> None:
    watcher, store = Watcher(), shared_cache()
    assert store
    assert store.usage() == (0, 0)
    server.fails = True
    try:
        store.probe(tmp_path)
        for key in KEYS:
            assert entry(tmp_path / "one", key, making(key), watcher).made
        for key in KEYS:
            fetched = entry(tmp_path / "two", key, never, watcher)
            assert (fetched.folder / "image").read_bytes() == data(key)
            assert fetched.facts == {"key": key}
        assert store.usage()[0] == len(KEYS)
    finally:
        server.fails = False
    assert watcher.said == []
    assert min(server.refused, server.cut) > 2, (server.refused, server.cut)


@pytest.fixture
def afresh(server: Failing, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ask as a new process would, and but once."""
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    for forget in (shared._at.cache_clear, S3FileSystem.clear_instance_cache):
        forget()
    yield
    S3FileSystem.clear_instance_cache()


def test_without_a_bucket_all_is_made(
    afresh: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "s3://none/temper")
    watcher = Watcher()
    for key in KEYS[:2]:
        assert entry(tmp_path, key, making(key), watcher).made
    assert watcher.said == [
        "the shared cache s3://none/temper cannot be written: The specified bucket "
        "does not exist; what is made here stays here"
    ]


def test_without_a_server_all_is_made(
    afresh: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    watcher = Watcher()
    for key in KEYS[:2]:
        assert entry(tmp_path, key, making(key), watcher).made
    (said,) = watcher.said
    assert said.startswith(f"the shared cache {URL} cannot be read: Could not connect")
    assert said.endswith("; Temper goes on without it")
    assert SECRET not in said
