"""scs-switch's judges: what an event finds between two instructions."""

from .injection import breakpoints, interrupts

__all__ = ["breakpoints", "interrupts"]
