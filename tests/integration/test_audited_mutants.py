"""Kernels that say that they have an option, and do not: an audit must find each.

They are Debian's kernel, which a module breaks before the attacks: it overwrites a
check in the running kernel, or clears a bit that the kernel has set. So the
configuration, the command line and what the kernel printed still say that all is well.
"""

import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from lab import new_machine, params, planner, prepared, run_of

from temper.analysis.audit import AuditedOption, AuditReport, audit_report
from temper.record.boot import StoredRun
from temper.record.outcome import Outcome
from temper.record.plan import AuditBoot, Module, Role, RunPlan, Slot, VariantPlan
from temper.run.audit import plan_audit
from temper.run.audit_boots import SHIPPED
from temper.run.planner import module_plan

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

HEADER = Path(__file__).parent / "mutant" / "mutant.h"
CODE = """\
// SPDX-License-Identifier: GPL-2.0
#include "mutant.h"

static int break_kernel(void)
{{
	{0}
}}
"""


@dataclass(frozen=True)
class Mutant:
    """What breaks a kernel, and the options that it breaks."""

    code: str
    """Empty: it is a file of its own."""
    options: frozenset[str] = frozenset()


def instead(function: str, code: str, option: str) -> Mutant:
    """Return a kernel in which a function does nothing but to return."""
    return Mutant(f'return instead_of("{function}", {code});', frozenset([option]))


def in_file(option: str) -> Mutant:
    """Return a mutant that is a file beside the header, of the mutant's name."""
    return Mutant("", frozenset([option]))


AT_ONCE, ZERO, ONE = "return_at_once", "return_zero", "return_one"

MUTANTS: Mapping[str, Mutant] = {
    "nothing": Mutant("return 0;"),
    "size": instead("__check_object_size", AT_ONCE, "hardened-usercopy"),
    "heap": instead("__check_heap_object", AT_ONCE, "hardened-usercopy"),
    "list-add": instead("__list_add_valid_or_report", ONE, "list-hardened"),
    "list-del": instead("__list_del_entry_valid_or_report", ONE, "list-hardened"),
    "fortify": instead("__fortify_panic", AT_ONCE, "fortify-source"),
    "refcount": instead("refcount_warn_saturate", AT_ONCE, "refcount"),
    "smep": Mutant("return clear_cr4(X86_CR4_SMEP);", frozenset(["smep"])),
    "smap": Mutant("return clear_cr4(X86_CR4_SMAP);", frozenset(["smap"])),
    "write-protect": Mutant(
        "set_cr0(read_cr0() & ~X86_CR0_WP); return 0;",
        frozenset(["strict-rwx", "module-text"]),
    ),
    # LKDTM's constants, which are a module's, stay read-only.
    "constants": Mutant("return make_writable(hex_asc);", frozenset(["strict-rwx"])),
    "log": Mutant(
        'return overwrite(body_of("dmesg_restrict"), &(int){ 0 }, sizeof(int));',
        frozenset(["dmesg-restrict"]),
    ),
    "hardlinks": instead("may_linkat", ZERO, "protected-hardlinks"),
    "addresses": instead("kallsyms_show_value", ONE, "kptr-restrict"),
    "calls": instead("__secure_computing", ZERO, "seccomp"),
    "buckets": Mutant(
        'return overwrite(body_of("user_buckets"), &(void *){ NULL }, sizeof(void *));',
        frozenset(["slab-buckets"]),
    ),
    "list-before": in_file("list-hardened"),
    # The same memory at another address.
    "alias": Mutant(
        "return make_writable(lm_alias(hex_asc));", frozenset(["strict-rwx"])
    ),
    # It writes what it is given: mov %rdi, %cr4; ret.
    "registers": instead(
        "native_write_cr4", "((u8[]){ 0x0f, 0x22, 0xe7, 0xc3 })", "control-registers"
    ),
    "constants-run": Mutant(
        "return make_executable(hex_asc);", frozenset(["no-execute"])
    ),
    "mappings": in_file("aslr"),
    "children": in_file("seccomp"),
    "same-canary": in_file("stack-protector"),
    "null": instead("cap_mmap_addr", ZERO, "mmap-min-addr"),
    "canary": instead("__stack_chk_fail", AT_ONCE, "stack-protector"),
}

