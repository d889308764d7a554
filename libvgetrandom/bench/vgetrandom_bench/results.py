# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a run found: samples, and the estimates that the other modules need."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vgetrandom_bench.cells import CELLS, Cell
from vgetrandom_bench.estimates import Estimate, median_of, speed_ratio
from vgetrandom_bench.measure import Samples


@dataclass(frozen=True)
class Results:
    """Samples of the paths that ran, in the tables' order, and what did not run."""

    samples: Samples
    missing: Mapping[str, str]
    """Path -> why it is missing, and how to get it."""
    order: tuple[str, ...]
    """All paths, including missing ones."""

    @property
    def measured(self) -> set[str]:
        """Return the paths that ran."""
        return {path for path, _ in self.samples}

    def cells(self) -> Iterator[Cell]:
        """Yield the cells that were measured, in the tables' order."""
        seen = {cell for _, cell in self.samples}
        yield from (cell for cell in CELLS if cell in seen)

    def ns(self, path: str, cell: Cell) -> Estimate:
        """Return nanoseconds per call of a path that ran."""
        return median_of(self.samples[path, cell])

    def ratio(self, path: str, against: str, cell: Cell) -> Estimate:
        """Return how many times as fast as another path a path is; both ran."""
        return speed_ratio(self.samples[path, cell], self.samples[against, cell])
