import errno
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from kernels import Watcher
from unprivileged import run_python

from temper.errors import InfraError
from temper.kernel import cache as kernel_cache
from temper.kernel.cache import Cache, Entry, EntryFacts, Kind, Make
from temper.progress import Quiet

KEY = "0" * 64


def put(cache: Cache, make: Make, key: str = KEY, kind: Kind = "programs") -> Entry:
    return cache.entry(kind, key, "a thing", make, Quiet())


def hello(result: Path, _work: Path) -> EntryFacts:
    (result / "hello").write_text("hello")
    return {"size": 5}


def never(_result: Path, _work: Path) -> EntryFacts:
    raise AssertionError("made again")


def test_what_is_there_is_not_made_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    first, second = put(cache, hello), put(cache, never)
    assert (first.made, second.made) == (True, False)
    assert second.facts == {"size": 5}
    assert (second.folder / "hello").read_text() == "hello"


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "hello").write_text("hallo"),
        lambda folder: (folder / "hello").unlink(),
        lambda folder: (folder / "manifest.json").unlink(),
        lambda folder: (folder / "manifest.json").write_text('{"title": '),
        lambda folder: (folder / "manifest.json").write_text("{}"),
    ],
)
def test_a_damaged_entry_is_announced_and_heals(damage: Make, tmp_path: Path) -> None:
    cache, watcher = Cache(tmp_path), Watcher()
    damage(put(cache, hello).folder)  # type: ignore[call-arg]
    again = cache.entry("programs", KEY, "a thing", hello, watcher)
    assert again.made
    assert (again.folder / "hello").read_text() == "hello"
    assert "is damaged" in watcher.said[0]


