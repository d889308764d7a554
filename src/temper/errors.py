"""What can go wrong, whose fault it is, and what to do about it.

The command line prints ``message`` and ``hint`` of a TemperError and exits with its
``exit_code``; any other exception is a bug in Temper.
"""

from temper.record.wire import AnyRecord


class TemperError(Exception):
    """Something went wrong that the user can understand and fix."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InputError(TemperError):
    """The user's input is unusable: a name, a file, a feature.toml."""

    exit_code = 2


class InfraError(TemperError):
    """Our fault or the host's: a missing tool, a full disk, a killed QEMU."""

    exit_code = 3


class BootError(TemperError):
    """The kernel's fault: it panicked, hung, or its init died.

    ``console`` is what the kernel had printed by then, ``records`` what there was of
    records.
    """

    exit_code = 4

    def __init__(self, message: str, hint: str = "", console: str = "") -> None:
        super().__init__(message, hint)
        self.console = console
        self.records: list[AnyRecord] = []


class BuildError(TemperError):
    """The kernel, a module or a target program did not build."""

    exit_code = 5


class SeriesError(BuildError):
    """A patch of a series does not apply; the message names file and hunk."""


class InterruptError(TemperError):
    """The user or the host stopped it; finished work is kept."""

    def __init__(self, message: str, hint: str = "", exit_code: int = 130) -> None:
        """``exit_code``: 128 and the number of the signal."""
        super().__init__(message, hint)
        self.exit_code = exit_code


class Signalled(BaseException):
    """A signal asks this program to end; it interrupts whatever is going on."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class UnreadError(TemperError):
    """Nobody reads stdout any more, as after ``| head``: end without a word."""

    exit_code = 141
    """As if SIGPIPE had ended us."""


class StoreError(InfraError):
    """The results store is not readable or not writable."""
