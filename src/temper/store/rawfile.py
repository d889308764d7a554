"""The raw file of a boot: its head in the first line, then one record per line.

The head has all that the database knows about the run and the boot, so that a lost
database can be rebuilt from these files.
"""

import gzip
import json
import os
import zlib
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, ValidationError

from temper.digest import digest
from temper.errors import StoreError
from temper.invocation import as_typed
from temper.record.boot import BootFacts, StoredBoot
from temper.record.plan import FORMAT, RunPlan, Slot

_SUFFIX = ".jsonl.gz"


class RunHead(BaseModel):
    """What is known of a run from its start."""

    model_config = ConfigDict(frozen=True)

    id: int
    uuid: str
    store: str
    """The name of its database, since several may share a data folder."""
    started: datetime
    plan: RunPlan


class _OwnHead(BaseModel):
    """What the first line of a raw file says of the boot itself."""

    model_config = ConfigDict(frozen=True)

    facts: BootFacts
    console: str = ""
    """SHA-256 of the console's file; empty: an older Temper wrote it."""

    def has(self, console: bytes) -> bool:
        """Whether that is the boot's console."""
        return self.console in ("", digest(console))


class BootHead(_OwnHead):
    """The first line of a raw file."""

    format: Literal[2] = FORMAT
    run: RunHead


_Head = TypeVar("_Head", bound=_OwnHead)


def run_folder(folder: Path, run: RunHead) -> Path:
    """Return the folder of a run's raw files in ``folder``.

    The uuid distinguishes runs with the same number in different databases.
    """
    return folder / f"{run.id}-{run.uuid[:8]}"


def raw_path(folder: Path, run: RunHead, slot: Slot) -> Path:
    """Return the path of a boot's raw file in ``folder``."""
    name = f"{quote(slot.variant, safe='')}-{slot.repeat}{_SUFFIX}"
    return run_folder(folder, run) / name


def raw_paths(folder: Path) -> list[Path]:
    """Return all raw files in ``folder``."""
    return sorted(folder.glob(f"*/*{_SUFFIX}"))


def raw_paths_below(folder: Path) -> list[Path]:
    """Return all raw files in ``folder`` and in the folders below.

    Raises OSError for a folder that cannot be read.
    """

    def refuse(error: OSError) -> None:
        raise error

    return sorted(
        Path(parent, name)
        for parent, _folders, names in os.walk(folder, onerror=refuse)
        for name in names
        if name.endswith(_SUFFIX)
    )


def _console_path(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(_SUFFIX) + ".console.txt")


def write_boot(path: Path, run: RunHead, boot: StoredBoot) -> str:
    """Write a boot's console and raw file; return the raw file's SHA-256.

    After a power cut, the raw file is either complete, with its console, or absent.
    """
    console = boot.console.encode(errors="replace")
    head = BootHead(run=run, facts=boot.facts, console=digest(console)).model_dump(
        mode="json"
    )
    lines = (json.dumps(line) + "\n" for line in (head, *boot.records))
    content = gzip.compress("".join(lines).encode("ascii"), mtime=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    _write_durably(_console_path(path), console)
    _write_durably(path, content)
    _sync_folder(path.parent.parent)
    return digest(content)


def _write_durably(path: Path, content: bytes) -> None:
    temporary = path.with_name(path.name + ".tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make renames in ``folder`` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_intact(path: Path, sha256: str) -> bool:
    """Whether a boot's files exist, and are as they were written."""
    try:
        return digest(path.read_bytes()) == sha256 and _has_its_console(path)
    except FileNotFoundError:
        return False


def _has_its_console(path: Path) -> bool:
    """Whether the console is that of an intact raw file, without reading it whole."""
    with gzip.open(path) as lines:
        wanted = json.loads(lines.readline()).get("console", "")
    return wanted in ("", digest(_console_path(path).read_bytes()))


def read_boot(path: Path, sha256: str, run: RunHead) -> StoredBoot:
    """Read a boot of a run back; raise StoreError if it is not intact.

    The run in an intact file is ``run``, and is not looked at: its plan has all of up
    to thousands of boots, and so has the file of each.
    """
    try:
        content, console = path.read_bytes(), _console_path(path).read_bytes()
        if digest(content) == sha256:
            head, records = _parsed(path, content, _OwnHead)
            if head.has(console):
                return _boot(path, head, records, console)
    except FileNotFoundError:
        pass
    raise StoreError(
        f"the raw file {path} of a boot is damaged or missing",
        f"to repeat this boot: {as_typed(run.plan.resuming(run.id))} (if a team "
        "shares a store, TEMPER_DATA must be a shared folder)",
    )


def read_with_console(path: Path) -> tuple[RunHead, StoredBoot]:
    """Return a raw file's run, and its boot with its console.

    Raises StoreError if it is damaged or without a console.
    """
    head, records, _ = read_raw(path)
    try:
        console = _console_path(path).read_bytes()
    except FileNotFoundError as error:
        raise _damaged(path, "its console is missing") from error
    if not head.has(console):
        raise _damaged(path, "its console is another one")
    return head.run, _boot(path, head, records, console)


def read_raw(path: Path) -> tuple[BootHead, list[dict[str, Any]], str]:
    """Return head, records and SHA-256 of a raw file.

    Raises StoreError if it is damaged.
    """
    content = path.read_bytes()
    return *_parsed(path, content, BootHead), digest(content)


def _parsed(
    path: Path, content: bytes, model: type[_Head]
) -> tuple[_Head, list[dict[str, Any]]]:
    """Return the head of a raw file, as far as ``model`` has it, and the records."""
    try:
        # pydantic's own JSON parser refuses the lone surrogates that stand for
        # undecodable bytes, for example in a command line.
        first, *records = map(json.loads, gzip.decompress(content).splitlines())
        _check_format(path, first)
        head = model.model_validate(first)
    except RecursionError as error:
        raise _damaged(path, "it is nested too deep") from error
    except (gzip.BadGzipFile, zlib.error, EOFError, ValueError) as error:
        wrong = isinstance(error, ValidationError)
        raise _damaged(path, "its head is wrong" if wrong else str(error)) from error
    return head, records


def _boot(
    path: Path, head: _OwnHead, records: list[dict[str, Any]], console: bytes
) -> StoredBoot:
    text = console.decode(errors="replace")
    try:
        return StoredBoot(facts=head.facts, records=records, console=text)
    except ValidationError as error:
        raise _damaged(path, "a record is wrong") from error


def _damaged(path: Path, why: str) -> StoreError:
    return StoreError(f"the raw file {path} is damaged: {why}")


def _check_format(path: Path, head: object) -> None:
    if isinstance(head, dict) and head.get("format", FORMAT) != FORMAT:
        raise StoreError(f"another version of Temper wrote the raw file {path}")
