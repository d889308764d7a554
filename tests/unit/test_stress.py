"""Stress: what is planned, what counts as wrong in a boot, and what is told of it."""

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import fake_machine
import pytest
from fake_lab import FakeLab
from kernels import fake_source
from rich.console import Console
from typer.testing import CliRunner

from made_up import kernel_facts, machine_facts, run_plan
from temper.analysis.trial import TrialBoot, TrialReport, trial_report
from temper.arch import Arch, arch_named
from temper.catalog import Feature, feature_named
from temper.cli import app
from temper.errors import InfraError, InputError, StoreError
from temper.kernel import Cache
from temper.machine import BootResult, Watcher
from temper.record.boot import BootFacts, StoredBoot, StoredRun
from temper.record.plan import Growth, Kind, RunPlan, TrialTerms
from temper.record.wire import AnyRecord, Samples
from temper.report.document import Document
from temper.report.html import to_html
from temper.report.markdown import to_markdown
from temper.report.terminal import print_documents
from temper.report.trial_document import trial_document
from temper.run.planner import Planner
from temper.run.stress import plan_stress
from temper.store import Store
from temper.stress import stress_of

KPKEYS = feature_named("kpkeys")
BOOTS = ("lockdep-max", "lockdep-isolation")

WRONG = (
    "WARNING: suspicious RCU usage",
    "kpkeys: 3 page tables of early boot stay unprotected",
    "kpkeys: unused pages will not be given back",
    "kpkeys: pages of CPUs that go away will stay with them",
    "not ok 3 test_nmi",
    "    not ok 3 test_nmi",
    "stress: wrong: swap: contents: Success",
    "stress: cpu ended with 0x100",
    "stress: stuck: map: [<0>] vm_mmap_pgoff+0x70/0x1b0",
)
HARMLESS = (
    "kpkeys: page tables are protected, 83 of them from early boot",
    "Memory cgroup out of memory: Killed process 93 (stress) total-vm:5000kB",
    "stress invoked oom-killer: gfp_mask=0x140cca, order=0, oom_score_adj=1000",
    "stress: 10 s: fork 12 exec 8 map 90",
    "ok 3 test_nmi",
)
SOUND = {"done/fork": 3, "pool/failed": 0, "before/pages": 150, "pool/pages": 220}
TERMS = TrialTerms(
    seconds=60,
    used=("done/fork", "done/swap"),
    zero=("pool/failed",),
    growth=(
        Growth(
            title="keyed pages",
            before="before/pages",
            after="pool/pages",
            apart="event/splits",
            most=64,
        ),
    ),
)
SOUND = {**SOUND, "done/swap": 8, "event/splits": 30}


def plan() -> RunPlan:
    own = (*KPKEYS.complaints, *stress_of(KPKEYS).complaints)
    return run_plan(
        BOOTS,
        repeats=1,
        kind=Kind.STRESS,
        feature="kpkeys",
        title=KPKEYS.title,
        baseline="",
        complaints=own,
        trial=TERMS,
        command="temper stress kpkeys",
    )


def boot(
    variant: str = BOOTS[0],
    counters: Mapping[str, int] = SOUND,
    console: str = "[ 1.0] ok\n",
    error: str = "",
) -> StoredBoot:
    records = [
        {"n": n, "type": "samples", "name": name, "values": [value]}
        for n, (name, value) in enumerate(counters.items())
    ]
    facts = BootFacts(
        variant=variant,
        repeat=0,
        machine=machine_facts(),
        kernel=kernel_facts(),
        release="6.12.117",
        initramfs_hash="1",
        status="boot_error" if error else "ok",
        error=error,
        started=datetime(2026, 11, 22, tzinfo=UTC),
        wall_seconds=812.4,
    )
    return StoredBoot(facts=facts, records=records, console=console)


def report(*boots: StoredBoot) -> TrialReport:
    begun = datetime(2026, 11, 22, tzinfo=UTC)
    return trial_report(StoredRun(id=7, plan=plan(), started=begun, boots=[*boots]))


