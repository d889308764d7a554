"""The bases: what a kernel has apart from what a feature needs."""

from temper.errors import InputError
from temper.paths import REPOSITORY
from temper.record.plan import USUAL_BASE, Plain
from temper.toml import read_toml

FOLDER = REPOSITORY / "kernel"
"""A folder for each base, with a fragment for each architecture: see the README.md."""


class Base(Plain):
    """A configuration that features add their options to."""

    name: str
    title: str
    """Follows "a kernel"."""
    start: str
    """Kbuild's target for the configuration that the fragment is added to."""
    build_steps: dict[str, int]
    """Architecture -> roughly how many steps a build takes."""

    def fragment(self, arch: str) -> str:
        """Return the text of the options for an architecture."""
        path = FOLDER / self.name / f"{arch}.config"
        return path.read_text(encoding="utf-8")


def base_names() -> tuple[str, ...]:
    """Return the names of all bases, the usual one first."""
    found = {path.parent.name for path in FOLDER.glob("*/base.toml")}
    return (USUAL_BASE, *sorted(found - {USUAL_BASE}))


def base_named(name: str) -> Base:
    """Return a base; raise InputError for an unknown name or a broken table."""
    if name not in base_names():
        known = ", ".join(base_names())
        raise InputError(f"unknown base '{name}'", f"known: {known}")
    path = FOLDER / name / "base.toml"
    return read_toml(path, Base, "kernel/README.md lists every field", name=name)
