"""kpkeys without batching of writes: what makes switches few is missing."""

import pytest
from test_kpkeys_price import FEW_AND_TABLE, SYSCALLS, boot_each, switches

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
        quiet = boots[VARIANT].quiet[workload]
        assert len(quiet) == 1
        assert quiet.keys() == boots["stock"].quiet[workload].keys()
