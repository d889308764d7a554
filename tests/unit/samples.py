"""Runs as the store would give them back, made up from known figures."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from made_up import kernel_facts, machine_facts, run_plan, variant_plan
from temper.analysis.models import (
    InForceSummary,
    PriceReport,
    ProofEvidence,
    ProofReport,
    VariantInfo,
)
from temper.analysis.price import price_report
from temper.extension import loaded
from temper.paths import FEATURES
from temper.record.boot import BootFacts, StoredBoot, StoredRun
from temper.record.outcome import Outcome
from temper.record.plan import Kind, Layout, Switch, Weighed

series_of = loaded(FEATURES / "kstack" / "judges" / "series.py").series_of

CALLS = 1_000_000
OFF = {
    "syscall/getpid": 206,
    "syscall/getppid": 210,
    "syscall/invalid": 144,
    "ctx/pipe": 2718,
}
"""Instructions of a sample on the baseline."""
MANY = {f"micromm/work-{number}": 300 * 2 ** (number // 3) for number in range(25)}
"""The same of more workloads than a table in short shows."""
_BASELINE = OFF | MANY
COSTS = {"off": 0, "stock": 14, "lfsr": 11, "temper": -3, "sabotage-three-bits": 14}
TITLES = {
    "off": "boot option off",
    "stock": "boot option on, source as Debian ships it",
}
STARTED = datetime(2026, 1, 1, tzinfo=UTC)


def facts(
    variant: str,
    repeat: int,
    machine: Mapping[str, object] | None = None,
    kernel: Mapping[str, object] | None = None,
    **changes: object,
) -> BootFacts:
    """Return the facts of a boot; the others are fields that are not as usual."""
    option = "off" if variant == "off" else "on"
    cmdline = f"console=ttyS0 panic=-1 reboot=k randomize_kstack_offset={option}"
    given: dict[str, Any] = {
        "variant": variant,
        "repeat": repeat,
        "machine": machine_facts(**{"cmdline": cmdline, **(machine or {})}),
        "kernel": kernel_facts(**(kernel or {})),
        "release": "6.12.117",
        "initramfs_hash": "5e1f",
        "status": "ok",
        "started": STARTED,
        "wall_seconds": 9.5,
    }
    return BootFacts(**{**given, **changes})


def price_records(
    variant: str,
    workloads: Iterable[str] = tuple(OFF),
    scale: int = 1,
    calls: int = CALLS,
    moved: int = 0,
) -> list[dict[str, Any]]:
    """Return all that one boot sends, `scale` times as dear as the real thing.

    ``moved``: by how much the layout of memory moves a context switch.
    """
    records: list[dict[str, Any]] = [
        {
            "type": "boot",
            "protocol": 1,
            "release": "6.12.117",
            "clocksource": "tsc",
            "cpus": 1,
        }
    ]
    check = _check(variant != "off")
    for region, workload in enumerate(workloads):
        records.append(check)
        records += _workload(variant, workload, region, scale, calls, moved)
    records += [check, {"type": "exit", "program": "syscall all", "status": 0}]
    for region, workload in enumerate(workloads):
        records.append(_classes(variant, workload, region, calls, moved))
    records.append({"type": "end"})
    return [{"n": n, **record} for n, record in enumerate(records)]


def _check(on: bool) -> dict[str, Any]:
    return {
        "type": "in_force",
        "feature": "kstack",
        "on": on,
        "evidence": {"distinct_positions": 33 if on else 1, "calls": 512},
    }


def _workload(
    variant: str, workload: str, region: int, scale: int, calls: int, moved: int
) -> list[dict[str, Any]]:
    operations = 2 if workload.startswith("ctx/") else 1
    level = (_BASELINE[workload] + COSTS[variant] * operations) * scale
    if operations == 2:
        level += moved * operations
    random = np.random.default_rng([region, 7])
    hit = 250 + 3 * region + (3 if variant != "off" else 0)
    slow = level + random.integers(2000, 3500, hit) * scale
    values, counts = np.unique(slow, return_counts=True)
    quiet = [[level, calls - hit]]
    if operations == 2:
        quiet = [[level, calls - hit - 900], [level + 36 * scale, 900]]
    what = f"{variant} {workload} {scale}"
    return [
        {"type": "histogram", "workload": workload, "tick": False, "bins": quiet},
        {
            "type": "histogram",
            "workload": workload,
            "tick": True,
            "bins": [[int(v), int(c)] for v, c in zip(values, counts, strict=True)],
        },
        {
            "type": "workload",
            "workload": workload,
            "unit": "instructions",
            "samples": calls,
            "warmup": 10_000,
            "operations": operations,
            "overhead": 6,
            "sequence": hashlib.sha256(what.encode()).hexdigest()[:16],
            "elapsed": level * calls,
            "interrupts": hit,
            "region": region,
        },
    ]


def _classes(
    variant: str, workload: str, region: int, calls: int, moved: int
) -> dict[str, Any]:
    operations = calls * (2 if workload.startswith("ctx/") else 1)
    on = variant not in ("off", "temper")
    totals = {
        "kernel_instructions": _BASELINE[workload] * calls
        + COSTS[variant] * operations,
        "user_instructions": 9 * operations,
    }
    if workload.startswith("ctx/"):
        totals["kernel_instructions"] += moved * operations
    return {
        "type": "classes",
        "region": region,
        "counts": {
            **totals,
            "kernel_rdtsc": operations * on + 260,
            "kernel_wrmsr": 260,
            "kernel_stac": operations,
            "kernel_clac": operations,
            "kernel_invpcid": 0,
        },
        "whole": totals,
    }


def price_run(
    variants: Sequence[str] = ("off", "stock"),
    boots: Sequence[StoredBoot] | None = None,
    kind: Kind = Kind.PRICE,
    scale: int = 1,
    switch: Switch | None = None,
    moves: Sequence[int] = (),
) -> StoredRun:
    """Return a finished run of two boots a variant, or of the given boots.

    ``moves``: by how much a context switch is dearer in each other layout of memory.
    """
    layouts = {2 + n: Layout(seed=n, spacer=n) for n in range(len(moves))}
    plan = run_plan(
        {
            v: variant_plan(
                v,
                TITLES.get(v, f"the {v} series"),
                in_force=None if kind is Kind.COMPARE else v != "off",
            )
            for v in variants
        },
        kind=kind,
        feature="kstack" if kind is Kind.PRICE else "compare",
        command="temper price kstack --calls 1000000",
        calls=CALLS,
        switch=switch,
        repeats=2 + len(moves),
        layouts=layouts,
    )
    if boots is None:
        every = dict(enumerate(moves, 2))
        boots = [
            price_boot(s.variant, s.repeat, scale, every.get(s.repeat, 0))
            for s in plan.slots
        ]
    return StoredRun(
        id=7, plan=plan, started=STARTED, finished=STARTED, boots=list(boots)
    )


def price_run_of_many(variants: Sequence[str]) -> StoredRun:
    """Return a finished run of 25 workloads."""
    boots = [
        StoredBoot(
            facts=facts(slot.variant, slot.repeat),
            records=price_records(slot.variant, MANY, calls=10_000),
        )
        for slot in price_run(variants, boots=[]).plan.slots
    ]
    return price_run(variants, boots=boots)


def price_boot(variant: str, repeat: int, scale: int = 1, moved: int = 0) -> StoredBoot:
    records = price_records(variant, scale=scale, moved=moved)
    return StoredBoot(facts=facts(variant, repeat), records=records)


def changed(boot: StoredBoot, **changes: object) -> StoredBoot:
    """Return a copy of a boot; ``changes``: fields of its facts, or of their parts."""
    facts = boot.facts
    for name, value in changes.items():
        for part in ("machine", "kernel"):
            if name in type(getattr(facts, part)).model_fields:
                new = getattr(facts, part).model_copy(update={name: value})
                facts = facts.model_copy(update={part: new})
                break
        else:
            assert name in BootFacts.model_fields, name
            facts = facts.model_copy(update={name: value})
    return boot.model_copy(update={"facts": facts})


def with_bins(
    boot: StoredBoot, workload: str, bins: Sequence[tuple[int, int]]
) -> StoredBoot:
    """Return a boot in which a workload's samples were these, and no tick hit any."""
    records = [{**record} for record in boot.records]
    for record in records:
        if record["type"] == "classes" and record["region"] == [*OFF].index(workload):
            whole = sum(value * count for value, count in bins)
            record["whole"] = {"kernel_instructions": whole, "user_instructions": 0}
        if record.get("workload") != workload:
            continue
        if record["type"] == "histogram":
            record["bins"] = [] if record["tick"] else [list(each) for each in bins]
        else:
            record["samples"] = sum(count for _, count in bins)
    return boot.model_copy(update={"records": records})


