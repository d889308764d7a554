"""Full disks, and the order of writes that makes a power cut harmless."""

import errno
import os
import random
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from store_behaviours import fill, make_boot, make_plan, raw_files
from temper.errors import StoreError
from temper.record.boot import StoredBoot
from temper.record.plan import Slot
from temper.store import Store

PAGE = 4096

SpaceLeft = Callable[[int], None]
"""Leaves that many bytes to be written."""


@contextmanager
def tiny_disk(folder: Path) -> Iterator[SpaceLeft]:
    """Mount a file system of 1 MB; only root can."""
    ballast = folder / "ballast"
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)],
        check=True,
        timeout=10,
    )

    def leave(size: int) -> None:
        ballast.unlink(missing_ok=True)
        ballast.write_bytes(b"x" * max(0, shutil.disk_usage(folder).free - size))

    try:
        yield leave
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True, timeout=10)


@contextmanager
def file_limit(_: Path) -> Iterator[SpaceLeft]:
    """Let no file grow beyond a size: any user can, and the kernel says EFBIG."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def leave(size: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))

    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        yield leave
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


def may_mount() -> bool:
    """Return whether this process may mount: in a container not even root may."""
    command = ["unshare", "--mount", "true"]
    done = subprocess.run(command, check=False, capture_output=True, timeout=10)
    return done.returncode == 0


def big_boot(slot: Slot) -> StoredBoot:
    """Return a boot whose raw file takes about 30 pages."""
    values = random.Random(1).sample(range(1 << 62), 12000)
    record = {"n": 0, "type": "samples", "name": "noise", "values": values}
    return make_boot(slot).model_copy(update={"records": [record]})


@pytest.mark.parametrize(
    "way", [file_limit, tiny_disk] if may_mount() else [file_limit]
)
def test_a_full_disk_costs_the_boot_that_did_not_fit(
    tmp_path: Path, way: Callable[[Path], AbstractContextManager[SpaceLeft]]
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    plan = make_plan(repeats=2)
    first, second, *_ = plan.slots
    second_boot = big_boot(second)
    messages = []
    with way(data) as leave, Store.open(f"sqlite:///{data}/results.db", data) as store:
        run = store.create_run(plan)
        store.save_boot(run, make_boot(first))
        for size in range(0, 64 * PAGE, PAGE // 2):
            leave(size)
            try:
                store.save_boot(run, second_boot)
            except StoreError as error:
                messages.append(error.message)
                assert error.hint
                leave(128 * PAGE)
                assert store.load(run).boots == [make_boot(first)]
                assert not list(data.glob("runs/*/*.tmp"))
            else:
                break
        leave(128 * PAGE)
        assert store.load(run).boots == [make_boot(first), second_boot]
        fill(store, run)
        assert store.missing(run) == []
    assert any("no space left for the raw file" in message for message in messages)
    assert any("the results store" in message for message in messages)
    if way is tiny_disk:
        assert any("no space left for the results store" in m for m in messages)


def test_a_failing_disk_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(f"sqlite:///{tmp_path}/results.db", tmp_path) as store:
        run = store.create_run(make_plan())

        def fail(_: int) -> None:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(StoreError, match=r"raw file.*Input/output error"):
            store.save_boot(run, make_boot(Slot(variant="off", repeat=0)))
        monkeypatch.undo()
        assert len(store.missing(run)) == 4
        assert not list(tmp_path.glob("runs/*/*.tmp"))


def test_interrupting_a_save_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(f"sqlite:///{tmp_path}/results.db", tmp_path) as store:
        run = store.create_run(make_plan())

        def interrupt(_: int) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            store.save_boot(run, make_boot(Slot(variant="off", repeat=0)))
        monkeypatch.undo()
        assert not raw_files(tmp_path)
        assert not list(tmp_path.glob("runs/*/*.tmp"))
        assert fill(store, run)
        assert store.missing(run) == []


def test_what_a_row_names_is_on_the_disk_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed process loses no page cache, so only the order can be tested."""
    steps = []
    fsync, replace = os.fsync, Path.replace

    def note_sync(descriptor: int) -> None:
        steps.append(("sync", Path(f"/proc/self/fd/{descriptor}").readlink().name))
        fsync(descriptor)

    def note_rename(self: Path, target: Path) -> Path:
        steps.append(("rename", target.name))
        return replace(self, target)

    with Store.open(f"sqlite:///{tmp_path}/results.db", tmp_path) as store:
        run = store.create_run(make_plan())
        monkeypatch.setattr(os, "fsync", note_sync)
        monkeypatch.setattr(Path, "replace", note_rename)
        event.listen(Engine, "commit", note := lambda _: steps.append(("commit", "")))
        try:
            store.save_boot(run, make_boot(Slot(variant="off", repeat=0)))
        finally:
            event.remove(Engine, "commit", note)
    folder = next(tmp_path.glob("runs/*")).name
    assert steps == [
        ("sync", "off-0.console.txt.tmp"),
        ("rename", "off-0.console.txt"),
        ("sync", folder),
        ("sync", "off-0.jsonl.gz.tmp"),
        ("rename", "off-0.jsonl.gz"),
        ("sync", folder),
        ("sync", "runs"),
        ("commit", ""),
    ]


def test_a_boot_with_another_console_is_made_again(tmp_path: Path) -> None:
    """A complaint of the kernel may be missing from it."""
    with Store.open(data=tmp_path) as store:
        run = store.create_run(make_plan())
        fill(store, run)
        assert not store.missing(run)
        next(tmp_path.rglob("*.console.txt")).write_text("another one")
        assert len(store.missing(run)) == 1
        with pytest.raises(StoreError) as caught:
            store.load(run)
        assert "--resume" in caught.value.hint
