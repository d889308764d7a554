"""Mutants of headers change no objects but those that are compiled."""

import pytest
from lab import ARCH, planner

from temper.catalog import feature_named
from temper.kernel import Cache
from temper.kernel.inlined import function_of
from temper.kernel.mutants import Mutant
from temper.kernel.mutated import MutantTree, mutant_tree
from temper.progress import Quiet
from temper.run.mutate import Mutable
from temper.run.prepare import Workshop

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(3 * 3600),
]

MUTANTS = 2
"""Of each kind, which take as long as a kernel each."""


@pytest.mark.parametrize("kind", ["function", "macro", "omitted"])
def test_no_other_object_changes(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    feature = feature_named("kpkeys")
    workshop = Workshop(ARCH, Cache(), Quiet())
    kernel = planner(ARCH).kernel(feature, feature.variants[feature.hardened[0]])
    mutable = Mutable.of(workshop.spec(kernel), workshop.cache, workshop.progress)
    with mutant_tree(
        workshop.spec(kernel), mutable.texts, workshop.cache, workshop.progress
    ) as tree:
        originals = tree.originals

        def changed(mutant: Mutant) -> set[str]:
            made = tree.compiled(mutant) or {}
            return {name for name, each in made.items() if each != originals[name]}

        looked_at = 0
        for mutant in mutable.mutants.values():
            if kind_of(mutant, tree) != kind or looked_at == MUTANTS:
                continue
            some = changed(mutant)
            if len(some) < 2 and kind != "omitted":
                continue
            looked_at += 1
            with monkeypatch.context() as patched:
                patched.setattr(MutantTree, "_having", lambda *_: None)
                assert changed(mutant) == some, mutant.id
        assert looked_at == MUTANTS


def kind_of(mutant: Mutant, tree: MutantTree) -> str:
    """Return what a mutant is of, if that says which objects it may change."""
    having, text = tree._having(mutant), tree.texts[mutant.file]
    if having is None or mutant.file not in tree._wide:
        return ""
    if mutant.line in tree._sources.omitted(mutant.file):
        return "omitted"
    return "function" if function_of(mutant.file, text, mutant.line) else "macro"
