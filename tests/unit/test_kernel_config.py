from pathlib import Path

import pytest
from kernels import X86_64, fragments

from temper.arch import ARCHES, Arch
from temper.errors import BuildError, InputError
from temper.kernel import base_named, base_names
from temper.kernel.config import check_config, check_needs, wanted_options
from temper.record.plan import USUAL_BASE
from temper.workloads import all_workloads, workloads


def test_later_lines_win(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fragments(tmp_path, monkeypatch)
    lines = ["CONFIG_A=y", "# CONFIG_B is not set", 'CONFIG_C="x y"', "CONFIG_A=n"]
    assert wanted_options(X86_64, lines, base_named(USUAL_BASE)) == {
        "CONFIG_FAKE": "y",
        "CONFIG_A": "n",
        "CONFIG_B": "n",
        "CONFIG_C": '"x y"',
    }


@pytest.mark.parametrize("line", ["CONFIG_A", "A=y", "CONFIG_A =y", "CONFIG_A="])
def test_a_line_that_is_no_option_is_named(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fragments(tmp_path, monkeypatch)
    with pytest.raises(InputError, match=f"'{line}' is not a kernel option"):
        wanted_options(X86_64, [line], base_named(USUAL_BASE))


def test_options_that_did_not_take_are_named(tmp_path: Path) -> None:
    config = tmp_path / ".config"
    config.write_text("CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=8\n")
    check_config({"CONFIG_A": "y", "CONFIG_B": "n", "CONFIG_GONE": "n"}, config)
    wanted = {"CONFIG_A": "y", "CONFIG_B": "y", "CONFIG_C": "4", "CONFIG_D": "y"}
    with pytest.raises(BuildError) as error:
        check_config(wanted, config)
    assert error.value.message == (
        "options without effect: CONFIG_B=y (it is n), "
        "CONFIG_C=4 (it is 8), CONFIG_D=y (it is n)"
    )


@pytest.mark.parametrize("name", base_names())
@pytest.mark.parametrize("arch", ARCHES.values(), ids=ARCHES)
def test_every_base_has_options_for_every_architecture(arch: Arch, name: str) -> None:
    base = base_named(name)
    options = wanted_options(arch, [], base)
    machine = dict(line.split("=", 1) for line in arch.machine_config)
    assert options.items() >= {"CONFIG_MODULES": "y", **machine}.items()
    assert base.build_steps[arch.name] > 1000


def test_a_kernel_that_lacks_what_a_workload_needs_is_refused() -> None:
    needs = {"net/nginx": ("CONFIG_INET",), "db/postgres": ("CONFIG_SYSVIPC",)}
    options = {"CONFIG_INET": "y", "CONFIG_SYSVIPC": "y"}
    check_needs(needs, options, "Linux 6.12")
    check_needs({}, {}, "Linux 6.12")
    for lacking in ({}, {"CONFIG_SYSVIPC": "m"}, {"CONFIG_SYSVIPC": "n"}):
        with pytest.raises(InputError) as error:
            check_needs(needs, {"CONFIG_INET": "y", **lacking}, "Linux 6.12")
        assert error.value.message == (
            "db/postgres needs CONFIG_SYSVIPC, which Linux 6.12 lacks"
        )
        assert "--base cloud" in error.value.hint


@pytest.mark.parametrize("arch", ARCHES.values(), ids=ARCHES)
def test_the_base_like_a_distributions_has_what_workloads_need(arch: Arch) -> None:
    real = [each.real for each in workloads(all_workloads(), 100) if each.real]
    needs = {"all": tuple(need for each in real for need in each.needs)}
    assert needs["all"]
    check_needs(needs, wanted_options(arch, (), base_named("cloud")), "cloud")
    with pytest.raises(InputError):
        check_needs(needs, wanted_options(arch, (), base_named("small")), "small")


def test_an_unknown_base_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fragments(tmp_path, monkeypatch)
    with pytest.raises(InputError) as error:
        base_named("../small")
    assert error.value.message == "unknown base '../small'"
    assert error.value.hint == "known: small"


def test_a_broken_table_of_a_base_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = fragments(tmp_path, monkeypatch) / "base.toml"
    table.write_text('title = "small"\n')
    with pytest.raises(InputError, match=f"{table}: start: Field required"):
        base_named("small")
