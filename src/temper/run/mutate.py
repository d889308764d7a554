"""Plans a run that boots mutants of a feature's series."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from temper.analysis.mutants import BootsNeeded
from temper.catalog import Feature, Variant
from temper.digest import key_of
from temper.errors import InputError
from temper.kernel import Cache, KernelSpec, source_tree
from temper.kernel.mutants import Mutant, series_mutants
from temper.kernel.series import series_texts
from temper.kernel.survey import survey
from temper.mutation import Condition, Mutation, mutation_of, with_reasons
from temper.progress import Progress
from temper.record.boot import Choice
from temper.record.outcome import Outcome
from temper.record.plan import (
    Fate,
    KernelPlan,
    Kind,
    MutantPlan,
    RunPlan,
    Slot,
    VariantPlan,
    again,
    under,
)
from temper.run.planner import Planner
from temper.run.prepare import Workshop

WHOLE = "unmutated"
"""The variant with the series as it is: what proofs find there is no mutant's doing."""


@dataclass(frozen=True)
class Mutable:
    """The series of a kernel, and all its mutants."""

    texts: Mapping[str, str]
    """File -> its text with the series."""
    mutants: Mapping[str, Mutant]
    """By id, in the order of a sample."""

    @classmethod
    def of(cls, spec: KernelSpec, cache: Cache, progress: Progress) -> "Mutable":
        """Change each line that the series of ``spec`` adds.

        Raises InfraError if universalmutator is not installed, and SeriesError.
        """
        pristine = source_tree(spec.source, cache, progress)
        before, texts = series_texts(pristine, spec.patches)
        found = series_mutants(before, texts)
        touched = {mutant.file for mutant in found}
        return cls(
            {file: text for file, text in texts.items() if file in touched},
            {mutant.id: mutant for mutant in found},
        )


def plan_mutate(
    planner: Planner,
    feature: Feature,
    sample: int | None,
    workshop: Workshop,
    chosen: Collection[str] = (),
) -> RunPlan:
    """Plan to boot ``sample`` distinct mutants of a feature's series; None: all.

    It compiles them to find out which are distinct, unless the cache knows.
    ``chosen``: the ids of those to compile; empty: all. Raises InputError for a feature
    without a proof, for a sample that is none or of chosen mutants, for an id that is
    none, and for a stale reason in the feature's mutants.toml, and whatever building
    raises.
    """
    if sample is not None and sample < 1:
        raise InputError(f"a sample of {sample} mutants is none", "use at least 1")
    if sample and chosen:
        raise InputError(
            "mutants are either chosen or a sample", "use --mutants or --sample"
        )
    if not feature.proofs:
        raise InputError(f"{feature.name} has no proof that could notice a mutant")
    feature = planner.here(feature)
    whole = feature.variants[feature.hardened[0]]
    attacked = planner.kernel(feature, whole)
    options = (*whole.config, *feature.sabotage.config)
    whole = whole.model_copy(update={"config": options})
    spec = workshop.spec(planner.kernel(feature, whole))
    mutable = Mutable.of(spec, workshop.cache, workshop.progress)
    mutation = mutation_of(feature, mutable.mutants)
    fates = survey(
        spec,
        mutable.texts,
        _among(mutable, feature, chosen),
        sample,
        workshop.cache,
        workshop.progress,
    )
    distinct = [name for name, fate in fates.items() if fate is Fate.DISTINCT]
    if not distinct:
        found = ", ".join(f"{name} is {fate}" for name, fate in fates.items())
        raise InputError(
            f"{feature.name} has no mutant that differs in object code",
            f"{found}: docs/mutants.md says what that means" if chosen else "",
        )
    plan = planner.prove(_with_mutants(feature, whole, mutation, distinct))
    mutants = {
        name: _mutant_plan(mutable, name, fate, mutation)
        for name, fate in fates.items()
    }
    plan = plan.model_copy(update={"mutants": mutants})
    check = f"run {feature.in_force.program}"
    words = ["--sample", sample] if sample else []
    words += ["--mutants", ",".join(chosen)] if chosen else []
    return RunPlan(
        **{
            **dict(plan),
            "kind": Kind.MUTATE,
            "variants": dict(_variants(plan, check)),
            "sampled": len(fates) < len(mutable.mutants),
            "chosen": bool(chosen),
            "attacked": attacked.key,
            "conditions": {
                name: condition.words for name, condition in mutation.conditions.items()
            },
            "kunit": mutation.kunit,
            "variants_left_out": (),
            "slots": tuple(_slots(plan, {plan.control, WHOLE, *distinct})),
            "command": planner.command("mutate", feature.name, *words),
        }
    )


