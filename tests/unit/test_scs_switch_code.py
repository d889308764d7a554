"""Which instructions of a function scs-switch attacks."""

from temper.catalog import feature_named
from temper.extension import loaded

CODE = loaded(feature_named("scs-switch").folder / "outside" / "code.py")
NOP, RETURN, CALL_X1, JUMP_X1 = 0xD503201F, 0xD65F03C0, 0xD63F0020, 0xD61F0020


def jump(words: int) -> int:
    return 0x14000000 | words & 0x3FFFFFF


def test_a_function_ends_with_its_return() -> None:
    assert CODE.reachable([NOP, RETURN, NOP]) == [0, 1]
    assert CODE.reachable([NOP, JUMP_X1, NOP]) == [0, 1]


def test_what_comes_after_a_call_by_a_pointer_runs() -> None:
    assert CODE.reachable([CALL_X1, NOP, RETURN, NOP]) == [0, 1, 2]


def test_code_behind_the_return_runs_if_something_jumps_there() -> None:
    assert CODE.reachable([jump(2), RETURN, NOP, jump(-2), NOP]) == [0, 1, 2, 3]


def test_both_ways_of_a_branch_run() -> None:
    for branch in (0x54000040, 0x34000040, 0xB5000040, 0x36000040, 0xB7080040):
        assert CODE.reachable([branch, RETURN, RETURN, NOP]) == [0, 1, 2], hex(branch)


def test_jumps_elsewhere_are_not_followed() -> None:
    assert CODE.reachable([jump(5), NOP]) == [0]
    assert CODE.reachable([NOP, jump(-3)]) == [0, 1]