def priced(workload: str, bins: Sequence[tuple[int, int]]) -> PriceReport:
    """Price stock, whose samples of a workload were these, against off as usual."""
    boots = [
        with_bins(boot, workload, bins) if boot.facts.variant == "stock" else boot
        for boot in price_run().boots
    ]
    return price_report(price_run(boots=boots))


POSITIONS: dict[str, Callable[[np.random.Generator], NDArray[np.int64]]] = {
    "off": lambda random: np.zeros(100_000, dtype=int),
    "stock": lambda random: random.integers(0, 64, 100_000) * 16,
    "none": lambda random: random.integers(0, 64, 100_000) * 16,
    "lfsr": lambda random: random.integers(0, 64, 100_000) * 16,
    "constant": lambda random: np.full(100_000, 0),
    "three-bits": lambda random: random.integers(0, 8, 100_000) * 128,
    "alternating": lambda random: np.arange(100_000) % 2 * 272,
    "skewed": lambda random: np.minimum(random.geometric(0.06, 100_000), 64) * 16 - 16,
}
"""variant -> 100,000 stack positions as that variant gives them."""

REASONS = {
    Outcome.VULNERABLE: "the best predictor hits 100.00 % of the calls, "
    "chance is 1.56 % of 64 offsets",
    Outcome.BLOCKED: "the best predictor hits 1.58 % of the calls, within the "
    "interval of chance for 64 offsets (1.44 % to 1.69 %)",
    Outcome.UNSUPPORTED: "the probe module does not load on this kernel",
}


