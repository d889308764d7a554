"""Mutants of a series: which lines are changed, how, and under which names."""

import sys
import tomllib
from collections.abc import Mapping
from importlib import resources

import pytest

from temper.errors import InfraError
from temper.kernel.mutants import Mutant, added_lines, code_of, series_mutants

FILE = "kernel/lock.c"
BEFORE = """\
int older(int a)
{
	return a + 1;
}
"""
AFTER = """\
// SPDX-License-Identifier: GPL-2.0
#include <linux/fake.h>
/* if (1 < 2) this would be code; */
int older(int a)
{
	return a + 1;
}

MODULE_AUTHOR("1 + 2");

static int newer(struct lock *lock)
{
	pr_info("took %d\\n", 1);
	if (!lock)
		return -EINVAL; /* 7 of them */
	spin_lock(lock);
	WRITE_ONCE(lock->taken, lock->taken + 1);
	return 0;
}
"""


def mutants(after: str = AFTER, file: str = FILE) -> list[Mutant]:
    return series_mutants({FILE: BEFORE}, {file: after})


def lines(after: str = AFTER) -> Mapping[str, set[str]]:
    """Return line of the series -> what it becomes, both without indentation."""
    code = code_of(after).split("\n")
    found: dict[str, set[str]] = {}
    for each in mutants(after):
        line = code[each.line - 1].strip()
        found.setdefault(line, set()).add(each.after.strip())
    return found


def test_only_lines_of_code_that_the_series_adds_are_changed() -> None:
    assert set(lines()) == {
        "static int newer(struct lock *lock)",
        "if (!lock)",
        "return -EINVAL;",
        "spin_lock(lock);",
        "WRITE_ONCE(lock->taken, lock->taken + 1);",
        "return 0;",
    }


def test_lines_that_a_series_adds() -> None:
    assert added_lines("a\nb\nc", "a\nx\nb\nC") == {2, 4}
    assert added_lines("", "a\nb") == {1, 2}
    assert added_lines("a\nb", "b") == set()


def test_comments_are_no_code_and_texts_are() -> None:
    text = 'a /* b\nc */ d; // e\nf("/* g */", \'"\', "//");\n'
    assert code_of(text) == 'a     \n     d;     \nf("/* g */", \'"\', "//");\n'


def test_a_lock_is_dropped_a_guard_negated_and_an_error_made_success() -> None:
    found = lines()
    assert "/*spin_lock(lock);*/" in found["spin_lock(lock);"]
    assert {"if (lock)", "if (0==1)", "if (1==1)"} <= found["if (!lock)"]
    assert "return; spin_lock(lock);" in found["spin_lock(lock);"]
    assert "return (~0UL);" not in found["return 0;"]
    assert {"return 1;", "return -1;"} <= found["return 0;"]
    less = "WRITE_ONCE(lock->taken, lock->taken - 1);"
    assert less in found["WRITE_ONCE(lock->taken, lock->taken + 1);"]


@pytest.mark.parametrize(
    ("line", "becomes", "does"),
    [
        ("mask = x & 0b1100;", "mask = x & 0;", "has another constant"),
        ("mask = x & 0xff;", "mask = x & (~0UL);", "has another constant"),
        ("mask = x & 0xff;", "mask = x & (0xff << 1);", "has another constant"),
        ("s = f(a, k) ^ k;", "s = f(a, k);", "drops an operator"),
        ("s = f(a, k) ^ k;", "s = f(a, k) | k;", "computes with another operator"),
        ("unsigned long key;", "unsigned int key;", "keeps fewer bits"),
        ("early_initcall(start);", "late_initcall(start);", "runs later in the boot"),
        ("on = true;", "on = false;", "has another constant"),
        ("smp_store_release(p, 1);", "WRITE_ONCE(p, 1);", "skips the barrier"),
        ("smp_wmb();", "/*smp_wmb();*/", "drops the statement"),
        (
            "for_each_possible_cpu(cpu)",
            "for_each_online_cpu(cpu)",
            "visits other CPUs",
        ),
        (
            "for (i = 0; i < n; i++)",
            "for (i = 0; i <= n; i++)",
            "compares in another way",
        ),
        ("take(lock,\n\t     flags);", "if (0) take(lock,", "drops the statement"),
        ("if (a && b)", "if (a || b)", "joins the conditions the other way"),
        ("if (IS_ERR(page))", "if (0 && IS_ERR(page))", "ignores the error"),
    ],
)
def test_what_rules_do(line: str, becomes: str, does: str) -> None:
    found = series_mutants({}, {FILE: f"void f(void)\n{{\n\t{line}\n}}\n"})
    assert (f"\t{becomes}", does) in {(each.after, each.does) for each in found}


