"""Plans a run that attacks what a kernel as shipped promises. It builds nothing."""

import re
from collections.abc import Collection, Iterable
from pathlib import Path

from temper import __version__
from temper.arch import Arch
from temper.catalog import check_known
from temper.debian import plan_headers
from temper.errors import InputError
from temper.kernel import (
    Source,
    config_of,
    headers_beside,
    headers_in,
    image_release,
    module_digest,
    parse_config,
)
from temper.machine import DEFAULT_KIND
from temper.machine.qemu import probe_cpu
from temper.options import (
    GUIDE,
    MODULES,
    OPTIONS,
    TWINS,
    Option,
    Policy,
    Setting,
    options_on,
)
from temper.paths import portable
from temper.record.plan import (
    AuditBoot,
    Headers,
    KernelPlan,
    Kind,
    Module,
    OptionPlan,
    Programs,
    RunPlan,
    Slot,
    VariantPlan,
    Work,
)
from temper.run.audit_boots import Boot, all_boots, is_made
from temper.run.planner import Planner, module_plan
from temper.run.programs import programs, target_programs
from temper.toml import read_toml

_LKDTM = "drivers/misc/lkdtm"
_CONFIG = "CONFIG_"

_HEARD = "ignore_loglevel printk.devkmsg=on panic=-1"
"""Last on each command line: the kernel says all, attacks mark what is theirs, and a
kernel that panics ends."""

_MEMORY = 512
_SERIES = re.compile(r"(\d+\.\d+)\.")


def plan_audit(
    planner: Planner,
    image: Path,
    wanted: Collection[str] = (),
    policy: Path | None = None,
    headers: Path | None = None,
    config: Path | None = None,
    cmdline: str = "",
    *,
    twins: bool = False,
) -> RunPlan:
    """Plan to attack the options ``wanted`` of a kernel, by default all.

    ``policy``: a file that says what they must be. ``headers``: a folder with what
    modules for the kernel are built against; None: found beside it, or in Debian's
    packages. ``config``: its configuration; None: found beside it. ``cmdline``: more of
    the kernel's command line, in all boots. ``twins``: also attack kernels of the
    planner's base that differ in the options. Raises InputError for an unknown option,
    a policy that is none, and where there is no kernel, headers or source.
    """
    arch = planner.arch
    options = {
        name: on_cpu(planner, option)
        for name, option in options_on(arch.name, wanted).items()
    }
    must = read_toml(policy, Policy, GUIDE).least if policy else {}
    check_known("option", must, options)
    kernel, source = _kernel(planner, image, headers, config)
    boots = list(all_boots(options, twins=twins))
    kernels = twin_kernels(planner, source) if twins else {}
    attacks = {
        name: attacks.plan(option)
        for option, found in options.items()
        for name, attacks in found.each()
    }
    return RunPlan(
        kind=Kind.AUDIT,
        feature="audit",
        title=kernel.title,
        setting=planner.setting,
        cpu=planner.chosen_cpu,
        base=planner.base,
        arch=arch.name,
        machine=DEFAULT_KIND,
        baseline="",
        variants={
            boot.name: _variant(planner, kernels.get(boot.name, kernel), boot, cmdline)
            for boot in boots
        },
        options={name: _option(found, twins=twins) for name, found in options.items()},
        attacks=attacks,
        audited={
            boot.name: AuditBoot(role=boot.role, attacks=tuple(boot.attacks))
            for boot in boots
        },
        must=must,
        work=Work(
            job=(),
            cpus=1,
            exact=False,
            memory=_MEMORY,
            programs=(target_programs(arch), _attack_program(arch)),
            modules=_modules(boots),
            told=_told(options.values()),
        ),
        slots=tuple(Slot(variant=boot.name, repeat=0) for boot in boots),
        command=planner.command(
            *("audit", image.resolve()),
            *(["--options", ",".join(options)] if wanted else []),
            *(["--policy", policy.resolve()] if policy else []),
            *(["--headers", headers.resolve()] if headers else []),
            *(["--config", config.resolve()] if config else []),
            *(["--cmdline", cmdline] if cmdline else []),
            *(["--twins"] if twins else []),
        ),
        temper_version=__version__,
    )


def _variant(
    planner: Planner, kernel: KernelPlan, boot: Boot, cmdline: str
) -> VariantPlan:
    return VariantPlan(
        title=boot.title,
        kernel=kernel,
        cmdline=planner.cmdline(cmdline, boot.cmdline, _HEARD),
        cpu=_cpu(planner, boot.cpu),
        in_force=None,
        job=boot.job,
    )


