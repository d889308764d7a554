"""The machine tcg, with a shell script in the place of QEMU."""

import os
import re
import shutil
import threading
import time
from collections import namedtuple
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from temper.arch import arch_named
from temper.errors import BootError, InfraError
from temper.kernel import Cache, Watched
from temper.kernel.symbols import Symbols
from temper.machine import BootRequest, BootResult, Limits, StoppedError, Watcher
from temper.machine.host import host_title
from temper.machine.plugin import api_level
from temper.machine.qemu import led_words, qemu_version
from temper.machine.tcg import Tcg
from temper.progress import Quiet
from temper.record.wire import Classes, End

X86_64, ARM64 = arch_named("x86_64"), arch_named("arm64")
QEMU = "qemu-system-x86_64"

# $console, $records and $classes are the files that QEMU was told to write.
SCRIPT = """\
#!/bin/sh
case "$*" in
--version) {version}; exit ;;
*"-M none"*) echo "qemu: plugin {level}" >&2; exit 1 ;;
esac
for word; do
	case $word in
	file:*/console) console=${{word#file:}} ;;
	file,id=records,path=*) records=$(echo "${{word##*,path=}}" | sed s/,,/,/g) ;;
	file=*,out=*) classes=${{word##*,out=}} ;;
	esac
done
"""

BOOT = (
    '{"n":0,"type":"boot","protocol":1,"release":"6.12","clocksource":"tsc","cpus":1}'
)
WORKLOAD = (
    '{"n":1,"type":"workload","workload":"syscall/getpid","unit":"instructions",'
    '"samples":100,"warmup":10,"operations":1,"overhead":6,"sequence":"0",'
    '"elapsed":100,"interrupts":0,"region":0}'
)
CLASSES = '{"type":"classes","region":0,"counts":{"kernel_rdtsc":1}}'

WHOLE = f"""
echo '{BOOT}' >$records
echo '{{"n":1,"type":"end"}}' >>$records
echo 'Linux version 6.12' >$console
"""
PRICED = f"""
printf '%s\\n' '{BOOT}' '{WORKLOAD}' '{{"n":2,"type":"end"}}' >$records
"""

Usage = namedtuple("Usage", "total used free")


