"""What becomes of mutants in a tree that is built once, and of the tree."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from kernels import FAKE_KERNEL, Watcher, fake_source, fragments, make_patch, spec

from temper.errors import BuildError
from temper.kernel import mutated
from temper.kernel.builder import Build, KernelSpec
from temper.kernel.cache import Cache
from temper.kernel.inlined import function_of, marked
from temper.kernel.mutants import Mutant
from temper.kernel.mutated import Compiled, MutantTree, mutant_tree
from temper.kernel.series import series_texts
from temper.kernel.survey import survey
from temper.process import Finished
from temper.progress import Quiet
from temper.record.plan import Fate

MAIN, CLOCK, HEADER = "init/main.c", "drivers/clock.c", "include/linux/fake.h"
UNPACK = "arch/x86/boot/compressed/unpack.o"
HALF = """
#define FAKE_TWO 2
#ifdef CONFIG_SLOW
#define FAKE_THREE 3
#endif

static inline int fake_half(int whole)
{
	return whole / 2;
}

static inline int fake_twice(int half)
{
	return FAKE_TWO * half;
}"""
CHANGES = (
    (MAIN, "return 2;", "return 2 + 20;\n#ifdef FAR\n\treturn 3;\n#endif"),
    (MAIN, "int fourth(void)", "int tick(void);\n\nint fourth(void)"),
    (MAIN, "return FAKE_FOUR;", "return fake_half(FAKE_FOUR) + tick();"),
    (CLOCK, "return 0;", "return fake_twice(9);"),
    (HEADER, "FAKE_FOUR 4", f"FAKE_FOUR 44\n{HALF}"),
)


@pytest.fixture(autouse=True)
def _fragments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fragments(tmp_path / "kernel", monkeypatch)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def wanted(tmp_path: Path, cache: Cache) -> KernelSpec:
    patch = make_patch(FAKE_KERNEL, tmp_path, "0001-x", *CHANGES)
    return spec(fake_source(tmp_path / "linux"), cache, patches=(patch,))


@pytest.fixture
def texts(wanted: KernelSpec) -> Mapping[str, str]:
    return series_texts(FAKE_KERNEL, wanted.patches)[1]


@pytest.fixture
def tree(
    wanted: KernelSpec, texts: Mapping[str, str], cache: Cache
) -> Iterator[MutantTree]:
    with mutant_tree(wanted, texts, cache, Quiet()) as tree:
        yield tree


def mutant(texts: Mapping[str, str], file: str, old: str, new: str) -> Mutant:
    """Change the line of a file that has ``old``."""
    for number, line in enumerate(texts[file].split("\n"), 1):
        if old in line:
            return Mutant(f"{file} {new}", file, number, line.replace(old, new), "")
    raise AssertionError(old)


def test_the_texts_of_a_series_are_those_of_the_files_that_it_touches(
    wanted: KernelSpec,
) -> None:
    before, after = series_texts(FAKE_KERNEL, wanted.patches)
    assert set(before) == set(after) == {MAIN, CLOCK, HEADER}
    assert before[CLOCK] == (FAKE_KERNEL / CLOCK).read_text()
    assert "fake_twice(9);" in after[CLOCK]
    assert "fake_twice(9);" not in (FAKE_KERNEL / CLOCK).read_text()


def test_objects_are_those_that_make_knows_of(
    tree: MutantTree, texts: Mapping[str, str]
) -> None:
    assert tree.affected(mutant(texts, CLOCK, "9", "8")) == ["drivers/clock.o"]
    smallest, *others = tree.affected(mutant(texts, HEADER, "44", "45"))
    assert smallest == "drivers/clock.o"
    assert set(others) == {"init/main.o", UNPACK}


def test_modules_that_nobody_boots_do_not_count(
    tree: MutantTree, texts: Mapping[str, str]
) -> None:
    folder = tree.build.out / "drivers"
    for name, words in (("module", "-DMODULE"), ("driver", "")):
        (folder / f".{name}.o.cmd").write_text(f"gcc {words} ../{HEADER}\n")
        (folder / f"{name}.o").touch()
    affected = tree.affected(mutant(texts, HEADER, "44", "45"))
    assert "drivers/driver.o" in affected
    assert "drivers/module.o" not in affected


def test_a_file_can_be_included_from_beside_another(
    tree: MutantTree, texts: Mapping[str, str]
) -> None:
    folder = tree.build.out / "drivers"
    (folder / ".beside.o.cmd").write_text(f"gcc ../drivers/../{HEADER}\n")
    (folder / "beside.o").touch()
    affected = tree.affected(mutant(texts, HEADER, "44", "45"))
    assert "drivers/beside.o" in affected


def test_an_object_needs_no_symbols(tree: MutantTree) -> None:
    folder = tree.build.out / "drivers"
    (folder / ".empty.o.cmd").write_text(f"gcc ../{HEADER}\n")
    command = ["gcc", "-x", "assembler", "-c", "-", "-o", str(folder / "empty.o")]
    subprocess.run(command, input=b"", check=True, timeout=60)
    assert tree.originals["drivers/empty.o"].symbols == frozenset()
    assert "fourth T" in tree.originals["init/main.o"].symbols


def test_a_line_of_a_header_is_reached(
    tree: MutantTree, texts: Mapping[str, str]
) -> None:
    assert tree.reaches(mutant(texts, HEADER, "44", "45"))
    assert not tree.reaches(mutant(texts, MAIN, "return 3;", "return 7;"))


def test_each_mutant_is_made_alone(tree: MutantTree, texts: Mapping[str, str]) -> None:
    whole = tree.originals
    one = mutant(texts, CLOCK, "9", "8")
    two = mutant(texts, MAIN, "20", "21")
    assert tree.compiled(one) != {"drivers/clock.o": whole["drivers/clock.o"]}
    assert tree.compiled(two) != {"init/main.o": whole["init/main.o"]}
    with_both = tree.image(two).read_bytes()
    assert tree.compiled(as_it_is(one, texts)) == {
        "drivers/clock.o": whole["drivers/clock.o"]
    }
    assert tree.image(two).read_bytes() == with_both


def as_it_is(mutant: Mutant, texts: Mapping[str, str]) -> Mutant:
    """Return a mutant of the same place that changes nothing."""
    return replace(mutant, after=texts[mutant.file].split("\n")[mutant.line - 1])


def test_a_header_changes_all_that_includes_it(
    tree: MutantTree, texts: Mapping[str, str]
) -> None:
    whole = tree.originals
    changed = tree.compiled(mutant(texts, HEADER, "44", "45"))
    assert changed
    assert set(changed) == set(whole)
    assert changed["init/main.o"] != whole["init/main.o"]
    assert changed["drivers/clock.o"] == whole["drivers/clock.o"]
    assert tree.compiled(mutant(texts, HEADER, "44", "(40 + 4)")) == whole


def test_the_folder_that_an_object_was_made_in_is_no_difference(
    tree: MutantTree,
    wanted: KernelSpec,
    texts: Mapping[str, str],
    cache: Cache,
    tmp_path: Path,
) -> None:
    """Code that unpacks a kernel has debug information, and ccache knows it."""
    assert b".debug_info" in (tree.build.out / UNPACK).read_bytes()
    other = Cache(tmp_path / "other")
    other.root.mkdir()
    other.ccache.symlink_to(cache.ccache)
    with mutant_tree(wanted, texts, other, Quiet()) as again:
        whole = again.originals
        assert again.compiled(mutant(texts, HEADER, "44", "(40 + 4)")) == whole


@pytest.fixture
def narrow(tree: MutantTree, monkeypatch: pytest.MonkeyPatch) -> MutantTree:
    """Return a tree in which each header is one that many objects include."""
    monkeypatch.setattr(mutated, "MANY", 1)
    return tree


def test_a_function_of_a_header_changes_what_it_is_inlined_into(
    narrow: MutantTree, texts: Mapping[str, str]
) -> None:
    assert narrow.compiled(mutant(texts, CLOCK, "9", "9 +")) is None
    thirds = mutant(texts, HEADER, "/ 2", "/ 3")
    assert narrow.compiled(thirds)
    assert narrow.affected(thirds) == ["drivers/clock.o", "init/main.o"]
    assert UNPACK in narrow.affected(mutant(texts, HEADER, "44", "45"))
    # What has its arguments is no part of its body.
    assert UNPACK in narrow.affected(mutant(texts, HEADER, "int whole", "char whole"))
    assert narrow.affected(mutant(texts, CLOCK, "9", "8")) == ["drivers/clock.o"]


def test_a_macro_changes_what_it_is_inlined_into(
    narrow: MutantTree, texts: Mapping[str, str]
) -> None:
    """And what a line of a file expands, other than a header."""
    whole = narrow.originals
    three = mutant(texts, HEADER, "FAKE_TWO 2", "FAKE_TWO 3")
    assert narrow.affected(three) == ["drivers/clock.o"]
    changed = narrow.compiled(three)
    assert changed
    assert changed["drivers/clock.o"] != whole["drivers/clock.o"]
    assert UNPACK in narrow.affected(mutant(texts, HEADER, "FOUR 44", "FOUR 45"))
    # Whoever has the old name may go by another now.
    assert UNPACK in narrow.affected(mutant(texts, HEADER, "FAKE_TWO", "FAKE_ONE"))


def test_what_expands_a_macro_is_read_without_mutants(
    narrow: MutantTree, texts: Mapping[str, str]
) -> None:
    """Though one is in the tree by then, as where the cache has what is inlined."""
    three = mutant(texts, HEADER, "FAKE_TWO 2", "FAKE_TWO 3")
    assert narrow.affected(three) == ["drivers/clock.o"]
    other = MutantTree(narrow.build, texts)
    assert other.compiled(mutant(texts, MAIN, "2 + 20", "FAKE_TWO + 20"))
    assert other.affected(three) == ["drivers/clock.o"]


def test_options_leave_a_macro_out(
    narrow: MutantTree, texts: Mapping[str, str]
) -> None:
    four = mutant(texts, HEADER, "FAKE_THREE 3", "FAKE_THREE 4")
    assert narrow.affected(four) == ["drivers/clock.o"]
    assert not narrow.reaches(four)


@pytest.mark.parametrize("setting", [MAIN, "init/own.h"])
def test_an_object_may_set_an_option_for_itself(
    narrow: MutantTree, texts: Mapping[str, str], setting: str
) -> None:
    """Or include what does so."""
    with (narrow.build.out / "init/.main.o.cmd").open("a") as command:
        command.write(f"# {setting}\n")
    source = narrow.build.tree / setting
    rest = source.read_text() if source.exists() else ""
    source.write_text(f"#define CONFIG_SLOW 1\n{rest}")
    without = {file: text for file, text in texts.items() if file != MAIN}
    four = mutant(texts, HEADER, "FAKE_THREE 3", "FAKE_THREE 4")
    affected = MutantTree(narrow.build, without).affected(four)
    assert affected == ["drivers/clock.o", "init/main.o"]


@pytest.mark.parametrize("place", ["FAKE_TWO;", "#if FAKE_TWO\n#endif"])
def test_a_header_may_expand_a_macro_anywhere(
    narrow: MutantTree, texts: Mapping[str, str], place: str
) -> None:
    three = mutant(texts, HEADER, "FAKE_TWO 2", "FAKE_TWO 3")
    expanding = {**texts, HEADER: f"{texts[HEADER]}\n{place}\n"}
    assert UNPACK in MutantTree(narrow.build, expanding).affected(three)


def test_what_else_is_made_of_a_macro_may_be_included(
    narrow: MutantTree, texts: Mapping[str, str]
) -> None:
    (narrow.build.out / ".offsets.h.cmd").write_text("sh offsets.c\n")
    (narrow.build.out / "offsets.h").touch()
    (narrow.build.tree / "offsets.c").write_text("FAKE_TWO")
    three = mutant(texts, HEADER, "FAKE_TWO 2", "FAKE_TWO 3")
    assert UNPACK in narrow.affected(three)


def test_only_what_a_function_is_inlined_into_is_made_anew(
    narrow: MutantTree, texts: Mapping[str, str]
) -> None:
    """And no mark is left in what is made, nor a mutant in what comes after it."""
    whole = narrow.originals
    image = narrow.image(as_it_is(mutant(texts, CLOCK, "9", "8"), texts)).read_bytes()
    thirds = mutant(texts, HEADER, "/ 2", "/ 3")
    unpacks = narrow.build.out / UNPACK
    first = narrow.compiled(thirds)
    mutated_image = narrow.image(thirds).read_bytes()
    made = unpacks.stat().st_mtime_ns
    second = narrow.compiled(thirds)
    assert first == second
    assert first
    assert first["init/main.o"] != whole["init/main.o"]
    assert first["drivers/clock.o"] == whole["drivers/clock.o"]
    for _ in range(2):
        assert narrow.compiled(as_it_is(thirds, texts)) == {
            name: whole[name] for name in ("drivers/clock.o", "init/main.o")
        }
        assert unpacks.stat().st_mtime_ns == made
        assert narrow.image(as_it_is(thirds, texts)).read_bytes() == image
        assert narrow.image(thirds).read_bytes() == mutated_image
        assert narrow.image(mutant(texts, CLOCK, "9", "9 + 0")).read_bytes() == image
        made = unpacks.stat().st_mtime_ns
    assert image != mutated_image


def test_objects_without_a_function_stay(
    narrow: MutantTree, texts: Mapping[str, str]
) -> None:
    """Without marks, from the beginning, and as they are."""
    nine = as_it_is(mutant(texts, CLOCK, "9", "8"), texts)
    image = narrow.image(nine).read_bytes()
    thrice = mutant(texts, HEADER, "FAKE_TWO * half", "3 * half")
    assert narrow.affected(thrice) == ["drivers/clock.o"]
    main = narrow.build.out / "init/main.o"
    made = main.stat().st_mtime_ns
    assert b"<inlined" not in main.read_bytes()
    assert narrow.image(thrice).read_bytes() != image
    assert narrow.image(nine).read_bytes() == image
    assert main.stat().st_mtime_ns == made


def test_marks_are_compiled_in_a_tree_without_mutants(
    wanted: KernelSpec,
    texts: Mapping[str, str],
    cache: Cache,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mutated, "MANY", 1)
    without = mutant(texts, MAIN, "fake_half(FAKE_FOUR)", "2")
    thirds = mutant(texts, HEADER, "/ 2", "/ 3")
    found = survey(wanted, texts, [without, thirds], None, cache, Quiet())
    assert list(found.values()) == [Fate.DISTINCT, Fate.DISTINCT]


def test_whoever_interrupts_marks_leaves_none(
    narrow: MutantTree, texts: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nine = as_it_is(mutant(texts, CLOCK, "9", "8"), texts)
    image = narrow.image(nine).read_bytes()
    remake = Build.remake

    def interrupted(build: Build, *targets: str) -> Finished:
        remake(build, *targets)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Build, "remake", interrupted)
        with pytest.raises(KeyboardInterrupt):
            narrow.affected(mutant(texts, HEADER, "/ 2", "/ 3"))
    assert narrow.image(nine).read_bytes() == image


def test_whoever_interrupts_a_mutant_leaves_none(
    narrow: MutantTree, texts: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nine = as_it_is(mutant(texts, CLOCK, "9", "8"), texts)
    image = narrow.image(nine).read_bytes()
    thirds = mutant(texts, HEADER, "/ 2", "/ 3")
    assert narrow.affected(thirds)

    def interrupted(*_: object, **_words: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", interrupted)
        with pytest.raises(KeyboardInterrupt):
            narrow.compiled(thirds)
    assert narrow.image(nine).read_bytes() == image
    assert (narrow.build.tree / HEADER).read_text() == texts[HEADER]


def test_what_is_inlined_is_found_out_once(
    narrow: MutantTree, texts: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    thirds = mutant(texts, HEADER, "/ 2", "/ 3")
    affected = narrow.affected(thirds)
    monkeypatch.setattr(MutantTree, "_find_inlined", None)
    again = MutantTree(narrow.build, texts)
    assert again.affected(thirds) == affected


def test_another_kernel_inlines_other_functions(
    wanted: KernelSpec,
    texts: Mapping[str, str],
    cache: Cache,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mutated, "MANY", 1)
    thirds = mutant(texts, HEADER, "/ 2", "/ 3")
    changes = [change for change in CHANGES if "fake_half(FAKE_FOUR)" not in change[2]]
    patch = make_patch(FAKE_KERNEL, tmp_path, "0001-y", *changes)
    other = spec(fake_source(tmp_path / "other"), cache, patches=(patch,))
    found = []
    for kernel in (wanted, other):
        with mutant_tree(kernel, texts, cache, Quiet()) as tree:
            found.append("init/main.o" in tree.affected(thirds))
    assert found == [True, False]


def test_marks_are_for_headers_that_many_include(
    tree: MutantTree, texts: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MutantTree, "_find_inlined", None)
    assert UNPACK in tree.affected(mutant(texts, HEADER, "/ 2", "/ 3"))
    monkeypatch.setattr(mutated, "MANY", 1)
    fresh = MutantTree(tree.build, texts)
    assert fresh.affected(mutant(texts, MAIN, "20", "21")) == ["init/main.o"]


def test_if_marks_do_not_compile_all_objects_are_affected(
    narrow: MutantTree, texts: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutated, "marked", lambda _, text: f"{text}\n#error")
    thirds = mutant(texts, HEADER, "/ 2", "/ 3")
    assert UNPACK in narrow.affected(thirds)
    changed = narrow.compiled(thirds)
    assert changed
    assert set(changed) == set(narrow.originals)
    # It may have been for another reason, so it is tried again.
    monkeypatch.undo()
    monkeypatch.setattr(mutated, "MANY", 1)
    assert UNPACK not in MutantTree(narrow.build, texts).affected(thirds)


@pytest.mark.parametrize("directive", ["define FOUR 4", "undef X", ' include "x.h"'])
def test_bodies_of_functions_stand_between_braces(directive: str) -> None:
    header = """\
