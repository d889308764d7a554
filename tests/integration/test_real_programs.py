"""Real programs out of Debian's packages, on real kernels of both architectures."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from lab import (
    ARM64,
    ONE_LAYOUT,
    Answer,
    ask,
    boots_of,
    new_machine,
    planner,
    prepared,
    run_of,
)

from temper import workloads as workloads_table
from temper.analysis.boots import results_by_variant
from temper.analysis.failed_programs import failed_programs
from temper.catalog import feature_named
from temper.debian.source import source_lines
from temper.paths import REPOSITORY
from temper.record.plan import Slot
from temper.run.prepare import Prepared
from temper.workloads import all_workloads, workloads

pytestmark = [pytest.mark.integration, pytest.mark.timeout(3600)]

REAL = tuple(
    each.name
    for each in workloads(all_workloads(), 100)
    # Our small kernels lack what the others need: see test_compare.py.
    if each.real and not each.real.needs
)
IN_USER_SPACE = ("compress/zstd", "crypto/openssl")
REDIS = "db/redis-get"
# One of each kind: hardly any kernel, a client and a server, many tasks, one task.
FEW = (
    *IN_USER_SPACE,
    REDIS,
    "sched/hackbench-processes",
    "db/sqlite",
    "lang/python-start",
    "build/cc",
)


def priced(folder: Path, programs: tuple[str, ...], *options: str) -> Answer:
    named = [word for name in programs for word in ("--workload", name)]
    variants = ("--variants", "off,stock")
    size = ("--calls", "1000", *ONE_LAYOUT)
    return ask(folder, "price", "kstack", *variants, *named, *size, *options)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((FEW,), id="x86_64"),
        pytest.param((REAL,), id="x86_64-all", marks=pytest.mark.check_all),
        pytest.param((REAL, *ARM64), id="arm64-all", marks=pytest.mark.check_all),
    ],
)
def answer(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Answer:
    answer = priced(tmp_path_factory.mktemp("price"), *request.param)
    assert {row["workload"] for row in answer.report["rows"]} == set(request.param[0])
    return answer


def test_all_are_priced_exactly(answer: Answer) -> None:
    assert answer.status == 0
    assert answer.report["exact"]
    named = {row["workload"] for row in answer.report["rows"]}
    for boot in answer.boots():
        assert boot.facts.status == "ok", boot.facts.error
        assert set(boot.workloads) == named


def test_the_versions_are_part_of_the_result(answer: Answer) -> None:
    versions = answer.report["packages"]
    assert versions["redis-server"] == versions["redis-tools"]
    assert "libc6" in versions


def test_what_hardly_enters_the_kernel_hardly_pays(answer: Answer) -> None:
    assert answer.kernels_share("sched/hackbench-processes") > 0.5
    for workload in IN_USER_SPACE:
        assert answer.kernels_share(workload) < 0.25
        before, more = answer.prices(workload, "stock")["mean"]
        # Which pages are free, after other programs, moves the kernel's part: by 0.3 %
        # of openssl's run on arm64.
        assert abs(more) < before / 100
        moved = answer.class_delta(workload, "user_instructions", "stock")
        assert abs(moved) < before / 1000


@pytest.mark.check_all
def test_programs_of_another_suite_are_measured(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Debian 13's: their C library, their Python and their compiler are others."""
    file = tmp_path / "trixie.list"
    file.write_text(source_lines("trixie").replace("deb-src ", "deb "))
    named = (REDIS, "lang/python-start", "build/cc")
    folder = tmp_path_factory.mktemp("price")
    answer = priced(folder, named, "--packages", str(file))
    assert answer.status == 0, answer.output
    assert answer.report["exact"]
    versions = answer.report["packages"]
    assert versions["libc6"].startswith("2.41-")
    assert {"gcc-14", "python3.13-minimal"} <= versions.keys()


