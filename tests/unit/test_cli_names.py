"""Names with commas between, and what a shell is told of them."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from temper import catalog
from temper.catalog import feature_named
from temper.cli import app, completion, main
from temper.run.planner import Planner

KSTACK = feature_named("kstack")


@pytest.fixture(autouse=True)
def nothing_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a test fail before it builds a kernel."""

    def kernel(*_: object) -> None:
        raise AssertionError("a kernel was planned")

    monkeypatch.setattr(Planner, "kernel", kernel)


def completed(*words: str) -> list[str]:
    """Return what bash is told that the last word may be completed to."""
    asked = {
        "_TEMPER_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(("temper", *words)),
        "COMP_CWORD": str(len(words)),
    }
    done = CliRunner().invoke(app, [], env=asked, prog_name="temper")
    assert done.exit_code == 0
    return done.output.split()


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


def test_workloads_are_completed_one_after_the_other() -> None:
    words = ("compare", "a", "b", "--workload")
    syscalls = ["syscall/getpid", "syscall/getppid", "syscall/invalid"]
    assert completed(*words, "sys") == syscalls
    another = (*words, "syscall/getpid", "--workload")
    assert completed(*another, "sys") == syscalls[1:]
    third = (*another, "ctx/pipe", "--calls", "1000", "--workload")
    assert completed(*third, "ctx") == ["ctx/clock"]
    assert "micromm/fault" in completed(*third, "mic")
    # They need a module, so they cannot be compared.
    assert completed(*words, "vmalloc") == []


def test_a_price_and_an_exposure_have_workloads_with_modules() -> None:
    assert "vmalloc/p1" in completed("price", "kpkeys", "--workload", "vmalloc/p1")
    assert "db/redis-get" in completed("price", "kstack", "--workload", "db/")
    # A list, of those of the feature.
    words = ("exposure", "kpkeys", "--workloads", "micromm/fault,micromm/mp")
    assert completed(*words) == ["micromm/fault,micromm/mprotect"]


def test_names_are_those_of_the_feature(monkeypatch: pytest.MonkeyPatch) -> None:
    variants = {"temperate": KSTACK.variants["off"]}
    features = {
        "kstack": KSTACK,
        "weather": KSTACK.model_copy(update={"variants": variants}),
    }
    monkeypatch.setattr(catalog, "feature_names", lambda: list(features))
    monkeypatch.setattr(
        completion, "read_feature", lambda folder: features[folder.name]
    )
    ours, theirs = ["temper", "temper-off"], ["temperate"]
    assert completed("price", "kstack", "--variants", "te") == ours
    assert completed("price", "weather", "--variants", "te") == theirs
    assert completed("price", "--variants", "te") == sorted([*ours, *theirs])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("build", "--variants", "of"), "unknown variant 'of'"),
        (("price", "--variants", "stock,"), "the name of a variant is missing"),
        (("price", "--variants", ""), "the name of a variant is missing"),
        (("price", "--variants", ",stock"), "the name of a variant is missing"),
        (("build", "--variants", "off,,stock"), "the name of a variant is missing"),
        (("build", "--variants", "off,off"), "the variant 'off' is named 2 times"),
        (("prove", "--variants", " "), "the name of a variant is missing"),
        (
            ("prove", "--variants", "stock,off,stock"),
            "the variant 'stock' is named 2 times",
        ),
        (("prove", "--proofs", ""), "the name of a proof is missing"),
        (("prove", "--proofs", "leak,leak,leak"), "the proof 'leak' is named 3 times"),
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


@pytest.mark.parametrize("names", ["", "lockdep,", "lockdep,lockdep"])
def test_so_is_a_wrong_name_of_a_debug_kernel(names: str) -> None:
    done = CliRunner().invoke(app, ["stress", "kpkeys", "--kernels", names])
    assert "known: kasan, lockdep" in getattr(done.exception, "hint", "")


@pytest.mark.parametrize("names", ["", "kexec,", "kexec,kexec"])
def test_so_is_a_wrong_name_of_an_event(names: str) -> None:
    done = CliRunner().invoke(app, ["events", "kpkeys", "--events", names])
    assert "kexec, " in getattr(done.exception, "hint", "")


def test_so_is_a_workload_that_is_named_twice(tmp_path: Path) -> None:
    twice = ("--workload", "ctx/pipe") * 2
    done = CliRunner().invoke(app, ["compare", str(tmp_path), str(tmp_path), *twice])
    said = getattr(done.exception, "message", "")
    assert said == "the workload 'ctx/pipe' is named 2 times"


def test_a_feature_that_cannot_be_read_completes_to_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kstack").mkdir()
    (tmp_path / "kstack" / "feature.toml").write_text("name = ")
    monkeypatch.setattr(completion, "FEATURES", tmp_path)
    assert completed("price", "kstack", "--variants", "te") == []


def test_a_file_name_that_no_report_could_show_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["temper", "features", "--json", "\udce9"])
    with pytest.raises(SystemExit):
        main()
    assert "is not UTF-8" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ("report", "0"),
        ("report", str(10**23)),
        ("price", "kstack", "--resume", str(10**23)),
        ("prove", "kstack", "--resume", "-1"),
    ],
)
def test_a_number_that_no_run_can_have_is_refused(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    assert "than or equal to" in " ".join(done.output.replace("│", " ").split())


@pytest.mark.parametrize("command", ["prove", "price"])
def test_help_tells_what_is_always_in(command: str) -> None:
    done = CliRunner().invoke(app, [command, "--help"])
    always = {"prove": "and the control", "price": "the baseline is always"}
    assert always[command] in " ".join(done.output.replace("│", " ").split())
