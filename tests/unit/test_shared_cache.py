"""What one host has made, another fetches; a store that fails ends nothing."""

import errno
import json
import os
import platform
import shutil
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem
from kernels import Watcher

from temper.errors import InfraError, InputError
from temper.kernel import shared
from temper.kernel.cache import KINDS, Cache, Entry, EntryFacts, Kind, Make
from temper.kernel.shared import SHARED, SharedCache, shared_cache

KEY = "0" * 64
OTHER = "1" * 64


def hello(result: Path, _work: Path) -> EntryFacts:
    (result / "hello").write_text("hello")
    (result / "folder").mkdir()
    (result / "folder" / "deep").write_bytes(bytes(range(256)))
    return {"size": 5}


def never(_result: Path, _work: Path) -> EntryFacts:
    raise AssertionError("made again")


class Host:
    """A host with a cache of its own."""

    def __init__(self, root: Path) -> None:
        self.cache = Cache(root)
        self.watcher = Watcher()

    @property
    def said(self) -> list[str]:
        return self.watcher.said

    def entry(self, make: Make, key: str = KEY, kind: Kind = "kernels") -> Entry:
        return self.cache.entry(kind, key, "Linux 6.12", make, self.watcher)


@dataclass
class Fleet:
    """Hosts that share a folder."""

    root: Path
    store: Path
    hosts: list[Host] = field(default_factory=list)

    def host(self) -> Host:
        """Return one that has nothing yet."""
        self.hosts.append(Host(self.root / f"host{len(self.hosts)}"))
        return self.hosts[-1]

    def archive(self, key: str = KEY, kind: str = "kernels") -> Path:
        return self.store / platform.machine() / kind / f"{key}.zip"

    @property
    def files(self) -> list[Path]:
        return [path for path in self.store.rglob("*") if path.is_file()]


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    store = tmp_path / "store"
    monkeypatch.setenv(shared.VARIABLE, f"file://{store}")
    return Fleet(tmp_path, store)


def is_whole(entry: Entry) -> bool:
    found = {
        str(path.relative_to(entry.folder)): path.read_bytes()
        for path in entry.folder.rglob("*")
        if path.is_file() and path.name != "manifest.json"
    }
    whole = {"hello": b"hello", "folder/deep": bytes(range(256))}
    return found == whole and entry.facts == {"size": 5}


@pytest.mark.parametrize("kind", sorted(SHARED))
def test_what_a_host_made_another_fetches(fleet: Fleet, kind: Kind) -> None:
    assert fleet.host().entry(hello, kind=kind).made
    assert fleet.files == [fleet.archive(kind=kind)]
    second = fleet.host()
    fetched = second.entry(never, kind=kind)
    assert is_whole(fetched)
    assert not fetched.made
    assert (fetched.title, fetched.folder.parent.name) == ("Linux 6.12", kind)
    # From now on it is that host's own.
    shutil.rmtree(fleet.store)
    assert is_whole(second.entry(never, kind=kind))
    assert second.said == []
    assert list((second.cache.root / "tmp").iterdir()) == []


@pytest.mark.parametrize("kind", sorted({*KINDS} - SHARED))
def test_the_rest_each_host_makes(fleet: Fleet, kind: Kind) -> None:
    assert fleet.host().entry(hello, kind=kind).made
    assert fleet.host().entry(hello, kind=kind).made
    assert not fleet.store.exists()


