"""What states and keys begin with at boot: nothing of it comes again in another boot.

CPUs that never come keep the keys they were given, and kernel threads their states.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from lab import guest_program, new_machine, planner, prepared, samples_of

from temper.catalog import feature_named
from temper.machine import BootRequest, Watcher
from temper.run.initramfs import pack

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(3600),
]

KSTACK = feature_named("kstack")
BOOTS = 100
"""By birthdays, that no two are alike shows 8 bits of a boot's at least."""
CPUS = 8
"""As many as the lab's kernels take."""
FEWEST_STATES = 20


def boots(folder: Path, sabotage: str) -> Iterator[dict[str, list[int]]]:
    """Boot the machine over and over; yield what each boot began with, by its name."""
    setup = prepared(planner().prove(KSTACK, ["none"], ["leak"])).setups["none"]
    program = guest_program("first_keys", KSTACK.folder / "proof")
    machine = new_machine()
    job = [f"channel {machine.channel}", "module kstack_probe"]
    job += [f"run first_keys {CPUS}"]
    request = BootRequest(
        image=setup.image,
        initramfs=pack(job, [*setup.files, program], folder),
        cmdline=f"{KSTACK.sabotage.cmdline} maxcpus=1 kstack_sabotage={sabotage}",
        cpu="",
        exact=False,
        cpus=CPUS,
    )
    for number in range(BOOTS):
        work = folder / f"boot-{number}"
        work.mkdir()
        yield samples_of(machine.boot(request, work, Watcher()).records)


@pytest.mark.parametrize(
    ("sabotage", "alike"),
    [("none", False), ("first-seeds", True), ("twelve-bits", True)],
)
def test_nothing_comes_again(tmp_path: Path, sabotage: str, alike: bool) -> None:
    seen: dict[str, set[int]] = {"first_key": set(), "first_state": set()}
    again = dict.fromkeys(seen, False)
    for began_with in boots(tmp_path, sabotage):
        assert len(began_with["first_key"]) == CPUS - 1
        assert len(began_with["first_state"]) >= FEWEST_STATES
        for name, values in began_with.items():
            again[name] |= bool(seen[name].intersection(values))
            again[name] |= len({*values}) < len(values)
            seen[name].update(values)
        if all(again.values()):
            break
    assert again == dict.fromkeys(seen, alike)
