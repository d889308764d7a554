"""Builds what a plan needs, or finds it in the cache."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from temper.arch import Arch, arch_named
from temper.debian import ready_headers, root
from temper.digest import file_digest, key_of
from temper.errors import InputError
from temper.kernel import (
    Beside,
    Cache,
    Debugged,
    Devel,
    Folder,
    Given,
    Image,
    Kernel,
    KernelSpec,
    Options,
    Watched,
    build,
    build_module,
    check_needs,
    compilable,
    footprint,
    parse_config,
    ready_image,
    source_at,
    source_tree,
    watched,
)
from temper.paths import absolute
from temper.progress import Progress
from temper.record.boot import KernelFacts
from temper.record.plan import (
    Headers,
    KernelPlan,
    Module,
    Register,
    RunPlan,
    Work,
)
from temper.run.programs import build_programs


@dataclass(frozen=True)
class Setup:
    """What one variant boots with."""

    image: Path
    kernel: KernelFacts
    files: tuple[Path, ...]
    """Files that go into the initramfs besides the job."""
    trees: tuple[Path, ...] = ()
    """Folders whose contents go there, too."""
    watched: Watched | None = None
    """What to know of the kernel to watch the plan's register, if it has one."""
    debugged: Debugged | None = None
    """What a debugger must know of it, if the plan has one."""


@dataclass(frozen=True)
class Prepared:
    """A run that is ready to start."""

    plan: RunPlan
    setups: Mapping[str, Setup]
    """variant -> what it boots with."""


@dataclass(frozen=True)
class Workshop:
    """Builds what a plan needs."""

    arch: Arch
    cache: Cache
    progress: Progress

    def kernel(self, plan: KernelPlan) -> Kernel:
        """Build or find a kernel.

        Raises InputError if source, patches or compiler have changed since the plan
        was made, and whatever ``temper.kernel.build`` raises.
        """
        return build(self.unchanged_spec(plan), self.cache, self.progress)

    def setup(self, plan: KernelPlan, work: Work) -> Setup:
        """Build or find all that the variants of a kernel boot with."""
        files = [
            path
            for programs in work.programs
            for path in build_programs(programs, self.arch, self.cache, self.progress)
        ]
        trees = tuple(self.trees(work))
        if plan.image:
            image, facts = self.given(plan, work.told)
            if plan.headers:
                devel = self.devel(plan.headers)
                files += [self.module(plan, devel, each) for each in work.modules]
            return Setup(image, facts, tuple(files), trees)
        kernel = self.kernel(plan)
        files += [self.module(plan, kernel, each) for each in work.modules]
        facts = _facts(kernel, work.told)
        return Setup(kernel.image, facts, tuple(files), trees)

    def trees(self, work: Work) -> Iterator[Path]:
        """Make or find the trees of real programs, and of what they compile."""
        if work.root:
            yield root(work.root, self.arch, self.cache, self.progress)
        if wanted := work.objects:
            spec = self.unchanged_spec(wanted.kernel)
            yield compilable(spec, wanted.names, self.cache, self.progress)

    def given(
        self, plan: KernelPlan, told: Iterable[str] = ()
    ) -> tuple[Path, KernelFacts]:
        """Return the image of a kernel that others built, and what is known of it.

        ``told``: the options whose values are wanted. Raises InputError if it changed
        after the plan was made, and whatever ``temper.kernel.ready_image`` raises.
        """
        image = self._image(plan)
        facts = KernelFacts(
            key=plan.key,
            config_hash=image.config_hash,
            compiler=image.compiler,
            package=plan.package,
            image=image.name,
            image_hash=image.digest,
            options=_values(image.options, told),
        )
        return image.path, facts

    def check_needs(self, plan: KernelPlan, needs: Mapping[str, Iterable[str]]) -> None:
        """Raise InputError if a kernel is known to lack what workloads need.

        ``needs``: workload -> options. A kernel that others built is unpacked for
        that, so whatever is wrong with it is raised, too.
        """
        if not plan.image:
            # Its final configuration has all of them, or it does not build.
            check_needs(needs, self.spec(plan).wanted, plan.title)
        elif options := self._image(plan).options:
            check_needs(needs, options, plan.title)

    def spec(self, plan: KernelPlan) -> KernelSpec:
        """Return what decides a kernel that is built."""
        return KernelSpec(
            arch=self.arch,
            source=source_at(absolute(plan.source), self.cache),
            patches=tuple(map(absolute, plan.patches)),
            options=plan.options,
            base=plan.base,
        )

    def unchanged_spec(self, plan: KernelPlan) -> KernelSpec:
        """Return what decides a kernel that is built, if it is what it was planned as.

        Raises InputError if source, patches or compiler have changed since.
        """
        spec = self.spec(plan)
        if spec.key() != plan.key:
            raise InputError(
                f"{plan.title}: source, patches or compiler have changed since the "
                "plan was made",
                "start a new run",
            )
        return spec

    def _image(self, plan: KernelPlan) -> Image:
        file = Path(plan.image)
        config = Path(plan.config) if plan.config else None
        given = Given(file, _unchanged_digest(plan, file), plan.package, config)
        return ready_image(given, self.arch, self.cache, self.progress)

    def devel(self, headers: Headers) -> Devel:
        """Return what modules for a kernel that others built are built against."""
        if headers.folder:
            return Folder(headers, self.arch)
        return ready_headers(headers, self.arch, self.cache, self.progress)

    def module(self, plan: KernelPlan, devel: Devel, module: Module) -> Path:
        """Build or find a module for a kernel."""
        return build_module(
            devel,
            absolute(module.source),
            self.cache,
            self.progress,
            self._beside(plan, module),
            module.switches,
        )

    def _beside(self, plan: KernelPlan, module: Module) -> Beside | None:
        if not (module.kernel_files or module.kernel_folder):
            return None
        source = source_at(absolute(plan.source), self.cache)
        names = list(module.kernel_files)

        def files() -> list[Path]:
            tree = source_tree(source, self.cache, self.progress)
            found = [tree / name for name in names]
            if module.kernel_folder:
                folder = tree / module.kernel_folder
                found += sorted(path for path in folder.glob("*") if path.is_file())
            return found

        inputs = {
            "source": source.digest,
            "files": names,
            "folder": module.kernel_folder,
        }
        return Beside(key_of(inputs), files)


