"""A kernel we did not build: Debian's own for the cloud, option off against on."""

from pathlib import Path

import pytest
from lab import ONE_LAYOUT, QUANTILES, SYSCALLS, Answer, ask

from temper.digest import file_digest
from temper.process import call
from temper.workloads import all_workloads, workloads

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

OPTION = "randomize_kstack_offset"


@pytest.fixture(scope="module")
def unpacked(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    assert call(["dpkg-deb", "-x", package, folder], folder, 300).status == 0
    return folder


@pytest.fixture(scope="module")
def compared(
    package: Path, unpacked: Path, tmp_path_factory: pytest.TempPathFactory
) -> Answer:
    return ask(
        tmp_path_factory.mktemp("compare"),
        *("compare", str(package), str(unpacked), "--calls", "20000", *ONE_LAYOUT),
        *("--cmdline-a", f"{OPTION}=off", "--cmdline-b", f"{OPTION}=on"),
    )


NEEDY = tuple(
    each.name
    for each in workloads(all_workloads(), 100)
    if each.real and each.real.needs
)


@pytest.mark.check_all
def test_real_programs_run_on_it(package: Path, tmp_path: Path) -> None:
    """Those that need what our small kernels lack."""
    answer = ask(
        tmp_path,
        *("compare", str(package), str(package), "--calls", "1000", *ONE_LAYOUT),
        *(word for name in NEEDY for word in ("--workload", name)),
        *("--cmdline-a", f"{OPTION}=off", "--cmdline-b", f"{OPTION}=on"),
    )
    assert answer.status == 0, answer.output
    assert answer.report["exact"], answer.report["exact_why"]
    assert {row["workload"] for row in answer.report["rows"]} == set(NEEDY)
    # The option's price is one rdtsc in each system call, and a few others.
    for name in NEEDY:
        assert answer.class_delta(name, "kernel_rdtsc", "B") > 0.1, name


def test_the_counts_are_exact(compared: Answer, unpacked: Path) -> None:
    assert compared.status == 0, compared.output
    assert compared.report["exact"] is True, compared.report["exact_why"]
    (image,) = (unpacked / "boot").glob("vmlinuz-*")
    for variant in compared.report["variants"].values():
        assert variant["kernel_release"] == image.name.removeprefix("vmlinuz-")


def test_the_report_says_what_was_booted(
    compared: Answer, package: Path, unpacked: Path
) -> None:
    """The package, and the folder that dpkg unpacked it to, are the same kernel."""
    before, after = compared.report["variants"].values()
    (image,) = (unpacked / "boot").glob("vmlinuz-*")
    (config,) = (unpacked / "boot").glob("config-*")
    assert before["title"] == package.name
    assert before["kernel_key"] == f"file:{file_digest(package)}"
    name, version = package.name.split("_")[:2]
    assert before["package"] == f"{name} {version}"
    assert before["image"] == f"boot/{image.name}"
    assert before["image_hash"] == file_digest(image)

    assert after["title"] == f"{unpacked.name}/boot/{image.name}"
    assert after["kernel_key"] == f"file:{file_digest(image)}"
    assert (after["package"], after["image"]) == ("", "")
    for variant in (before, after):
        assert variant["config_hash"] == file_digest(config)
        assert "gcc" in variant["compiler"]


def test_all_calls_pay_the_same_in_the_tail_too(compared: Answer) -> None:
    prices = {
        compared.deltas(workload, "B")[quantile]
        for workload in SYSCALLS
        for quantile in QUANTILES
    }
    assert len(prices) == 1, prices
    assert prices.pop() > 0


@pytest.mark.parametrize("workload", SYSCALLS)
def test_a_call_reads_the_clock_once_more(compared: Answer, workload: str) -> None:
    clock_reads = compared.class_delta(workload, "kernel_rdtsc", "B")
    assert clock_reads == pytest.approx(1, abs=0.01)


def test_it_does_not_claim_to_have_checked_the_feature(compared: Answer) -> None:
    assert compared.report["in_force"] == {}
    assert "no feature is named" in compared.report["in_force_note"]


@pytest.fixture(scope="module")
def on_another_cpu(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return ask(
        tmp_path_factory.mktemp("epyc"),
        *("compare", str(package), str(package), "--cpu", "EPYC-Rome"),
        *("--workload", "syscall/getpid", "--workload", "ctx/pipe", "--calls", "500"),
        *ONE_LAYOUT,
    )


def test_another_cpu_model_is_as_exact(on_another_cpu: Answer) -> None:
    report = on_another_cpu.report
    assert on_another_cpu.status == 0, on_another_cpu.output
    assert report["exact"] is True, report["exact_why"]
    assert report["title"] == "two kernels, on CPU model EPYC-Rome"
    assert " --cpu EPYC-Rome" in report["command"]
    for variant in report["variants"].values():
        assert variant["cpu_model"] == "EPYC-Rome"
        # QEMU warns of them, and boots.
        assert "xsaves" in variant["cpu_lacks"].split(", ")
    assert on_another_cpu.run.plan.cpu == "EPYC-Rome"


def test_the_workloads_that_were_named_are_compared(on_another_cpu: Answer) -> None:
    found = {row["workload"] for row in on_another_cpu.report["rows"]}
    assert found == {"syscall/getpid", "ctx/pipe"}


def test_work_that_moved_out_of_the_samples_is_no_improvement(
    package: Path, tmp_path: Path
) -> None:
    """Pages are cleared when they are freed: by the child, as it ends."""
    answer = ask(
        tmp_path,
        *("compare", str(package), str(package), "--workload", "micromm/fork-p1"),
        *("--cmdline-a", "init_on_free=0", "--cmdline-b", "init_on_free=1"),
        *("--calls", "1000", *ONE_LAYOUT),
    )
    assert answer.report["exact"] is True, answer.report["exact_why"]
    marks = {row["class"]: row["mark"] for row in answer.report["rows"]}
    assert (marks["p50"], marks["whole-loop"]) == ("(M)", "(R)")
    assert answer.deltas("micromm/fork-p1", "B")["p50"] < 0
    assert answer.deltas("micromm/fork-p1", "B", False)["whole-loop"] > 0
    output = " ".join(answer.output.split())
    assert "No improvement (M), since the whole loop is not cheaper" in output
