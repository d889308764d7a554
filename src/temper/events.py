"""Reads the events that a feature is led through: ``features/*/events/events.toml``."""

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from temper.catalog import GUIDE, ArchName, Feature, Pattern, Stem
from temper.errors import InputError
from temper.extension import script_named
from temper.record.plan import Plain
from temper.stress import TrialOn
from temper.toml import read_toml


class Event(Plain):
    """Something that happens to a machine; the function of that name leads to it."""

    title: str
    architectures: tuple[ArchName, ...] = ()
    """Those where it can happen; none: all that the events are for."""
    expected_complaints: tuple[Pattern, ...] = ()
    """Regular expressions of complaints that the event itself causes."""
    needs: dict[str, str] = Field(default_factory=dict)
    """File of the host -> Debian's package that has it."""


class EventsOn(TrialOn):
    """What events have on one architecture."""

    hardware: tuple[str, ...] = ()
    """Options of the machine in addition."""


class Events(Plain):
    """Events, and the kernel and machines that they happen to."""

    modules: tuple[Stem, ...] = ()
    """``<module>.c``: kernel modules that init loads."""
    cpus: int = Field(gt=0)
    memory: int = Field(gt=0)
    """In MiB."""
    hardware: tuple[str, ...] = ()
    """Options of the machine."""
    config: tuple[str, ...] = ()
    """``CONFIG_X=y`` lines on top of the first hardened variant's."""
    complaints: tuple[Pattern, ...] = ()
    """Regular expressions of console lines by which tests in the kernel complain."""
    used: tuple[str, ...] = Field(min_length=1)
    """What each script must have found, in any number above 0."""
    events: dict[str, Event] = Field(min_length=1)
    on: dict[ArchName, EventsOn] = Field(min_length=1)
    folder: Path

    @model_validator(mode="after")
    def _check_architectures(self) -> Self:
        """Refuse an event for an architecture that has no machine."""
        for name, event in self.events.items():
            if foreign := set(event.architectures) - self.on.keys():
                raise ValueError(f"event '{name}' is for {sorted(foreign)}")
        return self

    def events_on(self, arch: str) -> dict[str, Event]:
        """Return those that can happen on an architecture."""
        return {
            name: event
            for name, event in self.events.items()
            if arch in (event.architectures or self.on)
        }


def events_of(feature: Feature) -> Events:
    """Return the events of a feature.

    Raises InputError if it has none, or lacks a file or a script.
    """
    folder = feature.folder / "events"
    if not folder.is_dir():
        raise InputError(
            f"{feature.name} has no events", f"{folder}/events.toml would describe them"
        )
    path = folder / "events.toml"
    events = read_toml(path, Events, GUIDE, folder=folder)
    for module in events.modules:
        if not (folder / f"{module}.c").is_file():
            raise InputError(f"{path}: {module}.c is missing")
    for name in events.events:
        script_named(folder, name)
    return events
