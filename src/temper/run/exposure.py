"""Plans a run that measures how long a feature's register stays open."""

from collections.abc import Collection

from temper.catalog import Feature, check_known
from temper.errors import InputError
from temper.record.plan import Kind, RunPlan, Slot, VariantPlan
from temper.run.planner import Planner


def plan_exposure(
    planner: Planner,
    feature: Feature,
    calls: int,
    variants: Collection[str] = (),
    workloads: Collection[str] = (),
) -> RunPlan:
    """Plan to boot ``variants``, by default the hardened ones, as for a price.

    They may be sabotages. ``workloads``: some of the feature's, by default all. Raises
    InputError for an unknown name, and for a feature without such a register.
    """
    feature = planner.here(feature)
    register = feature.registers.get(planner.arch.name)
    if register is None:
        raise InputError(
            f"{feature.name} has no register on {planner.arch.name} that opens what "
            "it protects",
            "registers in feature.toml would describe it",
        )
    wanted = variants or feature.hardened
    check_known("variant", wanted, feature.all_variants)
    check_known("workload", workloads, feature.workloads)
    chosen = tuple(
        n for n in feature.workloads if n in (workloads or feature.workloads)
    )
    # A price has no sabotages, so here they are variants.
    update = {"variants": feature.all_variants, "sabotages": {}, "workloads": chosen}
    priced = planner.price(feature.model_copy(update=update), calls)
    command = planner.command(
        *("exposure", feature.name),
        *_list("--variants", variants),
        *_list("--workloads", workloads),
        *("--calls", calls),
    )
    fields = priced.model_copy(
        update={
            "kind": Kind.EXPOSURE,
            "baseline": "",
            "variants": {
                name: _as_linked(
                    planner, priced.variants[name], name in feature.sabotages
                )
                for name in feature.all_variants
                if name in wanted
            },
            "variants_left_out": (),
            "switch": None,
            "watched": register,
            "slots": tuple(Slot(variant=name, repeat=0) for name in wanted),
            "command": command,
        }
    )
    # A copy is not validated.
    return RunPlan.model_validate(fields.model_dump())


def _as_linked(planner: Planner, variant: VariantPlan, sabotage: bool) -> VariantPlan:
    """Put its kernel where System.map says that it is."""
    cmdline = f"{variant.cmdline} {planner.arch.as_linked_cmdline}".strip()
    return variant.model_copy(update={"cmdline": cmdline, "sabotage": sabotage})


def _list(option: str, names: Collection[str]) -> list[str]:
    return [option, ",".join(names)] if names else []
