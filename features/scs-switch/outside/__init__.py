"""What attacks a switch of stacks from outside: an interrupt at every instruction."""

from .nmi import nmi

__all__ = ["nmi"]