#define DOES(x) do { \\
	} while (0)
struct pair {
	int one;
};
/*
{
 * }
 */
static inline int one(void)
{
	if (two) {
		return 1;
	}
	/* } */
	return 2;
}

static inline int two(void) { return 3; }
typedef struct
{
	int one;
} whole;
static inline int odd(void) {
	return 5;
}
static inline int three(void)
{
#DIRECTIVE
	return FOUR;
}
"""
    header = header.replace("DIRECTIVE", directive)
    lines = header.split("\n")
    having = [line for line in range(1, len(lines)) if function_of("h", header, line)]
    assert having == [12, 13, 14, 15, 16]
    assert function_of("a.h", header, 12) != function_of("b.h", header, 12)
    changed = marked("h", header).split("\n")
    assert [at for at, line in enumerate(changed) if line != lines[at]] == [10]
    # What a kernel is linked without.
    assert 'section(".discard.' in changed[10]


def test_what_was_compiled_for_the_tree_is_not_compiled_again(
    tree: MutantTree, texts: Mapping[str, str], cache: Cache
) -> None:
    nine = mutant(texts, CLOCK, "9", "8")
    assert tree.compiled(as_it_is(nine, texts))
    before = misses(cache)
    for name in tree.affected(nine):
        (tree.build.out / name).unlink()
    assert tree.compiled(as_it_is(nine, texts))
    assert misses(cache) == before
    assert tree.compiled(nine)
    assert misses(cache) > before


@pytest.mark.parametrize("header", [True, False])
def test_objects_that_a_mutant_changed_are_put_back(
    tree: MutantTree,
    texts: Mapping[str, str],
    header: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Make finds nothing to do there, but links what it made of them anew."""
    nine = as_it_is(mutant(texts, CLOCK, "9", "8"), texts)
    image, main = tree.image(nine).read_bytes(), tree.build.out / "init/main.o"
    original = main.read_bytes()
    place = (HEADER, "FOUR 44", "FOUR 45") if header else (MAIN, "20", "21")
    assert tree.image(mutant(texts, *place)).read_bytes() != image
    assert main.read_bytes() != original
    remake, put_back = Build.remake, []

    def looked_at(build: Build, *targets: str) -> Finished:
        put_back.append(main.stat().st_mtime_ns)
        assert main.read_bytes() == original
        return remake(build, *targets)

    monkeypatch.setattr(Build, "remake", looked_at)
    assert tree.image(nine).read_bytes() == image
    assert put_back == [main.stat().st_mtime_ns]


