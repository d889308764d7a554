"""The judge of scs-switch: interrupts at every instruction of a function."""

from collections.abc import Sequence

import numpy as np

from temper.catalog import feature_named
from temper.extension import judge_named
from temper.record.outcome import Outcome
from temper.stats.judging import Ints, Verdict

SCS_SWITCH = feature_named("scs-switch")
MOVE_SP, LOAD_SCS, RETURN = 0x9100013F, 0xF9400C32, 0xD65F03C0
CODE = (MOVE_SP, LOAD_SCS, RETURN)
CALL, CALL_X1, CALL_X17, JUMP_X17 = 0x94000010, 0xD63F0020, 0xD63F0220, 0xD61F0220
CALL_SIGNED, HYPERVISOR = 0xD73F0820, 0xD4000002
OUT, OUT_IF, OUT_IF_BIT = 0x14000010, 0x54000200, 0x36000200
JUMP_2, JUMP_BACK, BACK_IF = 0x14000002, 0x17FFFFFF, 0xB5FFFFE0
SCS, PREV_SCS = 1, 4


def rows(code: Sequence[int] = CODE, /, **changed: tuple[int, int, int]) -> Ints:
    """Interrupts at three instructions, taken at once, but for those ``changed``.

    The name of one is ``at`` and the number of its instruction; it has the offset where
    it was taken, whether it was taken in time, and what was wrong. It was masked where
    it was not taken at once.
    """
    usual = {f"at{number}": (4 * number, 1, 0) for number in range(len(code))}
    found = {**usual, **changed}
    table = []
    for number, word in enumerate(code):
        at = 4 * number
        taken_at, taken, wrong = found[f"at{number}"]
        table.append((at, word, taken_at != at, taken_at, taken, wrong))
    return np.array(table, dtype=np.int64).flatten()


def judged(*kinds: Ints, functions: float | None = None) -> Verdict:
    judge = judge_named(SCS_SWITCH.folder, "interrupts", ["functions"])
    samples = {f"switch for {number}": kind for number, kind in enumerate(kinds)}
    return judge(samples, {}, functions=len(kinds) if functions is None else functions)


def test_what_leaves_all_as_it_must_be_is_blocked() -> None:
    verdict = judged(rows(), rows(at1=(8, 1, 0)))
    assert verdict.outcome is Outcome.BLOCKED
    assert verdict.figures == {"interrupts": 6, "at once": 5, "wrong": 0}


def test_one_that_does_harm_is_named_by_its_instruction() -> None:
    verdict = judged(rows(at1=(4, 1, SCS | PREV_SCS)))
    assert verdict.outcome is Outcome.VULNERABLE
    assert verdict.reasons == [
        "switch for 0: open at 1 of 3 instructions, +0x4 (ldr x18, [x1, #0x18]): "
        "wrong SCS pointer, saved SCS pointer of the previous task"
    ]


def test_one_that_was_masked_does_harm_where_it_was_taken() -> None:
    verdict = judged(rows(at0=(4, 1, SCS), at1=(4, 1, SCS)))
    assert "open at 1 of 3 instructions, +0x4 (" in verdict.reasons[0]


def test_one_that_was_taken_elsewhere_does_harm_where_it_was_raised() -> None:
    verdict = judged(rows(at2=(-1, 1, SCS)))
    assert "open at 1 of 3 instructions, +0x8 (ret)" in verdict.reasons[0]


def test_neighbours_are_told_as_one_and_others_apart() -> None:
    (all_open,) = judged(rows(at0=(0, 1, 1), at1=(4, 1, 1), at2=(8, 1, 1))).reasons
    assert "+0x0 (mov sp, x9) to +0x8 (ret)" in all_open
    (two,) = judged(rows(at0=(0, 1, 1), at2=(8, 1, 1))).reasons
    assert "+0x0 (mov sp, x9); +0x8 (ret)" in two


def test_the_places_of_all_visits_count() -> None:
    twice = np.concatenate([rows(), rows(at1=(4, 1, SCS))])
    assert "open at 1 of 3" in judged(twice).reasons[0]


def test_harm_counts_though_something_was_left_out() -> None:
    assert judged(rows(at1=(4, 1, SCS))[:12], functions=4).outcome is Outcome.VULNERABLE


def test_a_kernel_without_shadow_call_stacks_is_not_judged() -> None:
    verdict = judged(functions=4)
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert verdict.reasons == [
        "the kernel has no shadow call stacks, or the CPU no such events"
    ]


def test_a_kind_of_calls_that_is_missing_shows_nothing() -> None:
    verdict = judged(rows(), functions=2)
    assert verdict.reasons == ["1 kinds of calls instead of 2 were attacked"]


def test_an_instruction_that_is_missing_shows_nothing() -> None:
    without_second = np.delete(rows(), range(6, 12))
    assert judged(without_second).reasons == [
        "switch for 0: not all instructions were attacked"
    ]
    without_first = rows()[6:]
    assert judged(without_first).outcome is Outcome.UNSUPPORTED


