"""Reports as KTAP, as the kernel's own parser understands them."""

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from temper.analysis.models import ProofEvidence, ProofReport
from temper.kernel import Cache, find_source
from temper.kernel.source import source_tree
from temper.progress import Quiet
from temper.record.outcome import Outcome
from temper.report.as_ktap import to_ktap

pytestmark = pytest.mark.integration


def report(*, proven: bool) -> ProofReport:
    """Return a proof by three attacks on two variants; one says nothing."""
    expected = {"off": Outcome.VULNERABLE, "on": Outcome.BLOCKED}
    found = {**expected, "on": Outcome.BLOCKED if proven else Outcome.VULNERABLE}
    return ProofReport(
        run=1,
        feature="shadow",
        title="Shadow stack",
        arch="x86_64",
        machine="tcg",
        control="off",
        outcomes=found,
        hardened=["on"],
        proven=proven,
        as_expected=proven,
        evidence={
            variant: {
                proof: ProofEvidence(
                    outcome=found[variant],
                    expected=None if proof == "raid" else expected[variant],
                    reasons=["a reason\nnot ok 7 of another test"],
                    figures={},
                    clock="",
                )
                for proof in ("overwrite", "raid", "replay # TODO")
            }
            for variant in expected
        },
        in_force={},
        variants={},
        proofs={},
        started=datetime(2026, 1, 1, tzinfo=UTC),
        hosts=[],
        temper_version="0",
        command="temper prove shadow",
    )


@pytest.mark.parametrize(
    ("proven", "summary"),
    [
        (True, "Ran 16 tests: passed: 12, skipped: 4"),
        (False, "Ran 16 tests: passed: 8, failed: 4, skipped: 4"),
    ],
)
def test_the_kernel_counts_the_same(tmp_path: Path, proven: bool, summary: str) -> None:
    cache = Cache()
    tree = source_tree(find_source(None, "6.12", cache), cache, Quiet())
    file = tmp_path / "results.ktap"
    # Two reports are one file.
    file.write_text(to_ktap([report(proven=proven), report(proven=True)]))
    done = subprocess.run(
        [sys.executable, "-B", tree / "tools/testing/kunit/kunit.py", "parse", file],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = done.stdout + done.stderr
    assert summary in said
    assert (done.returncode == 0) is proven
    assert not re.search(r"error|missing|crash", said, re.IGNORECASE)