OPTIONS = sorted({option for each in MUTANTS.values() for option in each.options})

AT_EVERY_CHECK = ("nothing", "heap", "smep", "log", "null", "canary")
"""Each is broken in another way."""


def mutant_plan(base: RunPlan, folder: Path, chosen: Collection[str]) -> RunPlan:
    """Plan to attack the chosen mutants as the kernel as it is."""
    shutil.copy(HEADER, folder)
    modules: dict[str, Module] = {}
    for name in chosen:
        mutant = MUTANTS[name]
        source = folder / f"{name}.c"
        if mutant.code:
            source.write_text(CODE.format(mutant.code), encoding="utf-8")
        else:
            shutil.copy(HEADER.parent / source.name, source)
        modules[name] = module_plan(source)
    work = base.work.model_copy(
        update={"modules": (*base.work.modules, *modules.values())}
    )
    return base.model_copy(
        update={
            "variants": {name: mutated(base, name) for name in chosen},
            "audited": {
                name: AuditBoot(role=Role.SHIPPED, attacks=tuple(base.attacks))
                for name in chosen
            },
            "slots": tuple(Slot(variant=name, repeat=0) for name in chosen),
            "work": work,
        }
    )


def mutated(base: RunPlan, mutant: str) -> VariantPlan:
    """Plan the boot of a mutant; only one for the canary ends the kernel on purpose."""
    shipped = base.variants[SHIPPED]
    apart = [
        variant.job[-1]
        for name, variant in base.variants.items()
        if name.startswith(f"{SHIPPED} (")
    ]
    more = apart if "stack-protector" in MUTANTS[mutant].options else []
    job = (f"run attack module {mutant}", *shipped.job, *more)
    return shipped.model_copy(update={"job": job})


@pytest.fixture(scope="module")
def attacked(package: Path, tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    folder = tmp_path_factory.mktemp("mutants")
    return attacks_on(AT_EVERY_CHECK, package, folder)


@pytest.fixture(scope="module")
def others_attacked(
    package: Path, tmp_path_factory: pytest.TempPathFactory
) -> StoredRun:
    others = [name for name in MUTANTS if name not in AT_EVERY_CHECK]
    return attacks_on(others, package, tmp_path_factory.mktemp("mutants"))


def attacks_on(mutants: Collection[str], package: Path, folder: Path) -> StoredRun:
    base = plan_audit(planner(), package, OPTIONS)
    return run_of(prepared(mutant_plan(base, folder, mutants)), new_machine())


@pytest.fixture(params=params(MUTANTS, AT_EVERY_CHECK))
def mutant(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def report(request: pytest.FixtureRequest, mutant: str) -> AuditReport:
    which = "attacked" if mutant in AT_EVERY_CHECK else "others_attacked"
    attacked: StoredRun = request.getfixturevalue(which)
    plan = attacked.plan
    alone = plan.model_copy(
        update={
            "variants": {mutant: plan.variants[mutant]},
            "audited": {mutant: plan.audited[mutant]},
        }
    )
    boots = [boot for boot in attacked.boots if boot.facts.variant == mutant]
    return audit_report(attacked.model_copy(update={"plan": alone, "boots": boots}))


def test_what_a_mutant_breaks_is_found_and_nothing_else(
    report: AuditReport, mutant: str
) -> None:
    assert report.refused == ""
    assert report.failed == {}
    found = {each.name for each in report.options if not holds(each)}
    # Its attacks are made only on the mutant that is for them.
    unmade = {"stack-protector"} - MUTANTS[mutant].options
    assert found - unmade == MUTANTS[mutant].options


def holds(option: AuditedOption) -> bool:
    """Return whether an option is worth as much as in the kernel that is whole."""
    stopped = [
        each.name
        for each in option.attacks
        if each.shipped and each.shipped.outcome is Outcome.BLOCKED
    ]
    # It never is more than a warning.
    return len(stopped) + option.name.startswith("fortify") == len(option.attacks)