def proof_report(
    outcomes: dict[str, Outcome] | None = None,
    expected: dict[str, Outcome] | None = None,
) -> ProofReport:
    """Return the proof of off against stock, or with the given outcomes."""
    expected = (
        expected or outcomes or {"off": Outcome.VULNERABLE, "stock": Outcome.BLOCKED}
    )
    outcomes = outcomes or expected
    proven = outcomes["off"] is Outcome.VULNERABLE and (
        outcomes["stock"] is Outcome.BLOCKED
    )
    return ProofReport(
        run=6,
        feature="kstack",
        title="Kernel stack offset randomisation",
        arch="x86_64",
        machine="tcg",
        control="off",
        outcomes=outcomes,
        hardened=["stock"],
        proven=proven,
        as_expected=outcomes == expected,
        sabotages=[v for v in outcomes if v not in ("off", "stock", "lfsr")],
        evidence={
            v: {"prediction": _evidence(v, outcome, expected[v])}
            for v, outcome in outcomes.items()
        },
        in_force={
            v: InForceSummary(
                expected=v != "off",
                found=v != "off",
                checks=3,
                agreed=3,
                how=f"distinct positions {1 if v == 'off' else 33}, calls 512",
            )
            for v in outcomes
        },
        variants={v: _info(v) for v in outcomes},
        proofs={"prediction": "predict the next stack position from those seen before"},
        started=STARTED,
        hosts=["lab (a CPU, x86_64, Linux 6.1.0)"],
        temper_version="0.1.0",
        command="temper prove kstack",
    )


PROOFS = ("prediction", "across-tasks", "clock", "storm", "early", "leak")


def proof_report_of_many() -> ProofReport:
    """Return a proof by six attacks; on the control one of them cannot apply."""
    told = proof_report(
        {"off": Outcome.VULNERABLE, "stock": Outcome.BLOCKED, **SIDE},
    )
    evidence = {
        variant: {proof: found["prediction"] for proof in PROOFS}
        for variant, found in told.evidence.items()
    }
    for variant, proof, outcome, expected in (
        ("off", "leak", Outcome.UNSUPPORTED, Outcome.UNSUPPORTED),
        ("lfsr", "across-tasks", Outcome.VULNERABLE, Outcome.VULNERABLE),
        ("lfsr", "clock", Outcome.VULNERABLE, Outcome.BLOCKED),
    ):
        evidence[variant][proof] = _evidence(variant, outcome, expected)
    return told.model_copy(
        update={
            "evidence": evidence,
            "proofs": {name: f"predict by {name}" for name in PROOFS},
            "outcomes": {**told.outcomes, "lfsr": Outcome.VULNERABLE},
            "as_expected": False,
        }
    )