def prepare(plan: RunPlan, cache: Cache, progress: Progress) -> Prepared:
    """Build or find all that the boots of ``plan`` need, but for those of mutants."""
    workshop = Workshop(arch_named(plan.arch), cache, progress)
    booted = {name: v for name, v in plan.booted.items() if not plan.mutant_of(name)}
    kernels = dict.fromkeys(variant.kernel for variant in booted.values())
    for kernel in kernels:
        # Whatever is wrong with a kernel shows before anything is built.
        workshop.check_needs(kernel, plan.work.needs)
    # Once for each kernel: what is in the cache is read whole whenever it is used.
    made = {kernel: workshop.setup(kernel, plan.work) for kernel in kernels}
    setups = {name: made[variant.kernel] for name, variant in booted.items()}
    if plan.watched:
        setups = _watching(plan, plan.watched, setups, workshop)
    if plan.outside:
        setups = {
            name: replace(
                setup, debugged=Debugged.of(workshop.kernel(plan.variants[name].kernel))
            )
            for name, setup in setups.items()
        }
    return Prepared(plan, setups)


def _watching(
    plan: RunPlan, register: Register, setups: Mapping[str, Setup], workshop: Workshop
) -> dict[str, Setup]:
    """Add what to know of each kernel, once for all variants of it."""
    kernels = {variant.kernel.key: variant.kernel for variant in plan.booted.values()}
    known = {
        key: watched(workshop.kernel(kernel), register, workshop.progress)
        for key, kernel in kernels.items()
    }
    return {
        name: replace(setup, watched=known[plan.variants[name].kernel.key])
        for name, setup in setups.items()
    }


def _facts(kernel: Kernel, told: Iterable[str]) -> KernelFacts:
    return KernelFacts(
        key=kernel.key,
        config_hash=kernel.config_hash,
        compiler=kernel.compiler,
        options=_values(parse_config(kernel.config.read_text("utf-8")), told),
        memory=footprint(kernel),
    )


def _values(options: Options | None, told: Iterable[str]) -> dict[str, str]:
    return {name: options.get(name, "") for name in told} if options else {}


def _unchanged_digest(plan: KernelPlan, file: Path) -> str:
    """Return the digest of what the plan was made for; raise InputError if it is not.

    The file may be gone by now, too.
    """
    try:
        found = file_digest(file)
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error
    if plan.key != f"file:{found}":
        raise InputError(f"{file} changed after the plan was made", "start again")
    return found
