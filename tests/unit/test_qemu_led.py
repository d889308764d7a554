"""A guest that is led from outside, with a script in the place of QEMU."""

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from temper.errors import BootError, InfraError
from temper.machine import StoppedError, Watcher
from temper.machine.qemu import Led, console_words, monitor_words, port_words

FAKE = Path(__file__).with_name("fake_qemu.py")


def led(
    work: Path, *program: str, patience: float = 20, watcher: Watcher | None = None
) -> Led:
    command = program or (sys.executable, str(FAKE))
    words = (*console_words(work), *port_words(work), *monitor_words(work))
    return Led([*command, *words], work, patience, watcher)


@pytest.fixture
def guest(tmp_path: Path) -> Iterator[Led]:
    with led(tmp_path) as found:
        yield found


def impatient(tmp_path: Path) -> Led:
    """Return one that is up before long, and waits no longer."""
    return led(tmp_path, patience=5)


def test_the_monitor_answers(guest: Led) -> None:
    assert guest.ask("fine") == {"heard": "fine"}


def test_a_command_that_is_refused_is_our_fault(guest: Led) -> None:
    with pytest.raises(InfraError, match="QEMU refuses wrong: no such thing"):
        guest.ask("wrong", id="x")


def test_an_event_is_noticed_whenever_it_came(guest: Led) -> None:
    for name in ("RESET", "SUSPEND", "RESET"):
        guest.ask("tell", name=name)
    guest.event("SUSPEND")
    guest.event("RESET")
    guest.event("RESET")


def test_an_event_counts_once(tmp_path: Path) -> None:
    with impatient(tmp_path) as guest:
        guest.ask("tell", name="RESET")
        guest.event("RESET")
        with pytest.raises(BootError, match="no RESET from QEMU in 5 s"):
            guest.event("RESET")


def test_words_go_to_the_guest_and_come_back(guest: Led) -> None:
    guest.send(b"hello")
    assert guest.receive(1) + guest.receive(100) == b"HELLO"


def test_a_guest_that_says_nothing_is_given_up(tmp_path: Path) -> None:
    with impatient(tmp_path) as guest, pytest.raises(BootError) as caught:
        guest.receive(1)
    assert caught.value.message == (
        "no word from the guest's port in 5 s; last on its console: 'Linux version "
        "6.12'"
    )
    assert caught.value.console == "Linux version 6.12\n"


def test_a_command_without_an_answer_is_given_up(tmp_path: Path) -> None:
    with (
        impatient(tmp_path) as guest,
        pytest.raises(InfraError, match="QEMU gives no answer to hang"),
    ):
        guest.ask("hang")


def endless(guest: Led) -> None:
    """Send more than anybody takes."""
    os.kill(guest._process._process.pid, signal.SIGSTOP)
    guest.send(bytes(1 << 24))


WAITS: dict[str, Callable[[Led], object]] = {
    "command": lambda guest: guest.ask("hang"),
    "event": lambda guest: guest.event("RESET"),
    "console": lambda guest: guest.said("panic"),
    "receive": lambda guest: guest.receive(1),
    "send": endless,
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS.keys())
def test_whatever_it_waits_for_it_stops_at_once_when_asked_to(
    wait: Callable[[Led], object], tmp_path: Path
) -> None:
    watcher = Watcher()
    with led(tmp_path, patience=100, watcher=watcher) as guest:
        threading.Timer(0.5, watcher.stop.set).start()
        began = time.monotonic()
        with pytest.raises(StoppedError):
            wait(guest)
    assert time.monotonic() - began < 20


def test_who_waits_is_told_for_what_and_how_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("temper.machine.watcher._TELL_EVERY", 1.0)
    told: list[str] = []
    with (
        led(tmp_path, patience=4, watcher=Watcher(on_wait=told.append)) as guest,
        pytest.raises(BootError),
    ):
        told.clear()
        guest.said("panic")
    assert told[0] == "no 'panic' on the console for 1 s, limit 4 s"
    assert len(told) in (2, 3, 4)


def test_what_the_kernel_says_is_waited_for(tmp_path: Path) -> None:
    with impatient(tmp_path) as guest:
        guest.said(r"version \d")
        with pytest.raises(BootError, match="no 'panic' on the console in 5 s"):
            guest.said("panic")


def test_an_end_of_its_own_will_is_well(guest: Led) -> None:
    guest.ask("quit")
    guest.ended()


def test_a_machine_that_stays_on_is_the_kernels_fault(tmp_path: Path) -> None:
    with impatient(tmp_path) as guest, pytest.raises(BootError, match="no end of the"):
        guest.ended()


def test_an_end_by_force_is_not_the_guests(guest: Led) -> None:
    guest._process._process.kill()
    with pytest.raises(InfraError, match="QEMU was killed by SIGKILL"):
        guest.ended()


@pytest.mark.parametrize("what", ["send", "receive"])
def test_a_port_whose_qemu_was_killed_is_not_the_guests_fault(
    guest: Led, what: str
) -> None:
    guest.send(b"a")
    assert guest.receive(1) == b"A"
    guest._process._process.kill()
    guest._process.wait(10)
    with pytest.raises(InfraError, match="QEMU was killed by SIGKILL"):
        guest.send(b"b") if what == "send" else guest.receive(1)


def test_a_full_disk_is_not_the_guests_fault(
    guest: Led, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = shutil.disk_usage("/")._replace(free=0)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
    with pytest.raises(InfraError, match=r"the disk of .* is full"):
        guest.said("panic")


def test_what_a_full_disk_has_swallowed_is_noticed_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = shutil.disk_usage("/")._replace(free=0)
    with pytest.raises(InfraError, match=r"the disk of .* is full"), led(tmp_path):
        monkeypatch.setattr(shutil, "disk_usage", lambda _: full)


def test_a_guest_that_ends_too_early_is_told(guest: Led) -> None:
    guest.ask("quit")
    with pytest.raises(BootError, match="the guest ended without RESET from QEMU"):
        guest.event("RESET")


def test_a_qemu_that_fails_is_not_the_kernels_fault(guest: Led) -> None:
    with pytest.raises(InfraError, match="QEMU gives no answer to die"):
        guest.ask("die")
    with pytest.raises(InfraError, match="QEMU failed with status 1: qemu: it hurts"):
        guest.event("RESET")


def test_a_qemu_that_does_not_come_up_is_told(tmp_path: Path) -> None:
    with (
        pytest.raises(InfraError, match="QEMU failed with status 3"),
        led(tmp_path, "sh", "-c", "exit 3"),
    ):
        pass


def test_it_is_gone_with_the_block(tmp_path: Path) -> None:
    with led(tmp_path) as guest:
        process = guest._process._process
    assert process.returncode is not None


def test_a_guest_can_be_led_from_any_thread(tmp_path: Path) -> None:
    answers: list[object] = []

    def lead() -> None:
        with led(tmp_path) as guest:
            answers.append(guest.ask("fine"))

    thread = threading.Thread(target=lead)
    thread.start()
    thread.join()
    assert answers == [{"heard": "fine"}]
