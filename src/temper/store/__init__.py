"""Results: a database for the facts, and one raw file per boot for the samples."""

from temper.store.shards import merged, shard_boots
from temper.store.store import RunSummary, Store

__all__ = ["RunSummary", "Store", "merged", "shard_boots"]