def judged(
    counters: Mapping[str, int] = SOUND, console: str = "", error: str = ""
) -> TrialBoot:
    """Return what is found of one boot."""
    (found,) = report(boot(BOOTS[0], counters, console, error)).boots
    return found


@pytest.mark.parametrize("line", WRONG)
def test_a_line_that_is_wrong_is_found(line: str) -> None:
    console = f"[    1.000000] ok\r\n[   12.345678] {line}\r\n"
    assert judged(console=console).wrong == [line.strip()]


@pytest.mark.parametrize("line", HARMLESS)
def test_a_line_of_an_ordinary_log_is_not(line: str) -> None:
    assert judged(console=f"[    1.000000] {line}\n").clean


def test_a_boot_that_did_all_without_a_complaint_is_clean() -> None:
    found = judged()
    assert found.clean
    assert found.counters == SOUND


def test_of_a_counter_the_last_value_counts() -> None:
    sent = boot()
    sent.records.append({**sent.records[0], "values": [9]})
    assert report(sent).boots[0].counters["done/fork"] == 9


@pytest.mark.parametrize("value", [0, None])
def test_what_was_never_done_is_missing(value: int | None) -> None:
    counters = {name: value for name, value in SOUND.items() if name != "done/fork"}
    if value is not None:
        counters["done/fork"] = value
    found = judged(counters)
    assert found.never_done == ["done/fork"]
    assert not found.clean


def test_a_boot_that_counted_nothing_did_nothing() -> None:
    assert judged({}).never_done == list(TERMS.used)


def test_a_failure_that_was_counted_is_wrong() -> None:
    assert judged({**SOUND, "pool/failed": 2}).wrong == ["pool/failed is 2"]


@pytest.mark.parametrize(("pages", "clean"), [(244, True), (245, False)])
def test_what_does_not_come_back_is_wrong(pages: int, clean: bool) -> None:
    found = judged({**SOUND, "pool/pages": pages})
    assert found.clean is clean
    if not clean:
        assert found.wrong == ["65 more keyed pages are in use than before"]


def test_a_boot_that_broke_is_wrong_whatever_else_it_said() -> None:
    found = judged({}, "BUG: bad\n", "the kernel hung")
    assert found.wrong == ["the kernel hung", "BUG: bad"]
    assert found.never_done == []
    assert not found.clean


def test_a_run_is_clean_when_every_boot_is() -> None:
    assert report(boot(BOOTS[0]), boot(BOOTS[1])).clean
    assert not report(boot(BOOTS[0]), boot(BOOTS[1], error="it hung")).clean


def test_a_run_that_was_interrupted_is_not() -> None:
    found = report(boot(BOOTS[0]))
    assert found.missing == [BOOTS[1]]
    assert not found.clean


def terminal(documents: list[Document]) -> str:
    console = Console(width=200)
    with console.capture() as capture:
        print_documents(console, documents)
    return capture.get()


@pytest.mark.parametrize("write", [terminal, to_markdown, to_html])
def test_a_report_tells_what_was_wrong(write: Callable[[list[Document]], str]) -> None:
    bad = boot(BOOTS[1], {**SOUND, "done/swap": 0}, "BUG: bad\n")
    text = write([trial_document(report(boot(BOOTS[0]), bad))])
    assert "WRONG: BUG: bad" in text
    assert "NEVER DONE: done/swap" in text
    assert "NOT CLEAN: lockdep-isolation." in text
    assert "before/pages" in text
    clean = report(boot(BOOTS[0]), boot(BOOTS[1]))
    assert "CLEAN: nothing was wrong" in write([trial_document(clean)])
    unfinished = write([trial_document(report(boot(BOOTS[0])))])
    assert "NOT FINISHED: lockdep-isolation still has to boot." in unfinished