def twin_kernels(planner: Planner, source: Source) -> dict[str, KernelPlan]:
    """Return boot -> the kernel that is built for it, with all options as it sets them.

    All, whichever are wanted, so that it is built once. What both twins have beside
    them lets attacks be tried that a base would not.
    """
    fragment = TWINS / f"{planner.arch.name}.config"
    lines = fragment.read_text(encoding="utf-8").splitlines()
    common = [line for line in lines if line.startswith(_CONFIG)]
    return {
        boot.name: planner.built(
            source,
            [TWINS / name for name in boot.patches],
            (*common, *boot.config),
        )
        for boot in all_boots(options_on(planner.arch.name), twins=True)
        if boot.is_twin
    }


def _cpu(planner: Planner, properties: str) -> str:
    cpu = planner.cpu
    if properties:
        cpu = f"{cpu or planner.arch.cpu.partition(',')[0]},{properties}"
    return planner.arch.cpu_model(cpu)


def on_cpu(planner: Planner, option: Option) -> Option:
    """Return an option without its control if the user's CPU model knows none such."""
    properties = option.control.cpu
    if not planner.cpu or not properties:
        return option
    if not probe_cpu(planner.arch, _cpu(planner, properties)).error:
        return option
    none = f"the CPU model {planner.cpu} cannot be had with {properties}"
    return option.model_copy(update={"control": Setting(none=none)})


def _option(option: Option, *, twins: bool) -> OptionPlan:
    return OptionPlan(
        title=option.title,
        promise=option.promise,
        settings=option.settings,
        control=option.control.words,
        has_control=is_made(option.control, twins=twins),
        remedy=option.remedy.words if is_made(option.remedy, twins=twins) else "",
        price=option.price,
    )


def _told(options: Iterable[Option]) -> tuple[str, ...]:
    names = {name for option in options for name in option.settings}
    return tuple(sorted(name for name in names if name.startswith(_CONFIG)))


def _kernel(
    planner: Planner, image: Path, headers: Path | None, config: Path | None
) -> tuple[KernelPlan, Source]:
    """Plan an image that others built, with what modules for it are built from."""
    kernel = planner.given(image)
    file = Path(kernel.image)
    release = _release(kernel, file)
    source = planner.source_of(_series(release, image))
    if config:
        _check_is_config(config)
    known = str(config.resolve()) if config else kernel.config
    built_against = _headers(planner, image, file, release, headers)
    return kernel.model_copy(
        update={
            "source": portable(source.path),
            "version": source.version,
            "headers": built_against,
            "config": known or config_of(built_against),
        }
    ), source


def _check_is_config(config: Path) -> None:
    if not config.is_file():
        raise InputError(f"there is no configuration {config}")
    if not parse_config(config.read_text(encoding="utf-8", errors="replace")):
        raise InputError(
            f"{config} is no configuration of a kernel",
            "it must have lines like CONFIG_X=y, as /boot/config-* and .config have",
        )


def _release(kernel: KernelPlan, file: Path) -> str:
    if kernel.package:
        name = kernel.package.split()[0].removesuffix("-unsigned")
        return name.removeprefix("linux-image-")
    release = image_release(file)
    if not release and file.name.startswith("vmlinu"):
        release = file.name.partition("-")[2]
    if not release:
        raise InputError(
            f"{file} does not say which release of Linux it is",
            "call it vmlinuz-RELEASE, as distributions do",
        )
    return release


def _series(release: str, image: Path) -> str:
    found = _SERIES.match(release)
    if not found:
        raise InputError(f"{image} is of no release of Linux: '{release}'")
    return found[1]


def _headers(
    planner: Planner, image: Path, file: Path, release: str, given: Path | None
) -> Headers:
    if given:
        found = headers_in(given, release)
        if not found:
            raise InputError(
                f"{given} has no headers of a kernel",
                "it must have Makefile, .config and Module.symvers",
            )
        return found
    beside = headers_beside(file, release, [image] if image.is_dir() else [])
    if beside:
        return beside
    try:
        return plan_headers(release, planner.arch, planner.cache)
    except InputError as error:
        raise InputError(
            f"there are no headers of Linux {release}: {error.message}",
            "give the folder of its build, or of its headers, with --headers",
        ) from error


def _modules(boots: Iterable[Boot]) -> tuple[Module, ...]:
    kinds = {each.kind for boot in boots for each in boot.attacks.values()}
    return tuple(
        _lkdtm() if name == "lkdtm" else module_plan(OPTIONS / "modules" / name)
        for kind, name in MODULES.items()
        if kind in kinds
    )


def _lkdtm() -> Module:
    folder = OPTIONS / "modules" / "lkdtm"
    return Module(
        source=portable(folder),
        kernel_folder=_LKDTM,
        switches=("CONFIG_LKDTM=m",),
        digest=module_digest(folder),
    )


def _attack_program(arch: Arch) -> Programs:
    folder = OPTIONS / "attacks"
    files = tuple(sorted(path.name for path in folder.glob("*.c")))
    sources = {"attack": files}
    target = OPTIONS.parent / "target"
    return programs(arch, folder, sources, "attacks on options", include=[target])