class Host:
    """A host with a QEMU that does what a test says."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.work = root / "work"
        self.work.mkdir()

    def qemu(
        self,
        body: str,
        version: str = "echo 'QEMU emulator version 9.9.9 (Debian)'",
        level: str = "supports only up to version 1",
        name: str = QEMU,
    ) -> None:
        path = self.root / name
        path.write_text(SCRIPT.format(version=version, level=level) + body)
        path.chmod(0o755)

    def boot(
        self,
        exact: bool = False,
        limits: Limits | None = None,
        watcher: Watcher | None = None,
    ) -> BootResult:
        return self.tcg(limits).boot(
            self.request(exact), self.work, watcher or Watcher(threading.Event())
        )

    def tcg(self, limits: Limits | None = None) -> Tcg:
        cache = Cache(self.root / "cache")
        return Tcg(X86_64, cache, Quiet(), limits)

    def request(
        self, exact: bool = False, cpus: int = 1, in_turn: bool = True
    ) -> BootRequest:
        return BootRequest(
            *(Path("/bzImage"), Path("/initramfs"), "quiet", "", exact, cpus),
            in_turn=in_turn,
        )


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    forget_qemu()
    yield Host(tmp_path)
    forget_qemu()


def forget_qemu() -> None:
    qemu_version.cache_clear()
    api_level.cache_clear()


def is_running(host: Host) -> bool:
    """Say whether the QEMU that left its number is still there."""
    pid = host.root / "pid"
    return pid.exists() and Path(f"/proc/{pid.read_text().strip()}").exists()


def test_a_boot_that_comes_to_its_end(host: Host) -> None:
    host.qemu(WHOLE)
    result = host.boot()
    assert [record.type for record in result.records] == ["boot", "end"]
    assert isinstance(result.records[-1], End)
    assert result.console == "Linux version 6.12\n"


def test_class_counts_follow_the_records(host: Host) -> None:
    host.qemu(PRICED + f"echo '{CLASSES}' >$classes")
    last = host.boot(exact=True).records[-1]
    assert isinstance(last, Classes)
    assert (last.n, last.counts) == (3, {"kernel_rdtsc": 1})


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("", "the QEMU plugin counted nothing in region 0"),
        (CLASSES[:30], "the QEMU plugin wrote something odd: "),
        ('{"type":"classes"}', "the QEMU plugin wrote something odd: "),
    ],
)
def test_class_counts_that_are_not_there_are_missed(
    host: Host, written: str, why: str
) -> None:
    host.qemu(PRICED + f"echo '{written}' | grep . >$classes; true")
    with pytest.raises(InfraError, match=why):
        host.boot(exact=True)


def test_odd_folder_names_are_no_options(host: Host) -> None:
    host.qemu(f'printf "%s\\n" "$@" >{host.root}/seen\n' + WHOLE)
    request, stop = host.request(exact=True), Watcher(threading.Event())
    cache, work = Cache(host.root / "a,b=c"), host.root / "w,out=x"
    work.mkdir()
    Tcg(X86_64, cache, Quiet()).boot(request, work, stop)
    seen = (host.root / "seen").read_text().splitlines()
    assert f"file,id=records,path={host.root}/w,,out=x/records" in seen
    file, out = seen[seen.index("-plugin") + 1].replace(",,", "\0").split(",")
    plugin = Path(file.removeprefix("file=").replace("\0", ","))
    assert plugin.parents[2] == cache.root
    assert plugin.name == "counts.so"
    assert out.replace("\0", ",") == f"out={work}/classes"


def test_facts_say_how_it_is_run(host: Host) -> None:
    host.qemu(WHOLE)
    exact, free = host.tcg().facts(host.request(True)), host.tcg().facts(host.request())
    assert exact.version == "QEMU 9.9.9 (Debian)"
    assert (exact.unit, free.unit) == ("instructions", "cycles")
    assert (exact.details.get("plugin"), free.details.get("plugin")) == (
        "API level 1",
        None,
    )
    assert exact.details["host"] == free.details["host"] == host_title()
    assert "-icount shift=0,sleep=off" in exact.details["command"]
    assert "-icount" not in free.details["command"]
    assert "-accel tcg,thread=single" in free.details["command"]
    assert exact.cmdline.endswith(" quiet")


def test_without_qemu_its_package_is_named(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(host.root))
    with pytest.raises(InfraError) as caught:
        host.tcg().prepare()
    assert caught.value.message == "the program 'qemu-system-x86_64' is missing"
    assert caught.value.hint == "apt-get install qemu-system-x86"


@pytest.mark.parametrize(
    ("version", "why"),
    [
        ("echo 'error while loading shared libraries: libslirp'; exit 127", "libslirp"),
        ("exit 1", "status 1"),
        ("exit 0", "status 0"),
    ],
)
def test_a_broken_qemu_is_told(host: Host, version: str, why: str) -> None:
    host.qemu(WHOLE, version)
    with pytest.raises(InfraError, match=f"{QEMU} does not run: .*{why}") as caught:
        host.tcg().prepare()
    assert caught.value.hint == "apt-get install --reinstall qemu-system-x86"


def test_a_qemu_without_plugins_is_told(host: Host) -> None:
    host.qemu(WHOLE, level="-plugin: invalid option")
    with pytest.raises(InfraError, match=r"cannot load plugins: .*invalid option"):
        host.tcg().prepare()


def test_a_qemu_too_new_is_told(host: Host) -> None:
    host.qemu(WHOLE, level="only up to version 8")
    with pytest.raises(InfraError, match="speaks plugin API level 8; known are 1 to 7"):
        host.tcg().prepare()


@pytest.mark.parametrize(
    ("body", "message", "hint"),
    [
        (
            "echo noise >&2; echo 'qemu: could not load kernel' >&2; exit 1",
            "QEMU failed with status 1: qemu: could not load kernel",
            "",
        ),
        ("exit 2", "QEMU failed with status 2: nothing", ""),
        (
            "echo 'Error loading uncompressed kernel without PVH ELF Note' >&2; exit 1",
            "QEMU failed with status 1: Error loading uncompressed kernel without PVH "
            "ELF Note",
            "this vmlinux has no PVH entry (CONFIG_PVH): give its bzImage",
        ),
        (
            WHOLE + "kill -KILL $$",
            "QEMU was killed by SIGKILL",
            "was it the kernel's out-of-memory killer? dmesg tells",
        ),
        (
            WHOLE + "kill -XFSZ $$",
            "QEMU was killed by SIGXFSZ",
            "it may not write files as large as it has to: see ulimit -f",
        ),
        (WHOLE + "kill -SEGV $$", "QEMU was killed by SIGSEGV", ""),
        (
            "echo 'qemu: terminating on signal 15 from pid 1 (init)' >&2; exit 0",
            "QEMU was told to end: terminating on signal 15 from pid 1 (init)",
            "",
        ),
    ],
)
def test_a_qemu_that_fails_is_not_the_kernels_fault(
    host: Host, body: str, message: str, hint: str
) -> None:
    host.qemu(body)
    with pytest.raises(InfraError) as caught:
        host.boot()
    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize("while_running", [True, False])
def test_a_full_disk_is_not_the_kernels_fault(
    host: Host, while_running: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.qemu(f"echo $$ >{host.root}/pid; sleep 1; echo '{BOOT}' >$records")

    def usage(_: Path) -> Usage:
        begun = (host.root / "pid").exists()
        full = begun and is_running(host) is while_running
        return Usage(1 << 30, 1 << 30, 4096 if full else 1 << 30)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    with pytest.raises(InfraError) as caught:
        host.boot()
    assert caught.value.message == f"the disk of {host.root} is full"
    assert "TMPDIR" in caught.value.hint
    assert not is_running(host)


@pytest.mark.parametrize(
    ("records", "console", "message"),
    [
        (
            "",
            "",
            "the kernel stopped before its init was up; last on its console: nothing "
            "at all; to be heard it needs CONFIG_BLK_DEV_INITRD=y, "
            "CONFIG_SERIAL_8250_CONSOLE=y",
        ),
        (
            "",
            "[ 0.1] Decompressing\n\n",
            "the kernel stopped before its init was up; last on its console: "
            "'[ 0.1] Decompressing'",
        ),
        (
            BOOT,
            "reboot: Restarting system\n",
            "the kernel stopped in its job; last on its console: 'reboot: Restarting "
            "system'",
        ),
        (
            "",
            "[ 1.2] Kernel panic - not syncing: No working init found.\n[ 1.3] more\n",
            "the job did not end: Kernel panic - not syncing: No working init found.",
        ),
        (
            BOOT + '\n{"n":1,"ty',
            "BUG: kernel NULL pointer dereference\nKernel panic - not syncing: Oops\n",
            "the job did not end: BUG: kernel NULL pointer dereference",
        ),
        (
            BOOT,
            "temper init: /probe.ko: Invalid module format\nreboot: Restarting\n",
            "the job did not end: temper init: /probe.ko: Invalid module format",
        ),
        (
            BOOT + "\nhello from a program\n",
            "",
            "the target's records are corrupt: record 1 is not JSON: 'hello from a "
            "program'",
        ),
        (
            BOOT + '\n{"n":2,"type":"end"}',
            "",
            "the target's records are corrupt: record 1 is missing; 2 came instead",
        ),
        (
            BOOT + '\n{"n":1,"ty',
            "",
            "the target's records are corrupt: record 1 is not JSON: '{\"n\":1,\"ty'",
        ),
    ],
)
def test_a_boot_that_does_not_come_to_its_end(
    host: Host, records: str, console: str, message: str
) -> None:
    (host.root / "records").write_text(records)
    (host.root / "console").write_text(console)
    host.qemu(f"cat {host.root}/records >$records; cat {host.root}/console >$console")
    with pytest.raises(BootError) as caught:
        host.boot()
    assert caught.value.message == message
    assert caught.value.console == console


def test_bytes_that_are_no_text_do_no_harm(host: Host) -> None:
    host.qemu(WHOLE + r"printf '\377\000\033[1m' >$console")
    assert host.boot().console == "\ufffd\0\033[1m"


def test_a_silent_kernel_is_given_up(host: Host) -> None:
    host.qemu(f"echo $$ >{host.root}/pid; echo 'Booting' >$console; exec sleep 60")
    with pytest.raises(BootError) as caught:
        host.boot(limits=Limits(silence=1, total=60))
    assert caught.value.message == (
        "the kernel hung: it said nothing for 1 s; last on its console: 'Booting'"
    )
    assert caught.value.console == "Booting\n"
    assert not is_running(host)


def test_who_waits_is_told_that_time_passes_without_output(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("temper.machine.watcher._TELL_EVERY", 0.5)
    host.qemu("exec sleep 60")
    told: list[str] = []
    with pytest.raises(BootError):
        host.boot(limits=Limits(silence=2), watcher=Watcher(on_wait=told.append))
    assert told
    assert all(re.fullmatch(r"no output for \d+ s, limit 2 s", each) for each in told)


def test_who_waits_is_told_of_silence_only(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("temper.machine.watcher._TELL_EVERY", 3.0)
    host.qemu("for i in 1 2 3 4 5 6; do echo $i >>$console; sleep 1; done" + WHOLE)
    told: list[str] = []
    host.boot(watcher=Watcher(on_wait=told.append))
    assert told == []


def test_a_kernel_that_never_ends_is_given_up(host: Host) -> None:
    host.qemu("while :; do echo again >>$console; sleep 0.1; done")
    with pytest.raises(BootError) as caught:
        host.boot(limits=Limits(silence=5, total=2))
    assert caught.value.message == (
        "the kernel hung: it was not done after 2 s; last on its console: 'again'"
    )


def test_a_kernel_that_speaks_now_and_then_is_not_given_up(host: Host) -> None:
    host.qemu("for i in 1 2 3 4; do echo $i >>$console; sleep 0.5; done" + WHOLE)
    host.boot(limits=Limits(silence=1.5, total=60))


def test_a_boot_can_be_stopped(host: Host) -> None:
    host.qemu(f"echo $$ >{host.root}/pid; exec sleep 60")
    stop = threading.Event()

    def stop_when_up() -> None:
        while not (host.root / "pid").exists():
            time.sleep(0.01)
        stop.set()

    threading.Thread(target=stop_when_up).start()
    with pytest.raises(StoppedError):
        host.boot(watcher=Watcher(stop))
    assert not is_running(host)


def test_who_waits_is_told_how_many_programs_ended(host: Host) -> None:
    line = '{"n":%d,"type":"exit","program":"x","status":0}'
    host.qemu(
        f"echo '{BOOT}' >$records\n"
        f"sleep 0.3; echo '{line % 1}' >>$records\n"
        f"sleep 0.3; echo '{line % 2}' >>$records\n"
        'sleep 0.3; echo \'{"n":3,"type":"end"}\' >>$records; sleep 0.3'
    )
    told: list[int] = []
    host.boot(watcher=Watcher(threading.Event(), told.append))
    assert sorted(told) == told
    assert set(told) == {0, 1, 2}


def test_records_are_read_once_to_count_them(host: Host) -> None:
    line = '{"n":1,"type":"exit","program":"x","status":0}'
    log = host.root / "told"
    host.qemu(
        # Go on once it was told of so many programs, so often.
        f"told() {{ until [ $(grep -cx $1 {log}) -ge $2 ]; do sleep 0.02; done; }}\n"
        f"touch {log}; echo '{line}' >$records; told 1 1\n"
        # Of what was read, nothing is left.
        f"printf '%{len(line)}s' '' | dd of=$records conv=notrunc 2>/dev/null\n"
        f"echo '{line}' >>$records; told 2 1\n"
        # A line is counted when all of it is there, once.
        f"printf '%s' '{line}' >>$records; told 2 2; echo >>$records; told 3 1"
    )

    def on_program(done: int) -> None:
        with log.open("a") as file:
            file.write(f"{done}\n")

    with pytest.raises(BootError):
        host.boot(watcher=Watcher(threading.Event(), on_program))
    told = [int(each) for each in log.read_text().split()]
    # 0: of a QEMU that had not written anything yet.
    assert [*dict.fromkeys(told)][-3:] == [1, 2, 3]


def test_the_command_line_of_exact_boots_is_what_it_was(host: Host) -> None:
    """Another one may count differently, and prices would not compare."""
    host.qemu("")
    assert host.tcg().facts(host.request(exact=True)).details["command"] == (
        "qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot "
        "-accel tcg,thread=single -M q35 "
        "-icount shift=0,sleep=off,rr=record,rrfile=/dev/null -seed 42 "
        "-rtc base=2026-01-01T00:00:00,clock=vm -cpu max -smp 1 -m 256M "
        "-kernel /bzImage -initrd /initramfs "
        "-append 'console=ttyS0 panic=-1 reboot=k nolapic_timer quiet' "
        "-serial file:console -chardev file,id=records,path=records "
        "-serial chardev:records"
    )


def test_twins_differ_in_their_seed_alone(host: Host) -> None:
    host.qemu("")
    usual, twin = (
        host.tcg().facts(request).details["command"]
        for request in (
            host.request(exact=True),
            replace(host.request(exact=True), seed=7),
        )
    )
    assert twin == usual.replace("-seed 42 ", "-seed 7 ") != usual


def test_a_control_lacks_only_what_has_threads_take_turns(host: Host) -> None:
    host.qemu("")
    usual, control = (
        host.tcg().facts(host.request(exact=True, in_turn=in_turn)).details["command"]
        for in_turn in (True, False)
    )
    assert control == usual.replace(",rr=record,rrfile=/dev/null", "") != usual


def test_ctrl_c_on_the_terminal_is_not_qemus(host: Host) -> None:
    host.qemu(WHOLE + f"ps -o sid= -p $$ >{host.root}/session")
    host.boot()
    session = int((host.root / "session").read_text())
    assert session != os.getsid(0)


def test_long_workloads_may_be_silent_for_longer() -> None:
    assert Limits.for_calls(0, X86_64) == Limits()
    # At least 50 us a call: twenty times what an idle host needs.
    many = Limits.for_calls(100_000_000, X86_64)
    assert many.silence >= 5_000
    assert many.total > Limits().total
    assert Limits.for_calls(100_000_000, ARM64).silence > many.silence
    programs = Limits.for_calls(0, X86_64, programs=2)
    assert programs.silence > Limits().silence
    assert programs.total == Limits().total + 2 * (programs.silence - Limits().silence)


def test_several_cpus_run_in_turn(host: Host) -> None:
    host.qemu(WHOLE)
    for exact in (False, True):
        facts = host.tcg().facts(host.request(exact=exact, cpus=2))
        assert facts.cpus == 2
        assert facts.details["command"].count("-accel ") == 1
        assert "-accel tcg,thread=single" in facts.details["command"]
        assert "-smp 2" in facts.details["command"]


def test_a_boot_has_the_memory_it_asks_for(host: Host) -> None:
    host.qemu("")
    usual = host.request()
    assert "-m 256M" in host.tcg().facts(usual).details["command"]
    more = replace(usual, memory=512)
    assert "-m 512M" in host.tcg().facts(more).details["command"]


def test_a_guest_that_is_led_has_what_it_is_led_by(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.qemu("")
    made: list[tuple[Any, ...]] = []
    monkeypatch.setattr("temper.machine.tcg.Guest", lambda *given: made.append(given))
    watcher = Watcher(threading.Event())
    tcg = host.tcg(Limits(silence=7, total=9))
    asked = replace(host.request(), led=True, hardware=("-M", "pc"), memory=512)
    tcg.lead(asked, host.work, watcher)
    ((command, work, patience, watched_by),) = made
    assert (work, patience, watched_by) == (host.work, 7, watcher)
    led_by = led_words(X86_64, host.work)
    assert command[-len(led_by) - 2 :] == ["-M", "pc", *led_by]
    assert "-no-reboot" not in command
    assert "512M" in command
    line = tcg.facts(asked).details["command"]
    assert " -M pc " in line
    assert "-no-reboot" not in line
    assert "id=monitor" in line


@pytest.mark.parametrize(("by_value", "word"), [(False, "writes"), (True, "values")])
def test_the_plugin_hears_by_what_writes_are_known(
    host: Host, by_value: bool, word: str
) -> None:
    told = host.root / "told"
    host.qemu(f'echo "$*" >{told}\n{WHOLE}')
    known = Watched({0x10: "opens"}, Symbols(()), by_value)
    request = replace(host.request(), watched=known)
    host.tcg().boot(request, host.work, Watcher(threading.Event()))
    assert f",{word}={host.work}/writes\n" in told.read_text()
    assert (host.work / "writes").read_text() == "10 opens\n"


def test_each_architecture_is_led_by_its_own_channel(tmp_path: Path) -> None:
    """Its socket is the same: nobody else has to know which port that is."""
    for arch in (X86_64, ARM64):
        words = led_words(arch, tmp_path)
        channel = words.index("-chardev") + 1
        assert words[channel].startswith(f"socket,id=records,path={tmp_path}/port,")
        end = channel + 1 + len(arch.channel_port)
        assert tuple(words[channel + 1 : end]) == arch.channel_port


def test_each_architecture_has_a_channel_of_its_own(host: Host) -> None:
    for arch, console, channel in (
        (X86_64, "ttyS0", "-serial chardev:records"),
        (ARM64, "ttyAMA0", "-device pci-serial,chardev=records"),
    ):
        host.qemu(WHOLE, name=arch.qemu)
        facts = Tcg(arch, Cache(host.root), Quiet()).facts(host.request())
        assert f"console={console}" in facts.cmdline
        assert arch.channel != f"/dev/{console}"
        assert facts.details["command"].endswith(channel)
        assert (facts.unit, facts.clock) == (arch.free_unit, arch.free_clock)
