"""Plans and facts of runs that were never made, for tests of what comes after."""

from collections.abc import Iterable, Mapping
from typing import Any

from temper.record.boot import KernelFacts, MachineFacts
from temper.record.plan import KernelPlan, Kind, RunPlan, Slot, VariantPlan, Work

WORK = Work(job=("settle 3", *("run syscall getpid 100 10",) * 2), cpus=2, exact=True)


def variant_plan(
    name: str, title: str = "", key: str = "3f9c", **changes: object
) -> VariantPlan:
    """Plan a variant; ``changes``: fields that are not as they are in most tests."""
    given: dict[str, Any] = {
        "title": title or f"the {name} series",
        "kernel": KernelPlan(key=key, version="6.12.117"),
        "cmdline": name,
        "cpu": "max",
        "in_force": name != "off",
    }
    return VariantPlan(**{**given, **changes})


def run_plan(
    variants: Iterable[str] | Mapping[str, VariantPlan] = ("off", "stock"),
    repeats: int = 2,
    **changes: object,
) -> RunPlan:
    """Plan to price ``variants``, the first being the baseline."""
    if not isinstance(variants, Mapping):
        variants = {name: variant_plan(name) for name in variants}
    given: dict[str, Any] = {
        "kind": Kind.PRICE,
        "feature": "kstack",
        "title": "Kernel stack offset randomisation",
        "arch": "x86_64",
        "machine": "tcg",
        "baseline": next(iter(variants)),
        "variants": variants,
        "work": WORK,
        "slots": tuple(
            Slot(variant=variant, repeat=repeat)
            for repeat in range(repeats)
            for variant in variants
        ),
        "command": "temper price kstack",
        "temper_version": "0.1.0",
    }
    return RunPlan(**{**given, **changes})


def machine_facts(**changes: object) -> MachineFacts:
    """Say what a boot ran on."""
    given: dict[str, Any] = {
        "name": "tcg",
        "version": "QEMU 7.2.22",
        "cpu_model": "max",
        "cpus": 1,
        "cmdline": "console=ttyS0 panic=-1 reboot=k",
        "clock": "instructions executed (icount)",
        "unit": "instructions",
        "exact": True,
        "details": {
            "command": "qemu-system-x86_64 -accel tcg",
            "host": "lab (a CPU, x86_64, Linux 6.1.0)",
        },
    }
    return MachineFacts(**{**given, **changes})


def kernel_facts(**changes: object) -> KernelFacts:
    """Say which kernel a boot started."""
    given: dict[str, Any] = {
        "key": "3f9c2b7d1e6a",
        "config_hash": "81d0aa42c9b3",
        "compiler": "gcc (Debian 12.2.0-14+deb12u1) 12.2.0",
    }
    return KernelFacts(**{**given, **changes})
