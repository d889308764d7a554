"""What is planned for mutants, and what is refused."""

from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console

from made_up import WORK, kernel_facts
from temper.analysis.estimate import estimate
from temper.arch import arch_named
from temper.catalog import Feature, Variant, feature_named
from temper.digest import key_of
from temper.errors import InputError
from temper.kernel import Cache, KernelSpec
from temper.kernel.mutants import Mutant
from temper.mutation import Condition, Mutation, mutation_of
from temper.progress import Quiet
from temper.record.outcome import Outcome
from temper.record.plan import (
    Fate,
    KernelPlan,
    Kind,
    Outside,
    RunPlan,
    Slot,
    Work,
    again,
)
from temper.report.plan_document import plan_document
from temper.report.terminal import print_documents
from temper.run import mutants, mutate
from temper.run.mutants import with_mutants
from temper.run.mutate import Mutable, plan_mutate
from temper.run.planner import Planner
from temper.run.prepare import Prepared, Setup, Workshop

KSTACK = feature_named("kstack")
FILE, HEADER = "kernel/key.c", "include/linux/key.h"
MUTABLE = Mutable(
    {FILE: "a;\nb;\n", HEADER: "c;\n"},
    {
        "0a": Mutant("0a", FILE, 1, "/*a;*/", "drops the statement"),
        "0b": Mutant("0b", FILE, 2, "/*b;*/", "drops the statement"),
        "0c": Mutant("0c", HEADER, 1, "/*c;*/", "drops the statement"),
    },
)
FIRST = ["ways", "seeds", "prediction", "leak"]
FATES = {"0a": Fate.DISTINCT, "0b": Fate.BROKEN, "0c": Fate.DISTINCT}


BOOTED = [
    *("unmutated", again("unmutated")),
    *("0a", again("0a"), "0c", again("0c")),
]


class PaperPlanner(Planner):
    """Plans runs whose kernels and programs nobody will build."""

    def kernel(self, feature: Feature, variant: Variant) -> KernelPlan:
        options = feature.options(variant, self.base)
        return KernelPlan(key="3f9c", options=options)

    def _work(self, job: tuple[str, ...], *_: object, **__: object) -> Work:
        return WORK.model_copy(update={"job": job, "modules": ()})


class ExactPlanner(PaperPlanner):
    """Tells kernels apart by their options."""

    def kernel(self, feature: Feature, variant: Variant) -> KernelPlan:
        plan = super().kernel(feature, variant)
        return plan.model_copy(update={"key": key_of({"options": plan.options})})


class PaperWorkshop(Workshop):
    """Builds nothing."""

    def spec(self, plan: KernelPlan) -> KernelSpec:
        return cast(KernelSpec, Spec(plan.key))

    def setup(self, plan: KernelPlan, work: Work) -> Setup:
        return Setup(Path("whole"), kernel_facts(), ())


class Spec:
    """The specification of a kernel that nobody will build."""

    def __init__(self, key: str) -> None:
        self._key = key

    def key(self) -> str:
        return self._key


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return PaperWorkshop(arch_named("x86_64"), Cache(tmp_path), Quiet())


@pytest.fixture(autouse=True)
def _series(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mutable, "of", lambda *_: MUTABLE)
    monkeypatch.setattr(mutate, "survey", lambda *_: FATES)
    said = Mutation.model_validate(
        {
            "kunit": "randomize_kstack",
            "first": ["ways", "seeds"],
            "accepted": [
                {
                    "mutant": "0c",
                    "why": "equivalent",
                    "reason": "Nobody reads the value again.",
                }
            ],
        }
    )
    monkeypatch.setattr(mutate, "mutation_of", lambda *_: said)


def planned(
    workshop: Workshop,
    sample: int | None = 2,
    feature: Feature = KSTACK,
    chosen: Sequence[str] = (),
) -> RunPlan:
    planner = PaperPlanner(workshop.arch, workshop.cache)
    return plan_mutate(planner, feature, sample, workshop, chosen)


def test_a_mutant_is_a_variant_that_must_hold(workshop: Workshop) -> None:
    plan = planned(workshop)
    assert (plan.kind, plan.control, plan.hardened) == (
        Kind.MUTATE,
        "off",
        ("unmutated",),
    )
    assert list(plan.variants) == ["off", *BOOTED]
    whole = plan.variants["unmutated"]
    for name in ("0a", "0c"):
        variant = plan.variants[name]
        assert variant.expect == dict.fromkeys(KSTACK.proofs, Outcome.BLOCKED)
        assert variant.in_force
        assert (variant.cmdline, variant.cpu) == (whole.cmdline, whole.cpu)
        assert variant.kernel.options == whole.kernel.options
    assert len({variant.kernel.key for variant in plan.variants.values()}) == 3


