"""Applies a patch series, and says which hunk does not fit."""

import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from temper.errors import SeriesError
from temper.process import call
from temper.progress import Progress, Quiet
from temper.scratch import scratch_folder

_TIMEOUT = 120.0
_PATCH = ("patch", "-p1", "--fuzz=0", "--force", "--no-backup-if-mismatch", "-i")
_TOUCHED = re.compile(r"^(?:---|\+\+\+) [ab]/(\S+)", re.MULTILINE)
_FILE = re.compile(r"(?:checking|patching) file '?(.*?)'?(?: \(.*\))?$")


@dataclass(frozen=True)
class _Trial:
    """How a patch would apply; ``distance``: by how many lines its hunks move."""

    fits: bool
    distance: int
    lines: list[str]


def apply_series(
    tree: Path, patches: Sequence[Path], progress: Progress
) -> tuple[Path, ...]:
    """Apply ``patches`` to ``tree`` in order, without fuzz.

    Returns the patches that were skipped because the tree already has them. Raises
    SeriesError, which names patch, file and hunk.
    """
    skipped = []
    for patch in patches:
        if is_applied(tree, patch):
            progress.say(f"{patch.name}: the source already has it")
            skipped.append(patch)
        else:
            done = call([*_PATCH, patch.resolve()], tree, _TIMEOUT)
            if done.status:
                raise SeriesError(f"{patch.name} does not apply: {done.tail(3)}")
    return tuple(skipped)


def series_texts(
    pristine: Path, patches: Sequence[Path]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return file -> its text without a series, and with it, of all that it touches.

    A file that is not there has no text. ``pristine``: the source's tree, which stays
    as it is. Raises SeriesError as ``apply_series`` does.
    """
    touched = {
        name
        for patch in patches
        for name in _TOUCHED.findall(patch.read_text(encoding="utf-8"))
    }
    with scratch_folder() as tree:
        for name in touched:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            if (pristine / name).is_file():
                shutil.copy(pristine / name, tree / name)
        before = _texts(tree, touched)
        apply_series(tree, patches, Quiet())
        return before, _texts(tree, touched)


def _texts(tree: Path, names: Iterable[str]) -> dict[str, str]:
    return {
        name: (tree / name).read_text(encoding="utf-8", errors="replace")
        for name in sorted(names)
        if (tree / name).is_file()
    }


def is_applied(tree: Path, patch: Path) -> bool:
    """Return whether ``tree`` already has ``patch``.

    Raises SeriesError if it does not and the patch does not apply either.
    """
    forward = _try(tree, patch)
    backward = _try(tree, patch, "--reverse")
    if forward.fits and backward.fits:
        # Repetitive code can fit both ways; the direction with less offset is right.
        return backward.distance < forward.distance
    if not (forward.fits or backward.fits):
        raise SeriesError(f"{patch.name} does not apply: {_misfit(forward.lines)}")
    return backward.fits


def _try(tree: Path, patch: Path, *options: str) -> _Trial:
    command: list[str | Path] = [*_PATCH, patch.resolve(), "--dry-run", *options]
    done = call(command, tree, _TIMEOUT)
    moves = re.findall(r"\(offset (-?\d+) lines?\)", "\n".join(done.lines))
    distance = sum(abs(int(lines)) for lines in moves)
    return _Trial(done.status == 0, distance, done.lines)


def _misfit(lines: list[str]) -> str:
    """Name file and hunk of the first misfit that ``patch`` printed in ``lines``."""
    file = ""
    for line in lines:
        if named := _FILE.match(line):
            file = named[1]
        if failed := re.match(r"Hunk #(\d+) FAILED at (\d+)", line):
            return f"{file}: hunk {failed[1]} (line {failed[2]}) does not match"
        if missing := re.match(r"\|\+\+\+ b/(\S+)", line):
            return f"{missing[1]}: no such file in this source"
    return "\n".join(lines) or "'patch' gives no reason"
