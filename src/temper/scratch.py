"""Folders for files that nobody wants to keep.

Whoever is killed leaves its folders behind; the next one removes them.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from temper.errors import InfraError
from temper.owners import Ownership, left_behind
from temper.process import SCRATCH_FULL_HINT

_PREFIX = "temper-"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Lend an empty folder; raise InfraError if the host has none."""
    with ExitStack() as stack:
        try:
            folder = _new_folder(Path(tempfile.gettempdir()), stack)
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise InfraError(
                f"cannot make a scratch folder: {where}{error.strerror}",
                SCRATCH_FULL_HINT,
            ) from error
        yield folder


def _new_folder(parent: Path, stack: ExitStack) -> Path:
    for place in left_behind(parent, _PREFIX):
        shutil.rmtree(place, ignore_errors=True)
    owner = Ownership(parent, _PREFIX)
    stack.callback(owner.give_up)
    owner.place.mkdir(mode=0o700)
    stack.callback(shutil.rmtree, owner.place, ignore_errors=True)
    return owner.place
