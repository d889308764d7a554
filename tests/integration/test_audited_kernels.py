"""Kernels as shipped, attacked: Debian's own for the cloud, and a small one of ours."""

import json
import re
from collections.abc import Collection
from pathlib import Path

import pytest
from lab import ARM64, Answer, ask, kernel_of
from typer.testing import CliRunner

from temper.arch import arch_named
from temper.catalog import feature_named
from temper.cli import app
from temper.options import options_on
from temper.paths import REPOSITORY

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

STOPPED = {
    "aslr",
    "control-registers",
    "dmesg-restrict",
    "guard-pages",
    "hardened-usercopy",
    "init-on-alloc",
    "init-stack",
    "kaslr",
    "kptr-restrict",
    "kstack",
    "list-hardened",
    "mmap-min-addr",
    "module-text",
    "no-execute",
    "perf-paranoid",
    "protected-hardlinks",
    "protected-symlinks",
    "randomize-memory",
    "refcount",
    "seccomp",
    "slab-buckets",
    "slab-freelist-random",
    "smap",
    "smep",
    "stack-protector",
    "strict-rwx",
    "unprivileged-bpf",
    "userfaultfd",
    "vmalloc-guard",
    "vsyscall",
}
"""What Debian's kernel has, by its configuration and defaults."""

REPORTED = {"fortify-source", "slab-freelist-hardened"}
"""Options of it with an attack that is only reported."""

ONLY_THERE = {"list-hardened", "slab-freelist-random"}
"""Options of those that nothing weakens there, and that our small kernels lack."""

AT_EVERY_CHECK = {
    *("smep", "list-hardened", "fortify-source", "init-on-alloc", "dmesg-restrict"),
    *("kstack", "stack-protector", "aslr", "pxn", "shadow-call-stack"),
}
"""Options that make check attacks: of each kind one."""

