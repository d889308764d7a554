"""What becomes of mutants in a tree that is built once, and of the tree."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from kernels import FAKE_KERNEL, fake_source, fragments, make_patch, spec

from temper.errors import BuildError
from temper.kernel.builder import KernelSpec
from temper.kernel.cache import Cache
from temper.kernel.mutants import Mutant
from temper.kernel.mutated import Compiled, MutantTree, mutant_tree
from temper.kernel.series import series_texts
from temper.kernel.survey import survey
from temper.progress import Quiet
from temper.record.plan import Fate

MAIN, CLOCK, HEADER = "init/main.c", "drivers/clock.c", "include/linux/fake.h"
UNPACK = "arch/x86/boot/compressed/unpack.o"
CHANGES = (
    (MAIN, "return 2;", "return 2 + 20;\n#ifdef FAR\n\treturn 3;\n#endif"),
    (CLOCK, "return 0;", "return 9;"),
    (HEADER, "FAKE_FOUR 4", "FAKE_FOUR 44"),
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
    assert "return 9;" in after[CLOCK]
    assert "return 9;" not in (FAKE_KERNEL / CLOCK).read_text()


def test_objects_are_those_that_make_knows_of(tree: MutantTree) -> None:
    assert tree.objects(CLOCK) == ["drivers/clock.o"]
    smallest, *others = tree.objects(HEADER)
    assert smallest == "drivers/clock.o"
    assert set(others) == {"init/main.o", UNPACK}


def test_modules_that_nobody_boots_do_not_count(tree: MutantTree) -> None:
    folder = tree.build.out / "drivers"
    for name, words in (("module", "-DMODULE"), ("driver", "")):
        (folder / f".{name}.o.cmd").write_text(f"gcc {words} ../{HEADER}\n")
        (folder / f"{name}.o").touch()
    assert "drivers/driver.o" in tree.objects(HEADER)
    assert "drivers/module.o" not in tree.objects(HEADER)


def test_a_line_of_a_header_is_reached(
    tree: MutantTree, texts: Mapping[str, str]
) -> None:
    assert tree.reaches(mutant(texts, HEADER, "44", "45"))
    assert not tree.reaches(mutant(texts, MAIN, "return 3;", "return 7;"))


def test_each_mutant_is_made_alone(tree: MutantTree, texts: Mapping[str, str]) -> None:
    whole = tree.compiled(CLOCK), tree.compiled(MAIN)
    one = mutant(texts, CLOCK, "9", "8")
    two = mutant(texts, MAIN, "20", "21")
    assert tree.compiled(CLOCK, one) != whole[0]
    assert tree.compiled(MAIN, two) != whole[1]
    with_both = tree.image(two).read_bytes()
    assert tree.compiled(CLOCK) == whole[0]
    assert tree.image(two).read_bytes() == with_both


def test_a_header_changes_all_that_includes_it(
    tree: MutantTree, texts: Mapping[str, str]
) -> None:
    whole = tree.compiled(HEADER)
    assert tree.compiled(HEADER, mutant(texts, HEADER, "44", "45")) != whole
    assert tree.compiled(HEADER, mutant(texts, HEADER, "44", "(40 + 4)")) == whole


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
        Mutant("none", "Makefile", 1, "#", ""): Fate.UNREACHED,
    }
    all_texts = {**texts, "Makefile": "\n"}
    found = survey(wanted, all_texts, list(fates), None, cache, Quiet())
    assert found == {each.id: fate for each, fate in fates.items()}


def test_a_sample_compiles_no_more_than_it_needs(
    wanted: KernelSpec, texts: Mapping[str, str], cache: Cache
) -> None:
    values = [mutant(texts, CLOCK, "9", str(value)) for value in (9, 7, 6, 5)]
    found = survey(wanted, texts, values, 2, cache, Quiet())
    assert list(found.values()) == [Fate.SAME, Fate.DISTINCT, Fate.DISTINCT]


def compiled_from_now_on(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note which mutants are compiled from now on."""
    compiled: list[str] = []
    known = MutantTree.compiled

    def noting(
        tree: MutantTree, file: str, mutant: Mutant | None = None
    ) -> Compiled | None:
        compiled.extend([mutant.id] if mutant else [])
        return known(tree, file, mutant)

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

    def stopping(
        tree: MutantTree, file: str, mutant: Mutant | None = None
    ) -> Compiled | None:
        if mutant and mutant.id == mutants[20].id:
            raise KeyboardInterrupt
        return stop(tree, file, mutant)

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
