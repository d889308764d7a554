"""Reads the stress test of a feature: ``features/*/stress/stress.toml``."""

from pathlib import Path

from pydantic import Field

from temper.catalog import GUIDE, ArchName, Feature, Inside, Pattern, Stem
from temper.errors import InputError
from temper.record.plan import Growth, Plain
from temper.toml import read_toml


class DebugKernel(Plain):
    """A kernel that finds bugs by itself."""

    title: str
    config: tuple[str, ...]
    """``CONFIG_X=y`` lines, on top of those of all."""


class Board(Plain):
    """A machine that each kernel boots on."""

    title: str
    cpu: str
    """CPU model."""
    cmdline: str = ""
    """Kernel command line, after that of all."""


class TrialOn(Plain):
    """What a trial, such as a stress, has on one architecture."""

    config: tuple[str, ...] = ()
    """``CONFIG_X=y`` lines of all kernels in addition."""
    machines: dict[str, Board] = Field(min_length=1)


class StressOn(TrialOn):
    """What a stress has on one architecture."""

    used: tuple[str, ...] = ()
    """Counters that must be above 0, in addition."""


class Stress(Plain):
    """A program that exercises everything a feature affects, and what to boot it on."""

    program: Stem
    """It gets the number of seconds to run for, and sends counters as samples."""
    sources: tuple[Inside, ...] = Field(min_length=1)
    """Its C files."""
    modules: tuple[Stem, ...] = ()
    """``<module>.c``: kernel modules that it loads."""
    cpus: int = Field(gt=0)
    memory: int = Field(gt=0)
    """In MiB."""
    cmdline: str = ""
    config: tuple[str, ...] = ()
    """``CONFIG_X=y`` lines of all kernels, on top of the first hardened variant's."""
    complaints: tuple[Pattern, ...] = ()
    """Regular expressions of console lines by which the program complains."""
    used: tuple[str, ...] = Field(min_length=1)
    """Counters that must be above 0."""
    zero: tuple[str, ...] = ()
    """Counters that must not be."""
    growth: tuple[Growth, ...] = ()
    kernels: dict[str, DebugKernel] = Field(min_length=1)
    on: dict[ArchName, StressOn] = Field(min_length=1)
    folder: Path


def stress_of(feature: Feature) -> Stress:
    """Return the stress of a feature; raise InputError if it has none."""
    folder = feature.folder / "stress"
    if not folder.is_dir():
        raise InputError(
            f"{feature.name} has no stress", f"{folder}/stress.toml would describe it"
        )
    path = folder / "stress.toml"
    stress = read_toml(path, Stress, GUIDE, folder=folder)
    for name in (*stress.sources, *(f"{module}.c" for module in stress.modules)):
        if not (folder / name).is_file():
            raise InputError(f"{path}: {name} is missing")
    return stress
