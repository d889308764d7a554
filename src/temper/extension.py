"""Loads a feature's own Python code from its folder, by name.

So everything about a feature is in one folder, and the lab does not name any of it.
``temper.stats.judging`` says what a judge is.
"""

import importlib.util
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, partial
from inspect import Parameter, get_annotations, signature
from pathlib import Path
from types import ModuleType
from typing import Any

from temper.errors import InputError
from temper.stats.judging import Judge, Series

Draw = Callable[[Mapping[str, Series], str, str], str]
"""Called as ``draw(found, variant, name)``; returns the SVG of one variant.

``found`` has what a proof found on all variants, so that they can share a scale; all
ids in the SVG must start with ``name``.
"""

Script = Callable[[Any], Mapping[str, int]]
"""Leads guests through an event, by a ``temper.run.leading.Leader``.

Returns what its checks counted, by name; raises BootError if the kernel failed one.
"""

Attack = Callable[[Any], Iterable[tuple[str, Sequence[int]]]]
"""Attacks from outside, by a ``temper.run.attacking.Target``.

Yields names and samples for the proof's judge, and those of one name make a whole. If
the guest ends, it raises BootError, and what was yielded by then counts.
"""

_HELP = "docs/adding-a-feature.md says what judges, plots and events are"


def judges_of(folder: Path) -> Path:
    """Return the package of the judges of the feature in ``folder``."""
    return folder / "judges"


def judge_named(folder: Path, name: str, params: Collection[str]) -> Judge:
    """Return the judge ``name`` of the feature in ``folder``, which takes ``params``.

    Raises InputError if the feature has no such judge, or if the judge does not take
    one of the parameters, lacks one, or takes anything but floats.
    """
    judge: Judge = _exported(judges_of(folder), "judge", name)
    _check_params(judge, name, params)
    return judge


def script_named(folder: Path, name: str) -> Script:
    """Return the script ``name`` of the package ``folder``; raise InputError."""
    script: Script = _exported(folder, "event", name)
    return script


def outside_of(folder: Path) -> Path:
    """Return the package that attacks from outside, of the feature in ``folder``."""
    return folder / "outside"


def attack_named(folder: Path, name: str) -> Attack:
    """Return the attack ``name`` of the package ``folder``; raise InputError."""
    attack: Attack = _exported(folder, "attack", name)
    return attack


def _exported(folder: Path, what: str, name: str) -> Callable[..., Any]:
    """Return a function that a feature's package lists in ``__all__``."""
    path = folder / "__init__.py"
    if not path.is_file():
        raise InputError(f"unknown {what} '{name}': {path} is missing", _HELP)
    package = loaded(path)
    known: Collection[str] = getattr(package, "__all__", ())
    if name not in known:
        raise InputError(
            f"unknown {what} '{name}'",
            f"known in {folder}: {', '.join(known) or 'none'}",
        )
    found: Callable[..., Any] | None = getattr(package, name, None)
    if not callable(found):
        raise InputError(f"{what} '{name}' in {folder} is no function", _HELP)
    return found


def plots_of(folder: Path) -> Draw | None:
    """Return the function that draws the series of a feature's judges, or None.

    It raises InputError if the plots are unusable. It loads them only when it is
    called, since loading takes a second.
    """
    path = folder / "plots.py"
    return partial(_draw, path) if path.is_file() else None


def _draw(path: Path, found: Mapping[str, Series], variant: str, name: str) -> str:
    draw: Draw | None = getattr(loaded(path), "draw", None)
    if draw is None:
        raise InputError(f"{path} has no function 'draw'", _HELP)
    try:
        return draw(found, variant, name)
    except Exception as error:
        raise InputError(
            f"{path} cannot draw {variant}: {type(error).__name__}: {error}", _HELP
        ) from error


@cache
def loaded(path: Path) -> ModuleType:
    """Return the module of a file, or the package of an ``__init__.py``.

    Modules of such a package import each other relatively, since it has no name of its
    own: several features have one. Raises InputError if the import fails.
    """
    spec = importlib.util.spec_from_file_location(str(path), path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        # This is the feature's own code, so its author must fix any error in it.
        raise InputError(
            f"{path} cannot be imported: {type(error).__name__}: {error}",
            "fix it, or use a version of the feature in which it works",
        ) from error
    return module


def _check_params(judge: Judge, name: str, given: Collection[str]) -> None:
    taken = {
        each.name: each.default is Parameter.empty
        for each in signature(judge).parameters.values()
        if each.kind is Parameter.KEYWORD_ONLY
    }
    hint = f"it takes: {', '.join(taken) or 'none'}"
    for param, wanted in get_annotations(judge).items():
        if param in taken and wanted not in (float, "float"):
            raise InputError(f"judge '{name}' must take a float as '{param}'", _HELP)
    for param in given:
        if param not in taken:
            raise InputError(f"judge '{name}' takes no parameter '{param}'", hint)
    for param, needed in taken.items():
        if needed and param not in given:
            raise InputError(f"judge '{name}' lacks the parameter '{param}'", hint)
