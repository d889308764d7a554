"""A feature's series as commits in a git tree, and back to patch files.

Developers work on patches in this tree: its tag ``base`` is the source, and the
commits on top of it are the series.
"""

import os
import re
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from temper.catalog import Feature
from temper.errors import InputError, SeriesError
from temper.invocation import as_typed
from temper.kernel.cache import Cache
from temper.kernel.series import is_applied
from temper.kernel.source import Source, source_tree
from temper.process import Finished, call
from temper.progress import Progress

BASE = "base"
"""The tag of the source's commit."""

_SKIPPED = "temper.skipped"
"""The git setting that lists the patches that the source already had."""

_TIMEOUT = 1800.0

_IDENTITY = {
    "GIT_AUTHOR_NAME": "Temper",
    "GIT_AUTHOR_EMAIL": "temper@localhost",
    "GIT_COMMITTER_NAME": "Temper",
    "GIT_COMMITTER_EMAIL": "temper@localhost",
}

_FORMAT = (
    *("-c", "core.abbrev=12", "format-patch", "--quiet", "--no-numbered"),
    *("--zero-commit", "--no-signature"),
)


@dataclass(frozen=True)
class Exported:
    """What an export did to a series folder."""

    patches: list[Path]
    """The files of the series."""
    changed: list[str]
    """Names of those that it wrote."""
    removed: list[str]
    """Names of the files that were no longer in the series."""


def series_folder(feature: Feature) -> Path:
    """Return the folder of the feature's series."""
    return feature.folder / "patches" / feature.series


def make_tree(
    feature: Feature, folder: Path, source: Source, cache: Cache, progress: Progress
) -> list[Path]:
    """Make ``folder`` a git tree of ``source`` with the feature's series on top.

    Returns the patches that became commits; it leaves out those that the source
    already has, and says so. Raises InputError if ``folder`` is not empty, and
    SeriesError if a patch does not apply; the tree then has the patches before it.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(
            f"{folder} is not empty", "give a folder that does not exist yet"
        )
    pristine = source_tree(source, cache, progress)
    try:
        with progress.task(f"Committing Linux {source.version}"):
            _commit_base(pristine, folder, source)
    except BaseException:
        with suppress(OSError):
            shutil.rmtree(folder)
        raise
    patches = sorted(series_folder(feature).glob("*.patch"))
    return [patch for patch in patches if _commit(folder, patch, progress)]


def export_series(feature: Feature, folder: Path) -> Exported:
    """Write the commits of the tree ``folder`` to the feature's series folder.

    It leaves the file of a commit that did not change as it is, to the byte: kernels
    are kept under keys of these files. Files that are no longer in the series are
    removed. Raises InputError if ``folder`` is not such a tree, or if work would be
    lost.
    """
    _check_tree(folder)
    series = series_folder(feature)
    series.mkdir(parents=True, exist_ok=True)
    before = {patch.name: patch.read_bytes() for patch in series.glob("*.patch")}
    known = {_commit_of(content): content for content in before.values()}
    with tempfile.TemporaryDirectory(prefix="temper-") as name:
        _git(folder, *_FORMAT, "--output-directory", name, f"{BASE}..HEAD")
        new = {patch.name: patch.read_bytes() for patch in sorted(Path(name).iterdir())}
    after = {name: known.get(_commit_of(text), text) for name, text in new.items()}
    changed = [name for name, content in after.items() if before.get(name) != content]
    removed = sorted(before.keys() - after.keys())
    for name in changed:
        _write(series / name, after[name])
    for name in removed:
        (series / name).unlink()
    return Exported([series / name for name in after], changed, removed)


def _commit_of(patch: bytes) -> bytes:
    """Return what a patch file says of its commit, without what git adds.

    That is the sum of changes, digests of files, the number of the patch, the length of
    lines in its header, and git's version.
    """
    header, _, body = patch.partition(b"\n\n")
    body = b"\n" + body
    header = re.sub(rb"\n[ \t]", b" ", re.sub(rb"^From \S+ .*\n", b"", header))
    header = re.sub(rb"^Subject: \[PATCH[^]]*\] ", b"Subject: ", header, flags=re.M)
    message, _, changes = body.partition(b"\n---\n")
    _, start, changes = changes.partition(b"diff --git ")
    # No line of a change begins with a digit.
    changes = re.sub(rb"\n-- \n\d[^\n]*\s*\Z", b"\n", start + changes).rstrip()
    changes = re.sub(rb"^index [0-9a-f]+\.\.[0-9a-f]+", b"", changes, flags=re.M)
    return b"\0".join((header, message.rstrip(), changes))


def _write(file: Path, content: bytes) -> None:
    """Replace a file whole, or leave it as it was."""
    new = file.with_name(f".{file.name}.new")
    new.write_bytes(content)
    new.replace(file)


def _commit_base(pristine: Path, folder: Path, source: Source) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    done = call(["cp", "-a", f"{pristine}/.", folder], pristine, _TIMEOUT)
    if done.status:
        raise InputError(f"cannot write {folder}: {done.tail(1)}")
    _git(folder, "init", "--quiet")
    # --force, since the source may contain files that its .gitignore names.
    _git(folder, "add", "--all", "--force")
    message = f"Linux {source.version}\n\n{source.digest}"
    epoch = {"GIT_AUTHOR_DATE": "@0 +0000", "GIT_COMMITTER_DATE": "@0 +0000"}
    _git(folder, "commit", "--quiet", "--message", message, env=epoch)
    _git(folder, "tag", BASE)


def _commit(folder: Path, patch: Path, progress: Progress) -> bool:
    try:
        applied = is_applied(folder, patch)
    except SeriesError as error:
        raise SeriesError(
            error.message,
            f"{folder} has the patches before it; to apply this one by hand: "
            f"git -C {folder} am --reject {patch}",
        ) from error
    if applied:
        progress.say(f"{patch.name}: the source already has it")
        _git(folder, "config", "--add", _SKIPPED, patch.name)
    else:
        _git(folder, "am", "--quiet", patch.resolve())
    return not applied


def _check_tree(folder: Path) -> None:
    hint = f"'{as_typed('temper kernel tree')}' makes one"
    if not (folder / ".git").exists():
        raise InputError(f"{folder} is not a git tree", hint)
    if _try_git(folder, "merge-base", "--is-ancestor", BASE, "HEAD").status:
        raise InputError(f"{folder}: HEAD is not based on a tag '{BASE}'", hint)
    if _git(folder, "status", "--porcelain", "--untracked-files=no").lines:
        raise InputError(f"{folder} has uncommitted changes", "git commit")
    if (folder / ".git" / "rebase-apply").exists():
        raise InputError(f"{folder} is in the middle of git am", "finish it first")
    skipped = _try_git(folder, "config", "--get-all", _SKIPPED).lines
    if skipped:
        raise InputError(
            f"the source of {folder} already had {', '.join(skipped)}: "
            "exporting would remove that from the series",
            "make the tree from a source without it, or remove the patch and run "
            f"git config --unset-all {_SKIPPED}",
        )


def _git(
    folder: Path, *arguments: str | Path, env: dict[str, str] | None = None
) -> Finished:
    done = _try_git(folder, *arguments, env=env)
    if done.status:
        raise InputError(f"git failed in {folder}: {done.tail(3)}")
    return done


def _try_git(
    folder: Path, *arguments: str | Path, env: dict[str, str] | None = None
) -> Finished:
    # The user's own settings would change the format of the patches.
    settings = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    full = inherited | _IDENTITY | settings | (env or {})
    return call(["git", *arguments], folder, _TIMEOUT, env=full)
