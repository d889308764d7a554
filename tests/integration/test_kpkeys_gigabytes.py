"""kpkeys where the direct map has pages of 1 GiB, which blocks split."""

from pathlib import Path

import pytest
from lab import ARCH, new_machine, planner, prepared, run_of

from temper.analysis.proof import proof_report
from temper.catalog import feature_named
from temper.record.boot import StoredBoot
from temper.record.wire import Samples, parse_record
from temper.run.programs import programs

pytestmark = [pytest.mark.integration, pytest.mark.timeout(3600)]

MEMORY = 4096
"""In MiB. The memory of other proofs is too little for such a page."""
SAYS_HOW_MUCH = r"""
#include <stdio.h>

int main(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	unsigned long kib = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "DirectMap1G: %lu", &kib);
	printf("{\"type\":\"samples\",\"name\":\"DirectMap1G\",\"values\":[%lu]}\n", kib);
	return 0;
}
"""


def gigabytes(boot: StoredBoot) -> list[int]:
    """Return how much of the direct map was mapped so, in GiB, by each look at it."""
    records = map(parse_record, boot.records)
    return [
        value >> 20
        for record in records
        if isinstance(record, Samples) and record.name == "DirectMap1G"
        for value in record.values
    ]


def test_attacks_fail_where_tables_split_pages_of_1_gib(tmp_path: Path) -> None:
    (tmp_path / "look.c").write_text(SAYS_HOW_MUCH)
    look = programs(ARCH, tmp_path, {"look": ("look.c",)}, "look at the direct map")
    plan = planner().prove(feature_named("kpkeys"), ["off", "temper"])
    settle, *lines = plan.work.job
    work = plan.work.model_copy(
        update={
            "memory": MEMORY,
            "programs": (*plan.work.programs, look),
            "job": (settle, "run look", *lines, "run look"),
        }
    )
    run = run_of(prepared(plan.model_copy(update={"work": work})), new_machine())
    report = proof_report(run)
    assert report.proven, report.evidence
    assert report.as_expected
    off, temper = sorted(run.boots, key=lambda boot: boot.facts.variant)
    assert gigabytes(off)[0] >= 2
    # The block with the first tables is in one of them.
    assert 1 <= gigabytes(temper)[-1] < gigabytes(off)[0]
