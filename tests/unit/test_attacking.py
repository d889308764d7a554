"""Attacks that a feature brings along, and the boots that they are made on."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from fake_machine import FakeMachine, prepared

from temper.errors import BootError, InfraError, InputError
from temper.kernel import Debugged
from temper.kernel.symbols import Symbols
from temper.machine import Attack, BootResult, Gdb, StoppedError, Watcher
from temper.progress import Quiet
from temper.record.boot import StoredBoot
from temper.record.plan import Outside, ProofPlan, RunPlan, Twins
from temper.record.wire import Samples, Start
from temper.run.attacking import attack
from temper.run.campaign import Campaign
from temper.run.prepare import Prepared
from temper.run.scripts import blaming
from temper.run.threads import threads
from temper.store import Store

KERNEL = Debugged(Symbols(((0x1000, "T", "switch"),)), {"OFFSET": 24})
GDB = cast(Gdb, SimpleNamespace(name="the guest"))

CODE = """\
__all__ = ["nmi", "buggy", "wordy"]


def nmi(target):
    at = target.kernel.symbols.address("switch") + target.kernel.constants["OFFSET"]
    for _ in range(target.samples):
        yield target.gdb.name, [at]


def buggy(target):
    yield "rows", [1]
    yield "rows", [1 // 0]


def wordy(target):
    yield "rows", ["no number"]
"""


@pytest.fixture
def outside(tmp_path: Path) -> Outside:
    """Return two attacks of a feature."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "__init__.py").write_text(CODE)
    return Outside(folder=str(folder), digest="")


def proof(name: str, line: str = "switches 3", **changes: object) -> ProofPlan:
    planned = ProofPlan(title="", line=line, judge="rows", params={}, outside=name)
    return planned.model_copy(update=changes)


def test_an_attack_has_the_guest_its_kernel_and_the_samples(outside: Outside) -> None:
    found = attack(outside, proof("nmi"), KERNEL)(GDB)
    assert [(each.name, each.values) for each in found] == [("the guest", [0x1018])] * 3


def test_a_bug_of_an_attack_is_its_authors(outside: Outside) -> None:
    buggy = attack(outside, proof("buggy"), KERNEL)
    found = iter(buggy(GDB))
    assert next(found).values == [1]
    with pytest.raises(InputError) as caught:
        next(found)
    assert caught.value.message == (
        "the attack 'buggy' cannot go on: ZeroDivisionError: integer division or "
        "modulo by zero"
    )
    assert caught.value.hint == f"fix it in {outside.folder}"


def test_samples_that_are_no_numbers_are_its_authors_too(outside: Outside) -> None:
    wordy = attack(outside, proof("wordy"), KERNEL)
    with pytest.raises(InputError, match="the attack 'wordy' cannot go on"):
        list(wordy(GDB))


def test_an_unknown_attack_is_refused_before_it_is_needed(outside: Outside) -> None:
    with pytest.raises(InputError, match="unknown attack 'nobody'"):
        attack(outside, proof("nobody"), KERNEL)


def test_an_attack_is_found_in_this_checkout(
    outside: Outside, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The folder of a feature in the catalogue is planned by its name there."""
    monkeypatch.setattr("temper.paths.REPOSITORY", tmp_path)
    moved = outside.model_copy(update={"folder": "outside"})
    assert list(attack(moved, proof("nmi", "switches 1"), KERNEL)(GDB))


@pytest.mark.parametrize(
    "error",
    [
        BootError("it ended"),
        InfraError("QEMU is gone"),
        InputError("odd"),
        StoppedError(),
        OSError("full"),
        KeyboardInterrupt(),
    ],
)
def test_what_is_not_the_codes_fault_is_passed_on(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught, blaming("the attack", Path("/x")):
        raise error
    assert caught.value is error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyError("TSK_TI_SCS_SP"), "KeyError: 'TSK_TI_SCS_SP'"),
        (SystemExit("no more"), "SystemExit: no more"),
    ],
)
def test_what_is_the_codes_fault_is_told_with_its_folder(
    error: BaseException, said: str
) -> None:
    with pytest.raises(InputError) as caught, blaming("the event 'x'", Path("/x")):
        raise error
    assert caught.value.message == f"the event 'x' cannot go on: {said}"
    assert caught.value.hint == "fix it in /x"
    assert caught.value.__cause__ is error


def test_the_machine_of_a_boot_has_what_its_attacks_need(
    tmp_path: Path, outside: Outside
) -> None:
    work = prepared(tmp_path).plan.work
    needed = work.model_copy(update={"job": JOB, "hardware": ("-machine", "a=1")})
    machine = FakeMachine(at_once=1)
    booted(tmp_path, {"outside": outside, "work": needed}, machine)
    assert {each.hardware for each in machine.requests} == {("-machine", "a=1")}


PROOFS = {
    "nmi": proof("nmi", "switches 3"),
    "again": proof("nmi", "switches 4"),
    "elsewhere": proof("nmi", "unasked 5"),
    "usual": proof("", "attack 6"),
}
JOB = ("run switches 3", "run switches 4", "run attack 6")


def attacks(folder: Path, changes: dict[str, object]) -> list[tuple[str, list[str]]]:
    """Return the programs of each boot that are attacked from outside."""
    return [(variant, list(asked)) for variant, asked in boots(folder, changes)]


def boots(
    folder: Path, changes: dict[str, object]
) -> Sequence[tuple[str, dict[str, Attack]]]:
    machine = FakeMachine(at_once=1)
    booted(folder, changes, machine)
    return [(each.cmdline, dict(each.attacks)) for each in machine.requests]


def booted(
    folder: Path, changes: dict[str, object], machine: FakeMachine
) -> Sequence[StoredBoot]:
    usual = prepared(folder)
    work = usual.plan.work.model_copy(update={"job": JOB})
    given = {"proofs": PROOFS, "work": work, **changes}
    plan: RunPlan = usual.plan.model_copy(update=given)
    known = {
        name: replace(setup, debugged=KERNEL) for name, setup in usual.setups.items()
    }
    store = Store.open(data=folder / "data")
    run = store.create_run(plan)
    with threads(Prepared(plan, known), machine) as engine:
        Campaign(run, engine, store, Quiet()).boot_all("Booting")
    return store.load(run).boots


def test_programs_of_a_boot_are_attacked_where_their_proofs_say(
    tmp_path: Path, outside: Outside
) -> None:
    found = attacks(tmp_path, {"outside": outside})
    assert found == [
        (variant, ["switches 3", "switches 4"]) for variant in ("off", "stock") * 2
    ]


def test_each_program_is_attacked_by_its_own_proof(
    tmp_path: Path, outside: Outside
) -> None:
    """On the kernel of its variant."""
    (_, asked), *_ = boots(tmp_path, {"outside": outside})
    assert {line: len(list(attack(GDB))) for line, attack in asked.items()} == {
        "switches 3": 3,
        "switches 4": 4,
    }


def test_a_boot_that_does_not_run_the_program_is_not_attacked(
    tmp_path: Path, outside: Outside
) -> None:
    """Such as a sabotage of which nothing else is expected, or a twin."""
    variants = dict(prepared(tmp_path).plan.variants)
    job = {"job": ("run switches 4",)}
    variants["stock"] = variants["stock"].model_copy(update=job)
    twins = Twins(job=("run twins 5",), seeds=(7, 8))
    changes = {"outside": outside, "variants": variants, "twins": twins}
    assert attacks(tmp_path, changes) == [
        ("off", ["switches 3", "switches 4"]),
        ("stock", ["switches 4"]),
        ("off", []),
        ("stock", []),
    ]


def test_nothing_is_attacked_from_outside_unless_a_proof_does(tmp_path: Path) -> None:
    usual: dict[str, object] = {"proofs": {"usual": PROOFS["usual"]}}
    assert {str(asked) for _, asked in attacks(tmp_path, usual)} == {"[]"}


def dying(program: str, *values: int) -> BootError:
    """Return the end of a kernel while a program ran, and what was found by then."""
    error = BootError("it panicked", console="[    1.0] panic\n")
    found = Samples(n=1, type="samples", name="rows", values=list(values))
    error.records = [Start(n=0, type="start", program=program), found]
    return error


def stored(folder: Path, error: BootError, changes: dict[str, object]) -> StoredBoot:
    """Return the first boot of a campaign in which all of them end so."""

    def dies(_watcher: Watcher) -> BootResult:
        raise error

    machine = FakeMachine(behaviours=dict.fromkeys(("off", "stock"), dies))
    return booted(folder, changes, machine)[0]


def test_what_an_attack_found_before_the_kernels_end_is_kept(
    tmp_path: Path, outside: Outside
) -> None:
    found = stored(tmp_path, dying("switches 3", 7), {"outside": outside})
    assert (found.facts.status, found.facts.error) == ("boot_error", "it panicked")
    assert found.records[1:] == [
        {"n": 1, "type": "samples", "name": "rows", "values": [7]},
        {"n": 2, "type": "died", "program": "switches 3", "how": "it panicked"},
    ]


def test_a_kernel_that_ends_between_programs_has_been_ended_by_none(
    tmp_path: Path, outside: Outside
) -> None:
    error = BootError("it panicked")
    found = stored(tmp_path, error, {"outside": outside})
    assert (found.facts.status, found.records) == ("boot_error", [])


def test_where_nothing_attacks_from_outside_the_kernels_end_tells_nothing(
    tmp_path: Path,
) -> None:
    usual: dict[str, object] = {"proofs": {"usual": PROOFS["usual"]}}
    found = stored(tmp_path, dying("attack 6", 7), usual)
    assert (found.facts.status, found.records) == ("boot_error", [])
