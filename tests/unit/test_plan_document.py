"""What a plan takes, said before anything is done."""

import json
from pathlib import Path

import pytest
from kernels import fake_source
from samples import price_boot
from typer.testing import CliRunner

from made_up import run_plan, variant_plan
from temper.analysis.estimate import Estimate, estimate, seconds_a_boot
from temper.cli import app
from temper.record.boot import StoredRun
from temper.record.plan import KernelPlan, Layout, RunPlan, Slot, Twins, Work
from temper.report.markdown import to_markdown
from temper.report.plan_document import plan_document

PLAN = run_plan(
    {
        "off": variant_plan("off", key="one"),
        "stock": variant_plan("stock", key="one"),
        "ours": variant_plan(
            "ours", kernel=KernelPlan(key="two", version="6.12.117", patches=("a", "b"))
        ),
        "given": variant_plan("given", kernel=KernelPlan(key="file:1", image="/k")),
    }
)


WITH_A_SHORT_JOB = PLAN.model_copy(
    update={
        "variants": {
            **PLAN.variants,
            "ours": variant_plan("ours", key="two", job=("run in_force",)),
        }
    }
)


def takes(
    built: set[str], build: float | None = 300.0, boot: float | None = 10.0
) -> Estimate:
    return estimate(PLAN, built, build, boot, at_once=3)


def test_kernels_are_built_once_however_many_variants_boot_them() -> None:
    found = takes(built=set())
    assert [(names, build) for _, names, build in found.kernels.values()] == [
        (("off", "stock"), True),
        (("ours",), True),
        (("given",), False),
    ]
    assert found.missing == 2
    assert found.build_seconds == 600
    # Eight boots, three at once.
    assert (found.boots, found.boot_seconds) == (8, 30)


def test_what_is_there_takes_no_time() -> None:
    assert takes(built={"one", "two"}, build=None).build_seconds == 0
    assert takes(built={"one"}, build=None).build_seconds is None
    assert takes(built={"one"}, boot=None).boot_seconds is None


def stored(plan: RunPlan, seconds: list[float]) -> StoredRun:
    boots = [price_boot("off", number) for number in range(len(seconds))]
    kept = [
        boot.model_copy(
            update={"facts": boot.facts.model_copy(update={"wall_seconds": took})}
        )
        for boot, took in zip(boots, seconds, strict=True)
    ]
    started = kept[0].facts.started
    return StoredRun(id=1, plan=plan, started=started, boots=kept)


def test_boots_take_what_those_with_the_same_job_took() -> None:
    other = Work(job=("run something else",), cpus=1, exact=True)
    runs = [
        stored(PLAN.model_copy(update={"work": other}), [500.0]),
        stored(PLAN, [9.0, 30.0, 11.0]),
    ]
    assert seconds_a_boot(PLAN, runs) == 11
    assert seconds_a_boot(PLAN, runs[:1]) is None
    assert seconds_a_boot(WITH_A_SHORT_JOB, runs) is None


def test_boots_that_ended_early_are_no_guide() -> None:
    """Mutants of a feature may have run since it was proven."""
    early = stored(PLAN, [1.0, 2.0, 30.0])
    for boot in early.boots[:2]:
        boot.facts = boot.facts.model_copy(update={"early": True})
    assert seconds_a_boot(PLAN, [early]) == 30
    ended = early.model_copy(update={"boots": early.boots[:2]})
    assert seconds_a_boot(PLAN, [ended, stored(PLAN, [11.0])]) == 11


def test_the_order_of_programs_is_no_matter() -> None:
    def doing(*job: str) -> RunPlan:
        work = Work(job=job, cpus=1, exact=True)
        return PLAN.model_copy(update={"work": work})

    assert seconds_a_boot(
        doing("run b", "run a"), [stored(doing("run a", "run b"), [5.0])]
    )


def text(found: Estimate, plan: RunPlan = PLAN) -> str:
    return " ".join(to_markdown([plan_document(plan, found)]).split())


def test_a_plan_says_what_it_takes() -> None:
    said = text(takes(built={"one"}))
    assert "- Linux 6.12.117: already built, for off, stock" in said
    assert "- Linux 6.12.117 with 2 patches: to be built, for ours" in said
    assert "Building 1 kernel takes about 5 min 00 s. The 8 boots take" in said
    said = text(takes(built=set(), build=None, boot=None))
    assert "No estimate for building 2 kernels" in said
    assert "No estimate for 8 boots" in said
    assert "No kernel needs to be built." in text(takes(built={"one", "two"}))


def test_a_plan_says_what_its_boots_do() -> None:
    said = text(takes(built=set()))
    assert (
        "8 boots on tcg x86_64, 2 CPUs each, counting instructions: 4 variants" in said
    )
    assert "each boot runs 2 programs" in said
    assert "each boot runs 1 to 2 programs" in text(takes(set()), WITH_A_SHORT_JOB)


def test_a_plan_says_which_of_its_boots_are_twins() -> None:
    twins = Twins(job=("run twins 1",), seeds=(1, 2))
    some, all_of_them = (
        PLAN.model_copy(
            update={
                "twins": twins,
                "slots": tuple(
                    Slot(variant=name, repeat=repeat)
                    for repeat in repeats
                    for name in ("off", "stock")
                ),
            }
        )
        for repeats in ((0, 1, 2), (1, 2))
    )
    said = text(takes(set()), some)
    assert "2 boots on tcg x86_64" in said
    assert "2 variants, 1 each" in said
    assert "- 4 more, counting instructions, of pairs of machines" in said
    said = text(takes(set()), all_of_them)
    assert "on tcg x86_64" not in said
    assert "- 4 boots, counting instructions, of pairs of machines" in said
    assert said.endswith("each boot runs 1 program")


def test_a_plan_says_which_of_its_boots_vary_the_layout() -> None:
    assert "layout" not in text(takes(set()))
    layouts = {1: Layout(seed=1, spacer=1)}
    said = text(takes(set()), PLAN.model_copy(update={"layouts": layouts}))
    assert "- 2 layouts of memory; each after the first takes one boot" in said


def test_a_package_is_named_by_what_is_in_it() -> None:
    kernel = KernelPlan(key="file:2", image="/k.deb", package="linux-image-6.12 6.12-1")
    plan = run_plan({"A": variant_plan("A", kernel=kernel), "B": variant_plan("B")})
    found = estimate(plan, set(), 300.0, 10.0, at_once=2)
    said = " ".join(to_markdown([plan_document(plan, found)]).split())
    assert "- linux-image-6.12 6.12-1: to be unpacked once, for A" in said
    assert found.missing == 1


@pytest.mark.parametrize("command", ["price", "prove"])
def test_a_plan_is_printed_and_nothing_is_done(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TEMPER_DATA", str(tmp_path / "data"))
    source = str(fake_source(tmp_path / "linux"))
    words = [command, "kstack", "--source", source, "--plan"]
    done = CliRunner().invoke(app, [*words, "--json", str(tmp_path / "plan.json")])
    assert done.exit_code == 0, done.output
    assert f"Plan: {command} kstack" in done.output
    assert not (tmp_path / "cache" / "temper" / "kernels").exists()
    plan = RunPlan.model_validate(json.loads((tmp_path / "plan.json").read_bytes()))
    assert plan.kind.value == command
    assert plan.variants["temper"].kernel.patches
