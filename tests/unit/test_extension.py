"""Judges that a feature brings along, loaded from its folder."""

from pathlib import Path

import numpy as np
import pytest

from temper.errors import InputError
from temper.extension import judge_named, plots_of
from temper.record.outcome import Outcome

INIT = """\
from .landing import landed

__all__ = ["landed"]
"""
LANDING = """\
from temper.stats.judging import Arrays, Verdict, concluded

from .words import NOTHING


def landed(
    samples: Arrays, definitions: Arrays, *, least: float, most: float = 9
) -> Verdict:
    tries = len(samples["tries"])
    return concluded([f"{tries} landed"] * (tries > least), [], NOTHING, {})
"""


def feature(root: Path, name: str = "made-up", word: str = "nothing landed") -> Path:
    """Make a feature with a judge; return its folder."""
    judges = root / name / "judges"
    judges.mkdir(parents=True)
    (judges / "__init__.py").write_text(INIT)
    (judges / "landing.py").write_text(LANDING)
    (judges / "words.py").write_text(f"NOTHING = {word!r}\n")
    return judges.parent


def test_a_judge_is_loaded_from_any_folder(tmp_path: Path) -> None:
    judge = judge_named(feature(tmp_path), "landed", {"least": 1.0})
    verdict = judge({"tries": np.arange(2)}, {}, least=1.0)
    assert (verdict.outcome, verdict.reasons) == (Outcome.VULNERABLE, ["2 landed"])


def test_judges_of_two_features_stay_apart(tmp_path: Path) -> None:
    """Their packages and modules have the same names."""
    said = []
    for name in ("one", "other"):
        judge = judge_named(feature(tmp_path, name, name), "landed", ["least"])
        said += judge({"tries": np.arange(0)}, {}, least=1.0).reasons
    assert said == ["one", "other"]


def refused(folder: Path, name: str, *params: str) -> tuple[str, str]:
    with pytest.raises(InputError) as caught:
        judge_named(folder, name, params)
    return caught.value.message, caught.value.hint


def test_an_unknown_judge_is_refused_with_those_there_are(tmp_path: Path) -> None:
    folder = feature(tmp_path)
    hint = f"known in {folder}/judges: landed"
    # NOTHING and the module of the judge are no judges.
    for name in ("landing", "nobody"):
        assert refused(folder, name, "least") == (f"unknown judge '{name}'", hint)


def test_a_feature_without_judges_is_told(tmp_path: Path) -> None:
    assert refused(tmp_path / "gone", "landed") == (
        f"unknown judge 'landed': {tmp_path}/gone/judges/__init__.py is missing",
        "docs/adding-a-feature.md says what judges, plots and events are",
    )


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (["least", "leats"], "judge 'landed' takes no parameter 'leats'"),
        (["samples", "least"], "judge 'landed' takes no parameter 'samples'"),
        (["most"], "judge 'landed' lacks the parameter 'least'"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(
    tmp_path: Path, params: list[str], message: str
) -> None:
    assert refused(feature(tmp_path), "landed", *params) == (
        message,
        "it takes: least, most",
    )


def test_judges_that_cannot_be_imported_are_told(tmp_path: Path) -> None:
    folder = feature(tmp_path)
    (folder / "judges" / "words.py").write_text("NOTING = 1\n")
    message, hint = refused(folder, "landed", "least")
    assert message.startswith(f"{folder}/judges/__init__.py cannot be imported: ")
    assert "ImportError: cannot import name 'NOTHING'" in message
    assert hint == "fix it, or use a version of the feature in which it works"


def test_a_feature_may_have_plots(tmp_path: Path) -> None:
    assert plots_of(tmp_path) is None
    plots = tmp_path / "plots.py"
    plots.write_text("def draw(found, variant, name):\n    return variant + name\n")
    draw = plots_of(tmp_path)
    assert draw is not None
    assert draw({"off": {}}, "off", "plot0") == "offplot0"


def test_plots_that_draw_nothing_are_told(tmp_path: Path) -> None:
    (tmp_path / "plots.py").write_text("")
    draw = plots_of(tmp_path)
    assert draw is not None
    with pytest.raises(InputError) as caught:
        draw({"off": {}}, "off", "plot0")
    assert caught.value.message == f"{tmp_path}/plots.py has no function 'draw'"


def test_plots_with_a_bug_are_told(tmp_path: Path) -> None:
    (tmp_path / "plots.py").write_text("def draw(found, variant, name): return 1 / 0\n")
    draw = plots_of(tmp_path)
    assert draw is not None
    with pytest.raises(InputError, match=r"plots.py cannot draw off: ZeroDivisionErr"):
        draw({"off": {}}, "off", "plot0")


def test_a_judge_that_is_no_function_is_told(tmp_path: Path) -> None:
    folder = feature(tmp_path)
    (folder / "judges" / "__init__.py").write_text('__all__ = ["landed"]\nlanded = 3\n')
    message, _ = refused(folder, "landed")
    assert message == f"judge 'landed' in {folder}/judges is no function"
