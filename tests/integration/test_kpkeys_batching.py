"""kpkeys without its last patch: no less safe, and what makes switches few is missing.

A comparison, and a kernel of its own that nothing else needs.
"""

from pathlib import Path

import pytest
from lab import ask
from test_kpkeys_price import FEW_AND_TABLE, SYSCALLS, boot_each, switches
from test_kpkeys_proof import KINDS

pytestmark = [
    pytest.mark.integration,
    pytest.mark.check_all,
    pytest.mark.timeout(3600),
]

VARIANT = "no-batching"


def test_batching_is_what_keeps_switches_few() -> None:
    boots = boot_each([VARIANT], (*SYSCALLS, *FEW_AND_TABLE))
    assert {check.on for check in boots[VARIANT].checks} == {True}
    few, table = (switches(boots, VARIANT, name) for name in FEW_AND_TABLE)
    assert table - few > 2 * 400
    for workload in SYSCALLS:
        assert len(boots[VARIANT].quiet[workload]) == 1
        assert (
            boots[VARIANT].quiet[workload].keys() == boots["off"].quiet[workload].keys()
        )


def test_without_batching_no_write_lands(tmp_path: Path) -> None:
    which = ("--variants", VARIANT, "--proofs", ",".join(KINDS))
    answer = ask(tmp_path, "prove", "kpkeys", *which)
    found = answer.report["evidence"][VARIANT]
    assert set(found) == set(KINDS)
    for proof, evidence in found.items():
        assert evidence["outcome"] == "BLOCKED", f"{proof}: {evidence['reasons']}"
        assert evidence["figures"]["landed"] == 0, proof
