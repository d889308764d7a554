"""kpkeys' judges: whether memory behind a key can be written."""

from .sections import sections
from .writes import writes

__all__ = ["sections", "writes"]
