"""kstack's judges: what stack positions tell an attacker."""

from .clock import clock
from .early import early
from .leak import leak
from .linear import linear
from .prediction import prediction
from .seeds import seeds
from .storm import storm
from .twins import twins
from .ways import ways

__all__ = [
    "clock",
    "early",
    "leak",
    "linear",
    "prediction",
    "seeds",
    "storm",
    "twins",
    "ways",
]
