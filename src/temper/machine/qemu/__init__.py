"""QEMU itself: how it is launched, watched, talked to, and what its end means.

All of Temper that starts a QEMU starts it here.
"""

from temper.machine.qemu.cpu import check_cpu, probe_cpu
from temper.machine.qemu.gdb import Gdb, Stop
from temper.machine.qemu.guest import Guest
from temper.machine.qemu.launch import (
    Launch,
    console_words,
    debugger_words,
    escaped,
    led_words,
    monitor_words,
    port_words,
    qemu_version,
    records_words,
)
from temper.machine.qemu.led import Led
from temper.machine.qemu.process import Process, text_of

__all__ = [
    "Gdb",
    "Guest",
    "Launch",
    "Led",
    "Process",
    "Stop",
    "check_cpu",
    "console_words",
    "debugger_words",
    "escaped",
    "led_words",
    "monitor_words",
    "port_words",
    "probe_cpu",
    "qemu_version",
    "records_words",
    "text_of",
]
