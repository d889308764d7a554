"""What mutants.toml says of libvgetrandom's sources is true of today's."""

import mutants
import pytest
from mutants import Mutant


def test_every_dangerous_change_can_be_made() -> None:
    known = mutants.known_mutants()
    assert known
    for mutant in known:
        text = (mutants.LIBRARY / "src" / mutant.file).read_text()
        assert mutant.apply(text) != text


def test_every_reason_is_about_a_mutant() -> None:
    assert not mutants.stale_notes()


def test_a_reason_about_no_mutant_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    note = {"file": "batch.c", "line": "nothing_of_the_sort();", "why": "none"}
    monkeypatch.setitem(mutants.NOTES, "survivor", [note])
    assert mutants.stale_notes() == ["batch.c: nothing_of_the_sort();"]


def test_a_reason_is_about_one_token_if_it_says_so() -> None:
    note = {"file": "pool.c", "line": "a = b == 0;", "old": "==", "why": "so"}
    mutant = Mutant("pool.c", 0, "0", "1", "a = b == 0;", 1)
    assert not mutants.explains(note, mutant)
    assert mutants.explains({**note, "old": "0"}, mutant)
