"""Plans a run that attacks what a kernel as shipped promises. It builds nothing."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from temper import __version__
from temper.arch import Arch
from temper.catalog import check_known
from temper.debian import plan_headers
from temper.digest import file_digest, key_of
from temper.errors import InputError
from temper.kernel import (
    headers_beside,
    headers_in,
    image_release,
    module_files,
)
from temper.machine import DEFAULT_KIND
from temper.options import (
    GUIDE,
    MODULES,
    OPTIONS,
    Attacks,
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
    Role,
    RunPlan,
    Slot,
    VariantPlan,
    Work,
)
from temper.run.planner import Planner, module_plan
from temper.run.programs import programs, target_programs
from temper.toml import read_toml

SHIPPED = "shipped"
"""The variant that is the kernel as it is."""

LOADS = "attack module "
"""How lines begin that load a module for the attacks after them."""

_LKDTM = "drivers/misc/lkdtm"
_MEMORY = 512
_SERIES = re.compile(r"(\d+\.\d+)\.")


@dataclass(frozen=True)
class _Boot:
    """A variant of the audited kernel, and the attacks in its boot."""

    name: str
    role: Role
    settings: tuple[Setting, ...]
    attacks: Mapping[str, Attacks]
    """Attack -> what it has in common with others."""
    sysctls: Mapping[str, tuple[str, ...]]
    """Attack -> the sysctls that are set for it alone."""

    @property
    def title(self) -> str:
        words = [each.words for each in self.settings if not each.sysctls]
        if self.sysctls:
            words.append("sysctls")
        return f"the same with {', '.join(words)}" if words else "the kernel as it is"

    @property
    def cmdline(self) -> str:
        return " ".join(filter(None, (each.cmdline for each in self.settings)))

    @property
    def cpu(self) -> str:
        return ",".join(filter(None, (each.cpu for each in self.settings)))

    @property
    def job(self) -> tuple[str, ...]:
        """Those come last that may damage the kernel."""
        kinds = dict.fromkeys(each.kind for each in self.attacks.values())
        loads = [f"run {LOADS}{MODULES[kind]}" for kind in kinds if kind in MODULES]
        ordered = sorted(self.attacks.items(), key=lambda item: item[1].apart)
        lines = [
            " ".join((f"run attack {each.kind} {name}", *self.sysctls.get(name, ())))
            for name, each in ordered
        ]
        return (*loads, *lines)


def plan_audit(
    planner: Planner,
    image: Path,
    wanted: Collection[str] = (),
    policy: Path | None = None,
    headers: Path | None = None,
    cmdline: str = "",
) -> RunPlan:
    """Plan to attack the options ``wanted`` of a kernel, by default all.

    ``policy``: a file that says what they must be. ``headers``: a folder with what
    modules for the kernel are built against; None: found beside it, or in Debian's
    packages. ``cmdline``: more of the kernel's command line, in all boots. Raises
    InputError for an unknown option, a policy that is none, and where there is no
    kernel, headers or source.
    """
    arch = planner.arch
    options = options_on(arch.name, wanted)
    must = read_toml(policy, Policy, GUIDE).least if policy else {}
    check_known("option", must, options)
    kernel = _kernel(planner, image, headers)
    boots = list(_boots(options))
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
        arch=arch.name,
        machine=DEFAULT_KIND,
        baseline="",
        variants={
            boot.name: _variant(planner, kernel, boot, cmdline) for boot in boots
        },
        options={name: _option(found) for name, found in options.items()},
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
        ),
        slots=tuple(Slot(variant=boot.name, repeat=0) for boot in boots),
        command=planner.command(
            *("audit", image.resolve()),
            *(["--options", ",".join(options)] if wanted else []),
            *(["--policy", policy.resolve()] if policy else []),
            *(["--headers", headers.resolve()] if headers else []),
            *(["--cmdline", cmdline] if cmdline else []),
        ),
        temper_version=__version__,
    )


def _boots(options: Mapping[str, Option]) -> Iterator[_Boot]:
    """Yield all boots: of the kernel as it is, then of it with options changed."""
    yield from _shipped(dict(_every(options.values())))
    for role, which in ((Role.CONTROL, "off"), (Role.REMEDY, "on")):
        for name, together in _together(options.values(), role).items():
            settings = {each.name: _setting(each, role) for each in together}
            yield _Boot(
                name=f"{name} {which}",
                role=role,
                settings=tuple(settings.values()),
                attacks=dict(_every(together)),
                sysctls={
                    attack: settings[each.name].sysctls
                    for each in together
                    for attack, _ in each.each()
                    if settings[each.name].sysctls
                },
            )


def _every(options: Iterable[Option]) -> Iterator[tuple[str, Attacks]]:
    for option in options:
        yield from option.each()


def _shipped(attacks: Mapping[str, Attacks]) -> Iterator[_Boot]:
    """Yield the boot of all attacks that leave the kernel whole, and one of each other.

    An attack that damages the kernel could decide how those after it end.
    """
    whole = {name: each for name, each in attacks.items() if not each.apart}
    if whole:
        yield _Boot(SHIPPED, Role.SHIPPED, (), whole, {})
    for name, each in attacks.items():
        if each.apart:
            yield _Boot(f"{SHIPPED} ({name})", Role.SHIPPED, (), {name: each}, {})


def _together(options: Iterable[Option], role: Role) -> dict[str, list[Option]]:
    """Return boot -> the options that are changed in it."""
    found: dict[str, list[Option]] = {}
    for option in options:
        setting = _setting(option, role)
        if not setting.none:
            found.setdefault(setting.boot or option.name, []).append(option)
    return found


def _setting(option: Option, role: Role) -> Setting:
    return option.control if role is Role.CONTROL else option.remedy


def _variant(
    planner: Planner, kernel: KernelPlan, boot: _Boot, cmdline: str
) -> VariantPlan:
    cpu = planner.cpu
    if boot.cpu:
        cpu = f"{cpu or planner.arch.cpu},{boot.cpu}"
    return VariantPlan(
        title=boot.title,
        kernel=kernel,
        cmdline=planner.cmdline(cmdline, boot.cmdline),
        cpu=planner.arch.cpu_model(cpu),
        in_force=None,
        job=boot.job,
    )


def _option(option: Option) -> OptionPlan:
    return OptionPlan(
        title=option.title,
        promise=option.promise,
        names=option.names,
        control=option.control.words,
        has_control=not option.control.none,
        remedy="" if option.remedy.none else option.remedy.words,
        price=option.price,
    )


def _kernel(planner: Planner, image: Path, headers: Path | None) -> KernelPlan:
    """Plan an image that others built, with what modules for it are built from."""
    kernel = planner.given(image)
    file = Path(kernel.image)
    release = _release(kernel, file)
    source = planner.source_of(_series(release, image))
    return kernel.model_copy(
        update={
            "source": portable(source.path),
            "version": source.version,
            "headers": _headers(planner, image, file, release, headers),
        }
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


def _modules(boots: Iterable[_Boot]) -> tuple[Module, ...]:
    kinds = {each.kind for boot in boots for each in boot.attacks.values()}
    return tuple(
        _lkdtm() if name == "lkdtm" else module_plan(OPTIONS / "modules" / f"{name}.c")
        for kind, name in MODULES.items()
        if kind in kinds
    )


def _lkdtm() -> Module:
    folder = OPTIONS / "modules" / "lkdtm"
    files = {path.name: file_digest(path) for path in module_files(folder)}
    return Module(
        source=portable(folder),
        kernel_folder=_LKDTM,
        switches=("CONFIG_LKDTM=m",),
        digest=key_of(files),
    )


def _attack_program(arch: Arch) -> Programs:
    folder = OPTIONS / "attacks"
    files = tuple(sorted(path.name for path in folder.glob("*.c")))
    sources = {"attack": files}
    target = OPTIONS.parent / "target"
    return programs(arch, folder, sources, "attacks on options", include=[target])
