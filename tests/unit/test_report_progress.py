import io
from collections.abc import Iterator

import pytest
from rich.console import Console

from temper.progress import Progress
from temper.report.progress import PlainProgress, RichProgress, on_stderr


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def log() -> io.StringIO:
    return io.StringIO()


def plain(log: io.StringIO, clock: Clock) -> Progress:
    return PlainProgress(Console(file=log, width=40), clock)


def test_a_log_gets_a_line_every_ten_seconds(log: io.StringIO) -> None:
    clock = Clock()
    with plain(log, clock).task("build Linux 6.12", 100) as task:
        for percent in range(0, 101, 2):
            clock.now = percent / 2
            task.update(percent, note=f"CC file{percent}.c")
    assert log.getvalue().splitlines() == [
        "build Linux 6.12: started",
        "build Linux 6.12: 20 %, about 40 s left, CC file20.c",
        "build Linux 6.12: 40 %, about 30 s left, CC file40.c",
        "build Linux 6.12: 60 %, about 20 s left, CC file60.c",
        "build Linux 6.12: 80 %, about 10 s left, CC file80.c",
        "build Linux 6.12: 100 %, about 0.0 s left, CC file100.c",
        "build Linux 6.12: done in 50 s",
    ]


def test_a_total_may_come_late_or_never(log: io.StringIO) -> None:
    clock = Clock()
    with plain(log, clock).task("boot") as task:
        clock.now = 15
        task.update(3)
        clock.now = 200
        task.update(4, total=8)
    assert log.getvalue().splitlines()[1:] == [
        "boot: 15 s so far",
        "boot: 50 %, about 3 min 20 s left",
        "boot: done in 3 min 20 s",
    ]


def test_of_a_first_step_no_end_is_guessed(log: io.StringIO) -> None:
    clock = Clock()
    with plain(log, clock).task("build", 1000) as task:
        for done in (9, 10):
            clock.now += 15
            task.update(done)
    assert log.getvalue().splitlines()[1:3] == [
        "build: 15 s so far",
        "build: 1 %, about 49 min 30 s left",
    ]


def test_a_log_says_what_was_interrupted(log: io.StringIO) -> None:
    progress = plain(log, Clock())
    with pytest.raises(KeyboardInterrupt), progress.task("boot"):
        raise KeyboardInterrupt
    assert log.getvalue().splitlines()[-1] == "boot: failed after 0.0 s"


def test_brackets_are_no_markup_and_long_lines_stay_whole(log: io.StringIO) -> None:
    text = "[bold]" + "x" * 100
    plain(log, Clock()).say(text)
    assert log.getvalue() == f"{text}\n"


@pytest.fixture
def terminal(log: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> Iterator[Progress]:
    monkeypatch.setenv("TERM", "xterm")
    console = Console(file=log, force_terminal=True, width=90, color_system=None)
    yield RichProgress(console)


def test_a_terminal_keeps_one_line_of_each_task(
    log: io.StringIO, terminal: Progress
) -> None:
    with terminal.task("price [kstack]", 4) as outer:
        with terminal.task("boot off"):
            pass
        outer.update(1, note="[1] of 4")
        terminal.say("kept")
    text = log.getvalue()
    assert "done    boot off (" in text
    assert "done    price [kstack] (" in text
    assert "kept" in text


def test_a_terminal_is_restored_after_a_failure(
    log: io.StringIO, terminal: Progress
) -> None:
    with pytest.raises(KeyboardInterrupt), terminal.task("boot"):
        raise KeyboardInterrupt
    text = log.getvalue()
    assert "failed  boot (" in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
    with terminal.task("again"):
        pass
    assert "done    again (" in log.getvalue()


def test_stdout_stays_clean(capsys: pytest.CaptureFixture[str]) -> None:
    progress = on_stderr()
    assert isinstance(progress, PlainProgress)
    with progress.task("boot"):
        progress.say("hello")
    out, err = capsys.readouterr()
    assert out == ""
    assert "hello" in err
