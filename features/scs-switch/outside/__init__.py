"""What attacks a switch of stacks from outside: events at every instruction."""

from .attacks import debug, nmi

__all__ = ["debug", "nmi"]
