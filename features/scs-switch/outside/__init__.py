"""What attacks a switch of stacks from outside: events at every instruction."""

from .attacks import debug, nmi, serror

__all__ = ["debug", "nmi", "serror"]
