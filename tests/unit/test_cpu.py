"""CPU models: what a user may name, and what QEMU says of it."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_machine import FakeMachine
from kernels import fake_source
from samples import changed, price_run
from typer.testing import CliRunner, Result

from temper.analysis.price import price_report
from temper.arch import ARCHES, Arch, arch_named
from temper.cli import app
from temper.errors import InputError
from temper.kernel import Cache
from temper.machine import DEFAULT_KIND, BootRequest
from temper.machine.kinds import KINDS
from temper.machine.qemu import check_cpu, probe_cpu, qemu_version
from temper.machine.qemu.cpu import Cpu, cpu_names
from temper.machine.tcg import Tcg
from temper.progress import Quiet
from temper.report.markdown import to_markdown
from temper.report.price_document import price_document

X86_64, ARM64 = arch_named("x86_64"), arch_named("arm64")

# What QEMU 7.2 printed, much of it left out; QEMU 10 writes "CPUID[eax=07h].EBX.rtm".
QEMU = """\
#!/bin/sh
case "$*" in
--version) echo "QEMU emulator version 7.2.22"; exit ;;
*"-cpu help"*) cat <<'END'; exit ;;
{help}
END
*"-S -qmp stdio"*) ;;
*) exit 9 ;;
esac
cat >/dev/null
while [ "$1" != -cpu ]; do shift; done
echo '{{"QMP": {{"version": {{}}, "capabilities": ["oob"]}}}}'
echo '{{"return": {{}}}}'
case $2 in
{cases}
esac
echo '{{"return": {{}}}}'
"""
X86_HELP = """\
Available CPUs:
x86 486                   (alias configured by machine type)
x86 EPYC                  (alias configured by machine type)
x86 EPYC-v1               AMD EPYC Processor
x86 Skylake-Server        (alias configured by machine type)
x86 host                  processor with all supported host features
x86 max                   Enables all features supported by the accelerator

Recognized CPUID flags:
  3dnow 3dnowext 3dnowprefetch abm ace2 ace2-en acpi adx aes amd-no-ssb"""
WARNING = "qemu-system-x86_64: warning: TCG doesn't support requested feature"
X86_CASES = f"""\
max|EPYC*) echo '{{"return": true}}' ;;
486) echo '{{"return": false}}' ;;
Skylake*)
	echo "{WARNING}: CPUID.07H:EBX.rtm [bit 11]"
	echo "{WARNING}: CPUID.80000001H:ECX.3dnowprefetch [bit 8]"
	echo "{WARNING}: MSR(10AH).ssb-no [bit 4]"
	echo "{WARNING}: CPUID.01H:ECX.sse4.1 [bit 19]"
	echo "{WARNING}: CPUID[eax=07h].EBX.avx512f [bit 16]"
	echo '{{"return": true}}' ;;
host) echo "qemu-system-x86_64: CPU model 'host' requires KVM or HVF"; exit 1 ;;
*) echo "qemu-system-x86_64: Property 'max-x86_64-cpu.x' not found"; exit 1 ;;"""
ARM_HELP = """\
Available CPUs:
  cortex-a15
  max
  neoverse-n1