def test_without_a_url_nothing_is_shared(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(shared.VARIABLE, "")
    assert shared_cache() is None
    monkeypatch.delenv(shared.VARIABLE)
    assert fleet.host().entry(hello).made
    assert fleet.files == []


def test_hosts_of_another_kind_share_nothing(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet.host().entry(hello)
    monkeypatch.setattr(platform, "machine", lambda: "vax")
    assert fleet.host().entry(hello).made


def cut(archive: Path) -> None:
    archive.write_bytes(archive.read_bytes()[:-30])


def empty(archive: Path) -> None:
    archive.write_bytes(b"")


def mistaken(archive: Path) -> None:
    """Put another entry under this name."""
    with ZipFile(archive, "w") as packed:
        packed.writestr(f"kernels/{OTHER}/manifest.json", "{}")


def rewritten(**new: str | None) -> Callable[[Path], None]:
    """Pack the archive anew with other files; None: without."""

    def rewrite(archive: Path) -> None:
        with ZipFile(archive) as packed:
            files = {name: packed.read(name) for name in packed.namelist()}
        for name, text in new.items():
            files.pop(place := f"kernels/{KEY}/{name.replace('_', '.')}", None)
            if text is not None:
                files[place] = text.encode()
        with ZipFile(archive, "w") as packed:
            for name, data in files.items():
                packed.writestr(name, data)

    return rewrite


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (cut, "not a zip file"),
        (empty, "not a zip file"),
        (mistaken, "no readable manifest.json"),
        (rewritten(hello="hallo"), "hello has changed"),
        (rewritten(hello=None), "hello has changed"),
        (rewritten(more="more"), "more was added"),
        (rewritten(manifest_json="{}"), "manifest.json lacks fields"),
    ],
)
def test_what_does_not_verify_is_made_again_and_replaced(
    fleet: Fleet, damage: Callable[[Path], None], why: str
) -> None:
    fleet.host().entry(hello)
    damage(fleet.archive())
    second = fleet.host()
    again = second.entry(hello)
    assert again.made
    assert is_whole(again)
    (said,) = second.said
    assert said.startswith(
        f"the shared cache file://{fleet.store}: Linux 6.12 is damaged there ("
    )
    assert f"{why}), so it is made again" in said
    third = fleet.host()
    assert is_whole(third.entry(never))
    assert third.said == []


def test_no_flipped_bit_gets_through(fleet: Fleet) -> None:
    """Some bytes of an archive, such as the time of a file, decide nothing."""
    fleet.host().entry(hello)
    whole = fleet.archive().read_bytes()
    host, remade = fleet.host(), 0
    for place in range(0, len(whole), 11):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << place % 8
        fleet.archive().write_bytes(flipped)
        entry = host.entry(hello)
        assert is_whole(entry)
        remade += entry.made
        assert len(host.said) == remade
        shutil.rmtree(entry.folder)
    assert remade > len(whole) / 11 / 4


def test_nothing_is_written_outside_of_an_entry(fleet: Fleet) -> None:
    fleet.host().entry(hello)
    with ZipFile(fleet.archive(), "a") as packed:
        packed.writestr("../../../escaped", "")
        packed.writestr(f"{fleet.root}/escaped", "")
    second = fleet.host()
    assert is_whole(second.entry(never))
    assert not list(fleet.root.rglob("escaped"))


