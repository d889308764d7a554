"""What the compiler makes of mutants: which of them are kernels of their own."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property

from temper.digest import digest, key_of
from temper.errors import BuildError
from temper.kernel.builder import KernelSpec
from temper.kernel.cache import Cache, EntryFacts, Make
from temper.kernel.mutants import Mutant
from temper.kernel.mutated import Compiled, MutantTree, mutant_tree
from temper.progress import Progress, Task
from temper.record.plan import Fate

RECIPE = 3
"""Raise it if a change to this file changes what it finds."""

_CHUNK = 8
"""Mutants in an entry of the cache: whoever stops a survey loses no more, and a sample
compiles no more that it does not need."""


def survey(
    spec: KernelSpec,
    texts: Mapping[str, str],
    mutants: Sequence[Mutant],
    sample: int | None,
    cache: Cache,
    progress: Progress,
) -> dict[str, Fate]:
    """Compile mutants in turn until ``sample`` of them are distinct; None: all.

    Returns id -> fate of those up to the last that is needed. ``spec``: the kernel with
    the series; ``texts``: file -> its text there. The cache keeps what is found, a few
    mutants at a time. Raises what ``temper.kernel.build`` does.
    """
    found: dict[str, Fate] = {}
    with ExitStack() as stack:

        def begin() -> tuple[MutantTree, Task]:
            tree = mutant_tree(spec, texts, cache, progress)
            task = progress.task("Compiling mutants", sample or len(mutants))
            return stack.enter_context(tree), stack.enter_context(task)

        surveyor = _Surveyor(begin, sample)
        key = key_of({"recipe": RECIPE, "kernel": spec.key()})
        for first in range(0, len(mutants), _CHUNK):
            chunk = mutants[first : first + _CHUNK]
            changes = [(mutant.id, digest(mutant.after.encode())) for mutant in chunk]
            # What is a duplicate depends on all before it.
            key = key_of({"after": key, "mutants": changes})
            title = f"mutants from {first + 1} on, Linux {spec.source.version}"
            make = surveyor.surveying(chunk, found)
            facts = cache.entry("mutants", key, title, make, progress).facts
            surveyor.seen.update(map(tuple, facts["seen"]))
            for name, fate in facts["fates"].items():
                found[name] = Fate(fate)
                if sample and distinct(found) == sample:
                    return found
    return found


def distinct(fates: Mapping[str, Fate]) -> int:
    """Return how many mutants are kernels of their own."""
    return list(fates.values()).count(Fate.DISTINCT)


@dataclass
class _Surveyor:
    """Compiles one mutant after the other, and knows what it has seen."""

    begin: Callable[[], tuple[MutantTree, Task]]
    """Builds the tree, which takes minutes, if the cache does not know all."""
    sample: int | None
    seen: set[tuple[str, str]] = field(default_factory=set)
    """File, and the digest of the objects that some mutant changes."""
    _reached: dict[tuple[str, int], bool] = field(default_factory=dict)

    @cached_property
    def _begun(self) -> tuple[MutantTree, Task]:
        return self.begin()

    @property
    def tree(self) -> MutantTree:
        """Where mutants are compiled."""
        return self._begun[0]

    def surveying(self, chunk: Sequence[Mutant], before: Mapping[str, Fate]) -> Make:
        """Return what compiles a chunk; ``before``: what became of those before it."""

        def make(*_: object) -> EntryFacts:
            task = self._begun[1]
            known = self.seen.copy()
            found = dict(before)
            for mutant in chunk:
                found[mutant.id] = self.fate(mutant)
                compiled, kept = len(found), distinct(found)
                # The chunk goes on when the sample is full.
                done = min(kept, self.sample) if self.sample else compiled
                task.update(done, note=f"{compiled} compiled, {kept} distinct")
            fates = {mutant.id: found[mutant.id] for mutant in chunk}
            return {"fates": fates, "seen": sorted(self.seen - known)}

        return make

    def fate(self, mutant: Mutant) -> Fate:
        """Find out what becomes of a mutant."""
        originals = self.tree.originals
        if not self.tree.affected(mutant):
            return Fate.UNREACHED
        compiled = self.tree.compiled(mutant)
        if compiled is None:
            return Fate.BROKEN
        changed = {
            name: new for name, new in compiled.items() if new != originals[name]
        }
        if not changed:
            return Fate.SAME if self._reaches(mutant) else Fate.UNREACHED
        made = key_of({name: new.digest for name, new in changed.items()})
        if (mutant.file, made) in self.seen:
            return Fate.DUPLICATE
        before = _symbols(originals[name] for name in changed)
        if not _fits(before, _symbols(changed.values())) and not self._links(mutant):
            return Fate.BROKEN
        self.seen.add((mutant.file, made))
        return Fate.DISTINCT

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


def _symbols(objects: Iterable[Compiled]) -> frozenset[str]:
    return frozenset().union(*(each.symbols for each in objects))


def _fits(before: frozenset[str], after: frozenset[str]) -> bool:
    """Return whether objects link as before: they define the same and need no more."""
    return after <= before and all(lost.endswith(" U") for lost in before - after)
