"""What happens to the machine, event by event."""

import re
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from guest import Guest
from machine import CPUS, Machine

from temper.errors import BootError, InfraError

_TIMES = 3
_HOTPLUGS = 20
_DIMM, _DISK = 512 << 20, 1 << 30
# Its struct pages too need tables that nothing else does.
_FAR = 64 << 30
_SWAP_MAGIC = b"SWAPSPACE2"
_PAGE = 4096

_OVMF = Path("/usr/share/ovmf/OVMF.fd")
_EFIVARS = "/sys/firmware/efi/efivars"
_GLOBAL_VARIABLE = "8be4df61-93ca-11d2-aa0d-00e098032b8c"

_PROC = "/proc/kpkeys_events"
_FOUND = re.compile(
    r"cpus (\d+) closed (\d+) tables (\d+) writable (\d+) threads \d+ raised (\d+)"
)
_KUNIT = "/sys/kernel/debug/kunit/kpkeys"

# As reboot(2) and kexec_file_load(2) number them.
_KEXEC, _RESTART, _POWER_OFF = 0x45584543, 0x01234567, 0x4321FEDC
_ON_CRASH = 2


def need_firmware() -> None:
    """Raise InfraError without the EFI that one of the events wants."""
    if not _OVMF.exists():
        raise InfraError(f"there is no firmware {_OVMF}", "scripts/setup events")


def check(guest: Guest, cpus: int = CPUS) -> str:
    """Raise BootError unless all is protected; return what was looked at.

    After our own look the KUnit tests of the series run once more.
    """
    for _ in range(_TIMES):
        told = guest.do(f"read {_PROC}")
        if not (found := _FOUND.match(told)):
            raise BootError(f"no check: {told}")
        online, closed, tables, writable, raised = map(int, found.groups())
        # On the other CPU a thread may be in a section right now; not every time.
        if not raised:
            break
    if online != cpus or closed != cpus or tables < 50 or writable or raised:
        raise BootError(told)
    guest.do(f"write {_KUNIT}/run 1")
    results = guest.do(f"read {_KUNIT}/results")
    passed = len(re.findall(r"; *ok \d+ test_", results))
    if "not ok" in results or not passed:
        raise BootError(f"KUnit: {results}")
    return f"{tables} tables, {passed} KUnit tests"


def _cpu(machine: Machine) -> str:
    with machine.boot() as guest:
        guest.ready()
        for _ in range(_HOTPLUGS):
            guest.do("write /sys/devices/system/cpu/cpu1/online 0")
            guest.do("write /sys/devices/system/cpu/cpu1/online 1")
        return check(guest)


def _idle(machine: Machine) -> str:
    with machine.boot() as guest:
        guest.ready()
        guest.do("write /sys/power/mem_sleep s2idle")
        for times in range(1, 1 + _TIMES):
            guest.tell("write /sys/power/state mem")
            guest.said("PM: suspend entry", times)
            # Or it comes before it would wake anybody, and is lost.
            time.sleep(2)
            guest.ask("system_powerdown")
            guest.answer()
        return check(guest)


def _suspend(machine: Machine) -> str:
    with machine.boot() as guest:
        guest.ready()
        for _ in range(_TIMES):
            guest.tell("write /sys/power/state mem")
            guest.event("SUSPEND")
            guest.ask("system_wakeup")
            guest.answer()
            seen = check(guest)
        return seen


def _memory(machine: Machine) -> str:
    with machine.boot("memhp_default_state=online_movable") as guest:
        guest.ready()
        before = _memory_size(guest)
        for _ in range(_TIMES):
            guest.ask(
                "object-add",
                **{"qom-type": "memory-backend-ram", "id": "ram", "size": _DIMM},
            )
            guest.ask(
                "device_add", driver="pc-dimm", id="dimm", memdev="ram", addr=_FAR
            )
            guest.wait_until(lambda: _memory_size(guest) == before + _DIMM, "memory")
            guest.do("use 700")
            seen = check(guest)
            guest.ask("device_del", id="dimm")
            guest.event("DEVICE_DELETED")
            guest.ask("object-del", id="ram")
            guest.wait_until(lambda: _memory_size(guest) == before, "end of it")
            check(guest)
    return f"{seen} with it"


def _memory_size(guest: Guest) -> int:
    present = re.findall(r"present +(\d+)", guest.do("read /proc/zoneinfo"))
    return sum(map(int, present)) * _PAGE


