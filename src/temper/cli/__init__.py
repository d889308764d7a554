"""The command line: parses, calls, prints. One module for each family of commands."""

from temper.cli.program import app, main

__all__ = ["app", "main"]