def test_proofs_that_notice_most_attack_first(workshop: Workshop) -> None:
    plan = planned(workshop)
    assert list(plan.proofs)[:3] == ["ways", "seeds", "prediction"]
    assert plan.proofs.keys() == KSTACK.proofs.keys()
    attacks = [line for line in plan.work.job if line != "run in_force"]
    at = {name: attacks.index(f"run {plan.proofs[name].line}") for name in FIRST}
    assert sorted(at, key=lambda name: at[name]) == FIRST


def test_it_has_the_options_of_sabotages_and_the_tests(workshop: Workshop) -> None:
    whole = planned(workshop).variants["unmutated"]
    assert set(KSTACK.sabotage.config) <= set(whole.kernel.options)
    words = whole.cmdline.split()
    assert {"randomize_kstack_offset=on", "kunit.filter_glob=randomize_kstack"} <= set(
        words
    )
    assert "kunit.enable=0" not in words


def test_second_boots_come_after_all_others(workshop: Workshop) -> None:
    """What kept the host busy during the first may have gone by then."""
    slots = [slot.variant for slot in planned(workshop).slots]
    assert list(dict.fromkeys(slots)) == ["off", *BOOTED[::2], *BOOTED[1::2]]
    assert slots == sorted(slots, key=list(dict.fromkeys(slots)).index)
    assert slots.count("0a") == 3, "one boot, and two twins"
    assert slots.count(again("0a")) == 1, "twins are alike, so they boot once"


def test_all_that_were_compiled_are_told_of(workshop: Workshop) -> None:
    plan = planned(workshop)
    assert {name: each.fate for name, each in plan.mutants.items()} == FATES
    assert plan.mutants["0c"].accepted == "equivalent: Nobody reads the value again."
    assert plan.mutants["0a"].accepted == ""
    assert "+/*a;*/" in plan.mutants["0a"].hunk
    assert plan.kunit == "randomize_kstack"
    assert not plan.sampled


def test_a_sample_is_one_and_the_kernel_is_that_of_a_proof(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutate, "survey", lambda *_: {"0a": Fate.DISTINCT})
    planner = ExactPlanner(workshop.arch, workshop.cache)
    plan = plan_mutate(planner, KSTACK, 1, workshop)
    assert plan.sampled
    proof = planner.prove(KSTACK)
    assert plan.attacked == proof.variants["temper"].kernel.key
    assert plan.attacked != plan.variants["unmutated"].kernel.key


