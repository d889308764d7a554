"""Results: a database for the facts, and one raw file per boot for the samples."""

from temper.store.shards import ShardBoot, merged, shard_boots, shard_runs
from temper.store.store import RunSummary, Store

__all__ = ["RunSummary", "ShardBoot", "Store", "merged", "shard_boots", "shard_runs"]