def test_a_function_without_its_end_shows_nothing() -> None:
    assert judged(rows()[:12]).reasons == [
        "switch for 0: it was not attacked up to its return"
    ]


def test_an_interrupt_that_comes_too_late_shows_nothing() -> None:
    assert judged(rows(at0=(-1, 0, 0))).reasons == [
        "switch for 0: 1 interrupts were not taken before it returned"
    ]


def test_the_plot_is_told_what_each_instruction_does() -> None:
    masked = rows(at0=(8, 1, 0), at1=(8, 1, SCS))
    assert judged(rows(), masked).series == {
        "switch": [[0, MOVE_SP, 1, 0], [4, LOAD_SCS, 1, 0], [8, RETURN, 1, 2]]
    }


def test_an_interrupt_that_nobody_saw_taken_shows_nothing() -> None:
    assert judged(rows(at1=(-2, 1, 0))).reasons == [
        "switch for 0: nobody saw where 1 interrupts were taken"
    ]


def test_the_handler_of_an_interrupt_may_take_more_of_them_itself() -> None:
    judge = judge_named(SCS_SWITCH.folder, "interrupts", ["functions"])
    name = "irq for an interrupt in user mode"
    verdict = judge({name: rows(at1=(-2, 1, 0))}, {}, functions=1)
    assert verdict.outcome is Outcome.BLOCKED
    blind = rows(at0=(-2, 1, 0), at1=(-2, 1, 0), at2=(-2, 1, 0))
    assert judge({name: blind}, {}, functions=1).outcome is Outcome.UNSUPPORTED


def test_a_function_that_calls_others_is_not_attacked_whole() -> None:
    calls = (CALL, CALL_X17, JUMP_X17, CALL_SIGNED, HYPERVISOR, OUT, OUT_IF, OUT_IF_BIT)
    for word in calls:
        assert judged(rows((MOVE_SP, word, RETURN))).reasons == [
            "switch for 0: it goes on in code that was not attacked"
        ], hex(word)


def test_a_handler_is_called_by_a_pointer() -> None:
    assert judged(rows((MOVE_SP, CALL_X1, RETURN))).outcome is Outcome.BLOCKED


def test_a_function_may_jump_within_itself() -> None:
    assert judged(rows((JUMP_2, MOVE_SP, RETURN))).outcome is Outcome.BLOCKED


def test_a_function_with_a_loop_is_not_attacked_whole() -> None:
    for back in (JUMP_BACK, BACK_IF):
        assert judged(rows((MOVE_SP, back, RETURN))).reasons == [
            "switch for 0: it comes to instructions more than once, and was attacked "
            "there once"
        ]


def test_an_event_that_nothing_masked_has_to_be_taken() -> None:
    late = rows(at1=(8, 1, 0))
    late[6 + 2] = 0
    for verdict in (judged(late), stopped(late)):
        assert verdict.reasons == [
            "switch for 0: 1 events were not taken where nothing masked them"
        ]


DIED = 64


def stopped(*kinds: Ints) -> Verdict:
    """Judge breakpoints, which do not come later where they are masked."""
    judge = judge_named(SCS_SWITCH.folder, "breakpoints", ["functions"])
    samples = {f"switch for {number}": kind for number, kind in enumerate(kinds)}
    return judge(samples, {}, functions=len(kinds))


MASKED = (-2, 0, 0)


def test_breakpoints_may_be_masked() -> None:
    verdict = stopped(rows(at1=MASKED), rows())
    assert verdict.outcome is Outcome.BLOCKED
    assert verdict.figures == {"breakpoints": 6, "at once": 5, "wrong": 0}
    assert verdict.reasons == [
        "6 breakpoints at all instructions left all as it must be; 5 were taken at "
        "once, the others never, for they were masked"
    ]


def test_breakpoints_that_all_come_are_told_without_others() -> None:
    (reason,) = stopped(rows()).reasons
    assert reason.endswith("; 3 were taken at once")


def test_breakpoints_that_never_come_show_nothing() -> None:
    """They may be off."""
    none = rows(at0=MASKED, at1=MASKED, at2=MASKED)
    assert stopped(rows(), none).reasons == [
        "switch for 1: no breakpoint was ever taken"
    ]


def test_a_breakpoint_that_does_harm_is_named_by_its_instruction() -> None:
    verdict = stopped(rows(at1=(4, 1, SCS)))
    assert verdict.outcome is Outcome.VULNERABLE
    assert "+0x4 (ldr x18, [x1, #0x18]): wrong SCS pointer" in verdict.reasons[0]


def test_an_instruction_at_which_the_kernel_died_is_open() -> None:
    dead = rows(at1=(4, 1, DIED))[:12]
    for verdict in (judged(dead, functions=4), stopped(dead)):
        assert verdict.outcome is Outcome.VULNERABLE
        assert verdict.reasons == [
            "switch for 0: open at 1 of 2 instructions, +0x4 (ldr x18, [x1, #0x18]): "
            "wrong everything: the kernel died"
        ]
