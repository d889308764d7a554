"""Mutants of inline functions change no objects but those that are compiled."""

from itertools import islice

import pytest
from lab import ARCH, planner

from temper.catalog import feature_named
from temper.kernel import Cache
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

MUTANTS = 3
"""Each takes as long as a kernel."""


def test_no_other_object_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    feature = feature_named("kpkeys")
    workshop = Workshop(ARCH, Cache(), Quiet())
    kernel = planner(ARCH).kernel(feature, feature.variants[feature.hardened[0]])
    mutable = Mutable.of(workshop.spec(kernel), workshop.cache, workshop.progress)
    mutants = mutable.mutants.values()
    with mutant_tree(
        workshop.spec(kernel), mutable.texts, workshop.cache, workshop.progress
    ) as tree:
        originals = tree.originals
        # A constant changes all that includes it.
        whole = {
            mutant.file: tree.affected(mutant)
            for mutant in mutants
            if mutant.file.endswith(".h") and mutant.after.startswith("#define")
        }

        def changed(mutant: Mutant) -> set[str]:
            made = tree.compiled(mutant) or {}
            return {name for name, each in made.items() if each != originals[name]}

        inlined = (
            (mutant, some)
            for mutant in mutants
            if mutant.file in whole
            and len(tree.affected(mutant)) < len(whole[mutant.file])
            and len(some := changed(mutant)) > 1
        )
        looked_at = 0
        for mutant, some in islice(inlined, MUTANTS):
            looked_at += 1
            objects = whole[mutant.file]
            with monkeypatch.context() as patched:
                patched.setattr(MutantTree, "affected", lambda *_, o=objects: o)
                assert changed(mutant) == some, mutant.id
        assert looked_at == MUTANTS
