"""Guests of the machine tcg that are attacked while a program of theirs runs."""

import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from fake_debugger import HANG_UP, Debugger
from test_tcg import BOOT, Host, forget_qemu

from temper.errors import BootError, InfraError, InputError
from temper.machine import Attack, BootResult, Gdb, Watcher
from temper.machine.qemu import Stop, debugger_words
from temper.machine.watcher import Wait
from temper.record.wire import Samples, whole_records

FIRST, ATTACKED, LAST = "in_force", "switches 7", "in_force again"

Found = Iterator[Samples]


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    forget_qemu()
    yield Host(tmp_path)
    forget_qemu()


@pytest.fixture
def debugger(host: Host) -> Iterator[Debugger]:
    with Debugger(host.work / "debugger") as found:
        yield found


def line(n: int, kind: str, program: str) -> str:
    status = ',"status":0' if kind == "exit" else ""
    return f'{{"n":{n},"type":"{kind}","program":"{program}"{status}}}'


def samples(name: str, *values: int, n: int = 0) -> Samples:
    return Samples(n=n, type="samples", name=name, values=list(values))


def ran(n: int, *programs: str) -> list[str]:
    """Return the records of programs that have ended."""
    return [
        line(n + 2 * number + at, kind, program)
        for number, program in enumerate(programs)
        for at, kind in enumerate(("start", "exit"))
    ]


def says(*lines: str) -> str:
    return f"printf '%s\\n' {shlex.join(lines)} >>$records\n"


def job(host: Host, *programs: str) -> str:
    """Run ``programs``, of which one waits until it was attacked."""
    body = "echo 'Linux version 6.12' >$console\n" + says(BOOT)
    for number, program in enumerate(programs):
        start, end = ran(1 + 2 * number, program)
        body += says(start)
        if program == ATTACKED:
            body += f"until [ -e {host.root}/attacked ]; do sleep 0.02; done\n"
        body += says(end)
    end = f'{{"n":{1 + 2 * len(programs)},"type":"end"}}'
    return body + says(end)


def boot(
    host: Host, attacks: Mapping[str, Attack], watcher: Watcher | None = None
) -> BootResult:
    request = replace(host.request(), attacks=attacks)
    return host.tcg().boot(request, host.work, watcher or Watcher())


def told(result: BootResult) -> list[tuple[str, str]]:
    """Return the kinds of records, and their programs or names."""
    return [
        (each.type, getattr(each, "program", getattr(each, "name", "")))
        for each in result.records
    ]


def test_samples_of_an_attack_follow_the_start_of_its_program(
    host: Host, debugger: Debugger
) -> None:
    def attack(gdb: Gdb) -> Found:
        assert gdb.run() == Stop(1, reached=True)
        (host.root / "attacked").touch()
        yield samples("rows", 3, 1)
        yield samples("none")
        yield samples("rows", -1)

    host.qemu(job(host, FIRST, ATTACKED, LAST))
    result = boot(host, {ATTACKED: attack})
    assert told(result) == [
        ("boot", ""),
        ("start", FIRST),
        ("exit", FIRST),
        ("start", ATTACKED),
        ("samples", "rows"),
        ("samples", "none"),
        ("samples", "rows"),
        ("exit", ATTACKED),
        ("start", LAST),
        ("exit", LAST),
        ("end", ""),
    ]
    assert [each.n for each in result.records] == list(range(11))
    found = [each.values for each in result.records if isinstance(each, Samples)]
    assert found == [[3, 1], [], [-1]]
    assert debugger.heard == ["vCont;c", "D"]


def test_a_guest_is_attacked_once_and_says_so(host: Host, debugger: Debugger) -> None:
    attacks = []

    def attack(gdb: Gdb) -> Found:
        attacks.append(gdb)
        # More words of the same program do not have it attacked again.
        (host.root / "attacked").touch()
        yield from ()

    more = f"echo 'more' >>$console\nuntil [ -e {host.root}/seen ]; do sleep 0.02; done"
    whole = job(host, ATTACKED)
    host.qemu(whole.replace("done\n", f"done\n{more}\n"))
    waits: list[str] = []

    def on_program(_ended: int) -> None:
        if attacks:
            (host.root / "seen").touch()

    watcher = Watcher(on_program=on_program, on_wait=waits.append)
    boot(host, {ATTACKED: attack}, watcher)
    assert len(attacks) == 1
    assert waits == ["switches 7 is under attack by a debugger"]


