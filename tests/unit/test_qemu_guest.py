"""A guest whose init obeys, with a script in the place of QEMU."""

from pathlib import Path

import pytest
from fake_machine import FAKE_QEMU

from temper.arch import arch_named
from temper.errors import BootError
from temper.machine import Guest
from temper.machine.qemu import led_words


def guest(work: Path, console: str = "", patience: float = 20) -> Guest:
    words = ("-init", console, *led_words(arch_named("x86_64"), work))
    command = ["python3", str(FAKE_QEMU), *words]
    return Guest(command, work, patience)


def test_an_order_is_carried_out(tmp_path: Path) -> None:
    with guest(tmp_path) as led:
        led.ready()
        assert led.do("read /proc/cmdline") == "read /proc/cmdline"


def test_an_order_that_fails_is_named(tmp_path: Path) -> None:
    with guest(tmp_path) as led:
        led.ready()
        with pytest.raises(BootError, match="fail it: init: failed No such") as caught:
            led.do("fail it")
        assert "Linux version" in caught.value.console


def test_a_guest_that_starts_anew_has_not_answered(tmp_path: Path) -> None:
    with guest(tmp_path) as led, pytest.raises(BootError, match="init: ready"):
        led.do("use 3")


def test_noise_before_it_is_ready_is_passed_over(tmp_path: Path) -> None:
    with guest(tmp_path) as led:
        led.ready()
        led.tell("noise")
        led.tell("say ready")
        led.ready()


def test_what_init_said_last_is_told(tmp_path: Path) -> None:
    console = "init: /look.ko: Exec format error"
    with guest(tmp_path, console, patience=5) as led:
        led.ready()
        with pytest.raises(BootError, match=f"port in 5 s; .*{console}"):
            led.do("hang")