SAMPLE = re.compile(r"^<!-- audit -->\n```text\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def named(answer: Answer, outcome: str) -> set[str]:
    return {o["name"] for o in answer.report["options"] if o["outcome"] == outcome}


def doubted(answer: Answer, what: str) -> Collection[str]:
    return [o["name"] for o in answer.report["options"] if o[what] is False]


few_or_all = pytest.mark.parametrize(
    "amount", ["few", pytest.param("all", marks=pytest.mark.check_all)], indirect=True
)


@pytest.fixture(scope="module")
def amount(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def chosen(amount: str, arch: str) -> tuple[str, ...]:
    """Return the words that choose the options to audit."""
    if amount == "all":
        return ()
    return ("--options", ",".join(sorted(AT_EVERY_CHECK & options_on(arch).keys())))


def tried(answer: Answer) -> set[str]:
    return {o["name"] for o in answer.report["options"]}


@pytest.fixture(scope="module")
def audited(
    amount: str, package: Path, tmp_path_factory: pytest.TempPathFactory
) -> Answer:
    folder = tmp_path_factory.mktemp("audit")
    return ask(folder, "audit", str(package), *chosen(amount, "x86_64"))


@few_or_all
def test_all_is_tried(audited: Answer, amount: str) -> None:
    assert audited.status == 0, audited.output
    report = audited.report
    assert report["complete"]
    assert not (report["failed"] or report["refused"] or report["missing"])
    assert report["tried"] == sum(len(o["attacks"]) for o in report["options"])
    assert report["tried"] >= (45 if amount == "all" else 9)


@few_or_all
def test_options_are_worth_what_the_configuration_says(audited: Answer) -> None:
    assert named(audited, "BLOCKED") == STOPPED & tried(audited)
    assert named(audited, "DETECTED") == REPORTED & tried(audited)
    assert named(audited, "UNSUPPORTED") == set()


@few_or_all
def test_every_control_lands_and_every_remedy_holds(
    audited: Answer, amount: str
) -> None:
    assert doubted(audited, "control_lands") == []
    assert doubted(audited, "remedy_holds") == []
    lands = [o for o in audited.report["options"] if o["control_lands"]]
    assert len(lands) >= (12 if amount == "all" else 3)


@few_or_all
def test_the_report_says_which_kernel_it_was(audited: Answer, package: Path) -> None:
    name, version, _ = package.name.split("_")
    assert audited.report["title"] == f"{name} {version}"
    assert f"linux-image-{audited.report['release']}" == name.removesuffix("-unsigned")


@pytest.mark.check_all
@pytest.mark.parametrize("amount", ["all"], indirect=True)
def test_the_documents_show_what_it_prints(audited: Answer) -> None:
    lines = {line.rstrip() for line in audited.output.splitlines()}
    shown = [
        line
        for name in ("README.md", "docs/audit.md")
        for sample in SAMPLE.findall((REPOSITORY / name).read_text(encoding="utf-8"))
        for line in sample.splitlines()
        if line
    ]
    assert len(shown) > 10
    assert [line for line in shown if line not in lines] == []


@pytest.mark.check_all
@pytest.mark.parametrize(
    ("cmdline", "options"),
    [
        ("oops=panic", "smep,strict-rwx,list-hardened"),
        # It says nothing of its own, and lets nobody else say anything.
        ("oops=panic quiet loglevel=0 printk.devkmsg=off", "smep,list-hardened"),
        # What is only reported without it ends the kernel.
        ("panic_on_warn=1", "fortify-source,slab-freelist-hardened"),
    ],
)
def test_a_kernel_that_panics_at_every_attack_is_audited_all_the_same(
    cmdline: str, options: str, package: Path, tmp_path: Path
) -> None:
    answer = ask(
        tmp_path,
        *("audit", str(package), "--options", options, "--cmdline", cmdline),
    )
    assert answer.status == 0, answer.output
    assert answer.report["boots"] > len(answer.run.plan.slots)
    assert named(answer, "BLOCKED") == set(options.split(","))


@pytest.mark.parametrize(
    ("cmdline", "why"),
    [
        ("module.sig_enforce=1", "it loads only modules that are signed"),
        ("debugfs=off", "debugfs is off"),
    ],
)
def test_a_kernel_in_which_lkdtm_does_not_work_says_so(
    cmdline: str, why: str, package: Path, tmp_path: Path
) -> None:
    answer = ask(
        tmp_path,
        *("audit", str(package), "--options", "smep,dmesg-restrict"),
        *("--cmdline", cmdline),
    )
    assert answer.status == 77
    assert why in answer.report["refused"]
    # What takes no module is tried all the same.
    assert named(answer, "BLOCKED") == {"dmesg-restrict"}
    assert named(answer, "UNSUPPORTED") == {"smep"}


def test_a_cpu_without_smap_is_against_the_policy(
    package: Path, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('blocked = ["smap"]\n')
    answer = ask(
        tmp_path,
        *("audit", str(package), "--options", "smep,smap", "--cpu", "Nehalem"),
        *("--policy", str(policy)),
    )
    assert answer.status == 1
    assert "AGAINST THE POLICY: smap is VULNERABLE, and must be" in answer.output
    # On that CPU page-table isolation stops the attack on SMEP, which it lacks.
    assert named(answer, "UNSUPPORTED") == {"smep"}


def test_lines_of_another_checker_come_back_with_what_was_proven(
    package: Path, tmp_path: Path
) -> None:
    lines = tmp_path / "lines.json"
    names = ("CONFIG_X86_SMAP", "init_on_free", "CONFIG_CFI_CLANG", "CONFIG_KEXEC")
    lines.write_text(json.dumps([{"option_name": name} for name in names]))
    command = ["audit", str(package), "--options", "smap,init-on-free,cfi"]
    done = CliRunner().invoke(
        app,
        [*command, "--join", str(lines)],
        env={"TEMPER_DATA": str(tmp_path), "TEMPER_STORE": None},
    )
    assert done.exit_code == 0, done.output
    assert [each["proof"] for each in json.loads(done.stdout)] == [
        *("proven", "not proven", "not proven", "not tried"),
    ]


ARM64_ONLY = {"execute-never", "linear-alias", "pac-ret", "pan", "pxn"}
X86_64_ONLY = {
    *("control-registers", "no-execute", "randomize-memory"),
    *("smap", "smep", "vsyscall"),
}


@pytest.fixture(scope="module")
def audited_arm64(
    amount: str, package_arm64: Path, tmp_path_factory: pytest.TempPathFactory
) -> Answer:
    """Audit it, by modules cross-compiled."""
    folder = tmp_path_factory.mktemp("audit")
    words = (*ARM64, *chosen(amount, "arm64"))
    return ask(folder, "audit", str(package_arm64), *words)


@pytest.mark.check_all
@few_or_all
def test_arm64_is_audited_on_a_host_of_another_kind(audited_arm64: Answer) -> None:
    assert audited_arm64.status == 0, audited_arm64.output
    assert audited_arm64.report["complete"]
    here = tried(audited_arm64)
    assert named(audited_arm64, "BLOCKED") == here & (
        STOPPED - X86_64_ONLY | ARM64_ONLY
    )
    assert named(audited_arm64, "DETECTED") == REPORTED & here
    # Signed return addresses stop the attack: that is another option.
    assert named(audited_arm64, "UNSUPPORTED") == {"shadow-call-stack"}
    assert doubted(audited_arm64, "control_lands") == []
    assert doubted(audited_arm64, "remedy_holds") == []


def test_code_that_can_be_written_at_another_address_is_found(
    package_arm64: Path, tmp_path: Path
) -> None:
    options = ("--options", "module-text,linear-alias", "--cmdline", "rodata=on")
    answer = ask(tmp_path, "audit", str(package_arm64), *options, *ARM64)
    assert named(answer, "VULNERABLE") == {"module-text"}
    assert named(answer, "BLOCKED") == {"linear-alias"}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """Audit a kernel of ours, whose modules are built against what lies beside it."""
    image = kernel_of(feature_named("kstack"), "stock").image
    folder = tmp_path_factory.mktemp("audit")
    options = ",".join(sorted(ONLY_THERE | REPORTED))
    return ask(folder, "audit", str(image), "--options", options)


def test_attacks_land_on_a_kernel_without_the_options(small: Answer) -> None:
    """So their not landing on Debian's kernel is the options' doing."""
    assert small.status == 0, small.output
    assert named(small, "VULNERABLE") == ONLY_THERE | REPORTED


@pytest.mark.check_all
@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_twins_show_that_it_is_the_option_that_stops_it(
    arch: str, tmp_path: Path
) -> None:
    """Each that only twins weaken is proven by them."""
    stock = kernel_of(feature_named("kstack"), "stock", arch_named(arch))
    answer = ask(tmp_path, "audit", str(stock.image), "--twins", "--arch", arch)
    assert answer.status == 0, answer.output
    here = options_on(arch)
    by_twins = {name for name, option in here.items() if option.control.is_twin}
    assert by_twins > {"guard-pages", "init-stack", "refcount", "stack-protector"}
    found = {o["name"]: o for o in answer.report["options"] if o["name"] in by_twins}
    assert found.keys() == by_twins
    for name, option in found.items():
        switched_on = not here[name].remedy.none
        assert option["control_lands"] is True, option
        assert option["remedy_holds"] is (True if switched_on else None), option


def test_the_configuration_is_that_of_the_build(small: Answer) -> None:
    (found,) = [o for o in small.report["options"] if o["name"] == "list-hardened"]
    assert found["settings"][0] == {
        "name": "CONFIG_LIST_HARDENED",
        "desired": "y",
        "found": "is not set",
    }
    assert "wants CONFIG_LIST_HARDENED = y (it is not set)" in " ".join(
        small.output.split()
    )


@pytest.mark.parametrize(
    ("name", "variant", "cmdline", "outcome"),
    [
        ("kstack", "temper", "", "BLOCKED"),
        pytest.param(
            *("kstack", "constant", "kstack_sabotage=constant", "VULNERABLE"),
            marks=pytest.mark.check_all,
        ),
        ("kpkeys", "temper", "", "BLOCKED"),
        pytest.param(
            *("kpkeys", "unkeyed-pte", "kpkeys_sabotage=unkeyed-pte", "VULNERABLE"),
            marks=pytest.mark.check_all,
        ),
    ],
)
def test_our_own_features_are_rows(
    name: str, variant: str, cmdline: str, outcome: str, tmp_path: Path
) -> None:
    """One that is broken is seen to be."""
    image = kernel_of(feature_named(name), variant).image
    answer = ask(
        tmp_path,
        *("audit", str(image), "--options", name),
        *("--cmdline", f"randomize_kstack_offset=on {cmdline}"),
    )
    assert answer.status == 0, answer.output
    assert named(answer, outcome) == {name}
    assert doubted(answer, "control_lands") == []
    assert answer.report["options"][0]["control_lands"]
