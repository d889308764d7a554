"""Temper: Linux kernel hardening, proven and priced."""

from importlib.metadata import version

__version__ = version("temper")
