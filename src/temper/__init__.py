"""Temper: Linux kernel hardening, proven and priced."""

__version__ = "0.1.0"
