"""What attacks sections from outside: exceptions at every instruction, on arm64."""

from .attacks import debug, irq, nmi, serror

__all__ = ["debug", "irq", "nmi", "serror"]
