"""What happens to the machine, event by event.

Each function brings one about and returns what its checks looked at afterwards.
"""

import re
import struct
import time
from collections.abc import Callable
from pathlib import Path

from temper.errors import BootError
from temper.machine import Guest
from temper.run.leading import Leader

from .checks import PROC, check

_TIMES = 3
# Long enough for a busy host to put the guest to sleep before.
_ALARM, _NAP_S = "/sys/class/rtc/rtc0/wakealarm", 15
_HOTPLUGS = 20
_DIMM, _SWAP = 512 << 20, 1 << 30
_DRIVE, _DISK_DEVICE = "if=none,format=raw,id=disk", "virtio-blk-pci,drive=disk"
# What can be emptied again.
_MOVABLE = "memhp_default_state=online_movable"
# Its struct pages too need tables that nothing else does.
_FAR = 64 << 30
_SWAP_MAGIC = b"SWAPSPACE2"
_PAGE = 4096

_OVMF = "/usr/share/ovmf/OVMF.fd"
_EFIVARS = "/sys/firmware/efi/efivars"
_GLOBAL_VARIABLE = "8be4df61-93ca-11d2-aa0d-00e098032b8c"

# As reboot(2) and kexec_file_load(2) number them.
_KEXEC, _RESTART, _POWER_OFF = 0x45584543, 0x01234567, 0x4321FEDC
_ON_CRASH = 2
# Nothing reads it.
_STARTED = "started_by_kexec"


def hotplug_cpu(leader: Leader) -> dict[str, int]:
    """Take CPU 1 offline and back online."""
    with leader.boot() as guest:
        guest.ready()
        for _ in range(_HOTPLUGS):
            guest.do("write /sys/devices/system/cpu/cpu1/online 0")
            guest.do("write /sys/devices/system/cpu/cpu1/online 1")
        return check(guest, leader.cpus)


def suspend_to_idle(leader: Leader) -> dict[str, int]:
    """Suspend to idle; the power button wakes the machine."""
    with leader.boot() as guest:
        guest.ready()
        guest.do("write /sys/power/mem_sleep s2idle")
        for times in range(1, 1 + _TIMES):
            guest.tell("write /sys/power/state mem")
            guest.said("PM: suspend entry", times)
            # If pressed before the machine sleeps, the button wakes nothing.
            time.sleep(2)
            guest.ask("system_powerdown")
            guest.answer()
        return check(guest, leader.cpus)


def suspend_until_alarm(leader: Leader) -> dict[str, int]:
    """Suspend to idle; the clock wakes the machine."""
    with leader.boot() as guest:
        guest.ready()
        guest.do("write /sys/power/mem_sleep s2idle")
        for times in range(1, 1 + _TIMES):
            guest.do(f"write {_ALARM} +{_NAP_S}")
            guest.do("write /sys/power/state mem")
            guest.said("PM: suspend exit", times)
        return check(guest, leader.cpus)


def suspend_to_ram(leader: Leader) -> dict[str, int]:
    """Suspend to RAM by ACPI S3."""
    with leader.boot() as guest:
        guest.ready()
        for _ in range(_TIMES):
            guest.tell("write /sys/power/state mem")
            guest.event("SUSPEND")
            guest.ask("system_wakeup")
            guest.answer()
            seen = check(guest, leader.cpus)
        return seen


def hotplug_memory(leader: Leader) -> dict[str, int]:
    """Plug in memory, use it, empty it and unplug it."""

    def plug() -> None:
        guest.ask(
            "object-add",
            **{"qom-type": "memory-backend-ram", "id": "ram", "size": _DIMM},
        )
        guest.ask("device_add", driver="pc-dimm", id="dimm", memdev="ram", addr=_FAR)

    def unplug() -> None:
        guest.ask("device_del", id="dimm")
        guest.event("DEVICE_DELETED")
        guest.ask("object-del", id="ram")

    with leader.boot(_MOVABLE) as guest:
        guest.ready()
        return _add_and_take(guest, leader.cpus, plug, unplug)


def resize_memory(leader: Leader) -> dict[str, int]:
    """Let the guest have more memory, use it, and take it back."""
    backend = f"memory-backend-ram,id=ram,size={_DIMM}"
    device = "virtio-mem-pci,id=more,memdev=ram,requested-size=0"
    hardware = ("-object", backend, "-device", device)
    with leader.boot(_MOVABLE, hardware) as guest:
        guest.ready()
        return _add_and_take(
            guest,
            leader.cpus,
            lambda: _request(guest, _DIMM),
            lambda: _request(guest, 0),
        )


def _add_and_take(
    guest: Guest, cpus: int, add: Callable[[], None], take: Callable[[], None]
) -> dict[str, int]:
    """Use memory that comes and goes; return what the checks looked at meanwhile."""
    before = _memory_size(guest)
    for _ in range(_TIMES):
        add()
        guest.wait_until(lambda: _memory_size(guest) == before + _DIMM, "memory")
        guest.do("use 700")
        seen = check(guest, cpus)
        take()
        guest.wait_until(lambda: _memory_size(guest) == before, "end of it")
        check(guest, cpus)
    return seen


def _request(guest: Guest, size: int) -> None:
    """Say how much more memory the guest is to have, which its driver arranges."""
    guest.ask(
        "qom-set",
        path="/machine/peripheral/more",
        property="requested-size",
        value=size,
    )


def _memory_size(guest: Guest) -> int:
    present = re.findall(r"present +(\d+)", guest.do("read /proc/zoneinfo"))
    return sum(map(int, present)) * _PAGE