def test_two_builders_of_one_key_are_harmless(fleet: Fleet) -> None:
    both = threading.Barrier(2, timeout=20)

    def at_once(result: Path, work: Path) -> EntryFacts:
        both.wait()
        return hello(result, work)

    hosts = [fleet.host(), fleet.host()]
    made: list[Entry] = []
    threads = [
        threading.Thread(target=lambda host=host: made.append(host.entry(at_once)))
        for host in hosts
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert [entry.made for entry in made] == [True, True]
    assert all(map(is_whole, made))
    assert fleet.files == [fleet.archive()]
    assert is_whole(fleet.host().entry(never))
    assert [host.said for host in fleet.hosts] == [[], [], []]


def test_half_an_entry_is_not_there(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another host looks, and makes it as well, while an entry is being written."""
    writer, other = fleet.host(), fleet.host()
    paths: list[str] = []

    def slowly(self: LocalFileSystem, local: str, path: str, **_: object) -> None:
        paths.append(path)
        data = Path(local).read_bytes()
        with Path(path).open("wb") as file:
            file.write(data[:100])
            file.flush()
            if len(paths) == 1:
                assert other.entry(hello).made
            file.write(data[100:])

    monkeypatch.setattr(LocalFileSystem, "put_file", slowly)
    assert writer.entry(hello).made
    assert len(paths) == 2
    assert (writer.said, other.said) == ([], [])
    assert is_whole(fleet.host().entry(never))


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError])
def test_a_write_that_is_cut_short_leaves_nothing(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, failure: type[BaseException]
) -> None:
    def half(self: LocalFileSystem, local: str, path: str, **_: object) -> None:
        Path(path).write_bytes(Path(local).read_bytes()[:10])
        raise failure

    monkeypatch.setattr(LocalFileSystem, "put_file", half)
    host = fleet.host()
    try:
        host.entry(hello)
    except KeyboardInterrupt:
        assert failure is KeyboardInterrupt
    assert fleet.files == []
    # Here it is kept.
    assert is_whole(host.entry(never))


def test_a_store_of_objects_has_each_under_its_name_only(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    put = MemoryFileSystem.put_file

    def watched(self: MemoryFileSystem, local: str, path: str, **words: object) -> None:
        written.append(path)
        put(self, local, path, **words)

    monkeypatch.setattr(MemoryFileSystem, "put_file", watched)
    monkeypatch.setenv(shared.VARIABLE, "memory://objects/temper/")
    fleet.host().entry(hello)
    assert written == [f"/objects/temper/{platform.machine()}/kernels/{KEY}.zip"]
    assert is_whole(fleet.host().entry(never))


class Failing(MemoryFileSystem):  # type: ignore[misc]
    """A store that fails as it is told."""

    protocol = "failing"
    store: dict[str, Any] = {}  # noqa: RUF012 (as fsspec has it)
    pseudo_dirs = [""]  # noqa: RUF012
    reads: Exception | None = None
    writes: Exception | None = None
    asked: list[str] = []  # noqa: RUF012

    def get_file(self, path: str, local: str, **words: object) -> None:
        self.asked.append("read")
        if self.reads:
            raise self.reads
        super().get_file(path, local, **words)

    def put_file(self, local: str, path: str, **words: object) -> None:
        self.asked.append("write")
        if self.writes:
            raise self.writes
        super().put_file(local, path, **words)

    def find(self, path: str, **words: object) -> object:
        if self.reads:
            raise self.reads
        return super().find(path, **words)


fsspec.register_implementation("failing", Failing)


@pytest.fixture
def failing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., type[Failing]]:
    """Have hosts share a store that fails to read, to write, or both."""

    def fail(
        reads: Exception | None = None,
        writes: Exception | None = None,
        url: str = f"failing://{tmp_path.name}",
    ) -> type[Failing]:
        # A new process has not given up.
        shared._at.cache_clear()
        monkeypatch.setenv(shared.VARIABLE, url)
        monkeypatch.setattr(Failing, "reads", reads)
        monkeypatch.setattr(Failing, "writes", writes)
        monkeypatch.setattr(Failing, "asked", [])
        return Failing

    return fail


def test_a_store_that_is_out_of_reach_is_said_once(
    fleet: Fleet, failing: Callable[..., type[Failing]]
) -> None:
    store = failing(ConnectionRefusedError("nobody there\n<html>"))
    host = fleet.host()
    for key in (KEY, OTHER):
        assert host.entry(hello, key).made
    assert host.said == [
        f"{shared_cache()} cannot be read: nobody there; Temper goes on without it"
    ]
    assert store.asked == ["read"]
    assert host.watcher.titles == ["Looking for Linux 6.12 in the shared cache"]


def test_two_builds_at_once_say_it_once(
    fleet: Fleet,
    failing: Callable[..., type[Failing]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = threading.Barrier(2, timeout=20)

    def fail(*_: object) -> None:
        both.wait()
        raise TimeoutError("no answer")

    monkeypatch.setattr(failing(), "get_file", fail)
    host = fleet.host()
    threads = [
        threading.Thread(target=host.entry, args=(hello, key)) for key in (KEY, OTHER)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(host.said) == 1
    assert host.cache.keys("kernels") == {KEY, OTHER}


def test_what_cannot_be_written_is_still_read(
    fleet: Fleet, failing: Callable[..., type[Failing]]
) -> None:
    failing()
    fleet.host().entry(hello, OTHER)
    store = failing(writes=PermissionError("Access Denied"))
    host = fleet.host()
    assert host.entry(hello).made
    assert host.entry(hello, "2" * 64).made
    assert is_whole(host.entry(never, OTHER))
    assert host.said == [
        f"{shared_cache()} cannot be written: Access Denied; what is made here stays "
        "here"
    ]
    assert store.asked == ["read", "write", "read", "read"]


def test_an_error_without_words_is_named(
    fleet: Fleet, failing: Callable[..., type[Failing]]
) -> None:
    failing(TimeoutError())
    host = fleet.host()
    host.entry(hello)
    assert "cannot be read: TimeoutError;" in host.said[0]


def test_our_own_full_disk_is_not_the_stores_fault(
    fleet: Fleet, failing: Callable[..., type[Failing]]
) -> None:
    failing(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    with pytest.raises(InfraError, match=r"the disk of .* is full: could not make"):
        fleet.host().entry(never)


def test_a_full_store_is(fleet: Fleet, failing: Callable[..., type[Failing]]) -> None:
    failing(writes=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    host = fleet.host()
    assert host.entry(hello).made
    assert "cannot be written: [Errno 28] No space left" in host.said[0]


WRITTEN, MEANT = "hunter%2222", 'hunter"22'
OTHERS = "of-another-url"
SECRETS = {
    f"failing://me:{WRITTEN}@host/temper": "failing://…@host/temper",
    f"failing://{WRITTEN}@host/temper": "failing://…@host/temper",
    f"failing://temper:{WRITTEN}@host/temper": "failing://…@host/temper",
    f"failing://host/temper?v=1&sig={WRITTEN}": "failing://host/temper?…",
    f"simplecache::failing://me:{WRITTEN}@host/t": "simplecache::failing://…@host/t",
}


@pytest.mark.parametrize(("url", "shown"), SECRETS.items())
@pytest.mark.parametrize("verb", ["reads", "writes"])
def test_credentials_are_not_shown(
    fleet: Fleet,
    failing: Callable[..., type[Failing]],
    url: str,
    shown: str,
    verb: str,
) -> None:
    why = f"403 for {url}: {WRITTEN}, {MEANT}, http://me:{OTHERS}@host/?sig={OTHERS}"
    failing(**{verb: ValueError(why)}, url=url)
    host = fleet.host()
    host.entry(hello)
    (said,) = host.said
    assert shown in said
    assert "403" in said
    facts = json.dumps(host.cache.facts("kernels"))
    for text in (said, str(shared_cache()), facts):
        assert not [secret for secret in (WRITTEN, MEANT, OTHERS) if secret in text]


def test_a_missing_library_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lack(protocol: str) -> None:
        raise ImportError(f"Install x to access {protocol}")

    monkeypatch.setattr(fsspec, "get_filesystem_class", lack)
    with pytest.raises(InputError, match=r"s3://…@b/t: Install x to access s3") as no:
        SharedCache("s3://key:hunter22@b/t")
    assert no.value.hint == "pip install 'fsspec[s3]'"


def test_a_missing_fsspec_is_named(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(InputError, match="needs fsspec, which is not") as missing:
        fleet.host().entry(never)
    assert missing.value.hint.startswith("pip install 'temper[shared]'")
    # What is not shared does not need it.
    assert fleet.host().entry(hello, kind="programs").made


def test_an_unknown_scheme_is_refused() -> None:
    with pytest.raises(InputError, match="=s4://…@b is no URL that fsspec") as unknown:
        SharedCache("s4://me:hunter22@b")
    assert "s3://bucket/temper" in unknown.value.hint


def test_usage_and_probe(fleet: Fleet, tmp_path: Path) -> None:
    store = SharedCache(f"file://{fleet.store}")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    store.probe(scratch)
    assert store.usage() == (0, 0)
    fleet.host().entry(hello)
    fleet.archive().with_suffix(".zip.left").touch()
    assert store.usage() == (1, fleet.archive().stat().st_size)
    assert len(fleet.files) == 2


@pytest.mark.parametrize("verb", ["read", "written"])
def test_probe_finds_what_fails(
    failing: Callable[..., type[Failing]], verb: str, tmp_path: Path
) -> None:
    error = PermissionError("Access Denied")
    failing(*((error, None) if verb == "read" else (None, error)))
    with pytest.raises(InfraError, match=f"cannot be {verb}: Access Denied") as failed:
        SharedCache("failing://x").probe(tmp_path)
    assert "TEMPER_SHARED_CACHE" in failed.value.hint
    if verb == "read":
        with pytest.raises(InfraError, match="cannot be read"):
            SharedCache("failing://x").usage()
