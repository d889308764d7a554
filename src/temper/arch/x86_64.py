"""x86-64 on QEMU's q35 machine."""

from temper.arch.base import Arch

X86_64 = Arch(
    name="x86_64",
    kernel_arch="x86",
    image="arch/x86/boot/bzImage",
    debian="amd64",
    # A bzImage, and an ELF file: a program at a fixed address, for this machine.
    magic=(((0x202, b"HdrS"),), ((0, b"\x7fELF"), (16, b"\2\0\x3e\0"))),
    images="a bzImage or a vmlinux",
    image_target="bzImage",
    compiler="gcc",
    target="x86_64",
    libc="libc6-dev",
    qemu="qemu-system-x86_64",
    machine=("-M", "q35"),
    cpu="max",
    cpu_64_bit="lm",
    cmdline="console=ttyS0 panic=-1 reboot=k",
    # Its calibration spins on rdtsc and pause, the slowest instructions under exact
    # counts, for more than half of the boot. Ticks come from the HPET instead.
    exact_cmdline="nolapic_timer",
    # A busy host may hold ticks back while the kernel tries whether they come, and it
    # panics: "IO-APIC + timer doesn't work!" Or while it measures the time-stamp
    # counter: its clock ran 65 times too fast then, and it complained of stalls.
    free_cmdline="no_timer_check clocksource=hpet",
    as_linked_cmdline="nokaslr",
    machine_config=("CONFIG_BLK_DEV_INITRD=y", "CONFIG_SERIAL_8250_CONSOLE=y"),
    free_clock="the host's time-stamp counter, as QEMU passes it on (no icount)",
    free_unit="cycles",
    channel="/dev/ttyS1",
    channel_port=("-serial", "chardev:records"),
    calls_per_second=400_000,
)