def misses(cache: Cache) -> int:
    """Return how often ccache had to call the compiler."""
    environment = {"PATH": os.environ["PATH"], "CCACHE_DIR": str(cache.ccache)}
    command = ["ccache", "--print-stats"]
    said = subprocess.check_output(command, env=environment, text=True, timeout=60)
    return int(dict(line.split("\t") for line in said.splitlines())["cache_miss"])


def test_the_source_in_the_cache_stays_as_it_is(
    tree: MutantTree, texts: Mapping[str, str], cache: Cache
) -> None:
    tree.image(mutant(texts, CLOCK, "9", "8"))
    for file in cache.root.glob(f"sources/*/linux/{CLOCK}"):
        assert file.read_text() == (FAKE_KERNEL / CLOCK).read_text()


def test_the_tree_goes_when_nobody_needs_it(
    wanted: KernelSpec, texts: Mapping[str, str], cache: Cache
) -> None:
    with mutant_tree(wanted, texts, cache, Quiet()) as tree:
        assert tree.build.tree.is_dir()
    assert not tree.build.work.exists()


def test_what_becomes_of_mutants(
    wanted: KernelSpec, texts: Mapping[str, str], cache: Cache
) -> None:
    fates = {
        mutant(texts, MAIN, "2 + 20", "2 + 21"): Fate.DISTINCT,
        mutant(texts, MAIN, "2 + 20", "1 + 22"): Fate.DUPLICATE,
        mutant(texts, MAIN, "2 + 20", "20 + 2"): Fate.SAME,
        mutant(texts, MAIN, "2 + 20", "2 +"): Fate.BROKEN,
        mutant(texts, MAIN, "return 3;", "return 7;"): Fate.UNREACHED,
        mutant(texts, CLOCK, "9", "8"): Fate.DISTINCT,
        mutant(texts, CLOCK, "9", "undefined()"): Fate.BROKEN,
        mutant(texts, CLOCK, "9", "(undefined())"): Fate.BROKEN,
        Mutant("none", "Makefile", 1, "#", ""): Fate.UNREACHED,
    }
    all_texts = {**texts, "Makefile": "\n"}
    found = survey(wanted, all_texts, list(fates), None, cache, Quiet())
    assert found == {each.id: fate for each, fate in fates.items()}


