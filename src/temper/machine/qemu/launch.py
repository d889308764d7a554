"""The command line that QEMU is launched with."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from temper.arch import Arch
from temper.errors import InfraError
from temper.process import PACKAGES, call

_BASE = ("-nodefaults", "-no-user-config", "-display", "none")

# CPUs in turn, in one thread: side by side in threads of their own, one ran into a
# stale breakpoint of the kernel's, while another patched code, on a busy host.
_EMULATED = ("-accel", "tcg,thread=single")

# The only set of flags found to repeat to the instruction: docs/exact-counts.md
# says what each one is for and what happens without it.
_ICOUNT = "shift=0,sleep=off"
_RTC = "base=2026-01-01T00:00:00,clock=vm"

_QUICK = 30.0


@dataclass(frozen=True)
class Launch:
    """Hardware and kernel of a guest, without what it talks to the host by."""

    arch: Arch
    image: Path
    initramfs: Path
    cmdline: str
    """The whole of it."""
    cpu: str
    cpus: int
    memory: str
    """As ``-m`` takes it."""
    exact: bool = False
    """True: the clock counts instructions."""
    seed: int = 0
    """What all random numbers start from, if so."""
    in_turn: bool = False
    """True: with that, the emulated CPU and QEMU's main loop never run at once."""
    restarts: bool = False
    """True: it may reboot; False: that is its end."""

    def words(self) -> list[str]:
        """Return the command."""
        return [
            self.arch.qemu,
            *_BASE,
            *(() if self.restarts else ("-no-reboot",)),
            *_EMULATED,
            *self.arch.machine,
            *(self._exact_words() if self.exact else ()),
            *("-cpu", self.cpu),
            *("-smp", str(self.cpus), "-m", self.memory),
            *("-kernel", str(self.image), "-initrd", str(self.initramfs)),
            *("-append", self.cmdline),
        ]

    def _exact_words(self) -> list[str]:
        # Recording has them take turns. Otherwise an idle CPU's time now and then
        # jumped from a stale count on busy hosts. Nobody reads the recording.
        turns = ",rr=record,rrfile=/dev/null" if self.in_turn else ""
        return [
            *("-icount", f"{_ICOUNT}{turns}"),
            *("-seed", str(self.seed), "-rtc", _RTC),
        ]


def idle_words(arch: Arch, cpu: str) -> list[str]:
    """Return the command of a machine that waits for its monitor, on stdin and stdout.

    It has the CPU model ``cpu`` and never runs anything.
    """
    return [
        *(arch.qemu, *_BASE, *_EMULATED, *arch.machine, "-cpu", cpu),
        *("-S", "-qmp", "stdio"),
    ]


def console_words(work: Path) -> list[str]:
    """Give a guest its console, which goes to a file in ``work``."""
    return ["-serial", f"file:{work / 'console'}"]


def records_words(arch: Arch, work: Path) -> list[str]:
    """Give a guest the channel for its records, which go to a file in ``work``."""
    records = f"file,id=records,path={escaped(work / 'records')}"
    return ["-chardev", records, *arch.channel_port]


def port_words(work: Path) -> list[str]:
    """Give a guest a serial port that is a socket in ``work``."""
    return ["-chardev", _socket("port", work / "port"), "-serial", "chardev:port"]


def monitor_words(work: Path) -> list[str]:
    """Give QEMU a monitor that is a socket in ``work``."""
    monitor = _socket("monitor", work / "monitor")
    return ["-chardev", monitor, "-mon", "chardev=monitor,mode=control"]


def debugger_words(work: Path) -> list[str]:
    """Give QEMU a debugger that is a socket in ``work``."""
    debugger = _socket("debugger", work / "debugger")
    return ["-chardev", debugger, "-gdb", "chardev:debugger"]


def led_words(arch: Arch, work: Path) -> list[str]:
    """Give a guest all that it is led by: its channel is a socket in ``work``."""
    channel = ["-chardev", _socket("records", work / "port"), *arch.channel_port]
    return [*console_words(work), *channel, *monitor_words(work)]


def _socket(name: str, path: Path) -> str:
    return f"socket,id={name},path={escaped(path)},server=on,wait=off"


def escaped(path: Path) -> str:
    """Write a path so that QEMU finds its end in a list of options."""
    return str(path).replace(",", ",,")


@cache
def qemu_version(qemu: str) -> str:
    """Return the version of the program ``qemu``; raise InfraError without it."""
    done = call([qemu, "--version"], Path("/"), _QUICK)
    if done.status or not done.lines:
        raise InfraError(
            f"{qemu} does not run: {done.tail(1) or f'status {done.status}'}",
            f"apt-get install --reinstall {PACKAGES.get(qemu, qemu)}",
        )
    return done.lines[0].removeprefix("QEMU emulator version ")
