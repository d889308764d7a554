"""Results: a database for facts, one raw file per boot for samples."""

from temper.store.store import RunSummary, Store

__all__ = ["RunSummary", "Store"]