@pytest.mark.check_all
def test_what_needs_networks_runs_on_arm64(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    cloud = (*ARM64, "--base", "cloud")
    answer = priced(tmp_path_factory.mktemp("price"), ("net/nginx",), *cloud)
    assert answer.status == 0, answer.output
    assert answer.report["exact"]
    assert answer.prices("net/nginx", "stock")["p50"][0] > 0


# What stock has more of in each system call, by far, whatever else a program does.
PAID_WITH = {"x86_64": "kernel_rdtsc", "arm64": "kernel_instructions"}


def test_every_system_call_pays(answer: Answer) -> None:
    """Of one task; with many, their turns move instructions by more than that."""
    for workload in ("db/sqlite", "lang/python-start"):
        name = PAID_WITH[answer.report["arch"]]
        assert answer.class_delta(workload, name, "stock") > 0


def with_program(name: str) -> Prepared:
    plan = planner().price(feature_named("kstack"), 1000, ["stock"], names=(name,))
    return prepared(plan)


def redis() -> Prepared:
    return with_program(REDIS)


def failure(whole: Prepared) -> str:
    """Boot once, and return how the run's only real program failed."""
    once = {"slots": (Slot(variant="off", repeat=0),)}
    part = replace(whole, plan=whole.plan.model_copy(update=once))
    run = run_of(part, new_machine())
    boots = results_by_variant(run)
    (boot,) = boots["off"]
    assert boot.workloads == {}
    (how,) = failed_programs(run, boots).values()
    return how


@pytest.mark.parametrize(
    ("instead", "by", "message"),
    [
        ("--port 0", "--nosuch 1", "redis-server ended at once; it printed: "),
        ("-t get", "--nosuch", "redis-benchmark failed; it printed: "),
        ("says GET", "says nosuch", "redis-benchmark did not do its work; it pr"),
    ],
)
def test_a_program_that_fails_is_named_with_its_last_output(
    instead: str, by: str, message: str
) -> None:
    whole = redis()
    texts = {
        path: text.replace(instead, by) for path, text in whole.plan.work.texts.items()
    }
    assert texts != whole.plan.work.texts
    work = whole.plan.work.model_copy(update={"texts": texts})
    spoilt = replace(whole, plan=whole.plan.model_copy(update={"work": work}))
    error = failure(spoilt)
    assert error.startswith("it ended with status 1 in boot 1 of off; ")
    assert message in error


def test_a_server_that_is_not_there_is_named() -> None:
    whole = redis()
    setups = {name: replace(setup, trees=()) for name, setup in whole.setups.items()}
    error = failure(replace(whole, setups=setups))
    assert "/usr/bin/redis-server: No such file or directory" in error


OBJECTS = "build/kernel-objects"


@pytest.fixture
def two_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prepared:
    """Plan to compile two objects of the kernel instead of all."""
    text = workloads_table.REAL_TABLE.read_text("utf-8")
    text = text.replace("50 objects", "2 objects").replace("= 50\n", "= 2\n")
    whole = re.search(r"objects = \[.*?\]", text, re.DOTALL)
    assert whole
    fewer = text.replace(whole[0], 'objects = ["lib/bcd.o", "lib/math/gcd.o"]')
    monkeypatch.setattr(workloads_table, "REAL_TABLE", tmp_path / "real.toml")
    workloads_table.REAL_TABLE.write_text(fewer)
    return with_program(OBJECTS)


@pytest.mark.check_all
def test_objects_of_the_kernel_are_compiled(two_objects: Prepared) -> None:
    (boot,) = boots_of(two_objects, new_machine(), "off")
    assert boot.facts.error == ""
    record, classes = boot.workloads[OBJECTS], boot.classes[OBJECTS]
    assert (record.samples, record.operations) == (1, 2)
    # make, a shell, and the parts of gcc; most of it is work of the compiler.
    assert classes["user_instructions"] > 4 * classes["kernel_instructions"] > 10**6


@pytest.mark.check_all
def test_an_object_that_does_not_compile_is_no_sample(two_objects: Prepared) -> None:
    path = f"commands/{OBJECTS}.mk"
    work = two_objects.plan.work
    failing = work.texts[path].replace("$(savedcmd_$@)", "$(savedcmd_$@) -include no.h")
    texts = {"texts": {**work.texts, path: failing}}
    plan = two_objects.plan.model_copy(update={"work": work.model_copy(update=texts)})
    error = failure(replace(two_objects, plan=plan))
    assert "/usr/bin/make failed; it printed: " in error
    assert "fatal error: no.h: No such file or directory" in error


def test_the_example_of_the_documents_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its last line, the failure says what is missing."""
    text = (REPOSITORY / "docs" / "adding-a-workload.md").read_text("utf-8")
    _, table, last, *_ = re.split("```toml\n", text.partition("### One that is not")[2])
    first, second = (each.partition("```")[0] for each in (table, last))
    there = workloads_table.REAL_TABLE.read_text("utf-8")
    monkeypatch.setattr(workloads_table, "REAL_TABLE", tmp_path / "real.toml")
    workloads_table.REAL_TABLE.write_text(there + first)
    error = failure(with_program("lang/perl-start"))
    assert "/usr/bin/perl failed; it printed: Can't locate strict.pm" in error
    workloads_table.REAL_TABLE.write_text(there + first + second)
    (boot,) = boots_of(with_program("lang/perl-start"), new_machine(), "off")
    assert boot.facts.error == ""
    assert boot.workloads["lang/perl-start"].samples == 5
