"""What notices that a kernel is not the series as it should be."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Self

from temper.analysis.boots import results_by_variant
from temper.analysis.console import boot_complaints, told
from temper.analysis.kunit import kunit_results
from temper.analysis.part import Part
from temper.analysis.proof import Judging, was_to_attack
from temper.analysis.refusals import in_force_summaries, not_in_force
from temper.errors import StoreError
from temper.invocation import as_typed
from temper.record.boot import StoredBoot, StoredRun
from temper.record.outcome import Outcome
from temper.record.plan import Slot, again


class Notice(Part):
    """What first noticed that a kernel is not the series as it should be."""

    by: str
    """``boot``, ``console``, ``in force``, ``KUnit`` or the name of a proof."""
    how: str
    """What it found, as a sentence without a full stop."""

    def under(self, condition: str) -> Self:
        """Say with which words for the kernel that was; empty: with none."""
        how = f"with {condition}: {self.how}" if condition else self.how
        return self.model_copy(update={"how": how})


Look = Callable[[str], str]
"""Returns what it finds wrong with a variant; empty: nothing."""


def _by(variant: str, looks: Mapping[str, Look]) -> Notice | None:
    """Return the first notice of those who look in turn."""
    found = ((by, look(variant)) for by, look in looks.items())
    return next((Notice(by=by, how=how) for by, how in found if how), None)


class Watch:
    """Looks at the boots of a run with all that could notice something."""

    def __init__(self, run: StoredRun, known: dict[str, Notice] | None = None) -> None:
        """Look at a run; ``known``: what noticed variants of it before; it grows.

        A notice stays one. That there is none may change with boots that come later.
        """
        self._run = run
        self._plan = run.plan
        self._judging = Judging.of(run)
        self._results = results_by_variant(run)
        self._in_force = in_force_summaries(run.plan, self._results)
        proofs = run.plan.proofs
        self._by_twins = [name for name in run.plan.deciding if proofs[name].twins]
        self._by_one = [name for name in run.plan.deciding if not proofs[name].twins]
        self._booted = {boot.facts.slot for boot in run.boots}
        # Judging takes seconds, and is asked for more than once.
        self._known = {} if known is None else known
        self._found: dict[str, Notice | None] = {**self._known}
        self._boots: dict[str, list[StoredBoot]] = {}
        for boot in run.boots:
            self._boots.setdefault(boot.facts.variant, []).append(boot)

    def boots(self, variant: str) -> list[StoredBoot]:
        """Return the boots of a variant so far."""
        return self._boots.get(variant, [])

    def missing(self, *variants: str) -> list[Slot]:
        """Return the planned boots of variants that are not done."""
        return [
            slot
            for slot in self._plan.slots
            if slot.variant in variants and slot not in self._booted
        ]

    @property
    def needed(self) -> list[str]:
        """The variants without all boots of which there is no score."""
        (whole,) = self._plan.hardened
        tries = self._plan.tries(whole)
        return [self._plan.control, *tries, *map(again, tries)]

    def waits_for(self, mutant: str) -> list[Slot]:
        """Return the boots that must come next to know what notices a mutant.

        A second boot only confirms what the first has noticed, and conditions and
        twins are only asked where what came before them leaves nothing, and not of
        what is accepted anyway. Empty: it is known.
        """
        twins = [slot for slot in self.missing(mutant) if self._is_twin(slot)]
        tries = self._plan.tries(mutant)
        if self._plan.mutants[mutant].accepted:
            tries, twins = tries[:1], []
        for variant in tries:
            missing = self.missing(variant)
            alone = [slot for slot in missing if not self._is_twin(slot)]
            if not alone and self._noticed_by_one(variant):
                alone = self.missing(again(variant))
                if not alone and self._noticed_by_one(again(variant)):
                    return []
            if alone:
                return alone
        return twins

    def notices(self, name: str) -> tuple[Notice | None, Notice | None]:
        """Return what notices a mutant, or the series, surely, and only once."""
        once: list[Notice] = []
        words = ("", *self._plan.conditions.values())
        for variant, condition in zip(self._plan.tries(name), words, strict=True):
            found = map(self._noticed_by_one, (variant, again(variant)))
            both = [notice.under(condition) for notice in found if notice]
            if len(both) == 2:
                return both[0], None
            once += both
        by_twins: Notice | None = None
        if any(map(self._is_twin, self._slots(name))):
            by_twins = _by(name, self._looks_at(self._by_twins))
        return by_twins, None if by_twins else next(iter(once), None)

    def _is_twin(self, slot: Slot) -> bool:
        return self._plan.twin_seed(slot) is not None

    def _slots(self, variant: str) -> list[Slot]:
        return [boot.facts.slot for boot in self.boots(variant)]

    def _alone(self, variant: str) -> list[StoredBoot]:
        """Return the boots of a variant so far that are no twins."""
        found = self.boots(variant)
        return [boot for boot in found if not self._is_twin(boot.facts.slot)]

    def _noticed_by_one(self, variant: str) -> Notice | None:
        """Return what notices first that something is wrong, without the twins."""
        if variant not in self._found:
            notice = self._found[variant] = self._look_alone(variant)
            if notice:
                self._known[variant] = notice
        return self._found[variant]

    def _look_alone(self, variant: str) -> Notice | None:
        boots = self._alone(variant)
        if not boots:
            return None
        looks = self._first_looks(self.ended(variant))
        found = _by(variant, {**looks, "KUnit": self._failed_tests})
        if not found and any(boot.facts.early for boot in boots):
            raise StoreError(
                f"{self._run.name} cannot be judged: a boot of {variant} was ended "
                "by what judges found that have changed since",
                "check out a version that has them, or boot the mutants again: "
                + as_typed(self._plan.own_command),
            )
        return found

    def _first_looks(self, proofs: Iterable[str]) -> dict[str, Look]:
        """Return who looks before KUnit's results do, with some of the proofs."""
        return {
            "boot": self._not_booted,
            "console": self._complained,
            "in force": self._not_in_force,
            **self._looks_at(proofs),
        }

    def ended(self, variant: str) -> list[str]:
        """Return the proofs, twins apart, that can judge a variant's boots so far.

        All that were to attack it, but for a boot that was ended early.
        """
        boots = self._alone(variant)
        names = [n for n in self._by_one if was_to_attack(self._plan, variant, n)]
        if not any(boot.facts.early for boot in boots):
            return names
        ran = {
            record["program"]
            for boot in boots
            for record in boot.records
            if record["type"] == "exit"
        }
        return [name for name in names if self._plan.proofs[name].line in ran]

    def notice_so_far(self, variant: str, proofs: Iterable[str]) -> Notice | None:
        """Return what notices a boot that goes on; ``proofs``: of those, which to ask.

        KUnit's results wait until all proofs have judged.
        """
        return _by(variant, self._first_looks(proofs))

    def why_unsound(self, whole: str) -> str:
        """Say why nothing can be said of mutants; empty: all is as it must be."""
        control = self._plan.control
        missing = {slot.variant for slot in self.missing(*self.needed)}
        if missing:
            return f"{' and '.join(sorted(missing))} has not booted yet"
        notice, _ = self.notices(whole)
        if notice:
            return f"{whole} is noticed by {notice.by}, too: {notice.how}"
        for variant in self._plan.tries(whole) if self._plan.kunit else ():
            # With the feature off, all may have nothing to test.
            if self._plan.variants[variant].in_force and not self._passed(variant):
                return f"no KUnit test ran on {variant}"
        for proof in self._plan.deciding:
            if self._outcome(control, proof) is not Outcome.VULNERABLE:
                return f"{proof} does not find {control} VULNERABLE"
        return ""

    def measures(self, whole: str) -> frozenset[str]:
        """Say what mutants are measured by, beside the judges: by what others do.

        Which tests of KUnit the series passes, and how often proofs try the control.
        """
        control = self._plan.control
        passed = {
            f"KUnit's {test} passes on {variant}"
            for variant in self._plan.tries(whole)
            for test in self._passed(variant)
        }
        tried = {
            f"{proof} tries {tries} times on {control}"
            for proof in self._plan.deciding
            if (tries := self._judging.tries(control, proof)) is not None
        }
        return frozenset(passed | tried)

    def _not_booted(self, variant: str) -> str:
        boots = self._alone(variant)
        return next((b.facts.error for b in boots if b.facts.status != "ok"), "")

    def _complained(self, variant: str) -> str:
        for boot in self._alone(variant):
            if lines := boot_complaints(self._plan, boot):
                return told(lines)
        return ""

    def _not_in_force(self, variant: str) -> str:
        # A boot that was ended before its first check was ended by something else.
        boots = [
            boot
            for boot in self._results[variant]
            if boot.checks or not boot.facts.early
        ]
        if not boots:
            return ""
        return not_in_force(boots, self._in_force.get(variant))

    def _failed_tests(self, variant: str) -> str:
        results = self._tests(variant)
        wanted = [*self._passed(self._unmutated(variant)), *results]
        lost = dict.fromkeys(name for name in wanted if not results.get(name))
        return f"{', '.join(lost)} failed" if lost else ""

    def _unmutated(self, variant: str) -> str:
        """Return the variant that boots the series under the same condition.

        Which tests run depends on that.
        """
        (whole,) = self._plan.hardened
        mutant = self._plan.mutant_of(variant) or whole
        tries = zip(self._plan.tries(mutant), self._plan.tries(whole), strict=True)
        return next(
            series for tried, series in tries if variant in (tried, again(tried))
        )

    def _passed(self, variant: str) -> list[str]:
        return [name for name, ok in self._tests(variant).items() if ok]

    def _tests(self, variant: str) -> dict[str, bool]:
        results: dict[str, bool] = {}
        for boot in self._alone(variant):
            results |= {
                name: ok and results.get(name, True)
                for name, ok in kunit_results(boot.console).items()
            }
        return results

    def _looks_at(self, proofs: Iterable[str]) -> dict[str, Look]:
        return {proof: partial(self._not_blocked, proof) for proof in proofs}

    def _not_blocked(self, proof: str, variant: str) -> str:
        found = self._judging.evidence(variant, proof)
        if found.outcome is Outcome.BLOCKED:
            return ""
        return f"{found.outcome}: {'; '.join(found.reasons)}"

    def _outcome(self, variant: str, proof: str) -> Outcome:
        return self._judging.evidence(variant, proof).outcome