"""
ARM_CASES = """\
max*|neoverse-n1*) echo '{"return": true}' ;;
*) echo '{"error": {"class": "GenericError", "desc": "Property not found"}}' ;;"""
OLD_ARM_CASES = """\
*) echo '{"error": {"class": "GenericError", "desc": "Property not found"}}' ;;"""


def install(root: Path, arch: Arch, help_text: str, cases: str) -> None:
    program = root / arch.qemu
    program.write_text(QEMU.format(help=help_text, cases=cases))
    program.chmod(0o755)


@pytest.fixture
def qemu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Put scripts in the place of QEMU that know a few models."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    install(tmp_path, X86_64, X86_HELP, X86_CASES)
    install(tmp_path, ARM64, ARM_HELP, ARM_CASES)
    forget()
    yield tmp_path
    forget()


def forget() -> None:
    qemu_version.cache_clear()
    cpu_names.cache_clear()
    probe_cpu.cache_clear()


@pytest.mark.parametrize(
    ("arch", "given", "model"),
    [
        (X86_64, "", ""),
        (X86_64, "max", ""),
        (X86_64, "EPYC", "EPYC"),
        (X86_64, "max,-pks", "max,-pks"),
        (ARM64, "", ""),
        (ARM64, "max", ""),
        (ARM64, "neoverse-n1", "neoverse-n1,cntfrq=1000000000"),
        (ARM64, "max,sve=off", "max,pauth-impdef=on,cntfrq=1000000000,sve=off"),
    ],
)
def test_a_model_gets_what_exact_counts_need(
    arch: Arch, given: str, model: str
) -> None:
    assert arch.cpu_model(given) == model


@pytest.mark.parametrize("given", ["neoverse-n1,cntfrq=62500000", "max,cntfrq=1"])
def test_the_clock_is_not_the_users_to_set(given: str) -> None:
    with pytest.raises(InputError) as caught:
        ARM64.cpu_model(given)
    assert caught.value.message == "the CPU model cannot set cntfrq"
    assert "1000000000" in caught.value.hint


def test_the_default_has_all_that_exact_counts_need() -> None:
    for arch in ARCHES.values():
        properties = arch.cpu.split(",")
        for name, value in arch.cpu_properties:
            assert f"{name}={value}" in properties


@pytest.mark.parametrize(
    ("arch", "model"),
    [
        (X86_64, "max"),
        (X86_64, "EPYC-v1"),
        (X86_64, "EPYC,-rdrand"),
        (X86_64, "Skylake-Server"),
        (ARM64, "neoverse-n1,cntfrq=1000000000"),
    ],
)
@pytest.mark.usefixtures("qemu")
def test_what_qemu_emulates_will_do(arch: Arch, model: str) -> None:
    check_cpu(arch, model)


@pytest.mark.parametrize(
    ("arch", "model", "message", "hint"),
    [
        (
            X86_64,
            "EPIC",
            "QEMU has no CPU model 'EPIC' for x86_64",
            "did you mean EPYC?",
        ),
        (
            X86_64,
            "nothing-like-it,-x",
            "QEMU has no CPU model 'nothing-like-it' for x86_64",
            "'qemu-system-x86_64 -cpu help' lists them",
        ),
        (
            X86_64,
            "3dnow",
            "QEMU has no CPU model '3dnow' for x86_64",
            "'qemu-system-x86_64 -cpu help' lists them",
        ),
        (
            X86_64,
            "host",
            "QEMU cannot emulate the CPU model 'host': CPU model 'host' requires KVM "
            "or HVF",
            "'qemu-system-x86_64 -cpu help' lists models and features",
        ),
        (
            X86_64,
            "486",
            "the CPU model '486' cannot run a 64-bit kernel",
            "the default is max",
        ),
        (
            ARM64,
            "cortex-a15",
            "the CPU model 'cortex-a15' cannot run a 64-bit kernel",
            "the default is max",
        ),
    ],
)
@pytest.mark.usefixtures("qemu")
def test_what_qemu_does_not_emulate_is_refused(
    arch: Arch, model: str, message: str, hint: str
) -> None:
    with pytest.raises(InputError) as caught:
        check_cpu(arch, model)
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_a_qemu_that_does_not_say_how_wide_a_model_is_may_run_it(qemu: Path) -> None:
    install(qemu, ARM64, ARM_HELP, OLD_ARM_CASES)
    check_cpu(ARM64, "cortex-a15")


LACKS = ("rtm", "3dnowprefetch", "ssb-no", "sse4.1", "avx512f")


@pytest.mark.usefixtures("qemu")
def test_the_features_that_qemu_lacks_are_named() -> None:
    assert probe_cpu(X86_64, "Skylake-Server") == Cpu("", True, LACKS)
    assert probe_cpu(X86_64, "max").lacks == ()


def test_each_boot_says_what_its_model_lacks(qemu: Path) -> None:
    machine = Tcg(X86_64, Cache(qemu / "cache"), Quiet())

    def lacks(cpu: str) -> str | None:
        request = BootRequest(Path("/k"), Path("/i"), "", cpu, False, 1)
        return machine.facts(request).details.get("cpu_lacks")

    assert lacks("Skylake-Server") == "rtm, 3dnowprefetch, ssb-no, sse4.1, avx512f"
    assert lacks("EPYC") is None
    assert lacks("") is None


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeMachine:
    """Have commands use a machine that never boots, and a source in name only."""
    made = FakeMachine()
    fake_source(tmp_path / "linux")
    monkeypatch.setenv("TEMPER_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(KINDS, DEFAULT_KIND, lambda *_: made)
    monkeypatch.chdir(tmp_path)
    return made


def run(*words: str) -> Result:
    source = () if words[0] == "compare" else ("--source", "linux")
    return CliRunner().invoke(app, [*words, *source])


@pytest.mark.parametrize(
    "words",
    [
        ("price", "kstack"),
        ("prove", "kstack"),
        ("price", "kstack", "--plan"),
        ("compare", "bzImage", "bzImage"),
    ],
)
def test_an_unknown_model_is_told_before_anything_is_built(
    machine: FakeMachine, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "bzImage").write_bytes(bytes(0x202) + b"HdrS" + bytes(100))
    machine.unknown_cpu = "EPYC"
    done = run(*words, "--cpu", "EPYC")
    assert str(getattr(done.exception, "message", done.output)) == "no CPU model 'EPYC'"
    assert machine.prepared == 0
    assert Cache().items() == []


@pytest.mark.usefixtures("machine")
def test_the_plan_has_the_model_everywhere_but_where_a_variant_has_its_own() -> None:
    words = ("price", "kpkeys", "--plan", "--json", "-")
    plain = json.loads(run(*words).output)
    plan = json.loads(run(*words, "--cpu", "EPYC").output)
    own = {"temper-pti": "qemu64,+pks,+la57,+pdpe1gb", "no-pks": "max,-pks"}
    for name, variant in plan["variants"].items():
        assert variant["cpu"] == own.get(name, "EPYC")
        assert plain["variants"][name]["cpu"] == own.get(name, "")
    assert (plain["cpu"], plan["cpu"]) == ("", "EPYC")
    assert " --arch x86_64 --cpu EPYC " in plan["command"]
    assert "--cpu" not in plain["command"]
    # To name the default is to name none.
    assert json.loads(run(*words, "--cpu", "max").output) == plain


@pytest.mark.usefixtures("machine")
def test_the_title_has_the_model() -> None:
    done = run("prove", "kstack", "--plan", "--cpu", "EPYC")
    title = "Kernel stack offset randomisation, on CPU model EPYC"
    assert title in " ".join(done.output.split())


@pytest.mark.usefixtures("machine")
def test_an_unusable_clock_is_told_before_anything_is_built() -> None:
    done = run("price", "kstack", "--arch", "arm64", "--cpu", "max,cntfrq=1")
    assert "cannot set cntfrq" in str(getattr(done.exception, "message", done.output))
    assert Cache().items() == []


def test_a_report_says_what_the_model_lacks() -> None:
    run = price_run()
    boots = [changed(boot, details={"cpu_lacks": "rtm, sse4.1"}) for boot in run.boots]
    report = price_report(run.model_copy(update={"boots": boots}))
    assert report.variants["off"].cpu_lacks == "rtm, sse4.1"
    text = to_markdown([price_document(report)], full=True)
    assert "CPU features not emulated: rtm, sse4.1" in text
    assert "not emulated" not in to_markdown(
        [price_document(price_report(run))], full=True
    )
