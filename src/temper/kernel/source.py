"""Finds and identifies a kernel's source."""

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from temper.digest import digest, file_digest
from temper.errors import InfraError, InputError
from temper.kernel.cache import Cache, EntryFacts
from temper.process import call, need_tool
from temper.progress import Progress
from temper.scratch import scratch_folder

DEBIAN_SOURCES = Path("/usr/src")
"""Where Debian's linux-source-* packages put their tarballs."""

_TREE = "linux"
"""The folder of a cache entry that holds the source, next to the manifest."""

_UNPACKERS = {
    ".xz": "xz -T0",
    ".gz": "gzip",
    ".bz2": "bzip2",
    ".zst": "zstd",
}

_VERSION_FIELD = re.compile(
    r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION)[ \t]*=[ \t]*(\S*)[ \t]*$",
    re.MULTILINE,
)

_TIMEOUT = 900.0
"""Seconds to read or write a whole source tree, even on a slow disk."""


@dataclass(frozen=True)
class Source:
    """A kernel source: a tarball, a git tree or a plain folder."""

    path: Path
    version: str
    """From its Makefile: ``6.12.117``."""
    digest: str
    """Identifies the content: ``sha256:…``, ``git:…``, ``files:…``."""


def find_source(given: Path | None, series: str, cache: Cache) -> Source:
    """Return the source at ``given``, or Debian's for ``series`` (``6.12``).

    Raises InputError if ``given`` is not a kernel source, InfraError if Debian's
    package is not installed.
    """
    path = given or DEBIAN_SOURCES / f"linux-source-{series}.tar.xz"
    if not given and not path.exists():
        raise InfraError(
            f"the source of Linux {series} is not installed ({path} is missing)",
            f"apt-get install linux-source-{series}",
        )
    return source_at(path, cache)


def source_at(path: Path, cache: Cache) -> Source:
    """Return the source at ``path``; raise InputError if there is none."""
    if path.is_dir():
        return _folder_source(path.resolve())
    if path.is_file():
        return _tarball_source(path.resolve(), cache)
    raise InputError(f"there is no source at {path}")


def source_tree(source: Source, cache: Cache, progress: Progress) -> Path:
    """Return a folder with the source's files; callers must not write to it.

    Raises InputError if the source cannot be read.
    """

    def make(result: Path, _work: Path) -> EntryFacts:
        tree = result / _TREE
        tree.mkdir()
        if source.path.is_file():
            _unpack_tarball(source, tree, progress)
        else:
            with progress.task(f"Copying Linux {source.version}"):
                _copy_folder(source, tree)
        return {"version": source.version, "digest": source.digest}

    key = source.digest.replace(":", "-")
    title = f"source of Linux {source.version}"
    return cache.entry("sources", key, title, make, progress).folder / _TREE