class Bench:
    """A planner of stress on a fake kernel."""

    def __init__(self, root: Path) -> None:
        self.root = root
        fake_source(root / "linux")

    def plan(
        self,
        seconds: int = 60,
        kernels: tuple[str, ...] = (),
        feature: Feature = KPKEYS,
        arch: Arch = arch_named("x86_64"),  # noqa: B008 (immutable)
    ) -> RunPlan:
        cache = Cache(self.root / "cache")
        planner = Planner(arch, cache, self.root / "linux")
        return plan_stress(planner, feature, seconds, kernels)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_each_kernel_boots_on_each_machine(bench: Bench) -> None:
    planned = bench.plan()
    names = ["kasan-max", "kasan-isolation", "lockdep-max", "lockdep-isolation"]
    assert [slot.variant for slot in planned.slots] == names
    kernels = [variant.kernel for variant in planned.variants.values()]
    assert kernels[0] == kernels[1] != kernels[2] == kernels[3]
    assert "CONFIG_KASAN=y" in kernels[0].options
    assert "CONFIG_KPKEYS_KUNIT_TEST=y" in kernels[0].options
    assert "CONFIG_KPKEYS_HARDENED_PGTABLES=y" in kernels[0].options
    assert kernels[0].patches
    isolated = planned.variants["lockdep-isolation"]
    assert (isolated.cpu, isolated.cmdline) == ("qemu64,+pks", "mem=256M pti=on")
    assert planned.work.job == ("run stress 60",)
    assert (planned.work.cpus, planned.work.memory) == (2, 512)
    assert [Path(each.source).name for each in planned.work.modules] == [
        "churn.c",
        "plug.c",
        "tables.c",
    ]


def test_a_plan_says_what_it_is_judged_by(bench: Bench) -> None:
    planned = bench.plan()
    assert planned.trial is not None
    assert planned.trial.seconds == 60
    assert "done/fork" in planned.trial.used
    assert RunPlan.model_validate_json(planned.model_dump_json()) == planned
    for pattern in (*KPKEYS.complaints, *stress_of(KPKEYS).complaints):
        assert pattern in planned.complaints


def test_every_operation_of_the_program_has_to_be_done() -> None:
    stress = stress_of(KPKEYS)
    text = "".join((stress.folder / name).read_text() for name in stress.sources)
    used = [*stress.used, *(name for own in stress.on.values() for name in own.used)]
    wanted = {name for name in used if name.startswith("done/")}
    tables = text.split("_kinds[] = {")[1:]
    kinds = {
        f"done/{part.split(chr(34))[1]}"
        for table in tables
        for part in table.split("};")[0].split("{")[1:]
    }
    assert wanted == kinds


def test_some_kernels_only(bench: Bench) -> None:
    planned = bench.plan(kernels=("lockdep",))
    assert [slot.variant for slot in planned.slots] == list(BOOTS)
    assert "--kernels lockdep --seconds 60" in planned.command


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"kernels": ("kcsan",)}, "unknown kernel 'kcsan'"),
        ({"feature": feature_named("kstack")}, "kstack has no stress"),
        ({"seconds": 0}, "0 seconds are too few"),
    ],
)
def test_what_cannot_be_planned_is_refused(
    bench: Bench, asked: dict[str, object], why: str
) -> None:
    with pytest.raises(InputError, match=why):
        bench.plan(**asked)  # type: ignore[arg-type]


def test_an_architecture_has_options_counters_and_machines_of_its_own(
    bench: Bench,
) -> None:
    x86, arm64 = bench.plan(), bench.plan(arch=arch_named("arm64"))
    assert arm64.trial and x86.trial
    assert set(x86.trial.used) - set(arm64.trial.used) == {
        *("done/ldt", "done/memory", "event/direct_map_level2_splits"),
    }
    assert (x86.arch, arm64.arch) == ("x86_64", "arm64")
    kernels = [plan.variants["lockdep-max"].kernel for plan in (x86, arm64)]
    found = ["CONFIG_X86_16BIT=y" in kernel.options for kernel in kernels]
    assert found == [True, False]
    assert all("CONFIG_LRU_GEN=y" in kernel.options for kernel in kernels)
    cmdlines = [plan.variants["lockdep-isolation"].cmdline for plan in (x86, arm64)]
    assert cmdlines == ["mem=256M pti=on", "mem=256M kpti=on"]


