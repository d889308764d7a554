"""Where a macro gets to, by the sources of a kernel."""

import pytest

from temper.kernel.macros import CONFIGURED, Sources, macro_of

HEADER = """\
#define KEY_SHIFT 4
#define KEY_MASK(key) \\
	(3ul << \\
	((key) * KEY_SHIFT))
static inline int shifted(int key)
{
	return key << KEY_SHIFT;
}
"""


def sources(options: str = "", **files: str) -> Sources:
    """Return sources by their stems; those in capitals are headers."""
    named = {f"{name}.{'h' if name.isupper() else 'c'}": files[name] for name in files}
    return Sources({CONFIGURED: options, **named})


@pytest.mark.parametrize(
    ("line", "name"),
    [(1, "KEY_SHIFT"), *((line, "KEY_MASK") for line in (2, 3, 4)), (5, ""), (7, "")],
)
def test_a_macro_goes_on_in_its_next_line(line: int, name: str) -> None:
    assert macro_of(HEADER, line) == name


def test_a_macro_expands_where_its_name_is() -> None:
    found = sources(HEADER=HEADER, a="int KEY_SHIFTED;", b="int b = KEY_SHIFT;")
    assert set(found.expanding("KEY_SHIFT")) == {("HEADER.h", 7), ("b.c", 1)}


def test_a_macro_expands_in_another() -> None:
    found = sources(HEADER=HEADER, a="int a = MASK;", B="#define MASK KEY_MASK(1)\n")
    assert set(found.expanding("KEY_SHIFT")) == {("HEADER.h", 7), ("a.c", 1)}


def test_macros_may_expand_each_other() -> None:
    found = sources(A="#define A B\n#define B A\n", a="A", b="B")
    assert set(found.expanding("A")) == {("a.c", 1), ("b.c", 1)}


def test_a_name_may_be_put_together_from_two() -> None:
    """The half that fewer files have is followed."""
    texts = {
        "A": "#define MASK21 0\n#define IN(mask, word) mask##word\n",
        "B": "#define BIT IN(MASK, 21)\n",
        "a": "int a = BIT;",
        "b": "int b = 21;",
    }
    assert set(sources(**texts).expanding("MASK21")) == {("a.c", 1)}
    texts["b"] = "int b = MASK;"
    assert set(sources(**texts).expanding("MASK21")) == {("a.c", 1)}


def test_a_condition_that_has_a_macro_is_no_macro() -> None:
    found = sources(A="#define SHIFT 4\n#ifdef SHIFT\n#endif\n")
    assert set(found.expanding("SHIFT")) == {("A.h", 2)}


CONDITIONS = """\
#ifdef CONFIG_ON
on
#else
off
#endif
#ifndef CONFIG_ON
off
#if SOMETHING
off
#else
off
#endif
#elif SOMETHING
unknown
#else
unknown
#endif
#if defined(CONFIG_OFF)
unknown
#elif SOMETHING
unknown
#else
unknown
#endif
#ifdef CONFIG_OFF /* as */
off
#define off(x) \\
	x
#else
on
#  ifdef CONFIG_ONE_OF
off
#  endif
on
#endif
#ifdef SOMETHING
unknown
#endif
#if CONFIG_ON
unknown
#else
unknown
#endif
#if CONFIG_OFF
unknown
#endif
"""


def test_lines_are_left_out_by_options() -> None:
    code = CONDITIONS.replace("/* as */", "        ")
    found = sources("#define CONFIG_ON 1\n#define CONFIG_ONE 1\n", A=code)
    lines = code.split("\n")
    off = {
        at for at, line in enumerate(lines, 1) if "off" in line and "#if" not in line
    }
    off.add(lines.index("\tx") + 1)
    assert found.omitted("A.h") == dict.fromkeys(off, ())


def test_after_a_branch_that_holds_all_others_are_left_out() -> None:
    code = "#ifdef CONFIG_ON\n#elif X\noff\n#else\noff\n#endif\n"
    assert set(sources("#define CONFIG_ON 1", A=code).omitted("A.h")) == {3, 5}


def test_a_file_may_set_an_option_for_itself() -> None:
    code = "#ifdef CONFIG_ON\n#define X 1\n#else\n#define X 2\n#endif\n"
    others = {"b": "#undef CONFIG_ON\n", "C": " # define CONFIG_ON 2\n"}
    found = sources("#define CONFIG_ON 1", A=code, a="int a = X;", **others)
    assert found.omitted("A.h") == {4: ["b.c", "C.h"]}


def test_what_is_left_out_expands_nothing() -> None:
    """Other than in files that have it nevertheless."""
    code = "#define X 1\n#ifdef CONFIG_ON\n#define Y 0\n#else\n#define Y X\n#endif\n"
    found = sources("#define CONFIG_ON 1", A=code, a="int a = X;", b="int b = Y;")
    assert set(found.expanding("X")) == {("a.c", 1)}
    found = sources("#define CONFIG_ON 1", A=code, b="Y", c="#undef CONFIG_ON\n")
    assert set(found.expanding("X")) == {("c.c", 0)}