def _tarball_source(path: Path, cache: Cache) -> Source:
    # Hashing 150 MB takes half a second, so remember the digest until size or mtime
    # changes.
    stat = path.stat()
    identity = f"{path}\0{stat.st_size}\0{stat.st_mtime_ns}"
    name = digest(identity.encode())
    note = cache.root / "digests" / f"{name}.json"
    try:
        known = json.loads(note.read_bytes())
        return Source(path, known["version"], known["digest"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    source = Source(path, _tarball_version(path), f"sha256:{file_digest(path)}")
    # Who cannot write there can still look.
    with suppress(OSError):
        note.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=note.parent, delete=False) as new:
            json.dump(asdict(source), new, default=str)
        Path(new.name).replace(note)
    return source


def _tarball_version(path: Path) -> str:
    options = ("--occurrence=1", "--wildcards", "--no-wildcards-match-slash")
    command: list[str | Path] = [
        "tar",
        "-I",
        _unpacker(path),
        *options,
        "-xOf",
        path,
        "*/Makefile",
    ]
    found = call(command, path.parent, _TIMEOUT)
    if found.status:
        raise InputError(f"{path} cannot be read: {found.tail(1)}")
    return _version("\n".join(found.lines), path)


def _unpack_tarball(source: Source, target: Path, progress: Progress) -> None:
    total = source.path.stat().st_size
    unpacker = _unpacker(source.path)
    options = ("--strip-components=1", "--checkpoint=1000")
    command = ["tar", "-I", unpacker, *options, "-xf", "-"]
    with (
        progress.task(f"Unpacking Linux {source.version}", total) as task,
        source.path.open("rb") as tarball,
    ):

        def checkpoint(_line: str) -> None:
            # tar shares our file description, so its file offset is also ours.
            task.update(os.lseek(tarball.fileno(), 0, os.SEEK_CUR))

        done = call(command, target, _TIMEOUT, stdin=tarball, on_line=checkpoint)
    if done.status:
        raise InputError(
            f"{source.path} cannot be unpacked: {done.tail(1)}",
            "download it again; it may be truncated",
        )


def _unpacker(path: Path) -> str:
    try:
        unpacker = _UNPACKERS[path.suffix]
    except KeyError:
        known = ", ".join(f".tar{suffix}" for suffix in _UNPACKERS)
        raise InputError(f"{path} is neither a folder nor one of {known}") from None
    need_tool("tar")
    need_tool(unpacker.split()[0])
    return unpacker


def _folder_source(path: Path) -> Source:
    makefile = path / "Makefile"
    if not makefile.is_file():
        raise InputError(f"{path} is not a Linux source: it has no Makefile")
    text = makefile.read_text(encoding="utf-8", errors="replace")
    version = _version(text, path)
    if _is_git(path):
        with _scratch_index(path) as env:
            return Source(path, version, _git_digest(path, env))
    if (path / ".config").exists():
        raise InputError(
            f"{path} contains a build as well as the source",
            f"save its .config, then: make -C {path} mrproper",
        )
    return Source(path, version, _files_digest(path))


def _version(makefile: str, path: Path) -> str:
    fields: dict[str, str] = dict(_VERSION_FIELD.findall(makefile))
    try:
        numbers = [fields[name] for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    except KeyError as missing:
        raise InputError(
            f"{path} is not a Linux source: its Makefile has no {missing.args[0]}"
        ) from None
    return ".".join(numbers) + fields.get("EXTRAVERSION", "")


def _files_digest(folder: Path) -> str:
    """Identify a folder by its files' names, contents and execute permissions."""
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        name = os.fsencode(path.relative_to(folder))
        if path.is_symlink():
            total.update(b"link\0%s\0%s\0" % (name, os.fsencode(path.readlink())))
        elif path.is_file():
            content = bytes.fromhex(file_digest(path))
            executable = b"x" if os.access(path, os.X_OK) else b"-"
            total.update(b"file\0%s\0%s%s" % (name, executable, content))
    return f"files:{total.hexdigest()}"


def _is_git(folder: Path) -> bool:
    return (folder / ".git").exists()


def _copy_folder(source: Source, target: Path) -> None:
    if _is_git(source.path):
        with _scratch_index(source.path) as env:
            _git(source.path, env, "checkout-index", "--all", f"--prefix={target}/")
            copied = _git_digest(source.path, env)
    else:
        shutil.copytree(source.path, target, symlinks=True, dirs_exist_ok=True)
        copied = _files_digest(target)
    if copied != source.digest:
        raise InputError(
            f"{source.path} changed while it was being read", "start again"
        )


def _git_digest(folder: Path, env: dict[str, str]) -> str:
    """Identify ``folder`` by the tree that committing all its files would make."""
    return f"git:{_git(folder, env, 'write-tree')}"


@contextmanager
def _scratch_index(folder: Path) -> Iterator[dict[str, str]]:
    """Let git see the folder as it is now without changing its repository."""
    index = folder / _git(folder, None, "rev-parse", "--git-path", "index")
    objects = folder / _git(folder, None, "rev-parse", "--git-path", "objects")
    with scratch_folder() as scratch:
        if index.exists():
            shutil.copy2(index, scratch / "index")
        (scratch / "objects").mkdir()
        env = os.environ | {
            "GIT_INDEX_FILE": str(scratch / "index"),
            "GIT_OBJECT_DIRECTORY": str(scratch / "objects"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(objects),
        }
        _git(folder, env, "add", "--all", ".")
        yield env


def _git(folder: Path, env: dict[str, str] | None, *arguments: str) -> str:
    done = call(["git", *arguments], folder, _TIMEOUT, env=env)
    if done.status:
        raise InputError(f"git cannot read {folder}: {done.tail(1)}")
    return done.tail(1)
