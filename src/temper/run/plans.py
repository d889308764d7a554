"""Turns what the user asked for into a plan and the set-ups of its variants."""

import hashlib
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from temper import __version__
from temper.arch import Arch
from temper.catalog import Feature, Variant
from temper.errors import InputError
from temper.kernel import (
    Cache,
    Kernel,
    KernelSpec,
    build,
    build_module,
    find_source,
)
from temper.progress import Progress
from temper.run.campaign import Setup
from temper.run.facts import Kind, RunPlan, Slot
from temper.run.job import (
    Workload,
    kernel_workloads,
    proof_programs,
    target_programs,
    workloads,
)
from temper.stats.judges import judge_named

REPEATS = 2
"""Boots of each variant of a price: the second shows that counts repeat."""

PRICE_CPUS = 1
"""A sample could swallow a slice of another CPU."""
PROOF_CPUS = 2
"""Tasks migrate, and CPUs must not share what they keep to themselves."""


@dataclass(frozen=True)
class Planned:
    """A run that could start."""

    plan: RunPlan
    setups: dict[str, Setup]


@dataclass(frozen=True)
class Workshop:
    """What plans are made with."""

    arch: Arch
    cache: Cache
    progress: Progress
    source: Path | None = None
    """Where the user has the source; None: Debian's package."""
    setting: str = ""
    """One of the architecture's settings, for all boots; empty: none."""

    def __post_init__(self) -> None:
        """Raise InputError for an unknown setting, before kernels are built."""
        self.arch.setting_cmdline(self.setting)

    def kernel(self, feature: Feature, variant: Variant) -> Kernel:
        """Build or find the kernel of a variant."""
        self._check_arch(feature)
        source = find_source(self.source, feature.series, self.cache)
        spec = KernelSpec(
            arch=self.arch,
            source=source,
            patches=feature.patches(variant),
            options=(*feature.config, *variant.config),
        )
        return build(spec, self.cache, self.progress)

    def price(self, feature: Feature, calls: int) -> Planned:
        """Plan to price all variants of a feature."""
        sized = workloads(feature.workloads, calls)
        job = _price_job(feature, sized)
        setups = {
            name: self._setup(feature, variant, job, PRICE_CPUS, exact=True)
            for name, variant in feature.variants.items()
        }
        return self._planned(
            Kind.PRICE,
            feature,
            feature.variants,
            setups,
            REPEATS,
            self._command("price", feature.name, "--calls", calls),
            calls=calls,
        )

    def prove(self, feature: Feature, variants: Mapping[str, Variant]) -> Planned:
        """Plan to attack ``variants`` of a feature."""
        for proof in feature.proofs.values():
            judge_named(proof.judge)
        job = _prove_job(feature, self.arch.name)
        setups = {
            name: self._setup(feature, variant, job, PROOF_CPUS, exact=False)
            for name, variant in variants.items()
        }
        sabotage = ["--sabotage"] if variants.keys() - feature.variants.keys() else []
        return self._planned(
            Kind.PROVE,
            feature,
            variants,
            setups,
            1,
            self._command("prove", feature.name, *sabotage),
        )

    def compare(
        self,
        kernels: Mapping[str, tuple[Path, str]],
        names: tuple[str, ...],
        calls: int,
    ) -> Planned:
        """Plan to price the second of two kernel files relative to the first.

        ``kernels``: A and B -> image and command line. ``names``: the workloads;
        none means all that measure the kernel.
        """
        sized = workloads(names or kernel_workloads(), calls)
        programs = tuple(target_programs(self.arch, self.cache, self.progress))
        setups = {
            name: _file_setup(self.arch, image, self._cmdline(cmdline), sized, programs)
            for name, (image, cmdline) in kernels.items()
        }
        (image_a, cmdline_a), (image_b, cmdline_b) = kernels.values()
        plan = RunPlan(
            kind=Kind.COMPARE,
            feature="compare",
            arch=self.arch.name,
            machine="tcg",
            baseline=next(iter(kernels)),
            slots=_slots(setups, REPEATS),
            titles={name: image.name for name, (image, _) in kernels.items()},
            command=self._command(
                *("compare", image_a.resolve(), image_b.resolve()),
                *("--cmdline-a", cmdline_a, "--cmdline-b", cmdline_b),
                *(word for name in names for word in ("--workload", name)),
                *("--calls", calls),
            ),
            params={
                "title": self._title("two kernels"),
                "calls": calls,
                **_identity(setups),
            },
            temper_version=__version__,
        )
        return Planned(plan, setups)

    def _command(self, *words: object) -> str:
        all_words = ["uv", "run", "temper", *words, "--arch", self.arch.name]
        if self.setting:
            all_words += ["--setting", self.setting]
        if self.source:
            all_words += ["--source", self.source.resolve()]
        return shlex.join(str(word) for word in all_words)

    def _cmdline(self, cmdline: str) -> str:
        """Add the setting to what a variant wants."""
        added = self.arch.setting_cmdline(self.setting)
        return " ".join(filter(None, (cmdline, added)))

    def _title(self, title: str) -> str:
        """Say the setting wherever a run is named."""
        return f"{title}, with {self.setting}" if self.setting else title

    def _check_arch(self, feature: Feature) -> None:
        if self.arch.name not in feature.architectures:
            raise InputError(
                f"{feature.name} is not for {self.arch.name}",
                f"it is for {', '.join(feature.architectures)}",
            )

    def _setup(
        self,
        feature: Feature,
        variant: Variant,
        job: tuple[str, ...],
        cpus: int,
        *,
        exact: bool,
    ) -> Setup:
        kernel = self.kernel(feature, variant)
        return Setup(
            image=kernel.image,
            kernel_key=kernel.key,
            config_hash=kernel.config_hash,
            compiler=kernel.compiler,
            cmdline=self._cmdline(variant.cmdline),
            cpu=variant.cpu,
            exact=exact,
            cpus=cpus,
            job=job,
            files=(
                *target_programs(self.arch, self.cache, self.progress),
                *proof_programs(feature, self.arch, self.cache, self.progress),
                *self._modules(feature, kernel),
            ),
        )

    def _modules(self, feature: Feature, kernel: Kernel) -> list[Path]:
        return [
            build_module(kernel, source, self.cache, self.progress)
            for source in _modules(feature)
        ]

    def _planned(
        self,
        kind: Kind,
        feature: Feature,
        variants: Mapping[str, Variant],
        setups: dict[str, Setup],
        repeats: int,
        command: str,
        **params: int,
    ) -> Planned:
        plan = RunPlan(
            kind=kind,
            feature=feature.name,
            arch=self.arch.name,
            machine="tcg",
            baseline=feature.baseline,
            control=feature.control,
            slots=_slots(setups, repeats),
            titles={name: variant.title for name, variant in variants.items()},
            command=command,
            params={
                "title": self._title(feature.title),
                "in_force": {n: variant.in_force for n, variant in variants.items()},
                **params,
                **_identity(setups),
            },
            temper_version=__version__,
        )
        return Planned(plan, setups)


