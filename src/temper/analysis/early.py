"""Whether a boot of a mutant may end before its job is done."""

from temper.analysis.noticing import Watch
from temper.record.boot import StoredBoot, StoredRun
from temper.record.plan import RunPlan


class EarlyLook:
    """Looks at one boot again and again, until something notices its kernel."""

    def __init__(self, plan: RunPlan) -> None:
        self._plan = plan
        self._passed: set[str] = set()
        """Proofs that have found it BLOCKED."""

    def has_noticed(self, boot: StoredBoot) -> bool:
        """Say whether anything but KUnit has noticed the kernel by now.

        ``boot``: what it has sent so far. Raises StoreError if the feature no longer
        has a judge.
        """
        started, variant = boot.facts.started, boot.facts.variant
        watch = Watch(StoredRun(id=0, plan=self._plan, started=started, boots=[boot]))
        ended = [name for name in watch.ended(variant) if name not in self._passed]
        if watch.notice_so_far(variant, ended):
            return True
        self._passed.update(ended)
        return False
