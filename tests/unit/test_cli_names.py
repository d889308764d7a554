"""Names with commas between, and what a shell is told of them."""

import pytest
from typer.testing import CliRunner

from temper import catalog, cli
from temper.catalog import feature_named
from temper.cli import app

KSTACK = feature_named("kstack")


def completed(*words: str) -> list[str]:
    """Return what bash is told that the last word may be completed to."""
    asked = {
        "_TEMPER_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(("temper", *words)),
        "COMP_CWORD": str(len(words)),
    }
    return CliRunner().invoke(app, [], env=asked, prog_name="temper").output.split()


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("price", "kstack", "--variants", "te"), ["temper", "temper-off"]),
        (("price", "kstack", "--variants", "off,te"), ["off,temper", "off,temper-off"]),
        (("price", "kstack", "--variants", "temper,te"), ["temper,temper-off"]),
        # A sabotage can be attacked and built, but has no price.
        (("price", "kstack", "--variants", "constan"), []),
        (("prove", "kstack", "--variants", "off,constan"), ["off,constant"]),
        (("build", "kstack", "--variants", "constan"), ["constant"]),
        (("prove", "kstack", "--proofs", "clock,ea"), ["clock,early"]),
        # Of whichever feature it will be.
        (("prove", "--proofs", "ea"), ["early"]),
    ],
)
def test_each_name_of_a_list_is_completed(
    words: tuple[str, ...], names: list[str]
) -> None:
    assert completed(*words) == names


def test_names_are_those_of_the_feature(monkeypatch: pytest.MonkeyPatch) -> None:
    variants = {"temperate": KSTACK.variants["off"]}
    features = {
        "kstack": KSTACK,
        "weather": KSTACK.model_copy(update={"variants": variants}),
    }
    monkeypatch.setattr(catalog, "feature_names", lambda: list(features))
    monkeypatch.setattr(cli, "feature_named", features.__getitem__)
    ours, theirs = ["temper", "temper-off"], ["temperate"]
    assert completed("price", "kstack", "--variants", "te") == ours
    assert completed("price", "weather", "--variants", "te") == theirs
    assert completed("price", "--variants", "te") == sorted([*ours, *theirs])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("build", "--variants", "of"), "unknown variant 'of'"),
        (("price", "--variants", "stock,"), "unknown variant ''"),
        (
            ("price", "--variants", "off"),
            "off is the baseline and has no price on its own",
        ),
        (("prove", "--variants", "off, stok"), "unknown variant 'stok'"),
        (("prove", "--proofs", "prediction,clok"), "unknown proof 'clok'"),
        (
            ("prove", "--arch", "arm64", "--proofs", "clock"),
            "proof 'clock' is not for arm64",
        ),
    ],
)
def test_a_wrong_name_is_told_at_once(words: tuple[str, ...], said: str) -> None:
    command, *options = words
    done = CliRunner().invoke(app, [command, "kstack", *options])
    assert str(getattr(done.exception, "message", done.exception)) == said


@pytest.mark.parametrize("command", ["prove", "price"])
def test_help_tells_what_is_always_in(command: str) -> None:
    done = CliRunner().invoke(app, [command, "--help"])
    always = {"prove": "and the control", "price": "the baseline is always"}
    assert always[command] in " ".join(done.output.replace("│", " ").split())
