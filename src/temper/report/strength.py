"""How much proofs notice, in words."""

from math import ceil, floor

from temper.analysis.models import Strength


def score(found: Strength) -> str:
    """Return the score as a sentence without a full stop, never rounded up."""
    share = f"{floor(found.score)} %"
    if found.interval:
        low, high = found.interval
        share += f" ({floor(10 * low) / 10:.1f} to {ceil(10 * high) / 10:.1f} %)"
    listed = f", {found.survivors} listed" if found.survivors else ""
    return f"{share} of {count(found.mutants)} noticed or accepted{listed}"


def count(mutants: int) -> str:
    """Return how many mutants, as a noun."""
    return f"{mutants} mutant" + "s" * (mutants != 1)
