"""What the classes of instructions say about a price, in sentences."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from temper.analysis.models import ClassRow, PriceReport
from temper.report.numbers import few, signed, span

TOTALS = ("kernel_instructions", "user_instructions")
"""The classes that hold all instructions of a ring."""
_RINGS = ("kernel", "user")
_CHEAPER = {
    "rep_string": "cheaper on hardware: iterations of rep-string instructions",
    "dc_zva": "each clears a cache line: dc_zva",
}
"""Class without its ring -> why it weighs less than its count says, and what it is."""
_RARE = 0.05
"""Fewer instructions of a class per operation matter to no one."""
_LARGE = 0.1
"""From which share of an operation, or of a difference, on a class is told."""
_NEGLIGIBLE = 0.001
"""Differences up to this share of an operation are not taken apart."""

_Deltas = Mapping[tuple[str, str], float]
"""Workload, variant -> a difference per operation."""


def instruction_lines(report: PriceReport) -> list[str]:
    """Say of which instructions operations and prices consist; a line for each."""
    lines = [
        _kernel_line(report),
        _weightier_line(report),
        *(_cheaper_line(report, name) for name in _CHEAPER),
        _own_line(report),
    ]
    return [line for line in lines if line]


def _kernel_line(report: PriceReport) -> str:
    """Say how much of what real programs do is the kernel's; empty without any."""
    kernel, all_rings = _before(report, TOTALS[:1]), _before(report, TOTALS)
    shares = [
        f"{workload} {100 * mine / all_rings[workload]:.0f} %"
        for workload, mine in kernel.items()
        if workload in report.real_programs
    ]
    if not shares:
        return ""
    return (
        f"The kernel's part of {report.baseline}'s instructions: {', '.join(shares)}."
    )


def _weightier_line(report: PriceReport) -> str:
    """Name the instructions that a count cannot weigh, and which variants add them."""
    lighter = {name for each in _CHEAPER for name in _of_rings(each)}
    added: dict[str, dict[str, list[float]]] = {}
    for row in report.classes:
        if row.instruction_class not in {*TOTALS, *lighter}:
            of_variant = added.setdefault(row.variant, {})
            deltas = of_variant.setdefault(row.instruction_class, [])
            deltas.append(round(row.delta, 2))
    variants = [
        f"{variant} {', '.join(classes)}"
        for variant, found in added.items()
        if (classes := [_class(n, d) for n, d in found.items() if _matters(d)])
    ]
    if not variants:
        return ""
    return (
        "Counted as one instruction each, but slower on hardware, per operation: "
        f"{'; '.join(variants)}."
    )


def _matters(deltas: Sequence[float]) -> bool:
    # Of a few workloads, ticks and interrupts have such instructions, too.
    return abs(median(deltas)) >= _RARE


def _class(name: str, deltas: Sequence[float]) -> str:
    return f"{span([signed(delta) for delta in sorted(deltas)])} {name}"


def _cheaper_line(report: PriceReport, name: str) -> str:
    """Say how much of operations and prices is instructions that weigh little."""
    counted, whole = _before(report, _of_rings(name)), _before(report, TOTALS)
    shares = {
        workload: count / whole[workload]
        for workload, count in counted.items()
        if count >= _LARGE * whole[workload] > 0
    }
    parts = []
    if shares:
        told = sorted(shares, key=lambda workload: -shares[workload])
        text = few(f"{100 * shares[each]:.0f} % of {each}" for each in told)
        parts.append(f"with {report.baseline} {text}")
    if of_prices := _parts_of_prices(report, _of_rings(name)):
        parts.append(of_prices)
    if not parts:
        return ""
    return (
        f"Counted as one instruction each, but {_CHEAPER[name]}, "
        f"{'; '.join(parts)}, per operation."
    )


def _own_line(report: PriceReport) -> str:
    """Say where a part of the difference is what programs did in user space."""
    parts = _parts_of_prices(report, TOTALS[1:], least=0.0)
    if not parts:
        return ""
    return (
        "Part of the difference is the program's own, in user space, since what it "
        f"does depends on timing: {parts}, per operation."
    )


def _parts_of_prices(
    report: PriceReport, names: Iterable[str], least: float = _LARGE
) -> str:
    """Say how much of each difference is of these classes, the largest share first.

    ``least``: the smallest share of a difference that is told.
    """
    mine, every = _deltas(report, names), _deltas(report, TOTALS)
    before = _before(report, TOTALS)
    told = {
        key: abs(delta) / before[key[0]]
        for key, delta in mine.items()
        if abs(delta) > _NEGLIGIBLE * before.get(key[0], 0.0) > 0
        and abs(delta) >= least * abs(every[key])
    }
    return few(
        f"{key[1]} {_brief(mine[key])} of {_brief(every[key])} on {key[0]}"
        for key in sorted(told, key=lambda key: -told[key])
    )


def _brief(delta: float) -> str:
    return signed(round(delta) if abs(delta) >= 1 else delta)


def _of_rings(name: str) -> tuple[str, ...]:
    return tuple(f"{ring}_{name}" for ring in _RINGS)


def _before(report: PriceReport, names: Iterable[str]) -> dict[str, float]:
    """Return workload -> the baseline's instructions of some classes per operation."""
    rows = {
        (row.workload, row.instruction_class): row.baseline_per_operation
        for row in _rows(report, names)
    }
    found: dict[str, float] = {}
    for (workload, _), count in rows.items():
        found[workload] = found.get(workload, 0.0) + count
    return found


def _deltas(report: PriceReport, names: Iterable[str]) -> _Deltas:
    found: dict[tuple[str, str], float] = {}
    for row in _rows(report, names):
        key = (row.workload, row.variant)
        found[key] = found.get(key, 0.0) + row.delta
    return found


def _rows(report: PriceReport, names: Iterable[str]) -> list[ClassRow]:
    wanted = set(names)
    return [row for row in report.classes if row.instruction_class in wanted]
