"""Judge of the proof that it does not matter how a task asks, or how it began."""

from temper.stats.judging import Arrays, Verdict, sentences, unsupported

from .claim import Claim
from .drawn import judge_drawn
from .measures import concluded_by, noticeable_rate, noticed_text

_WAYS = {
    "read": "by read",
    "write": "by write",
    "lseek": "by lseek",
    "user": "for another user",
    "became": "of tasks that change to another user",
    "traced": "by a traced task",
    "forked": "of many tasks",
    "thread": "in threads",
    "vforked": "after vfork",
    "namespaced": "in another mount namespace",
    "execd": "after exec",
    "signalled": "after signals",
}


def ways(
    samples: Arrays, definitions: Arrays, *, level: float, margin: float
) -> Verdict:
    """Judge positions of tasks that ask, began, or went on in other ways.

    For each way of ``_WAYS``, ``<way>_position`` are positions and ``<way>_group`` says
    which task drew each, or after which signal.

    VULNERABLE if positions of a way are less even than claimed, by half of ``margin`` -
    1 (see ``unevenness``) and significantly, or those of a task alone; or if a sequence
    comes twice, in two groups or again in one. ``level`` is the chance of a false alarm
    over all. UNSUPPORTED if a way was not tried enough.
    """
    claim = Claim.of(definitions["displacement"])
    each = level / 2 / len(_WAYS)
    figures: dict[str, float] = {}
    findings, twice = [], []
    for way, said in _WAYS.items():
        calls = len(samples.get(f"{way}_position", ()))
        if calls < claim.least_calls:
            return unsupported(f"{calls} calls {said} are too few to judge")
        finding, again = judge_drawn(way, samples, claim, margin, each, figures)
        findings.append(finding)
        twice += again
    landed, small = sentences(findings, level / 2)
    fewest = min(int(figures[f"{way}_calls"]) for way in _WAYS)
    figures["noticeable"] = max(margin, noticeable_rate(fewest, claim.bins, each))
    sound = (
        f"{fewest} calls or more {', '.join(_WAYS.values())}: as even as claimed, no "
        f"sequence twice; positions {noticed_text(figures['noticeable'])}"
    )
    return concluded_by([*twice, *landed], small, sound, figures)
