"""A workload's histogram holds every sample, however many there are."""

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from temper.workloads import TARGET

PROGRAM = """\
#include "sample.h"

#include <stdlib.h>

/* Values from 60,000 on: below and above where the array ends. */
int main(int argc, char **argv)
{
	uint64_t count = strtoull(argv[1], NULL, 10);
	uint64_t distinct = strtoull(argv[2], NULL, 10);
	struct samples *s = samples_create();
	struct workload w = { .name = "made/up", .count = count, .operations = 1 };

	(void)argc;
	for (uint64_t i = 0; i < count; i++)
		samples_put(s, 60000 + i * 7919 % distinct, i % 5 == 0);
	samples_print(s, &w);
	samples_destroy(s);
	return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    (folder / "made_up.c").write_text(PROGRAM)
    sources = [folder / "made_up.c", TARGET / "sample.c"]
    command = ["gcc", "-O2", "-Wall", "-Werror", "-fsanitize=address,undefined"]
    subprocess.run(
        [*command, f"-I{TARGET}", *sources, "-o", folder / "made_up"],
        check=True,
        timeout=60,
    )
    return folder / "made_up"


@pytest.mark.parametrize(
    ("count", "distinct"),
    [
        (1000, 100),
        (1000, 20_000),
        # More than fit one by one: the same values again, and ever new ones.
        (2_500_000, 20_000),
        (1_300_000, 1_200_000),
    ],
)
def test_every_sample_is_in_the_histogram(
    program: Path, count: int, distinct: int
) -> None:
    done = subprocess.run(
        [program, str(count), str(distinct)],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    found: Counter[tuple[int, bool]] = Counter()
    bins = 0
    for line in done.stdout.splitlines():
        record = json.loads(line)
        if record["type"] == "histogram":
            bins += len(record["bins"])
            found.update({(v, record["tick"]): calls for v, calls in record["bins"]})
    wanted = Counter((60_000 + i * 7919 % distinct, i % 5 == 0) for i in range(count))
    assert found == wanted
    # Each value once.
    assert bins == len(wanted)
