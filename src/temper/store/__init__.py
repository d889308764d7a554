"""Results: a database for the facts, and one raw file per boot for the samples."""

from temper.store.store import RunSummary, Store

__all__ = ["RunSummary", "Store"]
