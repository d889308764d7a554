"""The offset generators under attack, and how their positions come back.

Each yields offset numbers, 0 to 63: what six bits of the kernel's offset say.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from temper.paths import FEATURES

Ints = NDArray[np.int64]

DEFINITION = {"displacement": np.arange(1024) & ~15}
"""As on x86-64: ten bits are drawn, the four lowest have no effect."""

_WORD = 0xFFFFFFFF
_TAUSWORTHE = (
    (6, 13, 0xFFFFFFFE, 18),
    (2, 27, 0xFFFFFFF8, 2),
    (13, 21, 0xFFFFFFF0, 7),
    (3, 12, 0xFFFFFF80, 13),
)


def positions(offsets: Ints) -> Ints:
    """Return where the stack is: the larger the offset, the lower."""
    return 1408 - 16 * offsets


def lfsr113(seed: int = 1) -> Iterator[int]:
    """Draw as prandom_u32_state() does: four shift registers, all linear."""
    words = np.random.default_rng(seed).integers(128, 1 << 32, 4).tolist()
    while True:
        words = [
            (word & keep) << left & _WORD ^ ((word << up & _WORD ^ word) >> down)
            for word, (up, down, keep, left) in zip(words, _TAUSWORTHE, strict=True)
        ]
        yield (words[0] ^ words[1] ^ words[2] ^ words[3]) >> 4 & 63


@dataclass
class Folded:
    """Multiply by a key, fold, xor the key: a state of each task, a key of the CPU."""

    key: int
    state: int

    def draw(self) -> int:
        """Return the next offset."""
        product = self.state * self.key
        self.state = (product ^ product >> 64 ^ self.key) & (1 << 64) - 1
        return self.state >> 4 & 63


def stock_x86(
    calls: int, jitter: int, seed: int = 1, delay: int = 300
) -> dict[str, Ints]:
    """Return samples of stock Linux: ror32(state, 5) ^ counter at each exit.

    The counter is read by the caller ``delay`` to ``delay + jitter`` counts later.
    """
    random = np.random.default_rng(seed)
    state, now = random.integers(0, 1 << 32, 2).tolist()
    late = random.integers(0, jitter + 1, calls).tolist()
    long = random.integers(2500, 2900, calls).tolist()
    seen: list[tuple[int, int, int]] = []
    for i in range(calls):
        before, offset = now, state >> 4 & 63
        now += long[i]
        state = (state >> 5 | state << 27) & _WORD ^ now & _WORD
        now += delay + late[i]
        seen.append((before & _WORD, offset, now & _WORD))
        now += 70
    table = np.array(seen)
    return {
        "clock_before": table[:, 0],
        "clock_position": positions(table[:, 1]),
        "clock_after": table[:, 2],
    }


def explained(judge: str) -> list[str]:
    """Return what the first column of the judge's table in the README names."""
    text = (FEATURES / "kstack" / "judges" / "README.md").read_text(encoding="utf-8")
    table = text.partition(f"Figures of the judge `{judge}`")[2].partition("\nFigures")
    cells = re.findall(r"^\| (`.*?) \|", table[0], re.MULTILINE)
    return re.findall(r"`([\w<>+-]+)`", "\n".join(cells))