WRITES = [
    f"{kind}-{level}"
    for kind in ("user", "init", "vmalloc", "vmemmap", "fixmap", "early", "fork")
    for level in ("pte", "pmd", "pud", "p4d", "pgd")
]
"""35 proofs, as a feature has that protects page tables."""
UNKEYED = {"pte-unkeyed": "user-pte", "pgd-unkeyed": "init-pgd"}
"""Sabotage -> the one proof that is there for it."""


def proof_report_of_writes(
    found: dict[str, dict[str, Outcome]] | None = None,
) -> ProofReport:
    """Return a proof by 35 attacks; ``found``: variant -> proof -> what else it was.

    Of a sabotage something is expected of one proof only.
    """
    unkeyed = dict.fromkeys(UNKEYED, Outcome.VULNERABLE)
    expected = {
        "off": Outcome.VULNERABLE,
        "stock": Outcome.BLOCKED,
        "no-pks": Outcome.UNSUPPORTED,
        **unkeyed,
    }
    evidence = {
        variant: {
            proof: _write(
                (found or {}).get(variant, {}).get(proof, outcome),
                outcome if UNKEYED.get(variant, proof) == proof else None,
            )
            for proof in WRITES
        }
        for variant, outcome in expected.items()
    }
    told = proof_report()
    return told.model_copy(
        update={
            "outcomes": expected,
            "proven": not found,
            "as_expected": not found,
            "sabotages": list(UNKEYED),
            "evidence": evidence,
            "in_force": dict.fromkeys(expected, told.in_force["stock"]),
            "variants": {variant: _info(variant) for variant in expected},
            "proofs": {name: f"write to a table: {name}" for name in WRITES},
        }
    )


def _write(outcome: Outcome, expected: Outcome | None) -> ProofEvidence:
    reasons = {
        Outcome.VULNERABLE: "12 of 12 writes landed",
        Outcome.BLOCKED: "all 12 writes faulted",
        Outcome.UNSUPPORTED: "the kernel failed: it hung",
    }
    return ProofEvidence(
        outcome=outcome,
        expected=expected,
        reasons=[reasons[outcome]],
        figures={"tries": 12, "landed": 12.0 * (outcome is Outcome.VULNERABLE)},
        clock="the host's",
    )


SWITCH = Switch(
    title="level switches",
    counted_as="kernel_rdtsc",
    cycles=(20, 200.5),
    source="A Manual, chapter 3",
    borrowed="The lower bound is that of another instruction.",
    others=(Weighed(counted_as="kernel_clac", cycles=(1, 100)),),
)

SIDE = {"lfsr": Outcome.BLOCKED, "none": Outcome.BLOCKED}


def _info(variant: str) -> VariantInfo:
    boot = facts(variant, 0)
    return VariantInfo(
        title=TITLES.get(variant, f"the {variant} sabotage"),
        cmdline=boot.machine.cmdline,
        cpu_model=boot.machine.cpu_model,
        machine_version=boot.machine.version,
        kernel_release=boot.release,
        kernel_key=boot.kernel.key,
        config_hash=boot.kernel.config_hash,
        compiler=boot.kernel.compiler,
        boots=1,
    )


def _evidence(variant: str, outcome: Outcome, expected: Outcome) -> ProofEvidence:
    positions = POSITIONS[variant](np.random.default_rng(3))
    values = np.unique(positions)
    return ProofEvidence(
        outcome=outcome,
        expected=expected,
        reasons=[REASONS[outcome]],
        figures={
            "samples": 100_000,
            "distinct": float(len(values)),
            "hit_rate_best": 1.0 if len(values) == 1 else 0.0158,
            "chance": 1 / 64,
            "chi_square_p": 0.0 if len(values) == 1 else 0.4123,
            "min_entropy_bits": 0.0 if len(values) == 1 else 5.86,
        },
        clock="kvm-clock absent; TSC driven by the host's clock (no icount)",
        series=series_of(positions),
    )