def machine_check(leader: Leader) -> dict[str, int]:
    """Survive machine checks on all CPUs, while a thread may write."""
    with leader.boot() as guest:
        guest.ready()
        for times in range(1, 1 + _TIMES):
            guest.tell(f"write {PROC} 2000")
            guest.said("kpkeys_events: in a section", times)
            _inject(guest, leader.cpus, _ACTION_OPTIONAL)
            guest.answer()
            guest.said("mce: Uncorrected memory error in page 0x10000 ", times)
            if "section kept" not in guest.do(f"read {PROC}"):
                raise BootError("the section lost its rights")
        return check(guest, leader.cpus)


# Valid, uncorrected, enabled, address and more known, signalled: memory is bad
# somewhere. Nobody has used it yet; or the context is corrupt, which is fatal.
_ACTION_OPTIONAL, _FATAL = 0xBD000000000000CF, 0xBE000000000000CF


def _inject(guest: Guest, cpus: int, status: int) -> None:
    for cpu in range(cpus):
        line = f"mce {cpu} 9 {status:#x} 5 0x10000000 0x8c"
        if said := guest.ask("human-monitor-command", **{"command-line": line}):
            raise BootError(str(said).strip())


def kexec(leader: Leader) -> dict[str, int]:
    """Start the same kernel by kexec."""
    with leader.boot() as guest:
        guest.ready()
        guest.do(f"load 0 {leader.cmdline} {_STARTED}")
        guest.tell(f"reboot {_KEXEC}")
        guest.ready()
        # A crash on the way would have the firmware start the kernel again.
        if _STARTED not in guest.do("read /proc/cmdline"):
            raise BootError("the machine was reset instead")
        return check(guest, leader.cpus)


def panic(leader: Leader) -> dict[str, int]:
    """Panic in a machine check while a thread may write, and restart."""
    with leader.boot() as guest:
        guest.ready()
        _break(guest, leader.cpus)
        return _check_after_panic(leader, guest)


def stack_overflow(leader: Leader) -> dict[str, int]:
    """Overflow the stack while the thread may write: a double fault, and a panic."""
    with leader.boot("oops=panic") as guest:
        guest.ready()
        guest.tell(f"write {PROC} 0")
        return _check_after_panic(leader, guest)


def _check_after_panic(leader: Leader, guest: Guest) -> dict[str, int]:
    guest.event("RESET")
    # That it lands is a complaint.
    guest.said("panic in a section: a write ")
    guest.ready()
    return check(guest, leader.cpus)


def crash_kernel(leader: Leader) -> dict[str, int]:
    """Panic likewise, and start a crash kernel instead."""
    with leader.boot("crashkernel=160M") as guest:
        guest.ready()
        guest.do(f"load {_ON_CRASH} {leader.cmdline} maxcpus=1")
        _break(guest, leader.cpus)
        guest.ready()
        return check(guest, 1)


def _break(guest: Guest, cpus: int) -> None:
    """Make the kernel panic in a machine check, while a thread may write."""
    guest.tell(f"write {PROC} 20000")
    guest.said("kpkeys_events: in a section")
    _inject(guest, cpus, _FATAL)


def kexec_and_back(leader: Leader) -> dict[str, int]:
    """Jump by kexec to code that returns at once."""
    with leader.boot() as guest:
        guest.ready()
        for _ in range(_TIMES):
            guest.do("return")
            guest.do(f"reboot {_KEXEC}")
            seen = check(guest, leader.cpus)
        return seen


def reboot(leader: Leader) -> dict[str, int]:
    """Reboot."""
    with leader.boot() as guest:
        guest.ready()
        guest.tell(f"reboot {_RESTART}")
        guest.event("RESET")
        guest.ready()
        return check(guest, leader.cpus)


def efi(leader: Leader) -> dict[str, int]:
    """Start by EFI and call it: it runs on page tables that the kernel made."""
    with leader.boot(hardware=("-bios", _OVMF)) as guest:
        guest.ready()
        guest.do(f"mount efivarfs {_EFIVARS}")
        for _ in range(_TIMES):
            guest.do(f"read {_EFIVARS}/PlatformLang-{_GLOBAL_VARIABLE}")
        return check(guest, leader.cpus)


def hibernate(leader: Leader) -> dict[str, int]:
    """Hibernate to a swap disk, and have another boot restore it."""
    disk = leader.work / "disk"
    _make_swap(disk)
    hardware = ("-drive", f"file={disk},{_DRIVE}", "-device", _DISK_DEVICE)
    with leader.boot("resume=/dev/vda", hardware) as guest:
        guest.ready()
        guest.do("swap /dev/vda")
        guest.tell("write /sys/power/state disk")
        guest.ended()
    with leader.boot("resume=/dev/vda", hardware) as guest:
        # This answers the order to hibernate.
        guest.answer()
        return check(guest, leader.cpus)


def _make_swap(disk: Path) -> None:
    with disk.open("wb") as file:
        file.truncate(_SWAP)
        file.seek(1024)
        file.write(struct.pack("<II", 1, _SWAP // _PAGE - 1))
        file.seek(_PAGE - len(_SWAP_MAGIC))
        file.write(_SWAP_MAGIC)


def power_off(leader: Leader) -> dict[str, int]:
    """Power off."""
    with leader.boot() as guest:
        guest.ready()
        seen = check(guest, leader.cpus)
        guest.tell(f"reboot {_POWER_OFF}")
        guest.event("SHUTDOWN")
        guest.ended()
        return seen