def test_every_rule_of_the_generator_is_one_that_it_has() -> None:
    """Otherwise a newer one would silently make fewer mutants."""
    tables = resources.files("universalmutator").joinpath("static")
    known = {
        rule.rstrip()
        for name in ("universal.rules", "c_like.rules", "c.rules")
        for rule in tables.joinpath(name).read_text("utf-8").splitlines()
    }
    table = tomllib.loads(
        resources.files("temper.kernel").joinpath("mutants.toml").read_text()
    )
    builtin = {
        rule.rstrip() for group in table["rules"] for rule in group.get("builtin", [])
    }
    assert builtin
    assert builtin <= known


def test_no_line_becomes_two() -> None:
    """Otherwise the numbers of all lines after it change, and WARN() has them."""
    for each in mutants():
        assert each.applied(AFTER).count("\n") == AFTER.count("\n")


def test_a_macro_goes_on_where_it_did() -> None:
    macro = "#define TAKE(lock)\t\\\n\t(old ?\t\\\n\t take(lock, 1) : 0)\n"
    found = series_mutants({}, {"include/lock.h": macro})
    assert any(each.after.strip().startswith("/*") for each in found)
    for each in found:
        wanted = macro.split("\n")[each.line - 1].endswith("\\")
        assert each.after.endswith("\\") is wanted, each.after


def test_an_id_outlives_changes_elsewhere_and_not_those_of_its_line() -> None:
    ids = {each.id for each in mutants()}
    assert len(ids) == len(mutants())
    moved = AFTER.replace("static int newer", "\n\n/* Moved. */\nstatic int newer")
    assert {each.id for each in mutants(moved)} == ids
    changed = AFTER.replace("spin_lock(lock);", "spin_lock(&lock->lock);")
    kept = {each.id for each in mutants(changed)} & ids
    assert kept
    assert not any("spin_lock" in each.after for each in mutants() if each.id in kept)


def test_twins_in_the_same_company_have_ids_of_their_own() -> None:
    twice = "void f(void)\n{\n\ta = 1;\n\ta = 1;\n\ta = 1;\n\ta = 1;\n}\n"
    found = series_mutants({}, {FILE: twice})
    assert len({each.id for each in found}) == len(found)


def test_the_order_is_that_of_the_ids() -> None:
    ids = [each.id for each in mutants()]
    assert ids == sorted(ids)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("Documentation/lock.rst", AFTER),
        ("lib/Kconfig.debug", AFTER),
        ("kernel/lock_kunit.c", f"#include <kunit/test.h>\n{AFTER}"),
    ],
)
def test_what_is_no_code_of_the_kernel_has_no_mutants(file: str, text: str) -> None:
    assert series_mutants({}, {file: text}) == []


def test_a_hunk_shows_the_change_in_its_company() -> None:
    (dropped,) = (m for m in mutants() if m.after == "\t/*spin_lock(lock);*/")
    assert dropped.hunk(AFTER).split("\n") == [
        f"@@ {FILE}:16 @@",
        " \tif (!lock)",
        " \t\treturn -EINVAL; /* 7 of them */",
        "-\tspin_lock(lock);",
        "+\t/*spin_lock(lock);*/",
        " \tWRITE_ONCE(lock->taken, lock->taken + 1);",
        " \treturn 0;",
    ]


def test_without_the_generator_the_way_out_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "universalmutator.mutator", None)
    with pytest.raises(InfraError) as error:
        mutants()
    assert "universalmutator" in error.value.message
    assert "extra 'mutants'" in error.value.hint


def test_the_generator_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    mutants()
    assert capsys.readouterr().out == ""