def test_a_stress_for_another_architecture_is_refused(
    bench: Bench, tmp_path: Path
) -> None:
    shutil.copytree(KPKEYS.folder / "stress", tmp_path / "stress")
    file = tmp_path / "stress" / "stress.toml"
    file.write_text(file.read_text().partition("[on.arm64")[0])
    there = KPKEYS.model_copy(update={"folder": tmp_path})
    with pytest.raises(InputError, match="the stress of kpkeys is not for arm64") as e:
        bench.plan(feature=there, arch=arch_named("arm64"))
    assert e.value.hint == "add --arch x86_64"


def test_a_stress_without_its_files_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "stress"
    folder.mkdir()
    toml = (KPKEYS.folder / "stress" / "stress.toml").read_text()
    (folder / "stress.toml").write_text(toml)
    feature = KPKEYS.model_copy(update={"folder": tmp_path})
    with pytest.raises(InputError, match=r"stress.toml: stress.c is missing"):
        stress_of(feature)
    (folder / "stress.toml").write_text(toml.replace("cpus = 2", "cpus = 0"))
    with pytest.raises(InputError, match=r"stress.toml: cpus: "):
        stress_of(feature)


@pytest.mark.parametrize(
    ("right", "wrong", "why"),
    [
        ("[on.x86_64]", "[on.mips]", r"on.mips.*: .*unknown architecture 'mips'"),
        (
            'program = "stress"',
            'program = "../x"',
            "program: .*not the name of a C file",
        ),
        ('"stress.c"', '"../stress.c"', "sources.0: .*outside the feature's folder"),
        ('"churn"', '"/churn"', "modules.0: .*not the name of a C file"),
    ],
)
def test_a_stress_of_what_is_elsewhere_is_refused(
    tmp_path: Path, right: str, wrong: str, why: str
) -> None:
    toml = (KPKEYS.folder / "stress" / "stress.toml").read_text()
    assert toml.count(right) == 1
    (tmp_path / "stress").mkdir()
    (tmp_path / "stress" / "stress.toml").write_text(toml.replace(right, wrong))
    with pytest.raises(InputError, match=f"stress.toml: {why}"):
        stress_of(KPKEYS.model_copy(update={"folder": tmp_path}))


STRESS = ("stress", "kpkeys", "--kernels", "lockdep")


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeLab:
    return FakeLab(tmp_path, monkeypatch)


def sends(counters: Mapping[str, int]) -> BootResult:
    """Return a boot that counted that."""
    whole = fake_machine.result()
    records: list[AnyRecord] = [
        Samples(n=n, type="samples", name=name, values=[value])
        for n, (name, value) in enumerate(counters.items())
    ]
    return replace(whole, records=records)


def test_the_command_fails_for_what_was_never_done(lab: FakeLab) -> None:
    done = lab.temper(*STRESS, "--seconds", "20")
    assert done.exit_code == 1
    assert "NEVER DONE: done/fork" in done.output
    assert sorted(lab.machine.booted) == ["mem=256M", "mem=256M pti=on"]


def test_the_command_is_content_with_a_clean_run(lab: FakeLab) -> None:
    stress = stress_of(KPKEYS)
    counters = dict.fromkeys((*stress.used, *stress.on["x86_64"].used), 1)
    clean = {
        line: lambda _: sends(counters) for line in ("mem=256M", "mem=256M pti=on")
    }
    lab.machine.behaviours = {**clean}
    assert lab.temper(*STRESS).exit_code == 0


def test_a_plan_is_printed_and_nothing_booted(lab: FakeLab) -> None:
    done = lab.temper(*STRESS, "--plan")
    assert done.exit_code == 0
    assert "lockdep-max, lockdep-isolation" in " ".join(done.output.split())
    assert "2 at once" in " ".join(done.output.split())
    assert lab.machine.booted == []