def _slots(setups: Mapping[str, Setup], repeats: int) -> tuple[Slot, ...]:
    return tuple(
        Slot(variant=name, repeat=repeat)
        for repeat in range(repeats)
        for name in setups
    )


def _identity(setups: Mapping[str, Setup]) -> dict[str, Any]:
    """What must not have changed when a run is resumed."""
    return {
        "setups": {
            name: {
                "kernel": setup.kernel_key,
                "cmdline": setup.cmdline,
                "cpu": setup.cpu,
                "cpus": setup.cpus,
                "job": list(setup.job),
                "files": {path.name: _sha256(path) for path in setup.files},
            }
            for name, setup in setups.items()
        }
    }


def _modules(feature: Feature) -> list[Path]:
    names = {wanted.module for wanted in feature.target_programs if wanted.module}
    return [feature.folder / "proof" / f"{name}.c" for name in sorted(names)]


# Three seconds after its start Linux calibrates the clock again, balances, trims:
# work that would fall into the samples of one variant and not of another. An idle
# guest under exact counts skips the time it waits.
_SETTLE = "settle 3"


def _price_job(feature: Feature, sized: list[Workload]) -> tuple[str, ...]:
    """Check before, between and after the workloads that the feature is on."""
    check = f"run {feature.in_force.program}"
    lines = [_SETTLE]
    if feature.in_force.module:
        lines.append(f"module {feature.in_force.module}")
    for workload in sized:
        lines += [check, workload.line]
    return (*lines, check)


def _prove_job(feature: Feature, arch: str) -> tuple[str, ...]:
    """Attack by every proof of the architecture, each program and size once."""
    check = f"run {feature.in_force.program}"
    lines = [f"module {source.stem}" for source in _modules(feature)] + [check]
    attacks = dict.fromkeys(proof.line for proof in feature.proofs_on(arch).values())
    for attack in attacks:
        lines += [f"run {attack}", check]
    return tuple(lines)


def _file_setup(
    arch: Arch,
    image: Path,
    cmdline: str,
    sized: list[Workload],
    programs: tuple[Path, ...],
) -> Setup:
    _check_kernel(arch, image)
    return Setup(
        image=image.resolve(),
        kernel_key=f"file:{_sha256(image)}",
        config_hash="",
        compiler="",
        cmdline=cmdline,
        cpu="",
        exact=True,
        cpus=PRICE_CPUS,
        job=(_SETTLE, *(workload.line for workload in sized)),
        files=programs,
    )


def _check_kernel(arch: Arch, image: Path) -> None:
    """Raise InputError for what QEMU would start and wait for in vain."""
    try:
        with image.open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        raise InputError(f"{image} cannot be read: {error.strerror}") from error
    if not any(head.startswith(word, offset) for offset, word in arch.magic):
        raise InputError(
            f"{image} is not a kernel for {arch.name}", f"give {arch.images}"
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
