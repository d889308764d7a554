"""x86-64 on QEMU's q35."""

from temper.arch.base import Arch

X86_64 = Arch(
    name="x86_64",
    kernel_arch="x86",
    image="arch/x86/boot/bzImage",
    # A bzImage and an ELF file.
    magic=((0x202, b"HdrS"), (0, b"\x7fELF")),
    image_target="bzImage",
    compiler="gcc",
    qemu="qemu-system-x86_64",
    machine=("-M", "q35"),
    cpu="max",
    cmdline="console=ttyS0 panic=-1 reboot=k",
    # Calibrating it spins on rdtsc and pause, the slowest there is under exact
    # counts: more than half of a boot. Ticks come from the HPET instead.
    exact_cmdline="nolapic_timer",
    channel="/dev/ttyS1",
)
