"""QEMU's debugger, with a thread in its place."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fake_debugger import HANG_UP, INTERRUPT, SILENCE, STOPPED, Debugger, packet

from temper.errors import BootError, InfraError
from temper.machine import Gdb, StoppedError, Watcher
from temper.machine.qemu import Stop

PATIENCE = 20.0
"""Seconds that no test waits, unless it fails."""


@pytest.fixture
def socket(tmp_path: Path) -> Path:
    return tmp_path / "debugger"


@pytest.fixture
def debugger(socket: Path) -> Iterator[Debugger]:
    with Debugger(socket) as found:
        yield found


@pytest.fixture
def watcher() -> Watcher:
    return Watcher()


@pytest.fixture
def gdb(debugger: Debugger, socket: Path, watcher: Watcher) -> Iterator[Gdb]:
    with Gdb(socket, PATIENCE, watcher) as found:
        yield found


@pytest.fixture
def impatient(gdb: Gdb) -> Gdb:
    """Return one that is impatient now, and was not while much had to be answered."""
    gdb._patience = 0.2
    return gdb


def test_a_guest_runs_to_a_breakpoint(gdb: Gdb, debugger: Debugger) -> None:
    debugger.answers["vCont;c"] = "T05thread:02;"
    with gdb.breakpoint(0xFFFF_8000_1234_5678):
        assert gdb.run() == Stop(cpu=2, reached=True)
    assert debugger.heard == [
        "Z1,ffff800012345678,4",
        "vCont;c",
        "z1,ffff800012345678,4",
    ]


def test_cpus_are_told_as_hexadecimal(gdb: Gdb, debugger: Debugger) -> None:
    debugger.answers["vCont"] = "T05thread:1f;"
    assert gdb.run().cpu == 31
    gdb.step(12)
    assert debugger.heard[-1] == "vCont;s:c"


@pytest.mark.timeout(60)
def test_a_guest_that_reaches_nothing_is_interrupted(
    debugger: Debugger, socket: Path
) -> None:
    debugger.answers = {"vCont": SILENCE, INTERRUPT: "T02thread:02;"}
    with Gdb(socket, 1000, Watcher()) as gdb:
        assert gdb.run(seconds=0.05) == Stop(cpu=2, reached=False)
    assert debugger.heard[:2] == ["vCont;c", INTERRUPT]


@pytest.mark.timeout(60)
def test_a_guest_without_a_limit_has_the_patience(
    impatient: Gdb, debugger: Debugger
) -> None:
    debugger.answers = {"vCont": SILENCE}
    assert not impatient.run().reached


def test_a_guest_that_cannot_be_interrupted_is_our_fault(
    impatient: Gdb, debugger: Debugger
) -> None:
    debugger.answers = {"vCont": SILENCE, INTERRUPT: SILENCE}
    with pytest.raises(InfraError, match="QEMU's debugger gives no answer"):
        impatient.run(seconds=0)


@pytest.mark.parametrize("answer", ["E22", "OK", ""])
def test_who_does_not_say_who_stopped_is_told(
    gdb: Gdb, debugger: Debugger, answer: str
) -> None:
    debugger.answers["vCont"] = answer
    with pytest.raises(InfraError, match=f"does not say who stopped: {answer}$"):
        gdb.run()


def test_a_step_takes_no_interrupt(gdb: Gdb, debugger: Debugger) -> None:
    gdb.step(2)
    assert debugger.heard == ["Qqemu.sstep=7", "vCont;s:2"]


def test_a_cpu_that_does_not_step_is_told(impatient: Gdb, debugger: Debugger) -> None:
    debugger.answers = {"vCont;s": SILENCE}
    with pytest.raises(InfraError, match="QEMU does not step CPU 3"):
        impatient.step(3)


@pytest.mark.parametrize(
    ("name", "number"), [("x0", 0), ("sp", 1), ("pc", 2), ("v0", 9), ("v1", 10)]
)
def test_registers_are_numbered_as_the_debugger_describes_them(
    gdb: Gdb, debugger: Debugger, name: str, number: int
) -> None:
    debugger.answers[f"p{number:x}"] = "7856341200800000"
    assert gdb.register(2, name) == 0x8000_1234_5678
    assert debugger.heard == ["Hg2", f"p{number:x}"]


def test_a_register_is_written(gdb: Gdb, debugger: Debugger) -> None:
    gdb.set_register(11, "v1", 0x8000_1234_5678)
    assert debugger.heard == ["Hgb", "Pa=7856341200800000"]


def test_an_unknown_register_is_told(gdb: Gdb) -> None:
    with pytest.raises(InfraError, match="knows no register x31"):
        gdb.register(1, "x31")


def test_a_register_that_is_not_told_is_told(gdb: Gdb, debugger: Debugger) -> None:
    debugger.answers["p2"] = "E14"
    with pytest.raises(InfraError, match="QEMU does not tell pc: E14"):
        gdb.register(1, "pc")


def test_descriptions_are_read_to_their_ends(debugger: Debugger, socket: Path) -> None:
    """However odd they are: these characters end packets, or escape others."""
    odd = "}#$*\xe9" * 9
    debugger.descriptions["core.xml"] = f"<!-- {odd} --><reg name='a}}'/>"
    with Gdb(socket, PATIENCE, Watcher()) as gdb:
        gdb.set_register(1, "a}", 1)
    assert "P0=0100000000000000" in debugger.heard


@pytest.mark.parametrize("answer", ["E00", ""])
def test_a_debugger_that_describes_nothing_is_told(
    debugger: Debugger, socket: Path, answer: str
) -> None:
    debugger.answers["qXfer:features:read:system.xml"] = answer
    with (
        pytest.raises(InfraError, match=r"does not describe its system\.xml"),
        Gdb(socket, PATIENCE, Watcher()),
    ):
        pass


def test_memory_is_read_as_a_cpu_sees_it(gdb: Gdb, debugger: Debugger) -> None:
    debugger.memory = dict(enumerate(range(1, 9), 0x1000))
    assert gdb.word(2, 0x1000) == 0x0807_0605_0403_0201
    assert debugger.heard == ["Qqemu.PhyMemMode:0", "Hg2", "m1000,8"]


def test_much_memory_is_written_in_parts(gdb: Gdb, debugger: Debugger) -> None:
    """An order that is too long would get no answer."""
    content = bytes(n % 251 for n in range(2500))
    gdb.set_memory(1, 0x1000, content)
    assert bytes(debugger.memory[0x1000 + n] for n in range(2500)) == content
    assert max(map(len, debugger.heard)) < 4096


def test_much_memory_is_read_in_parts(gdb: Gdb, debugger: Debugger) -> None:
    content = bytes(n % 251 for n in range(5000))
    debugger.memory = dict(enumerate(content, 0x1000))
    assert gdb.memory(1, 0x1000, len(content)) == content
    assert debugger.heard[1:] == ["Hg1", "m1000,800", "m1800,800", "m2000,388"]


def test_memory_is_written(gdb: Gdb, debugger: Debugger) -> None:
    gdb.set_word(2, 0x1000, 0x0807_0605_0403_0201)
    assert debugger.heard[1:] == ["Hg2", "M1000,8:0102030405060708"]


@pytest.mark.parametrize("answer", ["E14", "00112233445566", "", "no hex"])
def test_memory_that_cannot_be_read_is_told(
    gdb: Gdb, debugger: Debugger, answer: str
) -> None:
    debugger.answers["m"] = answer
    with pytest.raises(InfraError, match=f"read 8 bytes at 0x1000: {answer}$"):
        gdb.word(1, 0x1000)


def test_addresses_are_physical_where_devices_are(gdb: Gdb, debugger: Debugger) -> None:
    """It says so when that changes, and no CPU has to be chosen for it."""
    gdb.word(1, 0)
    gdb.set_device(0x0809_0000, 0x0403_0201)
    assert gdb.device(0x0809_0000) == 0x0403_0201
    gdb.set_word(1, 0x10, 0)
    gdb.word(1, 0x10)
    gdb.device(0x0809_0000)
    gdb.word(1, 0)
    assert [each for each in debugger.heard if each != "Hg1"] == [
        # Another debugger may have left it otherwise.
        "Qqemu.PhyMemMode:0",
        "m0,8",
        "Qqemu.PhyMemMode:1",
        "M8090000,4:01020304",
        "m8090000,4",
        "Qqemu.PhyMemMode:0",
        "M10,8:0000000000000000",
        "m10,8",
        "Qqemu.PhyMemMode:1",
        "m8090000,4",
        "Qqemu.PhyMemMode:0",
        "m0,8",
    ]


ORDERS: dict[str, Callable[[Gdb], object]] = {
    "Z1,10,4": lambda gdb: gdb.breakpoint(0x10).__enter__(),
    "Qqemu.sstep=7": lambda gdb: gdb.step(1),
    "Hg1": lambda gdb: gdb.register(1, "pc"),
    "P2=0100000000000000": lambda gdb: gdb.set_register(1, "pc", 1),
    "M10,8:0100000000000000": lambda gdb: gdb.set_word(1, 0x10, 1),
    "Qqemu.PhyMemMode:1": lambda gdb: gdb.device(0x10),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("answer", "why"), [("E22", "E22"), ("", "unknown")])
def test_an_order_that_is_refused_is_our_fault(
    gdb: Gdb, debugger: Debugger, order: str, answer: str, why: str
) -> None:
    debugger.answers[order] = answer
    with pytest.raises(InfraError) as caught:
        ORDERS[order](gdb)
    assert caught.value.message == f"QEMU's debugger refuses {order}: {why}"


def test_what_is_said_unasked_is_no_answer(debugger: Debugger, socket: Path) -> None:
    """QEMU 7.2 says that the guest stopped, when the debugger comes."""
    debugger.greeting = packet("T02thread:01;")
    debugger.answers["p2"] = "01"
    with Gdb(socket, PATIENCE, Watcher()) as gdb:
        assert gdb.register(1, "pc") == 1
        assert gdb.run() == Stop(cpu=1, reached=True)


def test_answers_may_come_in_pieces(
    gdb: Gdb, debugger: Debugger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Gdb, "_received", lambda gdb: gdb._socket.recv(1))
    debugger.memory[0x10] = 7
    assert gdb.word(1, 0x10) == 7


def test_each_answer_is_acknowledged(
    debugger: Debugger, socket: Path, watcher: Watcher
) -> None:
    debugger.greeting = packet(STOPPED)
    with Gdb(socket, PATIENCE, watcher) as gdb:
        gdb.word(1, 0x10)
        gdb.run()
    debugger.wait_for_its_end()
    assert debugger.unacknowledged == 0


def test_a_garbled_answer_is_our_fault(gdb: Gdb, debugger: Debugger) -> None:
    debugger.answers["m"] = packet("00" * 8).replace(b"$0", b"$1")
    with pytest.raises(InfraError, match=r"garbles its answer: b'\$1000"):
        gdb.word(1, 0x10)


def test_a_debugger_that_says_nothing_is_given_up(
    impatient: Gdb, debugger: Debugger
) -> None:
    debugger.answers["m"] = SILENCE
    with pytest.raises(InfraError, match="QEMU's debugger gives no answer"):
        impatient.word(1, 0x10)


WAITS: dict[str, Callable[[Gdb], object]] = {
    "vCont;c": lambda gdb: gdb.run(),
    "vCont;s": lambda gdb: gdb.step(1),
    "m": lambda gdb: gdb.word(1, 0x10),
    "Z": lambda gdb: gdb.breakpoint(0x10).__enter__(),
}


@pytest.mark.parametrize("order", WAITS)
def test_whatever_it_waits_for_it_stops_when_asked_to(
    gdb: Gdb, debugger: Debugger, watcher: Watcher, order: str
) -> None:
    def stop(heard: str) -> None:
        if heard.startswith(order):
            watcher.stop.set()

    debugger.answers[order] = SILENCE
    debugger.on_order = stop
    with pytest.raises(StoppedError):
        WAITS[order](gdb)


@pytest.mark.parametrize("answer", ["W00", "W86", HANG_UP])
@pytest.mark.parametrize("order", WAITS)
def test_a_guest_that_ends_is_told(
    gdb: Gdb, debugger: Debugger, order: str, answer: str | None
) -> None:
    debugger.answers[order] = answer
    with pytest.raises(BootError, match="the guest ended under the debugger"):
        WAITS[order](gdb)


def test_a_guest_that_has_ended_is_told(gdb: Gdb, debugger: Debugger) -> None:
    debugger.answers["Hg"] = HANG_UP
    for _ in range(2):
        with pytest.raises(BootError, match="the guest ended under the debugger"):
            gdb.word(1, 0x10)
        debugger.wait_for_its_end()


def test_a_debugger_that_is_not_there_is_our_fault(socket: Path) -> None:
    with (
        pytest.raises(InfraError, match=r"does not answer: .*No such file"),
        Gdb(socket, PATIENCE, Watcher()),
    ):
        pass


def test_a_guest_goes_on_when_all_is_done(debugger: Debugger, socket: Path) -> None:
    with Gdb(socket, PATIENCE, Watcher()) as gdb:
        gdb.run()
    debugger.wait_for_its_end()
    assert debugger.heard == ["vCont;c", "D"]


def test_a_guest_that_went_wrong_stays_where_it_is(
    debugger: Debugger, socket: Path
) -> None:
    """What its attacker left behind would let the kernel do anything."""
    with pytest.raises(BootError, match="odd"), Gdb(socket, PATIENCE, Watcher()):
        raise BootError("odd")
    debugger.wait_for_its_end()
    assert debugger.heard == []


@pytest.mark.parametrize("answer", ["E01", "W00", HANG_UP])
def test_a_guest_that_does_not_go_on_is_left_to_others(
    debugger: Debugger, socket: Path, answer: str | None
) -> None:
    debugger.answers["D"] = answer
    with Gdb(socket, PATIENCE, Watcher()):
        pass
    debugger.wait_for_its_end()
    assert debugger.heard == ["D"]
