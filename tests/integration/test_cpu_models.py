"""What the QEMU of this host says of CPU models; it boots nothing."""

import pytest

from temper.arch import ARCHES, arch_named
from temper.errors import InputError
from temper.machine.qemu import check_cpu, probe_cpu
from temper.machine.qemu.cpu import cpu_names

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("x86_64", "EPYC"),
        ("x86_64", "Skylake-Server-v4"),
        ("x86_64", "qemu64,+pks"),
        ("arm64", "neoverse-n1"),
        ("arm64", "max,sve=off"),
    ],
)
def test_models_of_servers_can_be_emulated(name: str, model: str) -> None:
    arch = arch_named(name)
    check_cpu(arch, arch.cpu_model(model))


@pytest.mark.parametrize("name", ARCHES)
def test_the_default_model_is_emulated_whole(name: str) -> None:
    arch = arch_named(name)
    check_cpu(arch, arch.cpu)
    found = probe_cpu(arch, arch.cpu)
    assert (found.error, found.lacks) == ("", ())
    # Later versions of QEMU may not say it for arm64.
    assert found.is_64_bit is not False
    assert {"max", arch.cpu.partition(",")[0]} <= cpu_names(arch.qemu)


@pytest.mark.parametrize(
    ("name", "model", "why"),
    [
        ("x86_64", "EPIC", "has no CPU model 'EPIC'"),
        ("x86_64", "qemu32", "cannot run a 64-bit kernel"),
        ("x86_64", "host", "requires KVM"),
        ("x86_64", "max,+no-such-feature", "not found"),
        ("arm64", "cortex-a15", "cannot run a 64-bit kernel"),
        ("arm64", "cortex-m3", "cannot emulate"),
        ("arm64", "neoverse-n1,no-such-feature=on", "not found"),
    ],
)
def test_other_models_are_refused(name: str, model: str, why: str) -> None:
    arch = arch_named(name)
    with pytest.raises(InputError, match=why):
        check_cpu(arch, arch.cpu_model(model))


def test_what_a_model_lacks_is_named() -> None:
    assert "avx512f" in probe_cpu(arch_named("x86_64"), "Skylake-Server").lacks
