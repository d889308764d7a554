"""The plugin's classifier for arm64, on what the assembler makes of instructions."""

from pathlib import Path

import pytest
from classifier import Classifier, assemble, cases, target_marker

from temper.arch import arch_named

ARCH = arch_named("arm64")

CLASSES = {
    "isb": ["isb", "isb sy", "isb #0"],
    "dsb": [
        *(
            "dsb sy",
            "dsb ish",
            "dsb ishst",
            "dsb nsh",
            "dsb nshst",
            "dsb oshld",
            "dsb st",
        ),
        *("dsb synxs", "dsb ishnxs", "dsb nshnxs", "dsb oshnxs"),
    ],
    "tlbi": [
        *("tlbi vmalle1", "tlbi vmalle1is", "tlbi vmalle1os", "tlbi alle2is"),
        *("tlbi vae1, x0", "tlbi vaale1is, x30", "tlbi aside1is, x9", "tlbi vale2, x1"),
        *("tlbi rvae1is, x3", "tlbi rvaale1is, x4", "tlbi ipas2e1is, x5"),
        "sys #0, c9, c3, #1, x2",  # tlbi vae1isnxs, x2
    ],
    "mrs_cnt": [
        *("mrs x0, cntvct_el0", "mrs x30, cntvct_el0", "mrs x7, cntpct_el0"),
        *("mrs x1, s3_3_c14_c0_5", "mrs x2, s3_3_c14_c0_6"),  # the ss ones
    ],
    "msr_daif": [
        *(
            "msr daifset, #0xf",
            "msr daifset, #2",
            "msr daifclr, #3",
            "msr daifclr, #15",
        ),
        *("msr daif, x0", "msr daif, x30"),
    ],
    "msr_pmr": ["msr s3_0_c4_c6_0, x0", "msr s3_0_c4_c6_0, x21"],
    "msr_ttbr": ["msr ttbr0_el1, x0", "msr ttbr1_el1, x30"],
    "msr_por": ["msr s3_0_c10_c2_4, x0", "msr s3_0_c10_c2_4, x30"],
    "mrs_por": ["mrs x0, s3_0_c10_c2_4", "mrs x30, s3_0_c10_c2_4"],
    "svc": ["svc #0", "svc #0xffff"],
    "eret": ["eret", "eretaa", "eretab"],
    "dc_zva": ["dc zva, x0", "dc zva, x30", "dc gzva, x7"],
    # All that stands next to them, and what looks like them.
    "other": [
        *(
            "nop",
            "yield",
            "wfe",
            "wfi",
            "sev",
            "csdb",
            "dgh",
            "esb",
            "paciasp",
            "autiasp",
        ),
        *("dmb ish", "dmb ishld", "clrex", "sb", "ssbb", "pssbb", "bti c"),
        *("mrs x0, cntfrq_el0", "msr cntkctl_el1, x0", "mrs x0, cntv_ctl_el0"),
        *("msr cntv_cval_el0, x1", "mrs x0, cntv_cval_el0", "mrs x0, tpidr_el0"),
        *("mrs x0, daif", "mrs x0, nzcv", "msr nzcv, x0", "msr spsel, #1"),
        *("msr pan, #1", "msr uao, #0", "msr dit, #1", "msr ssbs, #1", "msr tco, #1"),
        *("mrs x0, s3_0_c4_c6_0", "msr spsr_el1, x21", "msr elr_el1, x22"),
        *("msr sp_el0, x24", "msr s3_0_c12_c12_1, x0", "mrs x0, s3_0_c12_c12_0"),
        *("mrs x0, ttbr0_el1", "mrs x0, ttbr1_el1", "msr tcr_el1, x0"),
        # Its names at other levels, and its neighbours.
        *("msr s3_3_c10_c2_4, x0", "mrs x0, s3_3_c10_c2_4", "msr s3_4_c10_c2_4, x0"),
        *("msr s3_5_c10_c2_4, x0", "mrs x0, s3_4_c10_c2_4", "mrs x0, s3_5_c10_c2_4"),
        *("msr mair_el1, x0", "mrs x0, mair_el1", "msr s3_0_c10_c2_2, x0"),
        *("msr s3_0_c10_c2_5, x0", "mrs x0, s3_0_c10_c2_3", "msr s3_0_c10_c3_4, x0"),
        *("msr ttbr0_el2, x0", "msr contextidr_el1, x0", "msr sctlr_el1, x0"),
        *("at s1e1r, x0", "ic ialluis", "ic ivau, x0", "dc civac, x0", "dc gva, x1"),
        *("hvc #0", "smc #0", "brk #0", "hlt #0", "udf #0", "drps", "ret", "retaa"),
        *("br x0", "blr x16", "mov x10, x11", "mov x0, x0", "mov w10, w10"),
    ],
}
MARKERS = {
    "begin": ["mov x10, x10"],
    "pause": ["mov x12, x12"],
    "end": ["mov x11, x11"],
    "none": [
        *("mov w10, w10", "mov w11, w11", "mov x10, x11", "mov x11, x10"),
        *("mov x9, x9", "mov x13, x13", "orr x10, x10, x10", "add x10, x10, #0"),
        *("mvn x10, x10", "nop", "isb"),
    ],
}

ALL = [text for table in (CLASSES, MARKERS) for _, text in cases(table)]


@pytest.fixture(scope="module")
def encodings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return assemble(
        ARCH, tmp_path_factory.mktemp("encodings"), ALL, ".arch armv8.7-a+memtag"
    )


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Classifier:
    return Classifier(ARCH, tmp_path_factory.mktemp("classifier"))


@pytest.mark.parametrize(("name", "text"), cases(CLASSES))
def test_class(
    name: str, text: str, encodings: dict[str, bytes], classifier: Classifier
) -> None:
    assert classifier.class_of(encodings[text]) == name, encodings[text].hex(" ")


@pytest.mark.parametrize(("name", "text"), cases(MARKERS))
def test_marker(
    name: str, text: str, encodings: dict[str, bytes], classifier: Classifier
) -> None:
    assert classifier.marker_of(encodings[text]) == name, encodings[text].hex(" ")


def test_every_class_is_tried(classifier: Classifier) -> None:
    first, *others, end = classifier.names(len(CLASSES) + 1)
    assert (first, end) == ("other", "")
    assert {first, *others} == set(CLASSES)


@pytest.mark.parametrize("text", ["isb", "svc #0", "mov x10, x10"])
def test_a_torn_instruction_is_nothing(
    text: str, encodings: dict[str, bytes], classifier: Classifier
) -> None:
    for size in range(4):
        assert classifier.class_of(encodings[text], size) == "other"
        assert classifier.marker_of(encodings[text][:size]) == "none"


@pytest.mark.parametrize("name", ["begin", "pause", "end"])
def test_the_markers_are_those_of_the_target(
    name: str, tmp_path: Path, classifier: Classifier
) -> None:
    """What target/arch/arm64.h emits is what the plugin waits for."""
    marker = target_marker(ARCH, tmp_path, name)[:4]
    assert classifier.marker_of(marker) == name, marker.hex(" ")