def test_a_program_that_has_ended_is_not_attacked(
    host: Host, debugger: Debugger
) -> None:
    def attack(gdb: Gdb) -> Found:
        raise AssertionError
        yield

    end = '{"n":3,"type":"end"}'
    host.qemu(says(BOOT, *ran(1, ATTACKED)) + "sleep 0.2\n" + says(end))
    result = boot(host, {ATTACKED: attack})
    assert "samples" not in dict(told(result))
    assert debugger.heard == []


def test_the_time_of_an_attack_is_no_silence(
    host: Host, debugger: Debugger, monkeypatch: pytest.MonkeyPatch
) -> None:
    log: list[str] = []

    class Logged(Wait):
        def restart(self) -> None:
            log.append("restarted")
            super().restart()

        def is_over(self, lacking: str) -> bool:
            log.append("asked")
            return super().is_over(lacking)

    def attack(gdb: Gdb) -> Found:
        log.append("attacked")
        (host.root / "attacked").touch()
        yield from ()

    monkeypatch.setattr("temper.machine.tcg.Wait", Logged)
    host.qemu(job(host, ATTACKED))
    boot(host, {ATTACKED: attack})
    assert log[log.index("attacked") + 1] == "restarted"


def test_a_guest_that_ends_under_attack_is_told_with_its_console(
    host: Host, debugger: Debugger
) -> None:
    debugger.answers["vCont"] = HANG_UP
    host.qemu(job(host, FIRST, ATTACKED))

    def attack(gdb: Gdb) -> Found:
        yield samples("rows", 7)
        gdb.run()

    with pytest.raises(BootError) as caught:
        boot(host, {ATTACKED: attack})
    assert caught.value.message == (
        "the guest ended under the debugger; last on its console: 'Linux version 6.12'"
    )
    assert caught.value.console == "Linux version 6.12\n"
    *before, found = caught.value.records
    assert before == whole_records([BOOT, *ran(1, FIRST), line(3, "start", ATTACKED)])
    assert found == samples("rows", 7, n=4)


@pytest.mark.parametrize("error", [InfraError("odd"), InputError("a bug")])
def test_an_attack_that_fails_ends_the_boot(
    host: Host, debugger: Debugger, error: Exception
) -> None:
    def attack(gdb: Gdb) -> Found:
        raise error
        yield

    host.qemu(job(host, ATTACKED))
    with pytest.raises(type(error)) as caught:
        boot(host, {ATTACKED: attack})
    assert caught.value is error


def test_a_qemu_that_is_killed_is_not_the_kernels_fault(
    host: Host, debugger: Debugger
) -> None:
    debugger.answers["vCont"] = HANG_UP
    killed = job(host, ATTACKED).replace("done\n", "done\nkill -KILL $$\n")
    host.qemu(f"echo $$ >{host.root}/pid\n{killed}")

    def attack(gdb: Gdb) -> Found:
        (host.root / "attacked").touch()
        pid = (host.root / "pid").read_text().strip()
        while " Z " not in Path(f"/proc/{pid}/stat").read_text():
            pass
        gdb.run()
        yield from ()

    with pytest.raises(InfraError, match="QEMU was killed by SIGKILL"):
        boot(host, {ATTACKED: attack})


@pytest.mark.parametrize("attacks", [{}, {ATTACKED: lambda gdb: ()}])
def test_only_a_guest_that_is_attacked_has_a_debugger(
    host: Host, attacks: dict[str, Attack]
) -> None:
    host.qemu(f'printf "%s\\n" "$@" >{host.root}/seen\n' + job(host, FIRST))
    boot(host, attacks)
    seen = (host.root / "seen").read_text().splitlines()
    words = debugger_words(host.work)
    assert (seen[-len(words) :] == words) == bool(attacks)
    assert ("-gdb" in seen) == bool(attacks)


def test_each_program_has_its_own_attack(host: Host, debugger: Debugger) -> None:
    def attack(gdb: Gdb) -> Found:
        (host.root / "attacked").touch()
        yield samples("own", 1)

    host.qemu(job(host, ATTACKED))
    result = boot(host, {FIRST: lambda gdb: [samples("other", 2)], ATTACKED: attack})
    assert [name for kind, name in told(result) if kind == "samples"] == ["own"]


def test_a_debugger_is_a_socket_whatever_its_folder_is_named() -> None:
    assert debugger_words(Path("/a,b")) == [
        "-chardev",
        "socket,id=debugger,path=/a,,b/debugger,server=on,wait=off",
        "-gdb",
        "chardev:debugger",
    ]
