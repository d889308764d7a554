"""The plan of an audit: its boots, its modules, and what it refuses."""

import struct
from pathlib import Path

import pytest
from kernels import fake_source

from temper.arch import arch_named
from temper.errors import InputError
from temper.kernel import Cache, headers_beside, image_release
from temper.options import Option, options_on
from temper.record.outcome import Outcome
from temper.record.plan import Headers, Role, RunPlan
from temper.run.audit import on_cpu, plan_audit
from temper.run.audit_boots import SHIPPED
from temper.run.planner import Planner

RELEASE = "6.12.117+deb12-cloud-amd64"


def bzimage(release: str = RELEASE) -> bytes:
    """Return an image that says its release as boot.rst has it."""
    head = bytearray(0x400)
    head[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", head, 0x20E, 0x100)
    return bytes(head[:0x300]) + release.encode() + b" (a@b) #1\0" + bytes(300)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """Return an image in the folder of a build, which has headers."""
    folder = tmp_path / "build"
    folder.mkdir()
    for name in ("Makefile", ".config", "Module.symvers"):
        (folder / name).write_text(name)
    (folder / "bzImage").write_bytes(bzimage())
    return folder / "bzImage"


@pytest.fixture
def planner(tmp_path: Path) -> Planner:
    source = fake_source(tmp_path / "linux")
    return Planner(arch_named("x86_64"), Cache(tmp_path / "cache"), source)


def shipped(plan: RunPlan) -> list[str]:
    return [n for n, boot in plan.audited.items() if boot.role is Role.SHIPPED]


def test_every_attack_is_tried_on_the_kernel_as_it_is(
    planner: Planner, image: Path
) -> None:
    plan = plan_audit(planner, image)
    tried = [name for boot in shipped(plan) for name in plan.audited[boot].attacks]
    assert sorted(tried) == sorted(plan.attacks)
    heard = {plan.variants[name].cmdline for name in shipped(plan)}
    assert heard == {"ignore_loglevel printk.devkmsg=on panic=-1"}


def test_what_damages_the_kernel_has_a_boot_of_its_own(
    planner: Planner, image: Path
) -> None:
    plan = plan_audit(planner, image)
    options = options_on("x86_64").values()
    apart = {name for o in options for name, each in o.each() if each.apart}
    assert apart
    for boot in shipped(plan):
        attacks = set(plan.audited[boot].attacks)
        assert not (attacks & apart) or len(attacks) == 1


def controls(option: Option, plan: RunPlan) -> set[str]:
    """Return the attacks on an option in the boots in which it is weakened."""
    return {
        name
        for boot, audited in plan.audited.items()
        if audited.role is Role.CONTROL
        and option.control.cmdline in plan.variants[boot].cmdline
        and option.control.cpu in plan.variants[boot].cpu
        and set(option.control.config) <= set(plan.variants[boot].kernel.options)
        for name in audited.attacks
    }


@pytest.mark.parametrize("name", options_on("x86_64"))
def test_every_option_that_can_be_weakened_is(
    name: str, planner: Planner, image: Path
) -> None:
    plan = plan_audit(planner, image, [name], twins=True)
    option = options_on("x86_64")[name]
    attacks = {attack for attack, _ in option.each()}
    weakened = not option.control.none
    assert controls(option, plan) == (attacks if weakened else set())
    if option.control.sysctls:
        lines = plan.variants["users off"].job
        assert all(word in lines[0] for word in option.control.sysctls)


def test_twins_are_built_only_if_they_are_wanted(planner: Planner, image: Path) -> None:
    plan = plan_audit(planner, image, ["guard-pages", "refcount"])
    assert list(plan.variants) == [SHIPPED]
    assert not plan.options["guard-pages"].has_control
    assert plan.options["guard-pages"].remedy == ""
    twins = plan_audit(planner, image, ["guard-pages", "refcount"], twins=True)
    assert list(twins.variants) == [SHIPPED, "twin off", "twin on"]
    off, on = twins.variants["twin off"].kernel, twins.variants["twin on"].kernel
    assert "CONFIG_VMAP_STACK=n" in off.options
    assert "CONFIG_VMAP_STACK=y" in on.options
    patches = {Path(each).name for each in off.patches}
    assert patches == {
        "adjacent-areas.patch",
        "loose-registers.patch",
        "wrapping-counters.patch",
        "writable-modules.patch",
    }
    assert on.patches == ()
    # Both differ from the base in what lets attacks be tried.
    assert "CONFIG_PANIC_ON_OOPS=n" in off.options
    assert "CONFIG_PANIC_ON_OOPS=n" in on.options
    assert twins.options["guard-pages"].has_control
    # Whichever options are wanted, so that no other kernel is built.
    one = plan_audit(planner, image, ["seccomp"], twins=True)
    assert one.variants["twin off"].kernel == off
    assert one.variants["twin off"].job[0] == "run attack user seccomp"
    assert "--twins" in twins.command
    assert "--twins" not in plan.command


def test_a_control_that_a_cpu_model_cannot_have_is_none(image: Path) -> None:
    planner = Planner(
        arch_named("arm64"), Cache(image.parent / "cache"), cpu="neoverse-n1"
    )
    control = options_on("arm64")["pac-ret"].control.cpu
    assert "pauth" in control
    found = on_cpu(planner, options_on("arm64")["pac-ret"])
    assert found.control.none == (
        f"the CPU model neoverse-n1 cannot be had with {control}"
    )
    for model in ("max", ""):
        can = Planner(arch_named("arm64"), planner.cache, cpu=model)
        option = options_on("arm64")["pac-ret"]
        assert on_cpu(can, option) == option


def test_what_is_no_configuration_is_refused(
    planner: Planner, image: Path, tmp_path: Path
) -> None:
    config = tmp_path / "passwd"
    config.write_bytes(b"root:x:0:0\n\xff\n")
    with pytest.raises(InputError, match="no configuration of a kernel"):
        plan_audit(planner, image, config=config)


def test_an_attack_across_boots_is_made_in_each_that_leaves_its_option(
    planner: Planner, image: Path
) -> None:
    plan = plan_audit(planner, image, twins=True)
    assert plan.attacks["direct_map"].across_boots
    line = "run attack probe direct_map"
    for name, boot in plan.audited.items():
        its_own = "direct_map" in boot.attacks
        job = plan.variants[name].job
        assert (line in job) == (its_own or "twin" not in name), name
        # It loads what the attack needs, even in boots for attacks of other kinds.
        if line in job:
            assert job.index("run attack module probe") < job.index(line)
    # Two options that share their setting say it once.
    assert plan.variants["users off"].cmdline.split().count("nokaslr") == 1
    boots = {n for n, boot in plan.audited.items() if "direct_map" in boot.attacks}
    assert boots == {SHIPPED, "users off"}


def test_sysctls_of_an_attack_are_set_in_each_boot(
    planner: Planner, image: Path
) -> None:
    plan = plan_audit(planner, image, ["page-table-check"], twins=True)
    assert len(plan.variants) == 3
    for variant in plan.variants.values():
        assert variant.job[-1].endswith("mapped_twice kernel.panic_on_oops=1")


def test_the_configuration_is_the_one_given_or_that_of_the_headers(
    planner: Planner, image: Path, tmp_path: Path
) -> None:
    plan = plan_audit(planner, image, ["smap"])
    assert plan.work.told == ("CONFIG_X86_SMAP",)
    assert plan.variants[SHIPPED].kernel.config == str(image.parent / ".config")
    assert "--config" not in plan.command
    given = tmp_path / "config-given"
    given.write_text("CONFIG_X86_SMAP=y\n")
    plan = plan_audit(planner, image, ["smap"], config=given)
    assert plan.variants[SHIPPED].kernel.config == str(given)
    assert f"--config {given}" in plan.command
    with pytest.raises(InputError, match="there is no configuration"):
        plan_audit(planner, image, ["smap"], config=tmp_path / "none")


def test_a_boot_loads_only_the_modules_that_it_needs(
    planner: Planner, image: Path
) -> None:
    plan = plan_audit(planner, image, ["yama-ptrace"])
    assert plan.work.modules == ()
    assert plan.variants[SHIPPED].job == ("run attack user ptrace",)
    plan = plan_audit(planner, image, ["smep"])
    assert [module.name for module in plan.work.modules] == ["lkdtm"]
    assert plan.variants[SHIPPED].job == (
        "run attack module lkdtm",
        "run attack lkdtm EXEC_USERSPACE",
    )


def test_the_cpu_model_is_the_users_but_for_what_is_weakened(
    planner: Planner, image: Path
) -> None:
    plan = plan_audit(planner, image, ["smep"])
    assert [v.cpu for v in plan.variants.values()] == ["", "max,-smep"]
    given = Planner(planner.arch, planner.cache, planner.source, cpu="Nehalem")
    plan = plan_audit(given, image, ["smep"])
    assert [v.cpu for v in plan.variants.values()] == ["Nehalem", "Nehalem,-smep"]


def test_words_for_the_command_line_go_into_all_boots(
    planner: Planner, image: Path
) -> None:
    plan = plan_audit(planner, image, ["init-on-alloc"], cmdline="lsm=yama")
    assert [v.cmdline for v in plan.variants.values()] == [
        f"{words} ignore_loglevel printk.devkmsg=on panic=-1"
        for words in (
            "lsm=yama",
            "lsm=yama init_on_alloc=0",
            "lsm=yama init_on_alloc=1",
        )
    ]
    assert "--cmdline lsm=yama" in plan.command


def test_a_policy_is_part_of_the_plan(
    planner: Planner, image: Path, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('blocked = ["smep"]\n')
    plan = plan_audit(planner, image, ["smep"], policy)
    assert plan.must == {"smep": Outcome.BLOCKED}
    assert f"--policy {policy}" in plan.command
    with pytest.raises(InputError, match="unknown option 'smep'"):
        plan_audit(planner, image, ["smap"], policy)
    policy.write_text('blocks = ["smep"]\n')
    with pytest.raises(InputError, match=r"policy\.toml: blocks: Extra inputs"):
        plan_audit(planner, image, ["smep"], policy)


def test_lkdtm_is_built_from_the_kernels_source(planner: Planner, image: Path) -> None:
    (module,) = plan_audit(planner, image, ["smep"]).work.modules
    assert module.kernel_folder == "drivers/misc/lkdtm"
    assert module.switches == ("CONFIG_LKDTM=m",)


def test_headers_are_found_beside_the_image(planner: Planner, image: Path) -> None:
    kernel = plan_audit(planner, image, ["smep"]).variants[SHIPPED].kernel
    assert kernel.headers
    assert kernel.headers.release == RELEASE
    assert kernel.headers.folder == str(image.parent)


def test_headers_that_were_named_must_be_there(
    planner: Planner, image: Path, tmp_path: Path
) -> None:
    found = plan_audit(planner, image, ["smep"], headers=image.parent)
    assert f"--headers {image.parent}" in found.command
    with pytest.raises(InputError, match="has no headers of a kernel"):
        plan_audit(planner, image, ["smep"], headers=tmp_path)


def test_without_headers_the_way_out_is_told(
    planner: Planner, image: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> Headers:
        raise InputError("Debian has no package linux-headers-x")

    monkeypatch.setattr("temper.run.audit.plan_headers", none)
    (image.parent / "Module.symvers").unlink()
    with pytest.raises(InputError, match="there are no headers of Linux") as caught:
        plan_audit(planner, image, ["smep"])
    assert "--headers" in caught.value.hint


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (bytes(0x202) + b"HdrS" + bytes(900), "does not say which release"),
        (bzimage("modern"), "of no release of Linux: 'modern'"),
        (b"text", "is not a kernel for x86_64"),
    ],
)
def test_what_is_no_kernel_is_refused(
    content: bytes, message: str, planner: Planner, image: Path
) -> None:
    image.write_bytes(content)
    with pytest.raises(InputError, match=message):
        plan_audit(planner, image)


def test_an_image_says_its_release(tmp_path: Path) -> None:
    path = tmp_path / "image"
    path.write_bytes(bzimage())
    assert image_release(path) == RELEASE
    path.write_bytes(b"ARM\x64" + b"Linux version 6.1.0-9-arm64 (debian" + bytes(9))
    assert image_release(path) == "6.1.0-9-arm64"
    path.write_bytes(bytes(2000))
    assert image_release(path) == ""


def test_an_archive_of_ours_counts_as_headers(tmp_path: Path) -> None:
    assert headers_beside(tmp_path / "image", "none", []) is None
    for name in ("devel.tar.gz", "config", "Module.symvers"):
        (tmp_path / name).write_text(name)
    found = headers_beside(tmp_path / "image", "none", [])
    assert found
    assert found.folder == str(tmp_path / "devel.tar.gz")
    (tmp_path / "config").write_text("other")
    again = headers_beside(tmp_path / "image", "none", [])
    assert again
    assert again.digest != found.digest
