"""How the user called Temper, for the commands that it tells them to type."""

import os
import shlex
import shutil
import sys
from pathlib import Path

from temper.paths import IN_CHECKOUT, REPOSITORY

_PROGRAM = "temper"


def as_typed(command: str) -> str:
    """Return a command line that begins with ``temper`` as this user would type it.

    Plans and hints name the program ``temper``; in a checkout one types ``./temper``.
    """
    # Runs that were stored before there was ./temper.
    rest = command.removeprefix("uv run ").removeprefix(_PROGRAM)
    return shlex.quote(_called()) + rest


def setup_as_typed() -> str:
    """Return the command that installs what is missing, right in any folder.

    Empty if Temper is not in a checkout, which has it.
    """
    script = REPOSITORY / "scripts" / "setup"
    return shlex.quote(str(script)) if IN_CHECKOUT else ""


def _called() -> str:
    # The launcher's exec leaves its own name only here.
    called = os.environ.get("TEMPER_COMMAND", "") or _own_name()
    name = Path(called).name
    return name if shutil.which(name) == called else called


def _own_name() -> str:
    """Return what the kernel or a shell started, unless that was another program."""
    return sys.argv[0] if Path(sys.argv[0]).name == _PROGRAM else _PROGRAM