def test_a_source_cut_short_heals_without_hashing_it(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    folder = put(cache, hello, kind="sources").folder
    (folder / "hello").write_text("HELLO")
    assert not put(cache, hello, kind="sources").made
    assert [item.damage for item in cache.verify()] == ["hello has changed"]
    folder = put(cache, hello, kind="sources").folder
    (folder / "hello").write_text("")
    assert put(cache, hello, kind="sources").made


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_a_make_that_fails_leaves_nothing(
    failure: type[BaseException], tmp_path: Path
) -> None:
    def fail(result: Path, work: Path) -> EntryFacts:
        (result / "half").write_text("ha")
        (work / "litter").write_text("l")
        raise failure

    cache = Cache(tmp_path)
    with pytest.raises(failure):
        put(cache, fail)
    assert cache.items() == []
    assert list((tmp_path / "tmp").iterdir()) == []
    assert put(cache, hello).made


def test_what_a_killed_run_left_is_not_used(tmp_path: Path) -> None:
    left = tmp_path / "tmp" / f"programs-{KEY}" / "entry"
    left.mkdir(parents=True)
    (left / "old").write_text("old")
    folder = put(Cache(tmp_path), hello).folder
    assert sorted(path.name for path in folder.iterdir()) == ["hello", "manifest.json"]


@contextmanager
def another_process(cache: Cache, key: str = KEY) -> Iterator["subprocess.Popen[str]"]:
    """Have an entry made by somebody who makes it, uses it, and does as it is told."""
    process = subprocess.Popen(
        [sys.executable, "-c", OTHER, cache.root, key],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "making\n"
        yield process
    finally:
        process.kill()
        process.communicate(timeout=60)


OTHER = """
import sys
from pathlib import Path
from temper.kernel.cache import Cache
from temper.progress import Quiet

def make(result, work):
    (result / "hello").write_text("hello")
    print("making", flush=True)
    sys.stdin.readline()
    return {}

Cache(Path(sys.argv[1])).entry("programs", sys.argv[2], "a thing", make, Quiet())
print("made", flush=True)
sys.stdin.readline()
"""


def go_on(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "made\n"


def test_who_comes_second_waits_and_says_so(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    with another_process(cache) as other:

        class Listener(Watcher):
            def say(self, text: str) -> None:
                super().say(text)
                go_on(other)

        listener = Listener()
        assert not cache.entry("programs", KEY, "a thing", never, listener).made
    assert listener.said == [
        "waiting for another process, which makes or checks a thing"
    ]


def test_who_waits_for_a_thread_of_its_own_process_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two boots of a run come to the plugin at once."""
    monkeypatch.setattr("temper.kernel.cache._PATIENCE", 0.1)
    started, watcher, entries = threading.Event(), Watcher(), []

    def slowly(result: Path, work: Path) -> EntryFacts:
        started.set()
        time.sleep(0.5)
        return hello(result, work)

    first = threading.Thread(
        target=lambda: entries.append(put(Cache(tmp_path), slowly))
    )
    first.start()
    assert started.wait(10)
    second = Cache(tmp_path).entry("programs", KEY, "a thing", never, watcher)
    first.join(10)
    assert (entries[0].made, second.made) == (True, False)
    assert watcher.said == []


def test_a_full_disk_says_the_way_out(tmp_path: Path) -> None:
    def fill(_result: Path, _work: Path) -> EntryFacts:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(InfraError, match="is full: could not make a thing") as error:
        put(Cache(tmp_path), fill)
    assert error.value.hint == "temper cache prune"


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(mount, check=False, timeout=10).returncode:
        pytest.skip("only root can mount a small disk")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True, timeout=10)


def test_a_really_full_disk_leaves_the_cache_usable(tiny_disk: Path) -> None:
    def fill(result: Path, _work: Path) -> EntryFacts:
        (result / "big").write_bytes(b"x" * 1_000_000)
        return {}

    cache = Cache(tiny_disk)
    with pytest.raises(InfraError, match="is full"):
        put(cache, fill)
    assert put(cache, hello).made


LOOKS = [
    lambda cache: put(cache, hello),
    Cache.items,
    lambda cache: cache.facts("kernels"),
    lambda cache: cache.keys("kernels"),
    Cache.verify,
    Cache.prune,
]
WAY_OUT = "XDG_CACHE_HOME sets the folder that contains it"


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", ["cache", "cache/temper"])
def test_a_cache_that_is_a_file_is_said(
    look: Callable[[Cache], object], name: str, tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("")
    with pytest.raises(
        InfraError, match=r"the cache cannot be used: .*/cache"
    ) as error:
        look(Cache(tmp_path / name))
    assert error.value.hint == WAY_OUT


LOOK = """
import sys
from pathlib import Path
from temper.errors import InfraError
from temper.kernel import cache as kernel_cache
from temper.kernel.cache import Cache
from temper.progress import Quiet

cache = Cache(Path(sys.argv[1]))
for look in (
    lambda: cache.entry("programs", "new", "a thing", lambda *_: {}, Quiet()),
    lambda: cache.entry("programs", "old", "a thing", lambda *_: {}, Quiet()),
    cache.items,
    lambda: cache.facts("programs"),
    cache.verify,
    cache.prune,
):
    try:
        look()
        print("nothing wrong")
    except InfraError as error:
        print(error.message)
"""
FINE = "nothing wrong"
DENIED = "the cache cannot be used: Permission denied: "


@pytest.mark.parametrize(
    ("closed", "mode", "said"),
    [
        ("*", 0o555, [DENIED, DENIED, FINE, FINE, DENIED, DENIED]),
        ("*", 0o000, [DENIED] * 6),
        ("programs*", 0o555, [DENIED, FINE, FINE, FINE, DENIED, DENIED]),
    ],
)
def test_a_cache_without_permission_is_said(
    closed: str, mode: int, said: list[str], tmp_path: Path
) -> None:
    root = tmp_path / "cache"
    for key in ("old", "bad"):
        with another_process(Cache(root), key) as other:
            go_on(other)
    (root / "programs" / "bad" / "hello").unlink()
    folders = [path for path in (root, *root.rglob(closed)) if path.is_dir()]
    for folder in reversed(folders):
        folder.chmod(mode)
    try:
        done = run_python(LOOK, root)
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert done.stderr == ""
    for line, start in zip(done.stdout.splitlines(), said, strict=True):
        assert line.startswith(start)


def test_what_is_wrong_elsewhere_is_not_the_caches_fault(tmp_path: Path) -> None:
    def deny(_result: Path, _work: Path) -> EntryFacts:
        raise PermissionError(errno.EACCES, "Permission denied", "/target/init.c")

    with pytest.raises(PermissionError):
        put(Cache(tmp_path), deny)


def test_an_inventory_leaves_out_what_is_removed_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def removed(folder: Path) -> dict[str, Any]:
        found = manifest(folder)
        shutil.rmtree(folder)
        return found

    cache, manifest = Cache(tmp_path), kernel_cache._manifest
    monkeypatch.setattr(kernel_cache, "_manifest", removed)
    put(cache, hello)
    assert cache.items() == []
    put(cache, hello)
    assert cache.facts("programs") == []


def test_an_inventory_is_made_beside_a_compiler(tmp_path: Path) -> None:
    cache, stop = Cache(tmp_path), threading.Event()
    cache.ccache.mkdir()

    def compile_and_forget() -> None:
        while not stop.is_set():
            for number in range(20):
                (cache.ccache / f"{number}").mkdir()
                (cache.ccache / f"{number}" / "object").write_text("")
            for number in range(20):
                shutil.rmtree(cache.ccache / f"{number}")

    other = threading.Thread(target=compile_and_forget)
    other.start()
    try:
        for _ in range(300):
            cache.items()
    finally:
        stop.set()
        other.join(10)


def test_inventory_and_facts(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    put(cache, hello, "a")
    put(cache, lambda result, work: {"size": 6}, "b")
    os.utime(tmp_path / "programs" / "a" / "manifest.json", (1000, 1000))
    (tmp_path / "ccache" / "0").mkdir(parents=True)
    (tmp_path / "ccache" / "0" / "object").write_bytes(b"123")
    by_key = {(item.kind, item.key): item for item in cache.items()}
    assert by_key.keys() == {("programs", "a"), ("programs", "b"), ("ccache", "")}
    assert by_key["ccache", ""].size == 3
    assert by_key["programs", "a"].last_used == 1000
    assert cache.items()[-1].key == "a"
    assert [facts["size"] for facts in cache.facts("programs")] == [6, 5]


def test_prune_takes_what_was_long_unused(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    put(cache, hello, "old")
    put(cache, hello, "new")
    for name in ("ccache", "logs", "apt"):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (1000, 1000))
    os.utime(tmp_path / "programs" / "old" / "manifest.json", (1000, 1000))
    assert [item.key for item in cache.prune(days=30)] == ["old"]
    assert {item.kind for item in cache.prune()} == {
        "programs",
        "ccache",
        "logs",
        "apt",
    }
    assert cache.items() == []
    assert not cache.logs.exists()


def test_what_would_be_pruned_is_still_there(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    put(cache, hello, "old")
    put(cache, hello, "new")
    cache.logs.mkdir()
    os.utime(tmp_path / "programs" / "old" / "manifest.json", (1000, 1000))
    assert [item.key for item in cache.prunable(days=30)] == ["old"]
    assert cache.prunable() == cache.items()
    assert len(cache.items()) == 3


def test_prune_leaves_what_is_being_made(tmp_path: Path) -> None:
    cache = Cache(tmp_path)

    def make(result: Path, work: Path) -> EntryFacts:
        cache.prune()
        assert work.is_dir()
        return hello(result, work)

    assert put(cache, make).made


def test_prune_leaves_what_another_run_has_in_hand(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    folder = put(cache, hello).folder
    (folder / "hello").unlink()

    class Pruner(Watcher):
        def say(self, text: str) -> None:
            assert cache.prune() == []
            assert folder.exists()
            super().say(text)

    watcher = Pruner()
    assert cache.entry("programs", KEY, "a thing", hello, watcher).made
    assert watcher.said


def test_prune_leaves_what_a_living_process_uses(tmp_path: Path) -> None:
    """A boot copies programs from there when its turn comes."""
    cache = Cache(tmp_path)
    put(cache, hello, "old")
    manifest = tmp_path / "programs" / "old" / "manifest.json"
    os.utime(manifest, (1000, 1000))
    with another_process(cache) as other:
        go_on(other)
        assert [item.key for item in cache.prune()] == ["old"]
        assert [item.key for item in cache.items()] == [KEY]
        other.kill()
        other.wait(60)
        assert [item.key for item in cache.prune()] == [KEY]


def test_what_a_killed_process_was_making_goes_with_the_next_start(
    tmp_path: Path,
) -> None:
    cache = Cache(tmp_path)
    with another_process(cache, "killed") as killed:
        killed.kill()
        killed.wait(60)
    assert (tmp_path / "tmp" / "programs-killed").exists()
    with another_process(cache, "next"):
        assert [path.name for path in (tmp_path / "tmp").iterdir()] == ["programs-next"]


def test_verify_removes_only_what_is_damaged(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    put(cache, hello, "good")
    (put(cache, hello, "bad").folder / "hello").write_text("hallo")
    assert [(item.key, item.damage) for item in cache.verify()] == [
        ("bad", "hello has changed")
    ]
    assert [item.key for item in cache.items()] == ["good"]


def test_using_an_entry_keeps_it_from_being_pruned(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    manifest = put(cache, hello).folder / "manifest.json"
    os.utime(manifest, (1000, 1000))
    put(cache, never)
    assert cache.prune(days=1) == []
    assert json.loads(manifest.read_text())["title"] == "a thing"