def test_only_what_may_not_link_is_linked(
    wanted: KernelSpec,
    texts: Mapping[str, str],
    cache: Cache,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fates = {
        mutant(texts, MAIN, " + tick()", ""): Fate.DISTINCT,
        mutant(texts, MAIN, "+ tick()", "+ tick() + tock()"): Fate.BROKEN,
        mutant(texts, MAIN, "int third(void)", "static int third(void)"): Fate.BROKEN,
    }

    def failing(*_: object) -> None:
        raise BuildError("a kernel was linked")

    monkeypatch.setattr(MutantTree, "image", failing)
    found = survey(wanted, texts, list(fates), None, cache, Quiet())
    assert found == {each.id: fate for each, fate in fates.items()}


def test_a_sample_compiles_no_more_than_it_needs(
    wanted: KernelSpec, texts: Mapping[str, str], cache: Cache
) -> None:
    values = [mutant(texts, CLOCK, "9", str(value)) for value in (9, 7, 6, 5)]
    watcher = Watcher()
    found = survey(wanted, texts, values, 2, cache, watcher)
    assert list(found.values()) == [Fate.SAME, Fate.DISTINCT, Fate.DISTINCT]
    told = [done for done, _, note in watcher.updates if note.endswith("distinct")]
    assert told == [0, 1, 2, 2]


def compiled_from_now_on(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note which mutants are compiled from now on."""
    compiled: list[str] = []
    known = MutantTree.compiled

    def noting(tree: MutantTree, mutant: Mutant) -> Mapping[str, Compiled] | None:
        compiled.append(mutant.id)
        return known(tree, mutant)

    monkeypatch.setattr(MutantTree, "compiled", noting)
    return compiled


def test_a_survey_that_was_stopped_goes_on(
    wanted: KernelSpec,
    texts: Mapping[str, str],
    cache: Cache,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What becomes of the rest depends on what came before."""
    values = [*range(9), *range(20), 5]
    mutants = [
        replace(mutant(texts, CLOCK, "9", str(value)), id=f"{at:02} {value}")
        for at, value in enumerate(values)
    ]
    compiled = compiled_from_now_on(monkeypatch)
    whole = survey(wanted, texts, mutants, None, Cache(cache.root / "other"), Quiet())
    assert len(compiled) == 30
    distinct = [name for name, fate in whole.items() if fate is Fate.DISTINCT]
    assert len(distinct) == 19
    assert whole["18 9"] is Fate.SAME

    compiled.clear()
    stop = MutantTree.compiled

    def stopping(tree: MutantTree, mutant: Mutant) -> Mapping[str, Compiled] | None:
        if mutant.id == mutants[20].id:
            raise KeyboardInterrupt
        return stop(tree, mutant)

    with monkeypatch.context() as patched:
        patched.setattr(MutantTree, "compiled", stopping)
        with pytest.raises(KeyboardInterrupt):
            survey(wanted, texts, mutants, None, cache, Quiet())
    compiled.clear()
    assert survey(wanted, texts, mutants, None, cache, Quiet()) == whole
    assert compiled == [mutant.id for mutant in mutants[16:]]
    compiled.clear()
    few = survey(wanted, texts, mutants, 10, cache, Quiet())
    assert few == {name: whole[name] for name in list(whole)[: len(few)]}
    assert list(few.values()).count(Fate.DISTINCT) == 10
    assert list(few)[-1] == distinct[9]
    assert compiled == []


def test_what_is_remembered_is_of_what_came_before(
    wanted: KernelSpec,
    texts: Mapping[str, str],
    cache: Cache,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("temper.kernel.survey._CHUNK", 1)
    eight, sum_, seven = (
        mutant(texts, CLOCK, "9", value) for value in ("8", "4 + 4", "7")
    )
    found = survey(wanted, texts, [eight, sum_], None, cache, Quiet())
    assert found[sum_.id] is Fate.DUPLICATE
    found = survey(wanted, texts, [seven, sum_], None, cache, Quiet())
    assert found[sum_.id] is Fate.DISTINCT


def test_what_was_found_out_once_is_remembered(
    wanted: KernelSpec,
    texts: Mapping[str, str],
    cache: Cache,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mutants = [mutant(texts, CLOCK, "9", "8")]
    first = survey(wanted, texts, mutants, None, cache, Quiet())
    monkeypatch.setattr("temper.kernel.survey.mutant_tree", None)
    assert survey(wanted, texts, mutants, None, cache, Quiet()) == first


def test_a_kernel_that_does_not_link_says_so(
    tree: MutantTree, texts: Mapping[str, str]
) -> None:
    with pytest.raises(BuildError, match="makes no kernel"):
        tree.image(mutant(texts, CLOCK, "9", "9 +"))