def test_chosen_mutants_alone_are_compiled(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[str] = []

    def survey(
        _: object, __: object, mutants: Sequence[Mutant], *___: object
    ) -> dict[str, Fate]:
        compiled.extend(mutant.id for mutant in mutants)
        return dict.fromkeys(compiled, Fate.DISTINCT)

    monkeypatch.setattr(mutate, "survey", survey)
    plan = planned(workshop, None, chosen=("0c",))
    assert compiled == list(plan.mutants) == ["0c"]
    assert plan.chosen
    assert plan.command == "temper mutate kstack --mutants 0c --arch x86_64"
    assert not planned(workshop).chosen


def test_what_cannot_be_chosen_is_refused(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="no mutant 'ff'") as unknown:
        planned(workshop, None, chosen=("0a", "ff"))
    assert "reports name the ids" in str(unknown.value.hint)
    with pytest.raises(InputError, match="chosen or a sample"):
        planned(workshop, 2, chosen=("0a",))
    monkeypatch.setattr(mutate, "survey", lambda *_: {"0b": Fate.BROKEN})
    with pytest.raises(InputError, match="no mutant that differs") as none:
        planned(workshop, None, chosen=("0b",))
    assert "0b is broken" in str(none.value.hint)


def test_conditions_are_boots_of_the_same_kernel_without_twins(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = Mutation(conditions={"naps": Condition(words="cpuidle_halt")})
    monkeypatch.setattr(mutate, "mutation_of", lambda *_: said)
    plan = planned(workshop)
    assert plan.tries("0a") == ["0a", "0a-naps"]
    usual, napping = plan.variants["0a"], plan.variants["0a-naps"]
    words = {*usual.cmdline.split(), "cpuidle_halt"}
    assert set(napping.cmdline.split()) == words
    assert napping.kernel == usual.kernel
    assert plan.mutant_of(again("0a-naps")) == "0a"
    assert {"unmutated-naps", again("unmutated-naps")} <= plan.variants.keys()
    slots = [slot.variant for slot in plan.slots]
    assert [slots.count(name) for name in plan.tries("0a")] == [3, 1]
    assert slots.count(again("0a-naps")) == 1


def test_nobody_attacks_where_the_feature_is_off(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    on, off = Condition(words="cpuidle_halt"), Condition(words="none=0", on=False)
    said = Mutation(conditions={"naps": on, "none": off})
    monkeypatch.setattr(mutate, "mutation_of", lambda *_: said)
    plan = planned(workshop)
    lines = [proof.line for proof in plan.proofs.values() if not proof.twins]
    for name in ("unmutated-none", "0a-none", again("0a-none")):
        found, slot = plan.variants[name], Slot(variant=name, repeat=0)
        assert (found.in_force, found.expect) == (False, {})
        assert "none=0" in found.cmdline.split()
        assert plan.program_count(slot) == 1
        assert plan.runs(slot, "in_force")
    for name in ("unmutated", "0a", again("0a"), "0a-naps", "off"):
        slot = Slot(variant=name, repeat=0)
        assert plan.variants[name].in_force is (name != "off")
        assert "none=0" not in plan.variants[name].cmdline.split()
        assert all(plan.runs(slot, line) for line in lines)


def test_some_proofs_alone_may_attack_under_a_condition(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    proofs = ("prediction",)
    naps = Condition(words="cpuidle_halt", proofs=proofs)
    said = Mutation(conditions={"naps": naps})
    monkeypatch.setattr(mutate, "mutation_of", lambda *_: said)
    plan = planned(workshop)
    lines = {name: proof.line for name, proof in plan.proofs.items() if not proof.twins}
    for variant in ("unmutated-naps", "0a-naps", again("0a-naps")):
        slot = Slot(variant=variant, repeat=0)
        attacking = [name for name, line in lines.items() if plan.runs(slot, line)]
        assert attacking == ["prediction"]
        assert plan.variants[variant].expect == {"prediction": Outcome.BLOCKED}
        assert plan.runs(slot, "in_force")
    for variant in ("unmutated", "0a", "off"):
        slot = Slot(variant=variant, repeat=0)
        assert all(plan.runs(slot, line) for line in lines.values())


def test_nobody_is_said_to_attack_where_the_feature_is_off() -> None:
    with pytest.raises(ValueError, match="nobody attacks where the feature is off"):
        Condition(on=False, proofs=("prediction",))


@pytest.mark.parametrize("name", ["again", "naps-again"])
def test_a_condition_is_not_called_as_second_boots_are(name: str) -> None:
    with pytest.raises(ValueError, match="what second boots are called"):
        Mutation(conditions={name: Condition()})


def test_a_plan_counts_no_build_for_each_mutant(workshop: Workshop) -> None:
    plan = planned(workshop)
    takes = estimate(plan, (), seconds_a_build=100, seconds_a_boot=10, at_once=2)
    assert [names for _, names, _ in takes.kernels.values()] == [
        ("off", "unmutated", again("unmutated"))
    ]
    out = StringIO()
    print_documents(Console(file=out, width=78), [plan_document(plan, takes)])
    assert "2 mutants: built in one tree" in out.getvalue()


@pytest.mark.parametrize("shards", [0, 2])
def test_a_plan_says_that_not_all_boots_may_be_made(
    workshop: Workshop, shards: int
) -> None:
    plan = planned(workshop)
    plan = plan.part(1, shards) if shards else plan
    takes = estimate(plan, (), seconds_a_build=100, seconds_a_boot=10, at_once=2)
    out = StringIO()
    print_documents(Console(file=out, width=78), [plan_document(plan, takes)])
    assert "at most: what decides nothing is left out" in out.getvalue()


@pytest.mark.parametrize(
    ("sample", "command"),
    [
        (2, "temper mutate kstack --sample 2 --arch x86_64"),
        (None, "temper mutate kstack --arch x86_64"),
    ],
)
def test_the_command_makes_the_same_run(
    workshop: Workshop, sample: int | None, command: str
) -> None:
    assert planned(workshop, sample).command == command


def test_what_cannot_be_mutated_is_refused(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="a sample of 0 mutants"):
        planned(workshop, 0)
    without = KSTACK.model_copy(update={"proofs": {}})
    with pytest.raises(InputError, match="no proof"):
        planned(workshop, feature=without)
    monkeypatch.setattr(mutate, "survey", lambda *_: {"0b": Fate.BROKEN})
    with pytest.raises(InputError, match="no mutant that differs"):
        planned(workshop)


def said(folder: Path, *mutants: str) -> Feature:
    """Return a feature that gives reasons for mutants."""
    text = "".join(
        f'[[accepted]]\nmutant = "{name}"\nwhy = "message"\n'
        'reason = "It only says something else."\n'
        for name in mutants
    )
    (folder / "mutants.toml").write_text(text)
    return KSTACK.model_copy(update={"folder": folder})


def test_a_stale_reason_is_an_error(tmp_path: Path) -> None:
    feature = said(tmp_path, "0a", "0f")
    assert mutation_of(feature, ["0a", "0f"]).reasons.keys() == {"0a", "0f"}
    with pytest.raises(InputError, match="mutant 0f is stale"):
        mutation_of(feature, ["0a", "0b"])


def test_a_second_reason_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="0a is there twice"):
        mutation_of(said(tmp_path, "0a", "0a"), ["0a"])


@pytest.mark.parametrize(
    "text", ['first = ["seeds", "guess"]', '[conditions.naps]\nproofs = ["guess"]']
)
def test_an_unknown_proof_cannot_attack(tmp_path: Path, text: str) -> None:
    (tmp_path / "mutants.toml").write_text(f"{text}\n")
    feature = KSTACK.model_copy(update={"folder": tmp_path})
    with pytest.raises(InputError, match="kstack has no proof 'guess'"):
        mutation_of(feature, [])


def test_a_feature_may_say_nothing(tmp_path: Path) -> None:
    feature = KSTACK.model_copy(update={"folder": tmp_path})
    assert mutation_of(feature, []) == Mutation()


class PaperTree:
    """A tree in which no mutant is made."""

    def __init__(self, work: Path) -> None:
        self.made: list[str] = []
        self.build: Any = type("Build", (), {"work": work, "out": work, "spec": None})
        self._image = work / "bzImage"
        self._image.write_text("")

    def at(self, address: str) -> None:
        """Have the next kernel hold ``key`` at an address."""
        out = self.build.out
        (out / "System.map").write_text(f"{address} T key\n")
        header = out / "include" / "generated" / "asm-offsets.h"
        header.parent.mkdir(parents=True, exist_ok=True)
        header.write_text("#define TSK_TI_SCS_SP 24\n")

    def image(self, mutant: Mutant) -> Path:
        self.made.append(mutant.id)
        self._image.write_text(mutant.id)
        return self._image

    def __enter__(self) -> "PaperTree":
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PaperTree:
    paper = PaperTree(tmp_path)
    monkeypatch.setattr(mutants, "mutant_tree", lambda *_: paper)
    monkeypatch.setattr(mutants, "devel_of", lambda *_: None)
    return paper


def ready(plan: RunPlan, names: Sequence[str] = ("off", "unmutated")) -> Prepared:
    return Prepared(
        plan, {name: Setup(Path(name), kernel_facts(), ()) for name in names}
    )


def test_a_mutant_is_made_when_it_is_asked_for_and_once(
    workshop: Workshop, tree: PaperTree
) -> None:
    with with_mutants(ready(planned(workshop)), workshop) as prepared:
        assert tree.made == []
        first, second = prepared.setups["0a"], prepared.setups["0c"]
        assert prepared.setups[again("0a")] == first
        assert tree.made == ["0a", "0c"]
        assert (first.image.read_text(), second.image.read_text()) == ("0a", "0c")
        assert prepared.setups["off"].image == Path("off")
        assert first.kernel.key == prepared.plan.variants["0a"].kernel.key
        assert first.debugged is None


def test_a_debugger_knows_each_mutant_as_it_was_linked(
    workshop: Workshop, tree: PaperTree
) -> None:
    """Its code moves what follows."""
    outside = Outside(folder="features/scs-switch/outside", digest="")
    attacked = planned(workshop).model_copy(update={"outside": outside})
    with with_mutants(ready(attacked), workshop) as prepared:
        tree.at("ffff800080010000")
        first = prepared.setups["0a"].debugged
        tree.at("ffff800080010040")
        second = prepared.setups["0c"].debugged
    assert first
    assert second
    assert first.constants == {"TSK_TI_SCS_SP": 24}
    found = [each.symbols.address("key") for each in (first, second)]
    assert found == [0xFFFF800080010000, 0xFFFF800080010040]


def test_a_series_that_changed_meanwhile_is_refused(
    workshop: Workshop, tree: PaperTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PaperWorkshop, "spec", lambda *_: Spec("other"))
    with (
        pytest.raises(InputError, match="have changed since"),
        with_mutants(ready(planned(workshop)), workshop),
    ):
        pass


def test_without_mutants_no_tree_is_built(workshop: Workshop, tree: PaperTree) -> None:
    plan = planned(workshop)
    slots = tuple(slot for slot in plan.slots if slot.variant == "off")
    part = ready(plan.model_copy(update={"slots": slots}))
    with with_mutants(part, workshop) as prepared:
        assert prepared is part
