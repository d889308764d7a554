"""kpkeys' events: what brings each about, and what must hold afterwards."""

from .scripts import (
    crash_kernel,
    efi,
    hibernate,
    hotplug_cpu,
    hotplug_memory,
    kexec,
    kexec_and_back,
    machine_check,
    panic,
    power_off,
    reboot,
    resize_memory,
    stack_overflow,
    suspend_to_idle,
    suspend_to_ram,
    suspend_until_alarm,
)

__all__ = [
    "crash_kernel",
    "efi",
    "hibernate",
    "hotplug_cpu",
    "hotplug_memory",
    "kexec",
    "kexec_and_back",
    "machine_check",
    "panic",
    "power_off",
    "reboot",
    "resize_memory",
    "stack_overflow",
    "suspend_to_idle",
    "suspend_to_ram",
    "suspend_until_alarm",
]
