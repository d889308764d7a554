"""Puts the boots of a plan's shards together, from the raw files that each left."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from temper.errors import InputError
from temper.invocation import as_typed
from temper.record.boot import BootFacts, StoredBoot
from temper.record.plan import RunPlan, Slot
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
    for path in dict.fromkeys(path for each in folders for path in _raw_files(each)):
        run, boot = read_with_console(path)
        if run.plan.shard:
            found.append(ShardBoot(path.parent, run.plan, boot))
    if not found:
        raise InputError(
            "there is no shard in these folders",
            "give those that --shard named, or any folder around them",
        )
    return found


def _raw_files(folder: Path) -> list[Path]:
    try:
        if not folder.is_dir():
            raise InputError(f"{folder} is no folder")
        return raw_paths_below(folder)
    except OSError as error:
        raise InputError(f"cannot read {folder}: {error.strerror}") from error


def merged(found: Sequence[ShardBoot]) -> tuple[RunPlan, list[StoredBoot]]:
    """Return the whole plan, and its boots in its order.

    Raises InputError if the shards are of several plans, were made with other tools,
    contradict each other, or are not all there.
    """
    first, *others = found
    for other in others:
        if other.plan.whole != first.plan.whole:
            raise InputError(
                f"{first.folder} and {other.folder} are of two plans: "
                f"{_difference(first.plan.whole, other.plan.whole)}",
                "give the shards of one plan, made by one version of everything",
            )
    _check_tools(found)
    boots = _by_slot(found)
    plan = first.plan.whole
    if missing := [slot for slot in plan.slots if slot not in boots]:
        raise _incomplete(first.plan, missing)
    return plan, [boots[slot].boot for slot in plan.slots]


def _difference(one: RunPlan, other: RunPlan) -> str:
    if one.command != other.command:
        return f"'{one.command}' and '{other.command}'"
    if one.temper_version != other.temper_version:
        return f"Temper {one.temper_version} and Temper {other.temper_version}"
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
    """Raise InputError if boots of one variant ran with other tools."""
    seen: dict[tuple[str, bool], ShardBoot] = {}
    for each in found:
        facts = each.boot.facts
        first = seen.setdefault((facts.variant, facts.machine.exact), each)
        before, now = _tools(first.boot.facts), _tools(facts)
        for tool in before:
            if before[tool] != now[tool]:
                raise InputError(
                    f"{facts.variant} has another {tool} in {first.folder} "
                    f"({before[tool]}) than in {each.folder} ({now[tool]})",
                    "make all shards with the same tools",
                )


def _tools(facts: BootFacts) -> Mapping[str, str]:
    """Return what counts depend on besides the plan, by its name for people."""
    return {
        "machine": f"{facts.machine.name}, {facts.machine.version}",
        "CPU model": facts.machine.cpu_model,
        "plugin": facts.machine.details.get("plugin", "none"),
        "compiler": facts.kernel.compiler,
        "configuration": facts.kernel.config_hash,
        "image": facts.kernel.image_hash or facts.kernel.key,
    }


def _by_slot(found: Iterable[ShardBoot]) -> dict[Slot, ShardBoot]:
    """Return slot -> its boot; one that was made twice must be the same."""
    boots: dict[Slot, ShardBoot] = {}
    for each in found:
        slot = each.boot.facts.slot
        first = boots.setdefault(slot, each)
        if first.boot.records != each.boot.records:
            raise InputError(
                f"boot {slot.variant}-{slot.repeat} differs in {first.folder} and "
                f"{each.folder}",
                "leave one of them out",
            )
    return boots


def _incomplete(plan: RunPlan, missing: Sequence[Slot]) -> InputError:
    """Say which boots are missing, and the commands that make their shards."""
    # All shards are of one plan, but not of as many parts, perhaps.
    assert plan.shard
    count = plan.shard.count
    parts = [plan.whole.part(number, count) for number in range(1, count + 1)]
    wanted = [part for part in parts if set(part.slots) & set(missing)]
    names = ", ".join(f"{slot.variant}-{slot.repeat}" for slot in missing)
    shards = ", ".join(str(part.shard) for part in wanted)
    commands = "; ".join(as_typed(part.own_command) for part in wanted)
    return InputError(
        f"shard {shards} is incomplete: boots {names} are missing", commands
    )
