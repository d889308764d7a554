"""Exceptions that an arm64 kernel takes from itself, raised by a debugger.

Each is an ``Event`` of ``temper.run.injection``.
"""

from temper.run.exceptions.breakpoint import Breakpoint
from temper.run.exceptions.cpu import Cpu
from temper.run.exceptions.exception import KernelException
from temper.run.exceptions.instruction import Place
from temper.run.exceptions.interrupt import Interrupt, Nmi
from temper.run.exceptions.program import end_program
from temper.run.exceptions.serror import FatalError, SError, unless_fatal

__all__ = [
    "Breakpoint",
    "Cpu",
    "FatalError",
    "Interrupt",
    "KernelException",
    "Nmi",
    "Place",
    "SError",
    "end_program",
    "unless_fatal",
]