def _machine_check(machine: Machine) -> str:
    with machine.boot() as guest:
        guest.ready()
        for times in range(1, 1 + _TIMES):
            guest.tell(f"write {_PROC} 2000")
            guest.said("kpkeys_events: in a section", times)
            _inject(guest, _ACTION_OPTIONAL)
            guest.answer()
            if "section kept" not in guest.do(f"read {_PROC}"):
                raise BootError("the section lost its rights")
        return check(guest)


# Valid, uncorrected, enabled, address and more known, signalled: memory is bad
# somewhere. Nobody has used it yet; or the context is corrupt, which is fatal.
_ACTION_OPTIONAL, _FATAL = 0xBD000000000000CF, 0xBE000000000000CF


def _inject(guest: Guest, status: int) -> None:
    for cpu in range(CPUS):
        line = f"mce {cpu} 9 {status:#x} 5 0x10000000 0x8c"
        if said := guest.ask("human-monitor-command", **{"command-line": line}):
            raise BootError(str(said).strip())


def _kexec(machine: Machine) -> str:
    with machine.boot() as guest:
        guest.ready()
        guest.do(f"load 0 {machine.full_cmdline()}")
        guest.tell(f"reboot {_KEXEC}")
        guest.ready()
        return check(guest)


def _panic(machine: Machine) -> str:
    with machine.boot(expected=_ITS_PANIC) as guest:
        guest.ready()
        _break(guest)
        guest.event("RESET")
        guest.said("panic in a section: a write faults")
        guest.ready()
        return check(guest)


def _crash(machine: Machine) -> str:
    with machine.boot("crashkernel=160M", expected=_ITS_PANIC) as guest:
        guest.ready()
        guest.do(f"load {_ON_CRASH} {machine.full_cmdline()} maxcpus=1")
        _break(guest)
        guest.ready()
        return check(guest, cpus=1)


_ITS_PANIC = "Kernel panic - not syncing: Fatal"


def _break(guest: Guest) -> None:
    """Make the kernel panic in a machine check, while a thread may write."""
    guest.tell(f"write {_PROC} 20000")
    guest.said("kpkeys_events: in a section")
    _inject(guest, _FATAL)


def _kexec_and_back(machine: Machine) -> str:
    with machine.boot() as guest:
        guest.ready()
        for _ in range(_TIMES):
            guest.do("return")
            guest.do(f"reboot {_KEXEC}")
            seen = check(guest)
        return seen


def _reboot(machine: Machine) -> str:
    with machine.boot() as guest:
        guest.ready()
        guest.tell(f"reboot {_RESTART}")
        guest.event("RESET")
        guest.ready()
        return check(guest)


def _firmware(machine: Machine) -> str:
    """Start by EFI, and call it: it runs on page tables that the kernel made."""
    with machine.boot(firmware=_OVMF) as guest:
        guest.ready()
        guest.do(f"mount efivarfs {_EFIVARS}")
        for _ in range(_TIMES):
            guest.do(f"read {_EFIVARS}/PlatformLang-{_GLOBAL_VARIABLE}")
        return check(guest)


def _hibernate(machine: Machine) -> str:
    with tempfile.TemporaryDirectory(prefix="temper-") as folder:
        disk = Path(folder) / "disk"
        _make_swap(disk)
        with machine.boot("resume=/dev/vda", disk=disk) as guest:
            guest.ready()
            guest.do("swap /dev/vda")
            guest.tell("write /sys/power/state disk")
            guest.ended()
        with machine.boot("resume=/dev/vda", disk=disk) as guest:
            # To the order that the other one was given.
            guest.answer()
            return check(guest)


def _make_swap(disk: Path) -> None:
    with disk.open("wb") as file:
        file.truncate(_DISK)
        file.seek(1024)
        file.write(struct.pack("<II", 1, _DISK // _PAGE - 1))
        file.seek(_PAGE - len(_SWAP_MAGIC))
        file.write(_SWAP_MAGIC)


def _power_off(machine: Machine) -> str:
    with machine.boot() as guest:
        guest.ready()
        check(guest)
        guest.tell(f"reboot {_POWER_OFF}")
        guest.event("SHUTDOWN")
        guest.ended()
        return "QEMU has ended"


EVENTS: dict[str, Callable[[Machine], str]] = {
    "CPU 1 off and on": _cpu,
    "suspend to idle": _idle,
    "suspend to RAM": _suspend,
    "memory added and removed": _memory,
    "machine check in a section": _machine_check,
    "kexec": _kexec,
    "kexec and back": _kexec_and_back,
    "fatal machine check in one": _panic,
    "the same, with kexec": _crash,
    "hibernation": _hibernate,
    "reboot": _reboot,
    "power off": _power_off,
    "EFI and its services": _firmware,
}
"""In words -> what brings it about and checks what is left."""
