"""What the compiler makes of mutants: which of them are kernels of their own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from temper.digest import digest, key_of
from temper.errors import BuildError
from temper.kernel.builder import KernelSpec
from temper.kernel.cache import Cache, EntryFacts
from temper.kernel.mutants import Mutant
from temper.kernel.mutated import Compiled, MutantTree, mutant_tree
from temper.progress import Progress
from temper.record.plan import Fate

RECIPE = 1
"""Raise it if a change to this file changes what it finds."""


def survey(
    spec: KernelSpec,
    texts: Mapping[str, str],
    mutants: Sequence[Mutant],
    sample: int | None,
    cache: Cache,
    progress: Progress,
) -> dict[str, Fate]:
    """Compile mutants in turn until ``sample`` of them are distinct; None: all.

    Returns id -> fate of those that were compiled. ``spec``: the kernel with the
    series; ``texts``: file -> its text there. Raises what ``temper.kernel.build`` does.
    """
    inputs = {
        "recipe": RECIPE,
        "kernel": spec.key(),
        "mutants": [(each.id, digest(each.after.encode())) for each in mutants],
        "sample": sample,
    }

    def make(*_: object) -> EntryFacts:
        with (
            mutant_tree(spec, texts, cache, progress) as tree,
            progress.task("Compiling mutants", sample or len(mutants)) as task,
        ):
            found: dict[str, Fate] = {}
            surveyor = _Surveyor(tree)
            for mutant in mutants:
                if sample and list(found.values()).count(Fate.DISTINCT) == sample:
                    break
                found[mutant.id] = surveyor.fate(mutant)
                distinct = list(found.values()).count(Fate.DISTINCT)
                done = distinct if sample else len(found)
                task.update(done, note=f"{len(found)} compiled, {distinct} distinct")
        return {"fates": found}

    title = f"what becomes of {len(mutants)} mutants, Linux {spec.source.version}"
    entry = cache.entry("mutants", key_of(inputs), title, make, progress)
    return {name: Fate(fate) for name, fate in entry.facts["fates"].items()}


@dataclass
class _Surveyor:
    """Compiles one mutant after the other, and knows what it has seen."""

    tree: MutantTree
    _originals: dict[str, Compiled] = field(default_factory=dict)
    """File -> its objects without a mutant."""
    _seen: set[tuple[str, str]] = field(default_factory=set)
    """File, and the digest of its objects as some mutant makes them."""
    _reached: dict[tuple[str, int], bool] = field(default_factory=dict)

    def fate(self, mutant: Mutant) -> Fate:
        """Find out what becomes of a mutant."""
        if not self.tree.objects(mutant.file):
            return Fate.UNREACHED
        original = self._original(mutant.file)
        compiled = self.tree.compiled(mutant.file, mutant)
        if compiled is None:
            return Fate.BROKEN
        if compiled.digest == original.digest:
            return Fate.SAME if self._reaches(mutant) else Fate.UNREACHED
        if (mutant.file, compiled.digest) in self._seen:
            return Fate.DUPLICATE
        if compiled.symbols != original.symbols and not self._links(mutant):
            return Fate.BROKEN
        self._seen.add((mutant.file, compiled.digest))
        return Fate.DISTINCT

    def _original(self, file: str) -> Compiled:
        if file not in self._originals:
            found = self.tree.compiled(file)
            # It has just been built.
            assert found
            self._originals[file] = found
        return self._originals[file]

    def _reaches(self, mutant: Mutant) -> bool:
        place = (mutant.file, mutant.line)
        if place not in self._reached:
            self._reached[place] = self.tree.reaches(mutant)
        return self._reached[place]

    def _links(self, mutant: Mutant) -> bool:
        try:
            self.tree.image(mutant)
        except BuildError:
            return False
        return True