def choice_of(plan: RunPlan) -> Choice | None:
    """Return what chooses the boots of mutants, by the reasons of today; None: all."""
    if not plan.mutants:
        return None
    needed = BootsNeeded()
    return lambda run: needed(with_reasons(run))


def _among(mutable: Mutable, feature: Feature, chosen: Collection[str]) -> list[Mutant]:
    """Return the chosen mutants; all if none is."""
    known = mutable.mutants
    for name in chosen:
        if name not in known:
            raise InputError(
                f"{feature.name}'s series has no mutant '{name}'",
                "reports name the ids of mutants; one changes with its line and with "
                "the lines beside it",
            )
    return [mutant for name, mutant in known.items() if not chosen or name in chosen]


def _with_mutants(
    feature: Feature, whole: Variant, mutation: Mutation, mutants: Iterable[str]
) -> Feature:
    """Return the feature with mutants for variants, beside control and whole series."""
    suites = f"kunit.filter_glob={mutation.kunit}" if mutation.kunit else ""
    variants = {feature.control: feature.variants[feature.control]}
    for name in (WHOLE, *mutants):
        title = "the series" if name == WHOLE else f"mutant {name}"
        for variant, condition, where in _tries(name, mutation):
            words = (whole.cmdline, suites, condition.words)
            held = {
                "title": title + where,
                "cmdline": " ".join(filter(None, words)),
                "expect": _expected(condition),
                "in_force": condition.on,
            }
            variants[variant] = whole.model_copy(update=held)
            held["title"] = f"{held['title']}, once more"
            variants[again(variant)] = whole.model_copy(update=held)
    ordered = dict.fromkeys((*mutation.first, *feature.proofs))
    return feature.model_copy(
        update={
            "proofs": {name: feature.proofs[name] for name in ordered},
            "variants": variants,
            "baseline": feature.control,
            "hardened": (WHOLE,),
            "sabotages": {},
        }
    )


def _tries(name: str, mutation: Mutation) -> Iterator[tuple[str, Condition, str]]:
    """Yield the variants of a mutant: name, what they boot under, title's end."""
    yield name, Condition(), ""
    for called, condition in mutation.conditions.items():
        yield under(called, name), condition, f", {called}"


def _expected(condition: Condition) -> Outcome | dict[str, Outcome]:
    """Return what each proof must find under a condition, if it attacks there."""
    if condition.proofs or not condition.on:
        return dict.fromkeys(condition.proofs, Outcome.BLOCKED)
    return Outcome.BLOCKED


def _slots(plan: RunPlan, twinned: Collection[str]) -> Iterator[Slot]:
    """Yield a mutant's boots one after the other, and second boots after all others.

    What keeps the host busy has gone by then, perhaps. Only ``twinned`` variants have
    twins: those are alike on every host, so what they notice needs no second look.
    """
    second = {again(name) for name in plan.variants}
    for name in sorted(plan.variants, key=lambda name: name in second):
        for slot in plan.slots:
            needless = name not in twinned and plan.twin_seed(slot) is not None
            if slot.variant == name and not needless:
                yield slot


def _variants(plan: RunPlan, check: str) -> Iterator[tuple[str, VariantPlan]]:
    """Yield the variants of a proof as mutants boot them.

    Where the feature is off, the job ends with the first ``check``; the control is for
    attacks all the same. Nobody attacks who has nothing to find.
    """
    checked = plan.work.job[: plan.work.job.index(check) + 1]
    for name, variant in plan.variants.items():
        attacked = variant.in_force or name == plan.control
        needless = {
            f"run {proof.line}"
            for called, proof in plan.proofs.items()
            if called not in variant.expect
        }
        job = tuple(line for line in plan.work.job if line not in needless)
        own = variant.model_copy(update={"job": job if attacked else checked})
        yield name, _keyed(own, plan.mutant_of(name))


def _keyed(variant: VariantPlan, mutant: str) -> VariantPlan:
    """Give a mutant's kernel a key of its own."""
    if not mutant:
        return variant
    key = key_of({"kernel": variant.kernel.key, "mutant": mutant})
    kernel: KernelPlan = variant.kernel.model_copy(update={"key": key})
    return variant.model_copy(update={"kernel": kernel})


def _mutant_plan(
    mutable: Mutable, name: str, fate: Fate, mutation: Mutation
) -> MutantPlan:
    mutant = mutable.mutants[name]
    return MutantPlan(
        file=mutant.file,
        line=mutant.line,
        hunk=mutant.hunk(mutable.texts[mutant.file]),
        does=mutant.does,
        fate=fate,
        accepted=mutation.reasons.get(name, ""),
    )
