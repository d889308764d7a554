"""Puts the boots of a plan's shards together, from the raw files that each left."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from temper.errors import InputError
from temper.invocation import as_typed
from temper.record.boot import Choice, StoredBoot, StoredRun
from temper.record.plan import RunPlan, Slot
from temper.record.tools import SeenTools, tools_of
from temper.store.rawfile import RunHead, raw_paths_below, read_with_console

_NAMED = 6


@dataclass(frozen=True)
class ShardBoot:
    """A boot of a shard."""

    folder: Path
    """Where it lies, which is the name of its shard for people."""
    run: RunHead
    """Of the shard."""
    boot: StoredBoot

    @property
    def plan(self) -> RunPlan:
        """The plan of the shard."""
        return self.run.plan

    @property
    def number(self) -> int:
        """Which shard it is of."""
        assert self.plan.shard
        return self.plan.shard.number

    @property
    def count(self) -> int:
        """How many shards its plan has."""
        assert self.plan.shard
        return self.plan.shard.count


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
                    found.append(ShardBoot(path.parent, run, boot))
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


def merged(
    found: Sequence[ShardBoot],
    choice_of: Callable[[RunPlan], Choice | None] = lambda plan: None,
) -> tuple[RunPlan, list[StoredBoot]]:
    """Return the whole plan, and its boots in its order.

    What every shard has made counts once. ``choice_of``: returns what chooses the
    boots of a plan; None: all. Raises InputError if the shards are of several plans,
    were made with other tools, contradict each other, or are not all there.
    """
    first, *others = found
    plan = first.plan.whole
    one = plan.without_reasons
    for other in others:
        if (two := other.plan.whole.without_reasons) != one:
            raise InputError(
                f"{first.folder} and {other.folder} are of two plans: "
                f"{_difference(one, two)}",
                "give the shards of one plan, made with one version of everything "
                "and the same paths",
            )
        if first.count != other.count:
            raise InputError(
                f"{first.folder} is one of {first.count} shards, and {other.folder} "
                f"of {other.count}",
                "give the shards of one number of them",
            )
    _check_tools(found)
    boots = _by_slot(found)
    _check_complete(shard_runs(found), boots, choice_of(plan))
    return plan, [boots[slot].boot for slot in plan.slots if slot in boots]


def shard_runs(found: Sequence[ShardBoot]) -> list[StoredRun]:
    """Return each shard of a plan as a run of its own, without boots if it has none."""
    runs = []
    shard = found[0].plan.shard
    assert shard
    for number in range(1, shard.count + 1):
        part = found[0].plan.whole.part(number, shard.count)
        own = [each for each in found if each.plan.slots == part.slots]
        head = (own or found)[0].run
        boots = {each.boot.facts.slot: each.boot for each in own}
        runs.append(
            StoredRun(
                id=head.id, plan=part, started=head.started, boots=[*boots.values()]
            )
        )
    return runs


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
    """Return slot -> its boot; one that was made twice must have gone the same way.

    What every shard makes for itself need not: it is that of the first shard.
    """
    boots: dict[tuple[int, Slot], ShardBoot] = {}
    for each in found:
        slot = each.boot.facts.slot
        if slot not in each.plan.slots:
            raise InputError(
                f"boot {_name(slot)} in {each.folder} is none of its shard's"
            )
        first = boots.setdefault((each.number, slot), each)
        if first.boot.outcome != each.boot.outcome:
            raise InputError(
                f"boot {_name(slot)} was made twice, and went another way in "
                f"{first.folder} than in {each.folder}",
                "leave out the folder of one of them",
            )
    last_first = sorted(boots.items(), key=lambda item: item[0][0], reverse=True)
    return {slot: boot for (_, slot), boot in last_first}


def _name(slot: Slot) -> str:
    return f"{slot.variant}-{slot.repeat}"


def _check_complete(
    runs: Iterable[StoredRun], boots: Collection[Slot], choice: Choice | None
) -> None:
    """Raise InputError, with the commands that make them, if boots are missing."""
    incomplete = []
    missing: list[Slot] = []
    for run in runs:
        if choice:
            lost = choice(run)
        else:
            lost = [slot for slot in run.plan.slots if slot not in boots]
        if lost:
            incomplete.append(run.plan)
            missing += lost
    if incomplete:
        names = ", ".join(map(_name, missing[:_NAMED]))
        more = f" and {len(missing) - _NAMED} more" if missing[_NAMED:] else ""
        shards = ", ".join(str(plan.shard) for plan in incomplete)
        raise InputError(
            f"shard {shards} is incomplete: boots {names}{more} are missing",
            "; ".join(as_typed(plan.own_command) for plan in incomplete),
        )
