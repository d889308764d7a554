"""kpkeys' judge: whether memory behind a key can be written."""

from .writes import writes

__all__ = ["writes"]