def test_a_plan_resumes_nothing(lab: FakeLab) -> None:
    with pytest.raises(InputError, match="--plan shows a new run"):
        lab.temper(*STRESS, "--plan", "--resume", "3")


def test_an_interrupted_run_goes_on(lab: FakeLab) -> None:
    def fails(_: Watcher) -> BootResult:
        raise InfraError("the disk is full")

    lab.machine.behaviours = {"mem=256M pti=on": fails}
    with pytest.raises(InfraError) as caught:
        lab.temper(*STRESS)
    assert "temper stress kpkeys --kernels lockdep" in caught.value.hint
    assert "--resume 1" in caught.value.hint
    lab.machine.behaviours.clear()
    lab.machine.booted.clear()
    assert "lockdep-isolation" in lab.temper(*STRESS, "--resume", "1").output
    assert lab.machine.booted == ["mem=256M pti=on"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--resume", "9"), "there is no run 9"),
        (("--resume", "1"), "run 1 is finished: there is nothing to resume"),
        (("--resume", "1", "--seconds", "20"), "run 1 cannot be resumed: its options"),
        (("--resume", "2"), "run 2 cannot be resumed: it was: "),
    ],
)
def test_what_cannot_be_resumed_is_refused_before_anything_is_built(
    lab: FakeLab, words: tuple[str, ...], why: str
) -> None:
    lab.temper(*STRESS)
    with Store.open() as store:
        store.create_run(run_plan())
    lab.built = lab.machine.prepared = 0
    with pytest.raises(InputError) as caught:
        lab.temper(*STRESS, *words)
    assert caught.value.message.startswith(why)
    assert (lab.built, lab.machine.prepared) == (0, 0)


def test_a_run_that_is_being_made_is_refused_before_anything_is_built(
    lab: FakeLab,
) -> None:
    def fails(_: Watcher) -> BootResult:
        raise InfraError("the disk is full")

    lab.machine.behaviours = {"mem=256M": fails}
    with pytest.raises(InfraError):
        lab.temper(*STRESS)
    lab.built = 0
    refused = pytest.raises(StoreError, match="is making run 1")
    with Store.open() as store, store.making(1), refused:
        lab.temper(*STRESS, "--resume", "1")
    assert lab.built == 0


def test_a_store_that_cannot_be_used_is_told_before_anything_is_built(
    lab: FakeLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEMPER_STORE", "sqlite:////dev/null/results.db")
    with pytest.raises(StoreError):
        lab.temper(*STRESS)
    assert lab.built == 0


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Store a run under stress, one boot of it not clean."""
    monkeypatch.setenv("TEMPER_DATA", str(tmp_path))
    monkeypatch.delenv("TEMPER_STORE", raising=False)
    with Store.open() as store:
        run = store.create_run(plan())
        for name in BOOTS:
            store.save_boot(run, boot(name, console="BUG: bad\n"))
        store.finish(run)


@pytest.mark.usefixtures("stored")
def test_a_stored_run_is_listed_and_reported(tmp_path: Path) -> None:
    def temper(*words: str) -> str:
        done = CliRunner().invoke(app, words, catch_exceptions=False)
        assert done.exit_code == 0
        return done.output

    assert " stress " in temper("runs")
    assert "WRONG: BUG: bad" in temper("report", "1")
    data = json.loads(temper("report", "1", "--json", "-"))
    assert (data["kind"], data["clean"]) == ("stress", False)
    assert data["boots"][0]["wrong"] == ["BUG: bad"]
    temper("report", "1", "--md", str(tmp_path / "mail.md"))
    assert "NOT CLEAN" in (tmp_path / "mail.md").read_text()


@pytest.mark.usefixtures("stored")
def test_only_prices_and_proofs_are_reported_unasked() -> None:
    with pytest.raises(InputError, match="there is no finished run yet"):
        CliRunner().invoke(app, ["report"], catch_exceptions=False)
