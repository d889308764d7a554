"""Puts the boots of a plan's shards together, from the raw files that each left."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from temper.errors import InputError
from temper.invocation import as_typed
from temper.record.boot import StoredBoot
from temper.record.plan import RunPlan, Slot
from temper.record.tools import SeenTools, tools_of
from temper.store.rawfile import raw_paths_below, read_with_console


@dataclass(frozen=True)
class ShardBoot:
    """A boot of a shard."""

    folder: Path
    """Where it lies, which is the name of its shard for people."""
    plan: RunPlan
    """Of the shard."""
    boot: StoredBoot


def shard_boots(folders: Iterable[Path]) -> list[ShardBoot]:
    """Read the boots of all shards in some folders and in those below.

    Runs that are no shards are left out. Raises InputError if there is no shard or a
    folder cannot be read, StoreError for a raw file that is damaged.
    """
    found = []
    for folder in folders:
        if not folder.is_dir():
            raise InputError(f"{folder} is no folder")
        try:
            for path in raw_paths_below(folder):
                run, boot = read_with_console(path)
                if run.plan.shard:
                    found.append(ShardBoot(path.parent, run.plan, boot))
        except OSError as error:
            raise InputError(
                f"cannot read {error.filename}: {error.strerror}"
            ) from error
    if not found:
        raise InputError(
            "there is no shard in these folders",
            "give those that --shard named, or any folder around them",
        )
    return found


def merged(found: Sequence[ShardBoot]) -> tuple[RunPlan, list[StoredBoot]]:
    """Return the whole plan, and its boots in its order.

    Raises InputError if the shards are of several plans, were made with other tools,
    contradict each other, or are not all there.
    """
    first, *others = found
    plan = first.plan.whole
    for other in others:
        if other.plan.whole.without_reasons != plan.without_reasons:
            raise InputError(
                f"{first.folder} and {other.folder} are of two plans: "
                f"{_difference(plan, other.plan.whole)}",
                "give the shards of one plan, made with one version of everything "
                "and the same paths",
            )
    _check_tools(found)
    boots = _by_slot(found)
    if missing := [slot for slot in plan.slots if slot not in boots]:
        raise _incomplete(first.plan, missing)
    return plan, [boots[slot].boot for slot in plan.slots]


def _difference(one: RunPlan, other: RunPlan) -> str:
    if one.command != other.command:
        return f"'{one.command}' and '{other.command}'"
    if one.temper_version != other.temper_version:
        return f"Temper {one.temper_version} and Temper {other.temper_version}"
    if one.work.root != other.work.root:
        return "they have other versions of Debian's packages"
    kernels = [
        name
        for name, variant in one.variants.items()
        if name in other.variants and other.variants[name].kernel != variant.kernel
    ]
    if kernels:
        return (
            f"the kernel of {', '.join(kernels)} differs: its source, patches or "
            "compiler"
        )
    fields = [
        name
        for name in RunPlan.model_fields
        if getattr(one, name) != getattr(other, name)
    ]
    return f"they differ in {', '.join(fields)}"


def _check_tools(found: Iterable[ShardBoot]) -> None:
    """Raise InputError if boots ran with other tools than they may."""
    seen = SeenTools()
    for each in found:
        tools = tools_of(each.boot.facts)
        if difference := seen.difference(tools, f"in {each.folder}"):
            raise InputError(difference, "make all shards with the same tools")


def _by_slot(found: Iterable[ShardBoot]) -> dict[Slot, ShardBoot]:
    """Return slot -> its boot; one that was made twice must have gone the same way."""
    boots: dict[Slot, ShardBoot] = {}
    for each in found:
        slot = each.boot.facts.slot
        if slot not in each.plan.slots:
            raise InputError(
                f"boot {_name(slot)} in {each.folder} is none of its shard's"
            )
        first = boots.setdefault(slot, each)
        if first.boot.outcome != each.boot.outcome:
            raise InputError(
                f"boot {_name(slot)} was made twice, and went another way in "
                f"{first.folder} than in {each.folder}",
                "leave out the folder of one of them",
            )
    return boots


def _name(slot: Slot) -> str:
    return f"{slot.variant}-{slot.repeat}"


def _incomplete(plan: RunPlan, missing: Sequence[Slot]) -> InputError:
    """Say which boots are missing, and the commands that make their shards."""
    assert plan.shard
    count = plan.shard.count
    parts = [plan.whole.part(number, count) for number in range(1, count + 1)]
    wanted = [part for part in parts if set(part.slots) & set(missing)]
    names = ", ".join(map(_name, missing))
    shards = ", ".join(str(part.shard) for part in wanted)
    commands = "; ".join(as_typed(part.own_command) for part in wanted)
    return InputError(
        f"shard {shards} is incomplete: boots {names} are missing", commands
    )
