"""Builds the kernels of mutants, each when its first boot is due."""

import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from temper.kernel import Debugged
from temper.kernel.mutants import Mutant
from temper.kernel.mutated import MutantTree, devel_of, mutant_tree
from temper.record.boot import KernelFacts
from temper.run.mutate import Mutable
from temper.run.prepare import Prepared, Setup, Workshop


@contextmanager
def with_mutants(prepared: Prepared, workshop: Workshop) -> Iterator[Prepared]:
    """Add the kernels of a plan's mutants, if it has any, which are built on demand.

    They go when the boots are done: each takes seconds to make again. Raises InputError
    if the series is no longer that of the plan.
    """
    plan = prepared.plan
    booted = set(filter(None, map(plan.mutant_of, plan.booted)))
    if not booted:
        yield prepared
        return
    whole = plan.variants[plan.hardened[0]].kernel
    spec = workshop.unchanged_spec(whole)
    mutable = Mutable.of(spec, workshop.cache, workshop.progress)
    cache, progress = workshop.cache, workshop.progress
    with mutant_tree(spec, mutable.texts, cache, progress) as tree:
        images = tree.build.work / "images"
        images.mkdir()
        mutants = {name: mutable.mutants[name] for name in booted}
        setup = workshop.setup(whole, plan.work)
        made = _Mutants(prepared, workshop, tree, images, mutants, setup)
        yield Prepared(plan, made)


@dataclass
class _Mutants(Mapping[str, Setup]):
    """What each variant boots with; mutants are made when they are asked for."""

    others: Prepared
    workshop: Workshop
    tree: MutantTree
    images: Path
    mutants: Mapping[str, Mutant]
    whole: Setup
    """What the series boots with as it is."""
    _ready: dict[str, Setup] = field(default_factory=dict)
    """By the id of the mutant."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __getitem__(self, variant: str) -> Setup:
        name = self.others.plan.mutant_of(variant)
        if not name:
            return self.others.setups[variant]
        # The tree holds one mutant at a time, and boots begin in several threads.
        with self._lock:
            if name not in self._ready:
                self._ready[name] = self._make(name)
            return self._ready[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.others.plan.booted)

    def __len__(self) -> int:
        return len(self.others.plan.booted)

    def _make(self, name: str) -> Setup:
        plan, mutant = self.others.plan, self.mutants[name]
        kernel = plan.variants[name].kernel
        image = self.images / name
        shutil.copy(self.tree.image(mutant), image)
        # As the tree is now: a mutant of a header is in the modules as well.
        devel = devel_of(self.tree, kernel.key)
        modules = {
            f"{module.name}.ko": self.workshop.module(kernel, devel, module)
            for module in plan.work.modules
            if mutant.file.endswith(".h")
        }
        return replace(
            self.whole,
            image=image,
            kernel=KernelFacts(
                key=kernel.key,
                config_hash=self.whole.kernel.config_hash,
                compiler=self.whole.kernel.compiler,
            ),
            files=tuple(modules.get(file.name, file) for file in self.whole.files),
            # As the tree is now, too: a mutant moves what follows it.
            debugged=Debugged.in_tree(self.tree.build.out) if plan.outside else None,
        )
