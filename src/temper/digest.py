"""Digests of contents: SHA-256, in hexadecimal."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path


def digest(data: bytes) -> str:
    """Return the SHA-256 of ``data``."""
    return hashlib.sha256(data).hexdigest()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's content; raise OSError if it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def code_digest(folder: Path) -> str:
    """Return the SHA-256 over the Python files below a folder, and their names."""
    # Editors leave links to nowhere beside the files.
    files = [path for path in folder.rglob("*.py") if path.is_file()]
    return key_of({str(path.relative_to(folder)): file_digest(path) for path in files})


def key_of(inputs: Mapping[str, object]) -> str:
    """Return the key of what is made from ``inputs``, which must be valid as JSON.

    The same inputs give the same key on any host and in any order.
    """
    return digest(json.dumps(inputs, sort_keys=True).encode())
