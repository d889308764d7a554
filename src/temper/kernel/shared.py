"""Entries of the cache that hosts share: an archive each, behind a URL for fsspec.

An archive appears there complete or not at all, and whoever fetches it checks it. A
store that fails ends nothing: what it does not give is made here.
"""

import errno
import os
import platform
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote
from uuid import uuid4
from zipfile import ZIP_DEFLATED, ZipFile

from temper.errors import InfraError, InputError
from temper.progress import Progress

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

VARIABLE = "TEMPER_SHARED_CACHE"

SHARED = frozenset({"kernels", "mutants"})
"""Kinds that take minutes to make and megabytes to keep. Sources are too large; the
rest takes seconds, or depends on more of the host than its key says."""

_Result = TypeVar("_Result")

_Action = Callable[["AbstractFileSystem", str], _Result]
"""Does something to a path there."""

_GOES_ON = {
    "read": "Temper goes on without it",
    "written": "what is made here stays here",
}
"""What cannot be done -> what becomes of it."""

_USER = re.compile(r"(?<=//)\S*@")
_QUERY = re.compile(r"(?<=\?)\S+")
_LEAST_SECRET = 4
"""Characters: what is shorter could be anything else in a message."""
_LONGEST_REASON = 200


def shared_cache() -> "SharedCache | None":
    """Return what TEMPER_SHARED_CACHE names; None: it is not set.

    Raises InputError if fsspec is missing or cannot open such a URL.
    """
    url = os.environ.get(VARIABLE)
    return _at(url) if url else None


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive; raise ValueError if it is none, OSError for a full disk."""
    try:
        with ZipFile(archive) as packed:
            packed.extractall(folder)
    # Damage can look like any kind of file, to libraries that each have their errors.
    except Exception as error:
        if _is_full(error):
            raise
        raise ValueError(str(error) or type(error).__name__) from error


class SharedCache:
    """The cache that hosts share at a URL; what fails is said once and left alone."""

    def __init__(self, url: str) -> None:
        """Raise InputError if fsspec is missing or cannot open such a URL."""
        self._url = url
        self._secrets = _secrets(url)
        self._given_up: set[str] = set()
        self._lock = threading.Lock()
        self._check_protocol()

    def __str__(self) -> str:
        return f"the shared cache {self.place}"

    @property
    def place(self) -> str:
        """Its URL, without credentials."""
        return _stripped(self._url)

    def fetch(self, name: str, title: str, archive: Path, progress: Progress) -> bool:
        """Copy the archive of an entry to a file; False: there is none to be had.

        ``name``: its kind and key. Raises OSError if the disk of the file is full.
        """

        def fetch(store: "AbstractFileSystem", path: str) -> bool:
            with suppress(FileNotFoundError):
                store.get_file(path, str(archive))
                return archive.exists()
            return False

        if "read" in self._given_up:
            return False
        with progress.task(f"Looking for {title} in the shared cache"):
            return bool(self._tried("read", f"{name}.zip", fetch, progress))

    def put(self, entry: Path, title: str, archive: Path, progress: Progress) -> None:
        """Keep the folder of an entry there, in place of what there is.

        ``archive``: a file to write on the way.
        """

        def put(store: "AbstractFileSystem", path: str) -> None:
            _pack(entry, archive)
            _put(store, archive, path)

        if self._given_up:
            return
        with progress.task(f"Putting {title} into the shared cache"):
            name = f"{entry.parent.name}/{entry.name}.zip"
            self._tried("written", name, put, progress)

    def damaged(self, title: str, why: object) -> str:
        """Return what to say of an entry that did not arrive as it was made."""
        return f"{self}: {title} is damaged there ({why}), so it is made again"

    def usage(self) -> tuple[int, int]:
        """Return how many entries are there for hosts like this one, and their bytes.

        Raises InfraError if the store does not tell.
        """

        def sizes(store: "AbstractFileSystem", path: str) -> list[int]:
            found = store.find(path, detail=True)
            return [facts["size"] for name, facts in found.items() if _is_entry(name)]

        found = self._do("read", "", sizes)
        return len(found), sum(found)

    def probe(self, scratch: Path) -> None:
        """Read and write there; raise InfraError if one of them fails.

        ``scratch``: an empty folder.
        """
        probe = scratch / "probe"
        name = f"probe-{uuid4().hex}"

        def read(store: "AbstractFileSystem", path: str) -> None:
            with suppress(FileNotFoundError):
                store.get_file(path, str(probe))

        def write(store: "AbstractFileSystem", path: str) -> None:
            probe.touch()
            _put(store, probe, path)
            store.rm_file(path)

        self._do("read", name, read)
        self._do("written", name, write)

    def _check_protocol(self) -> None:
        shown = f"{VARIABLE}={self.place}"
        try:
            from fsspec import get_filesystem_class  # noqa: PLC0415 (an extra)
            from fsspec.utils import get_protocol  # noqa: PLC0415
        except ImportError:
            raise InputError(
                f"{shown} needs fsspec, which is not installed",
                "pip install 'temper[shared]', or 'temper[s3]' for s3",
            ) from None
        protocol = get_protocol(self._url)
        try:
            get_filesystem_class(protocol)
        except ValueError:
            raise InputError(
                f"{shown} is no URL that fsspec opens",
                "such as s3://bucket/temper, gs://bucket/temper, ssh://host/srv/temper "
                "or file:///srv/temper",
            ) from None
        except ImportError as error:
            raise InputError(
                f"{shown}: {error}",
                f"pip install 'fsspec[{protocol}]'",
            ) from None

    def _tried(
        self, verb: str, name: str, action: _Action[_Result], progress: Progress
    ) -> _Result | None:
        """Do something there; None: it failed, so it will not be tried again."""
        try:
            return self._do(verb, name, action)
        except InfraError as error:
            with self._lock:
                first = verb not in self._given_up
                self._given_up.add(verb)
            if first:
                progress.say(f"{error.message}; {_GOES_ON[verb]}")
            return None

    def _do(self, verb: str, name: str, action: _Action[_Result]) -> _Result:
        """Do something there; raise InfraError if that fails."""
        from fsspec.core import url_to_fs  # noqa: PLC0415 (an extra)

        try:
            store, root = url_to_fs(self._url)
            # What modules are built against has programs for the host in it.
            place = f"{root.rstrip('/')}/{platform.machine()}"
            return action(store, f"{place}/{name}".rstrip("/"))
        # Each of fsspec's libraries has errors of its own.
        except Exception as error:
            if verb == "read" and _is_full(error):
                raise
            # Without its cause, which may name credentials.
            raise InfraError(
                f"{self} cannot be {verb}: {self._reason(error)}",
                f"check {VARIABLE}, the network, and what you may do there",
            ) from None

    def _reason(self, error: Exception) -> str:
        """Return what an error says, without credentials."""
        lines = str(error).splitlines() or [type(error).__name__]
        text = _stripped(lines[0])
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return text[:_LONGEST_REASON]


@cache
def _at(url: str) -> SharedCache:
    return SharedCache(url)


def _pack(entry: Path, archive: Path) -> None:
    """Write the files of an entry to an archive, under its kind and key."""
    with ZipFile(archive, "w", ZIP_DEFLATED) as packed:
        for path in sorted(entry.rglob("*")):
            packed.write(path, path.relative_to(entry.parents[1]))


def _put(store: "AbstractFileSystem", file: Path, path: str) -> None:
    """Copy a file to a path of a store, where it appears complete or not at all."""
    from fsspec import AbstractFileSystem  # noqa: PLC0415 (an extra)

    # Without a rename of its own, a store of objects has each once it is complete.
    if type(store).mv is AbstractFileSystem.mv:
        store.put_file(str(file), path)
        return
    store.makedirs(path.rpartition("/")[0], exist_ok=True)
    temporary = f"{path}.{uuid4().hex}"
    try:
        store.put_file(str(file), temporary)
        store.mv(temporary, path)
    except BaseException:
        with suppress(Exception):
            store.rm_file(temporary)
        raise


def _is_entry(path: str) -> bool:
    return path.endswith(".zip")


def _is_full(error: Exception) -> bool:
    full = (errno.ENOSPC, errno.EDQUOT)
    return isinstance(error, OSError) and error.errno in full


def _stripped(text: str) -> str:
    """Return a text whose URLs are without credentials."""
    return _QUERY.sub("…", _USER.sub("…@", text))


def _secrets(url: str) -> set[str]:
    """Return what may be secret in a URL, as it is written and as it is meant."""
    user = "".join(_USER.findall(url)).rstrip("@")
    query = url.partition("?")[2].split("&")
    written = {*user.split(":", 1), *(pair.rpartition("=")[2] for pair in query)}
    both = {*written, *map(unquote, written)}
    return {secret for secret in both if len(secret) >= _LEAST_SECRET}
